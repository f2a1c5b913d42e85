# SPDX-License-Identifier: Apache-2.0

"""One phase of inspection: rules in order, on one target."""

import contextlib
import dataclasses
import time
import typing

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine import budget
from ironic_inspection_rules.engine import compiler
from ironic_inspection_rules.engine import explanation
from ironic_inspection_rules.engine import journal as engine_journal
from ironic_inspection_rules.engine import model
from ironic_inspection_rules.engine import step
from ironic_inspection_rules.engine import trace
from ironic_inspection_rules.engine import working_copy

_PAID_AT_ONCE = 16
"""Rules that are paid for together; one by one is slow."""

Why = tuple[trace.ConditionTrace, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of a phase.

    ``traces`` hold the rules that matched or, where an explanation was asked
    for, all that were looked at. With a :class:`.exceptions.RuleFailed` the
    changes made so far are to be kept, with any other ``error`` none are.
    ``audited`` hold what the rules in mode ``audit`` would have done.
    ``timings`` tell the seconds that each rule took, by its UUID, where they
    were asked for. ``plans`` are the rules that were run.
    """

    traces: tuple[trace.RuleTrace, ...]
    error: exceptions.RuleError | None = None
    audited: tuple[trace.RuleTrace, ...] = ()
    timings: typing.Mapping[str, float] = dataclasses.field(
        default_factory=dict)
    plans: tuple[compiler.CompiledRule, ...] = ()

    def without_found(self, journal: engine_journal.Journal) -> 'Outcome':
        """Return it without values that sensitive rules found since.

        :param journal: of this phase or of a later one; learns of copies.
        """
        if not journal.found:
            return self
        plans = {id(plan.rule): plan for plan in self.plans}
        traces, audited = (explanation.hide_found(
            journal, [(plans[id(each.rule)], each) for each in some])
            for some in (self.traces, self.audited))
        return dataclasses.replace(self, traces=traces, audited=audited)

    @property
    def keeps_changes(self) -> bool:
        """Return whether the changes are saved, with or without an error."""
        return self.error is None or isinstance(self.error,
                                                exceptions.RuleFailed)

    def record(self, plugin_data: dict[str, typing.Any],
               phase: str) -> None:
        """Note in plugin data which rules matched and which ops ran."""
        matched = [rule.summary() for rule in self.traces
                   if rule.matched and rule.rule.mode != model.AUDIT]
        if matched:
            phases = plugin_data.get(trace.KEY)
            plugin_data[trace.KEY] = {
                **(phases if isinstance(phases, dict) else {}),
                phase: matched}


def run(plans: typing.Iterable[compiler.CompiledRule],
        target: working_copy.WorkingCopy,
        scope: str | None = None, explain: bool = False,
        keep: bool = False,
        limits: budget.Limits = budget.MAIN) -> Outcome:
    """Run rules in the order given.

    Rules that decide first, and the undoing of what such rules did earlier,
    come before the first action of any rule (blueprint 000 "Plugins").

    :param scope: the inspection scope of the node; a rule with another one
        is passed over (spec 003 "Data model impact").
    :param explain: trace every rule, with a reason for each condition. This
        has a budget of its own, so that it does not change the outcome.
    :param keep: tell of what is kept of a run: reasons for the conditions of
        the rules that match, and how long each rule took.
    """
    plans = [plan for plan in plans
             if not plan.rule.scope or plan.rule.scope == scope]
    first = [plan for plan in plans if plan.decides_first]
    phase = _Phase(target, limits, explain, keep)
    error = None
    allowance = budget.Budget(limits)
    with target.paid_by(allowance):
        try:
            for plan in first:
                phase.decide_first(plan)
            for plan in first:
                phase.revert(plan)
            for start in range(0, len(plans), _PAID_AT_ONCE):
                step.pay(plans[start], _PAID_AT_ONCE, allowance)
                for plan in plans[start:start + _PAID_AT_ONCE]:
                    if phase.matches(plan):
                        phase.act(plan)
        except exceptions.RuleError as exc:
            error = exc
    return phase.outcome(plans, error)


class _Phase:
    """A phase as far as it has come.

    A rule in mode ``audit`` acts on a copy of the target that nobody else
    sees, and what goes wrong with it is told, not raised.
    """

    def __init__(self, target: working_copy.WorkingCopy,
                 limits: budget.Limits, explain: bool, keep: bool) -> None:
        self._target = target
        self._explain = explain
        self._keep = keep
        # What only tells of rules must not use up what rules may take: with
        # one budget for all, an inspection would fail because somebody asked
        # why, or because a rule is being tried. Each of the three has what a
        # phase may take, so that a phase takes three times that at most.
        self._explaining = budget.Budget(limits)
        self._auditing = budget.Budget(limits)
        self._views = (target.view(masked=False), target.view(masked=True))
        self._decided: dict[compiler.CompiledRule, bool] = {}
        self._why: dict[compiler.CompiledRule, Why] = {}
        self._vars = step.RuleVars(target)
        self._timings: dict[str, float] = {}
        self._started = time.perf_counter()
        self._traces: dict[compiler.CompiledRule, trace.RuleTrace] = {}
        self._audited: dict[compiler.CompiledRule, trace.RuleTrace] = {}

    def decide_first(self, plan: compiler.CompiledRule) -> None:
        """Decide whether a rule matches, before it is its turn."""
        self._decided[plan] = self.matches(plan)
        if self._keep and self._decided[plan]:
            self._keep_why(plan)

    def matches(self, plan: compiler.CompiledRule) -> bool:
        """Return whether a rule matches, which is decided once."""
        if plan.decides_first and plan in self._decided:
            return self._decided[plan]
        view = self._views[plan.masked]
        if plan.vars:
            self._target.journal.hidden.add_vars(plan.rule.vars)
        try:
            if self._explain:
                holds = self._decide_explained(plan, view)
            elif plan.rule.mode == model.AUDIT:
                holds = self._audit_conditions(plan, view)
            else:
                holds = step.matches(plan, view)
        except exceptions.RuleError as exc:
            if explanation.reads_hidden(plan, self._target.journal.hidden):
                raise step.without_values(exc) from None
            raise
        finally:
            if plan.vars:
                self._vars.take(plan, view)
        if self._keep:
            self._stop_clock(plan.rule.uuid)
        return holds

    def _decide_explained(self, plan: compiler.CompiledRule,
                          view: budget.View) -> bool:
        told: list[trace.ConditionTrace] = []
        try:
            if plan.rule.mode == model.AUDIT:
                return self._audit_conditions(plan, view)
            return step.decide(plan, view, told)
        finally:
            # Also after an error, since why a rule could not be decided is
            # what people ask for first. Reasons are made now, while the data
            # are those that decided; later rules and the rule's own actions
            # change them. Most conditions bring their reason along, so that
            # nothing is looked at twice.
            if explanation.is_complete(plan, told) and (
                    not self._target.journal.hidden):
                self._why[plan] = tuple(told)
            else:
                with self._target.paid_by(self._explaining):
                    self._why[plan] = self._shown(
                        plan, explanation.explain(plan, view, told))

    def _shown(self, plan: compiler.CompiledRule, why: Why) -> Why:
        """Hide what sensitive rules wrote in what conditions tell."""
        hidden = self._target.journal.hidden
        if not hidden or plan.unexplained:
            return why
        return explanation.hide_reasons(
            plan, why, hidden, self._views[plan.masked], self._views[True])

    def revert(self, plan: compiler.CompiledRule) -> None:
        """Undo what a rule did earlier that does not match."""
        if not self._decided[plan]:
            self._carry_out(plan, step.revert, None)

    def act(self, plan: compiler.CompiledRule) -> None:
        """Carry out a rule that matches."""
        if self._keep:
            self._keep_why(plan)
            self._started = time.perf_counter()
        # What is kept of a run has no secrets, whoever sees them.
        told = self._explain or self._keep and plan.masked
        self._carry_out(plan, step.act, self._explaining if told else None)

    def _keep_why(self, plan: compiler.CompiledRule) -> None:
        """Keep why a rule matches, while the data are those that decided."""
        if not plan.rule.sensitive and plan not in self._why:
            shown = self._views[True]
            with (self._target.paid_by(self._explaining),
                  self._vars.given(plan, self._target)):
                if plan.vars and not plan.masked:
                    with contextlib.suppress(exceptions.RuleError):
                        step.compute(plan, shown)
                self._why[plan] = self._shown(plan, explanation.explain_match(
                    plan, self._views[plan.masked], shown))
            shown.pop(model.VARS, None)

    def outcome(self, plans: typing.Iterable[compiler.CompiledRule],
                error: exceptions.RuleError | None) -> Outcome:
        """Return the outcome of the phase."""
        if self._keep and error is not None:
            self._stop_clock(error.rule_uuid)
        done, audited = (
            {plan: each._replace(conditions=self._why[plan])
             if plan in self._why else each
             for plan, each in some.items()}
            for some in (self._traces, self._audited))
        traces = list(done.values())
        if self._explain:
            traces = [done.get(plan) or audited.get(plan)
                      or trace.RuleTrace._make(
                          (plan.rule, False, self._why[plan], (), None))
                      for plan in plans if plan in self._why]
        return Outcome(
            tuple(traces), error, tuple(audited.values()), self._timings,
            tuple(plans)).without_found(self._target.journal)

    def _stop_clock(self, uuid: str) -> None:
        """Count the time since the clock was last stopped for a rule."""
        now = time.perf_counter()
        seconds, self._started = now - self._started, now
        if uuid in self._timings:
            seconds += self._timings[uuid]
        self._timings[uuid] = seconds

    def _carry_out(self, plan: compiler.CompiledRule, carry_out: step.Step,
                   explaining: budget.Budget | None) -> None:
        if plan.rule.mode == model.AUDIT:
            target = self._target.fork()
            with (target.paid_by(self._auditing),
                  self._vars.given(plan, target)):
                done, error = carry_out(plan, target, explaining)
            if done or error:
                done = done or trace.RuleTrace(plan.rule, False)
                self._audited[plan] = done._replace(
                    error=str(error) if error else None)
        else:
            if plan.vars:
                with self._vars.given(plan, self._target):
                    done, error = carry_out(plan, self._target, explaining)
            else:
                done, error = carry_out(plan, self._target, explaining)
            if done:
                self._traces[plan] = done
            if error:
                raise error
        if self._keep:
            self._stop_clock(plan.rule.uuid)

    def _audit_conditions(self, plan: compiler.CompiledRule,
                          view: budget.View) -> bool:
        try:
            with self._target.paid_by(self._auditing):
                return step.matches(plan, view)
        except exceptions.RuleError as exc:
            if explanation.reads_hidden(plan,
                                    self._target.journal.hidden):
                exc = step.without_values(exc)
            self._audited[plan] = trace.RuleTrace(plan.rule, False,
                                                  error=str(exc))
            return False
