# SPDX-License-Identifier: Apache-2.0

"""Runs the phases of an inspection on plain data, as a dry run.

The data of a machine are given as *facts*: its inventory, plugin data, node
and ports. Each phase changes a working copy of them. The facts after a phase
are the input of the next phase.
"""

import dataclasses
import typing

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.language import budget
from ironic_inspection_rules.engine.language import compiler
from ironic_inspection_rules.engine.language import model
from ironic_inspection_rules.engine.run import change as engine_change
from ironic_inspection_rules.engine.run import runner
from ironic_inspection_rules.engine.run import trace
from ironic_inspection_rules.engine.run import working_copy


@dataclasses.dataclass(frozen=True, slots=True)
class Evaluation:
    """The outcome of a dry run of an inspection.

    :ivar traces: the traces of the rules that match; with an explanation, of
        all rules that were checked.
    :ivar changes: the changes that would be saved.
    :ivar facts: the data of the machine after the rules.
    :ivar error: the error that would fail the inspection, or None.
    :ivar audited: the traces of rules in mode ``audit``, with the changes that
        they would make if they were enforced.
    """

    traces: tuple[trace.RuleTrace, ...]
    changes: tuple[engine_change.Change, ...]
    facts: working_copy.Facts
    error: exceptions.RuleError | None = None
    audited: tuple[trace.RuleTrace, ...] = ()

    @property
    def changed_by(self) -> list[str]:
        """The UUID of the rule that made each of the changes, in order."""
        # Every change was made by an action, and the journal of a phase knows
        # the rule of the action, see Journal.begin_action().
        rules = [
            typing.cast(model.Rule, change.rule) for change in self.changes
        ]
        return [rule.uuid for rule in rules]

    def as_dict(self) -> dict[str, typing.Any]:
        """Return the results of the rules as plain JSON data.

        This is the response to a dry run: ``{'result': 'ok', 'error': None,
        'rules': […], 'changes': […], 'audit': […]}``.
        """
        result = 'ok'
        error = None
        if self.error is not None:
            result = 'failed'
            error = str(self.error)
        return {
            'result': result,
            'error': error,
            'rules': [rule.as_dict() for rule in self.traces],
            'changes': [change.as_dict() for change in self.changes],
            'audit': [rule.as_audit() for rule in self.audited],
        }


Refuse = typing.Callable[
    [working_copy.WorkingCopy], exceptions.RuleError | None
]
"""Returns the error with which saving a phase would fail, or None."""


def _refuse_nothing(_target: working_copy.WorkingCopy) -> None:
    """Accept the changes of every phase."""


def evaluate(
    plans: typing.Mapping[str, typing.Iterable[compiler.CompiledRule]],
    facts: working_copy.Facts,
    phases: typing.Iterable[str] = model.PHASES,
    explain: bool = True,
    limits: typing.Mapping[str, budget.Limits] = budget.BY_PHASE,
    refuse: Refuse = _refuse_nothing,
) -> Evaluation:
    """Run phases one after another, as an inspection would.

    Every phase runs on the data left by the previous phase. After an error, no
    further phase runs. Nothing is saved or logged, and no API is called.

    :param plans: the rules of every phase, in the order in which they run.
    :param facts: the data before the first phase; they are not changed. The
        node may be empty but must not be None.
    :param phases: the names of the phases to run, in order.
    :param explain: also trace rules that do not match, with a reason for
        each condition.
    :param limits: the limits of each phase, by its name.
    :param refuse: called for every phase whose changes would be saved; if it
        returns an error, these changes are dropped and the inspection ends.
    """
    traces: list[trace.RuleTrace] = []
    audited: list[trace.RuleTrace] = []
    changes: list[engine_change.Change] = []
    error = None
    for phase in phases:
        if not plans.get(phase):
            continue
        facts_of_phase = facts
        if phase == model.EARLY:
            # The node is not known yet.
            facts_of_phase = dataclasses.replace(facts, node=None)
        target = working_copy.WorkingCopy(facts_of_phase)
        outcome = runner.run(
            plans[phase], target, facts.scope, explain, limits=limits[phase]
        )
        traces += outcome.traces
        audited += outcome.audited
        error = outcome.error
        if outcome.keeps_changes:
            error_of_saving = refuse(target)
            if error_of_saving is None:
                changes += target.journal.changes
                # The next phase starts with these data.
                facts = facts_after_phase(facts, target, outcome, phase)
            else:
                error = error_of_saving
        # This is done even after an error, because callers must know which
        # values sensitive rules have set, in order not to show them.
        facts = add_withheld_places(facts, target)
        if error is not None:
            break
    return Evaluation(
        traces=tuple(traces),
        changes=tuple(changes),
        facts=facts,
        error=error,
        audited=tuple(audited),
    )


def facts_after_phase(
    facts: working_copy.Facts,
    target: working_copy.WorkingCopy,
    outcome: runner.PhaseOutcome,
    phase: str,
) -> working_copy.Facts:
    """Return the data of a machine after a phase whose changes are kept.

    The record of the rules that matched is added to the plugin data. The early
    phase has no node and no ports, so these stay unchanged.

    :param facts: the data before the phase.
    :param target: the data that the rules of the phase have changed.
    :param outcome: the outcome of the phase, with the traces of its rules.
    :param phase: the name of the phase, e.g. ``main``.
    """
    roots = target.roots
    plugin_data = dict(roots[working_copy.PLUGIN_DATA])
    outcome.record(plugin_data, phase)
    return dataclasses.replace(
        facts,
        plugin_data=plugin_data,
        node=roots.get(working_copy.NODE, facts.node),
        ports=tuple(roots.get(working_copy.PORTS, facts.ports)),
    )


def add_withheld_places(
    facts: working_copy.Facts, target: working_copy.WorkingCopy
) -> working_copy.Facts:
    """Add the places that sensitive rules have set to the data.

    Code that shows the data must omit the values at these places.

    :param target: the data that the rules of a phase have changed, with the
        journal of their changes.
    """
    new_places = target.journal.withheld_places
    if not new_places:
        return facts
    return dataclasses.replace(
        facts, withheld_places=facts.withheld_places | new_places
    )
