# SPDX-License-Identifier: Apache-2.0

"""Rules tried on many machines, for ``evaluate --nodes``."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
import itertools
import json
import os.path
from typing import Any

from osc_lib import exceptions as osc_exceptions
from oslo_utils import timeutils

from ironic_inspection_rules.client import fleet
from ironic_inspection_rules.client import inspection_rule
from ironic_inspection_rules.engine import model
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.osc import capacity as capacity_options
from ironic_inspection_rules.osc import command
from ironic_inspection_rules.osc import fleet_tables
from ironic_inspection_rules.osc import node_selection
from ironic_inspection_rules.osc import parallel
from ironic_inspection_rules.osc import rule_files
from ironic_inspection_rules.report.pages import fleet as page
from ironic_inspection_rules.rule_file import file_rule
from ironic_inspection_rules.rule_file import yaml_text
from ironic_inspection_rules.trial.fleet import capacity
from ironic_inspection_rules.trial.fleet import flavor
from ironic_inspection_rules.trial.fleet import summary

EXIT_ERROR = 1
EXIT_DIFFERENT = 2

_BEFORE = ('traits', 'resource_class')
_SHOWN = ('uuid', 'description', 'phase', 'priority', 'mode')

Plain = dict[str, Any]


def add_arguments(parser: Any) -> None:
    """Add the options for many machines to ``evaluate``."""
    node_selection.add_argument(
        parser, '--nodes', _('Try the rules on many machines. %s'),
        action='extend')
    # Without a default: whether it was said matters.
    compare = parser.add_mutually_exclusive_group()
    compare.add_argument(
        '--compare', action='store_true', default=None,
        help=_('With --nodes, show only what the rules of --rules do '
               'otherwise than those in force; that is the default'))
    compare.add_argument(
        '--no-compare', action='store_false', dest='compare',
        help=_('With --nodes, show all that the rules of --rules do'))
    parser.add_argument(
        '--report', metavar='<file>',
        help=_('With --nodes, write a page that shows all of it'))
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
    if parsed_args.compare and not parsed_args.rules:
        raise osc_exceptions.CommandError(
            _('--compare needs --rules: without them the rules in force are '
              'tried'))
    command.check_report(parsed_args.report)


def run(caller: Any, parsed_args: Any) -> int:
    """Carry out ``evaluate --nodes``."""
    files = rule_files.load(parsed_args.rules or [], caller.app.stderr)
    flavors = capacity_options.load(
        caller, parsed_args.flavors) if parsed_args.flavors else []
    selection = node_selection.NodeSelection.parse(parsed_args.nodes)
    baremetal = caller.baremetal
    with parallel.interruptible(caller.app.stderr, _(
            'Interrupted; nothing was changed')):
        with rule_files.explained(baremetal, files):
            in_force = list(inspection_rule.inspection_rules(baremetal))
            found, fleet_sum = _evaluate(baremetal, selection, files,
                                         in_force, flavors, parsed_args)
    if found['compared']:
        rule_files.warn_of_left_out(files, in_force, caller.app.stderr)
    if parsed_args.report:
        with open(parsed_args.report, 'w', encoding='utf-8') as stream:
            stream.write(page.render(found))
    if parsed_args.format == 'table':
        fleet_tables.show(found, caller.app.stdout)
        if parsed_args.report:
            caller.app.stdout.write(
                _('The whole of it: %s\n') % parsed_args.report)
    elif parsed_args.format == 'yaml':
        caller.app.stdout.write(yaml_text.dump(
            found, Dumper=yaml_text.FastDumper))
    else:
        json.dump(found, caller.app.stdout, indent=2)
        caller.app.stdout.write('\n')
    # A machine of which nothing is known is no error, unless there is no
    # other.
    if fleet_sum.errors or (fleet_sum.machines and not fleet_sum.tried):
        return EXIT_ERROR
    different = (fleet_sum.differ if fleet_sum.compared
                 else fleet_sum.results[summary.FAILED])
    return EXIT_DIFFERENT if different else 0


def tried(baremetal: Any, nodes: Sequence[Plain], threads: parallel.Requests,
          both: bool = False, **asked: Any
          ) -> Iterator[tuple[Plain, Plain]]:
    """Try rules on nodes, page by page.

    :param both: ask twice where a comparison is asked for.
    :param asked: what :func:`.fleet.evaluate_page` is given besides.
    :returns: of each node its entry and, with ``both``, the one of an
        evaluation that does not compare.
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
              files: file_rule.RuleFiles, in_force: Sequence[Plain],
              flavors: Sequence[flavor.Flavor], parsed_args: Any
              ) -> tuple[Plain, summary.Summary]:
    """Return all that is known, as plain JSON data, and the sum of it."""
    rules = None
    compared = False
    title = _('The rules in force')
    if parsed_args.rules:
        rules = rule_files.with_uuids(files.rules, in_force)
        compared = parsed_args.compare is not False
        title = ', '.join(map(os.path.basename, parsed_args.rules))
        if compared:
            title = _('%s compared with the rules in force') % title
    shown = [{name: model.DEFAULTS.get(name) if rule.get(name) is None
              else rule[name] for name in _SHOWN}
             for rule in (in_force if rules is None else rules)
             if isinstance(rule, Mapping) and parsed_args.phase in (
                 None, rule.get('phase') or model.MAIN)]
    made = summary.Summary(shown, compared)
    counted = capacity.Capacity(flavors)
    nodes = list(selection.nodes(baremetal, *_BEFORE, 'properties', *(
        capacity.FIELDS if flavors else ())))
    entries = []
    with parallel.Requests(parsed_args.jobs) as threads:
        for node, (entry, plain) in zip(nodes, tried(
                baremetal, nodes, threads, bool(flavors), rules=rules,
                phase=parsed_args.phase, compare=compared), strict=True):
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
