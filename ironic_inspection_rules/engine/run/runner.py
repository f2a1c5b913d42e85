# SPDX-License-Identifier: Apache-2.0

"""Runs the rules of one phase of an inspection, in order.

A *plan* is a compiled rule. It is first decided whether a rule matches, i.e.
whether all of its conditions hold. Then its actions change the *target*, a
working copy of the machine's data. The rule leaves a trace, which says why it
matched and what it changed. A rule in mode ``audit`` acts on a copy of the
target, so it leaves a trace but changes nothing.
"""

import contextlib
import dataclasses
import functools
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
"""Number of rules that are paid for together: single payments are slow.

Each rule costs one operation. The last group is charged in full even if it
has fewer rules.
"""

_Traces = dict[compiler.CompiledRule, trace.RuleTrace]
"""The trace of each rule that did something."""


@dataclasses.dataclass(frozen=True, slots=True)
class PhaseOutcome:
    """The outcome of a phase.

    :ivar traces: the traces of the rules that matched; if the phase is
        explained, of all rules that were checked.
    :ivar error: the error that ended the phase. After a
        :class:`.exceptions.RuleFailed`, the changes made before it are kept.
        After any other error, no changes are kept.
    :ivar audited: the traces of the rules in mode ``audit``, which say what
        these rules would have done.
    :ivar timings: the seconds that rules took, by their UUIDs. It is empty
        unless the run is kept.
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
        """Whether to save the changes, with or without an error."""
        return self.error is None or isinstance(
            self.error, exceptions.RuleFailed
        )

    def record(self, plugin_data: dict[str, typing.Any], phase: str) -> None:
        """Write to the plugin data which rules matched and which ops ran.

        They are stored with the inventory, where operators find this.

        For example, the plugin data then have ``{'inspection_rules': {'main':
        [{'uuid': …, 'description': 'Rack', 'actions': ['set-attribute']}]}}``.
        If no rule matched, the plugin data do not change.

        :param plugin_data: the plugin data, which are changed in place.
        :param phase: the phase of these rules, e.g. ``main``.
        """
        summaries = []
        for rule_trace in self.traces:
            if rule_trace.matched and rule_trace.rule.mode != model.AUDIT:
                summaries.append(rule_trace.summary())
        if not summaries:
            return
        phases = plugin_data.get(trace.KEY)
        if not isinstance(phases, dict):
            # No phase has written this key yet, or the ramdisk sent the name.
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
    """Run the rules of a phase in the given order.

    An error of a rule ends the phase. It is returned in the outcome, not
    raised. The target then has all changes that were made before the error;
    ``keeps_changes`` of the outcome says whether to save them.

    :param plans: the rules of the phase, in the order in which they run.
    :param target: the data of the machine, which are changed in place.
    :param scope: the inspection scope of the node. Rules with another scope
        are skipped (spec 003 "Data model impact").
    :param explain: whether to trace each rule, with a reason for each
        condition. Explanations have their own budget, so that they do not
        change the outcome.
    :param keep: whether to collect what the record of a run needs: the reasons
        for the conditions of rules that match, the seconds that each rule
        took, and the values that a rule set to what they were already.
    """
    plans_in_scope = [
        plan for plan in plans if not plan.scope or plan.scope == scope
    ]
    phase = _Phase(target, limits, explain, keep)
    error = None
    # A value is "confirmed" if a rule set it to the value that it already had.
    # Only the record of a run lists these values.
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
    undone, are decided before any rule acts (blueprint 000 "Plugins"). Then
    the rules that do not match are undone. For example, a rule that no longer
    matches removes the trait that it added in an earlier inspection. This is
    done first, because another rule may add the same trait now.

    :param allowance: the budget that pays for deciding the rules, see
        :data:`_PAID_AT_ONCE`.
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

    A rule in mode ``audit`` acts on its own copy of the target. Its errors are
    traced, not raised.
    """

    def __init__(
        self,
        target: working_copy.WorkingCopy,
        limits: budget.Limits,
        explain: bool,
        keep: bool,
    ) -> None:
        """Prepare a phase; no rule runs yet.

        See :func:`run` for the parameters.
        """
        self._target = target
        self._explain = explain
        # Whether the run is recorded, see the parameter "keep" of run().
        self._is_run_kept = keep
        # Explanations and rules in mode "audit" have their own budgets. With a
        # single budget, an inspection could fail because somebody asked for an
        # explanation, or because a rule is being tried. As there are three
        # budgets, a phase takes at most three times its limits.
        self._for_reasons = budget.Budget(limits)
        self._for_audit = budget.Budget(limits)
        # The data as rules see them: with secrets, and with masked secrets.
        self._open_view = target.view(masked=False)
        self._masked_view = target.view(masked=True)
        # The results of rules that are decided before any rule acts.
        self._decided: dict[compiler.CompiledRule, bool] = {}
        # The results of conditions with their reasons, which say why a rule
        # matches or not. Only rules that are explained are included.
        self._reasons: dict[compiler.CompiledRule, explanation.Decisions] = {}
        self._vars = step.RuleVars(target)
        # Seconds of each rule by its UUID, and the time up to which they are
        # counted.
        self._timings: dict[str, float] = {}
        self._timed_until = time.perf_counter()
        # What rules did, and what rules in mode "audit" would have done.
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

        If the rule was decided by :meth:`decide_first`, return that decision,
        which was made before all actions. Otherwise decide the rule with the
        current data.

        :raises: :class:`.exceptions.RuleError` if a condition fails. If that
            happens to a rule in mode ``audit``, the rule does not match and
            nothing is raised.
        """
        if plan.decides_first and plan in self._decided:
            return self._decided[plan]
        view = self._open_view
        if plan.masked:
            view = self._masked_view
        # Save the call for most rules, which read no tables.
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
            # The conditions have computed the vars of the rule. Remove them,
            # because the next rule must not see them. The actions of the rule
            # get them back.
            if plan.vars:
                self._vars.take_out(plan, view)
        if self._is_run_kept:
            self._add_elapsed_time(plan.rule.uuid)
        return holds

    def _decide_explained(
        self, plan: compiler.CompiledRule, view: budget.View
    ) -> bool:
        """Return whether a rule matches, and keep the reasons.

        The result of each condition is kept with its reason, e.g. False with
        "values=(1, 2)" for an ``eq`` of two numbers.

        :param view: the data as the rule sees them.
        :raises: :class:`.exceptions.RuleError` if a condition fails. If that
            happens to a rule in mode ``audit``, the rule does not match and
            nothing is raised.
        """
        decisions: list[reasons.ConditionResult] = []
        try:
            if plan.audited:
                return self._audit_conditions(plan, view)
            return step.decide(plan, view, decisions)
        finally:
            # Keep the reasons after an error too, because people ask about
            # errors first. Keep them now, because actions change the data that
            # the reasons describe.
            if explanation.is_complete(plan, decisions):
                # Each condition has returned its reason with its result.
                self._reasons[plan] = tuple(decisions)
            else:
                # Add the reasons, or remove them if the rule must not show
                # any. Building them must not use up the inspection's budget.
                with self._target.paid_by(self._for_reasons):
                    self._reasons[plan] = explanation.explain(
                        plan, view, decisions
                    )

    def revert_if_no_match(self, plan: compiler.CompiledRule) -> None:
        """Undo what a rule did in earlier inspections if it does not match.

        :param plan: a rule that was decided by :meth:`decide_first`.
        """
        if not self._decided[plan]:
            self._take_step(plan, step.revert)

    def act(self, plan: compiler.CompiledRule) -> None:
        """Run the actions of a rule that matches, and keep their trace.

        :raises: :class:`.exceptions.RuleError` if an action fails, unless the
            rule is in mode ``audit``.
        """
        if self._is_run_kept:
            self._keep_reasons(plan)
            # The time for building reasons is not part of the rule's time.
            self._timed_until = time.perf_counter()
        for_reasons = None
        if self._explain or (self._is_run_kept and plan.masked):
            # Give reasons for the "when" conditions of the actions. These
            # reasons show the data as the rule sees them. So the record of a
            # run has them only for rules that see masked data.
            for_reasons = self._for_reasons
        self._take_step(
            plan, functools.partial(step.act, for_reasons=for_reasons)
        )

    def _keep_reasons(self, plan: compiler.CompiledRule) -> None:
        """Keep why a rule matches, before its actions change the data.

        Nothing is kept for a rule that must not show reasons.
        """
        if plan.unexplained or plan in self._reasons:
            # The reasons may exist already, from when the rule was decided.
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
                # The vars that the rule has computed may contain secrets,
                # which reasons must not show. So compute them again from
                # masked data. If a var fails with masked data, this var and
                # the vars after it are left out.
                with contextlib.suppress(exceptions.RuleError):
                    step.compute_vars(plan, masked_view)
            self._reasons[plan] = explanation.explain_match(
                plan, view, masked_view
            )
        # The masked vars were only needed for the reasons.
        masked_view.pop(model.VARS, None)

    def outcome(
        self,
        plans: typing.Iterable[compiler.CompiledRule],
        error: exceptions.RuleError | None,
    ) -> PhaseOutcome:
        """Return what the rules of the phase did, safe for all readers.

        There are traces of the rules that matched, and of the rules that undid
        what they had done in an earlier inspection. If the phase is explained,
        there are traces of all rules that were checked.

        :param plans: the rules of the phase, in their order.
        :param error: the error of the rule that ended the phase, or None.
        """
        if self._is_run_kept and error is not None:
            # The time of a rule is recorded when it ends, and the failed rule
            # did not get that far.
            self._add_elapsed_time(error.rule_uuid)
        # This removes conditions and actions from the traces of sensitive
        # rules. Rules in mode "audit" have changed only copies of the data, so
        # their traces say what they would have done.
        enforced = self._disclose(self._traces)
        audited = self._disclose(self._audited)
        if self._explain:
            # After an error, the remaining rules were not checked.
            traces = [
                self._find_trace(plan, enforced, audited)
                for plan in plans
                if plan in self._reasons
            ]
        else:
            traces = list(enforced.values())
        return PhaseOutcome(
            traces=tuple(traces),
            error=error,
            audited=tuple(audited.values()),
            timings=self._timings,
            journal=self._target.journal,
        )

    def _find_trace(
        self, plan: compiler.CompiledRule, enforced: _Traces, audited: _Traces
    ) -> trace.RuleTrace:
        """Return the trace of a rule that was checked, for all readers.

        :param enforced: the traces of rules that acted or were undone.
        :param audited: the traces of rules in mode ``audit`` that would have.
        """
        if plan in enforced:
            return enforced[plan]
        if plan in audited:
            return audited[plan]
        no_match = trace.RuleTrace(plan.rule, matched=False)
        return no_match.disclosed(self._reasons[plan])

    def _disclose(self, traces: _Traces) -> _Traces:
        """Return traces in a form that all readers may see.

        The trace of a rule gets the reasons of its conditions, if they were
        kept. The trace of a sensitive rule says only whether the rule matched.
        """
        return {
            plan: rule_trace.disclosed(self._reasons.get(plan))
            for plan, rule_trace in traces.items()
        }

    def _add_elapsed_time(self, uuid: str) -> None:
        """Add the time that is not counted yet to the time of a rule.

        A rule that matches takes time twice: when it is decided and when it
        acts.

        :param uuid: the UUID of the rule.
        """
        now = time.perf_counter()
        earlier = self._timings.get(uuid, 0.0)
        self._timings[uuid] = earlier + now - self._timed_until
        self._timed_until = now

    def _take_step(
        self, plan: compiler.CompiledRule, act_or_revert: step.Step
    ) -> None:
        """Run or undo the actions of a rule, and keep the trace.

        :param act_or_revert: :func:`.step.act` or :func:`.step.revert`.
        :raises: :class:`.exceptions.RuleError` if an action fails. The error
            of a rule in mode ``audit`` is only kept in its trace.
        """
        if plan.audited:
            self._try_on_copy(plan, act_or_revert)
        else:
            # Entering a context takes time, which is saved for most rules,
            # because they have no vars.
            target = self._target
            if plan.vars:
                with self._vars.in_data(plan, target):
                    rule_trace, error = act_or_revert(plan, target)
            else:
                rule_trace, error = act_or_revert(plan, target)
            # If nothing was undone, there is no trace.
            if rule_trace is not None:
                self._traces[plan] = rule_trace
            if error is not None:
                raise error
        if self._is_run_kept:
            # The record of the run says how long each rule took.
            self._add_elapsed_time(plan.rule.uuid)

    def _try_on_copy(
        self, plan: compiler.CompiledRule, act_or_revert: step.Step
    ) -> None:
        """Try a rule in mode ``audit`` on a copy of the data.

        The copy is dropped, so only the trace says what the rule would have
        done. An error of the rule is kept in its trace and does not end the
        phase.

        :param act_or_revert: :func:`.step.act` or :func:`.step.revert`.
        """
        fork = self._target.fork()
        with fork.paid_by(self._for_audit), self._vars.in_data(plan, fork):
            rule_trace, error = act_or_revert(plan, fork)
        if error is not None:
            if rule_trace is None:
                # If nothing was undone, there is no trace yet for the error.
                rule_trace = trace.RuleTrace(plan.rule, matched=False)
            rule_trace = rule_trace._replace(error=str(error))
        if rule_trace is not None:
            self._audited[plan] = rule_trace

    def _audit_conditions(
        self, plan: compiler.CompiledRule, view: budget.View
    ) -> bool:
        """Return whether a rule in mode ``audit`` matches.

        If a condition fails, the rule does not match. The error is kept in its
        trace and does not end the phase.
        """
        try:
            with self._target.paid_by(self._for_audit):
                return step.matches(plan, view)
        except exceptions.RuleError as exc:
            self._audited[plan] = trace.RuleTrace(
                plan.rule, matched=False, error=str(exc)
            )
            return False
