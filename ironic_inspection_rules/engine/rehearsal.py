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

"""A whole inspection without a machine: what rules would do to it."""

import dataclasses
import typing

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine import compiler
from ironic_inspection_rules.engine import model
from ironic_inspection_rules.engine import runner
from ironic_inspection_rules.engine import target as engine_target
from ironic_inspection_rules.engine import trace


@dataclasses.dataclass(frozen=True, slots=True)
class Rehearsal:
    """What rules would do.

    ``traces`` are of the rules that match or, where an explanation was asked
    for, of all that were looked at. ``changes`` are those that would be
    saved, ``error`` says why inspection would fail.
    """

    traces: tuple[trace.RuleTrace, ...]
    changes: tuple[engine_target.Change, ...]
    error: exceptions.RuleError | None = None

    def as_dict(self) -> dict[str, typing.Any]:
        """Return the full explanation as plain JSON data."""
        return {
            'result': 'failed' if self.error else 'ok',
            'error': str(self.error) if self.error else None,
            'rules': [each.as_dict() for each in self.traces],
            'changes': [each.as_dict() for each in self.changes],
        }


def rehearse(
        plans: typing.Mapping[str, typing.Iterable[compiler.Plan]],
        facts: engine_target.Facts,
        phases: typing.Iterable[str] = model.PHASES,
        explain: bool = True) -> Rehearsal:
    """Run phases one after another; nothing is saved, logged or called.

    Each phase finds the data as the one before it left them.

    :param plans: the rules of each phase, in the order they run in.
    :param facts: the machine as the first phase finds it, which is not
        changed. Its node may be empty, but not None.
    :param explain: trace also rules that do not match, with a reason for
        each condition.
    """
    traces: list[trace.RuleTrace] = []
    changes: list[engine_target.Change] = []
    for phase in phases:
        target = engine_target.Target(
            dataclasses.replace(facts, node=None) if phase == model.EARLY
            else facts)
        outcome = runner.run(plans.get(phase, ()), target, _scope(facts),
                             explain)
        traces += outcome.traces
        if outcome.keeps_changes:
            changes += target.changes
        if outcome.error:
            return Rehearsal(tuple(traces), tuple(changes), outcome.error)
        facts = _after(facts, target, outcome, phase)
    return Rehearsal(tuple(traces), tuple(changes))


def _scope(facts: engine_target.Facts) -> str | None:
    properties = (facts.node or {}).get('properties')
    return properties.get(model.SCOPE_PROPERTY) if isinstance(
        properties, dict) else None


def _after(facts: engine_target.Facts, target: engine_target.Target,
           outcome: runner.Outcome, phase: str) -> engine_target.Facts:
    roots = target.roots
    plugin_data = dict(roots[engine_target.PLUGIN_DATA])
    outcome.record(plugin_data, phase)
    return dataclasses.replace(
        facts, plugin_data=plugin_data,
        node=roots.get(engine_target.NODE, facts.node),
        ports=tuple(roots.get(engine_target.PORTS, facts.ports)))
