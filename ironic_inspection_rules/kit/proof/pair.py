# SPDX-License-Identifier: Apache-2.0

"""Two rules on all machines: what one does to the other."""

import json
import typing

from ironic_inspection_rules.engine.language import effects
from ironic_inspection_rules.engine.language import model
from ironic_inspection_rules.engine.language import path as data_path
from ironic_inspection_rules.kit.proof import cell as cells
from ironic_inspection_rules.kit.proof import logic
from ironic_inspection_rules.kit.proof import machine as machines
from ironic_inspection_rules.kit.proof import operator
from ironic_inspection_rules.kit.proof import state as states
from ironic_inspection_rules.kit.proof import value as values

Machine = machines.SymbolicMachine

_TEXTS = {cells.CAPABILITIES: cells.CAPABILITY_TEXT,
          cells.TRAITS: ('node', 'traits')}
"""The fields in which rules read what a machine has by name."""

_MOST_PAIRS = 400
"""Alternatives of two values that are compared one by one."""

Messages = dict[typing.Hashable, tuple[int, list[values.Value]]]
"""Numbers of messages, each with what the message reads."""


def overlap(one: data_path.Path, other: data_path.Path) -> bool:
    """Return whether one of two places is the other, or above it."""
    return all(here == there or (number == 1 and one[0] == 'ports'
                                 and states.ANY_PORT in (here, there))
               for number, (here, there)
               in enumerate(zip(one, other, strict=False)))


def clash(machine: Machine, one: states.SymbolicWrite,
          other: states.SymbolicWrite) -> logic.Formula:
    """Return when two writes leave different values at one place."""
    if one.extends and other.extends or not overlap(one.place, other.place):
        return logic.FALSE
    if one.place[-1].endswith('*') and one.place[:2] == cells.TRAITS:
        return logic.FALSE
    short, long = sorted((one, other), key=lambda each: len(each.place))
    above = values.step(short.value, *long.place[len(short.place):])
    differing = differ(machine, above, long.value)
    if len(short.place) < len(long.place):
        # To make a mapping in one rule and fill it in another is usual.
        differing = logic.conj(differing, logic.negated(values.absent(above)))
    if one.port is not None and other.port is not None:
        differing = logic.conj(differing, one.port == other.port)
    return logic.settled(differing)


def message(known: Messages, given: typing.Mapping[str, typing.Any],
            rule: model.Rule, roots: typing.Mapping[str, values.Value]) -> int:
    """Return the number of a message, which equal messages share.

    They are equal where their texts are, and what these read of a node, its
    ports and plugin data; an inventory does not change.
    """
    written: list[typing.Any] = [given]
    if any(root == model.VARS for root, _steps in effects.places(written)):
        written.append(dict(rule.vars))
    places = [(root, *steps) for root, steps in effects.places(written)
              if root in ('node', 'ports', 'plugin_data', 'item')]
    read = [values.step(roots.get(root, values.NOTHING), *steps)
            for root, *steps in (*places, *_kept(places))]
    key = (json.dumps(written, default=str), *(tuple(
        (guard.get_id(), values.identity(alternative))
        for guard, alternative in each) for each in read))
    # Kept, so that no other object gets an id that is in the key.
    return known.setdefault(key, (len(known) + 1, read))[0]


def _kept(places: typing.Iterable[data_path.Path]
          ) -> typing.Iterator[data_path.Path]:
    """Yield where traits or capabilities are that are read at places."""
    for place in places:
        yield from (kept for kept, text in _TEXTS.items()
                    if overlap(place, text))


def differ(machine: Machine, one: values.Value,
           other: values.Value) -> logic.Formula:
    """Return when two values are not the same."""
    if one is other or values.fingerprint(one) == values.fingerprint(other):
        return logic.FALSE
    if len(one) * len(other) > _MOST_PAIRS:
        mine, theirs = ({values.identity(alternative): guard
                         for guard, alternative in value}
                        for value in (one, other))
        same = logic.disj(*(logic.conj(mine[key], theirs[key])
                            for key in mine if key in theirs))
        return logic.conj(logic.negated(same), machine.guess(
            'whether two values are the same', 'differ', one, other))
    return logic.disj(*(
        logic.conj(guard, _different(machine, *pair))
        for guard, pair in values.product([one, other])))


def _different(machine: Machine, one: values.Alternative,
               other: values.Alternative) -> logic.Formula:
    if values.identity(one) == values.identity(other):
        return logic.FALSE
    if isinstance(one, values.Const) and isinstance(other, values.Const):
        return logic.known(not data_path.same(one.value, other.value))
    one, other = map(values.opened, (one, other))
    if isinstance(one, values.Mapping) and isinstance(
            other, values.Mapping) and one.cell is other.cell:
        return logic.disj(*(
            differ(machine, one.entry(name), other.entry(name))
            for name in sorted({*one.entries, *other.entries})))
    terms: list[typing.Any] = [
        each.term if isinstance(each, values.SolverTerm)
        else operator.raw(each) if isinstance(each, values.Const)
        and isinstance(each.value, str | bool | int | float) else None
        for each in (one, other)]
    if None not in terms:
        if terms[0].sort() != terms[1].sort():
            return logic.TRUE
        return terms[0] != terms[1]
    if isinstance(one, values.ItemList) and isinstance(other, values.ItemList):
        return _different_lists(machine, one, other)
    if any(isinstance(each, values.UnknownValue) for each in (one, other)) or (
            type(one) is type(other) and isinstance(one, values.Mapping)):
        return _perhaps_different(machine, one, other)
    return logic.TRUE


def _different_lists(machine: Machine, one: values.ItemList,
                     other: values.ItemList) -> logic.Formula:
    if not any(isinstance(item, values.WrittenItem)
               for item in (*one.items, *other.items)):
        return _perhaps_different(machine, one, other)
    shorter = min(len(one.items), len(other.items))
    differing = [one.length != other.length]
    differing += [
        logic.conj(one.length > index, differ(machine, mine.value,
                                              theirs.value))
        for index, (mine, theirs) in enumerate(
            zip(one.items, other.items, strict=False))]
    if not one.length.eq(other.length):
        differing.append(logic.conj(
            one.length > shorter, _perhaps_different(machine, one, other)))
    return logic.disj(*differing)


def _perhaps_different(machine: Machine, one: values.Alternative,
                       other: values.Alternative) -> logic.Formula:
    return machine.guess('whether two values are the same', 'differ',
                         frozenset(map(values.identity, (one, other))),
                         one, other)


def shown(place: data_path.Path) -> str:
    """Return a place as people write it."""
    if place[:2] == cells.TRAITS:
        return f'the trait {place[-1]}' if place[2:] else 'traits'
    if place[:3] == cells.CAPABILITIES:
        return f'the capability {place[-1]}' if place[3:] else 'capabilities'
    if place[:1] == ('ports',) and place[2:]:
        return f'{data_path.pointer(place[2:])} of the port {place[1]}'
    return data_path.pointer(place[1:] if place[0] == 'node' else place)
