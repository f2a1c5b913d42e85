# SPDX-License-Identifier: Apache-2.0

"""Changes of rules, made in the text of their file.

A YAML library that writes a file anew loses the form its author gave it:
where lines end, how lists are indented, the layout of JSON. So only the
characters of a change are replaced, at the places that the parser reports.
"""

import copy
import dataclasses
import json
import typing

import yaml

from ironic_inspection_rules.engine import path as data_path
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.rule_file import document
from ironic_inspection_rules.rule_file import yaml_text

_STEP = 2  # By how much lines are indented that have to be.

Data = typing.Any


@dataclasses.dataclass(frozen=True)
class _Exchange:
    pointer: str
    old: str
    new: str

    def __str__(self) -> str:
        return _('"%(old)s" is now "%(new)s"') % dataclasses.asdict(self)


class Rename(_Exchange):
    """A key of the mapping at a pointer gets another name."""

    def apply(self, mapping: Data) -> Data:
        return {self.new if key == self.old else key: value
                for key, value in mapping.items()}


class Rewrite(_Exchange):
    """A part of all text at a pointer and below becomes another one."""

    def apply(self, value: Data) -> Data:
        return data_path.replace_texts(
            value, lambda text: text.replace(self.old, self.new))


@dataclasses.dataclass(frozen=True)
class Name:
    """The items of a list of arguments get names.

    With ``whole`` the list itself becomes the one argument.
    """

    pointer: str
    names: tuple[str, ...]
    whole: bool = False

    def __str__(self) -> str:
        return _('arguments have names: %s') % ', '.join(self.names)

    def apply(self, args: Data) -> Data:
        if self.whole:
            return {self.names[0]: args}
        return dict(zip(self.names, args, strict=True))


@dataclasses.dataclass(frozen=True)
class Replace:
    """The value at a pointer becomes another one."""

    pointer: str
    old: typing.Any
    new: typing.Any

    def __str__(self) -> str:
        return _('%(old)s is now %(new)s') % {
            'old': json.dumps(self.old), 'new': json.dumps(self.new)}

    def apply(self, value: Data) -> Data:
        return self.new


Change = Rename | Rewrite | Name | Replace

_ORDER = (Rewrite, Replace, Rename, Name)


def apply(entry: Data, changes: typing.Iterable[Change]) -> Data:
    """Return an entry with changes made; the entry itself stays."""
    entry = copy.deepcopy(entry)
    # None may move what another one points to.
    for each in sorted(changes, key=lambda each: (
            _ORDER.index(type(each)), -each.pointer.count('/'))):
        tokens = tuple(map(data_path.unescape, each.pointer.split('/')[1:]))
        if not tokens:
            entry = each.apply(entry)
            continue
        above = data_path.get(entry, tokens[:-1])
        key = int(tokens[-1]) if isinstance(above, list) else tokens[-1]
        above[key] = each.apply(above[key])
    return entry


class Edit(typing.NamedTuple):
    """Characters of a text, and what comes in their place."""

    start: int
    end: int
    new: str


class Text:
    """The text of a file of rules, with the place of each value.

    :raises: YAMLError where it cannot be read.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._entries = document.entry_nodes(text)
        places: dict[type[yaml.Token], list[int]] = {}
        for token in yaml.scan(yaml_text.readable(text), yaml_text.Loader):
            places.setdefault(type(token), []).append(token.start_mark.index)
        self._dashes = places.get(yaml.BlockEntryToken, [])
        self._tags = places.get(yaml.TagToken, [])
        seen, self._shared = set[int](), set[int]()
        ahead: list[typing.Any] = [*self._entries]
        while ahead:
            node = ahead.pop()
            # Aliases share one.
            (self._shared if id(node) in seen else seen).add(id(node))
            if isinstance(node, yaml.CollectionNode) and (
                    id(node) not in self._shared):
                for item in node.value:
                    ahead += item if isinstance(item, tuple) else [item]

    def has_room(self, index: int, each: Change) -> bool:
        """Return whether a change can be made in the text."""
        return any(True for _edit in self._edits(index, each))

    def edited(self, changes: typing.Iterable[tuple[int, Change]]) -> str:
        """Return the text with changes made, as far as they can be.

        :param changes: each with the number of its entry.
        """
        edits = [edit for index, each in changes
                 for edit in self._edits(index, each)]
        text, last = self._text, len(self._text) + 1
        for edit in sorted(set(edits), key=lambda each: (
                each.start, each.end), reverse=True):
            if edit.end <= last:
                text = text[:edit.start] + edit.new + text[edit.end:]
                last = edit.start
        return text

    def _edits(self, index: int, each: Change) -> typing.Iterator[Edit]:
        found = self._find(self._entries[index], each.pointer)
        if found is None:
            return
        key, node = found
        if isinstance(each, Rename):
            for name, _value in node.value:
                if name.value == each.old:
                    yield from self._replace(name, each.old, each.new)
        elif isinstance(each, Rewrite):
            for scalar in self._scalars(node):
                yield from self._replace(scalar, each.old, each.new)
        elif isinstance(each, Replace):
            if isinstance(node, yaml.ScalarNode) and node.style not in (
                    '|', '>'):
                text = json.dumps(each.new, ensure_ascii=False)
                if node.style == "'" and isinstance(each.new, str):
                    text = "'" + each.new.replace("'", "''") + "'"
                yield Edit(node.start_mark.index, node.end_mark.index, text)
        elif key is None or any(
                key.end_mark.index <= place < min(
                    (item.start_mark.index for item in node.value),
                    default=node.end_mark.index)
                for place in self._tags):
            # A tag says of the list that it is one.
            return
        elif node.flow_style:
            yield from self._name_flow(key, node, each)
        else:
            yield from self._name_block(key, node, each)

    def _find(self, node: typing.Any, pointer: str
              ) -> tuple[typing.Any, typing.Any] | None:
        """Return the key and the value at a pointer, None if shared."""
        key = None
        for token in map(data_path.unescape, pointer.split('/')[1:]):
            if isinstance(node, yaml.SequenceNode):
                key, node = None, node.value[int(token)]
            else:
                pairs = [pair for pair in node.value if pair[0].value == token]
                if len(pairs) != 1:
                    return None
                key, node = pairs[0]
            if id(node) in self._shared:
                return None
        return key, node

    def _scalars(self, node: typing.Any) -> typing.Iterator[yaml.ScalarNode]:
        if id(node) in self._shared:
            return
        if isinstance(node, yaml.ScalarNode):
            yield node
        elif isinstance(node, yaml.SequenceNode):
            for item in node.value:
                yield from self._scalars(item)
        else:
            for _key, value in node.value:
                yield from self._scalars(value)

    def _replace(self, node: yaml.ScalarNode, old: str,
                 new: str) -> typing.Iterator[Edit]:
        start, end = node.start_mark.index, node.end_mark.index
        raw = self._text[start:end]
        if old in node.value and raw.count(old) == node.value.count(old):
            yield Edit(start, end, raw.replace(old, new))

    def _name_flow(self, key: yaml.ScalarNode, node: yaml.SequenceNode,
                   each: Name) -> typing.Iterator[Edit]:
        start, end = node.start_mark.index, node.end_mark.index
        first = self._text.index('[', start)
        if each.whole:
            yield Edit(first, first, f'{{{_key(each.names[0], key)} ')
            yield Edit(end, end, '}')
            return
        yield Edit(first, first + 1, '{')
        yield Edit(end - 1, end, '}')
        for name, item in zip(each.names, node.value, strict=True):
            place = item.start_mark.index
            yield Edit(place, place, f'{_key(name, key)} ')

    def _name_block(self, key: yaml.ScalarNode, node: yaml.SequenceNode,
                    each: Name) -> typing.Iterator[Edit]:
        column = node.start_mark.column
        shift = 0 if column > key.start_mark.column else _STEP
        if shift:
            start = node.start_mark.index - node.start_mark.column
            last: yaml.Node = node
            while isinstance(last, yaml.CollectionNode) and last.value and (
                    not last.flow_style):
                # The mark of the node that ends last is exact.
                item = last.value[-1]
                last = item[1] if isinstance(item, tuple) else item
            end = last.end_mark.index - (last.end_mark.column == 0)
            while start <= end:
                stop = self._text.find('\n', start)
                stop = len(self._text) if stop < 0 else stop
                if self._text[start:stop].strip():
                    yield Edit(start, start, ' ' * _STEP)
                start = stop + 1
        line_end = '\r\n' if '\r\n' in self._text else '\n'
        if each.whole:
            start = node.start_mark.index
            yield Edit(start, start, _key(each.names[0], key)
                       + line_end + ' ' * (column + shift))
            return
        for name, item in zip(each.names, node.value, strict=True):
            start = item.start_mark.index
            dash = max(place for place in self._dashes if place < start)
            between = self._text[dash + 1:start]
            is_empty = start == item.end_mark.index
            if is_empty or '\n' in between or '\r' in between:
                yield Edit(dash, dash + 1, _key(name, key))
            elif isinstance(item, yaml.CollectionNode) and (
                    not item.flow_style):
                indent = ' ' * (item.start_mark.column + shift)
                yield Edit(dash, start, f'{_key(name, key)}{line_end}{indent}')
            else:
                yield Edit(dash, start, f'{_key(name, key)} ')


def _key(name: str, like: yaml.ScalarNode) -> str:
    """Return a new key, in quotes where one beside it is."""
    quote = like.style if like.style in ('"', "'") else ''
    return f'{quote}{name}{quote}:'
