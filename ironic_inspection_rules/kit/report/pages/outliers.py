# SPDX-License-Identifier: Apache-2.0

"""The page of machines that differ from their peers."""

import dataclasses
import os.path

from ironic_inspection_rules.kit.machine.outliers import peers
from ironic_inspection_rules.kit.report.pages import shell

_ASSETS = ('finder.js', 'outliers.css', 'outliers.js')


def render(found: peers.Result) -> str:
    """Return the page."""
    made = shell.now()
    findings: dict[str, list[int]] = {}
    for number, each in enumerate(found.findings):
        findings.setdefault(each.group, []).append(number)
    groups = []
    ordered = sorted(found.groups, key=lambda group: -len(
        findings.get(group.label, ())))
    for group in ordered:
        groups.append({
            'label': group.label, 'machines': group.size,
            'findings': findings.get(group.label, []),
            'kinds': [{'machines': len(each.sketches),
                       'differs': list(map(dataclasses.astuple,
                                           each.differs))}
                      for each in group.kinds]})
    return shell.render(f'Odd machines, {made}', _ASSETS, {
        'made': made, 'groups': groups,
        'findings': [{**each.as_dict(), 'name': _name(each.machine)}
                     for each in found.findings],
        'skipped': [{'label': peers.label(each.key),
                     'machines': list(map(_name, each.machines))}
                    for each in found.skipped]})


def _name(machine: str) -> str:
    """Return what to call a machine: its file without folder and ending."""
    return os.path.splitext(os.path.basename(machine))[0] or machine
