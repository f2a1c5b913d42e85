# SPDX-License-Identifier: Apache-2.0

"""What is normal in groups of peers, as rules."""

from collections.abc import Sequence
import json
import typing

from ironic_inspection_rules.engine.language import path as data_path
from ironic_inspection_rules.engine.run import views
from ironic_inspection_rules.kit.machine.outliers import peers
from ironic_inspection_rules.kit.machine.outliers import sketch
from ironic_inspection_rules.kit.machine.profile import component
from ironic_inspection_rules.kit.machine.profile import rules
from ironic_inspection_rules.kit.machine.profile import sort


class Reduced(typing.NamedTuple):
    """What rules are made of.

    :param keys: values that peers have in common, by their paths.
    :param text: what profiles compare, as JSON; equal machines have the same.
    """

    keys: dict[str, typing.Any]
    text: str


def reduce(facts: views.Facts, by: Sequence[str]) -> Reduced:
    """Return what rules are made of.

    :param by: see :func:`.sketch.draw`.
    """
    small = component.reduced(facts)
    return Reduced(sketch.values_of(facts, by), json.dumps(
        [small.inventory, small.plugin_data], sort_keys=True))


class Norms:
    """The normal machines of all groups.

    :ivar machines: the names of those that are not odd; each is to be added.
    """

    def __init__(self, found: peers.Result) -> None:
        odd = {each.machine for each in found.findings}
        self._norms = [Norm(group) for group in found.groups]
        self._numbers = {
            each.name: number for number, group in enumerate(found.groups)
            for kind in group.kinds for each in kind.sketches
            if each.name not in odd}
        self.machines = sorted(self._numbers)

    def add(self, machine: str, reduced: Reduced) -> None:
        """Take in a machine."""
        self._norms[self._numbers[machine]].add(reduced)

    def rules(self) -> list[dict[str, typing.Any]]:
        """Return rules that record where machines are odd."""
        return [rule for norm in self._norms if norm.machines
                for rule in norm.rules()]


class Norm:
    """The normal machines of a group, each of those that are equal once.

    :ivar keys: values of the paths that peers have in common, of all of them.
    """

    def __init__(self, group: peers.Group) -> None:
        self.label = group.label
        self.is_one_kind = len(group.kinds) == 1
        self.keys: dict[str, list[typing.Any]] = {}
        self.machines: dict[str, views.Facts] = {}

    def add(self, reduced: 'Reduced') -> None:
        """Take in a machine."""
        for path, value in reduced.keys.items():
            known = self.keys.setdefault(path, [])
            if value not in known:
                known.append(value)
        if reduced.text not in self.machines:
            self.machines[reduced.text] = views.Facts(
                *json.loads(reduced.text))

    def rules(self) -> list[dict[str, typing.Any]]:
        """Return rules that record where a machine of the group is odd."""
        tolerated = component.Tolerance()
        if not self.is_one_kind:
            # Between two kinds there is a machine that is broken.
            tolerated = component.Tolerance(
                observed=set(component.COMPONENTS))
        only = [_among(path, values) for path, values in self.keys.items()]
        written = []
        for rule in rules.write(list(self.machines.values()), self.label,
                                rules.AUDIT, tolerated, set(self.keys)):
            written.append({**rule, 'conditions': [*only,
                                                   *rule['conditions']]})
        return written


def _among(path: str, values: Sequence[typing.Any]) -> dict[str, typing.Any]:
    """Return the condition that a machine is of a group."""
    root, *names = data_path.parse(path)
    place = root + ''.join(f'[{name}]' for name in names)
    if all(map(str.isidentifier, names)):
        place = '.'.join((root, *names))
    return {'op': 'one-of', 'args': {
        'value': f"{{{place} | default('', true)}}",
        'values': [sort.escape(value) for value in values]}}
