# SPDX-License-Identifier: Apache-2.0

"""The page of machines beside the rows of a table, by rack."""

from collections.abc import Sequence
import os.path
import typing

from ironic_inspection_rules.engine.language import table
from ironic_inspection_rules.kit.report import table_machines
from ironic_inspection_rules.kit.report.pages import shell
from ironic_inspection_rules.machine import table_comparison

_ASSETS = ('expected.css', 'expected.js')


def render(expected: table.Table,
           found: Sequence[table_comparison.Finding], by: str | None) -> str:
    """Return the page.

    :param by: the column that groups machines, None if none does.
    """
    made = shell.now()
    name = expected.definition.name
    groups: dict[str, list[dict[str, typing.Any]]] = {}
    for finding in found:
        groups.setdefault(finding.group or '', []).append({
            **finding.as_dict(),
            'name': os.path.splitext(os.path.basename(
                finding.machine or ''))[0]})
    return shell.render(f'Table {name}, {made}', _ASSETS, {
        'made': made, 'table': name, 'by': by,
        'counts': table_machines.counts(found),
        'groups': [{'label': label, 'machines': machines}
                   for label, machines in groups.items()]})
