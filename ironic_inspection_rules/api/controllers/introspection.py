# SPDX-License-Identifier: Apache-2.0

"""Serves the introspection API of ironic-inspector, ``/v1/introspection``.

Introspection is ironic-inspector's word for inspection. Every call does the
same as one of Ironic's own calls, in the form of ironic-inspector (blueprint
002). For example, the provision state "inspect wait" of a node is shown as the
state ``waiting`` of its inspection.
"""

from collections.abc import Collection, Iterator
import datetime
from typing import Any

from ironic import api
from ironic import objects
from ironic.api.controllers import link
from ironic.api.controllers.v1 import node as ironic_node
from ironic.api.controllers.v1 import utils as api_utils
from ironic.common import args
from ironic.common import exception as ironic_exception
from ironic.common import states
from ironic.conf import CONF
from ironic.drivers.modules import inspect_utils
from oslo_utils import timeutils

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.api import request
from ironic_inspection_rules.api import view
from ironic_inspection_rules.api.controllers import node_inventory
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.objects import request as request_object
from ironic_inspection_rules.patches import controllers
from ironic_inspection_rules.queue import state as queue_state

_provision_as_ironic = controllers.undecorate(
    ironic_node.NodeStatesController.provision
)

_IN_BAND = 'agent'
"""The inspect interface that waits for data from a ramdisk."""

_IN_INSPECTION = (states.INSPECTWAIT, states.INSPECTING, states.INSPECTFAIL)

# The fields that are needed to sort nodes by the time of their inspection.
_FIELDS_TO_SORT = [
    'uuid',
    'provision_state',
    'created_at',
    'provision_updated_at',
    'inspection_started_at',
    'inspection_finished_at',
]

_NODES_PER_QUERY = 1000

_ROUNDING = datetime.timedelta(seconds=1)
"""A database may round times to whole seconds."""

Answer = dict[str, Any]

LIST = {'limit': request.convert_integer, 'marker': request.convert_marker}
BEGIN = {'manage_boot': args.boolean}


def get_all(query: Answer) -> Answer:
    """List a page with the last inspection of every node, the newest first.

    Only nodes that the client may list are shown.

    :param query: ``limit``, and ``marker``, the UUID of the last node of the
        previous page.
    """
    # None if the client may list the nodes of all projects.
    project = api_utils.check_list_policy('node', None)
    limit = api_utils.validate_limit(query['limit'])
    # The UUIDs of nodes that are not powered on yet.
    starting_uuids = _find_starting_nodes()
    inspections: list[Answer] = []
    for node in _list_inspected_nodes(project, query['marker']):
        inspection = _represent(node, starting_uuids)
        # None if the node has changed since it was found to be inspected.
        if inspection is not None:
            inspections.append(inspection)
        # Check this here and not before the next node is fetched, because
        # fetching it may take another query.
        if len(inspections) == limit:
            break
    return {'introspection': inspections}


def get_one(node: Any) -> Answer:
    """Show the state of the last inspection of a node."""
    inspection = _represent(node, _find_starting_nodes(node.uuid))
    if inspection is None:
        raise exceptions.NotFound(_('Node %s was never inspected') % node.uuid)
    return inspection


def begin(node_ident: str, query: Answer) -> None:
    """Start the inspection of a node, as if Ironic's own API were called.

    :raises: Invalid if the request turns the management of the boot off.
    """
    if query['manage_boot'] is False:
        raise exceptions.Invalid(
            _(
                'Ironic manages the boot of a machine as '
                '[inspector]require_managed_boot says, not by request'
            )
        )
    _provision_as_ironic(
        ironic_node.NodeStatesController(), node_ident, 'inspect'
    )


def abort(node_ident: str) -> None:
    """Abort the inspection of a node, as if Ironic's own API were called."""
    _provision_as_ironic(
        ironic_node.NodeStatesController(), node_ident, 'abort'
    )


def get_data(node: Any) -> Answer:
    """Show the data that the inspection stored, in one document."""
    return _merge_data(
        inspect_utils.get_inspection_data(node, api.request.context)
    )


def get_unprocessed(node: Any) -> Answer:
    """Show the data that the ramdisk posted."""
    return _merge_data(node_inventory.get_unprocessed(node))


def reapply(node: Any) -> None:
    """Store a request to process the node's data again."""
    node_inventory.put_request(node, node_inventory.validate_document)


def _merge_data(data: dict[str, Any]) -> dict[str, Any]:
    """Put inventory and plugin data into one mapping, as inspector does."""
    return {**(data['plugin_data'] or {}), 'inventory': data['inventory']}


def _list_inspected_nodes(
    project: str | None, marker: str | None
) -> Iterator[Any]:
    """Yield the nodes that were ever inspected, the newest inspection first.

    :param project: owner or lessee that the nodes must have; None for all.
    :param marker: UUID of the last node of the previous page, if any.
    :raises: NodeNotFound if there is no such node.
    """
    filters = {}
    if project:
        filters['project'] = project
    uuids = _sort_inspected(filters)
    if marker is not None:
        if marker not in uuids:
            raise ironic_exception.NodeNotFound(node=marker)
        del uuids[: uuids.index(marker) + 1]
    # So far, only a few fields of the nodes were read. Read whole nodes,
    # batch by batch, as the caller asks for them.
    for start in range(0, len(uuids), _NODES_PER_QUERY):
        uuids_of_query = uuids[start : start + _NODES_PER_QUERY]
        whole_nodes = objects.Node.list(
            api.request.context, filters={**filters, 'uuid_in': uuids_of_query}
        )
        node_by_uuid = {node.uuid: node for node in whole_nodes}
        for uuid in uuids_of_query:
            # The node may have been deleted meanwhile.
            if uuid in node_by_uuid:
                yield node_by_uuid[uuid]


def _sort_inspected(filters: dict[str, str]) -> list[str]:
    """Return the UUIDs of inspected nodes, the last inspection first.

    They are sorted here, by a few of their fields, because the times of an
    inspection may be null and Ironic's list cannot sort such nodes page by
    page.

    :param filters: filters of :meth:`Node.list`.
    """
    nodes = objects.Node.list(
        api.request.context, filters=filters, fields=_FIELDS_TO_SORT
    )
    inspected = [node for node in nodes if _was_inspected(node)]
    inspected.sort(key=_sort_key, reverse=True)
    return [node.uuid for node in inspected]


def _was_inspected(node: Any) -> bool:
    """Return whether a node is being inspected or was ever inspected."""
    return (
        node.provision_state in _IN_INSPECTION
        or node.inspection_finished_at is not None
    )


def _sort_key(node: Any) -> tuple[datetime.datetime, str]:
    """Return the sort key of a node: when its last inspection began.

    Ironic does not keep this time for an inspection that was aborted or that
    waits in the queue. In this case, the key has another time: when a node in
    inspection came into its state, or when the last inspection finished.
    """
    changed_at = node.inspection_finished_at
    if node.provision_state in _IN_INSPECTION:
        changed_at = node.provision_updated_at
    began_at = node.inspection_started_at or changed_at or node.created_at
    # Sort inspections that began at the same time by UUID, so that their order
    # is the same on every page.
    return began_at, node.uuid


def _find_starting_nodes(node_uuid: str | None = None) -> set[str]:
    """Return the UUIDs of nodes that wait in the queue to be powered on.

    Clients of ironic-inspector see the state ``starting`` for such nodes.

    :param node_uuid: the UUID of the only node to look for; None for all.
    """
    if not CONF.inspection_queue.enabled:
        return set()
    filters = {'state': queue_state.STARTING}
    if node_uuid is not None:
        filters['node_uuid'] = node_uuid
    requests = request_object.InspectionRequest.list(
        api.request.context, filters
    )
    return {queued.node_uuid for queued in requests}


def _state(node: Any, starting_uuids: Collection[str]) -> str:
    """Return the state of an inspection in ironic-inspector's terms.

    * ``starting``: the machine waits in the queue to be powered on, is being
      powered on, or boots its ramdisk.
    * ``waiting``: the ramdisk collects data.
    * ``processing``: the data are collected by the conductor, or have come and
      wait in the queue or are processed.
    * ``error`` and ``finished``: the inspection has ended.

    :param node: a node that is or was inspected.
    :param starting_uuids: UUIDs of nodes that are not powered on yet.
    """
    began_at = node.inspection_started_at
    if node.provision_state == states.INSPECTWAIT:
        if node.uuid in starting_uuids:
            return 'starting'
        if began_at:
            return 'waiting'
        # The queue removes this time when it has the data of the node.
        return 'processing'
    if node.provision_state == states.INSPECTING:
        # A node with a ramdisk is in this state twice: until the ramdisk
        # boots, and again when its data are processed. Without a ramdisk, the
        # conductor reads the data from the BMC during the whole time.
        if node.inspect_interface != _IN_BAND or _has_posted(node):
            return 'processing'
        return 'starting'
    if node.provision_state == states.INSPECTFAIL:
        return 'error'
    return 'finished'


def _has_posted(node: Any) -> bool:
    """Return whether the ramdisk has posted its data in this inspection.

    Ironic records the time of the post as the time of a heartbeat.
    """
    began_at = node.inspection_started_at
    last_heartbeat = node.driver_internal_info.get('agent_last_heartbeat')
    if not began_at or not last_heartbeat:
        return False
    # A heartbeat before this inspection began belongs to an earlier one. The
    # beginning may be rounded up by a second.
    last_heartbeat_at = timeutils.parse_isotime(last_heartbeat)
    return bool(last_heartbeat_at + _ROUNDING >= began_at)


def _represent(
    node: Any, starting_uuids: Collection[str]
) -> dict[str, Any] | None:
    """Return the last inspection of a node as ironic-inspector would show it.

    For example, ``{'uuid': UUID, 'state': 'error', 'finished': True, 'error':
    'timeout', 'started_at': TIME, 'finished_at': TIME, 'links': […]}``.

    :param starting_uuids: UUIDs of nodes that are not powered on yet.
    :returns: None if the node was never inspected.
    """
    if not _was_inspected(node):
        return None
    state = _state(node, starting_uuids)
    error = None
    if state == 'error':
        error = node.last_error
    return {
        'uuid': node.uuid,
        'state': state,
        'finished': state in ('finished', 'error'),
        'error': error,
        'started_at': view.format_time(node.inspection_started_at),
        'finished_at': view.format_time(_finished_at(node, state)),
        'links': [
            link.make_link(
                'self', api.request.public_url, 'introspection', node.uuid
            )
        ],
    }


def _finished_at(node: Any, state: str) -> datetime.datetime | None:
    """Return when the last inspection of a node ended; None if it has not.

    :param state: the state of the inspection, see :func:`_state`.
    """
    if state == 'finished':
        return node.inspection_finished_at
    if state == 'error':
        # Ironic does not record when an inspection failed, but only when the
        # node came into this state.
        return node.inspection_finished_at or node.provision_updated_at
    return None
