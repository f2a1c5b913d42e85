# SPDX-License-Identifier: Apache-2.0

"""Replays kept inspections with their own rules or with other rules.

The history keeps the data, the *facts*, that every phase of an inspection had,
and what its rules did. First the inspection is repeated with the rules of its
time. If it does not end as before, other rules cannot be compared with it.
Otherwise other rules run on the same facts, and their changes in a phase are
added to the facts of the next phase. ``then`` stands for a phase with the
rules of its time, and ``now`` for the same phase with the other rules.

Nothing is guessed. How hooks would have reacted to other changes, and how an
inspection would have continued after an error, is unknown.
"""

from collections.abc import Callable, Mapping, Sequence
import dataclasses
import json
import typing

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.language import budget
from ironic_inspection_rules.engine.language import compiler
from ironic_inspection_rules.engine.language import model
from ironic_inspection_rules.engine.language import path as data_path
from ironic_inspection_rules.engine.language.secrecy import disclosure
from ironic_inspection_rules.engine.run import difference
from ironic_inspection_rules.engine.run import evaluation
from ironic_inspection_rules.engine.run import runner
from ironic_inspection_rules.engine.run import views
from ironic_inspection_rules.engine.run import working_copy
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.runs import document_patch
from ironic_inspection_rules.runs import history
from ironic_inspection_rules.runs import phase_record

SAME, DIFFERENT, INCOMPARABLE = 'same', 'different', 'incomparable'

UNKNOWN = 'unknown'
"""The result of an inspection that failed then, and may not fail now."""

Plans = Mapping[str, Sequence[compiler.CompiledRule]]
"""The compiled rules to run, by phase."""

Data = dict[str, typing.Any]


class Incomparable(Exception):
    """A result depends on something unknown; the message says on what."""


class PhaseEnd(typing.NamedTuple):
    """The outcome of a phase, and the facts of the machine after it."""

    outcome: runner.PhaseOutcome
    facts: working_copy.Facts


Ends = dict[str, PhaseEnd]
"""The ends of phases, by phase, in their order."""


class KeptInspection:
    """An inspection that the history keeps, to be run again.

    :param document: the kept data of the inspection, see :mod:`.history`.
    :param find_previous: returns the data that the previous inspection stored;
        None if they are unknown. It is called only if a rule reads these data,
        and the document does not have them.
    :raises: Incomparable if something that the inspection depends on was not
        kept.
    """

    def __init__(
        self,
        document: history.Document,
        find_previous: Callable[[], Data | None],
    ) -> None:
        self._document = document
        self._find_previous = find_previous
        # The data that the previous inspection stored. The document has them
        # if a rule read them in this inspection; None if there were none.
        self._previous: Data | None = document.get('previous')
        self._is_previous_known = 'previous' in document
        if not document.get('options'):
            raise Incomparable(_('what its rules went by is not kept'))
        # For a phase that ran, "phases" must have the record of what its rules
        # did, and "facts" the data that they read. Find phases with only one
        # of them.
        incomplete_phases = (
            document['phases'].keys() ^ document['facts'].keys()
        )
        if incomplete_phases:
            raise Incomparable(
                _('what the phase "%s" found or did is not kept')
                % min(incomplete_phases)
            )
        self.options: str = document['options']
        self.phases = [
            phase for phase in model.PHASES if phase in document['facts']
        ]

    def revision(self, phase: str) -> int | None:
        """Return the revision of the rules of a phase; None if unknown."""
        revision: int | None = self._document['facts'][phase].get(
            'revision', self._document['revision']
        )
        return revision

    def facts(self, phase: str, plans: Plans) -> working_copy.Facts:
        """Return the kept facts at the beginning of a phase.

        :param plans: the rules to run, by phase. If one of them reads the data
            of the previous inspection, these are looked up once.
        :raises: Incomparable if the rules read unknown data.
        """
        kept_facts = self._document['facts'][phase]
        reads_previous = any(
            plan.reads_previous for plan in plans.get(phase, ())
        )
        if reads_previous and not self._is_previous_known:
            self._previous = self._find_previous()
            if self._previous is None:
                raise Incomparable(
                    _('what had been stored before it is not known')
                )
            self._is_previous_known = True
        # Hooks change these data between the phases. So the data at the
        # beginning of a phase are kept as patches of the data of the document.
        inventory = document_patch.apply(
            self._document['inventory'], kept_facts['inventory']
        )
        plugin_data = document_patch.apply(
            self._document['plugin_data'], kept_facts['plugin_data']
        )
        return working_copy.Facts(
            inventory,
            plugin_data,
            kept_facts['node'],
            tuple(kept_facts['ports']),
            tuple(kept_facts['port_groups']),
            self._previous,
        )

    def error(self, phase: str) -> Data | None:
        """Return the error with which the rules of a phase ended, or None."""
        error: Data | None = self._document['facts'][phase]['error']
        return error

    @property
    def ending(self) -> Data:
        """How the inspection ended.

        For example, ``{'result': 'failed', 'error': 'the disk is too small',
        'matched': [UUID]}``: ``matched`` has the UUIDs of the rules that
        matched, in the order in which they ran.
        """
        matched = []
        for phase in model.PHASES:
            record = self._document['phases'].get(phase, {})
            matched += [rule['uuid'] for rule in record.get('rules', ())]
        return {
            'result': self._document['result'],
            'error': self._document['error'],
            'matched': matched,
        }

    def repeat(
        self, plans: Plans, limits: Mapping[str, budget.Limits]
    ) -> tuple[Ends, str | None]:
        """Repeat the inspection with the rules of its time.

        If it ends in the same way as before, the kept data are complete, and
        the results of other rules can be compared with it.

        :param plans: the rules of its time, by phase.
        :param limits: the limits of every phase.
        :returns: two values: the ends of the phases; and a sentence about the
            first difference, or None if there is no difference.
        :raises: Incomparable if a difference may have other reasons, or if the
            rules read unknown data.
        """
        # Run the phases, up to an error.
        ends: Ends = {}
        for phase in self.phases:
            facts = self.facts(phase, plans)
            ends[phase] = _run_phase(ends, plans, phase, facts, limits)
            if ends[phase].outcome.error:
                break
        # Compare them with what the phases did in the inspection.
        for phase, end in ends.items():
            deviation = self._find_deviation(phase, end)
            if deviation is not None:
                return ends, deviation
        return ends, None

    def _find_deviation(self, phase: str, end: PhaseEnd) -> str | None:
        """Return how a repeated phase differs from the kept phase.

        Both ran the rules of the time of the inspection. They are compared by
        their errors, and by what their rules did.

        :param end: the end of the repeated phase.
        :returns: a sentence; None if there is no difference.
        :raises: Incomparable if the difference may have other reasons.
        """
        record_then = self._document['phases'][phase]
        # The time that the phase took, 0.0 here, is not compared.
        record_now = phase_record.build(end.outcome, 0.0)
        kept_error = self.error(phase)
        error_then = None
        # A replay saves nothing, so it cannot repeat an error of saving.
        if kept_error is not None and not kept_error['saving']:
            error_then = kept_error['text']
        error_now = None
        if end.outcome.error:
            error_now = str(end.outcome.error)
        has_other_error = error_then != error_now
        effects_then = _reduce_to_effects(record_then)
        has_other_effects = effects_then != _reduce_to_effects(record_now)
        if not has_other_error and not has_other_effects:
            return None
        self._refuse_other_reasons(phase, has_other_error)
        # Describe the difference as exactly as possible.
        differences = _describe_other_matches(record_then, end.outcome)
        if has_other_error:
            differences.append(
                _('it ended with "%(then)s", and ends with "%(now)s"')
                % {'then': error_then or 'ok', 'now': error_now or 'ok'}
            )
        if not differences:
            # The same rules matched, but made other changes.
            differences.append(_('its rules do not do the same'))
        return _('phase "%(phase)s": %(what)s') % {
            'phase': phase,
            'what': '; '.join(differences),
        }

    def _refuse_other_reasons(self, phase: str, has_other_error: bool) -> None:
        """Check that a difference has no reason outside of the kept data.

        There are three such reasons: a limit on time or operations, the answer
        of a server, and secrets, which are masked in the kept data.

        :param has_other_error: whether the repeated phase ended with another
            error than the kept phase, or with an error in only one of both.
        :raises: Incomparable if the difference may have one of these reasons.
        """
        kept_error = self.error(phase)
        if kept_error and has_other_error and kept_error['limit']:
            raise Incomparable(_('it took as long as it may'))
        if kept_error and has_other_error and kept_error['op'] == 'api-call':
            raise Incomparable(_('it ended with what was called then'))
        mask_secrets = json.loads(self.options)['mask_secrets']
        saw_secrets = disclosure.may_show_secrets(mask_secrets)
        if saw_secrets and disclosure.is_masked(self._document):
            raise Incomparable(_('its rules saw secrets, which are not kept'))


def _describe_other_matches(
    record_then: phase_record.Record, outcome: runner.PhaseOutcome
) -> list[str]:
    """Return a sentence for every rule that matched in only one of two phases.

    :param record_then: the record of the kept phase.
    :param outcome: the outcome of the repeated phase.
    """
    matched_then = {rule['uuid'] for rule in record_then['rules']}
    matched_now = {rule.rule.uuid for rule in outcome.traces if rule.matched}
    differences = [
        _('rule %s matched, and does not') % uuid
        for uuid in sorted(matched_then - matched_now)
    ]
    differences += [
        _('rule %s did not match, and does') % uuid
        for uuid in sorted(matched_now - matched_then)
    ]
    return differences


def compare(
    kept_inspection: KeptInspection,
    ends_then: Ends,
    plans: Plans,
    limits: Mapping[str, budget.Limits],
) -> Data:
    """Run other rules on a kept inspection, and compare the results.

    For example, if the other rules set another rack::

        {'result': 'ok', 'error': None, 'matched': [UUID], 'differs': True,
         'changes': [{'object': 'node', 'path': '/extra/rack', …}]}

    :param ends_then: the ends of the phases with the rules of its time.
    :param plans: the other rules, by phase.
    :param limits: the limits of every phase.
    :returns: how the inspection ends with the other rules; the UUIDs of the
        rules that matched; the ``changes`` that lead from the machine with the
        rules of its time to the machine with the other rules; and whether the
        machine or the error ``differs``.
    :raises: Incomparable if the result depends on unknown data.
    """
    ends = _run_phases(kept_inspection, ends_then, plans, limits)
    # Compare the machine at the end of the last phase that both have run.
    last_phase = list(ends)[-1]
    end_then = ends_then[last_phase]
    end_now = ends[last_phase]
    differences = difference.between(
        end_then.facts, end_now.facts, end_then.facts.ports
    )
    has_other_changes = bool(differences)
    failure_then = failure_key(end_then.outcome.error)
    has_other_error = failure_then != failure_key(end_now.outcome.error)
    result, error = _predict_result(
        kept_inspection,
        last_phase,
        then=end_then,
        now=end_now,
        has_other_changes=has_other_changes,
    )
    matched = []
    for end in ends.values():
        matched += [
            rule.rule.uuid for rule in end.outcome.traces if rule.matched
        ]
    return {
        'result': result,
        'error': error,
        'matched': matched,
        'changes': [change.with_before() for change in differences.changes],
        'differs': has_other_changes or has_other_error,
    }


def _run_phases(
    kept_inspection: KeptInspection,
    ends_then: Ends,
    plans: Plans,
    limits: Mapping[str, budget.Limits],
) -> Ends:
    """Run the phases of a kept inspection with other rules, up to an error.

    Every phase gets its kept facts. The changes that the other rules made in
    the previous phase are added to them.

    :param ends_then: the ends of the phases with the rules of its time.
    :param plans: the other rules, by phase.
    :returns: the ends with the other rules, in the order of the phases; at
        least one.
    :raises: Incomparable if the rules read unknown data.
    """
    ends: Ends = {}
    phase_before: str | None = None
    for phase in ends_then:
        facts = kept_inspection.facts(phase, plans)
        if phase_before is not None:
            facts = _add_other_changes(
                facts,
                then=ends_then[phase_before].facts,
                now=ends[phase_before].facts,
            )
        ends[phase] = _run_phase(ends, plans, phase, facts, limits)
        phase_before = phase
        if ends[phase].outcome.error:
            break
    return ends


def _predict_result(
    kept_inspection: KeptInspection,
    phase: str,
    then: PhaseEnd,
    now: PhaseEnd,
    has_other_changes: bool,
) -> tuple[str, str | None]:
    """Return the result of an inspection with other rules, and its error.

    - If the phase now ends with an error, the inspection fails.
    - If only the rules of its time ended with an error, the inspection would
      continue. How it would end is unknown, unless this is the last phase.
    - If Ironic refused to save the changes, and they are other ones now, it is
      unknown whether Ironic would save these.
    - Otherwise the inspection ends as it did.

    :param phase: the last phase that ran.
    :param then: the end of this phase with the rules of its time.
    :param now: the end of this phase with the other rules.
    :param has_other_changes: whether the other rules make other changes.
    :returns: e.g. ``('failed', 'the disk is too small')``, ``('ok', None)`` or
        ``('unknown', None)``.
    """
    if now.outcome.error:
        return history.FAILED, str(now.outcome.error)
    if then.outcome.error:
        if phase == model.MAIN:
            return history.OK, None
        return UNKNOWN, None
    kept_error = kept_inspection.error(phase)
    if kept_error and kept_error['saving'] and has_other_changes:
        return UNKNOWN, None
    return kept_inspection.ending['result'], kept_inspection.ending['error']


def _run_phase(
    ends_before: Ends,
    plans: Plans,
    phase: str,
    facts: working_copy.Facts,
    limits: Mapping[str, budget.Limits],
) -> PhaseEnd:
    """Run the rules of a phase on a machine, and return how it ends.

    Values that sensitive rules have set in this or an earlier phase must not
    appear in the results. Their places are collected as ``withheld_places``.

    :param ends_before: the ends of the earlier phases of this replay.
    :param plans: the rules to run, by phase.
    :param facts: the data of the machine at the beginning of the phase.
    """
    # Kept data do not show which places sensitive rules have set. The earlier
    # phases of this replay do.
    withheld_places: frozenset[views.Place] = frozenset()
    for end in ends_before.values():
        withheld_places |= end.facts.withheld_places
    facts = dataclasses.replace(facts, withheld_places=withheld_places)
    target = working_copy.WorkingCopy(facts)
    outcome = runner.run(
        plans.get(phase, ()),
        target,
        facts.scope,
        keep=True,
        limits=limits[phase],
    )
    # After most kinds of errors, the changes of the phase are not kept.
    if outcome.keeps_changes:
        facts = evaluation.facts_after_phase(facts, target, outcome, phase)
    # Add the places that sensitive rules of this phase have set.
    facts = evaluation.add_withheld_places(facts, target)
    return PhaseEnd(outcome, facts)


def failure_key(error: exceptions.RuleError | None) -> typing.Any:
    """Return the type, op and reason of an error, to compare two errors.

    The name of the rule is left out, because the same rule may have another
    name in the rules that are tried.

    :returns: None for None.
    """
    if error is None:
        return None
    return type(error), error.op, error.reason


def _reduce_to_effects(phase: phase_record.Record) -> typing.Any:
    """Return what the rules of a phase did, in a form that can be compared.

    :param phase: the record of a phase.
    :returns: the lists of rules of the record, without reasons.
    """
    effects = {}
    for kind in phase_record.KINDS:
        effects[kind] = [_without_reasons(rule) for rule in phase[kind]]
    # A new record has tuples where a stored record has lists. Convert them to
    # JSON and back, so that both have lists.
    return json.loads(json.dumps(effects, default=str))


def _without_reasons(rule: phase_record.Record) -> phase_record.Record:
    """Return the record of a rule without the reasons of its conditions.

    Reasons are sentences whose wording may change between releases, so they
    are not compared.
    """
    # The record of a sensitive rule has no conditions. "when" exists only if
    # an action had conditions or did not run.
    conditions = [
        _without_reason(condition) for condition in rule.get('conditions', ())
    ]
    actions = []
    for action in rule.get('when', ()):
        conditions_of_action = [
            _without_reason(condition) for condition in action['conditions']
        ]
        actions.append(
            {**_without_reason(action), 'conditions': conditions_of_action}
        )
    return {**rule, 'conditions': conditions, 'when': actions}


def _without_reason(record: phase_record.Record) -> phase_record.Record:
    """Return the record of a condition or an action without its reason."""
    return {name: value for name, value in record.items() if name != 'reason'}


def _add_other_changes(
    facts: working_copy.Facts,
    then: working_copy.Facts,
    now: working_copy.Facts,
) -> working_copy.Facts:
    """Return the facts of a phase with the changes that other rules made.

    The other rules ran in the previous phase, and their changes are the
    difference from ``then`` to ``now``. Ironic and its hooks have also changed
    the machine between the two phases, from ``then`` to ``facts``. The result
    has both changes.

    :param facts: the kept facts at the beginning of the phase.
    :param then: the facts after the previous phase, with the rules of its
        time.
    :param now: the facts after the previous phase, with the other rules.
    """
    plugin_data = _merge(facts.plugin_data, then.plugin_data, now.plugin_data)
    if then.node is None:
        # The early phase has no node.
        return dataclasses.replace(facts, plugin_data=plugin_data)
    ports = _ports_by_uuid(facts)
    merged_ports = _merge(ports, _ports_by_uuid(then), _ports_by_uuid(now))
    node = _merge(facts.node, then.node, now.node)
    node[working_copy.TRAITS] = _merge_traits(
        _traits(facts), _traits(then), _traits(now)
    )
    return dataclasses.replace(
        facts,
        node=node,
        ports=tuple(merged_ports[uuid] for uuid in ports),
        plugin_data=plugin_data,
    )


def _ports_by_uuid(facts: working_copy.Facts) -> Data:
    """Return the ports of a machine by their UUIDs."""
    return {port['uuid']: port for port in facts.ports}


def _traits(facts: working_copy.Facts) -> Sequence[str]:
    """Return the names of the traits of a node, if any."""
    node = facts.node or {}
    return node.get(working_copy.TRAITS) or ()


def _merge_traits(
    traits: Sequence[str], then: Sequence[str], now: Sequence[str]
) -> list[str]:
    """Return traits after applying the change from ``then`` to ``now``.

    Traits that are only in ``then`` are removed, and traits that are only in
    ``now`` are added.

    :param traits: the kept traits at the beginning of a phase.
    :param then: the traits after the previous phase, with the rules of its
        time.
    :param now: the traits after the previous phase, with the other rules.
    """
    merged = []
    for name in traits:
        is_removed = name in then and name not in now
        if not is_removed:
            merged.append(name)
    # A trait in "then" was not added. If it is not in "traits", a hook has
    # removed it.
    names_not_to_add = {*then, *traits}
    merged += [name for name in now if name not in names_not_to_add]
    return merged


def _merge(value: typing.Any, then: typing.Any, now: typing.Any) -> typing.Any:
    """Return a value after applying the change from ``then`` to ``now``.

    - If the other rules made no change, the value stays.
    - Mappings are merged name by name. With ``{'a': 1}`` then and ``{'a': 3}``
      now, the value ``{'a': 1, 'b': 2}`` becomes ``{'a': 3, 'b': 2}``.
    - Any other value, e.g. a list, is taken from ``now`` as a whole.

    :param value: the kept value at the beginning of a phase. Like the other
        two values, it may be :data:`.path.ABSENT`.
    :param then: the value after the previous phase, with the rules of its
        time.
    :param now: the value after the previous phase, with the other rules.
    :returns: the merged value; :data:`.path.ABSENT` if it was removed.
    """
    if data_path.is_same(then, now):
        return value
    are_mappings = all(isinstance(state, dict) for state in (value, then, now))
    if not are_mappings:
        return now
    merged = dict(value)
    for name in {**then, **now}:
        merged_item = _merge(
            value.get(name, data_path.ABSENT),
            then.get(name, data_path.ABSENT),
            now.get(name, data_path.ABSENT),
        )
        if merged_item is data_path.ABSENT:
            merged.pop(name, None)
        else:
            merged[name] = merged_item
    return merged
