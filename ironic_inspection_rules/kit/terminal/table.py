# SPDX-License-Identifier: Apache-2.0

"""Tables in the form of the openstack client.

On a terminal a table fits its width and may be coloured; elsewhere it has at
most 200 columns.
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

from ironic_inspection_rules import escapes

_COLOURS = {'error': 'red', 'failed': 'red', 'warning': 'yellow',
            'note': 'cyan', 'ok': 'green'}
_SIGNS = {'+': 'green', '-': 'red', '~': 'yellow', '>': 'cyan', '@': 'cyan'}
_PIPED = 200
_ENDLESS = 1 << 20
_WIDTH = 'CLIFF_MAX_TERMINAL_WIDTH'
"""The environment variable that sets the width for commands of cliff."""


def render(columns: typing.Sequence[str],
           rows: typing.Iterable[typing.Sequence[typing.Any]],
           output: typing.TextIO | None = None) -> str:
    """Return a table as text.

    :param rows: on a terminal, cells that are verdicts (ok, failed,
        warning …) are coloured.
    :param output: where it will be shown; standard output if not given.
    """
    output = output or sys.stdout
    given = os.environ.get(_WIDTH, '')
    width = (int(given) or _ENDLESS) if given.isdecimal() else (
        shutil.get_terminal_size().columns if output.isatty() else _PIPED)
    made = table.Table(box=box.ASCII2, header_style='')
    for name in columns:
        made.add_column(text.Text(name), overflow='fold')
    words = [[escapes.shown(str(cell)).expandtabs() for cell in row]
             for row in rows]
    widest = [max(map(cells.cell_len, column))
              for column in zip(columns, *words, strict=True)]
    blocks = [[row] for row in words]
    if words and sum(widest) + 3 * len(widest) < width and not any(
            '\n' in word for row in words for word in row):
        # Rows of one line are laid out together: rich takes about a
        # millisecond for a row.
        blocks = [words]
    for block in blocks:
        made.add_row(*(text.Text('\n').join(
            text.Text(word, style=_COLOURS.get(word, '')) for word in column)
            for column in zip(*block, strict=True)))
    lines = io.StringIO()
    console.Console(
        file=lines, width=width, legacy_windows=False,
        force_terminal=output.isatty(),
        color_system='standard' if output.isatty() else None).print(made)
    return lines.getvalue().rstrip('\n')


def print_diff(lines: typing.Iterable[str], output: typing.TextIO) -> None:
    """Print lines that begin with a sign; in colour on a terminal."""
    draw_diff(lines, console.Console(
        file=output, highlight=False, soft_wrap=True))


def draw_diff(lines: typing.Iterable[str], paper: console.Console) -> None:
    """Print the lines of :func:`print_diff` on a console of rich."""
    for line in lines:
        paper.print(text.Text(line, style=_SIGNS.get(line[:1], '')))
