# SPDX-License-Identifier: Apache-2.0

"""The newest inspection data of a node, from wherever they are stored."""

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
    data = next(find_all(context, [node]))
    if isinstance(data, Exception):
        raise data
    return data


def find_all(
    context: Any, nodes: Sequence[Any], failing: Sequence[str] | None = None
) -> Iterator[DataOrError]:
    """Find the newest inspection data of machines with few queries.

    Ironic stores the data of an inspection that passed, and this project keeps
    those of one that failed: the newer ones are returned. Swift does not say
    when Ironic stored data there, so a failed inspection counts as newer.

    :param nodes: have ``id``, ``uuid`` and ``name``.
    :param failing: UUIDs of the nodes whose last inspection failed; None to
        look for such an inspection of all nodes.
    :returns: for every node, in their order, the data or an error: NotFound
        if there are no data, else an error of the storage. Data in Ironic's
        database are decoded one by one, to save memory.
    """
    if failing is None:
        failing = [node.uuid for node in nodes]
    failed_by_uuid = {}
    # Mostly no inspection failed: that takes no query.
    if failing:
        rows = machine_object.InspectedMachine.list_failed(context, failing)
        failed_by_uuid = {row['node_uuid']: row for row in rows}
    if _is_in_database():
        stored_by_uuid = _read_from_database(context, nodes)
    else:
        # Swift takes a request for each machine: it is spared where the data
        # of the failed inspection count anyway.
        nodes_in_swift = [
            node for node in nodes if node.uuid not in failed_by_uuid
        ]
        stored_by_uuid = _read_from_swift(context, nodes_in_swift)
    for node in nodes:
        stored = stored_by_uuid.get(node.uuid)
        failed = failed_by_uuid.get(node.uuid)
        yield _choose_newest(node, stored, failed)


def _read_from_database(context: Any, nodes: Sequence[Any]) -> dict[str, Any]:
    """Read stored data from the database, as JSON, by UUID of the node."""
    uuid_by_id = {node.id: node.uuid for node in nodes}
    rows = machine_object.InspectedMachine.list_inventories(
        context, list(uuid_by_id)
    )
    return {uuid_by_id[row['node_id']]: row for row in rows}


def _read_from_swift(context: Any, nodes: Sequence[Any]) -> dict[str, Any]:
    """Read the stored data of nodes from Swift, several at a time.

    :returns: by UUID of the node: the data, None if there are none, or the
        error of reading them.
    """

    def read(node: Any) -> Any:
        try:
            return inspect_utils.get_inspection_data(node, context)
        except ironic_exception.NodeInventoryNotFound:
            return None
        # An error is returned: the data of other nodes are read nevertheless.
        except ironic_exception.IronicException as exc:
            # Its message is meant for users.
            return exc
        except Exception as exc:
            # One that nobody foresaw: the log needs its traceback.
            LOG.exception('The inventory of node %s cannot be read', node.uuid)
            return exc

    data_by_uuid = {}
    with futures.ThreadPoolExecutor(max_workers=_AT_A_TIME) as pool:
        for node, data in zip(nodes, pool.map(read, nodes), strict=True):
            data_by_uuid[node.uuid] = data
    return data_by_uuid


class Portion(NamedTuple):
    """Nodes whose data are read together.

    ``failing`` are the UUIDs of those whose last inspection failed.
    """

    nodes: list[Any]
    failing: list[str]


def portions(
    context: Any, nodes: Sequence[Any], most: int
) -> Iterator[Portion]:
    """Divide nodes into groups whose data are not too large together.

    So a request over all nodes of a cloud takes a limited part of memory.

    :param most: maximum length of the data of a group as JSON, in characters;
        only the data of a single node may be longer.
    :returns: the groups, in the order of the nodes.
    """
    stored, failed = _measure(context, nodes, most)
    portion = Portion(nodes=[], failing=[])
    total = 0
    for node in nodes:
        length = stored.get(node.uuid, 0) + failed.get(node.uuid, 0)
        if portion.nodes and total + length > most:
            yield portion
            portion = Portion(nodes=[], failing=[])
            total = 0
        total += length
        portion.nodes.append(node)
        if node.uuid in failed:
            portion.failing.append(node.uuid)
    if portion.nodes:
        yield portion


def _measure(
    context: Any, nodes: Sequence[Any], most: int
) -> tuple[dict[str, int], dict[str, int]]:
    """Return the lengths of the data of nodes, in characters.

    :param most: the characters of all data that may be read together.
    :returns: two mappings of UUIDs to lengths: of data of inspections that
        passed, which are estimated if they are in Swift; and of data of the
        newest inspections, if these failed.
    """
    uuid_by_id = {node.id: node.uuid for node in nodes}
    uuids = list(uuid_by_id.values())
    ids_in_database = []
    lengths_of_passed = {}
    if _is_in_database():
        ids_in_database = list(uuid_by_id)
    else:
        # The length of an object in Swift is not known before it is read. With
        # this estimate as many are read together as are fetched together.
        lengths_of_passed = dict.fromkeys(uuids, most // _AT_A_TIME)
    passed, failed = machine_object.InspectedMachine.measure(
        context, ids_in_database, uuids
    )
    for node_id, length in passed:
        lengths_of_passed[uuid_by_id[node_id]] = length
    return lengths_of_passed, dict(failed)


def _is_in_database() -> bool:
    return bool(CONF.inventory.data_backend == 'database')


def _choose_newest(
    node: Any, stored: Any, failed: dict[str, Any] | None
) -> DataOrError:
    """Return the newer data of a node: stored ones, or of a failed inspection.

    :param stored: the row or the data of an inspection that passed, an error
        of the storage, or None.
    :param failed: the row of an inspection that failed, if it was the last
        one that was recorded.
    :returns: the data; or the error of the storage, or that there are none.
    """
    if failed and _is_newest(failed, stored):
        return MachineData(
            failed['inventory'],
            failed['plugin_data'],
            source=RUN,
            run=failed['uuid'],
            stored_at=failed['created_at'],
        )
    if isinstance(stored, Exception):
        return stored
    if stored is None:
        return exceptions.NotFound(
            _(
                'Node %s has no stored inventory, as no inspection of it has '
                'passed, and none that failed is kept'
            )
            % (node.name or node.uuid)
        )
    # The trace of the last rules is no fact of the machine.
    plugin_data = dict(_decoded(stored['plugin_data']))
    plugin_data.pop(trace.KEY, None)
    return MachineData(
        _decoded(stored['inventory']),
        plugin_data,
        source=INVENTORY,
        stored_at=stored.get('stored_at'),
    )


def _decoded(data: Any) -> dict[str, Any]:
    """Return stored data, which are JSON if they are from the database.

    :param data: None counts as empty.
    """
    if isinstance(data, str):
        data = json.loads(data)
    return data or {}


def _is_newest(failed: dict[str, Any], stored: Any) -> bool:
    """Return whether data of a failed inspection are newer than stored ones.

    :param failed: the row of the inspection that failed.
    :param stored: the row of the stored data, or None.
    """
    if stored is None or stored['stored_at'] is None:
        return True
    # A run is recorded in whole seconds: within one, it counts as newer.
    stored_at = timeutils.parse_isotime(stored['stored_at'])
    failed_at = timeutils.parse_isotime(failed['created_at'])
    return stored_at.replace(microsecond=0) <= failed_at
