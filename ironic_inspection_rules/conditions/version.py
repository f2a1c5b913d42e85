# SPDX-License-Identifier: Apache-2.0

"""Conditions that compare versions as rpm does (rpmvercmp of rpm 4.18).

Runs of digits compare as numbers and are newer than letters, the longer of
two is newer; ``~`` sorts before the end of a version, ``^`` behind it.
Whatever else is in a version only separates.
"""

import itertools
import operator
import re
import typing

from ironic_inspection_rules.engine import budget
from ironic_inspection_rules.engine import plugin
from ironic_inspection_rules.engine import text_cache
from ironic_inspection_rules.i18n import _

_PART = re.compile(r'[0-9]+|[A-Za-z]+|[~^]')
_END = (1,)
_MARKS = {'~': (0,), '^': (2,)}

Key = tuple[tuple[typing.Any, ...], ...]


@text_cache.for_short(maxsize=1024, longest=64)
def key(version: str) -> Key:
    """Return what orders a version among others."""
    return (*map(_of_part, _PART.findall(version)), _END)


def _of_part(part: str) -> tuple[typing.Any, ...]:
    if part in _MARKS:
        return _MARKS[part]
    if part.isdecimal():
        # As text: a machine may send more digits than Python reads.
        digits = part.lstrip('0')
        return 4, len(digits), digits
    return 3, part


class VersionComparison(plugin.Condition):
    """Holds where it does between each version and the next.

    What is no text is no version: of a number that YAML made of 2.10
    nobody knows what it was.
    """

    PAYS = True
    SCHEMAS = {'values': [{'type': 'string'}]}

    compare: typing.ClassVar[typing.Any]
    """The function of ``operator`` that decides about two keys."""

    def problems(self, arguments: typing.Mapping[str, typing.Any]
                 ) -> typing.Iterator[tuple[str, str]]:
        for value in arguments.get('values', ()):
            if not isinstance(value, str):
                yield 'values', _('a version is text, not %s; put it in '
                                  'quotes') % (value,)

    def facts(self, arguments: plugin.Arguments,
              inverted: bool = False) -> typing.Iterator[plugin.Fact]:
        # Inverted it holds for all that is no text, too.
        if not inverted:
            for one, other in itertools.pairwise(
                    _flat(arguments.get('values') or ())):
                yield plugin.Fact(
                    one, f'{plugin.VERSION}{self.compare.__name__}', other)

    def __call__(self, allowance: budget.Budget, *values: typing.Any) -> bool:
        values = _flat(values)
        for each in values:
            allowance.spend(len(each) >> 6 if isinstance(each, str) else 0)
        return all(self.holds(one, other) for one, other
                   in itertools.pairwise(values))

    def holds(self, one: typing.Any, other: typing.Any) -> bool:
        """Return whether it holds between two versions."""
        if one.__class__ is not str or other.__class__ is not str:
            return False
        return bool(self.compare(key(one), key(other)))


def _flat(values: tuple[typing.Any, ...]) -> tuple[typing.Any, ...]:
    """Return the values, also where they are given as one list."""
    if len(values) == 1 and isinstance(values[0], list):
        return tuple(values[0])
    return values


class Equal(VersionComparison):
    """``version-eq``: all values are the same version."""

    compare = operator.eq


class NotEqual(VersionComparison):
    """``version-ne``: each version differs from the next."""

    compare = operator.ne


class Less(VersionComparison):
    """``version-lt``: each version is older than the next."""

    compare = operator.lt


class LessOrEqual(VersionComparison):
    """``version-le``: no version is newer than the next."""

    compare = operator.le


class Greater(VersionComparison):
    """``version-gt``: each version is newer than the next."""

    compare = operator.gt


class GreaterOrEqual(VersionComparison):
    """``version-ge``: no version is older than the next."""

    compare = operator.ge
