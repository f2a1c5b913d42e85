# SPDX-License-Identifier: Apache-2.0

"""Reads the rows of a table from CSV text, as spreadsheets write it.

The first record of the text is the header with the names of the columns. Every
further record is a row::

    serial;cpus
    ="00123";16

Excel separates cells with semicolons in countries where a comma separates
decimals, and ends lines with two characters. Its users write ``="00123"`` to
keep leading zeros.
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

    :param path: the path of the file, for errors.
    :param data: the content of the file.
    :param encoding: the encoding of the content. The content must be valid in
        it.
    :param types: the types by the names of columns. A cell that does not have
        the type of its column is kept as text, which the check of the table
        reports.
    :raises: :class:`.exceptions.InvalidDocument` with the line of the error,
        e.g. of a cell with a formula.
    """
    columns: list[_Column] = []
    rows: list[dict[str, typing.Any]] = []
    # The line of every row. An array takes less memory than a list.
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
    """Return the columns that the header names.

    :param cells: the cells of the header.
    :param types: the types by the names of columns.
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
    """Return the row of a record: its values by the names of their columns.

    :param cells: the text of each cell. There may be fewer cells than columns.
    :raises: :class:`.exceptions.OperationError` if there are more cells than
        columns, or if a cell is a formula.
    """
    if len(cells) > len(columns):
        raise exceptions.OperationError(
            _('the row has %(cells)d cells, and there are %(columns)d columns')
            % {'cells': len(cells), 'columns': len(columns)}
        )
    # A spreadsheet may omit empty cells at the end of a row.
    empty_cells = [''] * (len(columns) - len(cells))
    row = {}
    for column, cell in zip(columns, [*cells, *empty_cells], strict=True):
        try:
            row[column.name] = column.convert(cell)
        except exceptions.OperationError as exc:
            # Put the name of the column in front of the message.
            raise exceptions.OperationError(f'{column.name}: {exc}') from exc
    return row


class _Records:
    """The records of a CSV file, i.e. its header and its rows.

    Iterating yields ``(1, ['serial', 'cpus'])``: the line where a record
    begins, and its cells. A record may have several lines, because a quoted
    cell may contain line feeds.

    :param path: the path of the file, for errors.
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
        """Yield the first line and the cells of every record, header first.

        Blank lines are skipped.

        :raises: :class:`.exceptions.InvalidDocument` with the line where an
            invalid record begins.
        """
        lines = self._open()
        lines_before_header, delimiter = self._find_header()
        for _number in range(lines_before_header):
            next(lines)
        reader = csv.reader(lines, delimiter=delimiter, strict=True)
        # The line where the next record begins. The reader only knows how many
        # lines it has read so far.
        first_line = lines_before_header + 1
        try:
            for cells in reader:
                # A line with delimiters is a record, even if all cells are
                # empty. Only a line without delimiters can be blank.
                is_blank = len(cells) <= 1 and not ''.join(cells).strip()
                if not is_blank:
                    yield first_line, cells
                first_line = lines_before_header + reader.line_num + 1
        except csv.Error as exc:
            # Report the line where the record begins. If a quote is not
            # closed, the record extends to the end of the file.
            raise exceptions.InvalidDocument(
                self._path,
                _('the row that begins here is no CSV: %s') % exc,
                (first_line, 1),
            ) from exc

    def _find_header(self) -> tuple[int, str]:
        """Return the number of lines before the header, and the delimiter.

        - If the first line names the delimiter, e.g. ``sep=;``, the header is
          in the next line: ``(1, ';')``. Excel writes this line.
        - Otherwise, the header is the first line that is not blank, and the
          delimiter is in it: ``(0, ',')`` for ``serial,cpus``.
        - If all lines are blank, there is no header, and the delimiter does
          not matter.

        :raises: the errors of :meth:`_find_delimiter`.
        """
        blank_lines = 0
        for line in self._open():
            named_delimiter = _LINE_WITH_DELIMITER.fullmatch(line)
            is_first_line = blank_lines == 0
            if named_delimiter and is_first_line:
                return 1, named_delimiter[1]
            if line.strip():
                line_number = blank_lines + 1
                return blank_lines, self._find_delimiter(line, line_number)
            blank_lines += 1
        return blank_lines, ','

    def _find_delimiter(self, header: str, line: int) -> str:
        """Return the delimiter between the names in a header.

        A header with a single name has no delimiter; then it is a comma.

        :param header: the line of the header.
        :param line: the number of the line, for the error.
        :raises: :class:`.exceptions.InvalidDocument` if there are different
            delimiters outside quotes.
        """
        # Ignore quoted names, which may contain commas: "CPUs, total";memory.
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
    """Converts the cells of one column to values.

    :param type_name: the name of the type of the values; None for text.
    """

    def __init__(self, name: str, type_name: str | None) -> None:
        self.name = name
        # Ignore an unknown type, because the check of the table reports it.
        self._type_name = None
        if type_name in column_type.TYPES:
            self._type_name = type_name
        # Cached values by the text of their cells.
        self._values: dict[str, typing.Any] = {}

    def convert(self, cell: str) -> typing.Any:
        """Convert the text of a cell to a value of the column's type.

        ``="007"`` is read as the text ``007``, as spreadsheets show it.

        :returns: the value; None for an empty cell, unless the column is text.
            If the text does not have the type, the text is returned, and the
            check of the table reports it.
        :raises: :class:`.exceptions.OperationError` for a formula.
        """
        # In columns such as "rack" and "model", the same values occur often.
        # Convert each value once, and use the same object for all its cells.
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
            value = column_type.convert(text, self._type_name)
        except exceptions.OperationError:
            value = text
        if len(self._values) < _MAX_CACHED_VALUES:
            self._values[cell] = value
        return value


def _find_problem_of_header(cells: list[str]) -> str | None:
    """Return the message for the first problem of a header, or None.

    Every column must have a name, and no two columns may have the same name.

    :param cells: the cells of the header.
    """
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
            return _('there are two columns "%s"') % suggestion.shorten(name)
    return None
