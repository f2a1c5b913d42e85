# SPDX-License-Identifier: Apache-2.0

"""Output of machines compared with a table, as text, JSON and CSV."""

from collections.abc import Iterable, Sequence
import csv
import io
import json
import typing

from ironic_inspection_rules import escapes
from ironic_inspection_rules.engine.language import table
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.kit.terminal import table as terminal_table
from ironic_inspection_rules.machine import table_comparison

_FORMULA_SIGNS = ('=', '+', '-', '@', '\t', '\r')

_COLUMNS = ('key', 'node', 'state', 'column', 'expected', 'found')


def as_table(findings: Sequence[table_comparison.TableFinding]) -> str:
    """Return the findings as a table for a terminal, and how many there are.

    A row has the key, the node, the state, and how its columns differ. The
    last line has the number of findings in every state.
    """
    rows = []
    for finding in findings:
        differences = []
        for difference in finding.differences:
            differences.append(
                _('%(column)s: expected %(expected)s, found %(found)s')
                % {
                    'column': difference.column,
                    'expected': _format_value(difference.expected),
                    'found': _format_value(difference.found),
                }
            )
        rows.append(
            [
                finding.key or '',
                finding.machine or '',
                finding.state,
                '\n'.join(differences),
            ]
        )
    lines = []
    if rows:
        heads = [_('Key'), _('Node'), _('State'), _('Differences')]
        lines.append(terminal_table.render(heads, rows))
    numbers = count_by_state(findings)
    counts = [f'{number} {state}' for state, number in numbers.items()]
    lines.append(', '.join(counts))
    return '\n'.join(lines) + '\n'


def as_json(findings: Iterable[table_comparison.TableFinding]) -> str:
    """Return the findings as JSON, in the form of the API's answer."""
    machines = [finding.as_dict() for finding in findings]
    return json.dumps({'machines': machines}, indent=2) + '\n'


def as_csv(
    findings: Iterable[table_comparison.TableFinding], expected: table.Table
) -> str:
    """Return the findings as CSV for a spreadsheet.

    A line has one difference; a finding without differences has one line. The
    difference is followed by the columns of the table's row, e.g. to order
    missing machines::

        key,node,state,column,expected,found,serial,vendor
        A1,1.json,wrong,cpus,64,32,A1,Dell
        B2,,missing,,,,B2,HPE

    Secret columns are skipped.

    :param expected: the table with which machines were compared.
    """
    # Column names must be unique, so skip a column of the table that has the
    # name of one of the first six columns.
    left_out = {*expected.definition.secret, *_COLUMNS}
    columns = [column for column in expected.columns if column not in left_out]
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator='\n')
    writer.writerow(map(_csv_cell, (*_COLUMNS, *columns)))
    for finding in findings:
        row = None
        if finding.key is not None:
            row = expected.row(finding.key)
        if not isinstance(row, dict):
            # No row names this machine.
            row = {}
        cells = [row.get(column) for column in columns]
        head = (finding.key, finding.machine, finding.state)
        for difference in finding.differences:
            values = (difference.column, difference.expected, difference.found)
            writer.writerow(map(_csv_cell, (*head, *values, *cells)))
        if not finding.differences:
            no_values = (None, None, None)
            writer.writerow(map(_csv_cell, (*head, *no_values, *cells)))
    return stream.getvalue()


def count_by_state(
    findings: Iterable[table_comparison.TableFinding],
) -> dict[str, int]:
    """Return the number of findings by state, 0 for states without any."""
    numbers = dict.fromkeys(table_comparison.STATES, 0)
    for finding in findings:
        numbers[finding.state] += 1
    return numbers


def _format_value(value: typing.Any) -> str:
    """Return a text unchanged, None as a word, and other values as JSON."""
    if value is None:
        return _('nothing')
    if isinstance(value, str):
        return value
    return json.dumps(value)


def _csv_cell(value: typing.Any) -> str:
    """Return a value as text that no spreadsheet evaluates as a formula.

    Machines may send formulas: ``=1+1`` becomes ``'=1+1``. Control characters
    are escaped, None becomes an empty text, and numbers and lists become JSON.
    """
    if value is None:
        return ''
    if not isinstance(value, str):
        return json.dumps(value)
    if value.startswith(_FORMULA_SIGNS):
        value = f"'{value}"
    return escapes.escaped(value)
