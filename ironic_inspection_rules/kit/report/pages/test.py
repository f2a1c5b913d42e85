# SPDX-License-Identifier: Apache-2.0

"""The page of rules and machines as a matrix, with why and what."""

import functools
import json
import os.path
import typing

from ironic_inspection_rules.engine.language import model
from ironic_inspection_rules.engine.run import trace
from ironic_inspection_rules.kit.report import trial_text
from ironic_inspection_rules.kit.report.pages import rule_text
from ironic_inspection_rules.kit.report.pages import shell
from ironic_inspection_rules.kit.trial import machine_test
from ironic_inspection_rules.rule_set import repository

_ASSETS = ('matrix.css', 'matrix.js', 'test.js')

_MOST_CELLS = 1000
"""So many different cells of a rule say why; a page stays small enough."""

_LEFT_OUT = (f'left out: more than {_MOST_CELLS:,} machines have values of '
             'their own here')

Column = tuple[str, str, str | None, tuple[str, ...], list[str]]
"""A machine: its file, result and error, the lines of a diff, and cells."""


class Matrix:
    """A page that is filled machine by machine."""

    def __init__(self, rules: typing.Iterable[model.Rule],
                 files: typing.Sequence[str]) -> None:
        self._files = files
        self._rules = repository.order(rules)
        self._texts = shell.Numbers()
        self._conditions = shell.Numbers()
        self._actions = shell.Numbers()
        self._cells = shell.Numbers()
        self._cells_of_rule: list[set[str]] = [set() for _rule in self._rules]
        self._diffs = shell.Numbers()
        self._rows = shell.Numbers()
        # Most machines of a fleet are like another one of it.
        self._outcomes = shell.Numbers()
        self._machines: list[tuple[str, int]] = []
        self._names = {rule.uuid: rule.description for rule in self._rules}

    @property
    def extract(self) -> machine_test.Extract:
        """A function that returns the column of an explained trial."""
        return functools.partial(_column, self._rules)

    def add(self, column: Column) -> None:
        """Add a machine."""
        path, result, error, diff, cells = column
        if error is not None:
            error = shell.named(error, self._names)
        row = []
        for cell, of_rule in zip(cells, self._cells_of_rule, strict=True):
            if len(of_rule) < _MOST_CELLS:
                of_rule.add(cell)
            row.append(self._cells.of(cell if cell in of_rule
                                      else _without_reasons(cell)))
        self._machines.append((path, self._outcomes.of((
            result, error, self._diffs.of(tuple(map(self._texts.of, diff))),
            self._rows.of(tuple(row))))))

    def render(self) -> str:
        """Return the page."""
        directory = os.path.commonpath([
            os.path.dirname(os.path.abspath(path))
            for path, _outcome in self._machines])
        cells = [self._packed(json.loads(text)) for text in self._cells.all]
        made, names = shell.now(), shell.names(self._files)
        return shell.render(f'{names} on machines, {made}', _ASSETS, {
            'made': made, 'files': names,
            # Where it was on the computer that made the page is nobody's
            # business.
            'directory': os.path.basename(directory),
            'rules': [_rule(rule) for rule in self._rules],
            'machines': [(os.path.relpath(path, directory), outcome)
                         for path, outcome in self._machines],
            'outcomes': self._outcomes.all,
            'diffs': self._diffs.all,
            'rows': self._rows.all,
            'cells': cells,
            'conditions': self._conditions.all,
            'actions': self._actions.all,
            'texts': self._texts.all})

    def _packed(self, cell: dict[str, typing.Any]) -> list[typing.Any]:
        """Return the state and, if known, why and what, by number."""
        number = self._texts.of
        return [cell['state'], *([
            [self._conditions.of((
                number(op), result,
                None if reason is None else number(reason)))
             for op, result, reason in cell['conditions']],
            [self._actions.of((number(op), reverted,
                               tuple(map(number, lines))))
             for op, reverted, lines in cell['actions']],
        ] if 'conditions' in cell else [])]


def _column(rules: typing.Sequence[model.Rule],
            each: machine_test.MachineTest) -> Column:
    error = each.outcome.error
    traces = {shown.rule.uuid: shown for shown in each.outcome.traces}
    cells = []
    for rule in rules:
        # What became of the rule; the result of the machine if it ended it.
        ended = None
        if error and error.rule_uuid == rule.uuid:
            ended = each.result
        shown = traces.get(rule.uuid)
        cells.append(json.dumps({'state': ended or 'skipped'} if shown is None
                                else {
            'state': ended or ('matched' if shown.matched else 'unmatched'),
            'conditions': [[seen.op, seen.result, seen.reason]
                           for seen in shown.conditions],
            'actions': [[action.op, action.reverted, list(_lines(action))]
                        for action in shown.actions]}, ensure_ascii=False))
    return (each.path, each.result, each.error,
            tuple(trial_text.diff(each.outcome.changes)), cells)


def _lines(action: trace.ActionTrace) -> typing.Iterator[str]:
    """Return why it did not run, how conditions held, and what changed."""
    if action.idle:
        yield (f'did not run: {action.idle.reason}' if action.idle.reason
               else 'did not run')
    for when in action.when:
        count = f'when {when.op}: {when.true}/{when.true + when.false}'
        yield f'{count}, {when.reason}' if when.reason else count
    for change in action.changes:
        value = '' if change.op == 'remove' else (
            f' = {json.dumps(change.value, ensure_ascii=False)}')
        yield f'{change.op} {change.object} {change.path}{value}'
    yield from action.notes


def _rule(rule: model.Rule) -> dict[str, typing.Any]:
    return {'title': machine_test.title(rule), 'uuid': rule.uuid,
            'phase': rule.phase, 'priority': rule.priority,
            'scope': rule.scope, 'mode': rule.mode,
            'vars': '\n'.join(rule_text.variables(rule)), **{
                name: [rule_text.arguments(operation) for operation
                       in rule_text.operations(rule, name)]
                for name in model.OPERATIONS}}


def _without_reasons(text: str) -> str:
    cell = json.loads(text)
    for condition in cell.get('conditions', ()):
        condition[2] = condition[2] and _LEFT_OUT
    for action in cell.get('actions', ()):
        action[2] = action[2] and [_LEFT_OUT]
    return json.dumps(cell, ensure_ascii=False)
