# SPDX-License-Identifier: Apache-2.0

"""Results of trials as text, for people and programs to read."""

import collections
import functools
import json
import math
import re
import typing
from xml.etree import ElementTree

from ironic_inspection_rules import escapes
from ironic_inspection_rules.engine.language import model
from ironic_inspection_rules.engine.language.secrecy import disclosure
from ironic_inspection_rules.engine.run import change as engine_change
from ironic_inspection_rules.engine.run import trace
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.i18n import _P
from ironic_inspection_rules.kit.terminal import table
from ironic_inspection_rules.kit.trial import coverage
from ironic_inspection_rules.kit.trial import machine_diff
from ironic_inspection_rules.kit.trial import machine_test
from ironic_inspection_rules.rule_file import yaml_text

_MOST_REASONS = 3
_NAMES = 3
_MOST_ROWS = 10  # Keys of rows that no machine needed.
_ONE_BY_ONE = 20  # Of more machines a table shows what they have in common.
_NOT_XML = re.compile('[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]')

Case = tuple[str, str, str]
"""A machine: its name, ``ok``, ``failed`` or ``error``, and why."""

Row = tuple[str, str, int, int, int, str]


def as_dict(each: machine_test.MachineTest) -> dict[str, typing.Any]:
    """Return a trial as plain JSON data."""
    return {'inventory': each.path, **each.outcome.as_dict(),
            'result': each.result, 'error': each.error}


def as_json(each: machine_test.MachineTest, indent: int | None = None) -> str:
    """Return a trial as JSON; indented it takes far longer."""
    return json.dumps(as_dict(each), indent=indent)


def coverage_table(covered: coverage.Coverage) -> str:
    """Return a line for each rule and the sum."""
    shown = table.render(
        [_('Rule'), _('Covered'), _('Not reached')],
        [[machine_test.title(rule), _percent(covered.percent_of(rule)),
          '\n'.join(covered.missed(rule))]
         for rule in covered.rules])
    lines = [shown]
    for name in covered.tables:
        unmatched = covered.unmatched(name)
        if not unmatched:
            continue
        first = ', '.join(unmatched[:_MOST_ROWS])
        if len(unmatched) > _MOST_ROWS:
            first += ', …'
        lines.append(_P(
            'Table %(name)s: %(count)d row of %(rows)d matched no machine: '
            '%(keys)s', 'Table %(name)s: %(count)d rows of %(rows)d matched '
            'no machine: %(keys)s', len(unmatched)) % {
                'name': name, 'count': len(unmatched),
                'rows': len(covered.tables[name]),
                'keys': escapes.shown(first)})
    lines.append(_('Covered: %s') % _percent(covered.percent))
    return '\n'.join(lines)


def _percent(share: float) -> str:
    # Rounded down: 100 % means full coverage.
    return f'{math.floor(share)} %'


def diff(changes: typing.Iterable[engine_change.Change]) -> list[str]:
    """Return the changes as lines of a diff, under each object's name."""
    return list(machine_diff.change_lines(
        change.with_before() for change in changes))


class Listing:
    """Prints machines as they come.

    A format that prints each machine by itself keeps none of them.

    :ivar extract: returns what :meth:`add` prints of a machine.
    """

    extract: machine_test.Extract

    def __init__(self, output: typing.TextIO) -> None:
        self._output = output

    def add(self, entry: typing.Any) -> None:
        """Print one more, sooner or later."""
        self._output.write(entry)

    def end(self, results: collections.Counter[str]) -> None:
        """Print what is left."""


class Json(Listing):
    """A list in JSON, each machine on a line if there are many."""

    def __init__(self, output: typing.TextIO, indented: bool) -> None:
        super().__init__(output)
        self.extract = functools.partial(as_json,
                                         indent=2 if indented else None)
        self._before = '['

    def add(self, entry: str) -> None:
        super().add(self._before + entry)
        self._before = ',\n'

    def end(self, results: collections.Counter[str]) -> None:
        self._output.write(']\n')


class Yaml(Listing):
    """A list in YAML."""

    @staticmethod
    def extract(each: machine_test.MachineTest) -> str:
        return yaml_text.dump([as_dict(each)], Dumper=yaml_text.FastDumper)


class Table(Listing):
    """A line for each machine, or for all that are alike; and the sum."""

    @staticmethod
    def extract(each: machine_test.MachineTest) -> Row:
        return (each.path, each.result, len(each.matched),
                len(each.outcome.changes), len(each.outcome.audited),
                each.error or '')

    def __init__(self, output: typing.TextIO) -> None:
        super().__init__(output)
        self._alike: dict[tuple[typing.Any, ...], list[str]] = {}
        self._counts: collections.Counter[tuple[typing.Any, ...]] = (
            collections.Counter())

    def add(self, entry: Row) -> None:
        path, *fared = entry
        paths = self._alike.setdefault(tuple(fared), [])
        self._counts[tuple(fared)] += 1
        if len(paths) < _ONE_BY_ONE:
            paths.append(path)

    def end(self, results: collections.Counter[str]) -> None:
        total = self._counts.total()
        rows: list[tuple[typing.Any, ...]] = []
        for fared, paths in self._alike.items():
            if total <= _ONE_BY_ONE:
                rows += ((path, *fared) for path in paths)
                continue
            shown, count = paths[:_NAMES], self._counts[fared]
            if count > len(shown):
                shown.append(_('and %d more') % (count - len(shown)))
            rows.append(('\n'.join(shown), *fared))
        if total <= _ONE_BY_ONE:
            rows.sort()
        columns = [_('Inventory'), _('Result'), _('Matched'), _('Changes'),
                   _('Audit'), _('Error')]
        if not any(row[4] for row in rows):
            # What audit rules would do has a column only where there is any.
            del columns[4]
            rows = [(*row[:4], row[5]) for row in rows]
        if rows:
            self._output.write(f'{table.render(columns, rows)}\n')
        if total and not any(fared[2] for fared in self._alike):
            self._output.write(_('nothing would change') + '\n')
        self._output.write(_P(
            '%(all)d inventory: %(ok)d ok, %(failed)d failed, %(error)d '
            'with an error',
            '%(all)d inventories: %(ok)d ok, %(failed)d failed, %(error)d '
            'with an error', results.total()) % {
                'all': results.total(), **{name: results[name] for name in (
                    'ok', 'failed', 'error')}} + '\n')


class Junit(Listing):
    """A test case for each machine, as JUnit XML."""

    def __init__(self, output: typing.TextIO) -> None:
        super().__init__(output)
        self._cases: list[Case] = []

    @staticmethod
    def extract(each: machine_test.MachineTest) -> Case:
        return each.path, each.result, each.error or ''

    def add(self, entry: Case) -> None:
        self._cases.append(entry)

    def end(self, results: collections.Counter[str]) -> None:
        self._output.write(junit(self._cases))


class Details(Listing):
    """All about each machine, those with the same rules and changes once."""

    @staticmethod
    def extract(each: machine_test.MachineTest) -> tuple[str, str, str]:
        """Return the machine, the verdict, and its rules and changes."""
        verdict = {'ok': _('inspection would succeed'),
                   'failed': _('inspection would fail'),
                   'error': _('a rule has an error')}[each.result]
        if each.problem is not None:
            said = str(each.problem)
            if (each.problem.path, each.problem.place) == (each.path, None):
                said = each.problem.reason
            # Else it may be the file of its node that has the problem.
            return each.path, _('it cannot be read: %s') % said, ''
        rows = []
        for shown in each.outcome.traces:
            if shown.rule.mode != model.ENFORCE:
                continue
            why_not = _why_not(shown)
            if len(why_not) > _MOST_REASONS:
                more = len(why_not) - _MOST_REASONS + 1
                why_not[_MOST_REASONS - 1:] = [_('%d more') % more]
            rows.append([machine_test.title(shown.rule), shown.rule.phase,
                         _('yes') if shown.matched else _('no'),
                         disclosure.say(shown.rule, '\n'.join(why_not),
                                        _('withheld'))])
        lines = diff(each.outcome.changes) or [
            _('nothing would change')]
        for shown in each.outcome.audited:
            lines.append(_('audit: %s') % machine_test.title(shown.rule))
            if shown.error:
                lines.append('  ' + _('would fail: %s') % shown.error)
            changes = diff(change for action in shown.actions
                           for change in action.changes)
            lines += (f'  {line}' for line in changes)
            if not changes and not shown.error:
                lines.append('  ' + _('would change nothing'))
        rules = table.render([_('Rule'), _('Phase'), _('Matched'),
                              _('Why not')], rows)
        return (each.path,
                f'{verdict}: {each.error}' if each.error else verdict,
                '\n'.join([rules, *lines]))

    def __init__(self, output: typing.TextIO) -> None:
        super().__init__(output)
        self._groups: dict[tuple[str, str], list[str]] = {}

    def add(self, entry: tuple[str, str, str]) -> None:
        path, verdict, body = entry
        self._groups.setdefault((verdict, body), []).append(path)

    def end(self, results: collections.Counter[str]) -> None:
        self._output.write('\n\n'.join(
            '\n'.join([*paths[:-1], f'{paths[-1]}: {verdict}', body]).rstrip()
            for (verdict, body), paths in self._groups.items()) + '\n')


def _why_not(shown: trace.RuleTrace) -> list[str]:
    """Return why a rule does not match, or which of its actions do not run.

    :returns: ops of conditions or of actions, with the reason if it is known.
    """
    reasons = [(decided.op, decided.reason)
               for decided in shown.conditions if not decided.result]
    if shown.matched:
        reasons = [(action.op, action.idle.reason)
                   for action in shown.actions if action.idle]
    return list(dict.fromkeys(f'{op}: {reason}' if reason else op
                              for op, reason in reasons))


def junit(cases: list[Case]) -> str:
    """Return JUnit XML with a test case for each machine."""
    suite = ElementTree.Element('testsuite', {
        'name': 'ironic-inspection-rules', 'tests': str(len(cases)),
        **{attribute: str(sum(result == kind for _name, result, _why in cases))
           for attribute, kind in (('failures', 'failed'),
                                   ('errors', 'error'))}})
    for name, result, why in cases:
        case = ElementTree.SubElement(suite, 'testcase', {
            'classname': 'inventory', 'name': _NOT_XML.sub('�', name)})
        if result != 'ok':
            problem = ElementTree.SubElement(
                case, 'failure' if result == 'failed' else 'error',
                {'message': _NOT_XML.sub('�', why.partition('\n')[0])})
            problem.text = _NOT_XML.sub('�', why)
    ElementTree.indent(suite)
    return ('<?xml version="1.0" encoding="utf-8"?>\n'
            f'{ElementTree.tostring(suite, "unicode")}\n')
