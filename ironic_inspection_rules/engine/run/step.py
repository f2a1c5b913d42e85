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
"""The trace of a step, if it did anything, and its error."""

Step = collections.abc.Callable[
    [compiler.CompiledRule, working_copy.WorkingCopy, budget.Budget | None],
    Done,
]


def give_tables(plan: compiler.CompiledRule, view: budget.View) -> None:
    """Put the tables of a rule set into the data as a rule sees them.

    They stay there until the next rule that reads any: a rule that reads none
    has no field that leads there.
    """
    if plan.tables is not None:
        view[interpolation.TABLES] = plan.tables


def compute(plan: compiler.CompiledRule, view: budget.View) -> None:
    """Compute the vars of a rule, and store them in ``view['vars']``.

    A var with a missing field is left out.

    :raises: :class:`.exceptions.RuleError` if one cannot be computed.
    """
    values: dict[str, typing.Any] = {}
    # In the view from the start, as a var may read the vars before it.
    view[model.VARS] = values
    for name, written in plan.vars:
        try:
            value = _compute_var(written, view)
        except Exception as exc:
            # The name of a var is content, which a sensitive rule does not
            # show.
            op = disclosure.disclose_text(
                plan.rule, f'vars.{name}', instead='vars'
            )
            error = disclosure.make_error(plan.rule, op, exc)
            # The error of a sensitive rule has no cause. Here and below
            # "from" keeps the one that is being handled out of tracebacks.
            raise error from error.__cause__
        if not isinstance(value, rendering.Missing):
            values[name] = value


def _compute_var(written: typing.Any, view: budget.View) -> typing.Any:
    """Return the value of a var, or its missing field.

    :param written: the template of the value, or the value of a var without
        fields.
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

    Its vars are computed, and stay in the data. The tables that it reads must
    be there already: :func:`give_tables` puts them there.

    :raises: :class:`.exceptions.RuleError` if one cannot be decided.
    """
    if plan.vars:
        compute(plan, view)
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

    It decides as :func:`matches`, which is faster.

    :param traces: the trace of every condition that was checked is appended.
    :raises: :class:`.exceptions.RuleError` if one cannot be decided.
    """
    if plan.vars:
        compute(plan, view)
    for condition in plan.conditions:
        try:
            decided = condition.decide(view)
        except Exception as exc:
            error = disclosure.make_error(plan.rule, condition.written_op, exc)
            raise error from error.__cause__
        traces.append(decided)
        if not decided.result:
            return False
    return True


def pay(
    plan: compiler.CompiledRule, count: int, allowance: budget.Budget
) -> None:
    """Pay the operations of several rules from the budget of the phase.

    :param plan: the first of the rules, which an error names.
    :raises: :class:`.exceptions.RuleError` if too few operations are left.
    """
    try:
        allowance.spend(count)
    except exceptions.BudgetExceeded as exc:
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

    What the actions before an error have changed stays in the target.

    :param target: has the vars of the rule in its data already, see
        :meth:`RuleVars.in_data`.
    :param for_reasons: pays for the reasons of the conditions that the actions
        themselves have; None for no reasons.
    :returns: the trace of the rule, and the error of the action that failed.
    """
    actions = []
    error = None
    view = target.view(plan.masked)
    give_tables(plan, view)
    for action in plan.actions:
        if action.when:
            conditions = _ConditionTraces(plan, action, for_reasons)
            apply = functools.partial(action.apply, note=conditions.note)
            traced, error = _carry_out(plan, action, apply, target, view)
            traced = traced._replace(when=conditions.traces)
        else:
            traced, error = _carry_out(
                plan, action, action.apply, target, view
            )
        actions.append(traced)
        if error is not None:
            break
    return trace.RuleTrace(plan.rule, True, (), tuple(actions)), error


class _ConditionTraces:
    """The traces of the conditions of an action, while it is carried out.

    :param for_reasons: the budget of their reasons; None for no reasons.
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
        """Count a result, and keep the reason of the first false one.

        Until a result is false, the reason is that of the first result.

        :param number: which condition was checked, from 0.
        """
        trace_before = self._traces[number]
        reason = trace_before.reason
        # In a loop, the reason for an item that is left out says more than
        # that for one that is not.
        is_first_false = not holds and trace_before.false == 0
        is_wanted = reason is None or is_first_false
        if is_wanted and self._for_reasons is not None:
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
    actions = []
    error = None
    changes_before = target.journal.length
    view = target.view(plan.masked)
    give_tables(plan, view)
    for action in plan.actions:
        if not action.reverts:
            continue
        traced, error = _carry_out(plan, action, action.revert, target, view)
        actions.append(traced._replace(reverted=True))
        if error is not None:
            break
    # Most machines never matched the rule, so that nothing has changed.
    if target.journal.length == changes_before:
        return None, error
    return trace.RuleTrace(
        plan.rule, False, actions=tuple(actions), reverted=True
    ), error


def _carry_out(
    plan: compiler.CompiledRule,
    action: engine_action.CompiledAction,
    apply_or_revert: collections.abc.Callable[..., reasons.NotRun | None],
    target: working_copy.WorkingCopy,
    view: budget.View,
) -> tuple[trace.ActionTrace, exceptions.RuleError | None]:
    """Carry out or undo an action, and trace what it did.

    :param apply_or_revert: the method of the action that does so.
    :param view: the data by root name as the rule sees them.
    :returns: the trace, which is complete after an error, too; and the error.
    """
    journal = target.journal
    journal.enter(plan.rule, action.name, plan.masked)
    # What the journal has behind these numbers afterwards is the action's.
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
    traced = trace.ActionTrace(
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
    return traced, error


class RuleVars:
    """The vars of the rules of a phase, kept from deciding to acting."""

    def __init__(self, target: working_copy.WorkingCopy) -> None:
        self._target = target
        # The vars of every rule that was decided, by their names.
        self._values: dict[compiler.CompiledRule, dict[str, typing.Any]] = {}

    def take_out(self, plan: compiler.CompiledRule, view: budget.View) -> None:
        """Move the vars of a rule out of the data, where the next rule looks.

        They are kept for its actions.
        """
        values = view.pop(model.VARS, {})
        # Later writes must not change them.
        self._target.release(values)
        self._values[plan] = values

    @contextlib.contextmanager
    def in_data(
        self, plan: compiler.CompiledRule, target: working_copy.WorkingCopy
    ) -> typing.Iterator[None]:
        """Add the vars of a rule to the data in the ``with`` block."""
        if not plan.vars:
            yield
            return
        view = target.view(plan.masked)
        view[model.VARS] = self._values[plan]
        try:
            yield
        finally:
            view.pop(model.VARS, None)
