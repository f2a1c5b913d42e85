# SPDX-License-Identifier: Apache-2.0

"""Which rule set a value: looked up in the records of runs."""

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

    ``run`` is the caller's name of the run. ``rule`` and ``change`` are of
    its record (:mod:`.phase_record`); of a withheld rule there is no change.
    ``place`` is where the value was after the change: an item of a list moves
    if one before it is removed later.
    ``uncertain`` are the UUIDs of rules that ran later and may have set it,
    as that is not kept.
    """

    run: typing.Any
    phase: str
    rule: phase_record.Record
    change: phase_record.Record | None
    place: Place
    uncertain: tuple[str, ...]

    def described(self, describe: recorded_rule.Describe) -> disclosure.Entry:
        """Return what a function builds of the rule, unless it is withheld."""
        return recorded_rule.read(self.rule).described(describe)


def find(
    runs: collections.abc.Iterable[RunRecord], place: Place
) -> SettingChange | tuple[str, ...]:
    """Find the change that last set a value, or removed it.

    An action that set the value that was there already counts as well.

    :param runs: newest first.
    :param place: where the value is now.
    :returns: if there is none, the UUIDs of rules that may have set it.
    """
    # A set that keeps its order: the newest rule first.
    uncertain: dict[str, None] = {}
    for run, phases, places in runs:
        for phase in reversed(model.PHASES):
            record = phases.get(phase)
            if not record or not record['saved']:
                continue
            # In the order of their effects: what a phase undoes, it undoes
            # before its rules act.
            ran = [*record['reverted'], *record['rules']]
            for rule in reversed(ran):
                recorded = recorded_rule.read(rule, places.get(phase))
                trail = recorded.follow(place)
                if trail.is_set:
                    return SettingChange(
                        run,
                        phase,
                        rule,
                        trail.change,
                        trail.place,
                        tuple(uncertain),
                    )
                if trail.is_open:
                    uncertain[rule['uuid']] = None
                # Before the rule, the value may have been elsewhere.
                place = trail.place
    return tuple(uncertain)
