# SPDX-License-Identifier: Apache-2.0

"""Find values that Ironic or Nova cannot use where they are set.

These are checks of ``lint`` for capabilities, root device hints, traits, units
of sizes, and resource classes of a node. A write is what an action changes,
e.g. the value ``ipmi`` at the path ``/driver`` of the node; see
:class:`.plugin.Write`. The steps of a write are its path: ``('properties',
'root_device', 'serial')``. A check yields mistakes: pairs of the place in the
rule, e.g. ``/actions/0/args/value``, and a message.
"""

import re
import typing

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.language import effects
from ironic_inspection_rules.engine.language import interpolation
from ironic_inspection_rules.engine.language import path as data_path
from ironic_inspection_rules.engine.language import plugin
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.kit.authoring.checks import checked_rule
from ironic_inspection_rules.kit.authoring.checks import field_use
from ironic_inspection_rules.kit.authoring.checks import known_values
from ironic_inspection_rules.plugins.actions import schema
from ironic_inspection_rules.rule_file import file_rule

_NODE_CAPABILITIES = ('node', *schema.CAPABILITIES)
_ROOT_DEVICE = ('properties', 'root_device')
# The kernel's name of a disk, possibly after an operator of Ironic's root
# device hints: "s== /dev/sda".
_KERNEL_NAME = re.compile(r'(?:s?==? ?|<in> )?/dev/(?:[shv]d|xvd|nvme|md)\w*')
_CUSTOM_PREFIX = 'CUSTOM_'
_PREFIXES_OF_ALL = tuple(
    _CUSTOM_PREFIX[:length] for length in range(len(_CUSTOM_PREFIX) + 1)
)
"""Prefixes that all traits begin with, or all custom traits: the empty one,
``C``, ``CU`` and so on, up to ``CUSTOM_``."""


def check_capabilities(
    rule: checked_rule.CheckedRule,
) -> checked_rule.Mistakes:
    """Find rules that treat the capabilities of a node as a mapping.

    Capabilities are one text, "name:value,…", so no path can lead into it.
    """
    yield from _check_reads_of_capabilities(rule)
    for action in rule.actions:
        yield from _check_writes_of_capabilities(action)


def _check_reads_of_capabilities(
    rule: checked_rule.CheckedRule,
) -> checked_rule.Mistakes:
    """Find fields such as ``{node.properties.capabilities.boot_mode}``."""
    for use in field_use.list_uses(rule):
        steps = use.from_roots or ()
        if steps[:3] == _NODE_CAPABILITIES and len(steps) > 3:
            yield (
                use.pointer,
                _(
                    '{%(field)s}: the capabilities are one text, '
                    '"name:value,…"; write {node.properties.capabilities | '
                    "regex_search('(?:^|,)%(name)s:([^,]*)', 1)}"
                )
                % {'field': use.text, 'name': steps[3]},
            )


def _check_writes_of_capabilities(
    action: file_rule.Operation,
) -> checked_rule.Mistakes:
    """Find paths into the capabilities, and values that cannot be their text.

    A path into them is ``/properties/capabilities/boot_mode``. A value that
    cannot be their text is, for example, a mapping.
    """
    for write, steps in effects.writes_at_paths(action):
        if write.kind != 'node':
            continue
        if steps[:2] == schema.CAPABILITIES and len(steps) > 2:
            op = 'set-capability'
            if write.value is data_path.ABSENT:
                op = 'unset-capability'
            yield (
                action.pointer_to(write.argument),
                _(
                    '"%(path)s" leads into the capabilities, which are '
                    'one text; use %(op)s with the name "%(name)s"'
                )
                % {'path': write.name, 'name': steps[2], 'op': op},
            )
        elif write.value is not data_path.ABSENT:
            value = write.value
            if write.extends:
                # Appending turns the text into a list.
                value = [write.value]
            try:
                schema.check_capabilities(steps, value)
            except exceptions.OperationError as exc:
                yield action.pointer_to('value'), str(exc)


def check_root_device(rule: checked_rule.CheckedRule) -> checked_rule.Mistakes:
    """Find root device hints that may mean another disk after a reboot.

    Root device hints are the properties by which Ironic chooses the disk of
    the operating system. An unstable hint is ``{'name': '/dev/sda'}``, because
    the kernel may give the name to another disk.
    """
    for action in rule.actions:
        for write, steps in effects.writes_at_paths(action):
            hints = _find_root_device_hints(write, steps)
            unstable = _find_unstable_hint(hints)
            if unstable is not None:
                message = _(
                    'the hint "%s" may mean another disk after the '
                    'next boot; use serial, wwn or by_path'
                )
                yield action.pointer_to('value'), message % unstable


def _find_unstable_hint(hints: dict[str, typing.Any]) -> str | None:
    """Return the name of the first hint that a reboot may invalidate, or None.

    After a reboot, another disk may have the SCSI address, ``hctl``, or a name
    that the kernel assigns, e.g. ``/dev/sda``.

    :param hints: root device hints, e.g. ``{'name': '/dev/sda'}``.
    """
    for name, value in hints.items():
        if name == 'hctl':
            return name
        if name == 'name' and _is_kernel_name(value):
            return name
    return None


def _find_root_device_hints(
    write: plugin.Write, steps: field_use.Steps
) -> dict[str, typing.Any]:
    """Return the root device hints that an action writes, by name.

    The action may write one hint, all hints, or all properties of the node.

    :param steps: the path of the write, e.g. ``('properties', 'root_device',
        'serial')``.
    :returns: an empty mapping if the action writes to another place.
    """
    if write.kind != 'node' or write.extends:
        return {}
    if write.value is data_path.ABSENT:
        return {}
    if steps[:2] == _ROOT_DEVICE and len(steps) == 3:
        return {steps[2]: write.value}
    if steps not in (_ROOT_DEVICE, _ROOT_DEVICE[:1]):
        return {}
    # The value consists of all hints, or is a mapping with "root_device".
    hints = data_path.get(write.value, _ROOT_DEVICE[len(steps) :])
    if not isinstance(hints, dict):
        return {}
    return hints


def _is_kernel_name(value: typing.Any) -> bool:
    """Return whether a hint is a disk name that the kernel assigns.

    Examples are ``/dev/sda``, and ``{item.name}`` in a loop over disks.
    """
    if not isinstance(value, str):
        return False
    field = interpolation.sole_field(value)
    if field is not None:
        # The "name" of a disk in an inventory is the kernel's name.
        return field.steps[-1:] == ('name',)
    return _KERNEL_NAME.fullmatch(value.strip()) is not None


def check_all_traits(rule: checked_rule.CheckedRule) -> checked_rule.Mistakes:
    """Find actions that replace all traits, or all custom traits, of a node.

    Traits from operators or from other rules are then lost.
    """
    for action in rule.actions:
        for write in effects.writes(action):
            # The name of this kind of write is the prefix of the replaced
            # traits.
            prefix = write.name
            if write.kind != 'traits' or prefix not in _PREFIXES_OF_ALL:
                continue
            kind = _('custom trait')
            if prefix == '':
                kind = _('trait')
            place = action.pointer
            if 'prefix' in action.arguments_given:
                place = action.pointer_to('prefix')
            message = _(
                'this takes away every other %s of the node, also '
                'those that others gave it; a longer prefix leaves '
                'them'
            )
            yield place, message % kind
            # Report an action only once, even if its loop has several items.
            break


def check_units(rule: checked_rule.CheckedRule) -> checked_rule.Mistakes:
    """Find fields that are written to a place with another unit.

    An example is memory in bytes that is written to ``memory_mb``. Fields with
    filters are skipped, because the filters may convert the unit.
    """
    for action in rule.actions:
        for write, steps in effects.writes_at_paths(action):
            field = interpolation.sole_field(write.value)
            if field is None or not field.is_plain or not field.steps:
                continue
            if write.kind != 'node':
                continue
            unit_of_place = known_values.UNIT_OF_FIELD.get(steps[-1])
            unit_of_field = known_values.UNIT_OF_FIELD.get(field.steps[-1])
            if unit_of_place is None or unit_of_field is None:
                continue
            if unit_of_place != unit_of_field:
                message = _(
                    '{%(field)s} is in %(there)s, and "%(path)s" in %(here)s'
                ) % {
                    'field': field.text,
                    'there': unit_of_field.name,
                    'path': write.name,
                    'here': unit_of_place.name,
                }
                yield action.pointer_to('value'), message


def check_resource_class(
    rule: checked_rule.CheckedRule,
) -> checked_rule.Mistakes:
    """Find resource classes that already have the prefix ``CUSTOM_``.

    Nova adds this prefix to the resource class of every node.
    """
    for action in rule.actions:
        for write, steps in effects.writes_at_paths(action):
            if write.kind != 'node' or steps != ('resource_class',):
                continue
            value = write.value
            if isinstance(value, str) and value.startswith(_CUSTOM_PREFIX):
                yield (
                    action.pointer_to('value'),
                    _(
                        'Nova puts CUSTOM_ before the resource class of a '
                        'node, so this one is CUSTOM_%s there'
                    )
                    % value,
                )
