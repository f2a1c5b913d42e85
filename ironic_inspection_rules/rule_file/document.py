# SPDX-License-Identifier: Apache-2.0

"""Reads files of rules and machines, and keeps the lines of values."""

import dataclasses
import errno
import functools
import io
import json
import math
import os
import pathlib
import sys
import typing

import yaml

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.language import budget
from ironic_inspection_rules.engine.language import path as data_path
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.rule_file import file_content
from ironic_inspection_rules.rule_file import form
from ironic_inspection_rules.rule_file import table_rows
from ironic_inspection_rules.rule_file import yaml_scalar
from ironic_inspection_rules.rule_file import yaml_text

Place = tuple[int, int]
"""Line and column, counted from one."""

STDIN = '-'

_SUFFIXES = ('.json', '.yaml', '.yml')


@dataclasses.dataclass(frozen=True)
class WrittenTable:
    """A table as it is written in a file of rules.

    ``entry`` is the table as plain data, without its rows. The rows are in
    ``rows``, which is None if they are in a separate file or are not a list.
    ``places`` has the line and column of each value, by RFC 6901 pointer.
    """

    path: str
    name: str
    entry: typing.Any
    places: typing.Mapping[str, Place]
    rows: table_rows.Rows | None = None

    def place(self, pointer: str = '') -> Place:
        """Return the line and column of a value in the table.

        The position of a row is not known, and a missing value has none. In
        both cases, return the position of the closest value that contains it:
        for ``/types/cpus`` it may be that of ``/types``.

        :param pointer: RFC 6901 pointer into the table.
        """
        while pointer not in self.places:
            pointer = pointer.rpartition('/')[0]
        return self.places[pointer]


@dataclasses.dataclass(frozen=True)
class Document:
    """The content of one file.

    ``entries`` are its rules as plain data, which are not validated yet.
    ``places`` has the line and column of each value, counted from one. Its
    keys are pairs of the number of the entry and the RFC 6901 pointer in it.
    ``ambiguous`` has the same keys. Its values are texts such as ``OFF`` or
    ``1_000``, which YAML may read as something else than the author meant.
    ``tables`` are its tables; None if the file does not define any.
    """

    path: str
    entries: tuple[typing.Any, ...]
    places: typing.Mapping[tuple[int, str], Place]
    ambiguous: typing.Mapping[tuple[int, str], str] = dataclasses.field(
        default_factory=dict
    )
    tables: tuple[WrittenTable, ...] | None = None

    def place(self, index: int, pointer: str = '') -> Place:
        """Return the line and column of a value in an entry.

        If there is no such value, return the position of the closest value
        that contains it: for ``/actions/0/op`` it may be that of
        ``/actions/0``.

        :param index: number of the entry, from zero.
        :param pointer: RFC 6901 pointer into the entry.
        """
        while (index, pointer) not in self.places:
            pointer = pointer.rpartition('/')[0]
        return self.places[index, pointer]


def list_files(
    paths: typing.Iterable[str],
    message_if_empty: str = _('there are no files of rules in this directory'),
) -> list[str]:
    """List files, and replace folders with the files inside them.

    For example, ``['a.yaml', 'rules.d']`` gives ``['a.yaml',
    'rules.d/10-racks.yaml']``. The files of a folder are those whose names end
    in ``.yaml``, ``.yml`` or ``.json``, whether they contain rules or
    inventories of machines. A path that is not a folder is kept even if there
    is no such file, because reading the file reports that.

    :param paths: files, folders, and ``-`` for standard input.
    :param message_if_empty: the message for a folder without such files.
    :raises: :class:`.exceptions.InvalidDocument` for a folder without such
        files.
    """
    files: list[str] = []
    for path in paths:
        if not pathlib.Path(path).is_dir():
            files.append(path)
            continue
        inside = _list_folder(path)
        if not inside:
            raise exceptions.InvalidDocument(path, message_if_empty)
        files += inside
    return files


def _list_folder(folder: str) -> list[str]:
    """List the YAML and JSON files in a folder and below, sorted by path.

    Hidden files and files in hidden folders are skipped, because a folder that
    Kubernetes mounts has all files a second time in a hidden folder.
    """
    paths = []
    for path in pathlib.Path(folder).rglob('*'):
        if path.suffix.lower() not in _SUFFIXES or not path.is_file():
            continue
        parts = path.relative_to(folder).parts
        if not any(part.startswith('.') for part in parts):
            paths.append(str(path))
    return sorted(paths)


def load(path: str) -> Document:
    """Read the rules of a file, in one of the forms of :mod:`.form`.

    :raises: :class:`.exceptions.InvalidDocument` if the file cannot be read,
        with the position of the error if it has one; or if the file contains
        the inventory of a machine, or rules without their actions.
    """
    return parse(path, read(path))


def load_mapping(path: str, text: str | None = None) -> dict[str, typing.Any]:
    """Read a file that contains one mapping, e.g. an inventory.

    If a name is in a JSON mapping twice, the last value counts.

    :param text: the content of the file; None to read the file.
    :raises: :class:`.exceptions.InvalidDocument` if the file cannot be read,
        is not a mapping, or has a number that is not finite, or if a name is
        in a YAML mapping twice.
    """
    if text is None:
        text = read(path)
    # Try JSON first, which takes a hundredth of the time of YAML: an inventory
    # is large, and usually JSON.
    value = _read_json(path, text)
    if value is None:
        documents = _build_document(path, text, _find_documents).entries
        if len(documents) == 1:
            value = documents[0]
    if not isinstance(value, dict):
        raise exceptions.InvalidDocument(
            path, _('the file must hold one mapping')
        )
    return value


def _read_json(path: str, text: str) -> typing.Any:
    """Return the value of JSON text, e.g. of an inventory.

    :param path: path of the file, for errors.
    :returns: None if the text is not JSON or is nested too deeply. The YAML
        parser then has the messages for it.
    :raises: :class:`.exceptions.InvalidDocument` for a number that is not
        finite.
    """
    if budget.is_deeper(text.encode(), yaml_text.DEPTH):
        return None
    read_number = functools.partial(_read_float, path)
    try:
        return json.loads(
            text, parse_float=read_number, parse_constant=read_number
        )
    except ValueError:
        return None


def _read_float(path: str, number: str) -> float:
    """Read a JSON number that has a fraction or an exponent.

    :raises: :class:`.exceptions.InvalidDocument` for 1e999, NaN and Infinity,
        which Python's JSON parser accepts although they are not valid.
    """
    value = float(number)
    if not math.isfinite(value):
        raise exceptions.InvalidDocument(path, yaml_text.NOT_JSON % number)
    return value


def load_list(path: str, text: str | None = None) -> Document:
    """Read a file that contains a list other than rules, e.g. of flavors.

    :param text: the content of the file; None to read the file.
    :returns: the items as entries. A file without a list is a single entry.
    :raises: :class:`.exceptions.InvalidDocument` if the file cannot be read.
    """
    if text is None:
        text = read(path)
    return _build_document(path, text, _find_list_items)


def read(path: str) -> str:
    """Read the text of a file, and convert all line ends to line feeds.

    :raises: :class:`.exceptions.InvalidDocument` if the file cannot be read,
        is not text, or changes while it is read.
    """
    try:
        if path == STDIN:
            # sys.stdin is None if the descriptor was closed at start-up.
            if sys.stdin is None:
                raise OSError(errno.EBADF, os.strerror(errno.EBADF))
            text = sys.stdin.read()
            # In some locales, Python reads invalid bytes as surrogates.
            # Convert them back to bytes, so that decoding reports the error.
            return text.encode(errors='surrogateescape').decode('utf-8-sig')
        with open(path, 'rb') as stream:
            data = file_content.read(path, stream)
        # Windows editors put a byte order mark at the start of a file, which
        # "utf-8-sig" removes. It also reads files without the mark.
        return io.TextIOWrapper(io.BytesIO(data), 'utf-8-sig').read()
    except OSError as exc:
        raise exceptions.InvalidDocument(
            path, exc.strerror or str(exc)
        ) from exc
    except UnicodeDecodeError as exc:
        raise exceptions.InvalidDocument(
            path,
            _('the file is not text in UTF-8: byte %(number)d is 0x%(byte)02x')
            % {'number': exc.start + 1, 'byte': exc.object[exc.start]},
        ) from exc


def parse(path: str, text: str) -> Document:
    """Parse the rules in the text of a file, see :func:`load`.

    :raises: :class:`.exceptions.InvalidDocument` if the text cannot be parsed,
        or if it is the inventory of a machine or a listing from the API.
    """
    parsed = _build_document(path, text, _find_rules_and_tables)
    # People mistake two kinds of files for files of rules: inventories and
    # listings from the API. A message about missing actions would not help
    # them.
    for rule in parsed.entries:
        if not isinstance(rule, dict) or 'actions' in rule:
            continue
        # An inventory is the whole file, or a member next to plugin data.
        has_inventory = isinstance(rule.get('inventory'), dict)
        has_interfaces = isinstance(rule.get('interfaces'), list)
        if has_inventory or has_interfaces:
            raise exceptions.InvalidDocument(
                path,
                _('this is the inventory of a machine, not a file of rules'),
            )
        # GET /v1/inspection_rules lists rules in a short form without actions.
        is_of_listing = 'links' in rule and 'priority' in rule
        if is_of_listing:
            raise exceptions.InvalidDocument(
                path,
                _(
                    'the API lists these rules without their conditions and '
                    'actions; ask for them with detail=true'
                ),
            )
    return parsed


@dataclasses.dataclass(frozen=True)
class _Content:
    """The nodes of a file: its entries, and its tables with their names.

    ``tables`` are pairs of nodes, the name and the table. It is None if the
    file does not define tables.
    """

    entries: list[yaml.Node]
    tables: list[tuple[yaml.Node, yaml.Node]] | None = None


def _find_rules_and_tables(text: str) -> _Content:
    """Return the rules and tables of all documents of a file.

    A YAML file may have several documents, separated by ``---``.
    """
    nodes = yaml_text.parse_nodes(text)
    entries: list[yaml.Node] = []
    for node in nodes:
        entries += form.find_rule_nodes(node)
    # Without the key "tables", the file does not define tables, and the stored
    # tables are kept. An empty mapping says that there are no tables.
    tables: list[tuple[yaml.Node, yaml.Node]] | None = None
    for node in nodes:
        tables_of_document = form.find_table_nodes(node)
        if tables_of_document is not None:
            tables = (tables or []) + tables_of_document
    return _Content(entries, tables)


def _build_document(
    path: str, text: str, find_content: typing.Callable[[str], _Content]
) -> Document:
    """Build the document of a file: its values, with their lines and columns.

    For example, the only entry of ``[{actions: []}]`` has the key ``(0, '')``
    in ``places``, with line 1 and column 2. The key of its actions is
    ``(0, '/actions')``.

    :param path: path of the file, for errors.
    :param find_content: returns the YAML nodes in a text that are entries,
        e.g. rules, and the nodes that are tables.
    :raises: :class:`.exceptions.InvalidDocument` if the text cannot be parsed.
    """
    try:
        content = find_content(text)
        values = []
        # Both have the number of an entry and the pointer to a value in it as
        # keys. They have the position of the value, and the text of a value
        # such as OFF, which YAML reads as false.
        places: dict[tuple[int, str], Place] = {}
        ambiguous: dict[tuple[int, str], str] = {}
        for index, entry in enumerate(content.entries):
            values.append(yaml_text.construct(entry, text))
            for pointer, node in _walk_nodes(entry, ''):
                places[index, pointer] = _place_of_node(node)
                if yaml_scalar.is_misread(node):
                    ambiguous[index, pointer] = node.value
        tables: tuple[WrittenTable, ...] | None = None
        if content.tables is not None:
            tables = tuple(
                _build_table(path, name, node, text)
                for name, node in content.tables
            )
    except (yaml.YAMLError, RecursionError) as exc:
        raise yaml_text.as_document_error(path, text, exc) from exc
    return Document(
        path=path,
        entries=tuple(values),
        places=places,
        ambiguous=ambiguous,
        tables=tables,
    )


def _build_table(
    path: str, name: yaml.Node, node: yaml.Node, text: str
) -> WrittenTable:
    """Build a table of a file of rules.

    A list of rows is read separately, without the position of each value,
    because a table may have 100,000 rows.

    :param name: the node of the table's name.
    :param node: the node of the table itself.
    :param text: text of the whole file.
    """
    rows = None
    if isinstance(node, yaml.MappingNode):
        yaml_text.check_keys(node)
        members = []
        for key, value in node.value:
            if key.value == 'rows' and isinstance(value, yaml.SequenceNode):
                rows = table_rows.from_list(path, value, text)
            else:
                members.append((key, value))
        # Build a new node for the table without its rows, because the file may
        # use the original node elsewhere by an alias.
        node = yaml.MappingNode(
            node.tag, members, node.start_mark, node.end_mark
        )
    entry = yaml_text.construct(node, text)
    places = {
        pointer: _place_of_node(value)
        for pointer, value in _walk_nodes(node, '')
    }
    return WrittenTable(
        path=path, name=name.value, entry=entry, places=places, rows=rows
    )


def _place_of_node(node: yaml.Node) -> Place:
    """Return the line and column of a node, counted from one."""
    return node.start_mark.line + 1, node.start_mark.column + 1


def parse_nodes(text: str) -> list[yaml.Node]:
    """Parse the rules of a file into YAML nodes, with their positions.

    :raises: YAMLError if the text cannot be parsed.
    """
    return _find_rules_and_tables(text).entries


def _find_documents(text: str) -> _Content:
    """Return every YAML document of a file as an entry."""
    return _Content(yaml_text.parse_nodes(text))


def _find_list_items(text: str) -> _Content:
    """Return the items of the list that a file contains, e.g. flavors.

    A file may contain a single item instead of a list. If it has several YAML
    documents, separated by ``---``, their items form one list.
    """
    items: list[yaml.Node] = []
    for node in yaml_text.parse_nodes(text):
        if isinstance(node, yaml.SequenceNode):
            items += node.value
        else:
            items.append(node)
    return _Content(items)


def _walk_nodes(
    node: yaml.Node, pointer: str
) -> typing.Iterator[tuple[str, yaml.Node]]:
    """Yield a node and all nodes inside it, with their JSON pointers.

    For example, ``{a: [1]}`` yields nodes at the empty pointer, ``/a`` and
    ``/a/0``.
    """
    yield pointer, node
    if isinstance(node, yaml.SequenceNode):
        for index, item in enumerate(node.value):
            yield from _walk_nodes(item, f'{pointer}/{index}')
    elif isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            yield from _walk_nodes(
                value, pointer + data_path.pointer([key.value])
            )
