# SPDX-License-Identifier: Apache-2.0

"""``openstack baremetal inspection data outliers``."""

from collections.abc import Mapping, Sequence
import functools
from typing import Any, NamedTuple

from openstack import exceptions as sdk_exceptions

from ironic_inspection_rules.engine.run import views
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.i18n import _P
from ironic_inspection_rules.kit.client import inventory_history as client
from ironic_inspection_rules.kit.client import node as node_client
from ironic_inspection_rules.kit.command import arguments
from ironic_inspection_rules.kit.command import peer_arguments
from ironic_inspection_rules.kit.machine.outliers import normal
from ironic_inspection_rules.kit.machine.outliers import peers
from ironic_inspection_rules.kit.machine.outliers import sketch
from ironic_inspection_rules.kit.osc import command
from ironic_inspection_rules.kit.osc import inventory_history
from ironic_inspection_rules.kit.osc import node_selection
from ironic_inspection_rules.kit.osc import parallel

Identity = tuple[str | None, ...]
"""What makes a finding the same one in several inspections."""


class Version(NamedTuple):
    """What one inspection found of a machine.

    :param time: when it was made, as ISO 8601.
    """

    uuid: str
    time: str


class ShowOutliers(command.Command):
    """Show nodes whose machines differ from their peers.

    Compares stored inventories, without rules. Peers are machines of the same
    vendor, product and board. Returns 0 when no machine differs, 2 when one
    does, and 1 on an error. Nodes without an inventory are left out.
    """

    def add_arguments(self, parser):
        node_selection.add_argument(parser, 'filters')
        peer_arguments.add(parser)
        parser.add_argument(
            '--since', metavar='<time>',
            help=_('Say since when each machine is odd, as far as '
                   'inspections since this time are kept: a time, or 12h, '
                   '30d, 2w. Needs the option keep_history'))
        parallel.add_jobs(parser)

    def take_action(self, parsed_args):
        selection = node_selection.NodeSelection.parse(parsed_args.filters)
        start = inventory_history.since(parsed_args.since)
        baremetal = self.baremetal
        with parallel.interruptible(self.app.stderr, _('Interrupted')), (
                parallel.Requests(parsed_args.jobs)) as threads:
            names = _names(selection.matching(baremetal))
            compared = peers.Peers(parsed_args.min_peers)
            missing = 0
            for drawn in threads.each(
                    functools.partial(_draw, baremetal, parsed_args.by),
                    list(names.items()), _('Comparing')):
                if drawn is None:
                    missing += 1
                else:
                    compared.add([drawn])
            found = compared.find().without(parsed_args.ignore)
            uuids = {name: uuid for uuid, name in names.items()}
            if start:
                search = _Search(baremetal, threads, parsed_args.by, uuids)
                found = found.dated(search.began(compared, found, start))
            if parsed_args.learn:
                written = _learn(baremetal, threads, found, parsed_args.by,
                                 uuids)
                arguments.write(parsed_args.learn,
                                peer_arguments.rules(written),
                                self.app.stdout)
        output = arguments.beside(parsed_args.learn, self.app.stdout)
        arguments.write(
            parsed_args.output,
            peer_arguments.render(found, parsed_args.format), output)
        if missing:
            self.app.stderr.write(
                _P('Without an inventory: %d node\n',
                   'Without an inventory: %d nodes\n', missing) % missing)
        return peer_arguments.status(found)


def _names(nodes: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Return what nodes are called, by their UUIDs."""
    return {node['uuid']: node['name'] or node['uuid'] for node in nodes}


def _facts(data: Mapping[str, Any]) -> views.Facts:
    return views.Facts(data['inventory'] or {}, data['plugin_data'] or {})


def _draw(baremetal: Any, by: Sequence[str], node: tuple[str, str]
          ) -> sketch.Sketch | None:
    """Return the sketch of a machine, None without an inventory.

    :param node: its UUID, and what it is called.
    """
    uuid, name = node
    try:
        data = node_client.inventory(baremetal, uuid)
    except sdk_exceptions.NotFoundException:
        return None
    return sketch.draw(name, _facts(data), by)


def _learn(baremetal: Any, threads: parallel.Requests, found: peers.Result,
           by: Sequence[str], uuids: Mapping[str, str]
           ) -> list[dict[str, Any]]:
    """Return rules for machines like those that are not odd.

    Their inventories are read again; all of them would be too large to keep.
    """
    def read(name: str) -> normal.Reduced:
        data = node_client.inventory(baremetal, uuids[name])
        return normal.reduce(_facts(data), by)

    norms = normal.Norms(found)
    for name, reduced in zip(norms.machines, threads.each(
            read, norms.machines, _('Learning')), strict=True):
        norms.add(name, reduced)
    return norms.rules()


class _Search:
    """A search for the inspections that first showed what is odd.

    :param uuids: of nodes, by what they are called.
    """

    def __init__(self, baremetal: Any, threads: parallel.Requests,
                 by: Sequence[str], uuids: Mapping[str, str]) -> None:
        self._baremetal = baremetal
        self._threads = threads
        self._by = by
        self._uuids = uuids

    def began(self, compared: peers.Peers, found: peers.Result, start: str
              ) -> dict[Identity, str]:
        """Return when an inspection first showed each finding.

        Step by step odd machines are replaced by what they were before, and
        compared with their peers of today.

        :param start: the earliest time.
        :returns: without findings that all kept inspections show.
        """
        left = {each.identity for each in found.findings}
        machines = sorted({each.machine for each in found.findings})
        versions = dict(zip(machines, self._threads.each(
            functools.partial(self._versions, start), machines,
            _('Reading histories')), strict=True))
        times: dict[Identity, str] = {}
        step = 1
        while True:
            wanted = [(name, versions[name][step].uuid) for name in machines
                      if len(versions[name]) > step
                      and any(each[0] == name for each in left)]
            if not wanted:
                return times
            earlier = {drawn.name: drawn for drawn in self._threads.each(
                self._draw, wanted, _('Comparing earlier inspections'))}
            shown = {each.identity for each
                     in compared.replaced(earlier).find().findings}
            for each in sorted(left - shown, key=str):
                name = str(each[0])
                if name in earlier:
                    times[each] = versions[name][step - 1].time
                    left.remove(each)
            step += 1

    def _versions(self, start: str, name: str) -> list[Version]:
        """Return what was found of a machine, the newest first."""
        try:
            return [Version(entry['uuid'], entry['created_at'])
                    for entry in client.inventories(
                        self._baremetal, self._uuids[name], since=start)]
        except sdk_exceptions.NotFoundException:
            # Without the plugin, Ironic has no history.
            return []

    def _draw(self, wanted: tuple[str, str]) -> sketch.Sketch:
        name, uuid = wanted
        data = client.inventory(self._baremetal, self._uuids[name], uuid)
        return sketch.draw(name, _facts(data), self._by)
