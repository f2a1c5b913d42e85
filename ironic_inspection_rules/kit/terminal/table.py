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

_COLOURS = {
    'error': 'red',
    'failed': 'red',
    'warning': 'yellow',
    'note': 'cyan',
    'ok': 'green',
}
"""Colours of verdicts."""

_SIGNS = {
    '+': 'green',
    '-': 'red',
    '~': 'yellow',
    '>': 'cyan',
    '@': 'cyan',
}
"""Colours of lines of a difference, by their first character."""

_PIPED = 200
"""The width where the output is no terminal."""

_ENDLESS = 1 << 20
"""A width that no table reaches."""

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
    width = _width(output)
    grid = table.Table(box=box.ASCII2, header_style='')
    for name in columns:
        grid.add_column(text.Text(name), overflow='fold')
    words = []
    for row in rows:
        words.append([_printable(cell) for cell in row])
    for block in _blocks(words, columns, width):
        # A block is a list of rows; a cell of the grid has a column of it.
        grid.add_row(*map(_cell, zip(*block, strict=True)))
    colours: typing.Literal['standard'] | None = None
    if output.isatty():
        colours = 'standard'
    lines = io.StringIO()
    paper = console.Console(
        file=lines,
        width=width,
        legacy_windows=False,
        force_terminal=output.isatty(),
        color_system=colours,
    )
    paper.print(grid)
    return lines.getvalue().rstrip('\n')


def _printable(cell: typing.Any) -> str:
    """Return the text of a cell, without control characters."""
    return escapes.shown(str(cell)).expandtabs()


def _width(output: typing.TextIO) -> int:
    """Return how many columns of characters a table may have."""
    wanted = os.environ.get(_WIDTH, '')
    if wanted.isdecimal():
        # As in cliff, zero is no limit.
        return int(wanted) or _ENDLESS
    if output.isatty():
        return shutil.get_terminal_size().columns
    return _PIPED


def _blocks(words: list[list[str]], columns: typing.Sequence[str],
            width: int) -> list[list[list[str]]]:
    """Return the rows that are laid out together.

    rich takes about a millisecond for a row. Rows of one line that fit are
    laid out as one row, whose cells have many lines.

    :param words: of the cells, by row.
    """
    widest = []
    for column in zip(columns, *words, strict=True):
        widest.append(max(map(cells.cell_len, column)))
    # Two spaces and a line for every column, and a line at the end.
    fits = sum(widest) + 3 * len(widest) + 1 <= width
    is_of_one_line = not any('\n' in word for row in words for word in row)
    if words and fits and is_of_one_line:
        return [words]
    return [[row] for row in words]


def _cell(words: typing.Iterable[str]) -> text.Text:
    """Return a cell with one word in each line; verdicts are coloured."""
    lines = [text.Text(word, style=_COLOURS.get(word, '')) for word in words]
    return text.Text('\n').join(lines)


def print_diff(lines: typing.Iterable[str], output: typing.TextIO) -> None:
    """Print lines that begin with a sign; in colour on a terminal."""
    draw_diff(lines, console.Console(
        file=output, highlight=False, soft_wrap=True))


def draw_diff(lines: typing.Iterable[str], paper: console.Console) -> None:
    """Print the lines of :func:`print_diff` on a console of rich."""
    for line in lines:
        paper.print(text.Text(line, style=_SIGNS.get(line[:1], '')))
