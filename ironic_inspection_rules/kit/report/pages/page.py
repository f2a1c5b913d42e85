# SPDX-License-Identifier: Apache-2.0

"""The description of a page: its words, numbers and tables, without markup.

A writer of a page builds an :class:`HtmlPage` from the classes below, and
``assets/page.js`` draws it: search, sorting, links, keyboard, colours and
paper are the same on all pages. Whatever a machine sends becomes text there,
never HTML.

A page with a picture of its own adds a frozen class and a script that puts a
function of the same name, in lower case, into ``drawers``.
"""

from collections.abc import Hashable, Iterable, Mapping, Sequence
import dataclasses
import typing

from ironic_inspection_rules.kit.report.pages import shell

Look = typing.Literal['', 'good', 'warn', 'bad', 'accent', 'soft']
"""What a colour means: ``bad`` is a defect, and nothing healthy is."""

Part = typing.Any
"""A text, a number, a sequence of parts in one line, one of the classes below,
or None, which is left out."""


@dataclasses.dataclass(frozen=True)
class Tag:
    """A few words on a coloured ground."""

    text: str
    look: Look = ''


@dataclasses.dataclass(frozen=True)
class Link:
    """Words that lead to a part of the page, or choose rows of a table.

    :param key: the id of the card or the table that they lead to. With a
        value, the key of the mark that the chosen rows have.
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
    """Text as a program has it, like a path."""

    text: str


@dataclasses.dataclass(frozen=True)
class Meter:
    """A share, as a bar and in words.

    :param part: how much of ``whole`` is filled.
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
    """The lines of a diff: ``+`` is added, ``-`` is gone."""

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
    """A small table that is neither searched nor sorted.

    One that is too wide scrolls in its place.

    :param first: rows that are there before a click on a button.
    :param heads: the words over the columns.
    :param rows: the cells of each row, the first of which is its name.
    """

    label: str
    heads: tuple[Part, ...]
    rows: tuple[tuple[Part, ...], ...]
    first: int = 20


@dataclasses.dataclass(frozen=True)
class Legend:
    """What the colours of a picture mean.

    :param entries: the CSS class of every colour, and its words.
    """

    entries: tuple[tuple[str, str], ...]


@dataclasses.dataclass(frozen=True)
class Tile:
    """A number with its words; 0 has no colour and no link.

    :param words: those after 1, and those after other numbers.
    :param link: the id of the card or the table that it leads to; or the key
        and the value of a mark, to choose rows. Empty for no link.
    """

    count: int
    words: tuple[str, str]
    look: Look = ''
    link: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True)
class Tiles:
    """The numbers that a page begins with."""

    tiles: tuple[Tile, ...]


@dataclasses.dataclass(frozen=True)
class Chips:
    """Links in a row, which choose rows of a table."""

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

    :param width: in CSS; empty for the width that the others leave.
    :param wide: whether only wide screens have it. On others an opened row
        has its value.
    :param number: whether its values are numbers, which stand to the right.
    :param descending: whether a first click on it sorts by the largest.
    """

    title: str
    width: str = ''
    wide: bool = False
    number: bool = False
    descending: bool = False


@dataclasses.dataclass(frozen=True)
class PageRow:
    """A row of a table.

    :param cells: one for each column; the first is the name of the row.
    :param marks: what links choose it by, as ``key=value``.
    :param opened: the parts that it opens to. Rows with equal parts share
        them in the page.
    """

    cells: tuple[Part, ...]
    marks: tuple[str, ...] = ()
    opened: tuple[Part, ...] = ()


@dataclasses.dataclass(frozen=True)
class PageTable:
    """A table to search and to sort, of any length.

    :param id: where links lead to.
    :param noun: what a row is called, one and many.
    :param choices: the words for each mark that a link may have, as in
        *12 machines* ``that differ``.
    :param below: whether all that rows would open to is below the table; then
        they do not open.
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

    :param title: of the document.
    :param headline: the result in one sentence.
    :param about: what was looked at, and when.
    """

    title: str
    headline: str
    about: str
    parts: tuple[Part, ...]


def render(page: HtmlPage, assets: Iterable[str] = ()) -> str:
    """Return a page as HTML.

    :param assets: the scripts and styles of pictures of its own.
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

    For example, ``['a', 'b', 'b']`` gives ``[[1, 2], [0]]``. Equally frequent
    keys stay in their order.
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
        # By its kind, the script of the page knows how to draw it.
        plain = {'kind': type(value).__name__.lower()}
        for field in dataclasses.fields(value):
            plain[field.name] = _as_json_data(getattr(value, field.name))
        return plain
    if isinstance(value, list | tuple):
        return [_as_json_data(item) for item in value]
    return value


def _table_as_json_data(table: PageTable) -> dict[str, typing.Any]:
    """Return a table as JSON data, column by column.

    The values of a column are often equal. So the page has each of them once,
    which it could not row by row.
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
        ``places``: for every row the index of its value.
    """
    distinct = shell.DistinctValues()
    places = [distinct.number_of(value) for value in values]
    if 2 * len(distinct.values) > len(values):
        # Places would take more room than they save.
        return {'values': _as_json_data(values)}
    return {'values': _as_json_data(distinct.values), 'places': places}
