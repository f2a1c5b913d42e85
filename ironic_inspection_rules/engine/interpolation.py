# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""Replacement fields: ``{node.extra[rack]}`` and what becomes of them.

The grammar is Python's format strings (spec 003 "Variable interpolation")
without Python behind it: a path steps through plain data only, so that no
text whatsoever reaches an attribute of an object.

::

    text        = { "{{" | "}}" | field | character }
    field       = "{" path [ "!s" | "!r" ] [ ":" spec ] "}"
    path        = root { "." key | "[" key "]" }

Text between braces that is no path is a field that does not exist; a brace
without a partner is literal text.
"""

import re
import typing

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine import path as data_path
from ironic_inspection_rules.i18n import _

ROOTS = ('node', 'ports', 'port_groups', 'inventory', 'plugin_data')
EARLY_ROOTS = ('inventory', 'plugin_data')
ITEM = 'item'

Roots = typing.Mapping[str, typing.Any]
Render = typing.Callable[[Roots], typing.Any]

_FIELD = re.compile(
    r'\{(?P<root>[A-Za-z_][A-Za-z0-9_]*)'
    r'(?P<steps>(?:\.[^\s.\[\]{}!:]+|\[[^\]]+\])*)'
    r'(?P<conversion>![sr])?'
    r'(?::(?P<spec>[^{}]{0,40}))?\}')
_STEP = re.compile(r'\.([^\s.\[\]{}!:]+)|\[([^\]]+)\]')
_TOKEN = re.compile(r'\{\{|\}\}')
_BRACE = re.compile(r'[{}]')
_WIDE = re.compile(r'\d{5}')


class Missing:
    """A field that does not exist; ``field`` is its text without braces."""

    __slots__ = ('field',)

    def __init__(self, field: str) -> None:
        self.field = field

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Missing) and other.field == self.field

    def __hash__(self) -> int:
        return hash(self.field)

    def __repr__(self) -> str:
        return f'Missing({self.field!r})'


class Field(typing.NamedTuple):
    """One replacement field.

    ``root`` is None where the text is no path over a name that may be
    known.
    """

    text: str
    root: str | None
    steps: data_path.Path = ()
    conversion: str | None = None
    spec: str | None = None


class Template(typing.NamedTuple):
    """A value with replacement fields somewhere in it.

    ``render`` takes the data by root name and returns the value with the
    types it has there, or :class:`Missing`.
    """

    fields: tuple[Field, ...]
    render: Render


def parse(text: str) -> list[str | Field]:
    """Split text into literal pieces and fields; never raises."""
    pieces: list[str | Field] = []
    literal = ''
    position = 0
    while position < len(text):
        if _TOKEN.match(text, position):
            literal += text[position]
            position += 2
            continue
        field, end = _field_at(text, position)
        if field is None:
            literal += text[position:end]
        else:
            if literal:
                pieces.append(literal)
                literal = ''
            pieces.append(field)
        position = end
    if literal:
        pieces.append(literal)
    return pieces


def _field_at(text: str, position: int) -> tuple[Field | None, int]:
    """Read the field that begins here, or the text up to the next brace."""
    if text[position] != '{':
        brace = _BRACE.search(text, position + 1)
        return None, brace.start() if brace else len(text)
    match = _FIELD.match(text, position)
    if match and not _WIDE.search(match['spec'] or ''):
        steps = tuple(dotted or bracketed for dotted, bracketed
                      in _STEP.findall(match['steps']))
        conversion = match['conversion']
        return Field(match[0][1:-1], match['root'], steps,
                     conversion and conversion[1], match['spec']), match.end()
    end = text.find('}', position)
    if end < 0:
        return None, position + 1
    return Field(text[position + 1:end], None), end + 1


def fields(value: typing.Any) -> list[Field]:
    """Return all fields anywhere in a value of strings, lists, mappings."""
    if isinstance(value, str):
        return [piece for piece in parse(value) if isinstance(piece, Field)]
    if isinstance(value, dict):
        value = [*value.keys(), *value.values()]
    if isinstance(value, list | tuple):
        return [field for item in value for field in fields(item)]
    return []


def compile_value(value: typing.Any,
                  lenient: bool = False) -> typing.Any:
    """Make a template of a value, or return the value if it has no fields.

    :param value: a string, or lists and mappings with strings anywhere.
    :param lenient: leave a missing field where it stands inside a list or
        mapping, instead of letting the whole value be missing.
    :returns: a :class:`Template`, or the value itself with its literal
        braces read.
    """
    if isinstance(value, str):
        return _compile_text(value)
    if isinstance(value, dict):
        keys = [_compile_text(key) if isinstance(key, str) else key
                for key in value]
        items = [compile_value(item, lenient) for item in value.values()]
        if _constant(keys + items):
            return dict(zip(keys, items, strict=True))
        return _compile_mapping(keys, items, lenient)
    if isinstance(value, list | tuple):
        items = [compile_value(item, lenient) for item in value]
        if _constant(items):
            return items
        return _compile_list(items, lenient)
    return value


def _constant(items: list[typing.Any]) -> bool:
    return not any(isinstance(item, Template) for item in items)


def _all_fields(items: list[typing.Any]) -> tuple[Field, ...]:
    return tuple(field for item in items if isinstance(item, Template)
                 for field in item.fields)


def _renders(items: list[typing.Any]) -> list[Render]:
    return [item.render if isinstance(item, Template) else _literal(item)
            for item in items]


def _literal(value: typing.Any) -> Render:
    return lambda roots: value


def _compile_list(items: list[typing.Any], lenient: bool) -> Template:
    renders = _renders(items)

    def render(roots: Roots) -> typing.Any:
        values = [item(roots) for item in renders]
        return values if lenient else _missing_in(values) or values

    return Template(_all_fields(items), render)


def _compile_mapping(keys: list[typing.Any], items: list[typing.Any],
                     lenient: bool) -> Template:
    key_renders, renders = _renders(keys), _renders(items)

    def render(roots: Roots) -> typing.Any:
        names = [key(roots) for key in key_renders]
        values = [item(roots) for item in renders]
        missing = _missing_in(names if lenient else names + values)
        if missing:
            return missing
        return {name if isinstance(name, str) else str(name): value
                for name, value in zip(names, values, strict=True)}

    return Template(_all_fields(keys + items), render)


def _missing_in(values: list[typing.Any]) -> Missing | None:
    for value in values:
        if isinstance(value, Missing):
            return value
    return None


def _compile_text(text: str) -> typing.Any:
    if '{' not in text and '}' not in text:
        return text
    pieces = parse(text)
    found = tuple(piece for piece in pieces if isinstance(piece, Field))
    if not found:
        return ''.join(typing.cast(list[str], pieces))
    if len(pieces) == 1:
        return Template(found, _compile_field(found[0]))
    renders = _renders([Template((piece,), _compile_field(piece))
                        if isinstance(piece, Field) else piece
                        for piece in pieces])

    def render(roots: Roots) -> typing.Any:
        values = [piece(roots) for piece in renders]
        return _missing_in(values) or ''.join(map(str, values))

    return Template(found, render)


def _compile_field(field: Field) -> Render:
    look_up = _compile_path(field)
    if field.conversion is None and field.spec is None:
        return look_up

    def render(roots: Roots) -> typing.Any:
        value = look_up(roots)
        if value.__class__ is Missing:
            return value
        return _format(value, field)

    return render


def _format(value: typing.Any, field: Field) -> str:
    converted = repr(value) if field.conversion == 'r' else (
        str(value) if field.conversion == 's' else value)
    try:
        return format(converted, field.spec or '')
    except (TypeError, ValueError) as exc:
        raise exceptions.OperationError(
            _('field {%(field)s} cannot be formatted: %(reason)s')
            % {'field': field.text, 'reason': exc}) from exc


def _compile_path(field: Field) -> Render:
    root, steps = field.root, field.steps
    missing = Missing(field.text)
    if root not in ROOTS and root != ITEM:
        return lambda roots: missing
    if root in ('ports', 'port_groups') and steps:
        return _compile_port_path(root, steps, missing)

    def look_up(roots: Roots) -> typing.Any:
        try:
            value = roots[root]
        except KeyError:
            return missing
        return _walk(value, steps, missing)

    return look_up if root in ROOTS else _without_gaps(look_up)


def _without_gaps(look_up: Render) -> Render:
    """Let an item of a loop be missing if anything inside it is."""
    def render(roots: Roots) -> typing.Any:
        value = look_up(roots)
        gaps = [value]
        while gaps:
            inner = gaps.pop()
            if isinstance(inner, Missing):
                return inner
            if isinstance(inner, dict):
                gaps += inner.values()
            elif isinstance(inner, list):
                gaps += inner
        return value

    return render


def _compile_port_path(root: str, steps: data_path.Path,
                       missing: Missing) -> Render:
    name, rest = steps[0], steps[1:]

    def look_up(roots: Roots) -> typing.Any:
        try:
            ports = roots[root]
        except KeyError:
            return missing
        index = find_port(ports, name)
        if index is None:
            return missing
        return _walk(ports[index], rest, missing)

    return look_up


def _walk(value: typing.Any, steps: data_path.Path,
          missing: Missing) -> typing.Any:
    for step in steps:
        if value.__class__ is dict:
            if step not in value:
                return missing
            value = value[step]
        elif value.__class__ is list:
            value = data_path.get(value, (step,))
            if value is data_path.ABSENT:
                return missing
        else:
            return value if value.__class__ is Missing else missing
    return value


def find_port(ports: list[dict[str, typing.Any]], name: str) -> int | None:
    """Find a port by its index, its MAC address in any case, or its UUID.

    :returns: the index, or None.
    """
    position = data_path.index(name)
    if position is not None and position < len(ports):
        return position
    wanted = name.lower()
    for index, port in enumerate(ports):
        if wanted in (str(port.get('address')).lower(),
                      str(port.get('uuid')).lower()):
            return index
    return None
