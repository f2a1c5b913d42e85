# SPDX-License-Identifier: Apache-2.0

"""One regular expression for thousands of known identifiers in texts."""

from collections.abc import Iterable, Mapping
import enum
import re

_FEW_PATTERNS = 3
"""So few patterns are tried one after another, and not divided."""


class Edge(enum.Enum):
    """What must not be around a match: a pattern for before, one for after.

    The pattern for before stands behind the first character of a match: as
    the beginning it would be tried at every character of a text. So it ends
    with one more dot, for that character.
    """

    ANYWHERE = ('', '')
    QUAD = (r'(?<!\d.)(?<!\d\..)', r'(?!\d)')
    WORD = (r'(?<![0-9a-z].)', '(?![0-9a-z])')
    NUMBER = (r'(?<![0-9a-z].)(?<!\d[.,].)', r'(?![0-9a-z]|[.,]\d)')


def compile_any(patterns: Mapping[Edge, Iterable[str]]) -> re.Pattern[str]:
    """Compile one pattern that matches where any of many patterns does.

    Of several patterns that match at a place, that of the first edge wins, and
    among those of one edge the longest pattern.

    :param patterns: lists of patterns, by what must not be around a match. A
        pattern begins with a letter, a digit or an escaped character.
    :returns: a pattern that matches nothing if ``patterns`` is empty.
    """
    alternatives = []
    for edge, patterns_of_edge in patterns.items():
        if patterns_of_edge:
            # An expression takes the first alternative that matches.
            ordered = sorted(patterns_of_edge, key=_longest_first)
            alternatives.append(_join_with_edge(edge, ordered))
    # An empty pattern would match everywhere.
    matches_nothing = '(?!)'
    return re.compile('|'.join(alternatives) or matches_nothing, re.DOTALL)


def _longest_first(pattern: str) -> tuple[int, str]:
    """Return a sort key: by length, and patterns of one length by their text.

    Patterns come from a set, which has no order.
    """
    return -len(pattern), pattern


def _join_with_edge(edge: Edge, patterns: list[str]) -> str:
    """Join patterns that have the same edge into one pattern.

    For example, ``db7`` and ``db8`` as words become
    ``d(?<![0-9a-z].)(?:b7|b8)(?![0-9a-z])``. Patterns are grouped by their
    first character, which is tried once for all of them. The pattern for
    before a match stands behind that character; see :class:`Edge`.

    :param patterns: the longest first, which is taken if several match.
    """
    before, after = edge.value
    rests_by_first: dict[str, list[str]] = {}
    for pattern in patterns:
        # An escaped character is two in the pattern.
        length = 1
        if pattern.startswith('\\'):
            length = 2
        first = pattern[:length]
        rests_by_first.setdefault(first, []).append(pattern[length:])
    alternatives = []
    for first, rests in rests_by_first.items():
        alternatives.append(
            f'{first}{before}(?:{_nest_by_first(rests)}){after}'
        )
    return '|'.join(alternatives)


def _nest_by_first(patterns: list[str]) -> str:
    """Join patterns into one, nested by their first characters.

    For example, ``abc``, ``abd`` and so on become ``a(?:b(?:c|d|…))``. A
    regular expression tries alternatives one after another: of thousands of
    nested patterns it tries only a few.
    """
    if len(patterns) <= _FEW_PATTERNS:
        return '|'.join(patterns)
    rests_by_first: dict[str, list[str]] = {}
    # Another character may begin a class, a group or an escape: its pattern
    # stays whole.
    whole = []
    for pattern in patterns:
        first = pattern[:1]
        if first.isalnum():
            rests_by_first.setdefault(first, []).append(pattern[1:])
        else:
            whole.append(pattern)
    alternatives = []
    for first, rests in rests_by_first.items():
        alternatives.append(f'{first}(?:{_nest_by_first(rests)})')
    return '|'.join([*alternatives, *whole])
