# SPDX-License-Identifier: Apache-2.0

"""The trace of a rule: whether it matched, why, and what its actions did.

A trace has the results of the conditions and a trace of each action, with the
changes that the action made. All records, logs, answers and reports are built
from traces. A trace is *disclosed* first, which removes the parts that readers
must not see.
"""

import typing

from ironic_inspection_rules.engine.language import model
from ironic_inspection_rules.engine.language import reasons
from ironic_inspection_rules.engine.language.secrecy import disclosure
from ironic_inspection_rules.engine.run import change as engine_change

Described = dict[str, typing.Any]
"""The trace of a rule or of an action as plain JSON data."""

KEY = model.TRACE_KEY
"""The name in plugin data under which rules leave their trace."""


class WhenTrace(typing.NamedTuple):
    """The trace of a ``when`` condition of an action, over all its items.

    :ivar true: the number of loop items for which the condition holds. Without
        a loop there is one item.
    :ivar false: the number of items for which it does not hold.
    :ivar reason: why it does not hold for the first such item; if it holds for
        all items, why it holds for the first.
    """

    op: str
    true: int = 0
    false: int = 0
    reason: str | None = None


class ActionTrace(typing.NamedTuple):
    """The trace of one action.

    :ivar notes: the lines that it logged, and the requests that it sent.
    :ivar reverted: whether it was undone instead of run.
    :ivar confirmed: the values that it set but that were there already.
    :ivar when: the traces of its ``when`` conditions.
    :ivar idle: why it did not run; None if it ran for at least one item
        without an error. ``fail`` counts as run if it fails the inspection.
    :ivar earlier: the number of changes that the phase had made before it.
    """

    op: str
    changes: tuple[engine_change.Change, ...] = ()
    notes: tuple[str, ...] = ()
    reverted: bool = False
    confirmed: tuple[engine_change.Change, ...] = ()
    when: tuple[WhenTrace, ...] = ()
    idle: reasons.NotRun | None = None
    earlier: int = 0

    @property
    def ran(self) -> bool:
        """Whether the action ran, or was undone."""
        return self.idle is None

    def as_dict(self) -> Described:
        """Return the trace as plain JSON data.

        For example, ``{'op': 'log', 'changes': [], 'notes': ['info: x'],
        'reverted': False}``.

        ``ran`` is only included if the action has ``when`` conditions or did
        not run, and ``reason`` only if it did not run.
        """
        data: Described = {
            'op': self.op,
            'changes': [change.as_dict() for change in self.changes],
            'notes': list(self.notes),
            'reverted': self.reverted,
        }
        if self.when or self.idle is not None:
            data['ran'] = self.ran
        if self.idle is not None:
            data['reason'] = self.idle.reason
        if self.when:
            data['when'] = [condition._asdict() for condition in self.when]
        return data


class RuleTrace(typing.NamedTuple):
    """The trace of one rule.

    For a rule in mode ``audit``, it says what the rule would have done.

    :ivar conditions: the results of its conditions, with reasons.
    :ivar error: the error with which a rule in mode ``audit`` would have
        failed the inspection.
    :ivar reverted: whether the rule did not match, and has undone what it did
        in an earlier inspection.
    """

    rule: model.Rule
    matched: bool
    conditions: tuple[reasons.ConditionResult, ...] = ()
    actions: tuple[ActionTrace, ...] = ()
    error: str | None = None
    reverted: bool = False

    def disclosed(
        self, why: tuple[reasons.ConditionResult, ...] | None
    ) -> 'RuleTrace':
        """Return the trace in a form that everybody may see.

        Records, logs, answers and reports are only built from this trace. For
        a sensitive rule, it has no conditions and no actions.

        :param why: the results of its conditions; None to keep the conditions
            of the trace.
        """
        if not disclosure.gives_reasons(self.rule):
            return RuleTrace(
                disclosure.disclose_rule(self.rule),
                self.matched,
                error=self.error,
                reverted=self.reverted,
            )
        if why is not None:
            return self._replace(conditions=why)
        return self

    def as_dict(self) -> Described:
        """Return the full explanation as plain JSON data."""
        return self.described(RuleTrace._explain)

    def as_audit(self) -> Described:
        """Return what the rule would do, as plain JSON data."""
        return self.described(RuleTrace._describe_audit)

    def described(self, describe: 'Describe') -> Described:
        """Return a description of the trace that all readers may see.

        The description of a sensitive rule is only ``{'uuid': …, 'matched': …,
        'withheld': True}``.

        :param describe: builds the description of any other trace.
        """

        def describe_trace(_rule: model.Rule) -> Described:
            return describe(self)

        return disclosure.disclose_entry(
            self.rule, describe_trace, matched=self.matched
        )

    def summary(self) -> Described:
        """Return the summary that is stored with a machine's inventory.

        For a sensitive rule, it is only ``{'uuid': …, 'withheld': True}``.
        """
        return disclosure.disclose_entry(self.rule, self._summarize)

    def _summarize(self, rule: model.Rule) -> Described:
        """Return the UUID and description of the rule, and the ops it ran.

        Actions that were undone or did not run are skipped.
        """
        ops = []
        for action in self.actions:
            if action.ran and not action.reverted:
                ops.append(action.op)
        return {
            'uuid': rule.uuid,
            'description': rule.description,
            'actions': ops,
        }

    def _explain(self) -> Described:
        """Return what the rule decided and did.

        ``error`` is only included for a rule in mode ``audit``, because the
        error of any other rule is the error of the inspection.
        """
        explanation = {
            'uuid': self.rule.uuid,
            'description': self.rule.description,
            'phase': self.rule.phase,
            'mode': self.rule.mode,
            'matched': self.matched,
            'conditions': [decision._asdict() for decision in self.conditions],
            'actions': [action.as_dict() for action in self.actions],
        }
        if self.rule.mode == model.AUDIT:
            explanation['error'] = self.error
        return explanation

    def _describe_audit(self) -> Described:
        """Return what a rule in mode ``audit`` would change if enforced."""
        changes = []
        for action in self.actions:
            changes += [change.as_dict() for change in action.changes]
        return {
            'uuid': self.rule.uuid,
            'matched': self.matched,
            'description': self.rule.description,
            'error': self.error,
            'changes': changes,
        }


Describe = typing.Callable[[RuleTrace], Described]
"""Builds the description of a rule that is not sensitive from its trace."""
