# SPDX-License-Identifier: Apache-2.0

"""One pattern made of thousands, of which few are tried at a place."""

from collections.abc import Iterable, Mapping
import enum
import re

_FEW = 3


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
    """Return a pattern of those that are given, the longest first.

    :param patterns: with a letter, a digit or an escaped character first.
    """
    return re.compile('|'.join(
        _with_edge(edge, sorted(given, key=lambda text: (-len(text), text)))
        for edge, given in patterns.items() if given) or '(?!)', re.DOTALL)


def _with_edge(edge: Edge, patterns: list[str]) -> str:
    before, after = edge.value
    firsts: dict[str, list[str]] = {}
    for pattern in patterns:
        length = 2 if pattern.startswith('\\') else 1
        firsts.setdefault(pattern[:length], []).append(pattern[length:])
    return '|'.join(f'{first}{before}(?:{_by_first(rest)}){after}'
                    for first, rest in firsts.items())


def _by_first(patterns: list[str]) -> str:
    """Return a pattern that tries those of the same beginning only."""
    if len(patterns) <= _FEW:
        return '|'.join(patterns)
    firsts: dict[str, list[str]] = {}
    for pattern in patterns:
        # What is no letter may be part of a class or a group.
        first = pattern[:1] if pattern[:1].isalnum() else ''
        firsts.setdefault(first, []).append(pattern[len(first):])
    others = firsts.pop('', [])
    return '|'.join([f'{first}(?:{_by_first(rest)})'
                     for first, rest in firsts.items()] + others)
