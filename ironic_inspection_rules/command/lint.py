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

"""ironic-inspection-rules lint: looks for mistakes in files of rules."""

import argparse
import json
import typing

from cliff import command
import prettytable

from ironic_inspection_rules.engine import registry
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.offline import finding
from ironic_inspection_rules.offline import lint
from ironic_inspection_rules.offline import sarif


class Lint(command.Command):
    """Look for mistakes in files of rules.

    Needs neither Ironic nor a database. Returns 1 if it finds anything.
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument(
            'files', metavar='<file>', nargs='+',
            help=_('YAML or JSON file with rules, of this language or that '
                   'of ironic-inspector'))
        parser.add_argument(
            '-f', '--format', choices=sorted(_PRINTERS), default='table',
            help=_('How to print what was found'))
        parser.add_argument(
            '--ignore', metavar='<check>', action='append', default=[],
            choices=sorted(lint.CHECKS.keys() | {lint.BUILT_IN_ONLY,
                                                 lint.UNREACHABLE}),
            help=_('A check to leave out; may be repeated: %(choices)s'))
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> int:
        findings = [each for each in lint.lint(parsed_args.files,
                                               registry.installed())
                    if each.check not in parsed_args.ignore]
        text = _PRINTERS[parsed_args.format](findings)
        self.app.stdout.write(f'{text}\n' if text else '')
        return 1 if findings else 0


def _as_table(findings: typing.Sequence[finding.Finding]) -> str:
    if not findings:
        return ''
    table = prettytable.PrettyTable(
        [_('Place'), _('Level'), _('Rule'), _('Problem'), _('Check')],
        align='l', hrules=prettytable.HRuleStyle.HEADER)
    table.max_width = {_('Rule'): 30, _('Problem'): 60}
    for each in findings:
        table.add_row([f'{each.path}:{each.line}:{each.column}', each.level,
                       each.rule or '', each.message, each.check])
    return str(table)


_PRINTERS: dict[str, typing.Callable[
    [typing.Sequence[finding.Finding]], str]] = {
    'json': lambda findings: json.dumps(
        [each.as_dict() for each in findings], indent=2),
    'sarif': lambda findings: json.dumps(sarif.report(findings), indent=2),
    'table': _as_table,
}
