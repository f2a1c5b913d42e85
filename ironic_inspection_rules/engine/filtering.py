# SPDX-License-Identifier: Apache-2.0

"""Filters in a replacement field, ready to be applied.

Names and arguments are checked when a rule is compiled. A field that does not
exist passes a filter as it is, unless the filter takes it.
"""

import functools
import math
import typing

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine import arguments
from ironic_inspection_rules.engine import budget
from ironic_inspection_rules.engine import filter_syntax
from ironic_inspection_rules.engine import path as data_path
from ironic_inspection_rules.engine import pattern
from ironic_inspection_rules.engine import registry
from ironic_inspection_rules.engine import rendering
from ironic_inspection_rules.engine import suggestion
from ironic_inspection_rules.i18n import _

Missing = rendering.Missing
Template = rendering.Template

_SIZED = frozenset((str, list, dict))
_NOTHING = frozenset((Missing, data_path.Absent))

_SHORT = 63
"""Characters or items up to which a value costs no more than its filter."""

_TOO_LARGE = 1 << 14_000
"""For a whole number: Python writes none as text with some more bits."""

CompilePath = typing.Callable[[typing.Any], Template]


def compile_filters(calls: typing.Iterable[filter_syntax.Call],
                    value: Template, missing: Missing,
                    compile_path: CompilePath) -> 'Filtered':
    """Build a template of a value that goes through filters.

    :param calls: the filters as they are written, at least one.
    :param value: what goes through them.
    :param missing: what the field is where it does not exist.
    :param compile_path: makes a template of a path in an argument.
    :raises: :class:`.exceptions.OperationError` where there is no such
        filter, or the arguments do not fit.
    """
    return Filtered(value, tuple(_compile_step(call, compile_path)
                                 for call in calls), missing)


class _Step(typing.NamedTuple):
    """One filter of several.

    ``apply`` takes the value and, where ``varying`` has templates of
    arguments, those by name.
    """

    op: registry.Op
    accepts_missing: bool
    pays: bool
    apply: typing.Callable[..., typing.Any]
    varying: dict[str, Template]


def _compile_step(call: filter_syntax.Call,
                  compile_path: CompilePath) -> _Step:
    known = registry.filters()
    op = known.get(call.name)
    if op is None:
        raise exceptions.OperationError(
            suggestion.unknown(_('filter'), call.name, known))
    literals: dict[str, typing.Any] = {}
    varying: dict[str, Template] = {}
    if op.plugin.TAKES_FILTER and call.arguments and (
            call.arguments[0][0] is None):
        parameter = op.signature.arguments[0].name
        varying[parameter] = _applied(op, call, compile_path)
        call = filter_syntax.Call(call.name)
    given = bind(op, call)
    for name, written in given.items():
        compiled = _compile(written, compile_path)
        if isinstance(compiled, Template):
            if name in op.plugin.LITERAL or (
                    op.signature.by_name[name].type is pattern.Pattern):
                raise _error(op, _('%s must be written out in the rule')
                             % name)
            varying[name] = compiled
        else:
            literals[name] = _convert(op, name, compiled)
    for name, problem in op.plugin.problems({**varying, **literals} if (
            op.plugin.TAKES_FILTER) else literals):
        raise _error(op, f'{name} {problem}')
    try:
        apply = functools.partial(op.plugin, **literals) if varying else (
            op.plugin.bind(literals))
    except exceptions.OperationError as exc:
        raise _error(op, str(exc)) from exc
    return _Step(op, op.plugin.ACCEPTS_MISSING, op.plugin.PAYS, apply,
                 varying)


def _applied(op: registry.Op, call: filter_syntax.Call,
             compile_path: CompilePath) -> 'Applied':
    """Build a template of a filter that another one applies."""
    (_name, name), *others = call.arguments
    known = registry.filters()
    if not isinstance(name, str) or name not in known:
        raise _error(op, _('there is no filter "%(name)s"; an attribute is '
                           "given as attribute='%(name)s'")
                     % {'name': suggestion.shown(name)})
    return Applied(_compile_step(filter_syntax.Call(name, tuple(others)),
                                 compile_path))


def find(value: typing.Any) -> list['Filtered']:
    """Return all fields with filters in a value, from left to right."""
    if isinstance(value, Filtered):
        return [value]
    parts = value.parts if isinstance(value, Template) else ()
    return [each for part in parts for each in find(part)]


def bind(op: registry.Op, call: filter_syntax.Call
         ) -> dict[str, typing.Any]:
    """Bind the arguments of a filter to their names."""
    by_name = {name: value for name, value in call.arguments if name}
    by_place = [value for name, value in call.arguments if not name]
    if len(by_name) + len(by_place) < len(call.arguments):
        raise _error(op, _('an argument is given twice'))
    bound, problems = op.signature.bind(
        {**dict(zip(op.signature.by_name, by_place, strict=False)),
         **by_name})
    if len(by_place) > len(op.signature.by_name):
        problems.append(exceptions.Problem(
            '', _('too many arguments; expected: %s') % op.signature))
    for name in list(op.signature.by_name)[:len(by_place)]:
        if name in by_name:
            problems.append(exceptions.Problem(
                '', _('argument "%s" is given twice') % name))
    if problems:
        raise _error(op, problems[0].message)
    return bound


def _convert(op: registry.Op, name: str, value: typing.Any) -> typing.Any:
    """Read an argument as the type it has; null is a value of any type."""
    argument = op.signature.by_name[name]
    if argument.type is typing.Any:
        return value
    return arguments.convert(value, argument)


def _error(op: registry.Op, problem: str) -> exceptions.OperationError:
    return exceptions.OperationError(
        _('filter %(name)s: %(problem)s')
        % {'name': op.name, 'problem': problem})


def _compile(written: typing.Any, compile_path: CompilePath) -> typing.Any:
    if isinstance(written, tuple):
        return compile_path(written)
    if isinstance(written, list):
        items = [_compile(item, compile_path) for item in written]
        return _Items(items, None) if _varies(items) else items
    if isinstance(written, dict):
        items = [_compile(item, compile_path) for item in written.values()]
        return (_Items(items, tuple(written)) if _varies(items)
                else dict(zip(written, items, strict=True)))
    return written


def _varies(items: list[typing.Any]) -> bool:
    return any(isinstance(item, Template) for item in items)


class _Items(Template):
    """A list or a mapping in an argument, with paths in it."""

    __slots__ = ('_items', '_keys')

    def __init__(self, items: list[typing.Any],
                 keys: tuple[str, ...] | None) -> None:
        self._items = items
        self._keys = keys

    def render(self, roots: rendering.Roots) -> typing.Any:
        values = []
        for item in self._items:
            value = item.render(roots) if isinstance(item, Template) else item
            if isinstance(value, Missing):
                return value
            values.append(value)
        if self._keys is None:
            return values
        return dict(zip(self._keys, values, strict=True))


class Filtered(Template):
    """A value that goes through filters.

    ``source`` is the value before them, ``field`` the text of the whole
    field.
    """

    __slots__ = ('_missing', '_steps', 'field', 'source')

    def __init__(self, source: Template, steps: tuple[_Step, ...],
                 missing: Missing) -> None:
        self.source = source
        self._steps = steps
        self._missing = missing
        self.field = missing.field

    def render(self, roots: rendering.Roots) -> typing.Any:
        value = _apply(self._steps, self.source.render(roots), roots)
        return self._missing if value is data_path.ABSENT else value


class Applied(Template):
    """A filter as a function of what it is applied to."""

    __slots__ = ('_steps',)

    def __init__(self, step: _Step) -> None:
        self._steps = (step,)

    def render(self, roots: rendering.Roots) -> typing.Any:
        return functools.partial(_apply, self._steps, roots=roots)


def _apply(steps: tuple[_Step, ...], value: typing.Any,
           roots: rendering.Roots) -> typing.Any:
    """Return what filters make of a value; ABSENT where one finds nothing."""
    allowance = roots.budget
    allowance.spend(len(steps))
    for op, accepts_missing, pays, apply, varying in steps:
        if value.__class__ in _NOTHING:
            if not accepts_missing:
                continue
            value = data_path.ABSENT
        elif value.__class__ in _SIZED and len(value) > _SHORT:
            allowance.spend(len(value) >> 6)
        if varying:
            given = _arguments(op, varying, roots)
            if isinstance(given, Missing):
                value = given
                continue
            apply = functools.partial(apply, **given)
        try:
            value = apply(allowance, value) if pays else apply(value)
        except exceptions.BudgetExceeded:
            raise
        except (exceptions.OperationError, TypeError, ValueError,
                ArithmeticError, LookupError) as exc:
            raise _error(op, str(exc)) from exc
        if value.__class__ is not str or len(value) > _SHORT:
            _check(op, value, allowance)
    return value


def _check(op: registry.Op, made: typing.Any,
           allowance: budget.Budget) -> None:
    """Check that the result of a filter is not too large."""
    if made.__class__ is str:
        allowance.make_text(len(made))
    elif made.__class__ is int and not -_TOO_LARGE < made < _TOO_LARGE:
        raise _error(op, _('the number has too many digits'))
    elif made.__class__ is float and not math.isfinite(made):
        raise _error(op, _('the number is not finite'))


def _arguments(op: registry.Op, varying: dict[str, Template],
               roots: rendering.Roots) -> dict[str, typing.Any] | Missing:
    """Return the arguments that depend on the data, by name."""
    given = {}
    for name, template in varying.items():
        argument = template.render(roots)
        if isinstance(argument, Missing):
            return argument
        if op.signature.by_name[name].type is data_path.Path:
            # What a machine sends is one step, whatever is in it.
            given[name] = (str(argument),)
            continue
        read = _convert(op, name, argument)
        if isinstance(read, pattern.Replacement):
            read = read._replace(expands=False)
        given[name] = read
    return given
