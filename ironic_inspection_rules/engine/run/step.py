# SPDX-License-Identifier: Apache-2.0

"""The steps of a rule: compute its vars, decide, act, and undo.

A *plan* is a compiled rule. Its conditions and actions read a *view*, which
maps root names to the data of the machine as the rule sees them, e.g.
``{'node': {…}, 'inventory': {…}}``. Actions write to the *target*, which is a
working copy of the data. The journal of the target lists all changes. A
*trace* says what a rule did, for logs, records and answers.
"""

import collections.abc
import contextlib
import functools
import typing

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.language import action as engine_action
from ironic_inspection_rules.engine.language import budget
from ironic_inspection_rules.engine.language import compiler
from ironic_inspection_rules.engine.language import interpolation
from ironic_inspection_rules.engine.language import model
from ironic_inspection_rules.engine.language import reasons
from ironic_inspection_rules.engine.language import rendering
from ironic_inspection_rules.engine.language.secrecy import disclosure
from ironic_inspection_rules.engine.run import explanation
from ironic_inspection_rules.engine.run import trace
from ironic_inspection_rules.engine.run import working_copy

StepResult = tuple[trace.RuleTrace | None, exceptions.RuleError | None]
"""The trace of a step and its error.

The trace is None if the step did nothing, and the error is None if the step
did not fail.
"""

Step = collections.abc.Callable[
    [compiler.CompiledRule, working_copy.WorkingCopy], StepResult
]
"""A step that a rule takes on the data: :func:`act` or :func:`revert`."""


def give_tables(plan: compiler.CompiledRule, view: budget.View) -> None:
    """Put the tables that a rule reads into the data, as ``tables``.

    They stay there until the next rule that reads tables replaces them. This
    is safe, because a rule without tables has no field that begins with
    ``tables``.
    """
    if plan.tables is not None:
        view[interpolation.TABLES] = plan.tables


def compute_vars(plan: compiler.CompiledRule, view: budget.View) -> None:
    """Compute the vars of a rule, and store them in ``view['vars']``.

    For example, ``{'cores': '{inventory.cpu.count}'}`` becomes
    ``{'cores': 8}``. A var is left out if its field is missing on the machine.

    :raises: :class:`.exceptions.RuleError` if a var cannot be computed.
    """
    values: dict[str, typing.Any] = {}
    # Add the mapping before it is complete, because a var may read the vars
    # before it.
    view[model.VARS] = values
    for name, written in plan.vars:
        try:
            value = _compute_var(written, view)
        except Exception as exc:
            # The error of a sensitive rule must not show the names of its
            # vars.
            op = disclosure.disclose_text(
                plan.rule, f'vars.{name}', instead='vars'
            )
            error = disclosure.make_error(plan.rule, op, exc)
            # The error of a sensitive rule has no cause, because the cause
            # would show what the rule does. Using "from" here and below also
            # keeps "exc" out of the traceback.
            raise error from error.__cause__
        if not isinstance(value, rendering.Missing):
            values[name] = value


def _compute_var(written: typing.Any, view: budget.View) -> typing.Any:
    """Return the value of a var, and pay for it from the budget.

    :param written: a template, or the value itself if it has no fields.
    :returns: the value; :class:`.rendering.Missing` if a field in it does not
        exist on the machine.
    """
    view.budget.spend()
    if not isinstance(written, rendering.Template):
        return written
    value = written.render(view)
    # A value at a path is already in the data. Other templates build a new
    # value, which the budget pays for.
    is_new = not isinstance(written, rendering.Path)
    if is_new and not isinstance(value, rendering.Missing):
        view.budget.make_value(value)
    return value


def matches(plan: compiler.CompiledRule, view: budget.View) -> bool:
    """Return whether all conditions of a rule hold.

    This computes the vars of the rule, which stay in the data for its actions.

    :param view: the data as the rule sees them, with the tables that it reads,
        see :func:`give_tables`.
    :raises: :class:`.exceptions.RuleError` if a var or a condition fails.
    """
    if plan.vars:
        compute_vars(plan, view)
    for condition in plan.conditions:
        try:
            if not condition.check(view):
                return False
        except Exception as exc:
            error = disclosure.make_error(plan.rule, condition.written_op, exc)
            raise error from error.__cause__
    return True


def decide(
    plan: compiler.CompiledRule,
    view: budget.View,
    decisions: list[reasons.ConditionResult],
) -> bool:
    """Return whether all conditions of a rule hold, and keep the decisions.

    This returns the same result as :func:`matches`, which is faster but keeps
    nothing.

    :param view: the data as the rule sees them, with the tables that it reads.
    :param decisions: the result of each checked condition is appended to it.
        Conditions after a false condition are not checked.
    :raises: :class:`.exceptions.RuleError` if a var or a condition fails.
    """
    if plan.vars:
        compute_vars(plan, view)
    for condition in plan.conditions:
        try:
            decision = condition.decide(view)
        except Exception as exc:
            error = disclosure.make_error(plan.rule, condition.written_op, exc)
            raise error from error.__cause__
        decisions.append(decision)
        if not decision.result:
            return False
    return True


def pay(
    plan: compiler.CompiledRule, count: int, allowance: budget.Budget
) -> None:
    """Pay for deciding some rules from the budget of the phase.

    Several rules are paid for at once, because this saves time.

    :param plan: the first of the rules. An error names it and its first op.
    :param count: the number of operations, one for each rule.
    :raises: :class:`.exceptions.RuleError` if too few operations are left, or
        if time is up.
    """
    try:
        allowance.spend(count)
    except exceptions.BudgetExceeded as exc:
        # Use an action if there are no conditions. A rule always has actions.
        op = plan.actions[0].name
        if plan.conditions:
            op = plan.conditions[0].written_op
        error = disclosure.make_error(plan.rule, op, exc)
        raise error from error.__cause__


def act(
    plan: compiler.CompiledRule,
    target: working_copy.WorkingCopy,
    for_reasons: budget.Budget | None,
) -> StepResult:
    """Run the actions of a rule that matches, until one fails.

    Changes that were made before an error stay in the target.

    :param target: the data. The vars of the rule must already be in the data,
        see :meth:`RuleVars.in_data`.
    :param for_reasons: the budget that pays for the reasons of the ``when``
        conditions of actions; None for no reasons.
    :returns: the trace of the rule, and the error of the action that failed or
        None.
    """
    action_traces = []
    error = None
    view = target.view(plan.masked)
    give_tables(plan, view)
    for action in plan.actions:
        if action.when:
            # The action calls note() for each condition that it checks.
            when_traces = _WhenTraces(plan, action, for_reasons)
            apply = functools.partial(action.apply, note=when_traces.note)
            action_trace, error = _carry_out(plan, action, apply, target, view)
            action_trace = action_trace._replace(when=when_traces.traces)
        else:
            action_trace, error = _carry_out(
                plan, action, action.apply, target, view
            )
        action_traces.append(action_trace)
        if error is not None:
            break
    return trace.RuleTrace(plan.rule, True, (), tuple(action_traces)), error


class _WhenTraces:
    """The traces of the ``when`` conditions of an action while it runs.

    The action calls :meth:`note` with each result. The results of a condition
    are counted over all items of a loop: ``true=3, false=1``.

    :param for_reasons: the budget that pays for their reasons; None for no
        reasons.
    """

    def __init__(
        self,
        plan: compiler.CompiledRule,
        action: engine_action.CompiledAction,
        for_reasons: budget.Budget | None,
    ) -> None:
        """Begin with a trace without results for each condition."""
        self._conditions = action.when
        if plan.unexplained:
            for_reasons = None
        self._for_reasons = for_reasons
        self._traces = [
            trace.WhenTrace(condition.written_op) for condition in action.when
        ]

    def note(self, number: int, holds: bool, roots: budget.View) -> None:
        """Count a result of a condition, and keep the reason of one result.

        In a loop, a condition is checked for each item. Keep the reason for
        the first item for which the condition is false, because that item is
        skipped. If there is no such item, keep the reason for the first item.

        :param number: the index of the condition, from 0.
        :param holds: the result of the condition.
        :param roots: the data with the item of the loop.
        """
        trace_before = self._traces[number]
        reason = trace_before.reason
        is_first_false = not holds and trace_before.false == 0
        needs_reason = reason is None or is_first_false
        if needs_reason and self._for_reasons is not None:
            # Reasons have their own budget, so that they do not change the
            # outcome of the phase.
            with roots.paid_by(self._for_reasons):
                reason = explanation.reason(
                    self._conditions[number], view=roots, masked_view=roots
                )
        if holds:
            counted = trace_before._replace(true=trace_before.true + 1)
        else:
            counted = trace_before._replace(false=trace_before.false + 1)
        self._traces[number] = counted._replace(reason=reason)

    @property
    def traces(self) -> tuple[trace.WhenTrace, ...]:
        """The traces so far."""
        return tuple(self._traces)


def revert(
    plan: compiler.CompiledRule, target: working_copy.WorkingCopy
) -> StepResult:
    """Undo what a rule that does not match did in earlier inspections.

    :returns: the trace of the rule, and the error of the action that could not
        be undone. The trace is None if nothing has changed, even after an
        error.
    """
    action_traces = []
    error = None
    changes_before = target.journal.change_count
    view = target.view(plan.masked)
    give_tables(plan, view)
    for action in plan.actions:
        if not action.reverts:
            continue
        action_trace, error = _carry_out(
            plan, action, action.revert, target, view
        )
        action_traces.append(action_trace._replace(reverted=True))
        if error is not None:
            break
    # Return no trace if nothing has changed. On most machines the rule has
    # never matched.
    if target.journal.change_count == changes_before:
        return None, error
    rule_trace = trace.RuleTrace(
        plan.rule, matched=False, actions=tuple(action_traces), reverted=True
    )
    return rule_trace, error


def _carry_out(
    plan: compiler.CompiledRule,
    action: engine_action.CompiledAction,
    apply_or_revert: collections.abc.Callable[..., reasons.NotRun | None],
    target: working_copy.WorkingCopy,
    view: budget.View,
) -> tuple[trace.ActionTrace, exceptions.RuleError | None]:
    """Run or undo an action, and trace what it did.

    :param apply_or_revert: ``apply`` or ``revert`` of the action.
    :param view: the data by root name as the rule sees them.
    :returns: the trace of the action, even after an error; and the error, or
        None.
    """
    journal = target.journal
    # From now on, the journal records changes as changes of this action.
    journal.begin_action(plan.rule, action.name, plan.masked)
    # The journal already has the records of earlier actions. The records of
    # this action begin at these positions.
    changes_before = len(journal.changes)
    notes_before = len(journal.notes)
    confirmed_before = len(journal.confirmed)
    error = None
    try:
        view.budget.spend()
        not_run = apply_or_revert(target, view)
    # Actions are plugins, so they may raise any exception.
    except Exception as exc:
        error = disclosure.make_error(plan.rule, action.name, exc)
        not_run = reasons.NotRun(reasons.ERROR, error.reason)
        if isinstance(exc, exceptions.FailRequested):
            # The action did run, because failing the inspection is the purpose
            # of "fail".
            not_run = None
    action_trace = trace.ActionTrace(
        # Pass arguments by position, because keywords double the time.
        action.name,
        tuple(journal.changes[changes_before:]),
        tuple(journal.notes[notes_before:]),
        False,
        tuple(journal.confirmed[confirmed_before:]),
        (),
        not_run,
        changes_before,
    )
    return action_trace, error


class RuleVars:
    """The vars of the rules of a phase.

    The vars of a rule are in the data while the rule is decided and while it
    acts. In the meantime they are kept here.
    """

    def __init__(self, target: working_copy.WorkingCopy) -> None:
        self._target = target
        # The vars of each rule that was decided, by name.
        self._values: dict[compiler.CompiledRule, dict[str, typing.Any]] = {}

    def take_out(self, plan: compiler.CompiledRule, view: budget.View) -> None:
        """Move the vars of a rule out of the data, and keep them.

        The next rule must not see them, but the actions of this rule must.
        """
        values = view.pop(model.VARS, {})
        # A var may share a part of the data, so later actions must copy it.
        self._target.release(values)
        self._values[plan] = values

    @contextlib.contextmanager
    def in_data(
        self, plan: compiler.CompiledRule, target: working_copy.WorkingCopy
    ) -> typing.Iterator[None]:
        """Put the kept vars of a rule into the data for a ``with`` block.

        :param target: the data of the phase, or the copy of it that a rule in
            mode ``audit`` changes.
        """
        if not plan.vars:
            yield
            return
        view = target.view(plan.masked)
        view[model.VARS] = self._values[plan]
        try:
            yield
        finally:
            view.pop(model.VARS, None)
