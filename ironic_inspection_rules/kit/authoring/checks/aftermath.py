# SPDX-License-Identifier: Apache-2.0

"""What one rule leaves for the rules behind it, as far as that is certain."""

from collections.abc import Sequence
import dataclasses
import functools

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.language import action as engine_action
from ironic_inspection_rules.engine.language import compiler
from ironic_inspection_rules.engine.language import effects
from ironic_inspection_rules.engine.language import interpolation
from ironic_inspection_rules.engine.language import model
from ironic_inspection_rules.engine.language import registry
from ironic_inspection_rules.engine.run import runner
from ironic_inspection_rules.engine.run import working_copy
from ironic_inspection_rules.kit.authoring.checks import checked_rule
from ironic_inspection_rules.kit.trial import machine_test
from ironic_inspection_rules.rule_file import file_rule


def decides_first(subject: checked_rule.CheckedRule) -> bool:
    """Return whether a rule is decided before any rule of its phase acts."""
    for condition in with_inner(subject.conditions):
        if condition.op.plugin.DECIDES_FIRST:
            return True
    return any(
        engine_action.reverts(action.written, action.op)
        for action in subject.actions
    )


def with_inner(
    conditions: Sequence[file_rule.Operation],
) -> list[file_rule.Operation]:
    """Return conditions with those in groups."""
    all_conditions: list[file_rule.Operation] = []
    for condition in conditions:
        all_conditions += condition.all
    return all_conditions


def fails(action: file_rule.Operation) -> bool:
    """Return whether an action fails all inspections that get to it."""
    return not action.loops and not action.inner and action.op.plugin.FAILS


class RuleCondition:
    """A condition of a rule that may come behind many others.

    It is compiled once, when it is first decided.

    :param rule: the rule that it is of.
    :param condition: the condition.
    """

    def __init__(
        self, rule: model.Rule, condition: file_rule.Operation
    ) -> None:
        self._rule = rule
        self._condition = condition

    @functools.cached_property
    def fields(self) -> list[interpolation.Field]:
        """The fields that it reads; none if an op may read any data."""
        fields: list[interpolation.Field] = []
        for part in self._condition.all:
            if part.op.plugin.NEEDS_VIEW:
                return []
            fields += effects.read_by(part)
        return fields

    @functools.cached_property
    def plan(self) -> compiler.CompiledRule | None:
        """A rule of this condition alone; None if it is refused."""
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
            # Other checks say so.
            return None


class Aftermath:
    """The data that a rule leaves on a machine whose conditions it has met.

    Only what the rule certainly writes itself is known, whatever the machine
    had before: what actions without fields, loops and conditions write. They
    are carried out by the engine, on a node without data.

    :param subject: the rule.
    :param carried_out: an action that is carried out although it has
        conditions, by its pointer; empty for none.
    """

    def __init__(
        self, subject: checked_rule.CheckedRule, carried_out: str = ''
    ) -> None:
        self._subject = subject
        self._carried_out = carried_out

    def decides(self, condition: RuleCondition) -> bool | None:
        """Return the result of a condition of a later rule.

        :returns: None where it depends on the machine.
        """
        fields = condition.fields
        if not fields or not all(map(self._knows, fields)):
            return None
        if self._target is None or condition.plan is None:
            return None
        view = self._target.view(condition.plan.masked)
        try:
            return condition.plan.conditions[0].check(view)
        except exceptions.InspectionRulesError:
            # It fails each inspection, which other checks find.
            return None

    def _knows(self, field: interpolation.Field) -> bool:
        """Return whether a field is certain to read only what the rule wrote.

        It is not where an action that depends on the machine, such as one in
        a loop, may have changed it last.
        """
        known = False
        for action in self._subject.actions:
            if not self._is_certain(action):
                known = known and not effects.may_change(action, [field])
                continue
            for effect in effects.effects(action):
                # What is written inside of a known value is known as well.
                known = known or _covers(effect, field)
        return known

    def _is_certain(self, action: file_rule.Operation) -> bool:
        """Return whether an action is carried out alike on each machine."""
        if action.inner and action.pointer != self._carried_out:
            return False
        plugin = action.op.plugin
        if action.loops or plugin.FAILS or plugin.NEEDS_VIEW:
            return False
        return action.op.is_ours and not effects.read_by(action)

    @functools.cached_property
    def _target(self) -> working_copy.WorkingCopy | None:
        """The data that the certain actions leave, None after an error."""
        operations = []
        plugins = {}
        for action in self._subject.actions:
            if self._is_certain(action):
                operation = dict(action.written)
                operation.pop('when', None)
                operations.append(operation)
                plugins[action.op.name] = action.op.plugin
        facts = working_copy.Facts(
            inventory={},
            plugin_data={},
            node=dict(machine_test.load_node(None).fields),
        )
        target = working_copy.WorkingCopy(facts)
        alone = dataclasses.replace(
            self._subject.rule,
            scope=None,
            vars={},
            conditions=(),
            actions=tuple(operations),
        )
        try:
            plan = compiler.compile_rule(alone, registry.Registry({}, plugins))
        except exceptions.InspectionRulesError:
            return None
        if runner.run([plan], target).error is not None:
            return None
        return target


def _covers(effect: effects.Effect, field: interpolation.Field) -> bool:
    """Return whether a write leaves all that a field reads.

    An index is left out: where an item ends up depends on the list.
    """
    if effect.kind not in ('node', 'plugin_data') or effect.extends:
        return False
    if any(step.isdigit() for step in effect.place):
        return False
    if interpolation.fields(list(effect.place)) or field.root != effect.root:
        return False
    return field.steps[: len(effect.place)] == effect.place
