# SPDX-License-Identifier: Apache-2.0

"""Formats the output of outliers: machines that differ from their peers."""

from collections.abc import Sequence

from ironic_inspection_rules import escapes
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.i18n import _P
from ironic_inspection_rules.kit.machine.outliers import finding
from ironic_inspection_rules.kit.machine.outliers import kind
from ironic_inspection_rules.kit.machine.outliers import peers
from ironic_inspection_rules.kit.terminal import table


def render(result: peers.Result) -> str:
    """Return a table of the findings, and lines about the groups below it.

    The lines name groups with several kinds of machines, and groups that were
    not compared, with the reason. The last line has the numbers of compared
    machines and of odd machines.
    """
    lines = []
    for group in result.groups:
        if len(group.kinds) > 1:
            lines.append(
                _('%(group)s: there are %(number)d kinds')
                % {'group': group.label, 'number': len(group.kinds)}
            )
            for machine_kind in group.kinds:
                lines.append(f'  {_kind_line(machine_kind)}')
    for skipped in result.skipped:
        lines.append(
            _('%(group)s: not compared, %(reason)s')
            % {
                'group': peers.group_label(skipped.key),
                'reason': skipped.reason,
            }
        )
    machines = sum(group.size for group in result.groups)
    # Use a set, because a machine may have several findings.
    odd_machines = {outlier.machine for outlier in result.findings}
    lines.append(
        _P(
            '%(machines)d machine compared, %(odd)d odd',
            '%(machines)d machines compared, %(odd)d odd',
            machines,
        )
        % {'machines': machines, 'odd': len(odd_machines)}
    )
    parts = []
    if result.findings:
        # Do not escape the table, because it already escapes its cells.
        parts.append(_findings_table(result.findings))
    parts += [escapes.escaped(line) for line in lines]
    return '\n'.join(parts) + '\n'


def _findings_table(findings: Sequence[finding.Outlier]) -> str:
    """Return a table with one row per finding.

    If earlier inspections were searched, the last column shows since when the
    machine has been odd. It says "longer" if the machine was already odd in
    the oldest of these inspections.

    :param findings: at least one finding.
    """
    columns = [
        _('Machine'),
        _('Kind'),
        _('Slot'),
        _('What is odd'),
        _('How odd'),
    ]
    # It is enough to ask the first finding, because earlier inspections were
    # searched for all findings or for none.
    is_dated = findings[0].dated
    if is_dated:
        columns.append(_('Since'))
    rows = []
    for outlier in findings:
        row = [
            outlier.machine,
            outlier.kind,
            outlier.slot or '',
            outlier.text,
            f'{outlier.odd:.1f}',
        ]
        if is_dated:
            row.append(outlier.since or _('longer'))
        rows.append(row)
    return table.render(columns, rows)


def _kind_line(machine_kind: kind.MachineKind) -> str:
    """Describe a kind of machine on one line, e.g. ``3 machines: CPUs: 2``."""
    count = len(machine_kind.sketches)
    machines = _P('%d machine', '%d machines', count) % count
    # The line has the values of the fields in which this kind differs from the
    # others.
    if not machine_kind.differs:
        return machines
    fields = ', '.join(
        f'{difference.field}: {difference.value}'
        for difference in machine_kind.differs
    )
    return f'{machines}: {fields}'
