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

"""One page that shows rules and machines as a matrix.

It needs nothing but itself: no network, no server.
"""

import importlib.resources
import json
import os.path
import typing

from ironic_inspection_rules.engine import model
from ironic_inspection_rules.engine import target as engine_target
from ironic_inspection_rules.engine import trace
from ironic_inspection_rules.offline import report
from ironic_inspection_rules.offline import trial
from ironic_inspection_rules.ruleset import repository

_PLACEHOLDER = '"DATA"'


class _Texts:
    """Texts by number, as most of them are there many times."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def number(self, text: str) -> int:
        return self._numbers.setdefault(text, len(self._numbers))

    @property
    def all(self) -> list[str]:
        return list(self._numbers)


def render(rules: typing.Iterable[model.Rule],
           trials: typing.Iterable[trial.Trial]) -> str:
    """Return the page.

    :param trials: explained ones.
    """
    in_order = repository.order(rules)
    ordered = [rule for phase in model.PHASES for rule in in_order
               if rule.phase == phase]
    texts = _Texts()
    trials = list(trials)
    directory = _common_directory([each.path for each in trials])
    machines = [_machine(each, ordered, texts, directory)
                for each in trials]
    data = {'rules': [_rule(rule) for rule in ordered],
            'machines': machines, 'texts': texts.all}
    # What ends a script must not be in it.
    script = json.dumps(data, ensure_ascii=False,
                        separators=(',', ':')).replace('<', '\\u003c')
    template = importlib.resources.files(
        'ironic_inspection_rules.offline').joinpath('page.html')
    before, after = template.read_text('utf-8').split(_PLACEHOLDER)
    return f'{before}{script}{after}'


def _common_directory(paths: list[str]) -> str:
    return os.path.commonpath([os.path.dirname(os.path.abspath(path))
                               for path in paths])


def _rule(rule: model.Rule) -> dict[str, typing.Any]:
    return {'title': trial.title(rule), 'uuid': rule.uuid,
            'phase': rule.phase, 'priority': rule.priority,
            'scope': rule.scope}


def _machine(each: trial.Trial, rules: typing.Sequence[model.Rule],
             texts: _Texts, directory: str) -> dict[str, typing.Any]:
    outcome = each.outcome
    traces = {shown.rule.uuid: shown for shown in outcome.traces}
    cells = [_cell(traces.get(rule.uuid), texts) for rule in rules]
    for rule, cell in zip(rules, cells, strict=True):
        if outcome.error and outcome.error.rule == rule.label:
            cell['state'] = each.result
    return {'name': os.path.relpath(each.path, directory),
            'result': each.result,
            'error': str(outcome.error) if outcome.error else None,
            'diff': report.diff(each.facts, outcome.changes),
            'cells': cells}


def _cell(shown: trace.RuleTrace | None,
          texts: _Texts) -> dict[str, typing.Any]:
    if shown is None:
        return {'state': 'skipped'}
    return {
        'state': 'matched' if shown.matched else 'unmatched',
        'conditions': [
            [texts.number(each.op), each.result,
             texts.number(each.reason or '')]
            for each in shown.conditions],
        'actions': [
            [texts.number(each.op), each.reverted,
             [texts.number(_change(change)) for change in each.changes],
             [texts.number(note) for note in each.notes]]
            for each in shown.actions],
    }


def _change(change: engine_target.Change) -> str:
    value = '' if change.op == 'remove' else (
        f' = {json.dumps(change.value, ensure_ascii=False)}')
    return f'{change.op} {change.object} {change.path}{value}'
