# SPDX-License-Identifier: Apache-2.0

"""``openstack baremetal inspection rule``: the rule set as one thing."""

import sys
from typing import Any

from osc_lib import exceptions as osc_exceptions

from ironic_inspection_rules.client import inspection_rule
from ironic_inspection_rules.client import rule_set
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.osc import cloud
from ironic_inspection_rules.osc import command
from ironic_inspection_rules.osc import problem
from ironic_inspection_rules.osc import rule_files
from ironic_inspection_rules.osc import rule_plan
from ironic_inspection_rules.osc import word_order

EXIT_CHANGES = 2
"""What ``plan`` returns when there is something to do."""


def confirm(question: str, yes: bool) -> bool:
    """Ask whether to go on.

    :param yes: whether that was said on the command line.
    :raises: CommandError where nobody can answer.
    """
    if yes:
        return True
    if not sys.stdin.isatty():
        raise osc_exceptions.CommandError(
            _('Nobody is there to ask: add --yes'))
    return input(f'{question} [y/N] ').strip().lower() in ('y', 'yes')


def _add_files(parser: Any) -> None:
    rule_files.add_argument(parser)
    parser.add_argument(
        '--prune', action='store_true',
        help=_('Remove the stored rules that are in none of the files'))


def _plan(command_: Any, baremetal: Any, parsed_args: Any) -> rule_set.Plan:
    files = rule_files.load(parsed_args.files, command_.app.stderr)
    with problem.explained(baremetal, files):
        return rule_set.plan(baremetal, files.rules, parsed_args.prune)


class PlanInspectionRules(command.Command):
    """Show what applying files of inspection rules would do.

    Returns 0 when there is nothing to do, 2 when there is, 1 on an error.
    """

    def get_parser(self, prog_name):
        parser = super().get_parser(prog_name)
        _add_files(parser)
        parser.add_argument('-f', '--format', choices=('diff', 'json'),
                            default='diff', help=_('How to print the plan'))
        return word_order.any_order(parser)

    def take_action(self, parsed_args):
        plan = _plan(self, cloud.baremetal(self), parsed_args)
        if parsed_args.format == 'json':
            self.app.stdout.write(rule_plan.as_json(plan) + '\n')
        else:
            rule_plan.print_diff(plan, self.app.stdout)
        return EXIT_CHANGES if plan.changes else 0


class ApplyInspectionRules(command.Command):
    """Make the stored inspection rules those of files: all of them or none.

    Stored rules that are in none of the files stay, unless --prune is given.
    """

    def get_parser(self, prog_name):
        parser = super().get_parser(prog_name)
        _add_files(parser)
        parser.add_argument('--message', metavar='<message>',
                            help=_('What the revision says of the change'))
        parser.add_argument('--yes', action='store_true',
                            help=_('Do not ask'))
        return word_order.any_order(parser)

    def take_action(self, parsed_args):
        baremetal = cloud.baremetal(self)
        plan = _plan(self, baremetal, parsed_args)
        rule_plan.print_diff(plan, self.app.stdout)
        if not plan.changes:
            return 0
        if not confirm(_('Apply these changes?'), parsed_args.yes):
            return 1
        answer = rule_set.replace_inspection_rules(
            baremetal, plan.rules, plan.revision, parsed_args.message)
        self.app.stdout.write(
            _('The rule set is at revision %d now\n') % answer['revision'])
        for warning in inspection_rule.warnings(baremetal):
            self.app.stderr.write(_('Warning: %s\n') % warning)
        return 0


class ListRevisions(command.Lister):
    """List the revisions of the rule set, the newest first."""

    def get_parser(self, prog_name):
        parser = super().get_parser(prog_name)
        parser.add_argument('--limit', metavar='<limit>', type=int,
                            default=20, help=_('Number of revisions to show '
                                               '(default: 20)'))
        return parser

    def take_action(self, parsed_args):
        found = rule_set.inspection_rule_revisions(
            cloud.baremetal(self), limit=parsed_args.limit)
        rows = [row for row, _number in zip(
            found, range(parsed_args.limit), strict=False)]
        return (('Revision', 'Created At', 'User', 'Project', 'Changes',
                 'Message'),
                [(row['revision'], row['created_at'], row['user_id'],
                  row['project_id'], _summary(row['changes']),
                  row['message']) for row in rows])


class RestoreRevision(command.Command):
    """Put the rule set of a revision in force again."""

    def get_parser(self, prog_name):
        parser = super().get_parser(prog_name)
        parser.add_argument('revision', metavar='<revision>', type=int,
                            help=_('Number of the revision, see "history"'))
        parser.add_argument('--yes', action='store_true',
                            help=_('Do not ask'))
        return parser

    def take_action(self, parsed_args):
        if not confirm(_('Put the rules of revision %d in force?')
                       % parsed_args.revision, parsed_args.yes):
            return 1
        answer = rule_set.restore_inspection_rule_revision(
            cloud.baremetal(self), parsed_args.revision)
        self.app.stdout.write(
            _('The rule set is at revision %(revision)d now: %(changes)s\n')
            % {'revision': answer['revision'],
               'changes': _summary(answer['rules'])})
        return 0


def _summary(changes: list[dict[str, Any]]) -> str:
    outcomes = [each['outcome'] for each in changes]
    return ', '.join(
        f'{outcomes.count(outcome)} {outcome}' for outcome
        in ('created', 'updated', 'moved', 'deleted')
        if outcome in outcomes) or _('nothing changed')
