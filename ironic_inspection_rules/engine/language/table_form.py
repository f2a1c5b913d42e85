# SPDX-License-Identifier: Apache-2.0

"""Reads a table from its JSON form, and checks its rows.

A table may have 100,000 rows. Checking the cells takes most of the time, so
the checks handle the usual values first.
"""

import math
import typing

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.language import budget
from ironic_inspection_rules.engine.language import column_type
from ironic_inspection_rules.engine.language import interpolation
from ironic_inspection_rules.engine.language import path as data_path
from ironic_inspection_rules.engine.language import schema
from ironic_inspection_rules.engine.language import suggestion
from ironic_inspection_rules.engine.language import table
from ironic_inspection_rules.engine.language import table_key
from ironic_inspection_rules.engine.language import table_members
from ironic_inspection_rules.engine.language.secrecy import disclosure
from ironic_inspection_rules.i18n import _

Problem = exceptions.Problem

_BYTES_AROUND_NAME = 6
"""Bytes of JSON around the name of a column: quotes, a colon and blanks."""


def read_all(entries: typing.Any) -> dict[str, table.Table]:
    """Build all tables of a rule set.

    If a table has problems, the other tables are checked nevertheless.

    :param entries: the JSON forms of the tables, by name.
    :raises: :class:`.exceptions.InvalidTables` with the problems of all
        tables.
    """
    if not isinstance(entries, dict):
        raise exceptions.InvalidTables(
            [
                Problem(
                    '/tables',
                    _('must be a mapping of names to tables, not %s')
                    % suggestion.describe_type(entries),
                )
            ]
        )
    built: dict[str, table.Table] = {}
    problems: list[Problem] = []
    for name, entry in entries.items():
        try:
            built[name] = read(name, entry)
        except exceptions.InvalidTables as exc:
            problems += exc.problems
    if problems:
        raise exceptions.InvalidTables(exceptions.limit_problems(problems))
    return built


def read(
    name: str, entry: typing.Any, header: typing.Sequence[str] = ()
) -> table.Table:
    """Build a table from its JSON form.

    :param entry: a mapping with ``key`` and ``rows``, and optionally ``of``,
        ``types``, ``secret`` and ``expect``.
    :param header: the columns, if they are known without rows.
    :raises: :class:`.exceptions.InvalidTables` with problems at pointers such
        as ``/tables/NAME/rows/12/cpus``.
    """
    place = '/tables' + data_path.pointer([name])
    reader = _Reader(name, header)
    problems = exceptions.limit_problems(
        problem.below(place) for problem in reader.read(entry)
    )
    if problems:
        raise exceptions.InvalidTables(problems)
    return reader.build()


class _Reader:
    """Reads one table with ``read``, and then builds it with ``build``."""

    def __init__(self, name: str, header: typing.Sequence[str]) -> None:
        """Start with the columns of the header, and without rows."""
        self._name = name
        self._rows_by_key: dict[str, table.Row] = {}
        # Numbers of the rows by id(row). They are only collected when two rows
        # have the same key, because most tables never need them.
        self._row_numbers: dict[int, int] = {}
        # Names of columns, as the keys of a dict because it keeps their order.
        self._columns: dict[str, None] = dict.fromkeys(header)
        # Set by read() if the members of the table have no problems.
        self._definition: table.TableDefinition

    def build(self) -> table.Table:
        """Return the table; call this only if read() found no problems."""
        return table.Table(
            self._definition, self._rows_by_key, tuple(self._columns)
        )

    def read(self, entry: typing.Any) -> typing.Iterator[Problem]:
        """Read a table from its JSON form, and yield its problems.

        If the members or the columns have problems, the rest is not checked,
        because it would only have further problems with the same cause.
        """
        problems = list(table_members.find_problems(self._name, entry))
        yield from problems
        if problems:
            # The rows cannot be checked without the other members.
            return
        self._definition = table_members.make_definition(self._name, entry)
        rows = entry['rows']
        problems = list(self._read_columns(rows))
        yield from problems
        if problems:
            return
        # Without rows and without a header, the columns are unknown.
        known = None
        if rows or self._columns:
            known = {*self._columns, *self._definition.secret}
            yield from self._check_names(known)
        # The key is None if it has problems. Then only the cells are checked.
        key: table_key.KeyTemplate | None = None
        try:
            key = table_key.compile_row_key(
                self._definition.key, self._definition.secret, known
            )
        except exceptions.InvalidTables as exc:
            yield from exc.problems
        yield from table_members.check_templates(self._definition)
        yield from self._read_rows(rows, key)

    def _read_columns(
        self, rows: list[typing.Any]
    ) -> typing.Iterator[Problem]:
        """Collect the columns of all rows, and yield the problems of rows.

        Problems are rows that are not mappings, invalid names of columns, and
        too many columns or bytes.
        """
        # So far, these are only the columns of the header.
        for column in self._columns:
            yield from _check_column_name('/rows', column)
        # Number of bytes that the rows so far take as JSON.
        size = 0
        # Number of bytes that the names of a row take. Most rows have the same
        # names, which are counted and checked only once.
        size_of_names: dict[tuple[typing.Any, ...], int] = {}
        for number, row in enumerate(rows):
            place = f'/rows/{number}'
            if not isinstance(row, dict):
                yield Problem(
                    place,
                    _('a row must be a mapping, not %s')
                    % suggestion.describe_type(row),
                )
                continue
            names = tuple(row)
            if names not in size_of_names:
                yield from self._add_columns(place, names)
                if len(self._columns) > table_members.MOST_COLUMNS:
                    yield Problem(
                        place,
                        _('there are more than %d columns')
                        % table_members.MOST_COLUMNS,
                    )
                    # Stop: all further rows would have the same problem.
                    return
                size_of_names[names] = sum(
                    _count_bytes(column) + _BYTES_AROUND_NAME
                    for column in names
                )
            size_of_values = sum(map(_count_bytes, row.values()))
            size += size_of_names[names] + size_of_values
            if size > table_members.MOST_BYTES:
                yield Problem(
                    place,
                    _('the table is larger than %d bytes')
                    % table_members.MOST_BYTES,
                )
                # Stop: all further rows would have the same problem.
                return

    def _add_columns(
        self, place: str, names: typing.Iterable[typing.Any]
    ) -> typing.Iterator[Problem]:
        """Collect the columns of a row, and yield the problems of new names.

        :param place: JSON pointer to the row.
        """
        for column in names:
            if column not in self._columns:
                yield from _check_column_name(place, column)
                self._columns[column] = None

    def _check_names(
        self, known: typing.Collection[str]
    ) -> typing.Iterator[Problem]:
        """Yield the problems of columns that the members name, but no row has.

        ``types`` and ``expect`` may name only known columns. ``secret`` may
        also name other columns, unless they look like typos.

        :param known: the columns of the rows, and the secret columns.
        """
        for member in ('types', 'expect'):
            for column in getattr(self._definition, member):
                if column not in known:
                    yield suggestion.unknown_problem(
                        f'/{member}{data_path.pointer([column])}',
                        _('column'),
                        column,
                        known,
                    )
        for number, column in enumerate(self._definition.secret):
            if column in self._columns:
                continue
            # An unknown column is allowed, because an export has no secret
            # columns. But with a typo, everybody could read the secret.
            near = suggestion.find_intended(column, self._columns)
            if near is not None:
                yield Problem(
                    f'/secret/{number}',
                    _('unknown column "%s"') % column,
                    _('did you mean "%s"?') % near,
                )

    def _read_rows(
        self,
        rows: list[dict[str, typing.Any]],
        key: table_key.KeyTemplate | None,
    ) -> typing.Iterator[Problem]:
        """Collect the rows by their keys, and yield problems.

        Problems are values that a cell cannot have, and keys that are missing,
        boolean, too long, or equal to the key of an earlier row.

        :param key: the template of the key; None to check only the cells.
        """
        types = self._definition.types
        secret = frozenset(self._definition.secret)
        # A boolean in these columns is probably a mistake, because YAML reads
        # "yes", "no", "on" and "off" without quotes as booleans.
        key_columns = [
            column
            for column in table_key.find_columns(self._definition.key)
            if types.get(column) != 'boolean'
        ]
        for number, row in enumerate(rows):
            place = f'/rows/{number}'
            yield from _check_cells(place, row, types, secret)
            if key is None:
                continue
            boolean_columns = [
                column
                for column in key_columns
                if isinstance(row.get(column), bool)
            ]
            for column in boolean_columns:
                yield Problem(
                    place + data_path.pointer([column]),
                    _(
                        'a key is text or a number, not %s; put it in quotes, '
                        'or give the column the type boolean'
                    )
                    % suggestion.quote(row[column]),
                )
            if not boolean_columns:
                yield from self._add_row(place, row, key, rows)

    def _add_row(
        self,
        place: str,
        row: table.Row,
        key: table_key.KeyTemplate,
        rows: list[dict[str, typing.Any]],
    ) -> typing.Iterator[Problem]:
        """Add a row by its key, or yield the problem of the key.

        :param place: JSON pointer to the row.
        :param rows: all rows, to find an earlier row with the same key.
        """
        try:
            text = key.compute(budget.View({interpolation.ITEM: row}))
        except exceptions.OperationError as exc:
            yield Problem(place, _('the key cannot be read: %s') % exc)
            return
        if text is None:
            yield Problem(
                place,
                _('the row has no key: %s is missing, null or empty')
                % self._definition.key,
            )
        elif len(text) > table_members.LONGEST_KEY:
            yield Problem(
                place,
                _('the key is longer than %d characters')
                % table_members.LONGEST_KEY,
            )
        elif text in self._rows_by_key:
            if not self._row_numbers:
                self._row_numbers = _number_rows_by_id(rows)
            # Report the problem at both rows, so that users see both lines.
            detail = _('two rows have the key "%s"') % suggestion.shorten(text)
            earlier_row = self._rows_by_key[text]
            earlier_number = self._row_numbers[id(earlier_row)]
            yield Problem(f'/rows/{earlier_number}', detail)
            yield Problem(place, detail)
        else:
            self._rows_by_key[text] = row


def _check_column_name(
    place: str, column: typing.Any
) -> typing.Iterator[Problem]:
    """Yield the problem of a name that a column cannot have.

    :param place: JSON pointer to the row; for a name in the header, to the
        rows.
    """
    if not isinstance(column, str):
        yield Problem(
            place,
            _('the name of a column must be text, not %s')
            % suggestion.describe_type(column),
        )
    elif not column.strip():
        yield Problem(place, _('a column has no name'))
    elif len(column) > table_members.LONGEST_KEY:
        yield Problem(
            place,
            _('the name of a column is longer than %d characters')
            % table_members.LONGEST_KEY,
        )
    elif table_members.UNSTORABLE.search(column):
        yield Problem(place, _('the name of a column %s') % schema.UNSTORABLE)


def _number_rows_by_id(rows: list[dict[str, typing.Any]]) -> dict[int, int]:
    """Return the numbers of rows by their ``id()``.

    Rows are mappings, which cannot be the keys of a dict themselves.
    """
    numbers: dict[int, int] = {}
    for number, row in enumerate(rows):
        # The same row may occur twice because of an alias.
        numbers.setdefault(id(row), number)
    return numbers


def _count_bytes(value: typing.Any) -> int:
    """Return the approximate size of a value as JSON in UTF-8, in bytes.

    The sizes limit the size of a table. A number, a boolean or null in a cell
    counts as zero.
    """
    if value.__class__ is str:
        if value.isascii():
            return len(value)
        # Count unpaired surrogates too. No database can store them, which
        # another check reports.
        return len(value.encode(errors='surrogatepass'))
    if value.__class__ not in (dict, list):
        return 0
    size = 0
    for _path, part in data_path.walk(value):
        if isinstance(part, dict):
            # Count only the keys, because the walk visits the values too.
            size += sum(map(_count_bytes, part))
        elif isinstance(part, str):
            size += _count_bytes(part)
        # Add the brackets or quotes, and a separator.
        size += 4
    return size


def _check_cells(
    place: str,
    row: table.Row,
    types: typing.Mapping[str, str],
    secret: typing.Collection[str],
) -> typing.Iterator[Problem]:
    """Yield the problems of values that a table cannot have.

    A value may not have the type of its column, or no database can store it.
    Most values are ASCII text or numbers, which need only a few comparisons.

    :param place: JSON pointer to the row, for the problems.
    :param types: the types of columns, by name.
    :param secret: names of columns whose values messages must not show.
    """
    for column, value in row.items():
        message = None
        kind = types.get(column)
        if (
            kind is not None
            and value is not None
            and not column_type.has_type(kind, value)
        ):
            disclosed = disclosure.mask_row({column: value}, secret)
            message = column_type.wrong_type_message(kind, disclosed[column])
        elif value.__class__ is str:
            # Most text is ASCII, where a search for NUL is fast and suffices.
            if '\0' in value or (
                not value.isascii() and table_members.UNSTORABLE.search(value)
            ):
                message = schema.UNSTORABLE
        elif value.__class__ is float:
            if not math.isfinite(value):
                message = _('must be a finite number')
        elif value.__class__ in (dict, list):
            yield from _check_nested(
                place + data_path.pointer([column]), value
            )
        if message is not None:
            yield Problem(place + data_path.pointer([column]), message)


def _check_nested(place: str, value: typing.Any) -> typing.Iterator[Problem]:
    """Yield the problems of a list or a mapping in a cell.

    It may be too deep, or contain numbers or text that JSON or a database
    cannot hold.

    :param place: JSON pointer to the cell, for the problems.
    """
    # Limit only the depth here, because the size of the whole table is checked
    # elsewhere.
    limits = budget.Limits(time=math.inf, operations=math.inf)
    try:
        budget.Budget(limits).measure(value)
    except exceptions.BudgetExceeded as exc:
        yield Problem(place, str(exc))
        return
    for _path, part in data_path.walk(value):
        if isinstance(part, float) and not math.isfinite(part):
            yield Problem(place, _('must be a finite number'))
        texts = [part]
        if isinstance(part, dict):
            # Check only the keys, because the walk visits the values too.
            texts = list(part)
        if any(
            isinstance(text, str) and table_members.UNSTORABLE.search(text)
            for text in texts
        ):
            yield Problem(place, schema.UNSTORABLE)
