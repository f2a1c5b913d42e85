# SPDX-License-Identifier: Apache-2.0

"""The kept record of the rules of one phase.

The record is plain JSON data:

``rules``
    The rules that matched, in the order they ran in: ``uuid``,
    ``description``, ``revision``, ``conditions`` (``op``, ``result``,
    ``reason``), ``actions`` (names of ops) and ``changes`` (``object``,
    ``op``, ``path``, ``before``, ``after``, ``action``). Of a sensitive rule
    only the ``uuid``, and ``places``: pairs of ``object`` and ``path`` that it
    set, which nobody is shown. ``confirmed`` is, like ``changes``, what was
    set to the value that was there already; only where something was.
    ``when`` tells of actions with conditions: ``action`` (its op), ``ran``
    and ``conditions`` (``op``, ``reason``, and how often they were ``true``
    and ``false``); only where there are some.
``reverted``
    Likewise the rules that did not match and undid what they did before.
    All of that came before the first action of any rule.
``audit``
    Likewise the rules of mode ``audit`` that matched, with what they would
    have done, and ``error``: what they would have had inspection fail with.
``saved``
    Whether the changes were saved.
``seconds``
    How long the phase took.
``left_out``
    How many changes were too many to be kept; only where some were.
"""

import typing

from ironic_inspection_rules.engine import journal
from ironic_inspection_rules.engine import masking
from ironic_inspection_rules.engine import model
from ironic_inspection_rules.engine import path as data_path
from ironic_inspection_rules.engine import runner
from ironic_inspection_rules.engine import trace
from ironic_inspection_rules.runs import limits

Record = dict[str, typing.Any]

EARLY_KEY = 'inspection_run'
"""Where plugin data carry the record of the early phase to the conductor."""

EARLY_HIDDEN = 'hidden'
"""Where, beside that, they carry what sensitive rules have written to."""

EARLY_FOUND = 'found'
"""Where, in it, they carry what makes them what the early phase found:
names to ``set`` and to ``unset``, and the ``revision`` of its rules."""

PLACES = 'places'


def shown(phases: dict[str, Record]) -> dict[str, Record]:
    """Return the records of phases as who may read a run is shown them."""
    return {phase: {key: [
        {name: part for name, part in rule.items() if name != PLACES}
        for rule in value] if isinstance(value, list) else value
        for key, value in record.items()}
        for phase, record in phases.items()}


def of_phase(outcome: runner.Outcome, seconds: float,
             saved: bool = True) -> Record:
    """Make the record of a phase.

    :param outcome: with the conditions of the rules that matched.
    :param seconds: how long it took.
    :param saved: whether changes that are to be kept were.
    """
    room = _Rooms(_Room(), _Room())
    record: Record = {
        'rules': [_rule(each, room) for each in outcome.traces
                  if each.matched],
        'reverted': [_rule(each, room) for each in outcome.traces
                     if not each.matched and each.actions],
        'audit': [_rule(each, room) for each in outcome.audited],
        'saved': saved and outcome.keeps_changes,
        'seconds': round(seconds, 6),
    }
    if room.changes.left_out:
        record['left_out'] = room.changes.left_out
    return record


class _Room:
    """The room that is left for the record of a phase."""

    def __init__(self) -> None:
        self._characters = limits.LONGEST_RECORD
        self._changes = limits.MOST_CHANGES
        self.left_out = 0

    def take(self) -> bool:
        """Ask for the room of one more change."""
        if self._changes and self._characters > 0:
            self._changes -= 1
            return True
        self.left_out += 1
        return False

    def fit(self, path: data_path.Path, value: typing.Any) -> typing.Any:
        """Cut a value at a path to what is left, and mask its secrets."""
        if value is None:
            return None
        shortened, length = limits.shorten(
            value, mask=lambda part: masking.mask_along(path, part)[1])
        self._characters -= length
        return shortened


class _Rooms(typing.NamedTuple):
    """The room of changes, and that of what was set as it was before."""

    changes: _Room
    confirmed: _Room


def _rule(each: trace.RuleTrace, room: _Rooms) -> Record:
    rule = each.rule
    if rule.sensitive and rule.mode == model.AUDIT:
        return {'uuid': rule.uuid}
    if rule.sensitive:
        return {'uuid': rule.uuid, PLACES: [
            [change.object, _place(change)] for action in each.actions
            for change in (*action.changes, *action.confirmed)
            if room.changes.take()]}
    record: Record = {
        'uuid': rule.uuid,
        'description': rule.description,
        'revision': rule.revision,
        'conditions': [{'op': op, 'result': result,
                        'reason': limits.shorten_text(reason)}
                       for op, result, reason in each.conditions],
        'actions': [action.op for action in each.actions if action.ran],
        'changes': [_change(change, action.op, room.changes)
                    for action in each.actions for change in action.changes
                    if room.changes.take()],
    }
    confirmed = [_change(change, action.op, room.confirmed)
                 for action in each.actions for change in action.confirmed
                 if room.confirmed.take()]
    if confirmed:
        record['confirmed'] = confirmed
    asked = [{'action': action.op, 'ran': action.ran, 'conditions': [
        {**each._asdict(), 'reason': limits.shorten_text(each.reason)}
        for each in action.when]} for action in each.actions if action.when]
    if asked:
        record['when'] = asked
    if rule.mode == model.AUDIT:
        record['error'] = limits.shorten_text(each.error)
    return record


def _place(change: journal.Change) -> str:
    """Return where a sensitive rule set something; no name of a trait."""
    return change.path if change.object == journal.TRAITS else (
        data_path.pointer(change.place))


def _change(change: journal.Change, op: str, room: _Room) -> Record:
    # Of a value that is not there, nothing has to be hidden.
    before, after = change.before, change.value
    path = data_path.parse(change.path)
    if change.op != 'add':
        before = room.fit(path, before)
    if change.op != 'remove':
        after = room.fit(path, after)
    return {'object': change.object, 'op': change.op, 'path': change.path,
            'before': before, 'after': after, 'action': op}
