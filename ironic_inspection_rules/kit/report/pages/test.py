# SPDX-License-Identifier: Apache-2.0

"""The page of a test: a matrix of rules and machines, reasons and changes."""

import functools
import json
import os.path
import typing

from ironic_inspection_rules.engine.language import model
from ironic_inspection_rules.engine.language.secrecy import disclosure
from ironic_inspection_rules.engine.run import change as engine_change
from ironic_inspection_rules.engine.run import trace
from ironic_inspection_rules.kit.machine.profile import rules as profile_rules
from ironic_inspection_rules.kit.report import trial_text
from ironic_inspection_rules.kit.report.pages import rule_text
from ironic_inspection_rules.kit.report.pages import shell
from ironic_inspection_rules.kit.trial import machine_test
from ironic_inspection_rules.rule_set import repository

_ASSETS = ('matrix.css', 'matrix.js', 'test.js')

_MAX_CELLS = 1000
"""Maximum number of different cells of a rule that keep their reasons. Reasons
contain values of the machines, and the page must be small enough for a
browser."""

_LEFT_OUT = (
    f'left out: more than {_MAX_CELLS:,} machines have values of '
    'their own here'
)

_SKIPPED = 'skipped'


class ConditionCell(typing.NamedTuple):
    """The result of a condition of a rule on a machine.

    :param result: None if the condition was not decided.
    """

    op: str
    result: bool | None
    reason: str | None


class ActionCell(typing.NamedTuple):
    """The effect of an action of a rule on a machine.

    :param lines: why it did not run, how often its conditions held, what it
        changed, and what it logged.
    """

    op: str
    reverted: bool
    lines: tuple[str, ...]


class RuleCell(typing.NamedTuple):
    """A cell of the matrix: the result of a rule on a machine.

    :param state: ``matched``, ``unmatched`` or ``skipped``; ``differs`` if the
        rule of a profile noted a difference, or if a rule in mode ``audit``
        would fail. If the rule ended the inspection, the state is the result
        of the machine, ``failed`` or ``error``.
    :param conditions: None if the rule left no trace; this holds for
        ``actions`` too.
    """

    state: str
    conditions: tuple[ConditionCell, ...] | None = None
    actions: tuple[ActionCell, ...] | None = None

    def as_text(self) -> str:
        """Return the cell as JSON.

        Processes exchange texts far faster than objects, and a page with many
        machines and rules compares millions of cells.
        """
        return json.dumps(self, ensure_ascii=False)

    @classmethod
    def from_text(cls, text: str) -> 'RuleCell':
        """Read a cell from the JSON text of :meth:`as_text`.

        JSON has no tuples, so they are rebuilt from lists.
        """
        state, conditions, actions = json.loads(text)
        if conditions is None or actions is None:
            return cls(state)
        condition_cells = []
        for op, result, reason in conditions:
            condition_cells.append(ConditionCell(op, result, reason))
        action_cells = []
        for op, reverted, lines in actions:
            action_cells.append(ActionCell(op, reverted, tuple(lines)))
        return cls(state, tuple(condition_cells), tuple(action_cells))

    def without_reasons(self) -> 'RuleCell':
        """Return the cell with a remark in place of its reasons and changes.

        Machines that do not differ in anything else can then share a cell.
        """
        if self.conditions is None or self.actions is None:
            return self
        conditions = list(self.conditions)
        for index, condition in enumerate(conditions):
            if condition.reason:
                conditions[index] = condition._replace(reason=_LEFT_OUT)
        actions = list(self.actions)
        for index, action in enumerate(actions):
            if action.lines:
                actions[index] = action._replace(lines=(_LEFT_OUT,))
        return RuleCell(self.state, tuple(conditions), tuple(actions))


class MachineColumn(typing.NamedTuple):
    """The column of a machine in the matrix.

    :param path: the file with the inventory of the machine.
    :param diff: the changes of the rules, as lines of a diff.
    :param cells: a cell for every rule, in the order of the rules, as a text
        of :meth:`RuleCell.as_text`.
    """

    path: str
    result: str
    error: str | None
    diff: tuple[str, ...]
    cells: tuple[str, ...]


class Matrix:
    """The page of rules and machines, which is filled machine by machine.

    Most machines of a fleet are alike. Data that they share are in the page
    only once, and everything else refers to them by number:

    - a machine has the number of its outcome,
    - an outcome has the numbers of its diff and of its row,
    - a row has the numbers of its cells, one for every rule,
    - a cell has the numbers of its conditions and actions,
    - conditions, actions and lines of a diff have the numbers of texts.
    """

    def __init__(
        self, rules: typing.Iterable[model.Rule], files: typing.Sequence[str]
    ) -> None:
        """Create a matrix without machines; equal values are stored once.

        :param rules: the rules that are tested.
        :param files: the paths of their files, for the heading.
        """
        self._files = files
        self._rules = repository.order(rules)
        self._names = {rule.uuid: rule.description for rule in self._rules}
        # (path, number of the outcome), for every machine.
        self._machines: list[tuple[str, int]] = []
        # (result, error, number of the diff, number of the row)
        self._outcomes = shell.DistinctValues()
        # (number of a text, …): the lines of the changes on a machine.
        self._diffs = shell.DistinctValues()
        # (number of a cell, …): a cell for every rule, in their order.
        self._rows = shell.DistinctValues()
        # The result of a rule on a machine: JSON of RuleCell.as_text().
        self._cells = shell.DistinctValues()
        # (number of the op, result, number of the reason)
        self._conditions = shell.DistinctValues()
        # (number of the op, reverted, numbers of the lines)
        self._actions = shell.DistinctValues()
        # Lines of diffs and of actions, ops, reasons.
        self._texts = shell.DistinctValues()
        # For every rule, in their order: the first _MAX_CELLS different cells,
        # which keep their reasons.
        self._full_cells: list[set[str]] = [set() for _rule in self._rules]

    @property
    def extract(self) -> machine_test.Extract:
        """The function that returns the column of an explained trial."""
        return functools.partial(_build_column, self._rules)

    def add(self, column: MachineColumn) -> None:
        """Add the column of a machine.

        Only the path of the machine and the number of its outcome are stored.
        Most machines have the same number as another machine.
        """
        error = column.error
        if error is not None:
            error = shell.with_rule_names(error, self._names)
        lines = tuple(self._texts.number_of(line) for line in column.diff)
        diff = self._diffs.number_of(lines)
        row = self._rows.number_of(self._number_cells(column.cells))
        outcome = self._outcomes.number_of((column.result, error, diff, row))
        self._machines.append((column.path, outcome))

    def _number_cells(self, cells: tuple[str, ...]) -> tuple[int, ...]:
        """Return the numbers of the cells of a machine.

        The first :data:`_MAX_CELLS` different cells of a rule keep their
        reasons. Later cells lose them, so that many machines share a cell.

        :param cells: the cells of :class:`MachineColumn`.
        """
        numbers = []
        for cell, full_cells in zip(cells, self._full_cells, strict=True):
            if len(full_cells) < _MAX_CELLS:
                full_cells.add(cell)
            if cell in full_cells:
                shown_cell = cell
            else:
                without_reasons = RuleCell.from_text(cell).without_reasons()
                shown_cell = without_reasons.as_text()
            numbers.append(self._cells.number_of(shown_cell))
        return tuple(numbers)

    def render(self) -> str:
        """Return the page of the results of all rules on all machines."""
        # Machines are named by their paths below their common directory.
        directories = [
            os.path.dirname(os.path.abspath(path))
            for path, _outcome in self._machines
        ]
        directory = os.path.commonpath(directories)
        # Pack the cells first, because this numbers their conditions, actions
        # and texts, whose lists must be complete below.
        cells = []
        for text in self._cells.values:
            cells.append(self._pack_cell(RuleCell.from_text(text)))
        now = shell.format_now()
        names = shell.join_names(self._files)
        return shell.render(
            f'{names} on machines, {now}',
            _ASSETS,
            {
                'made': now,
                'files': names,
                # Use only the name: the path may contain a user's name.
                'directory': os.path.basename(directory),
                'rules': [_rule_data(rule) for rule in self._rules],
                'machines': [
                    (os.path.relpath(path, directory), outcome)
                    for path, outcome in self._machines
                ],
                'outcomes': self._outcomes.values,
                'diffs': self._diffs.values,
                'rows': self._rows.values,
                'cells': cells,
                'conditions': self._conditions.values,
                'actions': self._actions.values,
                'texts': self._texts.values,
            },
        )

    def _pack_cell(self, cell: RuleCell) -> list[typing.Any]:
        """Return a cell as JSON data, with numbers in place of operations.

        Equal conditions, actions and texts are in the page only once, and are
        referred to by number.

        :returns: e.g. ``['matched', [0, 3], [7]]``: the state, the numbers of
            the conditions and the numbers of the actions. If the rule has no
            trace, only the state, e.g. ``['skipped']``.
        """
        if cell.conditions is None or cell.actions is None:
            return [cell.state]
        texts = self._texts
        numbers_of_conditions = []
        for condition in cell.conditions:
            op = texts.number_of(condition.op)
            reason = None
            if condition.reason is not None:
                reason = texts.number_of(condition.reason)
            packed_condition = (op, condition.result, reason)
            number = self._conditions.number_of(packed_condition)
            numbers_of_conditions.append(number)
        numbers_of_actions = []
        for action in cell.actions:
            op = texts.number_of(action.op)
            lines = tuple(texts.number_of(line) for line in action.lines)
            packed_action = (op, action.reverted, lines)
            number = self._actions.number_of(packed_action)
            numbers_of_actions.append(number)
        return [cell.state, numbers_of_conditions, numbers_of_actions]


def _build_column(
    rules: typing.Sequence[model.Rule], test: machine_test.MachineTest
) -> MachineColumn:
    """Build the column of a machine from its test.

    :param rules: in the order of the matrix.
    """
    error = test.outcome.error
    trace_by_uuid = {}
    for traced in test.outcome.traces:
        trace_by_uuid[traced.rule.uuid] = traced
    cells = []
    for rule in rules:
        ended_as = None
        if error and error.rule_uuid == rule.uuid:
            # This rule ended the inspection.
            ended_as = test.result
        cell = _build_cell(trace_by_uuid.get(rule.uuid), ended_as)
        cells.append(cell.as_text())
    return MachineColumn(
        path=test.path,
        result=test.result,
        error=test.error,
        diff=tuple(trial_text.diff_lines(test.outcome.changes)),
        cells=tuple(cells),
    )


def _build_cell(
    traced: trace.RuleTrace | None, ended_as: str | None
) -> RuleCell:
    """Build the cell with the result of a rule on a machine.

    :param traced: None if the rule did not run, or if it ended the inspection
        before it left a trace.
    :param ended_as: the result of the machine if the rule ended its
        inspection, otherwise None.
    """
    if traced is None:
        return RuleCell(ended_as or _SKIPPED)
    # A later state overrides an earlier one.
    state = 'unmatched'
    if traced.matched:
        state = 'matched'
    if _has_found_defect(traced):
        state = 'differs'
    if ended_as is not None:
        state = ended_as
    conditions = [
        ConditionCell(condition.op, condition.result, condition.reason)
        for condition in traced.conditions
    ]
    actions = [
        ActionCell(action.op, action.reverted, tuple(_action_lines(action)))
        for action in traced.actions
    ]
    return RuleCell(state, tuple(conditions), tuple(actions))


def _has_found_defect(traced: trace.RuleTrace) -> bool:
    """Return whether a rule found a defect without failing the inspection.

    Two kinds of rules can do this. A rule in mode ``audit`` only records the
    error with which it would fail. A rule made by ``profile`` may write to
    plugin data that the machine differs.
    """
    if traced.error:
        return True
    for action in traced.actions:
        if any(map(profile_rules.notes_difference, action.changes)):
            return True
    return False


def _action_lines(action: trace.ActionTrace) -> typing.Iterator[str]:
    """Yield the effect of an action on a machine, see :class:`ActionCell`.

    Lines are, for example, ``did not run: the loop has no items``, ``when eq:
    1/4`` for a condition that holds for one of four items, or ``add node
    /extra/rack = "r1"``.
    """
    if action.idle:
        # "idle" contains the reason why the action did not run.
        line = 'did not run'
        if action.idle.reason:
            line += f': {action.idle.reason}'
        yield line
    for condition in action.when:
        checks = condition.true + condition.false
        line = f'when {condition.op}: {condition.true}/{checks}'
        if condition.reason:
            line += f', {condition.reason}'
        yield line
    for change in action.changes:
        yield _change_line(change)
    yield from action.notes


def _change_line(change: engine_change.Change) -> str:
    """Return a change as text, e.g. ``add node /extra/rack = "r1"``."""
    line = f'{change.op} {change.object} {change.path}'
    if change.op == 'remove':
        return line
    value = json.dumps(change.value, ensure_ascii=False)
    return f'{line} = {value}'


def _rule_data(rule: model.Rule) -> dict[str, typing.Any]:
    """Return the data of a rule for the page, with secrets masked."""
    plain: dict[str, typing.Any] = {
        'title': machine_test.title(rule),
        'uuid': rule.uuid,
        'phase': rule.phase,
        'priority': rule.priority,
        'scope': rule.scope,
        'mode': rule.mode,
        'vars': '\n'.join(rule_text.variable_lines(rule)),
        **disclosure.mark(rule),
    }
    # The arguments of conditions and actions, as YAML.
    for name in model.OPERATIONS:
        operations = rule_text.visible_operations(rule, name)
        plain[name] = [
            rule_text.argument_text(operation) for operation in operations
        ]
    return plain
