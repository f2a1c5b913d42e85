# SPDX-License-Identifier: Apache-2.0

"""The record of a phase that is kept with a run.

A *run* is one inspection of a node. The record of a phase says what its rules
did, as plain JSON data::

    {'rules': [{'uuid': UUID, 'description': 'Rack', 'revision': 3,
                'conditions': [{'op': 'eq', 'result': True, 'reason': …}],
                'actions': ['set-attribute'],
                'changes': [{'object': 'node', 'op': 'replace',
                             'path': '/extra/rack', 'before': 'r1',
                             'after': 'r2', 'action': 'set-attribute'}]},
               {'uuid': UUID, 'matched': True, 'withheld': True}],
     'reverted': [], 'audit': [], 'saved': True, 'seconds': 0.01}

``rules``
    The rules that matched, in the order in which they ran. ``actions`` are the
    ops of the actions that ran. The content of a sensitive rule is
    ``withheld``, as in the second rule above. Two keys are missing if they
    would be empty:

    ``confirmed``
        In the form of ``changes``, the values that were set to the value that
        already existed. If one of the changes moved the items of a list, they
        have ``earlier``, the number of ``changes`` before them.
    ``when``
        The actions that have conditions or did not run: ``action`` (its op),
        ``ran``, ``conditions`` (``op``, ``reason``, and how often they were
        ``true`` and ``false``) and, if it did not run, the ``reason``.

    A change may also have ``at``, the path with the index of an appended item
    instead of ``-``; ``left``, how many items are left in a list from which an
    item was removed; and ``port``, the UUID of a port, because its address may
    change.
``reverted``
    In the same form, the rules that did not match and undid the changes that
    they made in an earlier run. This happened before the first action of any
    rule.
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
"""Length of all paths and values of a phase after which no change is kept.

In characters of JSON. The last change may exceed it, because the length of its
values is only known later. Confirmed values are counted separately.
"""

MOST_CHANGES = 10_000
"""Maximum number of changes of one phase that are kept."""


def build(outcome: runner.PhaseOutcome, seconds: float) -> Record:
    """Build the record of a phase, whose form this module describes.

    The size of the record is limited. A change for which there is no space is
    left out, and counted in ``left_out``.

    :param outcome: the outcome, with the conditions of rules that matched.
    :param seconds: how long the phase took.
    """
    space = RecordSpace(LONGEST_RECORD, MOST_CHANGES)
    # Confirmed values have their own space, so that they do not displace
    # changes.
    space_for_confirmed = RecordSpace(LONGEST_RECORD, MOST_CHANGES)
    # RuleTrace.described() calls this function for a rule that is not
    # sensitive. For a sensitive rule it returns the UUID, and that the rest is
    # withheld.
    describe = functools.partial(_describe_rule, space, space_for_confirmed)
    # Keep this order, because a rule that is described earlier gets space
    # first.
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
    if space.left_out:
        record['left_out'] = space.left_out
    return record


@dataclasses.dataclass
class RecordSpace:
    """The space that is left for changes in a record.

    ``characters`` is how many characters of paths and values may still be
    recorded. Values are subtracted after they were recorded, so the number may
    become negative, and :meth:`reserve` then refuses the next change.
    ``changes`` is how many changes may still be recorded, and ``left_out`` how
    many changes were refused.
    """

    characters: int
    changes: int
    left_out: int = 0

    def reserve(self, path: str) -> bool:
        """Reserve space for a change, or count the change as left out.

        :param path: the path of the change. The lengths of its values are
            subtracted later, when they are known.
        :returns: whether there was space.
        """
        if self.changes == 0 or len(path) > self.characters:
            self.left_out += 1
            return False
        self.changes -= 1
        self.characters -= len(path)
        return True


def _describe_changes(
    space: RecordSpace,
    space_for_confirmed: RecordSpace,
    rule_trace: trace.RuleTrace,
) -> tuple[list[Record], list[Record]]:
    """Return the changes of a rule, and the values that it confirmed.

    A rule confirms a value if it sets it to the value that already exists.
    Values for which there is no space are left out.

    :param space: the space for changes; reduced here.
    :param space_for_confirmed: the space for confirmed values; reduced here.
    """
    changes: list[Record] = []
    # recorded_of_first[n] is how many of the first n changes of the rule are
    # recorded. If there is no space for the second of three changes, the list
    # becomes [0, 1, 1, 2].
    recorded_of_first = [0]
    for action in rule_trace.actions:
        for change in action.changes:
            if space.reserve(change.path):
                changes.append(_describe_change(change, action.op, space))
            recorded_of_first.append(len(changes))
    # If a change removed an item of a list, it moved the items behind it to
    # other paths. The path of a confirmed value is then only valid together
    # with the number of changes before it.
    has_moved_items = any('left' in change for change in changes)
    confirmed: list[Record] = []
    for action in rule_trace.actions:
        for confirmation in action.confirmed:
            if not space_for_confirmed.reserve(confirmation.path):
                continue
            record = _describe_change(
                confirmation, action.op, space_for_confirmed
            )
            if has_moved_items:
                # The engine counts the changes since the phase began. Subtract
                # those before the first action of this rule.
                made_by_rule = (
                    confirmation.earlier - rule_trace.actions[0].earlier
                )
                record['earlier'] = recorded_of_first[made_by_rule]
            confirmed.append(record)
    return changes, confirmed


def _describe_rule(
    space: RecordSpace,
    space_for_confirmed: RecordSpace,
    rule_trace: trace.RuleTrace,
) -> Record:
    """Build the record of a rule that is not sensitive::

        {'uuid': …, 'description': …, 'revision': 3,
         'conditions': [{'op': 'eq', 'result': True, 'reason': …}],
         'actions': ['set-attribute'],
         'changes': [{'path': '/extra/rack', 'before': …, 'after': …, …}],
         'confirmed': […],  # If a value was set that was there already.
         'when': […],       # If an action has conditions, or did not run.
         'error': …}        # In mode audit only.

    :param space: the space for changes; reduced here.
    :param space_for_confirmed: the space for confirmed values; reduced here.
    """
    rule = rule_trace.rule
    changes, confirmed = _describe_changes(
        space, space_for_confirmed, rule_trace
    )
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
    # An action without conditions that ran is only listed in "actions".
    actions_with_details = [
        _describe_action(action)
        for action in rule_trace.actions
        if action.when or action.idle
    ]
    if actions_with_details:
        record['when'] = actions_with_details
    if rule.mode == model.AUDIT:
        record['error'] = shortening.shorten_text(rule_trace.error)
    return record


def _describe_action(action: trace.ActionTrace) -> Record:
    """Return the record of an action that has conditions or did not run::

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
    change: engine_change.Change, op: str, space: RecordSpace
) -> Record:
    """Build the record of a change, with short values and masked secrets::

        {'object': 'node', 'op': 'replace', 'path': '/extra/rack',
         'before': 'r1', 'after': 'r2', 'action': 'set-attribute'}

    :param op: the op of the action that made the change.
    :param space: reduced by the length of the values.
    """
    path = data_path.parse(change.path)
    before, length_before = shortening.shorten(change.before, path=path)
    after, length_after = shortening.shorten(change.value, path=path)
    space.characters -= length_before + length_after
    recorded = {
        'object': change.object,
        'op': change.op,
        'path': change.path,
        'before': before,
        'after': after,
        'action': op,
    }
    if data_path.APPEND in path:
        # A path such as "/extra/disks/-" does not have the index of the item
        # that was appended. This path has it.
        recorded['at'] = data_path.pointer(change.place)
    # If an item was removed from a list: how many items are left. Leave this
    # out if the index of the item is masked.
    if change.left is not None and data_path.index(path[-1]) is not None:
        recorded['left'] = change.left
    if change.port:
        recorded['port'] = change.port
    return recorded
