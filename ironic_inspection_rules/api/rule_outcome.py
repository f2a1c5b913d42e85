# SPDX-License-Identifier: Apache-2.0

"""Explains what a rule did in the newest run of a node, or why it did nothing.

A *run* is the record of what the rules did in one inspection. It has a record
of every rule that matched, but not of other rules. To find out why a rule did
not match, its conditions are checked again on the *facts* of its phase: the
data that rules read, i.e. inventory, plugin data, node and ports.

The rules of a run are kept as a numbered revision. If this revision is no
longer kept, the rules in force are used in place of them.
"""

from collections.abc import Mapping
import dataclasses
import datetime
import functools
from typing import Any

from ironic import api
from ironic.common import exception as ironic_exception
from oslo_utils import timeutils

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.api import inspection_data
from ironic_inspection_rules.db import history as db_history
from ironic_inspection_rules.engine.language import model
from ironic_inspection_rules.engine.language import table
from ironic_inspection_rules.engine.language.secrecy import disclosure
from ironic_inspection_rules.engine.language.secrecy import stored_rule
from ironic_inspection_rules.engine.run import evaluation
from ironic_inspection_rules.engine.run import working_copy
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.inspection import facts
from ironic_inspection_rules.objects import rule as rule_object
from ironic_inspection_rules.objects import run as run_object
from ironic_inspection_rules.rule_set import repository
from ironic_inspection_rules.runs import history
from ironic_inspection_rules.runs import phase_record
from ironic_inspection_rules.runs import recorded_rule
from ironic_inspection_rules.runs import replay

_LONGEST_STORING = datetime.timedelta(minutes=1)
"""Longest time from storing a run until Ironic has stored its data."""

Answer = dict[str, Any]


@dataclasses.dataclass(frozen=True)
class _RuleSet:
    """The rules and tables of a run, or those used in place of them."""

    rules: list[model.Rule]
    tables: table.Tables
    revision: int | None


def find(
    node: Any, uuid: str, runs: list[Any], rules: repository.Repository
) -> Answer:
    """Return what a rule did in the newest run, or why it did not match.

    * If the run has a record of the rule, the answer is this record.
    * If the rule was created after the run, or the run did not have it, an
      error is raised.
    * Otherwise the rule did not match. Its conditions are checked again, and
      the answer has their results, or another reason in words.

    :param uuid: the UUID of the rule.
    :param runs: a list with the newest run of the node, with all fields; empty
        if no run is kept.
    :param rules: the rules in force.
    :returns: the answer, see :func:`_begin_answer`. For a sensitive rule it
        has only the UUID, whether the rule matched, and ``withheld``.
    :raises: NotFound if no run is kept, or the run had no such rule.
    """
    if not runs:
        raise exceptions.NotFound(
            _('No inspection of node %s is kept') % node.uuid
        )
    run = runs[0]
    context = api.request.context
    rule_set = _read_rule_set(context, run.revision, rules)
    rules_by_uuid = {rule.uuid: rule for rule in rule_set.rules}
    rule = rules_by_uuid.get(uuid)
    answer = _begin_answer(rule, uuid, run)
    recorded = _find_record(run.phases, uuid)
    if recorded is not None:
        answer.update(recorded)
        return disclosure.disclose_answer(rule, answer)
    if rule is None:
        was_created_later = _was_created_after(context, uuid, run)
        raise _not_found_error(node, uuid, run, was_created_later)
    are_rules_of_run = rule_set.revision == run.revision
    # A rule that was created after the run is among the rules in force, which
    # may be used in place of the rules of the run.
    if not are_rules_of_run and _was_created_after(context, uuid, run):
        raise _not_found_error(node, uuid, run, was_created_later=True)
    answer.update(_check_again(node, run, rule, rules, rule_set))
    if not _came_to_phase(run, rule.phase):
        # The inspection failed before the rules, or the inspect interface does
        # not run them. This is the reason, even if the conditions hold now.
        answer['reason'] = _(
            'That run came to no rules; these are those in force.'
        )
    elif not are_rules_of_run and not answer['reason']:
        answer['reason'] = _why_in_force(run)
    return disclosure.disclose_answer(rule, answer)


def _came_to_phase(run: Any, phase: str) -> bool:
    """Return whether the inspection of a run may have come to a phase.

    The phases "preprocess" and "main" store the revision with the run. So
    without a revision, neither of the two has begun. The phase "early" does
    not store it.
    """
    return run.revision is not None or phase == model.EARLY


def _why_in_force(run: Any) -> str:
    """Return why the rules in force are used for the rules of a run."""
    if run.revision is None:
        # Early rules run before the node is known, and record no revision.
        return _(
            'The revision of the early rules of that run is not known; these '
            'are those in force.'
        )
    return (
        _(
            'The rules of revision %d are not kept any more; these are '
            'those in force.'
        )
        % run.revision
    )


def _begin_answer(rule: model.Rule | None, uuid: str, run: Any) -> Answer:
    """Return the initial answer, for a rule that did nothing in a run.

    The caller replaces the members that it knows more about.

    :param rule: the rule with this UUID. None if neither the run nor the rules
        in force have it; then description, phase and mode are None.
    """
    answer: Answer = {
        'rule': {'uuid': uuid, 'description': None, 'revision': None},
        'run': run,
        'revision': run.revision,
        'phase': None,
        'mode': None,
        'matched': False,
        'conditions': None,
        'actions': [],
        'changes': [],
        'error': None,
        # The caller sets this if it checks again whether the rule matches.
        'decided_again': False,
        'reason': None,
    }
    if rule is not None:
        answer['rule'].update(
            description=rule.description, revision=rule.revision
        )
        answer.update(phase=rule.phase, mode=rule.mode)
    return answer


def _was_created_after(context: Any, uuid: str, run: Any) -> bool:
    """Return whether a stored rule was created after a run began.

    This is false for a rule that was only changed after the run began, for a
    rule that is not stored, and if one of the times is unknown.
    """
    try:
        stored = rule_object.StoredRule.get_by_uuid(context, uuid)
    except ironic_exception.NotFound:
        return False
    if run.revision is not None and stored.revision <= run.revision:
        return False
    # The revision of a rule is that of its last change. After the run, the
    # rule was created or changed. Only the times tell which.
    run_began_at = run.started_at or run.created_at
    if stored.created_at is None or run_began_at is None:
        return False
    rule_created_at = timeutils.normalize_time(stored.created_at)
    return bool(rule_created_at > timeutils.normalize_time(run_began_at))


def _not_found_error(
    node: Any, uuid: str, run: Any, was_created_later: bool
) -> exceptions.NotFound:
    """Build the error for a rule that a run did not have.

    :param was_created_later: whether the rule was created after the run.
    """
    if was_created_later:
        text = _(
            'Rule %(rule)s was made after the inspection of run %(run)s. '
            '"openstack baremetal inspection rule evaluate --node %(node)s" '
            'shows what it would do, "openstack baremetal inspection reapply '
            '%(node)s" runs the rules of today on the stored inventory'
        )
    elif run.revision is None:
        text = _('There is no rule %(rule)s, and run %(run)s came to no rules')
    else:
        text = _(
            'Rule %(rule)s was not among the rules of run %(run)s '
            '(revision %(revision)s)'
        )
    return exceptions.NotFound(
        text
        % {
            'rule': uuid,
            'run': run.uuid,
            'revision': run.revision,
            'node': node.name or node.uuid,
        }
    )


def _find_record(
    phases: Mapping[str, phase_record.Record], uuid: str
) -> Answer | None:
    """Return the record of a rule in a run, as members of the answer.

    The record of a phase has three lists of rules:

    * ``rules``: the rules that matched.
    * ``audit``: the rules in mode "audit", which change nothing.
    * ``reverted``: rules that did not match, and reverted what their actions
      had done in an earlier inspection.

    :param phases: the records of the phases, by the name of the phase.
    :returns: members of the answer; None if the rule did nothing, or if the
        run did not have it.
    """
    for phase, record in phases.items():
        for kind in ('rules', 'audit', 'reverted'):
            for rule in record[kind]:
                if rule['uuid'] == uuid:
                    return _describe_in_phase(rule, kind, phase, record)
    return None


def _describe_in_phase(
    rule: phase_record.Record,
    kind: str,
    phase: str,
    record: phase_record.Record,
) -> Answer:
    """Return the record of a rule in a phase, as members of the answer.

    :param kind: the list that has the rule, see :func:`_find_record`.
    :param phase: the name of the phase.
    :param record: the record of the phase.
    """
    answer: Answer = {
        'phase': phase,
        'matched': phase_record.was_matched(kind, rule),
    }
    # For a sensitive rule, these are its UUID and "withheld".
    answer.update(recorded_rule.read(rule).described(_describe_record))
    if not record['saved']:
        answer['reason'] = _('Nothing of this was saved.')
    return answer


def _describe_record(rule: phase_record.Record) -> Answer:
    """Return the record of a rule as members of the answer.

    The record has the ``changes`` of the rule, and as ``confirmed`` the values
    that the rule set and that were the same before. The answer lists both as
    changes.
    """
    answer = {
        name: rule.get(name) for name in ('conditions', 'actions', 'error')
    }
    answer['changes'] = [*rule['changes'], *rule.get('confirmed', ())]
    # "when" exists only if an action has conditions or did not run.
    if 'when' in rule:
        answer['when'] = rule['when']
    return answer


def _read_rule_set(
    context: Any, revision: int | None, rules: repository.Repository
) -> _RuleSet:
    """Read the rules and tables of a revision, or those in force instead.

    :param revision: the revision of a run; None if it is unknown.
    :param rules: the rules in force. They are returned, with their own
        revision, if the revision of the run is unknown or no longer kept.
    """
    in_force = rules.refresh(context)
    if revision is not None:
        # Read the kept revision even if it is in force, because another
        # request may change the rules in force before they are read.
        try:
            stored = rule_object.StoredRule.get_rules_of_revision(
                context, revision
            )
            # A rule that became sensitive after this revision is marked as
            # sensitive as well, so that answers do not show its content.
            marked = map(stored_rule.mark_if_ever_sensitive, stored['rules'])
            tables = rules.tables_of(context, revision)
            return _RuleSet(rules.with_stored(marked), tables, revision)
        except ironic_exception.NotFound:
            # The revision is no longer kept.
            pass
    return _RuleSet(
        rules.read_rules_in_force(context), in_force.tables, in_force.revision
    )


def _check_again(
    node: Any,
    run: Any,
    rule: model.Rule,
    rules: repository.Repository,
    rule_set: _RuleSet,
) -> Answer:
    """Find out why a rule did not match, by checking its conditions again.

    The conditions are checked on the facts that the phase had. If these are
    not kept, they are checked on the data of the run and on the node as it is
    now.

    :param rule_set: the rules of the run, or the rules in force instead.
    :returns: members of the answer: the conditions with their results, or a
        reason in words if the conditions were not checked.
    """
    if rule.mode == model.OFF:
        return {'reason': _('The mode of the rule is "off".')}
    outcome = _evaluate_again(node, run, rule.phase, rules, rule_set)
    if outcome is None:
        return {
            'reason': _(
                'It did not match. Why is not known: the data '
                'of that run are not kept.'
            )
        }
    trace_by_uuid = {trace.rule.uuid: trace for trace in outcome.traces}
    rule_trace = trace_by_uuid.get(rule.uuid)
    if rule_trace is None:
        reason = _why_not_checked(rule, outcome)
        return {'decided_again': True, 'reason': reason}
    conditions = [condition._asdict() for condition in rule_trace.conditions]
    answer = {'conditions': conditions, 'decided_again': True}
    if rule_trace.matched:
        # It did not match in the run, so something has changed since.
        answer['reason'] = _why_it_matches_now(rule, run)
    return answer


def _why_not_checked(rule: model.Rule, outcome: evaluation.Evaluation) -> str:
    """Return why an evaluation has not checked the conditions of a rule."""
    if outcome.error:
        return _('It was not its turn: an earlier rule ended the inspection.')
    return _('Its scope "%s" is not that of the node.') % rule.scope


def _why_it_matches_now(rule: model.Rule, run: Any) -> str:
    """Return why a rule matches now that did not match in a run."""
    # Built-in rules have no revision, and some runs have none.
    have_revisions = rule.revision and run.revision is not None
    if have_revisions and rule.revision > run.revision:
        return (
            _(
                'It did not match then, and would match now: the rule was '
                'changed since, in revision %d.'
            )
            % rule.revision
        )
    return _(
        'It did not match then, and would match now: data of the node or '
        'of a table that it reads have changed since.'
    )


def _facts_of_phase(
    node: Any, run: Any, phase: str, plans: replay.Plans
) -> working_copy.Facts | None:
    """Return the facts that a phase of a run had: the data that rules read.

    :param plans: the compiled rules of the run. If they read data of the
        inspection before, these data are among the facts.
    :returns: None if the facts, or data that they depend on, are not kept.
    """
    try:
        row = db_history.get_inventory(node.uuid, run.uuid)
        # Called if rules read the inventory of the inspection before.
        read_inventory_before = functools.partial(
            history.stored_before, node.uuid, row.id
        )
        past_inspection = replay.KeptInspection(
            history.read(row), read_inventory_before
        )
        if phase not in past_inspection.phases:
            return None
        return past_inspection.facts(phase, plans)
    except (exceptions.KeptInventoryNotFound, replay.Incomparable):
        return None


def _evaluate_again(
    node: Any,
    run: Any,
    phase: str,
    rules: repository.Repository,
    rule_set: _RuleSet,
) -> evaluation.Evaluation | None:
    """Evaluate the rules of a phase of a run again, without saving anything.

    * If the facts that the phase had are kept, the phase is evaluated on them.
    * Otherwise all phases are evaluated on the inventory and plugin data of
      the run, and on the node as it is now.

    :param rule_set: the rules to evaluate.
    :returns: the evaluation, whose traces have the results of the conditions;
        None if no data of the run are kept.
    """
    plans = rules.compile(rule_set.rules, rule_set.tables)
    facts_of_phase = _facts_of_phase(node, run, phase, plans)
    if facts_of_phase is not None:
        return evaluation.evaluate(
            plans, facts_of_phase, [phase], limits=rules.limits
        )
    context = api.request.context
    inventory, plugin_data = _find_data(context, node, run)
    if not inventory and not plugin_data:
        return None
    facts_of_node = facts.read_and_build(context, node, inventory, plugin_data)
    # Evaluate all phases, because the rule may read values that earlier phases
    # change.
    return evaluation.evaluate(plans, facts_of_node, limits=rules.limits)


def _find_data(
    context: Any, node: Any, run: Any
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the inventory and the plugin data of the inspection of a run.

    These places are searched, in this order:

    1. The history of the node.
    2. The data that are kept with the newest run, if it failed.
    3. The data that Ironic stores until the next inspection.

    :returns: both mappings; empty if the data are in none of these places.
    """
    try:
        document = history.read(db_history.get_inventory(node.uuid, run.uuid))
    except exceptions.KeptInventoryNotFound:
        document = {}
    if document:
        return document['inventory'], document['plugin_data']
    failed = run_object.InspectionRun.get_data(context, node.uuid)
    if failed is not None and failed['uuid'] == run.uuid:
        return failed['inventory'] or {}, failed['plugin_data'] or {}
    try:
        stored = inspection_data.find(context, node)
    except (exceptions.InspectionRulesError, ironic_exception.IronicException):
        return {}, {}
    if not _was_stored_by_run(stored, run):
        return {}, {}
    return stored.inventory, stored.plugin_data


def _was_stored_by_run(stored: inspection_data.MachineData, run: Any) -> bool:
    """Return whether the data that Ironic stores belong to a run.

    Ironic stores the data of an inspection shortly after its run is stored. If
    they were stored more than :data:`_LONGEST_STORING` later, they belong to a
    later inspection, which has replaced the data of the run.
    """
    if stored.stored_at is None or run.created_at is None:
        return False
    stored_at = timeutils.normalize_time(
        timeutils.parse_isotime(stored.stored_at)
    )
    run_created_at = run.created_at.replace(tzinfo=None)
    return bool(stored_at <= run_created_at + _LONGEST_STORING)
