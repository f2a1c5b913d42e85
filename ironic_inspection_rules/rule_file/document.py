# SPDX-License-Identifier: Apache-2.0

"""Reads files of rules and machines, with the lines of values."""

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
    """A table as it stands in a file of rules.

    ``entry`` is what is there as plain data, without its rows, which are in
    ``rows``: None if they are in a file of their own, or no list.
    ``places`` has line and column of each value by RFC 6901 pointer.
    """

    path: str
    name: str
    entry: typing.Any
    places: typing.Mapping[str, Place]
    rows: table_rows.Rows | None = None

    def place(self, pointer: str = '') -> Place:
        """Return line and column of a value in the table.

        A row, and a value that is not there, have the place of the value
        around them: ``/types/cpus`` may have that of ``/types``.

        :param pointer: RFC 6901 pointer into the table.
        """
        while pointer not in self.places:
            pointer = pointer.rpartition('/')[0]
        return self.places[pointer]


@dataclasses.dataclass(frozen=True)
class Document:
    """Content of one file.

    ``entries`` are its rules as plain data, which may be anything yet.
    ``places`` has line and column, counted from one, of each value by the
    number of its entry and the RFC 6901 pointer in it. ``ambiguous`` has, in
    the same way, the text of values such as ``OFF`` or ``1_000``, which YAML
    reads as something else than people who write them may mean. ``tables``
    are its tables, None if it does not say which there are.
    """

    path: str
    entries: tuple[typing.Any, ...]
    places: typing.Mapping[tuple[int, str], Place]
    ambiguous: typing.Mapping[tuple[int, str], str] = dataclasses.field(
        default_factory=dict
    )
    tables: tuple[WrittenTable, ...] | None = None

    def place(self, index: int, pointer: str = '') -> Place:
        """Return line and column of a value in an entry.

        A value that is not there has the place of the value around it:
        ``/actions/0/op`` may have that of ``/actions/0``.

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
    """List files; a folder stands for the files in it and below.

    For example, ``['a.yaml', 'rules.d']`` gives ``['a.yaml',
    'rules.d/10-racks.yaml']``. Of a folder, these are the files whose names
    end in ``.yaml``, ``.yml`` or ``.json``, whether they are rules or
    inventories of machines. A path that is no folder stays as it is, even if
    there is no such file: reading will find that out.

    :param paths: files, folders, and ``-`` for standard input.
    :param message_if_empty: the message for a folder without such files.
    :raises: :class:`.exceptions.InvalidDocument` for such a folder.
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

    Hidden files, and files in hidden folders, are left out: where Kubernetes
    mounts files, a hidden folder has all of them once more.
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

    :raises: :class:`.exceptions.InvalidDocument` where it cannot be read,
        with the place if one is at fault; and where it holds the inventory of
        a machine, or rules without their actions.
    """
    return parse(path, read(path))


def load_mapping(path: str, text: str | None = None) -> dict[str, typing.Any]:
    """Read a file that holds one mapping, such as an inventory.

    JSON may have a name twice: the last value counts.

    :param text: the content of the file, None to read the file.
    :raises: :class:`.exceptions.InvalidDocument` if it cannot be read, is no
        mapping, has a number that is not finite or, in YAML, a name twice.
    """
    if text is None:
        text = read(path)
    # First as JSON, which takes a hundredth of the time of YAML: an inventory
    # is mostly JSON, and large.
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
    """Return the value of JSON text, such as an inventory.

    :param path: of the file, for errors.
    :returns: None for text that is no JSON, or nested too deeply: the reader
        of YAML has the messages for it.
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
    """Read a number of JSON with a fraction or an exponent.

    :raises: :class:`.exceptions.InvalidDocument` for 1e999, NaN and Infinity:
        Python reads these, and JSON does not have them.
    """
    value = float(number)
    if not math.isfinite(value):
        raise exceptions.InvalidDocument(path, yaml_text.NOT_JSON % number)
    return value


def load_list(path: str, text: str | None = None) -> Document:
    """Read a file that holds a list of anything but rules, such as flavors.

    :param text: the content of the file, None to read the file.
    :returns: the items as entries; a file without a list is a single entry.
    :raises: :class:`.exceptions.InvalidDocument` where it cannot be read.
    """
    if text is None:
        text = read(path)
    return _build_document(path, text, _find_list_items)


def read(path: str) -> str:
    """Read the text of a file; what ends a line becomes a line feed.

    :raises: :class:`.exceptions.InvalidDocument` if it cannot be read, is no
        text, or changes meanwhile.
    """
    try:
        if path == STDIN:
            # Python has none if the descriptor was closed when it started.
            if sys.stdin is None:
                raise OSError(errno.EBADF, os.strerror(errno.EBADF))
            text = sys.stdin.read()
            # In some locales Python reads bytes that are no text as
            # surrogates. These become the same bytes again, and an error.
            return text.encode(errors='surrogateescape').decode('utf-8-sig')
        with open(path, 'rb') as stream:
            data = file_content.read(path, stream)
        # Editors of Windows begin a file with a mark of its encoding, which
        # "utf-8-sig" leaves out. Files without the mark are read, too.
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
    """Parse the rules in the text of a file; see :func:`load`.

    :raises: :class:`.exceptions.InvalidDocument` if it cannot be read, or is
        the inventory of a machine or a listing of the API.
    """
    parsed = _build_document(path, text, _find_rules_and_tables)
    # People take two kinds of files for files of rules: inventories, and what
    # the API lists. The message that actions are missing would not help them.
    for rule in parsed.entries:
        if not isinstance(rule, dict) or 'actions' in rule:
            continue
        # An inventory is kept in a file alone, or beside plugin data.
        has_inventory = isinstance(rule.get('inventory'), dict)
        has_interfaces = isinstance(rule.get('interfaces'), list)
        if has_inventory or has_interfaces:
            raise exceptions.InvalidDocument(
                path,
                _('this is the inventory of a machine, not a file of rules'),
            )
        # GET /v1/inspection_rules lists rules in a short form.
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
    """Nodes of a file: its entries, and its tables with their names.

    ``tables`` are pairs of nodes, the name and the table; None for a file that
    says nothing of tables.
    """

    entries: list[yaml.Node]
    tables: list[tuple[yaml.Node, yaml.Node]] | None = None


def _find_rules_and_tables(text: str) -> _Content:
    """Return the rules and tables of all documents of a file.

    A file of YAML may have several documents, separated by ``---``.
    """
    nodes = yaml_text.parse_nodes(text)
    entries: list[yaml.Node] = []
    for node in nodes:
        entries += form.find_rule_nodes(node)
    # A file without the key "tables" says nothing of tables, and the stored
    # ones stay. An empty mapping says that there are no tables.
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

    For example, of the text ``[{actions: []}]`` the only entry has the place
    ``(0, '')``, line 1 and column 2; its actions have ``(0, '/actions')``.

    :param path: path of the file, for errors.
    :param find_content: returns the nodes of YAML in a text that are entries,
        such as rules, and those that are tables.
    :raises: :class:`.exceptions.InvalidDocument` where it cannot be read.
    """
    try:
        content = find_content(text)
        values = []
        # By the number of the entry and the pointer to a value in it: where
        # the value stands, and the text of values such as OFF, which YAML
        # reads as false.
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

    A list of rows is read apart, without the place of every value: a table may
    have a hundred thousand rows.

    :param name: the node of its name.
    :param node: the node of the table itself.
    :param text: text of the whole file.
    """
    rows = None
    if isinstance(node, yaml.MappingNode):
        yaml_text.check_names(node)
        members = []
        for key, value in node.value:
            if key.value == 'rows' and isinstance(value, yaml.SequenceNode):
                rows = table_rows.from_list(path, value, text)
            else:
                members.append((key, value))
        # The table without its rows. It is a new node, as the file may use the
        # node of the table elsewhere by an alias.
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
    """Return line and column of a node, counted from one."""
    return node.start_mark.line + 1, node.start_mark.column + 1


def parse_nodes(text: str) -> list[yaml.Node]:
    """Parse the rules of a file to nodes of YAML, with their places.

    :raises: YAMLError where they cannot be read.
    """
    return _find_rules_and_tables(text).entries


def _find_documents(text: str) -> _Content:
    """Return every YAML document of a file as an entry."""
    return _Content(yaml_text.parse_nodes(text))


def _find_list_items(text: str) -> _Content:
    """Return the items of the list that a file holds, such as flavors.

    A file may hold a single item in place of the list. It may also have
    several YAML documents, separated by ``---``: their items are one list.
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
    """Yield a node and all nodes in it, with their JSON pointers.

    ``{a: [1]}`` yields nodes at the empty pointer, ``/a`` and ``/a/0``.
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
