# SPDX-License-Identifier: Apache-2.0

"""Parts of a machine missing, new, moved or changed beside its peers."""

import collections
from collections.abc import Hashable, Iterable, Sequence
import math
import typing

from ironic_inspection_rules.kit.machine.outliers import finding
from ironic_inspection_rules.kit.machine.outliers import norm
from ironic_inspection_rules.kit.machine.outliers import peer_difference
from ironic_inspection_rules.kit.machine.outliers import sketch
from ironic_inspection_rules.machine import part_source

_SHARE_WITH_NORMAL_SLOTS = 0.5
"""Least share of machines that have filled the normal slots and no others.

With fewer the names of slots differ from machine to machine, and parts are
not compared by them.
"""

_FIRST = (
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
"""The attributes that say most about a part, in this order."""

_DESCRIBE = (
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
"""The attributes that name a part, in this order."""

_MOST_ATTRIBUTES = 3

Attributes = typing.Mapping[str, typing.Any]

DifferencesByPlace = dict[int, list[peer_difference.PeerDifference]]
"""Differences of machines, by their index in the list of peers."""


ValueCounts = collections.Counter[typing.Any]
"""How many machines have a value."""


class Counted(typing.NamedTuple):
    """A list of parts, and how many machines have it."""

    part_list: sketch.PartList
    machines: int


def compare(
    lists: Sequence[sketch.PartList | None], least: int
) -> DifferencesByPlace:
    """Return how the parts of machines differ from those of their peers.

    :param lists: the parts that one source reports of every machine, None
        where it reports nothing. Equal lists are the same object.
    :param least: machines that must report something; with fewer, nothing is
        compared.
    :returns: the differences of the machines that have any. Machines with the
        same parts share one list of them.
    """
    # By the id() of a list: the machines that have it, and the list itself.
    places: dict[int, list[int]] = {}
    distinct: dict[int, sketch.PartList] = {}
    for place, part_list in enumerate(lists):
        if part_list is not None:
            places.setdefault(id(part_list), []).append(place)
            distinct[id(part_list)] = part_list
    reporting = sum(map(len, places.values()))
    if reporting < least or len(distinct) == 1:
        return {}
    # Most machines have the same list: each list is compared once.
    counted = [
        Counted(part_list, len(places[list_id]))
        for list_id, part_list in distinct.items()
    ]
    by_list = _compare_lists(counted, reporting, least)
    differences: DifferencesByPlace = {}
    for list_id, differences_of_list in by_list.items():
        if differences_of_list:
            for place in places[list_id]:
                differences[place] = differences_of_list
    return differences


def _compare_lists(
    counted: Sequence[Counted], reporting: int, least: int
) -> dict[int, list[peer_difference.PeerDifference]]:
    """Compare lists of parts, by slot where most machines fill the same slots.

    Parts without a slot are compared by their number and their values. So are
    all parts where machines fill different slots.

    :param counted: the different lists, and how many machines have each.
    :param reporting: how many machines report parts.
    :param least: how many machines have to report parts, or an attribute in a
        slot, before anything is normal.
    :returns: differences by ``id()`` of a list, empty for a normal one.
    """
    differences: dict[int, list[peer_difference.PeerDifference]] = {}
    slots = _normal_slots(counted, reporting)
    if not slots:
        by_number = _ByNumber(counted, reporting, least)
        for part_list, _machines in counted:
            differences[id(part_list)] = by_number.differences(part_list)
        return differences
    by_slot = _BySlot(counted, slots, reporting, least)
    for part_list, _machines in counted:
        differences[id(part_list)] = by_slot.differences(part_list)
    without_slot = []
    for part_list, machines in counted:
        without_slot.append(Counted(_without_slotted(part_list), machines))
    if any(part_list.items for part_list, _machines in without_slot):
        by_number = _ByNumber(without_slot, reporting, least)
        for part_list, _machines in counted:
            differences[id(part_list)] += by_number.differences(
                _without_slotted(part_list)
            )
    return differences


def _without_slotted(part_list: sketch.PartList) -> sketch.PartList:
    """Leave out the parts with a slot."""
    items = tuple(item for item in part_list.items if not item[0])
    return part_list._replace(items=items)


def _filled_slots(part_list: sketch.PartList) -> set[str]:
    """Return the slots of the parts that have one."""
    return {slot for slot, _attributes in part_list.items if slot}


def _normal_slots(
    counted: Iterable[Counted], reporting: int
) -> frozenset[str]:
    """Return the slots that are filled in nearly all machines.

    Where there are any, parts are compared slot by slot.

    :param reporting: how many machines report parts.
    :returns: none where too many machines have filled others: the names of
        their slots then say nothing.
    """
    count: collections.Counter[str] = collections.Counter()
    for part_list, machines in counted:
        for slot in _filled_slots(part_list):
            count[slot] += machines
    normal = frozenset(
        slot
        for slot, machines in count.items()
        if machines >= reporting * norm.NEARLY_ALL
    )
    machines_with_these = 0
    for part_list, machines in counted:
        if _filled_slots(part_list) == normal:
            machines_with_these += machines
    if machines_with_these < reporting * _SHARE_WITH_NORMAL_SLOTS:
        return frozenset()
    return normal


def _count_values(
    counted: Iterable[Counted], slots: frozenset[str]
) -> dict[tuple[str, str], ValueCounts]:
    """Count how many machines have a value, by slot and attribute.

    ``{('DIMM_A1', 'size'): Counter({32: 9, 16: 1})}`` says that in this slot
    nine machines have one of size 32, and one machine has another.

    :param slots: those that are counted.
    """
    values: dict[tuple[str, str], ValueCounts] = {}
    for part_list, machines in counted:
        for slot, attributes in part_list.items:
            if slot not in slots:
                continue
            for name, value in attributes:
                key = (slot, name)
                counts = values.setdefault(key, collections.Counter())
                counts[value] += machines
    return values


class _BySlot:
    """Compares parts by the slots that they are in.

    :param counted: all lists of parts, with the number of machines that have
        the same list.
    :param slots: that nearly all machines have filled.
    :param reporting: how many machines report parts.
    :param least: how many machines have to have an attribute before it can
        be normal.
    """

    def __init__(
        self,
        counted: Sequence[Counted],
        slots: frozenset[str],
        reporting: int,
        least: int,
    ) -> None:
        self._slots = slots
        self._reporting = reporting
        # How many machines have filled a slot.
        self._filled: collections.Counter[str] = collections.Counter()
        for part_list, machines in counted:
            for slot in _filled_slots(part_list):
                self._filled[slot] += machines
        # What is normal, by slot and attribute.
        self._norms: dict[tuple[str, str], norm.Norm] = {}
        # The part that peers have in a slot: its normal attributes.
        self._normal_parts: dict[str, dict[str, typing.Any]] = {}
        for (slot, name), counts in _count_values(counted, slots).items():
            normal = norm.shared_counts(counts, least)
            if normal is not None:
                self._norms[slot, name] = normal
                self._normal_parts.setdefault(slot, {})[name] = normal.value
        # Needs the norms of all attributes.
        self._drop_norms_of_varying(counted)

    def _drop_norms_of_varying(self, counted: Sequence[Counted]) -> None:
        """Remove the norms of attributes by which many machines would be odd.

        One attribute may vary so in some slot that its norm says nothing: it
        is then no norm in any slot.
        """
        odd: collections.Counter[str] = collections.Counter()
        for part_list, machines in counted:
            names = set()
            for slot, attributes in part_list.items:
                names.update(self._odd_names(slot, attributes))
            for name in names:
                odd[name] += machines
        varying = {
            name
            for name, machines in odd.items()
            if machines > self._reporting * norm.QUARTER
        }
        steady = {}
        for (slot, name), normal in self._norms.items():
            if name not in varying:
                steady[slot, name] = normal
        self._norms = steady

    def _odd_names(
        self, slot: str, attributes: sketch.Attributes
    ) -> list[str]:
        """Return the names of attributes that are not normal in a slot."""
        names = []
        for name, value in attributes:
            normal = self._norms.get((slot, name))
            if normal is not None and value not in normal.accepted:
                names.append(name)
        return names

    def differences(
        self, part_list: sketch.PartList
    ) -> list[peer_difference.PeerDifference]:
        """Return how parts of a machine differ from those of its peers.

        Parts without a slot are left out.
        """
        parts = {}
        for slot, attributes in part_list.items:
            if slot:
                parts[slot] = dict(attributes)
        empty_slots = sorted(self._slots - parts.keys())
        unusual_slots = sorted(parts.keys() - self._slots)
        # The slot of a part here, by the slot that it has in peers.
        moves = self._moves(parts, empty_slots, unusual_slots)
        missing = [slot for slot in empty_slots if slot not in moves]
        new = [slot for slot in unusual_slots if slot not in moves.values()]
        differences = []
        for slot in missing:
            differences.append(self._missing_part(part_list, slot))
        for slot in new:
            differences.append(self._new_part(part_list, slot, parts[slot]))
        # Where a part is gone or new, the others may have moved because of
        # that: only the first is a finding.
        if not missing and not new:
            for home, slot in moves.items():
                differences.append(self._moved_part(part_list, home, slot))
        for slot, attributes in part_list.items:
            names = self._odd_names(slot, attributes)
            if names:
                differences.append(
                    self._changed_part(part_list, slot, parts[slot], names)
                )
        return differences

    def _moves(
        self,
        parts: typing.Mapping[str, Attributes],
        missing: Iterable[str],
        new: Iterable[str],
    ) -> dict[str, str]:
        """Return which parts are in another slot than usual.

        A part in a new slot is taken for that of the first missing slot whose
        usual part is like it.

        :returns: by the slot that is missing, the new one where its part is.
        """
        moves: dict[str, str] = {}
        for slot in new:
            for home in missing:
                if home not in moves and self._is_like(parts[slot], home):
                    moves[home] = slot
                    break
        return moves

    def _is_like(self, part: Attributes, slot: str) -> bool:
        """Check that a part is what peers have in a slot."""
        return not self._odd_names(slot, tuple(part.items()))

    def _missing_part(
        self, part_list: sketch.PartList, slot: str
    ) -> peer_difference.PeerDifference:
        """Return the difference of an empty slot that peers have filled."""
        usual = describe(part_list.kind, self._normal_parts.get(slot, {}))
        filled = self._filled[slot]
        return peer_difference.PeerDifference(
            kind=part_list.kind,
            what=finding.MISSING,
            slot=slot,
            field=part_list.source,
            has=None,
            value=usual,
            count=filled,
            fitting=filled,
            of=self._reporting,
            adds=False,
        )

    def _new_part(
        self, part_list: sketch.PartList, slot: str, part: Attributes
    ) -> peer_difference.PeerDifference:
        """Return the difference of a part in a slot that peers leave empty."""
        without = self._reporting - self._filled[slot]
        return peer_difference.PeerDifference(
            kind=part_list.kind,
            what=finding.NEW,
            slot=slot,
            field=part_list.source,
            has=describe(part_list.kind, part),
            value='nothing there',
            count=without,
            fitting=without,
            of=self._reporting,
        )

    def _moved_part(
        self, part_list: sketch.PartList, home: str, slot: str
    ) -> peer_difference.PeerDifference:
        """Return the difference of a part in another slot than in peers.

        :param home: the slot where peers have it.
        """
        filled = self._filled[home]
        return peer_difference.PeerDifference(
            kind=part_list.kind,
            what=finding.MOVED,
            slot=home,
            field=part_list.source,
            has=slot,
            value=home,
            count=filled,
            fitting=filled,
            of=self._reporting,
        )

    def _changed_part(
        self,
        part_list: sketch.PartList,
        slot: str,
        part: Attributes,
        names: Sequence[str],
    ) -> peer_difference.PeerDifference:
        """Return the difference of a part with other attributes than in peers.

        The peers are counted by the most telling of these attributes.

        :param names: of the attributes, of which the first few are named.
        """
        first_names = sorted(names, key=_importance)[:_MOST_ATTRIBUTES]
        normal = self._norms[slot, first_names[0]]
        has = {name: part[name] for name in first_names}
        usual = {name: self._norms[slot, name].value for name in first_names}
        return peer_difference.PeerDifference(
            kind=part_list.kind,
            what=finding.CHANGED,
            slot=slot,
            field=part_list.source,
            has=describe_attributes(part_list.kind, has),
            value=describe_attributes(part_list.kind, usual),
            count=normal.count,
            fitting=normal.fitting,
            of=normal.of,
            names=tuple(first_names),
        )


class _ByNumber:
    """Compares parts without slots, by their number and their attributes.

    Which part of a machine is which of a peer, is not known: of an attribute
    the values of all parts together are compared, as a multiset. Four equal
    disks of 960 GB are the multiset ``(960, 960, 960, 960)`` of sizes.

    :param counted: all lists of parts, with the number of machines that have
        the same list.
    :param reporting: how many machines report parts.
    :param least: how many machines have to report parts before anything is
        normal.
    """

    def __init__(
        self, counted: Sequence[Counted], reporting: int, least: int
    ) -> None:
        self._reporting = reporting
        # How many machines have a number of parts.
        numbers: collections.Counter[Hashable] = collections.Counter()
        for part_list, machines in counted:
            numbers[len(part_list.items)] += machines
        self._number = norm.shared_counts(numbers, least)
        # The normal multisets, by attribute. An attribute that most machines
        # do not report is not compared.
        self._values = {}
        for name, counts in sorted(_count_multisets(counted).items()):
            normal = norm.shared_counts(counts, least)
            if normal is not None and normal.value != ():
                self._values[name] = normal

    def differences(
        self, part_list: sketch.PartList
    ) -> list[peer_difference.PeerDifference]:
        """Return how parts of a machine differ from those of its peers.

        At most two differences are returned: that the machine has fewer or
        more parts, and that some part is of another kind than usual. Peers
        that do not agree on the number of parts are not compared.
        """
        normal = self._number
        if normal is None:
            return []
        number = len(part_list.items)
        lost, added = self._lost_and_added(part_list)
        differences = []
        if number not in normal.accepted:
            if not number:
                # It has no parts at all, so that it lacks all usual values.
                lost = {}
                for name, shared in self._values.items():
                    lost[name] = list(shared.value)
            differences.append(
                self._number_differs(part_list, normal, lost, added)
            )
        # A machine with more parts has a value more of every attribute for
        # each of these. Only where there are still more values some part is
        # another one than usual.
        surplus = max(0, number - normal.value)
        changed = {}
        for name, values in added.items():
            if name in lost and len(values) > surplus:
                changed[name] = values
        if changed:
            differences.append(self._changed_part(part_list, changed, lost))
        return differences

    def _lost_and_added(
        self, part_list: sketch.PartList
    ) -> tuple[dict[str, list[typing.Any]], dict[str, list[typing.Any]]]:
        """Return the usual values that parts lack, and unusual ones they have.

        :returns: both by the name of the attribute.
        """
        lost: dict[str, list[typing.Any]] = {}
        added: dict[str, list[typing.Any]] = {}
        for name, multiset in multisets(part_list).items():
            shared = self._values.get(name)
            if shared is None or multiset in shared.accepted:
                continue
            lacks, has_more = difference(multiset, shared.accepted)
            if lacks:
                lost[name] = lacks
            if has_more:
                added[name] = has_more
        return lost, added

    def _number_differs(
        self,
        part_list: sketch.PartList,
        normal: norm.Norm,
        lost: Attributes,
        added: Attributes,
    ) -> peer_difference.PeerDifference:
        """Return the difference of a machine with fewer or more parts.

        :param normal: the numbers of parts that peers have.
        :param lost: the usual values that its parts lack, by attribute; the
            first of them describe a part that is missing.
        :param added: the unusual ones that they have, for a part too many.
        """
        number = len(part_list.items)
        is_fewer = number < normal.value
        has = str(number)
        usual = str(normal.value)
        if is_fewer:
            what = finding.MISSING
            usual += _in_brackets(part_list.kind, lost)
        else:
            what = finding.NEW
            has += _in_brackets(part_list.kind, added)
        return peer_difference.PeerDifference(
            kind=part_list.kind,
            what=what,
            slot=None,
            field=part_list.source,
            has=has,
            value=usual,
            count=normal.count,
            fitting=normal.fitting,
            of=normal.of,
            adds=not is_fewer,
        )

    def _changed_part(
        self, part_list: sketch.PartList, changed: Attributes, lost: Attributes
    ) -> peer_difference.PeerDifference:
        """Return the difference of a machine with some part of another kind.

        Which part that is, is not known: the first unusual value is named
        beside the first usual one.

        :param changed: unusual values that the machine has, by attribute.
        :param lost: the usual values that it lacks.
        """
        names = sorted(changed, key=_importance)[:_MOST_ATTRIBUTES]
        normal = self._values[names[0]]
        has = {name: changed[name][0] for name in names}
        usual = {name: lost[name][0] for name in names}
        return peer_difference.PeerDifference(
            kind=part_list.kind,
            what=finding.CHANGED,
            slot=None,
            field=part_list.source,
            has=describe_attributes(part_list.kind, has),
            value=describe_attributes(part_list.kind, usual),
            count=normal.count,
            fitting=normal.fitting,
            of=normal.of,
            names=tuple(names),
        )


def multisets(part_list: sketch.PartList) -> dict[str, tuple[typing.Any, ...]]:
    """Return the sorted values of attributes of all parts, by attribute.

    Parts without slots are listed in any order: only which values there are,
    and how many of them, can be compared.
    """
    multiset: dict[str, list[typing.Any]] = {}
    for _slot, attributes in part_list.items:
        for name, value in attributes:
            multiset.setdefault(name, []).append(value)
    return {
        name: tuple(sorted(values, key=str))
        for name, values in multiset.items()
    }


def _count_multisets(counted: Sequence[Counted]) -> dict[str, ValueCounts]:
    """Count how many machines have a multiset of values, by attribute.

    ``{'size': Counter({(960, 960): 9, (960,): 1})}`` says that nine machines
    have two parts of size 960, and one machine has one. The empty multiset is
    that of machines whose parts do not report the attribute.
    """
    multisets_of_lists = []
    names: set[str] = set()
    for part_list, machines in counted:
        by_name = multisets(part_list)
        multisets_of_lists.append((by_name, machines))
        names.update(by_name)
    counts: dict[str, ValueCounts]
    counts = {name: collections.Counter() for name in names}
    for by_name, machines in multisets_of_lists:
        for name in names:
            counts[name][by_name.get(name, ())] += machines
    return counts


def difference(
    values: Sequence[typing.Any], accepted: Iterable[Sequence[typing.Any]]
) -> tuple[list[typing.Any], list[typing.Any]]:
    """Return how a multiset differs from the nearest normal one.

    ``(960,)`` differs from ``(960, 960)`` by ``([960], [])``.

    :param values: of the multiset.
    :param accepted: the normal multisets.
    :returns: the values that it lacks, and those that it has in addition.
    """
    own = collections.Counter(values)
    lacks: list[typing.Any] = []
    has_more = list(values)
    least: float = math.inf
    for normal in accepted:
        usual = collections.Counter(normal)
        gone = sorted((usual - own).elements(), key=str)
        extra = sorted((own - usual).elements(), key=str)
        if len(gone) + len(extra) < least:
            least = len(gone) + len(extra)
            lacks, has_more = gone, extra
    return lacks, has_more


def _importance(name: str) -> tuple[int, str]:
    """Return what to sort attributes by: those that say most come first."""
    place = len(_FIRST)
    if name in _FIRST:
        place = _FIRST.index(name)
    return place, name


def describe(kind: str, part: Attributes) -> str:
    """Return a part in words, by the attributes that tell people most.

    A part without these is described by its PCI numbers, or else by its first
    attributes.

    :param kind: of the part, which decides how a size is written.
    :returns: words such as ``32 GiB Samsung M393A4K40``; "one" of a part
        without attributes, for a sentence such as "DIMM A1 is missing: 9 of
        10 have one".
    """
    words = []
    for name in _DESCRIBE:
        if name in part:
            words.append(_as_text(kind, name, part[name]))
    if not words and 'vendor_id' in part:
        words = [f'{part["vendor_id"]}:{part.get("product_id", "")}']
    if not words:
        first = sorted(part.items())[:_MOST_ATTRIBUTES]
        words = [f'{name} {value}' for name, value in first]
    # Several attributes may say the same.
    return ' '.join(dict.fromkeys(words)) or 'one'


def _in_brackets(kind: str, values: Attributes) -> str:
    """Return a part in words and brackets, for behind a number of parts.

    :param values: lists of values, by attribute: the part has the first of
        each.
    :returns: an empty text without values.
    """
    if not values:
        return ''
    part = {name: of_name[0] for name, of_name in values.items()}
    return f' ({describe(kind, part)})'


def describe_attributes(kind: str, attributes: Attributes) -> str:
    """Return some attributes of a part with their names, for people."""
    words = []
    for name, value in attributes.items():
        text = _as_text(kind, name, value)
        if name.lower() == 'size':
            words.append(text)
        else:
            words.append(f'{name} {text}')
    return ', '.join(words)


def _as_text(kind: str, name: str, value: typing.Any) -> str:
    """Return the value of an attribute, a size with its unit."""
    is_number = type(value) in (int, float)
    if is_number and name == 'size':
        return finding.size(kind, value)
    if is_number and name == 'size_mb':
        return finding.size(part_source.DIMM, value * 1024 * 1024)
    return str(value).strip()
