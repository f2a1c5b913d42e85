# SPDX-License-Identifier: Apache-2.0

"""The arguments an op declares, and those a rule gives it.

An op declares its arguments as the parameters of its ``__call__``: names,
defaults and, by annotation, types (spec 003 "Developer impact").
"""

import collections
import dataclasses
import inspect
import math
import re
import typing

from oslo_utils import strutils

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.language import path as data_path
from ironic_inspection_rules.engine.language import pattern
from ironic_inspection_rules.engine.language import schema
from ironic_inspection_rules.engine.language import suggestion
from ironic_inspection_rules.i18n import _

REQUIRED = inspect.Parameter.empty

Bound = tuple[dict[str, typing.Any], list[exceptions.Problem]]
"""Arguments by name, and their problems."""


@dataclasses.dataclass(frozen=True, slots=True)
class Argument:
    """One declared argument.

    ``variadic``: it takes any number of positional values, as one list.
    """

    name: str
    type: typing.Any = typing.Any
    default: typing.Any = REQUIRED
    variadic: bool = False
    keyword_only: bool = False

    @property
    def required(self) -> bool:
        return self.default is REQUIRED

    @property
    def usage(self) -> str:
        """Return how it is given, as readers of messages see it."""
        if self.variadic:
            return f'*{self.name}'
        if self.required:
            return self.name
        if self.default is data_path.ABSENT:
            return f'[{self.name}]'
        return f'{self.name}={self.default!r}'

    @property
    def converts(self) -> bool:
        """Return whether :func:`convert` may change or refuse a value."""
        return self.type in TYPES or (
            self.default is not REQUIRED and self.default is not None)


class Signature:
    """All arguments of an op, in order.

    :param function: a plugin, or its method ``revert``.
    :param skip: number of leading parameters that the engine supplies itself.
    :raises: :class:`.exceptions.PluginError` if an argument cannot be given
        by name.
    """

    def __init__(self, function: typing.Callable[..., typing.Any],
                 skip: int = 0) -> None:
        parameters = list(
            inspect.signature(function, eval_str=True).parameters.values())
        if len(parameters) < skip:
            raise exceptions.PluginError(
                _('takes %(has)d parameters, the engine gives %(given)d')
                % {'has': len(parameters), 'given': skip})
        self.arguments = tuple(_declare(parameter)
                               for parameter in parameters[skip:])
        self.by_name = {argument.name: argument for argument in self.arguments}

    def __str__(self) -> str:
        if not self.arguments:
            return _('no arguments')
        return ', '.join(argument.usage for argument in self.arguments)

    def bind(self, args: typing.Any) -> Bound:
        """Bind each value to its argument.

        :param args: list, mapping, or None for no arguments.
        :returns: the arguments that could be bound, and all problems with
            pointers relative to ``args``.
        """
        bound: dict[str, typing.Any] = {}
        problems: list[exceptions.Problem] = []
        if isinstance(args, list | tuple):
            bound, problems = self._bind_list(list(args))
        elif isinstance(args, dict):
            for name, value in args.items():
                if name in self.by_name:
                    bound[name] = value
                else:
                    problems.append(self._unknown(name))
        elif args is not None:
            return {}, [exceptions.Problem(
                '', _('arguments must be a list or a mapping'))]
        problems += [
            exceptions.Problem(
                '', _('argument "%s" is missing') % argument.name,
                self._expected)
            for argument in self.arguments
            if argument.required and argument.name not in bound]
        return bound, problems

    @property
    def _expected(self) -> str:
        return _('expected: %s') % self

    def _unknown(self, name: typing.Any) -> exceptions.Problem:
        """Return the problem of an argument that is not declared."""
        hint = self._expected
        near = suggestion.nearest(str(name), self.by_name)
        if near is not None:
            hint = _('did you mean "%(near)s"? %(hint)s') % {
                'near': near, 'hint': hint}
        return exceptions.Problem(
            data_path.pointer([name]),
            _('unknown argument "%s"') % suggestion.shown(str(name)), hint)

    def _bind_list(self, args: list[typing.Any]) -> Bound:
        positional = [argument for argument in self.arguments
                      if not argument.keyword_only]
        if positional and positional[0].variadic:
            if len(args) == 1 and isinstance(args[0], list):
                args = args[0]
            return ({positional[0].name: args} if args else {}), []
        return {argument.name: value for argument, value
                in zip(positional, args, strict=False)}, [
            exceptions.Problem(f'/{index}', _('one argument too many'),
                               self._expected)
            for index in range(len(positional), len(args))]

    def bind_call(self, given: typing.Sequence[
            tuple[str | None, typing.Any]]) -> Bound:
        """Bind the positional and named values of a filter.

        :param given: pairs of a name, or None, and a value.
        """
        positional = [value for name, value in given if not name]
        pairs = [*zip(self.by_name, positional, strict=False),
                 *((name, value) for name, value in given if name)]
        bound, problems = self.bind(dict(pairs))
        if len(positional) > len(self.by_name):
            problems.append(exceptions.Problem(
                '', _('too many arguments'), self._expected))
        counts = collections.Counter(name for name, _value in pairs)
        return bound, problems + [
            exceptions.Problem('', _('argument "%s" is given twice') % name)
            for name, count in counts.items() if count > 1]


def _declare(parameter: inspect.Parameter) -> Argument:
    if parameter.kind in (inspect.Parameter.VAR_KEYWORD,
                          inspect.Parameter.POSITIONAL_ONLY):
        raise exceptions.PluginError(
            _('parameter "%s" cannot be given by name') % parameter.name)
    annotation = parameter.annotation
    variadic = parameter.kind is inspect.Parameter.VAR_POSITIONAL
    if variadic:
        annotation = list
    return Argument(
        name=parameter.name,
        type=typing.Any if annotation is REQUIRED else annotation,
        default=parameter.default, variadic=variadic,
        keyword_only=parameter.kind is inspect.Parameter.KEYWORD_ONLY)


def convert(value: typing.Any, argument: Argument) -> typing.Any:
    """Convert a value to the type that its argument declares.

    Conversion to bool, int, float and str is lenient: ``"yes"`` is a true
    bool, ``"5"`` an int. A list must be one. A path and a pattern are read
    from text. Values of other types are returned as they are.

    :raises: :class:`.exceptions.OperationError` if it cannot be converted.
    """
    if value is None and not argument.required:
        return argument.default
    declared = TYPES.get(argument.type)
    if declared is None or value.__class__ is argument.type:
        return value
    try:
        return declared.read(value)
    except (TypeError, ValueError, OverflowError) as exc:
        raise exceptions.OperationError(
            _('argument "%(name)s" must be of type %(type)s, not %(value)s')
            % {'name': argument.name, 'type': declared.name,
               'value': suggestion.kind_of(value)}) from exc


def _of(value: typing.Any, types: typing.Any) -> typing.Any:
    if not isinstance(value, types):
        raise TypeError
    return value


def _read_bool(value: typing.Any) -> bool:
    value = _of(value, str | int | float)
    if isinstance(value, float) and value.is_integer():
        # JSON has one number for 1 and 1.0.
        value = int(value)
    return bool(strutils.bool_from_string(value, strict=True))


_NUMBERS = {int: re.compile(schema.WHOLE_NUMBER),
            float: re.compile(schema.NUMBER)}


def read_number(value: typing.Any, kind: type) -> typing.Any:
    """Read a finite number, also from text.

    Python also takes ``1_0``, digits of any script, and ``inf``.

    :raises: TypeError, ValueError or OverflowError if it is none.
    """
    if isinstance(value, bool):
        raise TypeError
    if isinstance(value, str) and not _NUMBERS[kind].fullmatch(value):
        raise ValueError
    number = kind(value)
    if not abs(number) < math.inf:
        raise ValueError
    return number


def _read_text(value: typing.Any) -> str:
    return str(_of(value, str | int | float))


class Type(typing.NamedTuple):
    """A type that an argument declares.

    ``read`` returns a value of it, or raises TypeError, ValueError or
    OverflowError. ``schemas`` are the JSON Schemas of what it reads, of
    which a value meets one.
    """

    name: str
    read: typing.Callable[[typing.Any], typing.Any]
    schemas: typing.Sequence[schema.Schema]


_PLAIN: schema.Schema = {'type': ['string', 'number', 'boolean']}

TYPES: dict[typing.Any, Type] = {
    bool: Type('bool', _read_bool, [
        {'type': 'boolean'}, {'enum': [0, 1]},
        schema.whole(rf'\s*(?:{schema.TRUTHS}|{schema.FALSEHOODS})\s*')]),
    int: Type('int', lambda value: read_number(value, int), [
        {'type': 'number'}, schema.whole(schema.WHOLE_NUMBER)]),
    float: Type('float', lambda value: read_number(value, float), [
        {'type': 'number'}, schema.whole(schema.NUMBER)]),
    str: Type('str', _read_text, [_PLAIN]),
    list: Type('list', lambda value: _of(value, list), [{'type': 'array'}]),
    data_path.Path: Type(_('path'), lambda value: (
        value if isinstance(value, tuple)
        else data_path.parse(_read_text(value))), [
        {'type': 'string', 'pattern': r'^(?:/[^/]|[^/.]|\.[^/]*/)'},
        {'type': ['number', 'boolean']}]),
    pattern.Pattern: Type(_('regular expression'), lambda value: (
        value if isinstance(value, pattern.Pattern)
        else pattern.Pattern(_of(value, str))), [{'type': 'string'}]),
    pattern.Replacement: Type(_('text'), lambda value: (
        value if isinstance(value, pattern.Replacement)
        else pattern.Replacement(_read_text(value))), [_PLAIN]),
}
"""The types to which arguments are converted."""
