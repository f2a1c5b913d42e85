# SPDX-License-Identifier: Apache-2.0

"""Templates: values with replacement fields, rendered with data."""

import abc
import dataclasses
import typing

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.language import budget
from ironic_inspection_rules.engine.language import interpolation
from ironic_inspection_rules.engine.language import path as data_path
from ironic_inspection_rules.i18n import _


@dataclasses.dataclass(frozen=True, slots=True)
class Missing:
    """A field that does not exist; ``field`` is its text without braces."""

    field: str


class Template(abc.ABC):
    """A value with replacement fields somewhere in it."""

    __slots__ = ()

    @property
    def parts(self) -> typing.Iterable[typing.Any]:
        """Return the values that it is made of, templates and others."""
        return ()

    @abc.abstractmethod
    def render(self, roots: budget.View) -> typing.Any:
        """Return the value with the types it has in the data.

        :param roots: the data by root name.
        :returns: the value, or :class:`Missing`.
        """


@dataclasses.dataclass(slots=True, eq=False)
class OrElse(Template):
    """A value with a default for a missing field."""

    source: Template
    other: typing.Any

    @property
    def parts(self) -> typing.Iterable[typing.Any]:
        return (self.source,)

    def render(self, roots: budget.View) -> typing.Any:
        value = self.source.render(roots)
        return self.other if isinstance(value, Missing) else value


Make = typing.Callable[[typing.Any], typing.Any]

_FREE = 255
"""Characters up to which text costs no operation."""


@dataclasses.dataclass(slots=True, eq=False)
class Made(Template):
    """A value that a function makes of another, unless a field is missing.

    Text that is made is paid for.
    """

    source: Template
    make: Make

    @property
    def parts(self) -> typing.Iterable[typing.Any]:
        return (self.source,)

    def render(self, roots: budget.View) -> typing.Any:
        value = self.source.render(roots)
        if value.__class__ is Missing:
            return value
        made = self.make(value)
        if made.__class__ is str and len(made) > _FREE:
            roots.budget.take(made)
        return made


class List(Template):
    """A list, some of whose items are templates.

    :param lenient: keep missing items in the list; by default they make the
        whole list missing.
    """

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

    def render(self, roots: budget.View) -> list[typing.Any] | Missing:
        values = self.items.copy()
        for index, item in self._templates:
            value = values[index] = item.render(roots)
            if value.__class__ is Missing and not self._lenient:
                return value
        return values


def varies(items: typing.Iterable[typing.Any]) -> bool:
    """Return whether any of the values is a template."""
    return any(isinstance(item, Template) for item in items)


def mapping(keys: list[typing.Any], items: list[typing.Any],
            lenient: bool = False) -> typing.Any:
    """Build a mapping, or a template of one if keys or items vary.

    :param lenient: see :class:`List`; it is about the items.
    """
    if varies(keys + items):
        return Made(List([List(keys), List(items, lenient)]), zip_mapping)
    return dict(zip(keys, items, strict=True))


def zip_mapping(pair: list[list[typing.Any]]) -> dict[str, typing.Any]:
    """Build a mapping of keys and items."""
    keys, items = pair
    return dict(zip(map(str, keys), items, strict=True))


PORT_ROOTS = ('ports', 'port_groups')

SECOND_NAMES: typing.Mapping[str, tuple[data_path.Path, ...]] = {
    'bmc_address': (('inventory', 'bmc_address'),
                    ('inventory', 'bmc_v6address'))}
"""Other places of values in plugin data, by the first step of their path.

ironic-inspector's hook ``validate_interfaces`` put the address of the BMC
there, and spec 003 "Rules examples" relies on it; Ironic's hook does not.
"""


@dataclasses.dataclass(slots=True, eq=False)
class Path(Template):
    """The value at a path in plain data; rules spend their time here.

    Rendering it costs no budget and cannot fail.
    """

    root: str
    steps: data_path.Path
    missing: Missing

    def render(self, roots: budget.View) -> typing.Any:
        value: typing.Any = None
        try:
            value = roots[self.root]
            for step in self.steps:
                value = value[step]
        except (LookupError, TypeError):
            return value if value.__class__ is Missing else self.missing
        return value


class ItemPath(Path):
    """The same if steps may be indices of lists."""

    __slots__ = ()

    def render(self, roots: budget.View) -> typing.Any:
        value: typing.Any = None
        try:
            value = roots[self.root]
            for step in self.steps:
                if value.__class__ is dict:
                    value = value[step]
                    continue
                position = data_path.index(step)
                if value.__class__ is not list or position is None:
                    raise LookupError
                value = value[position]
        except LookupError:
            return value if value.__class__ is Missing else self.missing
        return value


def path_to(root: str, steps: data_path.Path, missing: Missing) -> Path:
    """Build the template of the value at a path."""
    numbered = any(data_path.index(step) is not None for step in steps)
    return (ItemPath if numbered else Path)(root, steps, missing)


class SecondName(Template):
    """The value at a path in plugin data, or at its second name."""

    __slots__ = ('_others', '_path')

    def __init__(self, path: Template, steps: data_path.Path,
                 missing: Missing) -> None:
        self._path = path
        self._others = [path_to(other[0], (*other[1:], *steps[1:]),
                                missing)
                        for other in SECOND_NAMES[steps[0]]]

    def render(self, roots: budget.View) -> typing.Any:
        value = self._path.render(roots)
        for other in self._others if isinstance(value, Missing) else ():
            found = other.render(roots)
            if found and not isinstance(found, Missing):
                return found
        return value


class PortPath(Template):
    """The value at a path in a port."""

    __slots__ = ('_missing', '_name', '_path', '_root')

    def __init__(self, root: str, steps: data_path.Path,
                 missing: Missing) -> None:
        self._root = root
        self._name = steps[0]
        self._path = path_to(root, steps[1:], missing)
        self._missing = missing

    def render(self, roots: budget.View) -> typing.Any:
        try:
            ports = roots[self._root]
        except LookupError:
            return self._missing
        index = find_port(ports, self._name, roots.budget)
        if index is None:
            return self._missing
        return self._path.render(
            budget.View({self._root: ports[index]}, roots.budget))


@dataclasses.dataclass(slots=True, eq=False)
class Item(Template):
    """The value at a path in the item of a loop.

    Items of lenient lists may have missing fields in them.
    """

    source: Template

    @property
    def parts(self) -> typing.Iterable[typing.Any]:
        return (self.source,)

    def render(self, roots: budget.View) -> typing.Any:
        value = self.source.render(roots)
        if value.__class__ is not dict and value.__class__ is not list:
            return value
        # A short list may hold all that the machine sent.
        roots.budget.give(value)
        return missing_inside(value)


def missing_inside(value: typing.Any) -> typing.Any:
    """Return a missing field from inside a value, else the value."""
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


def formatter(field: interpolation.Field) -> Make:
    """Build a function that formats the value of a field."""
    def write(value: typing.Any) -> str:
        if field.conversion:
            value = repr(value) if field.conversion == 'r' else str(value)
        try:
            return format(value, field.spec or '')
        except (TypeError, ValueError, OverflowError) as exc:
            raise exceptions.OperationError(
                _('field {%(field)s} cannot be formatted: %(reason)s')
                % {'field': field.text, 'reason': exc}) from exc

    return write


def find_port(ports: list[dict[str, typing.Any]], name: str,
              allowance: budget.Budget) -> int | None:
    """Find a port by its index, its MAC address in any case, or its UUID."""
    position = data_path.index(name)
    if position is not None and position < len(ports):
        return position
    allowance.spend(len(ports) >> 4)
    wanted = name.lower()
    for index, port in enumerate(ports):
        if wanted in (str(port.get('address')).lower(),
                      str(port.get('uuid')).lower()):
            return index
    return None
