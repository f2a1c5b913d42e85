# SPDX-License-Identifier: Apache-2.0

"""Two rules on all machines: what one does to the other."""

from collections.abc import Hashable, Iterable, Iterator
import json
import typing

from ironic_inspection_rules.engine.language import effects
from ironic_inspection_rules.engine.language import model
from ironic_inspection_rules.engine.language import path as data_path
from ironic_inspection_rules.kit.proof import cell as cells
from ironic_inspection_rules.kit.proof import logic
from ironic_inspection_rules.kit.proof import machine as machines
from ironic_inspection_rules.kit.proof import state as states
from ironic_inspection_rules.kit.proof import value as values

Machine = machines.SymbolicMachine
Roots = typing.Mapping[str, values.Value]

_TEXTS = {
    cells.CAPABILITIES: cells.CAPABILITY_TEXT,
    cells.TRAITS: ('node', 'traits'),
}
"""The fields in which rules read what a machine has by name."""

_CHANGING = ('node', 'ports', 'plugin_data', 'item')
"""The roots of what two messages of one text may read differently."""


class Messages:
    """Numbers of the messages with which rules fail an inspection.

    Two inspections end alike if they fail with one number.
    """

    def __init__(self) -> None:
        self._numbers: dict[Hashable, int] = {}
        # What the messages read, so that no other object gets an id that is
        # in a key.
        self._kept: list[list[values.Value]] = []

    def number_of(self, given: typing.Mapping[str, typing.Any],
                  rule: model.Rule, roots: Roots) -> int:
        """Return the number of a message, which equal messages share.

        They are equal where their texts are, and what these read of a node,
        its ports and plugin data; an inventory does not change.

        :param given: the arguments of the action that fails.
        :param roots: the data that the action finds.
        """
        written: list[typing.Any] = [given]
        places = list(effects.places(written))
        if any(root == model.VARS for root, _steps in places):
            # Variables are texts of the rule, too.
            written.append(dict(rule.vars))
            places = list(effects.places(written))
        changing = [(root, *steps) for root, steps in places
                    if root in _CHANGING]
        read = []
        for root, *steps in (*changing, *_in_other_forms(changing)):
            data = roots.get(root, values.NOTHING)
            read.append(values.step(data, *steps))
        key = (json.dumps(written, default=str), *map(_key, read))
        if key not in self._numbers:
            self._numbers[key] = len(self._numbers) + 1
            self._kept.append(read)
        return self._numbers[key]


def _key(value: values.Value) -> Hashable:
    """Return a key of a value. Values with equal keys are the same."""
    pairs = []
    for guard, alternative in value:
        pairs.append((guard.get_id(), alternative.identity))
    return tuple(pairs)


def _in_other_forms(places: Iterable[data_path.Path]
                    ) -> Iterator[data_path.Path]:
    """Yield where traits or capabilities are that are read at places."""
    for place in places:
        for by_name, as_text in _TEXTS.items():
            if overlap(place, as_text):
                yield by_name


def overlap(one: data_path.Path, other: data_path.Path) -> bool:
    """Return whether one of two places is the other, or above it."""
    for number, (here, there) in enumerate(zip(one, other, strict=False)):
        is_port = number == 1 and one[0] == 'ports'
        if is_port and states.ANY_PORT in (here, there):
            continue
        if here != there:
            return False
    return True


def clash(machine: Machine, one: states.SymbolicWrite,
          other: states.SymbolicWrite) -> logic.Formula:
    """Return when two writes leave different values at one place."""
    if one.extends and other.extends:
        # Two items in one list, or two traits, are no conflict.
        return logic.FALSE
    if not overlap(one.place, other.place):
        return logic.FALSE
    if one.place[-1].endswith('*') and one.place[:2] == cells.TRAITS:
        # It stands for many traits, and for none that the other rule names.
        return logic.FALSE
    above, below = one, other
    if len(other.place) < len(one.place):
        above, below = other, one
    inside = values.step(above.value, *below.place[len(above.place):])
    differing = values.differ(machine, inside, below.value)
    if len(above.place) < len(below.place):
        # To make a mapping in one rule and fill it in another is usual.
        is_there = logic.negated(values.absent(inside))
        differing = logic.conj(differing, is_there)
    if one.port is not None and other.port is not None:
        differing = logic.conj(differing, one.port == other.port)
    return logic.settled(differing)


def as_text(place: data_path.Path) -> str:
    """Return a place as people write it."""
    if place[:2] == cells.TRAITS:
        if place[2:]:
            return f'the trait {place[-1]}'
        return 'traits'
    if place[:3] == cells.CAPABILITIES:
        if place[3:]:
            return f'the capability {place[-1]}'
        return 'capabilities'
    if place[0] == 'ports' and place[2:]:
        return f'{data_path.pointer(place[2:])} of the port {place[1]}'
    if place[0] == 'node':
        return data_path.pointer(place[1:])
    return data_path.pointer(place)
