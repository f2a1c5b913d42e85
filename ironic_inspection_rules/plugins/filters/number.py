# SPDX-License-Identifier: Apache-2.0

"""Filters on numbers: int, float, round, arithmetic, tier.

A filter computes a new value from a value of a machine, e.g. ``{plugin_data.mb
| divide(1024) | round}``. All numbers are finite: a filter neither takes nor
returns infinity or NaN. ``problems`` checks the literal arguments of a filter
when a rule is created; ``__call__`` computes the result for a machine.
"""

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
_LONGEST_TEXT = 100  # Maximum length of a number as text.
_NUMBERS = frozenset(('number',))
_NUMBER = {'type': 'number', 'errorMessage': _('must be a number')}


def require_number(value: typing.Any) -> Number:
    """Return the value if it is a finite number.

    True and false do not count as numbers here, although ``bool`` is a
    subclass of ``int``. The messages have no subject, because the engine puts
    the name of the filter before them.

    :param value: any value of a machine or a rule.
    :raises: :class:`.exceptions.OperationError` if it is infinity or NaN, or
        not a number.
    """
    if isinstance(value, float) and not math.isfinite(value):
        raise exceptions.OperationError(_('takes no number without end'))
    if isinstance(value, int | float) and not isinstance(value, bool):
        return value
    raise exceptions.OperationError(
        _('takes a number, not %s') % suggestion.describe_type(value)
    )


def _too_large_error() -> exceptions.OperationError:
    """Return the error for a number that Python cannot represent."""
    return exceptions.OperationError(_('the number is too large'))


def _read_number(value: typing.Any, *number_types: type[Number]) -> Number:
    """Read a value as a number, for the filters ``int`` and ``float``.

    Python parses texts, so ``'1_0'`` is 10. True and false are 1 and 0.
    ``'inf'`` and ``'nan'`` give a float that is not finite, which the caller
    must reject.

    :param number_types: ``int``, ``float`` or both. The first type that can
        read the value is used: for both, ``'1.5'`` gives 1.5.
    :raises: :class:`.exceptions.OperationError` if no type can read the value,
        or if it is neither a text, a number nor a boolean.
    """
    if isinstance(value, str) and len(value) > _LONGEST_TEXT:
        # A very long text would take long to parse.
        raise exceptions.OperationError(
            _('the text is longer than %d characters') % _LONGEST_TEXT
        )
    if not isinstance(value, str | bool):
        value = require_number(value)
    for number_type in number_types:
        try:
            return number_type(value)
        except ValueError:
            # Try the next type.
            continue
        except OverflowError as exc:
            raise _too_large_error() from exc
    raise exceptions.OperationError(_('"%s" is no number') % value)


class Int(plugin.Filter):
    """``int``: a whole number, cut off, also of text."""

    TAKES = frozenset(('boolean', 'number', 'text'))
    GIVES = 'number'

    def __call__(self, value: typing.Any) -> int:
        """Return a number, a boolean or a text as a whole number.

        ``'16'`` gives 16, and ``'1.9'`` and ``'1e0'`` give 1.
        """
        number = _read_number(value, int, float)
        # The text may be "inf" or "nan". A comparison with NaN is always
        # False. Do not use math.isfinite(), which fails for large integers.
        is_finite = abs(number) < math.inf
        if not is_finite:
            raise exceptions.OperationError(_('"%s" is no number') % value)
        return int(number)


class Float(plugin.Filter):
    """``float``: a number with a fraction, also of text."""

    TAKES = frozenset(('boolean', 'number', 'text'))
    GIVES = 'number'

    def __call__(self, value: typing.Any) -> float:
        return float(_read_number(value, float))


class Round(plugin.Filter):
    """``round``: rounded to so many digits, of the type it was."""

    TAKES = _NUMBERS
    GIVES = 'number'

    def __call__(self, value: typing.Any, precision: int = 0) -> Number:
        """Return a number, rounded to some digits after the point.

        :param precision: the number of digits; -3 rounds to thousands.
        """
        # A negative precision counts digits left of the point. At this limit,
        # every number rounds to zero; below it, round() would be slow.
        limited_precision = max(precision, -_MOST_DIGITS)
        return round(require_number(value), limited_precision)


class Abs(plugin.Filter):
    """``abs``: without its sign."""

    TAKES = _NUMBERS
    GIVES = 'number'

    def __call__(self, value: typing.Any) -> Number:
        return abs(require_number(value))


class Add(plugin.Filter):
    """``add``: the sum of the value and a number."""

    TAKES = _NUMBERS
    GIVES = 'number'
    SCHEMAS = {'number': [_NUMBER]}
    operate: typing.ClassVar[typing.Any] = operator.add

    def __call__(self, value: typing.Any, number: typing.Any) -> Number:
        """Return the result of the operation on the value and a number.

        The operation is addition here. Subclasses have another one, as
        ``operate``.

        :param value: the left operand.
        :param number: the right operand.
        :raises: :class:`.exceptions.OperationError` if one of them is not a
            finite number, if the result is too large, or if the number is a
            divisor and zero.
        """
        left = require_number(value)
        right = require_number(number)
        try:
            return typing.cast(Number, self.operate(left, right))
        except ZeroDivisionError as exc:
            raise exceptions.OperationError(_('division by zero')) from exc
        except OverflowError as exc:
            raise _too_large_error() from exc


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
        """Yield a problem if a literal divisor is zero."""
        if arguments.get('number', 1) == 0:
            yield 'number', _('must not be zero')


class Tier(plugin.Filter):
    """``tier``: the label of the highest bound not above the value."""

    TAKES = _NUMBERS
    REARRANGES = True

    def problems(self, arguments: plugin.Arguments) -> plugin.Problems:
        """Yield a problem if a literal table is invalid.

        :param arguments: the literal arguments by name.
        """
        if 'table' in arguments:
            try:
                _check_table(arguments['table'])
            except exceptions.OperationError as exc:
                yield 'table', str(exc)

    def __call__(
        self,
        value: typing.Any,
        table: typing.Any,
        default: typing.Any = data_path.ABSENT,
    ) -> typing.Any:
        """Return the label of the highest bound that is not above the value.

        For example, in the table ``[[0, 'small'], [64, 'large']]``, 96 has the
        label ``large``. The bounds may be in any order. If two bounds are
        equal, the label of the first is used.

        :param table: pairs of a bound and a label.
        :param default: the result for a value below all bounds. Without a
            default, the result is missing.
        """
        number = require_number(value)
        # The highest bound so far that is not above the number.
        highest_bound = None
        label_of_highest = default
        for bound, label in _check_table(table):
            if bound > number:
                continue
            if highest_bound is None or bound > highest_bound:
                highest_bound = bound
                label_of_highest = label
        return label_of_highest


def _check_table(table: typing.Any) -> list[list[typing.Any]]:
    """Check the table of the filter ``tier``, and return it.

    :param table: pairs of a bound and a label: ``[[0, 'small'], [64,
        'large']]``.
    :raises: :class:`.exceptions.OperationError` for any other value.
    """
    if not isinstance(table, list):
        raise _no_table_error()
    for row in table:
        if not isinstance(row, list) or len(row) != 2:
            raise _no_table_error()
        bound = row[0]
        # Raises an error if the bound is not a number.
        require_number(bound)
    return table


def _no_table_error() -> exceptions.OperationError:
    """Return the error for a value that is not a table of bounds."""
    return exceptions.OperationError(
        _('must be a list of pairs: a bound and a label')
    )
