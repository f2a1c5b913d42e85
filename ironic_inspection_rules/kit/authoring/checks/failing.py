# SPDX-License-Identifier: Apache-2.0

"""Find loops, values of ``one-of`` and ports that fail every inspection.

These are checks of ``lint``. They report an operation (a condition or an
action) only if its mistake is certain without a machine:

- a loop over something that is not a list, e.g. ``{inventory.cpu.count}``;
- ``one-of`` whose ``values`` are not a list;
- an action on a port whose ``port_id`` is not a MAC address or UUID.

A check yields mistakes: pairs of the place in the rule, e.g.
``/actions/0/loop``, and a message.
"""

import re
import typing

from ironic_inspection_rules.engine.language import effects
from ironic_inspection_rules.engine.language import interpolation
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.kit.authoring.checks import checked_rule
from ironic_inspection_rules.kit.authoring.checks import facts
from ironic_inspection_rules.kit.authoring.checks import field_use
from ironic_inspection_rules.kit.authoring.checks import field_value
from ironic_inspection_rules.kit.authoring.checks import values
from ironic_inspection_rules.kit.machine import inventory_fields
from ironic_inspection_rules.rule_file import file_rule

Items = typing.Mapping[str, field_use.KnownLoopItem | None]
"""What is known about the loop item that an operation sees, by the pointer to
the operation, e.g. ``/actions/0``. None if the operation sees no item."""

# Identifiers of a port: a MAC address, or a UUID with or without dashes.
_PORT_ID = re.compile(
    r'(?:[0-9A-Fa-f]{2}:){5}[0-9A-Fa-f]{2}|'
    r'[0-9A-Fa-f]{8}-?(?:[0-9A-Fa-f]{4}-?){3}'
    r'[0-9A-Fa-f]{12}'
)
_MAC = 'mac_address'


def check(rule: checked_rule.CheckedRule) -> checked_rule.Mistakes:
    """Find loops, values of ``one-of`` and ports that are always an error."""
    known_items = field_use.known_items(rule)
    yield from _check_loops(rule, known_items)
    yield from _check_lists(rule, known_items)
    yield from _check_ports(rule, known_items)


def _check_loops(
    rule: checked_rule.CheckedRule, known_items: Items
) -> checked_rule.Mistakes:
    """Find loops over texts and other values that are not lists.

    An example is ``loop: "{inventory.cpu.count}"``.
    """
    for operation in rule.operations:
        message = _why_loop_fails(rule, operation, known_items)
        if message is not None:
            yield f'{operation.pointer}/loop', message


def _check_lists(
    rule: checked_rule.CheckedRule, known_items: Items
) -> checked_rule.Mistakes:
    """Find values of ``one-of`` that are not lists.

    An example is ``one-of: [x86_64, "{inventory.cpu.architecture}"]``, in
    which the value and the list are exchanged.
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
    """Find actions on a port whose ``port_id`` cannot identify a port.

    An example is ``{item.name}`` in a loop over the interfaces of the
    inventory.
    """
    for action in rule.actions:
        item = known_items[action.pointer]
        for write in effects.writes(action):
            message = _why_no_port(rule, write.owner, item)
            if message is not None:
                yield action.pointer_to('port_id'), message
                # Report an action only once, even if its loop names several
                # ports.
                break


def _why_loop_fails(
    rule: checked_rule.CheckedRule,
    operation: file_rule.Operation,
    known_items: Items,
) -> str | None:
    """Return why a loop fails every inspection; None if it may work.

    It fails if it is over text, or over a field that is known not to be a
    list.

    :param known_items: the items that operations see; see
        :func:`.field_use.known_items`.
    """
    loop = operation.loop
    if not isinstance(loop, str):
        # There is no loop, or its items are literals.
        return None
    field = interpolation.sole_field(loop)
    if field is None:
        return _(
            'text around a field is never a list, and the inspection fails'
        )
    # {item} in the loop itself is the item of the enclosing operation, e.g.
    # /conditions/0 for /conditions/0/conditions/1.
    around = operation.pointer.rsplit('/', 2)[0]
    item = known_items.get(around)
    kind = field_use.known_value(field, item, rule.rule.vars).type
    if kind in inventory_fields.PLAIN:
        return _(
            '{%(field)s} is a %(kind)s, and the inspection fails where '
            'one would loop over it'
        ) % {'field': field.text, 'kind': kind}
    return None


def _why_no_list(
    rule: checked_rule.CheckedRule,
    condition: file_rule.Operation,
    item: field_use.KnownLoopItem | None,
) -> str | None:
    """Return why the values of ``one-of`` are not a list; None if they may be.

    Only fields with a known type are checked.

    :param item: what is known about the loop item that the condition sees.
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
    item: field_use.KnownLoopItem | None,
) -> str | None:
    """Return why a text cannot identify a port; None if it may identify one.

    A port is identified by its MAC address or UUID.

    :param owner: the value by which an action identifies the port, of any
        type.
    :param item: what is known about the loop item that the action sees.
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
    # The text is a single field. Only a known attribute of an item in the
    # data, e.g. the name of an interface, certainly does not identify a port.
    # The steps of this field are inventory, interfaces, any item, name.
    steps = field_use.known_value(field, item, rule.rule.vars).steps or ()
    if len(steps) < 2 or steps[-2] != field_use.MEMBER or steps[-1] == _MAC:
        return None
    if steps[0] not in ('inventory', 'plugin_data'):
        return None
    if field_value.type_at(steps) is None:
        return None
    return _(
        '{%(field)s} is neither the MAC address nor the UUID of a port, '
        'and the inspection fails; write {%(meant)s}'
    ) % {'field': field.text, 'meant': field.text.replace(steps[-1], _MAC)}
