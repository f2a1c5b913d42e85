# SPDX-License-Identifier: Apache-2.0

"""TLS of requests, by the options of Ironic.

Ironic 35 to 38 have no options for TLS, and use the defaults of requests.
"""

from typing import Any

from requests import adapters

from ironic_inspection_rules.patches import name

ADAPTER = name.Name(
    'ironic.common.image_service',
    'TLSHTTPAdapter',
    "api-call does not keep to Ironic's options for TLS",
    required=False,
)

NAMES: tuple[name.Name, ...] = ()
if ADAPTER.find():
    # A release without the class never had those options for TLS, so that no
    # warning is due there.
    NAMES = (ADAPTER,)


def make_adapter(**arguments: Any) -> adapters.HTTPAdapter:
    """Build an adapter of requests that keeps to Ironic's options for TLS.

    It has the class that Ironic uses for images. An Ironic without the class
    has no such options, so the plain adapter is enough.
    """
    adapter_class = ADAPTER.find() or adapters.HTTPAdapter
    return adapter_class(**arguments)
