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

"""Values with replacement fields, and what becomes of them.

A template is made of a value once, when a rule is compiled; rendering it
with the data of a machine parses nothing.
"""

import dataclasses
import functools
import typing

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine import interpolation
from ironic_inspection_rules.engine import path as data_path
from ironic_inspection_rules.i18n import _

Roots = typing.Mapping[str, typing.Any]
Render = typing.Callable[[Roots], typing.Any]

_PORT_ROOTS = ('ports', 'port_groups')


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


@dataclasses.dataclass(frozen=True, slots=True)
class Template:
    """A value with replacement fields somewhere in it.

    ``render`` takes the data by root name and returns the value with the
    types it has there, or :class:`Missing`.
    """

    render: Render


def compile_value(value: typing.Any, lenient: bool = False) -> typing.Any:
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
        return _compile_mapping(value, lenient)
    if isinstance(value, list | tuple):
        items = [compile_value(item, lenient) for item in value]
        return Template(_renderer(items, lenient)) if _varies(items) else items
    return value


def _varies(items: list[typing.Any]) -> bool:
    return any(isinstance(item, Template) for item in items)


def _renderer(items: list[typing.Any], lenient: bool = False
              ) -> typing.Callable[[Roots], list[typing.Any] | Missing]:
    """Make a function that returns the items with data in them."""
    templates = [(index, item.render) for index, item in enumerate(items)
                 if isinstance(item, Template)]

    def render(roots: Roots) -> list[typing.Any] | Missing:
        values = items.copy()
        for index, render_item in templates:
            value = values[index] = render_item(roots)
            if value.__class__ is Missing and not lenient:
                return value
        return values

    return render


def _compile_mapping(mapping: dict[typing.Any, typing.Any],
                     lenient: bool) -> typing.Any:
    keys = [_compile_text(key) if isinstance(key, str) else key
            for key in mapping]
    items = [compile_value(item, lenient) for item in mapping.values()]
    if not _varies(keys + items):
        return dict(zip(keys, items, strict=True))
    render_keys, render_items = _renderer(keys), _renderer(items, lenient)

    def render(roots: Roots) -> dict[str, typing.Any] | Missing:
        names, values = render_keys(roots), render_items(roots)
        if isinstance(names, Missing):
            return names
        if isinstance(values, Missing):
            return values
        return dict(zip(map(str, names), values, strict=True))

    return Template(render)


@functools.lru_cache(maxsize=4096)
def _compile_text(text: str) -> typing.Any:
    if '{' not in text and '}' not in text:
        return text
    pieces = [Template(_compile_field(piece))
              if isinstance(piece, interpolation.Field) else piece
              for piece in interpolation.parse(text)]
    if not _varies(pieces):
        return ''.join(map(str, pieces))
    if len(pieces) == 1:
        return pieces[0]
    render_pieces = _renderer(pieces)

    def render(roots: Roots) -> str | Missing:
        values = render_pieces(roots)
        if isinstance(values, Missing):
            return values
        return ''.join(map(str, values))

    return Template(render)


def _compile_field(field: interpolation.Field) -> Render:
    look_up = _compile_path(field)
    if field.conversion is None and field.spec is None:
        return look_up

    def render(roots: Roots) -> typing.Any:
        value = look_up(roots)
        return value if isinstance(value, Missing) else _format(value, field)

    return render


def _format(value: typing.Any, field: interpolation.Field) -> str:
    converted = repr(value) if field.conversion == 'r' else (
        str(value) if field.conversion == 's' else value)
    try:
        return format(converted, field.spec or '')
    except (TypeError, ValueError, OverflowError) as exc:
        raise exceptions.OperationError(
            _('field {%(field)s} cannot be formatted: %(reason)s')
            % {'field': field.text, 'reason': exc}) from exc


def _compile_path(field: interpolation.Field) -> Render:
    missing = Missing(field.text)
    if field.root is None:
        return lambda roots: missing
    if field.root in _PORT_ROOTS and field.steps:
        return _port_follower(field.root, field.steps, missing)
    follow = _follower(field.root, field.steps, missing)
    return _without_gaps(follow) if field.root == interpolation.ITEM else (
        follow)


def _follower(root: str, steps: data_path.Path,
              missing: Missing) -> Render:
    """Make a function that follows a path through plain data.

    It is what rules spend their time in.
    """
    def follow(roots: Roots) -> typing.Any:
        value: typing.Any = missing
        try:
            value = roots[root]
            for step in steps:
                if value.__class__ is dict:
                    value = value[step]
                else:
                    value = _item(value, step)
        except LookupError:
            return value if value.__class__ is Missing else missing
        return value

    return follow


def _item(value: typing.Any, step: str) -> typing.Any:
    position = data_path.index(step)
    if value.__class__ is not list or position is None:
        raise LookupError
    return value[position]


def _port_follower(root: str, steps: data_path.Path,
                   missing: Missing) -> Render:
    name = steps[0]
    follow = _follower(root, steps[1:], missing)

    def follow_port(roots: Roots) -> typing.Any:
        try:
            ports = roots[root]
        except LookupError:
            return missing
        index = find_port(ports, name)
        return missing if index is None else follow({root: ports[index]})

    return follow_port


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
