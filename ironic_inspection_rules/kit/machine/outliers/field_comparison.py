# SPDX-License-Identifier: Apache-2.0

"""Fields and numbers of machines beside those of their peers."""

import array
from collections.abc import Callable, Iterator, Sequence
import typing

from ironic_inspection_rules.kit.machine.outliers import candidate
from ironic_inspection_rules.kit.machine.outliers import finding
from ironic_inspection_rules.kit.machine.outliers import norm
from ironic_inspection_rules.kit.machine.outliers import part_comparison
from ironic_inspection_rules.kit.machine.outliers import sketch

_MOST_ITEMS = 3
_ABSENT = float('nan')

Column = list[typing.Any]
Found = dict[int, list[candidate.Candidate]]


def texts(sketches: Sequence[sketch.Sketch]
          ) -> Iterator[tuple[str, Column]]:
    """Yield the fields that are not alike in all machines.

    :returns: paths, and the value of each machine, None where there is none.
    """
    held: dict[str, list[sketch.Section | None]] = {}
    for place, each in enumerate(sketches):
        for section in each.sections:
            if section[0] not in held:
                held[section[0]] = [None] * len(sketches)
            held[section[0]][place] = section
    for _name, column in sorted(held.items()):
        tables: dict[int, dict[str, typing.Any]] = {
            id(section): dict(section[1]) for section in column
            if section is not None}
        if len(tables) == 1:
            continue
        values: dict[str, set[typing.Any]] = {}
        for table in tables.values():
            for path, value in table.items():
                values.setdefault(path, set()).add(value)
        nothing: dict[str, typing.Any] = {}
        for path, distinct in sorted(values.items()):
            if len(distinct) > 1:
                yield path, [tables.get(id(section), nothing).get(path)
                             for section in column]


def numbers(sketches: Sequence[sketch.Sketch],
            is_wanted: Callable[[str], bool] | None = None
            ) -> Iterator[tuple[str, 'array.array[float]']]:
    """Yield the fields that are numbers, and not alike in all machines.

    :param is_wanted: says of a path whether it is; all are without it.
    :returns: paths, and the number of each machine, NaN where there is none.
    """
    places = {id(each.paths): {path: place for place, path
                               in enumerate(each.paths)}
              for each in sketches}
    held = [(places[id(each.paths)], each.numbers) for each in sketches]
    for path in sorted(set().union(*places.values())):
        if is_wanted is not None and not is_wanted(path):
            continue
        column = array.array('d', [
            amounts[place[path]] if path in place else _ABSENT
            for place, amounts in held])
        if column.count(column[0]) < len(column):
            yield path, column


def compare(sketches: Sequence[sketch.Sketch], least: int) -> Found:
    """Compare the fields of machines.

    :returns: what differs, by the place of the machine.
    """
    found: Found = {}
    for path, column in texts(sketches):
        normal = norm.shared(column, least)
        if normal is None or normal.fitting == normal.of:
            continue
        for place, value in enumerate(column):
            if value is not None and value not in normal.accepted:
                found.setdefault(place, []).append(
                    _text_differs(path, value, normal))
    for path, amounts in numbers(sketches):
        measured = candidate.is_measured(path)
        among = norm.numbers(amounts, least, measured,
                             path.endswith((' least', ' most')))
        if among is None:
            continue
        for odd in among.odd:
            found.setdefault(odd.place, []).append(candidate.Candidate(
                candidate.kind_of(path, True), finding.CHANGED, None, path,
                finding.number(path, odd.value),
                finding.number(path, among.value), among.count,
                among.of - len(among.odd), among.of, far=odd.far))
    return found


def _text_differs(path: str, value: typing.Any, normal: norm.Norm
                  ) -> candidate.Candidate:
    adds = True
    has, usual = str(value), str(normal.value)
    if isinstance(value, tuple):
        accepted = [each if isinstance(each, tuple) else (each,)
                    for each in normal.accepted]
        gone, come = part_comparison.difference(value, accepted)
        adds = bool(come)
        has = _joined(come) or 'without ' + _joined(gone)
        usual = _joined(gone) or 'without ' + _joined(come)
    return candidate.Candidate(
        candidate.kind_of(path), finding.CHANGED, None, path, has, usual,
        normal.count, normal.fitting, normal.of, adds=adds)


def _joined(items: Sequence[typing.Any]) -> str:
    text = ', '.join(map(str, items[:_MOST_ITEMS]))
    if len(items) > _MOST_ITEMS:
        text += f' and {len(items) - _MOST_ITEMS} more'
    return text
