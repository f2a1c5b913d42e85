# SPDX-License-Identifier: Apache-2.0

"""Group machines of one model as peers, and find the odd ones.

The key of a machine is its vendor, product and board, or other values that the
user names. Machines with the same key are a group. If a value such as the size
of the memory divides a group, its machines are of several kinds. A machine is
compared with the machines of its kind, and a difference is a finding.
"""

from collections.abc import Container, Iterable, Mapping, Sequence
import dataclasses
import typing

from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.i18n import _P
from ironic_inspection_rules.kit.machine.outliers import capacities
from ironic_inspection_rules.kit.machine.outliers import cause
from ironic_inspection_rules.kit.machine.outliers import field_comparison
from ironic_inspection_rules.kit.machine.outliers import finding
from ironic_inspection_rules.kit.machine.outliers import kind
from ironic_inspection_rules.kit.machine.outliers import part_comparison
from ironic_inspection_rules.kit.machine.outliers import peer_difference
from ironic_inspection_rules.kit.machine.outliers import sketch

MIN_PEERS = 5
"""Least number of machines of one kind that are compared."""

Key = tuple[tuple[str, str], ...]
"""Pairs of path and value, see :func:`.sketch.peer_key`."""


@dataclasses.dataclass(frozen=True)
class PeerGroup:
    """Machines that have the same key.

    :param kinds: the kinds of these machines. A machine is compared only with
        machines of its kind.
    """

    key: Key
    kinds: tuple[kind.MachineKind, ...]

    @property
    def label(self) -> str:
        """The name of the group, e.g. ``Dell Inc. PowerEdge R640``."""
        return group_label(self.key)

    @property
    def size(self) -> int:
        """The number of its machines."""
        return sum(len(machine_kind.sketches) for machine_kind in self.kinds)

    @property
    def machines(self) -> list[str]:
        """The names of its machines."""
        names = []
        for machine_kind in self.kinds:
            names += [machine.name for machine in machine_kind.sketches]
        return names

    def as_dict(
        self, findings: Iterable[finding.Outlier]
    ) -> dict[str, typing.Any]:
        """Return plain JSON data with the numbers of machines.

        For example, ``{'group': 'Dell Inc. PowerEdge R640', 'machines': 40,
        'odd': 1}``.

        :param findings: the findings of all groups.
        """
        # A machine may have several findings.
        odd = {
            outlier.machine
            for outlier in findings
            if outlier.group == self.label
        }
        return {'group': self.label, 'machines': self.size, 'odd': len(odd)}

    def kinds_as_dict(self) -> dict[str, typing.Any]:
        """Return plain JSON data about the differences between its kinds.

        For example, ``{'group': …, 'kinds': [{'machines': 30, 'differs':
        [{'field': 'inventory.memory.physical_mb', 'value': '512 GiB'}]}]}``.
        """
        kinds = []
        for machine_kind in self.kinds:
            differs = list(map(dataclasses.asdict, machine_kind.differs))
            kinds.append(
                {'machines': len(machine_kind.sketches), 'differs': differs}
            )
        return {'group': self.label, 'kinds': kinds}


@dataclasses.dataclass(frozen=True)
class Skipped:
    """Machines that have too few peers."""

    key: Key
    machines: tuple[str, ...]

    @property
    def reason(self) -> str:
        """Why the machines are not compared."""
        count = len(self.machines)
        return (
            _P(
                '%d machine, which is too few',
                '%d machines, which are too few',
                count,
            )
            % count
        )

    def as_dict(self) -> dict[str, typing.Any]:
        """Return plain JSON data."""
        return {
            'group': group_label(self.key),
            'machines': list(self.machines),
            'reason': self.reason,
        }


@dataclasses.dataclass(frozen=True)
class Result:
    """The result of comparing machines with their peers.

    :param findings: the differences, the oddest first.
    :param groups: the machines that were compared with each other.
    :param skipped: the machines that were not compared, because they have too
        few peers.
    """

    findings: tuple[finding.Outlier, ...]
    groups: tuple[PeerGroup, ...]
    skipped: tuple[Skipped, ...]

    @property
    def normal(self) -> int:
        """The number of compared machines that are not odd."""
        odd = {outlier.machine for outlier in self.findings}
        return sum(group.size for group in self.groups) - len(odd)

    def with_dates(
        self, since: Mapping[tuple[str | None, ...], str]
    ) -> 'Result':
        """Return the result with the times at which findings first appeared.

        :param since: the times as text, by identity of the finding. A finding
            without a time is older than all stored inspections.
        """
        findings = []
        for outlier in self.findings:
            findings.append(
                dataclasses.replace(
                    outlier, dated=True, since=since.get(outlier.identity)
                )
            )
        return dataclasses.replace(self, findings=tuple(findings))

    def without_kinds(self, ignored: Iterable[str]) -> 'Result':
        """Return the result without the findings that the user ignores.

        :param ignored: kinds of findings, e.g. ``memory``.
        """
        ignored = set(ignored)
        findings = []
        for outlier in self.findings:
            if outlier.kind not in ignored:
                findings.append(outlier)
        return dataclasses.replace(self, findings=tuple(findings))

    def as_dict(self) -> dict[str, typing.Any]:
        """Return plain JSON data."""
        return {
            'findings': [outlier.as_dict() for outlier in self.findings],
            'kinds': [
                group.kinds_as_dict()
                for group in self.groups
                if len(group.kinds) > 1
            ],
            'skipped': [skipped.as_dict() for skipped in self.skipped],
            'groups': [group.as_dict(self.findings) for group in self.groups],
        }


def group_label(key: Key) -> str:
    """Return the name of the group of machines with a key."""
    return ' '.join(value for _path, value in key) or _('unknown model')


class Peers:
    """All machines of a fleet as sketches, which share equal values.

    :param min_peers: the least number of machines of a group that are
        compared.
    """

    def __init__(self, min_peers: int = MIN_PEERS) -> None:
        self._min_peers = min_peers
        self._shared = sketch.SketchInterner()
        self._sketches: list[sketch.Sketch] = []

    def add(self, sketches: Iterable[sketch.Sketch]) -> None:
        """Add machines, which from then on share equal values."""
        self._sketches.extend(map(self._shared.intern, sketches))

    def find(self) -> Result:
        """Return how the machines differ from their peers."""
        return self._compare_groups(self._sketches, names=None)

    def find_earlier(
        self, earlier_sketches: Mapping[str, sketch.Sketch]
    ) -> Result:
        """Return how earlier data of machines differ from their peers' data.

        :param earlier_sketches: sketches of earlier data, by name of the
            machine. They replace the sketches of these machines that were
            added. Other machines are compared as they were added.
        :returns: a result with only the groups that have one of these
            machines.
        """
        sketches = []
        for machine in self._sketches:
            earlier = earlier_sketches.get(machine.name)
            if earlier is None:
                sketches.append(machine)
            else:
                sketches.append(self._shared.intern(earlier))
        return self._compare_groups(sketches, earlier_sketches.keys())

    def _compare_groups(
        self, sketches: Iterable[sketch.Sketch], names: Container[str] | None
    ) -> Result:
        """Compare the machines of every group of one model and board.

        Machines are compared with machines of the same kind. Groups that are
        too small are skipped.

        :param names: the names of machines; groups without any of them are
            ignored. None for all groups.
        """
        groups = []
        skipped = []
        findings: list[finding.Outlier] = []
        # Sorted, so that the order of machines does not change the result.
        for key, members in sorted(_group_by_key(sketches).items()):
            member_names = sorted(machine.name for machine in members)
            # Without names, all groups are wanted.
            is_wanted = names is None or any(
                name in names for name in member_names
            )
            if not is_wanted:
                continue
            if len(members) < self._min_peers:
                skipped.append(Skipped(key, tuple(member_names)))
                continue
            # The result must not depend on names or on the order of files.
            members.sort(key=_numbers_then_name)
            members = capacities.unify(members)
            group = PeerGroup(
                key, tuple(kind.divide(members, self._min_peers))
            )
            groups.append(group)
            for machine_kind in group.kinds:
                findings += _compare_kind(
                    machine_kind.sketches, self._min_peers, group.label
                )
        findings.sort(key=finding.Outlier.sort_key)
        return Result(tuple(findings), tuple(groups), tuple(skipped))


def _numbers_then_name(machine: sketch.Sketch) -> tuple[typing.Any, ...]:
    """Return the sort key of a machine: its numbers first, its name last.

    The name decides only between machines whose numbers are equal.
    """
    return machine.numbers.tobytes(), machine.paths, machine.name


def _group_by_key(
    sketches: Iterable[sketch.Sketch],
) -> dict[Key, list[sketch.Sketch]]:
    """Group machines by their model and board.

    A machine that does not report its board joins the largest group of its
    model.
    """
    groups: dict[Key, list[sketch.Sketch]] = {}
    for machine in sketches:
        groups.setdefault(machine.key, []).append(machine)
    # The keys with a board, by the key of their model. The key of the model is
    # the same key without its last value, because the values are vendor,
    # product, board.
    keys_by_model: dict[Key, list[Key]] = {}
    for key in groups:
        if key and key[-1][0] == sketch.BOARD:
            model = key[:-1]
            keys_by_model.setdefault(model, []).append(key)
    for model, keys in keys_by_model.items():
        if model not in groups:
            # All machines of the model report their board.
            continue
        # Of equally large groups, the one with the greatest key is taken, so
        # that the order of machines does not change the result.
        _size, largest = max((len(groups[key]), key) for key in keys)
        without_board = groups.pop(model)
        groups[largest].extend(without_board)
    return groups


def _compare_kind(
    sketches: Sequence[sketch.Sketch], min_peers: int, group: str
) -> list[finding.Outlier]:
    """Compare the parts and fields of machines of one kind.

    For example, a missing DIMM changes the parts of a machine, its total
    memory and possibly its benchmarks. This gives only one finding.

    :param min_peers: the number of machines that must report a field or parts.
    :param group: the name of the group, for the findings.
    :returns: one finding per machine and cause.
    """
    # Lists of differences, one per source, by the index of the machine.
    parts: dict[int, list[list[peer_difference.PeerDifference]]] = {}
    for lists in kind.part_lists_by_source(sketches).values():
        # The differences by index of the machine in "sketches".
        by_machine = part_comparison.compare(lists, min_peers)
        for index, differences in by_machine.items():
            parts.setdefault(index, []).append(differences)
    fields = field_comparison.compare(sketches, min_peers)
    findings = []
    for index in sorted(parts.keys() | fields.keys()):
        # Only one difference is left for every cause.
        causes = cause.merge_by_cause(
            parts.get(index, []), fields.get(index, [])
        )
        for difference in causes:
            findings.append(difference.as_finding(sketches[index].name, group))
    return findings
