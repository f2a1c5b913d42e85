# SPDX-License-Identifier: Apache-2.0

"""A dry run of rules on a fleet of nodes."""

import collections
from collections.abc import Iterable, Iterator, Mapping, Sequence
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

_NODES = 200
"""How many nodes and their ports are read together: a page of the client."""

_DATA = 1 << 22
"""Characters of inventories and plugin data that are read together. As text
they take as many bytes, and a query takes longer than to try a rule."""

_WAITING = 25
"""How many machines wait for the same query: they have their data decoded."""


@dataclasses.dataclass(frozen=True)
class RequestedMachine:
    """One of the machines that a request names or selects.

    ``ident`` is its name or UUID. ``node`` is its :class:`StoredNode`, None
    if the caller may see no such node. ``facts`` are None if the rules cannot
    be tried; ``problem`` says why.
    """

    ident: str
    node: Any = None
    facts: working_copy.Facts | None = None
    source: inspection_data.MachineData | None = None
    problem: str | None = None


@dataclasses.dataclass(frozen=True)
class _Waiting:
    """An entry that holds only if the names in it are free."""

    machine: RequestedMachine
    entry: Entry
    names: set[str]


@dataclasses.dataclass(frozen=True)
class Trial:
    """A dry run of rules on many machines, one after another.

    ``refusals`` finds what would not be saved. ``in_force`` are the rules to
    compare with, None to compare with none.
    """

    plans: posted_rules.Plans
    phases: Iterable[str]
    limits: Mapping[str, budget.Limits]
    refusals: refusal.Refusals
    in_force: posted_rules.Plans | None = None

    def try_nodes(
        self, context: Any, page: fleet_page.Page
    ) -> Iterator[Entry]:
        """Yield an entry for each node of a page, in their order."""
        for machines in read(context, page):
            yield from self._try_together(machines)

    def _try_together(
        self, machines: Iterable[RequestedMachine]
    ) -> Iterator[Entry]:
        """Yield an entry for each of some machines, as soon as it is known.

        One whose rules give the node a new name waits for others: whether
        the names are taken is one query for all, as a query for each takes
        longer than trying the rules.
        """
        waiting: list[_Waiting] = []
        for machine in machines:
            # The names that the rules would give to the node: they are
            # assumed to be free until they are looked up.
            with self.refusals.assuming() as names:
                entry = self._try(machine)
            # Entries keep the order of the nodes: behind one that waits,
            # all others do.
            if names or waiting:
                waiting.append(_Waiting(machine, entry, names))
            else:
                yield entry
            if len(waiting) == _WAITING:
                yield from self._settle(waiting)
                waiting.clear()
        yield from self._settle(waiting)

    def _settle(self, waiting: Iterable[_Waiting]) -> Iterator[Entry]:
        """Look up which names are taken, and yield the entries that wait.

        A machine whose node would get a name that another node has is tried
        again: without :meth:`.Refusals.assuming`, the name is an error.
        """
        new_names: set[str] = set()
        for item in waiting:
            new_names |= item.names
        taken = self.refusals.taken(new_names)
        for item in waiting:
            if item.names & taken:
                yield self._try(item.machine)
            else:
                yield item.entry

    def _try(self, machine: RequestedMachine) -> Entry:
        """Return what the rules would do to a machine.

        It never fails: what goes wrong is in the entry.
        """
        if machine.facts is None:
            return _entry_of_error(machine, machine.problem)
        try:
            return self._evaluate_machine(machine, machine.facts)
        # The answer has other machines.
        except Exception as exc:
            LOG.exception(
                'Rules cannot be tried on node %s', machine.node.uuid
            )
            return _entry_of_error(machine, exceptions.reason_of(exc))

    def _evaluate_machine(
        self, machine: RequestedMachine, facts: working_copy.Facts
    ) -> Entry:
        """Return the entry of a machine on which the rules are tried.

        For instance::

            {'uuid': UUID, 'name': 'r1-n7',
             'result': 'failed', 'error': 'too little memory',
             'matched': [UUID, UUID],
             # Only where rules have failed the inspection.
             'failed_by': {'rule': UUID, 'op': 'fail', 'kind': 'fail'},
             # Only where there are rules in mode "audit" to tell of.
             'audit': [{'uuid': UUID, …}],
             # "run" only where the data are of an inspection that failed.
             'source': 'inspection_run', 'run': UUID,
             # Only where an instance asks for traits.
             'validates': True, 'validates_before': True,
             'changes': [{'object': 'node', 'op': 'add',
                          'path': '/extra/rack', 'value': 'r1'}],
             # The rules that made the changes, in their order.
             'changed_by': [UUID]}

        If the rules are compared with those in force, the members that
        :meth:`_compare` returns replace ``changes`` and ``changed_by``.
        """
        outcome = self._evaluate(self.plans, facts)
        entry = {
            'uuid': machine.node.uuid,
            'name': machine.node.name,
            **_represent(self.plans, outcome),
        }
        if outcome.audited:
            entry['audit'] = [rule.as_audit() for rule in outcome.audited]
        if machine.source:
            entry['source'] = machine.source.source
            if machine.source.run:
                entry['run'] = machine.source.run
        entry.update(_validation(facts, outcome.facts))
        if self.in_force is None:
            entry['changes'] = [change.as_dict() for change in outcome.changes]
            entry['changed_by'] = outcome.changed_by
        else:
            entry.update(self._compare(facts, outcome, self.in_force))
        return entry

    def _compare(
        self,
        facts: working_copy.Facts,
        outcome: evaluation.Evaluation,
        in_force: posted_rules.Plans,
    ) -> Entry:
        """Compare the rules that are tried with the rules in force.

        Both run on the same facts. Failures of the same type, op and reason
        are equal, even if they are failures of different rules.

        :param outcome: the outcome of the rules that are tried.
        :returns: members of the entry: the changes from the one result to the
            other, whether anything ``differs``, and, if so, the result of the
            rules in force.
        """
        present = self._evaluate(in_force, facts)
        differences = difference.between(
            present.facts, outcome.facts, facts.ports
        )
        differs = bool(differences)
        if replay.nature(outcome.error) != replay.nature(present.error):
            differs = True
        compared: Entry = {
            'changes': [
                change.with_before() for change in differences.changes
            ],
            'differs': differs,
        }
        if differs:
            compared['in_force'] = _represent(in_force, present)
            if _traits_of_instance(facts) is not None:
                compared['in_force']['validates'] = _has_traits_of_instance(
                    present.facts
                )
        return compared

    def _evaluate(
        self, plans: posted_rules.Plans, facts: working_copy.Facts
    ) -> evaluation.Evaluation:
        return evaluation.evaluate(
            plans,
            facts,
            self.phases,
            explain=False,
            limits=self.limits,
            refuse=self.refusals.find,
        )


def read(
    context: Any, page: fleet_page.Page
) -> Iterator[Iterator[RequestedMachine]]:
    """Yield the requested machines in their order, in portions.

    Nodes are read for many machines together, inventories only for the
    machines of a portion. A machine that does not exist is yielded with the
    problem. A portion may be empty.
    """
    for first in range(0, len(page.nodes), _NODES):
        requested = page.nodes[first : first + _NODES]
        nodes = _Nodes.read(context, page.filters, requested)
        left = collections.deque(requested)
        for portion in inspection_data.portions(
            context, nodes.list_requested(requested), _DATA
        ):
            # With the nodes in between that do not exist.
            requested_of_portion = nodes.take(left, len(portion.nodes))
            data = inspection_data.find_all(
                context, portion.nodes, portion.failing
            )
            yield nodes.build_machines(requested_of_portion, data)
        # The nodes that are left do not exist.
        yield nodes.build_machines(left, iter(()))


@dataclasses.dataclass(frozen=True)
class StoredNode:
    """A node as the database has it.

    ``fields`` are those that rules see.
    """

    id: int
    uuid: str
    name: str | None
    fields: Entry


@dataclasses.dataclass(frozen=True)
class _Nodes:
    """Nodes that the caller may see, with their ports and port groups.

    ``ports`` and ``groups`` are fields by the ``id`` of the node.
    """

    by_uuid: Mapping[Any, StoredNode]
    ports: Mapping[int, list[Entry]]
    groups: Mapping[int, list[Entry]]

    @classmethod
    def read(
        cls,
        context: Any,
        filters: Mapping[str, Any],
        requested: Iterable[fleet_page.RequestedNode],
    ) -> '_Nodes':
        """Read the requested nodes, their ports and port groups.

        There is one query for all nodes, one for all ports and one for all
        groups.

        :param filters: leave out nodes that the caller may not see; see
            :class:`.page.Page`.
        """
        uuids = {uuid for _ident, uuid in requested if uuid is not None}
        machine = machine_object.InspectedMachine
        nodes = {}
        uuid_of = {}
        rows = machine.list_nodes(
            context, {**filters, 'uuid_in': sorted(uuids)}
        )
        for row, fields in zip(
            rows, _select_fields(objects.Node, rows), strict=True
        ):
            # The last field, as in the facts of an inspection.
            fields['traits'] = fields.pop('traits')
            nodes[row['uuid']] = StoredNode(
                row['id'], row['uuid'], row['name'], fields
            )
            uuid_of[row['id']] = row['uuid']
        ports = machine.list_ports(context, list(uuid_of))
        groups = machine.list_port_groups(context, list(uuid_of))
        return cls(
            nodes,
            _fields_by_node(objects.Port, uuid_of, ports),
            _fields_by_node(objects.Portgroup, uuid_of, groups),
        )

    def list_requested(
        self, requested: Iterable[fleet_page.RequestedNode]
    ) -> list[StoredNode]:
        """Return the requested nodes that are there; one may be twice."""
        return [
            self.by_uuid[uuid]
            for _ident, uuid in requested
            if uuid in self.by_uuid
        ]

    def take(
        self, left: collections.deque[fleet_page.RequestedNode], count: int
    ) -> list[fleet_page.RequestedNode]:
        """Take requested nodes from the left, until enough of them exist.

        Nodes that do not exist are taken as well: they have entries, too.
        """
        requested = []
        while count:
            item = left.popleft()
            requested.append(item)
            _ident, uuid = item
            if uuid in self.by_uuid:
                count -= 1
        return requested

    def build_machines(
        self,
        requested: Iterable[fleet_page.RequestedNode],
        data: Iterator[inspection_data.DataOrError],
    ) -> Iterator[RequestedMachine]:
        """Yield the machines that a request names, in its order.

        A node that does not exist, or whose data cannot be read, is yielded
        with that problem.

        :param requested: for every node, the name or UUID that the request
            has, and its UUID; None for a name that no node has.
        :param data: yields the data of the nodes that are there, in the same
            order.
        """
        for ident, uuid in requested:
            node = self.by_uuid.get(uuid)
            if node is None:
                yield RequestedMachine(
                    ident, problem=_('Node %s could not be found.') % ident
                )
                continue
            # Only for a node that is there: the others have no data.
            source = next(data)
            if isinstance(source, Exception):
                yield RequestedMachine(ident, node, problem=str(source))
                continue
            facts = self._build_facts(node, source)
            yield RequestedMachine(ident, node, facts, source)

    def _build_facts(
        self, node: StoredNode, source: inspection_data.MachineData
    ) -> working_copy.Facts:
        """Return the facts of a machine that rules are tried on."""
        fields = {
            **node.fields,
            'auto_discovered': node_facts.is_auto_discovered(
                node.fields['provision_state'], source.plugin_data
            ),
        }
        return working_copy.Facts(
            source.inventory,
            source.plugin_data,
            fields,
            tuple(self.ports.get(node.id, ())),
            tuple(self.groups.get(node.id, ())),
        )


def _fields_by_node(
    kind: Any, uuid_of: Mapping[int, str], rows: Sequence[Entry]
) -> Mapping[int, list[Entry]]:
    """Return the fields of objects that belong to nodes.

    :param kind: the class of Ironic's objects.
    :param uuid_of: the UUIDs of nodes by their ``id``.
    :returns: by the ``id`` of the node.
    """
    for row in rows:
        # A field of the object that is no column.
        row['node_uuid'] = uuid_of[row['node_id']]
    fields_of = collections.defaultdict(list)
    for row, fields in zip(rows, _select_fields(kind, rows), strict=True):
        fields_of[row['node_id']].append(fields)
    return fields_of


def _select_fields(kind: Any, rows: Sequence[Entry]) -> list[Entry]:
    """Return what :func:`.facts.as_dict` makes of objects, from their rows.

    The objects themselves take longer to make than all that is read of them.

    :param kind: the class of Ironic's objects.
    :param rows: all with the same columns.
    """
    if not rows:
        return []
    names = [name for name in kind.fields if name in rows[0]]
    return [{name: row[name] for name in names} for row in rows]


def _represent(
    plans: posted_rules.Plans, outcome: evaluation.Evaluation
) -> Entry:
    """Return how an inspection with the rules would end, and which match.

    Rules in mode ``audit`` that match are among them.
    """
    matched = [rule.rule.uuid for rule in outcome.traces if rule.matched]
    audited = [rule.rule.uuid for rule in outcome.audited if rule.matched]
    if audited:
        # In the order in which they run.
        both = {*matched, *audited}
        matched = []
        for plans_of_phase in plans.values():
            for plan in plans_of_phase:
                if plan.rule.uuid in both:
                    matched.append(plan.rule.uuid)
    error = outcome.error
    if error is None:
        return {'result': OK, 'error': None, 'matched': matched}
    kind = ERROR
    if isinstance(error, exceptions.RuleFailed):
        kind = 'fail'
    return {
        'result': FAILED,
        'error': str(error),
        'matched': matched,
        'failed_by': {'rule': error.rule_uuid, 'op': error.op, 'kind': kind},
    }


def _traits_of_instance(facts: working_copy.Facts) -> object:
    """Return the traits that the instance of a node asks for.

    :returns: ``['HW_GPU']`` or whatever ``instance_info/traits`` is; None
        where no instance asks for traits.
    """
    node = facts.node or {}
    traits = data_path.get(node, ('instance_info', working_copy.TRAITS))
    if traits is data_path.ABSENT:
        return None
    return traits


def _has_traits_of_instance(facts: working_copy.Facts) -> bool:
    """Check if a node has all traits that its instance asks for.

    It does where none are asked for, such as after a rule has removed them
    from ``instance_info``.
    """
    node = facts.node or {}
    present = node.get(working_copy.TRAITS) or ()
    problem = deploy.find_problem(_traits_of_instance(facts), present)
    return problem is None


def _validation(
    before: working_copy.Facts, after: working_copy.Facts
) -> Entry:
    """Return whether a node has the traits of its instance.

    :param before: the node before the rules.
    :param after: the node after them.
    :returns: members of the entry; none where no instance asks for traits.
    """
    if _traits_of_instance(before) is None:
        return {}
    return {
        'validates': _has_traits_of_instance(after),
        'validates_before': _has_traits_of_instance(before),
    }


def _entry_of_error(machine: RequestedMachine, problem: str | None) -> Entry:
    """Return the entry of a machine on which no rules can be tried."""
    uuid = None
    name = None
    if machine.node is not None:
        uuid = machine.node.uuid
        name = machine.node.name
    elif uuidutils.is_uuid_like(machine.ident):
        uuid = machine.ident
    else:
        name = machine.ident
    return {
        'uuid': uuid,
        'name': name,
        'result': ERROR,
        'error': problem or _('nothing is known of the machine'),
        'matched': [],
        'changes': [],
    }
