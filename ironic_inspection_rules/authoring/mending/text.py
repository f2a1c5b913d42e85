# SPDX-License-Identifier: Apache-2.0

"""Changes in the text of a file, of which all else stays as it is.

What a YAML library writes anew loses the form its author gave it: where lines
end, how lists are indented, the layout of JSON. So only the characters of a
change are replaced, at the places that the parser tells.
"""

from collections.abc import Iterable
from collections.abc import Iterator
import json
import typing

import yaml

from ironic_inspection_rules.authoring.mending import change
from ironic_inspection_rules.engine import path as data_path
from ironic_inspection_rules.rule_file import yaml_text

_STEP = 2
"""By how much lines are indented that have to be."""


class Edit(typing.NamedTuple):
    """Characters of a text, and what comes in their place."""

    start: int
    end: int
    new: str


class Text:
    """The text of a file of rules, and where what is in it.

    :raises: YAMLError where it cannot be read.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._entries = yaml_text.nodes(text)
        places: dict[type[yaml.Token], list[int]] = {}
        for token in yaml.scan(yaml_text.readable(text),
                               yaml_text.Loader):
            places.setdefault(type(token), []).append(token.start_mark.index)
        self._dashes = places.get(yaml.BlockEntryToken, [])
        self._tags = places.get(yaml.TagToken, [])
        counts: dict[int, int] = {}
        for entry in self._entries:
            _count(entry, counts)
        self._shared = {key for key, count in counts.items() if count > 1}

    def has_room(self, index: int, each: change.Change) -> bool:
        """Return whether a change has a place of its own in the text.

        :param index: the number of the entry.
        """
        try:
            return any(True for _edit in self._edits(index, each))
        except (LookupError, ValueError):
            return False

    def edited(self, changes: Iterable[tuple[int, change.Change]]) -> str:
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

    def _edits(self, index: int, each: change.Change) -> Iterator[Edit]:
        found = self._find(self._entries[index], each.pointer)
        if found is None:
            return
        key, node = found
        if isinstance(each, change.Rename):
            for name, _value in node.value:
                if name.value == each.old:
                    yield from self._replace(name, each.old, each.new)
        elif isinstance(each, change.Rewrite):
            for scalar in self._scalars(node):
                yield from self._replace(scalar, each.old, each.new)
        elif isinstance(each, change.Replace):
            yield from self._write(node, each.new)
        elif key is None or self._has_tag(key, node):
            return
        elif node.flow_style:
            yield from self._name_flow(key, node, each)
        else:
            yield from self._name_block(key, node, each)

    def _find(self, node: typing.Any, pointer: str
              ) -> tuple[typing.Any, typing.Any] | None:
        """Return the key and the value at a pointer, if no other has them."""
        key = None
        for token in map(data_path.unescape, pointer.split('/')[1:]):
            if isinstance(node, yaml.SequenceNode):
                key, node = None, node.value[int(token)]
            else:
                pairs = [pair for pair in node.value
                         if pair[0].value == token]
                if len(pairs) != 1:
                    return None
                key, node = pairs[0]
            if id(node) in self._shared:
                return None
        return key, node

    def _scalars(self, node: typing.Any) -> Iterator[yaml.ScalarNode]:
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
                 new: str) -> Iterator[Edit]:
        start, end = node.start_mark.index, node.end_mark.index
        raw = self._text[start:end]
        if old in node.value and raw.count(old) == node.value.count(old):
            yield Edit(start, end, raw.replace(old, new))

    def _write(self, node: yaml.Node, value: typing.Any) -> Iterator[Edit]:
        if not isinstance(node, yaml.ScalarNode) or node.style in ('|', '>'):
            return
        text = json.dumps(value, ensure_ascii=False)
        if node.style == "'" and isinstance(value, str):
            text = "'" + value.replace("'", "''") + "'"
        yield Edit(node.start_mark.index, node.end_mark.index, text)

    def _has_tag(self, key: yaml.ScalarNode, node: yaml.SequenceNode) -> bool:
        """Return whether a tag says of the list that it is one."""
        end = min(item.start_mark.index for item in node.value)
        return any(key.end_mark.index <= place < end for place in self._tags)

    def _name_flow(self, key: yaml.ScalarNode, node: yaml.SequenceNode,
                   each: change.Name) -> Iterator[Edit]:
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
                    each: change.Name) -> Iterator[Edit]:
        column = node.start_mark.column
        shift = 0 if column > key.start_mark.column else _STEP
        if shift:
            yield from self._indent(node)
        if each.whole:
            start = node.start_mark.index
            yield Edit(start, start, _key(each.names[0], key)
                       + self._line_end + ' ' * (column + shift))
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
                yield Edit(dash, start,
                           f'{_key(name, key)}{self._line_end}{indent}')
            else:
                yield Edit(dash, start, f'{_key(name, key)} ')

    def _indent(self, node: yaml.Node) -> Iterator[Edit]:
        """Indent all lines of a block list."""
        start = node.start_mark.index - node.start_mark.column
        last = _last(node)
        end = last.end_mark.index - (last.end_mark.column == 0)
        while start <= end:
            stop = self._text.find('\n', start)
            stop = len(self._text) if stop < 0 else stop
            if self._text[start:stop].strip():
                yield Edit(start, start, ' ' * _STEP)
            start = stop + 1

    @property
    def _line_end(self) -> str:
        return '\r\n' if '\r\n' in self._text else '\n'


def _key(name: str, like: yaml.ScalarNode) -> str:
    """Return a new key, in quotes where one beside it is."""
    quote = like.style if like.style in ('"', "'") else ''
    return f'{quote}{name}{quote}:'


def _count(node: yaml.Node, counts: dict[int, int]) -> None:
    """Count how often each node is used: aliases share one."""
    counts[id(node)] = counts.get(id(node), 0) + 1
    if counts[id(node)] > 1:
        return
    if isinstance(node, yaml.SequenceNode):
        for item in node.value:
            _count(item, counts)
    elif isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            _count(key, counts)
            _count(value, counts)


def _last(node: yaml.Node) -> yaml.Node:
    """Return the node that ends last in a block; its mark is exact."""
    while isinstance(node, yaml.CollectionNode) and not node.flow_style and (
            node.value):
        last = node.value[-1]
        node = last[1] if isinstance(last, tuple) else last
    return node
