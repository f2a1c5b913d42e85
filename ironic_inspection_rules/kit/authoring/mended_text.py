# SPDX-License-Identifier: Apache-2.0

"""How lint --fix changes the text of a file: keys, values, named arguments.

A YAML library that writes a file anew loses the form its author gave it:
where lines end, how lists are indented, the layout of JSON. So only the
characters of a change are replaced, at the places that the parser reports.
"""

import copy
import dataclasses
import json
import typing

import yaml

from ironic_inspection_rules.engine.language import path as data_path
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.rule_file import document
from ironic_inspection_rules.rule_file import yaml_text

_INDENT = 2
"""Spaces by which a list is indented that becomes a mapping in its place."""

Data = typing.Any


@dataclasses.dataclass(frozen=True)
class _Exchange:
    """A change that puts one text in the place of another one."""

    pointer: str
    old: str
    new: str

    def __str__(self) -> str:
        return _('"%(old)s" is now "%(new)s"') % dataclasses.asdict(self)


class RenameKey(_Exchange):
    """A key of the mapping at a pointer gets another name."""

    def apply(self, mapping: Data) -> Data:
        """Return the mapping with the key renamed at its place."""
        renamed = {}
        for key, value in mapping.items():
            if key == self.old:
                key = self.new
            renamed[key] = value
        return renamed


class RewriteText(_Exchange):
    """A part of all text at a pointer and below becomes another one.

    Keys of mappings stay as they are.
    """

    def apply(self, value: Data) -> Data:
        return data_path.replace_texts(value, self._rewrite)

    def _rewrite(self, text: str) -> str:
        """Replace the old part of a text by the new part."""
        return text.replace(self.old, self.new)


@dataclasses.dataclass(frozen=True)
class NameArguments:
    """The items of a list of arguments get names.

    ``[/driver, ipmi]`` becomes ``{path: /driver, value: ipmi}``. With
    ``whole`` the list itself becomes the value of the only name: ``[a, b]``
    becomes ``{values: [a, b]}``.
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
class ReplaceValue:
    """The value at a pointer becomes another one."""

    pointer: str
    old: typing.Any
    new: typing.Any

    def __str__(self) -> str:
        return _('%(old)s is now %(new)s') % {
            'old': json.dumps(self.old),
            'new': json.dumps(self.new),
        }

    def apply(self, value: Data) -> Data:
        return self.new


Change = RenameKey | RewriteText | NameArguments | ReplaceValue

_ORDER = (RewriteText, ReplaceValue, RenameKey, NameArguments)


def apply(entry: Data, changes: typing.Iterable[Change]) -> Data:
    """Return a copy of an entry with changes made in its data.

    The text of the file is edited elsewhere. Read again, it has to give the
    same data.
    """
    entry = copy.deepcopy(entry)
    for change in sorted(changes, key=_order_key):
        tokens = _split_pointer(change.pointer)
        if not tokens:
            # The whole entry has no parent.
            entry = change.apply(entry)
            continue
        parent = data_path.get(entry, tuple(tokens[:-1]))
        key: str | int = tokens[-1]
        if isinstance(parent, list):
            key = int(key)
        parent[key] = change.apply(parent[key])
    return entry


def _order_key(change: Change) -> tuple[int, int]:
    """Return the key by which changes are sorted before they are made.

    Keys are renamed after values, and from the inside out, so that the
    pointers of other changes stay right: ``/args/vlaue`` leads nowhere once
    the key is ``value``. Lists get names last, as their items then have no
    indexes.
    """
    return _ORDER.index(type(change)), -change.pointer.count('/')


def _split_pointer(pointer: str) -> list[str]:
    """Split a pointer into tokens: ``/args/0`` into ``args`` and ``0``."""
    return [data_path.unescape(token) for token in pointer.split('/')[1:]]


class Edit(typing.NamedTuple):
    """Characters of a text, and their replacement.

    :ivar start: the position of the first character.
    :ivar end: the position after the last; equal to ``start`` to insert.
    :ivar new: the replacement, empty to remove the characters.
    """

    start: int
    end: int
    new: str


class _Place(typing.NamedTuple):
    """A value in a text.

    :ivar key: None for an item of a list, and for the whole entry.
    :ivar node: the value, as YAML has read it.
    """

    key: yaml.ScalarNode | None
    node: typing.Any


def _position_key(edit: Edit) -> tuple[int, int]:
    """Return the key by which edits are sorted: their place in the text."""
    return edit.start, edit.end


class FileText:
    """The text of a file of rules, with the place of each value.

    :raises: YAMLError where it cannot be read.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._entries = document.parse_nodes(text)
        # The positions of dashes of lists, and of tags such as "!!seq": nodes
        # do not have these.
        self._dashes: list[int] = []
        self._tags: list[int] = []
        for token in yaml.scan(
            yaml_text.make_readable(text), yaml_text.Loader
        ):
            if isinstance(token, yaml.BlockEntryToken):
                self._dashes.append(token.start_mark.index)
            elif isinstance(token, yaml.TagToken):
                self._tags.append(token.start_mark.index)
        # The ids of nodes that an edit would change in several places.
        self._shared = _shared_nodes(self._entries)

    def has_room(self, index: int, change: Change) -> bool:
        """Return whether a change can be made in the text.

        :param index: number of the entry that changes, from zero.
        """
        first = next(self._list_edits(index, change), None)
        return first is not None

    def edited(self, changes: typing.Iterable[tuple[int, Change]]) -> str:
        """Return the text with changes made, as far as they can be.

        Of two edits that overlap, only the later in the text is made.

        :param changes: every change with the number of its entry.
        """
        edits: set[Edit] = set()
        for index, change in changes:
            edits.update(self._list_edits(index, change))
        text = self._text
        # From the end, as an edit moves all later characters.
        begin_of_edited = len(text) + 1
        for edit in sorted(edits, key=_position_key, reverse=True):
            if edit.end <= begin_of_edited:
                text = text[: edit.start] + edit.new + text[edit.end :]
                begin_of_edited = edit.start
        return text

    def _list_edits(self, index: int, change: Change) -> typing.Iterator[Edit]:
        """Yield the edits of a change; none if the change has no place.

        Comments, quotes and the layout of the text stay.

        :param index: the number of the entry that changes, from zero.
        """
        place = self._find_place(self._entries[index], change.pointer)
        if place is None:
            # An alias or a key twice: an edit would not mean one value only.
            return
        key = place.key
        node = place.node
        if isinstance(change, RenameKey):
            for name, _value in node.value:
                if name.value == change.old:
                    yield from self._replace_in_scalar(
                        name, change.old, change.new
                    )
        elif isinstance(change, RewriteText):
            for scalar in self._list_scalars(node):
                yield from self._replace_in_scalar(
                    scalar, change.old, change.new
                )
        elif isinstance(change, ReplaceValue):
            yield from _replace_value(node, change.new)
        elif key is None or self._has_tag(key, node):
            # A tag says that the value is a list, which it no longer is.
            return
        elif node.flow_style:
            yield from self._name_flow(key, node, change)
        else:
            yield from self._name_block(key, node, change)

    def _has_tag(self, key: yaml.ScalarNode, node: yaml.SequenceNode) -> bool:
        """Return whether a tag of YAML stands before a list.

        Such as ``args: !!seq [a, b]``.

        :param key: the key of the list, ``args``.
        """
        begin = key.end_mark.index
        end = node.end_mark.index
        if node.value:
            end = min(item.start_mark.index for item in node.value)
        return any(begin <= place < end for place in self._tags)

    def _find_place(self, node: typing.Any, pointer: str) -> _Place | None:
        """Find the place of a pointer in the text.

        :returns: None if the value has an anchor and an alias, so that an edit
            would change other values too, or if a key is there twice.
        """
        key = None
        for token in _split_pointer(pointer):
            if isinstance(node, yaml.SequenceNode):
                key = None
                node = node.value[int(token)]
            else:
                pairs = [pair for pair in node.value if pair[0].value == token]
                if len(pairs) != 1:
                    return None
                key, node = pairs[0]
            if id(node) in self._shared:
                return None
        return _Place(key, node)

    def _list_scalars(
        self, node: typing.Any
    ) -> typing.Iterator[yaml.ScalarNode]:
        """Yield the scalars in a value, without those that have an alias."""
        if id(node) in self._shared:
            return
        if isinstance(node, yaml.ScalarNode):
            yield node
        elif isinstance(node, yaml.SequenceNode):
            for item in node.value:
                yield from self._list_scalars(item)
        else:
            for _key, value in node.value:
                yield from self._list_scalars(value)

    def _replace_in_scalar(
        self, node: yaml.ScalarNode, old: str, new: str
    ) -> typing.Iterator[Edit]:
        """Replace text in a scalar, unless an escape hides some of the text.

        In the scalar ``"a\\u0062"``, for example, the value has ``ab``, and
        the file does not.
        """
        start = node.start_mark.index
        end = node.end_mark.index
        raw = self._text[start:end]
        count = node.value.count(old)
        # With an escape the file has the text less often than the value has.
        if count and raw.count(old) == count:
            yield Edit(start, end, raw.replace(old, new))

    def _name_flow(
        self,
        key: yaml.ScalarNode,
        node: yaml.SequenceNode,
        change: NameArguments,
    ) -> typing.Iterator[Edit]:
        """Yield the edits that make ``args: [a, b]`` a mapping with names."""
        start = node.start_mark.index
        end = node.end_mark.index
        bracket = self._text.index('[', start)
        if change.whole:
            # The brackets stay: {name: [a, b]}.
            name = _format_key(change.names[0], key)
            yield Edit(bracket, bracket, f'{{{name} ')
            yield Edit(end, end, '}')
            return
        yield Edit(bracket, bracket + 1, '{')
        yield Edit(end - 1, end, '}')
        for name, item in zip(change.names, node.value, strict=True):
            place = item.start_mark.index
            yield Edit(place, place, f'{_format_key(name, key)} ')

    def _name_block(
        self,
        key: yaml.ScalarNode,
        node: yaml.SequenceNode,
        change: NameArguments,
    ) -> typing.Iterator[Edit]:
        """Yield the edits that make a list in block style a mapping.

        The name of an argument replaces every dash: the lines ``- /driver``
        and ``- ipmi`` become ``path: /driver`` and ``value: ipmi``. With
        ``whole`` the list stays, as the value of the only name.
        """
        column = node.start_mark.column
        shift = 0
        if column <= key.start_mark.column:
            # A list may begin in the column of its key, a mapping must not.
            shift = _INDENT
            yield from self._indent(node)
        line_end = '\n'
        if '\r\n' in self._text:
            line_end = '\r\n'
        if change.whole:
            start = node.start_mark.index
            indent = ' ' * (column + shift)
            name = _format_key(change.names[0], key)
            yield Edit(start, start, f'{name}{line_end}{indent}')
            return
        for name, item in zip(change.names, node.value, strict=True):
            indent = ' ' * (item.start_mark.column + shift)
            yield self._name_item(
                item, _format_key(name, key), f'{line_end}{indent}'
            )

    def _name_item(self, item: yaml.Node, new_key: str, new_line: str) -> Edit:
        """Return the edit that replaces the dash of an item by a key.

        :param new_key: the key with its colon.
        :param new_line: the end of a line, and the indent of the item.
        """
        start = item.start_mark.index
        dash = max(place for place in self._dashes if place < start)
        between = self._text[dash + 1 : start]
        is_empty = start == item.end_mark.index
        is_on_next_line = '\n' in between or '\r' in between
        if is_empty or is_on_next_line:
            # Spaces and comments behind the dash stay.
            return Edit(dash, dash + 1, new_key)
        if isinstance(item, yaml.CollectionNode) and not item.flow_style:
            # A collection in block style cannot stand behind a key in the
            # same line, as it can behind a dash.
            return Edit(dash, start, f'{new_key}{new_line}')
        return Edit(dash, start, f'{new_key} ')

    def _indent(self, node: yaml.SequenceNode) -> typing.Iterator[Edit]:
        """Yield the edits that indent a list in block style by a step.

        Empty lines stay empty.
        """
        start = node.start_mark.index - node.start_mark.column
        last = _last_node(node)
        end = last.end_mark.index
        if last.end_mark.column == 0:
            # The parser has its end at the beginning of the next line.
            end -= 1
        while start <= end:
            stop = self._text.find('\n', start)
            if stop < 0:
                stop = len(self._text)
            if self._text[start:stop].strip():
                yield Edit(start, start, ' ' * _INDENT)
            start = stop + 1


def _shared_nodes(entries: typing.Iterable[yaml.Node]) -> set[int]:
    """Return the ids of the nodes of YAML that stand in several places.

    The alias in ``[&a x, *a]`` is the node of its anchor: an edit of the one
    would change both.
    """
    seen: set[int] = set()
    shared: set[int] = set()
    ahead = list(entries)
    while ahead:
        node = ahead.pop()
        if id(node) in seen:
            shared.add(id(node))
            continue
        seen.add(id(node))
        if isinstance(node, yaml.SequenceNode):
            ahead += node.value
        elif isinstance(node, yaml.MappingNode):
            for pair in node.value:
                ahead += pair
    return shared


def _last_node(node: yaml.Node) -> yaml.Node:
    """Return the innermost node at the end of a list or mapping.

    The parser reports the end of a scalar exactly, and the end of a block only
    after empty lines and comments.
    """
    while isinstance(node, yaml.CollectionNode) and not node.flow_style:
        if not node.value:
            break
        node = node.value[-1]
        if isinstance(node, tuple):
            # Of a mapping the last entry is a key and a value.
            _key, node = node
    return node


def _replace_value(node: yaml.Node, new: typing.Any) -> typing.Iterator[Edit]:
    """Replace a scalar by the JSON of a value, or by text in its quotes.

    ``no`` becomes ``"no"``, and ``'a'`` becomes ``'b'``. JSON is YAML, too. A
    block of text, ``|`` or ``>``, is not replaced.
    """
    if not isinstance(node, yaml.ScalarNode) or node.style in ('|', '>'):
        return
    text = json.dumps(new, ensure_ascii=False)
    if node.style == "'" and isinstance(new, str):
        doubled = new.replace("'", "''")
        text = f"'{doubled}'"
    yield Edit(node.start_mark.index, node.end_mark.index, text)


def _format_key(name: str, like: yaml.ScalarNode) -> str:
    """Format a new key with its colon, in quotes if its neighbour has some.

    :param like: the neighbour: in JSON, for example, it has quotes.
    """
    quote = ''
    if like.style in ('"', "'"):
        quote = like.style
    return f'{quote}{name}{quote}:'
