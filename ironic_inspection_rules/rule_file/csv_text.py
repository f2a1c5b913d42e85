# SPDX-License-Identifier: Apache-2.0

"""Reads CSV as spreadsheets write it.

The encoding is given. Excel writes semicolons where a comma separates
decimals, and two characters at the end of a line. People write ``="00123"`` to
keep it from dropping the zeros.
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
# Excel reads it and does not show it.
_LINE_WITH_DELIMITER = re.compile(r'sep=([,;\t|])\r?\n?')
# How spreadsheets keep digits from becoming a number: ="00123".
_TEXT_FORMULA = re.compile(r'="((?:[^"]|"")*)"')

_MAX_CACHED_VALUES = 1000
"""Most values of a column that are kept once, however many rows have them."""


class TableText(typing.NamedTuple):
    """The table in a file of CSV.

    ``lines`` are the numbers of the lines at which the rows begin, counted
    from one; ``columns`` are the names in the header.
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
    Blank lines are left out, and a row that ends early has empty cells.

    :param data: the content of the file.
    :param encoding: in which the content is valid text.
    :param types: the types of columns. A cell that is not of its type stays
        text, which the check of the table reports.
    :raises: :class:`.exceptions.InvalidDocument` with the line, also for a
        cell with a formula.
    """
    columns: list[_Column] = []
    rows: list[dict[str, typing.Any]] = []
    lines = array.array('L')
    # The line of the record that is read, for errors.
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

    :raises: :class:`.exceptions.OperationError` for a wrong name.
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

    :param cells: the text of every cell; may be fewer than the columns.
    :raises: :class:`.exceptions.OperationError` for a cell too many, and for
        a cell with a formula.
    """
    if len(cells) > len(columns):
        raise exceptions.OperationError(
            _('the row has %(cells)d cells, and there are %(columns)d columns')
            % {'cells': len(cells), 'columns': len(columns)}
        )
    # A row of a spreadsheet may end before its last columns.
    missing = [''] * (len(columns) - len(cells))
    row = {}
    for column, cell in zip(columns, [*cells, *missing], strict=True):
        try:
            row[column.name] = column.convert(cell)
        except exceptions.OperationError as exc:
            raise exceptions.OperationError(f'{column.name}: {exc}') from exc
    return row


class _Records:
    """The records of a file of CSV that are not blank.

    A record is a row or the header. It may have several lines, as a cell in
    quotes may have line feeds.

    :param data: the content of the file, which iterating decodes piece by
        piece.
    """

    def __init__(self, path: str, data: bytes, encoding: str) -> None:
        self._path = path
        self._data = data
        self._encoding = encoding

    def _open(self) -> io.TextIOWrapper:
        return io.TextIOWrapper(
            io.BytesIO(self._data), self._encoding, newline=''
        )

    def __iter__(self) -> Iterator[tuple[int, list[str]]]:
        """Yield the line at which a record begins, and its cells.

        The first one is the header.

        :raises: :class:`.exceptions.InvalidDocument` with the line at which
            the wrong record begins.
        """
        lines = self._open()
        lines_before, delimiter = self._find_header()
        for _number in range(lines_before):
            next(lines)
        reader = csv.reader(lines, delimiter=delimiter, strict=True)
        # The line at which the record begins. The reader only knows the line
        # at which it ends.
        begin = lines_before + 1
        try:
            for record in reader:
                # A row of several cells is not blank, even if all of them
                # are empty.
                if len(record) > 1 or ''.join(record).strip():
                    yield begin, record
                begin = lines_before + reader.line_num + 1
        except csv.Error as exc:
            # A quote that is not closed takes in all that follows.
            raise exceptions.InvalidDocument(
                self._path,
                _('the row that begins here is no CSV: %s') % exc,
                (begin, 1),
            ) from exc

    def _find_header(self) -> tuple[int, str]:
        """Return how many lines come before the header, and the delimiter.

        For example, ``(0, ',')`` if the header is the first line. Excel may
        write a line before it that names the delimiter, ``sep=;``: then it is
        ``(1, ';')``.

        :raises: as :meth:`_find_delimiter`.
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
        """Return the delimiter in a header, a comma if there is none.

        :param line: the number of the line, for the message.
        :raises: :class:`.exceptions.InvalidDocument` if there are different
            delimiters outside of quotes.
        """
        # A name in quotes may have commas: "CPUs, total";memory.
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
        # An unknown type is reported by the check of the table.
        self._kind = None
        if kind in column_type.TYPES:
            self._kind = kind
        # Values by the text of their cells, up to _MAX_CACHED_VALUES of them.
        self._values: dict[str, typing.Any] = {}

    def convert(self, cell: str) -> typing.Any:
        """Convert a cell to the type of the column.

        Spreadsheets show ``="007"`` as the text ``007``, and as that it is
        read.

        :returns: the text of the cell if it is not of the type: the check of
            the table reports that.
        :raises: :class:`.exceptions.OperationError` for a formula.
        """
        # Columns such as racks and models have few values, many times. These
        # are converted once, and one object is kept of each.
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
    """Return the message for the first wrong name of a column, if any."""
    names = [cell.strip() for cell in cells]
    if any('\0' in name for name in names):
        # In UTF-16, every second byte of ASCII is NUL. Without a byte order
        # mark, it was read as UTF-8.
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
