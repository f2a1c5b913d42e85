# SPDX-License-Identifier: Apache-2.0

"""Tables of what rules would do to many machines, to fit a terminal."""

from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
import json
from typing import Any, TextIO

from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.i18n import _P
from ironic_inspection_rules.osc import capacity
from ironic_inspection_rules.terminal import table
from ironic_inspection_rules.trial.fleet import change

_GROUPS = 20
_NAMES = 10
_CHANGES = 8
_LONGEST = 60
_LONGEST_ERROR = 200
"""An error names its rule before it says why."""

Plain = Mapping[str, Any]


def show(fleet: Plain, output: TextIO) -> None:
    """Print the tables.

    :param fleet: ``plain`` of :class:`.FleetEvaluation`.
    :param output: is where the tables have to fit.
    """
    found = fleet['summary']
    parts = [_headline(found), *_rules(found, output),
             *_gains(found, output), *_groups(fleet, output),
             *_machines(fleet), *_risks(found)]
    if 'capacity' in fleet:
        parts += capacity.lines(fleet['capacity'], {
            rule['uuid']: _rule_name(rule) for rule in found['rules']},
            output)
    output.write('\n'.join(parts) + '\n')


def _headline(found: Plain) -> str:
    line = _('%(machines)s: %(passing)s, %(failed)d would fail') % {
        'machines': _P('%d machine', '%d machines',
                       found['tried']) % found['tried'],
        'passing': _P('%d passes', '%d pass', found['ok']) % found['ok'],
        'failed': found['failed']}
    if found['differ'] is not None:
        line += '; ' + _P('%d is treated otherwise than by the rules in '
                          'force', '%d are treated otherwise than by the '
                          'rules in force', found['differ']) % found['differ']
    return line


def _rules(found: Plain, output: TextIO) -> Iterator[str]:
    rules = found['rules']
    if not rules:
        return
    audited = any(rule['audited'] for rule in rules)
    columns = [_('Rule'), _('Phase'), _('Matches'), _('Failures'),
               _('Errors'), *([_('Audited')] if audited else [])]
    yield table.render(columns, [
        [_rule_name(rule), rule['phase'] or '', rule['matched'],
         rule['failed'], rule['errors'],
         *([rule['audited']] if audited else [])] for rule in rules], output)


def _gains(found: Plain, output: TextIO) -> Iterator[str]:
    kinds = {'traits': _('trait'), 'resource_classes': _('resource class'),
             'capabilities': _('capability')}
    rows = []
    for kind in change.KINDS:
        gained, lost = found[kind]['gained'], found[kind]['lost']
        for name in dict.fromkeys((*gained, *lost)):
            rows.append([kinds[kind], name, gained.get(name, 0),
                         lost.get(name, 0)])
    if rows:
        yield table.render([_('What'), _('Name'), _('Gained by'),
                            _('Lost by')], rows, output)


def _groups(fleet: Plain, output: TextIO) -> Iterator[str]:
    """Show the largest groups of machines that are treated alike."""
    groups = fleet['summary']['groups']
    names = {node['uuid']: node['name'] or node['uuid']
             for node in fleet['nodes']}
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
        name = node['name'] or node['uuid']
        if node['result'] == 'failed':
            yield _('%(name)s would fail: %(error)s') % {
                'name': name,
                'error': _short(node['error'] or '', _LONGEST_ERROR)}
        elif node['result'] == 'ok':
            yield _('%(name)s passes and would have %(what)s%(same)s') % {
                'name': name, 'what': _had_afterwards(node),
                'same': '' if node['changes'] else _(', as it has now')}


def _had_afterwards(node: Plain) -> str:
    """Return the class and the traits that a node would have."""
    differences = change.differences(node['changes'], node, compared=False)
    before = {change.RESOURCE_CLASS: [node.get('resource_class')],
              change.TRAIT: node.get('traits') or ()}
    found = {}
    for kind, names in before.items():
        different = differences[kind]
        found[kind] = sorted(different.gained | {
            name for name in names if name} - different.lost)
    [resource_class] = found[change.RESOURCE_CLASS] or [None]
    traits = found[change.TRAIT]
    return ' '.join([
        _('resource class %s and') % resource_class if resource_class
        else _('no resource class and'),
        _('traits %s') % ', '.join(traits) if traits else _('no traits')])


def _of_group(group: Plain) -> Iterator[str]:
    if group['error']:
        yield _('fails: %s') % _short(group['error'], _LONGEST_ERROR)
    for each in group['changes'][:_CHANGES]:
        yield _of_change(each)
    left = len(group['changes']) - _CHANGES
    if left > 0:
        yield _P('and %d more change', 'and %d more changes', left) % left
    if not group['changes'] and not group['error']:
        yield _('passes, nothing changes')


def _of_change(each: Plain) -> str:
    where = (each['path'] if each['object'] == 'node'
             else f'{each["object"]} {each["path"]}')
    if each['object'] == 'traits':
        sign = '-' if each['op'] == 'remove' else '+'
        return f'{sign} {each["path"][1:]}'
    if each['op'] == 'remove':
        return f'- {where}'
    value = (_('(one of its own each)') if each.get('varies')
             else _short(json.dumps(each['value'], ensure_ascii=False)))
    return f'{"+" if each["op"] == "add" else "~"} {where} = {value}'


def _risks(found: Plain) -> Iterator[str]:
    for title, nodes in (
            (_('Instances that would no longer validate: %s'),
             found['invalid_instances']),
            (_('No rule matches: %s'), found['unmatched']),
            (_('Not tried, as nothing is known of them: %s'),
             found['not_tried'])):
        if nodes:
            yield title % _named(nodes)


def _named(nodes: list[Plain]) -> str:
    names: Iterable[str] = (node['name'] or str(node['uuid'])
                            for node in nodes[:_NAMES])
    text = ', '.join(names)
    if len(nodes) > _NAMES:
        text += _(' and %d more') % (len(nodes) - _NAMES)
    return f'{len(nodes)} ({text})'


def _rule_name(rule: Plain) -> str:
    return rule['description'] or rule['uuid'] or _('(unknown)')


def _short(text: str, longest: int = _LONGEST) -> str:
    return text if len(text) <= longest else text[:longest] + '…'
