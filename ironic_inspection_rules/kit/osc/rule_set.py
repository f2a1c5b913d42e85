# SPDX-License-Identifier: Apache-2.0

"""``openstack baremetal inspection rule``: the rule set as a whole."""

from collections.abc import Sequence
import dataclasses
import itertools
import json
import sys
from typing import Any

from osc_lib import exceptions as osc_exceptions

from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.kit.client import inspection_rule
from ironic_inspection_rules.kit.client import rule_set
from ironic_inspection_rules.kit.command import arguments
from ironic_inspection_rules.kit.osc import capacity as capacity_options
from ironic_inspection_rules.kit.osc import command
from ironic_inspection_rules.kit.osc import fleet_evaluation
from ironic_inspection_rules.kit.osc import node_selection
from ironic_inspection_rules.kit.osc import parallel
from ironic_inspection_rules.kit.osc import rule_files
from ironic_inspection_rules.kit.terminal import table
from ironic_inspection_rules.kit.trial.fleet import capacity
from ironic_inspection_rules.rule_set import replacement
from ironic_inspection_rules.rule_set import table_change

EXIT_CHANGES = 2
"""The status of ``plan`` if it has changes."""


def confirm(question: str, yes: bool) -> bool:
    """Ask for confirmation.

    :raises: CommandError if there is no terminal to answer on.
    """
    if yes:
        return True
    if not sys.stdin.isatty():
        raise osc_exceptions.CommandError(
            _('There is no terminal to ask on: add --yes'))
    return input(f'{question} [y/N] ').strip().lower() in ('y', 'yes')


def _add_arguments(parser: Any) -> None:
    rule_files.add_argument(parser)
    parser.add_argument(
        '--prune', action='store_true',
        help=_('Remove the stored rules that are in none of the files'))
    capacity_options.add_argument(parser)


@dataclasses.dataclass(frozen=True)
class _Planned:
    """A plan with its rules; the capacity names rules by description."""

    rules: Sequence[Any]
    tables: dict[str, Any] | None
    plan: rule_set.Plan
    capacity: Sequence[dict[str, Any]] | None


def _plan(command_: Any, baremetal: Any, parsed_args: Any) -> _Planned:
    """Plan the changes of files; with --flavors, try them on all nodes."""
    flavors = parsed_args.flavors and capacity_options.load(
        command_, parsed_args.flavors)
    files = rule_files.load(parsed_args.files, command_.app.stderr)
    with rule_files.explained(baremetal, files):
        plan = rule_set.plan(baremetal, files.rules, parsed_args.prune,
                             files.tables.entries)
    if not flavors:
        return _Planned(files.rules, files.tables.entries, plan, None)
    rules = rule_files.with_uuids(files.rules, plan.in_force)
    names = {rule['uuid']: rule.get('description')
             for rule in (*plan.in_force, *rules)}
    counted = capacity.Capacity(flavors)
    nodes = list(node_selection.NodeSelection({}).nodes(
        baremetal, *capacity.FIELDS))
    with parallel.Requests() as threads:
        for node, (entry, _plain) in zip(nodes, fleet_evaluation.tried(
                baremetal, nodes, threads, rules=rules,
                prune=parsed_args.prune,
                tables=files.tables.entries), strict=True):
            counted.add(entry, node)
    found = counted.as_list()
    for each in found:
        for node in (*each['lost'], *each['gained']):
            node['rules'] = [names.get(uuid) or uuid
                             for uuid in node['rules']]
    return _Planned(files.rules, files.tables.entries, plan, found)


def as_json(plan: rule_set.Plan,
            found: Sequence[dict[str, Any]] | None = None) -> str:
    """Return a plan as JSON."""
    rules = []
    for step in plan.steps:
        rules.append({
            **step,
            'before': replacement.shown(step, 'before'),
            'after': replacement.shown(step, 'after'),
        })
    plain: dict[str, Any] = {
        'revision': plan.revision,
        'rules': rules,
        'tables': list(plan.tables),
    }
    if found is not None:
        plain['capacity'] = found
    return json.dumps(plain, indent=2)


def _show(planned: _Planned, stream: Any) -> None:
    changes_rules = any(step['outcome'] != replacement.UNCHANGED
                        for step in planned.plan.steps)
    # Where only tables change, there is something to do.
    if changes_rules or not planned.plan.changes:
        table.print_diff(replacement.plan_lines(planned.plan.steps), stream)
    if planned.plan.tables:
        table.print_diff(table_change.plan_lines(planned.plan.tables), stream)
    if planned.capacity is not None:
        for line in capacity_options.lines(planned.capacity, {}, stream):
            stream.write(f'{line}\n')


class PlanInspectionRules(command.BaremetalCommand):
    """Show what applying files of inspection rules would do.

    Returns 0 if there is nothing to do, 2 if there is, 1 on an error.
    """

    example = '--prune rules.yaml'

    def add_arguments(self, parser):
        _add_arguments(parser)
        parser.add_argument('-f', '--format', choices=('diff', 'json'),
                            default='diff', help=_('How to print the plan'))

    def take_action(self, parsed_args):
        planned = _plan(self, self.baremetal, parsed_args)
        if parsed_args.format == 'json':
            self.app.stdout.write(as_json(planned.plan, planned.capacity)
                                  + '\n')
        else:
            _show(planned, self.app.stdout)
        if planned.plan.changes:
            return EXIT_CHANGES
        return 0


class ApplyInspectionRules(command.BaremetalCommand):
    """Make the stored inspection rules those of files: all of them or none.

    Stored rules that are in none of the files stay, unless --prune is given.
    """

    example = "rules.yaml --yes --message 'Note vendors'"

    def add_arguments(self, parser):
        _add_arguments(parser)
        capacity_options.add_limit(parser)
        parser.add_argument('--message', metavar='<message>',
                            help=_('Text to keep with the new revision'))
        parser.add_argument('--yes', action='store_true',
                            help=_('Do not ask'))

    def take_action(self, parsed_args):
        if parsed_args.max_capacity_loss is not None and (
                not parsed_args.flavors):
            raise osc_exceptions.CommandError(
                _('--max-capacity-loss needs --flavors'))
        baremetal = self.baremetal
        planned = _plan(self, baremetal, parsed_args)
        _show(planned, self.app.stdout)
        if not planned.plan.changes:
            return 0
        if parsed_args.max_capacity_loss is not None:
            capacity_options.check(planned.capacity or (),
                                   parsed_args.max_capacity_loss)
        if not confirm(_('Apply these changes?'), parsed_args.yes):
            return 1
        answer = rule_set.replace_inspection_rules(
            baremetal, planned.rules, planned.plan.revision,
            parsed_args.message, prune=parsed_args.prune,
            tables=planned.tables)
        self.app.stdout.write(
            _('The rule set is at revision %d now\n') % answer['revision'])
        for warning in inspection_rule.warnings(baremetal):
            self.app.stderr.write(_('Warning: %s\n') % warning)
        return 0


class ListRevisions(command.Lister):
    """List the revisions of the rule set, the newest first."""

    example = '-f yaml'

    def add_arguments(self, parser):
        parser.add_argument('--limit', metavar='<limit>', default=20,
                            type=arguments.positive,
                            help=_('Number of revisions to show '
                                   '(default: 20)'))

    def take_action(self, parsed_args):
        found = rule_set.inspection_rule_revisions(
            self.baremetal, limit=parsed_args.limit)
        rows = itertools.islice(found, parsed_args.limit)
        return (('Revision', 'Created At', 'User', 'Project', 'Changes',
                 'Message'),
                [(row['revision'], row['created_at'], row['user_id'],
                  row['project_id'], _summary(row['changes']),
                  row['message']) for row in rows])


class RestoreRevision(command.BaremetalCommand):
    """Put the rule set of a revision in force again."""

    example = '0 --yes'

    def add_arguments(self, parser):
        parser.add_argument('revision', metavar='<revision>',
                            type=arguments.revision,
                            help=_('Number of the revision, see "history"; 0 '
                                   'is the set before the first change'))
        parser.add_argument('--yes', action='store_true',
                            help=_('Do not ask'))

    def take_action(self, parsed_args):
        if not confirm(_('Put the rules of revision %d in force?')
                       % parsed_args.revision, parsed_args.yes):
            return 1
        answer = rule_set.restore_inspection_rule_revision(
            self.baremetal, parsed_args.revision)
        self.app.stdout.write(
            _('The rule set is at revision %(revision)d now: %(changes)s\n')
            % {'revision': answer['revision'],
               'changes': _summary([*answer['rules'], *answer['tables']])})
        return 0


def _summary(changes: list[dict[str, Any]]) -> str:
    outcomes = [each['outcome'] for each in changes]
    return ', '.join(
        f'{outcomes.count(outcome)} {outcome}' for outcome
        in ('created', 'updated', 'moved', 'deleted')
        if outcome in outcomes) or _('nothing changed')
