# SPDX-License-Identifier: Apache-2.0

"""YAML: its bounds, hints for errors, double keys, types; how it is written.

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
ALIASED = 1_000_000  # Values that all aliases of a file may stand for.

Loader = getattr(yaml, 'CSafeLoader', yaml.SafeLoader)
_TEXT = 'tag:yaml.org,2002:str'
MERGE = 'tag:yaml.org,2002:merge'
# Two escapes of JSON for one character, which YAML does not know.
_PAIR = re.compile(
    r'(?<!\\)((?:\\\\)*)\\u[dD][89abAB][0-9a-fA-F]{2}'
    r'\\u[dD][c-fC-F][0-9a-fA-F]{2}'
)
_TIMESTAMP = 'tag:yaml.org,2002:timestamp'
_TOO_DEEP = _('nested too deeply')
NOT_JSON = _('JSON has no value such as %s')
TOO_MANY_DIGITS = _('the number has too many digits')
# A number that is too long for Python to read, or to write.
_LONG_NUMBER = re.compile('[-+]?[0-9][0-9A-Fa-f_x:]{1000,}')

_NAMES = '|'.join((*interpolation.ROOTS, interpolation.ITEM))
# A field at the beginning of a value.
_FIELD = re.compile(rf'\{{\s*(?:{_NAMES})\b[^{{}}]*\}}')
# A field as a value that YAML takes for a mapping, and does not finish.
_UNQUOTED = re.compile(
    rf'[:\-,\[{{]\s*(?P<field>\{{\s*(?:{_NAMES})'
    r'(?:[.\[|][^{}]*)\})\s*(?:[,\]}]|$)'
)
# The one key of such a mapping: the path of the field.
_PATH = re.compile(rf'(?:{_NAMES})(?:[.\[].*)?')
# A value without quotes, up to the end of the line.
_PLAIN = re.compile(r'[:\-,\[]\s+(?P<text>[^\s\'"\[\]#][^\n]*)')
NULL = 'tag:yaml.org,2002:null'
_STANDARD = 'tag:yaml.org,2002:'
_COLLECTIONS = ('tag:yaml.org,2002:map', 'tag:yaml.org,2002:seq')


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
    """Put text in double quotes if it ends a line or reorders it in between.

    PyYAML writes U+0085 as it is and reads it as a line feed.
    """
    style = None
    if exceptions.CONTROL_CHARACTER.search(text):
        style = '"'
    return dumper.represent_scalar(_TEXT, text, style)


def _ignore_aliases(_dumper: typing.Any, _data: typing.Any) -> bool:
    """Let what is in two places be written twice, without ``&id001``."""
    return True


for _dumper in (Dumper, FastDumper):
    _dumper.add_representer(str, _represent_text)
    _dumper.ignore_aliases = _ignore_aliases


def dump(value: typing.Any, **options: typing.Any) -> str:
    """Write plain data, with mappings in their own order.

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
        # libyaml has no escapes for what turns text around.
        text = str(yaml.dump(value, **{**options, 'Dumper': Dumper}))
    return text


def comment(text: str, width: int = sys.maxsize) -> str:
    """Write a text as a comment, whatever is in it."""
    line = exceptions.one_line(' '.join(text.split()))
    return (
        '\n'.join(
            textwrap.wrap(
                line,
                width,
                initial_indent='# ',
                subsequent_indent='#   ',
                break_long_words=False,
                break_on_hyphens=False,
            )
        )
        + '\n'
    )


def packaged(path: str) -> typing.Any:
    """Read a YAML file of this package.

    :param path: below ``ironic_inspection_rules``.
    """
    file = importlib.resources.files('ironic_inspection_rules').joinpath(path)
    return yaml.load(file.read_text('utf-8'), Loader)


@dataclasses.dataclass
class _Extent:
    """The depth of a nested value, and the number of values in it.

    ``height`` is the number of levels below it, ``size`` that of all values,
    itself among them. ``anchor`` is the name by which aliases repeat it.
    """

    height: int = 0
    size: int = 1
    anchor: str | None = None


def nodes(text: str) -> list[yaml.Node]:
    """Return the documents of a file as nodes of YAML, with their places.

    An empty document is left out.

    :param text: of the whole file.
    :raises: YAMLError where they cannot be read, or are too large.
    """
    text = readable(text)
    try:
        _check_bounds(text)
    except (yaml.scanner.ScannerError, yaml.parser.ParserError) as exc:
        # libyaml has a bound of its own for the depth, and other words for
        # it; it reads ahead, so that ours may not have been reached.
        before = text[: exc.problem_mark.index + 1]
        if budget.is_deeper(before.encode(errors='replace'), DEPTH):
            exc.problem = _TOO_DEEP
        raise
    return [
        node for node in yaml.compose_all(text, Loader) if node is not None
    ]


def item_lines(node: yaml.SequenceNode, text: str) -> list[int]:
    """Return the lines in which the items of a list begin, from zero.

    An item that is an alias counts where the alias stands, for messages about
    it; its node has the place of the anchor.

    :param text: of the whole file.
    """
    # The node of an alias is that of its anchor, which comes before. So it
    # begins before the list, or is an earlier item or inside of one; other
    # items begin behind the end of the item before.
    has_aliases = False
    end = node.start_mark.index
    for item in node.value:
        if item.start_mark.index <= end:
            has_aliases = True
        end = item.end_mark.index
    if not has_aliases:
        return [item.start_mark.line for item in node.value]
    return _item_lines_of_events(node, text)


def _item_lines_of_events(node: yaml.SequenceNode, text: str) -> list[int]:
    """Return the lines in which the items of a list begin, aliases among them.

    Only the events of YAML have the place of an alias.
    """
    events = iter(yaml.parse(readable(text), Loader))
    for event in events:
        if isinstance(event, yaml.SequenceStartEvent) and (
            event.start_mark.index == node.start_mark.index
        ):
            # The list begins.
            break
    lines = []
    # How deep inside of an item the event is.
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


def readable(text: str) -> str:
    """Return the text of a file as YAML can read it, of the same length.

    Of JSON, tabs between values become blanks. A pair of escapes that is one
    character to JSON, and that YAML refuses, becomes two marks of an unknown
    character; :func:`construct` reads such a value again, from the text as it
    is in the file.
    """
    # Only JSON has tabs where they matter to YAML, and only between values.
    if text.lstrip().startswith(('[', '{')):
        return _PAIR.sub(r'\1\\ufffd\\ufffd', text.replace('\t', ' '))
    return text


def _extent_of_alias(
    name: str, anchored: typing.Mapping[str, _Extent], outer: list[_Extent]
) -> _Extent:
    """Return the extent of what an alias stands for.

    An alias that stands for what it is in has no end: it is as high as
    nothing may be. One without an anchor counts as a single value.

    :param anchored: the extents of complete values by their anchor.
    :param outer: the collections that the alias is in.
    """
    if name in anchored:
        return anchored[name]
    if any(name == around.anchor for around in outer):
        return _Extent(height=DEPTH)
    return _Extent()


def _check_bounds(text: str) -> None:
    """Refuse text that would exhaust the stack or the memory.

    A few lines of YAML can stand for billions of values, by aliases of
    aliases. So depth and number are counted from the events of the parser,
    before any value is made of them.

    :raises: MarkedYAMLError where it is nested too deeply, or aliases stand
        for too many values.
    """
    # What an alias stands for, by its name.
    anchored: dict[str, _Extent] = {}
    # The file, and the collections that have begun and not ended.
    outer = [_Extent()]
    # The values that YAML would make once more, for all aliases.
    aliased = 0
    for event in yaml.parse(text, Loader):
        # The value that is complete with this event.
        complete: _Extent | None = None
        if isinstance(event, yaml.CollectionStartEvent):
            outer.append(_Extent(anchor=event.anchor))
        elif isinstance(event, yaml.CollectionEndEvent):
            complete = outer.pop()
        elif isinstance(event, yaml.ScalarEvent):
            complete = _Extent(anchor=event.anchor)
        elif isinstance(event, yaml.AliasEvent):
            complete = _extent_of_alias(event.anchor, anchored, outer)
            aliased += complete.size
        if complete is not None:
            around = outer[-1]
            around.height = max(around.height, complete.height + 1)
            around.size += complete.size
            if complete.anchor is not None:
                anchored[complete.anchor] = complete
        if aliased > ALIASED:
            raise yaml.MarkedYAMLError(
                problem=_('aliases stand for too many values'),
                problem_mark=event.start_mark,
            )
        if len(outer) + outer[-1].height > DEPTH:
            raise yaml.MarkedYAMLError(
                problem=_TOO_DEEP, problem_mark=event.start_mark
            )


def _problem(node: yaml.Node, text: str) -> str | None:
    """Return what is wrong with a node, mostly that it needs quotes.

    The nodes inside of it are not looked at.

    :param text: of the whole file.
    :returns: None if nothing is.
    """
    if isinstance(node, yaml.CollectionNode) and (
        node.tag not in _COLLECTIONS
    ):
        kind = str(node.tag).replace(_STANDARD, '!!')
        return _('there are no values of the type %s') % kind
    if isinstance(node, yaml.MappingNode):
        return _unquoted_field(node)
    if not isinstance(node, yaml.ScalarNode) or not node.tag:
        return None
    if node.tag.startswith('!'):
        return _quote(f'{node.tag} {node.value}'.strip())
    # "! eq" loses its sign without a trace.
    if text.startswith('! ', node.start_mark.index):
        return _quote(f'! {node.value}')
    return None


def _unquoted_field(node: yaml.MappingNode) -> str | None:
    """Return what to write where a mapping is a field without quotes.

    To YAML ``{node.name}`` is a mapping of one key without a value, and
    ``{{`` the beginning of a mapping with a mapping for its key.

    :returns: a sentence; None if it is no field.
    """
    if not node.flow_style or len(node.value) != 1:
        return None
    key, value = node.value[0]
    if getattr(value, 'tag', None) != NULL or value.value:
        return None
    if isinstance(key, yaml.MappingNode):
        return _('text with "{{" must be in quotes')
    if isinstance(key, yaml.ScalarNode) and _PATH.fullmatch(key.value):
        return _quote(f'{{{key.value}}}')
    return None


def syntax_hint(text: str, line: int) -> str | None:
    """Return what is probably wrong in a line that is no YAML.

    :param text: of the whole file.
    :param line: number of the line, from zero.
    """
    lines = text.split('\n')
    wrong = ''
    if line < len(lines):
        wrong = lines[line]
    if re.match(r' *\t', wrong):
        return _('YAML does not know tabs: indent with blanks')
    unquoted = _UNQUOTED.search(wrong)
    if unquoted:
        return _quote(unquoted['field'])
    plain = _PLAIN.search(wrong)
    if plain and (
        plain['text'].startswith(('!', '%', '@', '`', '&', '*'))
        or _FIELD.match(plain['text'])
    ):
        return _quote(plain['text'].rstrip())
    return None


def as_document_error(
    path: str, text: str, error: yaml.YAMLError | RecursionError
) -> exceptions.InvalidDocument:
    """Return the error of a file that is no YAML, with its place.

    :param text: of the whole file.
    """
    mark = getattr(error, 'problem_mark', None)
    reason = getattr(error, 'problem', None) or str(error)
    if mark is None:
        return exceptions.InvalidDocument(path, reason)
    # YAML's own errors are subclasses. Those of this package have a hint.
    if type(error) is not yaml.MarkedYAMLError:
        hint = syntax_hint(text, mark.line)
        if hint:
            reason = f'{reason}; {hint}'
    return exceptions.InvalidDocument(
        path, reason, (mark.line + 1, mark.column + 1)
    )


def _quote(text: str) -> str:
    written = text.replace('\\', '\\\\').replace('"', '\\"')
    return _('text like this must be in quotes: write "%s"') % written


def construct(node: yaml.Node, text: str) -> typing.Any:
    """Return the value of a node, as JSON could have it.

    A time stays the text that it is in the file.

    :param text: of the whole file.
    :raises: MarkedYAMLError for a value that JSON cannot hold, or that is no
        value of a rule file, such as a field without quotes.
    """
    problem = _problem(node, text)
    if problem:
        raise yaml.MarkedYAMLError(
            problem=problem, problem_mark=node.start_mark
        )
    if isinstance(node, yaml.SequenceNode):
        return [construct(item, text) for item in node.value]
    if isinstance(node, yaml.MappingNode):
        return _construct_mapping(node, text)
    if node.tag == _TIMESTAMP:
        return node.value
    written = text[node.start_mark.index : node.end_mark.index]
    if node.style == '"' and _PAIR.search(written) and '\ufffd' in node.value:
        # readable() has put marks in place of a pair of JSON's escapes, which
        # YAML refuses. The text of the file still has the pair.
        return json.loads(written)
    value = _construct_scalar(node, written)
    if isinstance(value, bytes) or (
        isinstance(value, float) and not math.isfinite(value)
    ):
        raise yaml.MarkedYAMLError(
            problem=NOT_JSON % written, problem_mark=node.start_mark
        )
    return value


def _construct_scalar(node: yaml.Node, written: str) -> typing.Any:
    """Return the value of what is neither a mapping nor a list.

    :param written: as it stands in the file.
    :raises: MarkedYAMLError where it is not of the type that YAML takes it
        for, or a number that Python cannot write.
    """
    try:
        value = yaml.constructor.SafeConstructor().construct_document(node)
        # Python reads long numbers to the base 16, and cannot write them.
        str(value)
    except (yaml.constructor.ConstructorError, ValueError, LookupError) as exc:
        # PyYAML lets a LookupError out for text that is not of its tag's
        # type, such as "!!bool maybe".
        if _LONG_NUMBER.fullmatch(written):
            problem = TOO_MANY_DIGITS
        elif written.startswith('!') and isinstance(exc, yaml.YAMLError):
            # YAML's own words name the tag.
            raise
        else:
            problem = _quote(written)
        raise yaml.MarkedYAMLError(
            problem=problem, problem_mark=node.start_mark
        ) from exc
    return value


def _construct_mapping(
    node: yaml.MappingNode, text: str
) -> dict[str, typing.Any]:
    """Return the value of a mapping, with what is merged into it by ``<<``.

    Names are checked before the merge, after which the same name may be
    there twice: its own value and the merged one that it replaces.
    """
    check_names(node)
    yaml.constructor.SafeConstructor().flatten_mapping(node)
    for key, _value in node.value:
        _require_text(key, _TEXT)
    # A node with an alias is constructed again, and then holds merged values
    # beside those that replace them, which must not count as twice.
    node.value = list(
        {key.value: (key, value) for key, value in node.value}.values()
    )
    return {
        construct(key, text): construct(value, text)
        for key, value in node.value
    }


def check_names(node: yaml.MappingNode) -> None:
    """Check that the keys of a mapping are text, each once.

    :raises: MarkedYAMLError where one is not.
    """
    names = set()
    for key, _value in node.value:
        _require_text(key, _TEXT, MERGE)
        if key.value in names:
            raise yaml.MarkedYAMLError(
                problem=_('key "%s" is there twice') % key.value,
                problem_mark=key.start_mark,
            )
        names.add(key.value)


def _require_text(key: yaml.Node, *tags: str) -> None:
    """Check that a key is text, as keys of JSON are.

    :param tags: the tags of YAML that it may have.
    :raises: MarkedYAMLError for any other, such as that of a number.
    """
    if key.tag not in tags:
        problem = _('keys must be text')
        if isinstance(key, yaml.ScalarNode) and key.value:
            problem = _('keys must be text: put quotes around %s') % key.value
        raise yaml.MarkedYAMLError(
            problem=problem, problem_mark=key.start_mark
        )
