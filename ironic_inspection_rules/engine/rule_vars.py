# SPDX-License-Identifier: Apache-2.0

"""Values that rules computed, each rule's for itself."""

import contextlib
import typing

from ironic_inspection_rules.engine import compiler
from ironic_inspection_rules.engine import model
from ironic_inspection_rules.engine import working_copy


class _Values(typing.NamedTuple):
    """The values of a rule by name, and which of them must not show."""

    values: dict[str, typing.Any]
    hidden: tuple[str, ...]


class RuleVars:
    """The values of the rules of a phase, from when they were decided.

    One that was made of a value of a sensitive rule stays hidden, whatever
    becomes of the place that it was read from.
    """

    def __init__(self, target: working_copy.WorkingCopy) -> None:
        self._target = target
        self._of: dict[compiler.CompiledRule, _Values] = {}

    def take(self, plan: compiler.CompiledRule,
             view: dict[str, typing.Any]) -> None:
        """Take the values of a rule out of the data, for its actions."""
        hidden = self._target.journal.hidden
        values = view.pop(model.VARS, {})
        self._of[plan] = _Values(values, tuple([
            name for name in plan.rule.vars
            if hidden.covers(model.VARS, (name,))]))
        hidden.remove(model.VARS, ())
        # Whatever is written, they stay as they are.
        self._target.release(values)

    @contextlib.contextmanager
    def given(self, plan: compiler.CompiledRule,
              target: working_copy.WorkingCopy) -> typing.Iterator[None]:
        """Let the data have the values of a rule meanwhile."""
        if not plan.vars:
            yield
            return
        view, hidden = target.view(plan.masked), target.journal.hidden
        view[model.VARS] = self._of[plan].values
        for name in self._of[plan].hidden:
            hidden.add(model.VARS, (name,))
        try:
            yield
        finally:
            view.pop(model.VARS, None)
            hidden.remove(model.VARS, ())
