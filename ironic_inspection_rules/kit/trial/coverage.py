# SPDX-License-Identifier: Apache-2.0

"""Coverage of test: the parts of rules that some machines reach, rows too."""

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
"""Why an action did not run although its rule matched, in words."""

Place = tuple[str | int, ...]
"""Where a part of a rule is: ``(uuid, 'conditions', 0)``."""

Operation = typing.Mapping[str, typing.Any]
"""A condition, a group or an action, as it is written in a rule."""


class RulePart(typing.NamedTuple):
    """A condition or an action of a rule.

    ``number`` counts from one: 2.1 is the first condition of the second one,
    which is a group. ``results`` are those that machines are to reach. ``of``
    says of which action a condition is, as " of action 2", and else nothing.
    """

    place: Place
    number: str
    op: str
    results: tuple[str, ...] = (TRUE, FALSE)
    of: str = ''


def parts(rule: model.Rule) -> typing.Iterator[RulePart]:
    """Yield the conditions and actions of a rule, in the order of reports.

    A group comes before the conditions in it, and an action before its own
    conditions. For a rule with a group of two conditions, and with one action
    that has a condition, these are::

        condition 1 (any-of)
        condition 1.1 (eq)
        condition 1.2 (gt)
        action 1 (fail)
        condition 1 (is-true) of action 1
    """
    yield from _condition_parts(rule.conditions, (rule.uuid, 'conditions'))
    for index, action in enumerate(rule.actions):
        place = (rule.uuid, 'actions', index)
        # Users count from one.
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
    """Yield conditions, and after a group the conditions in it.

    Condition 2 of a rule is at ``(uuid, 'conditions', 1)``. If it is a group,
    its first condition has the number 2.1, and is at
    ``(uuid, 'conditions', 1, 0)``.

    :param above: the place of the list of conditions, such as
        ``(uuid, 'conditions')``.
    :param group: the number of the group around the list with a dot, such as
        ``2.``; empty for a list that is in no group.
    :param of_action: such as " of action 2"; empty for the conditions of the
        rule itself.
    """
    for index, condition_or_group in enumerate(conditions or ()):
        place = (*above, index)
        number = f'{group}{index + 1}'
        yield RulePart(
            place=place,
            number=number,
            op=condition_or_group['op'],
            of=of_action,
        )
        yield from _condition_parts(
            condition_or_group.get('conditions'),
            place,
            f'{number}.',
            of_action,
        )


class Coverage:
    """Counts on how many machines parts of rules were reached.

    Rules in mode ``off`` do not count.

    :ivar counts: the number of machines by a place and a result, such as
        ``(uuid, 'conditions', 0, 'true')``. A condition in a loop may be both
        ``true`` and ``false`` on a machine. An action ``ran``, or did not by
        one of :data:`CAUSES`; to undo an action does not count.
    :ivar problems: why files cannot be read.
    :ivar broken: the number of machines on which a rule has an error.
    :ivar keys: the rows that rules looked up, as pairs of table and key.
    :param rules: in the order of reports.
    :param tables: the tables that the rules read, by name.
    """

    def __init__(
        self,
        rules: typing.Sequence[model.Rule],
        tables: table.Tables = machine_test.NO_TABLES,
    ) -> None:
        self.tables = tables
        self.keys: set[tuple[str, str]] = set()
        self.rules = tuple(rule for rule in rules if rule.mode != model.OFF)
        self.counts: collections.Counter[Place] = collections.Counter()
        self.problems: list[str] = []
        self.broken = 0

    def count_machine(
        self, machine: machine_test.MachineTest, watch: 'Watch'
    ) -> None:
        """Add one machine to the counts of the parts that it reached.

        :param machine: the test of the machine, with traces of all rules.
        :param watch: has noted the results inside of groups during the test.
        """
        if machine.problem is not None:
            self.problems.append(str(machine.problem))
        elif machine.result == 'error':
            self.broken += 1
        # Conditions in groups: the trace of a rule has no results of them.
        self.counts.update(watch.results)
        for rule_trace in machine.outcome.traces:
            uuid = rule_trace.rule.uuid
            for index, condition_trace in enumerate(rule_trace.conditions):
                if condition_trace.result is None:
                    # An error is neither true nor false.
                    continue
                result = _name_of_result(condition_trace.result)
                self.counts[uuid, 'conditions', index, result] += 1
            if rule_trace.matched:
                self._count_actions(rule_trace)

    def _count_actions(self, rule_trace: trace.RuleTrace) -> None:
        """Count a machine for the actions of a rule that matched it.

        An action that ran adds to ``(uuid, 'actions', 0, 'ran')``. One whose
        own conditions do not hold adds to ``(uuid, 'actions', 0, 'when')``,
        and such a condition to ``(uuid, 'actions', 0, 'when', 0, 'false')``.
        """
        for index, action in enumerate(rule_trace.actions):
            place = (rule_trace.rule.uuid, 'actions', index)
            result = RAN
            if action.idle:
                # Why it did not run: a key of CAUSES.
                result = action.idle.cause
            self.counts[*place, result] += 1
            for number, when_trace in enumerate(action.when):
                place_of_condition = (*place, 'when', number)
                # In a loop it was asked for many items, and may have been
                # both. Machines are counted here, not items.
                if when_trace.true:
                    self.counts[*place_of_condition, TRUE] += 1
                if when_trace.false:
                    self.counts[*place_of_condition, FALSE] += 1

    def add(self, other: 'Coverage') -> None:
        """Add the counts of other machines for the same rules.

        A worker process has counted them for a chunk of the files.
        """
        self.problems += other.problems
        self.broken += other.broken
        self.counts.update(other.counts)
        self.keys |= other.keys

    def unmatched(self, name: str) -> list[str]:
        """Return the keys of rows of a table that no rule looked up."""
        return [
            key
            for key in self.tables[name].keys
            if (name, key) not in self.keys
        ]

    def reached(self, rule: model.Rule, within: Place = ()) -> list[bool]:
        """Return whether machines reached the results of a rule's parts.

        A condition has the results true and false, an action that it ran. For
        a condition that was only ever true, and an action that ran, it is
        ``[True, False, True]``.

        :param within: the place whose parts count, such as
            ``(uuid, 'actions', 0)``; without it, all parts.
        """
        reached = []
        for part in parts(rule):
            if part.place[: len(within)] != within:
                continue
            for result in part.results:
                reached.append(self.counts[*part.place, result] > 0)
        return reached

    def missed(self, rule: model.Rule) -> typing.Iterator[str]:
        """Yield what no machine reached, in words.

        For example "condition 2.1 (eq) was never true", and "action 1 (fail)
        never ran". Nothing is said of a sensitive rule, as it would show the
        ops.
        """
        # Of a sensitive rule, disclose_rule() leaves no conditions and no
        # actions.
        for part in parts(disclosure.disclose_rule(rule)):
            for result in part.results:
                was_reached = self.counts[*part.place, result] > 0
                if was_reached:
                    continue
                if result == RAN:
                    text = _('action %(number)s (%(op)s) never ran')
                    text %= part._asdict()
                    why = self.why_idle(part.place)
                    if why:
                        text = f'{text}: {why}'
                else:
                    text = _(
                        'condition %(number)s (%(op)s)%(of)s was never '
                        '%(result)s'
                    )
                    text %= {**part._asdict(), 'result': result}
                yield text

    def why_idle(self, place: Place) -> str:
        """Return why an action did not run, although its rule matched.

        :param place: the place of the action, such as
            ``(uuid, 'actions', 0)``.
        :returns: such as "its conditions do not hold (2 machines)"; the most
            frequent cause comes first. Empty where the rule matched no
            machine, or the action always ran.
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
        """Count the machines on which an action did not run, by cause.

        For example ``{'when': 2}``, as the own conditions of the action did
        not hold for two machines.
        """
        idle = {}
        for cause in CAUSES:
            count = self.counts[*place, cause]
            if count:
                idle[cause] = count
        return idle

    @property
    def percent(self) -> float:
        """The share of the results of all parts that machines reached.

        From 0 to 100, see :meth:`percent_of`.
        """
        return self.percent_of(*self.rules)

    def percent_of(self, *rules: model.Rule) -> float:
        """Return the share of the results of parts that machines reached.

        A condition has two results, true and false; an action has one, that
        it ran. A condition that was only ever true and an action that ran are
        two results out of three: 66.7. Rules without parts have 100.
        """
        # A truth value for every result: whether a machine reached it.
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
            # In percent: 66.7.
            'covered': round(self.percent, 1),
        }
        if self.tables:
            covered['tables'] = [
                self._describe_table(name) for name in self.tables
            ]
        return covered

    def _describe_table(self, name: str) -> dict[str, typing.Any]:
        """Return the number of rows that rules looked up in a table.

        For example ``{'name': 'racks', 'rows': 3, 'matched': 2, 'unmatched':
        ['b7']}``, with the keys of the rows that no rule looked up.
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
        """Return the coverage of a rule; the share only if it is sensitive.

        A sensitive rule gives ``{'uuid': …, 'withheld': True, 'covered':
        66.7}``. Any other rule gives its description and the counts of its
        parts.
        """
        covered = round(self.percent_of(rule), 1)
        return disclosure.disclose_entry(
            rule,
            describe=self._describe_open_rule,
            # A member of the entry of a sensitive rule only.
            covered=covered,
        )

    def _describe_open_rule(self, rule: model.Rule) -> dict[str, typing.Any]:
        """Return a rule with counts in place of its conditions and actions.

        For example ``{'description': 'Set rack', 'uuid': …, 'conditions':
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
        """Return the counts of an action, and of its own conditions.

        For example ``{'ran': 3, 'not_run': {'when': 2}, 'when': […]}``.
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
        """Return the counts of conditions, and of those in groups.

        For a group with one condition, for example ``[{'true': 3, 'false': 2,
        'conditions': [{'true': 3, 'false': 2}]}]``.

        :param above: the place of the list of conditions.
        """
        described = []
        for index, operation in enumerate(conditions):
            place = (*above, index)
            counts: dict[str, typing.Any] = {
                TRUE: self.counts[*place, TRUE],
                FALSE: self.counts[*place, FALSE],
            }
            if operation.get('conditions'):
                counts['conditions'] = self._describe_conditions(
                    operation['conditions'], place
                )
            described.append(counts)
        return described


def _name_of_result(result: bool) -> str:
    """Return ``'true'`` or ``'false'`` for the result of a condition."""
    if result:
        return TRUE
    return FALSE


class WatchedCondition(condition.CompiledCondition):
    """A condition of a group that notes its results in a set.

    :param noted: gets places with a result, such as
        ``(uuid, 'conditions', 0, 1, 'true')``.
    """

    __slots__ = ('_condition', '_noted', '_place')

    def __init__(
        self,
        watched: condition.CompiledCondition,
        place: Place,
        noted: set[Place],
    ) -> None:
        super().__init__(watched.op, watched.operation)
        self._condition = watched
        self._place = place
        self._noted = noted

    def check(self, roots: budget.View) -> bool:
        """Return whether the condition holds, and note the result.

        In a loop it may be true for one item and false for another: both are
        noted, each once.
        """
        result = self._condition.check(roots)
        self._noted.add((*self._place, _name_of_result(result)))
        return result

    def reason(self, view: budget.View, shown: budget.View) -> str:
        return self._condition.reason(view, shown)


class Watch:
    """Notes the results of conditions in groups, one machine at a time.

    The trace of a rule has only the result of the group.

    :ivar results: see :class:`WatchedCondition`; to be emptied before the next
        machine.
    :param plans: get other conditions, so that nobody else may use them.
    """

    def __init__(self, plans: machine_test.Plans) -> None:
        """Replace the conditions inside of all groups in the plans.

        The new ones note their results here whenever a rule of the plans runs.
        """
        self.results: set[Place] = set()
        for plan in itertools.chain(*plans.values()):
            uuid = plan.rule.uuid
            for index, compiled in enumerate(plan.conditions):
                self._watch_inside_group(
                    compiled, place=(uuid, 'conditions', index)
                )
            for index, action in enumerate(plan.actions):
                for number, compiled in enumerate(action.when):
                    self._watch_inside_group(
                        compiled,
                        place=(uuid, 'actions', index, 'when', number),
                    )

    def _watch_inside_group(
        self, compiled: condition.CompiledCondition, place: Place
    ) -> None:
        """Replace the conditions in a group by conditions that note results.

        A condition that is no group stays as it is: the trace of its rule has
        the result.

        :param place: the place of the group, such as
            ``(uuid, 'conditions', 0)``.
        """
        group = compiled
        if isinstance(compiled, condition.Looped):
            # The group is asked for one item after the other.
            group = compiled.condition
        if not isinstance(group, condition.CompoundCondition):
            return
        watched_parts = []
        for index, part in enumerate(group.parts):
            place_of_part = (*place, index)
            # The part may be a group as well.
            self._watch_inside_group(part, place_of_part)
            watched_parts.append(
                WatchedCondition(part, place_of_part, self.results)
            )
        group.parts = tuple(watched_parts)


class WatchedTable(table.Table):
    """A table that notes which rows rules look up in it.

    :param noted: gets the name of the table with the key of the row.
    """

    __slots__ = ('_noted',)

    def __init__(
        self,
        watched: table.Table,
        noted: set[tuple[str, str]],
        masked: bool = False,
    ) -> None:
        super().__init__(
            watched.definition, dict(watched.pairs), watched.columns, masked
        )
        self._noted = noted

    @property
    def masked(self) -> table.Table:
        # Rules that are not sensitive look up rows here: they count as well.
        return WatchedTable(self, self._noted, masked=True)

    def row(self, key: str) -> typing.Any:
        """Return the row of a key, and note that it was looked up.

        Row ``b7`` of the table ``racks`` is noted as ``('racks', 'b7')``. A
        key without a row is not noted.
        """
        row = super().row(key)
        if row is not data_path.ABSENT:
            self._noted.add((self.definition.name, key))
        return row


def measure(
    rules: typing.Sequence[model.Rule],
    nodes: machine_test.Nodes,
    paths: typing.Sequence[str],
    advance: file_work.Advance,
    tables: table.Tables = machine_test.NO_TABLES,
) -> Coverage:
    """Return the coverage of rules by machines, tried on all processors.

    :param paths: of the files with the machines.
    :param advance: called with the number of files of every chunk that is
        done.
    :param tables: the tables that the rules read, by name.
    """
    total = Coverage(rules, tables)
    # Called once in every process, which then measures chunks of machines.
    prepare = functools.partial(_CoverageWork, rules, tables, nodes)
    for coverage_of_chunk in file_work.in_chunks(paths, prepare, advance):
        total.add(coverage_of_chunk)
    return total


class _CoverageWork:
    """Measures coverage by chunks of machines, in a worker process.

    The rules are compiled once in a process, and watched: their groups note
    results, and the tables note the rows that are looked up.
    """

    def __init__(
        self,
        rules: typing.Sequence[model.Rule],
        tables: table.Tables,
        nodes: machine_test.Nodes,
    ) -> None:
        self._rules = rules
        self._nodes = nodes
        # The rows that rules have looked up, such as ("racks", "b7").
        self._rows_noted: set[tuple[str, str]] = set()
        watched_tables = {
            name: WatchedTable(rows, self._rows_noted)
            for name, rows in tables.items()
        }
        # A sensitive rule leaves no trace of its parts, so that it is compiled
        # as if it were none. Reports leave its parts out.
        self._plans: machine_test.Plans = {phase: [] for phase in model.PHASES}
        for rule in repository.order(rules):
            if rule.mode != model.OFF:
                plan = machine_test.compile_opened(rule, watched_tables)
                self._plans[rule.phase].append(plan)
        # Replaces conditions in the plans, which have to be there by now.
        self._watch = Watch(self._plans)

    def __call__(self, paths: typing.Sequence[str]) -> Coverage:
        """Return the coverage by the machines of some files."""
        # Without the large tables: the coverage is sent to another process,
        # where the total has them.
        coverage = Coverage(self._rules)
        self._rows_noted.clear()
        for path in paths:
            # Every machine counts by itself.
            self._watch.results.clear()
            test = machine_test.attempt(path, self._plans, self._nodes)
            coverage.count_machine(test, self._watch)
        coverage.keys = set(self._rows_noted)
        return coverage
