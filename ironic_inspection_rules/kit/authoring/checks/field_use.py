# SPDX-License-Identifier: Apache-2.0

"""Determine which data of a machine the fields of a rule read.

The steps of a field are its path, e.g. ``('inventory', 'cpu', 'count')`` for
``{inventory.cpu.count}``. The first step is the root. In a loop, ``{item}``
stands for the items: with ``loop: "{inventory.disks}"``, the field
``{item.size}`` reads ``('inventory', 'disks', '*', 'size')``, where ``*``
(:data:`MEMBER`) stands for any item.

A field with filters may read several places. Each of them is one
:class:`FieldUse`: ``{inventory.disks | max('size')}`` uses the disks, and the
size of each disk.
"""

import dataclasses
import typing

from ironic_inspection_rules.engine.language import filter_syntax
from ironic_inspection_rules.engine.language import interpolation
from ironic_inspection_rules.engine.language import model
from ironic_inspection_rules.engine.language import path as data_path
from ironic_inspection_rules.kit.authoring.checks import checked_rule
from ironic_inspection_rules.kit.authoring.checks import field_value
from ironic_inspection_rules.kit.machine import inventory_fields
from ironic_inspection_rules.rule_file import file_rule

Steps = tuple[str, ...]

MEMBER = inventory_fields.MEMBER

_GET = 'get'


@dataclasses.dataclass(frozen=True)
class KnownLoopItem:
    """What is known about the item of a loop.

    Nothing is known if both attributes are None. The loop then has a field
    with an unknown value.

    :ivar steps: the path of an item that comes from the data, e.g.
        ``('inventory', 'disks', '*')`` with :data:`MEMBER`.
    :ivar values: the items that are literals in the rule.
    """

    steps: Steps | None = None
    values: tuple[typing.Any, ...] | None = None


class FieldUse(typing.NamedTuple):
    """One use of a field.

    :param pointer: the place in the rule.
    :param text: the whole field as it is written, without braces.
    :param steps: the steps to the data that are used, starting with the name
        of a root, e.g. ``item``.
    :param item: the item of the loop around the field.
    """

    pointer: str
    text: str
    steps: Steps
    item: KnownLoopItem | None = None

    @property
    def from_roots(self) -> Steps | None:
        """The steps with ``item`` replaced by its steps; None if unknown."""
        if self.steps[0] != interpolation.ITEM:
            return self.steps
        if self.item is None or self.item.steps is None:
            return None
        return (*self.item.steps, *self.steps[1:])


class FieldInRule(typing.NamedTuple):
    """A field as it is written in a rule.

    :ivar pointer: the place in the rule.
    :ivar field: the field.
    :ivar item: the item of the loop around the field.
    """

    pointer: str
    field: interpolation.Field
    item: KnownLoopItem | None = None


class MissingStep(typing.NamedTuple):
    """A step that literal items of a loop lack.

    :ivar step: the missing step.
    :ivar above: the steps that lead to the value that lacks the step; empty if
        it is the item itself.
    :ivar names: the names in this value. None if it is not a mapping.
    """

    step: str
    above: Steps
    names: list[str] | None


def list_fields(
    rule: checked_rule.CheckedRule,
) -> typing.Iterator[FieldInRule]:
    """Yield all fields of a rule as they are written.

    A field in the argument of a filter is part of the field with the filter,
    so it is not yielded itself, but :func:`list_uses` yields it.
    """
    for name, value in rule.rule.vars.items():
        for field in interpolation.fields(value):
            yield FieldInRule(f'/vars/{name}', field)
    for operation in [*rule.conditions, *rule.actions]:
        yield from _list_fields_of(operation, None)


def list_uses(rule: checked_rule.CheckedRule) -> typing.Iterator[FieldUse]:
    """Yield the data that all fields of a rule use.

    These are the data at the paths of the fields, and the data that their
    filters use, see :func:`list_uses_of_field`.
    """
    for written in list_fields(rule):
        yield from list_uses_of_field(*written)


def _list_fields_of(
    operation: file_rule.Operation, outer: KnownLoopItem | None
) -> typing.Iterator[FieldInRule]:
    """Yield the fields of a condition or an action.

    The fields of its loop come first, followed by the fields of its arguments
    and of the conditions in it.

    :param outer: the item of the loop around the operation.
    """
    loop = operation.loop
    for field in interpolation.fields(loop):
        # The fields of a loop are filled in before the loop has an item.
        yield FieldInRule(f'{operation.pointer}/loop', field, outer)
    item = _find_item_inside(loop, outer)
    for name, value in operation.templates.items():
        for field in interpolation.fields(value):
            yield FieldInRule(operation.pointer_to(name), field, item)
    for inner in operation.inner:
        yield from _list_fields_of(inner, item)


def known_items(
    rule: checked_rule.CheckedRule,
) -> dict[str, KnownLoopItem | None]:
    """Return what is known about the items that operations see.

    In a loop over ``{inventory.disks}``, an operation sees the item at
    ``('inventory', 'disks', '*')``.

    :returns: the items by the pointer to the operation; None if the operation
        is not in a loop and has none.
    """
    by_pointer: dict[str, KnownLoopItem | None] = {}
    for operation in [*rule.conditions, *rule.actions]:
        _add_items(by_pointer, operation, None)
    return by_pointer


def _add_items(
    by_pointer: dict[str, KnownLoopItem | None],
    operation: file_rule.Operation,
    outer: KnownLoopItem | None,
) -> None:
    """Add the item of an operation, and of the conditions inside it."""
    item = _find_item_inside(operation.loop, outer)
    by_pointer[operation.pointer] = item
    for inner in operation.inner:
        _add_items(by_pointer, inner, item)


def known_value(
    field: interpolation.Field,
    item: KnownLoopItem | None,
    own_vars: typing.Mapping[str, typing.Any],
) -> field_value.FieldValue:
    """Return what is known about the value of a field, e.g. its type.

    This is known from literals in the rule, or from the data that inspection
    reports: ``{inventory.cpu.count}`` is a number.

    :param item: the item of the loop around the field.
    :param own_vars: the ``vars`` of the rule.
    """
    if field.root is None:
        return field_value.FieldValue()
    if field.conversion is not None or field.spec is not None:
        return field_value.FieldValue(made_type=field_value.TEXT)
    literal_items = None
    if field.root == interpolation.ITEM and item is not None:
        literal_items = item.values
    if field.root == model.VARS:
        value = field_value.build_from_vars(field.steps, own_vars)
    elif literal_items is not None:
        value = field_value.build_from_literals(literal_items, field.steps)
    else:
        value = _look_up(field.root, field.steps, item)
    return _apply_filters(value, field)


def _look_up(
    root: str, steps: Steps, item: KnownLoopItem | None
) -> field_value.FieldValue:
    """Return what is known about the data that a field without filters reads.

    :param root: the root, e.g. ``inventory``.
    :param item: the item of the loop around the field. Its steps replace the
        root ``item``.
    """
    use = FieldUse('', '', (root, *steps), item)
    return field_value.FieldValue(steps=use.from_roots)


def _apply_filters(
    value: field_value.FieldValue, field: interpolation.Field
) -> field_value.FieldValue:
    """Return what is known about a value after the filters of a field."""
    for call in field.filters:
        value = value.result_of(call, field_value.attribute_of(call))
    return value


def _find_item_inside(
    loop: typing.Any, outer: KnownLoopItem | None
) -> KnownLoopItem | None:
    """Return what is known about ``{item}`` in an operation.

    :param loop: the loop of the operation; None if it has none.
    :param outer: the item of the loop around the operation.
    """
    if loop is None:
        return outer
    if isinstance(loop, dict):
        return KnownLoopItem(values=(loop,))
    if isinstance(loop, list):
        return KnownLoopItem(values=tuple(loop))
    field = interpolation.sole_field(loop)
    if field is None or not field.root:
        return KnownLoopItem()
    # The loop is over a field, so the item comes from the data.
    value = _apply_filters(_look_up(field.root, field.steps, outer), field)
    if value.type == field_value.MAPPING:
        # The only item of a loop over a mapping is the mapping.
        return KnownLoopItem(steps=value.steps)
    return KnownLoopItem(steps=value.items)


def list_uses_of_field(
    pointer: str, field: interpolation.Field, item: KnownLoopItem | None = None
) -> typing.Iterator[FieldUse]:
    """Yield the data that one field uses, by their steps.

    The path of the field comes first, followed by the data that its filters
    use: fields in their arguments, attributes of items, and paths. For
    example, ``{inventory.disks | max('size')}`` uses ``inventory.disks``, and
    the ``size`` of each item.

    :param pointer: the place of the field in the rule.
    :param item: the item of the loop around the field.
    """
    if field.root is None:
        # The text of the field is not a path.
        return
    use = FieldUse(pointer, field.text, (field.root, *field.steps), item)
    yield use
    # What is known about the value before each filter.
    value = field_value.FieldValue(steps=use.from_roots)
    for call in field.filters:
        for inner in _list_fields_in_arguments(call):
            yield from list_uses_of_field(pointer, inner, item)
        attribute = field_value.attribute_of(call)
        if attribute and value.items is not None:
            yield FieldUse(pointer, field.text, (*value.items, *attribute))
        value = value.result_of(call, attribute)
        if call.name == _GET and value.steps is not None:
            yield FieldUse(pointer, field.text, value.steps)


def _list_fields_in_arguments(
    call: filter_syntax.FilterCall,
) -> typing.Iterator[interpolation.Field]:
    """Yield the fields in the arguments of a filter.

    Fields in the arguments of their own filters are not included.
    """
    arguments = [argument for _name, argument in call.arguments]
    for _path, inner in data_path.walk(arguments):
        if isinstance(inner, interpolation.Field):
            yield inner


def find_missing_step(use: FieldUse) -> MissingStep | None:
    """Find a step of a field that no literal item of the loop has.

    The field is then missing on every machine.

    :returns: the step that the first item lacks; None if some item has all
        steps, or if nothing is known about the items.
    """
    if use.steps[0] != interpolation.ITEM:
        return None
    if use.item is None or not use.item.values:
        return None
    missing_steps = []
    for value in use.item.values:
        missing = _find_missing_step_of(value, use.steps[1:])
        if missing is None:
            # This item has all steps.
            return None
        missing_steps.append(missing)
    return missing_steps[0]


def _find_missing_step_of(
    value: typing.Any, steps: Steps
) -> MissingStep | None:
    """Find the first step that a value lacks; None if it may have all steps.

    For the steps ``('rack', 'room')``, ``{'rack': {'row': 1}}`` lacks ``room``
    and has ``row`` instead.
    """
    for index, step in enumerate(steps):
        if isinstance(value, str) and interpolation.fields(value):
            # The value of a field may have the step.
            return None
        inner = data_path.get(value, (step,))
        if inner is data_path.ABSENT:
            names = None
            if isinstance(value, dict):
                names = list(value)
            return MissingStep(step, steps[:index], names)
        value = inner
    return None
