# SPDX-License-Identifier: Apache-2.0

"""Determine what is known about the value of a field, also after filters.

This includes type, letter case and possible values. For example,
``{inventory.cpu.count}`` is a number, and ``{node.name | upper}`` is a text in
upper case. ``lint`` compares this with what conditions and actions expect. It
has no findings about values of which nothing is known.

The steps of a value are its path in the data of a machine, e.g.
``('inventory', 'disks', '*', 'size')``. The step ``*`` (:data:`MEMBER`) stands
for any item of a list.
"""

from collections.abc import Mapping
import typing

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.language import filter_syntax
from ironic_inspection_rules.engine.language import interpolation
from ironic_inspection_rules.engine.language import model
from ironic_inspection_rules.engine.language import path as data_path
from ironic_inspection_rules.engine.language import registry
from ironic_inspection_rules.kit.machine import inventory_fields

Steps = tuple[str, ...]

MEMBER = inventory_fields.MEMBER

BOOLEAN = 'boolean'
NUMBER = 'number'
TEXT = 'text'
LIST = 'list'
MAPPING = 'mapping'
SEQUENCES = frozenset((LIST, MAPPING))
"""The types of values that contain other values."""

# The forms of text that filters make.
LOWER = 'lower'
UPPER = 'upper'
DATE = 'date'
TIME = 'time'

# Filters whose argument "attribute" or "name" is a path inside each item.
_FILTERS_WITH_ATTRIBUTE = frozenset(
    ('join', 'map', 'max', 'min', 'sort', 'sum', 'unique')
)
_FILTERS_WITH_NAME = frozenset(('selectattr', 'rejectattr'))
_FORM_BY_FILTER = {'lower': LOWER, 'upper': UPPER, 'trait': UPPER}
# Parts of a format of dates that give hours or smaller units.
_DIRECTIVES_OF_TIME = ('%H', '%I', '%M', '%S', '%f', '%p', '%X', '%c', '%z')

_TYPES_OF_NODE_DATA: dict[Steps, str] = {
    ('ports',): LIST,
    ('port_groups',): LIST,
    ('node', 'traits'): LIST,
    ('node', 'name'): TEXT,
    ('node', 'driver'): TEXT,
    ('node', 'power_state'): TEXT,
    ('node', 'provision_state'): TEXT,
    ('node', 'auto_discovered'): BOOLEAN,
    ('node', 'maintenance'): BOOLEAN,
    ('node', 'properties'): MAPPING,
    ('node', 'extra'): MAPPING,
    ('node', 'driver_info'): MAPPING,
    ('node', 'properties', 'capabilities'): TEXT,
    ('ports', MEMBER, 'address'): TEXT,
    ('ports', MEMBER, 'pxe_enabled'): BOOLEAN,
}

_NAMES_OF_TEXTS = frozenset(
    (
        'biosdevname',
        'hctl',
        'serial',
        'wwn',
        'wwn_vendor_extension',
        'wwn_with_extension',
    )
)
"""Last names of paths to texts in inventories. The code of Ironic, from which
:mod:`.inventory_fields` is generated, does not show their type."""


def type_at(steps: Steps) -> str | None:
    """Return the type of the data of machines at a path.

    It is known from a list for nodes and ports, and from Ironic's code for
    inventories and plugin data.

    :param steps: the steps including the root, e.g. ``('inventory', 'cpu',
        'count')``, which is a number.
    :returns: None if the type is unknown, either because Ironic's code does
        not show it, or because machines may have any data there.
    """
    if steps[:1] == ('previous',):
        # {previous.inventory.cpu} comes from the previous inspection, and has
        # the same type as {inventory.cpu}.
        steps = steps[1:]
    if steps in _TYPES_OF_NODE_DATA:
        return _TYPES_OF_NODE_DATA[steps]
    field = inventory_fields.known_fields()
    for name in steps:
        if field.is_open:
            # Machines may have any data below this field.
            return None
        below = field.step(name)
        if below is None:
            return None
        field = below
    is_in_inventory = steps[:1] == ('inventory',)
    if field.type is None and is_in_inventory and steps[-1] in _NAMES_OF_TEXTS:
        return TEXT
    return field.type


def type_of(value: typing.Any) -> str | None:
    """Return the type of a JSON value; None for null."""
    # Check this first, because a boolean is also a number in Python.
    if isinstance(value, bool):
        return BOOLEAN
    if isinstance(value, int | float):
        return NUMBER
    if isinstance(value, str):
        return TEXT
    if isinstance(value, list):
        return LIST
    if isinstance(value, dict):
        return MAPPING
    return None


class FieldValue(typing.NamedTuple):
    """What is known about the value of a field without a machine.

    ``FieldValue()`` means that nothing is known. A value that is read from the
    data has ``steps``, which also give its type. A value that a filter or the
    rule made has no ``steps``.

    :param steps: the path of the value in the data, if it is read from there.
    :param path_of_items: the path of the items in the data, if the value is a
        list that a filter made.
    :param made_type: the type of the value, if a filter or the rule made it.
        It takes precedence over the type of the data at ``steps``.
    :param form: the form of its text, if a filter made it, e.g. :data:`UPPER`.
    :param choices: all possible values; None if they are unknown.
    """

    steps: Steps | None = None
    path_of_items: Steps | None = None
    made_type: str | None = None
    form: str | None = None
    choices: tuple[typing.Any, ...] | None = None

    @property
    def type(self) -> str | None:
        """The type of the value; None if it is unknown."""
        if self.steps is not None and self.made_type is None:
            return type_at(self.steps)
        return self.made_type

    @property
    def items(self) -> Steps | None:
        """The path of the value's items in the data; None if it is unknown."""
        if self.steps is not None:
            return (*self.steps, MEMBER)
        return self.path_of_items

    def result_of(
        self, call: filter_syntax.FilterCall, attribute: Steps
    ) -> 'FieldValue':
        """Return what is known about the result of a filter on this value.

        For example, ``first`` on ``{inventory.disks}`` gives a value that is
        in the data at ``inventory.disks.*``. ``map('size')`` makes a list that
        is not in the data, but its items are, at ``inventory.disks.*.size``.

        :param call: the filter with its arguments.
        :param attribute: the path of the attribute of items that the filter
            uses, e.g. ``('size',)`` for ``max('size')``; see
            :func:`attribute_of`.
        """
        if call.name == 'get':
            return self._step_to(_find_argument(call, 'path'))
        if _returns_items(call.name):
            if _type_of_result(call.name) == LIST:
                # It has some of the items, or all of them in another order.
                return FieldValue(path_of_items=self.items, made_type=LIST)
            return self._select_item(attribute)
        if call.name == 'map':
            return self._map_to(attribute)
        if call.name in ('tier', 'lookup'):
            # tier([[512, "big"], [0, "small"]]) gives "big" or "small".
            return FieldValue(choices=_list_results(call))
        if call.name == 'default':
            return self._or_default(_find_argument(call, 'default'))
        # For any other filter, only properties that all of its results share
        # are known, e.g. "upper" gives text in upper case.
        return FieldValue(
            made_type=_type_of_result(call.name), form=_form_of_result(call)
        )

    def _select_item(self, attribute: Steps) -> 'FieldValue':
        """Return what is known about the item that e.g. ``max`` returns.

        ``max('size')`` returns the largest disk, a mapping, not its size.
        """
        if not attribute:
            return FieldValue(steps=self.items)
        # The attribute shows that the item is a mapping, even if the type in
        # the data is unknown.
        return FieldValue(steps=self.items, made_type=MAPPING)

    def _map_to(self, attribute: Steps) -> 'FieldValue':
        """Return what is known about the list that ``map`` makes."""
        if not self.items or not attribute:
            return FieldValue(made_type=LIST)
        path_of_attributes = (*self.items, *attribute)
        return FieldValue(path_of_items=path_of_attributes, made_type=LIST)

    def _or_default(self, default: typing.Any) -> 'FieldValue':
        """Return what is known about this value or a default.

        The type is only known if both have the same type.
        """
        if type_of(default) == self.type:
            return FieldValue(made_type=self.type)
        return FieldValue()

    def _step_to(self, path: typing.Any) -> 'FieldValue':
        """Return what is known about the value at a path inside this value.

        :param path: the argument of ``get``, e.g. ``/cpu/count``.
        """
        if self.steps is None or not isinstance(path, str):
            return FieldValue()
        try:
            steps = data_path.parse(path)
        except exceptions.OperationError:
            # The filter is an error on every machine.
            return FieldValue()
        return FieldValue(steps=(*self.steps, *steps))


def _returns_items(name: str) -> bool:
    """Return whether a filter returns items of its value, e.g. ``first``."""
    op = registry.filters().get(name)
    if op is None:
        return False
    return bool(op.plugin.RETURNS_PARTS and op.plugin.TAKES_ITEMS)


def _type_of_result(name: str) -> str | None:
    """Return the type of a filter's results; None if the type varies.

    ``length`` gives a number, but ``default`` may give any type. The type of
    an unknown filter is None, too.
    """
    op = registry.filters().get(name)
    if op is None:
        return None
    return op.plugin.GIVES or None


def _form_of_result(call: filter_syntax.FilterCall) -> str | None:
    """Return the form of the text that a filter makes, e.g. :data:`LOWER`.

    ``date`` makes a time if its format has an hour or a smaller unit, and a
    date otherwise.

    :returns: None if the texts of the filter have no common form.
    """
    if call.name != 'date':
        return _FORM_BY_FILTER.get(call.name)
    # A doubled percent sign is a literal one, and does not start a directive.
    date_format = str(_find_argument(call, 'format')).replace('%%', '')
    if any(directive in date_format for directive in _DIRECTIVES_OF_TIME):
        return TIME
    return DATE


def _find_argument(call: filter_syntax.FilterCall, name: str) -> typing.Any:
    """Return the argument of a call by its name; None if it is not given.

    :param name: the name of the argument, which may be given by position.
    """
    op = registry.filters().get(call.name)
    if op is None:
        return None
    bound, _problems = op.signature.bind_call(call.arguments)
    return bound.get(name)


def _list_results(
    call: filter_syntax.FilterCall,
) -> tuple[typing.Any, ...] | None:
    """List all results that the filter ``tier`` or ``lookup`` may have.

    These are the labels of the table or the values of the mapping, and the
    default.

    :returns: None if a result is a field, or if the argument is not a literal.
    """
    labels: list[typing.Any] = []
    if call.name == 'tier':
        table = _find_argument(call, 'table')
        if not isinstance(table, list):
            return None
        for row in table:
            if isinstance(row, list) and len(row) == 2:
                labels.append(row[1])
    else:
        mapping = _find_argument(call, 'mapping')
        if not isinstance(mapping, dict):
            return None
        labels += mapping.values()
    default = _find_argument(call, 'default')
    if default is not None:
        labels.append(default)
    for _path, inner in data_path.walk(labels):
        if isinstance(inner, interpolation.Field):
            return None
    return tuple(labels)


def attribute_of(call: filter_syntax.FilterCall) -> Steps:
    """Return the path of the attribute of items that a filter uses.

    :returns: ``('size',)`` for ``max('size')``; empty if the filter uses the
        items themselves.
    """
    if call.name in _FILTERS_WITH_NAME:
        attribute = _find_argument(call, 'name')
    elif call.name in _FILTERS_WITH_ATTRIBUTE:
        attribute = _find_argument(call, 'attribute')
    else:
        return ()
    if not isinstance(attribute, str):
        return ()
    return tuple(attribute.split('.'))


def build_from_literals(
    values: typing.Sequence[typing.Any], steps: Steps
) -> FieldValue:
    """Return what is known about a field that reads literal values of a rule.

    The values are the items of a literal loop, or a variable. Nothing is known
    if a value lacks the part that the field reads, or has another field there.

    :param values: the literal values.
    :param steps: the steps from such a value to the part that the field reads.
    """
    choices = []
    for value in values:
        inner = data_path.get(value, steps)
        if inner is data_path.ABSENT or interpolation.fields(inner):
            return FieldValue()
        choices.append(inner)
    if not choices:
        # If there are no values, nothing is known.
        return FieldValue()
    types = set(map(type_of, choices))
    common_type = None
    if len(types) == 1:
        (common_type,) = types
    return FieldValue(made_type=common_type, choices=tuple(choices))


def build_from_vars(
    steps: Steps, own_vars: Mapping[str, typing.Any]
) -> FieldValue:
    """Return what is known about a field over the ``vars`` of a rule.

    A variable is a literal, or has the value of a field. With ``vars: {cores:
    "{inventory.cpu.count}"}``, ``{vars.cores}`` is the number at
    ``inventory.cpu.count``.

    :param steps: the steps after ``vars``, starting with the variable's name.
    """
    if not steps or steps[0] not in own_vars:
        return FieldValue()
    value = own_vars[steps[0]]
    field = interpolation.sole_field(value)
    if field is None:
        return build_from_literals([value], steps[1:])
    if field.root in (None, model.VARS) or not field.is_plain:
        # Variables that use other variables or filters are not followed.
        return FieldValue()
    return FieldValue(steps=(str(field.root), *field.steps, *steps[1:]))
