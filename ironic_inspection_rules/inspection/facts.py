# SPDX-License-Identifier: Apache-2.0

"""Facts of a machine, from Ironic's objects, and which must not show."""

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
    """Read what the last successful inspection of the node has stored."""
    try:
        return inspect_utils.get_inspection_data(node, context)
    except exception.NodeInventoryNotFound:
        return None


def read(context, node, inventory: dict, plugin_data: dict,
         previous: dict | None = None) -> working_copy.Facts:
    """Gather what rules may see of a node, whose ports are read."""
    return of_node(
        node, objects.Port.list_by_node_id(context, node.id),
        objects.Portgroup.list_by_node_id(context, node.id), inventory,
        plugin_data, previous)


def of_node(node, ports, portgroups, inventory: dict, plugin_data: dict,
            previous: dict | None = None) -> working_copy.Facts:
    """Gather what rules may see of a node and its ports.

    :param previous: what the inspection before has stored.
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
            # Not set: a check in advance takes longer than all the rest.
            continue
        if isinstance(value, datetime.datetime):
            values[name] = value.isoformat()
        elif value is None or isinstance(value, _PLAIN):
            values[name] = value
    return values


def hidden_by_runs(context, node_uuids: Sequence[str]
                   ) -> dict[str, list[hiding.Lasting]]:
    """Read where sensitive rules have left values, as kept runs say.

    Where that cannot be known, they may be anywhere.

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
    # What rules change now leaves that of the last inspection as it was.
    return {uuid: [*places, *(
        [hiding.PREVIOUS, [root, *path]] for root, path in places
        if root == hiding.PLUGIN_DATA)]
        for uuid in node_uuids for places in [found.get(uuid, [])]}


def hidden_by_rules(plans: Iterable[compiler.CompiledRule]
                    ) -> frozenset[hiding.Place]:
    """Return where those of the rules that are sensitive may leave values.

    No run may be kept that knows where they did.
    """
    return frozenset(place for plan in plans for place in plan.hides)


def hidden(kept: Iterable[hiding.Lasting], rules: Iterable[hiding.Place],
           machine: working_copy.Facts) -> hiding.Hidden:
    """Return what is hidden of a machine.

    :param kept: its part of what :func:`hidden_by_runs` returns.
    :param rules: what :func:`hidden_by_rules` returns.
    """
    found = hiding.located(kept, machine.ports)
    for root, path in rules:
        if root != hiding.PORTS:
            found.add(root, path)
        for number in range(len(machine.ports) * (root == hiding.PORTS)):
            found.add(root, (str(number), *path))
        if root == hiding.PLUGIN_DATA:
            found.add(hiding.PREVIOUS, (root, *path))
    return found
