# SPDX-License-Identifier: Apache-2.0

"""Rules tried on the machines of a fleet, read with few queries."""

import collections
from collections.abc import Iterable, Iterator, Mapping
import dataclasses
from typing import Any

from ironic import objects
from oslo_log import log
from oslo_utils import uuidutils

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.api import inspection_data
from ironic_inspection_rules.api import posted_rules
from ironic_inspection_rules.api.fleet import page as fleet_page
from ironic_inspection_rules.engine.language import budget
from ironic_inspection_rules.engine.language import path as data_path
from ironic_inspection_rules.engine.run import difference
from ironic_inspection_rules.engine.run import evaluation
from ironic_inspection_rules.engine.run import working_copy
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.inspection import facts as node_facts
from ironic_inspection_rules.inspection import refusal
from ironic_inspection_rules.objects import machine as machine_object
from ironic_inspection_rules.runs import replay
from ironic_inspection_rules.traits import deploy

LOG = log.getLogger(__name__)

OK, FAILED, ERROR = 'ok', 'failed', 'error'

Entry = dict[str, Any]

_NODES = 100
"""How many nodes and their ports are read together."""

_DATA = 1 << 20
"""Characters of inventories and plugin data that are read together."""


@dataclasses.dataclass(frozen=True)
class Machine:
    """One of the machines that were asked for.

    ``asked`` is the name or UUID. ``node`` is None if the caller may see no
    such node, ``facts`` None if the rules cannot be tried; ``problem`` says
    why.
    """

    asked: str
    node: Any = None
    facts: working_copy.Facts | None = None
    source: inspection_data.InspectionData | None = None
    problem: str | None = None


@dataclasses.dataclass(frozen=True)
class Trial:
    """Rules that are tried, machine by machine.

    :param refusals: finds what would not be saved.
    :param in_force: the rules to compare with, None to compare with none.
    """

    plans: posted_rules.Plans
    phases: Iterable[str]
    limits: Mapping[str, budget.Limits]
    refusals: refusal.Refusals
    in_force: posted_rules.Plans | None = None

    def all(self, context: Any, page: fleet_page.Page) -> Iterator[Entry]:
        """Yield an entry for each node of a page, in their order."""
        for some in read(context, page):
            yield from self._together(some)

    def _together(self, some: list[Machine]) -> Iterator[Entry]:
        """Yield an entry for each of some machines, as soon as it is known.

        One whose rules give the node a new name waits for the others: whether
        the names are taken is one query for all, as a query for each takes
        longer than trying the rules.

        :param some: is emptied; no machine is kept when the next are read.
        """
        waiting = collections.deque[tuple[Machine, Entry, set[str]]]()
        some.reverse()
        while some:
            machine = some.pop()
            with self.refusals.assuming() as names:
                entry = self._of(machine)
            if names or waiting:
                waiting.append((machine, entry, names))
            else:
                yield entry
        taken = self.refusals.taken({
            name for _machine, _entry, names in waiting for name in names})
        while waiting:
            machine, entry, names = waiting.popleft()
            yield self._of(machine) if names & taken else entry

    def _of(self, machine: Machine) -> Entry:
        """Return what the rules would do to a machine.

        It never fails: what goes wrong is in the entry.
        """
        if machine.facts is None:
            return _not_tried(machine, machine.problem)
        try:
            return self._tried(machine, machine.facts)
        # The answer has other machines.
        except Exception as exc:
            LOG.exception('Rules cannot be tried on node %s',
                          machine.node.uuid)
            return _not_tried(machine, exceptions.reason_of(exc))

    def _tried(self, machine: Machine, facts: working_copy.Facts) -> Entry:
        outcome = self._evaluate(self.plans, facts)
        entry = {'uuid': machine.node.uuid, 'name': machine.node.name,
                 **_told(self.plans, outcome),
                 'changes': [each.as_dict() for each in outcome.changes]}
        if outcome.audited:
            entry['audit'] = [each.as_audit() for each in outcome.audited]
        if machine.source:
            entry['source'] = machine.source.source
            if machine.source.run:
                entry['run'] = machine.source.run
        validated = _validates(facts)
        if validated is not None:
            entry['validates'] = _validates(outcome.facts) is not False
            entry['validates_before'] = validated
        if self.in_force is None:
            entry['changed_by'] = outcome.changed_by
        else:
            entry.update(self._compared(facts, outcome, self.in_force))
        return entry

    def _compared(self, facts: working_copy.Facts,
                  outcome: evaluation.Evaluation,
                  in_force: posted_rules.Plans) -> Entry:
        other = self._evaluate(in_force, facts)
        found = difference.between(other.facts, outcome.facts, facts.ports)
        told: Entry = {
            'changes': [each.with_before() for each in found.changes],
            'differs': bool(found) or (
                replay.nature(outcome.error) != replay.nature(other.error))}
        if told['differs']:
            told['in_force'] = _told(in_force, other)
            if _validates(facts) is not None:
                told['in_force']['validates'] = (
                    _validates(other.facts) is not False)
        return told

    def _evaluate(self, plans: posted_rules.Plans,
                  facts: working_copy.Facts) -> evaluation.Evaluation:
        return evaluation.evaluate(plans, facts, self.phases, explain=False,
                                   limits=self.limits,
                                   refuse=self.refusals.find)


def read(context: Any, page: fleet_page.Page) -> Iterator[list[Machine]]:
    """Read what rules may see of machines, some at a time.

    Inventories are read in portions: only one of them is in memory, if the
    caller keeps none.
    """
    for first in range(0, len(page.nodes), _NODES):
        nodes = page.nodes[first:first + _NODES]
        found = {node.uuid: node for node in objects.Node.list(
            context, filters={**page.filters, 'uuid_in': sorted(
                {uuid for _asked, uuid in nodes if uuid})})}
        ids = [node.id for node in found.values()]
        ports = _by_node(objects.Port, found, machine_object.InspectedMachine
                         .list_ports(context, ids))
        groups = _by_node(objects.Portgroup, found, machine_object
                          .InspectedMachine.list_port_groups(context, ids))
        left = collections.deque(nodes)
        seen = [found[uuid] for _asked, uuid in nodes if uuid in found]
        for portion in inspection_data.portions(context, seen, _DATA):
            some = []
            awaited = len(portion)
            while awaited:
                some.append(left.popleft())
                awaited -= some[-1][1] in found
            # Not by a name, which would keep it while the next is read.
            yield _machines(some, found, ports, groups,
                            inspection_data.find_all(context, portion))
        yield _machines(left, found, ports, groups, {})


def _machines(some: Iterable[tuple[str, str | None]],
              nodes: Mapping[Any, Any], ports: Mapping[int, list[Any]],
              groups: Mapping[int, list[Any]],
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
            machines.append(Machine(asked, node, node_facts.of_node(
                node, ports.get(node.id, ()), groups.get(node.id, ()),
                found.inventory, found.plugin_data), found))
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


def _told(plans: posted_rules.Plans, outcome: evaluation.Evaluation) -> Entry:
    matched = [each.rule.uuid for each in outcome.traces if each.matched]
    audited = [each.rule.uuid for each in outcome.audited if each.matched]
    if audited:
        # In the order in which they run.
        both = {*matched, *audited}
        matched = [plan.rule.uuid for phase in plans.values()
                   for plan in phase if plan.rule.uuid in both]
    told: Entry = {'result': FAILED if outcome.error else OK,
                   'error': str(outcome.error) if outcome.error else None,
                   'matched': matched}
    if outcome.error:
        told['failed_by'] = {
            'rule': outcome.error.rule_uuid, 'op': outcome.error.op,
            'kind': ('fail' if isinstance(outcome.error, exceptions.RuleFailed)
                     else ERROR)}
    return told


def _validates(facts: working_copy.Facts) -> bool | None:
    """Check if a node has the traits of its instance, if it has any."""
    node = facts.node or {}
    wanted = data_path.get(node, ('instance_info', working_copy.TRAITS))
    if wanted is None or wanted is data_path.ABSENT:
        return None
    return deploy.problem(wanted, node.get(working_copy.TRAITS) or ()) is None


def _not_tried(machine: Machine, problem: str | None) -> Entry:
    if machine.node is not None:
        uuid, name = machine.node.uuid, machine.node.name
    elif uuidutils.is_uuid_like(machine.asked):
        uuid, name = machine.asked, None
    else:
        uuid, name = None, machine.asked
    return {'uuid': uuid, 'name': name, 'result': ERROR,
            'error': problem or _('nothing is known of the machine'),
            'matched': [], 'changes': []}
