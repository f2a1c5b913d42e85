# SPDX-License-Identifier: Apache-2.0

"""Machines that differ from their peers, as text."""

from ironic_inspection_rules import escapes
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.i18n import _P
from ironic_inspection_rules.kit.machine.outliers import kind
from ironic_inspection_rules.kit.machine.outliers import peers
from ironic_inspection_rules.kit.terminal import table


def render(found: peers.Result) -> str:
    """Return a table of findings, and lines about kinds and few peers."""
    tables = []
    lines = []
    if found.findings:
        columns = [_('Machine'), _('Kind'), _('Slot'), _('What is odd'),
                   _('How odd')]
        rows = [[each.machine, each.kind, each.slot or '', each.text,
                 f'{each.odd:.1f}'] for each in found.findings]
        if found.findings[0].dated:
            columns.append(_('Since'))
            for row, each in zip(rows, found.findings, strict=True):
                row.append(each.since or _('longer'))
        tables.append(table.render(columns, rows))
    for group in found.groups:
        if len(group.kinds) > 1:
            lines.append(_('%(group)s: there are %(number)d kinds') % {
                'group': group.label, 'number': len(group.kinds)})
            lines += [f'  {_kind(each)}' for each in group.kinds]
    for skipped in found.skipped:
        lines.append(_('%(group)s: not compared, %(reason)s') % {
            'group': peers.label(skipped.key), 'reason': skipped.reason})
    machines = sum(group.size for group in found.groups)
    odd = len({each.machine for each in found.findings})
    lines.append(_P('%(machines)d machine compared, %(odd)d odd',
                    '%(machines)d machines compared, %(odd)d odd',
                    machines) % {'machines': machines, 'odd': odd})
    # A table escapes what is in its cells.
    return '\n'.join([*tables, *map(escapes.shown, lines)]) + '\n'


def _kind(each: kind.Kind) -> str:
    count = len(each.sketches)
    machines = _P('%d machine', '%d machines', count) % count
    fields = ', '.join(f'{found.field}: {found.value}'
                       for found in each.differs)
    return f'{machines}: {fields}' if fields else machines
