# SPDX-License-Identifier: Apache-2.0

"""Which nodes rules run for."""

import re
import typing

from ironic.conf import CONF


def is_supported(node: typing.Any) -> bool:
    """Whether rules run for nodes with the node's inspect interface."""
    return re.search(CONF.inspection_rules.supported_interfaces,
                     node.inspect_interface or '') is not None
