# SPDX-License-Identifier: Apache-2.0

"""The facts of an inspection: all data that rules can read.

These are the posted inventory and plugin data, the fields of the node, its
ports and port groups, and the data that the previous inspection stored.
"""

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
    """Return the data that the last successful inspection of a node stored.

    :returns: ``inventory`` and ``plugin_data``; None if there was none.
    """
    try:
        return inspect_utils.get_inspection_data(node, context)
    except exception.NodeInventoryNotFound:
        return None


def read_and_build(
    context,
    node,
    inventory: dict,
    plugin_data: dict,
    previous: dict | None = None,
) -> working_copy.Facts:
    """Read the ports of a node, and build its facts.

    The API calls this to try rules. An inspection has the ports in its task.
    """
    ports = objects.Port.list_by_node_id(context, node.id)
    port_groups = objects.Portgroup.list_by_node_id(context, node.id)
    return build_for_node(
        node, ports, port_groups, inventory, plugin_data, previous
    )


def build_for_node(
    node,
    ports: Iterable,
    port_groups: Iterable,
    inventory: dict,
    plugin_data: dict,
    previous: dict | None = None,
) -> working_copy.Facts:
    """Build the facts of a node from objects of Ironic and posted data.

    :param node: Ironic's object, as are all ``ports`` and ``port_groups``.
    :param previous: the ``inventory`` and ``plugin_data`` that the previous
        inspection stored; None if there are no such data.
    """
    fields_of_node = as_dict(node)
    # as_dict() skips traits, because they are objects. Ironic has no field for
    # auto-discovery at all.
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
    """Return the fields of one of Ironic's objects as JSON data.

    Times become text. Fields that are not set, and fields whose value is
    another object, are skipped. For example::

        {'uuid': UUID, 'extra': {}, 'name': None,
         'created_at': '2026-05-17T10:00:00+00:00', …}
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
