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

"""``openstack baremetal inspection rule``: what the shipped client lacks."""

import collections
import json
import sys
from typing import Any

from ironicclient.osc import command
from ironicclient.osc.v1 import baremetal_inspection_rule as shipped
from osc_lib import exceptions as osc_exceptions
import prettytable
from rich import console
from rich import progress
import yaml

from ironic_inspection_rules.client import importing
from ironic_inspection_rules.client import inspection_rule
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.osc import cloud
from ironic_inspection_rules.ruleset import document
from ironic_inspection_rules.ruleset import machine

EXIT_FAILED = 2
"""What ``evaluate`` returns when the inspection would fail."""


class GetInspectionRule(shipped.ShowBaremetalInspectionRule):
    """Show an inspection rule; another name of "show"."""


class ImportInspectionRules(command.Command):
    """Make or replace inspection rules from files: all of them or none."""

    def get_parser(self, prog_name):
        parser = super().get_parser(prog_name)
        parser.add_argument(
            'files', metavar='<file>', nargs='+',
            help=_('YAML or JSON file with one rule or a list of rules'))
        parser.add_argument(
            '--replace', action='store_true',
            help=_('Replace the rule with the same UUID or, where a rule has '
                   'none, with the same description'))
        return parser

    def take_action(self, parsed_args):
        baremetal = cloud.baremetal(self)
        rules = [rule for path in parsed_args.files
                 for rule in document.load(path).entries]
        present = list(inspection_rule.inspection_rules(baremetal,
                                                        details=True))
        steps = importing.decide(rules, present, parsed_args.replace)
        with progress.Progress(console=console.Console(stderr=True),
                               transient=True,
                               disable=not sys.stderr.isatty()) as bar:
            task = bar.add_task(_('Importing'), total=len(steps))
            importing.carry_out(baremetal, steps, lambda: bar.advance(task))
        count = collections.Counter(step.outcome for step in steps)
        self.app.stdout.write(
            _('%(created)d created, %(updated)d updated, %(unchanged)d '
              'unchanged\n') % {name: count[name] for name in
                                ('created', 'updated', 'unchanged')})


class ExportInspectionRules(command.Command):
    """Write the stored inspection rules so that they can be imported."""

    def get_parser(self, prog_name):
        parser = super().get_parser(prog_name)
        parser.add_argument(
            'file', metavar='<file>', nargs='?',
            help=_('File to write, JSON if it is named so and YAML otherwise;'
                   ' standard output if not given'))
        return parser

    def take_action(self, parsed_args):
        baremetal = cloud.baremetal(self)
        rules = [rule for rule in inspection_rule.inspection_rules(
            baremetal, details=True) if not rule['built_in']]
        readable = [{name: rule[name]
                     for name in ('uuid', *importing.DEFAULTS)}
                    for rule in rules if not rule['sensitive']]
        path = parsed_args.file
        if path and path.endswith('.json'):
            text = json.dumps(readable, indent=2) + '\n'
        else:
            text = yaml.safe_dump(readable, sort_keys=False)
        if path:
            with open(path, 'w', encoding='utf-8') as stream:
                stream.write(text)
        else:
            self.app.stdout.write(text)
        for rule in rules:
            if rule['sensitive']:
                self.app.stderr.write(
                    _('Not exported, as it is sensitive: %(uuid)s '
                      '(%(description)s)\n') % rule)


class PurgeInspectionRules(command.Command):
    """Remove all inspection rules but the built-in ones."""

    def get_parser(self, prog_name):
        parser = super().get_parser(prog_name)
        parser.add_argument('--yes', action='store_true',
                            help=_('Do not ask'))
        return parser

    def take_action(self, parsed_args):
        if not parsed_args.yes:
            if not sys.stdin.isatty():
                raise osc_exceptions.CommandError(
                    _('Nobody is there to ask: add --yes'))
            answer = input(_('Remove all inspection rules? [y/N] '))
            if answer.strip().lower() not in ('y', 'yes'):
                return
        inspection_rule.delete_all_inspection_rules(cloud.baremetal(self))


class EvaluateInspectionRules(command.Command):
    """Try inspection rules on a machine without changing anything.

    Returns 2 when the inspection would fail.
    """

    def get_parser(self, prog_name):
        parser = super().get_parser(prog_name)
        parser.add_argument(
            '--node', metavar='<node>',
            help=_('Name or UUID of a node; its stored inventory is used '
                   'unless one is given'))
        parser.add_argument(
            '--inventory', metavar='<file>',
            help=_('File with an inventory, as Ironic stores it or the '
                   'ramdisk sends it'))
        parser.add_argument(
            '--rules', metavar='<file>',
            help=_('File with rules to try instead of those in force'))
        parser.add_argument('--phase', metavar='<phase>',
                            help=_('Only this phase'))
        parser.add_argument(
            '-f', '--format', choices=('table', 'json', 'yaml'),
            default='table', help=_('How to print the result'))
        return parser

    def take_action(self, parsed_args):
        request: dict[str, Any] = {'node': parsed_args.node,
                                   'phase': parsed_args.phase}
        if parsed_args.rules:
            request['rules'] = list(document.load(parsed_args.rules).entries)
        if parsed_args.inventory:
            read = machine.load(parsed_args.inventory)
            request['inventory'] = read.inventory
            request['plugin_data'] = read.plugin_data
        result = inspection_rule.evaluate_inspection_rules(
            cloud.baremetal(self), **request)
        self.app.stdout.write(_PRINTERS[parsed_args.format](result) + '\n')
        return 0 if result['result'] == 'ok' else EXIT_FAILED


def _as_tables(result: dict[str, Any]) -> str:
    rules = prettytable.PrettyTable([_('Rule'), _('Phase'), _('Matched'),
                                     _('Why')], align='l')
    for rule in result['rules']:
        rules.add_row([rule['description'] or rule['uuid'], rule['phase'],
                       _('yes') if rule['matched'] else _('no'),
                       '\n'.join(map(_why, rule['conditions'] or ()))])
    changes = prettytable.PrettyTable([_('Object'), _('Change'), _('Path'),
                                       _('Value')], align='l')
    for change in result['changes']:
        changes.add_row([change['object'], change['op'], change['path'],
                         json.dumps(change['value'], ensure_ascii=False)])
    lines = [str(rules), str(changes)]
    if result['error']:
        lines.append(_('The inspection would fail: %s') % result['error'])
    return '\n'.join(lines)


def _why(condition: dict[str, Any]) -> str:
    verdict = {True: _('true'), False: _('false'), None: _('error')}[
        condition['result']]
    reason = condition['reason']
    return f'{condition["op"]}: {verdict}' + (f' ({reason})' if reason
                                              else '')


_PRINTERS = {
    'table': _as_tables,
    'json': lambda result: json.dumps(result, indent=2),
    'yaml': lambda result: yaml.safe_dump(result, sort_keys=False),
}
