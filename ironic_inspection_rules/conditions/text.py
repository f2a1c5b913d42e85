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
"""Conditions on text, by regular expression (engine.pattern)."""

import functools
import typing

from ironic_inspection_rules.engine import pattern
from ironic_inspection_rules.engine import plugin


class RegexCondition(plugin.Condition):
    """A condition with a regular expression."""

    METHOD: typing.ClassVar[str]
    """The method of a compiled pattern that decides."""

    def bind(self, arguments: dict[str, typing.Any]
             ) -> typing.Callable[..., bool]:
        if 'regex' not in arguments:
            return super().bind(arguments)
        holds = arguments['regex'].matcher(self.METHOD)
        if 'value' in arguments:
            return functools.partial(holds, arguments['value'])
        return typing.cast(typing.Callable[..., bool], holds)

    def __call__(self, value: typing.Any, regex: pattern.Pattern) -> bool:
        return regex.matcher(self.METHOD)(value)


class Contains(RegexCondition):
    """``contains``: the regular expression matches somewhere in the value."""

    METHOD = 'search'


class Matches(RegexCondition):
    """``matches``: the regular expression matches the whole value."""

    METHOD = 'fullmatch'
