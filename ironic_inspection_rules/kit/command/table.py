# SPDX-License-Identifier: Apache-2.0

"""Implement ``table``: options, output formats and exit codes.

A file of rules may have tables, e.g. of ordered machines, with a row for each
machine. The command compares the inventories of machines with the rows of one
table. The member ``of`` of the table says which row belongs to a machine: with
``{inventory.system_vendor.serial_number}``, it is the row whose key is the
serial number. The member ``expect`` says which columns must equal which values
of the machine.

A finding is a machine or a row with its state, e.g. ``missing`` for a row
that no machine has.
"""

import argparse

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.language import suggestion
from ironic_inspection_rules.engine.language import table
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.kit.command import arguments
from ironic_inspection_rules.kit.report import table_machines
from ironic_inspection_rules.kit.report.pages import table as page
from ironic_inspection_rules.kit.terminal import progress
from ironic_inspection_rules.kit.trial import expected_machines
from ironic_inspection_rules.kit.trial import machine_test
from ironic_inspection_rules.machine import table_comparison
from ironic_inspection_rules.rule_file import file_set
from ironic_inspection_rules.rule_file import table_file

EXIT_ERROR = 1
EXIT_NOT_RIGHT = 2


class TableCommand(arguments.FileCommand):
    """Show machines beside the rows of a table: who is missing, or wrong.

    Needs neither Ironic nor a database. Returns 0 when all that is listed is
    right, 2 when something is not, and 1 where a file cannot be read.
    """

    example = 'orders.yaml --inventory machines'

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Add files with tables, machines, and what to print of them."""
        arguments.add_files(parser)
        arguments.add_inventories(
            parser,
            _(
                'File with the inventory of a machine, or a directory '
                'with such files'
            ),
            required=True,
        )
        arguments.add_node(parser)
        parser.add_argument(
            '--table',
            metavar='<name>',
            help=_(
                'Name of the table; needed if the files have several that '
                'say which row is that of a machine'
            ),
        )
        # An option for each state selects what is printed: "--missing". All
        # of them append to "states", so that several can be given.
        for state, text in table_machines.WORDS_BY_STATE.items():
            parser.add_argument(
                f'--{state}',
                dest='states',
                action='append_const',
                const=state,
                default=[],
                help=_('List only %s') % text,
            )
        parser.add_argument(
            '-f',
            '--format',
            choices=('table', 'json', 'csv'),
            default='table',
            help=_('How to print the machines; csv for those who order parts'),
        )
        parser.add_argument(
            '--by',
            metavar='<column>',
            help=_(
                'Column that groups the machines of the page; the rack, '
                'if not given and there is one'
            ),
        )
        parser.add_argument(
            '--html',
            metavar='<file>',
            type=arguments.check_new_file,
            help=_('Write a page for a browser'),
        )
        arguments.add_output(parser)

    def take_action(self, parsed_args: argparse.Namespace) -> int:
        """Print the machines and rows of a table, each with its state.

        Options such as ``--missing`` select the states to print.

        :returns: EXIT_ERROR if a machine cannot be read; EXIT_NOT_RIGHT if one
            of the printed machines or rows is not right; otherwise 0.
        :raises: :class:`.exceptions.Invalid` if the files have no table of
            this name, or the table has no column of this name.
        """
        files = file_set.load_all(parsed_args.files)
        tables = table_file.build(files.tables)
        expected = _choose_table(tables, parsed_args.table)
        # The page groups the machines by a column. Without --by, it is the
        # column of the rack; None if the table has no such column.
        group_column = parsed_args.by or expected_machines.rack_column(
            expected
        )
        if group_column is not None and group_column not in expected.columns:
            raise exceptions.Invalid(
                suggestion.unknown_message(
                    _('column'), group_column, expected.columns
                )
            )
        paths = machine_test.find_inventories(parsed_args.inventory)
        # The reasons why files cannot be read.
        problems: list[str] = []
        with progress.show_machine_bar(len(paths)) as advance:
            findings = expected_machines.compare(
                expected,
                machine_test.Nodes(parsed_args.node),
                paths,
                advance,
                problems.append,
                group_column,
            )
        if parsed_args.states:
            findings = [
                finding
                for finding in findings
                if finding.state in parsed_args.states
            ]
        if parsed_args.html:
            html = page.render(expected, findings, group_column)
            arguments.write(parsed_args.html, html, self.app.stdout)
        # "--html -" writes the page to standard output. The table is discarded
        # then.
        output = arguments.choose_output(parsed_args.html, self.app.stdout)
        text = _render(findings, expected, parsed_args.format)
        arguments.write(parsed_args.output, text, output)
        for problem in problems:
            self.app.stderr.write(f'{problem}\n')
        if problems:
            return EXIT_ERROR
        is_all_right = all(
            finding.state == table_comparison.RIGHT for finding in findings
        )
        if not is_all_right:
            return EXIT_NOT_RIGHT
        return 0


def _choose_table(tables: table.Tables, name: str | None) -> table.Table:
    """Return the table of ``--table``, or the only table with ``of``.

    Machines can only be compared with a table that has the member ``of``,
    because it says which row belongs to a machine, e.g. ``of:
    '{inventory.system_vendor.serial_number}'``.

    :param tables: all tables of the files, by name.
    :param name: the value of ``--table``; None if it is not given.
    :raises: :class:`.exceptions.Invalid` if the named table does not exist or
        has no ``of``; without a name, if no table or several tables have it.
    """
    if name is None:
        candidates = [
            candidate for candidate in tables.values() if candidate.has_of
        ]
        if not candidates:
            raise exceptions.Invalid(
                _(
                    'the files have no table with "of", which says which row '
                    'is that of a machine'
                )
            )
        if len(candidates) > 1:
            names = [candidate.definition.name for candidate in candidates]
            raise exceptions.Invalid(
                _('the files have several tables; choose one with --table: %s')
                % ', '.join(names)
            )
        return candidates[0]
    if name not in tables:
        raise exceptions.Invalid(
            suggestion.unknown_message(_('table'), name, tables)
        )
    if not tables[name].has_of:
        raise exceptions.Invalid(
            _(
                'table "%s" has no "of", which says which row is that of a '
                'machine'
            )
            % name
        )
    return tables[name]


def _render(
    findings: list[table_comparison.TableFinding],
    expected: table.Table,
    output_format: str,
) -> str:
    """Return findings as text.

    :param expected: the table, whose columns the CSV format has as well.
    :param output_format: the value of ``-f``: ``table``, ``json`` or ``csv``.
    """
    if output_format == 'json':
        return table_machines.as_json(findings)
    if output_format == 'csv':
        return table_machines.as_csv(findings, expected)
    return table_machines.as_table(findings)
