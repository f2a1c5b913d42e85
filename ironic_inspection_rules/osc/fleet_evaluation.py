# SPDX-License-Identifier: Apache-2.0

"""Rules tried on many machines, for ``evaluate --nodes``."""

import collections
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
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
from ironic_inspection_rules.i18n import _P
from ironic_inspection_rules.osc import capacity as capacity_options
from ironic_inspection_rules.osc import fleet_tables
from ironic_inspection_rules.osc import node_selection
from ironic_inspection_rules.osc import parallel
from ironic_inspection_rules.osc import rule_files
from ironic_inspection_rules.report.pages import fleet as page
from ironic_inspection_rules.rule_file import origin
from ironic_inspection_rules.rule_file import yaml_text
from ironic_inspection_rules.trial.fleet import capacity
from ironic_inspection_rules.trial.fleet import flavor
from ironic_inspection_rules.trial.fleet import summary

EXIT_ERROR = 1
EXIT_DIFFERENT = 2

_BEFORE = ('traits', 'resource_class')
_SHOWN = ('uuid', 'description', 'phase', 'priority', 'mode')
_DEFAULTS = {'phase': model.MAIN, 'priority': 0, 'mode': model.ENFORCE}

Plain = dict[str, Any]


@dataclasses.dataclass(frozen=True)
class FleetEvaluation:
    """The result of trying rules on many machines.

    :ivar plain: all that is known, as plain JSON data: what the page shows.
    :ivar left_out: number of built-in rules that are compared with and that
        the rules lack.
    """

    plain: Plain
    summary: summary.Summary
    left_out: int

    @property
    def status(self) -> int:
        """The status that the command ends with.

        A machine of which nothing is known is no error, unless there is no
        other.
        """
        if self.summary.errors or (
                self.summary.machines and not self.summary.tried):
            return EXIT_ERROR
        different = (self.summary.differ if self.summary.compared
                     else self.summary.results[summary.FAILED])
        return EXIT_DIFFERENT if different else 0


def add_arguments(parser: Any) -> None:
    """Add the options for many machines to ``evaluate``."""
    parser.add_argument(
        '--nodes', metavar=node_selection.METAVAR, nargs='*',
        action='extend',
        help=_('Try the rules on many machines. %s') % node_selection.HELP)
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
    if parsed_args.report and not os.path.isdir(
            os.path.dirname(parsed_args.report) or '.'):
        raise osc_exceptions.CommandError(
            _('There is no directory for %s') % parsed_args.report)


def run(command: Any, parsed_args: Any) -> int:
    """Carry out ``evaluate --nodes``.

    :returns: what the command ends with.
    """
    files = rule_files.load(parsed_args.rules or [], command.app.stderr)
    flavors = capacity_options.load(
        command, parsed_args.flavors) if parsed_args.flavors else []
    selection = node_selection.NodeSelection.parse(parsed_args.nodes)
    baremetal = command.baremetal
    with parallel.interruptible(command.app.stderr, _(
            'Interrupted; nothing was changed')):
        with rule_files.explained(baremetal, files):
            found = _evaluate(baremetal, selection, files, flavors,
                              parsed_args)
    if found.left_out:
        command.app.stderr.write(
            _P('Warning: %d built-in rule is in force, and the files do not '
               'have it: what it does counts as a difference\n',
               'Warning: %d built-in rules are in force, and the files do '
               'not have them: what they do counts as a difference\n',
               found.left_out) % found.left_out)
    if parsed_args.report:
        with open(parsed_args.report, 'w', encoding='utf-8') as stream:
            stream.write(page.render(found.plain))
    if parsed_args.format == 'table':
        fleet_tables.show(found.plain, command.app.stdout)
        if parsed_args.report:
            command.app.stdout.write(
                _('The whole of it: %s\n') % parsed_args.report)
    elif parsed_args.format == 'yaml':
        command.app.stdout.write(yaml_text.dump(
            found.plain, Dumper=yaml_text.FastDumper))
    else:
        json.dump(found.plain, command.app.stdout, indent=2)
        command.app.stdout.write('\n')
    return found.status


def tried(baremetal: Any, nodes: Sequence[Plain], threads: parallel.Requests,
          both: bool = False, **asked: Any
          ) -> Iterator[tuple[Plain, Plain]]:
    """Try rules on nodes, page by page.

    :param nodes: each with its ``uuid``.
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
              files: origin.RuleFiles, flavors: Sequence[flavor.Flavor],
              parsed_args: Any) -> FleetEvaluation:
    in_force = list(inspection_rule.inspection_rules(baremetal))
    rules = None
    compared = False
    if parsed_args.rules:
        rules = _with_uuids(files.rules, in_force)
        compared = parsed_args.compare is not False
    shown = [_shown(rule) for rule in (in_force if rules is None else rules)
             if isinstance(rule, Mapping)
             and parsed_args.phase in (None, _phase(rule))]
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
    return FleetEvaluation({
        'made': timeutils.utcnow(with_timezone=True).isoformat(
            timespec='seconds'),
        'title': _title(parsed_args.rules, compared), 'compared': compared,
        'filters': selection.filters, 'rules': shown, 'nodes': entries,
        'summary': made.as_dict(),
        **({'capacity': counted.as_list()} if flavors else {})}, made,
        _left_out(in_force, shown) if compared else 0)


def _with_uuids(rules: Iterable[Any], in_force: Sequence[Plain]
                ) -> list[Any]:
    """Return rules that have a UUID each, the same one on each page.

    It is that of the rule in force whose place ``apply`` would have it take.
    """
    rules = list(rules)
    written = collections.Counter(
        rule.get('description') for rule in rules
        if isinstance(rule, Mapping))
    stored: dict[Any, list[str]] = {}
    for rule in in_force:
        if not rule['built_in']:
            stored.setdefault(rule['description'], []).append(rule['uuid'])
    named = []
    for rule in rules:
        if isinstance(rule, Mapping) and not rule.get('uuid'):
            description = rule.get('description')
            same = stored.get(description, [])
            if description and written[description] == 1 == len(same):
                rule = {**rule, 'uuid': same[0]}
            else:
                rule = fleet.with_uuids([rule])[0]
        named.append(rule)
    return named


def _left_out(in_force: Sequence[Plain], shown: Sequence[Plain]) -> int:
    given = {rule['uuid'] for rule in shown}
    return sum(rule['built_in'] and rule['uuid'] not in given
               for rule in in_force)


def _shown(rule: Mapping[str, Any]) -> Plain:
    return {name: _DEFAULTS.get(name) if rule.get(name) is None
            else rule[name] for name in _SHOWN}


def _phase(rule: Mapping[str, Any]) -> Any:
    return rule.get('phase') or _DEFAULTS['phase']


def _title(paths: Sequence[str] | None, compared: bool) -> str:
    if not paths:
        return _('The rules in force')
    names = ', '.join(map(os.path.basename, paths))
    if compared:
        return _('%s compared with the rules in force') % names
    return names
