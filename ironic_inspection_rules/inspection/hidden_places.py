# SPDX-License-Identifier: Apache-2.0

"""Places of nodes whose values must not show, before any rule has run."""

from collections.abc import Iterable
from collections.abc import Sequence

from oslo_db import exception as db_exc
from oslo_log import log

from ironic_inspection_rules.engine import compiler
from ironic_inspection_rules.engine import hiding
from ironic_inspection_rules.engine import working_copy
from ironic_inspection_rules.objects import machine as machine_object

LOG = log.getLogger(__name__)


def of_runs(context, node_uuids: Sequence[str]
            ) -> dict[str, list[hiding.Lasting]]:
    """Read where sensitive rules have left values, as kept runs say.

    Where that cannot be known, they may be anywhere.

    :returns: places by UUID, of each of the nodes.
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


def of_rules(plans: Iterable[compiler.CompiledRule]
             ) -> frozenset[hiding.Place]:
    """Return where those of the rules that are sensitive may leave values.

    No run may be kept that knows where they did.
    """
    return frozenset(place for plan in plans for place in plan.hides)


def located(kept: Iterable[hiding.Lasting], rules: Iterable[hiding.Place],
            machine: working_copy.Facts) -> hiding.Hidden:
    """Return what is hidden of a machine.

    :param kept: its part of what :func:`of_runs` returns.
    :param rules: what :func:`of_rules` returns.
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
