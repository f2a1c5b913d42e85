# SPDX-License-Identifier: Apache-2.0

"""Checks all members of a table except its rows, e.g. key and types.

The rows are checked in :mod:`.table_form`.
"""

import re
import typing

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.language import column_type
from ironic_inspection_rules.engine.language import effects
from ironic_inspection_rules.engine.language import interpolation
from ironic_inspection_rules.engine.language import path as data_path
from ironic_inspection_rules.engine.language import rendering
from ironic_inspection_rules.engine.language import schema
from ironic_inspection_rules.engine.language import suggestion
from ironic_inspection_rules.engine.language import table
from ironic_inspection_rules.engine.language import template
from ironic_inspection_rules.engine.language.secrecy import disclosure
from ironic_inspection_rules.i18n import _

Problem = exceptions.Problem
Entry = dict[str, typing.Any]
"""The JSON form of a table: ``{'key': 'serial', 'rows': [{…}, …]}``."""

MEMBERS = ('key', 'of', 'types', 'secret', 'expect', 'rows')
"""The members of a table; see :class:`.table.TableDefinition`."""

# The limits of a table. Lengths are in characters.
MOST_ROWS = 100_000
MOST_COLUMNS = 100
MOST_BYTES = 32 * 2**20
LONGEST_KEY = 255
LONGEST_NAME = 63

UNSTORABLE = re.compile('[\0\ud800-\udfff]')
"""The characters that databases reject."""

_NAME = re.compile(rf'[A-Za-z_][A-Za-z0-9_-]{{0,{LONGEST_NAME - 1}}}')
_ROOTS_OF_MACHINE = (*interpolation.OF_NODE, 'inventory', 'plugin_data')
"""The roots of the fields that a table may use. Others need a rule."""


def find_problems(
    name: typing.Any, entry: typing.Any
) -> typing.Iterator[Problem]:
    """Yield the problems of the name and the members of a table.

    For the rows, this only checks that they are a list of allowed length.

    :param entry: a value that should be the JSON form of the table.
    """
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        yield Problem(
            '',
            _(
                'the name of a table is at most %d letters, digits, "_" and '
                '"-", and begins with a letter or "_"'
            )
            % LONGEST_NAME,
        )
        return
    if not isinstance(entry, dict):
        yield Problem(
            '',
            _('a table must be a mapping, not %s')
            % suggestion.describe_type(entry),
        )
        return
    for member in entry:
        if member not in MEMBERS:
            yield suggestion.unknown_problem(
                data_path.pointer([member]), _('member'), str(member), MEMBERS
            )
    yield from _check_keys(entry)
    yield from _check_mappings(entry)
    yield from _check_secret(entry.get('secret'))
    yield from _check_rows(entry.get('rows'))
    yield from _check_texts(entry)


def make_definition(name: str, entry: Entry) -> table.TableDefinition:
    """Build the definition of a table whose members have no problems.

    All members except the key may be missing or null.
    """
    secret = entry.get('secret')
    if secret is None:
        secret = ()
    return table.TableDefinition(
        name=name,
        key=entry['key'],
        of=entry.get('of'),
        types=dict(entry.get('types') or {}),
        secret=tuple(secret),
        expect=dict(entry.get('expect') or {}),
    )


def _check_keys(entry: Entry) -> typing.Iterator[Problem]:
    """Yield the problems of the members ``key`` and ``of``.

    ``key`` is the template of a row's key, and is required. ``of`` is the
    template of a machine's key, and is optional.
    """
    key = entry.get('key')
    if key is None:
        yield Problem(
            '/key',
            _('is required: a template over columns, or the name of a column'),
        )
    elif not isinstance(key, str) or not key.strip():
        yield Problem('/key', _('must be text that is not empty'))
    of = entry.get('of')
    if of is not None and (not isinstance(of, str) or not of.strip()):
        yield Problem('/of', _('must be text that is not empty, or null'))


def _check_mappings(entry: Entry) -> typing.Iterator[Problem]:
    """Yield the problems of ``types`` and ``expect``.

    Both are mappings by column: ``{'cpus': 'integer'}`` and
    ``{'cpus': '{inventory.cpu.count}'}``.
    """
    for member in ('types', 'expect'):
        value = entry.get(member)
        if value is not None and not isinstance(value, dict):
            yield Problem(
                f'/{member}',
                _('must be a mapping, not %s')
                % suggestion.describe_type(value),
            )
    for column, kind in _items(entry.get('types')):
        if kind not in column_type.TYPES:
            yield suggestion.choice_problem(
                '/types' + data_path.pointer([column]), kind, column_type.TYPES
            )
    for column, text in _items(entry.get('expect')):
        if not isinstance(text, str):
            yield Problem(
                '/expect' + data_path.pointer([column]),
                _('must be text with fields, not %s')
                % suggestion.describe_type(text),
            )


def _items(value: typing.Any) -> list[tuple[typing.Any, typing.Any]]:
    """Return the items of a mapping, or no items for any other value.

    A value that is not a mapping has already been reported.
    """
    if not isinstance(value, dict):
        return []
    return list(value.items())


def _check_secret(secret: typing.Any) -> typing.Iterator[Problem]:
    """Yield the problems of ``secret``, which is a list of distinct columns.

    Whether rows have the columns is checked later.
    """
    if secret is None:
        return
    if not isinstance(secret, list):
        yield Problem(
            '/secret',
            _('must be a list of columns, not %s')
            % suggestion.describe_type(secret),
        )
        return
    for number, column in enumerate(secret):
        place = f'/secret/{number}'
        if not isinstance(column, str) or not column:
            yield Problem(place, _('must be the name of a column'))
        elif column in secret[:number]:
            yield Problem(
                place, _('"%s" is named twice') % suggestion.shorten(column)
            )


def _check_rows(rows: typing.Any) -> typing.Iterator[Problem]:
    """Yield the problems of the list of rows, but not of single rows.

    :param rows: any value; None if the table has no such member.
    """
    if rows is None:
        yield Problem('/rows', _('is required: a list of mappings'))
    elif not isinstance(rows, list):
        yield Problem(
            '/rows',
            _('must be a list, not %s') % suggestion.describe_type(rows),
        )
    elif len(rows) > MOST_ROWS:
        yield Problem(
            '/rows',
            _('must not have more than %(most)d rows, has %(rows)d')
            % {'most': MOST_ROWS, 'rows': len(rows)},
        )


def _check_texts(entry: Entry) -> typing.Iterator[Problem]:
    """Yield a problem for each text that a database cannot store.

    Rows are skipped, because they are checked when they are read.
    """
    without_rows = {
        member: value for member, value in entry.items() if member != 'rows'
    }
    for path, text in data_path.walk_texts(without_rows):
        if UNSTORABLE.search(text):
            yield Problem(data_path.pointer(path), schema.UNSTORABLE)


def check_templates(
    table_definition: table.TableDefinition,
) -> typing.Iterator[Problem]:
    """Yield the problems of the templates in ``expect`` and ``of``.

    They must read the data of a machine, e.g. ``{inventory.cpu.count}``. They
    must not read data that only a rule has, e.g. ``{vars.a}``. ``expect`` must
    not read a secret, because secrets cannot be compared.
    """
    # Keys are JSON pointers in the table: {'/of': '{inventory.serial}'}.
    texts = {}
    for column, text in table_definition.expect.items():
        texts['/expect' + data_path.pointer([column])] = text
    if table_definition.of is not None:
        texts['/of'] = table_definition.of
    for place, text in texts.items():
        try:
            compiled = template.compile_value(text)
        except exceptions.OperationError as exc:
            yield Problem(place, str(exc))
            continue
        if not isinstance(compiled, rendering.Template):
            yield Problem(
                place,
                _(
                    'reads nothing of a machine; write a '
                    'field such as {inventory.cpu.count}'
                ),
            )
        for field in effects.fields(text):
            yield from _check_field(place, field)


def _check_field(
    place: str, field: interpolation.Field
) -> typing.Iterator[Problem]:
    """Yield the problem of a field in a template of a table, if any.

    :param place: JSON pointer to the template, ``/of`` or ``/expect/COLUMN``.
    """
    if field.root is None:
        yield Problem(
            place, _('{%s} is no path') % suggestion.shorten(field.text)
        )
    elif field.root not in _ROOTS_OF_MACHINE:
        yield suggestion.unknown_problem(
            place, _('root'), field.root, _ROOTS_OF_MACHINE
        )
    elif place.startswith('/expect') and disclosure.is_secret(field.steps):
        yield Problem(
            place,
            _('{%s} is a secret of the machine, which cannot be compared')
            % suggestion.shorten(field.text),
        )
