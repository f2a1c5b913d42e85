# SPDX-License-Identifier: Apache-2.0

"""Tables that fit where they are shown, in the form of the openstack client.

On a terminal a table is as wide as it, and may be coloured; anywhere else it
has at most 200 columns.
"""

import io
import os
import shutil
import sys
import typing

from rich import box
from rich import cells
from rich import console
from rich import table
from rich import text

from ironic_inspection_rules.terminal import escapes

_COLOURS = {'error': 'red', 'failed': 'red', 'warning': 'yellow',
            'note': 'cyan', 'ok': 'green'}
_PIPED = 200
_ENDLESS = 1 << 20
_WIDTH = 'CLIFF_MAX_TERMINAL_WIDTH'
"""The variable by which commands of cliff are told how wide to be."""


def render(columns: typing.Sequence[str],
           rows: typing.Iterable[typing.Sequence[typing.Any]],
           output: typing.TextIO | None = None) -> str:
    """Return a table as text.

    :param rows: a cell that is a verdict (ok, failed, warning …) has its
        colour where a person looks at it.
    :param output: where it will be shown, standard output if not given.
    """
    output = output or sys.stdout
    made = table.Table(box=box.ASCII2, header_style='')
    for name in columns:
        made.add_column(text.Text(name), overflow='fold')
    width = _width(output)
    for block in _blocks([list(map(_cell, row)) for row in rows], columns,
                         width):
        made.add_row(*map(text.Text('\n').join, zip(*block, strict=True)))
    lines = io.StringIO()
    console.Console(
        file=lines, width=width, legacy_windows=False,
        force_terminal=output.isatty(),
        color_system='standard' if output.isatty() else None).print(made)
    return lines.getvalue().rstrip('\n')


def _blocks(rows: list[list[text.Text]], columns: typing.Sequence[str],
            width: int) -> list[list[list[text.Text]]]:
    """Return the rows to lay out together.

    Those of a table in which every cell has one line are one block, as rich
    takes about a millisecond for a row.
    """
    widest = [max(map(cells.cell_len, (name, *(
        row[place].plain for row in rows))))
        for place, name in enumerate(columns)]
    one_line = sum(widest) + 3 * len(widest) < width and not any(
        '\n' in cell.plain for row in rows for cell in row)
    return [rows] if rows and one_line else [[row] for row in rows]


def _cell(value: typing.Any) -> text.Text:
    word = escapes.shown(str(value)).expandtabs()
    return text.Text(word, style=_COLOURS.get(word, ''))


def _width(output: typing.TextIO) -> int:
    given = os.environ.get(_WIDTH, '')
    if given.isdecimal():
        return int(given) or _ENDLESS
    return shutil.get_terminal_size().columns if output.isatty() else _PIPED
