# SPDX-License-Identifier: Apache-2.0

"""Parses and writes YAML, with limits and with hints in its errors.

YAML reads ``!eq`` as a tag and ``{node.name}`` as a mapping. People often
write them without quotes at first, so the error tells them to add quotes.
"""

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
_SURROGATE_PAIR = re.compile(
    r'(?<!\\)((?:\\\\)*)\\u[dD][89abAB][0-9a-fA-F]{2}'
    r'\\u[dD][c-fC-F][0-9a-fA-F]{2}'
)
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

        If a terminal would not show one of its characters, all characters
        outside of ASCII are written as escapes.
        """
        allowed = self.allow_unicode
        if exceptions.CONTROL_CHARACTER.search(text):
            self.allow_unicode = False
        super().write_double_quoted(text, split)
        self.allow_unicode = allowed


class FastDumper(
    getattr(  # type: ignore[misc]
        yaml, 'CSafeDumper', yaml.SafeDumper
    )
):
    """A fast dumper for large values; uses libyaml if it is available."""


def _represent_text(dumper: typing.Any, text: str) -> yaml.ScalarNode:
    """Represent a text, in double quotes if it has a control character.

    In double quotes, a control character is written as an escape. Without
    them, PyYAML writes U+0085 as it is and later reads it as a line feed.
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
    """Write plain data as YAML and keep the order of mappings.

    ``{'b': 1, 'a': [2]}`` gives the lines ``b: 1``, ``a:`` and ``- 2``.

    :param options: options for PyYAML's ``dump``.
    """
    options = {
        'Dumper': Dumper,
        'sort_keys': False,
        'allow_unicode': True,
        **options,
    }
    text = str(yaml.dump(value, **options))
    if exceptions.CONTROL_CHARACTER.search(text.replace('\n', '')):
        # FastDumper writes with libyaml, which has no escapes for some control
        # characters, e.g. those that reverse the direction of text. Dumper
        # escapes them.
        text = str(yaml.dump(value, **{**options, 'Dumper': Dumper}))
    return text


def comment(text: str, width: int = sys.maxsize) -> str:
    """Write a text as a comment and replace its line feeds with blanks.

    :param width: maximum length of a line. A longer text is wrapped, and the
        lines after the first are indented to show that they continue it.
    """
    line = exceptions.one_line(' '.join(text.split()))
    lines = textwrap.wrap(
        line,
        width,
        initial_indent='# ',
        subsequent_indent='#   ',
        break_long_words=False,
        break_on_hyphens=False,
    )
    return '\n'.join(lines) + '\n'


def packaged(path: str) -> typing.Any:
    """Read a YAML file of this package.

    :param path: path of the file, relative to ``ironic_inspection_rules``.
    """
    file = importlib.resources.files('ironic_inspection_rules').joinpath(path)
    return yaml.load(file.read_text('utf-8'), Loader)


@dataclasses.dataclass
class _Extent:
    """The depth of a nested value, and the number of values in it.

    ``height`` is the number of levels below the value, and ``size`` the number
    of values, the value itself included: for ``[1, [2]]``, they are 2 and 4.
    ``anchor`` is the name by which aliases repeat it, ``a`` in ``&a [1]``.
    """

    height: int = 0
    size: int = 1
    anchor: str | None = None


def parse_nodes(text: str) -> list[yaml.Node]:
    """Parse the documents of a file into YAML nodes, with their positions.

    Empty documents are skipped.

    :param text: text of the whole file.
    :raises: YAMLError if the text cannot be parsed or is too large.
    """
    text = make_readable(text)
    try:
        _check_bounds(text)
    except (yaml.scanner.ScannerError, yaml.parser.ParserError) as exc:
        # libyaml has its own limit for the depth, with another message. It
        # reads ahead, so it may reach its limit before ours is reached.
        before = text[: exc.problem_mark.index + 1]
        if budget.is_deeper(before.encode(errors='replace'), DEPTH):
            exc.problem = _TOO_DEEP
        raise
    loader = Loader
    if _is_json(text):
        # In JSON, 1e5 is a number. The default loader would read it as text.
        loader = _JsonLoader
    return [
        node for node in yaml.compose_all(text, loader) if node is not None
    ]


def _is_json(text: str) -> bool:
    """Return whether the text of a whole file is JSON.

    :param text: a text that is not nested too deeply for Python's parser.
    """
    if not text.lstrip().startswith(('[', '{')):
        # Most files are plain YAML, which this shows without parsing.
        return False
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def find_item_lines(node: yaml.SequenceNode, text: str) -> list[int]:
    """Return the line in which each item of a list begins, from zero.

    For an alias, return the line of the alias itself. Its node has the
    position of the anchor, which would be misleading in messages.

    :param text: text of the whole file.
    """
    # An alias shares the node of its anchor, which begins before the list or
    # in an earlier item. Any other item begins after the end of the previous
    # item. So an item that begins earlier must be an alias.
    has_aliases = False
    end = node.start_mark.index
    for item in node.value:
        if item.start_mark.index <= end:
            has_aliases = True
        end = item.end_mark.index
    if not has_aliases:
        return [item.start_mark.line for item in node.value]
    return _find_item_lines_in_events(node, text)


def _find_item_lines_in_events(
    node: yaml.SequenceNode, text: str
) -> list[int]:
    """Return the line in which each item of a list begins, even an alias.

    This parses the file again, because only the events of YAML have the
    position of an alias.
    """
    # Both loops share one iterator: the second loop continues where the first
    # one stops.
    events = iter(yaml.parse(make_readable(text), Loader))
    for event in events:
        if isinstance(event, yaml.SequenceStartEvent) and (
            event.start_mark.index == node.start_mark.index
        ):
            # The list begins.
            break
    lines = []
    # Number of open collections inside the list. An item begins if it is 0.
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
    """Make the text of a file readable for YAML, and keep its length.

    In JSON, tabs between values become blanks. YAML rejects a pair of escapes
    for one character, e.g. ``\\ud83d\\ude00``, so the pair becomes
    ``\\ufffd\\ufffd``; :func:`construct` reads the value from the original
    text later. All values keep their positions.
    """
    # Only in JSON can tabs confuse YAML, and there only between values.
    if text.lstrip().startswith(('[', '{')):
        return _SURROGATE_PAIR.sub(
            r'\1\\ufffd\\ufffd', text.replace('\t', ' ')
        )
    return text


def _find_extent_of_alias(
    name: str, anchored: typing.Mapping[str, _Extent], outer: list[_Extent]
) -> _Extent:
    """Return the depth and the size of the value that an alias refers to.

    In ``&a [*a]`` the alias is inside its own value, which is therefore
    infinitely deep. An alias without an anchor counts as a single value.

    :param name: the name of the anchor.
    :param anchored: the extents of complete values, by their anchor.
    :param outer: the collections that contain the alias. Their extents are
        incomplete, but their anchors are known.
    """
    if name in anchored:
        return anchored[name]
    if any(name == around.anchor for around in outer):
        # The alias refers to a collection that contains it. Return the
        # maximum depth: together with the collection around the alias, it is
        # exceeded, so the caller rejects the file as nested too deeply.
        return _Extent(height=DEPTH)
    return _Extent()


def _check_bounds(text: str) -> None:
    """Reject text that would exhaust the stack or the memory.

    With aliases of aliases, a few lines of YAML can stand for billions of
    values: ``a: &a [x, x]``, ``b: &b [*a, *a]``, and so on. So the values are
    counted before any of them is built.

    :raises: MarkedYAMLError if the text is nested too deeply, or if its
        aliases stand for too many values.
    """
    # The extents of the values that aliases can refer to, by their anchor.
    anchored: dict[str, _Extent] = {}
    # The file itself, and the collections that are open.
    outer = [_Extent()]
    # Total number of values that the aliases stand for.
    aliased = 0
    for event in yaml.parse(text, Loader):
        # The value that ends with this event.
        complete: _Extent | None = None
        if isinstance(event, yaml.CollectionStartEvent):
            outer.append(_Extent(anchor=event.anchor))
        elif isinstance(event, yaml.CollectionEndEvent):
            complete = outer.pop()
        elif isinstance(event, yaml.ScalarEvent):
            complete = _Extent(anchor=event.anchor)
        elif isinstance(event, yaml.AliasEvent):
            complete = _find_extent_of_alias(event.anchor, anchored, outer)
            aliased += complete.size
        if complete is not None:
            # Add the value to the height and size of its parent.
            around = outer[-1]
            around.height = max(around.height, complete.height + 1)
            around.size += complete.size
            if complete.anchor is not None:
                anchored[complete.anchor] = complete
        if aliased > MAX_ALIASED_VALUES:
            raise yaml.MarkedYAMLError(
                problem=_('aliases stand for too many values'),
                problem_mark=event.start_mark,
            )
        if len(outer) + outer[-1].height > DEPTH:
            raise yaml.MarkedYAMLError(
                problem=_TOO_DEEP, problem_mark=event.start_mark
            )


def _find_problem(node: yaml.Node, text: str) -> str | None:
    """Return the problem of a node, usually that it needs quotes.

    For example, ``!eq`` is a tag in YAML and must be written as ``"!eq"``.
    The children of the node are not checked.

    :param text: text of the whole file.
    :returns: a sentence; None if there is no problem.
    """
    if isinstance(node, yaml.CollectionNode) and (
        node.tag not in _TAGS_OF_COLLECTIONS
    ):
        kind = str(node.tag).replace(_PREFIX_OF_STANDARD_TAGS, '!!')
        return _('there are no values of the type %s') % kind
    if isinstance(node, yaml.MappingNode):
        return _find_unquoted_field(node)
    if not isinstance(node, yaml.ScalarNode) or not node.tag:
        return None
    if node.tag.startswith('!'):
        return _say_to_quote(f'{node.tag} {node.value}'.strip())
    # YAML drops the "!" of "! eq", so look for it in the text of the file.
    if text.startswith('! ', node.start_mark.index):
        return _say_to_quote(f'! {node.value}')
    return None


def _find_unquoted_field(node: yaml.MappingNode) -> str | None:
    """Return the problem of a mapping that was meant as a field.

    YAML reads ``{node.name}`` as a mapping with one key and no value, and
    reads ``{{`` as the start of a mapping whose key is a mapping.

    :returns: a sentence that says what to write; None if the mapping does not
        look like a field.
    """
    if not node.flow_style or len(node.value) != 1:
        return None
    key, value = node.value[0]
    # In {node.name} the value of the key is empty, which YAML reads as null.
    has_value = getattr(value, 'tag', None) != NULL or value.value
    if has_value:
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

    For example, the hint for ``op: @name`` is to put the text in quotes, and
    the hint for a line that begins with a tab is to indent with blanks.

    :param text: text of the whole file.
    :param line: number of the line, from zero.
    :returns: a sentence; None if no known mistake is found.
    """
    lines = text.split('\n')
    wrong_line = ''
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
    has_mark = value['text'].startswith(('!', '%', '@', '`', '&', '*'))
    if has_mark or _FIELD_AT_START.match(value['text']):
        return _say_to_quote(value['text'].rstrip())
    return None


def as_document_error(
    path: str, text: str, error: yaml.YAMLError | RecursionError
) -> exceptions.InvalidDocument:
    """Convert a YAML error to the error of a file, with its position.

    The error adds a hint if the line looks like a common mistake, e.g. a value
    that needs quotes.

    :param text: text of the whole file.
    """
    if isinstance(error, yaml.reader.ReaderError):
        return _as_character_error(path, text, error)
    mark = getattr(error, 'problem_mark', None)
    reason = getattr(error, 'problem', None) or str(error)
    if mark is None:
        return exceptions.InvalidDocument(path, reason)
    # Errors that YAML raises are instances of subclasses. Errors that this
    # package raises are not, and they already say what to do.
    if type(error) is not yaml.MarkedYAMLError:
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

    :param text: text of the whole file.
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

    ``{a: [1, x]}`` gives ``{'a': [1, 'x']}``. A date such as ``2024-01-31``
    stays text, because JSON has no dates.

    The values in lists and mappings are constructed by recursion. All other
    nodes are scalars.

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
    if (
        node.style == '"'
        and _SURROGATE_PAIR.search(written)
        and '\ufffd' in node.value
    ):
        # JSON writes some characters as a pair of escapes, which YAML rejects.
        # So make_readable() has replaced the pair by two \ufffd characters
        # before the text was parsed, and the value of the node is wrong. Read
        # the value from the file instead, where the pair is unchanged.
        return json.loads(written)
    value = _construct_scalar(node, written)
    is_not_finite = isinstance(value, float) and not math.isfinite(value)
    if is_not_finite or isinstance(value, bytes):
        raise yaml.MarkedYAMLError(
            problem=NOT_JSON % written, problem_mark=node.start_mark
        )
    return value


def _construct_scalar(node: yaml.Node, written: str) -> typing.Any:
    """Return the value of a node that is neither a mapping nor a list.

    :param written: the text of the value in the file.
    :raises: MarkedYAMLError if the value does not match its type, e.g.
        ``!!bool maybe``, or is a number too long for Python to read or write.
    """
    try:
        value = yaml.constructor.SafeConstructor().construct_document(node)
        # Python reads hexadecimal numbers of any length, but raises ValueError
        # when it writes a number of more than 4300 digits.
        str(value)
    except (yaml.constructor.ConstructorError, ValueError, LookupError) as exc:
        # PyYAML raises LookupError for some texts that do not match their tag.
        if _NUMBER_TOO_LONG_FOR_PYTHON.fullmatch(written):
            problem = TOO_MANY_DIGITS
        elif written.startswith('!') and isinstance(exc, yaml.YAMLError):
            # YAML's own message names the tag, so it is the better one.
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

    ``{<<: *base, priority: 2}`` has all members of ``base``, except that its
    own priority wins. Names are checked before the merge, because afterwards a
    name may legitimately occur twice: with the merged value, and with the own
    value that replaces it.
    """
    check_keys(node)
    yaml.constructor.SafeConstructor().flatten_mapping(node)
    for key, _value in node.value:
        _require_text(key, _TAG_OF_TEXT)
    # A node that has aliases is constructed several times. Keep only the last
    # value for each name, which is the own value, so that the next check does
    # not report a name as double.
    last_by_name = {key.value: (key, value) for key, value in node.value}
    node.value = list(last_by_name.values())
    return {
        construct(key, text): construct(value, text)
        for key, value in node.value
    }


def check_keys(node: yaml.MappingNode) -> None:
    """Check that every key of a mapping is a text and occurs only once.

    The merge key ``<<`` is allowed as well. The mappings that it merges are
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
    :raises: MarkedYAMLError if the key has another tag, e.g. of a number.
    """
    if key.tag not in tags:
        problem = _('keys must be text')
        if isinstance(key, yaml.ScalarNode) and key.value:
            problem = _('keys must be text: put quotes around %s') % key.value
        raise yaml.MarkedYAMLError(
            problem=problem, problem_mark=key.start_mark
        )
