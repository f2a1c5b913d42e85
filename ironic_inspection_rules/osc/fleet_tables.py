# SPDX-License-Identifier: Apache-2.0

"""Tables of what rules would do to many machines, to fit a terminal."""

from collections.abc import Iterator, Mapping
import json
from typing import Any, TextIO

from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.i18n import _P
from ironic_inspection_rules.osc import capacity
from ironic_inspection_rules.osc import command
from ironic_inspection_rules.terminal import table
from ironic_inspection_rules.trial.fleet import summary

_GROUPS = 20
_NAMES = 10
_CHANGES = 8
_LONGEST_ERROR = 200
"""An error names its rule before it says why."""

Plain = Mapping[str, Any]


def show(fleet: Plain, output: TextIO) -> None:
    """Print the tables.

    :param fleet: all that is known, as the page shows it.
    """
    found = fleet['summary']
    line = _('%(machines)s: %(passing)s, %(failed)d would fail') % {
        'machines': _P('%d machine', '%d machines',
                       found['tried']) % found['tried'],
        'passing': _P('%d passes', '%d pass', found['ok']) % found['ok'],
        'failed': found['failed']}
    if found['differ'] is not None:
        line += '; ' + _P('%d is treated otherwise than by the rules in '
                          'force', '%d are treated otherwise than by the '
                          'rules in force', found['differ']) % found['differ']
    parts = [line, *_counts(found, output), *_groups(fleet, output),
             *_machines(fleet)]
    for title, nodes in (
            (_('Instances that would no longer validate: %s'),
             found['invalid_instances']),
            (_('No rule matches: %s'), found['unmatched']),
            (_('Not tried, as nothing is known of them: %s'),
             found['not_tried'])):
        if nodes:
            names = ', '.join(_name(node) for node in nodes[:_NAMES])
            if len(nodes) > _NAMES:
                names += _(' and %d more') % (len(nodes) - _NAMES)
            parts.append(title % f'{len(nodes)} ({names})')
    if 'capacity' in fleet:
        parts += capacity.lines(fleet['capacity'], {
            rule['uuid']: _rule_name(rule) for rule in found['rules']},
            output)
    output.write('\n'.join(parts) + '\n')


def _counts(found: Plain, output: TextIO) -> Iterator[str]:
    """Show what each rule did, and what machines gain and lose."""
    rules = found['rules']
    audited = any(rule['audited'] for rule in rules)
    if rules:
        yield table.render(
            [_('Rule'), _('Phase'), _('Matches'), _('Failures'), _('Errors'),
             *([_('Audited')] if audited else [])],
            [[_rule_name(rule), rule['phase'] or '', rule['matched'],
              rule['failed'], rule['errors'],
              *([rule['audited']] if audited else [])] for rule in rules],
            output)
    titles = {summary.TRAIT: _('trait'),
              summary.RESOURCE_CLASS: _('resource class'),
              summary.CAPABILITY: _('capability')}
    rows = [[titles[kind], name, gained.get(name, 0), lost.get(name, 0)]
            for kind in summary.KINDS
            for gained, lost in [(found[kind]['gained'], found[kind]['lost'])]
            for name in dict.fromkeys((*gained, *lost))]
    if rows:
        yield table.render([_('What'), _('Name'), _('Gained by'),
                            _('Lost by')], rows, output)


def _groups(fleet: Plain, output: TextIO) -> Iterator[str]:
    """Show the largest groups of machines that are treated alike."""
    groups = fleet['summary']['groups']
    names = {node['uuid']: _name(node) for node in fleet['nodes']}
    if groups:
        yield table.render(
            [_('Machines'), _('Such as'), _('What becomes of them')],
            [[group['count'], names[group['nodes'][0]],
              '\n'.join(_of_group(group))] for group in groups[:_GROUPS]],
            output)
    if len(groups) > _GROUPS:
        left = len(groups) - _GROUPS
        yield _P('and %d more group, see --report or -f json',
                 'and %d more groups, see --report or -f json', left) % left


def _machines(fleet: Plain) -> Iterator[str]:
    """Return a line for each machine, where there are few."""
    nodes = fleet['nodes']
    if fleet['compared'] or len(nodes) > _NAMES:
        return
    for node in nodes:
        if node['result'] == 'failed':
            yield _('%(name)s would fail: %(error)s') % {
                'name': _name(node),
                'error': command.cut(node['error'] or '', _LONGEST_ERROR)}
        if node['result'] != 'ok':
            continue
        found = summary.differences(node['changes'], node, compared=False)
        traits = found[summary.TRAIT].after
        classes = found[summary.RESOURCE_CLASS].after
        yield _('%(name)s passes and would have %(class)s and %(traits)s'
                '%(same)s') % {
            'name': _name(node),
            'class': _('resource class %s') % ', '.join(classes) if classes
            else _('no resource class'),
            'traits': _('traits %s') % ', '.join(sorted(traits)) if traits
            else _('no traits'),
            'same': '' if node['changes'] else _(', as it has now')}


def _of_group(group: Plain) -> Iterator[str]:
    if group['error']:
        yield _('fails: %s') % command.cut(group['error'], _LONGEST_ERROR)
    for each in group['changes'][:_CHANGES]:
        name = each['path'][1:]
        where = (each['path'] if each['object'] == 'node'
                 else f'{each["object"]} {each["path"]}')
        if each['object'] == 'traits':
            yield f'{"-" if each["op"] == "remove" else "+"} {name}'
        elif each['op'] == 'remove':
            yield f'- {where}'
        else:
            value = (_('(one of its own each)') if each.get('varies')
                     else command.cut(json.dumps(each['value'],
                                            ensure_ascii=False)))
            yield f'{"+" if each["op"] == "add" else "~"} {where} = {value}'
    left = len(group['changes']) - _CHANGES
    if left > 0:
        yield _P('and %d more change', 'and %d more changes', left) % left
    if not group['changes'] and not group['error']:
        yield _('passes, nothing changes')


def _name(node: Plain) -> str:
    return str(node['name'] or node['uuid'])


def _rule_name(rule: Plain) -> str:
    return rule['description'] or rule['uuid'] or _('(unknown)')
