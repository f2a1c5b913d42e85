# SPDX-License-Identifier: Apache-2.0

"""Replacement fields: ``{node.extra[rack]}`` and where text has them.

The grammar is Python's format strings (spec 003 "Variable interpolation")
without Python behind it: a path steps through plain data only, so that no
text whatsoever reaches an attribute of an object.

::

    text        = { "{{" | "}}" | field | character }
    field       = "{" path filters [ "!s" | "!r" ] [ ":" spec ] "}"
    path        = root { "." key | "[" key "]" }

The syntax of filters is in :mod:`.filter_syntax`.

Text between braces that is not a path is a missing field; an unpaired brace
is literal text.
"""

import re
import typing

from ironic_inspection_rules.engine.language import filter_syntax
from ironic_inspection_rules.engine.language import path as data_path
from ironic_inspection_rules.engine.language import text_cache
from ironic_inspection_rules.i18n import _

NODE, PORTS, PLUGIN_DATA = 'node', 'ports', 'plugin_data'
"""The roots that actions change."""

OF_NODE = (NODE, PORTS, 'port_groups', 'previous')
"""The roots that the early phase does not have."""

TABLES = 'tables'
ROOTS = (*OF_NODE, 'inventory', PLUGIN_DATA, 'vars', TABLES)
ITEM = 'item'

_PATH = re.compile(
    r'(?P<root>[A-Za-z_][A-Za-z0-9_]*)'
    r'(?P<steps>(?:\.[^\s.\[\]{}!:|]+|\[[^\]]{1,255}\])*)')
_PATH_IN_ARGUMENT = re.compile(
    r"""(?P<root>[A-Za-z_][A-Za-z0-9_]*)"""
    r"""(?P<steps>(?:\.[^\s.\[\]{}!:|,()='"]+|\[[^\]]{1,255}\])*)""")
_END = re.compile(r'(?P<conversion>![sr])?(?::(?P<spec>[^{}]{0,40}))?\}')
_STEP = re.compile(r'\.([^\s.\[\]{}!:|]+)|\[([^\]]+)\]')
_TOKEN = re.compile(r'\{\{|\}\}')
_BRACE = re.compile(r'[{}]')
_WIDE = re.compile(r'\d{5}')


class Field(typing.NamedTuple):
    """One replacement field.

    ``root`` is None if the text is not a path. ``problem`` says what is wrong
    with its filters.
    """

    text: str
    root: str | None
    steps: data_path.Path = ()
    conversion: str | None = None
    spec: str | None = None
    filters: tuple[filter_syntax.Call, ...] = ()
    problem: str | None = None

    @property
    def is_plain(self) -> bool:
        """Return whether it is only a path."""
        return self.conversion is None and self.spec is None and (
            not self.filters)

    @property
    def is_table(self) -> bool:
        """Return whether it is a table itself, not a row of it."""
        return self.root == TABLES and len(self.steps) == 1 and self.is_plain


def parse(text: str) -> list[str | Field]:
    """Split text into literal pieces and fields; never raises."""
    return list(_parse(text))


# Checks of a rule read its texts many times.
@text_cache.for_short(maxsize=2048, longest=256)
def _parse(text: str) -> tuple[str | Field, ...]:
    pieces: list[str | Field] = []
    literal = ''
    position = 0
    last = text.rfind('}')
    while position < len(text):
        if _TOKEN.match(text, position):
            literal += text[position]
            position += 2
            continue
        if text[position] != '{' or position > last:
            brace = _BRACE.search(text, position + 1)
            end = brace.start() if brace else len(text)
            literal += text[position:end]
            position = end
            continue
        if literal:
            pieces.append(literal)
            literal = ''
        field = field_at(text, position) or Field(
            text[position + 1:text.index('}', position)], None)
        pieces.append(field)
        position += len(field.text) + 2
    if literal:
        pieces.append(literal)
    return tuple(pieces)


def sole_field(text: typing.Any) -> Field | None:
    """Return the field if a text consists of one, else None."""
    pieces = parse(text) if isinstance(text, str) else []
    return pieces[0] if len(pieces) == 1 and isinstance(
        pieces[0], Field) else None


def escape(text: str) -> str:
    """Escape the braces of a text."""
    return text.replace('{', '{{').replace('}', '}}')


def field_at(text: str, position: int) -> Field | None:
    """Read the field at a position, or return None if there is none."""
    path = _PATH.match(text, position + 1)
    if path is None:
        return None
    reader = filter_syntax.Reader(text, _argument)
    try:
        filters = reader.read(path.end())
    except filter_syntax.SyntaxProblem as exc:
        return _with_problem(text, position, path, str(exc))
    end = _END.match(text, reader.position if filters else path.end())
    if end is None or _WIDE.search(end['spec'] or ''):
        if filters:
            return _with_problem(text, position, path,
                                 _('"|" or the end of the field is expected'))
        return None
    return Field(text[position + 1:end.end() - 1], path['root'], _steps(path),
                 end['conversion'] and end['conversion'][1], end['spec'],
                 filters)


def _steps(path: re.Match[str]) -> data_path.Path:
    return tuple(dotted or bracketed for dotted, bracketed
                 in _STEP.findall(path['steps']))


def _with_problem(text: str, position: int, path: re.Match[str],
                  problem: str) -> Field | None:
    inside, closed, _rest = text[position + 1:].partition('}')
    if not closed or path['root'] not in (*ROOTS, ITEM):
        return None
    return Field(inside, path['root'], _steps(path), problem=problem)


def _argument(text: str, position: int) -> tuple[Field, int] | None:
    path = _PATH_IN_ARGUMENT.match(text, position)
    if path is None or path['root'] not in (*ROOTS, ITEM):
        return None
    return Field(path[0], path['root'], _steps(path)), path.end()


def fill_item(text: str, item: typing.Any) -> str:
    """Replace ``{item…}`` in a text of a rule by an item of a literal loop.

    Other fields stay as they are, and so does an item with a filter or
    format, one that is a list or mapping, and a missing one.
    """
    filled = ''
    for piece in parse(text):
        if isinstance(piece, str):
            filled += escape(piece)
            continue
        value = data_path.ABSENT
        if piece.root == ITEM and piece.is_plain:
            value = data_path.get(item, piece.steps)
        if value is data_path.ABSENT or isinstance(value, dict | list):
            filled += f'{{{piece.text}}}'
        else:
            filled += str(value)
    return filled


def fields(value: typing.Any) -> list[Field]:
    """Return all fields anywhere in a value of strings, lists, mappings."""
    if isinstance(value, str):
        return [piece for piece in parse(value) if isinstance(piece, Field)]
    if isinstance(value, dict):
        value = [*value.keys(), *value.values()]
    if isinstance(value, list | tuple):
        return [field for item in value for field in fields(item)]
    return []
