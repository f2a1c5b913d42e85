# SPDX-License-Identifier: Apache-2.0

"""Results of machines on paper, for people to read."""

import collections
import json
import math
import typing

from ironic_inspection_rules.engine import journal
from ironic_inspection_rules.engine import masking
from ironic_inspection_rules.engine import model
from ironic_inspection_rules.engine import path as data_path
from ironic_inspection_rules.engine import trace
from ironic_inspection_rules.engine import views
from ironic_inspection_rules.engine import working_copy
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.i18n import _P
from ironic_inspection_rules.rule_file import yaml_text
from ironic_inspection_rules.terminal import table
from ironic_inspection_rules.trial import coverage
from ironic_inspection_rules.trial import machine_diff
from ironic_inspection_rules.trial import machine_test

_MOST_REASONS = 3

Row = tuple[str, str, int, int, int, str]


def as_dict(each: machine_test.MachineTest) -> dict[str, typing.Any]:
    """Return a trial as plain JSON data."""
    return {'inventory': each.path, **each.outcome.as_dict(),
            'result': each.result, 'error': each.error}


def as_json(each: machine_test.MachineTest, indent: int | None = None
            ) -> str:
    """Return a trial as JSON; indented it takes far longer."""
    return json.dumps(as_dict(each), indent=indent)


def as_yaml(each: machine_test.MachineTest) -> str:
    """Return a trial as an item of a list in YAML."""
    return yaml_text.dump([as_dict(each)], Dumper=yaml_text.FastDumper)


def details(each: machine_test.MachineTest) -> tuple[str, str, str]:
    """Return the machine, the verdict, and all that is known of the trial.

    These are its rules and its changes.
    """
    verdict = {'ok': _('inspection would succeed'),
               'failed': _('inspection would fail'),
               'error': _('a rule has an error')}[each.result]
    if each.problem is not None:
        # It may be the file of its node that has the problem.
        return each.path, _('it cannot be read: %s') % (
            each.problem.removeprefix(f'{each.path}: ')), ''
    rules = table.render(
        [_('Rule'), _('Phase'), _('Matched'), _('Why not')],
        [[machine_test.title(shown.rule), shown.rule.phase,
          _('yes') if shown.matched else _('no'), why_not(shown)]
         for shown in each.outcome.traces
         if shown.rule.mode == model.ENFORCE])
    changes = diff(each.facts, each.outcome.changes) or [
        _('nothing would change')]
    return (each.path, f'{verdict}: {each.error}' if each.error else verdict,
            '\n'.join([rules, *changes, *_audited(each)]))


def _audited(each: machine_test.MachineTest) -> typing.Iterator[str]:
    """Yield what rules of mode audit would do, if they were enforced."""
    for shown in each.outcome.audited:
        yield _('audit: %s') % machine_test.title(shown.rule)
        if shown.error:
            yield '  ' + _('would fail: %s') % shown.error
        lines = diff(each.facts, [change for action in shown.actions
                                  for change in action.changes])
        yield from (f'  {line}' for line in lines)
        if not lines and not shown.error:
            yield '  ' + _('would change nothing')


def row(each: machine_test.MachineTest) -> Row:
    """Return what the table of many machines has of one."""
    return (each.path, each.result, len(each.matched),
            len(each.outcome.changes), len(each.outcome.audited),
            each.error or '')


def rows_table(rows: typing.Iterable[Row]) -> str:
    """Return a table with a line for each machine.

    What audit rules would do has a column only where there is any.
    """
    rows = list(rows)
    columns = [_('Inventory'), _('Result'), _('Matched'), _('Changes'),
               _('Audit'), _('Error')]
    if not any(row[4] for row in rows):
        del columns[4]
        return table.render(columns, [[*row[:4], row[5]] for row in rows])
    return table.render(columns, rows)


def total(results: collections.Counter[str]) -> str:
    """Return how many machines there were of each result."""
    return _P('%(all)d inventory: %(ok)d ok, %(failed)d failed, %(error)d '
              'with an error',
              '%(all)d inventories: %(ok)d ok, %(failed)d failed, %(error)d '
              'with an error', results.total()) % {
                  'all': results.total(), **{
                      name: results[name] for name in (
                          'ok', 'failed', 'error')}}


def coverage_table(covered: coverage.Coverage) -> str:
    """Return a line for each rule and the sum."""
    shown = table.render(
        [_('Rule'), _('Covered'), _('Not reached')],
        [[machine_test.title(rule), _percent(covered.percent_of(rule)),
          '\n'.join(covered.parts[rule.uuid].missed(rule))]
         for rule in covered.rules])
    return f'{shown}\n' + _('Covered: %s') % _percent(covered.percent)


def _percent(share: float) -> str:
    # Down, so that only what is whole is called so.
    return f'{math.floor(share)} %'


def why_not(shown: trace.RuleTrace) -> str:
    """Name the conditions that do not hold, with the reason of each."""
    reasons = list(dict.fromkeys(
        f'{each.op}: {each.reason}' if each.reason else each.op
        for each in shown.conditions if not each.result))
    if len(reasons) > _MOST_REASONS:
        more = len(reasons) - _MOST_REASONS + 1
        reasons[_MOST_REASONS - 1:] = [_('%d more') % more]
    return '\n'.join(reasons)


def diff(facts: working_copy.Facts,
         changes: typing.Iterable[journal.Change]) -> list[str]:
    """Return the changes as lines of a diff, under each object's name.

    :param facts: the machine before the changes.
    """
    before: dict[str, typing.Any] = {
        'node': facts.node, 'plugin_data': facts.plugin_data,
        **{f'port {port.get("address")}': port for port in facts.ports}}
    lines: list[str] = []
    current = None
    for change in changes:
        if change.object != current:
            current = change.object
            lines.append(current)
        path = data_path.parse(change.path) if change.path else ()
        if change.object == working_copy.TRAITS:
            sign = '-' if change.op == 'remove' else '+'
            lines.append(f'{sign} {path[0]}')
            continue
        data = before.get(change.object)
        old = data_path.get(data, path)
        if old is not data_path.ABSENT:
            shown = masking.mask_along(path, old)[1]
            lines.append(f'- {change.path}: {machine_diff.shown(shown)}')
        if change.op == 'remove':
            data = views.Tree().remove(data, path)
        else:
            value = machine_diff.shown(change.value)
            lines.append(f'+ {change.path}: {value}')
            data = views.Tree().assign(data, path, change.value)
        before[change.object] = data
    return lines
