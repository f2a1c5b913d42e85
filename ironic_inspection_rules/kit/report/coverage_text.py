# SPDX-License-Identifier: Apache-2.0

"""Formats coverage for a terminal: rules reached, and unmatched rows."""

import math

from ironic_inspection_rules import escapes
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.i18n import _P
from ironic_inspection_rules.kit.terminal import table
from ironic_inspection_rules.kit.trial import coverage
from ironic_inspection_rules.kit.trial import machine_test

# Maximum number of keys of a table to name in one line.
_MOST_KEYS = 10


def render(covered: coverage.Coverage) -> str:
    """Return the coverage of rules by machines, as text for a terminal.

    The text has a table that shows how much of every rule was reached and what
    was not reached. A line follows for every table of the rules in which some
    rows matched no machine. The last line has the coverage of all rules.
    """
    rows = []
    for rule in covered.rules:
        # An example of a line is "action 1 (fail) never ran".
        missed = '\n'.join(covered.missed(rule))
        percent = _format_percent(covered.percent_of(rule))
        rows.append([machine_test.title(rule), percent, missed])
    lines = [table.render([_('Rule'), _('Covered'), _('Not reached')], rows)]
    for name, rows_of_table in covered.tables.items():
        unmatched_keys = covered.unmatched(name)
        if unmatched_keys:
            lines.append(
                _unmatched_line(name, unmatched_keys, len(rows_of_table))
            )
    lines.append(_('Covered: %s') % _format_percent(covered.percent))
    return '\n'.join(lines)


def _unmatched_line(name: str, keys: list[str], rows: int) -> str:
    """Return a line with the number of unmatched rows and their first keys.

    For example, ``Table orders: 2 rows of 3 matched no machine: A1, B2``.

    :param keys: the keys of the rows that no machine looked up.
    :param rows: the number of rows of the whole table.
    """
    first_keys = ', '.join(keys[:_MOST_KEYS])
    if len(keys) > _MOST_KEYS:
        first_keys += ', …'
    text = _P(
        'Table %(name)s: %(count)d row of %(rows)d matched no '
        'machine: %(keys)s',
        'Table %(name)s: %(count)d rows of %(rows)d matched no '
        'machine: %(keys)s',
        len(keys),
    )
    return text % {
        'name': name,
        'count': len(keys),
        'rows': rows,
        'keys': escapes.escaped(first_keys),
    }


def _format_percent(share: float) -> str:
    """Return a percentage as text, rounded down to a whole number."""
    # Do not round up, because 99.6 % would read as full coverage.
    return f'{math.floor(share)} %'
