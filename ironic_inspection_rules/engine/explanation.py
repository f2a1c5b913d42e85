# SPDX-License-Identifier: Apache-2.0

"""Reasons of conditions: why a rule matches a machine or does not.

Nothing is told of values that sensitive rules have written.
"""

import contextlib
import typing

from ironic_inspection_rules.engine import budget
from ironic_inspection_rules.engine import compiler
from ironic_inspection_rules.engine import condition as engine_condition
from ironic_inspection_rules.engine import hiding
from ironic_inspection_rules.engine import journal as engine_journal
from ironic_inspection_rules.engine import masking
from ironic_inspection_rules.engine import model
from ironic_inspection_rules.engine import trace

Roots = budget.View

Traces = tuple[trace.ConditionTrace, ...]


def is_complete(plan: compiler.CompiledRule,
                told: list[trace.ConditionTrace]) -> bool:
    """Return whether nothing is to be added to what is known of a rule."""
    if len(told) < len(plan.conditions) or plan.unexplained:
        return False
    for _op, _result, reason in told:
        if reason is None:
            return False
    return True


def explain(plan: compiler.CompiledRule, view: Roots,
            known: typing.Iterable[trace.ConditionTrace] = ()) -> Traces:
    """Return a trace of every condition of a rule, also after a false one.

    :param known: what is known of the first conditions.
    """
    told = list(known)
    for condition in plan.conditions[len(told):]:
        try:
            told.append(condition.decide(view))
        except Exception as exc:
            told.append(trace.ConditionTrace(condition.written_op, None,
                                             str(exc)))
    if plan.unexplained:
        return tuple(each._replace(reason=None) for each in told)
    return tuple([
        each if each.reason is not None
        else trace.ConditionTrace(each.op, each.result,
                                  reason(condition, view, view))
        for condition, each in zip(plan.conditions, told, strict=True)])


def explain_match(plan: compiler.CompiledRule, view: Roots,
                  shown: Roots) -> Traces:
    """Return the reasons of a rule whose conditions all hold.

    :param view: the data by root name, as the rule sees it.
    :param shown: the same; secrets that the rule has seen are hidden.
    """
    if plan.masked:
        return explain(plan, view)
    return tuple([trace.ConditionTrace(each.written_op, True,
                                       reason(each, view, shown))
                  for each in plan.conditions])


def reason(condition: engine_condition.Condition, view: Roots,
           shown: Roots) -> str:
    """Return the reason of a condition, or what went wrong with it."""
    try:
        return condition.reason(view, shown)
    except Exception as exc:
        return str(exc)


def reads_hidden(plan: compiler.CompiledRule, hidden: hiding.Hidden) -> bool:
    """Return whether an error of deciding a rule may hold such a value."""
    return not plan.rule.sensitive and bool(hidden) and (
        hidden.covers(hiding.VARS, ()) or any(
            hidden.shows_any(each.reads) for each in plan.conditions))


def hide_reasons(plan: compiler.CompiledRule, why: Traces,
                 hidden: hiding.Hidden, view: Roots | None = None,
                 shown: Roots | None = None) -> Traces:
    """Mask the values in the reasons of a rule that sensitive rules wrote.

    :param view: the data by root name, as the rule sees them; None where
        they have changed since.
    :param shown: the same without secrets.
    """
    masked = []
    with hidden.with_vars(plan.rule.vars if view is None else {}):
        for condition, told in zip(plan.conditions, why, strict=True):
            if told.reason is not None and hidden.shows_any(condition.reads):
                text = masking.MASK
                if not (view is None or shown is None or told.result is None
                        or condition.needs_view):
                    with contextlib.suppress(Exception):
                        text = condition.reason(view, hiding.shown(
                            shown, condition.reads, hidden))
                told = told._replace(reason=text)
            masked.append(told)
    return tuple(masked)


def hide_found(
        journal: engine_journal.Journal,
        traces: typing.Sequence[tuple[compiler.CompiledRule, trace.RuleTrace]]
) -> tuple[trace.RuleTrace, ...]:
    """Hide what earlier rules told of values that a sensitive rule found.

    Their changes are masked in place, since others have them too.

    :param traces: of rules of a phase, in the order they were decided in.
        What some made of such a value others may have read.
    """
    found = journal.found
    hidden = [told for _plan, told in traces]
    # What was undone was undone before the first action.
    for number in sorted(range(len(traces)), key=lambda each: (
            hidden[each].matched or not hidden[each].actions)):
        plan, told = traces[number]
        if plan.rule.sensitive:
            continue
        with found.with_vars(plan.rule.vars):
            copied = any(found.shows_any(each.reads) for each in plan.actions)
            has_read = copied or reads_hidden(plan, found)
            in_path = copied and any(each.hides_path(found)
                                     for each in plan.actions)
        actions = told.actions
        if copied and plan.rule.mode != model.AUDIT:
            journal.find_copies(change for each in actions
                                for change in each.changes)
        for each in actions:
            for change in (*each.changes, *each.confirmed):
                journal.hide_found(change, copied, in_path)
        if copied:
            actions = tuple([
                each._replace(notes=(masking.MASK,) * len(each.notes),
                              when=hide_asked(each.when))
                for each in actions])
        hidden[number] = told._replace(
            error=told.error and masking.MASK if has_read else told.error,
            actions=actions)
    return tuple([
        told._replace(conditions=hide_reasons(plan, told.conditions, found))
        if told.conditions else told
        for (plan, _told), told in zip(traces, hidden, strict=True)])


def hide_asked(asked: typing.Iterable[trace.AskedTrace]
               ) -> tuple[trace.AskedTrace, ...]:
    """Hide what conditions of an action were decided on."""
    return tuple([each._replace(reason=each.reason and masking.MASK)
                  for each in asked])
