# SPDX-License-Identifier: Apache-2.0

"""Implement ``inspection rule plan``, ``apply``, ``history``, ``restore``.

Ironic stores a set of rules and tables. Every change of it is a revision with
a number. A plan says what applying some files would change. It has a step per
rule, e.g. ``{'uuid': …, 'outcome': 'updated', 'before': {…}, 'after': {…}}``.
The outcomes are ``created``, ``updated``, ``moved``, ``deleted`` and
``unchanged``.
"""

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
from ironic_inspection_rules.kit.trial.fleet import flavor
from ironic_inspection_rules.rule_file import file_set
from ironic_inspection_rules.rule_set import replacement
from ironic_inspection_rules.rule_set import table_change

EXIT_CHANGES = 2
"""The status of ``plan`` if it has changes."""

_REVISION_COLUMNS = (
    'Revision',
    'Created At',
    'User',
    'Project',
    'Changes',
    'Message',
)
_CHANGES = (
    replacement.CREATED,
    replacement.UPDATED,
    replacement.MOVED,
    replacement.DELETED,
)
"""The possible changes of a rule or a table, in the order of summaries."""


def confirm(question: str, yes: bool) -> bool:
    """Ask the user to confirm a change, and return whether the answer is yes.

    :param question: the question, e.g. ``Apply these changes?``.
    :param yes: whether ``--yes`` is given. Then the user is not asked, and the
        result is True.
    :raises: CommandError if there is no terminal to ask on.
    """
    if yes:
        return True
    # A stream is None if its file descriptor was closed when Python started.
    is_closed = sys.stdin is None or sys.stdout is None
    if is_closed or not sys.stdin.isatty():
        raise osc_exceptions.CommandError(
            _('There is no terminal to ask on: add --yes')
        )
    answer = input(f'{question} [y/N] ')
    return answer.strip().lower() in ('y', 'yes')


def print_warnings(baremetal: Any, stderr: Any) -> None:
    """Print Ironic's warnings about options that the rules in force need.

    If the warnings cannot be read, this is printed as a warning. It is not an
    error, because the rules have been stored.
    """
    for warning in inspection_rule.warnings_of_rules_in_force(baremetal):
        stderr.write(_('Warning: %s\n') % warning)


def _add_plan_arguments(parser: Any) -> None:
    """Add the arguments of a plan, which ``plan`` and ``apply`` share."""
    rule_files.add_argument(parser)
    parser.add_argument(
        '--prune',
        action='store_true',
        help=_(
            'Remove the stored rules that are in none of the files and, if '
            'the files have tables, the stored tables that are in none'
        ),
    )
    capacity_options.add_argument(parser)


@dataclasses.dataclass(frozen=True)
class _Planned:
    """A plan, and the rules and tables of the files that it would store.

    :ivar rules: the rules of the files, to be sent to Ironic.
    :ivar tables: the tables of the files by name; None without tables.
    :ivar capacity: the numbers of nodes that can take each flavor, before and
        after the change; None without ``--flavors``.
    """

    rules: Sequence[Any]
    tables: dict[str, Any] | None
    plan: rule_set.Plan
    capacity: Sequence[dict[str, Any]] | None


def _make_plan(caller: Any, baremetal: Any, parsed_args: Any) -> _Planned:
    """Load the files, and ask Ironic what applying them would change.

    Nothing is changed. Warnings of lint about the files are printed on
    standard error. With ``--flavors``, the nodes that can take each flavor are
    also counted.

    :param caller: the command, which has the connection to Nova and standard
        error.
    """
    flavors: list[flavor.Flavor] = []
    if parsed_args.flavors:
        flavors = capacity_options.load_flavors(caller, parsed_args.flavors)
    files = rule_files.load(parsed_args.files, caller.app.stderr)
    tables = files.tables.entries
    with rule_files.explain_refusal(files):
        plan = rule_set.plan(
            baremetal,
            rules=files.rules,
            prune=parsed_args.prune,
            tables=tables,
        )
    counted = None
    if flavors:
        counted = _count_capacity(
            baremetal, flavors, files, plan, parsed_args.prune
        )
    return _Planned(
        rules=files.rules, tables=tables, plan=plan, capacity=counted
    )


def _count_capacity(
    baremetal: Any,
    flavors: Sequence[flavor.Flavor],
    files: file_set.RuleFiles,
    plan: rule_set.Plan,
    prune: bool,
) -> list[dict[str, Any]]:
    """Count the nodes that can take each flavor, now and with the files.

    Ironic tries the rules on all nodes, and changes nothing.

    :param plan: the plan of applying the files.
    :param prune: whether stored rules that are not in the files are removed.
    :returns: the counts of each flavor, with the nodes that it loses and
        gains, e.g. ``[{'name': 'big', 'loss': 10.0, 'lost': [{'name':
        'rack1-07', 'rules': ['Note vendors'], …}], …}]``. The rules of a node
        are named by description, because the UUIDs of new rules are only
        generated for this count.
    """
    rules = rule_files.with_uuids(files.rules, plan.in_force)
    fleet_capacity = capacity.Capacity(flavors)
    # No filters select all nodes.
    every_node = node_selection.NodeSelection(filters={})
    nodes = list(every_node.read_nodes(baremetal, *capacity.FIELDS))
    with parallel.RequestThreads() as threads:
        all_results = fleet_evaluation.evaluate_nodes(
            baremetal,
            nodes,
            threads,
            rules=rules,
            prune=prune,
            tables=files.tables.entries,
        )
        for node, results in zip(nodes, all_results, strict=True):
            fleet_capacity.add(results.whole, node)
    # A rule of the files may change the description of a rule in force. The
    # rules of the files come last, so that their descriptions are used.
    description_by_uuid = {}
    for rule in (*plan.in_force, *rules):
        description_by_uuid[rule['uuid']] = rule.get('description')
    return capacity_options.name_rules(
        fleet_capacity.as_list(), description_by_uuid
    )


def as_json(
    plan: rule_set.Plan, counted: Sequence[dict[str, Any]] | None = None
) -> str:
    """Return a plan as JSON, without the content of sensitive rules.

    The content is left out because the output may be read by people who may
    not read these rules.

    :param counted: the number of nodes that can take each flavor, before and
        after the change; None without ``--flavors``.
    """
    rules = []
    for step in plan.steps:
        rules.append(
            {
                **step,
                'before': replacement.disclosed(step, 'before'),
                'after': replacement.disclosed(step, 'after'),
            }
        )
    plain: dict[str, Any] = {
        'revision': plan.revision,
        'rules': rules,
        'tables': list(plan.tables),
    }
    if counted is not None:
        plain['capacity'] = counted
    return json.dumps(plain, indent=2)


def _print_plan(planned: _Planned, stream: Any) -> None:
    """Print a plan for people, as text.

    First come the changes of rules as a diff, then the changes of tables, and
    with ``--flavors`` the numbers of nodes that can take each flavor. Without
    any changes, the first part says so.

    :param stream: the stream to print to.
    """
    plan = planned.plan
    rules_change = any(
        step['outcome'] != replacement.UNCHANGED for step in plan.steps
    )
    # If no rule changes, the part about rules says that there is nothing to
    # do. That would be wrong if a table changes.
    if rules_change or not plan.changes:
        table.print_diff(replacement.plan_lines(plan.steps), stream)
    if plan.tables:
        table.print_diff(table_change.plan_lines(plan.tables), stream)
    if planned.capacity is not None:
        for line in capacity_options.report_lines(planned.capacity, stream):
            stream.write(f'{line}\n')


class PlanInspectionRules(command.BaremetalCommand):
    """Show what applying files of inspection rules would do.

    Returns 0 if there is nothing to do, 2 if there is, 1 on an error.
    """

    example = '--prune rules.yaml'

    def add_arguments(self, parser):
        _add_plan_arguments(parser)
        parser.add_argument(
            '-f',
            '--format',
            choices=('diff', 'json'),
            default='diff',
            help=_('How to print the plan'),
        )

    def take_action(self, parsed_args):
        """Print the plan as a diff or as JSON.

        :returns: the exit status: 2 if the plan has changes, otherwise 0.
        """
        planned = _make_plan(self, self.baremetal, parsed_args)
        if parsed_args.format == 'json':
            self.app.stdout.write(
                as_json(planned.plan, planned.capacity) + '\n'
            )
        else:
            _print_plan(planned, self.app.stdout)
        if planned.plan.changes:
            return EXIT_CHANGES
        return 0


class ApplyInspectionRules(command.BaremetalCommand):
    """Make the stored inspection rules those of files: all of them or none.

    Stored rules that are in none of the files stay, unless --prune is given.
    """

    example = "rules.yaml --yes --message 'Note vendors'"

    def add_arguments(self, parser):
        _add_plan_arguments(parser)
        capacity_options.add_limit(parser)
        parser.add_argument(
            '--message',
            metavar='<message>',
            help=_('Text to keep with the new revision'),
        )
        parser.add_argument('--yes', action='store_true', help=_('Do not ask'))

    def take_action(self, parsed_args):
        """Print the plan, ask for confirmation, and make the changes.

        :returns: the exit status: 0 if the changes were made or there are
            none, 1 if the user declined.
        :raises: CommandError if ``--max-capacity-loss`` is given without
            ``--flavors``, or if a flavor would lose more nodes than it allows.
        """
        max_loss = parsed_args.max_capacity_loss
        if max_loss is not None and not parsed_args.flavors:
            raise osc_exceptions.CommandError(
                _('--max-capacity-loss needs --flavors')
            )
        baremetal = self.baremetal
        planned = _make_plan(self, baremetal, parsed_args)
        _print_plan(planned, self.app.stdout)
        if not planned.plan.changes:
            return 0
        if max_loss is not None:
            capacity_options.refuse_loss(planned.capacity or (), max_loss)
        if not confirm(_('Apply these changes?'), parsed_args.yes):
            return 1
        # The user has confirmed this plan. Send its revision, so that Ironic
        # refuses the change if somebody else has changed the rules in the
        # meantime.
        answer = rule_set.replace_inspection_rules(
            baremetal,
            rules=planned.rules,
            revision=planned.plan.revision,
            message=parsed_args.message,
            prune=parsed_args.prune,
            tables=planned.tables,
        )
        # The change has been made. If the answer lacks something, print a
        # warning: an error would say that the change failed.
        revision = rule_set.revision_of(answer)
        if revision is None:
            self.app.stderr.write(
                _('Warning: %s\n') % rule_set.REVISION_UNKNOWN
            )
        else:
            self.app.stdout.write(
                _('The rule set is at revision %d now\n') % revision
            )
        if not rule_set.has_complete_steps(answer):
            self.app.stderr.write(
                _('Warning: %s\n') % rule_set.CHANGES_UNKNOWN
            )
        print_warnings(baremetal, self.app.stderr)
        return 0


class ListRevisions(command.Lister):
    """List the revisions of the rule set, the newest first."""

    example = '-f yaml'

    def add_arguments(self, parser):
        parser.add_argument(
            '--limit',
            metavar='<limit>',
            default=20,
            type=arguments.parse_positive,
            help=_('Number of revisions to show (default: 20)'),
        )

    def take_action(self, parsed_args):
        """List the newest revisions, at most ``--limit`` of them.

        :returns: the titles of the columns, and one row per revision. The
            changes of a revision are one cell, e.g. ``2 created, table racks
            updated``.
        """
        revisions = rule_set.inspection_rule_revisions(
            self.baremetal, limit=parsed_args.limit
        )
        rows = []
        # For Ironic the limit is only the size of a page, and further pages
        # follow. Therefore the number of rows is limited here.
        for revision in itertools.islice(revisions, parsed_args.limit):
            # A change of a rule is e.g. {'uuid': …, 'outcome': 'created'}. A
            # change of a table has its name, e.g. {'table': 'racks', …}.
            rules = []
            tables = []
            for change in revision['changes']:
                if 'table' in change:
                    tables.append((change['table'], change['outcome']))
                else:
                    rules.append(change)
            rows.append(
                (
                    revision['revision'],
                    revision['created_at'],
                    revision['user_id'],
                    revision['project_id'],
                    _summarize_changes(rules, tables),
                    revision['message'],
                )
            )
        return _REVISION_COLUMNS, rows


class RestoreRevision(command.BaremetalCommand):
    """Put the rule set of a revision in force again."""

    example = '0 --yes'

    def add_arguments(self, parser):
        parser.add_argument(
            'revision',
            metavar='<revision>',
            type=arguments.parse_revision,
            help=_(
                'Number of the revision, see "history"; 0 '
                'is the set before the first change'
            ),
        )
        parser.add_argument('--yes', action='store_true', help=_('Do not ask'))

    def take_action(self, parsed_args):
        """Ask for confirmation, restore the revision, and print what changed.

        The output is e.g. ``The rule set is at revision 8 now: 2 deleted``,
        because restoring makes a new revision.

        :returns: the exit status: 0 if the revision was restored, 1 if the
            user declined.
        """
        if not confirm(
            _('Put the rules of revision %d in force?') % parsed_args.revision,
            parsed_args.yes,
        ):
            return 1
        answer = rule_set.restore_inspection_rule_revision(
            self.baremetal, parsed_args.revision
        )
        # The rules have been restored. If the answer lacks something, print a
        # warning: an error would say that restoring failed.
        revision = rule_set.revision_of(answer)
        if revision is None:
            self.app.stderr.write(
                _('Warning: %s\n') % rule_set.REVISION_UNKNOWN
            )
            report = (
                _('The rules are those of revision %d') % parsed_args.revision
            )
        else:
            report = _('The rule set is at revision %d now') % revision
        if rule_set.has_complete_steps(answer):
            # An API of a release without tables does not return "tables".
            tables = []
            for step in answer.get('tables') or ():
                tables.append((step['name'], step['outcome']))
            changes = _summarize_changes(answer['rules'], tables)
            report = f'{report}: {changes}'
        else:
            self.app.stderr.write(
                _('Warning: %s\n') % rule_set.CHANGES_UNKNOWN
            )
        self.app.stdout.write(f'{report}\n')
        return 0


def _summarize_changes(
    rules: Sequence[dict[str, Any]], tables: Sequence[tuple[str, str]]
) -> str:
    """Return the changes of a revision as text.

    Rules are counted by outcome, and tables are named, e.g. ``2 created, 1
    deleted, table racks updated``. Unchanged rules and tables are left out.

    :param rules: a mapping per rule, with its ``outcome``.
    :param tables: the name and the outcome of each table.
    """
    parts = []
    outcomes = [rule['outcome'] for rule in rules]
    for outcome in _CHANGES:
        if outcome in outcomes:
            parts.append(f'{outcomes.count(outcome)} {outcome}')
    for name, outcome in tables:
        if outcome in _CHANGES:
            parts.append(
                _('table %(name)s %(outcome)s')
                % {'name': name, 'outcome': outcome}
            )
    return ', '.join(parts) or _('nothing changed')
