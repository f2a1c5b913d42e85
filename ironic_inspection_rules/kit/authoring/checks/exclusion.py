# SPDX-License-Identifier: Apache-2.0

"""Conditions that cannot hold together, of one rule or of two, for lint.

Only clear cases are found: whether two regular expressions have a text in
common is not asked.
"""

import collections
from collections.abc import Iterable
import functools
import json
import re
import typing

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.language import budget
from ironic_inspection_rules.engine.language import compiler
from ironic_inspection_rules.engine.language import interpolation
from ironic_inspection_rules.engine.language import model
from ironic_inspection_rules.engine.language import path as data_path
from ironic_inspection_rules.engine.language import plugin
from ironic_inspection_rules.engine.language import registry
from ironic_inspection_rules.kit.authoring.checks import facts
from ironic_inspection_rules.rule_file import file_rule

Operation = file_rule.Operation


class Claim:
    """A condition with its facts, computed once for many comparisons.

    Claims are equal if their conditions mean the same, such as ``a < b`` and
    ``b > a``.
    """

    def __init__(self, condition: Operation) -> None:
        self.condition = condition
        self.loops = condition.loops
        self.inverted = condition.inverted

    @functools.cached_property
    def inner(self) -> list['Claim']:
        """The conditions of a group."""
        return list(map(Claim, self.condition.inner))

    @functools.cached_property
    def says(self) -> tuple[str, str]:
        """The op of the condition, and its arguments as text.

        Conditions in a group are part of the text. Claims that are equal but
        for inversion, loop and ``multiple`` say the same.
        """
        name = self.condition.op.name
        arguments = self.condition.arguments
        # "lt" with its sides exchanged is "gt"; None for ops without sides.
        turned_name = facts.from_the_right(name)
        compared = arguments.get('values')
        if turned_name and isinstance(compared, list) and len(compared) == 2:
            # "a < b" and "b > a" say the same: the form that sorts first is
            # taken for both.
            as_written = (name, compared)
            turned = (turned_name, compared[::-1])
            name, compared = min(as_written, turned, key=_as_text)
            arguments = {**arguments, 'values': compared}
        inner = self.condition.written.get('conditions')
        return name, _as_text([arguments, inner])

    @functools.cached_property
    def _form(self) -> tuple[typing.Any, ...]:
        """The whole condition in a form that can be compared."""
        written = self.condition.written
        return (
            *self.says,
            self.inverted,
            json.dumps(written.get('loop')),
            written.get('multiple') or model.MULTIPLE[0],
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Claim):
            return NotImplemented
        return self._form == other._form

    def __hash__(self) -> int:
        return hash(self._form)

    @functools.cached_property
    def facts(self) -> list[facts.Fact]:
        """The facts about fields that the condition states."""
        return facts.of(self.condition)

    @functools.cached_property
    def about(self) -> frozenset[typing.Any]:
        """The fields that the condition reads; without any, what it says.

        Claims about different fields do not exclude one another.
        """
        names: set[typing.Any] = set()
        for condition in self.condition.all:
            for field in interpolation.fields(condition.arguments):
                if field.root:
                    names.add((field.root, *field.steps))
                else:
                    names.add(field.text)
            for fact in facts.of(condition, looped=True):
                names.add(fact.field)
        if not names:
            names.add(self.says)
        return frozenset(names)


def _as_text(value: typing.Any) -> str:
    return json.dumps(value, sort_keys=True, default=str)


def exclude(some: Iterable[Claim], others: Iterable[Claim]) -> bool:
    """Return whether clearly no machine can meet all conditions of two lists.

    Only pairs of conditions on the same field are compared: False does not
    mean that there is such a machine.
    """
    by_field = collections.defaultdict(set)
    for other in others:
        for field in other.about:
            by_field[field].add(other)
    for claim in some:
        on_same_fields: set[Claim] = set()
        for field in claim.about:
            on_same_fields |= by_field.get(field, set())
        if any(apart(claim, other) for other in on_same_fields):
            return True
    return False


def apart(first: Claim, second: Claim) -> bool:
    """Return whether clearly no machine meets both conditions.

    Such as ``lt: ["{inventory.cpu.count}", 4]`` and ``gt`` of the same.
    """
    for claim, counterpart in ((first, second), (second, first)):
        op = claim.condition.op.plugin
        if isinstance(op, plugin.ConditionGroup):
            return _is_group_apart(claim, op.HOLDS, counterpart)
    if first.loops or second.loops:
        # The two conditions may hold for different items.
        return False
    if first.says == second.says:
        return first.inverted is not second.inverted
    if facts.contradict(first.facts, second.facts):
        return True
    return _refutes(first, second) or _refutes(second, first)


def _is_group_apart(group: Claim, holds: str, other: Claim) -> bool:
    """Return whether clearly no machine meets a group and another condition.

    :param holds: ``all``, ``any`` or ``none``: how many conditions of the
        group must hold.
    """
    if group.loops or group.inverted:
        # Only clear cases are wanted.
        return False
    if holds == 'none':
        return any(_is_same(inner, other) for inner in group.inner)
    if holds == 'any':
        return all(apart(inner, other) for inner in group.inner)
    if holds == 'all':
        return any(apart(inner, other) for inner in group.inner)
    # The group of another package decides by itself.
    return False


def _is_same(one: Claim, other: Claim) -> bool:
    """Return whether two conditions outside of loops say the same."""
    if one.loops or other.loops:
        return False
    return one.says == other.says and one.inverted is other.inverted


def _refutes(claim: Claim, other: Claim) -> bool:
    """Return whether a condition allows only values that another refuses.

    The values that ``one-of`` allows, for example, are filled into the other
    condition, which is then decided without a machine: beside ``one-of: [Dell,
    HP]``, ``matches: Lenovo`` is false for both values.
    """
    condition = other.condition
    if condition.op.plugin.NEEDS_VIEW:
        # The op reads data of a machine.
        return False
    for fact in claim.facts:
        allowed = facts.values(fact)
        if allowed is None or not all(map(_has_one_form, allowed)):
            # The values cannot be listed, or cannot be filled in.
            continue
        if all(
            _is_false_for(condition, fact.field, value) for value in allowed
        ):
            return True
    return False


def _has_one_form(value: typing.Any) -> bool:
    """Return whether a value can be filled into a condition as it is."""
    if value is None or facts.number(value) is not None:
        # Null also means a missing field, and data may have the number 5 as
        # the text "5.0".
        return False
    # Braces would be read as a field.
    has_braces = isinstance(value, str) and re.search('[{}]', value)
    return not has_braces


def _is_false_for(condition: Operation, field: str, value: typing.Any) -> bool:
    """Return whether a condition is false where its only field has a value.

    :returns: False as well if the condition does not read the field, or reads
        other fields.
    """
    args = _fill_in_value(condition.arguments, field, value)
    if args == condition.arguments or interpolation.fields(args):
        return False
    return result(condition, {**condition.written, 'args': args}) is False


def result(
    condition: Operation, written: typing.Mapping[str, typing.Any]
) -> bool | None:
    """Return the result of a condition without any data, None if it fails.

    :param condition: the condition whose op decides.
    :param written: the same condition, mostly with values in place of fields.
    """
    ops = registry.Registry({condition.op.name: condition.op.plugin}, {})
    rule = model.Rule(uuid='', actions=(), conditions=(written,))
    try:
        plan = compiler.compile_rule(rule, ops)
        return plan.conditions[0].check(budget.View())
    except exceptions.InspectionRulesError:
        # Other checks find a condition that is refused or fails.
        return None


def _fill_in_value(
    arguments: typing.Any, field: str, value: typing.Any
) -> typing.Any:
    """Return arguments with a value in place of a field."""

    def fill_in_text(text: str) -> typing.Any:
        if facts.is_field(text) and facts.field_name(text) == field:
            return value
        return text

    return data_path.replace_texts(arguments, fill_in_text)
