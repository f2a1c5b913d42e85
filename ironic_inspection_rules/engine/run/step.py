# SPDX-License-Identifier: Apache-2.0

"""The steps of a rule: set vars, decide, act, undo."""

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

Done = tuple[trace.RuleTrace | None, exceptions.RuleError | None]
"""The trace of a step, None if it did nothing; and its error, if any."""

Step = collections.abc.Callable[
    [compiler.CompiledRule, working_copy.WorkingCopy, budget.Budget | None],
    Done,
]
"""A step that a rule takes on the data: :func:`act` or :func:`revert`."""


def give_tables(plan: compiler.CompiledRule, view: budget.View) -> None:
    """Put the tables that a rule reads into the data, as ``tables``.

    They stay there until the next rule that reads tables puts its own there.
    A rule that reads none has no field that begins with ``tables``.
    """
    if plan.tables is not None:
        view[interpolation.TABLES] = plan.tables


def compute_vars(plan: compiler.CompiledRule, view: budget.View) -> None:
    """Compute the vars of a rule, and store them in ``view['vars']``.

    For ``{'cores': '{inventory.cpu.count}'}`` that is ``{'cores': 8}``. A var
    whose field is missing on this machine is left out.

    :raises: :class:`.exceptions.RuleError` if one cannot be computed.
    """
    values: dict[str, typing.Any] = {}
    # In the view from the start, as a var may read the vars before it.
    view[model.VARS] = values
    for name, written in plan.vars:
        try:
            value = _compute_var(written, view)
        except Exception as exc:
            # A sensitive rule does not show what its vars are called.
            op = disclosure.disclose_text(
                plan.rule, f'vars.{name}', instead='vars'
            )
            error = disclosure.make_error(plan.rule, op, exc)
            # The error of a sensitive rule has no cause, as that would show
            # what the rule does. Here and below "from" also keeps "exc" out of
            # its traceback.
            raise error from error.__cause__
        if not isinstance(value, rendering.Missing):
            values[name] = value


def _compute_var(written: typing.Any, view: budget.View) -> typing.Any:
    """Return the value of a var, or the field of it that is missing.

    :param written: the value if it has no fields, else its template.
    """
    view.budget.spend()
    if not isinstance(written, rendering.Template):
        return written
    value = written.render(view)
    # The value at a path is in the data already. Other templates make a new
    # value, for which the budget pays.
    is_new = not isinstance(written, rendering.Path)
    if is_new and not isinstance(value, rendering.Missing):
        view.budget.make_value(value)
    return value


def matches(plan: compiler.CompiledRule, view: budget.View) -> bool:
    """Return whether all conditions of a rule hold.

    Its vars are computed, and stay in the data for its actions.

    :param view: the data as the rule sees them, with the tables that it reads:
        :func:`give_tables` puts these there.
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
    traces: list[reasons.ConditionResult],
) -> bool:
    """Return whether all conditions of a rule hold, and trace them.

    The answer is that of :func:`matches`, which keeps no traces and is faster.

    :param view: the data as the rule sees them, with the tables that it reads.
    :param traces: the trace of every condition that is checked is appended. A
        condition behind a false one is not checked.
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
        traces.append(decision)
        if not decision.result:
            return False
    return True


def pay(
    plan: compiler.CompiledRule, count: int, allowance: budget.Budget
) -> None:
    """Pay for deciding some rules from the budget of the phase.

    :param plan: the first of the rules. An error names it and its first op.
    :param count: the number of rules, of which every one costs an operation.
    :raises: :class:`.exceptions.RuleError` if too few operations are left.
    """
    try:
        allowance.spend(count)
    except exceptions.BudgetExceeded as exc:
        # Every rule has an action, but not every rule a condition.
        op = plan.actions[0].name
        if plan.conditions:
            op = plan.conditions[0].written_op
        error = disclosure.make_error(plan.rule, op, exc)
        raise error from error.__cause__


def act(
    plan: compiler.CompiledRule,
    target: working_copy.WorkingCopy,
    for_reasons: budget.Budget | None,
) -> Done:
    """Carry out the actions of a rule that matches, until one fails.

    The changes that were made before an error stay in the target.

    :param target: the data, with the vars of the rule in them already, see
        :meth:`RuleVars.in_data`.
    :param for_reasons: pays for the reasons of the ``when`` conditions of
        actions; None for no reasons.
    :returns: the trace of the rule; and the error of the action that failed,
        None if none did.
    """
    action_traces = []
    error = None
    view = target.view(plan.masked)
    give_tables(plan, view)
    for action in plan.actions:
        if action.when:
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
    """The traces of the ``when`` conditions of an action that is carried out.

    :param for_reasons: pays for their reasons; None for no reasons.
    """

    def __init__(
        self,
        plan: compiler.CompiledRule,
        action: engine_action.CompiledAction,
        for_reasons: budget.Budget | None,
    ) -> None:
        self._conditions = action.when
        if plan.unexplained:
            for_reasons = None
        self._for_reasons = for_reasons
        self._traces = [
            trace.WhenTrace(condition.written_op) for condition in action.when
        ]

    def note(self, number: int, holds: bool, roots: budget.View) -> None:
        """Count a result of a condition, and keep the reason of one result.

        In a loop, a condition is checked for every item. The reason that is
        kept is that of the first item for which it is false, as this item is
        left out; if there is none, that of the first item.

        :param number: which condition was checked, from 0.
        :param roots: the data with the item of the loop.
        """
        trace_before = self._traces[number]
        reason = trace_before.reason
        is_first_false = not holds and trace_before.false == 0
        needs_reason = reason is None or is_first_false
        if needs_reason and self._for_reasons is not None:
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
    plan: compiler.CompiledRule,
    target: working_copy.WorkingCopy,
    _for_reasons: budget.Budget | None,
) -> Done:
    """Undo what a rule that does not match did in earlier inspections.

    :param _for_reasons: not used: undoing asks for no conditions. It is here
        because :func:`act` takes it.
    :returns: the trace of the rule, and the error of the action that could not
        be undone. The trace is None if nothing has changed, even after an
        error.
    """
    action_traces = []
    error = None
    changes_before = target.journal.length
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
    # Most machines never matched the rule, so that nothing has changed.
    if target.journal.length == changes_before:
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
    """Carry out or undo an action, and trace what it did.

    :param apply_or_revert: ``apply`` or ``revert`` of the action.
    :param view: the data by root name as the rule sees them.
    :returns: the trace of the action, also after an error; and the error, None
        if there was none.
    """
    journal = target.journal
    journal.enter(plan.rule, action.name, plan.masked)
    # The journal has the records of earlier actions. Those of this action
    # will follow behind these lengths.
    changes_before = len(journal.changes)
    notes_before = len(journal.notes)
    confirmed_before = len(journal.confirmed)
    error = None
    try:
        view.budget.spend()
        idle = apply_or_revert(target, view)
    # Actions are plugins, which may raise anything.
    except Exception as exc:
        error = disclosure.make_error(plan.rule, action.name, exc)
        idle = reasons.NotRun(reasons.ERROR, error.reason)
        if isinstance(exc, exceptions.FailRequested):
            # To fail the inspection is what "fail" is for: it did run.
            idle = None
    action_trace = trace.ActionTrace(
        # By position, as names take as long again.
        action.name,
        tuple(journal.changes[changes_before:]),
        tuple(journal.notes[notes_before:]),
        False,
        tuple(journal.confirmed[confirmed_before:]),
        (),
        idle,
        changes_before,
    )
    return action_trace, error


class RuleVars:
    """The vars of the rules of a phase.

    Those of a rule are in the data while the rule is decided, are kept here
    meanwhile, and are in the data again while it acts.
    """

    def __init__(self, target: working_copy.WorkingCopy) -> None:
        self._target = target
        # The vars of every rule that was decided, by their names.
        self._values: dict[compiler.CompiledRule, dict[str, typing.Any]] = {}

    def take_out(self, plan: compiler.CompiledRule, view: budget.View) -> None:
        """Move the vars of a rule out of the data, and keep them.

        The next rule must not see them; the actions of this rule will.
        """
        values = view.pop(model.VARS, {})
        # A var may be a part of the data: a later action then changes a copy.
        self._target.release(values)
        self._values[plan] = values

    @contextlib.contextmanager
    def in_data(
        self, plan: compiler.CompiledRule, target: working_copy.WorkingCopy
    ) -> typing.Iterator[None]:
        """Have the kept vars of a rule in the data during a ``with`` block.

        :param target: the data: those of the phase, or a copy of them for a
            rule in mode ``audit``.
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
