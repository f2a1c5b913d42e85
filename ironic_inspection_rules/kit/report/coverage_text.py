# SPDX-License-Identifier: Apache-2.0

"""Formats the coverage of rules for a terminal.

Coverage says which parts of the rules were *reached* when the rules were tried
on machines. A condition is reached completely if it was true on some machine
and false on another. An action is reached if it ran. A row of a table is
matched if some rule looked it up for a machine. The text is, for example::

    Rule           Covered  Not reached
    Note the rack  66 %     action 1 (fail) never ran
    Table orders: 2 rows of 3 matched no machine: A1, B2
    Covered: 66 %
"""

import math

from ironic_inspection_rules import escapes
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.i18n import _P
from ironic_inspection_rules.kit.terminal import table
from ironic_inspection_rules.kit.trial import coverage
from ironic_inspection_rules.kit.trial import machine_test

_MAX_KEYS = 10
"""Maximum number of keys of a table that a line names."""


def render(covered: coverage.Coverage) -> str:
    """Return the coverage of rules as text for a terminal, see the module.

    - A table has a row for every rule: how much of it was reached, and what
      was not reached.
    - A line follows for every table of which some rows matched no machine.
    - The last line has the coverage of all rules together.
    """
    rows = []
    for rule in covered.rules:
        # For example, "action 1 (fail) never ran".
        missed_lines = '\n'.join(covered.missed(rule))
        percent = _format_percent(covered.percent_of(rule))
        rows.append([machine_test.title(rule), percent, missed_lines])
    lines = [table.render([_('Rule'), _('Covered'), _('Not reached')], rows)]
    for table_name, rows_of_table in covered.tables.items():
        unmatched_keys = covered.unmatched(table_name)
        if unmatched_keys:
            lines.append(
                _unmatched_line(table_name, unmatched_keys, len(rows_of_table))
            )
    lines.append(_('Covered: %s') % _format_percent(covered.percent))
    return '\n'.join(lines)


def _unmatched_line(table_name: str, keys: list[str], rows: int) -> str:
    """Return a line with the number of unmatched rows and their first keys.

    For example, ``Table orders: 2 rows of 3 matched no machine: A1, B2``.

    :param keys: the keys of the unmatched rows.
    :param rows: the number of all rows of the table.
    """
    first_keys = ', '.join(keys[:_MAX_KEYS])
    if len(keys) > _MAX_KEYS:
        first_keys += ', …'
    text = _P(
        'Table %(name)s: %(count)d row of %(rows)d matched no '
        'machine: %(keys)s',
        'Table %(name)s: %(count)d rows of %(rows)d matched no '
        'machine: %(keys)s',
        len(keys),
    )
    return text % {
        'name': table_name,
        'count': len(keys),
        'rows': rows,
        'keys': escapes.escape_text(first_keys),
    }


def _format_percent(percent: float) -> str:
    """Return a percentage as text, rounded down to a whole number."""
    # Do not round up, because 99.6 % would read as full coverage.
    return f'{math.floor(percent)} %'
