# SPDX-License-Identifier: Apache-2.0

"""The data that a page has in it."""

from collections.abc import Iterator
import json
import re
import typing


def read(page: str) -> typing.Any:
    """Return what the script of a page draws."""
    found = re.search(
        r'<script type="application/json" id="data">(.*?)'
        '</script>',
        page,
        re.DOTALL,
    )
    assert found, 'the page has no data'
    return json.loads(found[1])


def parts(described: typing.Any, kind: str) -> Iterator[dict[str, typing.Any]]:
    """Yield all parts of a kind in a description, in their order."""
    children: typing.Iterable[typing.Any] = ()
    if isinstance(described, dict):
        if described.get('kind') == kind:
            yield described
        children = described.values()
    elif isinstance(described, list):
        children = described
    for child in children:
        yield from parts(child, kind)


def tiles(described: typing.Any) -> dict[str, int]:
    """Return the numbers of the tiles by their words for many."""
    return {
        tile['words'][1]: tile['count'] for tile in parts(described, 'tile')
    }


def rows(described: typing.Any) -> list[dict[str, typing.Any]]:
    """Return the rows of the first table, with the fields of a ``PageRow``."""
    table = next(parts(described, 'pagetable'))
    columns = [_unpacked(column) for column in table['cells']]
    marks = _unpacked(table['marks'])
    opened = _unpacked(table['opened'])
    return [
        {'cells': list(cells), 'marks': row_marks, 'opened': row_opened}
        for *cells, row_marks, row_opened in zip(
            *columns, marks, opened, strict=True
        )
    ]


def words(described: typing.Any) -> typing.Any:
    """Return a description without its looks: texts, and lists of them."""
    if isinstance(described, list):
        return [words(child) for child in described]
    if isinstance(described, dict):
        if 'text' in described:
            return described['text']
        return [
            words(child)
            for name, child in described.items()
            if name not in ('kind', 'look', 'key', 'value')
        ]
    return described


def _unpacked(column: dict[str, typing.Any]) -> list[typing.Any]:
    if 'places' in column:
        return [column['values'][place] for place in column['places']]
    return column['values']
