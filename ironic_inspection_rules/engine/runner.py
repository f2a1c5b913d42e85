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

"""One phase of inspection: rules in order, on one target."""

import dataclasses
import typing

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine import action as engine_action
from ironic_inspection_rules.engine import compiler
from ironic_inspection_rules.engine import explanation
from ironic_inspection_rules.engine import target as engine_target
from ironic_inspection_rules.engine import trace

Why = tuple[trace.ConditionTrace, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class Outcome:
    """How a phase went.

    ``traces`` hold the rules that matched or, where an explanation was asked
    for, all that were looked at. With a :class:`.exceptions.RuleFailed` the
    changes made so far are to be kept, with any other ``error`` none are.
    """

    traces: tuple[trace.RuleTrace, ...]
    error: exceptions.RuleError | None = None

    @property
    def keeps_changes(self) -> bool:
        """Whether the changes are to be saved, with or without an error."""
        return self.error is None or isinstance(self.error,
                                                exceptions.RuleFailed)

    def record(self, plugin_data: dict[str, typing.Any],
               phase: str) -> None:
        """Note in plugin data which rules matched and which ops ran."""
        matched = [rule.summary() for rule in self.traces if rule.matched]
        if matched:
            phases = plugin_data.get(trace.KEY)
            plugin_data[trace.KEY] = {
                **(phases if isinstance(phases, dict) else {}),
                phase: matched}


def run(plans: typing.Iterable[compiler.Plan], target: engine_target.Target,
        scope: str | None = None, explain: bool = False) -> Outcome:
    """Run rules in the order given.

    Rules that decide first, and the undoing of what such rules did earlier,
    come before the first action of any rule (blueprint 000 "Plugins").

    :param scope: the inspection scope of the node; a rule with another one
        is passed over (spec 003 "Data model impact").
    :param explain: trace every rule, with a reason for each condition.
    """
    traces: list[trace.RuleTrace] = []
    plans = [plan for plan in plans
             if not plan.rule.scope or plan.rule.scope == scope]
    first = [plan for plan in plans if plan.decides_first]
    views = (target.view(masked=False), target.view(masked=True))
    why: dict[str, Why] = {}

    def decide(plan: compiler.Plan) -> bool:
        view = views[plan.masked]
        if explain:
            why[plan.rule.uuid] = explanation.explain(plan, view)
        return _matches(plan, view)

    error = None
    try:
        decided = {plan.rule.uuid: decide(plan) for plan in first}
        for plan in first:
            if not decided[plan.rule.uuid]:
                _revert(plan, target, traces)
        for plan in plans:
            if (decided[plan.rule.uuid] if plan.decides_first
                    else decide(plan)):
                _act(plan, target, traces)
    except exceptions.RuleError as exc:
        error = exc
    if explain:
        traces = _explained(plans, traces, why)
    return Outcome(tuple(traces), error)


def _explained(plans: typing.Iterable[compiler.Plan],
               traces: typing.Iterable[trace.RuleTrace],
               why: typing.Mapping[str, Why]) -> list[trace.RuleTrace]:
    """Return a trace of each rule that was looked at, in their order."""
    done = {each.rule.uuid: each for each in traces}
    return [dataclasses.replace(
        done.get(plan.rule.uuid) or trace.RuleTrace(plan.rule, False),
        conditions=why[plan.rule.uuid])
        for plan in plans if plan.rule.uuid in why]


def _matches(plan: compiler.Plan, view: dict[str, typing.Any]) -> bool:
    for condition in plan.conditions:
        try:
            if not condition.check(view):
                return False
        except Exception as exc:
            op = condition.operation['op']
            raise _error(plan, op, exc) from _cause(plan, exc)
    return True


def _act(plan: compiler.Plan, target: engine_target.Target,
         traces: list[trace.RuleTrace]) -> None:
    done: list[trace.ActionTrace] = []
    try:
        for action in plan.actions:
            _carry_out(plan, action, action.apply, target, done)
    finally:
        traces.append(
            trace.RuleTrace(plan.rule, True, actions=tuple(done)))


def _revert(plan: compiler.Plan, target: engine_target.Target,
            traces: list[trace.RuleTrace]) -> None:
    done: list[trace.ActionTrace] = []
    for action in plan.actions:
        if action.reverts:
            _carry_out(plan, action, action.revert, target, done,
                       reverted=True)
    if any(action.changes for action in done):
        traces.append(
            trace.RuleTrace(plan.rule, False, actions=tuple(done)))


def _carry_out(plan: compiler.Plan, action: engine_action.Action,
               step: typing.Callable[..., None],
               target: engine_target.Target, done: list[trace.ActionTrace],
               reverted: bool = False) -> None:
    target.enter(plan.masked, plan.rule.sensitive)
    changes, notes = len(target.changes), len(target.notes)
    try:
        step(target, target.view(plan.masked))
    except Exception as exc:
        raise _error(plan, action.name, exc) from _cause(plan, exc)
    finally:
        done.append(trace.ActionTrace(
            action.name, tuple(target.changes[changes:]),
            tuple(target.notes[notes:]), reverted))


def _error(plan: compiler.Plan, op: str,
           exc: Exception) -> exceptions.RuleError:
    """Say which rule and op it was, as much as its rule lets be said."""
    reason = None
    if not plan.rule.sensitive:
        known = isinstance(exc, exceptions.InspectionRulesError)
        reason = str(exc) if known else f'{type(exc).__name__}: {exc}'
    if isinstance(exc, exceptions.FailRequested):
        return exceptions.RuleFailed(plan.rule.label, op, reason,
                                     exc.maintenance)
    return exceptions.RuleError(plan.rule.label, op, reason)


def _cause(plan: compiler.Plan, exc: Exception) -> Exception | None:
    """Return what a log may show as the cause of an error."""
    return None if plan.rule.sensitive else exc
