# SPDX-License-Identifier: Apache-2.0

"""Compile values with replacement fields and filters to templates.

This is done once, when a rule is compiled: names and arguments of filters are
checked then. Rendering a template with the data of a machine parses nothing.
A missing field stays missing through a filter, unless the filter accepts it.
"""

import dataclasses
import functools
import math
import typing

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.language import arguments
from ironic_inspection_rules.engine.language import budget
from ironic_inspection_rules.engine.language import filter_syntax
from ironic_inspection_rules.engine.language import interpolation
from ironic_inspection_rules.engine.language import path as data_path
from ironic_inspection_rules.engine.language import pattern
from ironic_inspection_rules.engine.language import registry
from ironic_inspection_rules.engine.language import rendering
from ironic_inspection_rules.engine.language import suggestion
from ironic_inspection_rules.engine.language import text_cache
from ironic_inspection_rules.i18n import _

_KNOWN = 256
"""Maximum length of text whose template is cached."""

_NOTHING = frozenset((rendering.Missing, data_path.Absent))

_NOT_READ = _('{%(field)s}: a table is read by its rows: {tables.%(table)s | '
              'row}, or {KEY | lookup(tables.%(table)s)}')

_TOO_LARGE = 1 << 14_000
"""The limit of whole numbers, somewhat below that of Python's ``str``."""


def compile_value(value: typing.Any, lenient: bool = False) -> typing.Any:
    """Build a template of a value, or return the value if it has no fields.

    :param value: a string, or lists and mappings with strings anywhere.
    :param lenient: keep a missing field inside a list or mapping; by default
        it makes the whole value missing.
    :returns: a :class:`.rendering.Template`, or the value with its braces
        unescaped.
    """
    if isinstance(value, str):
        return _compile_text(value)
    if isinstance(value, dict):
        keys = [_compile_text(key) if isinstance(key, str) else key
                for key in value]
        items = [compile_value(item, lenient) for item in value.values()]
        return rendering.mapping(keys, items, lenient)
    if isinstance(value, list | tuple):
        items = [compile_value(item, lenient) for item in value]
        return (rendering.List(items, lenient) if rendering.varies(items)
                else items)
    return value


@text_cache.for_short(maxsize=4096, longest=_KNOWN)
def _compile_text(text: str) -> typing.Any:
    if '{' not in text and '}' not in text:
        return text
    return join(interpolation.parse(text))


def join(pieces: typing.Iterable[str | interpolation.Field]) -> typing.Any:
    """Build a template of pieces of text, or text if none is a field."""
    compiled = [compile_field(piece)
                if isinstance(piece, interpolation.Field) else piece
                for piece in pieces]
    if not rendering.varies(compiled):
        return ''.join(map(str, compiled))
    if len(compiled) == 1:
        return compiled[0]
    return rendering.Made(rendering.List(compiled), join_text)


def join_text(pieces: list[typing.Any]) -> str:
    """Join rendered pieces of text."""
    return ''.join(map(str, pieces))


def compile_field(field: interpolation.Field) -> rendering.Template:
    """Build the template of a field.

    :raises: :class:`.exceptions.OperationError` if it cannot be read.
    """
    if field.problem:
        raise exceptions.OperationError(
            _('field {%(field)s} cannot be read: %(problem)s')
            % {'field': field.text, 'problem': field.problem})
    if field.root == interpolation.TABLES and len(field.steps) != 1:
        raise exceptions.OperationError(
            _('{%(field)s}: the root "%(root)s" is followed by the name of a '
              'table, and by nothing else')
            % {'field': field.text, 'root': field.root})
    missing = rendering.Missing(field.text)
    path: rendering.Template = rendering.path_to(field.root or '', field.steps,
                                       missing)
    if field.root == interpolation.ITEM:
        path = rendering.Item(path)
    elif field.root in rendering.PORT_ROOTS and field.steps:
        path = rendering.PortPath(field.root, field.steps, missing)
    elif field.root == 'plugin_data' and field.steps and (
            field.steps[0] in rendering.SECOND_NAMES):
        path = rendering.SecondName(path, field.steps, missing)
    if field.root == interpolation.TABLES and not (
            field.filters and field.filters[0].name == filter_syntax.ROW):
        raise exceptions.OperationError(
            _NOT_READ % {'field': field.text, 'table': field.steps[0]})
    if field.filters:
        reads_table = field.root == interpolation.TABLES
        first, *others = field.filters
        path = Filtered(path, (_compile_filter(first, reads_table),
                               *map(_compile_filter, others)), missing)
    if field.conversion is None and field.spec is None:
        return path
    return rendering.Made(path, rendering.formatter(field))


class _Step(typing.NamedTuple):
    """One filter of several.

    ``takes_items``, ``rearranges``, ``pays`` and ``needs_view`` are those of
    the filter.
    ``apply`` takes the value and the arguments that ``varying`` has templates
    of, by name.
    """

    op: registry.Op
    accepts_missing: bool
    takes_items: bool
    rearranges: bool
    pays: bool
    needs_view: bool
    apply: typing.Callable[..., typing.Any]
    varying: dict[str, rendering.Template]


def _compile_filter(call: filter_syntax.Call,
                    reads_table: bool = False) -> _Step:
    """Compile one filter.

    :param reads_table: whether it is the first one of a table.
    """
    known = registry.filters()
    op = known.get(call.name)
    if call.name == filter_syntax.ROW and not reads_table:
        raise exceptions.OperationError(
            _('filter %(name)s is the first one of a table: {tables.NAME | '
              '%(name)s}') % {'name': call.name})
    if op is None:
        raise exceptions.OperationError(
            suggestion.unknown(_('filter'), call.name, known))
    literals: dict[str, typing.Any] = {}
    varying: dict[str, rendering.Template] = {}
    if op.plugin.TAKES_FILTER and call.arguments and (
            call.arguments[0][0] is None):
        (_none, name), *others = call.arguments
        if not isinstance(name, str) or name not in known:
            raise _error(op, _('there is no filter "%(name)s"; an attribute '
                               "is given as attribute='%(name)s'")
                         % {'name': suggestion.shown(name)})
        varying[op.signature.arguments[0].name] = Applied(_compile_filter(
            filter_syntax.Call(name, tuple(others))))
        call = filter_syntax.Call(call.name)
    bound, problems = op.signature.bind_call(call.arguments)
    if problems:
        raise _error(op, problems[0].sentence)
    for name, written in bound.items():
        may_be_table = (call.name, name) == filter_syntax.LOOKUP
        compiled = _compile_argument(written, may_be_table)
        if isinstance(compiled, rendering.Template):
            if name in op.plugin.LITERAL or (
                    op.signature.by_name[name].type is pattern.Pattern):
                raise _error(op, _('%s must be written out in the rule')
                             % name)
            varying[name] = compiled
        else:
            literals[name] = _convert(op, name, compiled)
    for name, problem in op.refused(literals, varying):
        raise _error(op, f'{name} {problem}')
    try:
        apply: registry.Function
        if varying:
            apply = functools.partial(op.run(op.plugin), **literals)
        else:
            apply = op.bind(literals)
    except exceptions.OperationError as exc:
        raise _error(op, str(exc)) from exc
    return _Step(op, op.plugin.ACCEPTS_MISSING, op.plugin.TAKES_ITEMS,
                 op.plugin.REARRANGES, op.plugin.PAYS, op.plugin.NEEDS_VIEW,
                 apply, varying)


def filtered(value: typing.Any) -> list['Filtered']:
    """Return all fields with filters in a value, from left to right."""
    if isinstance(value, Filtered):
        return [value]
    parts = value.parts if isinstance(value, rendering.Template) else ()
    return [each for part in parts for each in filtered(part)]


def _convert(op: registry.Op, name: str, value: typing.Any) -> typing.Any:
    """Convert an argument to its type.

    Null stands for the default, unless the argument takes any value.
    """
    argument = op.signature.by_name[name]
    if argument.type is typing.Any:
        return value
    return arguments.convert(value, argument)


def _error(op: registry.Op, problem: str) -> exceptions.OperationError:
    return exceptions.OperationError(
        _('filter %(name)s: %(problem)s')
        % {'name': op.name, 'problem': problem})


def _compile_argument(written: typing.Any,
                      may_be_table: bool = False) -> typing.Any:
    if isinstance(written, interpolation.Field):
        if may_be_table and written.is_table:
            return rendering.path_to(interpolation.TABLES, written.steps,
                                     rendering.Missing(written.text))
        return compile_field(written)
    if isinstance(written, list):
        items = list(map(_compile_argument, written))
        return rendering.List(items) if rendering.varies(items) else items
    if isinstance(written, dict):
        return rendering.mapping(
            list(written), list(map(_compile_argument, written.values())))
    return written


@dataclasses.dataclass(slots=True, eq=False)
class Filtered(rendering.Template):
    """A field with filters.

    ``source`` is the value before them, ``missing`` has the text of the whole
    field.
    """

    source: rendering.Template
    steps: tuple[_Step, ...]
    missing: rendering.Missing

    def render(self, roots: budget.View) -> typing.Any:
        value = _apply(self.steps, self.source.render(roots), roots)
        return self.missing if value is data_path.ABSENT else value


@dataclasses.dataclass(slots=True, eq=False)
class Applied(rendering.Template):
    """A filter that is an argument of another, as a function of a value."""

    step: _Step

    def render(self, roots: budget.View) -> typing.Any:
        return functools.partial(_apply, (self.step,), roots=roots)


def _apply(steps: tuple[_Step, ...], value: typing.Any,
           roots: budget.View) -> typing.Any:
    """Apply filters to a value; the result may be ABSENT.

    What each filter is given and returns is paid for here.
    """
    allowance = roots.budget
    allowance.spend(len(steps))
    for (op, accepts_missing, takes_items, rearranges, pays, needs_view,
            apply, varying) in steps:
        if value.__class__ is not str or len(value) > budget.SHORT:
            if value.__class__ in _NOTHING:
                if not accepts_missing:
                    continue
                value = data_path.ABSENT
            else:
                allowance.give(value)
        if varying:
            given = _arguments(op, varying, roots)
            if isinstance(given, rendering.Missing):
                value = given
                continue
            apply = functools.partial(apply, **given)
        try:
            if takes_items:
                value = _items(value, allowance)
            if needs_view:
                value = apply(roots, value)
            else:
                value = apply(allowance, value) if pays else apply(value)
        except exceptions.BudgetExceeded:
            raise
        except (exceptions.OperationError, TypeError, ValueError,
                ArithmeticError, LookupError) as exc:
            raise _error(op, exceptions.reason_of(exc)) from exc
        if value.__class__ is not str or len(value) > budget.SHORT:
            allowance.take(value, rearranges)
            _check_number(op, value)
    return value


def _items(value: typing.Any, allowance: budget.Budget) -> list[typing.Any]:
    """Return the items of a list, the keys of a mapping, or characters."""
    if isinstance(value, list):
        return value
    if isinstance(value, dict | str):
        # A character of a list takes eight times the memory that it takes in
        # text, and a call.
        allowance.spend(len(value) >> 2)
        return list(value)
    raise exceptions.OperationError(
        _('takes a list, not %s') % suggestion.kind_of(value))


def _check_number(op: registry.Op, made: typing.Any) -> None:
    if made.__class__ is int and not -_TOO_LARGE < made < _TOO_LARGE:
        raise _error(op, _('the number has too many digits'))
    elif made.__class__ is float and not math.isfinite(made):
        raise _error(op, _('the number is not finite'))


def _arguments(op: registry.Op, varying: dict[str, rendering.Template],
               roots: budget.View
               ) -> dict[str, typing.Any] | rendering.Missing:
    given = {}
    for name, template in varying.items():
        argument = template.render(roots)
        if isinstance(argument, rendering.Missing):
            return argument
        if op.signature.by_name[name].type is data_path.Path:
            # A machine's text is one step, whatever is in it.
            token = str(argument)
            roots.budget.take(token)
            given[name] = (token,)
            continue
        roots.budget.give(argument)
        read = _convert(op, name, argument)
        if isinstance(read, pattern.Replacement):
            read = read._replace(expands=False)
        given[name] = read
    return given
