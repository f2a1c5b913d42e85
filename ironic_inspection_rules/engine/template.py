# SPDX-License-Identifier: Apache-2.0

"""Values with replacement fields, and what becomes of them.

A template is made of a value once, when a rule is compiled; rendering it
with the data of a machine parses nothing.
"""

import typing

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine import filtering
from ironic_inspection_rules.engine import interpolation
from ironic_inspection_rules.engine import rendering
from ironic_inspection_rules.engine import text_cache
from ironic_inspection_rules.i18n import _

Missing = rendering.Missing
Roots = rendering.Roots
Template = rendering.Template

_SHORT = 256


def compile_value(value: typing.Any, lenient: bool = False) -> typing.Any:
    """Build a template of a value, or return the value if it has no fields.

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
        return List(items, lenient) if _varies(items) else items
    return value


def _varies(items: list[typing.Any]) -> bool:
    return any(isinstance(item, Template) for item in items)


def _compile_mapping(mapping: dict[typing.Any, typing.Any],
                     lenient: bool) -> typing.Any:
    keys = [_compile_text(key) if isinstance(key, str) else key
            for key in mapping]
    items = [compile_value(item, lenient) for item in mapping.values()]
    if _varies(keys + items):
        return _Mapping(List(keys), List(items, lenient))
    return dict(zip(keys, items, strict=True))


@text_cache.for_short(maxsize=4096, longest=_SHORT)
def _compile_text(text: str) -> typing.Any:
    if '{' not in text and '}' not in text:
        return text
    return join(interpolation.parse(text))


def join(pieces: typing.Iterable[str | interpolation.Field]) -> typing.Any:
    """Build a template of text in pieces, or text where none is a field."""
    compiled = [_compile_field(piece)
                if isinstance(piece, interpolation.Field) else piece
                for piece in pieces]
    if not _varies(compiled):
        return ''.join(map(str, compiled))
    return compiled[0] if len(compiled) == 1 else _Text(List(compiled))


def _compile_field(field: interpolation.Field) -> Template:
    if field.problem:
        raise exceptions.OperationError(
            _('field {%(field)s} cannot be read: %(problem)s')
            % {'field': field.text, 'problem': field.problem})
    missing = Missing(field.text)
    path: Template = rendering.Path(field.root or '', field.steps,
                                         missing)
    if field.root == interpolation.ITEM:
        path = rendering.Whole(path)
    elif field.root in rendering.PORT_ROOTS and field.steps:
        path = rendering.PortPath(field.root, field.steps, missing)
    elif field.root == 'plugin_data' and field.steps and (
            field.steps[0] in rendering.SECOND_NAMES):
        path = rendering.SecondName(path, field.steps, missing)
    if field.filters:
        path = filtering.compile_filters(field.filters, path, missing,
                                         _compile_field)
    if field.conversion is None and field.spec is None:
        return path
    return rendering.Formatted(path, field)


def telling(value: typing.Any) -> typing.Any:
    """Build a template in which each missing field reads ``(missing)``."""
    if isinstance(value, List):
        return List([telling(item) for item in value.items])
    if isinstance(value, _Text):
        return _Text(telling(value.pieces))
    if isinstance(value, _Mapping):
        return _Mapping(telling(value.keys), telling(value.items))
    if isinstance(value, Template):
        return rendering.OrElse(value, _('(missing)'))
    return value


class List(Template):
    """A list, some of whose items are templates."""

    __slots__ = ('_lenient', '_templates', 'items')

    def __init__(self, items: list[typing.Any],
                 lenient: bool = False) -> None:
        self.items = items
        self._templates = tuple(
            (index, item) for index, item in enumerate(items)
            if isinstance(item, Template))
        self._lenient = lenient

    @property
    def parts(self) -> typing.Iterable[typing.Any]:
        return self.items

    def pair(self) -> tuple[Template, typing.Any] | None:
        """Return a template and the value after it, if it is just that."""
        if len(self.items) != 2 or [index for index, _item
                                     in self._templates] != [0]:
            return None
        return self.items[0], self.items[1]

    def render(self, roots: Roots) -> list[typing.Any] | Missing:
        values = self.items.copy()
        for index, item in self._templates:
            value = values[index] = item.render(roots)
            if value.__class__ is Missing and not self._lenient:
                return value
        return values


class _Text(Template):
    """Text with fields in it."""

    __slots__ = ('pieces',)

    def __init__(self, pieces: List) -> None:
        self.pieces = pieces

    @property
    def parts(self) -> typing.Iterable[typing.Any]:
        return (self.pieces,)

    def render(self, roots: Roots) -> str | Missing:
        values = self.pieces.render(roots)
        if isinstance(values, Missing):
            return values
        text = ''.join(map(str, values))
        if len(text) > _SHORT:
            roots.budget.make_text(len(text))
        return text


class _Mapping(Template):
    """A mapping, some of whose keys or values are templates."""

    __slots__ = ('items', 'keys')

    def __init__(self, keys: List, items: List) -> None:
        self.keys = keys
        self.items = items

    @property
    def parts(self) -> typing.Iterable[typing.Any]:
        return (self.keys, self.items)

    def render(self, roots: Roots) -> dict[str, typing.Any] | Missing:
        keys, values = self.keys.render(roots), self.items.render(roots)
        if isinstance(keys, Missing):
            return keys
        if isinstance(values, Missing):
            return values
        return dict(zip(map(str, keys), values, strict=True))
