# SPDX-License-Identifier: Apache-2.0

"""Implement ``inspection data outliers``, which finds unusual machines."""

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
from ironic_inspection_rules.kit.machine.outliers import norm_rules
from ironic_inspection_rules.kit.machine.outliers import peers
from ironic_inspection_rules.kit.machine.outliers import sketch
from ironic_inspection_rules.kit.osc import command
from ironic_inspection_rules.kit.osc import inventory_history
from ironic_inspection_rules.kit.osc import node_selection
from ironic_inspection_rules.kit.osc import parallel

Identity = tuple[str | None, ...]
"""Identifies a finding across inspections: machine, kind, what, slot and
field, see :attr:`.finding.Outlier.identity`."""


class MachineVersion(NamedTuple):
    """A kept inventory of a machine, which can be read from Ironic.

    :ivar machine: the name of the machine, as in findings.
    :ivar uuid: the UUID of the inventory.
    :ivar time: the time of the inspection in ISO 8601 format.
    """

    machine: str
    uuid: str
    time: str


class ShowOutliers(command.BaremetalCommand):
    """Show nodes whose machines differ from their peers.

    Compares stored inventories, without rules. Peers are machines of the same
    vendor, product and board. Returns 0 when no machine differs, 2 when one
    does, and 1 on an error. Nodes without an inventory are left out.
    """

    example = '--min-peers 2'

    def add_arguments(self, parser):
        node_selection.add_argument(parser, 'filters')
        peer_arguments.add_options(parser)
        parser.add_argument(
            '--since',
            metavar='<time>',
            help=_(
                'Say since when each machine is odd, as far as '
                'inspections since this time are kept: a time, or 12h, '
                '30d, 2w. Needs the option keep_history'
            ),
        )
        parallel.add_jobs(parser)

    def take_action(self, parsed_args):
        """Compare the stored inventories of nodes, and print the outliers.

        :returns: the exit status; 2 if a machine differs from its peers.
        """
        selection = node_selection.NodeSelection.parse(parsed_args.filters)
        start = inventory_history.parse_since(parsed_args.since)
        baremetal = self.baremetal
        with (
            parallel.interruptible(self.app.stderr, _('Interrupted')),
            parallel.RequestThreads(parsed_args.jobs) as threads,
        ):
            nodes = selection.read_matching_nodes(baremetal)
            # A machine has the name of its node, or the UUID if the node has
            # no name.
            uuids = {
                node['name'] or node['uuid']: node['uuid'] for node in nodes
            }
            read_sketch = functools.partial(
                _read_sketch, baremetal, parsed_args.by, uuids
            )
            # An inventory is large. Only its sketch is kept, which has the
            # values that are compared.
            sketches = threads.map(read_sketch, list(uuids), _('Comparing'))
            machines = peers.Peers(parsed_args.min_peers)
            missing = 0
            for machine in sketches:
                if machine is None:
                    missing += 1
                else:
                    # Add machines one by one: each shares equal values with
                    # the machines before it, which saves much memory.
                    machines.add([machine])
            result = machines.find().without_kinds(parsed_args.ignore)
            if start:
                search = _Search(baremetal, threads, parsed_args.by, uuids)
                first_times = search.find_first_times(machines, result, start)
                result = result.with_dates(first_times)
            if parsed_args.learn:
                rules = _learn_rules(
                    baremetal, threads, result, parsed_args.by, uuids
                )
                arguments.write(
                    parsed_args.learn,
                    peer_arguments.format_rules(rules),
                    self.app.stdout,
                )
        # If the learned rules are written to standard output, the findings are
        # discarded.
        output = arguments.choose_output(parsed_args.learn, self.app.stdout)
        arguments.write(
            parsed_args.output,
            peer_arguments.render(result, parsed_args.format),
            output,
        )
        self.app.stderr.write(
            peer_arguments.missing_path_warnings(result, parsed_args.by)
        )
        if missing:
            self.app.stderr.write(
                _P(
                    'Without an inventory: %d node\n',
                    'Without an inventory: %d nodes\n',
                    missing,
                )
                % missing
            )
        return peer_arguments.exit_status(result)


def _as_facts(data: Mapping[str, Any]) -> views.Facts:
    """Convert the answer of an inventory request to the facts of a machine."""
    return views.Facts(data['inventory'] or {}, data['plugin_data'] or {})


def _read_sketch(
    baremetal: Any, by: Sequence[str], uuids: Mapping[str, str], name: str
) -> sketch.Sketch | None:
    """Read the inventory of a node, and return the sketch of its machine.

    A sketch only has the data of an inventory that are compared with peers.

    :param by: the fields of ``--by``; only machines with equal values in them
        are peers.
    :param uuids: the UUIDs of nodes by name.
    :returns: None if the node has no inventory.
    """
    try:
        data = node_client.inventory(baremetal, uuids[name])
    except sdk_exceptions.NotFoundException:
        return None
    return sketch.draw(name, _as_facts(data), by)


def _learn_rules(
    baremetal: Any,
    threads: parallel.RequestThreads,
    result: peers.Result,
    by: Sequence[str],
    uuids: Mapping[str, str],
) -> list[dict[str, Any]]:
    """Learn rules that report how a machine differs from normal machines.

    Machines without a finding are normal. Their inventories were too large to
    keep, so they are read again.

    :param by: the fields of ``--by``; only machines with equal values in them
        are peers.
    :param uuids: the UUIDs of nodes by name.
    """

    def read_reduced(name: str) -> norm_rules.Reduced:
        # Only keep the part of the inventory from which rules are learned.
        data = node_client.inventory(baremetal, uuids[name])
        return norm_rules.reduce(_as_facts(data), by)

    norms = norm_rules.Norms(result)
    all_reduced = threads.map(read_reduced, norms.machines, _('Learning'))
    for name, reduced in zip(norms.machines, all_reduced, strict=True):
        norms.add(name, reduced)
    return norms.rules()


class _Search:
    """Find the inspection that first showed a finding of today.

    :param by: the fields of ``--by``; only machines with equal values in them
        are peers.
    :param uuids: the UUIDs of nodes by name.
    """

    def __init__(
        self,
        baremetal: Any,
        threads: parallel.RequestThreads,
        by: Sequence[str],
        uuids: Mapping[str, str],
    ) -> None:
        self._baremetal = baremetal
        self._threads = threads
        self._by = by
        self._uuids = uuids

    def find_first_times(
        self, compared: peers.Peers, result: peers.Result, start: str
    ) -> dict[Identity, str]:
        """Return when an inspection first showed each finding.

        The state of a machine at an earlier inspection is compared with its
        peers of today. Inventories are large, so only a few are read: the
        oldest inventory, and those of a binary search between the oldest and
        the newest.

        :param start: a time; earlier inspections are ignored.
        :returns: ISO 8601 times by finding. Findings that the oldest
            inspection already shows are omitted, because they may have begun
            at any time.
        """
        machines = sorted({outlier.machine for outlier in result.findings})
        versions_of_machines = self._threads.map(
            functools.partial(self._list_versions, start),
            machines,
            _('Reading histories'),
        )
        # The inspections of each machine, the newest first.
        versions = dict(zip(machines, versions_of_machines, strict=True))
        # For each finding, the two inspections between which it began.
        spans = {}
        for outlier in result.findings:
            count = len(versions[outlier.machine])
            spans[outlier.identity] = _Span(count)
        # Each round checks one earlier inspection per machine, until no
        # finding needs another one.
        while True:
            number_by_machine: dict[str, int] = {}
            for identity, span in spans.items():
                number = span.next_number()
                if number is not None:
                    # Another finding of the machine may already have chosen a
                    # number.
                    number_by_machine.setdefault(_machine_of(identity), number)
            if not number_by_machine:
                break
            self._narrow(compared, versions, spans, number_by_machine)
        first_times = {}
        for identity, span in spans.items():
            # If no inspection is normal, the finding may be of any age.
            if span.newest_normal is not None:
                first = versions[_machine_of(identity)][span.oldest_odd]
                first_times[identity] = first.time
        return first_times

    def _narrow(
        self,
        compared: peers.Peers,
        versions: Mapping[str, Sequence[MachineVersion]],
        spans: Mapping[Identity, '_Span'],
        number_by_machine: Mapping[str, int],
    ) -> None:
        """Compare one earlier inspection per machine, and narrow the spans.

        The earlier state of a machine replaces its present state among its
        peers. If the earlier inspection also shows a finding, the finding
        began before it.

        :param versions: the inspections by machine, the newest first.
        :param spans: the spans by finding; modified in place.
        :param number_by_machine: the index of the inspection in ``versions``.
        """
        earlier_versions = []
        for machine, number in number_by_machine.items():
            earlier_versions.append(versions[machine][number])
        sketches = self._threads.map(
            self._read_earlier_sketch,
            earlier_versions,
            _('Comparing earlier inspections'),
        )
        # The sketch of each machine at that inspection.
        earlier = {}
        for machine_then in sketches:
            if machine_then is not None:
                earlier[machine_then.name] = machine_then
        result_then = compared.find_instead(earlier)
        findings_then = {outlier.identity for outlier in result_then.findings}
        for identity, span in spans.items():
            machine = _machine_of(identity)
            if machine in earlier:
                is_odd = identity in findings_then
                span.narrow(number_by_machine[machine], is_odd=is_odd)
            elif machine in number_by_machine:
                # The inventory was requested, but Ironic no longer has it.
                span.forget(number_by_machine[machine])

    def _list_versions(self, start: str, machine: str) -> list[MachineVersion]:
        """List the kept inspections of a machine, the newest first.

        :param start: the earliest time to include.
        """
        inventories = client.inventories(
            self._baremetal, self._uuids[machine], since=start
        )
        versions = []
        try:
            for inventory in inventories:
                versions.append(
                    MachineVersion(
                        machine,
                        uuid=inventory['uuid'],
                        time=inventory['created_at'],
                    )
                )
        except sdk_exceptions.NotFoundException:
            # Without the plugin, Ironic has no history.
            return []
        return versions

    def _read_earlier_sketch(
        self, version: MachineVersion
    ) -> sketch.Sketch | None:
        """Read an earlier inventory, and return the sketch of its machine.

        :returns: None if Ironic no longer has the inventory.
        """
        try:
            data = client.inventory(
                self._baremetal, self._uuids[version.machine], version.uuid
            )
        except sdk_exceptions.NotFoundException:
            # Ironic has deleted the old inventory after it was listed.
            return None
        return sketch.draw(version.machine, _as_facts(data), self._by)


class _Span:
    """The two inspections between which a finding began; a binary search.

    Inspections are numbered from the newest, which is 0 and shows the finding.
    For example, if there are 8 inspections, 7, 3, 1 and 2 are checked. If only
    1 shows the finding, it began between 2 and 1.

    :param count: how many inspections of the machine are kept.
    :ivar oldest_odd: the oldest inspection that is known to show the finding.
    :ivar newest_normal: the newest inspection that is known not to show the
        finding; None while no such inspection is known.
    """

    def __init__(self, count: int) -> None:
        self.oldest_odd = 0
        self.newest_normal: int | None = None
        self._count = count

    def next_number(self) -> int | None:
        """Return the number of the next inspection to check; None at the end.

        At the end, :attr:`oldest_odd` and :attr:`newest_normal` are neighbors,
        or all inspections show the finding.
        """
        if self.newest_normal is None:
            # Most findings are older than the history. Therefore the oldest
            # inspection is checked first: if it shows the finding, the search
            # is over.
            oldest = self._count - 1
            if oldest > self.oldest_odd:
                return oldest
            return None
        are_neighbours = self.newest_normal - self.oldest_odd < 2
        if are_neighbours:
            return None
        return (self.oldest_odd + self.newest_normal) // 2

    def forget(self, number: int) -> None:
        """Ignore an inspection that is gone, and all older inspections.

        Old inspections are deleted first, so the older inspections are gone
        too.

        :param number: the number of the inspection.
        """
        self._count = min(self._count, number)
        if self.newest_normal is not None and self.newest_normal >= number:
            self.newest_normal = None

    def narrow(self, number: int, is_odd: bool) -> None:
        """Record whether an inspection shows the finding.

        :param number: the number of the inspection.
        :param is_odd: whether the inspection shows the finding.
        """
        end = self.newest_normal
        if end is None:
            end = self._count
        is_between = self.oldest_odd < number < end
        if not is_between:
            # The inspection was chosen for another finding of the machine, and
            # adds nothing for this finding.
            return
        if is_odd:
            self.oldest_odd = number
        else:
            self.newest_normal = number


def _machine_of(identity: Identity) -> str:
    """Return the name of the machine that a finding is about."""
    return str(identity[0])
