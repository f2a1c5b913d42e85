# SPDX-License-Identifier: Apache-2.0

"""Replacement fields in text, e.g. ``{node.extra[rack]}``.

The grammar is the same as for Python's format strings (spec 003 "Variable
interpolation"), but Python does not evaluate them. A path leads through
plain data only, so that no text can access an attribute of an object.

::

    text        = { "{{" | "}}" | field | character }
    field       = "{" path filters [ "!s" | "!r" ] [ ":" spec ] "}"
    path        = root { "." key | "[" key "]" }

The syntax of filters is in :mod:`.filter_syntax`.

Text between braces that is not a path is a missing field. An unpaired brace
is literal text.
"""

import re
import typing

from ironic_inspection_rules.engine.language import filter_syntax
from ironic_inspection_rules.engine.language import path as data_path
from ironic_inspection_rules.engine.language import text_cache
from ironic_inspection_rules.i18n import _

NODE, PORTS, PLUGIN_DATA = 'node', 'ports', 'plugin_data'
"""The roots that actions can change."""

OF_NODE = (NODE, PORTS, 'port_groups', 'previous')
"""The roots that do not exist in the early phase."""

TABLES = 'tables'
ROOTS = (*OF_NODE, 'inventory', PLUGIN_DATA, 'vars', TABLES)
"""The roots of fields. In a loop, there is also :data:`ITEM`."""

ITEM = 'item'
"""The root of the current item of a loop."""

# A field without filters: "node.extra.rack", "inventory[disks][0].size".
_PATH = re.compile(
    r'(?P<root>[A-Za-z_][A-Za-z0-9_]*)'
    r'(?P<steps>(?:\.[^\s.\[\]{}!:|]+|\[[^\]]{1,255}\])*)'
)

# A key after a dot ends before characters that have a meaning in arguments.
_PATH_IN_ARGUMENT = re.compile(
    r"""(?P<root>[A-Za-z_][A-Za-z0-9_]*)"""
    r"""(?P<steps>(?:\.[^\s.\[\]{}!:|,()='"]+|\[[^\]]{1,255}\])*)"""
)

# One step of a path: ".rack", "[0]".
_STEP = re.compile(r'\.([^\s.\[\]{}!:|]+)|\[([^\]]+)\]')
# The end of a field: optionally a conversion and a format, and the brace.
_END = re.compile(r'(?P<conversion>![sr])?(?::(?P<spec>[^{}]{0,40}))?\}')
_ESCAPED_BRACE = re.compile(r'\{\{|\}\}')
_BRACE = re.compile(r'[{}]')

# A format such as ":99999" would turn a short value into a long text.
_WIDE_FORMAT = re.compile(r'\d{5}')


class Field(typing.NamedTuple):
    """One replacement field, e.g. ``{node.name | upper}``.

    ``text`` is the text between the braces. ``root`` is None if the text is
    not a path; it may be a name that is not in :data:`ROOTS`. ``conversion``
    is ``s``, ``r`` or None, and ``spec`` is the format after the colon.
    ``problem`` is the problem of its filters, or None.
    """

    text: str
    root: str | None
    steps: data_path.Path = ()
    conversion: str | None = None
    spec: str | None = None
    filters: tuple[filter_syntax.FilterCall, ...] = ()
    problem: str | None = None

    @property
    def in_braces(self) -> str:
        """The field as the rule has it, e.g. ``{node.name}``."""
        return f'{{{self.text}}}'

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
    """Split text into literal pieces and fields; never raise an error.

    ``a{{b}}{node.name}`` gives ``a{b}`` and the field ``node.name``. If the
    text between braces is not a path, e.g. ``{a b}``, the field has no root
    and is missing on every machine.
    """
    return list(_parse_pieces(text))


# Cache the results, because the checks of a rule parse its texts many times.
@text_cache.cache_short_texts(maxsize=2048, longest=256)
def _parse_pieces(text: str) -> tuple[str | Field, ...]:
    """Split text into literal pieces and fields, as a tuple to be cached.

    :func:`parse` copies the tuple to a list, which its callers may change.
    """
    pieces: list[str | Field] = []
    # The literal text after the last field.
    literal = ''
    position = 0
    # An opening brace after the last closing brace does not begin a field.
    last_closing = text.rfind('}')
    while position < len(text):
        opens_field = text[position] == '{' and position < last_closing
        if _ESCAPED_BRACE.match(text, position):
            # A doubled brace stands for a single brace.
            literal += text[position]
            position += 2
        elif opens_field:
            if literal:
                pieces.append(literal)
                literal = ''
            field = field_at(text, position)
            if field is None:
                # Take the text up to the next "}", which exists.
                closing = text.index('}', position)
                field = Field(text[position + 1 : closing], root=None)
            pieces.append(field)
            position += len(field.in_braces)
        else:
            # Literal text, or a single brace. It ends before the next brace.
            end = len(text)
            brace = _BRACE.search(text, position + 1)
            if brace is not None:
                end = brace.start()
            literal += text[position:end]
            position = end
    if literal:
        pieces.append(literal)
    return tuple(pieces)


def sole_field(text: typing.Any) -> Field | None:
    """Return the field if a text consists of a single field, or None.

    For example, this applies to ``{node.name}``, but not to ``a{node.name}``.

    :param text: any value of a rule.
    """
    if not isinstance(text, str):
        return None
    pieces = parse(text)
    if len(pieces) == 1 and isinstance(pieces[0], Field):
        return pieces[0]
    return None


def escape(text: str) -> str:
    """Double the braces of a text, so that they do not begin a field."""
    return text.replace('{', '{{').replace('}', '}}')


def field_at(text: str, position: int) -> Field | None:
    """Parse the field at a position; return None if there is none.

    ``{node.name | upper!s:>8}`` has the path ``node.name``, the filter
    ``upper``, and the end ``!s:>8}``.

    :param position: the position of the opening brace.
    :returns: the field. It has a ``problem`` if the syntax of its filters is
        wrong. Its root may be an unknown name.
    """
    path = _PATH.match(text, position + 1)
    if path is None:
        return None
    reader = filter_syntax.Reader(text, _read_path_in_argument)
    try:
        filters = reader.read(path.end())
    except filter_syntax.SyntaxProblem as exc:
        return _make_field_with_problem(text, position, path, str(exc))
    # Blanks are allowed after a filter, but not after a path: {node.name }.
    end_of_filters = path.end()
    if filters:
        end_of_filters = reader.position
    end = _END.match(text, end_of_filters)
    if end is None or _WIDE_FORMAT.search(end['spec'] or ''):
        if not filters:
            # Treat it like any text in braces.
            return None
        # With filters, a field is certainly meant, so report the problem.
        problem = _('"|" or the end of the field is expected')
        return _make_field_with_problem(text, position, path, problem)
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
    """Return the keys and indexes of a path as text.

    For example, ``node.extra[rack]`` gives ``extra`` and ``rack``.
    """
    steps = []
    # A step has either a dot or brackets, so one of the groups is empty.
    for dotted, bracketed in _STEP.findall(path['steps']):
        steps.append(dotted or bracketed)
    return tuple(steps)


def _make_field_with_problem(
    text: str, position: int, path: re.Match[str], problem: str
) -> Field | None:
    """Return the field at a position whose filters have a syntax problem.

    The field ends at the next closing brace.

    :param position: the position of the opening brace.
    :param path: the match of ``node.name`` in ``{node.name | }``.
    :returns: None if there is no closing brace, or if the name is not a root
        of the data. ``{a | }`` is treated like any text in braces that is not
        a path.
    """
    inside, closing_brace, _rest = text[position + 1 :].partition('}')
    root = path['root']
    is_root_of_data = root in (*ROOTS, ITEM)
    if not closing_brace or not is_root_of_data:
        return None
    return Field(inside, root, _split_steps(path), problem=problem)


def _read_path_in_argument(
    text: str, position: int
) -> tuple[Field, int] | None:
    """Parse a path in the arguments of a filter.

    For example, this is ``node.name`` in ``{inventory.a |
    default(node.name)}``.

    :returns: the path as a field, and the position after it. None if the text
        does not begin with the name of a root, e.g. if it is a word such as
        ``true``, or invalid.
    """
    path = _PATH_IN_ARGUMENT.match(text, position)
    if path is None or path['root'] not in (*ROOTS, ITEM):
        return None
    field = Field(path[0], path['root'], _split_steps(path))
    return field, path.end()


def fill_item(text: str, item: typing.Any) -> str:
    """Replace ``{item…}`` in a text of a rule with an item of a literal loop.

    With the item ``{'name': 'a'}``, ``{item.name}_{node.name}`` becomes
    ``a_{node.name}``. Other fields are kept. ``{item…}`` is also kept if it
    has a filter or a format, or if its value is missing, a list or a mapping.
    Braces in the item are not escaped, so they become fields of the text.
    """
    filled = ''
    for piece in parse(text):
        if isinstance(piece, str):
            # Restore the doubled braces, which parsing has reduced to one.
            filled += escape(piece)
            continue
        value = data_path.ABSENT
        if piece.root == ITEM and piece.is_plain:
            value = data_path.get(item, piece.steps)
        if value is data_path.ABSENT or isinstance(value, dict | list):
            filled += piece.in_braces
        else:
            filled += str(value)
    return filled


def fields(value: typing.Any) -> list[Field]:
    """Return all fields in a value, including fields in keys of mappings.

    Fields in the arguments of filters are not included, unlike in
    :func:`.effects.fields`.

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
