# SPDX-License-Identifier: Apache-2.0

"""Make the changes of ``lint --fix`` in the text of a file.

A YAML library that writes a whole file would lose the layout of its author:
line endings, the indentation of lists, the layout of JSON. Therefore only the
characters of a change are replaced, at the positions that the parser reports.

A change is about the data of a rule, e.g. "the key ``vlaue`` at ``/actions/0``
is now ``value``". An edit is about the text of the file, e.g. "the characters
from 17 to 22 are now ``value``". One change may need several edits. An entry
is one item at the top of the file, which is usually a rule. A node is a value
as the YAML parser reports it, with its position.
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
"""Number of spaces by which a list is indented when a mapping replaces it."""

Data = typing.Any


@dataclasses.dataclass(frozen=True)
class _Exchange:
    """A change that replaces one text by another.

    :ivar pointer: the place in the entry, e.g. ``/actions/0``.
    :ivar old: the text that is replaced.
    :ivar new: the text that replaces it.
    """

    pointer: str
    old: str
    new: str

    def __str__(self) -> str:
        return _('"%(old)s" is now "%(new)s"') % dataclasses.asdict(self)


class RenameKey(_Exchange):
    """Rename a key of the mapping at a pointer."""

    def apply(self, mapping: Data) -> Data:
        """Return the mapping with the renamed key at the same position."""
        renamed = {}
        for key, value in mapping.items():
            if key == self.old:
                key = self.new
            renamed[key] = value
        return renamed


class RewriteText(_Exchange):
    """Replace a part of all texts at a pointer and below.

    Keys of mappings are not changed.
    """

    def apply(self, value: Data) -> Data:
        """Return the value with the replacement in all of its texts."""
        return data_path.replace_texts(value, self._rewrite)

    def _rewrite(self, text: str) -> str:
        """Replace the old part of a text by the new part."""
        return text.replace(self.old, self.new)


@dataclasses.dataclass(frozen=True)
class NameArguments:
    """Give names to the items of a list of arguments.

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
        """Return the list of arguments as a mapping."""
        if self.whole:
            return {self.names[0]: args}
        return dict(zip(self.names, args, strict=True))


@dataclasses.dataclass(frozen=True)
class ReplaceValue:
    """Replace the value at a pointer."""

    pointer: str
    old: typing.Any
    new: typing.Any

    def __str__(self) -> str:
        return _('%(old)s is now %(new)s') % {
            'old': json.dumps(self.old),
            'new': json.dumps(self.new),
        }

    def apply(self, value: Data) -> Data:
        """Return the new value."""
        return self.new


Change = RenameKey | RewriteText | NameArguments | ReplaceValue

_ORDER = (RewriteText, ReplaceValue, RenameKey, NameArguments)


def apply(entry: Data, changes: typing.Iterable[Change]) -> Data:
    """Return a copy of an entry with changes made in its data.

    The text of the file is edited separately. It must then parse to the same
    data.
    """
    entry = copy.deepcopy(entry)
    for change in sorted(changes, key=_order_key):
        tokens = _split_pointer(change.pointer)
        if not tokens:
            # The change is about the whole entry, which has no parent.
            entry = change.apply(entry)
            continue
        parent = data_path.get(entry, tuple(tokens[:-1]))
        key: str | int = tokens[-1]
        if isinstance(parent, list):
            key = int(key)
        parent[key] = change.apply(parent[key])
    return entry


def _order_key(change: Change) -> tuple[int, int]:
    """Return the sort key that decides the order in which changes are made.

    Keys are renamed after values, and from the inside out, so that the
    pointers of other changes stay valid: ``/args/vlaue`` no longer exists when
    the key is ``value``. Lists get names last, because their items then have
    no index.
    """
    return _ORDER.index(type(change)), -change.pointer.count('/')


def _split_pointer(pointer: str) -> list[str]:
    """Split a pointer into tokens: ``/args/0`` into ``args`` and ``0``."""
    return [data_path.unescape(token) for token in pointer.split('/')[1:]]


class Edit(typing.NamedTuple):
    """A replacement of characters in a text.

    :ivar start: the position of the first character.
    :ivar end: the position after the last character; equal to ``start`` to
        insert text.
    :ivar new: the replacement; empty to remove the characters.
    """

    start: int
    end: int
    new: str


class _Place(typing.NamedTuple):
    """A value in a text.

    :ivar key: the key of the value; None for an item of a list, and for a
        whole entry.
    :ivar node: the value as a YAML node.
    """

    key: yaml.ScalarNode | None
    node: typing.Any


def _position_key(edit: Edit) -> tuple[int, int]:
    """Return the sort key of an edit, which is its position in the text."""
    return edit.start, edit.end


class FileText:
    """The text of a rule file, with the position of each value.

    :raises: YAMLError if the text cannot be parsed.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._entries = document.parse_nodes(text)
        # The positions of the dashes of lists, and of tags such as "!!seq",
        # which nodes do not have.
        self._dashes: list[int] = []
        self._tags: list[int] = []
        for token in yaml.scan(
            yaml_text.make_readable(text), yaml_text.Loader
        ):
            if isinstance(token, yaml.BlockEntryToken):
                self._dashes.append(token.start_mark.index)
            elif isinstance(token, yaml.TagToken):
                self._tags.append(token.start_mark.index)
        # The ids of nodes that occur in several places, so that an edit would
        # change all of them.
        self._shared = _shared_nodes(self._entries)

    def has_room(self, index: int, change: Change) -> bool:
        """Return whether a change can be made in the text.

        :param index: the index of the entry that changes.
        """
        first = next(self._list_edits(index, change), None)
        return first is not None

    def edited(self, changes: typing.Iterable[tuple[int, Change]]) -> str:
        """Return the text with the changes that can be made.

        If two edits overlap, only the edit that is later in the text is made.

        :param changes: pairs of the index of an entry and a change of it.
        """
        edits: set[Edit] = set()
        for index, change in changes:
            edits.update(self._list_edits(index, change))
        text = self._text
        # Start at the end of the text, because an edit moves all later
        # characters.
        begin_of_edited = len(text) + 1
        for edit in sorted(edits, key=_position_key, reverse=True):
            if edit.end <= begin_of_edited:
                text = text[: edit.start] + edit.new + text[edit.end :]
                begin_of_edited = edit.start
        return text

    def _list_edits(self, index: int, change: Change) -> typing.Iterator[Edit]:
        """Yield the edits of a change; none if the change cannot be made.

        Each kind of change has its own edits. Comments, quotes and the layout
        of the text are kept.

        :param index: the index of the entry that changes.
        """
        place = self._find_place(self._entries[index], change.pointer)
        if place is None:
            # The value has an alias, or a key occurs twice, so an edit would
            # not change exactly one value.
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
        # The remaining change gives names to a list of arguments.
        elif key is None or self._has_tag(key, node):
            # A tag may say that the value is a list, which it would no longer
            # be.
            return
        elif node.flow_style:
            yield from self._name_flow(key, node, change)
        else:
            yield from self._name_block(key, node, change)

    def _has_tag(self, key: yaml.ScalarNode, node: yaml.SequenceNode) -> bool:
        """Return whether a YAML tag precedes a list: ``args: !!seq [a, b]``.

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
            would change other values too, or if a key occurs twice.
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
        """Yield the scalars whose text may be edited in a value.

        They are the value itself, or all inside it. Values with an alias are
        skipped, because an edit would change them in several places.
        """
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
        """Yield the edit that replaces text in a scalar.

        Nothing is yielded if an escape hides a part of the text.

        For example, the value of the scalar ``"a\\u0062"`` contains ``ab``,
        but the file does not.
        """
        start = node.start_mark.index
        end = node.end_mark.index
        raw = self._text[start:end]
        count = node.value.count(old)
        # If there are escapes, the text may occur less often in the file than
        # in the value.
        if count and raw.count(old) == count:
            yield Edit(start, end, raw.replace(old, new))

    def _name_flow(
        self,
        key: yaml.ScalarNode,
        node: yaml.SequenceNode,
        change: NameArguments,
    ) -> typing.Iterator[Edit]:
        """Yield the edits that turn ``args: [a, b]`` into a mapping.

        The brackets become braces, and each item gets a name before it:
        ``args: {path: a, value: b}``.

        :param key: the key of the list, ``args``. The new keys have the same
            quotes.
        """
        start = node.start_mark.index
        end = node.end_mark.index
        bracket = self._text.index('[', start)
        if change.whole:
            # Keep the brackets: {name: [a, b]}.
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
        """Yield the edits that turn a list in block style into a mapping.

        Each dash is replaced by the name of an argument: the lines ``-
        /driver`` and ``- ipmi`` become ``path: /driver`` and ``value: ipmi``.
        With ``whole`` the list is kept, as the value of the only name.
        """
        column = node.start_mark.column
        shift = 0
        if column <= key.start_mark.column:
            # A list may start in the column of its key, but a mapping must
            # not.
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

        This turns the item of a list into an entry of a mapping.

        :param new_key: the key with its colon.
        :param new_line: a line break followed by the indentation of the item.
        """
        start = item.start_mark.index
        dash = max(place for place in self._dashes if place < start)
        between = self._text[dash + 1 : start]
        is_empty = start == item.end_mark.index
        is_on_next_line = '\n' in between or '\r' in between
        if is_empty or is_on_next_line:
            # Keep spaces and comments after the dash.
            return Edit(dash, dash + 1, new_key)
        if isinstance(item, yaml.CollectionNode) and not item.flow_style:
            # A collection in block style may follow a dash on the same line,
            # but not a key.
            return Edit(dash, start, f'{new_key}{new_line}')
        return Edit(dash, start, f'{new_key} ')

    def _indent(self, node: yaml.SequenceNode) -> typing.Iterator[Edit]:
        """Yield the edits that indent a list in block style by one step.

        Every line of the list gets two more spaces, but empty lines stay
        empty.
        """
        start = node.start_mark.index - node.start_mark.column
        last = _last_node(node)
        end = last.end_mark.index
        if last.end_mark.column == 0:
            # The parser reports the start of the next line as the end.
            end -= 1
        while start <= end:
            stop = self._text.find('\n', start)
            if stop < 0:
                stop = len(self._text)
            if self._text[start:stop].strip():
                yield Edit(start, start, ' ' * _INDENT)
            start = stop + 1


def _shared_nodes(entries: typing.Iterable[yaml.Node]) -> set[int]:
    """Return the ids of the YAML nodes that occur in several places.

    In ``[&a x, *a]``, the alias is the same node as its anchor, so an edit of
    one of them would change both.
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

    It tells where the text of the list ends: the parser reports the exact end
    of a scalar, but reports the end of a block only after empty lines and
    comments.
    """
    while isinstance(node, yaml.CollectionNode) and not node.flow_style:
        if not node.value:
            break
        node = node.value[-1]
        if isinstance(node, tuple):
            # The last entry of a mapping is a pair of key and value.
            _key, node = node
    return node


def _replace_value(node: yaml.Node, new: typing.Any) -> typing.Iterator[Edit]:
    """Yield the edit that replaces a scalar by the JSON of a value.

    JSON is valid YAML: ``no`` becomes ``"no"``. A text in single quotes keeps
    these quotes: ``'a'`` becomes ``'b'``. A block of text, ``|`` or ``>``, is
    not replaced.
    """
    if not isinstance(node, yaml.ScalarNode) or node.style in ('|', '>'):
        return
    text = json.dumps(new, ensure_ascii=False)
    if node.style == "'" and isinstance(new, str):
        doubled = new.replace("'", "''")
        text = f"'{doubled}'"
    yield Edit(node.start_mark.index, node.end_mark.index, text)


def _format_key(name: str, like: yaml.ScalarNode) -> str:
    """Format a new key with its colon, quoted like an existing key.

    :param like: the existing key, which has quotes e.g. in JSON.
    """
    quote = ''
    if like.style in ('"', "'"):
        quote = like.style
    return f'{quote}{name}{quote}:'
