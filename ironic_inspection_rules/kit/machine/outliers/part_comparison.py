# SPDX-License-Identifier: Apache-2.0

"""Compare the parts of machines with the parts of their peers.

A part, such as a DIMM, is its slot and its attributes: ``('A1', (('size',
32),))``. Parts in slots are compared slot by slot. Parts without a slot are
compared by their number and by the values of all of them together.
"""

import collections
from collections.abc import Hashable, Iterable, Sequence
import typing

from ironic_inspection_rules.kit.machine.outliers import finding
from ironic_inspection_rules.kit.machine.outliers import norm
from ironic_inspection_rules.kit.machine.outliers import peer_difference
from ironic_inspection_rules.kit.machine.outliers import sketch
from ironic_inspection_rules.machine import part_source

_MIN_SHARE_WITH_NORMAL_SLOTS = 0.5
"""Least share of machines that have filled exactly the normal slots.

If fewer machines have, the names of slots differ from machine to machine, and
parts are not compared by slot.
"""

_MOST_TELLING_FIRST = (
    'size',
    'size_mb',
    'Size',
    'capacity',
    'firmware',
    'firmware_version',
    'model',
    'model_name',
    'product',
    'part_number',
    'Part Number',
    'Version',
    'product_id',
    'speed_mbps',
    'vendor',
    'manufacturer',
    'Manufacturer',
    'vendor_id',
)
"""Attributes of parts, sorted by how much they say about a part."""

_DESCRIBING_ATTRIBUTES = (
    'size',
    'size_mb',
    'Size',
    'vendor',
    'manufacturer',
    'Manufacturer',
    'model',
    'model_name',
    'product',
    'part_number',
    'Part Number',
    'Version',
)
"""Attributes that describe a part for people, in the order of the text."""

_MAX_REPORTED_ATTRIBUTES = 3

Attributes = typing.Mapping[str, typing.Any]

DifferencesByPlace = dict[int, list[peer_difference.PeerDifference]]
"""Differences of machines, by the index of the machine in the list of peers.
"""


ValueCounts = collections.Counter[typing.Any]
"""The number of machines that have a value, by value."""


class CountedList(typing.NamedTuple):
    """A list of parts, and the number of machines that have an equal list."""

    part_list: sketch.PartList
    machine_count: int


class MultisetDifference(typing.NamedTuple):
    """The difference of a multiset of values from a normal multiset.

    For example, if peers have three disks of 960 GB, a machine with two of
    them and one disk of 480 GB misses 960 and has the surplus 480.
    """

    missing: list[typing.Any]
    surplus: list[typing.Any]


def compare(
    lists: Sequence[sketch.PartList | None], min_peers: int
) -> DifferencesByPlace:
    """Return how the parts of machines differ from the parts of their peers.

    :param lists: the parts that one source reports, for every machine; None if
        it reports nothing. Equal lists must be the same object.
    :param min_peers: the number of machines that must report parts; if fewer
        do, nothing is compared.
    :returns: the differences, by index of the machine. Machines with the same
        parts share one list of differences. Normal machines are not in it.
    """
    # Both are keyed by the id() of a list: the machines that have the list,
    # and the list itself. Comparing long lists by their content would take
    # much longer.
    indexes: dict[int, list[int]] = {}
    distinct: dict[int, sketch.PartList] = {}
    for index, part_list in enumerate(lists):
        if part_list is not None:
            indexes.setdefault(id(part_list), []).append(index)
            distinct[id(part_list)] = part_list
    reporting_count = sum(map(len, indexes.values()))
    are_all_equal = len(distinct) == 1
    if reporting_count < min_peers or are_all_equal:
        return {}
    # Most machines have the same list. Every different list is compared only
    # once.
    counted_lists = [
        CountedList(part_list, len(indexes[list_id]))
        for list_id, part_list in distinct.items()
    ]
    by_list = _compare_lists(counted_lists, reporting_count, min_peers)
    differences: DifferencesByPlace = {}
    for list_id, differences_of_list in by_list.items():
        if differences_of_list:
            for index in indexes[list_id]:
                differences[index] = differences_of_list
    return differences


def _compare_lists(
    counted_lists: Sequence[CountedList], reporting_count: int, min_peers: int
) -> dict[int, list[peer_difference.PeerDifference]]:
    """Compare lists of parts, by slot if most machines fill the same slots.

    For example, if nearly all machines have DIMMs in A1 and B1, the DIMM in A1
    is compared with the DIMMs that peers have in A1. Parts without a slot are
    compared by their number and their values, e.g. "two DIMMs of 32 GiB are
    normal". If machines fill different slots, all parts are compared this way.

    :param counted_lists: the different lists, and how many machines have them.
    :param reporting_count: the number of machines that report parts.
    :param min_peers: the number of machines that must report parts, or an
        attribute in a slot, before a value can be normal.
    :returns: differences by ``id()`` of a list, empty for a normal list.
    """
    differences: dict[int, list[peer_difference.PeerDifference]] = {}
    normal_slots = _find_normal_slots(counted_lists, reporting_count)
    if not normal_slots:
        all_parts = _CountedParts(counted_lists, reporting_count, min_peers)
        for part_list, _machine_count in counted_lists:
            differences[id(part_list)] = all_parts.find_differences(part_list)
        return differences
    parts_in_slots = _PartsInSlots(
        counted_lists, normal_slots, reporting_count, min_peers
    )
    lists_without_slots = [
        CountedList(_leave_out_slots(part_list), machine_count)
        for part_list, machine_count in counted_lists
    ]
    other_parts = _CountedParts(
        lists_without_slots, reporting_count, min_peers
    )
    for part_list, _machine_count in counted_lists:
        differences[id(part_list)] = [
            *parts_in_slots.find_differences(part_list),
            *other_parts.find_differences(_leave_out_slots(part_list)),
        ]
    return differences


def _leave_out_slots(part_list: sketch.PartList) -> sketch.PartList:
    """Return a list of parts without the parts that have a slot."""
    items = [item for item in part_list.items if not _slot_of(item)]
    return part_list._replace(items=tuple(items))


def _slot_of(item: sketch.Item) -> str:
    """Return the slot of a part, e.g. ``DIMM_A1``; empty without a slot."""
    slot, _attributes = item
    return slot


def _filled_slots(part_list: sketch.PartList) -> set[str]:
    """Return the slots in which a list has parts."""
    return set(map(_slot_of, part_list.items)) - {''}


def _count_filled_slots(
    counted_lists: Iterable[CountedList],
) -> collections.Counter[str]:
    """Return the number of machines that have filled a slot, by slot."""
    counts: collections.Counter[str] = collections.Counter()
    for part_list, machine_count in counted_lists:
        for slot in _filled_slots(part_list):
            counts[slot] += machine_count
    return counts


def _find_normal_slots(
    counted_lists: Iterable[CountedList], reporting_count: int
) -> frozenset[str]:
    """Return the slots that at least 75 % of the machines have filled.

    The result is empty if fewer than half of the machines have filled exactly
    these slots. Then the filled slots vary between machines, and a part in
    another slot is not odd.

    :param counted_lists: the different lists, and how many machines have them.
    :param reporting_count: the number of machines that report parts.
    """
    normal = frozenset(
        slot
        for slot, machine_count in _count_filled_slots(counted_lists).items()
        if machine_count >= reporting_count * norm.NEARLY_ALL
    )
    # The number of machines that have filled these slots and no others.
    with_exactly_these = 0
    for part_list, machine_count in counted_lists:
        if _filled_slots(part_list) == normal:
            with_exactly_these += machine_count
    if with_exactly_these < reporting_count * _MIN_SHARE_WITH_NORMAL_SLOTS:
        return frozenset()
    return normal


def _count_values(
    counted_lists: Iterable[CountedList], slots: frozenset[str]
) -> dict[tuple[str, str], ValueCounts]:
    """Count the machines that have a value, by slot and attribute.

    For example, ``{('DIMM_A1', 'size'): Counter({32: 9, 16: 1})}``: nine
    machines have a DIMM of size 32 in this slot, and one machine has a DIMM of
    size 16.

    :param counted_lists: the different lists, and how many machines have them.
    :param slots: the slots to count; parts in other slots are skipped.
    """
    values: dict[tuple[str, str], ValueCounts] = {}
    for part_list, machine_count in counted_lists:
        for slot, attributes in part_list.items:
            if slot not in slots:
                continue
            for name, value in attributes:
                key = (slot, name)
                counts = values.setdefault(key, collections.Counter())
                counts[value] += machine_count
    return values


class _PartsInSlots:
    """Compares parts by the slots that they are in.

    :param counted_lists: all lists of parts, with the number of machines that
        have the same list.
    :param slots: the slots that nearly all machines have filled.
    :param reporting_count: the number of machines that report parts.
    :param min_peers: the number of machines that must have an attribute before
        it can be normal.
    """

    def __init__(
        self,
        counted_lists: Sequence[CountedList],
        slots: frozenset[str],
        reporting_count: int,
        min_peers: int,
    ) -> None:
        self._slots = slots
        self._reporting_count = reporting_count
        # The number of machines that have filled a slot.
        self._filled_counts = _count_filled_slots(counted_lists)
        # Normal values, by slot and attribute.
        self._norms: dict[tuple[str, str], norm.Norm] = {}
        # The normal attributes of a part, by its slot.
        self._normal_parts: dict[str, dict[str, typing.Any]] = {}
        for (slot, name), counts in _count_values(
            counted_lists, slots
        ).items():
            normal = norm.find_norm_of_counts(counts, min_peers)
            if normal is not None:
                self._norms[slot, name] = normal
                self._normal_parts.setdefault(slot, {})[name] = normal.value
        # This must come last, because it reads the norms of all attributes.
        self._drop_varying_norms(counted_lists)

    def _drop_varying_norms(
        self, counted_lists: Sequence[CountedList]
    ) -> None:
        """Remove the norms of attributes in which too many machines are odd.

        For example, if more than a quarter of the machines have an unusual
        speed in some slot, speeds vary too much, and no slot is compared by
        speed.
        """
        odd: collections.Counter[str] = collections.Counter()
        for part_list, machine_count in counted_lists:
            names = set()
            for slot, attributes in part_list.items:
                names.update(self._find_odd_attributes(slot, attributes))
            for name in names:
                odd[name] += machine_count
        varying = {
            name
            for name, machine_count in odd.items()
            if machine_count > self._reporting_count * norm.QUARTER
        }
        steady = {}
        for (slot, name), normal in self._norms.items():
            if name not in varying:
                steady[slot, name] = normal
        self._norms = steady

    def _find_odd_attributes(
        self, slot: str, attributes: sketch.Attributes
    ) -> list[str]:
        """Return the names of attributes that are not normal in a slot.

        For example, the result is ``['size']`` for a DIMM of 16 GiB if most
        machines have a DIMM of 32 GiB there. Attributes without a normal value
        are skipped.
        """
        names = []
        for name, value in attributes:
            normal = self._norms.get((slot, name))
            if normal is not None and value not in normal.accepted:
                names.append(name)
        return names

    def find_differences(
        self, part_list: sketch.PartList
    ) -> list[peer_difference.PeerDifference]:
        """Return how the parts of a machine differ from the parts of peers.

        There are four kinds of differences: peers have filled a slot that is
        empty here, peers leave a slot empty that is filled here, a part is in
        another slot, or it has unusual attributes. Parts without a slot are
        skipped.
        """
        # The attributes of a part, by its slot.
        parts = {}
        for slot, names_and_values in part_list.items:
            if slot:
                parts[slot] = dict(names_and_values)
        empty_slots = sorted(self._slots - parts.keys())
        unusual_slots = sorted(parts.keys() - self._slots)
        # The present slot of a part that peers have in another slot, by the
        # slot in the peers.
        present_slots = self._find_moves(parts, empty_slots, unusual_slots)
        differences = []
        for slot in empty_slots:
            if slot not in present_slots:
                differences.append(
                    self._describe_missing_part(part_list, slot)
                )
        for slot in unusual_slots:
            if slot not in present_slots.values():
                differences.append(
                    self._describe_new_part(part_list, slot, parts[slot])
                )
        # Other parts may have moved because a part is missing or new. Only the
        # missing or new part is reported then.
        if not differences:
            for usual_slot, slot in present_slots.items():
                differences.append(
                    self._describe_moved_part(part_list, usual_slot, slot)
                )
        for slot, names_and_values in part_list.items:
            names = self._find_odd_attributes(slot, names_and_values)
            if names:
                differences.append(
                    self._describe_changed_part(
                        part_list, slot, parts[slot], names
                    )
                )
        return differences

    def _find_moves(
        self,
        parts: typing.Mapping[str, Attributes],
        empty_slots: Iterable[str],
        unusual_slots: Iterable[str],
    ) -> dict[str, str]:
        """Find the parts that are in another slot than usual.

        A part in an unusual slot is assumed to come from the first empty slot
        in which all of its attributes would be normal. For example, ``{'A1':
        'A2'}`` if A2 has the DIMM that peers have in A1.

        :param parts: the attributes of parts, by slot.
        :param empty_slots: the empty slots that peers have filled.
        :param unusual_slots: the filled slots that peers leave empty.
        :returns: the present slot of a moved part, by its usual slot.
        """
        moves: dict[str, str] = {}
        for slot in unusual_slots:
            attributes = tuple(parts[slot].items())
            for usual_slot in empty_slots:
                if usual_slot in moves:
                    # Another moved part was already assigned to this slot.
                    continue
                odd_names = self._find_odd_attributes(usual_slot, attributes)
                if not odd_names:
                    moves[usual_slot] = slot
                    break
        return moves

    def _describe_missing_part(
        self, part_list: sketch.PartList, slot: str
    ) -> peer_difference.PeerDifference:
        """Describe an empty slot that peers have filled."""
        usual = describe_part(part_list.kind, self._normal_parts.get(slot, {}))
        filled_count = self._filled_counts[slot]
        return peer_difference.PeerDifference(
            kind=part_list.kind,
            what=finding.MISSING,
            slot=slot,
            field=part_list.source,
            has=None,
            value=usual,
            count=filled_count,
            normal_count=filled_count,
            reporting_count=self._reporting_count,
            has_extra=False,
        )

    def _describe_new_part(
        self, part_list: sketch.PartList, slot: str, attributes: Attributes
    ) -> peer_difference.PeerDifference:
        """Describe a part in a slot that peers leave empty.

        :param attributes: the attributes of the part.
        """
        empty_count = self._reporting_count - self._filled_counts[slot]
        return peer_difference.PeerDifference(
            kind=part_list.kind,
            what=finding.NEW,
            slot=slot,
            field=part_list.source,
            has=describe_part(part_list.kind, attributes),
            value='nothing there',
            count=empty_count,
            normal_count=empty_count,
            reporting_count=self._reporting_count,
        )

    def _describe_moved_part(
        self, part_list: sketch.PartList, usual_slot: str, slot: str
    ) -> peer_difference.PeerDifference:
        """Describe a part that peers have in another slot.

        :param usual_slot: the slot in which peers have the part.
        :param slot: the slot in which this machine has it.
        """
        filled_count = self._filled_counts[usual_slot]
        return peer_difference.PeerDifference(
            kind=part_list.kind,
            what=finding.MOVED,
            slot=usual_slot,
            field=part_list.source,
            has=slot,
            value=usual_slot,
            count=filled_count,
            normal_count=filled_count,
            reporting_count=self._reporting_count,
        )

    def _describe_changed_part(
        self,
        part_list: sketch.PartList,
        slot: str,
        attributes: Attributes,
        names: Sequence[str],
    ) -> peer_difference.PeerDifference:
        """Describe a part whose attributes differ from those of its peers.

        For example, the machine has "16 GiB, speed 2400" in the slot, and its
        peers have "32 GiB, speed 3200". The peers are counted by the most
        telling one of these attributes, in this example the size.

        :param attributes: the attributes of the part.
        :param names: the names of the unusual attributes; at most three are
            reported.
        """
        reported_names = _choose_reported(names)
        most_telling = reported_names[0]
        normal = self._norms[slot, most_telling]
        has = {name: attributes[name] for name in reported_names}
        usual = {
            name: self._norms[slot, name].value for name in reported_names
        }
        return peer_difference.PeerDifference(
            kind=part_list.kind,
            what=finding.CHANGED,
            slot=slot,
            field=part_list.source,
            has=describe_attributes(part_list.kind, has),
            value=describe_attributes(part_list.kind, usual),
            count=normal.count,
            normal_count=normal.normal_count,
            reporting_count=normal.reporting_count,
            names=tuple(reported_names),
        )


class _CountedParts:
    """Compares parts whose slots are not known or vary between machines.

    Nobody knows which part of a machine corresponds to which part of a peer.
    Therefore the values of all parts are compared together, as a multiset:
    four equal disks of 960 GB are ``(960, 960, 960, 960)``.

    :param counted_lists: all lists of parts, with the number of machines that
        have the same list.
    :param reporting_count: the number of machines that report parts.
    :param min_peers: the number of machines that must report parts before a
        value can be normal.
    """

    def __init__(
        self,
        counted_lists: Sequence[CountedList],
        reporting_count: int,
        min_peers: int,
    ) -> None:
        self._reporting_count = reporting_count
        # The number of machines, by how many parts they have.
        numbers: collections.Counter[Hashable] = collections.Counter()
        for part_list, machine_count in counted_lists:
            numbers[len(part_list.items)] += machine_count
        self._normal_number = norm.find_norm_of_counts(numbers, min_peers)
        # The normal multisets, by attribute. An attribute is not compared if
        # its normal multiset is empty, because then most machines do not
        # report it.
        self._normal_values = {}
        for name, counts in sorted(_count_multisets(counted_lists).items()):
            normal = norm.find_norm_of_counts(counts, min_peers)
            if normal is not None and normal.value != ():
                self._normal_values[name] = normal

    def find_differences(
        self, part_list: sketch.PartList
    ) -> list[peer_difference.PeerDifference]:
        """Return how the parts of a machine differ from the parts of peers.

        There are at most two differences: the machine has fewer or more parts
        than usual, and one of its parts is of another kind. Nothing is
        compared if the number of parts varies between peers.
        """
        normal = self._normal_number
        if normal is None:
            return []
        number = len(part_list.items)
        values = self._compare_values(part_list)
        differences = []
        if number not in normal.accepted:
            differences.append(
                self._describe_number(part_list, normal, values)
            )
        # A surplus part adds one value to every attribute, which may be
        # unusual. If there are more unusual values than surplus parts, another
        # part has changed. It also lacks a usual value then.
        surplus_parts = max(0, number - normal.value)
        changed = {}
        for name, difference in values.items():
            if difference.missing and len(difference.surplus) > surplus_parts:
                changed[name] = difference
        if changed:
            differences.append(self._describe_changed_part(part_list, changed))
        return differences

    def _compare_values(
        self, part_list: sketch.PartList
    ) -> dict[str, MultisetDifference]:
        """Return how the values of all parts together differ, by attribute.

        For example, if peers have three disks of 960 GB, a machine with two of
        them and one disk of 480 GB misses 960 and has the surplus 480 in the
        attribute ``size``. Attributes with normal values are left out.
        """
        if not part_list.items:
            # A machine without parts misses all usual values.
            return {
                name: MultisetDifference(list(normal.value), surplus=[])
                for name, normal in self._normal_values.items()
            }
        differences = {}
        for name, multiset in multisets_by_attribute(part_list).items():
            normal = self._normal_values.get(name)
            if normal is not None and multiset not in normal.accepted:
                differences[name] = compare_multisets(
                    multiset, normal.accepted
                )
        return differences

    def _describe_number(
        self,
        part_list: sketch.PartList,
        normal: norm.Norm,
        values: typing.Mapping[str, MultisetDifference],
    ) -> peer_difference.PeerDifference:
        """Describe a machine that has fewer or more parts than its peers.

        For example, the machine has "3" disks, and its peers have "4 (960
        GB)": a disk of 960 GB is missing.

        :param normal: the normal number of parts.
        :param values: the values that are missing or surplus, by attribute;
            the first of them describe the missing or surplus part.
        """
        number = len(part_list.items)
        is_fewer = number < normal.value
        has = str(number)
        usual = str(normal.value)
        if is_fewer:
            what = finding.MISSING
            missing_part = {
                name: difference.missing[0]
                for name, difference in values.items()
                if difference.missing
            }
            usual += _in_brackets(part_list.kind, missing_part)
        else:
            what = finding.NEW
            surplus_part = {
                name: difference.surplus[0]
                for name, difference in values.items()
                if difference.surplus
            }
            has += _in_brackets(part_list.kind, surplus_part)
        return peer_difference.PeerDifference(
            kind=part_list.kind,
            what=what,
            slot=None,
            field=part_list.source,
            has=has,
            value=usual,
            count=normal.count,
            normal_count=normal.normal_count,
            reporting_count=normal.reporting_count,
            has_extra=not is_fewer,
        )

    def _describe_changed_part(
        self,
        part_list: sketch.PartList,
        changed: typing.Mapping[str, MultisetDifference],
    ) -> peer_difference.PeerDifference:
        """Describe a machine in which some part is of another kind than usual.

        Nobody knows which part it is. Therefore the first unusual value is
        reported next to the first usual value, e.g. 480 GB and 960 GB.

        :param changed: the values that are missing and surplus, by attribute.
        """
        names = _choose_reported(changed)
        most_telling = names[0]
        normal = self._normal_values[most_telling]
        has = {name: changed[name].surplus[0] for name in names}
        usual = {name: changed[name].missing[0] for name in names}
        return peer_difference.PeerDifference(
            kind=part_list.kind,
            what=finding.CHANGED,
            slot=None,
            field=part_list.source,
            has=describe_attributes(part_list.kind, has),
            value=describe_attributes(part_list.kind, usual),
            count=normal.count,
            normal_count=normal.normal_count,
            reporting_count=normal.reporting_count,
            names=tuple(names),
        )


def multisets_by_attribute(
    part_list: sketch.PartList,
) -> dict[str, tuple[typing.Any, ...]]:
    """Return the sorted values of all parts together, by attribute.

    For example, ``{'size': (480, 960, 960)}`` for three disks.
    """
    multiset: dict[str, list[typing.Any]] = {}
    for _slot, attributes in part_list.items:
        for name, value in attributes:
            multiset.setdefault(name, []).append(value)
    return {
        name: tuple(sorted(values, key=str))
        for name, values in multiset.items()
    }


def _count_multisets(
    counted_lists: Sequence[CountedList],
) -> dict[str, ValueCounts]:
    """Count the machines that have a multiset of values, by attribute.

    For example, ``{'size': Counter({(960, 960): 9, (960,): 1})}``: nine
    machines have two parts of size 960, and one machine has only one. A
    machine whose parts do not report the attribute is counted with the empty
    multiset.
    """
    multisets_of_lists = []
    names: set[str] = set()
    for part_list, machine_count in counted_lists:
        by_name = multisets_by_attribute(part_list)
        multisets_of_lists.append((by_name, machine_count))
        names.update(by_name)
    counts: dict[str, ValueCounts]
    counts = {name: collections.Counter() for name in names}
    for by_name, machine_count in multisets_of_lists:
        for name in names:
            counts[name][by_name.get(name, ())] += machine_count
    return counts


def compare_multisets(
    values: Sequence[typing.Any], accepted: Iterable[Sequence[typing.Any]]
) -> MultisetDifference:
    """Return how a multiset differs from the nearest normal multiset.

    For example, if ``(960, 960)`` is normal, ``(960,)`` misses one 960.

    :param values: the values of the multiset.
    :param accepted: the normal multisets, at least one. The nearest one has
        the fewest differing values.
    """
    own = collections.Counter(values)
    differences = []
    for normal in accepted:
        usual = collections.Counter(normal)
        missing = sorted((usual - own).elements(), key=str)
        surplus = sorted((own - usual).elements(), key=str)
        differences.append(MultisetDifference(missing, surplus))

    def count_values(difference: MultisetDifference) -> int:
        return len(difference.missing) + len(difference.surplus)

    # If several are equally near, the first one is taken.
    return min(differences, key=count_values)


def _choose_reported(names: Iterable[str]) -> list[str]:
    """Return the attributes that are reported, the most telling first."""
    return sorted(names, key=_importance_key)[:_MAX_REPORTED_ATTRIBUTES]


def _importance_key(name: str) -> tuple[int, str]:
    """Return a key that sorts attribute names, the most telling first.

    Attributes that are not in the list come last, sorted by name.
    """
    index = len(_MOST_TELLING_FIRST)
    if name in _MOST_TELLING_FIRST:
        index = _MOST_TELLING_FIRST.index(name)
    return index, name


def describe_part(kind: str, part: Attributes) -> str:
    """Describe a part in words, e.g. ``32 GiB Samsung M393A4K40``.

    A part without size, vendor and model is described by its PCI IDs. If it
    has none, it is described by its first attributes. A part without any
    attributes is called "one", as in "DIMM A1 is missing: 9 of 10 have one".

    :param kind: the kind of part, which decides how a size is written.
    """
    words = []
    for name in _DESCRIBING_ATTRIBUTES:
        if name in part:
            words.append(_format_attribute(kind, name, part[name]))
    if not words and 'vendor_id' in part:
        words = [f'{part["vendor_id"]}:{part.get("product_id", "")}']
    if not words:
        first = sorted(part.items())[:_MAX_REPORTED_ATTRIBUTES]
        words = [f'{name} {value}' for name, value in first]
    # Duplicates are removed because several attributes may have the same
    # value, e.g. "model" and "product".
    return ' '.join(dict.fromkeys(words)) or 'one'


def _in_brackets(kind: str, part: Attributes) -> str:
    """Describe a part in words and in brackets, e.g. `` (960 GB)``.

    :param part: the attributes of the part. If there are none, the result is
        empty.
    """
    if not part:
        return ''
    return f' ({describe_part(kind, part)})'


def describe_attributes(kind: str, attributes: Attributes) -> str:
    """Return attributes of a part as text, e.g. ``960 GB, vendor Acme``."""
    words = []
    for name, value in attributes.items():
        text = _format_attribute(kind, name, value)
        if name.lower() == 'size':
            words.append(text)
        else:
            words.append(f'{name} {text}')
    return ', '.join(words)


def _format_attribute(kind: str, name: str, value: typing.Any) -> str:
    """Return the value of an attribute as text; a size gets its unit.

    For example, the size 960000000000 of a disk is written ``960 GB``.

    :param kind: the kind of part, which decides the unit of a size.
    """
    is_number = type(value) in (int, float)
    if is_number and name == 'size':
        return finding.format_size(kind, value)
    if is_number and name == 'size_mb':
        return finding.format_size(part_source.DIMM, value * 1024 * 1024)
    return str(value).strip()
