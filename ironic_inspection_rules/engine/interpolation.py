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

"""Replacement fields: ``{node.extra[rack]}`` and where text has them.

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

from ironic_inspection_rules.engine import path as data_path

ROOTS = ('node', 'ports', 'port_groups', 'inventory', 'plugin_data')
ITEM = 'item'

_FIELD = re.compile(
    r'\{(?P<root>[A-Za-z_][A-Za-z0-9_]*)'
    r'(?P<steps>(?:\.[^\s.\[\]{}!:]+|\[[^\]]{1,255}\])*)'
    r'(?P<conversion>![sr])?'
    r'(?::(?P<spec>[^{}]{0,40}))?\}')
_STEP = re.compile(r'\.([^\s.\[\]{}!:]+)|\[([^\]]+)\]')
_TOKEN = re.compile(r'\{\{|\}\}')
_BRACE = re.compile(r'[{}]')
_WIDE = re.compile(r'\d{5}')


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


def parse(text: str) -> list[str | Field]:
    """Split text into literal pieces and fields; never raises."""
    pieces: list[str | Field] = []
    literal = ''
    position = 0
    last = text.rfind('}')
    while position < len(text):
        if _TOKEN.match(text, position):
            literal += text[position]
            position += 2
            continue
        field, end = _field_at(text, position, last)
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


def _field_at(text: str, position: int,
              last: int) -> tuple[Field | None, int]:
    """Read the field that begins here, or the text up to the next brace.

    :param last: where the last closing brace is.
    :returns: the field or None, and where it or the text ends.
    """
    if text[position] != '{':
        brace = _BRACE.search(text, position + 1)
        return None, brace.start() if brace else len(text)
    if position > last:
        return None, position + 1
    match = _FIELD.match(text, position)
    if match and not _WIDE.search(match['spec'] or ''):
        steps = tuple(dotted or bracketed for dotted, bracketed
                      in _STEP.findall(match['steps']))
        conversion = match['conversion']
        return Field(match[0][1:-1], match['root'], steps,
                     conversion and conversion[1], match['spec']), match.end()
    end = text.index('}', position)
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
