# SPDX-License-Identifier: Apache-2.0

"""Find secret columns of tables that a rule would write without seeing them.

A table may mark columns as secret. Only sensitive rules see the values in
them; other rules read a mask, ``******``, and must not write it. Such a rule
may read a secret column through filters, as in ``{tables.racks | row |
get('/password')}``. Only a filter knows what it makes of a row. Therefore the
value that an action writes is computed in the same way as by an inspection
before it writes: once with a row whose secret column is masked, and once with
the real row. If the results differ, the rule writes the column.
"""

from collections.abc import Iterator, Sequence
import dataclasses
import typing

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.language import budget
from ironic_inspection_rules.engine.language import effects
from ironic_inspection_rules.engine.language import interpolation
from ironic_inspection_rules.engine.language import model
from ironic_inspection_rules.engine.language import rendering
from ironic_inspection_rules.engine.language import suggestion
from ironic_inspection_rules.engine.language import table
from ironic_inspection_rules.engine.language import table_check
from ironic_inspection_rules.engine.language import template
from ironic_inspection_rules.engine.language.secrecy import masked_field
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.kit.authoring.checks import checked_rule
from ironic_inspection_rules.rule_file import file_rule

_KEY = 'key'
_SECRET = 'a value of a secret column'

_NOT_OF_MACHINE = (model.VARS, interpolation.ITEM, interpolation.TABLES)
"""Roots of fields that do not read data of the machine."""

_OF_MACHINE = '1'
"""The value of all data of the machine that is tried. Most filters accept it,
as a number or as text."""

Json = dict[str, typing.Any]


def check(
    rules: Sequence[checked_rule.CheckedRule], tables: table.Tables
) -> checked_rule.MistakesOfRules:
    """Find actions that would write a secret column or values made from it.

    :param rules: rules that are not sensitive, and do not see such columns.
    """
    for rule in rules:
        secret_columns = list(_list_secret_columns(rule, tables))
        columns_read = list(table_check.find_columns(rule.rule))
        for action, argument in _list_arguments_written(rule):
            pointer = action.pointer_to(argument)
            columns_named = _find_columns_named(columns_read, pointer)
            value = action.templates[argument]
            for full_table, column in secret_columns:
                name = full_table.definition.name
                is_named = (name, column) in columns_named
                # Looking for names is faster than computing the argument.
                if is_named or _is_written(
                    rule, action, value, full_table=full_table, column=column
                ):
                    yield rule, pointer, _format_message(name, column)


def _list_arguments_written(
    rule: checked_rule.CheckedRule,
) -> Iterator[tuple[file_rule.Operation, str]]:
    """Yield each action of a rule with the name of each of its arguments.

    Arguments that are messages for people are skipped, because a secret in a
    message is replaced by ``******``.
    """
    for action in rule.actions:
        for argument in action.templates:
            if argument not in action.op.plugin.TELLS:
                yield action, argument


def _list_secret_columns(
    rule: checked_rule.CheckedRule, tables: table.Tables
) -> Iterator[tuple[table.Table, str]]:
    """Yield the secret columns of the tables that a rule reads.

    :returns: pairs of a table and the name of one of its secret columns.
    """
    names = table_check.find_table_names(rule.rule) & tables.keys()
    for name in sorted(names):
        for column in tables[name].definition.secret:
            yield tables[name], column


def _find_columns_named(
    columns_read: Sequence[table_check.Column], pointer: str
) -> set[tuple[str, str]]:
    """Return the columns that an argument reads by name.

    ``{tables.racks | row | get('password')}`` reads ``('racks', 'password')``.

    :param columns_read: all columns that the rule reads.
    :param pointer: the pointer to the argument.
    """
    named = set()
    for read in columns_read:
        if f'{read.pointer}/'.startswith(f'{pointer}/'):
            named.add((read.table, read.name))
    return named


def _format_message(name: str, column: str) -> str:
    """Return the message about a column of a table, given by its name."""
    return _(
        'writes the secret column "%(column)s" of table "%(table)s": '
        'only rules that are "sensitive" see it, and the inspection '
        'fails where another would write it'
    ) % {'column': suggestion.shorten(column), 'table': name}


class _OneRow(table.Table):
    """A table with one row, which is returned for all keys and machines."""

    __slots__ = ()

    @property
    def open(self) -> table.Table:
        return _OneRow(self.definition, self._rows_by_key, self.columns)

    def row(self, key: str) -> typing.Any:
        return super().row(_KEY)

    def key_of_machine(self, roots: budget.View) -> str | None:
        return _KEY


def _keep_one_row(full_table: table.Table, column: str) -> table.Table:
    """Return a table with only its first row, in which a column is masked.

    If the row has no value in the column, it gets one.
    """
    row = dict(next(iter(full_table.rows), {}))
    if not row.get(column):
        row[column] = _SECRET
    definition = dataclasses.replace(
        full_table.definition, secret=(column,), of=None, expect={}
    )
    return _OneRow(definition, {_KEY: row}, list(row), masked=True)


def _is_written(
    rule: checked_rule.CheckedRule,
    action: file_rule.Operation,
    value: typing.Any,
    *,
    full_table: table.Table,
    column: str,
) -> bool:
    """Return whether an action would write data of a secret column.

    The argument is computed as in an inspection, with a single row in the
    table. It is computed for a machine that has all fields of the rule, and
    for a machine without data, because filters such as ``default`` may then
    use a row.

    :param value: the argument as it is written.
    :param full_table: the table with all rows.
    :returns: False also if no filter accepts the data that are tried.
    """
    own_vars = rule.rule.vars
    fields = masked_field.MaskedFields(value, own_vars, action.loop)
    tables = {full_table.definition.name: _keep_one_row(full_table, column)}
    machine_with_all = _build_machine([own_vars, action.loop, value])
    machine_with_nothing: Json = {}
    for machine in (machine_with_all, machine_with_nothing):
        roots = {**machine, interpolation.TABLES: tables}
        view = budget.View(roots, budget.Budget(budget.MAIN))
        try:
            view[model.VARS] = _compute_vars(own_vars, view)
            for item in _compute_items(action.loop, view):
                view[interpolation.ITEM] = item
                # This computes the argument with the masked and with the real
                # column, and raises an error if the results differ.
                fields.refuse(view, view)
        except exceptions.MaskedField:
            return True
        except exceptions.OperationError:
            # A filter does not accept these data.
            continue
    return False


def _build_machine(written: typing.Any) -> Json:
    """Build the data of a machine that has a value for every field.

    ``{node.extra.rack}`` gives ``{'node': {'extra': {'rack': '1'}}}``. Fields
    over vars, items and tables are skipped.

    :param written: values of a rule that contain fields.
    """
    roots: Json = {}
    for field in effects.fields(written):
        if field.root is None or field.root in _NOT_OF_MACHINE:
            continue
        place = roots
        *above, last = (field.root, *field.steps)
        for step in above:
            inner = place.get(step)
            if not isinstance(inner, dict):
                inner = {}
                place[step] = inner
            place = inner
        place.setdefault(last, _OF_MACHINE)
    return roots


def _compute_vars(
    own_vars: typing.Mapping[str, typing.Any], view: budget.View
) -> Json:
    """Compute the ``vars`` of a rule in their order.

    A variable that cannot be computed with the given data is omitted.

    :param view: the view to which the values are added, because later
        variables may use earlier ones.
    """
    values: Json = {}
    view[model.VARS] = values
    for name, raw in own_vars.items():
        try:
            value = rendering.render_value(template.compile_value(raw), view)
        except exceptions.OperationError:
            continue
        if not rendering.is_missing(value):
            values[name] = value
    return values


def _compute_items(
    loop: typing.Any, view: budget.View
) -> Iterator[typing.Any]:
    """Yield the items of a loop, or a single None if there is no loop.

    :raises: :class:`.exceptions.OperationError` if the loop cannot be
        computed.
    """
    if loop is None:
        yield None
        return
    items = rendering.render_value(template.compile_value(loop, True), view)
    if isinstance(items, list):
        yield from items
    elif isinstance(items, dict):
        yield items
