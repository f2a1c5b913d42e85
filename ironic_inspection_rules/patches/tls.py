# SPDX-License-Identifier: Apache-2.0

"""Applies Ironic's TLS options to HTTP requests.

Ironic 35 to 38 have no TLS options, and use the defaults of ``requests``.
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
    # A release without the class never had the TLS options, so a missing class
    # must not cause a warning.
    NAMES = (ADAPTER,)


def make_adapter(**arguments: Any) -> adapters.HTTPAdapter:
    """Build an adapter for ``requests`` that applies Ironic's TLS options.

    The adapter is an instance of the class that Ironic uses for images. If
    Ironic lacks the class, it has no such options, so a plain adapter is
    enough.
    """
    adapter_class = ADAPTER.find() or adapters.HTTPAdapter
    return adapter_class(**arguments)
