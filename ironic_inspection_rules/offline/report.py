# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""What became of machines on paper, for people to read."""

import json
import typing

import prettytable

from ironic_inspection_rules.engine import masking
from ironic_inspection_rules.engine import path as data_path
from ironic_inspection_rules.engine import target as engine_target
from ironic_inspection_rules.engine import trace
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.offline import trial

_MOST_REASONS = 3
_LONGEST = 500


def as_dict(each: trial.Trial) -> dict[str, typing.Any]:
    """Return a trial as plain JSON data."""
    return {'inventory': each.path, **each.outcome.as_dict(),
            'result': each.result}


def details(each: trial.Trial) -> str:
    """Return all that is known of one trial: its rules and its changes."""
    rules = prettytable.PrettyTable(
        [_('Rule'), _('Phase'), _('Matched'), _('Why not')], align='l')
    rules.max_width = {_('Rule'): 44, _('Why not'): 70}
    for shown in each.outcome.traces:
        rules.add_row([trial.title(shown.rule), shown.rule.phase,
                       _('yes') if shown.matched else _('no'),
                       why_not(shown)])
    return '\n'.join([_headline(each), str(rules),
                      *diff(each.facts, each.outcome.changes)])


def summary(trials: typing.Iterable[trial.Trial]) -> str:
    """Return one line for each trial."""
    table = prettytable.PrettyTable(
        [_('Inventory'), _('Result'), _('Matched'), _('Changes'),
         _('Error')], align='l')
    table.max_width = {_('Error'): 70}
    for each in trials:
        table.add_row([each.path, each.result, len(each.matched),
                       len(each.outcome.changes),
                       str(each.outcome.error or '')])
    return str(table)


def why_not(shown: trace.RuleTrace) -> str:
    """Name the conditions that do not hold, with the reason of each."""
    reasons = list(dict.fromkeys(
        f'{each.op}: {each.reason}' if each.reason else each.op
        for each in shown.conditions if not each.result))
    if len(reasons) > _MOST_REASONS:
        more = len(reasons) - _MOST_REASONS + 1
        reasons[_MOST_REASONS - 1:] = [_('%d more') % more]
    return '\n'.join(reasons)


def diff(facts: engine_target.Facts,
         changes: typing.Iterable[engine_target.Change]) -> list[str]:
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
        if change.object == engine_target.TRAITS:
            sign = '-' if change.op == 'remove' else '+'
            lines.append(f'{sign} {path[0]}')
            continue
        data = before.get(change.object)
        old = data_path.get(data, path)
        if old is not data_path.ABSENT:
            shown = masking.mask_along(path, old)[1]
            lines.append(f'- {change.path}: {_text(shown)}')
        if change.op == 'remove':
            data = data_path.remove(data, path)
        else:
            lines.append(f'+ {change.path}: {_text(change.value)}')
            data = data_path.assign(data, path, change.value)
        before[change.object] = data
    return lines


def _headline(each: trial.Trial) -> str:
    verdict = {'ok': _('inspection would succeed'),
               'failed': _('inspection would fail'),
               'error': _('a rule has an error')}[each.result]
    error = f': {each.outcome.error}' if each.outcome.error else ''
    return f'{each.path}: {verdict}{error}'


def _text(value: typing.Any) -> str:
    text = json.dumps(value, ensure_ascii=False, sort_keys=True)
    return text if len(text) <= _LONGEST else f'{text[:_LONGEST]}…'
