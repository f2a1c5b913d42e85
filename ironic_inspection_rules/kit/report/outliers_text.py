# SPDX-License-Identifier: Apache-2.0

"""Formats the output of outliers: machines that differ from their peers.

Machines of the same model are *peers*, and form a *group*. A *finding* is a
difference of one machine from its peers, e.g. ``DIMM_B4 is missing``. A
machine with a finding is *odd*. A group may have several *kinds* of machines,
e.g. an older and a newer delivery with more memory; these are not odd. A group
with too few machines is *skipped*.
"""

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

    The lines are, for example::

        Dell Inc. PowerEdge R640: there are 2 kinds
          30 machines: inventory.memory.physical_mb: 512 GiB
          10 machines: inventory.memory.physical_mb: 768 GiB
        HPE DL360: not compared, 3 machines, which are too few
        40 machines compared, 1 odd
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
    number_of_machines = sum(group.size for group in result.groups)
    # Use a set, because a machine may have several findings.
    odd_machines = {outlier.machine for outlier in result.findings}
    lines.append(
        _P(
            '%(machines)d machine compared, %(odd)d odd',
            '%(machines)d machines compared, %(odd)d odd',
            number_of_machines,
        )
        % {'machines': number_of_machines, 'odd': len(odd_machines)}
    )
    output = []
    if result.findings:
        # Do not escape the table, because it already escapes its cells.
        output.append(_findings_table(result.findings))
    output += [escapes.escape_text(line) for line in lines]
    return '\n'.join(output) + '\n'


def _findings_table(findings: Sequence[finding.Outlier]) -> str:
    """Return a table with one row per finding.

    The last column shows since when the machine has been odd. It says "longer"
    if the machine was already odd in the oldest stored inspection. There is no
    such column if earlier inspections were not searched.

    :param findings: at least one finding.
    """
    columns = [
        _('Machine'),
        _('Kind'),
        _('Slot'),
        _('What is odd'),
        _('How odd'),
    ]
    # Ask only the first finding, because earlier inspections were searched
    # either for all findings or for none.
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
    """Return a line with the number of machines of a kind, and its values.

    For example, ``3 machines: CPUs: 2``. The line has only the fields in which
    the kind differs from the other kinds of its group.
    """
    # A sketch is the data of one machine.
    count = len(machine_kind.sketches)
    machines = _P('%d machine', '%d machines', count) % count
    if not machine_kind.differs:
        return machines
    fields = ', '.join(
        f'{difference.field}: {difference.value}'
        for difference in machine_kind.differs
    )
    return f'{machines}: {fields}'
