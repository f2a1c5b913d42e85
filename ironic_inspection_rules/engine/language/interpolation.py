# SPDX-License-Identifier: Apache-2.0

"""Replacement fields in text, such as ``{node.extra[rack]}``.

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

# A field without filters: "node.extra.rack", "inventory[disks][0].size".
_PATH = re.compile(
    r'(?P<root>[A-Za-z_][A-Za-z0-9_]*)'
    r'(?P<steps>(?:\.[^\s.\[\]{}!:|]+|\[[^\]]{1,255}\])*)'
)

# A key after a dot ends before what has a meaning between arguments.
_PATH_IN_ARGUMENT = re.compile(
    r"""(?P<root>[A-Za-z_][A-Za-z0-9_]*)"""
    r"""(?P<steps>(?:\.[^\s.\[\]{}!:|,()='"]+|\[[^\]]{1,255}\])*)"""
)

# One step of a path: ".rack", "[0]".
_STEP = re.compile(r'\.([^\s.\[\]{}!:|]+)|\[([^\]]+)\]')
# What may follow a path: a conversion, a format, and the last brace.
_END = re.compile(r'(?P<conversion>![sr])?(?::(?P<spec>[^{}]{0,40}))?\}')
_ESCAPED_BRACE = re.compile(r'\{\{|\}\}')
_BRACE = re.compile(r'[{}]')

# A format such as ":99999" would make a short value a long text.
_WIDE_FORMAT = re.compile(r'\d{5}')


class Field(typing.NamedTuple):
    """One replacement field, such as ``{node.name | upper}``.

    ``text`` is what stands between the braces. ``root`` is None if that is
    not a path, and may be a name that is none of :data:`ROOTS`.
    ``conversion`` is ``s``, ``r`` or None, ``spec`` the format after the
    colon. ``problem`` says what is wrong with its filters, None if nothing
    is.
    """

    text: str
    root: str | None
    steps: data_path.Path = ()
    conversion: str | None = None
    spec: str | None = None
    filters: tuple[filter_syntax.FilterCall, ...] = ()
    problem: str | None = None

    @property
    def is_plain(self) -> bool:
        """Whether the field is only a path, without filters or a format."""
        is_formatted = self.conversion is not None or self.spec is not None
        return not is_formatted and not self.filters

    @property
    def is_table(self) -> bool:
        """Whether the field is a table itself, not a row of it."""
        return self.root == TABLES and len(self.steps) == 1 and self.is_plain


def parse(text: str) -> list[str | Field]:
    """Split text into literal pieces and fields; never raises.

    ``a{{b}}{node.name}`` gives ``a{b}`` and the field ``node.name``. Text
    between braces that is no path, such as ``{a b}``, gives a field without a
    root, which is missing on every machine.
    """
    return list(_parse_pieces(text))


# Checks of a rule read its texts many times.
@text_cache.cache_short_texts(maxsize=2048, longest=256)
def _parse_pieces(text: str) -> tuple[str | Field, ...]:
    """Split text into literal pieces and fields, as a tuple to be cached.

    :func:`parse` makes a list of the tuple, which its callers may change.
    """
    pieces: list[str | Field] = []
    # The literal text since the last field.
    literal = ''
    position = 0
    last_closing = text.rfind('}')
    while position < len(text):
        if _ESCAPED_BRACE.match(text, position):
            # Two braces stand for one.
            literal += text[position]
            position += 2
            continue
        opens_field = text[position] == '{' and position < last_closing
        if not opens_field:
            # Literal text, or a lone brace: it ends before the next brace.
            end = len(text)
            brace = _BRACE.search(text, position + 1)
            if brace is not None:
                end = brace.start()
            literal += text[position:end]
            position = end
            continue
        if literal:
            pieces.append(literal)
            literal = ''
        field = field_at(text, position)
        if field is None:
            # Text up to the next closing brace, which opens_field has seen.
            closing = text.index('}', position)
            field = Field(text[position + 1 : closing], root=None)
        pieces.append(field)
        position += len(field.text) + len('{}')
    if literal:
        pieces.append(literal)
    return tuple(pieces)


def sole_field(text: typing.Any) -> Field | None:
    """Return the field of a text that is a single field, else None.

    ``{node.name}`` is; ``a{node.name}`` is not.

    :param text: any value of a rule.
    """
    if not isinstance(text, str):
        return None
    pieces = parse(text)
    if len(pieces) == 1 and isinstance(pieces[0], Field):
        return pieces[0]
    return None


def escape(text: str) -> str:
    """Double the braces of a text, so that they begin no field."""
    return text.replace('{', '{{').replace('}', '}}')


def field_at(text: str, position: int) -> Field | None:
    """Read the field at a position, or return None if there is none.

    ``{node.name | upper!s:>8}`` has the path ``node.name``, the filter
    ``upper``, and the end ``!s:>8}``.

    :param position: the position of the opening brace.
    :returns: the field, with a ``problem`` if the syntax of its filters is
        wrong. Its root may be an unknown name.
    """
    path = _PATH.match(text, position + 1)
    if path is None:
        return None
    reader = filter_syntax.Reader(text, _read_path_in_argument)
    try:
        filters = reader.read(path.end())
    except filter_syntax.SyntaxProblem as exc:
        return _make_wrong_field(text, position, path, str(exc))
    # Blanks may follow a filter, but not a path alone: {node.name } is none.
    start_of_end = path.end()
    if filters:
        start_of_end = reader.position
    end = _END.match(text, start_of_end)
    if end is None or _WIDE_FORMAT.search(end['spec'] or ''):
        if filters:
            return _make_wrong_field(
                text,
                position,
                path,
                _('"|" or the end of the field is expected'),
            )
        return None
    conversion = None
    if end['conversion']:
        conversion = end['conversion'].removeprefix('!')
    return Field(
        text=text[position + 1 : end.end() - 1],
        root=path['root'],
        steps=_split_steps(path),
        conversion=conversion,
        spec=end['spec'],
        filters=filters,
    )


def _split_steps(path: re.Match[str]) -> data_path.Path:
    """Return the keys and indices of a path as text.

    ``node.extra[rack]`` has ``extra`` and ``rack``.
    """
    steps = []
    # A step has a dot or brackets; the group of the other form is empty.
    for dotted, bracketed in _STEP.findall(path['steps']):
        steps.append(dotted or bracketed)
    return tuple(steps)


def _make_wrong_field(
    text: str, position: int, beginning: re.Match[str], problem: str
) -> Field | None:
    """Return the field at a position whose filters have a syntax problem.

    The field ends at the next closing brace.

    :param position: the position of the opening brace.
    :param beginning: the match of ``node.name`` in ``{node.name | }``.
    :returns: None if there is no closing brace, or if the name is no root of
        the data: ``{a | }`` is like any other text in braces that is no path.
    """
    inside, closing_brace, _rest = text[position + 1 :].partition('}')
    root = beginning['root']
    is_readable = root in (*ROOTS, ITEM)
    if not closing_brace or not is_readable:
        return None
    return Field(inside, root, _split_steps(beginning), problem=problem)


def _read_path_in_argument(
    text: str, position: int
) -> tuple[Field, int] | None:
    """Read a path among the arguments of a filter.

    In ``{inventory.a | default(node.name)}`` it is ``node.name``.

    :returns: the path as a field, and the position behind it. None if the text
        does not begin with the name of a root, but with a word such as
        ``true``, or with a mistake.
    """
    path = _PATH_IN_ARGUMENT.match(text, position)
    if path is None or path['root'] not in (*ROOTS, ITEM):
        return None
    field = Field(path[0], path['root'], _split_steps(path))
    return field, path.end()


def fill_item(text: str, item: typing.Any) -> str:
    """Replace ``{item…}`` in a text of a rule by an item of a literal loop.

    With the item ``{'name': 'a'}``, ``{item.name}_{node.name}`` becomes
    ``a_{node.name}``. Other fields stay as they are. So does ``{item…}`` with
    a filter or a format, or if its value is missing, a list or a mapping.
    Braces in the item are not escaped: they become fields of the text.
    """
    filled = ''
    for piece in parse(text):
        if isinstance(piece, str):
            # Parsing has halved the double braces.
            filled += escape(piece)
            continue
        value = data_path.ABSENT
        if piece.root == ITEM and piece.is_plain:
            value = data_path.get(item, piece.steps)
        if value is data_path.ABSENT or isinstance(value, dict | list):
            filled += '{' + piece.text + '}'
        else:
            filled += str(value)
    return filled


def fields(value: typing.Any) -> list[Field]:
    """Return all fields in a value, with fields in keys of mappings.

    Fields in arguments of filters are left out; :func:`.effects.fields` has
    them.

    :param value: any value of a rule.
    """
    if isinstance(value, str):
        return [piece for piece in parse(value) if isinstance(piece, Field)]
    parts: typing.Iterable[typing.Any] = ()
    if isinstance(value, dict):
        parts = [*value.keys(), *value.values()]
    elif isinstance(value, list | tuple):
        parts = value
    all_fields = []
    for part in parts:
        all_fields += fields(part)
    return all_fields
