# SPDX-License-Identifier: Apache-2.0

"""What answers where durable inspection would, were it switched on."""

from typing import Any

from ironic.api.controllers.v1 import node
import pecan

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.api.controllers import base
from ironic_inspection_rules.api.controllers import inventory_history
from ironic_inspection_rules.i18n import _


class SwitchedOffController(base.RestController):
    """Answers 404 to every request, and names the option."""

    @pecan.expose()
    def _route(self, args: list[str], request: Any = None) -> Any:
        return self._refuse, []

    @base.expose()
    def _refuse(self) -> None:
        raise exceptions.NotFound(
            _('Durable inspection is switched off here: it needs '
              '[inspection_queue]enabled = True in the configuration of the '
              'API'))


class NodeInventoryController(node.NodeInventoryController):
    """Ironic's own, with only its history beneath it.

    :param node_ident: UUID or name of the node.
    """

    reapply = SwitchedOffController()
    unprocessed = SwitchedOffController()

    def __init__(self, node_ident: str) -> None:
        super().__init__(node_ident)
        self.history = inventory_history.InventoryHistoryController(
            node_ident)
