# SPDX-License-Identifier: Apache-2.0

"""Compare the texts and numbers of a machine with those of its peers.

A column has the values of one field, in the order of the machines. For
example, ``['uefi', 'uefi', 'bios', None]`` is a column of texts: the third
machine differs, and the fourth does not report the field.
"""

import array
from collections.abc import Callable, Iterator, Sequence
import typing

from ironic_inspection_rules.kit.machine.outliers import finding
from ironic_inspection_rules.kit.machine.outliers import norm
from ironic_inspection_rules.kit.machine.outliers import part_comparison
from ironic_inspection_rules.kit.machine.outliers import peer_difference
from ironic_inspection_rules.kit.machine.outliers import sketch

_MAX_ITEMS = 3
_ABSENT = float('nan')

Column = list[typing.Any]
"""The value of a field on every machine; None if it reports nothing."""

Differences = dict[int, list[peer_difference.PeerDifference]]
"""The differences of machines, by index of the machine among its peers."""


def _fields_by_id(
    sections: Sequence[sketch.Section | None],
) -> dict[int, dict[str, typing.Any]]:
    """Return the fields of distinct sections, by the id() of the section.

    A section has the texts below one path, e.g. ``plugin_data.extra.cpu``.
    Most machines share one section object, which is read only once.

    :param sections: one section for every machine; None if it has none.
    """
    fields_by_id: dict[int, dict[str, typing.Any]] = {}
    for section in sections:
        if section is not None and id(section) not in fields_by_id:
            _path, fields = section
            fields_by_id[id(section)] = dict(fields)
    return fields_by_id


def text_columns(
    sketches: Sequence[sketch.Sketch],
) -> Iterator[tuple[str, Column]]:
    """Yield the texts that have two or more values among the machines.

    For example, ``('inventory.boot.current_boot_mode', ['uefi', 'uefi',
    'bios', None])`` for four machines. Machines that do not report a text do
    not count as a different value.

    :returns: the path of the text, and its value on every machine.
    """
    for sections in _section_columns(sketches):
        # Equal sections are the same object, so each is read only once.
        fields_by_id = _fields_by_id(sections)
        if len(fields_by_id) == 1:
            # All machines that report the section have equal texts.
            continue
        distinct: dict[str, set[typing.Any]] = {}
        for fields in fields_by_id.values():
            for path, value in fields.items():
                distinct.setdefault(path, set()).add(value)
        # A machine without the section has none of its fields.
        no_fields: dict[str, typing.Any] = {}
        for path, values in sorted(distinct.items()):
            if len(values) < 2:
                continue
            column = []
            for section in sections:
                fields = fields_by_id.get(id(section), no_fields)
                column.append(fields.get(path))
            yield path, column


def _section_columns(
    sketches: Sequence[sketch.Sketch],
) -> list[list[sketch.Section | None]]:
    """Return the sections of machines, by path.

    A section has the texts below one path, e.g. ``plugin_data.extra.cpu``.

    :returns: for every path, the sections of all machines; None if a machine
        does not report it. Equal sections are the same object.
    """
    columns: dict[str, list[sketch.Section | None]] = {}
    for position, machine in enumerate(sketches):
        for section in machine.sections:
            path = section[0]
            if path not in columns:
                columns[path] = [None] * len(sketches)
            columns[path][position] = section
    return [column for _path, column in sorted(columns.items())]


def number_columns(
    sketches: Sequence[sketch.Sketch],
    is_wanted: Callable[[str], bool] | None = None,
) -> Iterator[tuple[str, 'array.array[float]']]:
    """Yield the numbers that are not equal on all machines.

    A number that some machines do not report counts as not equal.

    :param is_wanted: a function that returns whether a path is wanted; None
        for all paths.
    :returns: the path, and the number of every machine; NaN if it reports
        nothing.
    """
    # The numbers of a machine are in the order of its paths. Most machines
    # share the tuple of paths, so the positions are looked up once per tuple.
    positions_by_id: dict[int, dict[str, int]] = {}
    for machine in sketches:
        paths = machine.paths
        if id(paths) not in positions_by_id:
            positions_by_id[id(paths)] = {
                path: position for position, path in enumerate(paths)
            }
    machines = [
        (positions_by_id[id(machine.paths)], machine.numbers)
        for machine in sketches
    ]
    for path in sorted(set().union(*positions_by_id.values())):
        if is_wanted is not None and not is_wanted(path):
            continue
        column = array.array('d')
        for positions, numbers in machines:
            position = positions.get(path)
            if position is None:
                column.append(_ABSENT)
            else:
                column.append(numbers[position])
        # NaN is not equal to anything, so a single NaN makes the column
        # differ.
        if column.count(column[0]) < len(column):
            yield path, column


def compare(sketches: Sequence[sketch.Sketch], min_peers: int) -> Differences:
    """Return the fields in which machines differ from their peers.

    A text differs if it is not one of the values that nearly all peers have. A
    number differs if it is far from the numbers of the peers. A machine that
    does not report a field does not differ in it.

    :param min_peers: the number of machines that must report a field before a
        value can be normal.
    :returns: the differences, by index of the machine in ``sketches``.
    """
    differences: Differences = {}
    for path, column in text_columns(sketches):
        # It is None if too few machines report a text, or if the texts vary
        # too much for any to be normal.
        normal = norm.find_norm(column, min_peers)
        if normal is None:
            continue
        for index, value in enumerate(column):
            if value is not None and value not in normal.accepted:
                differences.setdefault(index, []).append(
                    _describe_odd_text(path, value, normal)
                )
    for path, amounts in number_columns(sketches):
        usual = _find_range(path, amounts, min_peers)
        if usual is None:
            continue
        for odd in usual.odd:
            differences.setdefault(odd.index, []).append(
                _describe_odd_number(path, odd, usual)
            )
    return differences


def _find_range(
    path: str, amounts: Sequence[float], min_peers: int
) -> norm.Range | None:
    """Return the normal number of a field, and the machines far from it.

    :param amounts: the number of every machine; NaN if it reports nothing.
    :returns: None if too few machines report a number, or if the numbers vary
        too much for any to be normal.
    """
    if not peer_difference.is_measured(path):
        return norm.find_normal_numbers(amounts, min_peers)
    noise = norm.NOISE_OF_MEASUREMENT
    if path.endswith((' least', ' most')):
        # The least or the greatest of several numbers of a machine varies more
        # than a single number does.
        noise = norm.NOISE_OF_EXTREME
    return norm.find_range_of_measurements(amounts, min_peers, noise)


def _describe_odd_number(
    path: str, odd: norm.Odd, usual: norm.Range
) -> peer_difference.PeerDifference:
    """Describe a number that is far from the numbers of the peers."""
    return peer_difference.PeerDifference(
        kind=peer_difference.finding_kind(path, is_number=True),
        what=finding.CHANGED,
        slot=None,
        field=path,
        has=finding.format_number(path, odd.value),
        value=finding.format_number(path, usual.value),
        count=usual.count,
        normal_count=usual.reporting_count - len(usual.odd),
        reporting_count=usual.reporting_count,
        relative_distance=odd.relative_distance,
    )


def _describe_odd_text(
    path: str, value: typing.Any, normal: norm.Norm
) -> peer_difference.PeerDifference:
    """Describe a text that differs from the texts of the peers.

    If the field has several texts, such as flags, only the missing and the
    additional ones are named: "without avx512", while the peers have "avx512".

    :param value: the text of the machine, or a tuple of several texts.
    """
    if isinstance(value, tuple):
        accepted = map(_as_tuple, normal.accepted)
        texts = part_comparison.compare_multisets(value, accepted)
        missing = _join_first(texts.missing)
        surplus = _join_first(texts.surplus)
        has = surplus or f'without {missing}'
        usual = missing or f'without {surplus}'
        # Whether the machine has something that its peers do not have.
        has_extra = bool(texts.surplus)
    else:
        has = str(value)
        usual = str(normal.value)
        has_extra = True
    return peer_difference.PeerDifference(
        kind=peer_difference.finding_kind(path),
        what=finding.CHANGED,
        slot=None,
        field=path,
        has=has,
        value=usual,
        count=normal.count,
        normal_count=normal.normal_count,
        reporting_count=normal.reporting_count,
        has_extra=has_extra,
    )


def _as_tuple(value: typing.Any) -> tuple[typing.Any, ...]:
    """Return several texts as they are, and one text as a tuple of one.

    This is needed because some machines may have one text where others have
    several.
    """
    if isinstance(value, tuple):
        return value
    return (value,)


def _join_first(items: Sequence[typing.Any]) -> str:
    """Join the first items with commas, e.g. ``a, b, c and 2 more``."""
    text = ', '.join(map(str, items[:_MAX_ITEMS]))
    left_out = len(items) - _MAX_ITEMS
    if left_out > 0:
        text += f' and {left_out} more'
    return text
