# SPDX-License-Identifier: Apache-2.0

"""One pattern made of thousands, of which few are tried at a place."""

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
    """Return one pattern of many, the longest first.

    :param patterns: with a letter, a digit or an escaped character first.
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
    """Return one pattern of some with the same edge, by their beginnings."""
    before, after = edge.value
    firsts: dict[str, list[str]] = {}
    for pattern in patterns:
        length = 1
        if pattern.startswith('\\'):
            length = 2
        firsts.setdefault(pattern[:length], []).append(pattern[length:])
    made = []
    for first, rest in firsts.items():
        made.append(f'{first}{before}(?:{_by_first(rest)}){after}')
    return '|'.join(made)


def _by_first(patterns: list[str]) -> str:
    """Return a pattern that tries those of the same beginning only.

    A regular expression tries alternatives one after another. Nested by their
    characters, of thousands only a few are tried at a place.
    """
    if len(patterns) <= _FEW:
        return '|'.join(patterns)
    firsts: dict[str, list[str]] = {}
    for pattern in patterns:
        first = pattern[:1]
        # What is no letter may be part of a class or a group.
        if not first.isalnum():
            first = ''
        firsts.setdefault(first, []).append(pattern[len(first) :])
    others = firsts.pop('', [])
    made = []
    for first, rest in firsts.items():
        made.append(f'{first}(?:{_by_first(rest)})')
    return '|'.join([*made, *others])
