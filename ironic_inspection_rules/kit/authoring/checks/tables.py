# SPDX-License-Identifier: Apache-2.0

"""Find tables and columns that nothing reads, and values that no row has.

These are checks of ``lint``. Rules read a row of the table "racks" as
``{tables.racks | row}``, and the column "room" of the row as ``{tables.racks |
row | get('/room')}``. The ``key`` of a table identifies a row; its ``of`` says
which key a machine has.
"""

from collections.abc import Iterator, Sequence
import typing

from ironic_inspection_rules.engine.language import effects
from ironic_inspection_rules.engine.language import interpolation
from ironic_inspection_rules.engine.language import model
from ironic_inspection_rules.engine.language import origin
from ironic_inspection_rules.engine.language import path as data_path
from ironic_inspection_rules.engine.language import suggestion
from ironic_inspection_rules.engine.language import table
from ironic_inspection_rules.engine.language import table_check
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.kit.authoring.checks import checked_rule
from ironic_inspection_rules.kit.authoring.checks import exclusion
from ironic_inspection_rules.plugins.conditions import comparison
from ironic_inspection_rules.rule_file import file_rule

_ROOTS_OF_RULE = (model.VARS, interpolation.ITEM)
_OPS_ASKING_FOR_ROW = frozenset(
    ('exists', 'is-none', 'is-empty', 'is-true', 'is-false')
)
"""Conditions that test whether a row exists, without comparing its values."""

_MOST_VALUES_TRIED = 1000
"""Maximum number of values of a column that are tried."""

_FILTERS_KEEPING_VALUE = ('row', 'lookup', 'get')
"""Filters that do not change the value of a column."""

Unused = tuple[str, str, str]
"""The name of a table, the pointer inside it, and a sentence."""


def check_values(
    rules: Sequence[checked_rule.CheckedRule], tables: table.Tables
) -> checked_rule.MistakesOfRules:
    """Find conditions on a column of a table that hold for no row.

    An example is ``eq: ["{tables.racks | row | get('/room')}", R9]`` if no
    rack is in room R9. Only conditions without a loop that read exactly one
    column are checked.
    """
    for rule in rules:
        columns = table_check.find_columns(rule.rule)
        by_pointer = {column.pointer: column for column in columns}
        for condition in rule.all_conditions:
            if condition.written.get('loop') is not None:
                continue
            pointer_to_arguments = f'{condition.pointer}/args'
            columns_read = [
                column
                for pointer, column in by_pointer.items()
                if pointer.startswith(f'{pointer_to_arguments}/')
            ]
            if len(columns_read) != 1:
                # If two columns are compared, all combinations of values would
                # have to be tried.
                continue
            (column,) = columns_read
            checked_table = tables.get(column.table)
            if checked_table is None or not len(checked_table):
                # Another check reports unknown tables. A table without rows
                # proves nothing.
                continue
            place = data_path.split_pointer(
                column.pointer.removeprefix(pointer_to_arguments)
            )
            for problem in _check_condition(
                condition, place, checked_table, column.name
            ):
                yield rule, column.pointer, problem


def _check_condition(
    condition: file_rule.Operation,
    place: data_path.Path,
    checked_table: table.Table,
    column: str,
) -> Iterator[str]:
    """Yield messages if a condition on a column holds for no row.

    A value that ``eq`` or ``one-of`` compares with the column must be in some
    row. Any other condition is tried with all values of the column.

    Nothing is yielded if a filter changes the value of the column, or if the
    column has lists or mappings.

    :param place: the path in the arguments to the field that reads the column,
        e.g. ``('values', '0')``.
    """
    text = data_path.get(condition.written['args'], place)
    if not _is_column(text):
        return
    has_compound_values = any(
        isinstance(row.get(column), dict | list) for row in checked_table.rows
    )
    if has_compound_values:
        # The condition may compare a part of a value.
        return
    constants = _list_constants_compared(condition, text)
    for value in constants:
        is_in_a_row = any(
            comparison.equal(row.get(column), value)
            for row in checked_table.rows
        )
        if not is_in_a_row:
            yield _(
                'no row of table "%(table)s" has %(value)s in column '
                '"%(column)s"'
            ) % {
                'table': checked_table.definition.name,
                'column': column,
                'value': suggestion.quote(value),
            }
    if constants:
        # They have been looked up, so nothing is left to try.
        return
    results = _try_values(condition, place, checked_table, column)
    if results and not any(results):
        yield _(
            'the condition holds for no row of table "%(table)s", '
            'whatever is in column "%(column)s"'
        ) % {'table': checked_table.definition.name, 'column': column}


def _list_constants_compared(
    condition: file_rule.Operation, text: str
) -> list[typing.Any]:
    """List the constants with which ``eq`` or ``one-of`` compares a column.

    In ``one-of: ["{tables…}", [R1, R2]]`` these are R1 and R2.

    :param text: the field that reads the column.
    :returns: an empty list for an inverted or any other condition.
    """
    values = condition.arguments.get('values')
    if condition.inverted or not isinstance(values, list):
        return []
    is_one_of = condition.op.name == 'one-of' and (
        condition.arguments['value'] == text
    )
    if condition.op.name != 'eq' and not is_one_of:
        return []
    return [value for value in values if _is_plain(value)]


def _try_values(
    condition: file_rule.Operation,
    place: data_path.Path,
    checked_table: table.Table,
    column: str,
) -> list[bool]:
    """Try a condition with all values of a column, and return the results.

    :param place: the path in the arguments to the field that reads the column.
    :returns: an empty list if the result depends on other data than the
        column, or if there are too many values to try.
    """
    if condition.op.name in _OPS_ASKING_FOR_ROW:
        return []
    distinct: dict[typing.Hashable, typing.Any] = {}
    for row in checked_table.rows:
        if column in row:
            distinct[data_path.hashable_key(row[column])] = row[column]
        if len(distinct) > _MOST_VALUES_TRIED:
            return []
    results = []
    for value in distinct.values():
        args = _fill_in_value(condition.written['args'], place, value)
        if interpolation.fields(args):
            # The result also depends on the machine.
            return []
        result = exclusion.result(
            condition, {'op': condition.written['op'], 'args': args}
        )
        if result is None:
            return []
        results.append(result)
    return results


def _fill_in_value(
    args: typing.Any, place: data_path.Path, value: typing.Any
) -> typing.Any:
    """Return arguments in which a value replaces the field of a column.

    The condition is then tried with these arguments, to find a condition that
    holds for no row.

    With ``R9`` at ``('values', '0')``, ``{'values': ['{tables…}', 'R1']}``
    becomes ``{'values': ['R9', 'R1']}``.

    :param place: the path in the arguments to the field.
    :param value: the value of the column in a row.
    """
    if not place:
        if isinstance(value, str):
            # A brace in a row is text, not a field of the rule.
            return value.replace('{', '{{').replace('}', '}}')
        return value
    step, *rest = place
    changed = args.copy()
    key: str | int = step
    if isinstance(args, list):
        key = int(step)
    changed[key] = _fill_in_value(args[key], tuple(rest), value)
    return changed


def unused(
    rules: Sequence[checked_rule.CheckedRule], tables: table.Tables
) -> Iterator[Unused]:
    """Find tables and columns that nothing reads.

    A column counts as read if a rule reads it or the whole row, if it is part
    of the key, or if the table expects a value of machines in it. The columns
    of an unread table are not reported.
    """
    # The columns that rules read, by the name of the table.
    columns_read: dict[str, set[str]] = {}
    # The tables of which rules read whole rows, so all columns are used.
    read_whole: set[str] = set()
    for rule in rules:
        for name in table_check.find_table_names(rule.rule):
            columns_read.setdefault(name, set())
        for column in table_check.find_columns(rule.rule):
            columns_read.setdefault(column.table, set()).add(column.name)
        read_whole.update(_find_tables_read_whole(rule))
    for name, checked_table in tables.items():
        if name not in columns_read:
            # A table with "of" needs no rule, because it is used to compare
            # machines with their rows.
            if not checked_table.has_of:
                yield name, '', _('no rule reads the table')
            continue
        if name in read_whole:
            continue
        definition = checked_table.definition
        needed = {
            *columns_read[name],
            *definition.expect,
            *_list_columns_of_key(definition.key),
        }
        for title in checked_table.columns:
            if title not in needed:
                yield (
                    name,
                    '',
                    _('nothing reads the column "%s"')
                    % (suggestion.shorten(title)),
                )


def _list_columns_of_key(key: str) -> set[str]:
    """Return the columns from which the key of a row is made.

    :param key: a column, e.g. ``serial``, or a template over columns, e.g.
        ``{rack}-{unit}``.
    """
    if '{' not in key:
        return {key}
    return {field.root for field in interpolation.fields(key) if field.root}


def _find_tables_read_whole(rule: checked_rule.CheckedRule) -> Iterator[str]:
    """Yield the tables from which a rule reads whole rows.

    A field such as ``{tables.racks | row}`` is a row. The fields
    ``{vars.rack}`` and ``{item}`` may be rows, so they are followed to the
    data from which they are made.
    """
    for operation in rule.operations:
        if operation.op.name in _OPS_ASKING_FOR_ROW:
            continue
        loop = operation.loop
        origins = origin.Origins(rule.rule.vars, loop)
        for field in effects.fields([operation.arguments, loop]):
            if origin.gives_row(field):
                yield from effects.tables_of(field)
            if field.root not in _ROOTS_OF_RULE:
                continue
            if any(call.name == 'get' for call in field.filters):
                # The filter selects one column of the row.
                continue
            for source in origins.of_tables(field.root, field.steps):
                if not source.rest:
                    yield from effects.tables_of(source.field)


def _is_column(value: typing.Any) -> bool:
    """Return whether a text is a field with the unchanged value of a column.

    ``{tables.racks | row | get('room')}`` is, but ``{… | get('room') |
    upper}`` is not.
    """
    if not isinstance(value, str):
        return False
    fields = interpolation.fields(value)
    if len(fields) != 1:
        return False
    (field,) = fields
    if value != f'{{{field.text}}}':
        # There is text around the field.
        return False
    return all(call.name in _FILTERS_KEEPING_VALUE for call in field.filters)


def _is_plain(value: typing.Any) -> bool:
    """Return whether a value is a scalar without fields, e.g. ``R9``."""
    if isinstance(value, list | dict):
        return False
    return not (isinstance(value, str) and interpolation.fields(value))
