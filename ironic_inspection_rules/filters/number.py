# SPDX-License-Identifier: Apache-2.0

"""Filters on numbers."""

import math
import typing

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine import budget
from ironic_inspection_rules.engine import path as data_path
from ironic_inspection_rules.engine import plugin
from ironic_inspection_rules.i18n import _

Number = int | float

_MOST_DIGITS = 5000
"""More than a number has that Python reads from text."""

_LONGEST = 100
"""Characters of a number that is written as text."""

_NUMBERS = frozenset(('number',))


def read(value: typing.Any) -> Number:
    """Return the number that a value is.

    :raises: :class:`.exceptions.OperationError` where it is none.
    """
    if isinstance(value, float) and not math.isfinite(value):
        raise exceptions.OperationError(_('takes no number without end'))
    if isinstance(value, int | float) and not isinstance(value, bool):
        return value
    raise exceptions.OperationError(
        _('takes a number, not a value of type %s') % type(value).__name__)


def _read_text(value: typing.Any) -> typing.Any:
    if isinstance(value, str) and len(value) > _LONGEST:
        raise exceptions.OperationError(
            _('the text is longer than %d characters') % _LONGEST)
    return value if isinstance(value, str | bool) else read(value)


class Int(plugin.Filter):
    """``int``: a whole number, cut off, also of text."""

    def __call__(self, value: typing.Any) -> int:
        value = _read_text(value)
        try:
            return int(value)
        except ValueError:
            return int(float(value))


class Float(plugin.Filter):
    """``float``: a number with a fraction, also of text."""

    def __call__(self, value: typing.Any) -> float:
        return float(_read_text(value))


class Round(plugin.Filter):
    """``round``: rounded to so many digits, of the type it was."""

    TAKES = _NUMBERS

    def __call__(self, value: typing.Any, precision: int = 0) -> Number:
        # Further to the left of the point every number is zero.
        return round(read(value), max(precision, -_MOST_DIGITS))


class Abs(plugin.Filter):
    """``abs``: without its sign."""

    TAKES = _NUMBERS

    def __call__(self, value: typing.Any) -> Number:
        return abs(read(value))


class Add(plugin.Filter):
    """``add``: the sum of the value and a number."""

    TAKES = _NUMBERS

    def __call__(self, value: typing.Any, number: typing.Any) -> Number:
        return read(value) + read(number)


class Subtract(plugin.Filter):
    """``subtract``: the value less a number."""

    TAKES = _NUMBERS

    def __call__(self, value: typing.Any, number: typing.Any) -> Number:
        return read(value) - read(number)


class Multiply(plugin.Filter):
    """``multiply``: the value so many times."""

    TAKES = _NUMBERS

    def __call__(self, value: typing.Any, number: typing.Any) -> Number:
        return read(value) * read(number)


class Divide(plugin.Filter):
    """``divide``: the value divided by a number, with a fraction."""

    TAKES = _NUMBERS

    def problems(self, arguments: typing.Mapping[str, typing.Any]
                 ) -> typing.Iterator[tuple[str, str]]:
        if arguments.get('number', 1) == 0:
            yield 'number', _('must not be zero')

    def __call__(self, value: typing.Any, number: typing.Any) -> Number:
        return read(value) / read(number)


class Tier(plugin.Filter):
    """``tier``: the label of the highest bound not above the value."""

    PAYS = True

    def problems(self, arguments: typing.Mapping[str, typing.Any]
                 ) -> typing.Iterator[tuple[str, str]]:
        if 'table' in arguments:
            try:
                _read_table(arguments['table'], budget.UNLIMITED)
            except exceptions.OperationError as exc:
                yield 'table', str(exc)

    def __call__(self, allowance: budget.Budget, value: typing.Any,
                 table: typing.Any,
                 default: typing.Any = data_path.ABSENT) -> typing.Any:
        number = read(value)
        within = [row for row in _read_table(table, allowance)
                  if row[0] <= number]
        if not within:
            return default
        return max(within, key=lambda row: row[0])[1]


def _read_table(table: typing.Any, allowance: budget.Budget
                ) -> list[list[typing.Any]]:
    """Return the rows of a table, each a number and a label."""
    rows = table if isinstance(table, list) else [table]
    allowance.spend(len(rows) >> 2)
    for row in rows:
        if not isinstance(row, list) or len(row) != 2:
            raise exceptions.OperationError(
                _('must be a list of pairs: a bound and a label'))
        read(row[0])
    return rows
