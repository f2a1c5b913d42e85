# SPDX-License-Identifier: Apache-2.0

"""What is known of the value of a field without a machine."""

from collections.abc import Mapping
import typing

from ironic_inspection_rules.engine.language import filter_syntax
from ironic_inspection_rules.engine.language import interpolation
from ironic_inspection_rules.engine.language import model
from ironic_inspection_rules.engine.language import path as data_path
from ironic_inspection_rules.engine.language import registry
from ironic_inspection_rules.kit.machine import inventory_fields

Steps = tuple[str, ...]

MEMBER = inventory_fields.MEMBER

BOOLEAN, NUMBER, TEXT, LIST, MAPPING = (
    'boolean', 'number', 'text', 'list', 'mapping')
SEQUENCES = frozenset((LIST, MAPPING))

LOWER, UPPER, DATE, TIME = 'lower', 'upper', 'date', 'time'
"""The forms of text that filters make."""

_BY_ATTRIBUTE = frozenset(('join', 'map', 'max', 'min', 'sort', 'sum',
                           'unique'))
_BY_NAME = frozenset(('selectattr', 'rejectattr'))
_KEEP_ITEMS = frozenset(('reject', 'rejectattr', 'select', 'selectattr',
                         'sort', 'unique'))
_GET = 'get'
_EXTREME = frozenset(('max', 'min'))
_ONE_ITEM = frozenset(('first', 'last')) | _EXTREME
_FORMS = {'lower': LOWER, 'upper': UPPER, 'trait': UPPER}
_TIMES = ('%H', '%I', '%M', '%S', '%f', '%p', '%X', '%c', '%z')

_OF_NODE: dict[Steps, str] = {
    ('ports',): LIST, ('port_groups',): LIST, ('node', 'traits'): LIST,
    ('node', 'name'): TEXT, ('node', 'driver'): TEXT,
    ('node', 'power_state'): TEXT, ('node', 'provision_state'): TEXT,
    ('node', 'auto_discovered'): BOOLEAN, ('node', 'maintenance'): BOOLEAN,
    ('node', 'properties'): MAPPING, ('node', 'extra'): MAPPING,
    ('node', 'driver_info'): MAPPING,
    ('node', 'properties', 'capabilities'): TEXT,
    ('ports', MEMBER, 'address'): TEXT,
    ('ports', MEMBER, 'pxe_enabled'): BOOLEAN}

_TEXTS = frozenset(('biosdevname', 'hctl', 'serial', 'wwn',
                    'wwn_vendor_extension', 'wwn_with_extension'))
"""Names of text of inventories, of which the code of Ironic says no type."""


def type_at(steps: Steps) -> str | None:
    """Return the type of a machine's data, None where it is unknown."""
    if steps[:1] == ('previous',):
        steps = steps[1:]
    if steps in _OF_NODE:
        return _OF_NODE[steps]
    field = inventory_fields.known()
    for name in steps:
        below = None if field.is_open else field.step(name)
        if below is None:
            return None
        field = below
    if field.type is None and steps[:1] == ('inventory',) and (
            steps[-1] in _TEXTS):
        return TEXT
    return field.type


def type_of(value: typing.Any) -> str | None:
    """Return the type of a value, None for null."""
    if isinstance(value, bool):
        return BOOLEAN
    for kind, types in ((NUMBER, int | float), (TEXT, str), (LIST, list),
                        (MAPPING, dict)):
        if isinstance(value, types):
            return kind
    return None


class Value(typing.NamedTuple):
    """The value of a field, as far as it is known.

    :param steps: where it is in the data.
    :param listed: where its items are, if it is a list that a filter made.
    :param made: its type, if a filter or the rule made it.
    :param form: what its text is like.
    :param choices: all that it may be, None where nobody knows.
    """

    steps: Steps | None = None
    listed: Steps | None = None
    made: str | None = None
    form: str | None = None
    choices: tuple[typing.Any, ...] | None = None

    @property
    def type(self) -> str | None:
        """The type, None where nobody knows."""
        if self.steps is not None and self.made is None:
            return type_at(self.steps)
        return self.made

    @property
    def items(self) -> Steps | None:
        """The steps to each item, None where nobody knows."""
        if self.steps is not None:
            return (*self.steps, MEMBER)
        return self.listed

    def after(self, call: filter_syntax.Call, attribute: Steps) -> 'Value':
        """Return the value that comes out of a filter."""
        items = self.items
        if call.name == _GET:
            return self._at(_argument(call, 'path'))
        if call.name in _KEEP_ITEMS:
            return Value(listed=items, made=LIST)
        if call.name in _ONE_ITEM:
            # Such an item has the attribute by which it was chosen.
            made = MAPPING if call.name in _EXTREME and attribute else None
            return Value(items, made=made)
        if call.name == 'map':
            return Value(listed=(*items, *attribute) if items and attribute
                         else None, made=LIST)
        if call.name in ('tier', 'lookup'):
            return Value(choices=_labels(call))
        if call.name == 'default':
            default = _argument(call, 'default')
            same = self.type is not None and type_of(default) == self.type
            return Value(made=self.type if same else None)
        return Value(made=_made(call.name), form=_form(call))

    def _at(self, path: typing.Any) -> 'Value':
        if self.steps is None or not isinstance(path, str):
            return Value()
        return Value((*self.steps, *data_path.parse(path)))


def _made(name: str) -> str | None:
    """Return the type of what a filter gives."""
    op = registry.filters().get(name)
    return op.plugin.GIVES or None if op else None


def _form(call: filter_syntax.Call) -> str | None:
    if call.name == 'date':
        written = str(_argument(call, 'format')).replace('%%', '')
        return TIME if any(each in written for each in _TIMES) else DATE
    return _FORMS.get(call.name)


def _argument(call: filter_syntax.Call, name: str) -> typing.Any:
    """Return an argument of a filter, None where it is not given."""
    op = registry.filters().get(call.name)
    if op is None:
        return None
    given, _problems = op.signature.bind_call(call.arguments)
    return given.get(name)


def _labels(call: filter_syntax.Call) -> tuple[typing.Any, ...] | None:
    """Return what tier or lookup may give, None where nobody knows."""
    if call.name == 'tier':
        table = _argument(call, 'table')
        labels = [row[1] for row in table if isinstance(row, list)
                  and len(row) == 2] if isinstance(table, list) else None
    else:
        mapping = _argument(call, 'mapping')
        labels = list(mapping.values()) if isinstance(mapping, dict) else None
    if labels is None:
        return None
    default = _argument(call, 'default')
    if default is not None:
        labels.append(default)
    if any(isinstance(inner, interpolation.Field)
           for _path, inner in data_path.walk(labels)):
        return None
    return tuple(labels)


def attribute_of(call: filter_syntax.Call) -> Steps:
    """Return the attribute of each item that a filter looks at."""
    if call.name not in _BY_ATTRIBUTE | _BY_NAME:
        return ()
    attribute = _argument(call, 'name' if call.name in _BY_NAME
                          else 'attribute')
    return tuple(attribute.split('.')) if isinstance(attribute, str) else ()


def of_literals(values: typing.Sequence[typing.Any], steps: Steps) -> Value:
    """Return what a field gives that steps into values of a rule."""
    found = []
    for value in values:
        inner = data_path.get(value, steps)
        if inner is data_path.ABSENT or interpolation.fields(inner):
            return Value()
        found.append(inner)
    types = set(map(type_of, found))
    return Value(made=types.pop() if len(types) == 1 else None,
                 choices=tuple(found) or None)


def of_vars(steps: Steps, known: Mapping[str, typing.Any]) -> Value:
    """Return what a field over the values of a rule gives.

    :param steps: those after ``vars``.
    """
    if not steps or steps[0] not in known:
        return Value()
    written = known[steps[0]]
    field = interpolation.sole_field(written)
    if field is None:
        return of_literals([written], steps[1:])
    if field.root in (None, model.VARS) or not field.is_plain:
        # Where values use values, only the first one is followed.
        return Value()
    return Value((str(field.root), *field.steps, *steps[1:]))
