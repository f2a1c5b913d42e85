# SPDX-License-Identifier: Apache-2.0

"""The record of a phase that is kept with a run.

The record is plain JSON data:

``rules``
    The rules that matched, in the order they ran in: ``uuid``,
    ``description``, ``revision``, ``conditions`` (``op``, ``result``,
    ``reason``), ``actions`` (names of ops) and ``changes`` (``object``,
    ``op``, ``path``, ``before``, ``after``, ``action``; ``at``, the path with
    the index of the item, if it has a ``-``; ``left``, how many items are left
    in the list, if an item was removed from one; ``port``, the UUID of the
    port, whose address may change). Of a sensitive rule only the ``uuid``,
    ``matched`` and ``withheld``, which is true. ``confirmed`` is, like
    ``changes``, what was set to the value that was there already; only where
    something was. It has ``earlier``, how many of the ``changes`` were before
    it, if one of them moved the items of a list.
    ``actions`` are those that ran (:class:`.trace.ActionTrace`).
    ``when`` has the actions with conditions, and those that did not run:
    ``action`` (its op), ``ran``, ``conditions`` (``op``, ``reason``, and how
    often they were ``true`` and ``false``) and, if it did not run, the
    ``reason``; only where there are some.
``reverted``
    Likewise the rules that did not match and undid what they did before.
    All of that came before the first action of any rule.
``audit``
    Likewise the rules of mode ``audit`` that matched, with what they would
    have done, and ``error``: what they would have had inspection fail with.
    ``matched`` is false for one that had an error before it was decided, or
    that would have been undone.
``saved``
    Whether the changes were saved.
``seconds``
    How long the phase took.
``left_out``
    How many changes were too many to be kept; only where some were.

How much of it is kept is bounded: machines that nobody knows fill it.
"""

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
"""Characters of JSON that all paths and values of one phase may have
together."""

MOST_CHANGES = 10_000
"""How many changes of one phase are kept."""


def of_phase(outcome: runner.PhaseOutcome, seconds: float) -> Record:
    """Build the record of a phase.

    Changes beyond a limit are left out, see :class:`Room`.

    :param outcome: the outcome, with the conditions of rules that matched.
    :param seconds: how long the phase took.
    """
    room = Room()
    # Apart, so that values that were only confirmed take no room from changes.
    room_to_confirm = Room()
    # described() calls it for rules that are not sensitive. Of a sensitive one
    # it returns the UUID, and that the rest is withheld.
    describe = functools.partial(_describe_rule, room, room_to_confirm)
    # In this order: what is described first gets room first.
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


class Room:
    """The room that is left for changes in the record of a phase.

    ``characters`` are left for paths and values. The values of a change may
    take more than that: then the number is below zero, and :meth:`take`
    refuses the next change. ``left_out`` is how many changes were refused.
    """

    def __init__(self) -> None:
        self.characters = LONGEST_RECORD
        self._changes = MOST_CHANGES
        self.left_out = 0

    def take(self, path: str) -> bool:
        """Take room for a change at a path; return whether there is any."""
        if self._changes and len(path) <= self.characters:
            self._changes -= 1
            self.characters -= len(path)
            return True
        self.left_out += 1
        return False


def _describe_changes(
    room: Room, room_to_confirm: Room, rule_trace: trace.RuleTrace
) -> tuple[list[Record], list[Record]]:
    """Return the records of what a rule has changed, and has confirmed.

    A rule confirms a value when it sets it to what it is already.

    :param room: the room for changes; those beyond it are left out.
    :param room_to_confirm: the room for confirmed values.
    """
    changes: list[Record] = []
    confirmed: list[Record] = []
    # The item n says how many of the first n changes of the rule are recorded,
    # as there may be no room for some. If there is no room for the second of
    # three changes, the list is [0, 1, 1, 2] in the end.
    recorded_of_first = [0]
    # How many of the recorded changes came before each confirmed value.
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
            # began. Their difference counts those of this rule.
            made_by_rule = value.earlier - rule_trace.actions[0].earlier
            changes_before.append(recorded_of_first[made_by_rule])
    # A reader needs these numbers only if a change has removed an item of a
    # list, and so has moved the items behind it to other paths.
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

    :param kind: the list of the record that the rule is in, one of
        :data:`KINDS`.
    """
    if kind == 'audit':
        return bool(rule[MATCHED])
    # Rules that were reverted did not match.
    return kind == 'rules'


def _describe_change(
    change: engine_change.Change, op: str, room: Room
) -> Record:
    """Build the record of a change, with short values and masked secrets.

    :param op: the op of the action that made it.
    :param room: loses what the values take of it.
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
        # From "/extra/disks/-" nobody could tell which item was appended.
        recorded['at'] = data_path.pointer(change.place)
    # How many items are left in a list that one was removed from. A path that
    # is masked has no index.
    if change.left is not None and data_path.index(path[-1]) is not None:
        recorded['left'] = change.left
    if change.port:
        recorded['port'] = change.port
    return recorded
