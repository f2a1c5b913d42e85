# SPDX-License-Identifier: Apache-2.0

"""When fields and numbers of a machine are odd beside those of its peers."""

import array
from collections.abc import Callable, Iterator, Sequence
import typing

from ironic_inspection_rules.kit.machine.outliers import finding
from ironic_inspection_rules.kit.machine.outliers import norm
from ironic_inspection_rules.kit.machine.outliers import part_comparison
from ironic_inspection_rules.kit.machine.outliers import peer_difference
from ironic_inspection_rules.kit.machine.outliers import sketch

_MOST_ITEMS = 3
_ABSENT = float('nan')

Column = list[typing.Any]
"""What each machine has of a field, None where it reports nothing."""

Differences = dict[int, list[peer_difference.PeerDifference]]
"""What differs, by the place of the machine among its peers."""


def _fields_by_id(
    sections: Sequence[sketch.Section | None],
) -> dict[int, dict[str, typing.Any]]:
    """Return the fields of different sections, by the id() of the section.

    Most machines share one section, which is read once.
    """
    fields_of: dict[int, dict[str, typing.Any]] = {}
    for section in sections:
        if section is not None and id(section) not in fields_of:
            _path, fields = section
            fields_of[id(section)] = dict(fields)
    return fields_of


def texts(sketches: Sequence[sketch.Sketch]) -> Iterator[tuple[str, Column]]:
    """Yield the fields that have several values among the machines.

    A field that some machines do not report is none of these, as long as all
    others report the same.

    :returns: the path of a field, and what each machine has there.
    """
    for sections in _sections(sketches):
        fields_of = _fields_by_id(sections)
        if len(fields_of) == 1:
            # All that report the section report the same.
            continue
        distinct: dict[str, set[typing.Any]] = {}
        for fields_by_path in fields_of.values():
            for path, value in fields_by_path.items():
                distinct.setdefault(path, set()).add(value)
        nothing: dict[str, typing.Any] = {}
        for path, values in sorted(distinct.items()):
            if len(values) < 2:
                continue
            column = [
                fields_of.get(id(section), nothing).get(path)
                for section in sections
            ]
            yield path, column


def _sections(
    sketches: Sequence[sketch.Sketch],
) -> list[list[sketch.Section | None]]:
    """Return the sections of all machines, path by path.

    A section is a part of the data with its fields; machines that have the
    same one share the object.

    :returns: for each path a section of each machine, in the order of the
        sketches; None where a machine has none.
    """
    columns: dict[str, list[sketch.Section | None]] = {}
    for position, machine in enumerate(sketches):
        for section in machine.sections:
            path = section[0]
            if path not in columns:
                columns[path] = [None] * len(sketches)
            columns[path][position] = section
    return [column for _path, column in sorted(columns.items())]


def numbers(
    sketches: Sequence[sketch.Sketch],
    is_wanted: Callable[[str], bool] | None = None,
) -> Iterator[tuple[str, 'array.array[float]']]:
    """Yield the fields that are numbers, and not alike in all machines.

    A field that some machines do not report is not alike.

    :param is_wanted: says of a path whether it is; all are without it.
    :returns: paths, and the number of each machine, NaN where there is none.
    """
    # Machines share the tuples of paths: every tuple is indexed once.
    indexes: dict[int, dict[str, int]] = {}
    for machine in sketches:
        paths = machine.paths
        if id(paths) not in indexes:
            indexes[id(paths)] = {
                path: place for place, path in enumerate(paths)
            }
    indexed = [
        (indexes[id(machine.paths)], machine.numbers) for machine in sketches
    ]
    for path in sorted(set().union(*indexes.values())):
        if is_wanted is not None and not is_wanted(path):
            continue
        column = array.array('d')
        for index, amounts in indexed:
            place = index.get(path)
            if place is None:
                column.append(_ABSENT)
            else:
                column.append(amounts[place])
        # NaN equals nothing, so that it makes a column differ.
        if column.count(column[0]) < len(column):
            yield path, column


def compare(sketches: Sequence[sketch.Sketch], least: int) -> Differences:
    """Return in which fields machines differ from what most of them report.

    A machine that does not report a field does not differ in it.

    :param least: how many machines must report a field, so that there is
        something usual.
    """
    differences: Differences = {}
    for path, column in texts(sketches):
        normal = norm.shared(column, least)
        # No value is usual, or no machine has another one.
        if normal is None or normal.fitting == normal.of:
            continue
        for place, value in enumerate(column):
            if value is not None and value not in normal.accepted:
                differences.setdefault(place, []).append(
                    _text_differs(path, value, normal)
                )
    for path, amounts in numbers(sketches):
        usual = norm.numbers(
            amounts,
            least,
            measured=peer_difference.is_measured(path),
            extreme=path.endswith((' least', ' most')),
        )
        if usual is None:
            continue
        for odd in usual.odd:
            differences.setdefault(odd.place, []).append(
                _number_differs(path, odd, usual)
            )
    return differences


def _number_differs(
    path: str, odd: norm.Odd, usual: norm.Range
) -> peer_difference.PeerDifference:
    """Return the difference of a number from those of the peers."""
    return peer_difference.PeerDifference(
        kind=peer_difference.kind_of(path, is_number=True),
        what=finding.CHANGED,
        slot=None,
        field=path,
        has=finding.number(path, odd.value),
        value=finding.number(path, usual.value),
        count=usual.count,
        fitting=usual.of - len(usual.odd),
        of=usual.of,
        far=odd.far,
    )


def _text_differs(
    path: str, value: typing.Any, normal: norm.Norm
) -> peer_difference.PeerDifference:
    """Return how the text of a field differs from that of the peers.

    Of several texts, such as flags, it says only which the machine has more
    and which it lacks.

    :param value: the text; a tuple where the machine has several such fields.
    """
    # Whether the machine has something that its peers do not have.
    adds = True
    has = str(value)
    usual = str(normal.value)
    if isinstance(value, tuple):
        # Some machines may have one text where others have several.
        accepted = []
        for normal_value in normal.accepted:
            if isinstance(normal_value, tuple):
                accepted.append(normal_value)
            else:
                accepted.append((normal_value,))
        lacks, has_more = part_comparison.difference(value, accepted)
        adds = bool(has_more)
        has = _join(has_more) or 'without ' + _join(lacks)
        usual = _join(lacks) or 'without ' + _join(has_more)
    return peer_difference.PeerDifference(
        kind=peer_difference.kind_of(path),
        what=finding.CHANGED,
        slot=None,
        field=path,
        has=has,
        value=usual,
        count=normal.count,
        fitting=normal.fitting,
        of=normal.of,
        adds=adds,
    )


def _join(items: Sequence[typing.Any]) -> str:
    """Return the first of some items, and how many more there are."""
    text = ', '.join(map(str, items[:_MOST_ITEMS]))
    if len(items) > _MOST_ITEMS:
        text += f' and {len(items) - _MOST_ITEMS} more'
    return text
