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

"""The steps of one rule: to decide, to act, to undo what it did earlier."""

import collections.abc
import typing

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine import action as engine_action
from ironic_inspection_rules.engine import budget
from ironic_inspection_rules.engine import compiler
from ironic_inspection_rules.engine import trace
from ironic_inspection_rules.engine import working_copy

Done = tuple[trace.RuleTrace | None, exceptions.RuleError | None]
"""What a step did, if anything, and what it failed with."""

Step = collections.abc.Callable[
    [compiler.CompiledRule, working_copy.WorkingCopy], Done]


def matches(plan: compiler.CompiledRule,
            view: dict[str, typing.Any]) -> bool:
    """Tell whether all conditions of a rule hold.

    :param view: the data by root name, as the rule may see it.
    :raises: :class:`.exceptions.RuleError` where one cannot be decided.
    """
    for condition in plan.conditions:
        try:
            if not condition.check(view):
                return False
        except Exception as exc:
            op = condition.operation['op']
            raise _error(plan, op, exc) from _cause(plan, exc)
    return True


def decide(plan: compiler.CompiledRule, view: dict[str, typing.Any],
           told: list[trace.ConditionTrace]) -> bool:
    """Do the same as :func:`matches`, and note what was found out.

    :param told: takes the trace of each condition that was checked.
    """
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


def pay(plan: compiler.CompiledRule, count: int) -> None:
    """Pay for some rules, of which this is the first.

    :param count: how many rules there are, at most.
    :raises: :class:`.exceptions.RuleError` where too little is left.
    """
    try:
        budget.current().spend(count)
    except exceptions.BudgetExceeded as exc:
        op = next((condition.operation['op'] for condition
                   in plan.conditions), plan.actions[0].name)
        raise _error(plan, op, exc) from _cause(plan, exc)


def act(plan: compiler.CompiledRule,
        target: working_copy.WorkingCopy) -> Done:
    """Carry out the actions of a rule that matches."""
    done: list[trace.ActionTrace] = []
    error = None
    try:
        for action in plan.actions:
            _carry_out(plan, action, action.apply, target, done)
    except exceptions.RuleError as exc:
        error = exc
    return trace.RuleTrace(plan.rule, True, actions=tuple(done)), error


def revert(plan: compiler.CompiledRule,
           target: working_copy.WorkingCopy) -> Done:
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
               step: collections.abc.Callable[..., None],
               target: working_copy.WorkingCopy, done: list[trace.ActionTrace],
               reverted: bool = False) -> None:
    journal = target.journal
    journal.enter(plan.masked, plan.rule.sensitive)
    changes, notes = len(journal.changes), len(journal.notes)
    confirmed = len(journal.confirmed)
    try:
        budget.current().spend()
        step(target, target.view(plan.masked))
    except Exception as exc:
        raise _error(plan, action.name, exc) from _cause(plan, exc)
    finally:
        done.append(trace.ActionTrace(
            action.name, tuple(journal.changes[changes:]),
            tuple(journal.notes[notes:]), reverted,
            tuple(journal.confirmed[confirmed:])))


def _error(plan: compiler.CompiledRule, op: str,
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


def _cause(plan: compiler.CompiledRule, exc: Exception) -> Exception | None:
    """Return what a log may show as the cause of an error."""
    return None if plan.rule.sensitive else exc
