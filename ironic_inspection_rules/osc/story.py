# SPDX-License-Identifier: Apache-2.0

"""Runs of rules as lines for people."""

from collections.abc import Iterable
from collections.abc import Iterator
import json
from typing import Any

from osc_lib import exceptions as osc_exceptions

from ironic_inspection_rules.client import inspection_run
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.i18n import _P

PHASES = ('early', 'preprocess', 'main')

COUNTS = ('uuid', 'description', 'mode', 'runs', 'matched', 'failed',
          'last_matched_at')
ALL_COUNTS = ('uuid', 'description', 'phase', 'mode', 'runs', 'matched',
              'failed', 'audited', 'seconds', 'last_matched_at',
              'last_matched_node', 'since')

_MASK = '******'
"""The API shows this in place of a secret."""

_LONGEST = 60
"""Characters of a value that a line shows."""


def last_run(baremetal, node: str) -> dict[str, Any]:
    """Return the last run of a node, in brief.

    :raises: CommandError if none is kept.
    """
    for run in inspection_run.inspection_runs(baremetal, node, limit=1):
        return run
    raise osc_exceptions.CommandError(
        _('No inspection of node %s is kept') % node)


def of_phase(phase: dict[str, Any]) -> Iterator[str]:
    """Return what the rules of a phase did."""
    for title, rules in ((_('undone: %s'), phase['reverted']),
                         ('%s', phase['rules']),
                         (_('audit: %s'), phase['audit'])):
        for rule in rules:
            yield title % name(rule)
            yield from ('  ' + line for line in _of_rule(rule))
            if rule.get('error'):
                yield '  ' + _('would fail: %s') % rule['error']
    if phase.get('left_out'):
        yield _P('%d more change', '%d more changes',
                 phase['left_out']) % phase['left_out']
    if not phase['saved']:
        yield _('Nothing of this was saved.')


def _of_rule(rule: dict[str, Any]) -> Iterator[str]:
    """Return why a rule was carried out, and what it did."""
    if 'changes' not in rule:
        # It is sensitive.
        return
    yield from _because(rule.get('conditions') or ())
    yield from _asked(rule)
    changes = [*rule['changes'], *rule.get('confirmed', ())]
    yield from map(of_change, changes)
    if not changes:
        yield _('it changed nothing')


def _because(conditions: Iterable[dict[str, Any]]) -> Iterator[str]:
    for condition in conditions:
        reason = f' ({condition["reason"]})' if condition['reason'] else ''
        result = condition['result']
        yield _('because %(op)s: %(result)s%(reason)s') % {
            'op': condition['op'], 'reason': reason, 'result':
            _('undecided') if result is None else str(result).lower()}


def _asked(told: dict[str, Any]) -> Iterator[str]:
    """Yield sentences about the conditions of actions."""
    for action in told.get('when', ()):
        yield (_('%s was carried out') if action['ran']
               else _('%s was not carried out')) % action['action']
        for each in action['conditions']:
            reason = f' ({each["reason"]})' if each['reason'] else ''
            yield '  ' + _('when %(op)s: %(true)d times true, %(false)d '
                           'times false%(reason)s') % {
                **each, 'reason': reason}


def of_run(run: dict[str, Any]) -> Iterator[str]:
    """Return all that rules did in a run."""
    yield _in_run(run)
    for phase in PHASES:
        if phase in run['phases']:
            yield _('phase %s') % phase
            lines = list(of_phase(run['phases'][phase])) or [_('nothing')]
            yield from ('  ' + line for line in lines)
    if run['error']:
        yield _('It failed: %s') % run['error']


def _in_run(run: dict[str, Any]) -> str:
    return _('in run %(uuid)s of %(when)s (%(event)s, %(result)s)') % {
        'uuid': run['uuid'], 'when': run['created_at'],
        'event': run['event'], 'result': run['result']}


def of_answer(answer: dict[str, Any]) -> Iterator[str]:
    """Return who set a value, and why."""
    rule = answer['rule']
    if answer['action'] is None:
        yield _('set by the sensitive rule %s; what it does is not told') % (
            name(rule))
        yield _in_run(answer['run'])
        return
    yield of_change(answer)
    yield _('by rule %(rule)s, as of revision %(revision)s, phase '
            '%(phase)s, action %(action)s') % {
        'rule': name(rule), 'revision': answer['revision'],
        'phase': answer['phase'], 'action': answer['action']}
    yield _in_run(answer['run'])
    if not answer['conditions']:
        yield _('because the rule has no conditions')
    yield from _because(answer['conditions'])
    yield from _asked(answer)
    if answer['current'] is False:
        yield _('Now it is %s: something else has changed it since, no rule '
                'of the runs that are kept.') % _short(
                    answer['current_value'])
    if answer['sensitive_rules']:
        yield _('Sensitive rules ran later; what they change is not '
                'recorded: %s') % ', '.join(answer['sensitive_rules'])


def of_rule(answer: dict[str, Any]) -> Iterator[str]:
    """Return what became of a rule in a run."""
    yield (_('rule %s matched') if answer['matched']
           else _('rule %s did not match')) % name(answer['rule'])
    yield _in_run(answer['run'])
    if answer['decided_again']:
        yield _('Decided again, on the data of that run and the node as it '
                'is now:')
    yield from _because(answer['conditions'] or ())
    yield from _asked(answer)
    yield from map(of_change, answer['changes'])
    if answer['matched'] and answer['conditions'] is not None and not (
            answer['changes']):
        yield _('it changed nothing')
    if answer['mode'] == 'audit':
        yield _('Its mode is "audit": nothing of this was carried out.')
    if answer['error']:
        yield _('would fail: %s') % answer['error']
    if answer['reason']:
        yield answer['reason']


def of_change(change: dict[str, Any]) -> str:
    """Return one change."""
    where = change['object'] + change['path']
    if change['object'] == 'node':
        where = change['path']
    if change['object'] == 'traits':
        where = _('trait %s') % change['path'][1:]
        if change['op'] == 'add' and change['before'] is not None:
            return _('%s: was there already') % where
        return f'{where}: {_VERBS[change["op"]]}'
    if change['op'] == 'remove':
        return _('%(where)s: %(before)s removed') % {
            'where': where, 'before': _short(change['before'])}
    if change['op'] == 'add':
        return f'{where}: {_short(change["after"])}'
    if (change['before'] == change['after']
            and _MASK not in str(change['after'])):
        return _('%(where)s: %(after)s, as it was already') % {
            'where': where, 'after': _short(change['after'])}
    return f'{where}: {_short(change["before"])} → {_short(change["after"])}'


_VERBS = {'add': _('added'), 'remove': _('removed')}


def name(rule: dict[str, Any]) -> str:
    """Return the UUID of a rule, with its description if that is shown."""
    if rule.get('description'):
        return f'{rule["uuid"]} ({rule["description"]})'
    return rule['uuid']


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _LONGEST else text[:_LONGEST] + '…'
