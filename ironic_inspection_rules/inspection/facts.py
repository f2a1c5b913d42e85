# SPDX-License-Identifier: Apache-2.0

"""Facts of a machine, from Ironic's objects."""

import dataclasses
import datetime

from ironic.common import exception
from ironic.common import states
from ironic.drivers.modules import inspect_utils

from ironic_inspection_rules.engine import working_copy


def of_task(task, inventory: dict, plugin_data: dict,
            previous: dict | None = None) -> working_copy.Facts:
    """Gather what rules may see of the node of a task.

    :param task: a TaskManager instance.
    :param inventory: as the ramdisk sent it.
    :param plugin_data: as it is at present.
    :param previous: what the inspection before has stored.
    """
    return dataclasses.replace(
        of_node(task.node, task.ports, task.portgroups, inventory,
                plugin_data), previous=previous)


def stored_before(node, context) -> dict | None:
    """Read what the last successful inspection of the node has stored."""
    try:
        return inspect_utils.get_inspection_data(node, context)
    except exception.NodeInventoryNotFound:
        return None


def of_node(node, ports, portgroups, inventory: dict,
            plugin_data: dict) -> working_copy.Facts:
    """Gather what rules may see of a node and its ports."""
    fields = as_dict(node)
    fields['traits'] = node.traits.get_trait_names()
    fields['auto_discovered'] = is_auto_discovered(node, plugin_data)
    return working_copy.Facts(
        inventory=inventory,
        plugin_data=plugin_data,
        node=fields,
        ports=tuple(map(as_dict, ports)),
        port_groups=tuple(map(as_dict, portgroups)))


def is_auto_discovered(node, plugin_data: dict) -> bool:
    """Return whether auto-discovery has just enrolled this node."""
    return (node.provision_state == states.ENROLL
            and bool(plugin_data.get(inspect_utils.AUTO_DISCOVERED_FLAG)))


def as_dict(ironic_object) -> dict:
    """Return the plain fields of an object as JSON data."""
    values: dict = {}
    for name in ironic_object.fields:
        try:
            value = getattr(ironic_object, name)
        except NotImplementedError:
            # Not set: a check in advance takes longer than all the rest.
            continue
        if isinstance(value, datetime.datetime):
            values[name] = value.isoformat()
        elif value is None or isinstance(value, _PLAIN):
            values[name] = value
    return values


_PLAIN = (str, int, float, bool, dict, list)
