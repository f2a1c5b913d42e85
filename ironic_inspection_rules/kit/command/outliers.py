# SPDX-License-Identifier: Apache-2.0

"""Implement ``outliers``, which finds machines unlike their peers in files.

Peers are machines of the same vendor, product and board. The command compares
them with each other, and prints a finding for each difference, e.g. that one
of 40 equal servers has less memory. A machine with a finding is odd; the
others are normal. With ``--learn``, the command also writes rules that detect
odd machines at later inspections.
"""

import argparse

from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.kit.command import arguments
from ironic_inspection_rules.kit.command import peer_arguments
from ironic_inspection_rules.kit.machine.outliers import peer_files
from ironic_inspection_rules.kit.terminal import progress
from ironic_inspection_rules.kit.trial import machine_test

EXIT_ERROR = 1


class Outliers(arguments.FileCommand):
    """Show machines that differ from their peers.

    Needs no rules. Peers are machines of the same vendor, product and board.
    Returns 0 when no machine differs, 2 when one does, and 1 where a file
    cannot be read.
    """

    example = 'machines --min-peers 2'

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            'inventories',
            metavar='<inventory>',
            nargs='+',
            help=_(
                'File with the inventory of a machine, a directory with '
                'such files, or - for what is piped in'
            ),
        )
        peer_arguments.add_options(parser)

    def take_action(self, parsed_args: argparse.Namespace) -> int:
        """Print the machines that differ. With ``--learn``, also write rules.

        If a file cannot be read, the other machines are compared nevertheless.

        :returns: the exit status: EXIT_ERROR if a file cannot be read; 2 if a
            machine is odd; otherwise 0.
        """
        paths = machine_test.find_inventories(parsed_args.inventories)
        # The reasons why files cannot be read.
        problems: list[str] = []
        with progress.show_machine_bar(len(paths)) as advance:
            result = peer_files.compare(
                paths,
                parsed_args.by,
                parsed_args.min_peers,
                advance,
                problems.append,
            )
        result = result.without_kinds(parsed_args.ignore)
        if parsed_args.learn:
            # Rules are learned from the normal machines. Their inventories
            # were too large to keep, so the files are read again.
            with progress.show_machine_bar(result.normal) as advance:
                rules = peer_files.learn(result, parsed_args.by, advance)
            arguments.write(
                parsed_args.learn,
                peer_arguments.format_rules(rules),
                self.app.stdout,
            )
        text = peer_arguments.render(result, parsed_args.format)
        # "--learn -" writes the rules to standard output. A table after them
        # would make the YAML invalid, so it is discarded then.
        output = arguments.choose_output(parsed_args.learn, self.app.stdout)
        arguments.write(parsed_args.output, text, output)
        self.app.stderr.write(
            peer_arguments.missing_path_warnings(result, parsed_args.by)
        )
        for problem in problems:
            self.app.stderr.write(f'{problem}\n')
        if problems:
            return EXIT_ERROR
        return peer_arguments.exit_status(result)
