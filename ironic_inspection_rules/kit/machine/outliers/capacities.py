# SPDX-License-Identifier: Apache-2.0

"""Sizes of parts that differ by some bytes, and are compared as the same.

Disks of one model differ by some sectors. Machines are compared, and divided
into kinds, as if such disks were of one size.
"""

import collections
from collections.abc import Iterable, Sequence
import typing

from ironic_inspection_rules.kit.machine.outliers import norm
from ironic_inspection_rules.kit.machine.outliers import sketch

_Sizes = dict[typing.Any, typing.Any]
"""The common size of nearly equal ones, by the size that it replaces."""


def unify(sketches: Sequence[sketch.Sketch]) -> list[sketch.Sketch]:
    """Return the sketches of peers with nearly equal sizes made equal.

    Of such sizes the most frequent one replaces the others.

    :param sketches: equal lists of parts in them are the same object, which
        holds for the result as well.
    """
    counts: collections.Counter[int] = collections.Counter()
    # By identity: comparing lists of parts takes long.
    distinct: dict[int, sketch.PartList] = {}
    for machine in sketches:
        for part_list in machine.parts:
            counts[id(part_list)] += 1
            distinct[id(part_list)] = part_list
    counted = [
        (part_list, counts[list_id]) for list_id, part_list in distinct.items()
    ]
    replaced = _replaced_sizes(counted)
    if not any(replaced.values()):
        return list(sketches)
    shared = sketch.Shared()
    unified_lists = {}
    for list_id, part_list in distinct.items():
        with_sizes = _with_sizes(part_list, replaced)
        unified_lists[list_id] = shared.part_list(with_sizes)
    unified = []
    for machine in sketches:
        parts = [unified_lists[id(part_list)] for part_list in machine.parts]
        unified.append(machine._replace(parts=tuple(parts)))
    return unified


def _replaced_sizes(
    counted: Iterable[tuple[sketch.PartList, int]],
) -> dict[tuple[str, str], _Sizes]:
    """Return the common sizes that replace others, by part and attribute.

    The key is the kind of parts with the name of the attribute.

    :param counted: lists of parts, and how many machines have each.
    """
    counts: dict[tuple[str, str], collections.Counter[typing.Any]] = {}
    for part_list, machines in counted:
        for _slot, attributes in part_list.items:
            for name, value in attributes:
                key = (part_list.kind, name)
                of_attribute = counts.setdefault(key, collections.Counter())
                of_attribute[value] += machines
    return {key: norm.unify(values) for key, values in counts.items()}


def _with_sizes(
    part_list: sketch.PartList, replaced: dict[tuple[str, str], _Sizes]
) -> sketch.PartList:
    """Return a list of parts in which common sizes replace nearly equal ones.

    :param replaced: the common sizes, by kind of parts and attribute.
    """
    items = []
    for slot, attributes in part_list.items:
        unified = []
        for name, value in attributes:
            sizes = replaced[part_list.kind, name]
            unified.append((name, sizes.get(value, value)))
        items.append((slot, tuple(unified)))
    return part_list._replace(items=tuple(items))
