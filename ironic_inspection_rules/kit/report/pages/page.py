# SPDX-License-Identifier: Apache-2.0

"""The description of a page: its words, numbers and tables, without markup.

The author of a page builds an :class:`HtmlPage` from the classes below, and
``assets/page.js`` draws it: search, sorting, links, keyboard, colors and
printing are the same on all pages. Data that a machine sends become text
there, never HTML.

A page with its own picture adds a frozen class, and a script that adds a
function of the same name, in lower case, to ``drawers``.
"""

from collections.abc import Hashable, Iterable, Mapping, Sequence
import dataclasses
import typing

from ironic_inspection_rules.kit.report.pages import shell

Look = typing.Literal['', 'good', 'warn', 'bad', 'accent', 'soft']
"""The meaning of a color: ``bad`` is a defect, and never something healthy."""

Part = typing.Any
"""A text, a number, a sequence of parts in one line, one of the classes below,
or None, which is skipped."""


@dataclasses.dataclass(frozen=True)
class Tag:
    """A few words on a colored background."""

    text: str
    look: Look = ''


@dataclasses.dataclass(frozen=True)
class Link:
    """Words that link to a part of the page, or select rows of a table.

    :param key: the id of the card or the table that they link to. With a
        value, the key of the mark of the selected rows.
    """

    text: str
    key: str
    value: str = ''


@dataclasses.dataclass(frozen=True)
class Words:
    """Words with a look inside of a line."""

    text: str
    look: Look = 'soft'


@dataclasses.dataclass(frozen=True)
class Code:
    """Text in the form of a program, e.g. a path."""

    text: str


@dataclasses.dataclass(frozen=True)
class Meter:
    """A share, as a bar and in words.

    :param part: the part of ``whole`` that is filled.
    """

    part: float
    whole: float
    text: str
    look: Look = ''


@dataclasses.dataclass(frozen=True)
class Note:
    """A sentence that stands out."""

    text: str
    look: Look = ''


@dataclasses.dataclass(frozen=True)
class Lines:
    """The lines of a diff: ``+`` is added, ``-`` is removed."""

    lines: tuple[str, ...]


@dataclasses.dataclass(frozen=True)
class Block:
    """Parts under a small heading."""

    title: str
    parts: tuple[Part, ...]


@dataclasses.dataclass(frozen=True)
class Item:
    """One of several things of a kind, with a heading."""

    heading: tuple[Part, ...]
    parts: tuple[Part, ...]


@dataclasses.dataclass(frozen=True)
class BulletList:
    """Several things of a kind; a button shows more than the first."""

    items: tuple[Item, ...]
    first: int = 12


@dataclasses.dataclass(frozen=True)
class Grid:
    """A small table that can be neither searched nor sorted.

    If it is too wide, it scrolls in its place.

    :param first: the number of rows that are shown before a click on a button.
    :param heads: the words above the columns.
    :param rows: the cells of every row, the first of which is its name.
    """

    label: str
    heads: tuple[Part, ...]
    rows: tuple[tuple[Part, ...], ...]
    first: int = 20


@dataclasses.dataclass(frozen=True)
class Legend:
    """The meaning of the colors of a picture.

    :param entries: the CSS class of every color, and its words.
    """

    entries: tuple[tuple[str, str], ...]


@dataclasses.dataclass(frozen=True)
class Tile:
    """A number with its words; 0 has no color and no link.

    :param words: the words after 1, and the words after other numbers.
    :param link: the id of the card or the table that it links to; or the key
        and the value of a mark, to select rows. Empty for no link.
    """

    count: int
    words: tuple[str, str]
    look: Look = ''
    link: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True)
class Tiles:
    """The numbers at the beginning of a page."""

    tiles: tuple[Tile, ...]


@dataclasses.dataclass(frozen=True)
class Chips:
    """Links in a row, which select rows of a table."""

    links: tuple[Link, ...]


@dataclasses.dataclass(frozen=True)
class Card:
    """A section of the page.

    :param menu: its name in the menu of the page; empty for none.
    """

    id: str
    menu: str
    title: str
    about: str
    parts: tuple[Part, ...]


@dataclasses.dataclass(frozen=True)
class PageColumn:
    """A column of a table.

    :param width: in CSS; empty for the width that the other columns leave.
    :param wide: whether only wide screens show it. On narrow screens, an
        opened row shows its value.
    :param number: whether its values are numbers, which are right-aligned.
    :param descending: whether a first click on it sorts by the largest value.
    """

    title: str
    width: str = ''
    wide: bool = False
    number: bool = False
    descending: bool = False


@dataclasses.dataclass(frozen=True)
class PageRow:
    """A row of a table.

    :param cells: a cell for every column; the first is the name of the row.
    :param marks: the marks by which links select it, as ``key=value``.
    :param opened: the parts that it opens to. Rows with equal parts share
        them in the page.
    """

    cells: tuple[Part, ...]
    marks: tuple[str, ...] = ()
    opened: tuple[Part, ...] = ()


@dataclasses.dataclass(frozen=True)
class PageTable:
    """A table of any length that can be searched and sorted.

    :param id: the id that links refer to.
    :param noun: the noun for a row, in the singular and in the plural.
    :param choices: the words for every mark that a link may have, as in
        *12 machines* ``that differ``.
    :param below: whether everything that rows would open to is below the
        table; rows then do not open.
    """

    id: str
    noun: tuple[str, str]
    columns: tuple[PageColumn, ...]
    rows: tuple[PageRow, ...]
    choices: Mapping[str, str] = dataclasses.field(default_factory=dict)
    below: bool = False


@dataclasses.dataclass(frozen=True)
class HtmlPage:
    """A page.

    :param title: the title of the document.
    :param headline: the result in one sentence.
    :param about: the subject of the page, and when it was made.
    """

    title: str
    headline: str
    about: str
    parts: tuple[Part, ...]


def render(page: HtmlPage, assets: Iterable[str] = ()) -> str:
    """Return a page as HTML.

    :param assets: the scripts and styles of the page's own pictures.
    """
    return shell.render(page.title, assets, _as_json_data(page))


def with_noun(number: int, one: str, more: str) -> str:
    """Return a number with its noun, e.g. ``1,200 machines``."""
    if number == 1:
        return f'1 {one}'
    return f'{number:,} {more}'


def format_number(amount: int, *, nothing: str) -> str:
    """Return a number for a sentence, e.g. ``1,200``.

    :param nothing: the word for 0.
    """
    if not amount:
        return nothing
    return f'{amount:,}'


def group_equal(keys: Sequence[Hashable]) -> list[list[int]]:
    """Group the positions of equal keys, the most frequent key first.

    For example, ``['a', 'b', 'b']`` becomes ``[[1, 2], [0]]``. The order of
    equally frequent keys does not change.
    """
    positions_by_key: dict[Hashable, list[int]] = {}
    for position, key in enumerate(keys):
        positions_by_key.setdefault(key, []).append(position)
    return sorted(positions_by_key.values(), key=len, reverse=True)


def _as_json_data(value: typing.Any) -> typing.Any:
    """Return a part of a page as JSON data, which the page draws.

    For example, ``Note('odd')`` becomes ``{'kind': 'note', 'text': 'odd',
    'look': ''}``.
    """
    if isinstance(value, PageTable):
        return _table_as_json_data(value)
    if dataclasses.is_dataclass(value):
        # The script of the page chooses how to draw it by its kind.
        plain = {'kind': type(value).__name__.lower()}
        for field in dataclasses.fields(value):
            plain[field.name] = _as_json_data(getattr(value, field.name))
        return plain
    if isinstance(value, list | tuple):
        return [_as_json_data(item) for item in value]
    return value


def _table_as_json_data(table: PageTable) -> dict[str, typing.Any]:
    """Return a table as JSON data, column by column.

    The values of a column are often equal. By columns, the page contains them
    only once, which would not be possible by rows.
    """
    cells = []
    for position, _column in enumerate(table.columns):
        values_of_column = [row.cells[position] for row in table.rows]
        cells.append(_values_as_json_data(values_of_column))
    return {
        'kind': 'pagetable',
        'id': table.id,
        'noun': table.noun,
        'columns': _as_json_data(table.columns),
        'cells': cells,
        'marks': _values_as_json_data([row.marks for row in table.rows]),
        'opened': _values_as_json_data([row.opened for row in table.rows]),
        'choices': dict(table.choices),
        'below': table.below,
    }


def _values_as_json_data(values: Sequence[Hashable]) -> dict[str, typing.Any]:
    """Return the values of a column, without repetitions if most repeat.

    For example, ``a, b, a, a`` becomes ``{'values': [a, b], 'places': [0, 1,
    0, 0]}``, and ``a, b, c`` becomes ``{'values': [a, b, c]}``.

    :returns: ``values``, one for every row; or the distinct ``values``, and
        ``places``, which has the index of the value for every row.
    """
    distinct = shell.DistinctValues()
    places = [distinct.number_of(value) for value in values]
    if 2 * len(distinct.values) > len(values):
        # Places would need more space than they save.
        return {'values': _as_json_data(values)}
    return {'values': _as_json_data(distinct.values), 'places': places}
