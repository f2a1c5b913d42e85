# SPDX-License-Identifier: Apache-2.0

"""The facts of an inspection: the data that rules see."""

from collections.abc import Iterable
import datetime
import re

from ironic import objects
from ironic.common import exception
from ironic.common import states
from ironic.conf import CONF
from ironic.drivers.modules import inspect_utils

from ironic_inspection_rules.engine.run import working_copy

_JSON_TYPES = (str, int, float, bool, dict, list)


def stored_before(node, context) -> dict | None:
    """Read what the last successful inspection of a node stored, or None."""
    try:
        return inspect_utils.get_inspection_data(node, context)
    except exception.NodeInventoryNotFound:
        return None


def read(
    context,
    node,
    inventory: dict,
    plugin_data: dict,
    previous: dict | None = None,
) -> working_copy.Facts:
    """Read the ports of a node, and build its facts."""
    ports = objects.Port.list_by_node_id(context, node.id)
    port_groups = objects.Portgroup.list_by_node_id(context, node.id)
    return of_node(node, ports, port_groups, inventory, plugin_data, previous)


def of_node(
    node,
    ports: Iterable,
    port_groups: Iterable,
    inventory: dict,
    plugin_data: dict,
    previous: dict | None = None,
) -> working_copy.Facts:
    """Build the facts on which rules run, from Ironic's objects and its data.

    :param previous: the ``inventory`` and the ``plugin_data`` that the
        inspection before has stored; None for no such data.
    """
    fields_of_node = as_dict(node)
    # Neither is a plain field of Ironic's object.
    fields_of_node['traits'] = node.traits.get_trait_names()
    fields_of_node['auto_discovered'] = is_auto_discovered(
        node.provision_state, plugin_data
    )
    return working_copy.Facts(
        inventory,
        plugin_data,
        fields_of_node,
        tuple(as_dict(port) for port in ports),
        tuple(as_dict(group) for group in port_groups),
        previous,
    )


def is_supported(interface: str | None) -> bool:
    """Return whether rules run on nodes with an inspect interface."""
    pattern = CONF.inspection_rules.supported_interfaces
    return re.search(pattern, interface or '') is not None


def is_auto_discovered(provision_state: str | None, plugin_data: dict) -> bool:
    """Return whether auto-discovery has just enrolled a node.

    Ironic puts a flag into the plugin data of such a node.
    """
    return provision_state == states.ENROLL and bool(
        plugin_data.get(inspect_utils.AUTO_DISCOVERED_FLAG)
    )


def as_dict(ironic_object) -> dict:
    """Return the fields of an object that are JSON data, and times as text.

    Fields whose value is None are included. Fields that are not set, or whose
    value is an object, are skipped.
    """
    values: dict = {}
    for name in ironic_object.fields:
        try:
            value = getattr(ironic_object, name)
        except NotImplementedError:
            # The field is not set, so skip it. Catching the error is faster
            # than checking first whether the field is set.
            continue
        if isinstance(value, datetime.datetime):
            values[name] = value.isoformat()
        elif value is None or isinstance(value, _JSON_TYPES):
            values[name] = value
    return values
