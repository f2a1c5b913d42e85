# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""ironic-inspection-rules test: tries rules on inventories from files."""

import argparse
import json
import sys
import typing

from cliff import command
from rich import console
from rich import progress
import yaml

from ironic_inspection_rules.engine import registry
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.offline import expectation
from ironic_inspection_rules.offline import page
from ironic_inspection_rules.offline import report
from ironic_inspection_rules.offline import trial

EXIT_ERROR = 1
EXIT_FAILED = 2


class Test(command.Command):
    """Try rules on inventories, without changing anything.

    Needs neither Ironic nor a database. Returns 1 when a rule has an error,
    and 2 when the inspection of a machine would fail. With --expect it
    returns 1 when anything is not as expected, and 0 otherwise.
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument(
            'files', metavar='<file>', nargs='+',
            help=_('YAML or JSON file with rules, of this language or that '
                   'of ironic-inspector'))
        parser.add_argument(
            '--inventory', metavar='<path>', nargs='+', action='extend',
            required=True,
            help=_('File with an inventory, as the ramdisk sends it, or as '
                   'Ironic or ironic-inspector gives it; or a directory '
                   'with such files'))
        parser.add_argument(
            '--node', metavar='<file>',
            help=_('File with the node that the machines are taken for, as '
                   "Ironic's API gives it; a new node if not given"))
        parser.add_argument(
            '--expect', metavar='<file>',
            help=_('File with what is expected of each inventory'))
        parser.add_argument(
            '--update', action='store_true',
            help=_('Write what happens to the file of --expect'))
        parser.add_argument(
            '--html', metavar='<file>',
            help=_('Write a page with rules and machines as a matrix'))
        parser.add_argument(
            '--details', action='store_true',
            help=_('Tell all about each machine, also of many'))
        parser.add_argument(
            '-f', '--format', choices=('table', 'json', 'yaml'),
            default='table', help=_('How to print what happens'))
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> int:
        ops = registry.installed()
        rules = trial.load_rules(parsed_args.files, ops)
        paths = trial.find_inventories(parsed_args.inventory)
        in_detail = parsed_args.details or len(paths) == 1
        explain = bool(in_detail or parsed_args.html
                       or parsed_args.format != 'table')
        trials = self._run(rules, paths, parsed_args.node, ops, explain)
        if parsed_args.html:
            with open(parsed_args.html, 'w', encoding='utf-8') as stream:
                stream.write(page.render(rules, trials))
        if parsed_args.expect:
            return self._compare(parsed_args.expect, parsed_args.update,
                                 trials)
        self.app.stdout.write(
            _print(trials, parsed_args.format, in_detail) + '\n')
        results = {each.result for each in trials}
        if 'error' in results:
            return EXIT_ERROR
        return EXIT_FAILED if 'failed' in results else 0

    @staticmethod
    def _run(rules: typing.Any, paths: typing.Sequence[str],
             node_path: str | None, ops: registry.Registry,
             explain: bool) -> list[trial.Trial]:
        plans = trial.compile_rules(rules, ops)
        node = trial.load_node(node_path)
        with progress.Progress(console=console.Console(stderr=True),
                               transient=True,
                               disable=not sys.stderr.isatty()) as bar:
            return [trial.run(path, plans, node, explain)
                    for path in bar.track(paths,
                                          description=_('Trying'))]

    def _compare(self, path: str, update: bool,
                 trials: list[trial.Trial]) -> int:
        if update:
            expectation.dump(path, trials)
            return 0
        differences = list(expectation.differences(
            path, expectation.load(path), trials))
        for each in differences:
            self.app.stdout.write(f'{each}\n')
        self.app.stdout.write(
            _('%(machines)d inventories, %(differences)d not as expected\n')
            % {'machines': len(trials), 'differences': len(differences)})
        return EXIT_ERROR if differences else 0


def _print(trials: list[trial.Trial], how: str, in_detail: bool) -> str:
    if how == 'table':
        if in_detail:
            return '\n\n'.join(map(report.details, trials))
        return report.summary(trials)
    data = [report.as_dict(each) for each in trials]
    if how == 'json':
        # One line for each of many: the indented form takes far longer.
        indent = 2 if len(data) == 1 else None
        listed = ',\n'.join(json.dumps(each, indent=indent)
                            for each in data)
        return f'[{listed}]'
    return str(yaml.safe_dump(data, sort_keys=False, allow_unicode=True))
