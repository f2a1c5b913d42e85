# SPDX-License-Identifier: Apache-2.0

"""The description of a page: its words, numbers and tables, without markup.

A page is an :class:`HtmlPage` of *parts*, e.g. ``Note('no disk', 'bad')``. It
becomes JSON data, e.g. ``{'kind': 'note', 'text': 'no disk', 'look': 'bad'}``.
The script ``assets/page.js`` draws the part by its kind. All pages therefore
have the same search, sorting, links, keys, colors and printing. Data that a
machine sends become text there, never HTML.

A click on a number or a link selects rows of a table. For this, rows have
*marks*, which are texts like ``show=failed``, and a :class:`Link` has the key
``show`` and the value ``failed``.

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

    :param key: without a value, the id of a card or a table to which the words
        link. With a value, the first half of a mark.
    :param value: the second half of the mark. For the key ``group`` and the
        value ``2``, a click selects the rows with the mark ``group=2``.
    """

    text: str
    key: str
    value: str = ''


@dataclasses.dataclass(frozen=True)
class Words:
    """Words in another color inside of a line."""

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
    """Parts below a small heading."""

    title: str
    parts: tuple[Part, ...]


@dataclasses.dataclass(frozen=True)
class Item:
    """An item of a :class:`BulletList`, with a heading."""

    heading: tuple[Part, ...]
    parts: tuple[Part, ...]


@dataclasses.dataclass(frozen=True)
class BulletList:
    """A list; a click on a button shows all of its items.

    :param first: the number of items that are shown before the click.
    """

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

    :param entries: pairs of the CSS class of a color and its meaning.
    """

    entries: tuple[tuple[str, str], ...]


@dataclasses.dataclass(frozen=True)
class Tile:
    """A number with its words, e.g. ``3 machines differ``.

    The number 0 has no color and no link.

    :param words: the words after 1, and the words after other numbers.
    :param link: ``(id,)`` of a card or a table to link to, or ``(key, value)``
        of a mark to select rows. Empty for no link.
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
    :param marks: the marks by which links select it, e.g. ``show=failed``.
    :param opened: the parts that a click on the row shows. Rows with equal
        parts share them in the page.
    """

    cells: tuple[Part, ...]
    marks: tuple[str, ...] = ()
    opened: tuple[Part, ...] = ()


@dataclasses.dataclass(frozen=True)
class PageTable:
    """A table of any length that can be searched and sorted.

    :param id: the id that links refer to.
    :param noun: the noun for a row, in the singular and in the plural.
    :param choices: the words by mark, which follow the number of rows that a
        link selects, as in *12 machines* ``that differ``.
    :param below: True if the opened parts of all rows are shown below the
        table, so that the rows themselves do not open.
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
    """Return a number with its noun, e.g. ``1,200 machines``.

    :param one: the noun for 1, e.g. ``machine``.
    :param more: the noun for all other numbers.
    """
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
    """Return the positions of equal keys as groups, the largest group first.

    For example, ``['a', 'b', 'b']`` becomes ``[[1, 2], [0]]``. Groups of the
    same size have the order in which their keys appear.
    """
    positions_by_key: dict[Hashable, list[int]] = {}
    for position, key in enumerate(keys):
        positions_by_key.setdefault(key, []).append(position)
    return sorted(positions_by_key.values(), key=len, reverse=True)


def _as_json_data(part: typing.Any) -> typing.Any:
    """Return a part of a page as JSON data, which the script draws.

    - A table has its own form.
    - An object of another class of this module becomes a mapping: ``Note('no
      disk', 'bad')`` becomes ``{'kind': 'note', 'text': 'no disk', 'look':
      'bad'}``.
    - A sequence becomes a list.
    - Text, numbers and None stay as they are.

    :param part: a part, or the value of a field of a part.
    """
    if isinstance(part, PageTable):
        return _table_as_json_data(part)
    if dataclasses.is_dataclass(part):
        # The kind is the name of the function that draws the part.
        data = {'kind': type(part).__name__.lower()}
        for field in dataclasses.fields(part):
            data[field.name] = _as_json_data(getattr(part, field.name))
        return data
    if isinstance(part, list | tuple):
        return [_as_json_data(item) for item in part]
    return part


def _table_as_json_data(table: PageTable) -> dict[str, typing.Any]:
    """Return a table as JSON data, by columns instead of rows.

    The values of a column are often equal. By columns, the data contain an
    equal value only once, see :func:`_values_as_json_data`.
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
    """Return the values of a column as JSON data, in the shorter of two forms.

    - If most values are repeated, every value is listed once, and ``places``
      has the index of the value of every row: ``a, b, a, a`` becomes
      ``{'values': [a, b], 'places': [0, 1, 0, 0]}``.
    - Otherwise, the values of all rows are listed: ``a, b, c`` becomes
      ``{'values': [a, b, c]}``.
    """
    distinct_values = shell.DistinctValues()
    places = [distinct_values.number_of(value) for value in values]
    if 2 * len(distinct_values.values) > len(values):
        # The places would need more space than they save.
        return {'values': _as_json_data(values)}
    return {'values': _as_json_data(distinct_values.values), 'places': places}
