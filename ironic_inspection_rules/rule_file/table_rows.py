# SPDX-License-Identifier: Apache-2.0

"""Reads the rows of a table from a CSV, YAML or JSON file.

A row maps columns to values, ``{'serial': 'A1', 'cpus': 16}``. In YAML and
JSON, a file has one list of rows. Every value of a row is a cell.

The lines of rows and cells are kept for messages. A table may have 100,000
rows, so the lines are numbers in an array, which takes less memory than a list
of objects.
"""

import array
import codecs
import collections
from collections.abc import Iterator
import dataclasses
import json
import math
import os
import stat
import sys
import typing

import yaml

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.language import suggestion
from ironic_inspection_rules.engine.language import table_members
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.rule_file import csv_text
from ironic_inspection_rules.rule_file import file_content
from ironic_inspection_rules.rule_file import yaml_scalar
from ironic_inspection_rules.rule_file import yaml_text

CSV, JSON, YAML = '.csv', '.json', ('.yaml', '.yml')
SUFFIXES = (CSV, JSON, *YAML)

_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, 'utf-8-sig'),
    (codecs.BOM_UTF32_LE, 'utf-32'),
    (codecs.BOM_UTF32_BE, 'utf-32'),
    (codecs.BOM_UTF16_LE, 'utf-16'),
    (codecs.BOM_UTF16_BE, 'utf-16'),
)

_WORKBOOKS = (b'PK\3\4', b'\xd0\xcf\x11\xe0')
"""The first bytes of spreadsheet files, of current and of old formats."""

_WHITE_SPACE_OF_JSON = ' \t\r\n'


@dataclasses.dataclass(frozen=True)
class AmbiguousColumn:
    """A column in which YAML reads values differently than their author means.

    For example, YAML reads the serial number 0123456 as an octal number.

    :ivar row: the number of the first row with such a value, from zero.
    :ivar written: the value in that row, as it is written.
    :ivar count: the number of rows with such a value.
    """

    row: int
    written: str
    count: int


@dataclasses.dataclass(frozen=True)
class Rows:
    """The rows of one file, not checked yet, with their lines.

    :param path: the path of the file.
    :param rows: the rows. A row that is not a mapping is an error, which the
        check of the table reports.
    :param row_lines: the line of each row, counted from one.
    :param cell_lines: the lines of all cells, row after row; None if every
        cell is in the line of its row.
    :param columns: the columns in the header of a CSV file, which are known
        even if there are no rows.
    :param ambiguous: columns by name in which YAML reads values differently
        than their author means.
    """

    path: str
    rows: list[typing.Any]
    row_lines: typing.Sequence[int]
    cell_lines: typing.Sequence[int] | None = None
    columns: typing.Sequence[str] = ()
    ambiguous: typing.Mapping[str, AmbiguousColumn] = dataclasses.field(
        default_factory=dict
    )

    def line(self, number: int, column: str | None = None) -> int:
        """Return the line of a row, or of one of its cells.

        :param number: the number of the row, from zero.
        :param column: the column of the cell. If it is None, or if the row
            does not have it, return the line of the row.
        """
        row = self.rows[number]
        has_cell = isinstance(row, dict) and column in row
        if self.cell_lines is None or not has_cell:
            return self.row_lines[number]
        # Count the cells before this one: all cells of the earlier rows, and
        # those in the same row. A row that is not a mapping has no cells.
        cells_in_earlier_rows = 0
        for earlier_row in self.rows[:number]:
            if isinstance(earlier_row, dict):
                cells_in_earlier_rows += len(earlier_row)
        position_in_row = list(row).index(column)
        return self.cell_lines[cells_in_earlier_rows + position_in_row]


def read(path: str, types: typing.Mapping[str, str]) -> Rows:
    """Read the rows of a table from a CSV, JSON or YAML file.

    The suffix of the file name determines the format. Only the format of the
    file is checked here, not the rows.

    :param path: the path of the file.
    :param types: the types of columns by name. They are used to convert the
        cells of a CSV file, which has only text.
    :raises: :class:`.exceptions.InvalidDocument` if the file cannot be read,
        with the line of the error if it is known. This includes files that are
        larger than a table may be.
    """
    suffix = os.path.splitext(path)[1].lower()
    if suffix not in SUFFIXES:
        raise exceptions.InvalidDocument(
            path,
            _('rows are read from files that end in %s') % ', '.join(SUFFIXES),
        )
    data = _read_content(path)
    if data.startswith(_WORKBOOKS):
        raise exceptions.InvalidDocument(
            path, _('this is a workbook; save it as "CSV UTF-8"'), (1, 1)
        )
    encoding = _find_encoding(data)
    text = _decode_text(path, data, encoding, is_csv=suffix == CSV)
    if suffix == CSV:
        # The text was only decoded to check it. The CSV reader decodes the
        # file again in pieces, so that the whole text is not in memory.
        del text
        content = csv_text.read(path, data, encoding, types)
        return Rows(
            path=path,
            rows=content.rows,
            row_lines=content.lines,
            columns=content.columns,
        )
    if suffix == JSON:
        return _read_json(path, text)
    return _read_yaml(path, text)


def from_list(path: str, node: yaml.SequenceNode, text: str) -> Rows:
    """Build the rows of a list in a YAML file, with their lines.

    Columns are noted as ambiguous if YAML reads a value in them differently
    than its author means, e.g. the serial number 0123456 as the octal number
    42798.

    :param path: the path of the file.
    :param node: the node of the list.
    :param text: text of the whole file.
    :raises: YAMLError if a row has a value that a rule file cannot contain.
    """
    rows: list[typing.Any] = []
    cell_lines = array.array('L')
    ambiguous: dict[str, AmbiguousColumn] = {}
    for number, row_node in enumerate(node.value):
        row = yaml_text.construct(row_node, text)
        rows.append(row)
        if not isinstance(row, dict):
            continue
        for key, value in row_node.value:
            # Marks count lines from zero.
            cell_lines.append(value.start_mark.line + 1)
            if not _is_ambiguous(value):
                continue
            column = ambiguous.get(key.value)
            if column is None:
                # This is the first such value of the column.
                column = AmbiguousColumn(number, value.value, count=0)
            ambiguous[key.value] = dataclasses.replace(
                column, count=column.count + 1
            )
    row_lines = array.array('L')
    for line in yaml_text.find_item_lines(node, text):
        row_lines.append(line + 1)
    return Rows(
        path=path,
        rows=rows,
        row_lines=row_lines,
        cell_lines=cell_lines,
        ambiguous=ambiguous,
    )


def _is_ambiguous(cell: yaml.Node) -> bool:
    """Return whether YAML reads a cell differently than its author means.

    The author may mean what YAML reads if it reads OFF as false, or 0x1F as
    31.
    """
    is_misread = yaml_scalar.is_misread(cell)
    return is_misread and not yaml_scalar.is_perhaps_meant(cell.value)


def _read_content(path: str) -> bytes:
    """Read a regular file that is not larger than a table may be.

    :raises: :class:`.exceptions.InvalidDocument` if the file cannot be read,
        is not a regular file, is too large, or changes while it is read.
    """
    try:
        with open(path, 'rb', opener=_open_without_waiting) as stream:
            mode = os.fstat(stream.fileno()).st_mode
            if not stat.S_ISREG(mode):
                raise exceptions.InvalidDocument(
                    path, _('this is no regular file')
                )
            # Read one byte more than is allowed. If there is one, the file is
            # too large.
            data = file_content.read(
                path, stream, table_members.MOST_BYTES + 1
            )
    except OSError as exc:
        raise exceptions.InvalidDocument(
            path, exc.strerror or str(exc)
        ) from exc
    if len(data) > table_members.MOST_BYTES:
        raise exceptions.InvalidDocument(
            path,
            _('the file is larger than %d MiB')
            % (table_members.MOST_BYTES // 2**20),
        )
    return data


def _open_without_waiting(path: str, flags: int) -> int:
    """Open a file, even a pipe without a writer, and return its descriptor.

    Without ``O_NONBLOCK``, opening this pipe would wait for a writer.

    :param flags: the flags that Python's ``open`` passes.
    """
    return os.open(path, flags | os.O_NONBLOCK | os.O_NOCTTY)


def _find_encoding(data: bytes) -> str:
    """Return the encoding of a file by its byte order mark.

    Without a mark, the encoding is UTF-8.

    :param data: the content of the file.
    """
    for mark, encoding in _BYTE_ORDER_MARKS:
        if data.startswith(mark):
            return encoding
    return 'utf-8'


def _decode_text(path: str, data: bytes, encoding: str, is_csv: bool) -> str:
    """Return the content of a file as text.

    JSON and YAML are parsed from the text. A CSV file is only checked by this,
    and decoded again in pieces.

    :param path: the path of the file, for the error.
    :param data: the content of the file.
    :param encoding: the encoding, see :func:`_find_encoding`.
    :param is_csv: whether the file may come from a spreadsheet. The error then
        says how to save the file as UTF-8.
    :raises: :class:`.exceptions.InvalidDocument` with the line of the first
        byte that cannot be decoded.
    """
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as exc:
        # "exc.start" is a position in "exc.object". This is not always "data":
        # it lacks the byte order mark of UTF-8.
        wrong_byte = exc.object[exc.start]
        text_before = exc.object[: exc.start].decode(encoding, errors='ignore')
        line = text_before.count('\n') + 1
        if not encoding.startswith('utf-8'):
            reason = _('the file is no text in %s') % encoding.upper()
        elif is_csv:
            reason = (
                _(
                    'byte 0x%02x is no text in UTF-8; save the file as '
                    '"CSV UTF-8"'
                )
                % wrong_byte
            )
        else:
            reason = _('byte 0x%02x is no text in UTF-8') % wrong_byte
        raise exceptions.InvalidDocument(path, reason, (line, 1)) from exc


def _read_yaml(path: str, text: str) -> Rows:
    """Read the rows of a YAML file, which must be one list of rows.

    :param path: the path of the file, for errors.
    :param text: the text of the file.
    :raises: :class:`.exceptions.InvalidDocument` if the file is not a list, or
        is not YAML.
    """
    try:
        # A YAML file may have several documents, separated by "---".
        documents = yaml_text.parse_nodes(text)
        if len(documents) != 1:
            raise exceptions.InvalidDocument(path, _expected_list())
        root = documents[0]
        if not isinstance(root, yaml.SequenceNode):
            raise exceptions.InvalidDocument(path, _expected_list())
        return from_list(path, root, text)
    except (yaml.YAMLError, RecursionError) as exc:
        raise yaml_text.as_document_error(path, text, exc) from exc


def _read_json(path: str, text: str) -> Rows:
    """Read the rows of a JSON file, which must be one list of rows.

    The rows are decoded one by one, because Python's decoder does not say in
    which line a row of the list begins.

    :param path: the path of the file, for errors.
    :param text: the text of the file.
    :raises: :class:`.exceptions.InvalidDocument` with the line of the error.
    """
    # This character is what a byte order mark is decoded to.
    text = text.removeprefix('\N{ZERO WIDTH NO-BREAK SPACE}')
    rows: list[typing.Any] = []
    row_lines = array.array('L')
    # The line of the current row, and the position where that row begins.
    line = 1
    position_of_line = 0
    try:
        for position, row in _split_json_list(text):
            # Count only the line feeds since the previous row. Counting from
            # the start of the text would take quadratic time.
            line += text.count('\n', position_of_line, position)
            position_of_line = position
            rows.append(row)
            row_lines.append(line)
    except json.JSONDecodeError as exc:
        raise exceptions.InvalidDocument(
            path, exc.msg, (exc.lineno, 1)
        ) from exc
    return Rows(path=path, rows=rows, row_lines=row_lines)


def _split_json_list(text: str) -> Iterator[tuple[int, typing.Any]]:
    """Yield the position and the value of each item of a list in JSON.

    For example, ``[1, {}]`` yields ``(1, 1)`` and ``(4, {})``.

    :raises: JSONDecodeError with the position of the error.
    """
    # Read the "[". A slice is empty at the end of the text, where an index
    # would be an error.
    position = _skip_white_space(text, 0)
    if text[position : position + 1] != '[':
        raise json.JSONDecodeError(_expected_list(), text, position)
    position = _skip_white_space(text, position + 1)
    is_empty = text[position : position + 1] == ']'
    while not is_empty:
        # Read an item.
        start_of_item = position
        item, position = _decode_item(text, start_of_item)
        yield start_of_item, item
        # Read the "," before the next item, or the "]" after the last item.
        position = _skip_white_space(text, position)
        separator = text[position : position + 1]
        if separator == ']':
            break
        if separator != ',':
            raise json.JSONDecodeError(
                _('expected "," or "]"'), text, position
            )
        position = _skip_white_space(text, position + 1)
    # Only white space may follow the "]".
    position = _skip_white_space(text, position + 1)
    if position < len(text):
        raise json.JSONDecodeError(
            _('there is something behind the list'), text, position
        )


def _decode_item(text: str, begin: int) -> tuple[typing.Any, int]:
    """Return the JSON value at a position, and the position after it.

    :param begin: the position where the value begins.
    :raises: JSONDecodeError for every error. It has the position of a syntax
        error; for any other error, it has the position of the value.
    """
    try:
        return _DECODER.raw_decode(text, begin)
    except json.JSONDecodeError:
        # This is a syntax error. It must be caught before ValueError, which is
        # its base class.
        raise
    except RecursionError as exc:
        reason = _('nested too deeply')
        raise json.JSONDecodeError(reason, text, begin) from exc
    except exceptions.OperationError as exc:
        # The decoder refuses a key that is there twice, and numbers that are
        # not finite.
        raise json.JSONDecodeError(str(exc), text, begin) from exc
    except ValueError as exc:
        # Python rejects numbers with more than 4300 digits.
        reason = yaml_text.TOO_MANY_DIGITS
        raise json.JSONDecodeError(reason, text, begin) from exc


def _skip_white_space(text: str, position: int) -> int:
    """Return the first position from which the text is not white space.

    If only white space follows, this is the length of the text.

    :param position: the position where the search begins.
    """
    while position < len(text) and text[position] in _WHITE_SPACE_OF_JSON:
        position += 1
    return position


def _build_mapping(
    pairs: list[tuple[str, typing.Any]],
) -> dict[str, typing.Any]:
    """Build the mapping of a JSON object, whose keys must be distinct.

    :param pairs: the keys and values of the object, in their order.
    :raises: :class:`.exceptions.OperationError` if a key is there twice.
    """
    # All rows have the same columns. Interning keeps each name only once in
    # memory.
    mapping = {sys.intern(name): value for name, value in pairs}
    if len(mapping) == len(pairs):
        return mapping
    counts = collections.Counter(name for name, _value in pairs)
    double_names = [name for name, count in counts.items() if count > 1]
    raise exceptions.OperationError(
        _('key "%s" is there twice') % suggestion.shorten(double_names[0])
    )


def _refuse_constant(name: str) -> typing.NoReturn:
    """Reject ``NaN`` and ``Infinity``, which Python accepts but JSON lacks."""
    raise exceptions.OperationError(yaml_text.NOT_JSON % name)


def _read_float(number: str) -> float:
    """Convert the text of a JSON number to a float, which must be finite.

    :param number: the text of the number, e.g. ``1.5`` or ``1e3``.
    :raises: :class:`.exceptions.OperationError` for 1e999, which Python would
        read as infinity.
    """
    value = float(number)
    if not math.isfinite(value):
        raise exceptions.OperationError(yaml_text.NOT_JSON % number)
    return value


_DECODER = json.JSONDecoder(
    object_pairs_hook=_build_mapping,
    parse_constant=_refuse_constant,
    parse_float=_read_float,
)


def _expected_list() -> str:
    """Return the message for a file that is not a list of rows."""
    return _('the file must hold one list of rows')
