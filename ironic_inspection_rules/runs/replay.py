# SPDX-License-Identifier: Apache-2.0

"""Kept inspections decided again, by the rules of their time or by others.

Nothing is guessed: each phase has the facts it had then, but for what other
rules leave of the phase before. What hooks would have made of that is not
known, nor how an inspection goes on that ended then.
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
from ironic_inspection_rules.runs import record

SAME, DIFFERENT, INCOMPARABLE = 'same', 'different', 'incomparable'

UNKNOWN = 'unknown'
"""The result of an inspection that would have gone on."""

Plans = Mapping[str, Sequence[compiler.CompiledRule]]
Data = dict[str, typing.Any]


class Incomparable(Exception):
    """Something that a run depends on is not known; the message says what."""


class PhaseEnd(typing.NamedTuple):
    """How a phase went, and the machine as it leaves it."""

    outcome: runner.Outcome
    facts: working_copy.Facts


Ends = dict[str, PhaseEnd]


class Past:
    """An inspection that is kept.

    :param find_previous: returns what had been stored before, None where
        that is not known. Called where a rule reads that and none did then.
    :raises: Incomparable where something it depends on is not kept.
    """

    def __init__(self, document: history.Document,
                 find_previous: Callable[[], Data | None]) -> None:
        self._document = document
        self._find_previous = find_previous
        if not document.get('options'):
            raise Incomparable(_('what its rules went by is not kept'))
        for phase in sorted(document['phases'].keys()
                            ^ document['facts'].keys()):
            raise Incomparable(
                _('what the phase "%s" found or did is not kept') % phase)
        self.options: str = document['options']
        self.phases = [phase for phase in model.PHASES
                       if phase in document['facts']]

    def revision(self, phase: str) -> int | None:
        """Return the revision of the rules that a phase had."""
        revision: int | None = self._document['facts'][phase].get(
            'revision', self._document['revision'])
        return revision

    def facts(self, phase: str, plans: Plans) -> working_copy.Facts:
        """Return the machine as a phase found it.

        :raises: Incomparable where rules read what is not known.
        """
        kept = self._document['facts'][phase]
        if 'previous' not in self._document and any(
                plan.reads_previous for plan in plans.get(phase, ())):
            previous = self._find_previous()
            if previous is None:
                raise Incomparable(
                    _('what had been stored before it is not known'))
            self._document['previous'] = previous
        inventory, plugin_data = (
            document_patch.apply(self._document[name], kept[name])
            for name in ('inventory', 'plugin_data'))
        return working_copy.Facts(
            inventory, plugin_data, kept['node'], tuple(kept['ports']),
            tuple(kept['port_groups']), self._document.get('previous'))

    def error(self, phase: str) -> Data | None:
        """Return what the rules of a phase ended with, as it is kept."""
        error: Data | None = self._document['facts'][phase]['error']
        return error

    @property
    def ending(self) -> Data:
        """``result``, ``error`` and ``matched`` of the run."""
        return {'result': self._document['result'],
                'error': self._document['error'],
                'matched': [rule['uuid'] for phase in model.PHASES
                            for rule in self._document['phases'].get(
                                phase, {}).get('rules', ())]}

    def again(self, plans: Plans, limits: Mapping[str, budget.Limits]
              ) -> tuple[Ends, str | None]:
        """Run the rules of its time.

        :returns: how each phase went, and what differs from what it was,
            None if nothing does.
        :raises: Incomparable where the difference may have other reasons.
        """
        ends: Ends = {}
        for phase in self.phases:
            _run(ends, plans, phase, self.facts(phase, plans), limits)
            if ends[phase].outcome.error:
                break
        found = (self._deviation(phase, end) for phase, end in ends.items())
        return ends, next(filter(None, found), None)

    def _deviation(self, phase: str, end: PhaseEnd) -> str | None:
        kept, error = self._document['phases'][phase], self.error(phase)
        text = error['text'] if error and not error['saving'] else None
        made = str(end.outcome.error) if end.outcome.error else None
        again = record.of_phase(end.outcome, 0.0)
        if text == made and _essence(kept) == _essence(again):
            return None
        if error and text != made and error['limit']:
            raise Incomparable(_('it took as long as it may'))
        if error and text != made and error['op'] == 'api-call':
            raise Incomparable(_('it ended with what was called then'))
        option = json.loads(self.options)['mask_secrets']
        if disclosure.may_show_secrets(option) and (
                disclosure.is_masked(self._document)):
            raise Incomparable(_('its rules saw secrets, which are not kept'))
        matched = {rule['uuid'] for rule in kept['rules']}
        now = {each.rule.uuid for each in end.outcome.traces if each.matched}
        found = [_('rule %s matched, and does not') % uuid
                 for uuid in sorted(matched - now)]
        found += [_('rule %s did not match, and does') % uuid
                  for uuid in sorted(now - matched)]
        if text != made:
            found.append(
                _('it ended with "%(then)s", and ends with "%(now)s"')
                % {'then': text or 'ok', 'now': made or 'ok'})
        return _('phase "%(phase)s": %(what)s') % {
            'phase': phase, 'what': '; '.join(found) or _(
                'its rules do not do the same')}


def compare(past: Past, base: Ends, plans: Plans,
            limits: Mapping[str, budget.Limits]) -> Data:
    """Run other rules on a kept inspection, and compare.

    :param base: how the phases went by the rules of its time.
    :returns: ``result``, ``error``, ``matched``, ``changes`` (how they leave
        the machine differently in the last phase that both had) and
        ``differs``, whether anything does.
    :raises: Incomparable where that depends on what is not known.
    """
    ends: Ends = {}
    before: str | None = None
    for phase in base:
        facts = past.facts(phase, plans)
        if before is not None:
            facts = _rebased(facts, base[before].facts, ends[before].facts)
        _run(ends, plans, phase, facts, limits)
        before = phase
        if ends[phase].outcome.error:
            break
    assert before is not None
    one, other = base[before], ends[before]
    changed = difference.between(one.facts, other.facts, one.facts.ports)
    kept = past.error(before)
    result, error = past.ending['result'], past.ending['error']
    failed = other.outcome.error
    if failed:
        result, error = history.FAILED, str(failed)
    elif one.outcome.error:
        result = history.OK if before == model.MAIN else UNKNOWN
        error = None
    elif kept and kept['saving'] and changed:
        result, error = UNKNOWN, None
    return {'result': result, 'error': error,
            'matched': [each.rule.uuid for end in ends.values()
                        for each in end.outcome.traces if each.matched],
            'changes': [each.with_before() for each in changed.changes],
            'differs': bool(changed) or (
                nature(one.outcome.error) != nature(failed))}


def _run(ends: Ends, plans: Plans, phase: str, facts: working_copy.Facts,
         limits: Mapping[str, budget.Limits]) -> None:
    """Run a phase after others.

    :param facts: as the phase found them.
    """
    closed = frozenset[views.Place]().union(
        *(end.facts.closed for end in ends.values()))
    facts = dataclasses.replace(facts, closed=closed)
    target = working_copy.WorkingCopy(facts)
    outcome = runner.run(plans.get(phase, ()), target, facts.scope,
                         keep=True, limits=limits[phase])
    if outcome.keeps_changes:
        facts = evaluation.after(facts, target, outcome, phase)
    ends[phase] = PhaseEnd(outcome, evaluation.closing(facts, target))


def nature(error: exceptions.RuleError | None) -> typing.Any:
    """Return what failures are compared by; names of rules do not count."""
    return error and (type(error), error.op, error.reason)


def _essence(phase: record.Record) -> typing.Any:
    """Return what the rules of a phase did, without times and reasons."""
    return json.loads(json.dumps(
        {kind: [_without_reasons(rule) for rule in phase[kind]]
         for kind in record.KINDS}, default=str))


def _without_reasons(rule: record.Record) -> record.Record:
    # A sensitive rule has no conditions, most rules have no actions with some.
    conditions = [
        (condition['op'], condition['result'])
        for condition in rule.get('conditions', ())]
    actions = [
        {**action, 'reason': None, 'conditions': [
            {**condition, 'reason': None}
            for condition in action['conditions']]}
        for action in rule.get('when', ())]
    return {**rule, 'conditions': conditions, 'when': actions}


def _rebased(facts: working_copy.Facts, one: working_copy.Facts,
             other: working_copy.Facts) -> working_copy.Facts:
    """Return the facts of a phase had the one before left other facts.

    :param facts: those of the phase where the one before left ``one``.
    """
    if one.node is None:
        return dataclasses.replace(facts, plugin_data=_merged(
            facts.plugin_data, one.plugin_data, other.plugin_data))
    ports = [{port['uuid']: port for port in each.ports}
             for each in (facts, one, other)]
    merged = _merged(*ports)
    node = _merged(facts.node, one.node, other.node)
    traits = [(each.node or {}).get(working_copy.TRAITS) or ()
              for each in (facts, one, other)]
    node[working_copy.TRAITS] = [
        *(name for name in traits[0] if name not in traits[1]
          or name in traits[2]),
        *(name for name in traits[2] if name not in (*traits[1], *traits[0]))]
    return dataclasses.replace(
        facts, node=node, ports=tuple(merged[uuid] for uuid in ports[0]),
        plugin_data=_merged(facts.plugin_data, one.plugin_data,
                            other.plugin_data))


def _merged(value: typing.Any, one: typing.Any, other: typing.Any
            ) -> typing.Any:
    """Return a value with the difference of ``other`` from ``one`` applied."""
    if data_path.same(one, other):
        return value
    if not all(isinstance(each, dict) for each in (value, one, other)):
        return other
    merged = dict(value)
    for name in {**one, **other}:
        made = _merged(*(each.get(name, data_path.ABSENT)
                         for each in (value, one, other)))
        if made is data_path.ABSENT:
            merged.pop(name, None)
        else:
            merged[name] = made
    return merged
