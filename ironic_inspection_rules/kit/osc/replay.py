# SPDX-License-Identifier: Apache-2.0

"""``openstack baremetal inspection rule replay``."""

import collections
from collections.abc import Iterator
import contextlib
import functools
import json
import os.path
from typing import Any

from openstack import exceptions as sdk_exceptions
from osc_lib import exceptions as osc_exceptions

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
    'same', 'different', 'incomparable', 'error')

_PAGE = 20
"""Nodes of a page; few, as each may have many inspections."""
_ENDINGS = ('.yaml', '.yml', '.json')

Entry = dict[str, Any]


class ReplayInspectionRules(command.Command):
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
            'words', metavar='<file or filter>', nargs='*',
            help=_('Files and folders with rules, "-" for standard input. %s')
            % node_selection.HELP)
        rule_files.add_prune(parser)
        inventory_history.add_since(parser)
        parser.add_argument(
            '-f', '--format', choices=('table', 'json'), default='table',
            help=_('How to print the result'))
        parser.add_argument(
            '--report', metavar='<file>', type=arguments.new_file,
            help=_('Write a page that shows what ends differently'))
        parallel.add_jobs(parser)

    def take_action(self, parsed_args):
        paths = [word for word in parsed_args.words
                 if word == '-' or '=' not in word and (
                     word.endswith(_ENDINGS) or os.path.exists(word))]
        selection = node_selection.NodeSelection.parse(
            [word for word in parsed_args.words if word not in paths])
        if parsed_args.prune and not paths:
            raise osc_exceptions.CommandError(
                _('--prune needs files, which would be the whole rule set'))
        files = file_set.load_all(paths)
        baremetal = self.baremetal
        in_force = []
        with parallel.interruptible(
                self.app.stderr, _('Interrupted; nothing was changed')), (
                    rule_files.explained(baremetal, files)):
            if paths or parsed_args.report:
                in_force = list(inspection_rule.inspection_rules(
                    baremetal, details=bool(paths)))
            given = rule_files.with_uuids(files.rules, in_force)
            ask = functools.partial(
                client.replay_page, baremetal,
                rules=given if paths else None, prune=parsed_args.prune,
                tables=files.tables.entries,
                since=inventory_history.since(parsed_args.since))
            names = {node['uuid']: node['name']
                     for node in selection.matching(baremetal)}
            pages = [list(names)[start:start + _PAGE]
                     for start in range(0, len(names), _PAGE)]
            with parallel.Requests(parsed_args.jobs) as threads:
                found = _Result(
                    {**entry, 'name': names.get(entry['node'])}
                    for answer in threads.each(
                        ask, pages, _('Deciding again'), weigh=len)
                    for entry in answer['runs'])
        if parsed_args.report:
            title = ', '.join(map(os.path.basename, paths)) or _(
                'The rules of their time')
            arguments.write(parsed_args.report, page.render(
                _('%s on kept inspections') % title, found.plain(),
                _names(baremetal, [*in_force, *given], found.told)),
                self.app.stdout)
        output = arguments.beside(parsed_args.report, self.app.stdout)
        if parsed_args.format == 'json':
            json.dump(found.plain(), output, indent=2)
            output.write('\n')
        else:
            output.write(found.text())
            if parsed_args.report:
                output.write(
                    _('The whole of it: %s\n') % parsed_args.report)
        return found.status


class _Result:
    """Counts of outcomes, and the entries of runs that end differently."""

    def __init__(self, entries: Iterator[Entry]) -> None:
        self._counts: collections.Counter[str] = collections.Counter()
        self._reasons: collections.Counter[str] = collections.Counter()
        self.told: list[Entry] = []
        for entry in entries:
            self._counts[entry['outcome']] += 1
            if entry['outcome'] == INCOMPARABLE:
                self._reasons[entry['reason']] += 1
            elif entry['outcome'] != SAME:
                self.told.append(entry)

    @property
    def status(self) -> int:
        """The exit code of the command."""
        compared = self._counts[SAME] + self._counts[DIFFERENT]
        if self._counts[ERROR] or self._counts and not compared:
            return EXIT_ERROR
        return EXIT_DIFFERENT if self._counts[DIFFERENT] else 0

    def plain(self) -> dict[str, Any]:
        """Return the result as plain JSON data."""
        return {**{name: self._counts[name] for name in (
            SAME, DIFFERENT, INCOMPARABLE, ERROR)},
            'reasons': dict(self._reasons), 'runs': self.told}

    def text(self) -> str:
        """Return the result as text."""
        if not self._counts:
            return _('There is nothing to decide again: no such inspection '
                     'is kept. Ironic keeps them for the days in '
                     '[inspection_rules]keep_history, which is 0 by '
                     'default.\n')
        lines = []
        if self.told:
            lines.append(table.render(
                [_('Node'), _('Inspected'), _('Then'), _('Now'), _('What')],
                [_row(entry) for entry in self.told]))
        lines.append(_(
            '%(all)d inspections: %(same)d end as they did, %(different)d '
            'end otherwise, %(incomparable)d cannot be compared') % {
                'all': sum(self._counts.values()), 'same': self._counts[SAME],
                'different': self._counts[DIFFERENT],
                'incomparable': self._counts[INCOMPARABLE]})
        lines += [f'  {count}: {reason}'
                  for reason, count in self._reasons.most_common()]
        return '\n'.join(lines) + '\n'


def _names(baremetal: Any, rules: list[Any], told: list[Entry]
           ) -> dict[str, str | None]:
    """Return descriptions by UUID, including rules deleted since then."""
    names = {rule['uuid']: rule.get('description') for rule in rules}
    asked = set()
    for entry in told:
        matched = (entry.get('then') or {}).get('matched', ())
        if names.keys() >= set(matched) or entry['revision'] in asked:
            continue
        asked.add(entry['revision'])
        with contextlib.suppress(sdk_exceptions.NotFoundException):
            names = {rule['uuid']: rule['description'] for rule
                     in rule_set.get_inspection_rule_revision(
                         baremetal, entry['revision'])['rules']} | names
    return names


def _row(entry: Entry) -> list[str]:
    then, now = entry.get('then') or {}, entry.get('now') or {}
    what = [entry['reason']] if entry['reason'] else []
    if now.get('error') and now['error'] != then.get('error'):
        what.append(now['error'])
    what += [f'{change["object"]} {change["path"]}: '
             f'{json.dumps(change["before"])} → {json.dumps(change["value"])}'
             for change in now.get('changes', ())]
    return [entry['name'] or entry['node'], entry.get('created_at') or '',
            then.get('result') or '', now.get('result') or '',
            '\n'.join(what)]
