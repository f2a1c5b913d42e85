# SPDX-License-Identifier: Apache-2.0

"""Conditions on text, by regular expression (engine.pattern)."""

import re
import typing

from ironic_inspection_rules.engine import budget
from ironic_inspection_rules.engine import pattern
from ironic_inspection_rules.engine import plugin

_ANCHORED = re.compile(r'(?:\^|\\A)(.*)(?:\$|\\Z)', re.DOTALL)
_PERHAPS_ANCHORED = re.compile(r'(?:\^|\\A)?(.*?)(?:\$|\\Z)?', re.DOTALL)
_GROUPED = re.compile(r'\((?:\?:)?(.*)\)', re.DOTALL)
_LITERAL = re.compile(r'(?:[^\\.^$*+?{}\[\]|()]|\\[^A-Za-z0-9])+')

_SHOWN_AS = frozenset(('True', 'False', 'None'))
"""Text that values of other types are matched as."""


def _words(regex: str, searches: bool) -> list[str]:
    """Return the only texts that match, where they are all written out."""
    anchored = (_ANCHORED if searches else _PERHAPS_ANCHORED).fullmatch(regex)
    if anchored is None:
        return []
    body = anchored[1]
    grouped = _GROUPED.fullmatch(body)
    if grouped is None and searches and '|' in body:
        # Each anchor belongs to one of the alternatives only.
        return []
    words = (grouped[1] if grouped else body).split('|')
    if not all(map(_LITERAL.fullmatch, words)):
        return []
    return [re.sub(r'\\(.)', r'\1', word) for word in words]


class RegexCondition(plugin.Condition):
    """A condition with a regular expression."""

    PAYS = True
    METHOD: typing.ClassVar[str]
    """The method of a compiled pattern that decides."""

    def facts(self, arguments: plugin.Arguments,
              inverted: bool = False) -> typing.Iterator[plugin.Fact]:
        words = _words(arguments['regex'], self.METHOD == 'search')
        if words and _SHOWN_AS.isdisjoint(words):
            yield plugin.Fact(arguments['value'],
                              'none-of' if inverted else 'one-of', words)

    def bind(self, arguments: dict[str, typing.Any]
             ) -> typing.Callable[..., bool]:
        if 'regex' not in arguments:
            return super().bind(arguments)
        holds = arguments['regex'].matcher(self.METHOD)
        if 'value' in arguments:
            return lambda allowance: holds(allowance, arguments['value'])
        return typing.cast(typing.Callable[..., bool], holds)

    def __call__(self, allowance: budget.Budget, value: typing.Any,
                 regex: pattern.Pattern) -> bool:
        return regex.matcher(self.METHOD)(allowance, value)


class Contains(RegexCondition):
    """``contains``: the regular expression matches somewhere in the value."""

    METHOD = 'search'


class Matches(RegexCondition):
    """``matches``: the regular expression matches the whole value."""

    METHOD = 'fullmatch'
