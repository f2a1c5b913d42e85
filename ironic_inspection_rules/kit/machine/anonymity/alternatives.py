# SPDX-License-Identifier: Apache-2.0

"""One regular expression for thousands of known identifiers in texts."""

from collections.abc import Iterable, Mapping
import enum
import re

_FEW = 3
"""Patterns that are not worth dividing by their first characters."""


class Edge(enum.Enum):
    """What must not be around a match: patterns for before and after it.

    The one for before stands behind the first character, because a pattern
    that begins with it would be tried at every character.
    """

    ANYWHERE = ('', '')
    QUAD = (r'(?<!\d.)(?<!\d\..)', r'(?!\d)')
    WORD = (r'(?<![0-9a-z].)', '(?![0-9a-z])')
    NUMBER = (r'(?<![0-9a-z].)(?<!\d[.,].)', r'(?![0-9a-z]|[.,]\d)')


def compiled(patterns: Mapping[Edge, Iterable[str]]) -> re.Pattern[str]:
    """Return one compiled pattern that matches any of many.

    Where several match at a place, the longest is taken.

    :param patterns: by what must not be around a match. They begin with a
        letter, a digit or an escaped character.
    :returns: a pattern that matches nothing if there are none.
    """
    alternatives = []
    for edge, of_edge in patterns.items():
        if of_edge:
            ordered = sorted(of_edge, key=_longest_first)
            alternatives.append(_with_edge(edge, ordered))
    # A pattern of nothing would match everywhere.
    return re.compile('|'.join(alternatives) or '(?!)', re.DOTALL)


def _longest_first(pattern: str) -> tuple[int, str]:
    return -len(pattern), pattern


def _with_edge(edge: Edge, patterns: list[str]) -> str:
    """Return one pattern of some that must have the same edge around them.

    They are grouped by their first character, so that at a place in the text
    only those are tried that begin with its character. The pattern for before
    a match stands behind this first character; see :class:`Edge`.

    :param patterns: the longest first, which is then taken where several
        match.
    """
    before, after = edge.value
    firsts: dict[str, list[str]] = {}
    for pattern in patterns:
        # An escaped character is two in the pattern.
        length = 1
        if pattern.startswith('\\'):
            length = 2
        firsts.setdefault(pattern[:length], []).append(pattern[length:])
    alternatives = []
    for first, rests in firsts.items():
        alternatives.append(f'{first}{before}(?:{_by_first(rests)}){after}')
    return '|'.join(alternatives)


def _by_first(patterns: list[str]) -> str:
    """Return one pattern of many, nested by their first characters.

    ``abc``, ``abd`` and so on become ``a(?:b(?:c|d|…))``. A regular expression
    tries alternatives one after another; nested, of thousands only a few are
    tried at a place.
    """
    if len(patterns) <= _FEW:
        return '|'.join(patterns)
    rests_by_first: dict[str, list[str]] = {}
    # Patterns that begin with no letter or digit stay whole: the character
    # may be the beginning of a class, a group or an escape.
    whole = []
    for pattern in patterns:
        first = pattern[:1]
        if first.isalnum():
            rests_by_first.setdefault(first, []).append(pattern[1:])
        else:
            whole.append(pattern)
    alternatives = []
    for first, rests in rests_by_first.items():
        alternatives.append(f'{first}(?:{_by_first(rests)})')
    return '|'.join([*alternatives, *whole])
