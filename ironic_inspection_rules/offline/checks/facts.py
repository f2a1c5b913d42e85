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

"""What a condition says of one field, and what excludes what."""

import itertools
import json
import math
import typing

from ironic_inspection_rules.conditions import comparison
from ironic_inspection_rules.engine import interpolation
from ironic_inspection_rules.engine import path as data_path
from ironic_inspection_rules.legacy import condition as old_condition
from ironic_inspection_rules.legacy import field as old_field
from ironic_inspection_rules.offline import rulefile

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


def fact(condition: rulefile.Operation) -> Fact | None:
    """Return what a condition says of one field, if it does only that."""
    if condition.loops:
        return None
    if isinstance(condition.op.plugin, old_condition.FieldCondition):
        return _old_fact(condition)
    if isinstance(condition.op.plugin, comparison.Comparison):
        return _comparison(condition)
    sign = '!' if condition.inverted else ''
    values = [*condition.arguments.values()]
    if len(values) == 1 and is_field(values[0]):
        return Fact(field_name(values[0]), sign + condition.op.name)
    return None


def all_of(condition: rulefile.Operation) -> list[Fact]:
    """Return what a condition says of fields, each of them."""
    values = condition.arguments.get('values')
    if isinstance(condition.op.plugin, comparison.Comparison) and (
            isinstance(values, list) and len(values) > 2
            and not (condition.loops or condition.inverted
                     or condition.arguments.get('force_strings'))):
        found = [_of_pair(condition.op.name, list(pair))
                 for pair in itertools.pairwise(values)]
    else:
        found = [fact(condition)]
    return [each for each in found if each is not None]


def _comparison(condition: rulefile.Operation) -> Fact | None:
    values = condition.arguments.get('values')
    op = condition.op.name
    if condition.inverted:
        op = _OPPOSITES[op]
    if not isinstance(values, list) or len(values) != 2 or (
            condition.arguments.get('force_strings')):
        return None
    return _of_pair(op, values)


def _of_pair(op: str, values: list[typing.Any]) -> Fact | None:
    """Return what holds between two values, if one is a field."""
    if is_field(values[1]):
        values, op = values[::-1], _FROM_THE_RIGHT[op]
    if is_field(values[0]) and not interpolation.fields(values[1]):
        return Fact(field_name(values[0]), op, values[1])
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


def is_field(value: typing.Any) -> typing.TypeGuard[str]:
    """Tell whether a value is exactly one replacement field."""
    if not isinstance(value, str):
        return False
    pieces = interpolation.parse(value)
    return len(pieces) == 1 and isinstance(pieces[0], interpolation.Field)


def field_name(text: str) -> str:
    """Return what is the same for all ways to write one field."""
    field, = interpolation.fields(text)
    if not field.is_plain or field.root is None:
        return text
    return data_path.pointer([field.root, *field.steps])


def exclude(one: Fact, other: Fact) -> bool:
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
