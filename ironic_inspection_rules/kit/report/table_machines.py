# SPDX-License-Identifier: Apache-2.0

"""Machines beside the rows of a table, as text, JSON and CSV."""

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

_FORMULA = ('=', '+', '-', '@', '\t', '\r')

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
                    'expected': _text(difference.expected),
                    'found': _text(difference.found),
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
        lines.append(
            terminal_table.render(
                [_('Key'), _('Node'), _('State'), _('Differences')], rows
            )
        )
    numbers = counts(findings)
    lines.append(
        ', '.join(
            f'{numbers[state]} {state}' for state in table_comparison.STATES
        )
    )
    return '\n'.join(lines) + '\n'


def as_json(findings: Iterable[table_comparison.TableFinding]) -> str:
    """Return machines as the API shows them."""
    machines = [finding.as_dict() for finding in findings]
    return json.dumps({'machines': machines}, indent=2) + '\n'


def as_csv(
    findings: Iterable[table_comparison.TableFinding], expected: table.Table
) -> str:
    """Return the findings as CSV for a spreadsheet.

    A line has one difference, then the columns of the row of the table, which
    somebody needs who orders a missing machine.

    :param expected: the table with which machines were compared.
    """
    secret = expected.definition.secret
    # Columns named like ours are left out: a header names a column once.
    columns = [
        column
        for column in expected.columns
        if column not in secret and column not in _COLUMNS
    ]
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator='\n')
    writer.writerow(map(_cell, (*_COLUMNS, *columns)))
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
            writer.writerow(map(_cell, (*head, *values, *cells)))
        if not finding.differences:
            writer.writerow(map(_cell, (*head, None, None, None, *cells)))
    return stream.getvalue()


def counts(
    findings: Iterable[table_comparison.TableFinding],
) -> dict[str, int]:
    """Return the number of findings by state, 0 for states without any."""
    numbers = dict.fromkeys(table_comparison.STATES, 0)
    for finding in findings:
        numbers[finding.state] += 1
    return numbers


def _text(value: typing.Any) -> str:
    """Return a value as the terminal's table shows it."""
    if value is None:
        return _('nothing')
    if isinstance(value, str):
        return value
    return json.dumps(value)


def _cell(value: typing.Any) -> str:
    """Return a value as the text of a cell that no spreadsheet evaluates.

    Machines may send text that Excel takes for a formula: it gets an
    apostrophe. Control characters are escaped.
    """
    if value is None:
        return ''
    if not isinstance(value, str):
        return json.dumps(value)
    if value.startswith(_FORMULA):
        value = f"'{value}"
    return escapes.escaped(value)
