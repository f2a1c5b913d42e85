# SPDX-License-Identifier: Apache-2.0

"""Finds the rule that set a value in the records of runs."""

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
"""The caller's name of a run, its records by phase, and the places of its
withheld rules by phase."""


@dataclasses.dataclass(frozen=True, slots=True)
class SettingChange:
    """The change that last set a value.

    :param run: the caller's name of the run.
    :param phase: such as ``main``.
    :param rule: the record of the rule in that phase, see
        :mod:`.phase_record`.
    :param change: one of ``changes`` or ``confirmed`` of that record, None
        for a withheld rule.
    :param place: where the value was after the change: an item of a list moves
        if one before it is removed later.
    """

    run: typing.Any
    phase: str
    rule: phase_record.Record
    change: phase_record.Record | None
    place: Place

    def described(self, describe: recorded_rule.Describe) -> disclosure.Entry:
        """Return an entry on the rule, for an answer of the API.

        :param describe: builds the entry of the record of the rule. For a
            withheld rule it is not called: the entry is
            ``{'rule': {'uuid': UUID}, 'withheld': True}``.
        """
        return recorded_rule.read(self.rule).described(describe)


class Attribution(typing.NamedTuple):
    """What the records of runs say of who set a value.

    :param setting: the change that last set the value, None if there is none.
    :param possible_setters: UUIDs of sensitive rules that ran after that
        change, or in any of the runs if there is none, and may have set the
        value as well: what they set is not kept. The newest is first.
    """

    setting: SettingChange | None
    possible_setters: tuple[str, ...]


class _RuleInRun(typing.NamedTuple):
    """A rule that ran: the run, the phase, and its record in that phase.

    ``places`` are those that the withheld rules of the phase set.
    """

    run: typing.Any
    phase: str
    record: phase_record.Record
    places: recorded_rule.Places | None


def find(
    runs: collections.abc.Iterable[RunRecord], place: Place
) -> Attribution:
    """Find the change that last set a value, or removed it.

    The rules of all runs are asked, from the last one back in time. An action
    that set the value that was there already counts as well.

    :param runs: newest first.
    :param place: where the value is now.
    """
    # A mapping, as its keys keep their order and are there once.
    possible_setters: dict[str, None] = {}
    for rule in _newest_first(runs):
        recorded = recorded_rule.read(rule.record, rule.places)
        trail = recorded.follow(place)
        if trail.is_set:
            setting = SettingChange(
                rule.run, rule.phase, rule.record, trail.change, trail.place
            )
            return Attribution(setting, tuple(possible_setters))
        if trail.is_open:
            # What this rule set is not kept, so it may have set the value.
            possible_setters[rule.record['uuid']] = None
        # Where the value was before the rule: an item of a list has moved if
        # the rule removed another one before it.
        place = trail.place
    return Attribution(None, tuple(possible_setters))


def _newest_first(
    runs: collections.abc.Iterable[RunRecord],
) -> collections.abc.Iterator[_RuleInRun]:
    """Yield all rules whose changes were saved, the last that ran first.

    :param runs: newest first.
    """
    for run, phases, places in runs:
        for phase in reversed(model.PHASES):
            record = phases.get(phase)
            if not record or not record['saved']:
                continue
            # A phase first undoes what rules did before, then its rules act.
            in_order_of_effects = [*record['reverted'], *record['rules']]
            for rule in reversed(in_order_of_effects):
                yield _RuleInRun(run, phase, rule, places.get(phase))
