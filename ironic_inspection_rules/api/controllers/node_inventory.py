# SPDX-License-Identifier: Apache-2.0

"""The inventory of one node: ``/v1/nodes/<ident>/inventory``."""

from http import client as http_client
from typing import Any

from ironic import api
from ironic.api.controllers.v1 import node

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.api import reapplication
from ironic_inspection_rules.api import request
from ironic_inspection_rules.api.controllers import base
from ironic_inspection_rules.api.controllers import inspection_request
from ironic_inspection_rules.api.controllers import inventory_history
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.objects import request as request_object
from ironic_inspection_rules.patches import controllers
from ironic_inspection_rules.queue import submission

_get = controllers.undecorated(node.NodeInventoryController.get)


class NodeInventoryController(base.RestController):
    """Ironic's own, and what lies beneath it.

    :param requests: where requests are put.
    :param node_ident: UUID or name of the node.
    """

    def __init__(self, requests: submission.RequestSubmitter,
                 node_ident: str) -> None:
        self.node_ident = node_ident
        self.history = inventory_history.InventoryHistoryController(
            node_ident)
        self.reapply = ReapplyController(requests, node_ident)
        self.unprocessed = UnprocessedController(node_ident)

    @base.expose()
    def get(self) -> dict[str, Any]:
        """Show the inventory, as Ironic does."""
        return _get(self)


class UnprocessedController(base.RestController):
    """What the ramdisk posted.

    :param node_ident: UUID or name of the node.
    """

    def __init__(self, node_ident: str) -> None:
        self._node_ident = node_ident

    @base.expose()
    def get(self) -> dict[str, Any]:
        """Show inventory and plugin data as they came."""
        request.query({})
        return reapplication.unprocessed(self._node_ident)


class ReapplyController(base.RestController):
    """Hooks and rules again.

    :param requests: where requests are put.
    :param node_ident: UUID or name of the node.
    """

    def __init__(self, requests: submission.RequestSubmitter,
                 node_ident: str) -> None:
        self._requests = requests
        self._node_ident = node_ident

    @base.expose(status_code=http_client.ACCEPTED)
    def post(self) -> dict[str, Any]:
        """Put a request to process the node's data again."""
        request.query({})
        put = reapplication.reapply(self._requests, self._node_ident, _parse)
        return inspection_request.represent(
            request_object.InspectionRequest.get_by_uuid(
                api.request.context, put.uuid))


def _parse(body: Any) -> reapplication.Data:
    """Read the data in the body of the request."""
    if not isinstance(body, dict) or set(body) - {'inventory', 'plugin_data'}:
        raise exceptions.Invalid(
            _('The request may have "inventory" and "plugin_data" only'))
    inventory, plugin_data = body.get('inventory'), body.get('plugin_data')
    if not isinstance(inventory, dict):
        raise exceptions.Invalid(
            _('"inventory" is needed, and must be an object'))
    if plugin_data is None:
        plugin_data = {}
    if not isinstance(plugin_data, dict):
        raise exceptions.Invalid(_('"plugin_data" must be an object'))
    return reapplication.checked({**plugin_data, 'inventory': inventory})
