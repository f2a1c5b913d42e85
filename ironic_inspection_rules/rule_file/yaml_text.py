# SPDX-License-Identifier: Apache-2.0

"""Parses and writes YAML, with limits and with hints in its errors.

A file is read in two steps: :func:`parse_nodes` parses the text into nodes,
which have positions, and :func:`construct` gives the value of a node. A value
may only have the types of JSON.

YAML reads ``!eq`` as a tag and ``{node.name}`` as a mapping. People often
write them without quotes at first, so the error tells them to add quotes.

In YAML, ``&a [1]`` gives a value the anchor ``a``, and the alias ``*a`` stands
for this value elsewhere in the file.
"""

import contextlib
import dataclasses
import importlib.resources
import json
import math
import re
import sys
import textwrap
import typing

import yaml

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.language import budget
from ironic_inspection_rules.engine.language import interpolation
from ironic_inspection_rules.i18n import _

DEPTH = 100  # Levels of mappings and lists in a file, aliases included.
MAX_ALIASED_VALUES = (
    1_000_000  # Values that all aliases of a file may stand for.
)

Loader = getattr(yaml, 'CSafeLoader', yaml.SafeLoader)
_TAG_OF_TEXT = 'tag:yaml.org,2002:str'
MERGE = 'tag:yaml.org,2002:merge'
# Two JSON escapes that form one character. YAML does not support such pairs.
# An even number of backslashes may precede them: these stand for backslashes.
_SURROGATE_PAIR = re.compile(
    r'(?P<before>(?<!\\)(?:\\\\)*)'
    r'(?P<pair>\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2})'
)
# The characters that JSON keeps in a text, but YAML folds, as line ends, or
# rejects.
_READ_OTHERWISE_BY_YAML = re.compile('[\x7f-\x9f\u2028\u2029\ufffe\uffff]')
# By how many levels the text behind a token is deeper than the text before.
_LEVELS_OF_TOKENS = {
    yaml.FlowSequenceStartToken: 1,
    yaml.FlowMappingStartToken: 1,
    yaml.FlowSequenceEndToken: -1,
    yaml.FlowMappingEndToken: -1,
}
_BORDERS_OF_DOCUMENTS = (yaml.DocumentStartToken, yaml.DocumentEndToken)
# The markers that separate the documents of a file.
_DOCUMENT_MARKER = re.compile(r'^(---|\.\.\.)(?!\S)', re.MULTILINE)
_TAG_OF_TIMESTAMP = 'tag:yaml.org,2002:timestamp'
_TOO_DEEP = _('nested too deeply')
NOT_JSON = _('JSON has no value such as %s')
TOO_MANY_DIGITS = _('the number has too many digits')
# A number that is too long for Python to read or to write.
_NUMBER_TOO_LONG_FOR_PYTHON = re.compile('[-+]?[0-9][0-9A-Fa-f_x:]{1000,}')

_NAMES = '|'.join((*interpolation.ROOTS, interpolation.ITEM))
# A field at the start of a value.
_FIELD_AT_START = re.compile(rf'\{{\s*(?:{_NAMES})\b[^{{}}]*\}}')
# A field without quotes, which YAML reads as an incomplete mapping.
_FIELD_WITHOUT_QUOTES = re.compile(
    rf'[:\-,\[{{]\s*(?P<field>\{{\s*(?:{_NAMES})'
    r'(?:[.\[|][^{}]*)\})\s*(?:[,\]}]|$)'
)
# The only key of such a mapping, which is the path of the field.
_PATH_OF_FIELD = re.compile(rf'(?:{_NAMES})(?:[.\[].*)?')
# A value without quotes, up to the end of the line.
_VALUE_WITHOUT_QUOTES = re.compile(r'[:\-,\[]\s+(?P<text>[^\s\'"\[\]#][^\n]*)')
NULL = 'tag:yaml.org,2002:null'
_PREFIX_OF_STANDARD_TAGS = 'tag:yaml.org,2002:'
_TAGS_OF_COLLECTIONS = ('tag:yaml.org,2002:map', 'tag:yaml.org,2002:seq')


class _JsonLoader(Loader):  # type: ignore[misc,valid-type]
    """A loader that reads 1e5 as a number, as JSON does.

    In YAML 1.1, 1e5 is text, because a number with an exponent must have a dot
    and a sign, as in 1.0e+5.
    """


_JsonLoader.add_implicit_resolver(
    'tag:yaml.org,2002:float',
    # Python's JSON parser also accepts NaN and Infinity as numbers. Resolve
    # them as numbers here, so that they get the same error as 1e999 instead
    # of becoming text.
    re.compile(r'-?[0-9.]+[eE][-+]?[0-9]+|NaN|-?Infinity'),
    first=list('-0123456789NI'),
)


class Dumper(yaml.SafeDumper):  # type: ignore[misc]
    """A dumper whose output does not depend on how PyYAML was built."""

    allow_unicode: bool | None

    def write_double_quoted(self, text: str, split: bool = True) -> None:
        """Write a text in double quotes.

        If the text has a control character, all its characters outside of
        ASCII are written as escapes.

        :param split: whether a long text may be written in several lines.
        """
        allow_unicode = self.allow_unicode
        if exceptions.CONTROL_CHARACTER.search(text):
            self.allow_unicode = False
        super().write_double_quoted(text, split)
        self.allow_unicode = allow_unicode


class FastDumper(
    getattr(  # type: ignore[misc]
        yaml, 'CSafeDumper', yaml.SafeDumper
    )
):
    """A fast dumper for large values; uses libyaml if it is available."""


def _represent_text(dumper: typing.Any, text: str) -> yaml.ScalarNode:
    """Return the node of a text, with quotes if it has a control character.

    In double quotes, a control character is written as an escape. Without
    quotes, PyYAML writes U+0085 unchanged, and reads it as a line feed.
    """
    style = None
    if exceptions.CONTROL_CHARACTER.search(text):
        style = '"'
    return dumper.represent_scalar(_TAG_OF_TEXT, text, style)


def _write_no_aliases(_dumper: typing.Any, _data: typing.Any) -> bool:
    """Tell PyYAML to write every value in full, without aliases."""
    return True


for _dumper in (Dumper, FastDumper):
    _dumper.add_representer(str, _represent_text)
    _dumper.ignore_aliases = _write_no_aliases


def dump(value: typing.Any, **options: typing.Any) -> str:
    """Return plain data as YAML, and keep the order of mappings.

    ``{'b': 1, 'a': [2]}`` gives the lines ``b: 1``, ``a:`` and ``- 2``.

    :param options: options for PyYAML's ``dump``, which replace the defaults
        of this function. ``Dumper`` may be :class:`FastDumper`.
    """
    options = {
        'Dumper': Dumper,
        'sort_keys': False,
        'allow_unicode': True,
        **options,
    }
    text = str(yaml.dump(value, **options))
    # Line feeds are control characters as well, but they separate the lines.
    has_control_character = exceptions.CONTROL_CHARACTER.search(
        text.replace('\n', '')
    )
    if has_control_character:
        # FastDumper does not escape some control characters, e.g. characters
        # that reverse the direction of text. So write the data with Dumper,
        # which escapes all of them.
        text = str(yaml.dump(value, **{**options, 'Dumper': Dumper}))
    return text


def comment(text: str, width: int = sys.maxsize) -> str:
    """Return a text as a YAML comment, with blanks instead of line feeds.

    :param width: the maximum length of a line. A longer text is wrapped, and
        its further lines are indented.
    """
    line = exceptions.to_one_line(' '.join(text.split()))
    lines = textwrap.wrap(
        line,
        width,
        initial_indent='# ',
        subsequent_indent='#   ',
        break_long_words=False,
        break_on_hyphens=False,
    )
    return '\n'.join(lines) + '\n'


def load_packaged(path: str) -> typing.Any:
    """Read a YAML file of this package.

    :param path: path of the file, relative to ``ironic_inspection_rules``.
    """
    file = importlib.resources.files('ironic_inspection_rules').joinpath(path)
    return yaml.load(file.read_text('utf-8'), Loader)


@dataclasses.dataclass
class _Extent:
    """The extent of a value: how deep it is, and how many values it has.

    For example, ``[1, [2]]`` has the height 2 and the size 4.

    :param height: the number of levels below the value.
    :param size: the number of values in it, including the value itself.
    :param anchor: the name of its anchor, e.g. ``a`` in ``&a [1]``, or None.
    """

    height: int = 0
    size: int = 1
    anchor: str | None = None


def parse_nodes(text: str) -> list[yaml.Node]:
    """Parse the documents of a file into YAML nodes, with their positions.

    A file may have several documents, separated by ``---``. Empty documents
    are skipped.

    :param text: text of the whole file.
    :returns: the root node of each document.
    :raises: YAMLError if the text cannot be parsed, is nested too deeply, or
        has aliases that stand for too many values.
    """
    readable = make_readable(text)
    try:
        _check_bounds(readable)
    except (yaml.scanner.ScannerError, yaml.parser.ParserError) as exc:
        # libyaml has its own limit for the depth, with another message. It
        # reads ahead, so it may reach its limit before ours is reached.
        text_before = readable[: exc.problem_mark.index + 1]
        read_so_far = text_before.encode(errors='replace')
        if not budget.is_within_depth(read_so_far, DEPTH):
            exc.problem = _TOO_DEEP
        raise
    is_json = _is_json(readable)
    loader = Loader
    if is_json:
        # In JSON, 1e5 is a number. The default loader would read it as text.
        loader = _JsonLoader
    roots = [
        root for root in yaml.compose_all(readable, loader) if root is not None
    ]
    if readable != text:
        _restore_texts(roots, text, is_json)
    return roots


def _is_json(text: str) -> bool:
    """Return whether the text of a whole file is JSON.

    A text that is nested too deeply for Python's parser does not count as
    JSON.
    """
    if not _may_be_json(text):
        # Most files are plain YAML, which this shows without parsing.
        return False
    try:
        # JSON allows no tab in a text. A file with such a tab is meant as JSON
        # nevertheless, and YAML reads it.
        json.loads(text.replace('\t', ' '))
    except (ValueError, RecursionError):
        return False
    return True


def _may_be_json(text: str) -> bool:
    """Return whether a text begins like a list or a mapping of JSON."""
    return text.lstrip().startswith(('[', '{'))


def find_item_lines(node: yaml.SequenceNode, text: str) -> list[int]:
    """Return the line in which each item of a list begins, from zero.

    Messages about a row of a table name its line.

    An item may be an alias, ``*a``. Its line is the line of ``*a`` itself, but
    its node has the position of the value with the anchor. So if there are
    aliases, the lines are read from the events of YAML instead of the nodes.

    :param node: the node of the list.
    :param text: text of the whole file.
    """
    # An item begins after the end of the previous item. Only the node of an
    # alias may begin earlier, because its value is earlier in the file.
    has_aliases = False
    end_of_previous = node.start_mark.index
    for item in node.value:
        if item.start_mark.index <= end_of_previous:
            has_aliases = True
        end_of_previous = item.end_mark.index
    if has_aliases:
        return _find_item_lines_in_events(node, text)
    return [item.start_mark.line for item in node.value]


def _find_item_lines_in_events(
    node: yaml.SequenceNode, text: str
) -> list[int]:
    """Return the line in which each item of a list begins, even an alias.

    The file is parsed again, into events such as "a list begins", "an alias"
    and "a list ends". Only events have the position of an alias.

    :param node: the node of the list.
    :param text: text of the whole file.
    """
    # Both loops share this iterator. The first loop stops at the start of the
    # list, and the second loop continues there.
    events = iter(yaml.parse(make_readable(text), Loader))
    for event in events:
        if isinstance(event, yaml.SequenceStartEvent) and (
            event.start_mark.index == node.start_mark.index
        ):
            # The list begins.
            break
    lines = []
    # The number of lists and mappings inside the list that have begun and not
    # ended. If it is 0, the next event is an item or the end of the list.
    depth = 0
    for event in events:
        if isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
            if depth < 0:
                # The list ends.
                break
            continue
        if depth == 0:
            lines.append(event.start_mark.line)
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
    return lines


def make_readable(text: str) -> str:
    """Replace what YAML rejects in JSON, so that it can parse a JSON file.

    - A tab between two values becomes a blank.
    - A pair of escapes for one character, e.g. ``\\ud83d\\ude00``, becomes
      ``\\ufffd\\ufffd`` in double quotes. Later, :func:`parse_nodes` restores
      the character.
    - If the whole file is JSON, a character such as U+2028, which YAML reads
      as a line end, becomes U+FFFD, and is restored as well.

    Everything else is data, and is kept. This also holds for a file that only
    begins like JSON: ``[{op: eq}]``.

    The text keeps its length, so that all values keep their positions.

    :param text: text of the whole file.
    """
    if not _may_be_json(text):
        return text
    if _READ_OTHERWISE_BY_YAML.search(text) and _is_json(text):
        # JSON allows these characters only in texts.
        text = _READ_OTHERWISE_BY_YAML.sub('\ufffd', text)
    # The list has the markers "---" as well, so that it can be joined again.
    pieces = _DOCUMENT_MARKER.split(text)
    return ''.join(_make_document_readable(piece) for piece in pieces)


def _make_document_readable(text: str) -> str:
    """Replace what YAML rejects in JSON, in one document of a file.

    See :func:`make_readable`.

    :param text: text of the document; a document in the block style of YAML
        is returned unchanged.
    """
    may_need_change = '\t' in text or _SURROGATE_PAIR.search(text)
    if not may_need_change or not _may_be_json(text):
        return text
    # A YAML parser accepts this text, but some of its data are changed.
    changed = _hide_pairs(text.replace('\t', ' '))
    pieces = []
    end_of_previous = 0
    for scalar in _find_scalars(changed):
        pieces.append(changed[end_of_previous : scalar.start])
        written = text[scalar.start : scalar.end]
        if scalar.is_double_quoted:
            written = _hide_pairs(written)
        pieces.append(written)
        end_of_previous = scalar.end
    pieces.append(changed[end_of_previous:])
    return ''.join(pieces)


def _hide_pairs(text: str) -> str:
    """Replace pairs of escapes, which YAML does not support, by others."""
    return _SURROGATE_PAIR.sub(r'\g<before>\\ufffd\\ufffd', text)


class _Scalar(typing.NamedTuple):
    """A part of a text that is data.

    :ivar start: the position of its first character.
    :ivar end: the position after its last character.
    """

    start: int
    end: int
    is_double_quoted: bool


def _find_scalars(text: str) -> list[_Scalar]:
    """Find the scalars of a document, e.g. ``a`` and ``"b"`` in ``{a: "b"}``.

    The parser rejects a text that has a mistake or is nested too deeply. Then
    only the scalars before are found.

    :param text: a document in the flow style of YAML. If another document
        follows, it counts as one scalar.
    """
    scalars = []
    depth = 0
    with contextlib.suppress(yaml.YAMLError):
        for token in yaml.scan(text, Loader):
            depth += _LEVELS_OF_TOKENS.get(type(token), 0)
            if depth > DEPTH:
                break
            start = token.start_mark.index
            if isinstance(token, _BORDERS_OF_DOCUMENTS):
                # YAML knows line ends that _DOCUMENT_MARKER does not.
                scalars.append(_Scalar(start, len(text), False))
                break
            if isinstance(token, yaml.ScalarToken):
                end = token.end_mark.index
                scalars.append(_Scalar(start, end, token.style == '"'))
    return scalars


def _restore_texts(roots: list[yaml.Node], text: str, is_json: bool) -> None:
    """Restore the characters that :func:`make_readable` has replaced.

    :param roots: the nodes of the documents; their values are changed.
    :param text: text of the whole file, as it was before.
    :param is_json: whether the whole file is JSON.
    """
    # A node with an anchor may occur in several places.
    seen: set[int] = set()
    pending = list(roots)
    while pending:
        node = pending.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, yaml.SequenceNode):
            pending += node.value
        elif isinstance(node, yaml.MappingNode):
            for key_and_value in node.value:
                pending += key_and_value
        elif node.style == '"':
            written = text[node.start_mark.index : node.end_mark.index]
            if is_json:
                # Tabs in a text are not strictly JSON, see _is_json().
                node.value = json.loads(written, strict=False)
            elif _SURROGATE_PAIR.search(written):
                node.value = _read_double_quoted(written)


def _read_double_quoted(written: str) -> str:
    """Return the value of a text in double quotes that has pairs of escapes.

    :param written: the text with its quotes; there may be a tag or an anchor
        before it.
    """
    with_characters = _SURROGATE_PAIR.sub(_decode_pair, written)
    quoted = with_characters[with_characters.index('"') :]
    return str(yaml.compose(quoted, Loader).value)


def _decode_pair(match: re.Match[str]) -> str:
    """Return the character of a pair of escapes, which JSON knows."""
    pair = match['pair']
    return match['before'] + str(json.loads(f'"{pair}"'))


def _find_extent_of_alias(
    name: str, anchored: typing.Mapping[str, _Extent], outer: list[_Extent]
) -> _Extent:
    """Return the extent of the value that an alias refers to.

    - Usually the value has ended before the alias, so its extent is known.
    - In ``&a [*a]``, the alias is inside its own value, which is therefore
      infinitely deep. The result has the maximum depth. Together with the list
      around the alias it is too deep, so the caller rejects the file.
    - If the file has no anchor of that name, YAML rejects the file later. Here
      the alias counts as a single value.

    :param name: the name of the anchor, e.g. ``a`` for ``*a``.
    :param anchored: the extents of the values that have ended, by anchor.
    :param outer: the lists and mappings that contain the alias. Their extents
        are incomplete, but their anchors are known.
    """
    if name in anchored:
        return anchored[name]
    if any(name == collection.anchor for collection in outer):
        return _Extent(height=DEPTH)
    return _Extent()


def _check_bounds(text: str) -> None:
    """Reject text that would exhaust the stack or the memory.

    With aliases of aliases, a few lines of YAML can stand for billions of
    values: ``a: &a [x, x]``, ``b: &b [*a, *a]``, and so on. So the depth and
    the number of values are computed before any value is built, from events
    such as "a list begins", "a scalar", "an alias" and "a list ends".

    :raises: MarkedYAMLError if the text is nested too deeply, or if its
        aliases stand for too many values.
    """
    # The extents of the values that have ended, by their anchor.
    anchored: dict[str, _Extent] = {}
    # The file itself, and the lists and mappings that have begun and not
    # ended.
    outer = [_Extent()]
    # The number of values that all aliases so far stand for.
    aliased_values = 0
    for event in yaml.parse(text, Loader):
        # The value that ends with this event, if any.
        ended: _Extent | None = None
        if isinstance(event, yaml.CollectionStartEvent):
            outer.append(_Extent(anchor=event.anchor))
        elif isinstance(event, yaml.CollectionEndEvent):
            ended = outer.pop()
        elif isinstance(event, yaml.ScalarEvent):
            ended = _Extent(anchor=event.anchor)
        elif isinstance(event, yaml.AliasEvent):
            ended = _find_extent_of_alias(event.anchor, anchored, outer)
            aliased_values += ended.size
        if ended is not None:
            # Add the value to the list or mapping that contains it.
            parent = outer[-1]
            parent.height = max(parent.height, ended.height + 1)
            parent.size += ended.size
            if ended.anchor is not None:
                anchored[ended.anchor] = ended
        if aliased_values > MAX_ALIASED_VALUES:
            raise yaml.MarkedYAMLError(
                problem=_('aliases stand for too many values'),
                problem_mark=event.start_mark,
            )
        if len(outer) + outer[-1].height > DEPTH:
            raise yaml.MarkedYAMLError(
                problem=_TOO_DEEP, problem_mark=event.start_mark
            )


def _find_problem(node: yaml.Node, text: str) -> str | None:
    """Return what is wrong with a node, usually that it needs quotes.

    - A list or a mapping must not have a type of its own, e.g. ``!!set``.
    - A mapping must not be a field without quotes, e.g. ``{node.name}``.
    - A scalar must not have a tag of its own. YAML reads ``!eq`` as a tag, so
      it must be written in quotes: ``"!eq"``.

    The values inside a list or a mapping are not checked.

    :param text: text of the whole file.
    :returns: a sentence; None if nothing is wrong.
    """
    if isinstance(node, yaml.CollectionNode) and (
        node.tag not in _TAGS_OF_COLLECTIONS
    ):
        type_name = str(node.tag).replace(_PREFIX_OF_STANDARD_TAGS, '!!')
        return _('there are no values of the type %s') % type_name
    if isinstance(node, yaml.MappingNode):
        return _find_unquoted_field(node)
    if not isinstance(node, yaml.ScalarNode) or not node.tag:
        return None
    if node.tag.startswith('!'):
        return _say_to_quote(f'{node.tag} {node.value}'.strip())
    # The node of "! eq" has no trace of the "!", so look for it in the text of
    # the file.
    if text.startswith('! ', node.start_mark.index):
        return _say_to_quote(f'! {node.value}')
    return None


def _find_unquoted_field(node: yaml.MappingNode) -> str | None:
    """Return what is wrong with a mapping that is a field without quotes.

    YAML reads ``{node.name}`` as a mapping whose only key has no value. It
    reads ``{{ x }}`` as a mapping whose only key is a mapping.

    :returns: a sentence that says what to write; None if the mapping does not
        look like a field.
    """
    has_braces = node.flow_style
    if not has_braces or len(node.value) != 1:
        return None
    key, value = node.value[0]
    # YAML reads a value that is not written as an empty null.
    is_value_written = value.tag != NULL or bool(value.value)
    if is_value_written:
        return None
    if isinstance(key, yaml.MappingNode):
        return _('text with "{{" must be in quotes')
    if isinstance(key, yaml.ScalarNode) and _PATH_OF_FIELD.fullmatch(
        key.value
    ):
        return _say_to_quote(f'{{{key.value}}}')
    return None


def find_syntax_hint(text: str, line: int) -> str | None:
    """Return a guess at what is wrong in a line that is not valid YAML.

    - If the line is indented with a tab, it needs blanks.
    - If it has a field without quotes, ``[{node.name}]``, the field needs
      quotes.
    - If it has a value that begins with a field or with a special character,
      ``op: @name``, the value needs quotes.

    :param text: text of the whole file.
    :param line: the number of the line, from zero.
    :returns: a sentence; None if none of these mistakes is found.
    """
    lines = text.split('\n')
    wrong_line = ''
    # The error may be after the last line.
    if line < len(lines):
        wrong_line = lines[line]
    if re.match(r' *\t', wrong_line):
        return _('YAML does not know tabs: indent with blanks')
    field = _FIELD_WITHOUT_QUOTES.search(wrong_line)
    if field:
        return _say_to_quote(field['field'])
    value = _VALUE_WITHOUT_QUOTES.search(wrong_line)
    if value is None:
        return None
    # These characters have a meaning in YAML at the start of a value.
    begins_specially = value['text'].startswith(('!', '%', '@', '`', '&', '*'))
    if begins_specially or _FIELD_AT_START.match(value['text']):
        return _say_to_quote(value['text'].rstrip())
    return None


def as_document_error(
    path: str, text: str, error: yaml.YAMLError | RecursionError
) -> exceptions.InvalidDocument:
    """Convert a YAML error to the error of a file, with its position.

    If PyYAML has raised the error, a hint is added if the line has a common
    mistake, e.g. a value that needs quotes. Errors that this package has
    raised already say what to do.

    :param path: the path of the file.
    :param text: text of the whole file.
    :param error: the error. A RecursionError has no position.
    """
    if isinstance(error, yaml.reader.ReaderError):
        return _as_character_error(path, text, error)
    # The position of the error, counted from zero.
    mark = getattr(error, 'problem_mark', None)
    reason = getattr(error, 'problem', None) or str(error)
    if mark is None:
        return exceptions.InvalidDocument(path, reason)
    # PyYAML only raises subclasses of this class. This package only raises the
    # class itself.
    is_from_library = type(error) is not yaml.MarkedYAMLError
    if is_from_library:
        hint = find_syntax_hint(text, mark.line)
        if hint:
            reason = f'{reason}; {hint}'
    return exceptions.InvalidDocument(
        path, reason, (mark.line + 1, mark.column + 1)
    )


def _as_character_error(
    path: str, text: str, error: yaml.reader.ReaderError
) -> exceptions.InvalidDocument:
    """Convert the error for a character that YAML does not allow.

    :param path: the path of the file.
    :param text: text of the whole file.
    :returns: the error with the line and column of the character.
    """
    # Drop the second line of YAML's message. It says "unicode string" instead
    # of the file name, and its position may count octets or characters.
    reason = str(error).splitlines()[0]
    # YAML stops at the first character that it does not allow, so the first
    # occurrence in the text is the position of the error.
    before, _character, _behind = text.partition(chr(error.character))
    *lines_before, beginning_of_line = before.split('\n')
    return exceptions.InvalidDocument(
        path, reason, (len(lines_before) + 1, len(beginning_of_line) + 1)
    )


def _say_to_quote(text: str) -> str:
    """Return the message that a text must be quoted, with the quoted text.

    For example, ``text like this must be in quotes: write "!eq"``.
    """
    written = text.replace('\\', '\\\\').replace('"', '\\"')
    return _('text like this must be in quotes: write "%s"') % written


def construct(node: yaml.Node, text: str) -> typing.Any:
    """Return the value of a node, with the types that JSON has.

    - A list or a mapping gives its values, constructed in the same way:
      ``{a: [1, x]}`` gives ``{'a': [1, 'x']}``.
    - A date such as ``2024-01-31`` stays text, because JSON has no dates.
    - Any other scalar gives the value that PyYAML reads.

    :param text: text of the whole file.
    :raises: MarkedYAMLError if JSON cannot hold the value, or if a rule file
        cannot contain it, e.g. a field without quotes.
    """
    problem = _find_problem(node, text)
    if problem:
        raise yaml.MarkedYAMLError(
            problem=problem, problem_mark=node.start_mark
        )
    if isinstance(node, yaml.SequenceNode):
        return [construct(item, text) for item in node.value]
    if isinstance(node, yaml.MappingNode):
        return _construct_mapping(node, text)
    if node.tag == _TAG_OF_TIMESTAMP:
        return node.value
    # The value as it is written in the file, with quotes and escapes.
    written = text[node.start_mark.index : node.end_mark.index]
    value = _construct_scalar(node, written)
    # JSON has no infinity, no NaN and no binary data.
    is_not_finite = isinstance(value, float) and not math.isfinite(value)
    if is_not_finite or isinstance(value, bytes):
        raise yaml.MarkedYAMLError(
            problem=NOT_JSON % written, problem_mark=node.start_mark
        )
    return value


def _construct_scalar(node: yaml.Node, written: str) -> typing.Any:
    """Return the value of a scalar, e.g. 16 for a node with the text ``16``.

    :param written: the text of the value in the file.
    :raises: MarkedYAMLError if the text does not fit its tag, e.g. in
        ``!!bool maybe``, or is a number too long for Python to read or write.
    """
    try:
        value = yaml.constructor.SafeConstructor().construct_document(node)
        # Python reads hexadecimal numbers of any length, but raises ValueError
        # when it writes a number of more than 4300 digits.
        str(value)
    except (yaml.constructor.ConstructorError, ValueError, LookupError) as exc:
        # PyYAML raises LookupError for some texts that do not fit their tag.
        if _NUMBER_TOO_LONG_FOR_PYTHON.fullmatch(written):
            problem = TOO_MANY_DIGITS
        elif written.startswith('!') and isinstance(exc, yaml.YAMLError):
            # The author has written a tag, and PyYAML's message names it.
            raise
        else:
            problem = _say_to_quote(written)
        raise yaml.MarkedYAMLError(
            problem=problem, problem_mark=node.start_mark
        ) from exc
    return value


def _construct_mapping(
    node: yaml.MappingNode, text: str
) -> dict[str, typing.Any]:
    """Return the value of a mapping, with its merge keys ``<<`` resolved.

    ``{<<: *base, priority: 2}`` has all members of ``base``, but the priority
    is 2.

    :param text: text of the whole file.
    :raises: MarkedYAMLError if a key is no text or occurs twice, or if a value
        is invalid, see :func:`construct`.
    """
    # Check the keys before the merge, because after it a key may occur twice:
    # first with the merged value, then with the value of the mapping itself.
    check_keys(node)
    # This adds the merged members to the node, before its own members.
    yaml.constructor.SafeConstructor().flatten_mapping(node)
    for key, _value in node.value:
        _require_text(key, _TAG_OF_TEXT)
    # Keep only the last value of each key. Aliases may refer to this node, so
    # it may be constructed and checked again.
    last_by_name = {key.value: (key, value) for key, value in node.value}
    node.value = list(last_by_name.values())
    return {
        construct(key, text): construct(value, text)
        for key, value in node.value
    }


def check_keys(node: yaml.MappingNode) -> None:
    """Check that every key of a mapping is a text and occurs only once.

    A key may also be the merge key ``<<``. The keys of the merged mappings are
    not checked.

    :raises: MarkedYAMLError at the first key that is not a text, or that
        occurs a second time.
    """
    earlier_keys = set()
    for key, _value in node.value:
        _require_text(key, _TAG_OF_TEXT, MERGE)
        if key.value in earlier_keys:
            raise yaml.MarkedYAMLError(
                problem=_('key "%s" is there twice') % key.value,
                problem_mark=key.start_mark,
            )
        earlier_keys.add(key.value)


def _require_text(key: yaml.Node, *tags: str) -> None:
    """Check that a key is text, because JSON allows no other keys.

    :param tags: the YAML tags that the key may have.
    :raises: MarkedYAMLError if the key has another tag, e.g. the tag of a
        number.
    """
    if key.tag in tags:
        return
    problem = _('keys must be text')
    if isinstance(key, yaml.ScalarNode) and key.value:
        problem = _('keys must be text: put quotes around %s') % key.value
    raise yaml.MarkedYAMLError(problem=problem, problem_mark=key.start_mark)
