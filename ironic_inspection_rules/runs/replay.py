# SPDX-License-Identifier: Apache-2.0

"""Replays kept inspections with their own rules or with other rules.

Nothing is guessed. Every phase gets the facts that it had in the inspection,
except for changes by other rules in the previous phase. It is unknown how
hooks would have reacted to these changes, and how an inspection would have
continued that ended with an error.
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
"""The result of an inspection that would have continued."""

Plans = Mapping[str, Sequence[compiler.CompiledRule]]
Data = dict[str, typing.Any]


class Incomparable(Exception):
    """The run depends on something unknown; the message says on what."""


class PhaseEnd(typing.NamedTuple):
    """The outcome of a phase, and the facts of the machine after it."""

    outcome: runner.PhaseOutcome
    facts: working_copy.Facts


Ends = dict[str, PhaseEnd]


class Past:
    """An inspection that the history keeps, to be run again.

    :param find_previous: returns the data that the inspection before had
        stored; None if they are unknown. It is called if a rule reads these
        data and no rule did so in the inspection.
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
        # The data that the inspection before had stored. They are kept if a
        # rule read them in this inspection.
        self._previous: Data | None = document.get('previous')
        self._is_previous_known = 'previous' in document
        if not document.get('options'):
            raise Incomparable(_('what its rules went by is not kept'))
        # "phases" has the records of what rules did, "facts" the data that
        # they found. These are the phases that have only one of the two.
        incomplete = document['phases'].keys() ^ document['facts'].keys()
        if incomplete:
            raise Incomparable(
                _('what the phase "%s" found or did is not kept')
                % min(incomplete)
            )
        self.options: str = document['options']
        self.phases = [
            phase for phase in model.PHASES if phase in document['facts']
        ]

    def revision(self, phase: str) -> int | None:
        """Return the revision of the rules that a phase ran."""
        revision: int | None = self._document['facts'][phase].get(
            'revision', self._document['revision']
        )
        return revision

    def facts(self, phase: str, plans: Plans) -> working_copy.Facts:
        """Return the facts at the beginning of a phase.

        :param plans: the rules to run. If they read data that the inspection
            before had stored, these data are looked up.
        :raises: Incomparable if the rules read unknown data.
        """
        facts = self._document['facts'][phase]
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
        # The data of a phase are kept as a patch against the posted data.
        inventory = document_patch.apply(
            self._document['inventory'], facts['inventory']
        )
        plugin_data = document_patch.apply(
            self._document['plugin_data'], facts['plugin_data']
        )
        return working_copy.Facts(
            inventory,
            plugin_data,
            facts['node'],
            tuple(facts['ports']),
            tuple(facts['port_groups']),
            self._previous,
        )

    def error(self, phase: str) -> Data | None:
        """Return the kept error with which the rules of a phase ended."""
        error: Data | None = self._document['facts'][phase]['error']
        return error

    @property
    def ending(self) -> Data:
        """The end of the inspection: ``result``, ``error`` and ``matched``.

        ``matched`` has the UUIDs of the rules that matched, in their order.
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

    def again(
        self, plans: Plans, limits: Mapping[str, budget.Limits]
    ) -> tuple[Ends, str | None]:
        """Repeat the inspection with the rules of its time.

        If it ends in the same way as before, the kept data are complete, and
        the results of other rules can be compared with it.

        :param plans: the rules of its time, by phase.
        :returns: the ends of the phases, and a sentence about the first
            difference; None instead of the sentence if there is no difference.
        :raises: Incomparable if a difference may have other reasons, or if the
            rules read unknown data.
        """
        ends: Ends = {}
        for phase in self.phases:
            facts = self.facts(phase, plans)
            ends[phase] = _run_phase(ends, plans, phase, facts, limits)
            if ends[phase].outcome.error:
                break
        for phase, end in ends.items():
            deviation = self._find_deviation(phase, end)
            if deviation is not None:
                return ends, deviation
        return ends, None

    def _find_deviation(self, phase: str, end: PhaseEnd) -> str | None:
        """Return how the end of a repeated phase differs from the kept end.

        The phase was repeated with the rules of its time. If it ends
        differently, other rules cannot be compared with it.

        :returns: a sentence; None if both ends are the same.
        :raises: Incomparable if the difference may have other reasons.
        """
        record_then = self._document['phases'][phase]
        record_now = phase_record.of_phase(end.outcome, 0.0)
        error_then = None
        kept_error = self.error(phase)
        # A replay saves nothing, so it cannot have an error of saving.
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
        differences = _describe_other_matches(record_then, end.outcome)
        if has_other_error:
            differences.append(
                _('it ended with "%(then)s", and ends with "%(now)s"')
                % {'then': error_then or 'ok', 'now': error_now or 'ok'}
            )
        if not differences:
            differences.append(_('its rules do not do the same'))
        return _('phase "%(phase)s": %(what)s') % {
            'phase': phase,
            'what': '; '.join(differences),
        }

    def _refuse_other_reasons(self, phase: str, has_other_error: bool) -> None:
        """Check that a deviation has no reason outside of the kept data.

        :param has_other_error: whether the phase ended with another error, or
            ended with an error only one of the two times.
        :raises: Incomparable if the reason may be the time that the rules
            took, a server that they called, or a secret.
        """
        error = self.error(phase)
        if error and has_other_error and error['limit']:
            raise Incomparable(_('it took as long as it may'))
        if error and has_other_error and error['op'] == 'api-call':
            raise Incomparable(_('it ended with what was called then'))
        # Secrets that the rules could read are masked in the kept data.
        mask_secrets = json.loads(self.options)['mask_secrets']
        saw_secrets = disclosure.may_show_secrets(mask_secrets)
        if saw_secrets and disclosure.is_masked(self._document):
            raise Incomparable(_('its rules saw secrets, which are not kept'))


def _describe_other_matches(
    record_then: phase_record.Record, outcome: runner.PhaseOutcome
) -> list[str]:
    """Return a sentence for every rule that matched only then or only now."""
    then = {rule['uuid'] for rule in record_then['rules']}
    now = {rule.rule.uuid for rule in outcome.traces if rule.matched}
    differences = [
        _('rule %s matched, and does not') % uuid
        for uuid in sorted(then - now)
    ]
    differences += [
        _('rule %s did not match, and does') % uuid
        for uuid in sorted(now - then)
    ]
    return differences


def compare(
    past: Past, base: Ends, plans: Plans, limits: Mapping[str, budget.Limits]
) -> Data:
    """Run other rules on a kept inspection, and compare the results.

    The results are compared at the end of the last phase that both have run.

    :param base: the ends of the phases with the rules of its time.
    :param plans: the other rules, by phase.
    :returns: ``result``, ``error``, ``matched``, the ``changes`` from the
        machine with the rules of its time to the machine with the other rules,
        and whether anything ``differs``.
    :raises: Incomparable if the result depends on unknown data.
    """
    ends = _run_phases(past, base, plans, limits)
    last_phase = list(ends)[-1]
    end_then = base[last_phase]
    end_now = ends[last_phase]
    differences = difference.between(
        end_then.facts, end_now.facts, end_then.facts.ports
    )
    has_other_changes = bool(differences)
    failure_then = failure_key(end_then.outcome.error)
    has_other_error = failure_then != failure_key(end_now.outcome.error)
    result, error = _predict_result(
        past,
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
    past: Past, base: Ends, plans: Plans, limits: Mapping[str, budget.Limits]
) -> Ends:
    """Run the phases of a kept inspection with other rules, up to an error.

    :param base: the ends of the phases with the rules of its time.
    :returns: the ends with the other rules, in the order of the phases; at
        least one.
    :raises: Incomparable if the rules read unknown data.
    """
    ends: Ends = {}
    phase_before: str | None = None
    for phase in base:
        facts = past.facts(phase, plans)
        if phase_before is not None:
            # Add the changes that the other rules made in the phase before.
            facts = _rebase(
                facts,
                then=base[phase_before].facts,
                now=ends[phase_before].facts,
            )
        ends[phase] = _run_phase(ends, plans, phase, facts, limits)
        phase_before = phase
        if ends[phase].outcome.error:
            break
    return ends


def _predict_result(
    past: Past,
    phase: str,
    then: PhaseEnd,
    now: PhaseEnd,
    has_other_changes: bool,
) -> tuple[str, str | None]:
    """Return the result of an inspection with other rules, and its error.

    :param phase: the last phase that ran.
    :param then: the end of this phase with the rules of its time.
    :param now: the end of this phase with the other rules.
    :param has_other_changes: whether the other rules make other changes.
    :returns: e.g. ``('failed', 'the disk is too small')``; the result is
        :data:`UNKNOWN` if the inspection would have continued.
    """
    if now.outcome.error:
        return history.FAILED, str(now.outcome.error)
    if then.outcome.error:
        # The inspection ended here with an error, but would now continue. How
        # it would end is unknown, unless this is the last phase.
        if phase == model.MAIN:
            return history.OK, None
        return UNKNOWN, None
    error_then = past.error(phase)
    if error_then and error_then['saving'] and has_other_changes:
        # It is unknown whether Ironic would save the other changes.
        return UNKNOWN, None
    return past.ending['result'], past.ending['error']


def _run_phase(
    ends_before: Ends,
    plans: Plans,
    phase: str,
    facts: working_copy.Facts,
    limits: Mapping[str, budget.Limits],
) -> PhaseEnd:
    """Run the rules of a phase on a machine, and return how it ends.

    :param ends_before: the ends of the earlier phases of this replay.
    :param facts: the data of the machine at the beginning of the phase. They
        were kept by the inspection, or are based on kept data.
    """
    # Suppose that a sensitive rule has set a password at node.extra.token. The
    # results of a replay must leave out the values at such places. Kept data
    # do not show these places, but the earlier phases of this replay do.
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
    # After most kinds of errors, the phase changes nothing.
    if outcome.keeps_changes:
        facts = evaluation.facts_after_phase(facts, target, outcome, phase)
    # Also withhold the values that sensitive rules of this phase have set.
    facts = evaluation.add_withheld_places(facts, target)
    return PhaseEnd(outcome, facts)


def failure_key(error: exceptions.RuleError | None) -> typing.Any:
    """Return the type, op and reason of a failure, to compare failures.

    The name of the rule is excluded, because the rules that are tried may have
    other names.
    """
    if error is None:
        return None
    return type(error), error.op, error.reason


def _reduce_to_effects(phase: phase_record.Record) -> typing.Any:
    """Return what the rules of a phase did, without times and reasons."""
    effects = {}
    for kind in phase_record.KINDS:
        effects[kind] = [_without_reasons(rule) for rule in phase[kind]]
    # Convert tuples to lists: a new record has tuples, a stored one has lists.
    return json.loads(json.dumps(effects, default=str))


def _without_reasons(rule: phase_record.Record) -> phase_record.Record:
    """Return the record of a rule without the reasons of its conditions.

    Reasons are dropped because their wording may change between releases.
    """
    # The record of a sensitive rule has no conditions, and "when" exists only
    # if an action had conditions or did not run.
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


def _rebase(
    facts: working_copy.Facts,
    then: working_copy.Facts,
    now: working_copy.Facts,
) -> working_copy.Facts:
    """Return the facts of a phase, given another result of the phase before.

    Ironic and its hooks also change the machine between two phases. The result
    has both these changes, from ``then`` to ``facts``, and the changes by the
    other rules, from ``then`` to ``now``.

    :param facts: the kept facts at the beginning of the phase.
    :param then: the facts after the phase before, with the rules of its time.
    :param now: the facts after the phase before, with the other rules.
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
    return {port['uuid']: port for port in facts.ports}


def _traits(facts: working_copy.Facts) -> Sequence[str]:
    node = facts.node or {}
    return node.get(working_copy.TRAITS) or ()


def _merge_traits(
    traits: Sequence[str], then: Sequence[str], now: Sequence[str]
) -> list[str]:
    """Return traits after applying the change from ``then`` to ``now``.

    :param traits: the kept traits at the beginning of a phase.
    :param then: the traits after the phase before, with the rules of its time.
    :param now: the traits after the phase before, with the other rules.
    """
    merged = []
    for name in traits:
        is_removed = name in then and name not in now
        if not is_removed:
            merged.append(name)
    known = {*then, *traits}
    merged += [name for name in now if name not in known]
    return merged


def _merge(value: typing.Any, then: typing.Any, now: typing.Any) -> typing.Any:
    """Return a value after applying the change from ``then`` to ``now``.

    With ``{'a': 1}`` then and ``{'a': 3}`` now, ``{'a': 1, 'b': 2}`` becomes
    ``{'a': 3, 'b': 2}``. Only mappings are merged: a list that has changed is
    taken from ``now`` as a whole.

    :param value: the kept value of a part of a machine at the beginning of a
        phase.
    :param then: the same part after the phase before, with the rules of its
        time.
    :param now: the same part after the phase before, with the other rules.
    :returns: the merged value; :data:`.path.ABSENT` if it was removed.
    """
    if data_path.same(then, now):
        return value
    are_mappings = all(isinstance(side, dict) for side in (value, then, now))
    if not are_mappings:
        return now
    merged = dict(value)
    for name in {**then, **now}:
        item = _merge(
            value.get(name, data_path.ABSENT),
            then.get(name, data_path.ABSENT),
            now.get(name, data_path.ABSENT),
        )
        if item is data_path.ABSENT:
            merged.pop(name, None)
        else:
            merged[name] = item
    return merged
