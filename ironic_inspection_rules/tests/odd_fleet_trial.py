# SPDX-License-Identifier: Apache-2.0

"""Whether planted faults are found, and nothing else."""

import collections
import dataclasses
import json
import typing

from ironic_inspection_rules.engine.run import views
from ironic_inspection_rules.kit.machine.outliers import finding
from ironic_inspection_rules.kit.machine.outliers import peers
from ironic_inspection_rules.kit.machine.outliers import sketch
from ironic_inspection_rules.tests import odd_fleet


@dataclasses.dataclass
class Score:
    """What was planted and found in some groups."""

    machines: int = 0
    planted: 'collections.Counter[str]' = dataclasses.field(
        default_factory=collections.Counter
    )
    missed_by_fault: 'collections.Counter[str]' = dataclasses.field(
        default_factory=collections.Counter
    )
    wrong: list[finding.Outlier] = dataclasses.field(default_factory=list)
    remarks: list[str] = dataclasses.field(default_factory=list)

    @property
    def missed(self) -> int:
        """The number of faults that were not found."""
        return self.missed_by_fault.total()

    def __iadd__(self, other: 'Score') -> 'Score':
        self.machines += other.machines
        self.planted += other.planted
        self.missed_by_fault += other.missed_by_fault
        self.wrong += other.wrong
        self.remarks += other.remarks
        return self

    def __str__(self) -> str:
        return (
            f'{self.machines} machines, {self.planted.total()} faults, '
            f'{self.missed} missed, {len(self.wrong)} wrong'
        )


def compare(
    machines: typing.Mapping[str, typing.Any],
    by: typing.Sequence[str] = (),
    least: int = peers.MIN_PEERS,
) -> peers.Result:
    """Compare machines, given by their names as Ironic has them."""
    compared = peers.Peers(least)
    for name, data in machines.items():
        # As a file gives it: nothing of one machine is that of another.
        data = json.loads(json.dumps(data))
        compared.add(
            [
                sketch.build(
                    name,
                    views.Facts(data['inventory'], data['plugin_data']),
                    by,
                )
            ]
        )
    return compared.find()


def run(group: odd_fleet.Group) -> Score:
    """Compare the machines of a group, and what was found with the truth."""
    found = compare(
        {name: machine.inventory() for name, machine in group.machines.items()}
    )
    left = list(found.findings)
    score = Score(len(group.machines))
    for planted in group.planted:
        score.planted[planted.fault.name] += 1
        told = next((each for each in left if _tells(each, planted)), None)
        if told is None:
            score.missed_by_fault[planted.fault.name] += 1
            score.remarks.append(
                f'missed: {planted.machine} {planted.fault.name} '
                f'{planted.slot} {group.model}'
            )
        else:
            left.remove(told)
    score.wrong = left
    for each in left:
        score.remarks.append(
            f'wrong: {each.machine} {each.text} {each.field} {group.model}'
        )
    return score


def _tells(found: finding.Outlier, planted: odd_fleet.Planted) -> bool:
    """Check whether a finding is about a fault, and names its place."""
    if found.machine != planted.machine or (
        found.kind not in planted.fault.kinds
    ):
        return False
    return planted.slot is None or planted.slot in (found.slot or '')
