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
class MachineData:
    """The newest data of a machine, and where they are from.

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


DataOrError = MachineData | Exception
"""The newest data of a machine, or the reason why there are none."""


def find(context: Any, node: Any) -> MachineData:
    """Find the newest data of a machine.

    :raises: NotFound if there are none; what the storage raises.
    """
    data = find_all(context, [node])[node.uuid]
    if isinstance(data, Exception):
        raise data
    return data


def find_all(context: Any, nodes: Sequence[Any]) -> dict[str, DataOrError]:
    """Find the newest data of machines with few queries.

    :returns: by UUID of the node. A NotFound is for a machine of which
        nothing is known; other exceptions are those of the storage.
    """
    rows = machine_object.InspectedMachine.list_failed(
        context, [node.uuid for node in nodes])
    failed = {row['node_uuid']: row for row in rows}
    if _is_in_database():
        stored = _read_from_database(context, nodes)
    else:
        # Of an object in Swift it is not known when it was stored: what is
        # kept of a failed inspection takes precedence in any case.
        stored = _read_from_swift(
            context, [node for node in nodes if node.uuid not in failed])
    return {node.uuid: _newest(node, stored.get(node.uuid),
                               failed.get(node.uuid)) for node in nodes}


def _read_from_database(context: Any, nodes: Sequence[Any]
                        ) -> dict[str, Any]:
    """Read stored data from the database, by UUID of the node."""
    uuids = {node.id: node.uuid for node in nodes}
    rows = machine_object.InspectedMachine.list_inventories(
        context, list(uuids))
    return {uuids[row['node_id']]: row for row in rows}


def _read_from_swift(context: Any, nodes: Sequence[Any]) -> dict[str, Any]:
    """Read stored data from Swift, several at a time.

    :returns: by UUID of the node the data, the error of reading them, or
        None where there are none.
    """
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

    with futures.ThreadPoolExecutor(_AT_A_TIME) as pool:
        data = list(pool.map(read, nodes))
    uuids = [node.uuid for node in nodes]
    return dict(zip(uuids, data, strict=True))


def portions(context: Any, nodes: Sequence[Any], most: int
             ) -> Iterator[list[Any]]:
    """Divide nodes into groups whose data are not too large together.

    :param most: characters of the data of a group, as JSON; only the data
        of a single node may be larger.
    :returns: lists of nodes, in the order of the nodes.
    """
    lengths = _measure(context, nodes, most)
    portion: list[Any] = []
    length = 0
    for node in nodes:
        length += lengths[node.uuid]
        if portion and length > most:
            yield portion
            portion = []
            length = lengths[node.uuid]
        portion.append(node)
    if portion:
        yield portion


def _measure(context: Any, nodes: Sequence[Any], most: int
             ) -> dict[str, int]:
    """Return the characters of the data of each node, by its UUID."""
    uuids = {node.id: node.uuid for node in nodes}
    in_database = []
    assumed = 0
    if _is_in_database():
        in_database = list(uuids)
    else:
        # The length of an object in Swift is not known before it is read.
        # As many are read together as are fetched together.
        assumed = most // _AT_A_TIME
    stored, failed = machine_object.InspectedMachine.measure(
        context, in_database, list(uuids.values()))
    lengths = dict.fromkeys(uuids.values(), assumed)
    for node_id, length in stored:
        lengths[uuids[node_id]] += length
    for uuid, length in failed:
        lengths[uuid] += length
    return lengths


def _is_in_database() -> bool:
    return bool(CONF.inventory.data_backend == 'database')


def _newest(node: Any, stored: Any, failed: dict[str, Any] | None
            ) -> DataOrError:
    """Return the newer one of what is stored and of what has failed.

    :param stored: the row or the data of an inspection that passed, an error
        of the storage, or None.
    :param failed: the row of an inspection that failed, if it was the last
        one that was recorded.
    """
    if failed and _is_newest(failed, stored):
        return MachineData(failed['inventory'], failed['plugin_data'],
                           RUN, failed['uuid'], failed['created_at'])
    if isinstance(stored, Exception):
        return stored
    if stored is None:
        return exceptions.NotFound(
            _('Node %s has no stored inventory, as no inspection of it has '
              'passed, and none that failed is kept')
            % (node.name or node.uuid))
    # The trace of the last rules is no fact of the machine.
    plugin_data = dict(stored['plugin_data'] or {})
    plugin_data.pop(trace.KEY, None)
    return MachineData(stored['inventory'] or {}, plugin_data, INVENTORY,
                       stored_at=stored.get('stored_at'))


def _is_newest(failed: dict[str, Any], stored: Any) -> bool:
    if stored is None or stored['stored_at'] is None:
        return True
    # A run is recorded in whole seconds: within one, it counts as newer.
    stored_at = timeutils.parse_isotime(stored['stored_at'])
    failed_at = timeutils.parse_isotime(failed['created_at'])
    return stored_at.replace(microsecond=0) <= failed_at
