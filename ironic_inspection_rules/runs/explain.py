# SPDX-License-Identifier: Apache-2.0

"""Who set a value: looked up in the records of runs."""

import collections.abc
import dataclasses
import typing

from ironic_inspection_rules.engine import model
from ironic_inspection_rules.engine import path as data_path
from ironic_inspection_rules.engine import working_copy
from ironic_inspection_rules.runs import record
from ironic_inspection_rules.runs import recorded_change

Place = recorded_change.Place

_PORT_ADDRESS = '/address'


@dataclasses.dataclass(frozen=True, slots=True)
class Finding:
    """The change that last set a value.

    ``run`` is the caller's name of the run. ``rule`` and ``change`` are of
    its record (:mod:`.record`); of a sensitive rule there is no change.
    ``place`` is where the value was after the change: an item of a list moves
    if one before it is removed later.
    ``sensitive`` are the UUIDs of sensitive rules that ran later and may have
    set it, as their places are not recorded, or nobody is to know them.
    """

    run: typing.Any
    phase: str
    rule: record.Record
    change: record.Record | None
    place: Place
    sensitive: tuple[str, ...]


Runs = collections.abc.Sequence[
    tuple[typing.Any, collections.abc.Mapping[str, record.Record]]]

_Sets = collections.abc.Callable[[record.Record, Place, typing.Any], bool]
"""Returns whether a change set what is at a place now."""


def find(runs: collections.abc.Iterable[
        tuple[typing.Any, collections.abc.Mapping[str, record.Record]]],
        place: Place, present: typing.Any = recorded_change.UNKNOWN
) -> Finding | tuple[str, ...]:
    """Find the change that last set a value, or removed it.

    An action that set the value that was there already counts as well.

    :param runs: pairs of the caller's name of a run, and its records by
        phase; newest first.
    :param present: what is there now. By it an item that was appended to a
        list is recognized, if something else has changed the list since.
    :returns: if there is none, the UUIDs of such sensitive rules.
    """
    runs = list(runs)
    found = _search(runs, place, present, recorded_change.sets)
    if isinstance(found, Finding) and (
            found.change is None
            or not recorded_change.is_in_list(found.change)
            or recorded_change.still_holds(found.change, found.place, present)
            is not False):
        return found
    moved = _search(runs, place, present, recorded_change.appends_value)
    if isinstance(moved, Finding) and moved.change is not None:
        return moved
    return found


def _search(runs: Runs, place: Place, present: typing.Any, sets: _Sets
            ) -> Finding | tuple[str, ...]:
    sensitive: dict[str, None] = {}
    # The name of a trait is a value: who guesses one that a sensitive rule
    # has removed must not learn that it was there.
    guessed = (place.object == working_copy.TRAITS
               and present is data_path.ABSENT)
    for run, phases in runs:
        for phase in reversed(model.PHASES):
            phase_record = phases.get(phase)
            if not phase_record or not phase_record['saved']:
                continue
            ran = [*phase_record['reverted'], *phase_record['rules']]
            place = _as_phase_began(place, ran)
            for rule in reversed(ran):
                if 'changes' not in rule:
                    places = rule.get(record.PLACES)
                    if places is None or guessed and recorded_change.is_among(
                            places, Place(place.object, ())):
                        sensitive[rule['uuid']] = None
                    elif recorded_change.is_among(places, place):
                        return Finding(run, phase, rule, None, place, ())
                    continue
                change, place = _last_change(rule, place, present, sets)
                if change is not None:
                    return Finding(run, phase, rule, change, place,
                                   tuple(sensitive))
    return tuple(sensitive)


def _as_phase_began(place: Place, ran: list[record.Record]) -> Place:
    """Return a place in a port by the address from the beginning of a phase.

    By that the record of a phase names the port.

    :param ran: the rules of the phase, in the order in which they ran.
    """
    if not place.object.startswith('port '):
        return place
    addresses = {change['object']: change['after']
                 for rule in ran for change in rule.get('changes', ())
                 if change['path'] == _PORT_ADDRESS}
    for name, address in addresses.items():
        if place.object == f'port {address}':
            return dataclasses.replace(place, object=name)
    if place.object in addresses:
        # It was the address of another port.
        return dataclasses.replace(place, object=place.alias or '')
    return place


def _last_change(rule: record.Record, place: Place, present: typing.Any,
                 sets: _Sets) -> tuple[record.Record | None, Place]:
    """Find the change of a rule that last set a value.

    :returns: the change, and where the value was after it; without a change
        where it was before the rule.
    """
    changes = rule['changes']
    places = [place]
    for change in reversed(changes):
        if sets(change, place, present):
            return change, place
        place = recorded_change.place_before(change, place)
        places.append(place)
    if sets is recorded_change.sets:
        for change in reversed(rule.get('confirmed', ())):
            later = len(changes) - change.get('earlier', len(changes))
            if recorded_change.confirms(change, places[later]):
                return change, places[later]
    return None, place
