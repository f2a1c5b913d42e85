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

from collections.abc import Hashable
import dataclasses
import json
import typing

from ironic_inspection_rules.engine.language import interpolation
from ironic_inspection_rules.engine.language import path as data_path
from ironic_inspection_rules.kit.proof import cell as cells
from ironic_inspection_rules.kit.proof import expression
from ironic_inspection_rules.kit.proof import logic
from ironic_inspection_rules.kit.proof import machine as machines
from ironic_inspection_rules.kit.proof import state as states
from ironic_inspection_rules.kit.proof import value as values

Machine = machines.SymbolicMachine


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
        self, args: dict[str, typing.Any], scope: expression.Scope
    ) -> int:
        """Return the number of a message; equal messages have the same number.

        A proof compares the numbers, because messages such as ``{node.name} is
        too small`` may contain unknown data. Messages are equal if their
        written texts are equal, and so are the values of the fields in them.
        Users never see the message of a sensitive rule, so it differs from
        the message of any other rule.

        :param args: the arguments of the action that fails the inspection.
        :param scope: the data that the action reads.
        """
        values_read = [
            expression.evaluate_field(field, scope)
            for field in interpolation.fields(args)
        ]
        key = (
            json.dumps(args),
            values.fingerprint(values_read),
            tuple(map(values.order, values_read)),
            scope.is_sensitive,
        )
        if key not in self._numbers:
            self._numbers[key] = len(self._numbers) + 1
            self._kept.append(values_read)
        return self._numbers[key]


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


def may_change_address(write: states.SymbolicWrite) -> bool:
    """Return whether a write may change the MAC address of a port."""
    root, *inner = write.place
    if root != 'ports':
        return False
    # A write to the whole list, or to a whole port, changes the address too.
    return inner[1:2] in ([], ['address'])


def name_two_ports(
    one: states.SymbolicWrite, other: states.SymbolicWrite
) -> bool:
    """Return whether two writes name their ports by different addresses."""
    if one.place[0] != 'ports' or other.place[0] != 'ports':
        return False
    addresses = {*one.place[1:2], *other.place[1:2]}
    return len(addresses) == 2 and states.ANY_PORT not in addresses


def to_any_port(write: states.SymbolicWrite) -> states.SymbolicWrite:
    """Return a write to a port as a write to a port that is not known."""
    place = ('ports', states.ANY_PORT, *write.place[2:])
    return dataclasses.replace(write, place=place, port=None)


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
