# SPDX-License-Identifier: Apache-2.0

"""Conditions that compare values (spec 003 "Available conditions")."""

import itertools
import math
import operator
import re
import typing

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine import budget
from ironic_inspection_rules.engine import plugin
from ironic_inspection_rules.engine import text_cache
from ironic_inspection_rules.i18n import _

_LONGEST_KNOWN = 64
"""Longest text of a machine that is cached, in characters."""

_INTEGER = re.compile(r'\s*[+-]?[0-9]{1,300}\s*')
_DECIMAL = re.compile(
    r'\s*[+-]?(?:[0-9]{1,300}(?:\.[0-9]{0,300})?|\.[0-9]{1,300})'
    r'(?:[eE][+-]?[0-9]{1,4})?\s*')


@text_cache.for_short(maxsize=1024, longest=_LONGEST_KNOWN)
def as_number(text: str) -> int | float | None:
    """Read a string as a number, or return None if it is none."""
    if _INTEGER.fullmatch(text):
        return int(text)
    if _DECIMAL.fullmatch(text) and math.isfinite(float(text)):
        return float(text)
    return None


def _is_number(value: typing.Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _comparable(one: typing.Any, other: typing.Any
                ) -> tuple[typing.Any, typing.Any]:
    """Build a number of the string that is compared with one."""
    if isinstance(one, str) and _is_number(other):
        number = as_number(one)
        return (one if number is None else number), other
    if isinstance(other, str) and _is_number(one):
        number = as_number(other)
        return one, (other if number is None else number)
    return one, other


def equal(one: typing.Any, other: typing.Any) -> bool:
    """Return whether two values are equal to ``eq``."""
    if one.__class__ is not other.__class__:
        one, other = _comparable(one, other)
    return bool(one == other)


class Comparison(plugin.Condition):
    """Holds where it does between each value and the next.

    A number and a string that reads as a number compare as numbers; values
    of kinds that have no order are neither less nor greater.
    """

    compare: typing.ClassVar[typing.Any]
    """The function of ``operator`` that decides about two values."""

    RELATION: typing.ClassVar[str]
    """Its name in facts."""

    def facts(self, arguments: plugin.Arguments,
              inverted: bool = False) -> typing.Iterator[plugin.Fact]:
        values = arguments.get('values')
        if not isinstance(values, list) or arguments.get('force_strings'):
            return
        pairs = list(itertools.pairwise(values))
        if inverted and len(pairs) != 1:
            return
        relation = self.RELATION
        if inverted:
            relation = plugin.OPPOSITES[relation]
        for one, other in pairs:
            yield plugin.Fact(one, relation, other)

    def __call__(self, *values: typing.Any,
                 force_strings: bool = False) -> bool:
        if len(values) == 2 and not force_strings:
            return self.holds(*values)
        if len(values) == 1 and isinstance(values[0], list):
            values = tuple(values[0])
        if force_strings:
            values = tuple(map(str, values))
        for one, other in itertools.pairwise(values):
            if not self.holds(one, other):
                return False
        return True

    def holds(self, one: typing.Any, other: typing.Any) -> bool:
        """Return whether it holds between two values."""
        if one.__class__ is not other.__class__:
            one, other = _comparable(one, other)
        try:
            return bool(self.compare(one, other))
        except TypeError:
            return False


class Equal(Comparison):
    """``eq``: all values are equal."""

    compare = operator.eq
    RELATION = 'eq'


class NotEqual(Comparison):
    """``ne``: each value differs from the next."""

    compare = operator.ne
    RELATION = 'ne'


class Less(Comparison):
    """``lt``: each value is less than the next."""

    compare = operator.lt
    RELATION = 'lt'


class LessOrEqual(Comparison):
    """``le``: no value is greater than the next."""

    compare = operator.le
    RELATION = 'le'


class Greater(Comparison):
    """``gt``: each value is greater than the next."""

    compare = operator.gt
    RELATION = 'gt'


class GreaterOrEqual(Comparison):
    """``ge``: no value is less than the next."""

    compare = operator.ge
    RELATION = 'ge'


class OneOf(plugin.Condition):
    """``one-of``: the value equals one in the list, as ``eq`` has it."""

    PAYS = True
    SCHEMAS = {'values': [{'type': 'array'}]}

    def facts(self, arguments: plugin.Arguments,
              inverted: bool = False) -> typing.Iterator[plugin.Fact]:
        yield plugin.Fact(arguments['value'],
                          'none-of' if inverted else 'one-of',
                          arguments['values'])

    def problems(self, arguments: typing.Mapping[str, typing.Any]
                 ) -> typing.Iterator[tuple[str, str]]:
        if not isinstance(arguments.get('values', []), list):
            yield 'values', _('must be a list')

    def __call__(self, allowance: budget.Budget, value: typing.Any,
                 values: typing.Any) -> bool:
        if not isinstance(values, list):
            raise exceptions.OperationError(
                _('values must be a list, not of type %s')
                % type(values).__name__)
        allowance.spend(len(values) >> 4)
        return any(equal(value, each) for each in values)
