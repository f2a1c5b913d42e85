# SPDX-License-Identifier: Apache-2.0

"""A rule in the record of a run.

The content of a sensitive rule is *withheld*: its record has only its UUID,
and whether it matched. The *places* that it set, e.g. ``/extra/rack`` of the
node, are stored beside the record. They are only used to find the rule that
set a value, and are shown to nobody. Code that reads runs uses these classes
for both kinds of rules, so that it cannot show a withheld rule by mistake.
"""

from collections.abc import Container, Mapping
import typing

from ironic_inspection_rules.engine.language import path as data_path
from ironic_inspection_rules.engine.language.secrecy import disclosure
from ironic_inspection_rules.engine.run import change as engine_change
from ironic_inspection_rules.engine.run import runner
from ironic_inspection_rules.runs import phase_record
from ironic_inspection_rules.runs import recorded_change

Places = dict[str, list[list[str]] | None]
"""The places that sensitive rules set: pairs of ``object`` and ``path``, by
the UUID of the rule; None if there are too many to be kept.

``{UUID: [['node', '/extra/rack'], ['port 52:54:00:00:00:01', '/extra']]}``
"""

Describe = typing.Callable[[phase_record.Record], disclosure.Entry]
"""Builds an entry for an answer of the API from the record of a rule."""


class Trail(typing.NamedTuple):
    """What one rule did to a value, when the value is followed back in time.

    There are three cases:

    - ``is_set``: the rule set the value. ``place`` is the place of the value
      right after the ``change`` that set it. The change is None for a withheld
      rule.
    - ``may_be_set``: the rule may have set the value. It is a withheld rule,
      and the places that it set are not kept.
    - Otherwise the rule did not set the value, and ``place`` is the place of
      the value before the rule ran.
    """

    place: recorded_change.RecordedPlace
    change: phase_record.Record | None = None
    is_set: bool = False
    may_be_set: bool = False


class RecordedRule:
    """A rule in the record of a phase.

    :param fields: the record of the rule, see :mod:`.phase_record`.
    """

    def __init__(self, fields: phase_record.Record) -> None:
        self._fields = fields

    def follow(self, place: recorded_change.RecordedPlace) -> Trail:
        """Find the change of this rule that last set a value.

        The changes are searched first. If none of them set the value, an
        action may have *confirmed* it: it set the value to what it already
        was. This also counts.

        :param place: the place of the value after the rule ran.
        """
        # Go back through the changes, from the last one to the first. A change
        # that removed an item of a list moved the items behind it, so the
        # place of the value may be another one before the change.
        changes = self._fields['changes']
        # The place of the value after the first n changes, by n.
        place_after_first = {len(changes): place}
        for index in reversed(range(len(changes))):
            change = changes[index]
            if recorded_change.sets(change, place):
                return Trail(place, change, is_set=True)
            place = recorded_change.place_before(change, place)
            place_after_first[index] = place
        for confirmation in reversed(self._fields.get('confirmed', ())):
            # "earlier" is the number of changes before the action. It is
            # missing if no change has moved an item, because all places are
            # then the same.
            changes_before = confirmation.get('earlier', len(changes))
            place_then = place_after_first[changes_before]
            if recorded_change.confirms(confirmation, place_then):
                return Trail(place_then, confirmation, is_set=True)
        return Trail(place)

    def described(self, describe: Describe) -> disclosure.Entry:
        """Return an entry about this rule for an answer of the API.

        For a withheld rule, it is ``{'rule': {'uuid': UUID}, 'withheld':
        True}``. For any other rule, ``describe`` builds it. ``describe`` is
        called only here, so that it never gets the fields of a withheld rule.
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
        """Return whether this rule set a value, as far as this is known.

        :param place: the place of the value after the rule ran.
        """
        if self._places is None:
            # The rule set so many places that they were not kept.
            return Trail(place, may_be_set=True)
        return Trail(
            place, is_set=recorded_change.is_among(self._places, place)
        )

    def described(self, describe: Describe) -> disclosure.Entry:
        """Return an entry with the UUID of this rule, without its content."""
        return {
            'rule': {'uuid': self._fields['uuid']},
            disclosure.WITHHELD: True,
        }


def read(
    fields: phase_record.Record, places: Places | None = None
) -> RecordedRule:
    """Return a rule of the record of a phase, as one of the two classes.

    :param fields: the record of the rule.
    :param places: the places that the sensitive rules of the phase set. A
        withheld rule that is not among them has set no places.
    """
    if fields.get(disclosure.WITHHELD):
        return WithheldRule(fields, (places or {}).get(fields['uuid'], []))
    return RecordedRule(fields)


def places_of(outcome: runner.PhaseOutcome) -> Places:
    """Return the places that the sensitive rules of a phase set.

    Their number is limited. If a rule set more places, none of its places are
    kept: with only some of them, a value at a missing place would seem to be
    set by another rule.

    :returns: the places by the UUID of the rule, e.g.
        ``{UUID: [['node', '/extra/rack']]}``; None instead of the list for a
        rule that set too many places.
    """
    places: Places = {}
    # How many more places may be kept of every rule.
    space_by_rule: dict[str, phase_record.RecordSpace] = {}
    for change in outcome.journal.withheld:
        assert change.rule is not None
        uuid = change.rule.uuid
        if uuid not in places:
            places[uuid] = []
            space_by_rule[uuid] = phase_record.RecordSpace(
                phase_record.LONGEST_RECORD, phase_record.MOST_CHANGES
            )
        object_name, path = _place_of_engine_change(change)
        # This counts the place, and returns False if there are too many.
        has_space = space_by_rule[uuid].reserve(path)
        if not has_space:
            places[uuid] = None
        places_of_rule = places[uuid]
        # It stays None after there was no space once.
        if places_of_rule is not None:
            places_of_rule.append([object_name, path])
    return places


def _place_of_engine_change(change: engine_change.Change) -> list[str]:
    """Return the object of a change, and the path of its value.

    For example, ``['node', '/extra/rack']``, or ``['port <UUID>', '/extra']``.
    It is the same as :func:`_place_of_recorded_change` of the recorded change.
    """
    object_name = change.object
    if change.port:
        # Name the port by its UUID, because its address may change.
        object_name = f'port {change.port}'
    tokens = change.place
    if change.left is not None:
        # The change removed an item of a list, and moved the items behind it.
        # "-" instead of the index stands for any item.
        tokens = (*tokens[:-1], data_path.APPEND)
    return [object_name, data_path.pointer(tokens)]


def for_readers(
    phases: Mapping[str, phase_record.Record],
    places: Mapping[str, Places],
    open_rules: Container[str],
) -> tuple[dict[str, phase_record.Record], dict[str, Places]]:
    """Return the records of a run in a form that anybody may see.

    A stored record may have the content of a rule that became sensitive only
    after the run. This content is replaced with ``'withheld': True``, and so
    is the content of a rule that no longer exists and may have been sensitive.
    The places of its changes are moved to the places of withheld rules.

    :param phases: the records as they are stored, by phase.
    :param places: the places that sensitive rules set, by phase.
    :param open_rules: the UUIDs of rules that are known and not sensitive.
    :returns: the records, and the places of all withheld rules.
    """
    disclosed: dict[str, phase_record.Record] = {}
    all_places = dict(places)
    for phase, stored_record in phases.items():
        disclosed[phase], added_places = _withhold_rules(
            stored_record, open_rules
        )
        places_of_phase = {**places.get(phase, {}), **added_places}
        if places_of_phase:
            all_places[phase] = places_of_phase
    return disclosed, all_places


def _withhold_rules(
    stored_record: phase_record.Record, open_rules: Container[str]
) -> tuple[phase_record.Record, Places]:
    """Withhold the rules of a phase that must not be shown any more.

    :param stored_record: the record of the phase; not changed.
    :param open_rules: the UUIDs of rules that are known and not sensitive.
    :returns: the record without the content of these rules, and the places
        that they set. With the places, a search for the rule that set a value
        still finds these rules.
    """
    record = dict(stored_record)
    places: Places = {}
    for kind in phase_record.KINDS:
        shown_rules = []
        for rule in stored_record[kind]:
            if not _is_to_be_withheld(rule, open_rules):
                shown_rules.append(rule)
                continue
            rule_without_content = {
                'uuid': rule['uuid'],
                phase_record.MATCHED: phase_record.was_matched(kind, rule),
                disclosure.WITHHELD: True,
            }
            shown_rules.append(rule_without_content)
            places[rule['uuid']] = _places_of_changes(rule)
        record[kind] = shown_rules
    return record, places


def _is_to_be_withheld(
    rule: phase_record.Record, open_rules: Container[str]
) -> bool:
    """Return whether to withhold a rule that was not withheld when it ran.

    :param rule: the record of the rule.
    :param open_rules: the UUIDs of stored rules that are known and not
        sensitive.
    """
    if rule.get(disclosure.WITHHELD):
        # The record already has no content.
        return False
    # Built-in rules have no revision. They cannot become sensitive while the
    # service runs.
    is_built_in = rule.get('revision') is None
    return not is_built_in and rule['uuid'] not in open_rules


def _places_of_changes(rule: phase_record.Record) -> list[list[str]]:
    """Return the places of all values that a rule has set."""
    changes = [*rule['changes'], *rule.get('confirmed', ())]
    return [_place_of_recorded_change(change) for change in changes]


def _place_of_recorded_change(change: phase_record.Record) -> list[str]:
    """Return the object of a recorded change, and the path of its value.

    For example, ``['node', '/extra/rack']``, or ``['port <UUID>', '/extra']``.

    :param change: a change in the record of a rule.
    """
    object_name: str = change['object']
    if 'port' in change:
        # Name the port by its UUID, because its address may change.
        object_name = f'port {change["port"]}'
    path: str = change['path']
    if 'left' in change:
        # The change removed an item of a list, and moved the items behind it.
        # "-" instead of the index stands for any item.
        path_of_list = data_path.parse(path)[:-1]
        path = data_path.pointer((*path_of_list, data_path.APPEND))
    elif 'at' in change:
        # The change appended an item, and this path has its index.
        path = change['at']
    return [object_name, path]
