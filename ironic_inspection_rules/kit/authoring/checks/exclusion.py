# SPDX-License-Identifier: Apache-2.0

"""Conditions that cannot hold together, of one rule or of two.

Only clear cases are found: whether two regular expressions have a text in
common is not asked.
"""

import collections
from collections.abc import Iterable
import functools
import itertools
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
    """A condition with what it states, kept for many comparisons."""

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
        """The op and its arguments in one form, equal if they are.

        Two values may stand on either side: ``lt`` of them is ``gt`` of them
        the other way round.
        """
        name, arguments = self.condition.op.name, self.condition.arguments
        turned = facts.from_the_right(name)
        compared = arguments.get('values')
        if turned and isinstance(compared, list) and len(compared) == 2:
            ways = [(name, compared), (turned, compared[::-1])]
            name, compared = min(ways, key=_as_text)
            arguments = {**arguments, 'values': compared}
        return name, _as_text([arguments,
                               self.condition.written.get('conditions')])

    @property
    def identity(self) -> tuple[typing.Any, ...]:
        """The whole condition in one form, equal for equal conditions."""
        written = self.condition.written
        return (*self.says, self.inverted, json.dumps(written.get('loop')),
                written.get('multiple') or model.MULTIPLE[0])

    @functools.cached_property
    def facts(self) -> list[facts.Fact]:
        """Return what it states of fields."""
        return facts.of(self.condition)

    @functools.cached_property
    def about(self) -> frozenset[typing.Any]:
        """The fields that it reads; without any, the condition itself.

        Claims about different fields do not exclude one another.
        """
        return frozenset(name for each in self.condition.all for name in (
            *((field.root, *field.steps) if field.root else field.text
              for field in interpolation.fields(each.arguments)),
            *(fact.field for fact in facts.of(each, looped=True)))) or (
                frozenset([self.says]))


def _as_text(value: typing.Any) -> str:
    return json.dumps(value, sort_keys=True, default=str)


def exclude(some: Iterable[Claim], others: Iterable[Claim]) -> bool:
    """Return whether no machine can meet all conditions of both lists.

    Only conditions on the same field are compared.
    """
    by_field = collections.defaultdict(list)
    for other in others:
        for field in other.about:
            by_field[field].append(other)
    return any(apart(one, other) for one in some
               for other in dict.fromkeys(itertools.chain.from_iterable(
                   by_field.get(field, ()) for field in one.about)))


def apart(one: Claim, other: Claim) -> bool:
    """Return whether no machine meets both."""
    for this, that in ((one, other), (other, one)):
        group = this.condition.op.plugin
        if not isinstance(group, plugin.Group):
            continue
        if this.loops or this.inverted:
            return False
        if group.HOLDS == 'none':
            return any(inner.says == that.says
                       and inner.inverted is that.inverted
                       and not inner.loops and not that.loops
                       for inner in this.inner)
        each = (apart(inner, that) for inner in this.inner)
        if group.HOLDS == 'any':
            return all(each)
        return group.HOLDS == 'all' and any(each)
    if one.loops or other.loops:
        return False
    if one.says == other.says:
        return one.inverted is not other.inverted
    if any(said.field == also.field and facts.exclude(said, also)
           for said in one.facts for also in other.facts):
        return True
    return _refutes(one, other) or _refutes(other, one)


def _refutes(one: Claim, other: Claim) -> bool:
    """Return whether no value that one asks for meets the other."""
    condition = other.condition
    given = condition.arguments
    for said in () if condition.op.plugin.NEEDS_VIEW else one.facts:
        few = facts.values(said)
        # There are many ways to write a number, and none for what is missing.
        if few is None or any(
                value is None or facts.number(value) is not None
                or isinstance(value, str) and re.search('[{}]', value)
                for value in few):
            continue
        filled = [_fill(given, said.field, value) for value in few]
        if all(args != given and not interpolation.fields(args)
               and _is_false(condition, {**condition.written, 'args': args})
               for args in filled):
            return True
    return False


def _is_false(condition: Operation,
              written: typing.Mapping[str, typing.Any]) -> bool:
    """Return whether a condition is false without any data."""
    return result(condition, written) is False


def result(condition: Operation,
           written: typing.Mapping[str, typing.Any]) -> bool | None:
    """Return what a condition is without any data, None if it fails."""
    ops = registry.Registry({condition.op.name: condition.op.plugin}, {})
    try:
        plan = compiler.compile_rule(model.Rule(
            uuid='', actions=(), conditions=(written,)), ops)
        return plan.conditions[0].check(budget.View())
    except exceptions.InspectionRulesError:
        # It is refused or fails each inspection, which other checks find.
        return None


def _fill(written: typing.Any, field: str, value: typing.Any) -> typing.Any:
    return data_path.replace_texts(written, lambda text: value if (
        facts.is_field(text) and facts.field_name(text) == field) else text)
