# SPDX-License-Identifier: Apache-2.0

"""Print tables and diffs on a terminal, with its width and with colors.

On a terminal a table fits its width and may be colored. Otherwise it has at
most 200 columns, unless ``CLIFF_MAX_TERMINAL_WIDTH`` sets the width.
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

_COLOUR_BY_VERDICT = {
    'error': 'red',
    'failed': 'red',
    'warning': 'yellow',
    'note': 'cyan',
    'ok': 'green',
}
"""Colours of verdicts."""

_COLOUR_BY_SIGN = {
    '+': 'green',
    '-': 'red',
    '~': 'yellow',
    '>': 'cyan',
    '@': 'cyan',
}
"""Colors of lines of a diff, by their first character."""

_WIDTH_WITHOUT_TERMINAL = 200
"""Width in characters if the output is not a terminal."""

_UNLIMITED_WIDTH = 1 << 20
"""A width that no table reaches."""

_WIDTH_VARIABLE = 'CLIFF_MAX_TERMINAL_WIDTH'
"""The environment variable that sets the width for commands of cliff."""


def render(
    columns: typing.Sequence[str],
    rows: typing.Iterable[typing.Sequence[typing.Any]],
    output: typing.TextIO | None = None,
) -> str:
    """Return a table as text, with lines around its cells.

    Texts that are too long for the width of the output are folded, and control
    characters are escaped. If ``CLIFF_MAX_TERMINAL_WIDTH`` is set, it is the
    width.

    :param columns: the heads of the columns.
    :param rows: the cells. On a terminal, cells that are verdicts (ok, failed,
        warning …) are colored.
    :param output: the stream to which the text will be written, which
        determines width and colors. The default is standard output.
    """
    if output is None:
        output = sys.stdout
    width = _choose_width(output)
    grid = table.Table(box=box.ASCII2, header_style='')
    for head in columns:
        grid.add_column(text.Text(head), overflow='fold')
    texts_by_row = []
    for row in rows:
        texts_by_row.append(
            [escapes.escape_text(str(cell)).expandtabs() for cell in row]
        )
    for block in _divide_into_blocks(texts_by_row, columns, width):
        # A row of the grid costs a millisecond, so it holds a whole block:
        # every cell has one line for every row of the block.
        texts_by_column = zip(*block, strict=True)
        grid.add_row(*[_colour_cell(lines) for lines in texts_by_column])
    colours: typing.Literal['standard'] | None = None
    if output.isatty():
        colours = 'standard'
    printed = io.StringIO()
    rich_console = console.Console(
        file=printed,
        width=width,
        legacy_windows=False,
        force_terminal=output.isatty(),
        color_system=colours,
    )
    rich_console.print(grid)
    return printed.getvalue().rstrip('\n')


def _choose_width(output: typing.TextIO) -> int:
    """Return how many columns of characters a table may have."""
    width_of_user = os.environ.get(_WIDTH_VARIABLE, '')
    if width_of_user.isdecimal():
        # As in cliff, zero means no limit.
        return int(width_of_user) or _UNLIMITED_WIDTH
    if output.isatty():
        return shutil.get_terminal_size().columns
    return _WIDTH_WITHOUT_TERMINAL


def _divide_into_blocks(
    rows: list[list[str]], columns: typing.Sequence[str], width: int
) -> list[list[list[str]]]:
    """Divide rows into blocks, each of which is laid out as a whole.

    The rows are one block if they fit the width and no cell has several lines.
    Otherwise every row is a separate block, so that rich can break its lines,
    which costs about a millisecond per row.

    :param rows: the texts of the cells.
    :param columns: the heads of the columns.
    :returns: blocks; a block is a list of rows.
    """
    if not rows:
        return []
    total_width = 1  # The line at the right end.
    for texts in zip(columns, *rows, strict=True):
        # Every column has two spaces and a line next to its text.
        total_width += max(map(cells.cell_len, texts)) + 3
    has_line_breaks = any('\n' in cell for row in rows for cell in row)
    if total_width <= width and not has_line_breaks:
        return [rows]
    return [[row] for row in rows]


def _colour_cell(lines: typing.Iterable[str]) -> text.Text:
    """Join lines into one cell, and color lines that are only a verdict.

    ``failed`` is red, ``failed: disk too small`` has no color.

    :param lines: the texts of one column for all rows of a block.
    """
    coloured_lines = []
    for line in lines:
        # A line that is not a verdict has no color.
        colour = _COLOUR_BY_VERDICT.get(line, '')
        coloured_lines.append(text.Text(line, style=colour))
    return text.Text('\n').join(coloured_lines)


def print_diff(lines: typing.Iterable[str], output: typing.TextIO) -> None:
    """Print the lines of a diff, e.g. ``+ rack: 7``; in color on a terminal.

    :param lines: the first character of a line determines its color.
    """
    draw_diff(
        lines, console.Console(file=output, highlight=False, soft_wrap=True)
    )


def draw_diff(
    lines: typing.Iterable[str], rich_console: console.Console
) -> None:
    """Print the lines of :func:`print_diff` on a console of rich."""
    for line in lines:
        rich_console.print(
            text.Text(line, style=_COLOUR_BY_SIGN.get(line[:1], ''))
        )
