# SPDX-License-Identifier: Apache-2.0

"""``openstack baremetal node rule``: what rules did to a node, and why."""

import argparse
import json
from typing import Any

from osc_lib.cli import format_columns

from ironic_inspection_rules.client import inspection_rule
from ironic_inspection_rules.client import inspection_run
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.osc import command
from ironic_inspection_rules.osc import story
from ironic_inspection_rules.rule_file import yaml_text

_COLUMNS = ('uuid', 'created_at', 'event', 'result', 'revision', 'error')


class ListInspectionRuns(command.Lister):
    """List the inspections of a node that are kept, newest first."""

    def get_parser(self, prog_name):
        parser = super().get_parser(prog_name)
        command.add_node(parser)
        parser.add_argument('--limit', metavar='<limit>', type=int,
                            help=_('List so many, not all'))
        return parser

    def take_action(self, parsed_args):
        found = inspection_run.inspection_runs(
            self.baremetal, parsed_args.node, limit=parsed_args.limit)
        rows = [tuple(each[name] for name in _COLUMNS) for each in found]
        return _COLUMNS, rows[:parsed_args.limit]


class ShowInspectionRun(command.ShowOne):
    """Show what the rules did in one inspection of a node."""

    def get_parser(self, prog_name):
        parser = super().get_parser(prog_name)
        command.add_node(parser)
        parser.add_argument(
            'run', metavar='<run>', nargs='?',
            help=_('UUID of the run; the last one if not given'))
        return parser

    def take_action(self, parsed_args):
        baremetal, uuid = self.baremetal, parsed_args.run
        if uuid is None:
            uuid = story.last_run(baremetal, parsed_args.node)['uuid']
        run = inspection_run.get_inspection_run(
            baremetal, parsed_args.node, uuid)
        phases = run.pop('phases')
        run.pop('links')
        run.update({phase: Phase(phases[phase]) for phase in story.PHASES
                    if phase in phases})
        return tuple(run), tuple(run.values())


class Phase(format_columns.DictColumn):
    """A phase of a run, as lines for people."""

    def human_readable(self):
        """Return the lines."""
        return '\n'.join(story.of_phase(self._value)) or _('nothing')


class ExplainInspection(command.Command):
    """Show which rule last set a value of a node, and why.

    Ask for an attribute (--path /extra/size), for a trait, for an attribute
    of a port, or why a rule matched or did not (--rule); without any of them,
    show all that rules did in the last inspection.
    """

    def get_parser(self, prog_name):
        parser = super().get_parser(prog_name)
        command.add_node(parser)
        asked = parser.add_mutually_exclusive_group()
        asked.add_argument('--path', metavar='<path>',
                           help=_('Path of the value, such as /extra/size; '
                                  '/plugin_data/… for plugin data'))
        asked.add_argument('--trait', metavar='<trait>',
                           help=_('Name of the trait'))
        asked.add_argument('--rule', metavar='<rule>',
                           help=_('UUID of the rule, or its description '
                                  'where no other has it'))
        parser.add_argument('--port', metavar='<port>',
                            help=_('MAC address or UUID of the port that '
                                   'the path belongs to'))
        parser.add_argument(
            '-f', '--format', choices=('text', 'json', 'yaml'),
            default='text', help=_('How to print the answer'))
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        baremetal, node = self.baremetal, parsed_args.node
        asked = {name: getattr(parsed_args, name)
                 for name in ('path', 'trait', 'port', 'rule')}
        if any(value is not None for value in asked.values()):
            if asked['rule'] is not None:
                asked['rule'] = inspection_rule.find_inspection_rule(
                    baremetal, asked['rule'])
            answer = inspection_run.explain(baremetal, node, **asked)
            lines = (story.of_answer(answer) if asked['rule'] is None
                     else story.of_rule(answer))
        else:
            answer = inspection_run.get_inspection_run(
                baremetal, node, story.last_run(baremetal, node)['uuid'])
            lines = story.of_run(answer)
        printed = ('\n'.join(lines) if parsed_args.format == 'text'
                   else _PRINTERS[parsed_args.format](answer))
        self.app.stdout.write(printed + '\n')


class ShowStatistics(command.Lister):
    """Show how often each inspection rule ran, matched and failed."""

    def get_parser(self, prog_name):
        parser = super().get_parser(prog_name)
        parser.add_argument('--sort', metavar='<key>[:<direction>]',
                            help=_('Sort by this column; in the order in '
                                   'which the rules run if not given'))
        parser.add_argument('--long', action='store_true',
                            help=_('Show all columns'))
        return parser

    def take_action(self, parsed_args):
        key, _colon, direction = (parsed_args.sort or '').partition(':')
        found = inspection_run.rule_statistics(
            self.baremetal, sort_key=key or None,
            sort_dir=direction or None)
        columns = story.ALL_COUNTS if parsed_args.long else story.COUNTS
        return columns, [tuple(_count(name, each[name]) for name in columns)
                         for each in found]


def _count(name: str, value: Any) -> Any:
    return round(value, 6) if name == 'seconds' else value


_PRINTERS = {
    'json': lambda answer: json.dumps(answer, indent=2),
    'yaml': lambda answer: yaml_text.dump(answer),
}
