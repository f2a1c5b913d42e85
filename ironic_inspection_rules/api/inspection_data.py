# SPDX-License-Identifier: Apache-2.0

"""Newest data of a machine: stored ones, or those of a failed inspection."""

from collections.abc import Iterator, Sequence
from concurrent import futures
import dataclasses
from typing import Any

from ironic.common import exception as ironic_exception
from ironic.conf import CONF
from ironic.drivers.modules import inspect_utils
from oslo_log import log
from oslo_utils import timeutils

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.run import trace
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.objects import machine as machine_object

LOG = log.getLogger(__name__)

INVENTORY = 'inventory'
RUN = 'inspection_run'

_AT_A_TIME = 8
"""How many objects are fetched from Swift together."""


@dataclasses.dataclass(frozen=True)
class InspectionData:
    """Data of a machine, and where they are from.

    ``source`` is :data:`INVENTORY`, what Ironic stores of the last
    inspection that passed; or :data:`RUN`, what is kept of one that failed,
    and then ``run`` is its UUID. ``stored_at`` is when, ISO 8601 in UTC;
    None where it is not known.
    """

    inventory: dict[str, Any]
    plugin_data: dict[str, Any]
    source: str
    run: str | None = None
    stored_at: str | None = None


Found = InspectionData | Exception
"""Newest data of a machine, or why there are none."""


def find(context: Any, node: Any) -> InspectionData:
    """Find the newest data of a machine.

    :raises: NotFound if there are none.
    """
    found = find_all(context, [node])[node.uuid]
    if isinstance(found, Exception):
        raise found
    return found


def find_all(context: Any, nodes: Sequence[Any]) -> dict[str, Found]:
    """Find the newest data of machines with few queries.

    :returns: by UUID of the node. A NotFound is for a machine of which
        nothing is known; other exceptions are those of the storage.
    """
    failed = {row['node_uuid']: row for row
              in machine_object.InspectedMachine.list_failed(
                  context, [node.uuid for node in nodes])}
    if _is_in_database():
        uuids = {node.id: node.uuid for node in nodes}
        stored = {uuids[row['node_id']]: row for row in
                  machine_object.InspectedMachine.list_inventories(
                      context, list(uuids))}
    else:
        def read(node: Any) -> Any:
            try:
                return inspect_utils.get_inspection_data(node, context)
            except ironic_exception.NodeInventoryNotFound:
                return None
            except ironic_exception.IronicException as exc:
                return exc
            # The data of the other machines are read nevertheless.
            except Exception as exc:
                LOG.exception('The inventory of node %s cannot be read',
                              node.uuid)
                return exc

        missing = [node for node in nodes if node.uuid not in failed]
        with futures.ThreadPoolExecutor(_AT_A_TIME) as pool:
            stored = {node.uuid: data for node, data in zip(
                missing, pool.map(read, missing), strict=True)}
    return {node.uuid: _newest(node, stored.get(node.uuid),
                               failed.get(node.uuid)) for node in nodes}


def portions(context: Any, nodes: Sequence[Any], most: int
             ) -> Iterator[list[Any]]:
    """Divide nodes into groups whose data are not too large together.

    :param most: characters of the data of a group, as JSON; only the data
        of a single node may be larger.
    :returns: lists of nodes, in the order of the nodes.
    """
    uuids = {node.id: node.uuid for node in nodes}
    # Of what is not in the database, the length is not known.
    lengths = dict.fromkeys(uuids.values(), 0 if _is_in_database()
                            else most // _AT_A_TIME)
    stored, failed = machine_object.InspectedMachine.measure(
        context, list(uuids) if _is_in_database() else [],
        list(uuids.values()))
    for node_id, length in stored:
        lengths[uuids[node_id]] += length
    for uuid, length in failed:
        lengths[uuid] += length
    portion: list[Any] = []
    length = 0
    for node in nodes:
        length += lengths[node.uuid]
        if portion and length > most:
            yield portion
            portion, length = [], lengths[node.uuid]
        portion.append(node)
    if portion:
        yield portion


def _is_in_database() -> bool:
    return bool(CONF.inventory.data_backend == 'database')


def _newest(node: Any, stored: Any, failed: dict[str, Any] | None) -> Found:
    if failed and (stored is None or stored['stored_at'] is None
                   or timeutils.parse_isotime(
                       stored['stored_at']).replace(microsecond=0)
                   <= timeutils.parse_isotime(failed['created_at'])):
        return InspectionData(failed['inventory'], failed['plugin_data'],
                              RUN, failed['uuid'], failed['created_at'])
    if isinstance(stored, Exception):
        return stored
    if stored is None:
        return exceptions.NotFound(
            _('Node %s has no stored inventory, as no inspection of it has '
              'passed, and none that failed is kept')
            % (node.name or node.uuid))
    # The trace of the last rules is no fact of the machine.
    plugin_data = {name: value for name, value
                   in (stored['plugin_data'] or {}).items()
                   if name != trace.KEY}
    return InspectionData(stored['inventory'] or {}, plugin_data, INVENTORY,
                          stored_at=stored.get('stored_at'))
