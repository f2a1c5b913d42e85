# SPDX-License-Identifier: Apache-2.0

"""Explains why the conditions of a rule hold or do not hold for a machine.

The decision on a condition is its result with the reason:
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

Decisions = tuple[reasons.ConditionResult, ...]
"""The result of each condition of a rule, with its reason."""


def is_complete(
    plan: compiler.CompiledRule, decisions: list[reasons.ConditionResult]
) -> bool:
    """Return whether the decisions explain all conditions of a rule.

    If they do not, :func:`explain` adds missing decisions and reasons, or
    removes all reasons if the rule must not show any.

    :param decisions: the results of the conditions that were checked.
    """
    if plan.unexplained:
        # The rule must not show reasons, but the decisions may have some.
        return False
    if len(decisions) < len(plan.conditions):
        # The conditions after a false condition were not checked.
        return False
    for decision in decisions:
        if decision.reason is None:
            return False
    return True


def explain(
    plan: compiler.CompiledRule,
    view: budget.View,
    first_decisions: typing.Iterable[reasons.ConditionResult] = (),
) -> Decisions:
    """Return the result of each condition of a rule, even after a false one.

    If a condition fails, its result is None, and the error is its reason. If
    the rule must not show reasons, all reasons are None.

    :param view: the data as the rule sees them, with its ``vars`` and tables.
    :param first_decisions: the results of the conditions that were checked to
        decide the rule, up to the first false one.
    """
    decisions = list(first_decisions)
    unchecked_conditions = plan.conditions[len(decisions) :]
    for condition in unchecked_conditions:
        try:
            decision = condition.decide(view)
        # Conditions are plugins, so they may raise any exception.
        except Exception as exc:
            decision = reasons.ConditionResult(
                condition.written_op, None, exceptions.reason_of(exc)
            )
        decisions.append(decision)
    if plan.unexplained:
        return tuple(decision._replace(reason=None) for decision in decisions)
    explained = []
    for condition, decision in zip(plan.conditions, decisions, strict=True):
        if decision.reason is None:
            sentence = reason(condition, view=view, masked_view=view)
            explained.append(decision._replace(reason=sentence))
        else:
            explained.append(decision)
    return tuple(explained)


def explain_match(
    plan: compiler.CompiledRule, view: budget.View, masked_view: budget.View
) -> Decisions:
    """Return the results of the conditions of a rule that matches, explained.

    :param view: the data by root name, as the rule sees them.
    :param masked_view: the same data with all secrets masked.
    """
    if plan.masked:
        return explain(plan, view)
    # The rule sees secrets, but readers see masked values. Do not decide the
    # conditions again, because they might not hold with masked values.
    decisions = []
    for condition in plan.conditions:
        decisions.append(
            reasons.ConditionResult(
                condition.written_op,
                True,
                reason(condition, view, masked_view),
            )
        )
    return tuple(decisions)


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
