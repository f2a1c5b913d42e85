# SPDX-License-Identifier: Apache-2.0

"""Who set a value: looked up in the records of runs."""

import collections.abc
import dataclasses
import typing

from ironic_inspection_rules.engine import model
from ironic_inspection_rules.engine.secrecy import withheld
from ironic_inspection_rules.runs import record
from ironic_inspection_rules.runs import recorded_change

Place = recorded_change.Place


@dataclasses.dataclass(frozen=True, slots=True)
class Finding:
    """The change that last set a value.

    ``run`` is the caller's name of the run. ``rule`` and ``change`` are of
    its record (:mod:`.record`); of a sensitive rule there is no change.
    ``place`` is where the value was after the change: an item of a list moves
    if one before it is removed later.
    ``sensitive`` are the UUIDs of sensitive rules that ran later and may have
    set it, as their places were too many to be kept.
    """

    run: typing.Any
    phase: str
    rule: record.Record
    change: record.Record | None
    place: Place
    sensitive: tuple[str, ...]


def find(runs: collections.abc.Iterable[
        tuple[typing.Any, collections.abc.Mapping[str, record.Record],
              collections.abc.Mapping[str, record.Places]]],
        place: Place) -> Finding | tuple[str, ...]:
    """Find the change that last set a value, or removed it.

    An action that set the value that was there already counts as well.

    :param runs: the caller's name of a run, its records by phase, and the
        places that sensitive rules set by phase; newest first.
    :returns: if there is none, the UUIDs of such sensitive rules.
    """
    sensitive: dict[str, None] = {}
    for run, phases, places in runs:
        for phase in reversed(model.PHASES):
            phase_record = phases.get(phase)
            if not phase_record or not phase_record['saved']:
                continue
            ran = [*phase_record['reverted'], *phase_record['rules']]
            for rule in reversed(ran):
                if rule.get(withheld.KEY):
                    kept = places.get(phase, {}).get(rule['uuid'], [])
                    if kept is None:
                        sensitive[rule['uuid']] = None
                    elif recorded_change.is_among(kept, place):
                        return Finding(run, phase, rule, None, place, ())
                    continue
                change, place = _last_change(rule, place)
                if change is not None:
                    return Finding(run, phase, rule, change, place,
                                   tuple(sensitive))
    return tuple(sensitive)


def _last_change(rule: record.Record, place: Place
                 ) -> tuple[record.Record | None, Place]:
    """Find the change of a rule that last set a value.

    :returns: the change, and where the value was after it; without a change
        where it was before the rule.
    """
    changes = rule['changes']
    places = [place]
    for change in reversed(changes):
        if recorded_change.sets(change, place):
            return change, place
        place = recorded_change.place_before(change, place)
        places.append(place)
    for change in reversed(rule.get('confirmed', ())):
        later = len(changes) - change.get('earlier', len(changes))
        if recorded_change.confirms(change, places[later]):
            return change, places[later]
    return None, place
