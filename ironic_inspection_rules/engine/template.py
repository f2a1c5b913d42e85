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

import abc
import functools
import typing

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine import interpolation
from ironic_inspection_rules.engine import path as data_path
from ironic_inspection_rules.i18n import _

Roots = typing.Mapping[str, typing.Any]

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


class Template(abc.ABC):
    """A value with replacement fields somewhere in it."""

    __slots__ = ()

    @abc.abstractmethod
    def render(self, roots: Roots) -> typing.Any:
        """Return the value with the types it has in the data.

        :param roots: the data by root name.
        :returns: the value, or :class:`Missing`.
        """


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
        return _List(items, lenient) if _varies(items) else items
    return value


def _varies(items: list[typing.Any]) -> bool:
    return any(isinstance(item, Template) for item in items)


def _compile_mapping(mapping: dict[typing.Any, typing.Any],
                     lenient: bool) -> typing.Any:
    keys = [_compile_text(key) if isinstance(key, str) else key
            for key in mapping]
    items = [compile_value(item, lenient) for item in mapping.values()]
    if _varies(keys + items):
        return _Mapping(_List(keys), _List(items, lenient))
    return dict(zip(keys, items, strict=True))


@functools.lru_cache(maxsize=4096)
def _compile_text(text: str) -> typing.Any:
    if '{' not in text and '}' not in text:
        return text
    pieces = [_compile_field(piece)
              if isinstance(piece, interpolation.Field) else piece
              for piece in interpolation.parse(text)]
    if not _varies(pieces):
        return ''.join(map(str, pieces))
    return pieces[0] if len(pieces) == 1 else _Text(_List(pieces))


def _compile_field(field: interpolation.Field) -> Template:
    missing = Missing(field.text)
    path: Template = _Path(field.root or '', field.steps, missing)
    if field.root == interpolation.ITEM:
        path = _Whole(path)
    elif field.root in _PORT_ROOTS and field.steps:
        path = _PortPath(field.root, field.steps, missing)
    if field.conversion is None and field.spec is None:
        return path
    return _Formatted(path, field)


class _Path(Template):
    """What is at a path in plain data; rules spend their time here."""

    __slots__ = ('_missing', '_root', '_steps')

    def __init__(self, root: str, steps: data_path.Path,
                 missing: Missing) -> None:
        self._root = root
        self._steps = steps
        self._missing = missing

    def render(self, roots: Roots) -> typing.Any:
        value: typing.Any = None
        try:
            value = roots[self._root]
            for step in self._steps:
                if value.__class__ is dict:
                    value = value[step]
                else:
                    value = _item(value, step)
        except LookupError:
            return value if value.__class__ is Missing else self._missing
        return value


def _item(value: typing.Any, step: str) -> typing.Any:
    position = data_path.index(step)
    if value.__class__ is not list or position is None:
        raise LookupError
    return value[position]


class _PortPath(Template):
    """What is at a path below a port."""

    __slots__ = ('_missing', '_name', '_path', '_root')

    def __init__(self, root: str, steps: data_path.Path,
                 missing: Missing) -> None:
        self._root = root
        self._name = steps[0]
        self._path = _Path(root, steps[1:], missing)
        self._missing = missing

    def render(self, roots: Roots) -> typing.Any:
        try:
            ports = roots[self._root]
        except LookupError:
            return self._missing
        index = find_port(ports, self._name)
        if index is None:
            return self._missing
        return self._path.render({self._root: ports[index]})


class _Whole(Template):
    """A value that is missing if anything inside it is."""

    __slots__ = ('_template',)

    def __init__(self, template: Template) -> None:
        self._template = template

    def render(self, roots: Roots) -> typing.Any:
        value = self._template.render(roots)
        parts = [value]
        while parts:
            part = parts.pop()
            if isinstance(part, Missing):
                return part
            if isinstance(part, dict):
                parts += part.values()
            elif isinstance(part, list):
                parts += part
        return value


class _Formatted(Template):
    """A field with a conversion or a format specification."""

    __slots__ = ('_field', '_template')

    def __init__(self, template: Template,
                 field: interpolation.Field) -> None:
        self._template = template
        self._field = field

    def render(self, roots: Roots) -> str | Missing:
        value = self._template.render(roots)
        if isinstance(value, Missing):
            return value
        if self._field.conversion:
            value = repr(value) if self._field.conversion == 'r' else (
                str(value))
        try:
            return format(value, self._field.spec or '')
        except (TypeError, ValueError, OverflowError) as exc:
            raise exceptions.OperationError(
                _('field {%(field)s} cannot be formatted: %(reason)s')
                % {'field': self._field.text, 'reason': exc}) from exc


class _List(Template):
    """A list, some of whose items are templates."""

    __slots__ = ('_items', '_lenient', '_templates')

    def __init__(self, items: list[typing.Any],
                 lenient: bool = False) -> None:
        self._items = items
        self._templates = tuple(
            (index, item) for index, item in enumerate(items)
            if isinstance(item, Template))
        self._lenient = lenient

    def render(self, roots: Roots) -> list[typing.Any] | Missing:
        values = self._items.copy()
        for index, item in self._templates:
            value = values[index] = item.render(roots)
            if value.__class__ is Missing and not self._lenient:
                return value
        return values


class _Text(Template):
    """Text with fields in it."""

    __slots__ = ('_pieces',)

    def __init__(self, pieces: _List) -> None:
        self._pieces = pieces

    def render(self, roots: Roots) -> str | Missing:
        values = self._pieces.render(roots)
        if isinstance(values, Missing):
            return values
        return ''.join(map(str, values))


class _Mapping(Template):
    """A mapping, some of whose keys or values are templates."""

    __slots__ = ('_items', '_keys')

    def __init__(self, keys: _List, items: _List) -> None:
        self._keys = keys
        self._items = items

    def render(self, roots: Roots) -> dict[str, typing.Any] | Missing:
        keys, values = self._keys.render(roots), self._items.render(roots)
        if isinstance(keys, Missing):
            return keys
        if isinstance(values, Missing):
            return values
        return dict(zip(map(str, keys), values, strict=True))


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
