# SPDX-License-Identifier: Apache-2.0

"""What a phase tells of its rules, without values of sensitive ones."""

import typing

from ironic_inspection_rules.engine import compiler
from ironic_inspection_rules.engine import explanation
from ironic_inspection_rules.engine import hiding
from ironic_inspection_rules.engine import journal as engine_journal
from ironic_inspection_rules.engine import masking
from ironic_inspection_rules.engine import trace

Traces = dict[compiler.CompiledRule, trace.RuleTrace]


def reads_hidden(plan: compiler.CompiledRule, hidden: hiding.Hidden) -> bool:
    """Tell whether an error of deciding a rule may hold such a value."""
    return not plan.rule.sensitive and bool(hidden) and (
        hidden.covers(hiding.VARS, ()) or any(
            hidden.shows_any(each.reads) for each in plan.conditions))


def hide_reasons(plan: compiler.CompiledRule, why: explanation.Traces,
                 hidden: hiding.Hidden,
                 view: explanation.Roots | None = None,
                 shown: explanation.Roots | None = None
                 ) -> explanation.Traces:
    """Mask the values in the reasons of a rule that sensitive rules wrote.

    :param view: the data by root name, as the rule sees them; None where
        they have changed since.
    :param shown: the same without secrets.
    """
    with hidden.with_vars(plan.rule.vars if view is None else {}):
        return tuple([
            explanation.hide(condition, told, hidden, view, shown)
            for condition, told in zip(plan.conditions, why, strict=True)])


def hide_found(journal: engine_journal.Journal, traces: Traces) -> set[int]:
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
