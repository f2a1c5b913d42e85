# SPDX-License-Identifier: Apache-2.0

"""Conditions that cannot hold together, of one rule or of two.

Only what is plain to see counts: nobody asks whether two regular expressions
have a text in common.
"""

import collections
from collections.abc import Iterable, Iterator
import functools
import itertools
import json
import re
import typing

from ironic_inspection_rules.authoring.checks import checked_rule
from ironic_inspection_rules.authoring.checks import facts
from ironic_inspection_rules.engine import budget
from ironic_inspection_rules.engine import compiler
from ironic_inspection_rules.engine import interpolation
from ironic_inspection_rules.engine import model
from ironic_inspection_rules.engine import path as data_path
from ironic_inspection_rules.engine import plugin
from ironic_inspection_rules.engine import registry
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.rule_file import builtin
from ironic_inspection_rules.rule_file import file_rule

Operation = file_rule.Operation


class Claim:
    """A condition with what it says, found out once for many comparisons."""

    def __init__(self, condition: Operation) -> None:
        self.condition = condition
        self.plugin = condition.op.plugin
        self.loops = condition.loops
        self.inverted = condition.inverted

    @functools.cached_property
    def inner(self) -> list['Claim']:
        """The conditions of a group."""
        return [Claim(each) for each in self.condition.inner]

    @functools.cached_property
    def says(self) -> tuple[str, str]:
        """The condition in a form that is the same if it is."""
        return self.condition.op.name, json.dumps(
            [self.condition.arguments,
             self.condition.written.get('conditions')],
            sort_keys=True, default=str)

    @property
    def identity(self) -> tuple[typing.Any, ...]:
        """All of the condition, the same if it is the same condition."""
        written = self.condition.written
        return (*self.says, self.inverted, json.dumps(written.get('loop')),
                written.get('multiple') or model.MULTIPLE[0])

    @functools.cached_property
    def facts(self) -> list[facts.Fact]:
        """Return what it states of fields."""
        return facts.of(self.condition)

    @functools.cached_property
    def about(self) -> frozenset[typing.Any]:
        """The fields it is about; itself, if it is about none.

        Two claims with nothing in common do not exclude one another.
        """
        return frozenset(name for each in self.condition.all for name in (
            *((field.root, *field.steps) if field.root else field.text
              for field in interpolation.fields(each.arguments)),
            *(fact.field for fact in facts.of(each, looped=True)))) or (
                frozenset([self.says]))


def claims(conditions: Iterable[Operation]) -> list[Claim]:
    """Make conditions ready to be compared with others."""
    return [Claim(each) for each in conditions]


def exclude(some: Iterable[Claim], others: Iterable[Claim]) -> bool:
    """Return whether no machine meets all of the one and all of the others."""
    return any(itertools.starmap(apart, _related(some, others)))


def _related(some: Iterable[Claim], others: Iterable[Claim]
             ) -> Iterator[tuple[Claim, Claim]]:
    """Yield the pairs that are about the same field."""
    by_field = collections.defaultdict(list)
    for other in others:
        for field in other.about:
            by_field[field].append(other)
    for one in some:
        for other in dict.fromkeys(itertools.chain.from_iterable(
                by_field.get(field, ()) for field in one.about)):
            yield one, other


def apart(one: Claim, other: Claim) -> bool:
    """Return whether no machine meets both."""
    for this, that in ((one, other), (other, one)):
        if not isinstance(this.plugin, plugin.Group):
            continue
        if this.loops or this.inverted:
            return False
        if this.plugin.HOLDS == 'none':
            return any(inner.says == that.says
                       and inner.inverted is that.inverted
                       and not inner.loops and not that.loops
                       for inner in this.inner)
        each = (apart(inner, that) for inner in this.inner)
        if this.plugin.HOLDS == 'any':
            return all(each)
        return this.plugin.HOLDS == 'all' and any(each)
    if one.loops or other.loops:
        return False
    if one.says == other.says:
        return one.inverted is not other.inverted
    if any(said.field == also.field and facts.exclude(said, also)
           for said in one.facts for also in other.facts):
        return True
    return _refutes(one, other) or _refutes(other, one)


def _refutes(one: Claim, other: Claim) -> bool:
    """Return whether all values that one asks for do not meet the other."""
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
    ops = registry.Registry({condition.op.name: condition.op.plugin}, {})
    try:
        plan = compiler.compile_rule(model.Rule(
            uuid='', actions=(), conditions=(written,)), ops)
        return plan.conditions[0].check(budget.View()) is False
    except Exception:
        # It is refused or fails each inspection; others tell of that.
        return False


def _fill(written: typing.Any, field: str, value: typing.Any) -> typing.Any:
    return data_path.replace_texts(written, lambda text: value if (
        facts.is_field(text) and facts.field_name(text) == field) else text)


def check(rule: checked_rule.CheckedRule) -> checked_rule.Found:
    """Find conditions that never hold."""
    for condition in rule.conditions:
        if condition.is_constant and _is_false(
                condition, condition.written) or any(
                    one.field == other.field and facts.exclude(one, other)
                    for one, other in itertools.combinations(
                        facts.of(condition), 2)):
            yield condition.pointer, _('this condition never holds')
    made = claims(rule.conditions)
    number = {claim: index for index, claim in enumerate(made)}
    for one, other in _related(made, made):
        if number[one] < number[other] and apart(one, other):
            yield other.condition.pointer, _(
                'this condition never holds beside %s') % builtin.place_name(
                    one.condition.pointer)
