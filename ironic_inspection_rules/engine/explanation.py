# SPDX-License-Identifier: Apache-2.0

"""Reasons of conditions: why a rule matches a machine or does not.

Nothing is told of values that sensitive rules have written.

A reason tells of what decided: of the item or the part that did it by itself,
with its number, or of the first of all of them.
"""

import typing

from ironic_inspection_rules.engine import budget
from ironic_inspection_rules.engine import compiler
from ironic_inspection_rules.engine import condition as engine_condition
from ironic_inspection_rules.engine import hiding
from ironic_inspection_rules.engine import journal as engine_journal
from ironic_inspection_rules.engine import loop as engine_loop
from ironic_inspection_rules.engine import masking
from ironic_inspection_rules.engine import template
from ironic_inspection_rules.engine import trace
from ironic_inspection_rules.i18n import _

Roots = budget.View

_MOST_ITEMS = 3

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

    :param view: the data by root name, as the rule may see it.
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
    for index, (_op, result, reason) in enumerate(told):
        if reason is None:
            told[index] = _explain(plan.conditions[index], result, view, view)
    return tuple(told)


def hide(condition: engine_condition.Condition, told: trace.ConditionTrace,
         hidden: hiding.Hidden, view: Roots | None = None,
         shown: Roots | None = None) -> trace.ConditionTrace:
    """Mask the values in a reason that sensitive rules wrote.

    :param told: how the condition was decided, with these values.
    :param view: the data by root name, as the rule sees it; None where they
        have changed since.
    :param shown: the same without secrets.
    """
    if told.reason is None or not hidden.shows_any(condition.reads):
        return told
    reason = masking.MASK
    if not (view is None or shown is None or told.result is None
            or condition.needs_view):
        try:
            reason = _reason(condition, view, hiding.shown(
                shown, condition.reads, hidden), None)
        except Exception:
            reason = masking.MASK
    return told._replace(reason=reason)


def explain_match(plan: compiler.CompiledRule, view: Roots,
                  shown: Roots) -> Traces:
    """Return the reasons of a rule whose conditions all hold.

    :param view: the data by root name, as the rule sees it.
    :param shown: the same; secrets that the rule has seen are hidden.
    """
    if plan.masked:
        return explain(plan, view)
    return tuple([_explain(condition, True, view, shown)
                  for condition in plan.conditions])


def reason(condition: engine_condition.Condition, view: Roots,
           outer: engine_loop.Loop | None) -> str:
    """Return the reason of a condition of an action.

    :param outer: the loop of the action.
    """
    try:
        return _reason(condition, view, view, outer)
    except Exception as exc:
        return str(exc)


def _explain(condition: engine_condition.Condition, result: bool | None,
             view: Roots, shown: Roots) -> trace.ConditionTrace:
    try:
        reason = _reason(condition, view, shown, None)
    except Exception as exc:
        reason = str(exc)
    return trace.ConditionTrace(condition.written_op, result, reason)


def _reason(condition: engine_condition.Condition, view: Roots,
            shown: Roots, outer: engine_loop.Loop | None) -> str:
    if condition.is_simple:
        return condition.sentence(outer).tell(shown)
    loop = engine_loop.Loop.of(condition.operation.get('loop'), outer)
    if not isinstance(condition, engine_condition.Looped):
        return _sentence(condition, view, shown, loop)
    found = condition.find(view)
    if isinstance(found.items, template.Missing):
        return _('field {%s} does not exist') % found.items.field
    if not found.items:
        return _('the loop has no items')
    count = len(found.items)
    numbers = range(min(count, _MOST_ITEMS))
    if found.decisive is not None:
        numbers = range(found.decisive, found.decisive + 1)
    items = found.items if shown is view else condition.items(shown)
    if isinstance(items, template.Missing) or len(items) != count:
        return _('the items are hidden')
    sentences = []
    for number in numbers:
        each = slice(number, number + 1)
        with (engine_loop.iterate(found.items[each], view, number) as seen,
              engine_loop.iterate(items[each], shown, number) as told):
            next(seen)
            next(told)
            sentences.append(_('item %(number)d of %(count)d: %(reason)s') % {
                'number': number + 1, 'count': count,
                'reason': _sentence(condition.condition, view, shown, loop)})
    if found.decisive is None and count > _MOST_ITEMS:
        sentences.append(_('%d more') % (count - _MOST_ITEMS))
    return '; '.join(sentences)


def _sentence(condition: engine_condition.Condition, view: Roots,
              shown: Roots, loop: engine_loop.Loop | None) -> str:
    """Return the reason of a condition that is no loop."""
    if not isinstance(condition, engine_condition.Group):
        return condition.sentence(loop).tell(shown)
    return '; '.join(
        _('condition %(number)d of %(count)d: %(op)s %(result)s '
          '(%(reason)s)') % {
            'number': number + 1, 'count': len(condition.parts),
            'op': condition.parts[number].written_op,
            'result': _('holds') if result else _('does not hold'),
            'reason': _reason(condition.parts[number], view, shown, loop)}
        for number, result in condition.deciding(view).items())


def reads_hidden(plan: compiler.CompiledRule, hidden: hiding.Hidden) -> bool:
    """Return whether an error of deciding a rule may hold such a value."""
    return not plan.rule.sensitive and bool(hidden) and (
        hidden.covers(hiding.VARS, ()) or any(
            hidden.shows_any(each.reads) for each in plan.conditions))


def hide_reasons(plan: compiler.CompiledRule, why: Traces,
                 hidden: hiding.Hidden,
                 view: Roots | None = None,
                 shown: Roots | None = None
                 ) -> Traces:
    """Mask the values in the reasons of a rule that sensitive rules wrote.

    :param view: the data by root name, as the rule sees them; None where
        they have changed since.
    :param shown: the same without secrets.
    """
    with hidden.with_vars(plan.rule.vars if view is None else {}):
        return tuple([
            hide(condition, told, hidden, view, shown)
            for condition, told in zip(plan.conditions, why, strict=True)])


def hide_found(
        journal: engine_journal.Journal,
        traces: dict[compiler.CompiledRule, trace.RuleTrace]) -> set[int]:
    """Hide what earlier rules told of values that a sensitive rule found.

    :param traces: of rules of the phase; changed in place.
    :returns: ``id`` of each change that may be a copy of one.
    """
    found = journal.found
    copies: set[int] = set()
    for plan, told in traces.items():
        if plan.rule.sensitive:
            continue
        with found.with_vars(plan.rule.vars):
            copied = any(found.shows_any(each.reads)
                         for each in plan.actions)
            has_read = copied or reads_hidden(plan, found)
        if copied:
            copies.update(id(change) for each in told.actions
                          for change in each.changes)
        traces[plan] = told._replace(
            error=told.error and masking.MASK if has_read else told.error,
            actions=tuple([_without_found(journal, each, copied)
                           for each in told.actions]))
    return copies


def _without_found(journal: engine_journal.Journal, told: trace.ActionTrace,
                   copied: bool) -> trace.ActionTrace:
    told = told._replace(
        changes=tuple([journal.without_found(change, copied)
                       for change in told.changes]),
        confirmed=tuple([journal.without_found(change, copied)
                         for change in told.confirmed]))
    if not copied:
        return told
    return told._replace(
        notes=(masking.MASK,) * len(told.notes),
        when=hide_asked(told.when))


def hide_asked(asked: typing.Iterable[trace.AskedTrace]
               ) -> tuple[trace.AskedTrace, ...]:
    """Hide what conditions of an action were decided on."""
    return tuple([each._replace(reason=each.reason and masking.MASK)
                  for each in asked])
