# SPDX-License-Identifier: Apache-2.0

"""Rules tried on many machines, for ``evaluate --nodes``."""

from collections.abc import Iterable, Iterator, Sequence
import itertools
import json
import os.path
from typing import Any, TextIO

from osc_lib import exceptions as osc_exceptions
from oslo_utils import timeutils

from ironic_inspection_rules.engine.language import model
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.i18n import _P
from ironic_inspection_rules.kit.client import fleet
from ironic_inspection_rules.kit.client import inspection_rule
from ironic_inspection_rules.kit.command import arguments
from ironic_inspection_rules.kit.osc import capacity as capacity_options
from ironic_inspection_rules.kit.osc import command
from ironic_inspection_rules.kit.osc import node_selection
from ironic_inspection_rules.kit.osc import parallel
from ironic_inspection_rules.kit.osc import rule_files
from ironic_inspection_rules.kit.report.pages import fleet as page
from ironic_inspection_rules.kit.terminal import table
from ironic_inspection_rules.kit.trial.fleet import capacity
from ironic_inspection_rules.kit.trial.fleet import flavor
from ironic_inspection_rules.kit.trial.fleet import summary
from ironic_inspection_rules.rule_file import file_set
from ironic_inspection_rules.rule_file import yaml_text

EXIT_ERROR = 1
EXIT_DIFFERENT = 2

_GROUPS = 20
_NAMES = 10
_CHANGES = 8
_LONGEST_ERROR = 200
"""An error names its rule before it gives the reason."""

_BEFORE = ('traits', 'resource_class')
_SHOWN = ('uuid', 'description', 'phase', 'priority', 'mode')

Plain = dict[str, Any]


def add_arguments(parser: Any) -> None:
    """Add the options for many machines to ``evaluate``."""
    node_selection.add_argument(
        parser, '--nodes', _('Try the rules on many machines. %s'),
        action='extend')
    # No default: None shows that neither option was given.
    compare = parser.add_mutually_exclusive_group()
    compare.add_argument(
        '--compare', action='store_true', default=None,
        help=_('With --nodes and --rules, show only what differs from the '
               'results of the rules in force; this is the default'))
    compare.add_argument(
        '--no-compare', action='store_false', dest='compare',
        help=_('With --nodes and --rules, show everything that rules do'))
    parser.add_argument(
        '--report', metavar='<file>', type=arguments.new_file,
        help=_('With --nodes, write a page with the whole result'))
    capacity_options.add_argument(parser)
    parallel.add_jobs(parser)


def check(parsed_args: Any) -> None:
    """Refuse options that do not go together.

    :raises: CommandError.
    """
    many = parsed_args.nodes is not None
    if many and (parsed_args.node or parsed_args.inventory):
        raise osc_exceptions.CommandError(
            _('--nodes is for machines that Ironic knows; leave out --node '
              'and --inventory'))
    if not many and (parsed_args.report or parsed_args.flavors
                     or parsed_args.compare is not None):
        raise osc_exceptions.CommandError(
            _('--report, --flavors, --compare and --no-compare need --nodes'))
    if parsed_args.prune and not parsed_args.rules:
        raise osc_exceptions.CommandError(
            _('--prune needs --rules, which would be the whole rule set'))
    if parsed_args.compare and not parsed_args.rules:
        raise osc_exceptions.CommandError(
            _('--compare needs --rules: without them the rules in force are '
              'tried'))


def run(caller: Any, parsed_args: Any) -> int:
    """Run ``evaluate --nodes``."""
    files = rule_files.load(parsed_args.rules or [], caller.app.stderr)
    flavors = capacity_options.load(
        caller, parsed_args.flavors) if parsed_args.flavors else []
    selection = node_selection.NodeSelection.parse(parsed_args.nodes)
    baremetal = caller.baremetal
    with parallel.interruptible(caller.app.stderr, _(
            'Interrupted; nothing was changed')):
        with rule_files.explained(baremetal, files):
            in_force = list(inspection_rule.inspection_rules(
                baremetal, details=bool(files.rules)))
            found, fleet_sum = _evaluate(baremetal, selection, files,
                                         in_force, flavors, parsed_args)
    if parsed_args.report:
        arguments.write(parsed_args.report, page.render(found),
                        caller.app.stdout)
    output = arguments.beside(parsed_args.report, caller.app.stdout)
    if parsed_args.format == 'table':
        _show(found, output)
        if parsed_args.report:
            output.write(
                _('The whole of it: %s\n') % parsed_args.report)
    elif parsed_args.format == 'yaml':
        output.write(yaml_text.dump(
            found, Dumper=yaml_text.FastDumper))
    else:
        output.write(json.dumps(found, indent=2) + '\n')
    # Machines without data are an error only if no machine has any.
    if fleet_sum.errors or (fleet_sum.machines and not fleet_sum.tried):
        return EXIT_ERROR
    different = (fleet_sum.differ if fleet_sum.compared
                 else fleet_sum.results[summary.FAILED])
    return EXIT_DIFFERENT if different else 0


def tried(baremetal: Any, nodes: Sequence[Plain], threads: parallel.Requests,
          both: bool = False, **asked: Any
          ) -> Iterator[tuple[Plain, Plain]]:
    """Try rules on nodes, page by page.

    :param both: if a comparison is asked for, evaluate without it as well.
    :param asked: further arguments of :func:`.fleet.evaluate_page`.
    :returns: for each node its entry and the one without a comparison.
    """
    def ask(uuids: Sequence[str]) -> Iterable[tuple[Plain, Plain]]:
        found = fleet.evaluate_page(baremetal, uuids, **asked)['nodes']
        plain = fleet.evaluate_page(baremetal, uuids, **{
            **asked, 'compare': False})['nodes'] if (
                both and asked.get('compare')) else found
        return zip(found, plain, strict=True)

    uuids = [node['uuid'] for node in nodes]
    pages = [uuids[start:start + fleet.PAGE]
             for start in range(0, len(uuids), fleet.PAGE)]
    return itertools.chain.from_iterable(threads.each(
        ask, pages, _('Trying'), weigh=len))


def _evaluate(baremetal: Any, selection: node_selection.NodeSelection,
              files: file_set.RuleFiles, in_force: Sequence[Plain],
              flavors: Sequence[flavor.Flavor], parsed_args: Any
              ) -> tuple[Plain, summary.Summary]:
    """Return the whole result as plain JSON data, and its summary."""
    rules = None
    compared = False
    title = _('The rules in force')
    tried_rules: Sequence[rule_files.Rule] = in_force
    if parsed_args.rules:
        rules = rule_files.with_uuids(files.rules, in_force)
        tried_rules = rule_files.among(rules, in_force, parsed_args.prune)
        compared = parsed_args.compare is not False
        title = ', '.join(map(os.path.basename, parsed_args.rules))
        if compared:
            title = _('%s compared with the rules in force') % title
    shown = [{name: model.DEFAULTS.get(name) if rule.get(name) is None
              else rule[name] for name in _SHOWN}
             for rule in tried_rules if parsed_args.phase in (
                 None, rule.get('phase') or model.MAIN)]
    made = summary.Summary(shown, compared)
    counted = capacity.Capacity(flavors)
    nodes = selection.matching(baremetal, *_BEFORE, 'properties', *(
        capacity.FIELDS if flavors else ()))
    entries = []
    with parallel.Requests(parsed_args.jobs) as threads:
        for node, (entry, plain) in zip(nodes, tried(
                baremetal, nodes, threads, bool(flavors), rules=rules,
                prune=parsed_args.prune, phase=parsed_args.phase,
                compare=compared, tables=files.tables.entries), strict=True):
            made.add(entry, node)
            counted.add(plain, node)
            entries.append({**entry, **{
                name: node.get(name) for name in _BEFORE}})
    return {
        'made': timeutils.utcnow(with_timezone=True).isoformat(
            timespec='seconds'),
        'title': title, 'compared': compared,
        'filters': selection.filters, 'rules': shown, 'nodes': entries,
        'summary': made.as_dict(),
        **({'capacity': counted.as_list()} if flavors else {})}, made


def _show(fleet: Plain, output: TextIO) -> None:
    """Print what the page of --report shows, as tables."""
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
            names = capacity_options.first(list(map(_name, nodes)), _NAMES)
            parts.append(title % f'{len(nodes)} ({names})')
    if 'capacity' in fleet:
        parts += capacity_options.lines(fleet['capacity'], {
            rule['uuid']: _rule_name(rule) for rule in found['rules']},
            output)
    output.write('\n'.join(parts) + '\n')


def _counts(found: Plain, output: TextIO) -> Iterator[str]:
    """Return tables of what rules did, and what machines gain and lose."""
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
    """Return a table of the largest groups of machines treated alike."""
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
    """Return a line for each machine if there are few."""
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
