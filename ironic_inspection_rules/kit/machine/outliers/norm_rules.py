# SPDX-License-Identifier: Apache-2.0

"""The rules of outliers --learn, made of what is normal in groups of peers."""

from collections.abc import Sequence
import json
import typing

from ironic_inspection_rules.engine.language import path as data_path
from ironic_inspection_rules.engine.run import views
from ironic_inspection_rules.kit.machine.outliers import peers
from ironic_inspection_rules.kit.machine.outliers import sketch
from ironic_inspection_rules.kit.machine.profile import component
from ironic_inspection_rules.kit.machine.profile import part_sorts
from ironic_inspection_rules.kit.machine.profile import rules


class Reduced(typing.NamedTuple):
    """The data of a machine that rules are made of.

    They are small, as all machines of a fleet are kept.

    :param keys: values that peers have in common, by their paths.
    :param text: what profiles compare, as JSON; equal machines have the same.
    """

    keys: dict[str, typing.Any]
    text: str


def reduce(facts: views.Facts, by: Sequence[str]) -> Reduced:
    """Return the small part of a machine's data that rules are made of.

    :param by: paths of the values that peers have in common; if empty those of
        the vendor, the product and the board.
    """
    small = component.reduced(facts)
    text = json.dumps([small.inventory, small.plugin_data], sort_keys=True)
    return Reduced(sketch.values_of(facts, by), text)


class Norms:
    """The normal machines of all groups of peers, of which rules are made.

    :ivar machines: the names of those that are not odd. Callers read these
        machines again, and add all of them.
    """

    def __init__(self, result: peers.Result) -> None:
        # A machine with any finding is not taken for normal.
        odd = {finding.machine for finding in result.findings}
        self._norms = [GroupNorm(group) for group in result.groups]
        # The norm of its group, by the name of a normal machine.
        self._norm_of: dict[str, GroupNorm] = {}
        for norm, group in zip(self._norms, result.groups, strict=True):
            for name in group.machines:
                if name not in odd:
                    self._norm_of[name] = norm
        self.machines = sorted(self._norm_of)

    def add(self, machine: str, reduced: Reduced) -> None:
        """Add a machine to the norm of its group."""
        self._norm_of[machine].add(reduced)

    def rules(self) -> list[dict[str, typing.Any]]:
        """Return rules that record where machines are odd."""
        rules = []
        for norm in self._norms:
            # All machines of a group may be odd.
            if norm.machines:
                rules += norm.rules()
        return rules


class GroupNorm:
    """The normal machines of a group of peers; of equal ones there is one.

    :ivar keys: by path, the values that peers have in common. There are
        several where a machine does not report its board.
    :ivar machines: their data that profiles compare, by the text of these.
    """

    def __init__(self, group: peers.PeerGroup) -> None:
        self.keys: dict[str, list[typing.Any]] = {}
        self.machines: dict[str, views.Facts] = {}
        self._label = group.label
        self._is_one_kind = len(group.kinds) == 1

    def add(self, reduced: Reduced) -> None:
        """Add the data of a normal machine, if no equal one is there yet."""
        for path, value in reduced.keys.items():
            values = self.keys.setdefault(path, [])
            if value not in values:
                values.append(value)
        if reduced.text not in self.machines:
            inventory, plugin_data = json.loads(reduced.text)
            facts = views.Facts(inventory, plugin_data)
            self.machines[reduced.text] = facts

    def rules(self) -> list[dict[str, typing.Any]]:
        """Return rules in mode ``audit`` that record how a machine is odd.

        Their conditions hold for the machines of the group alone.
        """
        tolerated = component.Tolerance()
        if not self._is_one_kind:
            # A profile of all kinds would also accept a broken machine that
            # lies between two: so it takes only values that were observed.
            tolerated = component.Tolerance(observed=set(component.COMPONENTS))
        is_of_group = [
            _among(path, values) for path, values in self.keys.items()
        ]
        of_machines = rules.write(
            list(self.machines.values()),
            self._label,
            rules.AUDIT,
            tolerated,
            set(self.keys),
        )
        of_group = []
        for rule in of_machines:
            conditions = [*is_of_group, *rule['conditions']]
            of_group.append({**rule, 'conditions': conditions})
        return of_group


def _among(path: str, values: Sequence[typing.Any]) -> dict[str, typing.Any]:
    """Return the condition that a machine has one of the values of a group.

    :param path: of the value that the peers of the group have in common.
    """
    root, *names = data_path.parse(path)
    if all(map(str.isidentifier, names)):
        place = '.'.join([root, *names])
    else:
        place = root + ''.join(f'[{name}]' for name in names)
    # A machine that does not report the value has an empty text for it.
    value_or_empty = f"{{{place} | default('', true)}}"
    escaped = [part_sorts.escape(value) for value in values]
    return {
        'op': 'one-of',
        'args': {'value': value_or_empty, 'values': escaped},
    }
