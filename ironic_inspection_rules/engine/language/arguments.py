# SPDX-License-Identifier: Apache-2.0

"""Arguments of ops: names, types and conversions.

An op declares its arguments as the parameters of its ``__call__``: names,
defaults and, by annotation, types (spec 003 "Developer impact").
"""

import collections
import dataclasses
import inspect
import json
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


class Bound(typing.NamedTuple):
    """The arguments that a rule gives an op, by name, and their problems.

    The pointer of a problem begins in ``args`` of the operation: ``/value``
    or, in a list of arguments, ``/1``.
    """

    values: dict[str, typing.Any]
    problems: list[exceptions.Problem]


@dataclasses.dataclass(frozen=True, slots=True)
class Argument:
    """An argument that an op declares: its name, type and default.

    ``type`` is its annotation, Any without one. ``variadic``: it takes any
    number of positional values, as one list; it is required as well, as
    nothing can be declared as its default. ``keyword_only``: a list of
    arguments has no place for it.
    """

    name: str
    type: typing.Any = typing.Any
    default: typing.Any = REQUIRED
    variadic: bool = False
    keyword_only: bool = False

    def __str__(self) -> str:
        """Return the argument as messages show it.

        ``path`` is required, ``[default]`` may be left out, ``unique=false``
        has a default, and ``*values`` takes any number of values.
        """
        if self.variadic:
            return f'*{self.name}'
        if self.required:
            return self.name
        if self.default is data_path.ABSENT:
            return f'[{self.name}]'
        if self.default is None or isinstance(self.default, bool):
            # As rules have it, in YAML or JSON, not as Python has it.
            return f'{self.name}={json.dumps(self.default)}'
        return f'{self.name}={self.default!r}'

    @property
    def required(self) -> bool:
        return self.default is REQUIRED

    @property
    def converts(self) -> bool:
        """Whether :func:`convert` may change or refuse a value."""
        if self.type in TYPES:
            return True
        # Null becomes the default, which is null itself if it is None.
        return self.default is not REQUIRED and self.default is not None


class Signature:
    """The arguments that an op declares, in their order.

    :param function: a plugin, or its method ``revert``.
    :param skip: how many parameters come before the arguments of a rule. The
        engine supplies these itself, such as the target of an action.
    :raises: :class:`.exceptions.PluginError` if an argument cannot be given
        by name.
    """

    def __init__(
        self, function: typing.Callable[..., typing.Any], skip: int = 0
    ) -> None:
        """Read the parameters of the function as arguments of a rule."""
        # With eval_str, an annotation that is written as text is evaluated.
        parameters = list(
            inspect.signature(function, eval_str=True).parameters.values()
        )
        if len(parameters) < skip:
            raise exceptions.PluginError(
                _('takes %(has)d parameters, the engine gives %(given)d')
                % {'has': len(parameters), 'given': skip}
            )
        self.arguments = tuple(
            _make_argument(parameter) for parameter in parameters[skip:]
        )
        self.by_name = {argument.name: argument for argument in self.arguments}

    def __str__(self) -> str:
        if not self.arguments:
            return _('no arguments')
        return ', '.join(map(str, self.arguments))

    def bind(self, args: typing.Any) -> Bound:
        """Bind the values that a rule gives to the arguments.

        For ``set-attribute``, ``['/extra/a', 1]`` and ``{'path': '/extra/a',
        'value': 1}`` both give the second form. For an op that takes any
        number of values, ``[[1, 2]]`` stands for ``[1, 2]``.

        All problems are collected, so that an author sees them at once. The
        values stay as they are written: their types are not checked here.

        :param args: a list, a mapping, or None for no arguments.
        :returns: the arguments that could be bound, and all problems.
        """
        if args is None:
            bound = Bound({}, [])
        elif isinstance(args, list | tuple):
            bound = self._bind_list(list(args))
        elif isinstance(args, dict):
            bound = self._bind_mapping(args)
        else:
            problem = exceptions.Problem(
                '', _('arguments must be a list or a mapping')
            )
            return Bound({}, [problem])
        for argument in self.arguments:
            if argument.required and argument.name not in bound.values:
                bound.problems.append(
                    exceptions.Problem(
                        '',
                        _('argument "%s" is missing') % argument.name,
                        self._expected_hint,
                    )
                )
        return bound

    @property
    def _expected_hint(self) -> str:
        return _('expected: %s') % self

    def _bind_mapping(self, args: dict[typing.Any, typing.Any]) -> Bound:
        """Bind values by their names, and report unknown names.

        ``{'msg': 'x', 'levle': 'info'}`` of ``log`` binds ``msg``, and
        has the problem of ``levle``.
        """
        values = {}
        problems = []
        for name, value in args.items():
            if name in self.by_name:
                values[name] = value
            else:
                problems.append(self._problem_of_unknown(name))
        return Bound(values, problems)

    def _problem_of_unknown(self, name: typing.Any) -> exceptions.Problem:
        """Return the problem of an argument that is not declared.

        Its hint names the nearest argument, and all that are expected.

        :param name: of any type, as keys of a file may be numbers.
        """
        hint = self._expected_hint
        near = suggestion.find_nearest(str(name), self.by_name)
        if near is not None:
            hint = _('did you mean "%(near)s"? %(hint)s') % {
                'near': near,
                'hint': hint,
            }
        return exceptions.Problem(
            data_path.pointer([name]),
            _('unknown argument "%s"') % suggestion.shown(str(name)),
            hint,
        )

    def _bind_list(self, args: list[typing.Any]) -> Bound:
        """Bind values by their positions, and report values too many.

        A list has no place for keyword-only arguments.
        """
        positional = [
            argument
            for argument in self.arguments
            if not argument.keyword_only
        ]
        if positional and positional[0].variadic:
            return self._bind_variadic(positional[0], args)
        values = {}
        # The list may be shorter: bind() finds required arguments without a
        # value. It may also be longer.
        for argument, value in zip(positional, args, strict=False):
            values[argument.name] = value
        problems = []
        for index in range(len(positional), len(args)):
            problems.append(
                exceptions.Problem(
                    f'/{index}',
                    _('one argument too many'),
                    self._expected_hint,
                )
            )
        return Bound(values, problems)

    @staticmethod
    def _bind_variadic(argument: Argument, values: list[typing.Any]) -> Bound:
        """Bind values to an argument that takes any number of them.

        A single list counts as its items.
        """
        if len(values) == 1 and isinstance(values[0], list):
            values = values[0]
        if not values:
            # bind() then reports that the argument is missing.
            return Bound({}, [])
        return Bound({argument.name: values}, [])

    def bind_call(
        self, values: typing.Sequence[tuple[str | None, typing.Any]]
    ) -> Bound:
        """Bind the positional and named values of a filter.

        Unlike an op, a filter may have both: ``replace('-', new='_')`` gives
        ``{'old': '-', 'new': '_'}``. Positional values go to the arguments in
        their order, even to keyword-only ones. A variadic argument gets a
        single value, not all that are left.

        :param values: pairs of a name and a value; the name is None for a
            positional value. ``[(None, '-'), ('new', '_')]`` above.
        """
        positional = [value for name, value in values if not name]
        named = [(name, value) for name, value in values if name]
        # A mapping would hide that an argument is given twice: by its place,
        # and by its name.
        pairs = [*zip(self.by_name, positional, strict=False), *named]
        bound = self.bind(dict(pairs))
        if len(positional) > len(self.by_name):
            bound.problems.append(
                exceptions.Problem(
                    '', _('too many arguments'), self._expected_hint
                )
            )
        counts = collections.Counter(name for name, _value in pairs)
        for name, count in counts.items():
            if count > 1:
                bound.problems.append(
                    exceptions.Problem(
                        '', _('argument "%s" is given twice') % name
                    )
                )
        return bound


def _make_argument(parameter: inspect.Parameter) -> Argument:
    """Make the argument that a parameter of a plugin's method declares.

    ``msg: str`` is a required text, ``unique: bool = False`` a boolean with a
    default, and ``*values`` is variadic.

    :raises: :class:`.exceptions.PluginError` if it cannot be given by name.
    """
    kind = parameter.kind
    if kind in (
        inspect.Parameter.VAR_KEYWORD,
        inspect.Parameter.POSITIONAL_ONLY,
    ):
        # The names in **others are not known, so that a misspelt argument of
        # a rule could not be found.
        raise exceptions.PluginError(
            _('parameter "%s" cannot be given by name') % parameter.name
        )
    annotation = parameter.annotation
    variadic = kind is inspect.Parameter.VAR_POSITIONAL
    if variadic:
        # The parameter is annotated with the type of an item.
        annotation = list
    elif annotation is inspect.Parameter.empty:
        annotation = typing.Any
    return Argument(
        name=parameter.name,
        type=annotation,
        default=parameter.default,
        variadic=variadic,
        keyword_only=kind is inspect.Parameter.KEYWORD_ONLY,
    )


def convert(value: typing.Any, argument: Argument) -> typing.Any:
    """Convert a value to the type that its argument declares.

    Conversion to bool, int, float and str is lenient: ``"yes"`` becomes true,
    ``"5"`` becomes 5. A list must be a list. A path and a pattern are read
    from text. For any other type the value is returned as it is. Null becomes
    the default of an argument that has one.

    :raises: :class:`.exceptions.OperationError` if it cannot be converted.
    """
    if value is None and not argument.required:
        return argument.default
    declared = TYPES.get(argument.type)
    # Not isinstance(): true must not pass for the number 1.
    if declared is None or value.__class__ is argument.type:
        return value
    try:
        return declared.read(value)
    except (TypeError, ValueError, OverflowError) as exc:
        raise exceptions.OperationError(
            _('argument "%(name)s" must be of type %(type)s, not %(value)s')
            % {
                'name': argument.name,
                'type': declared.name,
                'value': suggestion.kind_of(value),
            }
        ) from exc


def _require_type(types: typing.Any, value: typing.Any) -> typing.Any:
    """Return a value of any of the types; raise TypeError for other values."""
    if not isinstance(value, types):
        raise TypeError
    return value


def _read_bool(value: typing.Any) -> bool:
    """Read a boolean, also from text such as ``yes`` and from 0 and 1.

    :raises: TypeError or ValueError for any other value.
    """
    value = _require_type(str | int | float, value)
    if isinstance(value, float) and value.is_integer():
        # To JSON, 1.0 is the same number as 1.
        value = int(value)
    return bool(strutils.bool_from_string(value, strict=True))


_NUMBERS = {
    int: re.compile(schema.WHOLE_NUMBER),
    float: re.compile(schema.NUMBER),
}


def read_number(value: typing.Any, kind: type) -> typing.Any:
    """Read a finite number, also from text: 8 from ``"8"``.

    :param kind: int or float. For int, the float 8.5 becomes 8, but the text
        ``8.5`` is no number.
    :raises: TypeError, ValueError or OverflowError if it is not a number.
    """
    if isinstance(value, bool):
        raise TypeError
    # Python itself also takes "1_0", digits of any script, and "inf".
    if isinstance(value, str) and not _NUMBERS[kind].fullmatch(value):
        raise ValueError
    number = kind(value)
    # Not math.isfinite: it fails for integers that are too large for a float.
    # A comparison with NaN is false.
    is_finite = abs(number) < math.inf
    if not is_finite:
        raise ValueError
    return number


def _read_int(value: typing.Any) -> int:
    return int(read_number(value, int))


def _read_float(value: typing.Any) -> float:
    return float(read_number(value, float))


def _read_text(value: typing.Any) -> str:
    return str(_require_type(str | int | float, value))


def _read_list(value: typing.Any) -> list[typing.Any]:
    return typing.cast(list[typing.Any], _require_type(list, value))


def _read_path(value: typing.Any) -> data_path.Path:
    if isinstance(value, tuple):
        return value
    return data_path.parse(_read_text(value))


def _read_pattern(value: typing.Any) -> pattern.Pattern:
    if isinstance(value, pattern.Pattern):
        return value
    return pattern.Pattern(_require_type(str, value))


def _read_replacement(value: typing.Any) -> pattern.Replacement:
    if isinstance(value, pattern.Replacement):
        return value
    return pattern.Replacement(_read_text(value))


class Type(typing.NamedTuple):
    """A type that an argument declares.

    ``name`` is what messages call it. ``read`` converts a value of a rule to
    the type, or raises TypeError, ValueError or OverflowError. A value that
    ``read`` takes meets one of the JSON Schemas in ``schemas``.
    """

    name: str
    read: typing.Callable[[typing.Any], typing.Any]
    schemas: typing.Sequence[schema.Schema]


_PLAIN: schema.Schema = {'type': ['string', 'number', 'boolean']}

_TRUTH_TEXT = rf'\s*(?:{schema.TRUTHS}|{schema.FALSEHOODS})\s*'

# The first token is not empty; a dot separates tokens where no slash does.
_PATH_TEXT = r'^(?:/[^/]|[^/.]|\.[^/]*/)'

TYPES: dict[typing.Any, Type] = {
    bool: Type(
        'bool',
        _read_bool,
        [
            {'type': 'boolean'},
            {'enum': [0, 1]},
            schema.text_matching(_TRUTH_TEXT),
        ],
    ),
    int: Type(
        'int',
        _read_int,
        [
            {'type': 'number'},
            schema.text_matching(schema.WHOLE_NUMBER),
        ],
    ),
    float: Type(
        'float',
        _read_float,
        [
            {'type': 'number'},
            schema.text_matching(schema.NUMBER),
        ],
    ),
    str: Type('str', _read_text, [_PLAIN]),
    list: Type('list', _read_list, [{'type': 'array'}]),
    data_path.Path: Type(
        _('path'),
        _read_path,
        [
            {'type': 'string', 'pattern': _PATH_TEXT},
            {'type': ['number', 'boolean']},
        ],
    ),
    pattern.Pattern: Type(
        _('regular expression'),
        _read_pattern,
        [
            {'type': 'string'},
        ],
    ),
    pattern.Replacement: Type(_('text'), _read_replacement, [_PLAIN]),
}
"""The types to which arguments are converted."""
