# SPDX-License-Identifier: Apache-2.0

"""Checks of lint: loops, ``one-of`` and ports with which inspections fail."""

import re
import typing

from ironic_inspection_rules.engine.language import effects
from ironic_inspection_rules.engine.language import interpolation
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.kit.authoring.checks import checked_rule
from ironic_inspection_rules.kit.authoring.checks import facts
from ironic_inspection_rules.kit.authoring.checks import field_value
from ironic_inspection_rules.kit.authoring.checks import reach
from ironic_inspection_rules.kit.authoring.checks import values
from ironic_inspection_rules.kit.machine import inventory_fields
from ironic_inspection_rules.rule_file import file_rule

Items = typing.Mapping[str, reach.KnownLoopItem | None]

# What names a port: a MAC address, or a UUID with or without dashes.
_PORT_ID = re.compile(
    r'(?:[0-9A-Fa-f]{2}:){5}[0-9A-Fa-f]{2}|'
    r'[0-9A-Fa-f]{8}-?(?:[0-9A-Fa-f]{4}-?){3}'
    r'[0-9A-Fa-f]{12}'
)
_MAC = 'mac_address'


def check(rule: checked_rule.CheckedRule) -> checked_rule.Mistakes:
    """Find loops, values of ``one-of`` and ports that are always an error."""
    known_items = reach.items(rule)
    yield from _check_loops(rule, known_items)
    yield from _check_lists(rule, known_items)
    yield from _check_ports(rule, known_items)


def _check_loops(
    rule: checked_rule.CheckedRule, known_items: Items
) -> checked_rule.Mistakes:
    """Find loops over texts and other values that are no list.

    Such as ``loop: "{inventory.cpu.count}"``.
    """
    for operation in rule.operations:
        message = _why_loop_fails(rule, operation, known_items)
        if message is not None:
            yield f'{operation.pointer}/loop', message


def _check_lists(
    rule: checked_rule.CheckedRule, known_items: Items
) -> checked_rule.Mistakes:
    """Find values of ``one-of`` that are no list.

    Such as ``one-of: [x86_64, "{inventory.cpu.architecture}"]``, in which the
    value and the list have changed places.
    """
    for condition in rule.all_conditions:
        if condition.op.name != 'one-of':
            continue
        item = known_items[condition.pointer]
        message = _why_no_list(rule, condition, item)
        if message is not None:
            yield condition.pointer_to('values'), message


def _check_ports(
    rule: checked_rule.CheckedRule, known_items: Items
) -> checked_rule.Mistakes:
    """Find actions on a port whose ``port_id`` names no port.

    Such as ``{item.name}`` in a loop over the interfaces of the inventory.
    """
    for action in rule.actions:
        item = known_items[action.pointer]
        for write in effects.writes(action):
            message = _why_no_port(rule, write.owner, item)
            if message is not None:
                yield action.pointer_to('port_id'), message
                # One message an action, however many ports its loop names.
                break


def _why_loop_fails(
    rule: checked_rule.CheckedRule,
    operation: file_rule.Operation,
    known_items: Items,
) -> str | None:
    """Return why a loop makes every inspection fail, None if it may work.

    The loop goes over text, or over a field that is known to be no list.

    :param known_items: see :func:`.reach.items`.
    """
    loop = operation.loop
    if not isinstance(loop, str):
        # There is no loop, or the rule writes its items.
        return None
    field = interpolation.sole_field(loop)
    if field is None:
        return _(
            'text around a field is never a list, and the inspection fails'
        )
    # An item in the loop itself is the item of the operation around, such as
    # /conditions/0 around /conditions/0/conditions/1.
    around = operation.pointer.rsplit('/', 2)[0]
    item = known_items.get(around)
    kind = reach.value_of(field, item, rule.rule.vars).type
    if kind in inventory_fields.PLAIN:
        return _(
            '{%(field)s} is a %(kind)s, and the inspection fails where '
            'one would loop over it'
        ) % {'field': field.text, 'kind': kind}
    return None


def _why_no_list(
    rule: checked_rule.CheckedRule,
    condition: file_rule.Operation,
    item: reach.KnownLoopItem | None,
) -> str | None:
    """Return why the values of ``one-of`` are no list, None if they may be.

    Only a field is looked at, whose type is known.

    :param item: what is known of the loop item that the condition sees.
    """
    compared = condition.arguments.get('values')
    if not facts.is_field(compared):
        return None
    compared_field = values.describe_field(
        rule, facts.field_name(compared), item
    )
    kind = compared_field.value.type
    if kind in (None, field_value.LIST):
        return None
    message = _(
        '{%(field)s} is a %(kind)s, and the inspection fails where '
        'one-of expects its values'
    ) % {'field': compared_field.text, 'kind': kind}
    if isinstance(condition.arguments.get('value'), list):
        message += '; ' + _("value and values are in each other's place")
    return message


def _why_no_port(
    rule: checked_rule.CheckedRule,
    owner: typing.Any,
    item: reach.KnownLoopItem | None,
) -> str | None:
    """Return why a text names no port, None if it may name one.

    A port is named by its MAC address or UUID.

    :param owner: what an action names as the port, of any type.
    :param item: what is known of the loop item that the action sees.
    """
    if not isinstance(owner, str):
        return None
    field = interpolation.sole_field(owner)
    if field is None:
        if interpolation.fields(owner) or _PORT_ID.fullmatch(owner.strip()):
            return None
        return (
            _(
                '"%s" is neither the MAC address nor the UUID of a port, and '
                'the inspection fails'
            )
            % owner
        )
    # It is certain only for a known attribute of an item in the data, such as
    # the name of an interface.
    steps = reach.value_of(field, item, rule.rule.vars).steps or ()
    if len(steps) < 2 or steps[-2] != reach.MEMBER or steps[-1] == _MAC:
        return None
    if steps[0] not in ('inventory', 'plugin_data'):
        return None
    if field_value.type_at(steps) is None:
        return None
    return _(
        '{%(field)s} is neither the MAC address nor the UUID of a port, '
        'and the inspection fails; write {%(meant)s}'
    ) % {'field': field.text, 'meant': field.text.replace(steps[-1], _MAC)}
