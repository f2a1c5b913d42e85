# SPDX-License-Identifier: Apache-2.0

"""Measure coverage: which parts of rules, and which rows, machines reach.

The parts of a rule are its conditions and its actions. A condition has two
results, ``true`` and ``false``; an action has one, ``ran``. Machines reach a
result if the part has this result on at least one of them. A part has a place
in its rule, e.g. ``(uuid, 'conditions', 0)``, and a number for users, e.g. 1.

Most results come from the traces that rules leave when they are tried on a
machine. Traces do not have the results of conditions inside groups, so these
conditions are replaced by conditions that record their results in a set. In
the same way, tables record the keys of the rows that rules look up.
"""

import collections
import functools
import itertools
import typing

from ironic_inspection_rules.engine.language import budget
from ironic_inspection_rules.engine.language import condition
from ironic_inspection_rules.engine.language import loop as engine_loop
from ironic_inspection_rules.engine.language import model
from ironic_inspection_rules.engine.language import path as data_path
from ironic_inspection_rules.engine.language import reasons
from ironic_inspection_rules.engine.language import table
from ironic_inspection_rules.engine.language.secrecy import disclosure
from ironic_inspection_rules.engine.run import trace
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.i18n import _P
from ironic_inspection_rules.kit.machine import file_work
from ironic_inspection_rules.kit.trial import machine_test
from ironic_inspection_rules.rule_set import repository

TRUE = 'true'
FALSE = 'false'
RAN = 'ran'

CAUSES = {
    reasons.EMPTY_LOOP: engine_loop.NO_ITEMS,
    reasons.WHEN: _('its conditions do not hold'),
    reasons.ERROR: _('it ends in an error'),
}
"""Texts that say why an action did not run although its rule matched, by
cause."""

Place = tuple[str | int, ...]
"""Path to a part of a rule, e.g. ``(uuid, 'conditions', 0)``.

With a result at the end, it is the key of a count: ``(uuid, 'conditions', 0,
'true')``.
"""

Operation = typing.Mapping[str, typing.Any]
"""A condition, a group or an action, as it is written in a rule."""


class RulePart(typing.NamedTuple):
    """A condition or an action of a rule.

    :ivar place: the path to the part.
    :ivar number: the number of the part, starting at 1. For example, 2.1 is
        the first condition in the second condition, which is a group.
    :ivar op: the op of the condition or action.
    :ivar results: the results that machines should reach.
    :ivar of_action: which action a condition belongs to, e.g. " of action 2";
        empty for actions and for conditions of the rule itself.
    """

    place: Place
    number: str
    op: str
    results: tuple[str, ...] = (TRUE, FALSE)
    of_action: str = ''


def parts(rule: model.Rule) -> typing.Iterator[RulePart]:
    """Yield the conditions and actions of a rule, in the order of reports.

    A group comes before its conditions, and an action comes before its own
    conditions. For a rule with a group of two conditions, and with one action
    that has a condition, the parts are::

        condition 1 (any-of)
        condition 1.1 (eq)
        condition 1.2 (gt)
        action 1 (fail)
        condition 1 (is-true) of action 1
    """
    yield from _condition_parts(rule.conditions, (rule.uuid, 'conditions'))
    for index, action in enumerate(rule.actions):
        place = (rule.uuid, 'actions', index)
        # Numbers that users see start at 1.
        number = index + 1
        yield RulePart(
            place=place, number=str(number), op=action['op'], results=(RAN,)
        )
        of_action = _(' of action %d') % number
        yield from _condition_parts(
            action.get('when'), (*place, 'when'), of_action=of_action
        )


def _condition_parts(
    conditions: typing.Iterable[Operation] | None,
    above: Place,
    group: str = '',
    of_action: str = '',
) -> typing.Iterator[RulePart]:
    """Yield conditions, and after each group the conditions in it.

    Condition 2 of a rule is at ``(uuid, 'conditions', 1)``. If it is a group,
    its first condition has the number 2.1, and is at ``(uuid, 'conditions', 1,
    0)``.

    :param above: the place of the list of conditions, e.g. ``(uuid,
        'conditions')``.
    :param group: the number of the group around the list, followed by a dot,
        e.g. ``2.``; empty if the list is not in a group.
    :param of_action: the action that the conditions belong to, e.g. " of
        action 2"; empty for the conditions of the rule itself.
    """
    for index, condition_or_group in enumerate(conditions or ()):
        place = (*above, index)
        number = f'{group}{index + 1}'
        yield RulePart(
            place=place,
            number=number,
            op=condition_or_group['op'],
            of_action=of_action,
        )
        yield from _condition_parts(
            condition_or_group.get('conditions'),
            place,
            f'{number}.',
            of_action,
        )


class Coverage:
    """Count on how many machines parts of rules were reached.

    Rules in mode ``off`` are ignored.

    :ivar counts: the number of machines by place and result, e.g. ``(uuid,
        'conditions', 0, 'true')``. A condition in a loop may be both ``true``
        and ``false`` on the same machine. The result of an action is ``ran``,
        or the cause in :data:`CAUSES` why it did not run. Undoing an action is
        not counted.
    :ivar problems: the reasons why files cannot be read.
    :ivar broken: the number of machines whose inspection ends with an error in
        a rule.
    :ivar rows_looked_up: the rows that rules looked up, as pairs of table and
        key.
    :param rules: the rules, in the order of reports.
    :param tables: the tables that the rules read, by name.
    """

    def __init__(
        self,
        rules: typing.Sequence[model.Rule],
        tables: table.Tables = machine_test.NO_TABLES,
    ) -> None:
        self.tables = tables
        self.rows_looked_up: set[tuple[str, str]] = set()
        self.rules = tuple(rule for rule in rules if rule.mode != model.OFF)
        self.counts: collections.Counter[Place] = collections.Counter()
        self.problems: list[str] = []
        self.broken = 0

    def count_machine(
        self, machine: machine_test.MachineTest, watch: 'Watch'
    ) -> None:
        """Count a machine for the parts of rules that it reached.

        :param machine: the test of the machine, with traces of all rules.
        :param watch: the results inside groups that were recorded during the
            test.
        """
        if machine.problem is not None:
            # The file cannot be read, so there are no results to count.
            self.problems.append(str(machine.problem))
        elif machine.result == 'error':
            self.broken += 1
        # Add 1 for every result of a condition inside a group. These results
        # come from the watch, because the trace of a rule does not have them.
        self.counts.update(watch.results)
        for rule_trace in machine.outcome.traces:
            uuid = rule_trace.rule.uuid
            for index, condition_trace in enumerate(rule_trace.conditions):
                if condition_trace.result is None:
                    # The condition ended in an error, so it was neither true
                    # nor false.
                    continue
                result = _name_of_result(condition_trace.result)
                self.counts[uuid, 'conditions', index, result] += 1
            if rule_trace.matched:
                self._count_actions(rule_trace)

    def _count_actions(self, rule_trace: trace.RuleTrace) -> None:
        """Count a machine for the actions of a rule that matched it.

        An action that ran is counted at ``(uuid, 'actions', 0, 'ran')``. If
        the conditions of the action do not hold, it is counted at ``(uuid,
        'actions', 0, 'when')``, and the false condition at ``(uuid, 'actions',
        0, 'when', 0, 'false')``.
        """
        for index, action in enumerate(rule_trace.actions):
            place = (rule_trace.rule.uuid, 'actions', index)
            result = RAN
            if action.idle:
                # The action did not run. The cause is a key of CAUSES.
                result = action.idle.cause
            self.counts[*place, result] += 1
            for number, when_trace in enumerate(action.when):
                place_of_condition = (*place, 'when', number)
                # In a loop, the condition is checked for every item, so it may
                # have been both true and false. The trace has the numbers of
                # items, but a machine counts once.
                if when_trace.true:
                    self.counts[*place_of_condition, TRUE] += 1
                if when_trace.false:
                    self.counts[*place_of_condition, FALSE] += 1

    def add(self, other: 'Coverage') -> None:
        """Add the counts of other machines for the same rules.

        Worker processes count chunks of the files. The main process adds up
        their results.
        """
        self.problems += other.problems
        self.broken += other.broken
        self.counts.update(other.counts)
        self.rows_looked_up |= other.rows_looked_up

    def unmatched(self, name: str) -> list[str]:
        """Return the keys of the rows of a table that no rule looked up."""
        return [
            key
            for key in self.tables[name].keys
            if (name, key) not in self.rows_looked_up
        ]

    def reached(self, rule: model.Rule, within: Place = ()) -> list[bool]:
        """Return whether machines reached each result of the parts of a rule.

        A condition has the results true and false. An action has the result
        that it ran. For example, ``[True, False, True]`` is returned for a
        condition that was only ever true, and an action that ran.

        :param within: a place, e.g. ``(uuid, 'actions', 0)``. Only the part at
            this place, and the parts inside it, are considered. Empty for all
            parts.
        """
        reached = []
        for part in parts(rule):
            # The place of a part inside another begins with its place.
            is_within = part.place[: len(within)] == within
            if not is_within:
                continue
            for result in part.results:
                reached.append(self.counts[*part.place, result] > 0)
        return reached

    def missed(self, rule: model.Rule) -> typing.Iterator[str]:
        """Yield sentences about the results that no machine reached.

        Examples are "condition 2.1 (eq) was never true" and "action 1 (fail)
        never ran". Nothing is yielded for a sensitive rule, because the
        sentences would disclose its ops.
        """
        # This removes the conditions and actions of a sensitive rule.
        shown_rule = disclosure.disclose_rule(rule)
        for part in parts(shown_rule):
            for result in part.results:
                was_reached = self.counts[*part.place, result] > 0
                if not was_reached:
                    yield self._describe_missed(part, result)

    def _describe_missed(self, part: RulePart, result: str) -> str:
        """Return the line of the report on a result that no machine reached.

        For example, ``condition 2 (eq) was never false``.
        """
        words = {'number': part.number, 'op': part.op}
        if result == RAN:
            text = _('action %(number)s (%(op)s) never ran') % words
            reason = self.why_idle(part.place)
            if reason:
                return f'{text}: {reason}'
            return text
        words.update(of=part.of_action, result=result)
        text = _('condition %(number)s (%(op)s)%(of)s was never %(result)s')
        return text % words

    def why_idle(self, place: Place) -> str:
        """Return why an action did not run although its rule matched.

        :param place: the place of the action, e.g. ``(uuid, 'actions', 0)``.
        :returns: e.g. "its conditions do not hold (2 machines), it ends in an
            error (1 machine)", with the most frequent reason first. Empty if
            the rule matched no machine, or if the action always ran.
        """
        machines_by_cause = collections.Counter(self._count_idle(place))
        texts = []
        for cause, count in machines_by_cause.most_common():
            text = _P(
                '%(cause)s (%(count)d machine)',
                '%(cause)s (%(count)d machines)',
                count,
            )
            texts.append(text % {'cause': CAUSES[cause], 'count': count})
        return ', '.join(texts)

    def _count_idle(self, place: Place) -> dict[str, int]:
        """Count machines on which an action did not run, by cause.

        Only machines on which the rule of the action matched are counted.
        For example, ``{'when': 2}`` means that the conditions of the action
        did not hold on two machines. Causes without machines are left out.

        :param place: the place of the action, e.g. ``(uuid, 'actions', 0)``.
        """
        idle = {}
        for cause in CAUSES:
            count = self.counts[*place, cause]
            if count:
                idle[cause] = count
        return idle

    @property
    def percent(self) -> float:
        """The percentage of results of all parts that machines reached.

        It is between 0 and 100; see :meth:`percent_of`.
        """
        return self.percent_of(*self.rules)

    def percent_of(self, *rules: model.Rule) -> float:
        """Return the percentage of results of parts that machines reached.

        A condition has two results, true and false. An action has one result,
        that it ran. For example, a condition that was only ever true and an
        action that ran reach two of three results, which is 66.7. The
        percentage is 100 if the rules have no parts.
        """
        # For every result, whether a machine reached it.
        reached: list[bool] = []
        for rule in rules:
            reached += self.reached(rule)
        if not reached:
            return 100.0
        return 100 * reached.count(True) / len(reached)

    def as_dict(self) -> dict[str, typing.Any]:
        """Return the coverage of all rules, and of tables, as JSON data."""
        covered: dict[str, typing.Any] = {
            'rules': [self._describe_rule(rule) for rule in self.rules],
            # A percentage, e.g. 66.7.
            'covered': round(self.percent, 1),
        }
        if self.tables:
            covered['tables'] = [
                self._describe_table(name) for name in self.tables
            ]
        return covered

    def _describe_table(self, name: str) -> dict[str, typing.Any]:
        """Return how many rows of a table rules looked up, as JSON data.

        For example, ``{'name': 'racks', 'rows': 3, 'matched': 2, 'unmatched':
        ['b7']}``, where ``unmatched`` has the keys of the rows that no rule
        looked up.
        """
        unmatched = self.unmatched(name)
        rows = len(self.tables[name])
        return {
            'name': name,
            'rows': rows,
            'matched': rows - len(unmatched),
            'unmatched': unmatched,
        }

    def _describe_rule(self, rule: model.Rule) -> dict[str, typing.Any]:
        """Return the coverage of a rule; only the percentage if sensitive.

        A sensitive rule gives ``{'uuid': …, 'withheld': True, 'covered':
        66.7}``. Any other rule gives its description and the counts of its
        parts.
        """
        covered = round(self.percent_of(rule), 1)
        return disclosure.disclose_entry(
            rule,
            describe=self._describe_open_rule,
            # Only the entry of a sensitive rule has this member.
            covered=covered,
        )

    def _describe_open_rule(self, rule: model.Rule) -> dict[str, typing.Any]:
        """Return a rule with counts instead of its conditions and actions.

        For example, ``{'description': 'Set rack', 'uuid': …, 'conditions':
        [{'true': 3, 'false': 2}], 'actions': [{'ran': 3}]}``.
        """
        conditions = self._describe_conditions(
            rule.conditions, (rule.uuid, 'conditions')
        )
        actions = []
        for index, action in enumerate(rule.actions):
            place = (rule.uuid, 'actions', index)
            actions.append(self._describe_action(action, place))
        return {
            'description': rule.description,
            'uuid': rule.uuid,
            'conditions': conditions,
            'actions': actions,
        }

    def _describe_action(
        self, action: Operation, place: Place
    ) -> dict[str, typing.Any]:
        """Return the counts of an action and of its own conditions.

        For example, ``{'ran': 3, 'not_run': {'when': 2}, 'when': […]}``: the
        action ran on 3 machines, and did not run on 2 machines because of its
        conditions. The list has the counts of these conditions.

        :param action: the action, as it is written in the rule.
        :param place: the place of the action, e.g. ``(uuid, 'actions', 0)``.
        """
        counts: dict[str, typing.Any] = {RAN: self.counts[*place, RAN]}
        idle = self._count_idle(place)
        if idle:
            counts['not_run'] = idle
        if action.get('when'):
            counts['when'] = self._describe_conditions(
                action['when'], (*place, 'when')
            )
        return counts

    def _describe_conditions(
        self, conditions: typing.Iterable[Operation], above: Place
    ) -> list[dict[str, typing.Any]]:
        """Return the counts of conditions, and of the conditions in groups.

        For a group with one condition this is, for example, ``[{'true': 3,
        'false': 2, 'conditions': [{'true': 3, 'false': 2}]}]``.

        :param above: the place of the list of conditions, e.g. ``(uuid,
            'conditions')``.
        """
        described = []
        for index, condition_or_group in enumerate(conditions):
            place = (*above, index)
            counts: dict[str, typing.Any] = {
                TRUE: self.counts[*place, TRUE],
                FALSE: self.counts[*place, FALSE],
            }
            conditions_of_group = condition_or_group.get('conditions')
            if conditions_of_group:
                counts['conditions'] = self._describe_conditions(
                    conditions_of_group, place
                )
            described.append(counts)
        return described


def _name_of_result(result: bool) -> str:
    """Return ``'true'`` or ``'false'`` for the result of a condition."""
    if result:
        return TRUE
    return FALSE


class WatchedCondition(condition.CompiledCondition):
    """A condition inside a group that records its results in a set.

    :param watched: the original condition, which it replaces in the group.
    :param place: the place of the condition, e.g. ``(uuid, 'conditions', 0,
        1)``.
    :param recorded: the set to which places with a result are added, e.g.
        ``(uuid, 'conditions', 0, 1, 'true')``.
    """

    __slots__ = ('_condition', '_place', '_recorded')

    def __init__(
        self,
        watched: condition.CompiledCondition,
        place: Place,
        recorded: set[Place],
    ) -> None:
        super().__init__(watched.op, watched.operation)
        self._condition = watched
        self._place = place
        self._recorded = recorded

    def check(self, roots: budget.View) -> bool:
        """Return whether the original condition holds, and record it.

        In a loop, the condition is checked for every item. It may be true for
        one item and false for another, so both results may be recorded.
        """
        holds = self._condition.check(roots)
        self._recorded.add((*self._place, _name_of_result(holds)))
        return holds

    def reason(self, view: budget.View, shown: budget.View) -> str:
        return self._condition.reason(view, shown)


class Watch:
    """Record the results of conditions inside groups, one machine at a time.

    This is needed because the trace of a rule only has the result of the whole
    group.

    :ivar results: the recorded results, e.g. ``(uuid, 'conditions', 0, 1,
        'true')``. The caller must empty the set before the next machine.
    :param plans: the compiled rules. Their conditions are replaced, so the
        plans must not be shared with other code.
    """

    def __init__(self, plans: machine_test.Plans) -> None:
        """Replace the conditions inside all groups of the plans.

        The new conditions add their results to ``results`` when a rule of the
        plans runs.
        """
        self.results: set[Place] = set()
        # The compiled rules of all phases.
        for plan in itertools.chain(*plans.values()):
            uuid = plan.rule.uuid
            for index, condition_of_rule in enumerate(plan.conditions):
                self._watch_inside_group(
                    condition_of_rule, place=(uuid, 'conditions', index)
                )
            for index, action in enumerate(plan.actions):
                for number, condition_of_action in enumerate(action.when):
                    self._watch_inside_group(
                        condition_of_action,
                        place=(uuid, 'actions', index, 'when', number),
                    )

    def _watch_inside_group(
        self, compiled: condition.CompiledCondition, place: Place
    ) -> None:
        """Replace the conditions in a group by conditions that record results.

        If the compiled condition is not a group, nothing is replaced. Outside
        a group, the result of a condition is in the trace of its rule.

        :param compiled: a condition, a group, or a loop around one of them.
        :param place: its place, e.g. ``(uuid, 'conditions', 0)``.
        """
        group = compiled
        if isinstance(compiled, condition.LoopedCondition):
            # Take the group that is checked for every item.
            group = compiled.condition
        if not isinstance(group, condition.CompoundCondition):
            return
        watched_conditions = []
        for index, inner in enumerate(group.parts):
            place_of_inner = (*place, index)
            # The inner condition may itself be a group.
            self._watch_inside_group(inner, place_of_inner)
            watched_conditions.append(
                WatchedCondition(inner, place_of_inner, self.results)
            )
        group.parts = tuple(watched_conditions)


class WatchedTable(table.Table):
    """A table that records which rows rules look up.

    :param watched: the original table.
    :param recorded: the set to which pairs of the name of the table and the
        key of a row are added, e.g. ``('racks', 'b7')``.
    :param masked: whether the secret columns are masked.
    """

    __slots__ = ('_recorded',)

    def __init__(
        self,
        watched: table.Table,
        recorded: set[tuple[str, str]],
        masked: bool = False,
    ) -> None:
        super().__init__(
            watched.definition, dict(watched.pairs), watched.columns, masked
        )
        self._recorded = recorded

    @property
    def masked(self) -> table.Table:
        # Rules that are not sensitive look up rows in the masked table, and
        # these must be recorded as well.
        return WatchedTable(self, self._recorded, masked=True)

    def row(self, key: str) -> typing.Any:
        """Return the row of a key, and record that it was looked up.

        The row ``b7`` of the table ``racks`` is recorded as ``('racks',
        'b7')``. A key without a row is not recorded.
        """
        row = super().row(key)
        if row is not data_path.ABSENT:
            self._recorded.add((self.definition.name, key))
        return row


def measure(
    rules: typing.Sequence[model.Rule],
    nodes: machine_test.Nodes,
    paths: typing.Sequence[str],
    advance: file_work.Advance,
    tables: table.Tables = machine_test.NO_TABLES,
) -> Coverage:
    """Measure the coverage of rules by machines, using all processors.

    :param paths: the paths of the files with the machines.
    :param advance: called with the number of files of each finished chunk.
    :param tables: the tables that the rules read, by name.
    """
    total = Coverage(rules, tables)
    # Each worker process creates one object of the class from these arguments,
    # and calls it with chunks of the paths.
    prepare = functools.partial(_CoverageWork, rules, tables, nodes)
    for coverage_of_chunk in file_work.in_chunks(paths, prepare, advance):
        total.add(coverage_of_chunk)
    return total


class _CoverageWork:
    """Measure coverage by chunks of machines, in a worker process.

    The rules are compiled and watched once per process. Their groups record
    results, and the tables record the rows that are looked up.
    """

    def __init__(
        self,
        rules: typing.Sequence[model.Rule],
        tables: table.Tables,
        nodes: machine_test.Nodes,
    ) -> None:
        self._rules = rules
        self._nodes = nodes
        # Pairs of table and key, e.g. ("racks", "b7").
        self._rows_looked_up: set[tuple[str, str]] = set()
        watched_tables = {
            name: WatchedTable(original, self._rows_looked_up)
            for name, original in tables.items()
        }
        # A sensitive rule leaves no trace of its parts, so it is compiled as
        # if it were not sensitive. Reports omit its parts.
        self._plans: machine_test.Plans = {phase: [] for phase in model.PHASES}
        # Sort the rules by priority.
        for rule in repository.order(rules):
            if rule.mode != model.OFF:
                plan = machine_test.compile_opened(rule, watched_tables)
                self._plans[rule.phase].append(plan)
        # This replaces conditions in the plans, so the plans must be complete
        # at this point.
        self._watch = Watch(self._plans)

    def __call__(self, paths: typing.Sequence[str]) -> Coverage:
        """Measure the coverage by the machines of some files."""
        # The result is sent to the main process, which already has the tables.
        # They may be large, so this coverage is created without them.
        coverage = Coverage(self._rules)
        self._rows_looked_up.clear()
        for path in paths:
            # The results of the previous machine must not count again.
            self._watch.results.clear()
            test = machine_test.try_machine(path, self._plans, self._nodes)
            coverage.count_machine(test, self._watch)
        coverage.rows_looked_up = set(self._rows_looked_up)
        return coverage
