# SPDX-License-Identifier: Apache-2.0

"""Renders fields and templates with the data of a machine.

A template is a value of a rule with replacement fields, e.g. ``a{node.name}``.
It is built once for each rule. Its method ``render`` returns its value for the
data of a machine, or :class:`Missing` if a field does not exist there.
"""

import abc
import dataclasses
import functools
import typing

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.language import budget
from ironic_inspection_rules.engine.language import interpolation
from ironic_inspection_rules.engine.language import path as data_path
from ironic_inspection_rules.i18n import _


@dataclasses.dataclass(frozen=True, slots=True)
class Missing:
    """Stands for the value of a field that does not exist.

    ``field`` is the text of the field without braces: ``node.extra.rack``.
    """

    field: str


class Template(abc.ABC):
    """A value of a rule with replacement fields somewhere in it."""

    __slots__ = ()

    @property
    def parts(self) -> typing.Iterable[typing.Any]:
        """The values that the template consists of, including templates."""
        return ()

    def with_default(self, default: typing.Any) -> 'Template':
        """Build a template with a default for each missing field."""
        return TemplateWithDefault(self, default)

    @abc.abstractmethod
    def render(self, roots: budget.View) -> typing.Any:
        """Return the value, with the types that it has in the data.

        :param roots: the data by root name.
        :returns: the value, or :class:`Missing`.
        """


@dataclasses.dataclass(slots=True, eq=False)
class TemplateWithDefault(Template):
    """A template with a default for missing fields."""

    source: Template
    default: typing.Any

    @property
    def parts(self) -> typing.Iterable[typing.Any]:
        return (self.source,)

    def render(self, roots: budget.View) -> typing.Any:
        """Return the value, or the default if a field in it is missing."""
        value = self.source.render(roots)
        if isinstance(value, Missing):
            return self.default
        return value


Function = typing.Callable[[typing.Any], typing.Any]
"""Computes a result from the value of a field."""

_FREE_LENGTH = 255
"""Maximum length of text that costs no operation, in characters."""


@dataclasses.dataclass(slots=True, eq=False)
class ComputedTemplate(Template):
    """The result of a function of a value, or Missing if the value is missing.

    For example, ``{inventory.cpu.count:>4}`` is computed by a function that
    formats the value of ``{inventory.cpu.count}``. Long text is charged to the
    budget of the phase.
    """

    source: Template
    function: Function

    @property
    def parts(self) -> typing.Iterable[typing.Any]:
        return (self.source,)

    def render(self, roots: budget.View) -> typing.Any:
        """Return what the function computes of the value of ``source``.

        A missing field is returned as it is.

        :raises: :class:`.exceptions.BudgetExceeded` if a text is too long or
            the budget is used up; or the function's error.
        """
        value = self.source.render(roots)
        if value.__class__ is Missing:
            return value
        new_value = self.function(value)
        if new_value.__class__ is str and len(new_value) > _FREE_LENGTH:
            roots.budget.pay_for_result(new_value)
        return new_value


class ComposedTemplate(ComputedTemplate):
    """A text or a mapping that is computed from the list of its pieces.

    For example, the pieces of ``a{node.name}`` are ``a`` and the value of the
    field.
    """

    __slots__ = ()

    def with_default(self, default: typing.Any) -> Template:
        # Only missing pieces get the default; the rest of a text stays.
        return ComposedTemplate(
            self.source.with_default(default), self.function
        )


class ListTemplate(Template):
    """A list of a rule in which some items are templates.

    :param lenient: whether to keep missing items in the list. By default, a
        missing item makes the whole list missing.
    """

    __slots__ = ('_lenient', '_templates', 'items')

    def __init__(self, items: list[typing.Any], lenient: bool = False) -> None:
        self.items = items
        # Pairs of the index of a template and the template. All other items
        # are the same on every machine.
        self._templates = tuple(
            (index, item)
            for index, item in enumerate(items)
            if isinstance(item, Template)
        )
        self._lenient = lenient

    @property
    def parts(self) -> typing.Iterable[typing.Any]:
        return self.items

    def with_default(self, default: typing.Any) -> Template:
        """Build the list with a default for each item that has fields.

        This way, one missing field does not replace the whole list.
        """
        items = self.items.copy()
        for index, item in self._templates:
            items[index] = item.with_default(default)
        # The new list need not be lenient, because no item can be missing.
        return ListTemplate(items)

    def render(self, roots: budget.View) -> list[typing.Any] | Missing:
        """Return the list with all templates rendered.

        :returns: the list; or its first :class:`Missing`, unless the list is
            lenient.
        """
        values = self.items.copy()
        for index, item in self._templates:
            value = item.render(roots)
            if value.__class__ is Missing and not self._lenient:
                return value
            values[index] = value
        return values


def any_varies(items: typing.Iterable[typing.Any]) -> bool:
    """Return whether any of the values is a template."""
    return any(isinstance(item, Template) for item in items)


def build_mapping(
    keys: list[typing.Any], items: list[typing.Any], lenient: bool = False
) -> typing.Any:
    """Build a mapping, or a template if any of its keys or items varies.

    :param keys: keys and templates of keys.
    :param items: the values of these keys, and templates of values.
    :param lenient: whether to keep missing items in the mapping. By default, a
        missing item makes the whole mapping missing. A missing key always
        does.
    """
    if any_varies(keys + items):
        # Render a list of two lists, and build the mapping from it. The list
        # of keys is never lenient, because a key must not be missing.
        keys_and_items = ListTemplate(
            [ListTemplate(keys), ListTemplate(items, lenient)]
        )
        return ComposedTemplate(keys_and_items, _zip_mapping)
    return dict(zip(keys, items, strict=True))


def _zip_mapping(
    keys_and_items: list[list[typing.Any]],
) -> dict[str, typing.Any]:
    """Build a mapping from the list of its keys and the list of its items.

    Keys become text, because a field in a key may be a number.
    """
    keys, items = keys_and_items
    return dict(zip(map(str, keys), items, strict=True))


def build_text(pieces: list[typing.Any]) -> Template:
    """Build the template of a text, some of whose pieces are templates."""
    return ComposedTemplate(ListTemplate(pieces), _join_text)


def _join_text(pieces: list[typing.Any]) -> str:
    """Join literal texts and the values of fields: ``a`` and 8 to ``a8``."""
    return ''.join(map(str, pieces))


PORT_ROOTS = ('ports', 'port_groups')

SECOND_NAMES: typing.Mapping[str, tuple[data_path.Path, ...]] = {
    'bmc_address': (
        ('inventory', 'bmc_address'),
        ('inventory', 'bmc_v6address'),
    )
}
"""Alternative places of values in plugin data, by the first step of the path.

ironic-inspector's hook ``validate_interfaces`` put the address of the BMC into
plugin data. Spec 003 "Rules examples" relies on that, but Ironic's hook does
not put it there.
"""


@dataclasses.dataclass(slots=True, eq=False)
class Path(Template):
    """The value at a path in plain data, without steps into lists.

    Rendering it costs no budget and cannot fail. Rules spend most of their
    time here, so the types of the values are not checked on the way. If a step
    raises an error because it leads nowhere, only then is the value examined.
    """

    root: str
    steps: data_path.Path
    missing: Missing

    def render(self, roots: budget.View) -> typing.Any:
        """Return the value at the path, or ``missing`` if there is none.

        If a variable of the rule on the path is missing, return the missing
        field from which the variable is computed.
        """
        value: typing.Any = None
        try:
            value = roots[self.root]
            for step in self.steps:
                value = value[step]
        except (LookupError, TypeError):
            # The last value that was found has no such step.
            if value.__class__ is Missing:
                # A variable of the rule depends on this missing field.
                return value
            return self.missing
        return value


class ItemPath(Path):
    """The value at a path in which steps may be indexes of lists."""

    __slots__ = ()

    def render(self, roots: budget.View) -> typing.Any:
        """Return the value at the path, or ``missing`` if there is none.

        In a mapping, a step is a name, even if it is a number. In a list, it
        is an index.
        """
        value: typing.Any = None
        try:
            value = roots[self.root]
            for step in self.steps:
                if value.__class__ is dict:
                    value = value[step]
                    continue
                position = data_path.index(step)
                if value.__class__ is not list or position is None:
                    # The step leads nowhere.
                    raise LookupError
                value = value[position]
        except LookupError:
            if value.__class__ is Missing:
                # A variable of the rule depends on this missing field.
                return value
            return self.missing
        return value


def build_path(root: str, steps: data_path.Path, missing: Missing) -> Path:
    """Build the template of the value at a path.

    Only a path with a step such as ``0`` needs the slower template, which
    supports lists.
    """
    may_be_index = any(data_path.index(step) is not None for step in steps)
    if may_be_index:
        return ItemPath(root, steps, missing)
    return Path(root, steps, missing)


class AliasedPath(Template):
    """The value at a path in plugin data, or at an alternative place.

    For example, ``{plugin_data.bmc_address}`` falls back to
    ``inventory.bmc_address``. An empty value there counts as missing.
    """

    __slots__ = ('_alternatives', '_path')

    def __init__(
        self, path: Template, steps: data_path.Path, missing: Missing
    ) -> None:
        """Prepare the path, and one alternative for each second name.

        :param path: the template of the path in plugin data.
        :param steps: the steps of this path. The first step has second names,
            e.g. ``bmc_address``.
        :param missing: the result of a second name without a value.
        """
        self._path = path
        name, *steps_below = steps
        self._alternatives = []
        for second_name in SECOND_NAMES[name]:
            # The second name ('inventory', 'bmc_address') is the root
            # "inventory" followed by a path. It replaces only the first step.
            root, *second_steps = second_name
            alternative = build_path(
                root, (*second_steps, *steps_below), missing
            )
            self._alternatives.append(alternative)

    def render(self, roots: budget.View) -> typing.Any:
        """Return the value at the path or at the first second name.

        :returns: the :class:`Missing` of the path if no name has a value.
        """
        value = self._path.render(roots)
        if not isinstance(value, Missing):
            return value
        for path in self._alternatives:
            alternative = path.render(roots)
            # An empty address counts as missing.
            if alternative and not isinstance(alternative, Missing):
                return alternative
        return value


class PortPath(Template):
    """The value at a path in a port or port group.

    The first step identifies the port by an index, a MAC address or a UUID.
    """

    __slots__ = ('_missing', '_name', '_path_in_port', '_root')

    def __init__(
        self, root: str, steps: data_path.Path, missing: Missing
    ) -> None:
        """Split the path into the name of a port and the path in the port.

        :param root: ``ports`` or ``port_groups``.
        :param steps: e.g. ``('0', 'address')``.
        :param missing: the result if there is no such port, or no value.
        """
        self._root = root
        self._name, *below = steps
        # render() replaces the list with the port, so the path inside the port
        # begins directly at the root.
        self._path_in_port = build_path(root, tuple(below), missing)
        self._missing = missing

    def render(self, roots: budget.View) -> typing.Any:
        """Return the value at the path, in the port that its first step names.

        :returns: the :class:`Missing` of the field if there is no such port.
        """
        try:
            ports = roots[self._root]
        except LookupError:
            # The early phase has no ports.
            return self._missing
        index = find_port(ports, self._name, roots.budget)
        if index is None:
            return self._missing
        port_as_root = budget.View({self._root: ports[index]}, roots.budget)
        return self._path_in_port.render(port_as_root)


@dataclasses.dataclass(slots=True, eq=False)
class LoopItem(Template):
    """The value at a path in the item of a loop.

    An item such as ``{'name': '{node.name}'}`` may contain missing fields. A
    loop keeps them, so that the other values of the item can be used.
    """

    source: Template

    @property
    def parts(self) -> typing.Iterable[typing.Any]:
        return (self.source,)

    def render(self, roots: budget.View) -> typing.Any:
        """Return the value, or the first missing field inside it.

        :param roots: the data by root name, with the current item.
        """
        value = self.source.render(roots)
        if value.__class__ is not dict and value.__class__ is not list:
            return value
        # The search must be paid for, because an item of a short list may hold
        # all data that the machine sent.
        roots.budget.pay_for_argument(value)
        return find_missing(value)


def find_missing(value: typing.Any) -> typing.Any:
    """Return a :class:`Missing` inside a value, or the value if it has none.

    A list or mapping that contains a missing field is missing as a whole.
    """
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


def build_formatter(field: interpolation.Field) -> Function:
    """Build the function that applies ``!s``, ``!r`` or a format to a value.

    For ``{node.name!r:>10}``, the function returns
    ``format(repr(value), '>10')``. It raises
    :class:`.exceptions.OperationError` if it cannot format the value.
    """
    return functools.partial(_format_value, field)


def _format_value(field: interpolation.Field, value: typing.Any) -> str:
    """Return the value of a field as text, with its conversion and format.

    :raises: :class:`.exceptions.OperationError` if the value does not support
        the format.
    """
    if field.conversion == 'r':
        value = repr(value)
    elif field.conversion == 's':
        value = str(value)
    try:
        return format(value, field.spec or '')
    except (TypeError, ValueError, OverflowError) as exc:
        raise exceptions.OperationError(
            _('field {%(field)s} cannot be formatted: %(reason)s')
            % {'field': field.text, 'reason': exc}
        ) from exc


def find_port(
    ports: list[dict[str, typing.Any]], name: str, allowance: budget.Budget
) -> int | None:
    """Find a port by its index, MAC address or UUID; case is ignored.

    :param name: the name in a field such as ``{ports[NAME].address}``.
    :param allowance: the budget that pays for the search.
    :returns: the index of the port, None if there is no such port.
    """
    position = data_path.index(name)
    if position is not None and position < len(ports):
        return position
    # Charge one operation for sixteen ports, because comparing one is fast.
    allowance.spend(len(ports) // 16)
    wanted = name.lower()
    for index, port in enumerate(ports):
        for port_name in (port.get('address'), port.get('uuid')):
            # The address of a port group may be null. It must not be found by
            # the name "None".
            if port_name is not None and str(port_name).lower() == wanted:
                return index
    return None


def render_value(value: typing.Any, roots: budget.View) -> typing.Any:
    """Render a template; return any other value as it is."""
    if isinstance(value, Template):
        return value.render(roots)
    return value


def is_missing(value: typing.Any) -> bool:
    """Return whether a value stands for a missing field.

    Templates return :class:`Missing`, and filters :data:`.path.ABSENT`.
    """
    return isinstance(value, Missing | data_path.Absent)
