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
has authenticated, so every match has a time limit, which only the ``regex``
library knows.
"""

import abc
import functools
import re
import typing

import regex as regex_library

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine import plugin
from ironic_inspection_rules.i18n import _

TIME_LIMIT = 1.0
"""Seconds that one match may take."""

_BRACES = re.compile(
    r'\\N\{[^}]*\}|\\.|\{(?:[0-9]+(?:,[0-9]*)?|,[0-9]*)\}|(?P<lone>\{)',
    re.DOTALL)


class RegexCondition(plugin.Condition):
    """A condition with a regular expression, which is never interpolated."""

    LITERAL = frozenset({'regex'})

    @abc.abstractmethod
    def matcher(self, pattern: typing.Any) -> typing.Callable[..., typing.Any]:
        """Return the method of the compiled pattern that decides."""

    def problems(self, arguments: typing.Mapping[str, typing.Any]
                 ) -> typing.Iterator[tuple[str, str]]:
        if 'regex' in arguments:
            try:
                _compile(arguments['regex'])
            except exceptions.OperationError as exc:
                yield 'regex', str(exc)

    def bind(self, arguments: dict[str, typing.Any]
             ) -> typing.Callable[..., bool]:
        decide = self.matcher(_compile(arguments['regex']))
        if 'value' in arguments:
            return functools.partial(_decide, decide, arguments['value'])
        return functools.partial(_decide, decide)

    def __call__(self, value: typing.Any, regex: str) -> bool:
        return self.bind({'regex': regex})(value)


class Contains(RegexCondition):
    """``contains``: the regular expression matches somewhere in the value."""

    def matcher(self, pattern: typing.Any) -> typing.Callable[..., typing.Any]:
        return typing.cast(typing.Callable[..., typing.Any], pattern.search)


class Matches(RegexCondition):
    """``matches``: the regular expression matches the whole value."""

    def matcher(self, pattern: typing.Any) -> typing.Callable[..., typing.Any]:
        return typing.cast(typing.Callable[..., typing.Any],
                           pattern.fullmatch)


@functools.lru_cache(maxsize=4096)
def _compile(pattern: str) -> typing.Any:
    try:
        re.compile(pattern)
        return regex_library.compile(_BRACES.sub(_escape, pattern))
    except (re.error, regex_library.error, OverflowError,
            RecursionError) as exc:
        raise exceptions.OperationError(
            _('invalid regular expression: %s') % exc) from exc


def _escape(match: re.Match[str]) -> str:
    """Keep ``regex`` from reading a lone brace as fuzzy matching."""
    return rf'\{match[0]}' if match['lone'] else match[0]


def _decide(decide: typing.Callable[..., typing.Any],
            value: typing.Any) -> bool:
    if value is None:
        return False
    try:
        return decide(str(value), timeout=TIME_LIMIT) is not None
    except TimeoutError as exc:
        raise exceptions.OperationError(
            _('the regular expression takes longer than %s seconds on this '
              'value') % TIME_LIMIT) from exc
