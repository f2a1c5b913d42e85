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
"""By which a finding is recognized in several inspections."""


class MachineVersion(NamedTuple):
    """A kept inventory of a machine, by which it is read.

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
        peer_arguments.add(parser)
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
        start = inventory_history.since(parsed_args.since)
        baremetal = self.baremetal
        with (
            parallel.interruptible(self.app.stderr, _('Interrupted')),
            parallel.RequestThreads(parsed_args.jobs) as threads,
        ):
            uuids = _uuids(selection.matching(baremetal))
            draw = functools.partial(_draw, baremetal, parsed_args.by, uuids)
            compared = peers.Peers(parsed_args.min_peers)
            missing = _add(
                compared, threads.map(draw, list(uuids), _('Comparing'))
            )
            result = compared.find().without(parsed_args.ignore)
            if start:
                search = _Search(baremetal, threads, parsed_args.by, uuids)
                result = result.dated(search.began(compared, result, start))
            if parsed_args.learn:
                rules = _learn(
                    baremetal, threads, result, parsed_args.by, uuids
                )
                arguments.write(
                    parsed_args.learn,
                    peer_arguments.rules(rules),
                    self.app.stdout,
                )
        # Nowhere, if the learned rules go to standard output.
        output = arguments.choose_output(parsed_args.learn, self.app.stdout)
        arguments.write(
            parsed_args.output,
            peer_arguments.render(result, parsed_args.format),
            output,
        )
        self.app.stderr.write(peer_arguments.warnings(result, parsed_args.by))
        if missing:
            self.app.stderr.write(
                _P(
                    'Without an inventory: %d node\n',
                    'Without an inventory: %d nodes\n',
                    missing,
                )
                % missing
            )
        return peer_arguments.status(result)


def _add(
    compared: peers.Peers, machines: Iterable[sketch.Sketch | None]
) -> int:
    """Add machines to those that are compared, as they are drawn.

    So a machine shares with those before it what is equal: all at once would
    take much more memory.

    :param machines: None for a node without an inventory.
    :returns: the number of such nodes.
    """
    missing = 0
    for machine in machines:
        if machine is None:
            missing += 1
        else:
            compared.add([machine])
    return missing


def _uuids(nodes: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Return the UUIDs of nodes by their name, or UUID without a name."""
    return {node['name'] or node['uuid']: node['uuid'] for node in nodes}


def _facts(data: Mapping[str, Any]) -> views.Facts:
    return views.Facts(data['inventory'] or {}, data['plugin_data'] or {})


def _draw(
    baremetal: Any, by: Sequence[str], uuids: Mapping[str, str], name: str
) -> sketch.Sketch | None:
    """Return the sketch of a machine, None without an inventory.

    :param uuids: of nodes, by what they are called.
    """
    try:
        data = node_client.inventory(baremetal, uuids[name])
    except sdk_exceptions.NotFoundException:
        return None
    return sketch.draw(name, _facts(data), by)


def _learn(
    baremetal: Any,
    threads: parallel.RequestThreads,
    result: peers.Result,
    by: Sequence[str],
    uuids: Mapping[str, str],
) -> list[dict[str, Any]]:
    """Return rules that record where a machine is not like the normal ones.

    Normal are the machines without a finding.

    :param by: fields that machines are compared within, as of ``--by``.
    :param uuids: of nodes, by what they are called.
    """
    norms = norm_rules.Norms(result)
    # The inventories are read again: they were too large to keep.
    reduce = functools.partial(_reduce, baremetal, by, uuids)
    all_reduced = threads.map(reduce, norms.machines, _('Learning'))
    for name, reduced in zip(norms.machines, all_reduced, strict=True):
        norms.add(name, reduced)
    return norms.rules()


def _reduce(
    baremetal: Any, by: Sequence[str], uuids: Mapping[str, str], name: str
) -> norm_rules.Reduced:
    """Return what rules are learned from, of the inventory of a machine."""
    data = node_client.inventory(baremetal, uuids[name])
    return norm_rules.reduce(_facts(data), by)


class _Search:
    """Finds out which inspections first showed the findings of today.

    :param uuids: of nodes, by what they are called.
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

    def began(
        self, compared: peers.Peers, result: peers.Result, start: str
    ) -> dict[Identity, str]:
        """Return when an inspection first showed each finding.

        Odd machines, as they were before, are compared with their peers of
        today. The inspection to look at is searched for by bisection, as an
        inventory is large.

        :param start: the earliest time.
        :returns: without findings that the oldest kept inspection shows.
        """
        machines = sorted({outlier.machine for outlier in result.findings})
        listed = self._threads.map(
            functools.partial(self._versions, start),
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
                first = versions[_machine(identity)][span.odd]
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

        The machines as they were stand in for those of today among their
        peers. Where the finding is there already, it began earlier.

        :param spans: by finding, narrowed in place.
        :param steps: the number of the inspection, by machine.
        """
        wanted = [versions[machine][step] for machine, step in steps.items()]
        sketches = self._threads.map(
            self._draw, wanted, _('Comparing earlier inspections')
        )
        earlier = {}
        for machine_then in sketches:
            if machine_then is not None:
                earlier[machine_then.name] = machine_then
        odd = {
            outlier.identity
            for outlier in compared.find_instead(earlier).findings
        }
        for identity, span in spans.items():
            machine = _machine(identity)
            if machine in earlier:
                span.narrow(steps[machine], identity in odd)
            elif machine in steps:
                span.forget(steps[machine])

    def _versions(self, start: str, machine: str) -> list[MachineVersion]:
        """Return the kept inspections of a machine, the newest first.

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

    def _draw(self, version: MachineVersion) -> sketch.Sketch | None:
        """Return the sketch of a machine as it was, None if it is gone."""
        try:
            data = client.inventory(
                self._baremetal, self._uuids[version.machine], version.uuid
            )
        except sdk_exceptions.NotFoundException:
            # It was deleted, being too old, after it had been listed.
            return None
        return sketch.draw(version.machine, _facts(data), self._by)


class _Span:
    """The kept inspections of a machine between which a finding began.

    A binary search narrows it. Inspections are numbered from the newest one,
    which is 0 and shows the finding.

    :param count: how many are kept.
    :ivar odd: the oldest one that is known to show the finding.
    :ivar normal: the newest one that is known not to show it, None while none
        is known.
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
            # First the oldest one: most findings are older than the history,
            # and need no other.
            oldest = self._count - 1
            if oldest > self.odd:
                return oldest
            return None
        if self.normal - self.odd < 2:
            return None
        return (self.odd + self.normal) // 2

    def forget(self, step: int) -> None:
        """Leave out an inspection that is gone, with all that are older.

        Old inspections are deleted first, so these are gone as well.

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
            # Another finding of the machine has asked for this inspection, and
            # it says nothing new here.
            return
        if is_odd:
            self.odd = step
        else:
            self.normal = step


def _next_steps(spans: Mapping[Identity, _Span]) -> dict[str, int]:
    """Return the next inspection to look at, by machine.

    Of several findings of a machine, the first decides which it is.
    """
    steps: dict[str, int] = {}
    for identity, span in spans.items():
        step = span.next_step()
        if step is not None:
            steps.setdefault(_machine(identity), step)
    return steps


def _machine(identity: Identity) -> str:
    """Return the machine of a finding."""
    return str(identity[0])
