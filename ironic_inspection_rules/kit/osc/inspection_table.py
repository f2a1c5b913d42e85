# SPDX-License-Identifier: Apache-2.0

"""Commands for tables: list, show, and compare with machines.

A table has rows of data that rules look up by a key, e.g. by serial number.
Ironic can compare the rows with the machines that it has inspected. The
comparison gives every machine and row a state: ``right``, ``wrong`` if values
differ, ``missing`` if no machine has the key of a row, ``unexpected`` if no
row has the key of a machine, or ``twice`` if several machines have the same
key, or no key at all.
"""

import json
from typing import Any

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.language import table as engine_table
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.kit.client import inspection_table
from ironic_inspection_rules.kit.osc import command
from ironic_inspection_rules.kit.report import table_machines
from ironic_inspection_rules.machine import table_comparison

EXIT_NOT_RIGHT = 2
"""The status of ``machines`` if a machine or a row is not right."""


class ListInspectionTables(command.Lister):
    """List the tables of the rule set."""

    example = '-f yaml'

    def take_action(self, parsed_args):
        """Return the titles of the columns, and one row per table."""
        titles = ('Name', 'Rows', 'Revision', 'Built In', 'Columns')
        rows = []
        for described in inspection_table.inspection_tables(self.baremetal):
            number_of_rows = described['size']
            rows.append(
                (
                    described['name'],
                    number_of_rows,
                    described['revision'],
                    described['built_in'],
                    ', '.join(described['columns']),
                )
            )
        return titles, rows


class ShowInspectionTable(command.Lister):
    """Show the rows of a table, without its secret columns."""

    example = 'orders --key 1DA99XYZ'

    def add_arguments(self, parser):
        parser.add_argument(
            'table', metavar='<table>', help=_('Name of the table')
        )
        parser.add_argument(
            '--key', metavar='<key>', help=_('Only the row with this key')
        )

    def take_action(self, parsed_args):
        """Return the titles of the columns, and the rows of the table.

        The first cell of a row is its key. With ``--key``, only the row with
        this key is returned.
        """
        baremetal = self.baremetal
        described = inspection_table.get_inspection_table(
            baremetal, parsed_args.table, key=parsed_args.key
        )
        # A row is e.g. {'key': '1DA99XYZ', 'row': {'serial': '1DA99XYZ', …}}.
        keyed_rows = described['rows']
        if parsed_args.key is None:
            # The answer has only the first page of rows. Read all pages.
            keyed_rows = inspection_table.inspection_table_rows(
                baremetal, parsed_args.table
            )
        columns = described['columns']
        rows = []
        for keyed_row in keyed_rows:
            # A row may lack columns that other rows have. Such cells are None.
            cells = [keyed_row['row'].get(column) for column in columns]
            rows.append((keyed_row['key'], *cells))
        return ('Key', *columns), rows


class ListInspectionTableMachines(command.BaremetalCommand):
    """Show which machines are not as a table expects them.

    Returns 0 if all that is listed is right, 2 if something is not, 1 on an
    error.
    """

    example = 'orders --missing -f csv'

    def add_arguments(self, parser):
        parser.add_argument(
            'table', metavar='<table>', help=_('Name of the table')
        )
        only = parser.add_mutually_exclusive_group()
        for state, text in table_machines.WORDS_BY_STATE.items():
            only.add_argument(
                f'--{state}',
                dest='state',
                const=state,
                action='store_const',
                help=_('Only %s') % text,
            )
        parser.add_argument(
            '-f',
            '--format',
            default='table',
            choices=('table', 'json', 'csv'),
            help=_('How to print the list'),
        )

    def take_action(self, parsed_args):
        """Print the machines and rows, and return the exit status.

        :returns: 2 if a machine or a row is not right, otherwise 0.
        """
        machines = inspection_table.inspection_table_machines(
            self.baremetal, parsed_args.table, parsed_args.state
        )
        findings = [_as_finding(machine) for machine in machines]
        if parsed_args.format == 'json':
            text = table_machines.as_json(findings)
        elif parsed_args.format == 'csv':
            text = table_machines.as_csv(
                findings, self._read_table(parsed_args.table)
            )
        else:
            text = table_machines.as_table(findings)
        self.app.stdout.write(text)
        if any(
            finding.state != table_comparison.RIGHT for finding in findings
        ):
            return EXIT_NOT_RIGHT
        return 0

    def _read_table(self, name: str) -> engine_table.Table:
        """Read a table and all its rows, in the form of the offline tools.

        Secret columns are missing, because Ironic never shows them.

        :param name: the name of the table.
        """
        baremetal = self.baremetal
        described = inspection_table.get_inspection_table(baremetal, name)
        definition = engine_table.TableDefinition(
            name, described['key'], secret=tuple(described['secret'])
        )
        row_by_key = {}
        for keyed_row in inspection_table.inspection_table_rows(
            baremetal, name
        ):
            row_by_key[keyed_row['key']] = keyed_row['row']
        return engine_table.Table(definition, row_by_key, described['columns'])


def _as_finding(machine: dict[str, Any]) -> table_comparison.TableFinding:
    """Convert a machine in an answer of the API to a finding.

    The offline tools also compare machines with tables, and give findings.
    With the same type, both are printed by the same code.

    :param machine: e.g. ``{"key": "1DA99XYZ", "node": "rack1-07", "state":
        "wrong", "differences": [{"column": "rack", "expected": "r1", "found":
        "r2"}]}``.
    :raises: Invalid if this release does not know the state.
    """
    if machine['state'] not in table_comparison.STATES:
        # A later release of the plugin may have more states. This release
        # could not say whether they are right.
        raise exceptions.Invalid(
            _(
                'The answer gives machine %(machine)s the state %(state)s, '
                'where one of %(states)s is expected: it may be of another '
                'release of the plugin'
            )
            % {
                'machine': machine['node'] or machine['key'],
                'state': json.dumps(machine['state']),
                'states': ', '.join(table_comparison.STATES),
            }
        )
    differences = []
    for difference in machine['differences']:
        # Name the members, because a later release may return more of them.
        differences.append(
            table_comparison.ColumnDifference(
                column=difference['column'],
                expected=difference['expected'],
                found=difference['found'],
            )
        )
    return table_comparison.TableFinding(
        key=machine['key'],
        machine=machine['node'],
        state=machine['state'],
        differences=tuple(differences),
    )
