# SPDX-License-Identifier: Apache-2.0

"""A dry run of rules on a fleet of nodes.

The rules are evaluated on the stored data of one machine after another, and
nothing is stored. The answer has an *entry* for every machine: ``{'uuid':
UUID, 'name': 'r1-n7', 'result': 'ok', 'matched': […], 'changes': […], …}``.

The *facts* of a machine are the data that rules read: inventory, plugin data,
node and ports. *Plans* are compiled rules. An *outcome* is the result of
evaluating plans on facts.
"""

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

_NODES_PER_QUERY = 200
"""How many nodes and their ports are read at once: a page of the client."""

_MOST_CHARACTERS = 1 << 22
"""Maximum length of inventories and plugin data read at once, as JSON.

They take the same number of bytes of memory. Machines are not read one by one,
because a query takes longer than trying a rule.
"""

_MOST_WAITING = 25
"""How many machines wait for one query of names.

The number is small because their decoded data take much memory.
"""


@dataclasses.dataclass(frozen=True)
class RequestedMachine:
    """One of the machines that a request names or selects.

    ``ident``
        Its name or UUID in the request.
    ``node``
        Its :class:`StoredNode`; None if the node does not exist or the caller
        may not see it.
    ``facts``
        The data that rules read; None if the rules cannot be tried.
    ``source``
        The inspection data from which the facts are built.
    ``problem``
        Why the rules cannot be tried; None if they can.
    """

    ident: str
    node: Any = None
    facts: working_copy.Facts | None = None
    source: inspection_data.MachineData | None = None
    problem: str | None = None


@dataclasses.dataclass(frozen=True)
class _WaitingEntry:
    """An entry that is correct only if the new names of its node are free.

    ``names`` are the names that rules would give to the node of the machine.
    It is not known yet whether another node has one of them.
    """

    machine: RequestedMachine
    entry: Entry
    names: set[str]


@dataclasses.dataclass(frozen=True)
class Trial:
    """A dry run of rules on many machines, one after another.

    ``plans``
        The rules to try, by phase.
    ``phases``
        The names of the phases to evaluate.
    ``limits``
        How much time and how many operations the rules may take, by phase.
    ``refusals``
        Finds changes that could not be saved, e.g. a name that another node
        has.
    ``in_force``
        The rules to compare the tried rules with; None to compare with none.
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
        for machines in read_machines(context, page):
            yield from self._try_together(machines)

    def _try_together(
        self, machines: Iterable[RequestedMachine]
    ) -> Iterator[Entry]:
        """Yield the entries of some machines, in their order.

        If the rules give the node of a machine a new name, another node may
        have this name. A query per machine would take longer than trying the
        rules. Therefore such entries wait, and one query looks up the names of
        several machines. All other entries are yielded immediately.
        """
        waiting: list[_WaitingEntry] = []
        for machine in machines:
            # In this block, all names that the rules would give to the node
            # are assumed to be free, and are collected for the later query.
            with self.refusals.assuming() as new_names:
                entry = self._try(machine)
            # Entries keep the order of the nodes, so all entries after a
            # waiting one must wait as well.
            if new_names or waiting:
                waiting.append(_WaitingEntry(machine, entry, new_names))
            else:
                yield entry
            if len(waiting) == _MOST_WAITING:
                yield from self._look_up_names(waiting)
                waiting.clear()
        yield from self._look_up_names(waiting)

    def _look_up_names(
        self, waiting: Iterable[_WaitingEntry]
    ) -> Iterator[Entry]:
        """Look up which names are taken, and yield the waiting entries.

        A machine whose node would get a taken name is tried again, and its
        entry then has this error: all names were assumed to be free only in
        the first try, within :meth:`.Refusals.assuming`.
        """
        new_names: set[str] = set()
        for waiting_entry in waiting:
            new_names |= waiting_entry.names
        taken_names = self.refusals.find_taken(new_names)
        for waiting_entry in waiting:
            if waiting_entry.names & taken_names:
                yield self._try(waiting_entry.machine)
            else:
                yield waiting_entry.entry

    def _try(self, machine: RequestedMachine) -> Entry:
        """Return the entry of a machine: what the rules would do to it.

        This never raises an error. An error becomes the entry of this machine,
        because the answer has other machines as well.
        """
        if machine.facts is None:
            return _entry_of_error(machine, machine.problem)
        try:
            return self._evaluate_machine(machine, machine.facts)
        except Exception as exc:
            LOG.exception(
                'Rules cannot be tried on node %s', machine.node.uuid
            )
            return _entry_of_error(machine, exceptions.reason_of(exc))

    def _evaluate_machine(
        self, machine: RequestedMachine, facts: working_copy.Facts
    ) -> Entry:
        """Try the rules on a machine, and return its entry.

        For example::

            {'uuid': UUID, 'name': 'r1-n7',
             'result': 'failed', 'error': 'too little memory',
             'matched': [UUID, UUID],
             # Only if rules have failed the inspection.
             'failed_by': {'rule': UUID, 'op': 'fail', 'kind': 'fail'},
             # Only if rules in mode "audit" have something to report.
             'audit': [{'uuid': UUID, …}],
             # "run" only if the data come from a failed inspection.
             'source': 'inspection_run', 'run': UUID,
             # Only if an instance asks for traits.
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
            **_describe_outcome(self.plans, outcome),
        }
        if outcome.audited:
            entry['audit'] = [rule.as_audit() for rule in outcome.audited]
        if machine.source:
            entry['source'] = machine.source.source
            if machine.source.run:
                entry['run'] = machine.source.run
        if _traits_of_instance(facts) is not None:
            # Without these traits, Ironic's deploy validation fails.
            entry['validates'] = _has_traits_of_instance(outcome.facts)
            entry['validates_before'] = _has_traits_of_instance(facts)
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

        Both run on the same facts. Failures with the same type, op and reason
        count as equal, even if they come from different rules.

        :param outcome: the outcome of the rules that are tried.
        :returns: members of the entry: the changes from the result of the
            rules in force to that of the tried rules, whether anything
            ``differs``, and, if so, the result of the rules in force.
        """
        outcome_in_force = self._evaluate(in_force, facts)
        differences = difference.between(
            outcome_in_force.facts, outcome.facts, facts.ports
        )
        failure = replay.failure_key(outcome.error)
        failure_in_force = replay.failure_key(outcome_in_force.error)
        differs = bool(differences) or failure != failure_in_force
        compared: Entry = {
            'changes': [
                change.with_before() for change in differences.changes
            ],
            'differs': differs,
        }
        if differs:
            described = _describe_outcome(in_force, outcome_in_force)
            if _traits_of_instance(facts) is not None:
                described['validates'] = _has_traits_of_instance(
                    outcome_in_force.facts
                )
            compared['in_force'] = described
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


def read_machines(
    context: Any, page: fleet_page.Page
) -> Iterator[Iterator[RequestedMachine]]:
    """Yield the requested machines in their order, in batches.

    The nodes of many machines are read at once. Their inventories, which are
    larger, are read only for the machines of a batch. A machine that does
    not exist is yielded with a ``problem`` that says so. A batch may be
    empty.

    :param page: the requested nodes. Nodes that the caller may not see count
        as nodes that do not exist.
    """
    for first in range(0, len(page.nodes), _NODES_PER_QUERY):
        requested = page.nodes[first : first + _NODES_PER_QUERY]
        nodes = _Nodes.read(context, page.filters, requested)
        existing = nodes.list_existing(requested)
        # take_existing() removes the nodes of a batch from this queue.
        not_yielded = collections.deque(requested)
        for batch in inspection_data.divide_into_batches(
            context, existing, _MOST_CHARACTERS
        ):
            # The nodes of the batch, and the nodes between them that do not
            # exist.
            requested_of_batch = nodes.take_existing(
                not_yielded, len(batch.nodes)
            )
            data = inspection_data.find_all(
                context, batch.nodes, batch.failing
            )
            yield nodes.build_machines(requested_of_batch, data)
        # The remaining nodes do not exist, so they have no data.
        no_data: Iterator[inspection_data.DataOrError] = iter(())
        yield nodes.build_machines(not_yielded, no_data)


@dataclasses.dataclass(frozen=True)
class StoredNode:
    """A node as it is stored in the database.

    ``fields`` are the fields that rules see.
    """

    id: int
    uuid: str
    name: str | None
    fields: Entry


@dataclasses.dataclass(frozen=True)
class _Nodes:
    """Nodes that the caller may see, with their ports and port groups.

    ``ports`` and ``groups`` have the fields by the ``id`` of the node.
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

        This takes one query for all nodes, one for all ports and one for all
        port groups.

        :param filters: the filters of the page, which exclude nodes that the
            caller may not see.
        """
        uuids = {uuid for _ident, uuid in requested if uuid is not None}
        machine = machine_object.InspectedMachine
        nodes = {}
        uuid_by_id = {}
        rows = machine.list_nodes(
            context, {**filters, 'uuid_in': sorted(uuids)}
        )
        for row, fields in zip(
            rows, _select_fields(objects.Node, rows), strict=True
        ):
            # Move the traits to the end, because they are the last field in
            # the facts of an inspection as well.
            fields['traits'] = fields.pop('traits')
            nodes[row['uuid']] = StoredNode(
                row['id'], row['uuid'], row['name'], fields
            )
            uuid_by_id[row['id']] = row['uuid']
        ports = machine.list_ports(context, list(uuid_by_id))
        groups = machine.list_port_groups(context, list(uuid_by_id))
        return cls(
            nodes,
            _fields_by_node(objects.Port, uuid_by_id, ports),
            _fields_by_node(objects.Portgroup, uuid_by_id, groups),
        )

    def list_existing(
        self, requested: Iterable[fleet_page.RequestedNode]
    ) -> list[StoredNode]:
        """Return the requested nodes that exist.

        A node that is requested twice is in the list twice.
        """
        return [
            self.by_uuid[uuid]
            for _ident, uuid in requested
            if uuid in self.by_uuid
        ]

    def take_existing(
        self,
        requested: collections.deque[fleet_page.RequestedNode],
        count: int,
    ) -> list[fleet_page.RequestedNode]:
        """Take a number of nodes that exist from a queue.

        Nodes before them that do not exist are taken as well, because they
        also have entries in the answer.

        :param requested: the queue, from which the nodes are removed. It must
            have enough nodes that exist.
        :param count: the number of nodes that exist.
        :returns: the nodes in the order of the queue.
        """
        taken = []
        count_of_existing = 0
        while count_of_existing < count:
            ident, uuid = requested.popleft()
            taken.append((ident, uuid))
            if uuid in self.by_uuid:
                count_of_existing += 1
        return taken

    def build_machines(
        self,
        requested: Iterable[fleet_page.RequestedNode],
        data: Iterator[inspection_data.DataOrError],
    ) -> Iterator[RequestedMachine]:
        """Yield the machines of some requested nodes, in their order.

        A machine whose node does not exist, or whose data cannot be read, has
        the reason as its ``problem``, and no facts.

        :param requested: the name or UUID in the request and the UUID of every
            node; the UUID is None if no node has the name.
        :param data: yields the data of the nodes that exist, in the same
            order.
        """
        for ident, uuid in requested:
            node = self.by_uuid.get(uuid)
            if node is None:
                yield RequestedMachine(
                    ident, problem=_('Node %s could not be found.') % ident
                )
                continue
            # The data belong to the next node that exists.
            data_of_node = next(data)
            if isinstance(data_of_node, Exception):
                yield RequestedMachine(ident, node, problem=str(data_of_node))
                continue
            facts = self._build_facts(node, data_of_node)
            yield RequestedMachine(ident, node, facts, source=data_of_node)

    def _build_facts(
        self, node: StoredNode, source: inspection_data.MachineData
    ) -> working_copy.Facts:
        """Return the facts of a machine: the data that rules read and change.

        These are the inventory, the plugin data, the node, its ports and its
        port groups.
        """
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
    object_class: Any, uuid_by_id: Mapping[int, str], rows: Sequence[Entry]
) -> Mapping[int, list[Entry]]:
    """Return the fields of ports or port groups, by the ``id`` of their node.

    :param object_class: Ironic's class of ports or of port groups.
    :param uuid_by_id: the UUIDs of the nodes by their ``id``.
    :param rows: the rows of the ports or port groups, to which the UUID of the
        node is added.
    :returns: ``{7: [{'address': '52:54:00:12:34:56', …}]}`` by the ``id`` of
        the node.
    """
    for row in rows:
        # Objects have this field, but the table does not have the column.
        row['node_uuid'] = uuid_by_id[row['node_id']]
    fields_by_node_id = collections.defaultdict(list)
    all_fields = _select_fields(object_class, rows)
    for row, fields in zip(rows, all_fields, strict=True):
        fields_by_node_id[row['node_id']].append(fields)
    return fields_by_node_id


def _select_fields(object_class: Any, rows: Sequence[Entry]) -> list[Entry]:
    """Return the fields of objects, from their rows.

    The result is the same as from :func:`.facts.as_dict` with the objects
    themselves. It is faster, because no objects are created.

    :param object_class: the class of Ironic's objects, e.g. of ports.
    :param rows: rows, which must all have the same columns.
    """
    if not rows:
        return []
    names = [name for name in object_class.fields if name in rows[0]]
    return [{name: row[name] for name in names} for row in rows]


def _describe_outcome(
    plans: posted_rules.Plans, outcome: evaluation.Evaluation
) -> Entry:
    """Return the members of an entry with the result and the matching rules.

    For example, ``{'result': 'ok', 'error': None, 'matched': [UUID, UUID]}``.
    If the inspection would fail, ``failed_by`` has the rule and the action.
    The matching rules are in the order in which they run, and include rules in
    mode ``audit``.

    :param plans: the rules that were evaluated.
    """
    matched = _list_matched(plans, outcome)
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


def _list_matched(
    plans: posted_rules.Plans, outcome: evaluation.Evaluation
) -> list[str]:
    """Return the UUIDs of the matching rules, in the order in which they run.

    :param plans: the rules that were evaluated.
    """
    matched = [trace.rule.uuid for trace in outcome.traces if trace.matched]
    audited = [trace.rule.uuid for trace in outcome.audited if trace.matched]
    if not audited:
        return matched
    matched_or_audited = {*matched, *audited}
    in_order = []
    for plans_of_phase in plans.values():
        for plan in plans_of_phase:
            if plan.rule.uuid in matched_or_audited:
                in_order.append(plan.rule.uuid)
    return in_order


def _traits_of_instance(facts: working_copy.Facts) -> object:
    """Return the traits that the instance on a node requires.

    :returns: ``instance_info/traits`` of the node, e.g. ``['HW_GPU']``, or any
        other value that a user has put there. None if it is not set.
    """
    node = facts.node or {}
    traits = data_path.get(node, ('instance_info', working_copy.TRAITS))
    if traits is data_path.ABSENT:
        return None
    return traits


def _has_traits_of_instance(facts: working_copy.Facts) -> bool:
    """Return whether a node has all traits that its instance requires.

    This is true if no traits are required, e.g. after a rule has removed them
    from ``instance_info``.
    """
    node = facts.node or {}
    present = node.get(working_copy.TRAITS) or ()
    problem = deploy.find_problem(_traits_of_instance(facts), present)
    return problem is None


def _entry_of_error(machine: RequestedMachine, problem: str | None) -> Entry:
    """Return the entry of a machine on which the rules could not be tried.

    :param problem: why they could not be tried; None if this is unknown.
    """
    uuid, name = _identify(machine)
    return {
        'uuid': uuid,
        'name': name,
        'result': ERROR,
        'error': problem or _('nothing is known of the machine'),
        'matched': [],
        'changes': [],
    }


def _identify(machine: RequestedMachine) -> tuple[str | None, str | None]:
    """Return the UUID and the name of a machine, as far as they are known."""
    if machine.node is not None:
        return machine.node.uuid, machine.node.name
    # The request has either the UUID or the name of a node that is not there.
    if uuidutils.is_uuid_like(machine.ident):
        return machine.ident, None
    return None, machine.ident
