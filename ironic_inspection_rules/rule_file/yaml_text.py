# SPDX-License-Identifier: Apache-2.0

"""YAML of rules: read with bounds and marks, written as people like it."""

import dataclasses
import json
import math
import re
import sys
import textwrap
import typing

import yaml

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.rule_file import quoting

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
NOT_JSON = _('JSON has no value such as %s')


class Plain:
    """Write twice what is in two places, without ``&id001``."""

    def ignore_aliases(self, _data: typing.Any) -> bool:
        """Keep a dumper from looking for what it has written before."""
        return True

    def represent_text(self, text: str) -> yaml.ScalarNode:
        """Put text in double quotes where others would read it otherwise.

        PyYAML writes U+0085 as it is and reads it as a line feed.
        """
        represent: typing.Any = self
        return represent.represent_scalar(
            'tag:yaml.org,2002:str', text,
            '"' if exceptions.CONTROL_CHARACTER.search(text) else None)


class Dumper(Plain, yaml.SafeDumper):  # type: ignore[misc]
    """A dumper whose output does not depend on how PyYAML was built."""

    allow_unicode: bool | None

    def write_double_quoted(self, text: str, split: bool = True) -> None:
        """Write a text, with escapes where a terminal would not show it."""
        allowed = self.allow_unicode
        if exceptions.CONTROL_CHARACTER.search(text):
            self.allow_unicode = False
        super().write_double_quoted(text, split)
        self.allow_unicode = allowed


class FastDumper(Plain, getattr(  # type: ignore[misc]
        yaml, 'CSafeDumper', yaml.SafeDumper)):
    """A dumper for what is large."""


for _dumper in (Dumper, FastDumper):
    _dumper.add_representer(str, Plain.represent_text)


def dump(value: typing.Any, **options: typing.Any) -> str:
    """Write plain data, with mappings in their own order.

    :param options: of PyYAML's ``dump``.
    """
    options = {'Dumper': Dumper, 'sort_keys': False, 'allow_unicode': True,
               **options}
    text = str(yaml.dump(value, **options))
    if exceptions.CONTROL_CHARACTER.search(text.replace('\n', '')):
        # libyaml has no escapes for what turns text around.
        text = str(yaml.dump(value, **{**options, 'Dumper': Dumper}))
    return text


def comment(text: str, width: float = math.inf) -> str:
    """Write a text as a comment, whatever is in it.

    :param width: characters of a line.
    """
    line = exceptions.one_line(' '.join(text.split()))
    return '\n'.join(textwrap.wrap(
        line, sys.maxsize if width == math.inf else int(width),
        initial_indent='# ', subsequent_indent='#   ',
        break_long_words=False, break_on_hyphens=False)) + '\n'


@dataclasses.dataclass
class _Extent:
    """How deep a value is nested, and of how many it is made."""

    height: int = 0
    size: int = 1
    anchor: str | None = None

    def add(self, inner: '_Extent') -> None:
        self.height = max(self.height, inner.height + 1)
        self.size += inner.size


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


def construct(node: yaml.Node, text: str) -> typing.Any:
    """Return the node's value; times stay the text they are.

    :param text: of the whole file.
    """
    problem = quoting.problem(node, text)
    if problem:
        raise yaml.MarkedYAMLError(problem=problem,
                                   problem_mark=node.start_mark)
    if isinstance(node, yaml.SequenceNode):
        return [construct(item, text) for item in node.value]
    if isinstance(node, yaml.MappingNode):
        _check_keys(node)
        yaml.constructor.SafeConstructor().flatten_mapping(node)
        return {construct(key, text): construct(value, text)
                for key, value in node.value}
    if node.tag == _TIMESTAMP:
        return node.value
    written = text[node.start_mark.index:node.end_mark.index]
    if node.style == '"' and _PAIR.search(written) and '\ufffd' in node.value:
        return json.loads(written)
    value = yaml.constructor.SafeConstructor().construct_document(node)
    if isinstance(value, bytes) or (
            isinstance(value, float) and not math.isfinite(value)):
        raise yaml.MarkedYAMLError(problem=NOT_JSON % written,
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
