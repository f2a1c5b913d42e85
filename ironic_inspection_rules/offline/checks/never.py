# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""Conditions that no machine meets, alone or beside each other."""

import itertools
import json
import math
import typing

from ironic_inspection_rules.conditions import comparison
from ironic_inspection_rules.engine import compiler
from ironic_inspection_rules.engine import interpolation
from ironic_inspection_rules.engine import model
from ironic_inspection_rules.engine import path as data_path
from ironic_inspection_rules.engine import registry
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.legacy import condition as old_condition
from ironic_inspection_rules.legacy import field as old_field
from ironic_inspection_rules.offline import rulefile
from ironic_inspection_rules.offline.checks import subject

_OPPOSITES = {'lt': 'ge', 'ge': 'lt', 'gt': 'le', 'le': 'gt',
              'eq': 'ne', 'ne': 'eq'}
_FROM_THE_RIGHT = {'lt': 'gt', 'gt': 'lt', 'le': 'ge', 'ge': 'le',
                   'eq': 'eq', 'ne': 'ne'}
_EXCLUSIVE = {frozenset(pair) for pair in (
    ('is-true', 'is-false'), ('is-true', 'is-none'), ('is-true', 'is-empty'),
    ('is-none', '!is-empty'), ('is-none', '!is-false'))}


class Fact(typing.NamedTuple):
    """What a condition says of one field: its ``op``, its other value."""

    field: str
    op: str
    value: typing.Any = None


def check(rule: subject.Subject) -> subject.Found:
    """Find conditions that never hold."""
    for condition in rule.conditions:
        if condition.is_constant and not _holds(condition):
            yield condition.pointer, _('this condition never holds')
    facts = [(condition, fact) for condition in rule.conditions
             for fact in [_fact(condition)] if fact]
    for (one, said), (other, also) in itertools.combinations(facts, 2):
        if said.field == also.field and _exclude(said, also):
            yield other.pointer, _('this condition never holds beside the '
                                   'one at %s') % one.pointer


def _holds(condition: rulefile.Operation) -> bool:
    """Check a condition that is the same for all machines."""
    ops = registry.Registry({condition.op.name: condition.op.plugin}, {})
    plan = compiler.compile_rule(
        model.Rule('', (), conditions=(condition.written,)), ops)
    try:
        return plan.conditions[0].check({})
    except Exception:
        # It fails each inspection, which is not what this check is for.
        return True


def _fact(condition: rulefile.Operation) -> Fact | None:
    """Return what a condition says of one field, if it does only that."""
    if condition.loops:
        return None
    if isinstance(condition.op.plugin, old_condition.FieldCondition):
        return _old_fact(condition)
    if isinstance(condition.op.plugin, comparison.Comparison):
        return _comparison(condition)
    sign = '!' if condition.inverted else ''
    values = [*condition.arguments.values()]
    if len(values) == 1 and _is_field(values[0]):
        return Fact(values[0], sign + condition.op.name)
    return None


def _comparison(condition: rulefile.Operation) -> Fact | None:
    values = condition.arguments.get('values')
    op = condition.op.name
    if condition.inverted:
        op = _OPPOSITES[op]
    if not isinstance(values, list) or len(values) != 2 or (
            condition.arguments.get('force_strings')):
        return None
    if _is_field(values[1]):
        values, op = values[::-1], _FROM_THE_RIGHT[op]
    if _is_field(values[0]) and not interpolation.fields(values[1]):
        return Fact(values[0], op, values[1])
    return None


def _old_fact(condition: rulefile.Operation) -> Fact | None:
    arguments = condition.arguments
    steps = old_field.steps(arguments['field'])
    if not steps or old_field.ANY in steps:
        return None
    op = condition.op.name.removeprefix('inspector-')
    inverted = bool(arguments['invert']) is not condition.inverted
    if op in _OPPOSITES:
        op = _OPPOSITES[op] if inverted else op
    elif op == 'is-empty':
        op = f'!{op}' if inverted else op
    else:
        return None
    scheme, _path = old_field.split(arguments['field'])
    return Fact(data_path.pointer([scheme, *steps]), op,
                arguments.get('value'))


def _is_field(value: typing.Any) -> bool:
    """Tell whether a value is exactly one replacement field."""
    if not isinstance(value, str):
        return False
    pieces = interpolation.parse(value)
    return len(pieces) == 1 and isinstance(pieces[0], interpolation.Field)


def _exclude(one: Fact, other: Fact) -> bool:
    """Tell whether no value of a field can be as both facts say."""
    if one.op.removeprefix('!') == other.op.removeprefix('!') and (
            one.op != other.op):
        return True
    if frozenset((one.op, other.op)) in _EXCLUSIVE:
        return True
    if one.op not in _OPPOSITES or other.op not in _OPPOSITES:
        return False
    if {one.op, other.op} == {'eq', 'ne'}:
        return _same(one.value, other.value)
    if all(map(_is_number, (one.value, other.value))):
        return not _overlap(one, other)
    return one.op == other.op == 'eq' and all(
        isinstance(fact.value, str)
        and comparison.as_number(fact.value) is None
        for fact in (one, other)) and one.value != other.value


def _same(one: typing.Any, other: typing.Any) -> bool:
    return json.dumps(one, sort_keys=True) == json.dumps(other,
                                                         sort_keys=True)


def _is_number(value: typing.Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _overlap(one: Fact, other: Fact) -> bool:
    """Tell whether some number is as both facts say."""
    (low, high), (other_low, other_high) = map(_interval, (one, other))
    return max(low, other_low) <= min(high, other_high)


def _interval(fact: Fact) -> tuple[tuple[float, int], tuple[float, int]]:
    """Return both ends of the numbers that are as a fact says.

    Each is a number and whether it is itself left out, by a step to the
    inside.
    """
    number = fact.value
    ends = {'lt': ((-math.inf, 0), (number, -1)),
            'le': ((-math.inf, 0), (number, 0)),
            'gt': ((number, 1), (math.inf, 0)),
            'ge': ((number, 0), (math.inf, 0)),
            'eq': ((number, 0), (number, 0))}
    return ends.get(fact.op, ((-math.inf, 0), (math.inf, 0)))
