# SPDX-License-Identifier: Apache-2.0

"""The page of a test: a matrix of rules and machines, reasons and changes.

Rules were tried on machines. In the matrix, every machine has a *column*, and
every rule has a *cell* in the column. A cell has the result of the rule, e.g.
``matched``, and details: the reasons why conditions hold or not, and what
actions changed.

Other processes try the rules. They return the column of a machine to this
process (:attr:`Matrix.extract`), which adds it to the page
(:meth:`Matrix.add`).
"""

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
"""Maximum number of different cells of a rule that keep their details. Details
contain values of the machines, so every machine may have a cell of its own.
But the page must be small enough for a browser."""

_LEFT_OUT = (
    f'left out: more than {_MAX_CELLS:,} machines have values of '
    'their own here'
)

_SKIPPED = 'skipped'
"""The state of a rule that did not run on a machine."""


class ConditionCell(typing.NamedTuple):
    """The result of a condition of a rule on a machine.

    :param result: None if the condition was not decided.
    """

    op: str
    result: bool | None
    reason: str | None


class ActionCell(typing.NamedTuple):
    """The effect of an action of a rule on a machine.

    :param reverted: whether the action was undone instead of run.
    :param lines: why it did not run, how often its conditions held, what it
        changed, and what it logged; see :func:`_action_lines`.
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
    :param conditions: the results of the conditions; None if the rule left no
        trace, e.g. because it was skipped.
    :param actions: the effects of the actions; likewise None.
    """

    state: str
    conditions: tuple[ConditionCell, ...] | None = None
    actions: tuple[ActionCell, ...] | None = None

    def as_text(self) -> str:
        """Return the cell as JSON.

        Cells are passed between processes and compared as texts. Both is far
        faster than with objects, and there may be millions of cells.
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
        """Return the cell with a remark in place of its details.

        The remark replaces the reason of every condition, and the lines of
        every action, if there are any. The cell then has no values of the
        machine, so that it may be equal to the cell of another machine.
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
    :param result: ``ok``, ``failed`` by a rule, or ``error``.
    :param error: the reason if the result is not ``ok``.
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

    Most machines of a fleet are alike, so the data of the page have equal
    values only once, in lists. Wherever a value is used, the data have its
    *number*, which is its index in the list:

    - A machine has the number of its outcome.
    - An outcome has the numbers of its diff and of its row.
    - A row has the numbers of the cells of a machine, one for every rule.
    - A cell has the numbers of its conditions and actions.
    - Conditions, actions and diffs have the numbers of texts.
    """

    def __init__(
        self, rules: typing.Iterable[model.Rule], files: typing.Sequence[str]
    ) -> None:
        """Create a matrix without machines.

        :param rules: the rules that are tested.
        :param files: the paths of their files, for the heading.
        """
        self._files = files
        self._rules = repository.order(rules)
        self._description_by_uuid = {
            rule.uuid: rule.description for rule in self._rules
        }
        # For every machine, its path and the number of its outcome.
        self._machines: list[tuple[str, int]] = []
        # The lists of values, which number_of() fills. A comment describes the
        # values of a list.
        # (result, error, number of the diff, number of the row)
        self._outcomes = shell.DistinctValues()
        # (number of a text, …), for the lines of the changes on a machine.
        self._diffs = shell.DistinctValues()
        # (number of a cell, …), for every rule, in their order.
        self._rows = shell.DistinctValues()
        # JSON of RuleCell.as_text().
        self._cells = shell.DistinctValues()
        # (number of the op, result, number of the reason)
        self._conditions = shell.DistinctValues()
        # (number of the op, reverted, numbers of the lines)
        self._actions = shell.DistinctValues()
        # A line of a diff or of an action, an op, or a reason.
        self._texts = shell.DistinctValues()
        # For every rule, in their order: the cells that keep their details.
        self._detailed_cells: list[set[str]] = [set() for _rule in self._rules]

    @property
    def extract(self) -> machine_test.Extract:
        """The function that returns the column of a tested machine.

        Other processes call it with the test of a machine.
        """
        return functools.partial(_build_column, self._rules)

    def add(self, column: MachineColumn) -> None:
        """Add the column of a machine.

        Only the path of the machine and the number of its outcome are stored.
        Most machines have the same outcome as another machine.
        """
        error = column.error
        if error is not None:
            error = shell.with_rule_names(error, self._description_by_uuid)
        diff = tuple(self._texts.number_of(line) for line in column.diff)
        diff_number = self._diffs.number_of(diff)
        row = self._number_cells(column.cells)
        row_number = self._rows.number_of(row)
        outcome_number = self._outcomes.number_of(
            (column.result, error, diff_number, row_number)
        )
        self._machines.append((column.path, outcome_number))

    def _number_cells(self, cells: tuple[str, ...]) -> tuple[int, ...]:
        """Return the numbers of the cells of a machine.

        The first :data:`_MAX_CELLS` different cells of a rule keep their
        details. Later cells lose them, so that many machines share a cell and
        the page stays small.

        :param cells: the cells of :class:`MachineColumn`.
        """
        numbers = []
        for cell, detailed_cells in zip(
            cells, self._detailed_cells, strict=True
        ):
            if len(detailed_cells) < _MAX_CELLS:
                detailed_cells.add(cell)
            if cell in detailed_cells:
                stored_cell = cell
            else:
                short_cell = RuleCell.from_text(cell).without_reasons()
                stored_cell = short_cell.as_text()
            numbers.append(self._cells.number_of(stored_cell))
        return tuple(numbers)

    def render(self) -> str:
        """Return the page of the results of all rules on all machines."""
        # The page has the paths of machines relative to this directory.
        directories = [
            os.path.dirname(os.path.abspath(path))
            for path, _outcome in self._machines
        ]
        common_directory = os.path.commonpath(directories)
        # Pack the cells first, because this fills the lists of conditions,
        # actions and texts that are read below.
        packed_cells = []
        for text in self._cells.values:
            packed_cells.append(self._pack_cell(RuleCell.from_text(text)))
        now = shell.format_now()
        names = shell.join_names(self._files)
        return shell.render(
            f'{names} on machines, {now}',
            _ASSETS,
            {
                'made': now,
                'files': names,
                # Leave out the rest of the path, because it may contain the
                # name of a user.
                'directory': os.path.basename(common_directory),
                'rules': [_rule_data(rule) for rule in self._rules],
                'machines': [
                    (os.path.relpath(path, common_directory), outcome)
                    for path, outcome in self._machines
                ],
                'outcomes': self._outcomes.values,
                'diffs': self._diffs.values,
                'rows': self._rows.values,
                'cells': packed_cells,
                'conditions': self._conditions.values,
                'actions': self._actions.values,
                'texts': self._texts.values,
            },
        )

    def _pack_cell(self, cell: RuleCell) -> list[typing.Any]:
        """Return a cell as JSON data, and number its conditions and actions.

        :returns: e.g. ``['matched', [0, 3], [7]]``: the state, the numbers of
            the conditions, and the numbers of the actions. If the rule left no
            trace, only the state, e.g. ``['skipped']``.
        """
        if cell.conditions is None or cell.actions is None:
            return [cell.state]
        texts = self._texts
        condition_numbers = []
        for condition in cell.conditions:
            op = texts.number_of(condition.op)
            reason = None
            if condition.reason is not None:
                reason = texts.number_of(condition.reason)
            packed_condition = (op, condition.result, reason)
            condition_numbers.append(
                self._conditions.number_of(packed_condition)
            )
        action_numbers = []
        for action in cell.actions:
            op = texts.number_of(action.op)
            lines = tuple(texts.number_of(line) for line in action.lines)
            packed_action = (op, action.reverted, lines)
            action_numbers.append(self._actions.number_of(packed_action))
        return [cell.state, condition_numbers, action_numbers]


def _build_column(
    rules: typing.Sequence[model.Rule], test: machine_test.MachineTest
) -> MachineColumn:
    """Build the column of a machine from its test.

    :param rules: the rules in the order of the matrix.
    """
    # The error that ended the inspection; it knows its rule.
    error = test.outcome.error
    # The traces of the rules that ran.
    trace_by_uuid = {}
    for rule_trace in test.outcome.traces:
        trace_by_uuid[rule_trace.rule.uuid] = rule_trace
    cells = []
    for rule in rules:
        final_result = None
        if error and error.rule_uuid == rule.uuid:
            final_result = test.result
        cell = _build_cell(trace_by_uuid.get(rule.uuid), final_result)
        cells.append(cell.as_text())
    return MachineColumn(
        path=test.path,
        result=test.result,
        error=test.error,
        diff=tuple(trial_text.diff_lines(test.outcome.changes)),
        cells=tuple(cells),
    )


def _build_cell(
    rule_trace: trace.RuleTrace | None, final_result: str | None
) -> RuleCell:
    """Build the cell with the result of a rule on a machine.

    :param rule_trace: None if the rule did not run, or if it ended the
        inspection before it left a trace.
    :param final_result: ``failed`` or ``error`` if this rule ended the
        inspection of the machine, otherwise None.
    """
    if rule_trace is None:
        return RuleCell(final_result or _SKIPPED)
    if final_result is not None:
        state = final_result
    elif _has_found_defect(rule_trace):
        state = 'differs'
    elif rule_trace.matched:
        state = 'matched'
    else:
        state = 'unmatched'
    conditions = [
        ConditionCell(condition.op, condition.result, condition.reason)
        for condition in rule_trace.conditions
    ]
    actions = [
        ActionCell(action.op, action.reverted, tuple(_action_lines(action)))
        for action in rule_trace.actions
    ]
    return RuleCell(state, tuple(conditions), tuple(actions))


def _has_found_defect(rule_trace: trace.RuleTrace) -> bool:
    """Return whether a rule found a defect without failing the inspection.

    Two kinds of rules can do this:

    - A rule in mode ``audit`` only records the error with which it would fail.
    - A rule that ``profile`` has made may note in plugin data that the machine
      differs from the profile.
    """
    if rule_trace.error:
        return True
    for action in rule_trace.actions:
        if any(map(profile_rules.notes_difference, action.changes)):
            return True
    return False


def _action_lines(action: trace.ActionTrace) -> typing.Iterator[str]:
    """Yield the effect of an action on a machine, as lines of text.

    - Why it did not run: ``did not run: the loop has no items``.
    - For how many items of a loop its conditions hold: ``when eq: 1/4``.
    - What it changed: ``add node /extra/rack = "r1"``.
    - What it logged, and the requests that it sent.
    """
    if action.idle:
        line = 'did not run'
        if action.idle.reason:
            line += f': {action.idle.reason}'
        yield line
    for condition in action.when:
        # Without a loop there is one item.
        items = condition.true + condition.false
        line = f'when {condition.op}: {condition.true}/{items}'
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
    """Return the data of a rule for the page, with secrets masked.

    A sensitive rule has the member ``withheld``, and no variables, conditions
    and actions.
    """
    data: dict[str, typing.Any] = {
        'title': machine_test.title(rule),
        'uuid': rule.uuid,
        'phase': rule.phase,
        'priority': rule.priority,
        'scope': rule.scope,
        'mode': rule.mode,
        'vars': '\n'.join(rule_text.variable_lines(rule)),
        **disclosure.withheld_mark(rule),
    }
    # The lists "conditions" and "actions" have the arguments as YAML.
    for name in model.OPERATIONS:
        operations = rule_text.visible_operations(rule, name)
        data[name] = [
            rule_text.argument_text(operation) for operation in operations
        ]
    return data
