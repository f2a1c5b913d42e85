# SPDX-License-Identifier: Apache-2.0

"""An op with the arguments a rule gives it."""

import typing

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine import argument_template
from ironic_inspection_rules.engine import arguments
from ironic_inspection_rules.engine import budget
from ironic_inspection_rules.engine import loop as engine_loop
from ironic_inspection_rules.engine import path as data_path
from ironic_inspection_rules.engine import pattern
from ironic_inspection_rules.engine import registry
from ironic_inspection_rules.engine import rendering
from ironic_inspection_rules.engine import template

Missing = template.Missing
Roots = budget.View


class Call:
    """An op, the arguments that are known, and those that depend on data.

    :param op: the op.
    :param args: its arguments as the rule has them.
    :param missing: what a missing field counts as, if as anything.
    :param loop: the loop it is in.
    :raises: :class:`.exceptions.InvalidRule` where they do not fit.
    """

    __slots__ = ('literals', 'op', 'varying')

    def __init__(self, op: registry.Op, args: typing.Any,
                 missing: typing.Any = ...,
                 loop: engine_loop.Loop | None = None) -> None:
        self.op = op
        self.literals: dict[str, typing.Any] = {}
        self.varying: dict[str, template.Template] = {}
        bound, problems = op.signature.bind(args)
        if problems:
            raise exceptions.InvalidRule(problems)
        for name, value in bound.items():
            argument = op.signature.by_name[name]
            compiled = compile_argument(op, name, value, loop)
            if not isinstance(compiled, template.Template):
                self.literals[name] = arguments.convert(compiled, argument)
                continue
            if missing is not ...:
                compiled = rendering.OrElse(compiled, missing)
            if argument.converts and argument.type not in _COMPILERS and not (
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


_COMPILERS: dict[typing.Any, typing.Callable[..., typing.Any]] = {
    data_path.Path: argument_template.compile_path,
    pattern.Pattern: argument_template.compile_pattern,
}


def compile_argument(op: registry.Op, name: str, value: typing.Any,
                     loop: engine_loop.Loop | None) -> typing.Any:
    """Build a template of an argument, or a value where it is known.

    :param value: the argument as the rule has it.
    :raises: :class:`.exceptions.OperationError` where it is not usable.
    """
    if name in op.plugin.LITERAL:
        return value
    kind = op.signature.by_name[name].type
    if kind in _COMPILERS and value is not None:
        return _COMPILERS[kind](value, loop)
    compiled = template.compile_value(value)
    return template.telling(compiled) if name in getattr(
        op.plugin, 'TELLS', ()) else compiled


def is_as_written(value: template.Template) -> bool:
    """Return whether an argument is what its rule says, in no other form."""
    return not isinstance(
        value, _Converted | rendering.OrElse)


class _Converted(template.Template):
    """A value read as the type its argument declares."""

    __slots__ = ('_argument', '_template')

    def __init__(self, value: template.Template,
                 argument: arguments.Argument) -> None:
        self._template = value
        self._argument = argument

    @property
    def parts(self) -> typing.Iterable[typing.Any]:
        return (self._template,)

    def render(self, roots: template.Roots) -> typing.Any:
        value = self._template.render(roots)
        if isinstance(value, Missing):
            return value
        return arguments.convert(value, self._argument)
