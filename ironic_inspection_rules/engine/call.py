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

"""An op with the arguments a rule gives it."""

import typing

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine import arguments
from ironic_inspection_rules.engine import registry
from ironic_inspection_rules.engine import template

Missing = template.Missing
Roots = dict[str, typing.Any]


class Call:
    """An op, the arguments that are known, and those that depend on data.

    :param op: the op.
    :param args: its arguments as the rule has them.
    :param accepts_missing: whether a missing field counts as None.
    :raises: :class:`.exceptions.InvalidRule` where they do not fit.
    """

    __slots__ = ('literals', 'op', 'varying')

    def __init__(self, op: registry.Op, args: typing.Any,
                 accepts_missing: bool = False) -> None:
        self.op = op
        self.literals: dict[str, typing.Any] = {}
        self.varying: dict[str, template.Template] = {}
        bound, problems = op.signature.bind(args)
        if problems:
            raise exceptions.InvalidRule(problems)
        for name, value in bound.items():
            argument = op.signature.by_name[name]
            compiled = (value if name in op.plugin.LITERAL
                        else template.compile_value(value))
            if not isinstance(compiled, template.Template):
                self.literals[name] = arguments.convert(compiled, argument)
                continue
            if accepts_missing:
                compiled = _NoneIfMissing(compiled)
            if argument.converts and not (
                    argument.type is value.__class__ is list):
                compiled = _Converted(compiled, argument)
            self.varying[name] = compiled

    def render(self, roots: Roots) -> dict[str, typing.Any] | Missing:
        """Return the arguments that depend on the data, by name."""
        rendered = {}
        for name, value in self.varying.items():
            rendered[name] = value.render(roots)
            if isinstance(rendered[name], Missing):
                return typing.cast(Missing, rendered[name])
        return rendered


class _Converted(template.Template):
    """A value read as the type its argument declares."""

    __slots__ = ('_argument', '_template')

    def __init__(self, value: template.Template,
                 argument: arguments.Argument) -> None:
        self._template = value
        self._argument = argument

    def render(self, roots: template.Roots) -> typing.Any:
        value = self._template.render(roots)
        if isinstance(value, Missing):
            return value
        return arguments.convert(value, self._argument)


class _NoneIfMissing(template.Template):
    """A value that is None where a field is missing."""

    __slots__ = ('_template',)

    def __init__(self, value: template.Template) -> None:
        self._template = value

    def render(self, roots: template.Roots) -> typing.Any:
        value = self._template.render(roots)
        return None if isinstance(value, Missing) else value
