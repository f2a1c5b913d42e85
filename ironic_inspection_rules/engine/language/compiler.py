# SPDX-License-Identifier: Apache-2.0

"""Compiles rules to plans that are applied to machines.

Templates are parsed, regexes compiled, networks read and arguments bound
once; applying a plan to a machine parses nothing.
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

    ``masked``: secrets are hidden from it. ``unexplained``: traces give no
    reasons for its conditions. ``audited``: what it would do is recorded, not
    done. ``decides_first``: its conditions are checked before the first
    action of any rule. ``reads_previous``: it may read the data of the
    previous inspection. ``scope`` is that of the rule, for fast access.
    ``vars``: names with values, or with templates of values that depend on
    the data. ``tables``: as the rule sees them, None if it reads none.
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
    """Compile a rule that passed validation, to apply it to any machines.

    :param ops: the conditions and actions that are installed.
    :param mask_secrets: when the secrets of a machine are masked: ``always``,
        ``sensitive`` (unless the rule is sensitive) or ``never``.
    :param explained: whether traces may give the reasons of its conditions.
    :param tables: the tables of the rule set, which are not copied.
    :raises: :class:`.exceptions.InvalidRule`, or
        :class:`.exceptions.OperationError` if an argument is not usable, or
        :class:`.exceptions.UnknownOp`.
    """
    conditions = _compile_conditions(rule.conditions, ops)
    actions = tuple(
        _compile_action(operation, ops, rule.vars)
        for operation in rule.actions
    )
    compiled_vars = []
    for name, value in rule.vars.items():
        compiled_vars.append((name, template.compile_value(value)))
    # What a rule did in an earlier inspection is undone before any rule acts,
    # if it no longer matches: whether it matches must be decided by then.
    can_be_undone = any(action.reverts for action in actions)
    decides_first = any(condition.decides_first for condition in conditions)
    gives_reasons = explained and disclosure.gives_reasons(rule)
    # Only searched for the names of roots: a rule that has such a word in
    # other text gets the tables for nothing.
    written = [rule.conditions, rule.actions, rule.vars]
    tables_of_rule = None
    if effects.mentions(interpolation.TABLES, written):
        # Unless the rule is sensitive, secret columns are masked in these.
        tables_of_rule = disclosure.tables(rule, tables)
    return CompiledRule(
        rule=rule,
        masked=disclosure.hides_secrets(rule, mask_secrets),
        unexplained=not gives_reasons,
        audited=rule.mode == model.AUDIT,
        conditions=conditions,
        actions=actions,
        decides_first=decides_first or can_be_undone,
        reads_previous=effects.mentions('previous', written),
        scope=rule.scope,
        vars=tuple(compiled_vars),
        tables=tables_of_rule,
    )


def _compile_action(
    operation: Operation,
    ops: registry.Registry,
    own_vars: typing.Mapping[str, typing.Any],
) -> engine_action.CompiledAction:
    """Compile an action, with its conditions in ``when``.

    These are checked for every item of the action's loop.

    :param own_vars: the ``vars`` of its rule as they are written.
    """
    loop = engine_loop.Loop.of(operation.get('loop'))
    when = _compile_conditions(operation.get('when') or (), ops, loop)
    return engine_action.CompiledAction(operation, ops, when, own_vars)


def _compile_conditions(
    operations: typing.Iterable[Operation],
    ops: registry.Registry,
    outer: engine_loop.Loop | None = None,
) -> tuple[engine_condition.CompiledCondition, ...]:
    """Compile conditions.

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
    """Compile a condition: a single call, or a group with its parts.

    A condition with a loop is wrapped, to be checked for all items.

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
        condition = single_condition.Single(op, operation, inverted, loop)
    if operation.get('loop') is not None:
        condition = engine_condition.Looped(condition)
    return condition
