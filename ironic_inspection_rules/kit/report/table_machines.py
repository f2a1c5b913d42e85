# SPDX-License-Identifier: Apache-2.0

"""Output of machines compared with a table, as text, JSON and CSV.

The table is a table of the rules, e.g. of ordered machines. A row describes
one machine, which is found by the *key* of the row, e.g. its serial number. A
*finding* is a row and its machine, or only one of the two, and a *state*:
``missing``, ``unexpected``, ``wrong``, ``twice`` or ``right``. A wrong machine
has *differences*: columns with the expected value and the value found.
"""

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

WORDS_BY_STATE = {
    table_comparison.MISSING: _('rows that no machine has'),
    table_comparison.UNEXPECTED: _('machines that no row names'),
    table_comparison.WRONG: _('machines that differ from their row'),
    table_comparison.TWICE: _(
        'machines whose key another one has, and those that nothing '
        'identifies together'
    ),
}
"""What the states other than ``right`` mean. The commands that list findings
have an option for each of them."""

_FORMULA_SIGNS = ('=', '+', '-', '@', '\t', '\r')
"""The first characters of cells that spreadsheets evaluate as formulas."""

_COLUMNS = ('key', 'node', 'state', 'column', 'expected', 'found')
"""The first columns of the CSV output."""


def as_table(findings: Sequence[table_comparison.TableFinding]) -> str:
    """Return the findings as a table for a terminal, and their numbers.

    For example, the cells of a row are ``A1``, ``1.json``, ``wrong`` and
    ``cpus: expected 64, found 32``. The last line has the number of findings
    by state, e.g. ``1 missing, 0 unexpected, 1 wrong, 0 twice, 30 right``.
    """
    rows = []
    for finding in findings:
        lines_of_differences = []
        for difference in finding.differences:
            lines_of_differences.append(
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
                '\n'.join(lines_of_differences),
            ]
        )
    lines = []
    if rows:
        heads = [_('Key'), _('Node'), _('State'), _('Differences')]
        lines.append(terminal_table.render(heads, rows))
    number_by_state = count_by_state(findings)
    counts = [f'{number} {state}' for state, number in number_by_state.items()]
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

    Every difference has a line. A finding without differences has one line,
    with three empty cells. The columns of the table come last. They help e.g.
    to order missing machines::

        key,node,state,column,expected,found,serial,vendor
        A1,1.json,wrong,cpus,64,32,A1,Dell
        B2,,missing,,,,B2,HPE

    Secret columns of the table are skipped.

    :param expected: the table with which machines were compared.
    """
    # Column names of a CSV file must be unique, so also skip columns of the
    # table that have the name of one of the first columns.
    skipped_columns = {*expected.definition.secret, *_COLUMNS}
    table_columns = [
        column for column in expected.columns if column not in skipped_columns
    ]
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator='\n')
    writer.writerow(map(_csv_cell, (*_COLUMNS, *table_columns)))
    for finding in findings:
        first_cells = (finding.key, finding.machine, finding.state)
        row = None
        if finding.key is not None:
            row = expected.row(finding.key)
        if not isinstance(row, dict):
            # No row describes this machine, so its last cells are empty.
            row = {}
        last_cells = [row.get(column) for column in table_columns]
        for difference in finding.differences:
            cells = (
                *first_cells,
                difference.column,
                difference.expected,
                difference.found,
                *last_cells,
            )
            writer.writerow(map(_csv_cell, cells))
        if not finding.differences:
            cells = (*first_cells, None, None, None, *last_cells)
            writer.writerow(map(_csv_cell, cells))
    return stream.getvalue()


def count_by_state(
    findings: Iterable[table_comparison.TableFinding],
) -> dict[str, int]:
    """Return the number of findings by state, 0 for states without any."""
    number_by_state = dict.fromkeys(table_comparison.STATES, 0)
    for finding in findings:
        number_by_state[finding.state] += 1
    return number_by_state


def _format_value(value: typing.Any) -> str:
    """Return a text unchanged, None as a word, and other values as JSON.

    :param value: a value of a column, which may be any JSON data.
    """
    if value is None:
        return _('nothing')
    if isinstance(value, str):
        return value
    return json.dumps(value)


def _csv_cell(value: typing.Any) -> str:
    """Return a value as text that no spreadsheet evaluates as a formula.

    - None becomes an empty text.
    - A number, a list or a mapping becomes JSON.
    - A text that begins like a formula gets an apostrophe: ``=1+1`` becomes
      ``'=1+1``. Machines may send such texts.
    - Control characters of a text are escaped.
    """
    if value is None:
        return ''
    if not isinstance(value, str):
        return json.dumps(value)
    if value.startswith(_FORMULA_SIGNS):
        value = f"'{value}"
    return escapes.escape_text(value)
