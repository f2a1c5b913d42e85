# SPDX-License-Identifier: Apache-2.0

"""The steps of one rule: to decide, to act, to undo what it did earlier."""

import collections.abc
import contextlib
import functools
import typing

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine import action as engine_action
from ironic_inspection_rules.engine import budget
from ironic_inspection_rules.engine import compiler
from ironic_inspection_rules.engine import explanation
from ironic_inspection_rules.engine import model
from ironic_inspection_rules.engine import rendering
from ironic_inspection_rules.engine import template
from ironic_inspection_rules.engine import trace
from ironic_inspection_rules.engine import working_copy
from ironic_inspection_rules.i18n import _

Done = tuple[trace.RuleTrace | None, exceptions.RuleError | None]
"""The trace of a step, if it did anything, and its error."""

Step = collections.abc.Callable[
    [compiler.CompiledRule, working_copy.WorkingCopy, budget.Budget | None],
    Done]


def compute(plan: compiler.CompiledRule,
            view: budget.View) -> None:
    """Put the values of a rule into the data by root name.

    One with a field that is missing is missing.

    :raises: :class:`.exceptions.RuleError` where one cannot be computed.
    """
    values: dict[str, typing.Any] = {}
    view[model.VARS] = values
    allowance = view.budget
    for name, value in plan.vars:
        try:
            allowance.spend()
            if isinstance(value, template.Template):
                made = value.render(view)
                if made.__class__ is template.Missing:
                    continue
                if not isinstance(value, rendering.Path):
                    allowance.make_value(made)
                value = made
        except Exception as exc:
            place = model.VARS if plan.rule.sensitive else (
                f'{model.VARS}.{name}')
            raise _error(plan, place, exc) from _cause(plan, exc)
        values[name] = value


def matches(plan: compiler.CompiledRule,
            view: budget.View) -> bool:
    """Return whether all conditions of a rule hold.

    :raises: :class:`.exceptions.RuleError` where one cannot be decided.
    """
    if plan.vars:
        compute(plan, view)
    for condition in plan.conditions:
        try:
            if not condition.check(view):
                return False
        except Exception as exc:
            op = condition.operation['op']
            raise _error(plan, op, exc) from _cause(plan, exc)
    return True


def decide(plan: compiler.CompiledRule, view: budget.View,
           told: list[trace.ConditionTrace]) -> bool:
    """Return the same as :func:`matches`, and trace the conditions.

    :param told: takes the trace of each condition that was checked.
    """
    if plan.vars:
        compute(plan, view)
    for condition in plan.conditions:
        try:
            decided = condition.decide(view)
        except Exception as exc:
            op = condition.operation['op']
            raise _error(plan, op, exc) from _cause(plan, exc)
        told.append(decided)
        if not decided.result:
            return False
    return True


def pay(plan: compiler.CompiledRule, count: int,
        allowance: budget.Budget) -> None:
    """Pay for some rules, of which this is the first.

    :raises: :class:`.exceptions.RuleError` where too little is left.
    """
    try:
        allowance.spend(count)
    except exceptions.BudgetExceeded as exc:
        op = next((condition.operation['op'] for condition
                   in plan.conditions), plan.actions[0].name)
        raise _error(plan, op, exc) from _cause(plan, exc)


def act(plan: compiler.CompiledRule, target: working_copy.WorkingCopy,
        explaining: budget.Budget | None) -> Done:
    """Carry out the actions of a rule that matches.

    :param explaining: pays for the reasons of their conditions, if these
        are to be told.
    """
    done: list[trace.ActionTrace] = []
    error = None
    try:
        for action in plan.actions:
            asked = None
            apply = action.apply
            if action.when:
                asked = _Asked(plan, action, explaining)
                apply = functools.partial(apply, asked=asked.note)
            _carry_out(plan, action, apply, target, done, asked)
    except exceptions.RuleError as exc:
        error = exc
    return trace.RuleTrace(plan.rule, True, (), tuple(done)), error


class _Asked:
    """The conditions of an action, as far as they were checked."""

    def __init__(self, plan: compiler.CompiledRule,
                 action: engine_action.Action,
                 explaining: budget.Budget | None) -> None:
        self._conditions = action.when
        self._explaining = None if plan.unexplained else explaining
        self.told = [trace.AskedTrace(each.written_op)
                     for each in action.when]

    def note(self, number: int, holds: bool,
             roots: budget.View) -> None:
        """Count a condition that was checked, and keep a reason."""
        told = self.told[number]
        if self._explaining and (told.reason is None
                                 or not holds and not told.false):
            with roots.paid_by(self._explaining):
                told = told._replace(reason=explanation.reason(
                    self._conditions[number], roots, roots))
        self.told[number] = told._replace(true=told.true + holds,
                                          false=told.false + (not holds))

    def traces(self, hides: bool) -> tuple[trace.AskedTrace, ...]:
        """Return what is known of the conditions.

        :param hides: whether the reasons may hold values of sensitive rules.
        """
        return explanation.hide_asked(self.told) if hides else (
            tuple(self.told))


def revert(plan: compiler.CompiledRule, target: working_copy.WorkingCopy,
           _explaining: budget.Budget | None) -> Done:
    """Undo what a rule did earlier that does not match."""
    done: list[trace.ActionTrace] = []
    error = None
    try:
        for action in plan.actions:
            if action.reverts:
                _carry_out(plan, action, action.revert, target, done,
                           reverted=True)
    except exceptions.RuleError as exc:
        error = exc
    if not any(action.changes for action in done):
        return None, error
    return trace.RuleTrace(plan.rule, False, actions=tuple(done)), error


def _carry_out(plan: compiler.CompiledRule, action: engine_action.Action,
               step: collections.abc.Callable[..., bool | None],
               target: working_copy.WorkingCopy, done: list[trace.ActionTrace],
               asked: _Asked | None = None, reverted: bool = False) -> None:
    journal = target.journal
    hidden = journal.hidden
    copies = bool(hidden) and hidden.shows_any(action.reads)
    journal.enter(plan.masked, plan.rule.sensitive, copies,
                  copies and action.hides_path(hidden))
    changes, notes = len(journal.changes), len(journal.notes)
    confirmed = len(journal.confirmed)
    ran: bool | None = True
    try:
        target.roots.budget.spend()
        ran = step(target, target.view(plan.masked))
    except Exception as exc:
        error = _error(plan, action.name, exc)
        # These hold no value, or one that was made to be shown.
        if journal.copies and not isinstance(exc, (
                exceptions.BudgetExceeded, exceptions.FailRequested,
                exceptions.MissingField)):
            raise without_values(error) from None
        raise error from _cause(plan, exc)
    finally:
        done.append(trace.ActionTrace(
            action.name, tuple(journal.changes[changes:]),
            tuple(journal.notes[notes:]), reverted,
            tuple(journal.confirmed[confirmed:]),
            asked.traces(journal.copies) if asked else (),
            ran is not False))


def without_values(error: exceptions.RuleError) -> exceptions.RuleError:
    """Return an error that does not tell the values it came of."""
    return exceptions.RuleError(
        error.rule, error.op,
        _('what it reads was written by a sensitive rule'))


def _error(plan: compiler.CompiledRule, op: str,
           exc: Exception) -> exceptions.RuleError:
    """Return an error with its rule and op; of a sensitive one no more."""
    reason = None
    if not plan.rule.sensitive:
        known = isinstance(exc, exceptions.InspectionRulesError)
        reason = str(exc) if known else f'{type(exc).__name__}: {exc}'
    if isinstance(exc, exceptions.FailRequested):
        return exceptions.RuleFailed(plan.rule.label, op, reason,
                                     exc.maintenance)
    return exceptions.RuleError(plan.rule.label, op, reason)


def _cause(plan: compiler.CompiledRule, exc: Exception) -> Exception | None:
    """Return what a log may show as the cause of an error."""
    return None if plan.rule.sensitive else exc


class RuleVars:
    """The values of the rules of a phase, from when they were decided.

    One that was made of a value of a sensitive rule stays hidden, whatever
    becomes of the place that it was read from.
    """

    def __init__(self, target: working_copy.WorkingCopy) -> None:
        self._target = target
        # The values of a rule, and which of them must not show.
        self._of: dict[compiler.CompiledRule, tuple[
            dict[str, typing.Any], list[str]]] = {}

    def take(self, plan: compiler.CompiledRule,
             view: budget.View) -> None:
        """Move the values of a rule out of the data, for its actions."""
        hidden = self._target.journal.hidden
        values = view.pop(model.VARS, {})
        self._of[plan] = values, [name for name in plan.rule.vars
                                  if hidden.covers(model.VARS, (name,))]
        hidden.remove(model.VARS, ())
        # Whatever is written, they stay as they are.
        self._target.release(values)

    @contextlib.contextmanager
    def given(self, plan: compiler.CompiledRule,
              target: working_copy.WorkingCopy) -> typing.Iterator[None]:
        """Put the values of a rule into the data while the context lasts."""
        if not plan.vars:
            yield
            return
        view, hidden = target.view(plan.masked), target.journal.hidden
        view[model.VARS], names = self._of[plan]
        for name in names:
            hidden.add(model.VARS, (name,))
        try:
            yield
        finally:
            view.pop(model.VARS, None)
            hidden.remove(model.VARS, ())
