# SPDX-License-Identifier: Apache-2.0

"""Checks that the tables and columns that a rule reads exist.

These checks are not part of validating a rule, because its tables may be
stored later than the rule.
"""

import typing

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.language import effects
from ironic_inspection_rules.engine.language import filter_syntax
from ironic_inspection_rules.engine.language import interpolation
from ironic_inspection_rules.engine.language import model
from ironic_inspection_rules.engine.language import origin
from ironic_inspection_rules.engine.language import path as data_path
from ironic_inspection_rules.engine.language import suggestion
from ironic_inspection_rules.engine.language import table
from ironic_inspection_rules.i18n import _

Problem = exceptions.Problem

_ROOTS_OF_RULE = (model.VARS, interpolation.ITEM)
"""The roots of fields whose values the rule itself defines."""


class Column(typing.NamedTuple):
    """A column that a rule reads.

    :param pointer: the pointer to the text in the rule.
    :param table: the name of the table.
    :param name: the name of the column.
    """

    pointer: str
    table: str
    name: str


def find_problems(
    rule: model.Rule, tables: table.Tables
) -> typing.Iterator[Problem]:
    """Yield the problems of the tables and columns that a rule reads.

    The rule set may not have the table, or the table may not have the column.
    Or the rule reads the row of the machine, but the table has no ``of``,
    which computes the key of that row.

    :param rule: a rule that passed validation.
    :param tables: all tables of the rule set.
    """
    names_with_problems: set[str] = set()
    for pointer, field in _find_fields(rule):
        for name, problem in _check_tables(pointer, field, tables):
            names_with_problems.add(name)
            yield problem
    for column in find_columns(rule):
        read_table = tables.get(column.table)
        # Skip the columns of a table that has a problem, because they would
        # only repeat it.
        if read_table is None or column.table in names_with_problems:
            continue
        problem_of_column = _check_column(column, read_table)
        if problem_of_column is not None:
            yield problem_of_column


def _check_column(column: Column, read_table: table.Table) -> Problem | None:
    """Return the problem of a column that a table does not have.

    :returns: None if the table has the column, or if the columns of the table
        are unknown because it has no rows.
    """
    if not read_table.columns or column.name in read_table.known_columns:
        return None
    detail = _('table "%(table)s" has no column "%(column)s"') % {
        'table': column.table,
        'column': suggestion.shorten(column.name),
    }
    near = suggestion.make_hint(column.name, read_table.known_columns)
    return Problem(column.pointer, detail, near or None)


def find_table_names(rule: model.Rule) -> set[str]:
    """Return the names of the tables that a rule reads.

    Lint reports tables that no rule reads.

    ``{tables.racks | row}`` and ``{node.name | lookup(tables.racks)}`` both
    read ``racks``.
    """
    names: set[str] = set()
    for _pointer, field in _find_fields(rule):
        names.update(effects.tables_of(field))
    return names


def find_columns(rule: model.Rule) -> typing.Iterator[Column]:
    """Yield the columns of tables that a rule reads by name.

    The tables must have these columns, and lint reports columns that no rule
    reads.

    For example, ``{tables.racks | row | get('room')}`` reads the column
    ``room``. Names that come from the data of a machine are unknown here and
    are skipped.
    """
    # The members are the conditions, the actions and the vars.
    for member in model.CONTENT:
        written = getattr(rule, member)
        if member == model.VARS:
            # Variables are not in a loop.
            yield from _find_columns_in(f'/{member}', written, rule.vars, None)
            continue
        for number, operation in enumerate(written):
            yield from _find_columns_in(
                f'/{member}/{number}',
                operation,
                rule.vars,
                operation.get('loop'),
            )


def _find_columns_in(
    pointer: str,
    written: typing.Any,
    own_vars: typing.Mapping[str, typing.Any],
    loop: typing.Any,
) -> typing.Iterator[Column]:
    """Yield the columns that the fields in a part of a rule read.

    :param pointer: the pointer to the part, e.g. ``/actions/0``.
    :param written: the part as it is written.
    :param own_vars: the ``vars`` of the rule.
    :param loop: the loop of the operation, or None.
    """
    origins = origin.Origins(own_vars, loop)
    for path, text in _find_texts(written):
        place = pointer + data_path.pointer(path)
        for field in effects.fields(text):
            for name, column in _find_columns_of_field(field, origins):
                yield Column(place, name, column)


def _find_columns_of_field(
    field: interpolation.Field, origins: origin.Origins
) -> typing.Iterator[tuple[str, str]]:
    """Yield the columns of tables that a field reads by their names.

    The field may take a row from its table itself, e.g. ``{tables.t | row |
    get('cpus')}``. Or it may lead into a row that a variable or a loop of the
    rule took, e.g. ``{vars.row.cpus}``.

    :param origins: finds the origins of variables and of the loop.
    :returns: pairs of the name of a table and the name of a column.
    """
    yield from _find_columns_of_own_rows(field)
    if field.root in _ROOTS_OF_RULE:
        sources = origins.of_tables(field.root, field.steps)
        yield from _find_columns_of_source_rows(field, sources)


def _find_columns_of_own_rows(
    field: interpolation.Field,
) -> typing.Iterator[tuple[str, str]]:
    """Yield the columns of the rows that the filters of a field take.

    For example, ``{tables.t | row | get('cpus')}`` reads ``('t', 'cpus')``.
    """
    for number, call in enumerate(field.filters):
        table_name = origin.table_of_row(field, call)
        column = _find_column_of_get(field.filters[number + 1 :])
        if table_name is not None and column is not None:
            yield table_name, column


def _find_columns_of_source_rows(
    field: interpolation.Field, sources: typing.Iterable[origin.Origin]
) -> typing.Iterator[tuple[str, str]]:
    """Yield the columns that a field reads of rows in vars or in an item.

    For example, ``{vars.row.cpus}`` reads ``('t', 'cpus')`` if the variable
    ``row`` is ``{tables.t | row}``.

    :param sources: the origins of the field that read tables.
    """
    for source in sources:
        if not source.is_row:
            continue
        # The filter that took the row, e.g. ``row`` of {tables.t | row}.
        last_filter = source.field.filters[-1]
        table_name = origin.table_of_row(source.field, last_filter)
        if source.rest:
            # {vars.row.cpus} has a path inside the row.
            column: str | None = source.rest[0]
        else:
            # {vars.row | get('cpus')} may read a column with a filter.
            column = _find_column_of_get(field.filters)
        if table_name is not None and column is not None:
            yield table_name, column


def _find_column_of_get(
    calls: typing.Sequence[filter_syntax.FilterCall],
) -> str | None:
    """Return the column that the filters after a row read.

    For example, this is ``cpus`` in ``{tables.t | row | get('cpus')}``.

    :param calls: all filters that follow the row.
    :returns: None if the first filter is not ``get``, or if its path is not
        known here.
    """
    if not calls or calls[0].name != 'get' or not calls[0].arguments:
        return None
    _name, path = calls[0].arguments[0]
    if not isinstance(path, str) or not path.strip('./'):
        # It is a field, or a path without a name in it.
        return None
    try:
        return data_path.parse(path)[0]
    except exceptions.OperationError:
        # The check of the rule reports the error.
        return None


def _find_fields(
    rule: model.Rule,
) -> typing.Iterator[tuple[str, interpolation.Field]]:
    """Yield the fields of a rule that read tables, with their pointers.

    For example, ``/conditions/0/args/value`` and ``{tables.racks | row}``.
    """
    for member in model.CONTENT:
        content = getattr(rule, member)
        if isinstance(content, tuple):
            # Convert the tuple, because the walk enters only lists and
            # mappings.
            content = list(content)
        for path, text in _find_texts(content):
            for field in interpolation.fields(text):
                if effects.reads_table(field):
                    yield f'/{member}{data_path.pointer(path)}', field


def _find_texts(
    written: typing.Any,
) -> typing.Iterator[tuple[data_path.Path, str]]:
    """Yield the texts that may have fields, with their paths.

    For example, ``{'args': ['{node.name}']}`` gives the path ``('args', '0')``
    with ``{node.name}``. A key of a mapping has the path of the mapping.

    :param written: a part of a rule as it is written.
    """
    for path, text in data_path.walk_texts(written):
        if '{' in text:
            yield path, text


def _check_tables(
    pointer: str, field: interpolation.Field, tables: table.Tables
) -> typing.Iterator[tuple[str, Problem]]:
    """Yield the problems of tables that a field reads.

    The table may not exist. Or the field reads the row of the machine, e.g.
    ``{tables.racks | row}``, but the table has no ``of``, which computes the
    key of that row.

    :returns: pairs of the name of the table and its problem.
    """
    for read in effects.fields_of_field(field):
        if read.root != interpolation.TABLES or not read.steps:
            continue
        name = read.steps[0]
        read_table = tables.get(name)
        if read_table is None:
            yield (
                name,
                suggestion.unknown_problem(pointer, _('table'), name, tables),
            )
        elif _reads_row_without_key(read) and not read_table.has_of:
            yield (
                name,
                Problem(
                    pointer,
                    _(
                        '{%(field)s}: table "%(table)s" has no "of", so a '
                        'row needs a key: {tables.%(table)s | row(KEY)}'
                    )
                    % {'field': read.text, 'table': name},
                ),
            )


def _reads_row_without_key(field: interpolation.Field) -> bool:
    """Return whether a field reads the row of the machine from a table.

    ``{tables.racks | row}`` does. ``{tables.racks | row('b7')}`` has a key.
    """
    if not field.filters:
        return False
    # Only the first filter is applied to the table itself.
    first_filter = field.filters[0]
    return (
        first_filter.name == filter_syntax.ROW and not first_filter.arguments
    )
