# SPDX-License-Identifier: Apache-2.0

"""Explains why the conditions of a rule hold for a machine or not."""

import typing

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.language import budget
from ironic_inspection_rules.engine.language import compiler
from ironic_inspection_rules.engine.language import (
    condition as engine_condition,  # noqa: H301
)
from ironic_inspection_rules.engine.language import reasons

Traces = tuple[reasons.ConditionResult, ...]


def is_complete(
    plan: compiler.CompiledRule, traces: list[reasons.ConditionResult]
) -> bool:
    """Return whether the traces of a rule can be kept as they are.

    If not, :func:`explain` adds the traces and reasons that are missing, or
    removes all reasons if the rule must show none.
    """
    if plan.unexplained:
        # The rule must show no reasons, and the traces may have some.
        return False
    if len(traces) < len(plan.conditions):
        return False
    for decision in traces:
        if decision.reason is None:
            return False
    return True


def explain(
    plan: compiler.CompiledRule,
    view: budget.View,
    known: typing.Iterable[reasons.ConditionResult] = (),
) -> Traces:
    """Return a trace of every condition of a rule, also after a false one.

    A condition with an error has the result None and the error as its reason.
    If the rule must show no reasons, all of them are None.

    :param view: the data as the rule sees them, with its ``vars`` and tables.
    :param known: traces of the first conditions.
    """
    traces = list(known)
    for condition in plan.conditions[len(traces) :]:
        try:
            traces.append(condition.decide(view))
        except Exception as exc:
            traces.append(
                reasons.ConditionResult(
                    condition.written_op, None, exceptions.reason_of(exc)
                )
            )
    if plan.unexplained:
        return tuple(decision._replace(reason=None) for decision in traces)
    explained = []
    for condition, decision in zip(plan.conditions, traces, strict=True):
        if decision.reason is None:
            sentence = reason(condition, view=view, masked_view=view)
            explained.append(decision._replace(reason=sentence))
        else:
            explained.append(decision)
    return tuple(explained)


def explain_match(
    plan: compiler.CompiledRule, view: budget.View, masked_view: budget.View
) -> Traces:
    """Return the reasons of a rule whose conditions all hold.

    The condition of a rule that sees secrets is decided with them, and its
    reason shows masked values: with these alone it might not hold.

    :param view: the data by root name, as the rule sees them.
    :param masked_view: the same without secrets.
    """
    if plan.masked:
        return explain(plan, view)
    traces = []
    for condition in plan.conditions:
        traces.append(
            reasons.ConditionResult(
                condition.written_op,
                True,
                reason(condition, view, masked_view),
            )
        )
    return tuple(traces)


def reason(
    condition: engine_condition.CompiledCondition,
    view: budget.View,
    masked_view: budget.View,
) -> str:
    """Return the reason of a condition, or what went wrong with it."""
    try:
        return condition.reason(view, masked_view)
    except Exception as exc:
        return exceptions.reason_of(exc)
