# SPDX-License-Identifier: Apache-2.0

"""Actions whose writes a later action of the same rule undoes."""

import json
import typing

from ironic_inspection_rules.engine.language import effects
from ironic_inspection_rules.engine.language import interpolation
from ironic_inspection_rules.engine.language import path as data_path
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.kit.authoring.checks import checked_rule
from ironic_inspection_rules.kit.authoring.checks import facts
from ironic_inspection_rules.kit.authoring.checks import field_value
from ironic_inspection_rules.kit.authoring.checks import values
from ironic_inspection_rules.rule_file import file_rule


def check(rule: checked_rule.CheckedRule) -> checked_rule.Found:
    """Find actions of which a later one leaves nothing, unread."""
    for place, action in enumerate(rule.actions):
        if action.loops:
            if _overwrites_itself(rule, action):
                yield action.pointer, _(
                    'only the last item of the loop has an effect: it writes '
                    'over what the others wrote')
            continue
        written = list(effects.effects(action))
        for later in rule.actions[place + 1:]:
            if later.op.plugin.FAILS or not written or any(
                    _reads(later, each) for each in written):
                break
            if not later.loops and not later.inner and all(
                    _undoes(later, each) for each in written):
                yield action.pointer, _(
                    'this action has no effect: %(later)s writes %(place)s '
                    'too') % {
                        'later': file_rule.place_name(later.pointer),
                        'place': written[0]}
                break


def _overwrites_itself(rule: checked_rule.CheckedRule,
                       action: file_rule.Operation) -> bool:
    """Return whether each item of a loop writes another value to one place.

    A condition, or a value that is read where it is written, makes another
    item count than the last.
    """
    loop = action.loop
    if action.inner or not _has_items(rule, loop):
        return False
    # Of a literal loop one for each item, with the item filled in.
    written = list(effects.effects(action))
    places = {(each.kind, each.place) for each in written}
    different = {json.dumps(each.value, sort_keys=True, default=str)
                 for each in written}
    if len(places) != 1 or any(each.extends for each in written):
        return False
    if any(interpolation.fields(list(each.place))
           or _reads(action, each) for each in written):
        return False
    if isinstance(loop, list):
        return len(written) == len(loop) and len(different) > 1
    return any(field.root == interpolation.ITEM
               for field in interpolation.fields(written[0].value))


def _has_items(rule: checked_rule.CheckedRule, loop: typing.Any) -> bool:
    """Return whether a loop has all items of a list.

    Filters may select one item, or sort them for the sake of the last one. A
    loop over a mapping has one item, the mapping.
    """
    if isinstance(loop, list):
        return len(loop) > 1
    field = interpolation.sole_field(loop)
    return field is not None and field.is_plain and values.subject(
        rule, facts.field_name(loop)).value.type == field_value.LIST


def _reads(action: file_rule.Operation, effect: effects.Effect) -> bool:
    """Return whether an action, or its conditions, may read a place."""
    return any(effect.may_be_read_by(operation) for operation in action.all)


def _undoes(action: file_rule.Operation, write: effects.Effect) -> bool:
    """Return whether an action leaves nothing of what was written."""
    if interpolation.fields(list(write.place)) or write.extends:
        return False
    place = write.place
    if write.value is data_path.ABSENT and place[-1].isdigit():
        # Once an item is removed, the same number is that of the next one.
        place = place[:-1]
    return any(other.kind == write.kind and not other.extends
               and other.place == place[:len(other.place)]
               for other in effects.effects(action))
