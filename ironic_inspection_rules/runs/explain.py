# SPDX-License-Identifier: Apache-2.0

"""Finds the rule that set a value, in the records of runs.

A *run* records what the rules did in one inspection. Its *record* of a phase
lists the rules of the phase, and the changes that each rule made. The content
of a sensitive rule is *withheld*: its changes are not recorded. Only the
*places* that it set are kept beside the record, for this search, and even
these may be missing.
"""

import collections.abc
import dataclasses
import typing

from ironic_inspection_rules.engine.language import model
from ironic_inspection_rules.engine.language.secrecy import disclosure
from ironic_inspection_rules.runs import phase_record
from ironic_inspection_rules.runs import recorded_change
from ironic_inspection_rules.runs import recorded_rule

Place = recorded_change.RecordedPlace

RunRecord = tuple[
    typing.Any,
    collections.abc.Mapping[str, phase_record.Record],
    collections.abc.Mapping[str, recorded_rule.Places],
]
"""A run, as a tuple of three items.

The items are an object by which the caller recognizes the run, the records of
the run by phase, and the places that its withheld rules set, by phase.
"""


@dataclasses.dataclass(frozen=True, slots=True)
class SettingChange:
    """The change that last set a value.

    :param run: the object by which the caller recognizes the run.
    :param phase: the phase of the rule, e.g. ``main``.
    :param rule: the record of the rule in that phase, see
        :mod:`.phase_record`.
    :param change: an item of ``changes`` or ``confirmed`` of that record; None
        for a withheld rule.
    :param place: the place of the value right after the change. It may differ
        from the current place, because an item of a list moves if an earlier
        item is removed.
    """

    run: typing.Any
    phase: str
    rule: phase_record.Record
    change: phase_record.Record | None
    place: Place

    def described(self, describe: recorded_rule.Describe) -> disclosure.Entry:
        """Return an entry about the rule for an answer of the API.

        :param describe: builds the entry from the record of the rule. It is
            not called for a withheld rule, whose entry is
            ``{'rule': {'uuid': UUID}, 'withheld': True}``.
        """
        return recorded_rule.read(self.rule).described(describe)


class Attribution(typing.NamedTuple):
    """The rules that set a value, according to the records of runs.

    :param setting: the change that last set the value; None if no change is
        recorded.
    :param possible_setters: UUIDs of sensitive rules that may have set the
        value, newest first. They ran after the change, or in any run if no
        change is recorded. It is unknown whether they set the value, because
        their changes are not kept.
    """

    setting: SettingChange | None
    possible_setters: tuple[str, ...]


class _RuleInRun(typing.NamedTuple):
    """A rule that ran, with its run, its phase and its record in the phase.

    ``places`` are the places set by the withheld rules of the phase.
    """

    run: typing.Any
    phase: str
    record: phase_record.Record
    places: recorded_rule.Places | None


def find(
    runs: collections.abc.Iterable[RunRecord], place: Place
) -> Attribution:
    """Find the change that last set or removed a value.

    The search goes back in time, from the newest rule to the oldest, until a
    rule has set the value. An action that set the value to what it already was
    also counts.

    :param runs: the runs to search, newest first.
    :param place: the current place of the value.
    """
    # Sensitive rules that may have set the value. The keys of a mapping are
    # unique and keep their order.
    possible_setters: dict[str, None] = {}
    for rule in _newest_first(runs):
        recorded = recorded_rule.read(rule.record, rule.places)
        trail = recorded.follow(place)
        if trail.is_set:
            setting = SettingChange(
                rule.run, rule.phase, rule.record, trail.change, trail.place
            )
            return Attribution(setting, tuple(possible_setters))
        if trail.may_be_set:
            possible_setters[rule.record['uuid']] = None
        # Continue with the place of the value before the rule ran. An item of
        # a list has moved if the rule removed an earlier item.
        place = trail.place
    return Attribution(None, tuple(possible_setters))


def _newest_first(
    runs: collections.abc.Iterable[RunRecord],
) -> collections.abc.Iterator[_RuleInRun]:
    """Yield all rules whose changes were saved, newest first.

    :param runs: the runs to read, newest first.
    """
    for run, phases, places in runs:
        for phase in reversed(model.PHASES):
            record = phases.get(phase)
            if not record or not record['saved']:
                continue
            # In a phase, rules that do not match first undo their changes of
            # earlier runs, and then the rules that match make their changes.
            rules_in_order = [*record['reverted'], *record['rules']]
            for rule in reversed(rules_in_order):
                yield _RuleInRun(run, phase, rule, places.get(phase))
