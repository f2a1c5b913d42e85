# SPDX-License-Identifier: Apache-2.0

"""Reasons of conditions: why a rule matches a machine or does not.

They never show values that sensitive rules have written.
"""

import contextlib
import typing

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine import budget
from ironic_inspection_rules.engine import compiler
from ironic_inspection_rules.engine import condition as engine_condition
from ironic_inspection_rules.engine import hiding
from ironic_inspection_rules.engine import journal as engine_journal
from ironic_inspection_rules.engine import masking
from ironic_inspection_rules.engine import model
from ironic_inspection_rules.engine import trace

Traces = tuple[trace.ConditionTrace, ...]


def is_complete(plan: compiler.CompiledRule,
                traces: list[trace.ConditionTrace]) -> bool:
    """Return whether all conditions of a rule have a trace with a reason."""
    if len(traces) < len(plan.conditions) or plan.unexplained:
        return False
    for _op, _result, reason in traces:
        if reason is None:
            return False
    return True


def explain(plan: compiler.CompiledRule, view: budget.View,
            known: typing.Iterable[trace.ConditionTrace] = ()) -> Traces:
    """Return a trace of every condition of a rule, also after a false one.

    :param known: traces of the first conditions.
    """
    traces = list(known)
    for condition in plan.conditions[len(traces):]:
        try:
            traces.append(condition.decide(view))
        except Exception as exc:
            traces.append(trace.ConditionTrace(condition.written_op, None,
                                               exceptions.reason_of(exc)))
    if plan.unexplained:
        return tuple(each._replace(reason=None) for each in traces)
    return tuple([
        each if each.reason is not None
        else trace.ConditionTrace(each.op, each.result,
                                  reason(condition, view, view))
        for condition, each in zip(plan.conditions, traces, strict=True)])


def explain_match(plan: compiler.CompiledRule, view: budget.View,
                  shown: budget.View) -> Traces:
    """Return the reasons of a rule whose conditions all hold.

    :param view: the data by root name, as the rule sees them.
    :param shown: the same without secrets.
    """
    if plan.masked:
        return explain(plan, view)
    return tuple([trace.ConditionTrace(each.written_op, True,
                                       reason(each, view, shown))
                  for each in plan.conditions])


def reason(condition: engine_condition.Condition, view: budget.View,
           shown: budget.View) -> str:
    """Return the reason of a condition, or what went wrong with it."""
    try:
        return condition.reason(view, shown)
    except Exception as exc:
        return exceptions.reason_of(exc)


def reads_hidden(plan: compiler.CompiledRule, hidden: hiding.Hidden) -> bool:
    """Return whether an error in a rule's conditions may show such values."""
    return not plan.rule.sensitive and bool(hidden) and (
        hidden.covers(hiding.VARS, ()) or any(
            hidden.shows_any(each.reads) for each in plan.conditions))


def hide_reasons(plan: compiler.CompiledRule, why: Traces,
                 hidden: hiding.Hidden, view: budget.View | None = None,
                 shown: budget.View | None = None) -> Traces:
    """Mask the values in the reasons of a rule that sensitive rules wrote.

    :param view: the data by root name, as the rule sees them; None if they
        have changed since.
    :param shown: the same without secrets.
    """
    masked = []
    with hidden.with_vars(plan.rule.vars if view is None else {}):
        for condition, each in zip(plan.conditions, why, strict=True):
            if each.reason is not None and hidden.shows_any(condition.reads):
                text = masking.MASK
                if not (view is None or shown is None or each.result is None
                        or condition.needs_view):
                    with contextlib.suppress(Exception):
                        text = condition.reason(view, hiding.shown(
                            shown, condition.reads, hidden))
                each = each._replace(reason=text)
            masked.append(each)
    return tuple(masked)


def hide_found(
        journal: engine_journal.Journal,
        traces: typing.Sequence[tuple[compiler.CompiledRule, trace.RuleTrace]]
) -> tuple[trace.RuleTrace, ...]:
    """Hide values that a sensitive rule found in traces of other rules.

    Their changes are masked in place, since the journal has them too.

    :param traces: of rules of a phase, in the order in which they were
        decided: later rules may have read what earlier ones copied.
    """
    found = journal.found
    hidden = [each for _plan, each in traces]
    # Rules that were undone come first: that was before the first action.
    for number in sorted(range(len(traces)), key=lambda each: (
            hidden[each].matched or not hidden[each].actions)):
        plan, given = traces[number]
        for each in given.actions:
            for change in (*each.changes, *each.confirmed):
                journal.rename(change)
        if plan.rule.sensitive:
            continue
        with found.with_vars(plan.rule.vars):
            copied = any(found.shows_any(each.reads) for each in plan.actions)
            has_read = copied or reads_hidden(plan, found)
            in_path = copied and any(each.hides_path(found)
                                     for each in plan.actions)
        actions = given.actions
        if copied and plan.rule.mode != model.AUDIT:
            journal.find_copies(change for each in actions
                                for change in each.changes)
        for each in actions:
            for change in (*each.changes, *each.confirmed):
                journal.hide_found(change, copied, in_path)
        if copied:
            actions = tuple([
                each._replace(notes=(masking.MASK,) * len(each.notes),
                              when=hide_asked(each.when),
                              idle=each.idle and hide_idle(each.idle, plan))
                for each in actions])
        hidden[number] = given._replace(
            error=given.error and masking.MASK if has_read else given.error,
            actions=actions)
    return tuple([
        each._replace(conditions=hide_reasons(plan, each.conditions, found))
        if each.conditions else each
        for (plan, _given), each in zip(traces, hidden, strict=True)])


def hide_asked(asked: typing.Iterable[trace.AskedTrace]
               ) -> tuple[trace.AskedTrace, ...]:
    """Mask the reasons of the conditions of an action."""
    return tuple([each._replace(reason=each.reason and masking.MASK)
                  for each in asked])


def hide_idle(idle: trace.Idle, plan: compiler.CompiledRule) -> trace.Idle:
    """Mask the reason why an action did not run; drop a sensitive rule's."""
    return idle._replace(
        reason=None if plan.rule.sensitive else masking.MASK)
