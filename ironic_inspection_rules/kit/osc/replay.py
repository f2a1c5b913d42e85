# SPDX-License-Identifier: Apache-2.0

"""Implement ``inspection rule replay``, which evaluates rules again.

Ironic keeps the data of inspections. A replay evaluates rules on the kept data
of an inspection, which is also called a run, and compares the result with the
result at that time. Ironic returns an entry per run, e.g. ``{'node': UUID,
'outcome': 'different', 'reason': None, 'created_at': …, 'then': {'result':
'ok', …}, 'now': {'result': 'failed', …}, …}``.

The outcome is ``same``, ``different``, ``incomparable`` if results cannot be
compared for the ``reason``, or ``error`` if the rules could not be evaluated.
"""

import collections
from collections.abc import Callable
import dataclasses
import functools
import json
import os.path
from typing import Any

from openstack import exceptions as sdk_exceptions
from osc_lib import exceptions as osc_exceptions

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.kit.client import inspection_rule
from ironic_inspection_rules.kit.client import inventory_history as client
from ironic_inspection_rules.kit.client import rule_set
from ironic_inspection_rules.kit.command import arguments
from ironic_inspection_rules.kit.osc import command
from ironic_inspection_rules.kit.osc import inventory_history
from ironic_inspection_rules.kit.osc import node_selection
from ironic_inspection_rules.kit.osc import parallel
from ironic_inspection_rules.kit.osc import rule_files
from ironic_inspection_rules.kit.report.pages import replay as page
from ironic_inspection_rules.kit.terminal import table
from ironic_inspection_rules.rule_file import file_set

EXIT_ERROR = 1
EXIT_DIFFERENT = 2

SAME, DIFFERENT, INCOMPARABLE, ERROR = (
    'same',
    'different',
    'incomparable',
    'error',
)

_OUTCOMES = (SAME, DIFFERENT, INCOMPARABLE, ERROR)

_NODES_PER_PAGE = 20
"""Number of nodes per request. It is small because a node may have many
inspections."""
_ENDINGS = ('.yaml', '.yml', '.json')

Entry = dict[str, Any]
"""The answer of the API about one run: ``node``, ``outcome``, ``reason``, and
the results ``then`` and ``now``."""


class ReplayInspectionRules(command.BaremetalCommand):
    """Evaluate every stored inspection again, with given rules.

    Shows which inspections would have ended differently, and how, if the
    rules of the files had been applied to those in force now. Without files
    the rules of their time are used, and every inspection must end as it
    did. Needs the option keep_history. Returns 0 if none ends differently,
    2 if some do, and 1 on an error, or if none can be compared.
    """

    example = 'rules.yaml --since 30d'

    def add_arguments(self, parser):
        parser.add_argument(
            'words',
            metavar='<file or filter>',
            nargs='*',
            help=_('Files and folders with rules, "-" for standard input. %s')
            % node_selection.HELP,
        )
        rule_files.add_prune(parser)
        inventory_history.add_since(parser)
        parser.add_argument(
            '-f',
            '--format',
            choices=('table', 'json'),
            default='table',
            help=_('How to print the result'),
        )
        parser.add_argument(
            '--report',
            metavar='<file>',
            type=arguments.check_new_file,
            help=_('Write a page that shows what ends differently'),
        )
        parallel.add_jobs(parser)

    def take_action(self, parsed_args):
        """Replay the kept inspections, and print what ends differently.

        With files, their rules are evaluated together with the rules in force,
        as if they were applied. Without files, every inspection is replayed
        with the rules of its time.

        :returns: the exit status, as documented by the class.
        """
        # Words that are no files select nodes.
        paths = [word for word in parsed_args.words if _is_rule_file(word)]
        filters = [word for word in parsed_args.words if word not in paths]
        selection = node_selection.NodeSelection.parse(filters)
        if parsed_args.prune and not paths:
            raise osc_exceptions.CommandError(
                _('--prune needs files, which would be the whole rule set')
            )
        files = file_set.load_all(paths)
        baremetal = self.baremetal
        in_force = []
        with (
            parallel.interruptible(
                self.app.stderr, _('Interrupted; nothing was changed')
            ),
            rule_files.explain_refusal(files),
        ):
            # The page needs the names of the rules in force. To find the rules
            # that the files would replace, their details are needed, too:
            # conditions and actions.
            if paths or parsed_args.report:
                needs_details = bool(paths)
                in_force = list(
                    inspection_rule.inspection_rules(
                        baremetal, details=needs_details
                    )
                )
            rules_of_files = rule_files.with_uuids(files.rules, in_force)
            # If a request has no rules, Ironic evaluates the rules of the time
            # of an inspection.
            rules = None
            if paths:
                rules = rules_of_files
            # This is called with the UUIDs of some nodes.
            replay_page = functools.partial(
                client.replay_page,
                baremetal,
                rules=rules,
                prune=parsed_args.prune,
                tables=files.tables.entries,
                since=inventory_history.parse_since(parsed_args.since),
            )
            nodes = selection.read_matching_nodes(baremetal)
            result = _replay_nodes(replay_page, nodes, parsed_args.jobs)
        if parsed_args.report:
            names = _read_rule_names(
                baremetal, [*in_force, *rules_of_files], result.to_show
            )
            content = page.render(_page_title(paths), result.as_dict(), names)
            arguments.write(parsed_args.report, content, self.app.stdout)
        self._print(parsed_args, result)
        return result.status

    def _print(self, parsed_args, result: '_Result') -> None:
        """Print the result as a table or JSON, and the path of the page."""
        # If the page is written to standard output, the result is discarded.
        output = arguments.choose_output(parsed_args.report, self.app.stdout)
        if parsed_args.format == 'json':
            json.dump(result.as_dict(), output, indent=2)
            output.write('\n')
        else:
            output.write(result.as_text())
            if parsed_args.report:
                output.write(_('The whole of it: %s\n') % parsed_args.report)


def _page_title(paths: list[str]) -> str:
    """Return the title of the page, e.g. ``rules.yaml on kept inspections``.

    :param paths: the paths of the rule files. Without files, the title says
        that the rules are those of the time.
    """
    name_of_rules = _('The rules of their time')
    if paths:
        name_of_rules = ', '.join(map(os.path.basename, paths))
    return _('%s on kept inspections') % name_of_rules


def _replay_nodes(
    replay_page: Callable[[list[str]], Entry],
    nodes: list[dict[str, Any]],
    jobs: int,
) -> '_Result':
    """Replay the kept inspections of nodes, and collect the results.

    The nodes are divided into pages of 20, and there is a request per page.

    :param replay_page: sends the request for the nodes of a page, given as a
        list of UUIDs. The answer has an entry in ``runs`` for each kept
        inspection of these nodes.
    :param nodes: the nodes, with ``uuid`` and ``name``.
    :param jobs: the maximum number of concurrent requests.
    """
    name_by_uuid = {node['uuid']: node['name'] for node in nodes}
    uuids = list(name_by_uuid)
    uuids_by_page = [
        uuids[start : start + _NODES_PER_PAGE]
        for start in range(0, len(uuids), _NODES_PER_PAGE)
    ]
    result = _Result()
    with parallel.RequestThreads(jobs) as threads:
        # A page advances the progress bar by the number of its nodes.
        answers = threads.map(
            replay_page, uuids_by_page, _('Deciding again'), weigh=len
        )
        for answer in answers:
            for entry in answer['runs']:
                # Ironic returns only the UUID of the node. Add its name.
                name = name_by_uuid.get(entry['node'])
                result.add({**entry, 'name': name})
    return result


def _is_rule_file(word: str) -> bool:
    """Return whether a word of the command line names a rule file.

    Any other word is a node or a filter of nodes.

    * ``-`` is a file: standard input.
    * A word with ``=`` is a filter, also if such a file exists.
    * A word that ends in e.g. ``.yaml`` is a file, and so is the path of an
      existing file or folder.
    """
    if word == '-':
        return True
    if '=' in word:
        return False
    return word.endswith(_ENDINGS) or os.path.exists(word)


class _Result:
    """The result of a replay: counts of runs, and the entries to show.

    Runs are counted by outcome, e.g. ``{'same': 117, 'different': 2}``. Runs
    that cannot be compared are also counted by reason.

    :ivar to_show: the entries of runs that end differently or could not be
        evaluated, with the ``name`` of the node.
    """

    def __init__(self) -> None:
        self._counts: collections.Counter[str] = collections.Counter()
        self._reasons: collections.Counter[str] = collections.Counter()
        self.to_show: list[Entry] = []

    def add(self, entry: Entry) -> None:
        """Count a run, and keep its entry if it is to be shown.

        The entry is shown if the run ends differently or could not be
        evaluated. For a run that cannot be compared, its reason is counted.
        For a run that ends in the same way, nothing else is done.

        :param entry: the entry of the run, with the ``name`` of the node.
        :raises: Invalid if this release does not know the outcome.
        """
        if entry['outcome'] not in _OUTCOMES:
            # The exit status of the command depends on the outcomes, so an
            # unknown outcome must not be ignored.
            raise exceptions.Invalid(
                _(
                    "Ironic's answer about node %(node)s has the outcome "
                    '%(outcome)s, where one of %(outcomes)s is expected'
                )
                % {
                    'node': entry['name'] or entry['node'],
                    'outcome': json.dumps(entry['outcome']),
                    'outcomes': ', '.join(_OUTCOMES),
                }
            )
        self._counts[entry['outcome']] += 1
        if entry['outcome'] == INCOMPARABLE:
            self._reasons[entry['reason']] += 1
        elif entry['outcome'] != SAME:
            self.to_show.append(entry)

    @property
    def status(self) -> int:
        """The exit status of the command.

        * 1, an error, if a run could not be evaluated, or if there are runs
          and none of them can be compared;
        * 2 if a run ends differently;
        * 0 otherwise, also if there are no runs.
        """
        counts = self._counts
        has_runs = counts.total() > 0
        compared = counts[SAME] + counts[DIFFERENT]
        if counts[ERROR] or (has_runs and not compared):
            return EXIT_ERROR
        if counts[DIFFERENT]:
            return EXIT_DIFFERENT
        return 0

    def as_dict(self) -> dict[str, Any]:
        """Return the result as plain JSON data.

        For example, ``{'same': 117, 'different': 2, 'incomparable': 1,
        'error': 0, 'reasons': {REASON: 1}, 'runs': […]}``. The reasons say why
        runs cannot be compared. The runs are the entries to show.
        """
        plain: dict[str, Any] = {}
        for outcome in _OUTCOMES:
            plain[outcome] = self._counts[outcome]
        plain['reasons'] = dict(self._reasons)
        plain['runs'] = self.to_show
        return plain

    def as_text(self) -> str:
        """Return the result as text for a terminal.

        First comes a table of the runs to show, then a line with the number of
        runs by outcome, then a line per reason why runs cannot be compared.
        The number of runs that could not be evaluated is left out if it is 0.
        """
        if not self._counts:
            return _(
                'There is nothing to replay: no such inspection '
                'is kept. Ironic keeps them for the days in '
                '[inspection_rules]keep_history, which is 0 by '
                'default.\n'
            )
        lines = []
        if self.to_show:
            titles = [
                _('Node'),
                _('Inspected'),
                _('Then'),
                _('Now'),
                _('What'),
            ]
            rows = [
                _build_row(_Replayed.from_entry(entry))
                for entry in self.to_show
            ]
            lines.append(table.render(titles, rows))
        total_line = _(
            '%(all)d inspections: %(same)d end as they did, %(different)d '
            'end otherwise, %(incomparable)d cannot be compared'
        ) % {
            'all': self._counts.total(),
            'same': self._counts[SAME],
            'different': self._counts[DIFFERENT],
            'incomparable': self._counts[INCOMPARABLE],
        }
        if self._counts[ERROR]:
            total_line += _(', %d could not be decided') % self._counts[ERROR]
        lines.append(total_line)
        # The reasons why runs cannot be compared, the most frequent first.
        for reason, count in self._reasons.most_common():
            lines.append(f'  {count}: {reason}')
        return '\n'.join(lines) + '\n'


def _read_rule_names(
    baremetal: Any, rules: list[Any], to_show: list[Entry]
) -> dict[str, str | None]:
    """Return the names of rules by UUID, for the page.

    The name of a rule is its description. The page also names rules that
    matched at the time of a run, and have been deleted since. Their names are
    read from the revision of the rule set at that time. A rule has no name in
    the result if Ironic no longer has that revision.

    :param rules: the rules in force, and the rules of the files.
    :param to_show: the entries of the runs that the page shows.
    """
    names = {rule['uuid']: rule.get('description') for rule in rules}
    # Many runs have the same revision, which is read once.
    seen_revisions = set()
    for entry in to_show:
        # If the node could not be read, the entry has no "then".
        then = entry.get('then') or {}
        uuids_without_name = set(then.get('matched') or ()) - names.keys()
        if not uuids_without_name:
            continue
        revision = entry['revision']
        if revision in seen_revisions:
            continue
        seen_revisions.add(revision)
        try:
            answer = rule_set.get_inspection_rule_revision(baremetal, revision)
        except sdk_exceptions.NotFoundException:
            # Ironic keeps only the last revisions.
            continue
        for rule in answer['rules']:
            # Newer descriptions, of the rules in force, are kept.
            names.setdefault(rule['uuid'], rule['description'])
    return names


@dataclasses.dataclass(frozen=True)
class _Outcome:
    """How an inspection ended at its time, or how it would end now.

    :ivar result: e.g. ``ok`` or ``failed``; empty if Ironic returned none.
    :ivar error: why the inspection failed; empty if it did not fail.
    :ivar changes: the values that differ, with ``before``, the value at the
        time, and ``value``, the value now. Only the outcome now has them.
    """

    result: str
    error: str
    changes: tuple[Entry, ...]

    @classmethod
    def from_entry(cls, outcome: Entry | None) -> '_Outcome':
        """Build an outcome from the member ``then`` or ``now`` of an entry.

        :param outcome: the member; None if the result is unknown.
        """
        if outcome is None:
            return cls(result='', error='', changes=())
        return cls(
            result=outcome.get('result') or '',
            error=outcome.get('error') or '',
            changes=tuple(outcome.get('changes') or ()),
        )


@dataclasses.dataclass(frozen=True)
class _Replayed:
    """A run that ends differently or could not be evaluated."""

    node_name: str
    created_at: str
    reason: str
    then: _Outcome
    now: _Outcome

    @classmethod
    def from_entry(cls, entry: Entry) -> '_Replayed':
        """Build it from an entry of the API, with the ``name`` of the node.

        Missing values become empty texts, which are empty cells of the table.
        """
        return cls(
            node_name=entry['name'] or entry['node'],
            created_at=entry.get('created_at') or '',
            reason=entry['reason'] or '',
            then=_Outcome.from_entry(entry.get('then')),
            now=_Outcome.from_entry(entry.get('now')),
        )


def _build_row(replayed: _Replayed) -> list[str]:
    """Return the table row of a run: node, time, two results and remarks.

    The remarks are one cell with a line each: the reason why the run could not
    be evaluated; the error of the inspection, unless it failed with the same
    error at its time; and the changes, e.g. ``node /extra/rack: "r1" → "r2"``.
    """
    remarks = []
    if replayed.reason:
        remarks.append(replayed.reason)
    is_new_error = replayed.now.error != replayed.then.error
    if replayed.now.error and is_new_error:
        remarks.append(replayed.now.error)
    for change in replayed.now.changes:
        before = json.dumps(change['before'])
        after = json.dumps(change['value'])
        remarks.append(
            f'{change["object"]} {change["path"]}: {before} → {after}'
        )
    return [
        replayed.node_name,
        replayed.created_at,
        replayed.then.result,
        replayed.now.result,
        '\n'.join(remarks),
    ]
