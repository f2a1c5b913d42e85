# SPDX-License-Identifier: Apache-2.0

"""Conditions that compare values: eq, lt, version-lt, one-of.

A comparison takes any number of values, and holds if its relation holds
between each value and the next: ``lt`` holds for 1, 2, 3. ``facts`` says what
is known of fields if a condition holds: ``lt`` of ``{inventory.cpu.count}``
and 16 yields the fact that this field is ``lt`` 16. Tools such as ``lint``
compare the facts of rules.

Versions are compared as in rpm (rpmvercmp of rpm 4.18). Runs of digits compare
as numbers and are newer than letters, and otherwise the longer of two versions
is newer. ``~`` sorts before the end of a version, and ``^`` after it. All
other characters are separators.
"""

import itertools
import math
import operator
import re
import typing

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.language import budget
from ironic_inspection_rules.engine.language import plugin
from ironic_inspection_rules.engine.language import suggestion
from ironic_inspection_rules.engine.language import text_cache
from ironic_inspection_rules.i18n import _

_LONGEST_CACHED = 64  # Maximum length of a machine's text in the cache.
# Numbers as text. The digits are limited, because machines send the text.
_INTEGER = re.compile(r'\s*[+-]?[0-9]{1,300}\s*')
_DECIMAL = re.compile(
    r'\s*[+-]?(?:[0-9]{1,300}(?:\.[0-9]{0,300})?|\.[0-9]{1,300})'
    r'(?:[eE][+-]?[0-9]{1,4})?\s*'
)

_VERSION_PART = re.compile(r'(?P<digits>[0-9]+)|[A-Za-z]+|(?P<mark>[~^])')

# The first number is the rank of a part, see version_key().
_PARTS_OF_MARKS = {'~': (0,), '^': (2,)}
_END_OF_VERSION = (1,)
_RANK_OF_LETTERS = 3
_RANK_OF_DIGITS = 4

VersionKey = tuple[tuple[typing.Any, ...], ...]


@text_cache.cache_short_texts(maxsize=1024, longest=_LONGEST_CACHED)
def as_number(text: str) -> int | float | None:
    """Read text as a number, to compare it with a number.

    White space around the number is allowed. A number with very many digits
    (more than 300 before or after the point, or more than four in the
    exponent), or outside the range of a float, is not read.

    :returns: 16 for ``' 16 '``, 1.5 for ``'1.5'``, None for ``'16 GiB'``.
    """
    if _INTEGER.fullmatch(text):
        return int(text)
    if _DECIMAL.fullmatch(text) and math.isfinite(float(text)):
        return float(text)
    return None


@text_cache.cache_short_texts(maxsize=1024, longest=_LONGEST_CACHED)
def version_key(version: str) -> VersionKey:
    """Return a sort key for a version, with a tuple for each part.

    ``1.0~rc1`` has the key::

        ((4, 1, '1'), (4, 0, ''), (0,), (3, 'rc'), (4, 1, '1'), (1,))

    The first number of a tuple is the rank of its kind: ``~`` (0), the end of
    the version (1), ``^`` (2), letters (3), digits (4). So 1.0~rc1 comes
    before 1.0, and 1.0^fix comes after 1.0 but before 1.0.1. Separators and
    leading zeros make no difference: 1.01 has the same key as 1-1.
    """
    key: list[tuple[typing.Any, ...]] = []
    for part in _VERSION_PART.finditer(version):
        if part['mark']:
            key.append(_PARTS_OF_MARKS[part['mark']])
        elif part['digits']:
            # Compare numbers first by their length, and then as text. Do not
            # convert them, because a machine may send more digits than Python
            # reads.
            digits = part['digits'].lstrip('0')
            key.append((_RANK_OF_DIGITS, len(digits), digits))
        else:
            letters = part[0]
            key.append((_RANK_OF_LETTERS, letters))
    return (*key, _END_OF_VERSION)


def _make_comparable(
    first: typing.Any, second: typing.Any
) -> tuple[typing.Any, typing.Any]:
    """Convert a text to a number if the other value is a number.

    For example, ``('16', 8)`` becomes ``(16, 8)``. Both values are unchanged
    if they have other types, or if the text is not a number.

    :returns: both values, in the given order.
    """
    if isinstance(first, str) and _is_number(second):
        number = as_number(first)
        if number is not None:
            return number, second
    elif isinstance(second, str) and _is_number(first):
        number = as_number(second)
        if number is not None:
            return first, number
    return first, second


def _is_number(value: typing.Any) -> bool:
    """Return whether a value is a number; true and false are not."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def equal(left: typing.Any, right: typing.Any) -> bool:
    """Return whether ``eq`` considers two values equal, e.g. 16 and "16"."""
    # Values of the same class need no conversion.
    if left.__class__ is not right.__class__:
        left, right = _make_comparable(left, right)
    are_equal: bool = left == right
    return are_equal


class ValueComparison(plugin.Relation):
    """Holds if the relation holds between each value and the next.

    If a number is compared with a text that is a number, they are compared as
    numbers. Values whose types have no common order are neither less nor
    greater.
    """

    # With force_strings, a list or mapping is compared as text, which includes
    # everything in it and may be long.
    PAYS = True

    compare: typing.ClassVar[typing.Any]
    """The function from ``operator`` that compares two values."""

    def facts(
        self, arguments: plugin.Arguments, inverted: bool = False
    ) -> plugin.Facts:
        """Yield the relation of each value to the next value.

        For example, ``lt`` of 4, ``{inventory.cpu.count}`` and 16 yields two
        facts: 4 is less than the field, and the field is less than 16. The
        inverted condition ``! lt`` of the field and 16 yields that the field
        is ``ge`` 16, or cannot be ordered with 16 (``unordered``).

        Nothing is yielded in two cases. With ``force_strings``, 5 and "5.0"
        are compared as text, but a fact compares the values themselves. And if
        an inverted condition has three values or more, it is unknown which of
        its relations does not hold.

        :param arguments: all arguments as the rule has them, by name.
        """
        values = arguments.get('values')
        if not isinstance(values, list) or arguments.get('force_strings'):
            return
        relation = self.compare.__name__
        unordered = False
        if inverted:
            if len(values) != 2:
                return
            relation = plugin.OPPOSITES[relation]
            # "! lt" also holds for values that cannot be ordered, e.g. null
            # and 16.
            unordered = relation not in ('eq', 'ne')
        for left, right in itertools.pairwise(values):
            yield plugin.Fact(left, relation, right, unordered=unordered)

    # Because of PAYS, the budget is passed before the arguments.
    def __call__(  # type: ignore[override]
        self,
        allowance: budget.Budget,
        *values: typing.Any,
        force_strings: bool = False,
    ) -> bool:
        """Return whether the relation holds between each value and the next.

        If the only value is a list, its items are the values. The condition
        always holds for a single value.

        :param allowance: the budget, which is charged for values converted to
            text.
        :param force_strings: whether to compare values as text.
        """
        for left, right in self.pairs(values):
            if force_strings:
                left = str(left)
                right = str(right)
                # The text of a large list or mapping may be long.
                allowance.make_text(len(left))
                allowance.make_text(len(right))
            if not self.holds(left, right):
                return False
        return True

    def holds(self, left: typing.Any, right: typing.Any) -> bool:
        """Return whether the relation holds between two values.

        It never holds for values without a common order, e.g. a text and null.
        """
        # Save the call for values of one class, which need no conversion.
        if left.__class__ is not right.__class__:
            left, right = _make_comparable(left, right)
        try:
            holds: bool = self.compare(left, right)
        except TypeError:
            return False
        return holds


class Equal(ValueComparison):
    """``eq``: all values are equal."""

    compare = operator.eq

    # Most conditions use "eq". This saves the call of "compare", and a bound
    # method for each condition of a rule set.
    holds = staticmethod(equal)


class NotEqual(ValueComparison):
    """``ne``: each value differs from the next."""

    compare = operator.ne


class Less(ValueComparison):
    """``lt``: each value is less than the next."""

    compare = operator.lt


class LessOrEqual(ValueComparison):
    """``le``: no value is greater than the next."""

    compare = operator.le


class Greater(ValueComparison):
    """``gt``: each value is greater than the next."""

    compare = operator.gt


class GreaterOrEqual(ValueComparison):
    """``ge``: no value is less than the next."""

    compare = operator.ge


class VersionComparison(plugin.Relation):
    """Holds if the relation holds between each version and the next.

    Versions must be text, because an unquoted 2.10 in YAML is the number 2.1.
    """

    SCHEMAS = {'values': [{'type': 'string'}]}

    compare: typing.ClassVar[typing.Any]
    """The function from ``operator`` that compares two keys."""

    def problems(self, arguments: plugin.Arguments) -> plugin.Problems:
        """Yield a problem for each literal value that is not text.

        For example, an unquoted 1.10 in YAML is the number 1.1.

        :param arguments: the literal arguments by name.
        """
        for value in arguments.get('values', ()):
            if not isinstance(value, str):
                text = _('a version is text, not %s; put it in quotes')
                yield 'values', text % suggestion.quote(value)

    def facts(
        self, arguments: plugin.Arguments, inverted: bool = False
    ) -> plugin.Facts:
        """Yield the relation of each version to the next version.

        ``version-lt`` of a field and "2.10" yields that the field is
        ``version-lt`` "2.10". Nothing is yielded for the inverted condition.
        It also holds for values that are not text, which a fact cannot
        express.
        """
        if inverted:
            return
        relation = f'{plugin.VERSION}{self.compare.__name__}'
        for left, right in self.pairs(arguments.get('values') or ()):
            yield plugin.Fact(left, relation, right)

    def holds(self, left: typing.Any, right: typing.Any) -> bool:
        """Return whether the relation holds between two versions.

        It never holds for a value that is not text.
        """
        if left.__class__ is not str or right.__class__ is not str:
            return False
        left_key = version_key(left)
        right_key = version_key(right)
        return bool(self.compare(left_key, right_key))


class VersionEqual(VersionComparison):
    """``version-eq``: all values are the same version."""

    compare = operator.eq


class VersionNotEqual(VersionComparison):
    """``version-ne``: each version differs from the next."""

    compare = operator.ne


class VersionLess(VersionComparison):
    """``version-lt``: each version is older than the next."""

    compare = operator.lt


class VersionLessOrEqual(VersionComparison):
    """``version-le``: no version is newer than the next."""

    compare = operator.le


class VersionGreater(VersionComparison):
    """``version-gt``: each version is newer than the next."""

    compare = operator.gt


class VersionGreaterOrEqual(VersionComparison):
    """``version-ge``: no version is older than the next."""

    compare = operator.ge


class OneOf(plugin.Condition):
    """``one-of``: the value equals one in the list, as ``eq`` compares."""

    SCHEMAS = {'values': [{'type': 'array'}]}

    def facts(
        self, arguments: plugin.Arguments, inverted: bool = False
    ) -> plugin.Facts:
        """Yield that the value is in the list; inverted, that it is not."""
        relation = 'one-of'
        if inverted:
            relation = plugin.OPPOSITES[relation]
        yield plugin.Fact(arguments['value'], relation, arguments['values'])

    def problems(self, arguments: plugin.Arguments) -> plugin.Problems:
        """Yield a problem if the literal values are not a list."""
        if not isinstance(arguments.get('values', []), list):
            yield 'values', _('must be a list')

    def __call__(self, value: typing.Any, values: typing.Any) -> bool:
        """Return whether the value equals one in the list.

        :raises: :class:`.exceptions.OperationError` if the value of a field is
            not a list.
        """
        if not isinstance(values, list):
            raise exceptions.OperationError(
                _('values must be a list, not %s')
                % suggestion.describe_type(values)
            )
        return any(equal(value, candidate) for candidate in values)
