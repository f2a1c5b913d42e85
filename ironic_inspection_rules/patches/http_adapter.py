# SPDX-License-Identifier: Apache-2.0

"""How Ironic connects to web servers, for requests of rules.

Ironic 35 to 38 have no options for TLS of their own, and take what the
library does.
"""

from typing import Any

from requests import adapters

from ironic_inspection_rules.patches import name

ADAPTER = name.Name(
    'ironic.common.image_service', 'TLSHTTPAdapter',
    "api-call does not keep to Ironic's options for TLS",
    required=False)

NAMES = (ADAPTER,) if ADAPTER.find() else ()


def make(**arguments: Any) -> adapters.HTTPAdapter:
    """Make an adapter as Ironic makes those for images.

    :param arguments: of :class:`requests.adapters.HTTPAdapter`.
    """
    return (ADAPTER.find() or adapters.HTTPAdapter)(**arguments)
