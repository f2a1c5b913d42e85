# SPDX-License-Identifier: Apache-2.0

"""Filters on numbers: int, float, round, arithmetic, tier; numbers in text."""

import math
import operator
import typing

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.language import path as data_path
from ironic_inspection_rules.engine.language import plugin
from ironic_inspection_rules.engine.language import suggestion
from ironic_inspection_rules.i18n import _

Number = int | float

_MOST_DIGITS = 5000  # More than Python reads from the text of a number.
_LONGEST = 100  # Maximum length of a number as text.
_NUMBERS = frozenset(('number',))
_NUMBER = {'type': 'number', 'errorMessage': _('must be a number')}


def read(value: typing.Any) -> Number:
    """Check that a value is a finite number, and return it.

    :raises: :class:`.exceptions.OperationError` if it is not.
    """
    if isinstance(value, float) and not math.isfinite(value):
        raise exceptions.OperationError(_('takes no number without end'))
    if isinstance(value, int | float) and not isinstance(value, bool):
        return value
    raise exceptions.OperationError(
        _('takes a number, not %s') % suggestion.kind_of(value)
    )


def _too_large() -> exceptions.OperationError:
    return exceptions.OperationError(_('the number is too large'))


def _convert(value: typing.Any, *kinds: type[Number]) -> Number:
    """Return the number that a value is, for the filters ``int``, ``float``.

    Text is read as Python reads it, also "1_0". From "inf" and "nan" it makes
    a float that is not finite, which no filter may return in the end.

    :param kinds: types of numbers; the first that can read the value does.
    :raises: :class:`.exceptions.OperationError` if none does, or the value is
        neither text, number nor boolean.
    """
    if isinstance(value, str) and len(value) > _LONGEST:
        raise exceptions.OperationError(
            _('the text is longer than %d characters') % _LONGEST
        )
    # Texts and booleans are for the types themselves to read.
    if not isinstance(value, str | bool):
        value = read(value)
    for kind in kinds:
        try:
            return kind(value)
        except ValueError:
            continue
        except OverflowError as exc:
            raise _too_large() from exc
    raise exceptions.OperationError(_('"%s" is no number') % value)


class Int(plugin.Filter):
    """``int``: a whole number, cut off, also of text."""

    TAKES = frozenset(('boolean', 'number', 'text'))
    GIVES = 'number'

    def __call__(self, value: typing.Any) -> int:
        """Return a number, a truth value or a text as a whole number."""
        # Text such as "1.5" and "1e3" is read as a float, and cut off.
        number = _convert(value, int, float)
        # Text may also be "inf" or "nan", which compares false.
        if not abs(number) < math.inf:
            raise exceptions.OperationError(_('"%s" is no number') % value)
        return int(number)


class Float(plugin.Filter):
    """``float``: a number with a fraction, also of text."""

    TAKES = frozenset(('boolean', 'number', 'text'))
    GIVES = 'number'

    def __call__(self, value: typing.Any) -> float:
        return float(_convert(value, float))


class Round(plugin.Filter):
    """``round``: rounded to so many digits, of the type it was."""

    TAKES = _NUMBERS
    GIVES = 'number'

    def __call__(self, value: typing.Any, precision: int = 0) -> Number:
        # So far left of the point every number rounds to zero. Further left
        # round() would be slow.
        return round(read(value), max(precision, -_MOST_DIGITS))


class Abs(plugin.Filter):
    """``abs``: without its sign."""

    TAKES = _NUMBERS
    GIVES = 'number'

    def __call__(self, value: typing.Any) -> Number:
        return abs(read(value))


class Add(plugin.Filter):
    """``add``: the sum of the value and a number."""

    TAKES = _NUMBERS
    GIVES = 'number'
    SCHEMAS = {'number': [_NUMBER]}
    operate: typing.ClassVar[typing.Any] = operator.add

    def __call__(self, value: typing.Any, number: typing.Any) -> Number:
        """Return the result of the operation on the value and a number."""
        try:
            return typing.cast(Number, self.operate(read(value), read(number)))
        except ZeroDivisionError as exc:
            raise exceptions.OperationError(_('division by zero')) from exc
        except OverflowError as exc:
            raise _too_large() from exc


class Subtract(Add):
    """``subtract``: the value less a number."""

    operate = operator.sub


class Multiply(Add):
    """``multiply``: the value so many times."""

    operate = operator.mul


class Divide(Add):
    """``divide``: the value divided by a number, with a fraction."""

    operate = operator.truediv

    def problems(self, arguments: plugin.Arguments) -> plugin.Problems:
        if arguments.get('number', 1) == 0:
            yield 'number', _('must not be zero')


class Tier(plugin.Filter):
    """``tier``: the label of the highest bound not above the value."""

    TAKES = _NUMBERS
    REARRANGES = True

    def problems(self, arguments: plugin.Arguments) -> plugin.Problems:
        """Yield what is wrong with the table, when a rule is made."""
        if 'table' in arguments:
            try:
                _read_table(arguments['table'])
            except exceptions.OperationError as exc:
                yield 'table', str(exc)

    def __call__(
        self,
        value: typing.Any,
        table: typing.Any,
        default: typing.Any = data_path.ABSENT,
    ) -> typing.Any:
        """Return the label of the highest bound that is not above the value.

        :param default: returned for a value below all bounds.
        """
        number = read(value)
        highest = None
        for row in _read_table(table):
            bound = row[0]
            # Of equal bounds the first counts.
            if bound <= number and (highest is None or bound > highest[0]):
                highest = row
        if highest is None:
            return default
        return highest[1]


def _read_table(table: typing.Any) -> list[list[typing.Any]]:
    """Check the table of the filter ``tier``, and return it.

    :returns: pairs of a number, the bound, and a label.
    :raises: :class:`.exceptions.OperationError` if it is no such list.
    """
    if not isinstance(table, list):
        raise _no_table()
    for row in table:
        if not isinstance(row, list) or len(row) != 2:
            raise _no_table()
        # The bound must be a number.
        read(row[0])
    return table


def _no_table() -> exceptions.OperationError:
    return exceptions.OperationError(
        _('must be a list of pairs: a bound and a label')
    )
