# SPDX-License-Identifier: Apache-2.0

"""lint: actions whose writes a later action of the same rule undoes."""

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
    """Find actions whose writes a later action undoes before any is read.

    A loop in which every item undoes the one before is found, too.
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
        later = _undone_by(writes, rule.actions[place + 1 :])
        if later is not None:
            message = _(
                'this action has no effect: %(later)s writes %(place)s too'
            ) % {
                'later': file_rule.place_name(later.pointer),
                'place': writes[0],
            }
            yield action.pointer, message


def _undone_by(
    writes: Sequence[effects.Effect],
    later_actions: Sequence[file_rule.Operation],
) -> file_rule.Operation | None:
    """Return the action that undoes all writes, if nothing reads them before.

    :param writes: those of one action.
    """
    for later in later_actions:
        if later.op.plugin.FAILS:
            # No action behind it runs.
            return None
        if any(_reads(later, write) for write in writes):
            return None
        # In a loop or with conditions it may not run.
        if later.loops or later.inner:
            continue
        if all(_undoes(later, write) for write in writes):
            return later
    return None


def _overwrites_itself(
    rule: checked_rule.CheckedRule, action: file_rule.Operation
) -> bool:
    """Return whether a loop writes different values to one place.

    Then only what it writes for the last item stays. With a condition, or
    where an action reads what it writes, an earlier item may be the one that
    stays, or have a part in it, so nothing is reported.
    """
    loop = action.loop
    has_conditions = bool(action.inner)
    if has_conditions or not _may_have_several_items(rule, loop):
        return False
    # Of a literal loop there is a write of every item, filled in.
    writes = list(effects.effects(action))
    places = {(write.kind, write.place) for write in writes}
    if len(places) != 1:
        return False
    for write in writes:
        if write.extends or interpolation.fields(list(write.place)):
            return False
        if _reads(action, write):
            return False
    if isinstance(loop, list):
        values = {
            json.dumps(write.value, sort_keys=True, default=str)
            for write in writes
        }
        return len(writes) == len(loop) and len(values) > 1
    return any(
        field.root == interpolation.ITEM
        for field in interpolation.fields(writes[0].value)
    )


def _may_have_several_items(
    rule: checked_rule.CheckedRule, loop: typing.Any
) -> bool:
    """Return whether a loop may have several items, in no chosen order.

    Filters may select one item, or sort them for the sake of the last one, so
    a field with filters does not count. A loop over a mapping has one item,
    the mapping.
    """
    if isinstance(loop, list):
        return len(loop) > 1
    field = interpolation.sole_field(loop)
    if field is None or not field.is_plain:
        return False
    loop_field = field_checks.subject(rule, facts.field_name(loop))
    return loop_field.value.type == field_value.LIST


def _reads(action: file_rule.Operation, effect: effects.Effect) -> bool:
    """Return whether an action, or its conditions, may read a place."""
    return any(effect.may_be_read_by(operation) for operation in action.all)


def _undoes(action: file_rule.Operation, write: effects.Effect) -> bool:
    """Return whether an action surely writes over a write.

    It does so at the place of the write or above. For a place with fields or
    an appended item that is not known.
    """
    if interpolation.fields(list(write.place)) or write.extends:
        return False
    place = write.place
    if write.value is data_path.ABSENT and place[-1].isdigit():
        # Once an item is removed, the same number is that of the next one:
        # only a write of the whole list undoes it.
        place = place[:-1]
    for effect in effects.effects(action):
        if effect.kind != write.kind or effect.extends:
            continue
        is_there_or_above = effect.place == place[: len(effect.place)]
        if is_there_or_above:
            return True
    return False
