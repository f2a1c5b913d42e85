# SPDX-License-Identifier: Apache-2.0

"""ironic-inspection-rules schema: prints a JSON Schema of files of rules."""

import argparse
import json

from cliff import command

from ironic_inspection_rules.authoring.schema import document
from ironic_inspection_rules.engine import registry
from ironic_inspection_rules.i18n import _


class Schema(command.Command):
    """Print a JSON Schema of files of rules, for editors.

    It has the ops of all packages that are installed here, and needs neither
    Ironic nor a database.
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument(
            '--built-in', action='store_true',
            help=_('Of files with built-in rules, which may have names for '
                   'UUIDs and any priority'))
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> int:
        schema = document.schema(registry.installed(), parsed_args.built_in)
        self.app.stdout.write(json.dumps(schema, indent=1) + '\n')
        return 0
