# SPDX-License-Identifier: Apache-2.0

"""Compile one regular expression that finds thousands of identifiers.

Python tries the alternatives of an expression one after another. Therefore
alternatives that begin alike are nested: ``abc|abd|…`` becomes
``a(?:b(?:c|d|…))``.
"""

from collections.abc import Collection, Iterable
import enum
import re

_FEW_PATTERNS = 3
"""Most patterns that are tried one after another instead of being nested."""


class Edge(enum.Enum):
    """The characters that must not surround a match.

    * ``ANYWHERE``: any characters may surround it.
    * ``QUAD``: there must be no digit beside it, and no digit and dot before
      it. Otherwise the match is only a part of a longer run of numbers.
    * ``WORD``: there must be no letter and no digit beside it.
    * ``NUMBER``: as for ``WORD``, and there must be no digit beyond a dot or a
      comma. Otherwise the match is only a part of a number such as ``1.5``.

    A value has a pattern for the characters before, and one for the characters
    after. The pattern for the characters before is put after the first
    character of a match, because at the beginning of the expression it would
    be tried at every character of a text. Therefore it ends with an additional
    dot, which matches the first character of the match.
    """

    ANYWHERE = ('', '')
    QUAD = (r'(?<!\d.)(?<!\d\..)', r'(?!\d)')
    WORD = (r'(?<![0-9a-z].)', '(?![0-9a-z])')
    NUMBER = (r'(?<![0-9a-z].)(?<!\d[.,].)', r'(?![0-9a-z]|[.,]\d)')


def compile_any(
    lists: Iterable[tuple[Edge, Collection[str]]],
) -> re.Pattern[str]:
    """Compile one pattern that matches wherever any of many patterns matches.

    If several patterns match at a place, the pattern of the first list wins,
    and of the patterns in this list usually the longest.

    :param lists: lists of patterns, each with the characters that must not
        surround a match. A pattern must begin with a letter, a digit or an
        escaped character.
    :returns: a pattern that matches nothing if there are no patterns.
    """
    alternatives = []
    for edge, patterns in lists:
        if patterns:
            # A regular expression uses the first alternative that matches.
            ordered = sorted(patterns, key=_longest_first)
            alternatives.append(_join_with_edge(edge, ordered))
    # An empty pattern would match everywhere.
    matches_nothing = '(?!)'
    return re.compile('|'.join(alternatives) or matches_nothing, re.DOTALL)


def _longest_first(pattern: str) -> tuple[int, str]:
    """Return a sort key: the longest pattern first, then by text.

    The text is part of the key so that the order does not depend on the order
    in which the patterns were added.
    """
    return -len(pattern), pattern


def _join_with_edge(edge: Edge, patterns: list[str]) -> str:
    """Join patterns that have the same edge into one pattern.

    For example, ``db7`` and ``db8`` as words become
    ``d(?<![0-9a-z].)(?:b7|b8)(?![0-9a-z])``. Patterns are grouped by their
    first character, which is tried once for all of them. The pattern for the
    characters before a match follows the first character, see :class:`Edge`.

    :param patterns: the patterns, the longest first. If several match, the
        first one is usually used.
    """
    before, after = edge.value
    rests_by_first: dict[str, list[str]] = {}
    for pattern in patterns:
        # An escaped character takes two characters of the pattern.
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
    regular expression tries alternatives one after another, but if thousands
    of patterns are nested, it tries only a few.
    """
    if len(patterns) <= _FEW_PATTERNS:
        return '|'.join(patterns)
    rests_by_first: dict[str, list[str]] = {}
    # Any other character may begin a class, a group or an escape, so such
    # patterns are not split.
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
