# SPDX-License-Identifier: Apache-2.0

"""Who set a value: looked up in the records of runs."""

import collections.abc
import dataclasses
import typing

from ironic_inspection_rules.engine import masking
from ironic_inspection_rules.engine import model
from ironic_inspection_rules.engine import path as data_path
from ironic_inspection_rules.engine import working_copy
from ironic_inspection_rules.runs import record

CAPABILITIES = ('properties', 'capabilities')

_APPENDED = f'/{data_path.APPEND}'

UNKNOWN: typing.Any = object()
"""In the place of a value that is not known."""


@dataclasses.dataclass(frozen=True, slots=True)
class Place:
    """Where a value is.

    ``object`` is ``node``, ``port <MAC>``, ``plugin_data`` or ``traits``, as
    in the record of a change, ``alias`` what a port may have there instead.
    The path of a trait is its name.
    """

    object: str
    path: data_path.Path
    alias: str | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class Finding:
    """The change that last set a value.

    ``run`` is the caller's name of the run. ``rule`` and ``change`` are of
    its record (:mod:`.record`); of a sensitive rule there is no change.
    ``sensitive`` are the UUIDs of sensitive rules that ran later and may have
    set it, as their places are not recorded, or nobody is to know them.
    """

    run: typing.Any
    phase: str
    rule: record.Record
    change: record.Record | None
    sensitive: tuple[str, ...]


def find(runs: collections.abc.Iterable[
        tuple[typing.Any, collections.abc.Mapping[str, record.Record]]],
        place: Place, present: typing.Any = UNKNOWN
) -> Finding | tuple[str, ...]:
    """Find the change that last set a value, or removed it.

    An action that set the value that was there already counts as well.

    :param runs: pairs of the caller's name of a run, and its records by
        phase; newest first.
    :param present: what is there now. By it an item that was appended to a
        list is recognized.
    :returns: if there is none, the UUIDs of such sensitive rules.
    """
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
            for rule in reversed(ran):
                if 'changes' not in rule:
                    places = rule.get(record.PLACES)
                    if places is None or guessed and _is_among(
                            places, Place(place.object, ())):
                        sensitive[rule['uuid']] = None
                    elif _is_among(places, place):
                        return Finding(run, phase, rule, None, ())
                    continue
                for change in reversed(rule['changes']):
                    if _sets(change, place, present):
                        return Finding(run, phase, rule, change,
                                       tuple(sensitive))
                for change in reversed(rule.get('confirmed', ())):
                    if _is_among([(change['object'], change['path'])], place):
                        return Finding(run, phase, rule, change,
                                       tuple(sensitive))
    return tuple(sensitive)


def still_holds(change: record.Record, place: Place,
                present: typing.Any) -> bool | None:
    """Check if a value is still what the change made it.

    :param present: what is there now, :data:`.path.ABSENT` if nothing is,
        :data:`UNKNOWN` if nobody has looked.
    :returns: None where that is not known, for instance because the record
        hides a secret or was shortened.
    """
    if place.object == working_copy.TRAITS:
        return (change['op'] == 'add') is (present is not data_path.ABSENT)
    made = _at(change, place, 'after')
    if UNKNOWN in (made, present):
        return None
    return data_path.same(made, present)


def _sets(change: record.Record, place: Place, present: typing.Any) -> bool:
    if change['object'] not in (place.object, place.alias):
        return False
    path = _path(change, place)
    asked = place.path
    if change['path'].endswith(_APPENDED) and asked[:len(path)] == path:
        made = _at(change, place, 'after')
        return UNKNOWN in (made, present) or data_path.same(made, present)
    if path[:len(asked)] == asked:
        return True
    if asked[:len(path)] != path:
        return False
    before = _at(change, place, 'before')
    after = _at(change, place, 'after')
    if before is UNKNOWN or after is UNKNOWN:
        return True
    return not data_path.same(before, after)


def _is_among(written: collections.abc.Iterable[collections.abc.Sequence[str]],
              place: Place) -> bool:
    """Check if a value is, contains or is part of one that was written.

    :param written: objects and paths, as in the record of a change.
    """
    for where, text in written:
        path = data_path.parse(text) if text else ()
        if where in (place.object, place.alias) and all(
                one == other or one == data_path.APPEND and other.isdigit()
                for one, other in zip(path, place.path, strict=False)):
            return True
    return False


def _path(change: record.Record, place: Place) -> data_path.Path:
    """Return where a change was.

    An item that was appended to a list is where it is asked for.
    """
    path = data_path.parse(change['path'])
    asked = place.path[:len(path)]
    if (change['path'].endswith(_APPENDED) and len(asked) == len(path)
            and asked[:-1] == path[:-1] and asked[-1].isdigit()):
        return asked
    return path


def _at(change: record.Record, place: Place, side: str) -> typing.Any:
    """Return what was at a place before or after a change of it."""
    path = _path(change, place)
    absent = 'add' if side == 'before' else 'remove'
    if change['op'] == absent:
        return data_path.ABSENT
    if path[:len(place.path)] == place.path != path:
        # The change is of a part of the value only.
        return UNKNOWN
    value = change[side]
    if _is_hidden(value):
        return UNKNOWN
    return look_up(value, path, place.path)


def look_up(value: typing.Any, path: data_path.Path,
            asked: data_path.Path) -> typing.Any:
    """Return what a value holds at a path below its own.

    A capability counts as something below the text of all of them.

    :param asked: the path to look at, which begins with that.
    :returns: :data:`.path.ABSENT` if nothing is there.
    """
    rest = asked[len(path):]
    if path == CAPABILITIES and len(rest) == 1 and isinstance(value, str):
        pairs = (item.partition(':') for item in value.split(','))
        return {name.strip(): text.strip() for name, _colon, text
                in pairs}.get(rest[0], data_path.ABSENT)
    return data_path.get(value, rest)


def _is_hidden(value: typing.Any) -> bool:
    if isinstance(value, str):
        return value == masking.MASK or (
            len(value) > record.LONGEST_VALUE
            and value.endswith(record.ELLIPSIS))
    return masking.MASK in str(value)
