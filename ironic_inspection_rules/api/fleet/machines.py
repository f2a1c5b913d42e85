# SPDX-License-Identifier: Apache-2.0

"""Reading the facts of many machines, with few queries."""

import collections
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
from typing import Any

from ironic import objects

from ironic_inspection_rules.api import inspection_data
from ironic_inspection_rules.engine import hiding
from ironic_inspection_rules.engine import working_copy
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.inspection import facts
from ironic_inspection_rules.objects import machine as machine_object

_NODES = 100
"""How many nodes and their ports are read together."""

_DATA = 1 << 20
"""Characters of inventories and plugin data that are read together."""


@dataclasses.dataclass(frozen=True)
class Machine:
    """One of the machines that were asked for.

    ``asked`` is the name or UUID. ``node`` is None if the caller sees none,
    ``facts`` None if nothing can be told of the machine; ``problem`` says
    why. ``hidden`` is where sensitive rules have left values.
    """

    asked: str
    node: Any = None
    facts: working_copy.Facts | None = None
    source: inspection_data.InspectionData | None = None
    problem: str | None = None
    hidden: Sequence[hiding.Lasting] = ()


def read(context: Any, nodes: Sequence[tuple[str, str | None]],
         filters: Mapping[str, Any]) -> Iterator[list[Machine]]:
    """Read what rules may see of machines, some at a time.

    What is large is read in portions: only one of them is in memory, if
    whoever asks lets go of it.

    :param nodes: pairs of what was asked for and the UUID.
    :param filters: of Ironic's list of nodes, beside the UUIDs.
    :returns: lists of machines; all of them are one for each pair, in that
        order.
    """
    for first in range(0, len(nodes), _NODES):
        yield from _read(context, nodes[first:first + _NODES], filters)


def _read(context: Any, nodes: Sequence[tuple[str, str | None]],
          filters: Mapping[str, Any]) -> Iterator[list[Machine]]:
    found = {node.uuid: node for node in objects.Node.list(context, filters={
        **filters, 'uuid_in': sorted({uuid for _asked, uuid in nodes
                                      if uuid})})}
    ids = [node.id for node in found.values()]
    ports = _by_node(objects.Port, found, machine_object.InspectedMachine
                     .list_ports(context, ids))
    groups = _by_node(objects.Portgroup, found, machine_object
                      .InspectedMachine.list_port_groups(context, ids))
    hidden = facts.hidden_by_runs(
        context, [node.uuid for node in found.values()])
    left = collections.deque(nodes)
    seen = [found[uuid] for _asked, uuid in nodes if uuid in found]
    for portion in inspection_data.portions(context, seen, _DATA):
        some = []
        awaited = len(portion)
        while awaited:
            some.append(left.popleft())
            awaited -= some[-1][1] in found
        # Not by a name, which would keep it while the next is read.
        yield _machines(some, found, ports, groups, hidden,
                        inspection_data.find_all(context, portion))
    yield _machines(left, found, ports, groups, hidden, {})


def _machines(some: Iterable[tuple[str, str | None]],
              nodes: Mapping[Any, Any], ports: Mapping[int, list[Any]],
              groups: Mapping[int, list[Any]],
              hidden: Mapping[str, list[hiding.Lasting]],
              data: Mapping[str, inspection_data.Found]) -> list[Machine]:
    machines = []
    for asked, uuid in some:
        node = nodes.get(uuid)
        if node is None:
            machines.append(Machine(asked, problem=_(
                'Node %s could not be found.') % asked))
        elif isinstance(found := data[node.uuid], Exception):
            machines.append(Machine(asked, node, problem=str(found)))
        else:
            machines.append(Machine(asked, node, facts.of_node(
                node, ports.get(node.id, ()), groups.get(node.id, ()),
                found.inventory, found.plugin_data), found,
                hidden=hidden[node.uuid]))
    return machines


def _by_node(kind: Any, nodes: Mapping[str, Any],
             rows: Iterable[dict[str, Any]]) -> Mapping[int, list[Any]]:
    """Make objects of rows, by the ``id`` of their node."""
    uuids = {node.id: node.uuid for node in nodes.values()}
    made = collections.defaultdict(list)
    for row in rows:
        row['node_uuid'] = uuids[row['node_id']]
        made[row['node_id']].append(kind(**{
            name: row[name] for name in kind.fields if name in row}))
    return made
