# SPDX-License-Identifier: Apache-2.0

"""The newest inspection data of a node, from wherever they are stored.

The inspection data are an inventory and plugin data. If an inspection
*passed*, Ironic has stored them, in its database or in Swift. If it *failed*,
this project has kept them with the run, i.e. the record of what the rules did.
"""

from collections.abc import Iterator, Sequence
from concurrent import futures
import dataclasses
import json
from typing import Any, NamedTuple

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

_SWIFT_THREADS = 8
"""How many inventories are fetched from Swift at the same time."""


@dataclasses.dataclass(frozen=True)
class MachineData:
    """The newest inventory and plugin data of a machine.

    ``source`` is :data:`INVENTORY` if Ironic stored the data after an
    inspection that passed. It is :data:`RUN` if this project kept the data of
    a failed inspection; then ``run`` is the UUID of the run. ``stored_at`` is
    the time at which the data were stored, as ISO 8601 in UTC; None if it is
    unknown, because Swift does not provide it.
    """

    inventory: dict[str, Any]
    plugin_data: dict[str, Any]
    source: str
    run: str | None = None
    stored_at: str | None = None


DataOrError = MachineData | Exception
"""The newest data of a machine, or the error why there are none."""


def find(context: Any, node: Any) -> MachineData:
    """Find the newest data of a machine.

    :raises: NotFound if there are none; errors of the storage.
    """
    [data_or_error] = find_all(context, [node])
    if isinstance(data_or_error, Exception):
        raise data_or_error
    return data_or_error


def find_all(
    context: Any, nodes: Sequence[Any], failing: Sequence[str] | None = None
) -> Iterator[DataOrError]:
    """Find the newest inspection data of machines with few queries.

    If there are data of both an inspection that passed and a failed one, the
    newer data are returned. Swift does not tell when data were stored there,
    so a failed inspection counts as newer than data in Swift.

    :param nodes: objects with ``id``, ``uuid`` and ``name``.
    :param failing: UUIDs of the nodes whose last inspection failed; None to
        look for failed inspections of all nodes.
    :returns: the data or an error for every node, in their order: NotFound if
        there are no data, or an error of the storage. Data in Ironic's
        database are decoded one by one, to save memory.
    """
    if failing is None:
        failing = [node.uuid for node in nodes]
    failed_by_uuid = _read_failed(context, failing)
    if _is_in_database():
        passed_by_uuid = _read_from_database(context, nodes)
    else:
        # Swift needs a request per machine. Skip machines whose last
        # inspection failed, because it counts as newer.
        nodes_to_fetch = [
            node for node in nodes if node.uuid not in failed_by_uuid
        ]
        passed_by_uuid = _read_from_swift(context, nodes_to_fetch)
    for node in nodes:
        passed = passed_by_uuid.get(node.uuid)
        failed = failed_by_uuid.get(node.uuid)
        yield _choose_newest(node, passed, failed)


def _read_failed(context: Any, uuids: Sequence[str]) -> dict[str, Any]:
    """Read the kept data of nodes whose last inspection failed.

    :returns: rows by the UUID of the node.
    """
    if not uuids:
        # The query is not needed.
        return {}
    rows = machine_object.InspectedMachine.list_failed(context, uuids)
    return {row['node_uuid']: row for row in rows}


def _read_from_database(context: Any, nodes: Sequence[Any]) -> dict[str, Any]:
    """Read the data that Ironic stores for nodes in its database.

    :returns: rows by the UUID of the node, e.g. ``{'inventory': '{"cpu": …}',
        'plugin_data': '{…}', 'stored_at': …}``. Their JSON is not decoded yet.
        A node without data has no row.
    """
    uuid_by_id = {node.id: node.uuid for node in nodes}
    rows = machine_object.InspectedMachine.list_inventories(
        context, list(uuid_by_id)
    )
    return {uuid_by_id[row['node_id']]: row for row in rows}


def _read_from_swift(context: Any, nodes: Sequence[Any]) -> dict[str, Any]:
    """Read the stored data of nodes from Swift, several at a time.

    :returns: for the UUID of every node, its data; None if there are none, or
        the error of reading them.
    """

    def fetch(node: Any) -> Any:
        # Return errors instead of raising them, so that one node does not keep
        # the other nodes from being read.
        try:
            return inspect_utils.get_inspection_data(node, context)
        except ironic_exception.NodeInventoryNotFound:
            return None
        except ironic_exception.IronicException as exc:
            # The caller shows its message to the user, so do not log it.
            return exc
        except Exception as exc:
            # This error is unexpected, so log its traceback.
            LOG.exception('The inventory of node %s cannot be read', node.uuid)
            return exc

    data_by_uuid = {}
    with futures.ThreadPoolExecutor(max_workers=_SWIFT_THREADS) as pool:
        for node, data in zip(nodes, pool.map(fetch, nodes), strict=True):
            data_by_uuid[node.uuid] = data
    return data_by_uuid


class Batch(NamedTuple):
    """Nodes whose data are read together.

    ``failing`` are the UUIDs of the nodes whose last inspection failed.
    """

    nodes: list[Any]
    failing: list[str]


def divide_into_batches(
    context: Any, nodes: Sequence[Any], most_characters: int
) -> Iterator[Batch]:
    """Divide nodes into groups whose data are not too large together.

    A request about all nodes of a cloud reads the data of one group after the
    other, so that it takes a limited amount of memory.

    :param most_characters: maximum length of the data of a group, as JSON. A
        node whose own data are longer forms a group alone.
    :returns: the groups, in the order of the nodes.
    """
    passed_lengths, failed_lengths = _measure(context, nodes, most_characters)
    batch = Batch(nodes=[], failing=[])
    # The length of the data of the nodes in this batch.
    total = 0
    for node in nodes:
        # A node may have data of both kinds, and find_all() may read both to
        # compare their times.
        length = passed_lengths.get(node.uuid, 0)
        length += failed_lengths.get(node.uuid, 0)
        if batch.nodes and total + length > most_characters:
            yield batch
            batch = Batch(nodes=[], failing=[])
            total = 0
        total += length
        batch.nodes.append(node)
        if node.uuid in failed_lengths:
            batch.failing.append(node.uuid)
    if batch.nodes:
        yield batch


def _measure(
    context: Any, nodes: Sequence[Any], most_characters: int
) -> tuple[dict[str, int], dict[str, int]]:
    """Return the lengths of the data of nodes, in characters of JSON.

    :param most_characters: the length of all data that may be read together.
    :returns: two mappings of node UUIDs to lengths, e.g. ``{UUID: 51200}``.
        The first one has the data that Ironic stores of inspections that
        passed. The second one has the data of failed inspections.
    """
    uuid_by_id = {node.id: node.uuid for node in nodes}
    uuids = list(uuid_by_id.values())
    ids_in_database = []
    if _is_in_database():
        ids_in_database = list(uuid_by_id)
    passed, failed = machine_object.InspectedMachine.measure(
        context, ids_in_database, uuids
    )
    if _is_in_database():
        passed_lengths = {
            uuid_by_id[node_id]: length for node_id, length in passed
        }
    else:
        # The length of an object in Swift is unknown before it is read. With
        # this estimate, divide_into_batches() makes groups of as many nodes as
        # there are threads that read from Swift.
        passed_lengths = dict.fromkeys(
            uuids, most_characters // _SWIFT_THREADS
        )
    return passed_lengths, dict(failed)


def _is_in_database() -> bool:
    """Return whether Ironic stores inventories in its database, not Swift."""
    return bool(CONF.inventory.data_backend == 'database')


def _choose_newest(
    node: Any, passed: Any, failed: dict[str, Any] | None
) -> DataOrError:
    """Return the data of the newer of two inspections of a node.

    :param passed: the data that Ironic stores of an inspection that passed: a
        row of the database, a mapping from Swift, the error of reading it, or
        None.
    :param failed: the row of the last recorded inspection, if it failed.
    :returns: the data of the failed inspection if it is newer, and otherwise
        the data of the one that passed. Instead of data, the error of reading
        them, or NotFound if there are none.
    """
    if failed and _is_newer(failed, passed):
        return MachineData(
            failed['inventory'],
            failed['plugin_data'],
            source=RUN,
            run=failed['uuid'],
            stored_at=failed['created_at'],
        )
    if isinstance(passed, Exception):
        return passed
    if passed is None:
        return exceptions.NotFound(
            _(
                'Node %s has no stored inventory, as no inspection of it has '
                'passed, and none that failed is kept'
            )
            % (node.name or node.uuid)
        )
    plugin_data = dict(_decode(passed['plugin_data']))
    # The rules of that inspection recorded their actions in the plugin data.
    # The machine did not send this record, so rules that are tried must not
    # see it.
    plugin_data.pop(trace.KEY, None)
    return MachineData(
        _decode(passed['inventory']),
        plugin_data,
        source=INVENTORY,
        stored_at=passed.get('stored_at'),
    )


def _decode(data: Any) -> dict[str, Any]:
    """Return an inventory or plugin data as a mapping.

    :param data: JSON text from the database, a mapping from Swift, or None,
        which counts as empty.
    """
    if isinstance(data, str):
        data = json.loads(data)
    return data or {}


def _is_newer(failed: dict[str, Any], passed: Any) -> bool:
    """Return whether a failed inspection is newer than one that passed.

    :param failed: the row of the failed inspection.
    :param passed: the row that Ironic stores of the other one, or None.
    """
    if passed is None or passed['stored_at'] is None:
        return True
    passed_at = timeutils.parse_isotime(passed['stored_at'])
    failed_at = timeutils.parse_isotime(failed['created_at'])
    # A run is recorded in whole seconds. If both happened in the same second,
    # the failed one counts as newer.
    return passed_at.replace(microsecond=0) <= failed_at
