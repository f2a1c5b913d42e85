# SPDX-License-Identifier: Apache-2.0

"""Find actions whose writes a later action of the same rule undoes.

This is a check of ``lint``. A write is a change that an action makes at one
place, e.g. at ``/extra/rack`` of the node; see :class:`.effects.Effect`. A
later action undoes a write if it writes to the same place, or to a mapping
around it. The write then has no effect, unless something reads it before.
"""

from collections.abc import Sequence
import json
import typing

from ironic_inspection_rules.engine.language import effects
from ironic_inspection_rules.engine.language import interpolation
from ironic_inspection_rules.engine.language import path as data_path
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.kit.authoring.checks import checked_rule
from ironic_inspection_rules.kit.authoring.checks import facts
from ironic_inspection_rules.kit.authoring.checks import field_value
from ironic_inspection_rules.kit.authoring.checks import values as field_checks
from ironic_inspection_rules.rule_file import file_rule


def check(rule: checked_rule.CheckedRule) -> checked_rule.Mistakes:
    """Find actions whose writes a later action undoes before they are read.

    This also finds loops in which only the last item has an effect.
    """
    for place, action in enumerate(rule.actions):
        if action.loops:
            if _overwrites_itself(rule, action):
                message = _(
                    'only the last item of the loop has an effect: it '
                    'writes over what the others wrote'
                )
                yield action.pointer, message
            continue
        writes = list(effects.effects(action))
        if not writes:
            continue
        later = _find_undoing_action(writes, rule.actions[place + 1 :])
        if later is not None:
            message = _(
                'this action has no effect: %(later)s writes %(place)s too'
            ) % {
                'later': file_rule.place_name(later.pointer),
                'place': writes[0],
            }
            yield action.pointer, message


def _find_undoing_action(
    writes: Sequence[effects.Effect],
    later_actions: Sequence[file_rule.Operation],
) -> file_rule.Operation | None:
    """Find the action that undoes all writes before they are read.

    :param writes: the writes of an earlier action.
    :returns: None if there is no such action.
    """
    for later in later_actions:
        if later.op.plugin.FAILS:
            # The actions after it do not run.
            return None
        if any(_may_read(later, write) for write in writes):
            return None
        # An action with a loop or with conditions may not run.
        if later.loops or later.inner:
            continue
        if all(_undoes(later, write) for write in writes):
            return later
    return None


def _overwrites_itself(
    rule: checked_rule.CheckedRule, action: file_rule.Operation
) -> bool:
    """Return whether a loop writes different values to one place.

    For example, if an action in a loop over disks sets ``/extra/disk`` to
    ``{item.name}``, only the value of the last item remains. If the action has
    a condition, or reads the place, an earlier item may matter, so nothing is
    reported.
    """
    loop = action.loop
    has_conditions = bool(action.inner)
    if has_conditions or not _may_have_several_items(rule, loop):
        # A "when" may select a single item.
        return False
    # A literal loop has one write per item, with the item filled in.
    writes = list(effects.effects(action))
    places = {(write.kind, write.place) for write in writes}
    if len(places) != 1:
        return False
    for write in writes:
        if write.extends or interpolation.fields(list(write.place)):
            return False
        if _may_read(action, write):
            return False
    if isinstance(loop, list):
        # The items are known, so their values can be compared.
        return len(writes) == len(loop) and _do_values_differ(writes)
    # The items come from a machine. The values differ if they contain the
    # item.
    return _contains_item(writes[0].value)


def _do_values_differ(writes: Sequence[effects.Effect]) -> bool:
    """Return whether not all writes have the same value."""
    values = {
        json.dumps(write.value, sort_keys=True, default=str)
        for write in writes
    }
    return len(values) > 1


def _contains_item(value: typing.Any) -> bool:
    """Return whether a value has a field over ``{item}``."""
    return any(
        field.root == interpolation.ITEM
        for field in interpolation.fields(value)
    )


def _may_have_several_items(
    rule: checked_rule.CheckedRule, loop: typing.Any
) -> bool:
    """Return whether a loop may have several items, in no intended order.

    A field with filters is not counted, because the filters may select an
    item, or sort the items so that the last one wins. A mapping is a single
    item.
    """
    if isinstance(loop, list):
        return len(loop) > 1
    field = interpolation.sole_field(loop)
    if field is None or not field.is_plain:
        return False
    loop_field = field_checks.describe_field(rule, facts.field_name(loop))
    return loop_field.value.type == field_value.LIST


def _may_read(action: file_rule.Operation, effect: effects.Effect) -> bool:
    """Return whether an action, or its conditions, may read a place.

    :param effect: a write of an earlier action, or of an earlier item.
    """
    return any(effect.may_be_read_by(operation) for operation in action.all)


def _undoes(action: file_rule.Operation, write: effects.Effect) -> bool:
    """Return whether an action certainly overwrites the place of a write.

    It does if it writes to the place, or to a mapping around it: ``/extra``
    undoes ``/extra/rack``. This is unknown for a place with fields, and for an
    item that is appended to a list.

    :param write: a write of an earlier action.
    """
    if interpolation.fields(list(write.place)) or write.extends:
        return False
    place = write.place
    if write.value is data_path.ABSENT and place[-1].isdigit():
        # After an item is removed, its index belongs to the next item, so only
        # a write of the whole list undoes the removal.
        place = place[:-1]
    for effect in effects.effects(action):
        if effect.kind != write.kind or effect.extends:
            continue
        is_same_or_around = effect.place == place[: len(effect.place)]
        if is_same_or_around:
            return True
    return False
