# SPDX-License-Identifier: Apache-2.0

"""Implement ``inspection data outliers``, which finds unusual machines.

Machines of the same model are peers, and should be equal. A finding is a
difference of a machine from most of its peers, e.g. a missing DIMM; the
machine is then odd. Only a small part of an inventory is compared, which is
called the sketch of the machine.

With ``--since``, earlier inventories are read to find out when a finding
began.
"""

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
    :ivar number: the number of newer inspections that are kept, so the newest
        has the number 0.
    :ivar uuid: the UUID of the inventory.
    :ivar time: the time of the inspection in ISO 8601 format.
    """

    machine: str
    number: int
    uuid: str
    time: str


class ShowOutliers(command.BaremetalCommand):
    """Show nodes whose machines differ from their peers.

    Compares stored inventories, without rules. By default, peers are machines
    of the same vendor, product and board. Returns 0 when no machine differs, 2
    when one does, and 1 on an error. Nodes without an inventory are left out.
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
        """Compare the stored inventories of nodes, and print the findings.

        With ``--since``, also find out when the findings began. With
        ``--learn``, also write rules that report odd machines.

        :returns: the exit status; 2 if a machine differs from its peers.
        """
        selection = node_selection.NodeSelection.parse(parsed_args.filters)
        start = inventory_history.parse_since(parsed_args.since)
        by = parsed_args.by
        baremetal = self.baremetal
        with (
            parallel.interruptible(self.app.stderr, _('Interrupted')),
            parallel.RequestThreads(parsed_args.jobs) as threads,
        ):
            nodes = selection.read_matching_nodes(baremetal)
            # A machine is named after its node; without a name, by its UUID.
            uuid_by_machine = {
                node['name'] or node['uuid']: node['uuid'] for node in nodes
            }
            # An inventory is large, so the threads keep only its sketch.
            read_sketch = functools.partial(
                _read_sketch, baremetal, by, uuid_by_machine
            )
            sketches = threads.map(
                read_sketch, list(uuid_by_machine), _('Comparing')
            )
            fleet = peers.Peers(parsed_args.min_peers)
            missing = 0
            for machine_sketch in sketches:
                if machine_sketch is None:
                    missing += 1
                else:
                    # One by one: a machine shares equal values with those
                    # before it, which saves much memory.
                    fleet.add([machine_sketch])
            result = fleet.find().without_kinds(parsed_args.ignore)
            if start:
                history = _History(baremetal, threads, by, uuid_by_machine)
                first_times = history.find_first_times(fleet, result, start)
                result = result.with_dates(first_times)
            if parsed_args.learn:
                rules = _learn_rules(
                    baremetal, threads, result, by, uuid_by_machine
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
        self.app.stderr.write(peer_arguments.missing_path_warnings(result, by))
        if missing:
            text = _P(
                'Without an inventory: %d node\n',
                'Without an inventory: %d nodes\n',
                missing,
            )
            self.app.stderr.write(text % missing)
        return peer_arguments.exit_status(result)


def _as_facts(data: Mapping[str, Any]) -> views.Facts:
    """Convert an answer with an inventory to the data type of the engine.

    :param data: the answer, with ``inventory`` and ``plugin_data``.
    """
    return views.Facts(data['inventory'] or {}, data['plugin_data'] or {})


def _read_sketch(
    baremetal: Any,
    peer_fields: Sequence[str],
    uuid_by_machine: Mapping[str, str],
    machine: str,
) -> sketch.Sketch | None:
    """Read the stored inventory of a machine, and return its sketch.

    :param peer_fields: the paths of ``--by``. Only machines with equal values
        there are peers.
    :param uuid_by_machine: the UUIDs of nodes by the names of their machines.
    :param machine: the name of the machine.
    :returns: None if Ironic has no inventory of the machine.
    """
    try:
        data = node_client.inventory(baremetal, uuid_by_machine[machine])
    except sdk_exceptions.NotFoundException:
        return None
    return sketch.build(machine, _as_facts(data), peer_fields)


def _learn_rules(
    baremetal: Any,
    threads: parallel.RequestThreads,
    result: peers.Result,
    peer_fields: Sequence[str],
    uuid_by_machine: Mapping[str, str],
) -> list[dict[str, Any]]:
    """Build rules that report how a machine differs from normal machines.

    Machines without a finding are normal. Rules are learned from their
    inventories, which are read again, because only the sketches were kept.

    :param result: the findings, and the groups of peers.
    :param peer_fields: the paths of ``--by``. Only machines with equal values
        there are peers.
    :param uuid_by_machine: the UUIDs of nodes by the names of their machines.
    :returns: rules in mode ``audit``, as in a rule file.
    """

    def read_reduced(machine: str) -> norm_rules.Reduced | None:
        try:
            data = node_client.inventory(baremetal, uuid_by_machine[machine])
        except sdk_exceptions.NotFoundException:
            # The node has been deleted since its sketch was read.
            return None
        # Only keep the part of the inventory from which rules are learned.
        return norm_rules.reduce(_as_facts(data), peer_fields)

    norms = norm_rules.Norms(result)
    normal_machines = norms.machines
    all_reduced = threads.map(read_reduced, normal_machines, _('Learning'))
    for machine, reduced in zip(normal_machines, all_reduced, strict=True):
        if reduced is not None:
            norms.add(machine, reduced)
    return norms.rules()


class _History:
    """The earlier inspections of machines, to find out when findings began.

    :param peer_fields: the paths of ``--by``. Only machines with equal values
        there are peers.
    :param uuid_by_machine: the UUIDs of nodes by the names of their machines.
    """

    def __init__(
        self,
        baremetal: Any,
        threads: parallel.RequestThreads,
        peer_fields: Sequence[str],
        uuid_by_machine: Mapping[str, str],
    ) -> None:
        self._baremetal = baremetal
        self._threads = threads
        self._peer_fields = peer_fields
        self._uuid_by_machine = uuid_by_machine

    def find_first_times(
        self, fleet: peers.Peers, result: peers.Result, start: str
    ) -> dict[Identity, str]:
        """Return the time of the first inspection that shows each finding.

        To check an earlier inspection, its inventory is read and compared with
        the peers of today. This takes long, so a binary search per finding
        chooses the few inspections to check.

        :param fleet: all machines as they are today.
        :param result: the findings of today.
        :param start: a time in ISO 8601 format; earlier inspections are
            ignored.
        :returns: times in ISO 8601 format by finding. A finding is omitted if
            all inspections show it, because it may have begun before them.
        """
        machines = sorted({outlier.machine for outlier in result.findings})
        list_versions = functools.partial(self._list_versions, start)
        all_versions = self._threads.map(
            list_versions, machines, _('Reading histories')
        )
        versions_by_machine = dict(zip(machines, all_versions, strict=True))
        searches = {}
        for outlier in result.findings:
            versions = versions_by_machine[outlier.machine]
            searches[outlier.identity] = _BinarySearch(
                outlier.machine, versions
            )
        while True:
            # Choose one inspection per machine. If several findings of a
            # machine need different inspections, the first finding chooses,
            # and the others have their turn in a later round.
            version_by_machine: dict[str, MachineVersion] = {}
            for search in searches.values():
                version = search.next_version()
                if version is not None:
                    version_by_machine.setdefault(search.machine, version)
            if not version_by_machine:
                # All searches have ended.
                break
            self._check_inspections(fleet, searches, version_by_machine)
        first_times = {}
        for identity, search in searches.items():
            if search.first_time is not None:
                first_times[identity] = search.first_time
        return first_times

    def _check_inspections(
        self,
        fleet: peers.Peers,
        searches: Mapping[Identity, '_BinarySearch'],
        version_by_machine: Mapping[str, MachineVersion],
    ) -> None:
        """Compare one earlier inspection per machine with the peers of today.

        The searches record which findings these inspections show.

        :param fleet: all machines as they are today.
        :param searches: the searches by finding; they are changed.
        :param version_by_machine: the inspections to check; there is none for
            a machine whose searches have ended.
        """
        sketches = self._threads.map(
            self._read_earlier_sketch,
            list(version_by_machine.values()),
            _('Comparing earlier inspections'),
        )
        earlier_by_machine = {}
        for earlier_sketch in sketches:
            if earlier_sketch is not None:
                earlier_by_machine[earlier_sketch.name] = earlier_sketch
        # Compare the fleet of today again, but with these machines in their
        # earlier state.
        earlier_result = fleet.find_earlier(earlier_by_machine)
        identities_shown = {
            outlier.identity for outlier in earlier_result.findings
        }
        for identity, search in searches.items():
            version = version_by_machine.get(search.machine)
            if version is None:
                continue
            if search.machine in earlier_by_machine:
                is_odd = identity in identities_shown
                search.record(version.number, is_odd)
            else:
                # Ironic has deleted the inventory in the meantime.
                search.forget(version.number)

    def _list_versions(self, start: str, machine: str) -> list[MachineVersion]:
        """List the kept inspections of a machine, the newest first.

        :param start: the earliest time to include.
        """
        inventories = client.inventories(
            self._baremetal, self._uuid_by_machine[machine], since=start
        )
        versions = []
        try:
            for number, inventory in enumerate(inventories):
                versions.append(
                    MachineVersion(
                        machine,
                        number,
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
        uuid_of_node = self._uuid_by_machine[version.machine]
        try:
            data = client.inventory(
                self._baremetal, uuid_of_node, version.uuid
            )
        except sdk_exceptions.NotFoundException:
            # Ironic has deleted the old inventory after it was listed.
            return None
        return sketch.build(
            version.machine, _as_facts(data), self._peer_fields
        )


class _BinarySearch:
    """A binary search for the inspection in which a finding began.

    Inspections are numbered from the newest, which is 0 and shows the finding.
    An inspection is odd if it shows the finding, and normal if it does not.
    The search ends when an odd and a normal inspection are neighbors: the
    finding began in the odd one.

    For example, 8 inspections have the numbers 0 to 7. The search checks 7,
    which is normal, then 3 (normal), 1 (odd) and 2 (normal). So the finding
    began in inspection 1.

    :ivar machine: the name of the machine that the finding is about.
    """

    def __init__(
        self, machine: str, versions: Sequence[MachineVersion]
    ) -> None:
        self.machine = machine
        self._versions = versions
        # The number of inspections that Ironic has not deleted meanwhile.
        self._count = len(versions)
        # The oldest inspection that is known to be odd.
        self._oldest_odd = 0
        # The newest inspection that is known to be normal, if there is one.
        self._newest_normal: int | None = None

    @property
    def first_time(self) -> str | None:
        """The time of the first inspection that shows the finding.

        It is None if all inspections show it, because it may have begun before
        them.
        """
        if self._newest_normal is None:
            return None
        return self._versions[self._oldest_odd].time

    def next_version(self) -> MachineVersion | None:
        """Return the inspection to check next.

        The oldest inspection is checked first. Most findings are older than
        all kept inspections, and then this one check ends the search. Later
        checks are halfway between the oldest odd and the newest normal one.

        :returns: None if the search has ended.
        """
        if self._newest_normal is None:
            oldest = self._count - 1
            if oldest > self._oldest_odd:
                return self._versions[oldest]
            # Even the oldest inspection is odd.
            return None
        are_neighbors = self._newest_normal - self._oldest_odd < 2
        if are_neighbors:
            return None
        return self._versions[(self._oldest_odd + self._newest_normal) // 2]

    def forget(self, number: int) -> None:
        """Ignore an inspection that Ironic has deleted, and all older ones.

        Ironic deletes the oldest inspections first, so the older ones are gone
        too.
        """
        self._count = min(self._count, number)
        if self._newest_normal is not None and self._newest_normal >= number:
            self._newest_normal = None

    def record(self, number: int, is_odd: bool) -> None:
        """Record that an inspection is odd or normal.

        An inspection that is not between the oldest odd and the newest normal
        one is ignored. It was chosen by the search for another finding of the
        machine.
        """
        end = self._newest_normal
        if end is None:
            end = self._count
        is_between = self._oldest_odd < number < end
        if not is_between:
            return
        if is_odd:
            self._oldest_odd = number
        else:
            self._newest_normal = number
