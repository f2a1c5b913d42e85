# SPDX-License-Identifier: Apache-2.0

"""``openstack baremetal inspection rule``: what the shipped client lacks."""

import collections
import json
from typing import Any

from ironicclient.osc.v1 import baremetal_inspection_rule as shipped

from ironic_inspection_rules.client import inspection_rule
from ironic_inspection_rules.client import rule_set
from ironic_inspection_rules.engine import model
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.machine import machine_file
from ironic_inspection_rules.osc import command
from ironic_inspection_rules.osc import fleet_evaluation
from ironic_inspection_rules.osc import rule_files
from ironic_inspection_rules.osc import rule_set as rule_set_commands
from ironic_inspection_rules.rule_file import origin
from ironic_inspection_rules.rule_file import yaml_text
from ironic_inspection_rules.terminal import table

EXIT_FAILED = 2
"""``evaluate`` returns this when the inspection would fail."""


class GetInspectionRule(command.Guarded,
                        shipped.ShowBaremetalInspectionRule):
    """Show an inspection rule, by its UUID or its description."""

    def take_action(self, parsed_args):
        parsed_args.rule = inspection_rule.find_inspection_rule(
            self.baremetal, parsed_args.rule)
        return super().take_action(parsed_args)


class ImportInspectionRules(command.Command):
    """Make or replace inspection rules from files: all of them or none.

    What "apply --yes" does without --prune.
    """

    def get_parser(self, prog_name):
        parser = super().get_parser(prog_name)
        rule_files.add_argument(parser)
        parser.add_argument(
            '--replace', action='store_true',
            help=_('Kept for scripts: a rule always takes the place of the '
                   'one with the same UUID or, where it has none, with the '
                   'same description'))
        return parser

    def take_action(self, parsed_args):
        baremetal = self.baremetal
        files = rule_files.load(parsed_args.files, self.app.stderr)
        with rule_files.explained(baremetal, files):
            plan = rule_set.plan(baremetal, files.rules, prune=False)
            if plan.changes:
                rule_set.replace_inspection_rules(
                    baremetal, files.rules, plan.revision, prune=False)
        count = collections.Counter(step['outcome'] for step in plan.steps)
        self.app.stdout.write(
            _('%(created)d created, %(updated)d updated, %(unchanged)d '
              'unchanged\n') % {
                  'created': count['created'], 'updated': count['updated'],
                  'unchanged': len(files.rules) - count['created']
                  - count['updated']})
        for warning in inspection_rule.warnings(baremetal):
            self.app.stderr.write(_('Warning: %s\n') % warning)


class ExportInspectionRules(command.Command):
    """Write the stored inspection rules so that they can be imported."""

    def get_parser(self, prog_name):
        parser = super().get_parser(prog_name)
        parser.add_argument(
            '--revision', metavar='<revision>', type=int,
            help=_('Write the rules of this revision of the rule set'))
        parser.add_argument(
            'file', metavar='<file>', nargs='?', default='-',
            help=_('File to write, JSON if it is named so and YAML otherwise;'
                   ' "-" and none are standard output'))
        return parser

    def take_action(self, parsed_args):
        baremetal = self.baremetal
        if parsed_args.revision is None:
            rules = [rule for rule in inspection_rule.inspection_rules(
                baremetal, details=True) if not rule['built_in']]
        else:
            rules = rule_set.get_inspection_rule_revision(
                baremetal, parsed_args.revision)['rules']
        # Whoever applies a rule whose operations are null leaves them alone.
        readable = [{name: rule[name] for name in model.WRITABLE}
                    for rule in rules]
        path = parsed_args.file
        if path.endswith('.json'):
            text = json.dumps(readable, indent=2) + '\n'
        else:
            text = yaml_text.dump(readable)
        if path == '-':
            self.app.stdout.write(text)
        else:
            with open(path, 'w', encoding='utf-8') as stream:
                stream.write(text)
        for rule in rules:
            if rule['sensitive']:
                self.app.stderr.write(
                    _('Without operations, as it is sensitive: %(uuid)s '
                      '(%(description)s)\n') % rule)


class PurgeInspectionRules(command.Command):
    """Remove all inspection rules but the built-in ones."""

    def get_parser(self, prog_name):
        parser = super().get_parser(prog_name)
        parser.add_argument('--yes', action='store_true',
                            help=_('Do not ask'))
        return parser

    def take_action(self, parsed_args):
        if rule_set_commands.confirm(_('Remove all inspection rules?'),
                                     parsed_args.yes):
            inspection_rule.delete_all_inspection_rules(
                self.baremetal)


class EvaluateInspectionRules(command.Command):
    """Try inspection rules on machines without changing anything.

    Returns 2 when the inspection would fail. With --nodes and --rules it
    returns 2 when a machine would be treated otherwise than by the rules in
    force, and 0 when none would; whether a rule refuses machines is such a
    difference. It returns 1 when a rule cannot be carried out on a machine,
    or nothing is known of any of them.
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
            '--rules', metavar='<file>', nargs='+', action='extend',
            help=_('Files with rules to try instead of those in force'))
        parser.add_argument('--phase', metavar='<phase>',
                            help=_('Only this phase'))
        parser.add_argument(
            '-f', '--format', choices=('table', 'json', 'yaml'),
            default='table', help=_('How to print the result'))
        fleet_evaluation.add_arguments(parser)
        return parser

    def take_action(self, parsed_args):
        fleet_evaluation.check(parsed_args)
        if parsed_args.nodes is not None:
            return fleet_evaluation.run(self, parsed_args)
        request: dict[str, Any] = {'node': parsed_args.node,
                                   'phase': parsed_args.phase}
        files = origin.load([])
        baremetal = self.baremetal
        if parsed_args.rules:
            files = rule_files.load(parsed_args.rules, self.app.stderr)
            request['rules'] = files.rules
        if parsed_args.inventory:
            read = machine_file.load(parsed_args.inventory)
            request['inventory'] = read.inventory
            request['plugin_data'] = read.plugin_data
        with rule_files.explained(baremetal, files):
            result = inspection_rule.evaluate_inspection_rules(
                baremetal, **request)
        self.app.stdout.write(_PRINTERS[parsed_args.format](result) + '\n')
        return 0 if result['result'] == 'ok' else EXIT_FAILED


def _as_tables(result: dict[str, Any]) -> str:
    rules = table.render(
        [_('Rule'), _('Phase'), _('Matched'), _('Why')],
        [[rule['description'] or rule['uuid'], rule['phase'],
          _('yes') if rule['matched'] else _('no'),
          '\n'.join(map(_why, rule['conditions'] or ()))]
         for rule in result['rules']])
    changes = table.render(
        [_('Object'), _('Change'), _('Path'), _('Value')],
        [[change['object'], change['op'], change['path'],
          json.dumps(change['value'], ensure_ascii=False)]
         for change in result['changes']]) if result['changes'] else (
        _('nothing would change'))
    lines = [rules, changes]
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
    'yaml': lambda result: yaml_text.dump(result),
}
