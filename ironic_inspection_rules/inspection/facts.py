# SPDX-License-Identifier: Apache-2.0

"""Facts of a machine from Ironic's objects, and which of them are hidden."""

from collections.abc import Iterable, Sequence
import datetime

from ironic import objects
from ironic.common import exception
from ironic.common import states
from ironic.drivers.modules import inspect_utils
from oslo_db import exception as db_exc
from oslo_log import log

from ironic_inspection_rules.engine import compiler
from ironic_inspection_rules.engine import hiding
from ironic_inspection_rules.engine import working_copy
from ironic_inspection_rules.objects import machine as machine_object

LOG = log.getLogger(__name__)

_PLAIN = (str, int, float, bool, dict, list)


def stored_before(node, context) -> dict | None:
    """Read what the last successful inspection of a node stored, or None."""
    try:
        return inspect_utils.get_inspection_data(node, context)
    except exception.NodeInventoryNotFound:
        return None


def read(context, node, inventory: dict, plugin_data: dict,
         previous: dict | None = None) -> working_copy.Facts:
    """Read the ports of a node, and build its facts."""
    return of_node(
        node, objects.Port.list_by_node_id(context, node.id),
        objects.Portgroup.list_by_node_id(context, node.id), inventory,
        plugin_data, previous)


def of_node(node, ports, portgroups, inventory: dict, plugin_data: dict,
            previous: dict | None = None) -> working_copy.Facts:
    """Build the facts of a node and its ports.

    :param previous: the data that the inspection before has stored.
    """
    fields = as_dict(node)
    fields['traits'] = node.traits.get_trait_names()
    fields['auto_discovered'] = is_auto_discovered(node, plugin_data)
    return working_copy.Facts(
        inventory, plugin_data, fields, tuple(map(as_dict, ports)),
        tuple(map(as_dict, portgroups)), previous)


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
            # Not set. Asking each object first would take longer.
            continue
        if isinstance(value, datetime.datetime):
            values[name] = value.isoformat()
        elif value is None or isinstance(value, _PLAIN):
            values[name] = value
    return values


def hidden_by_runs(context, node_uuids: Sequence[str]
                   ) -> dict[str, list[hiding.Lasting]]:
    """Read from kept runs where sensitive rules have stored values.

    If the places cannot be read, everything is hidden.

    :returns: the places of each node, by UUID.
    :raises: DBConnectionError if the database cannot be reached.
    """
    try:
        found = machine_object.InspectedMachine.list_hidden(
            context, list(node_uuids))
    except db_exc.DBConnectionError:
        raise
    except Exception as exc:
        LOG.warning('Where sensitive rules have written to is not known of '
                    'the nodes %(nodes)s, and all is hidden: %(error)s',
                    {'nodes': ', '.join(node_uuids), 'error': exc})
        everything = [[root, list(path)] for root, path in hiding.ANYWHERE]
        found = dict.fromkeys(node_uuids, everything)
    hidden_by_node = {}
    for uuid in node_uuids:
        places = found.get(uuid, [])
        # The plugin data of the run before are hidden too.
        previous = [[hiding.PREVIOUS, [root, *path]] for root, path in places
                    if root == hiding.PLUGIN_DATA]
        hidden_by_node[uuid] = [*places, *previous]
    return hidden_by_node


def hidden_by_rules(plans: Iterable[compiler.CompiledRule]
                    ) -> frozenset[hiding.Place]:
    """Return where sensitive rules may store values.

    Used if no run is kept that says where they did.
    """
    return frozenset(place for plan in plans for place in plan.hides)


def hidden(kept: Iterable[hiding.Lasting], rules: Iterable[hiding.Place],
           machine: working_copy.Facts) -> hiding.Hidden:
    """Return which facts of a machine are hidden.

    :param kept: the places of its node from :func:`hidden_by_runs`.
    :param rules: the places from :func:`hidden_by_rules`.
    """
    found = hiding.located(kept, machine.ports)
    for root, path in rules:
        if root == hiding.PORTS:
            for number in range(len(machine.ports)):
                found.add(root, (str(number), *path))
            continue
        found.add(root, path)
        if root == hiding.PLUGIN_DATA:
            found.add(hiding.PREVIOUS, (root, *path))
    return found
