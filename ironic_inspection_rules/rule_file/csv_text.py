# SPDX-License-Identifier: Apache-2.0

"""Reads CSV as spreadsheets write it.

The encoding is known. Excel separates cells with semicolons in countries where
a comma separates decimals, and ends each line with two characters. Its users
write ``="00123"`` to keep the leading zeros.
"""

import array
from collections.abc import Iterator
import csv
import io
import re
import typing

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.language import column_type
from ironic_inspection_rules.engine.language import suggestion
from ironic_inspection_rules.engine.language import table_members
from ironic_inspection_rules.i18n import _

_DELIMITERS = ',;\t'
_QUOTED_NAME = re.compile('"(?:[^"]|"")*"?')
# A line that names the delimiter. Excel reads this line but does not show it.
_LINE_WITH_DELIMITER = re.compile(r'sep=([,;\t|])\r?\n?')
# This form keeps digits from becoming a number in spreadsheets: ="00123".
_TEXT_FORMULA = re.compile(r'="((?:[^"]|"")*)"')

_MAX_CACHED_VALUES = 1000
"""Maximum number of values of a column that are cached."""


class TableText(typing.NamedTuple):
    """The table in a CSV file.

    ``lines`` are the numbers of the lines where the rows begin, counted from
    one. ``columns`` are the names in the header.
    """

    rows: list[dict[str, typing.Any]]
    lines: typing.Sequence[int]
    columns: list[str]


def read(
    path: str, data: bytes, encoding: str, types: typing.Mapping[str, str]
) -> TableText:
    """Read a table in CSV: a header with names of columns, then rows.

    For example, the lines ``serial,cpus`` and ``S3Z8,16`` give the row
    ``{'serial': 'S3Z8', 'cpus': 16}`` if the type of ``cpus`` is a number.
    Blank lines are skipped, and a row that ends early has empty cells.

    :param data: the content of the file.
    :param encoding: the encoding of the content, which must be valid.
    :param types: the types of columns. A cell that does not have its type is
        kept as text, which the check of the table reports.
    :raises: :class:`.exceptions.InvalidDocument` with the line of the error,
        e.g. of a cell with a formula.
    """
    columns: list[_Column] = []
    rows: list[dict[str, typing.Any]] = []
    lines = array.array('L')
    # The line of the current record, for errors.
    line = 1
    try:
        for line, cells in _Records(path, data, encoding):
            if not columns:
                # The first record is the header.
                columns = _read_header(cells, types)
                continue
            if len(rows) == table_members.MOST_ROWS:
                raise exceptions.OperationError(
                    _('there are more than %d rows') % table_members.MOST_ROWS
                )
            rows.append(_read_row(cells, columns))
            lines.append(line)
        if not columns:
            raise exceptions.OperationError(
                _('the file is empty: its first line must name the columns')
            )
    except exceptions.OperationError as exc:
        raise exceptions.InvalidDocument(path, str(exc), (line, 1)) from exc
    return TableText(rows, lines, [column.name for column in columns])


def _read_header(
    cells: list[str], types: typing.Mapping[str, str]
) -> list['_Column']:
    """Return the columns that the first record names.

    :raises: :class:`.exceptions.OperationError` for an invalid name.
    """
    problem = _find_problem_of_header(cells)
    if problem:
        raise exceptions.OperationError(problem)
    columns = []
    for cell in cells:
        name = cell.strip()
        columns.append(_Column(name, types.get(name)))
    return columns


def _read_row(
    cells: list[str], columns: list['_Column']
) -> dict[str, typing.Any]:
    """Return the values of a record by the names of their columns.

    :param cells: the text of each cell. There may be fewer cells than columns.
    :raises: :class:`.exceptions.OperationError` if there are too many cells,
        or if a cell is a formula.
    """
    if len(cells) > len(columns):
        raise exceptions.OperationError(
            _('the row has %(cells)d cells, and there are %(columns)d columns')
            % {'cells': len(cells), 'columns': len(columns)}
        )
    # A row of a spreadsheet may end early if its last cells are empty.
    missing = [''] * (len(columns) - len(cells))
    row = {}
    for column, cell in zip(columns, [*cells, *missing], strict=True):
        try:
            row[column.name] = column.convert(cell)
        except exceptions.OperationError as exc:
            raise exceptions.OperationError(f'{column.name}: {exc}') from exc
    return row


class _Records:
    """The records of a CSV file that are not blank.

    A record is a row or the header. It may have several lines, because a
    quoted cell may contain line feeds.

    :param data: the content of the file. Iterating decodes it piece by piece.
    """

    def __init__(self, path: str, data: bytes, encoding: str) -> None:
        self._path = path
        self._data = data
        self._encoding = encoding

    def _open(self) -> io.TextIOWrapper:
        """Return the lines of the file from the beginning, decoded lazily."""
        return io.TextIOWrapper(
            io.BytesIO(self._data), self._encoding, newline=''
        )

    def __iter__(self) -> Iterator[tuple[int, list[str]]]:
        """Yield the line where a record begins, and its cells.

        The first record is the header.

        :raises: :class:`.exceptions.InvalidDocument` with the line where the
            invalid record begins.
        """
        lines = self._open()
        lines_before, delimiter = self._find_header()
        for _number in range(lines_before):
            next(lines)
        reader = csv.reader(lines, delimiter=delimiter, strict=True)
        # The line where the record begins. The reader only knows the line
        # where it ends.
        begin = lines_before + 1
        try:
            for record in reader:
                # A record of several cells is not blank, even if all cells are
                # empty.
                if len(record) > 1 or ''.join(record).strip():
                    yield begin, record
                begin = lines_before + reader.line_num + 1
        except csv.Error as exc:
            # If a quote is not closed, the record includes the rest.
            raise exceptions.InvalidDocument(
                self._path,
                _('the row that begins here is no CSV: %s') % exc,
                (begin, 1),
            ) from exc

    def _find_header(self) -> tuple[int, str]:
        """Return the number of lines before the header, and the delimiter.

        For example, ``(0, ',')`` if the header is the first line. Excel may
        write a line before it that names the delimiter, e.g. ``sep=;``, which
        gives ``(1, ';')``.

        :raises: the errors of :meth:`_find_delimiter`.
        """
        blank_lines = 0
        for line in self._open():
            separator = _LINE_WITH_DELIMITER.fullmatch(line)
            is_first = blank_lines == 0
            if separator and is_first:
                return 1, separator[1]
            if line.strip():
                return blank_lines, self._find_delimiter(line, blank_lines + 1)
            blank_lines += 1
        return blank_lines, ','

    def _find_delimiter(self, header: str, line: int) -> str:
        """Return the delimiter in a header, or a comma if there is none.

        :param line: the number of the line, for the message.
        :raises: :class:`.exceptions.InvalidDocument` if there are different
            delimiters outside quotes.
        """
        # A quoted name may contain commas: "CPUs, total";memory.
        outside_quotes = _QUOTED_NAME.sub('', header)
        present = [mark for mark in _DELIMITERS if mark in outside_quotes]
        if len(present) > 1:
            raise exceptions.InvalidDocument(
                self._path,
                _(
                    'the header has commas, semicolons or tabs beside one '
                    'another; put the names in quotes'
                ),
                (line, 1),
            )
        if not present:
            return ','
        return present[0]


class _Column:
    """Reads the cells of a column."""

    def __init__(self, name: str, kind: str | None) -> None:
        self.name = name
        # Ignore an unknown type, because the check of the table reports it.
        self._kind = None
        if kind in column_type.TYPES:
            self._kind = kind
        # Values by the text of their cells, at most _MAX_CACHED_VALUES.
        self._values: dict[str, typing.Any] = {}

    def convert(self, cell: str) -> typing.Any:
        """Convert a cell to the type of the column.

        ``="007"`` is read as the text ``007``, as spreadsheets show it.

        :returns: the value; or the text of the cell if it does not have the
            type, which the check of the table reports.
        :raises: :class:`.exceptions.OperationError` for a formula.
        """
        # Columns such as racks and models have few values that occur often.
        # Convert each of them once, and keep one object for each.
        if cell in self._values:
            return self._values[cell]
        text = cell
        if cell.startswith('='):
            formula = _TEXT_FORMULA.fullmatch(cell)
            if formula is None:
                raise exceptions.OperationError(
                    _(
                        'the cell is a formula; text that begins with "=" is '
                        'written as ="=…"'
                    )
                )
            text = formula[1].replace('""', '"')
        try:
            value = column_type.convert(text, self._kind)
        except exceptions.OperationError:
            value = text
        if len(self._values) < _MAX_CACHED_VALUES:
            self._values[cell] = value
        return value


def _find_problem_of_header(cells: list[str]) -> str | None:
    """Return the message for the first invalid name of a column, or None."""
    names = [cell.strip() for cell in cells]
    if any('\0' in name for name in names):
        # In UTF-16, every second byte of ASCII is NUL. Without a byte order
        # mark, the file was read as UTF-8.
        return _('the file is no text in UTF-8; save it as "CSV UTF-8"')
    if len(names) > table_members.MOST_COLUMNS:
        return _('there are more than %d columns') % table_members.MOST_COLUMNS
    for number, name in enumerate(names, 1):
        if not name:
            return _('column %d has no name') % number
        first_number = names.index(name) + 1
        if first_number != number:
            return _('there are two columns "%s"') % suggestion.shown(name)
    return None
