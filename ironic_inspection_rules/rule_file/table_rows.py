# SPDX-License-Identifier: Apache-2.0

"""Reads the rows of a table from a CSV, YAML or JSON file.

A table may have 100,000 rows. So the lines of rows and cells are numbers in an
array, which takes less memory than an object for each position.
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
    """A YAML column with values that YAML reads in an unintended way.

    :ivar row: the number of the first such row, from zero.
    :ivar written: the value of the column in that row, as it is written.
    :ivar count: the number of such rows.
    """

    row: int
    written: str
    count: int


@dataclasses.dataclass(frozen=True)
class Rows:
    """The rows of one file, not checked yet, with their lines.

    ``lines`` has the line of each row, counted from one. ``cells`` has the
    lines of all values, row after row; rows that are not mappings have no
    values. It is None if each value is in the line of its row. ``columns`` are
    the columns of a header, which are known even without rows. ``ambiguous``
    has the columns with values that YAML reads in an unintended way, by name.
    """

    path: str
    rows: list[typing.Any]
    lines: typing.Sequence[int]
    cells: typing.Sequence[int] | None = None
    columns: typing.Sequence[str] = ()
    ambiguous: typing.Mapping[str, AmbiguousColumn] = dataclasses.field(
        default_factory=dict
    )

    def line(self, number: int, column: str | None = None) -> int:
        """Return the line of a row, or of its value in a column.

        :param number: number of the row, from zero.
        :param column: name of the column. If it is None, or if the row does
            not have it, return the line of the row.
        """
        row = self.rows[number]
        has_cell = isinstance(row, dict) and column in row
        if self.cells is None or not has_cell:
            return self.lines[number]
        # Count the cells of the previous rows. Only mappings have cells.
        count_before = 0
        for earlier_row in self.rows[:number]:
            if isinstance(earlier_row, dict):
                count_before += len(earlier_row)
        position_in_row = list(row).index(column)
        return self.cells[count_before + position_in_row]


def read(path: str, types: typing.Mapping[str, str]) -> Rows:
    """Read the rows of a table from a CSV, JSON or YAML file.

    The suffix of the file name determines the format. The rows are not checked
    against the table. Pipes are rejected, and so are files that are larger
    than a table may be.

    :param types: the types of columns by name. They are used to convert the
        cells of a CSV file, which has only text.
    :raises: :class:`.exceptions.InvalidDocument` if the file cannot be read,
        with the line of the error if it is known.
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
            lines=content.lines,
            columns=content.columns,
        )
    if suffix == JSON:
        return _read_json(path, text)
    return _read_yaml(path, text)


def from_list(path: str, node: yaml.SequenceNode, text: str) -> Rows:
    """Build the rows of a list in a YAML file, with their lines.

    This also notes columns with values that YAML reads in an unintended way.
    For example, it reads the serial number 0123456 as the octal number 42798.

    :param node: the node of the list.
    :param text: text of the whole file.
    :raises: YAMLError if a row cannot be constructed.
    """
    rows: list[typing.Any] = []
    # The lines of all cells, row after row. An array saves memory, because a
    # table may have many cells.
    cells = array.array('L')
    ambiguous: dict[str, AmbiguousColumn] = {}
    for number, row_node in enumerate(node.value):
        row = yaml_text.construct(row_node, text)
        rows.append(row)
        if not isinstance(row, dict):
            continue
        for key, value in row_node.value:
            cells.append(value.start_mark.line + 1)
            if not yaml_scalar.is_misread(value):
                continue
            if yaml_scalar.is_perhaps_meant(value.value):
                # The value may be intended: OFF as false, 0x1F as 31.
                continue
            first_of_column = AmbiguousColumn(number, value.value, count=0)
            column = ambiguous.get(key.value, first_of_column)
            ambiguous[key.value] = dataclasses.replace(
                column, count=column.count + 1
            )
    lines = array.array('L')
    for line in yaml_text.find_item_lines(node, text):
        lines.append(line + 1)
    return Rows(
        path=path, rows=rows, lines=lines, cells=cells, ambiguous=ambiguous
    )


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
            # Read one byte more than is allowed, to detect that the file is
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
    """Open a file without waiting, and return its descriptor.

    Otherwise, opening a pipe without a writer would wait for a writer.

    :param flags: the flags that Python's ``open`` passes.
    """
    return os.open(path, flags | os.O_NONBLOCK | os.O_NOCTTY)


def _find_encoding(data: bytes) -> str:
    """Return the encoding of the byte order mark, or UTF-8 without a mark."""
    for mark, encoding in _BYTE_ORDER_MARKS:
        if data.startswith(mark):
            return encoding
    return 'utf-8'


def _decode_text(path: str, data: bytes, encoding: str, is_csv: bool) -> str:
    """Return the bytes of a file as text.

    :param is_csv: whether the file may come from a spreadsheet. The error then
        says how to save the file as UTF-8.
    :raises: :class:`.exceptions.InvalidDocument` with the line of the first
        byte that cannot be decoded.
    """
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as exc:
        # "exc.start" is a position in "exc.object". If there is a byte order
        # mark of UTF-8, "exc.object" lacks the mark and differs from "data".
        before = exc.object[: exc.start].decode(encoding, errors='ignore')
        if not encoding.startswith('utf-8'):
            reason = _('the file is no text in %s') % encoding.upper()
        elif is_csv:
            reason = (
                _(
                    'byte 0x%02x is no text in UTF-8; save the file as '
                    '"CSV UTF-8"'
                )
                % exc.object[exc.start]
            )
        else:
            reason = (
                _('byte 0x%02x is no text in UTF-8') % exc.object[exc.start]
            )
        raise exceptions.InvalidDocument(
            path, reason, (before.count('\n') + 1, 1)
        ) from exc


def _read_yaml(path: str, text: str) -> Rows:
    """Read rows and their lines from a YAML file that is one list.

    :raises: :class:`.exceptions.InvalidDocument` if the file is not a list, or
        is not YAML.
    """
    try:
        documents = yaml_text.parse_nodes(text)
        if len(documents) != 1 or not isinstance(
            documents[0], yaml.SequenceNode
        ):
            raise exceptions.InvalidDocument(path, _expected_list())
        return from_list(path, documents[0], text)
    except (yaml.YAMLError, RecursionError) as exc:
        raise yaml_text.as_document_error(path, text, exc) from exc


def _read_json(path: str, text: str) -> Rows:
    """Read rows and their lines from a JSON file that is one list.

    Items are decoded one by one, because Python's decoder does not return
    the lines of the items in a list.

    :raises: :class:`.exceptions.InvalidDocument` with the line of the error.
    """
    # Remove this character, which a byte order mark is decoded to.
    text = text.removeprefix('\N{ZERO WIDTH NO-BREAK SPACE}')
    rows: list[typing.Any] = []
    lines = array.array('L')
    line = 1
    # "line" counts the newlines up to this position.
    counted_until = 0
    try:
        for position, row in _split_json_list(text):
            # Do not count from the start of the text, because that would take
            # quadratic time.
            line += text.count('\n', counted_until, position)
            counted_until = position
            rows.append(row)
            lines.append(line)
    except json.JSONDecodeError as exc:
        raise exceptions.InvalidDocument(
            path, exc.msg, (exc.lineno, 1)
        ) from exc
    return Rows(path=path, rows=rows, lines=lines)


def _split_json_list(text: str) -> Iterator[tuple[int, typing.Any]]:
    """Yield the start and the value of each item of a list in JSON.

    For example, ``[1, {}]`` yields ``(1, 1)`` and ``(4, {})``.

    :raises: JSONDecodeError with the position of the error.
    """
    position = _skip_white_space(text, 0)
    if text[position : position + 1] != '[':
        raise json.JSONDecodeError(_expected_list(), text, position)
    position = _skip_white_space(text, position + 1)
    is_empty = text[position : position + 1] == ']'
    while not is_empty:
        begin = position
        row, position = _decode_item(text, begin)
        yield begin, row
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

    :raises: JSONDecodeError with the position of the error. It is the start of
        the value if the error concerns the value as a whole.
    """
    try:
        return _DECODER.raw_decode(text, begin)
    except json.JSONDecodeError:
        raise
    except RecursionError as exc:
        reason = _('nested too deeply')
        raise json.JSONDecodeError(reason, text, begin) from exc
    except exceptions.OperationError as exc:
        raise json.JSONDecodeError(str(exc), text, begin) from exc
    except ValueError as exc:
        # Python rejects numbers with more than 4300 digits.
        reason = yaml_text.TOO_MANY_DIGITS
        raise json.JSONDecodeError(reason, text, begin) from exc


def _skip_white_space(text: str, position: int) -> int:
    """Return the position of the next character that is not white space.

    Return the length of the text if there is none.
    """
    while (
        text[position : position + 1]
        and text[position] in _WHITE_SPACE_OF_JSON
    ):
        position += 1
    return position


def _build_mapping(
    pairs: list[tuple[str, typing.Any]],
) -> dict[str, typing.Any]:
    """Build the mapping of a JSON object, whose keys must be distinct.

    :raises: :class:`.exceptions.OperationError` if a key is there twice.
    """
    # Thousands of rows have the same columns, so store each name only once.
    mapping = {sys.intern(name): value for name, value in pairs}
    if len(mapping) != len(pairs):
        counts = collections.Counter(name for name, _value in pairs)
        double_names = [name for name, count in counts.items() if count > 1]
        raise exceptions.OperationError(
            _('key "%s" is there twice') % suggestion.shown(double_names[0])
        )
    return mapping


def _refuse_constant(name: str) -> typing.NoReturn:
    """Reject ``NaN`` and ``Infinity``, which Python accepts but JSON lacks."""
    raise exceptions.OperationError(yaml_text.NOT_JSON % name)


def _read_float(number: str) -> float:
    """Read a JSON number that has a fraction or an exponent.

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
