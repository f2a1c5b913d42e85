# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""Conditions on text, by regular expression.

The language is that of Python's ``re``. The text comes from machines nobody
has authenticated, so a match that might take long has a time limit, which
only the ``regex`` library knows. Others are left to ``re``: the limit alone
costs ten times as much as such a match.
"""

import functools
import re
import typing

import regex as regex_library

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine import plugin
from ironic_inspection_rules.i18n import _

TIME_LIMIT = 1.0
"""Seconds that one match may take."""

_MOST_STEPS = 1_000_000
"""How many ways to match may be tried without a time limit."""

_BRACES = re.compile(
    r'\\N\{[^}]*\}|\\.|\{(?:[0-9]+(?:,[0-9]*)?|,[0-9]*)\}|(?P<lone>\{)',
    re.DOTALL)

_CHOICES = re.compile(
    r'\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\(\?'
    r'|(?P<nested>\)[*+?{])|(?P<repeat>[*+?{])|(?P<branch>\|)', re.DOTALL)


class RegexCondition(plugin.Condition):
    """A condition with a regular expression, which is never interpolated."""

    LITERAL = frozenset({'regex'})

    METHOD: typing.ClassVar[str]
    """The method of a compiled pattern that decides."""

    def problems(self, arguments: typing.Mapping[str, typing.Any]
                 ) -> typing.Iterator[tuple[str, str]]:
        if 'regex' in arguments:
            try:
                _compile(arguments['regex'])
            except exceptions.OperationError as exc:
                yield 'regex', str(exc)

    def bind(self, arguments: dict[str, typing.Any]
             ) -> typing.Callable[..., bool]:
        holds = matcher(arguments['regex'], self.METHOD)
        if 'value' in arguments:
            return functools.partial(holds, arguments['value'])
        return holds

    def __call__(self, value: typing.Any, regex: str) -> bool:
        return matcher(regex, self.METHOD)(value)


class Contains(RegexCondition):
    """``contains``: the regular expression matches somewhere in the value."""

    METHOD = 'search'


class Matches(RegexCondition):
    """``matches``: the regular expression matches the whole value."""

    METHOD = 'fullmatch'


def matcher(pattern: str, method: str) -> typing.Callable[
        [typing.Any], bool]:
    """Make a function that tells whether a value matches, as text.

    :param method: of a compiled pattern: ``search``, ``match``,
        ``fullmatch``.
    :raises: :class:`.exceptions.OperationError` where the pattern is none.
    """
    compiled = _compile(pattern)
    match = getattr(compiled, method)
    longest = _longest_quick_text(compiled)

    def holds(value: typing.Any) -> bool:
        if value is None:
            return False
        text = value if value.__class__ is str else str(value)
        if len(text) <= longest:
            return match(text) is not None
        return _match_in_time(pattern, method, text)

    return holds


def _compile(pattern: str) -> re.Pattern[str]:
    try:
        return re.compile(pattern)
    except (re.error, OverflowError, RecursionError) as exc:
        raise exceptions.OperationError(
            _('invalid regular expression: %s') % exc) from exc


def _longest_quick_text(compiled: re.Pattern[str]) -> int:
    """Return up to how many characters the pattern needs no time limit.

    Each repetition can begin and end anywhere in the text, and each branch
    doubles the ways there are; one repetition inside another has no bound
    worth waiting for.
    """
    if compiled.flags & re.VERBOSE:
        return -1
    found = [match.lastgroup for match in _CHOICES.finditer(compiled.pattern)]
    if 'nested' in found:
        return -1
    steps = _MOST_STEPS >> found.count('branch')
    return int(steps ** (1 / (1 + found.count('repeat')))) - 1


def _match_in_time(pattern: str, method: str, text: str) -> bool:
    try:
        match = getattr(_compile_with_limit(pattern), method)
        return match(text, timeout=TIME_LIMIT) is not None
    except TimeoutError as exc:
        raise exceptions.OperationError(
            _('the regular expression takes longer than %s seconds on this '
              'value') % TIME_LIMIT) from exc


@functools.lru_cache(maxsize=1024)
def _compile_with_limit(pattern: str) -> typing.Any:
    """Compile a pattern of ``re`` for ``regex``, which knows more syntax.

    A lone brace is no fuzzy matching, and ``[[:`` no POSIX class.
    """
    escaped = _BRACES.sub(_escape, pattern).replace('[:', r'[\:')
    return regex_library.compile(escaped)


def _escape(match: re.Match[str]) -> str:
    return rf'\{match[0]}' if match['lone'] else match[0]
