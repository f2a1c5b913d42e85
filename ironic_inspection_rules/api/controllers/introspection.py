# SPDX-License-Identifier: Apache-2.0

"""/v1/introspection: what an unmodified client of ironic-inspector asks.

Each call is one of Ironic's own in other words (blueprint 002).
"""

from collections.abc import Iterator
from http import client as http_client
from typing import Any

from ironic import api
from ironic import objects
from ironic.api.controllers.v1 import node as ironic_node
from ironic.api.controllers.v1 import utils as api_utils
from ironic.api.controllers.v1 import versions
from ironic.common import args
from ironic.drivers.modules import inspect_utils
import pecan

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.api import inspector_forms
from ironic_inspection_rules.api import introspection_status
from ironic_inspection_rules.api import reapplication
from ironic_inspection_rules.api import request
from ironic_inspection_rules.api.controllers import base
from ironic_inspection_rules.api.controllers import switched_off
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.patches import controllers
from ironic_inspection_rules.queue import submission

_provision = controllers.undecorated(
    ironic_node.NodeStatesController.provision)


class IntrospectionController(base.RestController):
    """The states of inspections, and what leads to those of one node.

    :param requests: where requests are put, None where durable inspection
        is switched off.
    """

    def __init__(self, requests: submission.RequestSubmitter | None = None
                 ) -> None:
        self._requests = requests

    @pecan.expose()
    def _lookup(self, node_ident: str, *remainder: str) -> Any:
        # The client asks for a version of inspector's API and of no other;
        # Ironic's first versions know neither names of nodes nor states of
        # inspection.
        api.request.version.minor = versions.MINOR_96_INSPECTION_RULES
        return NodeController(self._requests, node_ident), remainder

    @base.expose()
    def get_all(self) -> dict[str, Any]:
        """List inspections, the last begun first."""
        inspector_forms.requested_version()
        project = api_utils.check_list_policy('node', None)
        query = request.query({'limit': args.integer, 'marker': args.uuid})
        limit = api_utils.validate_limit(query['limit'])
        found = []
        for node in _nodes(project, query['marker']):
            told = introspection_status.represent(node)
            if told is not None:
                found.append(told)
            if len(found) == limit:
                break
        return {'introspection': found}


class NodeController(base.RestController):
    """The inspection of one node.

    :param requests: as of :class:`IntrospectionController`.
    :param node_ident: UUID or name of the node.
    """

    def __init__(self, requests: submission.RequestSubmitter | None,
                 node_ident: str) -> None:
        self._node_ident = node_ident
        self.abort = AbortController(node_ident)
        self.data = DataController(requests, node_ident)

    @base.expose()
    def get(self) -> dict[str, Any]:
        """Tell how far the inspection is."""
        inspector_forms.requested_version()
        request.query({})
        node = api_utils.check_node_policy_and_retrieve(
            'baremetal:node:get', self._node_ident)
        told = introspection_status.represent(node)
        if told is None:
            raise exceptions.NotFound(
                _('Node %s was never inspected') % self._node_ident)
        return told

    @base.expose(status_code=http_client.ACCEPTED)
    def post(self) -> None:
        """Begin an inspection."""
        inspector_forms.requested_version()
        query = request.query({'manage_boot': args.boolean})
        if query['manage_boot'] is False:
            raise exceptions.Invalid(
                _('Ironic manages the boot of a machine as '
                  '[inspector]require_managed_boot says, not by request'))
        _change_state(self._node_ident, 'inspect')


class AbortController(base.RestController):
    """``/v1/introspection/<node>/abort``.

    :param node_ident: UUID or name of the node.
    """

    def __init__(self, node_ident: str) -> None:
        self._node_ident = node_ident

    @base.expose(status_code=http_client.ACCEPTED)
    def post(self) -> None:
        """Abort the inspection."""
        inspector_forms.requested_version()
        request.query({})
        _change_state(self._node_ident, 'abort')


class DataController(base.RestController):
    """``/v1/introspection/<node>/data``.

    :param requests: as of :class:`IntrospectionController`.
    :param node_ident: UUID or name of the node.
    """

    def __init__(self, requests: submission.RequestSubmitter | None,
                 node_ident: str) -> None:
        self._node_ident = node_ident
        self.unprocessed: Any = (
            switched_off.SwitchedOffController() if requests is None
            else UnprocessedDataController(requests, node_ident))

    @base.expose()
    def get(self) -> dict[str, Any]:
        """Show what the inspection stored, in one document."""
        inspector_forms.requested_version()
        request.query({})
        node = api_utils.check_node_policy_and_retrieve(
            'baremetal:node:inventory:get', self._node_ident)
        return _document(inspect_utils.get_inspection_data(
            node, api.request.context))


class UnprocessedDataController(base.RestController):
    """``/v1/introspection/<node>/data/unprocessed``.

    :param requests: where requests are put.
    :param node_ident: UUID or name of the node.
    """

    def __init__(self, requests: submission.RequestSubmitter,
                 node_ident: str) -> None:
        self._requests = requests
        self._node_ident = node_ident

    @base.expose()
    def get(self) -> dict[str, Any]:
        """Show what the ramdisk posted."""
        inspector_forms.requested_version()
        request.query({})
        return _document(reapplication.unprocessed(self._node_ident))

    @base.expose(status_code=http_client.ACCEPTED)
    def post(self) -> None:
        """Put a request to process the node's data again."""
        request.query({})
        reapplication.reapply(
            self._requests, args.uuid_or_name('node_ident', self._node_ident),
            reapplication.checked)


def _document(data: dict[str, Any]) -> dict[str, Any]:
    """Put inventory and plugin data into one mapping, as inspector does."""
    return {**(data['plugin_data'] or {}), 'inventory': data['inventory']}


def _change_state(node_ident: str, verb: str) -> None:
    _provision(ironic_node.NodeStatesController(), node_ident, verb)


def _nodes(project: str | None, marker: str | None) -> Iterator[Any]:
    """Read nodes page by page, the last inspection first."""
    filters = {'project': project} if project else {}
    while True:
        page = objects.Node.list(
            api.request.context, limit=1000, marker=marker, filters=filters,
            sort_key='inspection_started_at', sort_dir='desc')
        yield from page
        if len(page) < 1000:
            return
        marker = page[-1].uuid
