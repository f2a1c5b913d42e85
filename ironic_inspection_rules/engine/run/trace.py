# SPDX-License-Identifier: Apache-2.0

"""The trace of a rule: what it did, as plain data."""

import typing

from ironic_inspection_rules.engine.language import model
from ironic_inspection_rules.engine.language import reasons
from ironic_inspection_rules.engine.language.secrecy import disclosure
from ironic_inspection_rules.engine.run import change as engine_change

Described = dict[str, typing.Any]

KEY = model.TRACE_KEY


class WhenTrace(typing.NamedTuple):
    """The trace of a condition of an action, over the items of its loop.

    ``true`` and ``false`` count the results. ``reason`` is that of the first
    item with a false result, else of the first item.
    """

    op: str
    true: int = 0
    false: int = 0
    reason: str | None = None


class ActionTrace(typing.NamedTuple):
    """The trace of one action.

    ``notes`` are the lines it logged and the requests it sent. ``reverted``:
    it was undone instead. ``confirmed`` are the values it set that were
    already there. ``when`` are the traces of its conditions. ``idle`` says
    why it did not run, None if it did: for at least one item, and without an
    error. ``fail`` runs if it fails the inspection. ``earlier`` is the number
    of changes that the phase made before it.
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
        """Return plain JSON data."""
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

    For a rule in mode ``audit`` it says what the rule would have done, and
    ``error`` what the inspection would have failed with. ``reverted``: it did
    not match, and undid what it did before.
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
        """Return the trace as everybody may see it.

        Records, logs, answers and reports are made of this trace only.

        :param why: the results of its conditions, if they are known.
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
        return self.described(RuleTrace._explanation)

    def as_audit(self) -> Described:
        """Return what the rule would do, as plain JSON data."""
        return self.described(RuleTrace._audit)

    def described(self, describe: 'Describe') -> Described:
        """Return a description of the trace, if it may be shown.

        :param describe: makes the description.
        """

        def describe_trace(_rule: model.Rule) -> Described:
            return describe(self)

        return disclosure.disclose_entry(
            self.rule, describe_trace, matched=self.matched
        )

    def summary(self) -> Described:
        """Return what is stored with a machine's inventory."""
        return disclosure.disclose_entry(self.rule, self._summarize)

    def _summarize(self, rule: model.Rule) -> Described:
        """Return the rule and the ops of its actions, but of undone ones.

        It is stored in the plugin data of the machine.
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

    def _explanation(self) -> Described:
        """Return what the rule decided and did, of a rule that is shown."""
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

    def _audit(self) -> Described:
        """Return what a rule in mode audit would change."""
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
