# SPDX-License-Identifier: Apache-2.0

"""What test prints of coverage: rules reached, rows that nothing matched."""

import math

from ironic_inspection_rules import escapes
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.i18n import _P
from ironic_inspection_rules.kit.terminal import table
from ironic_inspection_rules.kit.trial import coverage
from ironic_inspection_rules.kit.trial import machine_test

# Keys of a table that are named.
_MOST_KEYS = 10


def render(covered: coverage.Coverage) -> str:
    """Return the coverage of rules by machines, as text for a terminal.

    It has a table with how much of every rule was reached and what was not,
    a line for every table with rows that no machine needed, and the coverage
    of all rules together.
    """
    rows = []
    for rule in covered.rules:
        missed = '\n'.join(covered.missed(rule))
        percent = _format_percent(covered.percent_of(rule))
        rows.append([machine_test.title(rule), percent, missed])
    lines = [table.render([_('Rule'), _('Covered'), _('Not reached')], rows)]
    for name in covered.tables:
        keys = covered.unmatched(name)
        if keys:
            lines.append(
                _unmatched_line(name, keys, len(covered.tables[name]))
            )
    lines.append(_('Covered: %s') % _format_percent(covered.percent))
    return '\n'.join(lines)


def _unmatched_line(name: str, keys: list[str], rows: int) -> str:
    """Return a line with the number of unmatched rows and their first keys.

    For example, ``Table orders: 2 rows of 3 matched no machine: A1, B2``.

    :param keys: the keys of the rows that no machine looked up.
    :param rows: the number of rows of the whole table.
    """
    first = ', '.join(keys[:_MOST_KEYS])
    if len(keys) > _MOST_KEYS:
        first += ', …'
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
        'keys': escapes.escaped(first),
    }


def _format_percent(share: float) -> str:
    """Return a percentage as text, rounded down to a whole number."""
    # Rounded up, 100 % would not mean full coverage.
    return f'{math.floor(share)} %'
