# SPDX-License-Identifier: Apache-2.0

"""Determine which data a rule certainly leaves for later rules.

A rule with the action ``set-attribute`` of ``/extra/rack`` to ``r1`` leaves
``r1`` there on every machine that it matches. So it is known, without a
machine, that the condition ``eq: ["{node.extra.rack}", r2]`` of a later rule
is then false. ``lint`` uses this to compare rules.

An action is certain if it does the same on every machine: it has no fields, no
loop and no conditions. Its writes are certain writes.
"""

from collections.abc import Sequence
import dataclasses
import functools

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.language import action as engine_action
from ironic_inspection_rules.engine.language import compiler
from ironic_inspection_rules.engine.language import effects
from ironic_inspection_rules.engine.language import interpolation
from ironic_inspection_rules.engine.language import model
from ironic_inspection_rules.engine.language import path as data_path
from ironic_inspection_rules.engine.language import registry
from ironic_inspection_rules.engine.run import runner
from ironic_inspection_rules.engine.run import working_copy
from ironic_inspection_rules.kit.authoring.checks import checked_rule
from ironic_inspection_rules.kit.trial import machine_test
from ironic_inspection_rules.rule_file import file_rule


def decides_first(rule: checked_rule.CheckedRule) -> bool:
    """Return whether a rule is decided before any rule of its phase acts.

    The engine decides most rules in their turn, after the actions of earlier
    rules. It decides a whole rule first in two cases: if one of its conditions
    must see the data before any action (``DECIDES_FIRST``), or if one of its
    actions is undone when the rule does not match. Actions are undone before
    any rule acts, so the engine must know by then whether the rule matches.
    """
    # A condition inside a group also counts.
    for condition in list_all_conditions(rule.conditions):
        if condition.op.plugin.DECIDES_FIRST:
            return True
    # The key "revert" or the cleanup value in the action, as it is written in
    # the file, determines whether the action is undone.
    return any(
        engine_action.reverts(action.written, action.op)
        for action in rule.actions
    )


def list_all_conditions(
    conditions: Sequence[file_rule.Operation],
) -> list[file_rule.Operation]:
    """Return conditions, including all conditions inside groups."""
    all_conditions: list[file_rule.Operation] = []
    for condition in conditions:
        all_conditions += condition.all
    return all_conditions


def fails(action: file_rule.Operation) -> bool:
    """Return whether an action fails every inspection that reaches it.

    An example is ``fail`` without a loop and without conditions of its own.
    """
    return not action.loops and not action.inner and action.op.plugin.FAILS


class RuleCondition:
    """A condition of a rule that is decided after many other rules.

    It is compiled once, when it is first decided.
    """

    def __init__(
        self, rule: model.Rule, condition: file_rule.Operation
    ) -> None:
        self._rule = rule
        self._condition = condition

    @functools.cached_property
    def fields(self) -> list[interpolation.Field]:
        """The fields that the condition and the conditions in it read.

        The list is empty if an op reads data that its arguments do not name,
        because its result then depends on more than fields.
        """
        fields: list[interpolation.Field] = []
        for part in self._condition.all:
            if part.op.plugin.NEEDS_VIEW:
                # The op may read any data.
                return []
            fields += effects.fields_of_operation(part)
        return fields

    @functools.cached_property
    def without_defaults(self) -> 'RuleCondition | None':
        """The condition with ``{x}`` in place of ``{x | default(…)}``.

        If ``{x}`` exists, this condition holds whenever the original one does.
        The argument of the filter does not matter then: if it is a missing
        field, the original condition is false.

        It is None if no field has this filter alone, and for a group, a loop,
        or an op that may hold for a missing field.
        """
        condition = self._condition
        op = condition.op.plugin
        if condition.inner or condition.loops:
            return None
        if op.ACCEPTS_MISSING or op.SEES_MISSING:
            return None
        args = data_path.replace_texts(
            condition.written.get('args'), _remove_default
        )
        if args == condition.written.get('args'):
            return None
        shortened = dataclasses.replace(
            condition,
            written={**condition.written, 'args': args},
            arguments=data_path.replace_texts(
                condition.arguments, _remove_default
            ),
        )
        return RuleCondition(self._rule, shortened)

    @functools.cached_property
    def plan(self) -> compiler.CompiledRule | None:
        """A rule with only this condition; None if validation refuses it."""
        plugins = {
            part.op.name: part.op.plugin for part in self._condition.all
        }
        alone = dataclasses.replace(
            self._rule,
            vars={},
            conditions=(self._condition.written,),
            actions=(),
        )
        try:
            return compiler.compile_rule(alone, registry.Registry(plugins, {}))
        except exceptions.InspectionRulesError:
            # Other checks report the condition.
            return None


class Postcondition:
    """The data that a rule leaves on every machine that it matches.

    These are the data that actions without fields, loops and conditions write.
    The engine carries out these actions on a node without data.

    :param rule: the rule.
    :param carried_out: the pointer to an action that counts as carried out
        although it has conditions, because these are assumed to hold; empty if
        there is no such action.
    """

    def __init__(
        self, rule: checked_rule.CheckedRule, carried_out: str = ''
    ) -> None:
        self._rule = rule
        self._carried_out = carried_out

    def decides(self, condition: RuleCondition) -> bool | None:
        """Return the result of a condition of a later rule.

        It is known if the condition reads only data that this rule certainly
        leaves.

        :returns: None if the result depends on the machine, or if the
            condition fails.
        """
        fields = condition.fields
        if not fields or not all(map(self.knows, fields)):
            shortened = condition.without_defaults
            if shortened is not None and self._refutes_shortened(shortened):
                return False
            return None
        return self._check(condition)

    def _check(self, condition: RuleCondition) -> bool | None:
        """Return the result of a condition with the data of this rule.

        :param condition: a condition that reads no other data.
        :returns: None if the condition or this rule is refused or fails.
        """
        if self._target is None or condition.plan is None:
            return None
        view = self._target.view(condition.plan.masked)
        try:
            return condition.plan.conditions[0].check(view)
        except exceptions.InspectionRulesError:
            # Other checks report a condition that fails.
            return None

    def _refutes_shortened(self, shortened: RuleCondition) -> bool:
        """Return whether a condition without its defaults is certainly false.

        Only if its fields exist does it have the result of the condition with
        ``{x | default(…)}``, see :attr:`RuleCondition.without_defaults`.
        """
        target = self._target
        if target is None or self.decides(shortened) is not False:
            return False
        return all(
            target.get(str(field.root), field.steps) is not data_path.ABSENT
            for field in shortened.fields
        )

    def knows(self, field: interpolation.Field) -> bool:
        """Return whether a field certainly reads only data of this rule.

        For example, after ``set-attribute`` of ``/extra/rack`` to ``r1``, the
        value of ``{node.extra.rack}`` is known, but the value of
        ``{node.extra}`` is not.
        """
        is_known = False
        for action in self._rule.actions:
            writes = self._certain_writes.get(action.pointer)
            if writes is None:
                # The value that the action writes depends on the machine. Only
                # a later certain write of the field makes it known again.
                if effects.may_change(action, [field]):
                    is_known = False
            elif any(_writes_all_of(effect, field) for effect in writes):
                # Later certain writes inside the value do not change that.
                is_known = True
        return is_known

    @functools.cached_property
    def _certain_writes(self) -> dict[str, list[effects.Effect]]:
        """The writes of the certain actions, by the pointer to the action."""
        return {
            action.pointer: list(effects.effects(action))
            for action in self._rule.actions
            if self._is_certain(action)
        }

    def _is_certain(self, action: file_rule.Operation) -> bool:
        """Return whether an action does the same on every machine.

        The action has no fields, no loop and no conditions. An action of
        another package is never certain, because its code may do anything.
        """
        if action.inner and action.pointer != self._carried_out:
            return False
        plugin = action.op.plugin
        # An op with NEEDS_VIEW may read any data of the machine.
        if action.loops or plugin.FAILS or plugin.NEEDS_VIEW:
            return False
        return action.op.is_ours and not effects.fields_of_operation(action)

    @functools.cached_property
    def _target(self) -> working_copy.WorkingCopy | None:
        """The node and plugin data that the certain actions leave.

        The engine runs a rule with these actions on a node without data. None
        if this rule is refused or fails.
        """
        plan = self._compile_certain_actions()
        if plan is None:
            return None
        facts = working_copy.Facts(
            inventory={},
            plugin_data={},
            node=dict(machine_test.load_node(None).fields),
        )
        target = working_copy.WorkingCopy(facts)
        if runner.run([plan], target).error is not None:
            return None
        return target

    def _compile_certain_actions(self) -> compiler.CompiledRule | None:
        """Return a rule with only the certain actions; None if refused."""
        operations = []
        plugins = {}
        for action in self._rule.actions:
            if action.pointer in self._certain_writes:
                operation = dict(action.written)
                # Its conditions are assumed to hold.
                operation.pop('when', None)
                operations.append(operation)
                plugins[action.op.name] = action.op.plugin
        alone = dataclasses.replace(
            self._rule.rule,
            scope=None,
            vars={},
            conditions=(),
            actions=tuple(operations),
        )
        try:
            return compiler.compile_rule(alone, registry.Registry({}, plugins))
        except exceptions.InspectionRulesError:
            return None


def _remove_default(text: str) -> str:
    """Return ``{x}`` for ``{x | default(…)}``, and other texts unchanged."""
    field = interpolation.sole_field(text)
    if field is None or len(field.filters) != 1:
        return text
    (call,) = field.filters
    if call.name != 'default' or len(call.arguments) > 1:
        # A second argument makes the filter replace empty values too.
        return text
    plain = field.text.partition('|')[0].rstrip()
    return f'{{{plain}}}'


def _writes_all_of(effect: effects.Effect, field: interpolation.Field) -> bool:
    """Return whether a write sets everything that a field reads.

    A write at ``/extra`` sets all of ``{node.extra.rack}``. A write at
    ``/extra/racks/0`` is not counted, because the written item depends on the
    list.
    """
    if effect.kind not in ('node', 'plugin_data') or effect.extends:
        return False
    if any(step.isdigit() for step in effect.place):
        return False
    if interpolation.fields(list(effect.place)) or field.root != effect.root:
        return False
    return field.steps[: len(effect.place)] == effect.place
