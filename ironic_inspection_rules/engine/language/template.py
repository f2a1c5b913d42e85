# SPDX-License-Identifier: Apache-2.0

"""Compiles text with fields and filters into templates.

Templates are compiled once, together with the rule. The names and arguments
of filters are checked at that time, so rendering a template with the data of
a machine parses nothing. A missing field stays missing through a filter,
unless the filter accepts it.
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

_LONGEST_CACHED = 256
"""Maximum length of text whose template is cached."""

_CLASSES_OF_MISSING = frozenset((rendering.Missing, data_path.Absent))
"""The classes of values that stand for a missing field."""

_HOW_TO_READ_TABLES = _(
    '{%(field)s}: a table is read by its rows: {tables.%(table)s | '
    'row}, or {KEY | lookup(tables.%(table)s)}'
)

TOO_LARGE = 1 << 14_000
"""The limit of whole numbers, somewhat below the limit of Python's ``str``.

Python writes no integer of more than 4300 digits, and this has 4215.
"""


def compile_value(value: typing.Any, lenient: bool = False) -> typing.Any:
    """Build a template from a value, or return the value if it has no fields.

    ``{'a': '{node.name}'}`` gives a template; ``{'a': 'b'}`` is returned.

    :param value: any value of a rule. Strings inside lists and mappings may
        have fields too.
    :param lenient: whether a list or mapping keeps a missing field. By
        default, a missing field makes the whole value missing.
    :returns: a :class:`.rendering.Template`, or the value with its braces
        unescaped.
    :raises: :class:`.exceptions.OperationError` if a field cannot be parsed,
        or if it reads a table in any other way than by its rows.
    """
    if isinstance(value, str):
        return _compile_text(value)
    if isinstance(value, dict):
        keys = [_compile_key(key) for key in value]
        items = [compile_value(item, lenient) for item in value.values()]
        return rendering.build_mapping(keys, items, lenient)
    if isinstance(value, list | tuple):
        items = [compile_value(item, lenient) for item in value]
        if rendering.any_varies(items):
            return rendering.ListTemplate(items, lenient)
        return items
    return value


def _compile_key(key: typing.Any) -> typing.Any:
    """Build a template from the key of a mapping, or return a plain key."""
    # In a rule file, keys of mappings may be numbers.
    if isinstance(key, str):
        return _compile_text(key)
    return key


@text_cache.cache_short_texts(maxsize=4096, longest=_LONGEST_CACHED)
def _compile_text(text: str) -> typing.Any:
    """Build a template from a text, or return it with braces unescaped."""
    if '{' not in text and '}' not in text:
        return text
    return join(interpolation.parse(text))


def join(
    pieces: typing.Iterable[str | interpolation.Field],
) -> typing.Any:
    """Join the pieces of a text into a template.

    A field that is the only piece keeps the type of its value:
    ``{inventory.cpu.count}`` gives the number 8, but
    ``{inventory.cpu.count}x`` gives the text ``8x``.

    :param pieces: literal texts and fields.
    :returns: the text itself if no piece is a field.
    """
    compiled: list[typing.Any] = []
    for piece in pieces:
        if isinstance(piece, interpolation.Field):
            compiled.append(compile_field(piece))
        else:
            compiled.append(piece)
    if not rendering.any_varies(compiled):
        return ''.join(compiled)
    if len(compiled) == 1:
        return compiled[0]
    return rendering.build_text(compiled)


def compile_field(field: interpolation.Field) -> rendering.Template:
    """Build the template of a field: its path, then filters, then format.

    ``{inventory.cpu.count | int:>4}`` has the path ``inventory.cpu.count``,
    the filter ``int`` and the format ``>4``. This function does not check
    that the path exists, because that depends on the machine.

    :raises: :class:`.exceptions.OperationError` if the field cannot be parsed,
        or if it is a table that is not followed by the filter ``row``.
    """
    if field.problem:
        raise exceptions.OperationError(
            _('field {%(field)s} cannot be read: %(problem)s')
            % {'field': field.text, 'problem': field.problem}
        )
    if field.root == interpolation.TABLES:
        _check_reads_row(field)
    value = _compile_path(field)
    if field.filters:
        filters = []
        for index, call in enumerate(field.filters):
            # Only the first filter is applied to a table itself: "row" in
            # {tables.racks | row | keys}.
            is_after_table = index == 0 and field.root == interpolation.TABLES
            filters.append(_compile_filter(call, is_after_table))
        # If the value is missing, errors and reasons name the whole field.
        value = Filtered(
            source=value,
            filters=tuple(filters),
            missing=rendering.Missing(field.text),
        )
    has_format = field.conversion is not None or field.spec is not None
    if not has_format:
        # Without a format, the value keeps its type: a number stays a number.
        return value
    return rendering.ComputedTemplate(
        source=value, function=rendering.build_formatter(field)
    )


def _check_reads_row(field: interpolation.Field) -> None:
    """Check that a field that reads a table reads one of its rows.

    :raises: :class:`.exceptions.OperationError` if it reads anything else.
    """
    if len(field.steps) != 1:
        raise exceptions.OperationError(
            _(
                '{%(field)s}: the root "%(root)s" is followed by the name of '
                'a table, and by nothing else'
            )
            % {'field': field.text, 'root': field.root}
        )
    if not field.filters or field.filters[0].name != filter_syntax.ROW:
        raise exceptions.OperationError(
            _HOW_TO_READ_TABLES
            % {'field': field.text, 'table': field.steps[0]}
        )


def _compile_path(field: interpolation.Field) -> rendering.Template:
    """Build the template that reads the value of a field.

    Ports, the item of a loop, and plugin data with second names have their
    own templates. All other fields are read by their path.
    """
    missing = rendering.Missing(field.text)
    if field.root in rendering.PORT_ROOTS and field.steps:
        return rendering.PortPath(field.root, field.steps, missing)
    # Text in braces that is not a path has no root. It is missing on all
    # machines, just as a root that does not exist.
    path = rendering.build_path(field.root or '', field.steps, missing)
    if field.root == interpolation.ITEM:
        return rendering.LoopItem(path)
    if field.root == interpolation.PLUGIN_DATA and field.steps:
        if field.steps[0] in rendering.SECOND_NAMES:
            return rendering.AliasedPath(path, field.steps, missing)
    return path


class _CompiledFilter(typing.NamedTuple):
    """A filter that is ready to be applied to the values of a field.

    ``accepts_missing``, ``takes_items``, ``rearranges``, ``pays`` and
    ``needs_view`` are copied from its plugin, see :class:`.plugin.Filter`.
    ``apply`` is the function of the filter with its literal arguments bound.
    Call it with the value, and pass the other arguments by name. Their
    templates are in ``varying``.
    """

    op: registry.Op
    accepts_missing: bool
    takes_items: bool
    rearranges: bool
    pays: bool
    needs_view: bool
    apply: typing.Callable[..., typing.Any]
    varying: dict[str, rendering.Template]


def _compile_filter(
    call: filter_syntax.FilterCall, is_after_table: bool = False
) -> _CompiledFilter:
    """Compile one filter of a field, with its arguments.

    :param is_after_table: whether the filter comes directly after a table,
        e.g. ``row`` in ``{tables.racks | row}``. ``row`` may only come there.
    :raises: OperationError if the filter is unknown or rejects its arguments.
    """
    if call.name == filter_syntax.ROW and not is_after_table:
        raise exceptions.OperationError(
            _(
                'filter %(name)s is the first one of a table: {tables.NAME | '
                '%(name)s}'
            )
            % {'name': call.name}
        )
    filters = registry.filters()
    op = filters.get(call.name)
    if op is None:
        raise exceptions.OperationError(
            suggestion.unknown_message(_('filter'), call.name, filters)
        )
    literals, varying = _compile_arguments(op, call)
    for name, problem in op.problems_of_filter(literals, varying):
        raise _filter_error(op, f'{name} {problem}')
    apply: registry.Function
    if varying:
        # A plugin prepares its calls in bind(), but bind() needs all of the
        # arguments. So call the plugin itself for every machine.
        apply = functools.partial(op.wrap_for_machines(op.plugin), **literals)
    else:
        try:
            apply = op.bind(literals)
        except exceptions.OperationError as exc:
            raise _filter_error(op, str(exc)) from exc
    return _CompiledFilter(
        op=op,
        accepts_missing=op.plugin.ACCEPTS_MISSING,
        takes_items=op.plugin.TAKES_ITEMS,
        rearranges=op.plugin.REARRANGES,
        pays=op.plugin.PAYS,
        needs_view=op.plugin.NEEDS_VIEW,
        apply=apply,
        varying=varying,
    )


def _compile_arguments(
    op: registry.Op, call: filter_syntax.FilterCall
) -> tuple[dict[str, typing.Any], dict[str, rendering.Template]]:
    """Compile the arguments of a filter.

    In ``{inventory.a | replace('-', node.name)}`` the argument ``old`` is
    literal and ``new`` varies: ``{'old': '-'}``, ``{'new': TEMPLATE}``.

    :returns: the values of the literal arguments, and the templates of the
        arguments that depend on the machine, both by name.
    :raises: OperationError if the filter rejects the arguments.
    """
    literals: dict[str, typing.Any] = {}
    varying: dict[str, rendering.Template] = {}
    arguments_to_bind = call.arguments
    # A filter is passed without a name; map(attribute='size') passes none.
    if op.plugin.TAKES_FILTER and call.is_first_positional:
        # In {… | map("round", 2)} the name of a filter and its arguments form
        # a single argument, which is a function.
        function = op.signature.arguments[0].name
        varying[function] = _compile_inner_filter(op, call)
        arguments_to_bind = ()
    bound, problems = op.signature.bind_call(arguments_to_bind)
    if problems:
        raise _filter_error(op, problems[0].sentence)
    for name, argument in bound.items():
        may_be_table = (
            call.name == filter_syntax.LOOKUP
            and name == filter_syntax.SEARCHED_BY_LOOKUP
        )
        compiled = _compile_argument(argument, may_be_table)
        if not isinstance(compiled, rendering.Template):
            literals[name] = _convert_argument(op, name, compiled)
            continue
        # A pattern is compiled and checked now, because the data of a machine
        # must not choose it.
        is_pattern = op.signature.by_name[name].type is pattern.Pattern
        if is_pattern or name in op.plugin.LITERAL:
            raise _filter_error(
                op, _('%s must be written out in the rule') % name
            )
        varying[name] = compiled
    return literals, varying


def _compile_inner_filter(
    op: registry.Op, call: filter_syntax.FilterCall
) -> 'FilterAsArgument':
    """Compile a filter that is the first argument of another filter.

    In ``map('round', 2)`` the inner filter is ``round(2)``.

    :param op: the outer filter, here ``map``.
    :param call: the call of the outer filter.
    """
    (_no_name, inner), *arguments_of_inner = call.arguments
    if not isinstance(inner, str):
        # It is e.g. a number, or a path, which has no quotes.
        raise _filter_error(
            op,
            _(
                'begins with the name of a filter, in quotes; an '
                "attribute is given as attribute='NAME'"
            ),
        )
    if inner not in registry.filters():
        raise _filter_error(
            op,
            _(
                'there is no filter "%(name)s"; an attribute '
                "is given as attribute='%(name)s'"
            )
            % {'name': suggestion.shorten(inner)},
        )
    inner_call = filter_syntax.FilterCall(inner, tuple(arguments_of_inner))
    return FilterAsArgument(_compile_filter(inner_call))


def find_filtered(value: typing.Any) -> list['Filtered']:
    """Return all fields with filters in a value, from left to right.

    The reason of a condition uses them to say what the filters computed.

    :param value: a template, or a value without fields.
    """
    if isinstance(value, Filtered):
        return [value]
    fields: list[Filtered] = []
    if isinstance(value, rendering.Template):
        for part in value.parts:
            fields += find_filtered(part)
    return fields


def _convert_argument(
    op: registry.Op, name: str, value: typing.Any
) -> typing.Any:
    """Convert an argument of a filter to its type.

    Null stands for the default of the argument. However, if the argument
    takes values of any type, null is a value too: ``default(null)`` gives
    null.
    """
    argument = op.signature.by_name[name]
    if argument.type is typing.Any:
        return value
    return arguments.convert(value, argument)


def _filter_error(op: registry.Op, problem: str) -> exceptions.OperationError:
    """Return an error that names the filter: ``filter int: PROBLEM``."""
    return exceptions.OperationError(
        _('filter %(name)s: %(problem)s')
        % {'name': op.name, 'problem': problem}
    )


def _compile_argument(
    written: typing.Any, may_be_table: bool = False
) -> typing.Any:
    """Build a template from a filter's argument, or return a literal.

    :param written: a literal, a field, or a list or mapping of both.
    :param may_be_table: whether the argument may be a whole table, as in
        ``lookup(tables.racks)``.
    """
    if isinstance(written, interpolation.Field):
        if may_be_table and written.is_table:
            # compile_field() rejects all other fields that read a table.
            return rendering.build_path(
                interpolation.TABLES,
                written.steps,
                rendering.Missing(written.text),
            )
        return compile_field(written)
    if isinstance(written, list):
        items = [_compile_argument(item) for item in written]
        if rendering.any_varies(items):
            return rendering.ListTemplate(items)
        return items
    if isinstance(written, dict):
        # Keys are quoted texts, which have no fields.
        keys = list(written)
        items = [_compile_argument(item) for item in written.values()]
        return rendering.build_mapping(keys, items)
    return written


@dataclasses.dataclass(slots=True, eq=False)
class Filtered(rendering.Template):
    """A field with filters.

    ``source`` is the template of the value before the filters. ``missing``
    is returned if the value is missing, and has the text of the whole field.
    """

    source: rendering.Template
    filters: tuple[_CompiledFilter, ...]
    missing: rendering.Missing

    def render(self, roots: budget.View) -> typing.Any:
        """Return the value after all filters, or a missing field.

        It is the missing field of the value, or of an argument of a filter. If
        a filter itself returned nothing, it is the whole field.
        """
        value = _apply_filters(self.filters, self.source.render(roots), roots)
        if value is data_path.ABSENT:
            return self.missing
        return value


@dataclasses.dataclass(slots=True, eq=False)
class FilterAsArgument(rendering.Template):
    """A filter that is an argument of another, e.g. ``round(2)`` of ``map``.

    It renders to a function of one value, which ``map`` calls for each item.
    """

    inner: _CompiledFilter

    def render(self, roots: budget.View) -> typing.Any:
        """Return a function that applies the filter to a value."""
        return functools.partial(_apply_filters, (self.inner,), roots=roots)


def _apply_filters(
    filters: tuple[_CompiledFilter, ...], value: typing.Any, roots: budget.View
) -> typing.Any:
    """Apply the filters of a field to its value, in order.

    A missing value stays missing through all filters that do not accept it.
    The budget pays for the value and for the result of each filter, except for
    text of at most ``budget.SHORT`` characters.

    :returns: the value after the last filter. A missing value is Missing, or
        ABSENT if a filter returned ABSENT.
    :raises: OperationError if a filter rejects its value.
    """
    allowance = roots.budget
    allowance.spend(len(filters))
    # Unpack the tuple, because reading eight attributes takes as long as some
    # filters.
    for (
        op,
        accepts_missing,
        takes_items,
        rearranges,
        pays,
        needs_view,
        apply,
        varying,
    ) in filters:
        if value.__class__ is not str or len(value) > budget.SHORT:
            if value.__class__ in _CLASSES_OF_MISSING:
                if not accepts_missing:
                    continue
                value = data_path.ABSENT
            else:
                allowance.pay_for_argument(value)
        if varying:
            rendered = _render_arguments(op, varying, roots)
            if isinstance(rendered, rendering.Missing):
                # Without an argument, the result of the filter is missing.
                value = rendered
                continue
            apply = functools.partial(apply, **rendered)
        try:
            if takes_items:
                value = _require_items(value, allowance)
            if needs_view:
                value = apply(roots, value)
            else:
                value = apply(allowance, value) if pays else apply(value)
        except exceptions.BudgetExceeded:
            raise
        # These are the errors with which a filter may reject a value.
        except (
            exceptions.OperationError,
            TypeError,
            ValueError,
            ArithmeticError,
            LookupError,
        ) as exc:
            raise _filter_error(op, exceptions.reason_of(exc)) from exc
        if value.__class__ is not str or len(value) > budget.SHORT:
            # If the filter has only rearranged items, their contents are
            # already paid for.
            allowance.pay_for_result(value, rearranges)
            _refuse_number_without_json(op, value)
    return value


def _require_items(
    value: typing.Any, allowance: budget.Budget
) -> list[typing.Any]:
    """Return the items of a list, keys of a mapping or characters of a text.

    :raises: OperationError for any other value.
    """
    if isinstance(value, list):
        return value
    if isinstance(value, dict | str):
        # Charge for the list, because a character takes eight times as much
        # memory in a list as in a text.
        allowance.spend(len(value) // 4)
        return list(value)
    raise exceptions.OperationError(
        _('takes a list, not %s') % suggestion.describe_type(value)
    )


def _refuse_number_without_json(op: registry.Op, value: typing.Any) -> None:
    """Check that a number that a filter returned can be written as JSON.

    :param value: the result of the filter. Only numbers are checked.
    :raises: OperationError if the number is too large, infinite or NaN.
    """
    if value.__class__ is int:
        if not -TOO_LARGE < value < TOO_LARGE:
            raise _filter_error(op, _('the number has too many digits'))
    elif value.__class__ is float:
        if not math.isfinite(value):
            raise _filter_error(op, _('the number is not finite'))


def _render_arguments(
    op: registry.Op, varying: dict[str, rendering.Template], roots: budget.View
) -> dict[str, typing.Any] | rendering.Missing:
    """Render the arguments of a filter that depend on the machine.

    Text from a machine must not change what the rule does. If it is used as a
    path, it is a single step; if it is used as a replacement, it is plain
    text.

    :param varying: the templates of these arguments, by name.
    :returns: the values by name; or the missing field, if the data lack a
        field of an argument.
    """
    rendered = {}
    for name, argument_template in varying.items():
        argument = argument_template.render(roots)
        if isinstance(argument, rendering.Missing):
            return argument
        if op.signature.by_name[name].type is data_path.Path:
            # A path "a.b" from a machine is one name that contains a dot.
            token = str(argument)
            roots.budget.pay_for_result(token)
            rendered[name] = (token,)
            continue
        roots.budget.pay_for_argument(argument)
        converted = _convert_argument(op, name, argument)
        if isinstance(converted, pattern.Replacement):
            # A "\1" from a machine is text, not a group of the expression.
            converted = converted._replace(expands=False)
        rendered[name] = converted
    return rendered
