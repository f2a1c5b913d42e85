# SPDX-License-Identifier: Apache-2.0

"""Arguments of ops: names, types and conversions.

An op declares its arguments as the parameters of its ``__call__``: their
names, their defaults and, by annotation, their types (spec 003 "Developer
impact").
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


class BoundArguments(typing.NamedTuple):
    """The arguments that a rule passes to an op, and their problems.

    ``values`` are arguments by name. The pointer of a problem begins in
    ``args`` of the operation: it is ``/value`` or, in a list of arguments,
    ``/1``.
    """

    values: dict[str, typing.Any]
    problems: list[exceptions.Problem]


@dataclasses.dataclass(frozen=True, slots=True)
class Argument:
    """An argument that an op declares: its name, type and default.

    ``type`` is its annotation, or Any without an annotation. A ``variadic``
    argument takes any number of positional values as one list. It is always
    required, because its parameter cannot have a default. A ``keyword_only``
    argument cannot be passed in a list of arguments.
    """

    name: str
    type: typing.Any = typing.Any
    default: typing.Any = REQUIRED
    variadic: bool = False
    keyword_only: bool = False

    def __str__(self) -> str:
        """Return the argument as messages show it.

        ``path`` is required, ``[default]`` is optional, ``unique=false`` has a
        default, and ``*values`` takes any number of values.
        """
        if self.variadic:
            return f'*{self.name}'
        if self.required:
            return self.name
        if self.default is data_path.ABSENT:
            return f'[{self.name}]'
        if self.default is None or isinstance(self.default, bool):
            # Write the default as YAML and JSON do, not as Python does.
            return f'{self.name}={json.dumps(self.default)}'
        return f'{self.name}={self.default!r}'

    @property
    def required(self) -> bool:
        return self.default is REQUIRED

    @property
    def converts(self) -> bool:
        """Whether :func:`convert` may change or reject a value."""
        if self.type in TYPES:
            return True
        # A null becomes the default, which makes no difference if it is None.
        return self.default is not REQUIRED and self.default is not None


class Signature:
    """The arguments that an op declares, in order.

    :param function: a plugin, or its method ``revert``.
    :param skip: number of parameters before the arguments of a rule. The
        engine passes these itself, e.g. the target of an action.
    :raises: :class:`.exceptions.PluginError` if an argument cannot be passed
        by name.
    """

    def __init__(
        self, function: typing.Callable[..., typing.Any], skip: int = 0
    ) -> None:
        """Read the parameters of the function as arguments of a rule."""
        # With eval_str, annotations that are written as text are evaluated.
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

    def bind(self, args: typing.Any) -> BoundArguments:
        """Bind the values that a rule passes to the arguments.

        For ``set-attribute``, ``['/extra/a', 1]`` and ``{'path': '/extra/a',
        'value': 1}`` give the same result. For an op that takes any number of
        values, ``[[1, 2]]`` is the same as ``[1, 2]``.

        All problems are collected, so that an author sees them at once. The
        values are not converted, and their types are not checked here.

        :param args: a list, a mapping, or None for no arguments.
        :returns: the arguments that could be bound, and all problems.
        """
        if args is None:
            bound = BoundArguments({}, [])
        elif isinstance(args, list | tuple):
            bound = self._bind_list(list(args))
        elif isinstance(args, dict):
            bound = self._bind_mapping(args)
        else:
            problem = exceptions.Problem(
                '', _('arguments must be a list or a mapping')
            )
            return BoundArguments({}, [problem])
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

    def _bind_mapping(
        self, args: dict[typing.Any, typing.Any]
    ) -> BoundArguments:
        """Bind values by their names, and report unknown names.

        For ``log``, ``{'msg': 'x', 'levle': 'info'}`` binds ``msg`` and
        reports ``levle``.
        """
        values = {}
        problems = []
        for name, value in args.items():
            if name in self.by_name:
                values[name] = value
            else:
                problems.append(self._problem_of_unknown(name))
        return BoundArguments(values, problems)

    def _problem_of_unknown(self, name: typing.Any) -> exceptions.Problem:
        """Return the problem of an argument that is not declared.

        Its hint suggests the most similar argument and lists all arguments.

        :param name: a name of any type, because keys of a file may be numbers.
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
            _('unknown argument "%s"') % suggestion.shorten(str(name)),
            hint,
        )

    def _bind_list(self, args: list[typing.Any]) -> BoundArguments:
        """Bind values by their positions, and report surplus values.

        Keyword-only arguments cannot be passed in a list.
        """
        positional = [
            argument
            for argument in self.arguments
            if not argument.keyword_only
        ]
        if positional and positional[0].variadic:
            # This argument takes all values. If the only value is a list, its
            # items are the values.
            if len(args) == 1 and isinstance(args[0], list):
                args = args[0]
            if not args:
                # Bind nothing, so that bind() reports the argument as missing.
                return BoundArguments({}, [])
            return BoundArguments({positional[0].name: args}, [])
        values = {}
        # The list may be shorter than the arguments, because bind() reports
        # required arguments without a value. It may also be longer.
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
        return BoundArguments(values, problems)

    def bind_call(
        self, values: typing.Sequence[tuple[str | None, typing.Any]]
    ) -> BoundArguments:
        """Bind the positional and named values of a filter.

        Unlike an op, a filter may have both: ``replace('-', new='_')`` gives
        ``{'old': '-', 'new': '_'}``. Positional values are bound to the
        arguments in order, including keyword-only arguments. A variadic
        argument gets one value, not all of the remaining values.

        :param values: pairs of a name and a value, where the name of a
            positional value is None: ``[(None, '-'), ('new', '_')]`` above.
        """
        positional = [value for name, value in values if not name]
        named = [(name, value) for name, value in values if name]
        # Keep the pairs: a mapping would hide that an argument is given twice,
        # once by position and once by name.
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
    """Build the argument that a parameter of a plugin's method declares.

    ``msg: str`` is a required text, ``unique: bool = False`` is a boolean with
    a default, and ``*values`` is variadic.

    :raises: :class:`.exceptions.PluginError` if it cannot be passed by name.
    """
    kind = parameter.kind
    if kind in (
        inspect.Parameter.VAR_KEYWORD,
        inspect.Parameter.POSITIONAL_ONLY,
    ):
        # With **others, any name would be valid, so a misspelled argument of a
        # rule could not be detected.
        raise exceptions.PluginError(
            _('parameter "%s" cannot be given by name') % parameter.name
        )
    annotation = parameter.annotation
    variadic = kind is inspect.Parameter.VAR_POSITIONAL
    if variadic:
        # The annotation of *values is the type of one item.
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

    The conversion to bool, int, float and str is lenient: ``"yes"`` becomes
    true, and ``"5"`` becomes 5. A list must be a list. A path and a pattern
    are parsed from text. Values of any other type are returned unchanged. Null
    becomes the default if the argument has one.

    :raises: :class:`.exceptions.OperationError` if the value cannot be
        converted.
    """
    if value is None and not argument.required:
        return argument.default
    declared = TYPES.get(argument.type)
    # Do not use isinstance(), because true would count as an integer.
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
                'value': suggestion.describe_type(value),
            }
        ) from exc


def _require_type(types: typing.Any, value: typing.Any) -> typing.Any:
    """Return a value if it has one of the types, or raise TypeError."""
    if not isinstance(value, types):
        raise TypeError
    return value


def _read_bool(value: typing.Any) -> bool:
    """Read a boolean, including text such as ``yes``, and 0 and 1.

    :raises: TypeError or ValueError for any other value.
    """
    value = _require_type(str | int | float, value)
    if isinstance(value, float) and value.is_integer():
        # In JSON, 1.0 is the same number as 1.
        value = int(value)
    return bool(strutils.bool_from_string(value, strict=True))


_NUMBERS = {
    int: re.compile(schema.WHOLE_NUMBER),
    float: re.compile(schema.NUMBER),
}


def read_number(value: typing.Any, kind: type) -> typing.Any:
    """Read a finite number, including numbers in text: 8 from ``"8"``.

    :param kind: int or float. For int, the float 8.5 becomes 8, but the text
        ``8.5`` is rejected.
    :raises: TypeError, ValueError or OverflowError if it is not a number.
    """
    if isinstance(value, bool):
        raise TypeError
    # Python itself also accepts "1_0", digits of any script, and "inf".
    if isinstance(value, str) and not _NUMBERS[kind].fullmatch(value):
        raise ValueError
    number = kind(value)
    # Do not use math.isfinite(), because it fails for integers that are too
    # large for a float. The comparison is False for NaN.
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
    """A type that an argument can declare.

    ``name`` is the name of the type in messages. ``read`` converts a value of
    a rule to the type, or raises TypeError, ValueError or OverflowError. Any
    value that ``read`` accepts matches one of the JSON schemas in ``schemas``.
    """

    name: str
    read: typing.Callable[[typing.Any], typing.Any]
    schemas: typing.Sequence[schema.Schema]


_PLAIN: schema.Schema = {'type': ['string', 'number', 'boolean']}

_TRUTH_TEXT = rf'\s*(?:{schema.TRUTHS}|{schema.FALSEHOODS})\s*'

# The first token must not be empty. Tokens are separated by slashes or, if
# there is no slash, by dots.
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
