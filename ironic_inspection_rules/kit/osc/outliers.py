# SPDX-License-Identifier: Apache-2.0

"""inspection data outliers: machines read, rules learned, since when odd."""

from collections.abc import Iterable, Mapping, Sequence
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
"""The key of a finding, which is the same in every inspection."""


class MachineVersion(NamedTuple):
    """A kept inventory of a machine, which can be read from Ironic.

    :ivar machine: the name of the machine, as findings have it.
    :ivar uuid: of the inventory.
    :ivar time: of its inspection, as ISO 8601.
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
        selection = node_selection.NodeSelection.parse(parsed_args.filters)
        start = inventory_history.parse_since(parsed_args.since)
        baremetal = self.baremetal
        with (
            parallel.interruptible(self.app.stderr, _('Interrupted')),
            parallel.RequestThreads(parsed_args.jobs) as threads,
        ):
            uuids = _uuids_by_name(selection.read_matching_nodes(baremetal))
            draw = functools.partial(
                _read_sketch, baremetal, parsed_args.by, uuids
            )
            compared = peers.Peers(parsed_args.min_peers)
            missing = _add_machines(
                compared, threads.map(draw, list(uuids), _('Comparing'))
            )
            result = compared.find().without_kinds(parsed_args.ignore)
            if start:
                search = _Search(baremetal, threads, parsed_args.by, uuids)
                result = result.with_dates(
                    search.find_first_times(compared, result, start)
                )
            if parsed_args.learn:
                rules = _learn_rules(
                    baremetal, threads, result, parsed_args.by, uuids
                )
                arguments.write(
                    parsed_args.learn,
                    peer_arguments.format_rules(rules),
                    self.app.stdout,
                )
        # Nowhere, if the learned rules go to standard output.
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


def _add_machines(
    compared: peers.Peers, machines: Iterable[sketch.Sketch | None]
) -> int:
    """Add machines to the peers, and count nodes without an inventory.

    Machines are added one by one, as they come: a machine shares equal values
    with the machines before it, which saves much memory.

    :param machines: None for a node without an inventory.
    """
    missing = 0
    for machine in machines:
        if machine is None:
            missing += 1
        else:
            compared.add([machine])
    return missing


def _uuids_by_name(nodes: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Return the UUIDs of nodes by name; a node without a name by its UUID."""
    return {node['name'] or node['uuid']: node['uuid'] for node in nodes}


def _as_facts(data: Mapping[str, Any]) -> views.Facts:
    return views.Facts(data['inventory'] or {}, data['plugin_data'] or {})


def _read_sketch(
    baremetal: Any, by: Sequence[str], uuids: Mapping[str, str], name: str
) -> sketch.Sketch | None:
    """Read the inventory of a node and return the sketch of its machine.

    :param by: fields that machines are compared within, as of ``--by``.
    :param uuids: the UUIDs of nodes by name.
    :returns: None without an inventory.
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
    """Learn rules that record where a machine differs from normal machines.

    Machines without a finding are normal. Their inventories, which would have
    been too large to keep, are read again.

    :param by: fields that machines are compared within, as of ``--by``.
    :param uuids: the UUIDs of nodes by name.
    """
    norms = norm_rules.Norms(result)
    reduce = functools.partial(_read_reduced, baremetal, by, uuids)
    all_reduced = threads.map(reduce, norms.machines, _('Learning'))
    for name, reduced in zip(norms.machines, all_reduced, strict=True):
        norms.add(name, reduced)
    return norms.rules()


def _read_reduced(
    baremetal: Any, by: Sequence[str], uuids: Mapping[str, str], name: str
) -> norm_rules.Reduced:
    """Read the part of a machine's inventory that rules are learned from."""
    data = node_client.inventory(baremetal, uuids[name])
    return norm_rules.reduce(_as_facts(data), by)


class _Search:
    """Finds the inspection that first showed a finding of today.

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

        Odd machines as they were at an earlier inspection are compared with
        their peers of today. An inventory is large, so that few are read: the
        oldest kept one, then by binary search.

        :param start: the earliest time.
        :returns: ISO 8601 times, without findings that the oldest kept
            inspection shows.
        """
        machines = sorted({outlier.machine for outlier in result.findings})
        listed = self._threads.map(
            functools.partial(self._list_versions, start),
            machines,
            _('Reading histories'),
        )
        versions = dict(zip(machines, listed, strict=True))
        spans = {}
        for outlier in result.findings:
            count = len(versions[outlier.machine])
            spans[outlier.identity] = _Span(count)
        # In each round one earlier inspection of every machine is looked at.
        while True:
            steps = _next_steps(spans)
            if not steps:
                break
            self._narrow(compared, versions, spans, steps)
        began = {}
        for identity, span in spans.items():
            if span.normal is not None:
                first = versions[_machine_of(identity)][span.odd]
                began[identity] = first.time
        return began

    def _narrow(
        self,
        compared: peers.Peers,
        versions: Mapping[str, Sequence[MachineVersion]],
        spans: Mapping[Identity, '_Span'],
        steps: Mapping[str, int],
    ) -> None:
        """Compare one earlier inspection of machines, and narrow the spans.

        Among its peers, a machine as it was replaces the machine of today. A
        finding that is there already began earlier.

        :param spans: by finding, narrowed in place.
        :param steps: the number of the inspection, by machine.
        """
        wanted = [versions[machine][step] for machine, step in steps.items()]
        sketches = self._threads.map(
            self._read_earlier_sketch,
            wanted,
            _('Comparing earlier inspections'),
        )
        earlier = {}
        for machine_then in sketches:
            if machine_then is not None:
                earlier[machine_then.name] = machine_then
        result_then = compared.find_instead(earlier)
        odd_then = {outlier.identity for outlier in result_then.findings}
        for identity, span in spans.items():
            machine = _machine_of(identity)
            if machine in earlier:
                span.narrow(steps[machine], is_odd=identity in odd_then)
            elif machine in steps:
                span.forget(steps[machine])

    def _list_versions(self, start: str, machine: str) -> list[MachineVersion]:
        """List the kept inspections of a machine, the newest first.

        :param start: the earliest time.
        """
        inventories = client.inventories(
            self._baremetal, self._uuids[machine], since=start
        )
        versions = []
        try:
            for entry in inventories:
                versions.append(
                    MachineVersion(machine, entry['uuid'], entry['created_at'])
                )
        except sdk_exceptions.NotFoundException:
            # Without the plugin, Ironic has no history.
            return []
        return versions

    def _read_earlier_sketch(
        self, version: MachineVersion
    ) -> sketch.Sketch | None:
        """Read an earlier inventory and return the sketch of its machine.

        :returns: None if Ironic keeps the inventory no more.
        """
        try:
            data = client.inventory(
                self._baremetal, self._uuids[version.machine], version.uuid
            )
        except sdk_exceptions.NotFoundException:
            # Ironic deleted the inventory by its age, after it was listed.
            return None
        return sketch.draw(version.machine, _as_facts(data), self._by)


class _Span:
    """The two inspections between which a finding began, by binary search.

    Inspections are numbered from the newest, which is 0 and shows the finding.

    :param count: how many inspections of the machine are kept.
    :ivar odd: the oldest inspection that is known to show the finding.
    :ivar normal: the newest inspection that is known not to show it; None
        while no such inspection is known.
    """

    def __init__(self, count: int) -> None:
        self.odd = 0
        self.normal: int | None = None
        self._count = count

    def next_step(self) -> int | None:
        """Return the number of the inspection to look at, None at the end.

        At the end :attr:`odd` and :attr:`normal` are neighbours, or all
        inspections show the finding.
        """
        if self.normal is None:
            # Most findings are older than the history: the oldest inspection
            # shows that at once.
            oldest = self._count - 1
            if oldest > self.odd:
                return oldest
            return None
        are_neighbours = self.normal - self.odd < 2
        if are_neighbours:
            return None
        return (self.odd + self.normal) // 2

    def forget(self, step: int) -> None:
        """Leave out an inspection that is gone, and all older inspections.

        Old inspections are deleted first, so that these are gone as well.

        :param step: the number of the inspection.
        """
        self._count = min(self._count, step)
        if self.normal is not None and self.normal >= step:
            self.normal = None

    def narrow(self, step: int, is_odd: bool) -> None:
        """Note whether an inspection shows the finding.

        :param step: the number of the inspection.
        :param is_odd: whether it shows the finding.
        """
        normal = self.normal
        if normal is None:
            normal = self._count
        if not self.odd < step < normal:
            # The search for another finding has read this inspection: it says
            # nothing new here.
            return
        if is_odd:
            self.odd = step
        else:
            self.normal = step


def _next_steps(spans: Mapping[Identity, _Span]) -> dict[str, int]:
    """Return the number of the next inspection to look at, by machine.

    Of several findings of a machine, the first decides on the inspection.
    """
    steps: dict[str, int] = {}
    for identity, span in spans.items():
        step = span.next_step()
        if step is not None:
            steps.setdefault(_machine_of(identity), step)
    return steps


def _machine_of(identity: Identity) -> str:
    """Return the machine of a finding."""
    return str(identity[0])
