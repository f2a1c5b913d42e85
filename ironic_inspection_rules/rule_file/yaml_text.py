# SPDX-License-Identifier: Apache-2.0

"""Parses and writes YAML, with limits and hints.

``!eq`` is a tag to YAML, ``{node.name}`` a mapping. Both are what people
write first, so an error says to put them in quotes.
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
# Two escapes of JSON for one character, which YAML does not know.
_SURROGATE_PAIR = re.compile(
    r'(?<!\\)((?:\\\\)*)\\u[dD][89abAB][0-9a-fA-F]{2}'
    r'\\u[dD][c-fC-F][0-9a-fA-F]{2}'
)
_TAG_OF_TIMESTAMP = 'tag:yaml.org,2002:timestamp'
_TOO_DEEP = _('nested too deeply')
NOT_JSON = _('JSON has no value such as %s')
TOO_MANY_DIGITS = _('the number has too many digits')
# A number that is too long for Python to read, or to write.
_NUMBER_TOO_LONG_FOR_PYTHON = re.compile('[-+]?[0-9][0-9A-Fa-f_x:]{1000,}')

_NAMES = '|'.join((*interpolation.ROOTS, interpolation.ITEM))
# A field at the beginning of a value.
_FIELD_AT_START = re.compile(rf'\{{\s*(?:{_NAMES})\b[^{{}}]*\}}')
# A field as a value that YAML takes for a mapping, and does not finish.
_FIELD_WITHOUT_QUOTES = re.compile(
    rf'[:\-,\[{{]\s*(?P<field>\{{\s*(?:{_NAMES})'
    r'(?:[.\[|][^{}]*)\})\s*(?:[,\]}]|$)'
)
# The one key of such a mapping: the path of the field.
_PATH_OF_FIELD = re.compile(rf'(?:{_NAMES})(?:[.\[].*)?')
# A value without quotes, up to the end of the line.
_VALUE_WITHOUT_QUOTES = re.compile(r'[:\-,\[]\s+(?P<text>[^\s\'"\[\]#][^\n]*)')
NULL = 'tag:yaml.org,2002:null'
_PREFIX_OF_STANDARD_TAGS = 'tag:yaml.org,2002:'
_TAGS_OF_COLLECTIONS = ('tag:yaml.org,2002:map', 'tag:yaml.org,2002:seq')


class _JsonLoader(Loader):  # type: ignore[misc,valid-type]
    """A loader that reads 1e5 as a number, as JSON does.

    To YAML 1.1 it is text: there, a number with an exponent has a dot and a
    sign, as in 1.0e+5.
    """


_JsonLoader.add_implicit_resolver(
    'tag:yaml.org,2002:float',
    # The words are numbers to Python's reader of JSON, so that they get the
    # error of 1e999, and do not become text.
    re.compile(r'-?[0-9.]+[eE][-+]?[0-9]+|NaN|-?Infinity'),
    first=list('-0123456789NI'),
)


class Dumper(yaml.SafeDumper):  # type: ignore[misc]
    """A dumper whose output does not depend on how PyYAML was built."""

    allow_unicode: bool | None

    def write_double_quoted(self, text: str, split: bool = True) -> None:
        """Write a text, with escapes where a terminal would not show it."""
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
    """A dumper for what is large."""


def _represent_text(dumper: typing.Any, text: str) -> yaml.ScalarNode:
    """Put a text in double quotes if it has a control character.

    There it is written as an escape. Without quotes, PyYAML writes U+0085 as
    it is, and reads it as a line feed.
    """
    style = None
    if exceptions.CONTROL_CHARACTER.search(text):
        style = '"'
    return dumper.represent_scalar(_TAG_OF_TEXT, text, style)


def _write_no_aliases(_dumper: typing.Any, _data: typing.Any) -> bool:
    """Have every value written in full, without aliases such as ``*id001``."""
    return True


for _dumper in (Dumper, FastDumper):
    _dumper.add_representer(str, _represent_text)
    _dumper.ignore_aliases = _write_no_aliases


def dump(value: typing.Any, **options: typing.Any) -> str:
    """Write plain data as YAML, with mappings in their own order.

    ``{'b': 1, 'a': [2]}`` gives the lines ``b: 1``, ``a:`` and ``- 2``.

    :param options: of PyYAML's ``dump``.
    """
    options = {
        'Dumper': Dumper,
        'sort_keys': False,
        'allow_unicode': True,
        **options,
    }
    text = str(yaml.dump(value, **options))
    if exceptions.CONTROL_CHARACTER.search(text.replace('\n', '')):
        # libyaml, by which FastDumper writes, has no escapes for some control
        # characters, such as those that turn text around. Dumper has.
        text = str(yaml.dump(value, **{**options, 'Dumper': Dumper}))
    return text


def comment(text: str, width: int = sys.maxsize) -> str:
    """Write a text as a comment; its line feeds become blanks.

    :param width: characters of a line; a longer text has several lines. Those
        behind the first are indented, so that they are seen to go on.
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

    :param path: below ``ironic_inspection_rules``.
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
    """Parse the documents of a file to nodes of YAML, with their places.

    Empty documents are left out.

    :param text: text of the whole file.
    :raises: YAMLError where they cannot be read, or are too large.
    """
    text = make_readable(text)
    try:
        _check_bounds(text)
    except (yaml.scanner.ScannerError, yaml.parser.ParserError) as exc:
        # libyaml has a limit of its own for the depth, with another message.
        # It reads ahead, so that it may reach its limit before ours.
        before = text[: exc.problem_mark.index + 1]
        if budget.is_deeper(before.encode(errors='replace'), DEPTH):
            exc.problem = _TOO_DEEP
        raise
    loader = Loader
    if _is_json(text):
        # In JSON, 1e5 is a number.
        loader = _JsonLoader
    return [
        node for node in yaml.compose_all(text, loader) if node is not None
    ]


def _is_json(text: str) -> bool:
    """Return whether the text of a whole file is JSON.

    :param text: not nested too deeply for Python to read it.
    """
    if not text.lstrip().startswith(('[', '{')):
        # Most files are other YAML: it need not be parsed to see that.
        return False
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def find_item_lines(node: yaml.SequenceNode, text: str) -> list[int]:
    """Return the lines in which the items of a list begin, from zero.

    For an alias, it is the line of the alias: its node has the place of the
    anchor, which would mislead in messages.

    :param text: text of the whole file.
    """
    # The node of an alias is that of its anchor, which comes before: it begins
    # before the list, or in an earlier item. All other items begin behind the
    # end of the item before.
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
    """Return the lines in which the items of a list begin, also of aliases.

    Only the events of YAML have the place of an alias.
    """
    # Both loops take from one iterator: the second goes on where the first
    # one ends.
    events = iter(yaml.parse(make_readable(text), Loader))
    for event in events:
        if isinstance(event, yaml.SequenceStartEvent) and (
            event.start_mark.index == node.start_mark.index
        ):
            # The list begins.
            break
    lines = []
    # How many collections inside of the list have begun and not ended. At 0,
    # an item begins.
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
    """Return the text of a file as YAML can read it, of the same length.

    In JSON, tabs between values become blanks. A pair of escapes for a single
    character, such as ``\\ud83d\\ude00``, which YAML refuses, becomes
    ``\\ufffd\\ufffd``; :func:`construct` reads the value from the file again.
    All values keep their places.
    """
    # Only JSON has tabs where they matter to YAML, and only between values.
    if text.lstrip().startswith(('[', '{')):
        return _SURROGATE_PAIR.sub(
            r'\1\\ufffd\\ufffd', text.replace('\t', ' ')
        )
    return text


def _find_extent_of_alias(
    name: str, anchored: typing.Mapping[str, _Extent], outer: list[_Extent]
) -> _Extent:
    """Return the extent of the value that an alias stands for.

    In ``&a [*a]`` an alias is inside of its own value, which has no end. An
    alias without an anchor counts as a single value.

    :param anchored: the extents of complete values by their anchor.
    :param outer: the collections that the alias is in.
    """
    if name in anchored:
        return anchored[name]
    if any(name == around.anchor for around in outer):
        # It has no end: with this height the caller finds it too deep.
        return _Extent(height=DEPTH)
    return _Extent()


def _check_bounds(text: str) -> None:
    """Refuse text that would exhaust the stack or the memory.

    A few lines of YAML can stand for billions of values, by aliases of
    aliases: ``a: &a [x, x]``, ``b: &b [*a, *a]``, and so on. So values are
    counted before any of them is made.

    :raises: MarkedYAMLError if it is nested too deeply, or aliases stand for
        too many values.
    """
    # The extents of the values that aliases may stand for, by their anchor.
    anchored: dict[str, _Extent] = {}
    # The file, and the collections that have begun and not ended.
    outer = [_Extent()]
    # Number of values for which all aliases stand.
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
            # It makes the value around it higher and larger.
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
    """Return the problem of a node: mostly, that it needs quotes.

    For example, ``!eq`` is a tag to YAML, and must be written ``"!eq"``. Nodes
    inside of the node are not checked.

    :param text: text of the whole file.
    :returns: a sentence; None if nothing is wrong.
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
    # YAML drops the "!" of "! eq": only the text of the file has it.
    if text.startswith('! ', node.start_mark.index):
        return _say_to_quote(f'! {node.value}')
    return None


def _find_unquoted_field(node: yaml.MappingNode) -> str | None:
    """Return what to write in place of a mapping that is meant as a field.

    YAML reads ``{node.name}`` as a mapping of one key without a value, and
    ``{{`` as the beginning of a mapping whose key is a mapping.

    :returns: a sentence; None if the mapping is no field.
    """
    if not node.flow_style or len(node.value) != 1:
        return None
    key, value = node.value[0]
    # In {node.name} the value of the key is empty, which is null to YAML.
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
    """Return what is probably wrong in a line that is no YAML.

    For example, of ``op: @name`` that the text must be in quotes, and of a
    line that begins with a tab that YAML does not know tabs.

    :param text: text of the whole file.
    :param line: number of the line, from zero.
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
    """Convert an error of YAML to the error of a file, with its place.

    If the line looks like a known slip, such as a value that needs quotes, the
    error says so.

    :param text: text of the whole file.
    """
    if isinstance(error, yaml.reader.ReaderError):
        return _as_character_error(path, text, error)
    mark = getattr(error, 'problem_mark', None)
    reason = getattr(error, 'problem', None) or str(error)
    if mark is None:
        return exceptions.InvalidDocument(path, reason)
    # YAML's own errors are subclasses. Those of this package, which are not,
    # say what to do already.
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
    """Convert the error of a character that YAML does not allow.

    :param text: text of the whole file.
    """
    # The second line of YAML's own words names no file, but a "unicode
    # string", and its position counts octets or characters.
    reason = str(error).splitlines()[0]
    # YAML stops at the first character that it does not allow.
    before, _character, _behind = text.partition(chr(error.character))
    *lines_before, beginning_of_line = before.split('\n')
    return exceptions.InvalidDocument(
        path, reason, (len(lines_before) + 1, len(beginning_of_line) + 1)
    )


def _say_to_quote(text: str) -> str:
    """Return the message that a text must be in quotes, with the quotes.

    For example, ``text like this must be in quotes: write "!eq"``.
    """
    written = text.replace('\\', '\\\\').replace('"', '\\"')
    return _('text like this must be in quotes: write "%s"') % written


def construct(node: yaml.Node, text: str) -> typing.Any:
    """Return the value of a node, as JSON could have it.

    ``{a: [1, x]}`` gives ``{'a': [1, 'x']}``. A time such as ``2024-01-31``
    stays text: JSON has no times.

    :param text: text of the whole file.
    :raises: MarkedYAMLError for a value that JSON cannot hold, or that is no
        value of a rule file, such as a field without quotes.
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
    written = text[node.start_mark.index : node.end_mark.index]
    if (
        node.style == '"'
        and _SURROGATE_PAIR.search(written)
        and '\ufffd' in node.value
    ):
        # make_readable() has put marks in place of the escapes, which
        # YAML refuses. The text of the file still has the pair.
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

    :param written: the value as it stands in the file.
    :raises: MarkedYAMLError where the value is not of its type, such as
        ``!!bool maybe``, or is a number that Python cannot write.
    """
    try:
        value = yaml.constructor.SafeConstructor().construct_document(node)
        # Python reads numbers of any length to the base 16, but writes none of
        # more than 4300 digits: then this is a ValueError.
        str(value)
    except (yaml.constructor.ConstructorError, ValueError, LookupError) as exc:
        # PyYAML lets a LookupError out for text that is not of its type.
        if _NUMBER_TOO_LONG_FOR_PYTHON.fullmatch(written):
            problem = TOO_MANY_DIGITS
        elif written.startswith('!') and isinstance(exc, yaml.YAMLError):
            # YAML's own words name the tag.
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
    """Return the value of a mapping with its merge keys, ``<<``, resolved.

    ``{<<: *base, priority: 2}`` has all members of ``base``, but its own
    priority. Names are checked before the merge: afterwards, the mapping may
    have a name twice, with its own value and the merged value that it
    replaces.
    """
    check_names(node)
    yaml.constructor.SafeConstructor().flatten_mapping(node)
    for key, _value in node.value:
        _require_text(key, _TAG_OF_TEXT)
    # An alias has the node constructed again: a name with a merged value must
    # not count as double then. The last value of a name is its own.
    last_by_name = {key.value: (key, value) for key, value in node.value}
    node.value = list(last_by_name.values())
    return {
        construct(key, text): construct(value, text)
        for key, value in node.value
    }


def check_names(node: yaml.MappingNode) -> None:
    """Check that the keys of a mapping are texts, and that none is double.

    :raises: MarkedYAMLError at the first wrong key.
    """
    names = set()
    for key, _value in node.value:
        _require_text(key, _TAG_OF_TEXT, MERGE)
        if key.value in names:
            raise yaml.MarkedYAMLError(
                problem=_('key "%s" is there twice') % key.value,
                problem_mark=key.start_mark,
            )
        names.add(key.value)


def _require_text(key: yaml.Node, *tags: str) -> None:
    """Check that a key is text, as keys of JSON are.

    :param tags: the tags of YAML that the key may have.
    :raises: MarkedYAMLError for another tag, such as the tag of a number.
    """
    if key.tag not in tags:
        problem = _('keys must be text')
        if isinstance(key, yaml.ScalarNode) and key.value:
            problem = _('keys must be text: put quotes around %s') % key.value
        raise yaml.MarkedYAMLError(
            problem=problem, problem_mark=key.start_mark
        )
