# SPDX-License-Identifier: Apache-2.0

"""A page with nothing of its own: machines beside what was ordered."""

from collections.abc import Mapping, Sequence

from ironic_inspection_rules.kit.report.pages import page
from ironic_inspection_rules.kit.report.pages import shell

_COLUMNS = (
    page.PageColumn('Machine'),
    page.PageColumn('Rack', width='6rem'),
    page.PageColumn('Memory', width='8rem', wide=True, number=True),
    page.PageColumn('Result', width='8rem'),
)


def render(machines: Sequence[Mapping[str, str]]) -> str:
    """Return the page.

    :param machines: each with ``name``, ``rack``, ``expected`` and ``has``.
    """
    rows = [_row(machine) for machine in machines]
    racks = page.group_equal([machine['rack'] for machine in machines])
    wrong = [machine for machine in machines if _is_wrong(machine)]
    choices = {'show=wrong': 'that are not as ordered'}
    items = []
    for positions in racks:
        rack = machines[positions[0]]['rack']
        choices[f'rack={rack}'] = f'in rack {rack}'
        words = page.with_noun(len(positions), 'machine', 'machines')
        items.append(
            page.Item((f'Rack {rack}', page.Link(words, 'rack', rack)), ())
        )
    table = page.PageTable(
        'machines', ('machine', 'machines'), _COLUMNS, tuple(rows), choices
    )
    machines_differ = page.with_noun(len(wrong), 'machine is', 'machines are')
    return page.render(
        page.HtmlPage(
            title='Machines beside the order',
            headline=f'{machines_differ} not as ordered.',
            about=f'order.csv, {shell.format_now()}',
            parts=(
                page.Tiles(
                    (
                        page.Tile(
                            len(wrong),
                            ('differs', 'differ'),
                            'bad',
                            ('show', 'wrong'),
                        ),
                    )
                ),
                page.Card(
                    'racks',
                    'Racks',
                    'Racks',
                    'The largest first.',
                    (page.BulletList(tuple(items)),),
                ),
                page.Card('machines', 'Machines', 'Machines', '', (table,)),
            ),
        )
    )


def _is_wrong(machine: Mapping[str, str]) -> bool:
    return machine['has'] != machine['expected']


def _row(machine: Mapping[str, str]) -> page.PageRow:
    marks = [f'rack={machine["rack"]}']
    tag = page.Tag('as ordered', 'good')
    if _is_wrong(machine):
        marks.append('show=wrong')
        tag = page.Tag('differs', 'bad')
    lines = (f'- {machine["expected"]}', f'+ {machine["has"]}')
    cells = (machine['name'], machine['rack'], machine['has'], tag)
    return page.PageRow(cells, tuple(marks), (page.Lines(lines),))


def sample(count: int = 40) -> str:
    """Return the page of some machines, of which every ninth differs."""
    return render(
        [
            {
                'name': f'r{place % 4}-u{place:02}',
                'rack': f'r{place % 4}',
                'expected': '512 GiB',
                'has': '448 GiB' if place % 9 == 0 else '512 GiB',
            }
            for place in range(count)
        ]
    )
