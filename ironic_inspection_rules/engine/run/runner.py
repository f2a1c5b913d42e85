# SPDX-License-Identifier: Apache-2.0

"""Runs the rules of one phase of an inspection, in order."""

import contextlib
import dataclasses
import time
import typing

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.language import budget
from ironic_inspection_rules.engine.language import compiler
from ironic_inspection_rules.engine.language import model
from ironic_inspection_rules.engine.language import reasons
from ironic_inspection_rules.engine.run import explanation
from ironic_inspection_rules.engine.run import step
from ironic_inspection_rules.engine.run import trace
from ironic_inspection_rules.engine.run import working_copy
from ironic_inspection_rules.engine.run.secrecy import (
    journal as engine_journal,  # noqa: H301
)

_PAID_AT_ONCE = 16
"""Rules that are paid for together, one operation each; one by one is slow.

The last rules of a phase may be fewer, and are paid for as if they were not.
"""

_Traces = dict[compiler.CompiledRule, trace.RuleTrace]


@dataclasses.dataclass(frozen=True, slots=True)
class PhaseOutcome:
    """The outcome of a phase.

    :ivar traces: of the rules that matched; with an explanation, of all rules
        that were checked.
    :ivar error: the error that ended the phase. After a
        :class:`.exceptions.RuleFailed` the changes so far are kept, after any
        other error none are.
    :ivar audited: the traces of the rules in mode ``audit``: what they would
        have done.
    :ivar timings: the seconds that rules took, by their UUIDs; empty unless
        the run is to be kept.
    :ivar journal: the changes of the phase.
    """

    traces: tuple[trace.RuleTrace, ...]
    error: exceptions.RuleError | None = None
    audited: tuple[trace.RuleTrace, ...] = ()
    timings: typing.Mapping[str, float] = dataclasses.field(
        default_factory=dict
    )
    journal: engine_journal.Journal = dataclasses.field(
        default_factory=engine_journal.Journal, compare=False, repr=False
    )

    @property
    def keeps_changes(self) -> bool:
        """Whether the changes are saved, with or without an error."""
        return self.error is None or isinstance(
            self.error, exceptions.RuleFailed
        )

    def record(self, plugin_data: dict[str, typing.Any], phase: str) -> None:
        """Write to the plugin data which rules matched and which ops ran.

        They then have, for example, ``{'inspection_rules': {'main': [{'uuid':
        …, 'description': 'Rack', 'actions': ['set-attribute']}]}}``. If no
        rule matched, they stay as they are.

        :param phase: the phase of these rules, such as ``main``.
        """
        summaries = []
        for rule_trace in self.traces:
            if rule_trace.matched and rule_trace.rule.mode != model.AUDIT:
                summaries.append(rule_trace.summary())
        if not summaries:
            return
        phases = plugin_data.get(trace.KEY)
        if not isinstance(phases, dict):
            # No other phase has written it, or the ramdisk sent the name.
            phases = {}
        plugin_data[trace.KEY] = {**phases, phase: summaries}


def run(
    plans: typing.Iterable[compiler.CompiledRule],
    target: working_copy.WorkingCopy,
    scope: str | None = None,
    explain: bool = False,
    keep: bool = False,
    limits: budget.Limits = budget.MAIN,
) -> PhaseOutcome:
    """Run the rules of a phase in the order given.

    The error of a rule ends the phase; it is in the outcome, and not raised.
    The target has all changes that were made before the error:
    ``keeps_changes`` of the outcome says whether they are to be saved.

    :param target: is changed in place.
    :param scope: the inspection scope of the node; a rule with another one
        is skipped (spec 003 "Data model impact").
    :param explain: trace every rule, with a reason for each condition. This
        has a budget of its own, so that it does not change the outcome.
    :param keep: also collect what the record of a run has: the reasons for
        the conditions of rules that match, the seconds that every rule took,
        and the values that a rule has set but that were there already.
    """
    plans_in_scope = [
        plan for plan in plans if not plan.scope or plan.scope == scope
    ]
    phase = _Phase(target, limits, explain, keep)
    error = None
    # A value that a rule has set, but that was there already, is "confirmed".
    # Only the record of a run names these.
    target.journal.keeps_confirmed = keep
    allowance = budget.Budget(limits)
    with target.paid_by(allowance):
        try:
            _run_in_order(phase, plans_in_scope, allowance)
        except exceptions.RuleError as exc:
            error = exc
    return phase.outcome(plans_in_scope, error)


def _run_in_order(
    phase: '_Phase',
    plans: list[compiler.CompiledRule],
    allowance: budget.Budget,
) -> None:
    """Run all rules of a phase.

    Rules with conditions of ironic-inspector, and all rules that can be
    undone, are decided before any rule acts (blueprint 000 "Plugins"). A rule
    that no longer matches removes, for example, the trait that it added in an
    earlier inspection. This comes first, as another rule may add the same
    trait now.

    :param allowance: pays for deciding the rules, one operation for each.
    :raises: :class:`.exceptions.RuleError` of the first rule that fails.
    """
    decided_first = [plan for plan in plans if plan.decides_first]
    for plan in decided_first:
        phase.decide_first(plan)
    for plan in decided_first:
        phase.revert_if_no_match(plan)
    for start in range(0, len(plans), _PAID_AT_ONCE):
        step.pay(plans[start], _PAID_AT_ONCE, allowance)
        for plan in plans[start : start + _PAID_AT_ONCE]:
            if phase.matches(plan):
                phase.act(plan)


class _Phase:
    """The state of a phase that is running.

    A rule in mode ``audit`` acts on a copy of the target of its own, and its
    errors are traced, not raised.
    """

    def __init__(
        self,
        target: working_copy.WorkingCopy,
        limits: budget.Limits,
        explain: bool,
        keep: bool,
    ) -> None:
        self._target = target
        self._explain = explain
        self._is_run_kept = keep
        # Explanations, and rules in mode "audit", have budgets of their own.
        # With one budget for all, an inspection would fail because somebody
        # asked why, or because a rule is being tried. So there are three
        # budgets, and a phase takes at most three times its limits.
        self._for_reasons = budget.Budget(limits)
        self._for_audit = budget.Budget(limits)
        # The data as rules see them, with secrets and without.
        self._open_view = target.view(masked=False)
        self._masked_view = target.view(masked=True)
        # The results of the rules that are decided before any rule acts.
        self._decided: dict[compiler.CompiledRule, bool] = {}
        # Why rules match or do not: the results of their conditions, with
        # reasons. Only of rules that are to be explained.
        self._reasons: dict[compiler.CompiledRule, explanation.Traces] = {}
        self._vars = step.RuleVars(target)
        # Seconds of every rule by its UUID, and when those began that are
        # counted next.
        self._timings: dict[str, float] = {}
        self._started = time.perf_counter()
        # What rules did; and what those in mode "audit" would have done.
        self._traces: _Traces = {}
        self._audited: _Traces = {}

    def decide_first(self, plan: compiler.CompiledRule) -> None:
        """Decide whether a rule matches, before any rule acts.

        :meth:`matches` returns this decision when it is the rule's turn.
        """
        self._decided[plan] = self.matches(plan)
        if self._is_run_kept and self._decided[plan]:
            self._keep_reasons(plan)

    def matches(self, plan: compiler.CompiledRule) -> bool:
        """Return whether a rule matches.

        After :meth:`decide_first` the answer stays what it was then, before
        all actions. Any other rule is decided with the data as they are now.

        :raises: :class:`.exceptions.RuleError` if a condition fails. A rule
            in mode ``audit`` does not match then, and nothing is raised.
        """
        if plan.decides_first and plan in self._decided:
            return self._decided[plan]
        view = self._open_view
        if plan.masked:
            view = self._masked_view
        # Most rules read no tables, and are spared the call.
        if plan.tables is not None:
            step.give_tables(plan, view)
        try:
            if self._explain:
                holds = self._decide_explained(plan, view)
            elif plan.audited:
                holds = self._audit_conditions(plan, view)
            else:
                holds = step.matches(plan, view)
        finally:
            # The conditions have computed the vars of the rule, which the
            # next rule must not see. Its actions get them back.
            if plan.vars:
                self._vars.take_out(plan, view)
        if self._is_run_kept:
            self._take_time(plan.rule.uuid)
        return holds

    def _decide_explained(
        self, plan: compiler.CompiledRule, view: budget.View
    ) -> bool:
        """Return whether a rule matches, and keep why it does or does not.

        That is the result of every condition with its reason, such as False
        with "values=(1, 2)" for an ``eq`` of two numbers.

        :param view: the data as the rule sees them.
        :raises: :class:`.exceptions.RuleError` if a condition fails. A rule
            in mode ``audit`` does not match then, and nothing is raised.
        """
        traces: list[reasons.ConditionResult] = []
        try:
            if plan.audited:
                return self._audit_conditions(plan, view)
            return step.decide(plan, view, traces)
        finally:
            # Also after an error, as that is what people ask about first. And
            # not later, as actions change the data that the reasons describe.
            if explanation.is_complete(plan, traces):
                # Every condition has returned its reason with its result.
                self._reasons[plan] = tuple(traces)
            else:
                # Reasons are added, or removed if the rule must show none. To
                # build them must not use up the budget of the inspection.
                with self._target.paid_by(self._for_reasons):
                    self._reasons[plan] = explanation.explain(
                        plan, view, traces
                    )

    def revert_if_no_match(self, plan: compiler.CompiledRule) -> None:
        """Undo what a rule did in earlier inspections, if it does not match.

        :param plan: was decided by :meth:`decide_first`.
        """
        if not self._decided[plan]:
            self._act_or_revert(plan, step.revert, for_reasons=None)

    def act(self, plan: compiler.CompiledRule) -> None:
        """Carry out a rule that matches."""
        if self._is_run_kept:
            self._keep_reasons(plan)
            # The seconds that reasons take are not those of the rule.
            self._started = time.perf_counter()
        for_reasons = None
        if self._explain or (self._is_run_kept and plan.masked):
            # For the "when" conditions of its actions. Of a rule that sees
            # secrets, a kept run must have no such reasons.
            for_reasons = self._for_reasons
        self._act_or_revert(plan, step.act, for_reasons)

    def _keep_reasons(self, plan: compiler.CompiledRule) -> None:
        """Keep why a rule matches, before its actions change the data.

        Nothing is kept of a rule that must show no reasons.
        """
        if plan.unexplained or plan in self._reasons:
            # They may have been kept when the rule was decided.
            return
        view = self._target.view(plan.masked)
        masked_view = self._masked_view
        step.give_tables(plan, masked_view)
        step.give_tables(plan, view)
        with (
            self._target.paid_by(self._for_reasons),
            self._vars.in_data(plan, self._target),
        ):
            if plan.vars and not plan.masked:
                # The vars that the rule has computed may have secrets, which
                # reasons must not show. So they are computed once more, of
                # masked data. If a var fails with these, it is left out, and
                # so are the vars behind it.
                with contextlib.suppress(exceptions.RuleError):
                    step.compute_vars(plan, masked_view)
            self._reasons[plan] = explanation.explain_match(
                plan, view, masked_view
            )
        # The masked vars are for the reasons alone.
        masked_view.pop(model.VARS, None)

    def outcome(
        self,
        plans: typing.Iterable[compiler.CompiledRule],
        error: exceptions.RuleError | None,
    ) -> PhaseOutcome:
        """Return what the rules of the phase did, as everybody may see it.

        Traces are of the rules that matched, or that undid what they had done
        in an earlier inspection. A phase that is explained has traces of all
        rules that were checked.

        :param plans: the rules of the phase, in their order.
        :param error: of the rule that ended the phase; None if no rule did.
        """
        if self._is_run_kept and error is not None:
            # The time of a rule is taken at its end, which this one did not
            # reach.
            self._take_time(error.rule_uuid)
        # The traces of sensitive rules lose their conditions and actions here.
        # Rules in mode "audit" have changed only copies of the data: their
        # traces say what they would have done.
        enforced = self._disclose(self._traces)
        audited = self._disclose(self._audited)
        traces = list(enforced.values())
        if self._explain:
            traces = []
            for plan in plans:
                # After an error, the rest of the rules was not checked.
                if plan not in self._reasons:
                    continue
                if plan in enforced:
                    traces.append(enforced[plan])
                elif plan in audited:
                    traces.append(audited[plan])
                else:
                    no_match = trace.RuleTrace(plan.rule, matched=False)
                    traces.append(no_match.disclosed(self._reasons[plan]))
        return PhaseOutcome(
            traces=tuple(traces),
            error=error,
            audited=tuple(audited.values()),
            timings=self._timings,
            journal=self._target.journal,
        )

    def _disclose(self, traces: _Traces) -> _Traces:
        """Return traces as everybody may see them.

        The trace of a rule gets the reasons of its conditions, if they were
        kept. Of a sensitive rule it says only whether the rule has matched.
        """
        return {
            plan: rule_trace.disclosed(self._reasons.get(plan))
            for plan, rule_trace in traces.items()
        }

    def _take_time(self, uuid: str) -> None:
        """Add the time since the clock was started to the time of a rule.

        A rule that matches takes time twice: when it is decided, and when it
        acts. The clock is started again for the next rule.
        """
        now = time.perf_counter()
        earlier = self._timings.get(uuid, 0.0)
        self._timings[uuid] = earlier + now - self._started
        self._started = now

    def _act_or_revert(
        self,
        plan: compiler.CompiledRule,
        take_step: step.Step,
        for_reasons: budget.Budget | None,
    ) -> None:
        """Carry out a rule, or undo it, and keep the trace.

        :param take_step: :func:`.step.act` or :func:`.step.revert`.
        :param for_reasons: pays for the reasons of ``when`` conditions; None
            if the trace is to have none.
        :raises: :class:`.exceptions.RuleError` if an action fails. The error
            of a rule in mode ``audit`` is only in its trace.
        """
        if plan.audited:
            self._try_on_copy(plan, take_step, for_reasons)
        else:
            # Most rules have no vars, and are spared the time that a context
            # takes.
            target = self._target
            if plan.vars:
                with self._vars.in_data(plan, target):
                    rule_trace, error = take_step(plan, target, for_reasons)
            else:
                rule_trace, error = take_step(plan, target, for_reasons)
            # Undoing that has changed nothing leaves no trace.
            if rule_trace is not None:
                self._traces[plan] = rule_trace
            if error is not None:
                raise error
        if self._is_run_kept:
            # The record of the run says how long every rule took.
            self._take_time(plan.rule.uuid)

    def _try_on_copy(
        self,
        plan: compiler.CompiledRule,
        take_step: step.Step,
        for_reasons: budget.Budget | None,
    ) -> None:
        """Try a rule in mode ``audit`` on a copy of the data.

        The copy is dropped: only the trace says what the rule would have done.
        An error of the rule is in its trace, and ends nothing.

        :param take_step: :func:`.step.act` or :func:`.step.revert`.
        :param for_reasons: pays for the reasons of ``when`` conditions; None
            if the trace is to have none.
        """
        fork = self._target.fork()
        with fork.paid_by(self._for_audit), self._vars.in_data(plan, fork):
            rule_trace, error = take_step(plan, fork, for_reasons)
        if error is not None:
            if rule_trace is None:
                # Undoing that has changed nothing leaves no trace.
                rule_trace = trace.RuleTrace(plan.rule, matched=False)
            rule_trace = rule_trace._replace(error=str(error))
        if rule_trace is not None:
            self._audited[plan] = rule_trace

    def _audit_conditions(
        self, plan: compiler.CompiledRule, view: budget.View
    ) -> bool:
        """Return whether a rule in mode ``audit`` matches.

        An error of a condition is in its trace, and ends nothing: the rule
        does not match then.
        """
        try:
            with self._target.paid_by(self._for_audit):
                return step.matches(plan, view)
        except exceptions.RuleError as exc:
            self._audited[plan] = trace.RuleTrace(
                plan.rule, matched=False, error=str(exc)
            )
            return False
