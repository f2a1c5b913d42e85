# SPDX-License-Identifier: Apache-2.0

"""The record of a phase that is kept with a run.

The record is plain JSON data:

``rules``
    The rules that matched, in the order in which they ran: ``uuid``,
    ``description``, ``revision``, ``conditions`` (``op``, ``result``,
    ``reason``), ``actions`` (names of ops) and ``changes`` (``object``,
    ``op``, ``path``, ``before``, ``after``, ``action``; ``at``, the path with
    the index of the item, if it has a ``-``; ``left``, how many items are left
    in the list, if an item was removed from one; ``port``, the UUID of the
    port, whose address may change). A sensitive rule has only its ``uuid``,
    ``matched`` and ``withheld``, which is true. ``confirmed`` has, in the form
    of ``changes``, the values that were set to the value that already existed;
    it is missing if there are none. They have ``earlier``, the number of
    ``changes`` before them, if one of the changes moved the items of a list.
    ``actions`` are the actions that ran (:class:`.trace.ActionTrace`).
    ``when`` has the actions with conditions, and the actions that did not run:
    ``action`` (its op), ``ran``, ``conditions`` (``op``, ``reason``, and how
    often they were ``true`` and ``false``) and, if it did not run, the
    ``reason``; it is missing if there are no such actions.
``reverted``
    In the same form, the rules that did not match and undid their earlier
    changes. This happened before the first action of any rule.
``audit``
    In the same form, the rules of mode ``audit`` that matched, with the
    changes that they would have made, and ``error``, the error with which they
    would have failed the inspection. ``matched`` is false for a rule that had
    an error before it was decided, or that would have been undone.
``saved``
    Whether the changes were saved.
``seconds``
    How long the phase took.
``left_out``
    How many changes were left out because there were too many; missing if
    there were none.

The size of the record is limited, because its contents come from unknown
machines.
"""

import dataclasses
import functools
import typing

from ironic_inspection_rules.engine.language import model
from ironic_inspection_rules.engine.language import path as data_path
from ironic_inspection_rules.engine.run import change as engine_change
from ironic_inspection_rules.engine.run import runner
from ironic_inspection_rules.engine.run import trace
from ironic_inspection_rules.runs import shortening

Record = dict[str, typing.Any]

MATCHED = 'matched'

KINDS = ('rules', 'reverted', 'audit')
"""The lists of rules in a record."""

LONGEST_RECORD = 1 << 20
"""Maximum length of all paths and values of one phase together, as JSON."""

MOST_CHANGES = 10_000
"""Maximum number of changes of one phase that are kept."""


def of_phase(outcome: runner.PhaseOutcome, seconds: float) -> Record:
    """Build the record of a phase.

    Changes beyond a limit are left out, see :class:`Room`.

    :param outcome: the outcome, with the conditions of rules that matched.
    :param seconds: how long the phase took.
    """
    room = Room(LONGEST_RECORD, MOST_CHANGES)
    # Confirmed values have their own room, so that they do not displace
    # changes.
    room_to_confirm = Room(LONGEST_RECORD, MOST_CHANGES)
    # described() calls this for rules that are not sensitive. For a sensitive
    # rule it returns the UUID, and that the rest is withheld.
    describe = functools.partial(_describe_rule, room, room_to_confirm)
    # Keep this order: the rules that are described first get room first.
    rules = [
        rule.described(describe) for rule in outcome.traces if rule.matched
    ]
    reverted = [
        rule.described(describe) for rule in outcome.traces if rule.reverted
    ]
    audit = [
        {**rule.described(describe), MATCHED: rule.matched}
        for rule in outcome.audited
    ]
    record: Record = {
        'rules': rules,
        'reverted': reverted,
        'audit': audit,
        'saved': outcome.keeps_changes,
        'seconds': round(seconds, 6),
    }
    if room.left_out:
        record['left_out'] = room.left_out
    return record


@dataclasses.dataclass
class Room:
    """The room that is left for changes in the record of a phase.

    ``characters`` is the number of characters left for paths and values. The
    values of a change may take more than that: then the number is negative,
    and :meth:`take` refuses the next change. ``changes`` is the number of
    changes that may still be recorded, and ``left_out`` the number of refused
    changes.
    """

    characters: int
    changes: int
    left_out: int = 0

    def take(self, path: str) -> bool:
        """Take room for a change at a path; return whether there was any."""
        if self.changes == 0 or len(path) > self.characters:
            self.left_out += 1
            return False
        self.changes -= 1
        self.characters -= len(path)
        return True


def _describe_changes(
    room: Room, room_to_confirm: Room, rule_trace: trace.RuleTrace
) -> tuple[list[Record], list[Record]]:
    """Return the records of the values that a rule has changed and confirmed.

    A rule confirms a value if it sets it to the value that already exists.

    :param room: the room for changes; changes beyond it are left out.
    :param room_to_confirm: the room for confirmed values.
    """
    changes: list[Record] = []
    confirmed: list[Record] = []
    # Item n is the number of recorded changes among the first n changes of the
    # rule, because there may be no room for some. If there is no room for the
    # second of three changes, the list becomes [0, 1, 1, 2].
    recorded_of_first = [0]
    # The number of recorded changes before every confirmed value.
    changes_before = []
    for action in rule_trace.actions:
        for change in action.changes:
            if room.take(change.path):
                changes.append(_describe_change(change, action.op, room))
            recorded_of_first.append(len(changes))
        for value in action.confirmed:
            if not room_to_confirm.take(value.path):
                continue
            confirmed.append(
                _describe_change(value, action.op, room_to_confirm)
            )
            # Both numbers count the changes of all rules since the phase
            # began. Their difference is the number of changes of this rule.
            made_by_rule = value.earlier - rule_trace.actions[0].earlier
            changes_before.append(recorded_of_first[made_by_rule])
    # These numbers are needed only if a change has removed an item of a list,
    # because this moves the items behind it to other paths.
    if any('left' in change for change in changes):
        for confirmation, count in zip(confirmed, changes_before, strict=True):
            confirmation['earlier'] = count
    return changes, confirmed


def _describe_rule(
    room: Room, room_to_confirm: Room, rule_trace: trace.RuleTrace
) -> Record:
    """Build the record of a rule that is not sensitive::

        {'uuid': …, 'description': …, 'revision': 3,
         'conditions': [{'op': 'eq', 'result': True, 'reason': …}],
         'actions': ['set-attribute'],
         'changes': [{'path': '/extra/rack', 'before': …, 'after': …, …}],
         'confirmed': […],  # If a value was set that was there already.
         'when': […],       # If an action has conditions, or did not run.
         'error': …}        # In mode audit only.

    :param room: the room that is left for changes; it counts changes that do
        not fit.
    :param room_to_confirm: the room that is left for ``confirmed``.
    """
    rule = rule_trace.rule
    changes, confirmed = _describe_changes(room, room_to_confirm, rule_trace)
    conditions = [
        {'op': op, 'result': result, 'reason': shortening.shorten_text(reason)}
        for op, result, reason in rule_trace.conditions
    ]
    record: Record = {
        'uuid': rule.uuid,
        'description': rule.description,
        'revision': rule.revision,
        'conditions': conditions,
        'actions': [action.op for action in rule_trace.actions if action.ran],
        'changes': changes,
    }
    if confirmed:
        record['confirmed'] = confirmed
    conditional = [
        _describe_action(action)
        for action in rule_trace.actions
        if action.when or action.idle
    ]
    if conditional:
        record['when'] = conditional
    if rule.mode == model.AUDIT:
        record['error'] = shortening.shorten_text(rule_trace.error)
    return record


def _describe_action(action: trace.ActionTrace) -> Record:
    """Return the record of an action with conditions, or that did not run::

    {'action': 'set-attribute', 'ran': False,
     'conditions': [{'op': 'eq', 'reason': …, 'true': 0, 'false': 1}],
     'reason': …}  # If it did not run.
    """
    conditions = []
    for condition in action.when:
        reason = shortening.shorten_text(condition.reason)
        conditions.append({**condition._asdict(), 'reason': reason})
    record: Record = {
        'action': action.op,
        'ran': action.ran,
        'conditions': conditions,
    }
    if action.idle:
        record['reason'] = shortening.shorten_text(action.idle.reason)
    return record


def was_matched(kind: str, rule: Record) -> bool:
    """Return whether a rule matched.

    :param kind: the list of the record that contains the rule, one of
        :data:`KINDS`.
    """
    if kind == 'audit':
        return bool(rule[MATCHED])
    # Reverted rules did not match.
    return kind == 'rules'


def _describe_change(
    change: engine_change.Change, op: str, room: Room
) -> Record:
    """Build the record of a change, with short values and masked secrets.

    :param op: the op of the action that made the change.
    :param room: reduced by the length of the values.
    """
    path = data_path.parse(change.path)
    before, length_before = shortening.shorten(change.before, path=path)
    after, length_after = shortening.shorten(change.value, path=path)
    room.characters -= length_before + length_after
    recorded = {
        'object': change.object,
        'op': change.op,
        'path': change.path,
        'before': before,
        'after': after,
        'action': op,
    }
    if data_path.APPEND in path:
        # A path such as "/extra/disks/-" does not tell which item was
        # appended.
        recorded['at'] = data_path.pointer(change.place)
    # The number of items left in a list from which an item was removed. A
    # masked path has no index.
    if change.left is not None and data_path.index(path[-1]) is not None:
        recorded['left'] = change.left
    if change.port:
        recorded['port'] = change.port
    return recorded
