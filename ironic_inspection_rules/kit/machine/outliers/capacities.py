# SPDX-License-Identifier: Apache-2.0

"""Nearly equal sizes of parts, which are compared as if they were equal.

Disks of one model differ by some sectors. Machines are compared, and divided
into kinds, as if such disks were of one size.

The functions work on sketches. A sketch is what is compared of one machine. It
has lists of parts. A part is its slot and its attributes, for example
``('0:1:0', (('model', 'X'), ('size', 960100)))``.
"""

import collections
from collections.abc import Iterable, Sequence
import typing

from ironic_inspection_rules.kit.machine.outliers import norm
from ironic_inspection_rules.kit.machine.outliers import sketch

_Sizes = dict[typing.Any, typing.Any]
"""Common sizes, by the nearly equal size that they replace."""


def unify(sketches: Sequence[sketch.Sketch]) -> list[sketch.Sketch]:
    """Make nearly equal sizes in the sketches of peers equal.

    For example, if the size of a disk is 960000 on nine machines and 960100 on
    one, all ten sketches have 960000 afterwards, because the most frequent
    size replaces the others.

    :param sketches: the machines of one group. Lists of parts that are equal
        must be the same object; in the result they are the same object, too.
    """
    # The number of machines that have a list, and the list itself, by the id()
    # of the list.
    counts: collections.Counter[int] = collections.Counter()
    # One list for every id(). The lists are not compared by content, because
    # that takes long.
    distinct: dict[int, sketch.PartList] = {}
    for machine in sketches:
        for part_list in machine.parts:
            counts[id(part_list)] += 1
            distinct[id(part_list)] = part_list
    counted_lists = [
        (part_list, counts[list_id]) for list_id, part_list in distinct.items()
    ]
    replaced = _find_common_sizes(counted_lists)
    if not any(replaced.values()):
        # No size is nearly equal to another one.
        return list(sketches)
    # Lists that have become equal are shared from now on.
    shared = sketch.SketchInterner()
    unified_lists = {}
    for list_id, part_list in distinct.items():
        with_sizes = _replace_sizes(part_list, replaced)
        unified_lists[list_id] = shared.intern_part_list(with_sizes)
    unified = []
    for machine in sketches:
        parts = [unified_lists[id(part_list)] for part_list in machine.parts]
        unified.append(machine._replace(parts=tuple(parts)))
    return unified


def _find_common_sizes(
    counted_lists: Iterable[tuple[sketch.PartList, int]],
) -> dict[tuple[str, str], _Sizes]:
    """Find the common sizes that replace nearly equal sizes of all machines.

    For example, ``{('disk', 'size'): {960100: 960000}}``. Any attribute that
    is a large number counts as a size.

    :param counted_lists: lists of parts, and how many machines have them.
    :returns: common sizes, by kind of parts and name of the attribute.
    """
    counts: dict[tuple[str, str], collections.Counter[typing.Any]] = {}
    for part_list, machine_count in counted_lists:
        for _slot, attributes in part_list.items:
            for name, value in attributes:
                key = (part_list.kind, name)
                counts_of_key = counts.setdefault(key, collections.Counter())
                counts_of_key[value] += machine_count
    return {
        key: norm.find_common_capacities(values)
        for key, values in counts.items()
    }


def _replace_sizes(
    part_list: sketch.PartList, replaced: dict[tuple[str, str], _Sizes]
) -> sketch.PartList:
    """Replace nearly equal sizes in a list of parts by common sizes.

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
