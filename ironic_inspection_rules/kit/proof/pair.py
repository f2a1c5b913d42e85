# SPDX-License-Identifier: Apache-2.0

"""Compare what two rules write, and the messages with which they fail.

A proof knows a write as a place, e.g. ``('node', 'name')``, a value, and the
formula that the rule writes it. The value may differ between machines. Two
writes *clash* on a machine if they leave different values at one place, so the
result of a comparison is a formula that holds on some machines.

Traits and capabilities have two forms. Below :data:`.cell.TRAITS`, a proof
keeps whether the node has one trait *by name*. At ``('node', 'traits')``, a
rule reads the whole list.
"""

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

_WHOLE_BY_NAMES = {
    cells.CAPABILITIES: cells.CAPABILITY_TEXT,
    cells.TRAITS: ('node', 'traits'),
}
"""The place of the whole text or list, by the place of its entries by name."""

_CHANGING_ROOTS = ('node', 'ports', 'plugin_data', 'item')
"""Roots whose data rules may change. Two messages with the same text that read
them may be different."""


class Messages:
    """Numbers of the messages with which rules fail an inspection.

    Two inspections end alike if they fail with the same number.
    """

    def __init__(self) -> None:
        # The number of a message, by its text and the values of its fields.
        self._numbers: dict[Hashable, int] = {}
        # Keys contain ids, see values.fingerprint(). The values of the
        # messages are kept alive, so that no other object gets one of the ids.
        self._kept: list[list[values.Value]] = []

    def number_of(
        self,
        args: typing.Mapping[str, typing.Any],
        rule: model.Rule,
        roots: Roots,
    ) -> int:
        """Return the number of a message; equal messages have the same number.

        A proof compares the numbers, because messages such as ``{node.name} is
        too small`` may contain unknown data. Messages are equal if their
        written texts are equal, and so are the data in them that rules may
        change.

        :param args: the arguments of the action that fails the inspection.
        :param rule: the rule of the action, whose variables the message may
            read.
        :param roots: the data when the action runs, by root.
        """
        written: list[typing.Any] = [args]
        # For "{node.name} is too small" this is ('node', ('name',)).
        places = list(effects.places(written))
        reads_vars = any(root == model.VARS for root, _steps in places)
        if reads_vars:
            # The variables are part of the text.
            written.append(dict(rule.vars))
            places = list(effects.places(written))
        changing_places = [
            (root, *steps) for root, steps in places if root in _CHANGING_ROOTS
        ]
        # A message reads traits as a list, and capabilities as a text. Rules
        # change them by name, so the values by name must be compared too.
        places_by_name = _places_by_name(changing_places)
        values_read = []
        for root, *steps in (*changing_places, *places_by_name):
            data = roots.get(root, values.NOTHING)
            values_read.append(values.step(data, *steps))
        key = json.dumps(written, default=str), values.fingerprint(values_read)
        if key not in self._numbers:
            self._numbers[key] = len(self._numbers) + 1
            self._kept.append(values_read)
        return self._numbers[key]


def _places_by_name(
    places: Iterable[data_path.Path],
) -> Iterator[data_path.Path]:
    """Yield the places of traits and capabilities by name.

    A proof keeps both in two forms. For ``node.traits``, which rules read as a
    list, the place is :data:`.cell.TRAITS`, where rules add a trait by name.

    :param places: the places that rules read, e.g. ``('node', 'traits')``.
    """
    for place in places:
        for place_by_name, place_of_whole in _WHOLE_BY_NAMES.items():
            if overlap(place, place_of_whole):
                yield place_by_name


def overlap(one: data_path.Path, other: data_path.Path) -> bool:
    """Return whether a write to one place is visible at the other.

    ``node.extra`` overlaps ``node.extra.rack``, but not ``node.name``. A port
    without a known MAC address may be any port.
    """
    # Compare only the common length: a place contains everything below it.
    for index, (token, other_token) in enumerate(
        zip(one, other, strict=False)
    ):
        names_port = index == 1 and one[0] == 'ports'
        if names_port and states.ANY_PORT in (token, other_token):
            continue
        if token != other_token:
            return False
    return True


def clash(
    machine: Machine, first: states.SymbolicWrite, second: states.SymbolicWrite
) -> logic.Formula:
    """Return the formula that two writes leave different values at a place.

    ``prove`` uses it to find rules that conflict. If one rule writes "a" to
    the name of the node, and another rule its text ``serial``, the formula is
    ``serial != "a"``. In this order, the cases are::

        both add to a list, or add traits   → false
        the places do not overlap           → false
        a write to ``CUSTOM_*``, i.e. to
        all traits that no rule names       → false
        one place is inside of the other    → the outer value has the inner
                                              place, and the values differ
        the places are equal                → the values differ

    For ports, the formula also says that both write to the same port. The
    order of the writes does not matter.
    """
    if first.extends and second.extends:
        # Two items in one list, or two traits, are not a conflict.
        return logic.FALSE
    if not overlap(first.place, second.place):
        return logic.FALSE
    for write in (first, second):
        # "CUSTOM_*" represents many traits, but none that rules name.
        if write.place[-1].endswith('*') and write.place[:2] == cells.TRAITS:
            return logic.FALSE
    # The place of "below" equals the place of "above", or is inside of it.
    above, below = first, second
    if len(second.place) < len(first.place):
        above, below = second, first
    # From "extra" to "extra/rack" the steps are "rack".
    steps_below = below.place[len(above.place) :]
    value_of_above = values.step(above.value, *steps_below)
    clashes = values.where_different(machine, value_of_above, below.value)
    if steps_below:
        # It is usual that one rule creates a mapping and another one fills it,
        # so a mapping without the inner place is not a clash.
        has_inner_place = logic.negated(values.where_absent(value_of_above))
        clashes = logic.conj(clashes, has_inner_place)
    if first.port is not None and second.port is not None:
        is_same_port = states.where_same_port(machine, first.port, second.port)
        clashes = logic.conj(clashes, is_same_port)
    return logic.settled(clashes)


def as_text(place: data_path.Path) -> str:
    """Return a place as text for users: ``('node', 'name')`` is ``/name``.

    A trait becomes "the trait CUSTOM_GPU", and the name of a port "/name of
    the port 52:54:00:00:00:01".
    """
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
