# SPDX-License-Identifier: Apache-2.0

"""Explains why the conditions of a rule hold or do not hold for a machine.

The result of a condition and its reason are a trace of the condition:
``ConditionResult('eq', True, 'values=(1, 1)')``.
"""

import typing

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.language import budget
from ironic_inspection_rules.engine.language import compiler
from ironic_inspection_rules.engine.language import (
    condition as engine_condition,  # noqa: H301
)
from ironic_inspection_rules.engine.language import reasons

Traces = tuple[reasons.ConditionResult, ...]
"""The result of each condition of a rule, with its reason."""


def is_complete(
    plan: compiler.CompiledRule, traces: list[reasons.ConditionResult]
) -> bool:
    """Return whether the traces of a rule explain all of its conditions.

    If they do not, :func:`explain` adds missing traces and reasons, or removes
    all reasons if the rule must not show any.

    :param traces: the traces of the conditions that were checked.
    """
    if plan.unexplained:
        # The rule must not show reasons, but the traces may have some.
        return False
    if len(traces) < len(plan.conditions):
        # The conditions after a false condition were not checked.
        return False
    for decision in traces:
        if decision.reason is None:
            return False
    return True


def explain(
    plan: compiler.CompiledRule,
    view: budget.View,
    first_traces: typing.Iterable[reasons.ConditionResult] = (),
) -> Traces:
    """Return a trace of each condition of a rule, even after a false one.

    The trace of a condition that holds is, for example,
    ``ConditionResult('eq', True, 'values=(1, 1)')``. If a condition fails, its
    result is None, and the error is its reason. If the rule must not show
    reasons, all reasons are None.

    :param view: the data as the rule sees them, with its ``vars`` and tables.
    :param first_traces: the traces of the conditions that were checked to
        decide the rule, up to the first false one.
    """
    traces = list(first_traces)
    for condition in plan.conditions[len(traces) :]:
        try:
            trace = condition.decide(view)
        # Conditions are plugins, so they may raise any exception.
        except Exception as exc:
            trace = reasons.ConditionResult(
                condition.written_op, None, exceptions.reason_of(exc)
            )
        traces.append(trace)
    if plan.unexplained:
        return tuple(trace._replace(reason=None) for trace in traces)
    explained = []
    for condition, trace in zip(plan.conditions, traces, strict=True):
        if trace.reason is None:
            sentence = reason(condition, view=view, masked_view=view)
            explained.append(trace._replace(reason=sentence))
        else:
            explained.append(trace)
    return tuple(explained)


def explain_match(
    plan: compiler.CompiledRule, view: budget.View, masked_view: budget.View
) -> Traces:
    """Return the traces of the conditions of a rule that matches.

    :param view: the data by root name, as the rule sees them.
    :param masked_view: the same data with all secrets masked.
    """
    if plan.masked:
        return explain(plan, view)
    # The rule sees secrets, but the trace shows masked values. Do not decide
    # the conditions again, because they might not hold with masked values.
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
    """Return the reason of a condition, e.g. ``values=(1, 2)``.

    If it cannot be built, the text of the error is returned instead.

    :param view: the data as the rule sees them.
    :param masked_view: the data from which the reason shows values.
    """
    try:
        return condition.reason(view, masked_view)
    # Conditions are plugins, so they may raise any exception.
    except Exception as exc:
        return exceptions.reason_of(exc)
