# SPDX-License-Identifier: Apache-2.0

"""Reads YAML and JSON files, and keeps the lines of their values.

A file has entries, which are plain data. In a file of rules, every rule is an
entry: ``[{actions: []}, {actions: []}]`` has two. A value in an entry is
identified by the number of the entry and the pointer to the value, e.g.
``(1, '/actions')``, and its place is its line and column, e.g. ``(1, 27)``.
"""

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

    :param path: the path of the file.
    :param name: the name of the table.
    :param entry: the table as plain data, without a list of rows, e.g.
        ``{'key': 'serial'}``.
    :param places: the line and column of each value, by RFC 6901 pointer.
    :param rows: the list of rows; None if the rows are in a separate file or
        are not a list.
    """

    path: str
    name: str
    entry: typing.Any
    places: typing.Mapping[str, Place]
    rows: table_rows.Rows | None = None

    def place(self, pointer: str = '') -> Place:
        """Return the line and column of a value in the table.

        The position of a row is not known, and a missing value has no
        position. In both cases, return the position of the closest value that
        contains it: for ``/types/cpus``, it may be the position of ``/types``.

        :param pointer: RFC 6901 pointer into the table.
        """
        while pointer not in self.places:
            pointer = pointer.rpartition('/')[0]
        return self.places[pointer]


@dataclasses.dataclass(frozen=True)
class Document:
    """The content of one file.

    :param path: the path of the file.
    :param entries: its entries, e.g. rules, as plain data, which are not
        validated yet.
    :param places: the line and column of each value, counted from one. A key
        is the number of an entry, from zero, and the RFC 6901 pointer to the
        value in it: ``{(0, ''): (1, 2), (0, '/actions'): (1, 12)}``.
    :param ambiguous: the text of values that YAML may read differently than
        their author meant, e.g. ``{(0, '/actions/0/args/value'): 'OFF'}``.
    :param tables: its tables; None if the file does not define tables.
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

        If the value does not exist, return the position of the closest value
        that contains it: for ``/actions/0/op``, it may be the position of
        ``/actions/0``.

        :param index: the number of the entry, from zero.
        :param pointer: RFC 6901 pointer into the entry.
        """
        while (index, pointer) not in self.places:
            pointer = pointer.rpartition('/')[0]
        return self.places[index, pointer]


def list_files(
    paths: typing.Iterable[str],
    message_if_empty: str = _('there are no files of rules in this directory'),
) -> list[str]:
    """Replace every folder in a list of paths with the files inside it.

    For example, ``['a.yaml', 'rules.d']`` gives ``['a.yaml',
    'rules.d/10-racks.yaml']``. Only YAML and JSON files in a folder count,
    whether they contain rules or inventories of machines.

    :param paths: files, folders, and ``-`` for standard input.
    :param message_if_empty: the message for a folder without YAML or JSON
        files.
    :raises: :class:`.exceptions.InvalidDocument` for a folder without YAML or
        JSON files.
    """
    files: list[str] = []
    for path in paths:
        if not pathlib.Path(path).is_dir():
            # Keep the path even if there is no file. Reading reports that.
            files.append(path)
            continue
        files_in_folder = _list_folder(path)
        if not files_in_folder:
            raise exceptions.InvalidDocument(path, message_if_empty)
        files += files_in_folder
    return files


def _list_folder(folder: str) -> list[str]:
    """List the YAML and JSON files in a folder and below, sorted by path.

    Hidden files and files in hidden folders are skipped. A folder that
    Kubernetes mounts has a second copy of all files in a hidden folder.
    """
    paths = []
    for path in pathlib.Path(folder).rglob('*'):
        if path.suffix.lower() not in _SUFFIXES or not path.is_file():
            continue
        # The names of the folders below this folder, and of the file.
        names = path.relative_to(folder).parts
        is_hidden = any(name.startswith('.') for name in names)
        if not is_hidden:
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
    """Read a JSON or YAML file that contains one mapping, e.g. an inventory.

    If a name occurs twice in a mapping, the last value counts in JSON, and it
    is an error in YAML.

    :param text: the content of the file; None to read the file.
    :raises: :class:`.exceptions.InvalidDocument` if the file cannot be read,
        is not one mapping, or contains an invalid value.
    """
    if text is None:
        text = read(path)
    # Try JSON first, because its parser takes a hundredth of the time of the
    # YAML parser. Inventories are large, and usually JSON.
    value = _read_json(path, text)
    if value is None:
        # A YAML file may have several documents, separated by "---".
        documents = _build_document(path, text, _find_documents).entries
        if len(documents) == 1:
            value = documents[0]
    if not isinstance(value, dict):
        raise exceptions.InvalidDocument(
            path, _('the file must hold one mapping')
        )
    return value


def _read_json(path: str, text: str) -> typing.Any:
    """Return the value of JSON text, or None if the text cannot be read.

    The text cannot be read if it is not JSON, or if it is nested too deeply.
    The caller then uses the YAML parser, because the text may be YAML; if it
    is neither, that parser reports the error.

    :param path: the path of the file, for errors.
    :raises: :class:`.exceptions.InvalidDocument` for a number that is not
        finite.
    """
    if not budget.is_within_depth(text.encode(), yaml_text.DEPTH):
        return None
    # This function is called for every number with a fraction or an exponent,
    # and for NaN and Infinity.
    read_float = functools.partial(_read_float, path)
    try:
        return json.loads(
            text, parse_float=read_float, parse_constant=read_float
        )
    except ValueError:
        return None


def _read_float(path: str, number: str) -> float:
    """Convert the text of a JSON number to a float, which must be finite.

    :param path: the path of the file, for the error.
    :param number: the text of the number, e.g. ``1.5`` or ``NaN``.
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

    A byte order mark at the start of the file is removed.

    :param path: the path of the file, or ``-`` for standard input.
    :raises: :class:`.exceptions.InvalidDocument` if the file cannot be read,
        is not text in UTF-8, or changes while it is read.
    """
    try:
        if path == STDIN:
            # sys.stdin is None if the descriptor was closed at start-up.
            if sys.stdin is None:
                raise OSError(errno.EBADF, os.strerror(errno.EBADF))
            text = sys.stdin.read()
            # In some locales, Python reads invalid bytes as surrogates.
            # Convert them back to bytes, so that decoding reports the error.
            original_bytes = text.encode(errors='surrogateescape')
            return original_bytes.decode('utf-8-sig')
        with open(path, 'rb') as stream:
            data = file_content.read(path, stream)
        # Windows editors put a byte order mark at the start of a file, which
        # "utf-8-sig" removes. TextIOWrapper converts the line ends.
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
    """Parse the rules and tables in the text of a file.

    Rules are not validated. But people mistake two kinds of files for files of
    rules: inventories, and lists of rules from the API without the actions.
    These get an error of their own, because an error about missing actions
    would not help.

    :param path: the path of the file, for errors.
    :raises: :class:`.exceptions.InvalidDocument` if the text cannot be parsed,
        or is one of these two kinds.
    """
    parsed = _build_document(path, text, _find_rules_and_tables)
    for rule in parsed.entries:
        if not isinstance(rule, dict) or 'actions' in rule:
            continue
        # The inventory may be the whole file, with "interfaces", or the member
        # "inventory" of the file.
        has_inventory = isinstance(rule.get('inventory'), dict)
        has_interfaces = isinstance(rule.get('interfaces'), list)
        if has_inventory or has_interfaces:
            raise exceptions.InvalidDocument(
                path,
                _('this is the inventory of a machine, not a file of rules'),
            )
        # GET /v1/inspection_rules lists rules in a short form without actions.
        is_from_api = 'links' in rule and 'priority' in rule
        if is_from_api:
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
    """The YAML nodes in a file that are entries or tables.

    :param entries: the nodes of the entries, e.g. of the rules.
    :param tables: pairs of two nodes, the name and the table; None if the file
        does not define tables.
    """

    entries: list[yaml.Node]
    tables: list[tuple[yaml.Node, yaml.Node]] | None = None


def _find_rules_and_tables(text: str) -> _Content:
    """Return the nodes of the rules and tables in the text of a file.

    A YAML file may have several documents, separated by ``---``. The rules of
    all documents become one list, and so do the tables.
    """
    documents = yaml_text.parse_nodes(text)
    entries: list[yaml.Node] = []
    for root in documents:
        entries += form.find_rule_nodes(root)
    # None means that no document has the key "tables". It is not the same as
    # an empty list: applying the file then keeps the stored tables.
    tables: list[tuple[yaml.Node, yaml.Node]] | None = None
    for root in documents:
        tables_of_document = form.find_table_nodes(root)
        if tables_of_document is not None:
            tables = (tables or []) + tables_of_document
    return _Content(entries, tables)


def _build_document(
    path: str, text: str, find_content: typing.Callable[[str], _Content]
) -> Document:
    """Build the document of a file: its values, with their lines and columns.

    For example, ``[{actions: []}]`` gives the entry ``{'actions': []}``. In
    ``places``, the key of the entry is ``(0, '')``, with line 1 and column 2,
    and the key of its actions is ``(0, '/actions')``.

    :param path: the path of the file, for errors.
    :param find_content: finds the YAML nodes in the text that are entries, and
        the nodes that are tables.
    :raises: :class:`.exceptions.InvalidDocument` if the text cannot be parsed.
    """
    try:
        content = find_content(text)
        values = []
        # A key is the number of an entry and the pointer to a value in it.
        places: dict[tuple[int, str], Place] = {}
        ambiguous: dict[tuple[int, str], str] = {}
        for index, entry in enumerate(content.entries):
            values.append(yaml_text.construct(entry, text))
            for pointer, node in _walk_nodes(entry, ''):
                places[index, pointer] = _place_of_node(node)
                if yaml_scalar.is_misread(node):
                    # Keep the text of a value such as OFF, which YAML reads as
                    # false.
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

    A list of rows is kept apart from the other members of the table, and only
    with the lines of its values. A table may have 100,000 rows, so the
    position of each value would take too much memory.

    :param path: the path of the file.
    :param name: the node of the table's name.
    :param node: the node of the table. It may be no mapping, because the table
        is not checked yet.
    :param text: text of the whole file.
    """
    rows = None
    if isinstance(node, yaml.MappingNode):
        yaml_text.check_keys(node)
        members_without_rows = []
        for key, value in node.value:
            if key.value == 'rows' and isinstance(value, yaml.SequenceNode):
                rows = table_rows.from_list(path, value, text)
            else:
                members_without_rows.append((key, value))
        # Do not change the original node: aliases in the file may refer to it.
        node = yaml.MappingNode(
            node.tag, members_without_rows, node.start_mark, node.end_mark
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
    """Return the items of the list in a file as its entries, e.g. flavors.

    - A document that is a list gives its items.
    - Any other document is a single item.
    - The items of several documents, separated by ``---``, form one list.
    """
    items: list[yaml.Node] = []
    for root in yaml_text.parse_nodes(text):
        if isinstance(root, yaml.SequenceNode):
            items += root.value
        else:
            items.append(root)
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
