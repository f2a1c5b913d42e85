# SPDX-License-Identifier: Apache-2.0

"""A rule in the record of a run.

Code that reads runs uses these classes for both kinds of rules, sensitive or
not. The places that sensitive rules set are needed only to find the rule that
set a value: they are stored beside the record, and nobody is shown them.
"""

from collections.abc import Container, Mapping
import typing

from ironic_inspection_rules.engine.language import path as data_path
from ironic_inspection_rules.engine.language.secrecy import disclosure
from ironic_inspection_rules.engine.run import runner
from ironic_inspection_rules.runs import phase_record
from ironic_inspection_rules.runs import recorded_change

Places = dict[str, list[list[str]] | None]
"""The places that sensitive rules set: pairs of ``object`` and ``path``, by
the UUID of the rule; None if there are too many to be kept.

``{UUID: [['node', '/extra/rack'], ['port 52:54:00:00:00:01', '/extra']]}``
"""

Describe = typing.Callable[[phase_record.Record], disclosure.Entry]


class Trail(typing.NamedTuple):
    """The result of following a value back in time, through one rule.

    ``is_set`` is whether the rule set the value. Then ``place`` is the place
    of the value right after the ``change`` that set it; the change is None for
    a withheld rule. Otherwise ``place`` is the place of the value before the
    rule ran. ``is_open`` is whether the rule may have set the value, but the
    places that it set are not kept.
    """

    place: recorded_change.RecordedPlace
    change: phase_record.Record | None = None
    is_set: bool = False
    is_open: bool = False


class RecordedRule:
    """A rule in the record of a phase."""

    def __init__(self, fields: phase_record.Record) -> None:
        self._fields = fields

    def follow(self, place: recorded_change.RecordedPlace) -> Trail:
        """Find the change of this rule that last set a value.

        An action that set the same value that was already there also counts.

        :param place: the place of the value after the rule ran.
        """
        changes = self._fields['changes']
        # Item n is the place of the value before the last n changes, because
        # the changes are looked at from the last one to the first.
        places = [place]
        for change in reversed(changes):
            if recorded_change.sets(change, place):
                return Trail(place, change, is_set=True)
            place = recorded_change.place_before(change, place)
            places.append(place)
        # No change set the value, but an action may have confirmed it.
        for confirmation in reversed(self._fields.get('confirmed', ())):
            # "earlier" is the number of changes before the action. It is
            # missing if no change has moved a value. All places are the same
            # in this case.
            changes_before = confirmation.get('earlier', len(changes))
            changes_after = len(changes) - changes_before
            place_then = places[changes_after]
            if recorded_change.confirms(confirmation, place_then):
                return Trail(place_then, confirmation, is_set=True)
        return Trail(place)

    def described(self, describe: Describe) -> disclosure.Entry:
        """Return the result of ``describe``, or that the rule is withheld.

        Only this method passes the fields to ``describe``, so that no caller
        gets the fields of a withheld rule.
        """
        return describe(self._fields)


class WithheldRule(RecordedRule):
    """A sensitive rule in the record of a phase.

    :param places: the places that it set; None if they are not kept.
    """

    def __init__(
        self, fields: phase_record.Record, places: list[list[str]] | None
    ) -> None:
        super().__init__(fields)
        self._places = places

    def follow(self, place: recorded_change.RecordedPlace) -> Trail:
        if self._places is None:
            # The rule set so many places that they were not kept.
            return Trail(place, is_open=True)
        return Trail(
            place, is_set=recorded_change.is_among(self._places, place)
        )

    def described(self, describe: Describe) -> disclosure.Entry:
        return {
            'rule': {'uuid': self._fields['uuid']},
            disclosure.WITHHELD: True,
        }


def read(
    fields: phase_record.Record, places: Places | None = None
) -> RecordedRule:
    """Read a rule of the record of a phase.

    :param places: the places that the sensitive rules of the phase set.
    """
    if fields.get(disclosure.WITHHELD):
        return WithheldRule(fields, (places or {}).get(fields['uuid'], []))
    return RecordedRule(fields)


def places_of(outcome: runner.PhaseOutcome) -> Places:
    """Return the places that the sensitive rules of a phase set.

    The record of the phase does not show them.

    :returns: the places by the UUID of the rule, e.g.
        ``{UUID: [['node', '/extra/rack']]}``; None for a rule that set more
        places than are kept.
    """
    places: Places = {}
    # Every rule has the full room for itself.
    room_by_rule: dict[str, phase_record.Room] = {}
    for change in outcome.journal.withheld:
        assert change.rule is not None
        uuid = change.rule.uuid
        name = change.object
        if change.port:
            # Use the UUID, because the address of a port may change.
            name = f'port {change.port}'
        place = change.place
        if change.left is not None:
            # The change removed an item of a list, and moved the items behind
            # it. "-" instead of the index stands for any item.
            place = (*place[:-1], data_path.APPEND)
        path = data_path.pointer(place)
        if uuid not in room_by_rule:
            room_by_rule[uuid] = phase_record.Room(
                phase_record.LONGEST_RECORD, phase_record.MOST_CHANGES
            )
            places[uuid] = []
        if not room_by_rule[uuid].take(path):
            # Keep either all places of a rule or none, because a value at a
            # missing place would seem to be set by another rule.
            places[uuid] = None
        places_of_rule = places[uuid]
        # None if there was no room for this place or for an earlier one.
        if places_of_rule is not None:
            places_of_rule.append([name, path])
    return places


def for_readers(
    phases: Mapping[str, phase_record.Record],
    places: Mapping[str, Places],
    open_rules: Container[str],
) -> tuple[dict[str, phase_record.Record], dict[str, Places]]:
    """Return the records of a run as anybody may see them.

    Rules that have become sensitive since the run, or that are unknown now,
    are withheld. Built-in rules, which have no revision, cannot have changed.

    :param phases: the records as they are stored, by phase.
    :param places: the places that sensitive rules set, by phase.
    :param open_rules: the UUIDs of rules that are known and not sensitive.
    :returns: the records, and the places of all withheld rules.
    """
    disclosed: dict[str, phase_record.Record] = {}
    all_places = dict(places)
    for phase, stored_record in phases.items():
        record = dict(stored_record)
        places_of_phase = dict(places.get(phase, {}))
        for kind in phase_record.KINDS:
            shown_rules = []
            for rule in stored_record[kind]:
                if not _is_to_be_withheld(rule, open_rules):
                    shown_rules.append(rule)
                    continue
                withheld = {
                    'uuid': rule['uuid'],
                    phase_record.MATCHED: phase_record.was_matched(kind, rule),
                    disclosure.WITHHELD: True,
                }
                shown_rules.append(withheld)
                # These places still tell that this rule set a value.
                places_of_phase[rule['uuid']] = _places_of_changes(rule)
            record[kind] = shown_rules
        disclosed[phase] = record
        if places_of_phase:
            all_places[phase] = places_of_phase
    return disclosed, all_places


def _is_to_be_withheld(
    rule: phase_record.Record, open_rules: Container[str]
) -> bool:
    """Return whether to withhold a rule that was not withheld when it ran."""
    if rule.get(disclosure.WITHHELD):
        # The rule is already withheld.
        return False
    is_built_in = rule.get('revision') is None
    return not is_built_in and rule['uuid'] not in open_rules


def _places_of_changes(rule: phase_record.Record) -> list[list[str]]:
    """Return the places of all values that a rule has set."""
    changes = [*rule['changes'], *rule.get('confirmed', ())]
    return [_place_of_change(change) for change in changes]


def _place_of_change(change: phase_record.Record) -> list[str]:
    """Return the object of a recorded change, and a path in it.

    For example, ``['node', '/extra/rack']``.
    """
    name: str = change['object']
    if 'port' in change:
        name = f'port {change["port"]}'
    path: str = change['path']
    if 'left' in change:
        # The change removed an item of a list, and moved the items behind it.
        # "-" instead of the index stands for any item.
        path_of_list = data_path.parse(path)[:-1]
        path = data_path.pointer((*path_of_list, data_path.APPEND))
    elif 'at' in change:
        # The change appended an item, and this path has its index.
        path = change['at']
    return [name, path]
