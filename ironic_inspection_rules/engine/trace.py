# SPDX-License-Identifier: Apache-2.0

"""Traces: what rules, conditions and actions did."""

import typing

from ironic_inspection_rules.engine import change as engine_change
from ironic_inspection_rules.engine import model

KEY = 'inspection_rules'  # Key of plugin data with what rules did, by phase.
_LONGEST = 200
_SHORT = 20


def show(value: typing.Any) -> str:
    """Return the text of a value, cut to a readable length."""
    if value.__class__ is str:
        if len(value) <= _SHORT:
            return repr(value)
        return shorten(repr(value[:_LONGEST + 1]))
    if value.__class__ not in (list, dict):
        return shorten(repr(value))
    text = ''
    for piece in _write(value):
        text += piece
        if len(text) > _LONGEST:
            break
    return shorten(text)


def _write(value: typing.Any) -> typing.Iterator[str]:
    """Yield the text of a value piece by piece: it may be large."""
    is_list = value.__class__ is list
    if not is_list and value.__class__ is not dict:
        yield show(value)
        return
    yield '[' if is_list else '{'
    for index, each in enumerate(value):
        yield ', ' if index else ''
        if not is_list:
            yield f'{show(each)}: '
        yield from _write(each if is_list else value[each])
    yield ']' if is_list else '}'


def shorten(text: str) -> str:
    """Cut text to a readable length."""
    return text if len(text) <= _LONGEST else f'{text[:_LONGEST]}…'


class ConditionTrace(typing.NamedTuple):
    """The trace of one condition.

    ``result`` is None after an error. ``reason`` is one phrase, None where
    no reasons are given.
    """

    op: str
    result: bool | None
    reason: str | None = None


class AskedTrace(typing.NamedTuple):
    """The trace of a condition of an action, over the items of its loop.

    ``true`` and ``false`` count the results. ``reason`` is that of the first
    item with a false result, else of the first item.
    """

    op: str
    true: int = 0
    false: int = 0
    reason: str | None = None


EMPTY_LOOP, WHEN, ERROR = 'empty_loop', 'when', 'error'
"""Why an action did not run: its loop has no items, its conditions hold for
none, or it ended in an error, for whatever item."""


class Idle(typing.NamedTuple):
    """Why an action did not run.

    ``cause`` is one of the above. ``reason`` is one phrase.
    """

    cause: str
    reason: str | None


class ActionTrace(typing.NamedTuple):
    """The trace of one action.

    ``notes`` are the lines it logged and the requests it sent.
    ``reverted``: it was undone instead. ``confirmed`` are the
    values it set that were already there. ``when`` are the traces of its
    conditions. ``idle`` says why it did not run, None if it did: for at least
    one item, and without an error. ``fail`` runs if it fails the inspection.
    ``earlier`` is the number of changes of the phase before it.
    """

    op: str
    changes: tuple[engine_change.Change, ...] = ()
    notes: tuple[str, ...] = ()
    reverted: bool = False
    confirmed: tuple[engine_change.Change, ...] = ()
    when: tuple[AskedTrace, ...] = ()
    idle: Idle | None = None
    earlier: int = 0

    @property
    def ran(self) -> bool:
        """Whether the action ran, or was undone."""
        return self.idle is None

    def as_dict(self) -> dict[str, typing.Any]:
        shown: dict[str, typing.Any] = {
            'op': self.op,
            'changes': [each.as_dict() for each in self.changes],
            'notes': list(self.notes),
            'reverted': self.reverted,
        }
        if self.when or self.idle:
            shown['ran'] = self.ran
        if self.idle:
            shown['reason'] = self.idle.reason
        if self.when:
            shown['when'] = [each._asdict() for each in self.when]
        return shown


class RuleTrace(typing.NamedTuple):
    """The trace of one rule.

    For a rule in mode ``audit`` it says what the rule would have done, and
    ``error`` what the inspection would have failed with. ``reverted``: it did
    not match, and undid what it did before.
    """

    rule: model.Rule
    matched: bool
    conditions: tuple[ConditionTrace, ...] = ()
    actions: tuple[ActionTrace, ...] = ()
    error: str | None = None
    reverted: bool = False

    def as_dict(self) -> dict[str, typing.Any]:
        """Return the full explanation as plain JSON data."""
        return {
            'uuid': self.rule.uuid,
            'description': self.rule.description,
            'phase': self.rule.phase,
            'mode': self.rule.mode,
            'matched': self.matched,
            'conditions': [each._asdict() for each in self.conditions],
            'actions': [each.as_dict() for each in self.actions],
            **({'error': self.error} if self.rule.mode == model.AUDIT else {}),
        }

    def as_audit(self) -> dict[str, typing.Any]:
        """Return what the rule would do, as plain JSON data."""
        return {'uuid': self.rule.uuid, 'matched': self.matched,
                'description': self.rule.description,
                'error': self.error,
                'changes': [change.as_dict() for action in self.actions
                            for change in action.changes]}

    def described(self, describe: 'Describe') -> dict[str, typing.Any]:
        """Return what a function makes of the trace, if it may be told."""
        return describe(self)

    def summary(self) -> dict[str, typing.Any]:
        """Return what is stored with a machine's inventory."""
        return {'uuid': self.rule.uuid,
                'description': self.rule.description,
                'actions': [each.op for each in self.actions
                            if each.ran and not each.reverted]}


Describe = typing.Callable[[RuleTrace], dict[str, typing.Any]]
