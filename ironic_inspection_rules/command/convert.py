# SPDX-License-Identifier: Apache-2.0

"""ironic-inspection-rules convert: rules for other programs as new ones."""

import argparse

from cliff import command

from ironic_inspection_rules.authoring.conversion import file as converted_file
from ironic_inspection_rules.command import arguments
from ironic_inspection_rules.engine import registry
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.rule_file import document


class Convert(command.Command):
    """Write rules of ironic-inspector or stock Ironic as rules for here.

    They are written as YAML, and do what they did there. Lists what cannot
    be carried over, or comes out differently, and returns 1 if there is
    anything.
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        arguments.add_files(parser)
        parser.add_argument(
            '--from', dest='language', choices=('inspector', 'ironic'),
            default='inspector',
            help=_('whose rules they are; those of ironic-inspector are '
                   'known by their form'))
        arguments.add_output(parser)
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> int:
        files = [converted_file.convert(path, registry.installed(),
                                        parsed_args.language == 'ironic')
                 for path in document.files(parsed_args.files)]
        arguments.write(parsed_args.output, '\n'.join(
            each.text for each in files), self.app.stdout)
        lost = [found for each in files for found in each.lost]
        for found in lost:
            self.app.stderr.write(
                f'{found.path}:{found.line}:{found.column}: {found.rule}: '
                f'{found.message}\n')
        return 1 if lost else 0
