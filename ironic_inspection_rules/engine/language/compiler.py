# SPDX-License-Identifier: Apache-2.0

"""Compiles rules into plans that can be applied to machines.

Templates, regexes, networks and arguments are processed only once, here,
because a plan is applied to many machines.
"""

import dataclasses
import types
import typing

from ironic_inspection_rules.engine.language import action as engine_action
from ironic_inspection_rules.engine.language import (
    condition as engine_condition,  # noqa: H301
)
from ironic_inspection_rules.engine.language import effects
from ironic_inspection_rules.engine.language import interpolation
from ironic_inspection_rules.engine.language import loop as engine_loop
from ironic_inspection_rules.engine.language import model
from ironic_inspection_rules.engine.language import plugin
from ironic_inspection_rules.engine.language import registry
from ironic_inspection_rules.engine.language import single_condition
from ironic_inspection_rules.engine.language import table
from ironic_inspection_rules.engine.language import template
from ironic_inspection_rules.engine.language.secrecy import disclosure

Operation = engine_condition.Operation


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class CompiledRule:
    """A rule that is ready to be applied to machines, compared by identity.

    ``masked``: secrets are hidden from the rule. ``unexplained``: traces give
    no reasons for its conditions. ``audited``: its actions are only recorded
    and change nothing. ``decides_first``: its conditions are checked before
    the first action of any rule. ``reads_previous``: the rule may read the
    data of the previous inspection. ``scope``: a copy of the rule's scope,
    for fast access. ``vars``: pairs of a name and a value, or a template if
    the value depends on the data. ``tables``: the tables as the rule sees
    them; None if it reads none.
    """

    rule: model.Rule
    masked: bool
    unexplained: bool
    audited: bool
    conditions: tuple[engine_condition.CompiledCondition, ...]
    actions: tuple[engine_action.CompiledAction, ...]
    decides_first: bool
    reads_previous: bool
    scope: str | None = None
    vars: tuple[tuple[str, typing.Any], ...] = ()
    tables: table.Tables | None = None


def compile_rule(
    rule: model.Rule,
    ops: registry.Registry,
    mask_secrets: str = 'always',
    explained: bool = True,
    tables: table.Tables = types.MappingProxyType({}),
) -> CompiledRule:
    """Compile a rule that has passed validation into a plan.

    :param ops: the installed conditions and actions.
    :param mask_secrets: when the secrets of a machine are masked: ``always``,
        ``sensitive`` (unless the rule is sensitive) or ``never``.
    :param explained: whether traces may give reasons for its conditions.
    :param tables: the tables of the rule set. They are not copied.
    :raises: :class:`.exceptions.InvalidRule`, or
        :class:`.exceptions.OperationError` if an argument is not usable, or
        :class:`.exceptions.UnknownOp`.
    """
    conditions = _compile_conditions(rule.conditions, ops)
    actions = []
    for operation in rule.actions:
        # The conditions in "when" are checked for every item of the action's
        # loop.
        loop = engine_loop.Loop.of(operation.get('loop'))
        when = _compile_conditions(operation.get('when') or (), ops, loop)
        actions.append(
            engine_action.CompiledAction(operation, ops, when, rule.vars)
        )
    compiled_vars = []
    for name, value in rule.vars.items():
        compiled_vars.append((name, template.compile_value(value)))
    # If a rule no longer matches, the changes that it made in an earlier
    # inspection are undone before any rule acts. Therefore its conditions
    # must be checked before that.
    can_be_undone = any(action.reverts for action in actions)
    decides_first = any(condition.decides_first for condition in conditions)
    gives_reasons = explained and disclosure.gives_reasons(rule)
    # Only search the text of the rule for the word "tables" here, which is
    # fast. A rule with this word in other text gets tables but uses none.
    written = [rule.conditions, rule.actions, rule.vars]
    tables_of_rule = None
    if effects.mentions(interpolation.TABLES, written):
        # Secret columns are masked in these unless the rule is sensitive.
        tables_of_rule = disclosure.mask_tables(rule, tables)
    return CompiledRule(
        rule=rule,
        masked=disclosure.hides_secrets(rule, mask_secrets),
        unexplained=not gives_reasons,
        audited=rule.mode == model.AUDIT,
        conditions=conditions,
        actions=tuple(actions),
        decides_first=decides_first or can_be_undone,
        reads_previous=effects.mentions('previous', written),
        scope=rule.scope,
        vars=tuple(compiled_vars),
        tables=tables_of_rule,
    )


def _compile_conditions(
    operations: typing.Iterable[Operation],
    ops: registry.Registry,
    outer: engine_loop.Loop | None = None,
) -> tuple[engine_condition.CompiledCondition, ...]:
    """Compile a list of conditions.

    :param outer: the loop of the group or action around the conditions.
    """
    return tuple(
        _compile_condition(operation, ops, outer) for operation in operations
    )


def _compile_condition(
    operation: Operation,
    ops: registry.Registry,
    outer: engine_loop.Loop | None,
) -> engine_condition.CompiledCondition:
    """Compile a single condition, or a group with all its conditions.

    A condition with a loop is wrapped so that it is checked for its items.

    :param operation: the condition as its author wrote it.
    :param ops: the installed conditions and actions.
    :param outer: the loop of the group or action around the condition.
    """
    name, inverted = model.split_op(operation['op'])
    op = ops.condition(name)
    loop = engine_loop.Loop.of(operation.get('loop'), outer)
    condition: engine_condition.CompiledCondition
    if isinstance(op.plugin, plugin.ConditionGroup):
        parts = _compile_conditions(operation['conditions'], ops, loop)
        condition = engine_condition.CompoundCondition(
            op, operation, inverted, parts
        )
    else:
        condition = single_condition.SingleCondition(
            op, operation, inverted, loop
        )
    if operation.get('loop') is not None:
        condition = engine_condition.LoopedCondition(condition)
    return condition
