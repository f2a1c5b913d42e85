# SPDX-License-Identifier: Apache-2.0

"""Rules as people keep them: YAML or JSON files, with places in them."""

import dataclasses
import json
import math
import pathlib
import re
import sys
import typing

import yaml

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine import nesting
from ironic_inspection_rules.engine import path as data_path
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.rule_file import quoting

Place = tuple[int, int]

STDIN = '-'

_SUFFIXES = ('.json', '.yaml', '.yml')

DEPTH = 100
"""How deep mappings and lists in a file may be nested, aliases included."""

ALIASED = 1_000_000
"""For how many values all aliases of a file may stand."""

Loader = getattr(yaml, 'CSafeLoader', yaml.SafeLoader)
_TEXT = 'tag:yaml.org,2002:str'
_MERGE = 'tag:yaml.org,2002:merge'
# Two escapes of JSON for one character, which YAML does not know.
_PAIR = re.compile(r'(?<!\\)((?:\\\\)*)\\u[dD][89abAB][0-9a-fA-F]{2}'
                   r'\\u[dD][c-fC-F][0-9a-fA-F]{2}')
_TIMESTAMP = 'tag:yaml.org,2002:timestamp'
_NOT_JSON = _('JSON has no value such as %s')


@dataclasses.dataclass
class _Extent:
    """How deep a value is nested, and of how many it is made."""

    height: int = 0
    size: int = 1
    anchor: str | None = None

    def add(self, inner: '_Extent') -> None:
        self.height = max(self.height, inner.height + 1)
        self.size += inner.size


@dataclasses.dataclass(frozen=True)
class Document:
    """Content of one file.

    ``entries`` are its rules as plain data, which may be anything yet.
    ``places`` has line and column, counted from one, of each value by the
    number of its entry and the RFC 6901 pointer in it; ``plain`` has, in the
    same way, what is written where YAML reads it as something else.
    """

    path: str
    entries: tuple[typing.Any, ...]
    places: typing.Mapping[tuple[int, str], Place]
    plain: typing.Mapping[tuple[int, str], str] = dataclasses.field(
        default_factory=dict)

    def place(self, index: int, pointer: str = '') -> Place:
        """Find a value, or else the nearest thing around it.

        :param index: number of the entry, from zero.
        :param pointer: RFC 6901 pointer inside the entry.
        :returns: line and column.
        """
        while (index, pointer) not in self.places:
            pointer = pointer.rpartition('/')[0]
        return self.places[index, pointer]


def files(paths: typing.Iterable[str]) -> list[str]:
    """Return the files that are meant: those of a folder, too, by name.

    :param paths: files, folders, and ``-`` for what is piped in.
    :raises: :class:`.exceptions.InvalidDocument` for a folder without any.
    """
    found: list[str] = []
    for path in paths:
        inside = sorted(
            str(each) for each in pathlib.Path(path).rglob('*')
            if each.suffix in _SUFFIXES and each.is_file())
        if not inside and pathlib.Path(path).is_dir():
            raise exceptions.InvalidDocument(
                path, _('there are no files of rules in this directory'))
        found += inside or [path]
    return found


def load(path: str) -> Document:
    """Read the rules of a file: a list of them, or one, or some by name.

    :raises: :class:`.exceptions.InvalidDocument` where it cannot be read,
        with the line where it is one's fault, or holds a machine.
    """
    return parse(path, _read(path))


def load_mapping(path: str, text: str | None = None
                 ) -> dict[str, typing.Any]:
    """Read a file that holds one mapping, such as an inventory.

    :param text: what it holds, where that is known.
    :raises: :class:`.exceptions.InvalidDocument` where it does not.
    """
    text = _read(path) if text is None else text
    value = _parse_json(path, text)
    if value is None:
        entries = _compose(path, text).entries
        value = entries[0] if len(entries) == 1 else None
    if not isinstance(value, dict):
        raise exceptions.InvalidDocument(
            path, _('the file must hold one mapping'))
    return value


def _read(path: str) -> str:
    try:
        if path == STDIN:
            return sys.stdin.read()
        # Editors of Windows begin a file with a mark of its encoding.
        with open(path, encoding='utf-8-sig') as stream:
            return stream.read()
    except OSError as exc:
        raise exceptions.InvalidDocument(
            path, exc.strerror or str(exc)) from exc
    except UnicodeDecodeError as exc:
        raise exceptions.InvalidDocument(path, str(exc)) from exc


def _parse_json(path: str, text: str) -> typing.Any:
    """Try what takes a hundredth of the time of YAML; None if it is none.

    :raises: :class:`.exceptions.InvalidDocument` for a number that is not
        finite, which Python would take.
    """
    def finite(number: str) -> float:
        value = float(number)
        if not math.isfinite(value):
            raise exceptions.InvalidDocument(path, _NOT_JSON % number)
        return value

    if nesting.is_deeper(text.encode(), DEPTH):
        return None
    try:
        return json.loads(text, parse_float=finite, parse_constant=finite)
    except ValueError:
        return None


def parse(path: str, text: str) -> Document:
    """Read the rules of a file whose text is known; see :func:`load`."""
    read = _compose(path, text)
    if any(map(_is_inventory, read.entries)):
        raise exceptions.InvalidDocument(
            path, _('this is the inventory of a machine, not a file of '
                    'rules'))
    return read


def _is_inventory(entry: typing.Any) -> bool:
    """Return whether it is a form in which people keep machines."""
    return isinstance(entry, dict) and 'actions' not in entry and (
        isinstance(entry.get('inventory'), dict)
        or isinstance(entry.get('interfaces'), list))


def nodes(text: str) -> list[yaml.Node]:
    """Return the entries of a file as YAML has them, with their marks.

    :raises: YAMLError where they cannot be read.
    """
    text = readable(text)
    _check_bounds(text)
    return [entry for node in yaml.compose_all(text, Loader)
            if node is not None for entry in _split(node)]


def readable(text: str) -> str:
    """Return the text of a file as YAML can read it, of the same length."""
    # Only JSON has tabs where they matter to YAML, and only between values.
    if text.lstrip().startswith(('[', '{')):
        return _PAIR.sub(r'\1\\ufffd\\ufffd', text.replace('\t', ' '))
    return text


def _compose(path: str, text: str) -> Document:
    try:
        entries = nodes(text)
        places: dict[tuple[int, str], Place] = {}
        plain: dict[tuple[int, str], str] = {}
        values = []
        for index, entry in enumerate(entries):
            values.append(_construct(entry, text))
            for pointer, node in _values(entry, ''):
                mark = node.start_mark
                places[index, pointer] = mark.line + 1, mark.column + 1
                if quoting.reads_otherwise(node):
                    plain[index, pointer] = node.value
    except (yaml.YAMLError, RecursionError) as exc:
        mark = getattr(exc, 'problem_mark', None)
        reason = getattr(exc, 'problem', None) or str(exc)
        hint = mark and quoting.syntax_hint(text, mark.line)
        raise exceptions.InvalidDocument(
            path, f'{reason}; {hint}' if hint else reason,
            mark and (mark.line + 1, mark.column + 1)) from exc
    return Document(path, tuple(values), places, plain)


def _check_bounds(text: str) -> None:
    """Refuse what would end in the stack or the memory: before it is read.

    :raises: MarkedYAMLError where it is nested too deeply, or aliases stand
        for too much.
    """
    anchored: dict[str, _Extent] = {}
    outer = [_Extent()]
    aliased = 0
    for event in yaml.parse(text, Loader):
        extent = _Extent(anchor=getattr(event, 'anchor', None))
        if isinstance(event, yaml.CollectionStartEvent):
            outer.append(extent)
            ended = None
        elif isinstance(event, yaml.CollectionEndEvent):
            ended = outer.pop()
        elif isinstance(event, yaml.AliasEvent):
            endless = any(event.anchor == each.anchor for each in outer)
            ended = anchored.get(event.anchor, _Extent(DEPTH * endless))
            aliased += ended.size
        else:
            ended = extent if isinstance(event, yaml.ScalarEvent) else None
        if ended is not None:
            outer[-1].add(ended)
            if ended.anchor is not None:
                anchored[ended.anchor] = ended
        if len(outer) + outer[-1].height > DEPTH or aliased > ALIASED:
            raise yaml.MarkedYAMLError(
                problem=_('nested too deeply') if aliased <= ALIASED else
                _('aliases stand for too many values'),
                problem_mark=event.start_mark)


def _split(node: yaml.Node) -> list[yaml.Node]:
    """Return the rules of a document, which may have names or be listed.

    Such as in a file of variables, where text stands for other variables.
    """
    if isinstance(node, yaml.SequenceNode):
        return list(node.value)
    if isinstance(node, yaml.ScalarNode) and not node.value:
        return []
    named = []
    if isinstance(node, yaml.MappingNode) and not _is_rule(node):
        named = [item for _name, value in node.value
                 for item in _split(value) if _is_rule(item)]
    return named or [node]


def _is_rule(node: yaml.Node) -> bool:
    return isinstance(node, yaml.MappingNode) and any(
        key.value == 'actions' for key, _value in node.value)


def _construct(node: yaml.Node, text: str) -> typing.Any:
    """Return the node's value; times stay the text they are.

    :param text: of the whole file.
    """
    problem = quoting.problem(node, text)
    if problem:
        raise yaml.MarkedYAMLError(problem=problem,
                                   problem_mark=node.start_mark)
    if isinstance(node, yaml.SequenceNode):
        return [_construct(item, text) for item in node.value]
    if isinstance(node, yaml.MappingNode):
        _check_keys(node)
        yaml.constructor.SafeConstructor().flatten_mapping(node)
        return {_construct(key, text): _construct(value, text)
                for key, value in node.value}
    if node.tag == _TIMESTAMP:
        return node.value
    written = text[node.start_mark.index:node.end_mark.index]
    if node.style == '"' and _PAIR.search(written) and '\ufffd' in node.value:
        return json.loads(written)
    value = yaml.constructor.SafeConstructor().construct_document(node)
    if isinstance(value, bytes) or (
            isinstance(value, float) and not math.isfinite(value)):
        raise yaml.MarkedYAMLError(problem=_NOT_JSON % written,
                                   problem_mark=node.start_mark)
    return value


def _check_keys(node: yaml.MappingNode) -> None:
    names = set()
    for key, _value in node.value:
        problem = None
        if key.tag not in (_TEXT, _MERGE):
            problem = _('keys must be text')
        elif key.value in names:
            problem = _('key "%s" is there twice') % key.value
        if problem:
            raise yaml.MarkedYAMLError(problem=problem,
                                       problem_mark=key.start_mark)
        names.add(key.value)


def _values(node: yaml.Node, pointer: str
            ) -> typing.Iterator[tuple[str, yaml.Node]]:
    yield pointer, node
    if isinstance(node, yaml.SequenceNode):
        for index, item in enumerate(node.value):
            yield from _values(item, f'{pointer}/{index}')
    elif isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            yield from _values(value,
                               pointer + data_path.pointer([key.value]))
