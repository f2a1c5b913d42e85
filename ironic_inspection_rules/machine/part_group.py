# SPDX-License-Identifier: Apache-2.0

"""Groups of reported parts, because several sources report the same part.

The parts of a group are recognized by their identities. For parts without an
identity, only their number and their slots can show whether another source
reports them too.
"""

import collections
from collections.abc import Iterable, Iterator, Sequence
import typing

from ironic_inspection_rules.machine import part
from ironic_inspection_rules.machine import part_pair

Group = part.Identity
"""A group of parts, represented by one of its identities."""

_Place = tuple[str, Group | None, str | None]
"""The place of a part: its kind, its group or None, and its slot."""

_AttributeValue = tuple[Group | None, str, typing.Any]
"""A value of an attribute: the group of the part, the name and the value."""


class _Reported(typing.NamedTuple):
    """A part, and the sources that report it."""

    part: part.Part
    sources: set[str]


def by_source(parts: Iterable[part.Part]) -> dict[str, list[part.Part]]:
    """Return the parts by their source, e.g. ``agent disk …``."""
    parts_of_source: dict[str, list[part.Part]] = {}
    for member in parts:
        parts_of_source.setdefault(member.source, []).append(member)
    return parts_of_source


def _count_by_kind(parts: Iterable[part.Part]) -> collections.Counter[str]:
    """Return how many parts of each kind a machine has.

    If one source reports four disks and another source reports five, the
    machine has five disks, because both report the same disks.
    """
    count_of_kind: collections.Counter[str] = collections.Counter()
    for parts_of_source in by_source(parts).values():
        # All parts of a source are of one kind.
        kind = parts_of_source[0].kind
        count = len(parts_of_source)
        count_of_kind[kind] = max(count_of_kind[kind], count)
    return count_of_kind


_Slot = tuple[str, str, str | None]
"""The kind of a part, "from" (before) or "to" (now), and the slot's name."""


def _slots_of_pair(pair: part_pair.Pair) -> list[_Slot]:
    """Return the previous slot and the current slot of a part.

    For example, ``[('dimm', 'from', 'A1'), ('dimm', 'to', 'B1')]``.
    """
    old, new = pair
    return [(old.kind, 'from', old.slot), (old.kind, 'to', new.slot)]


class _SlotClaims:
    """The sources that have reported a part in a slot, by the slot."""

    def __init__(self) -> None:
        self._sources: dict[_Slot, set[str]] = {}

    def claim(self, pair: part_pair.Pair) -> None:
        """Record that a source has reported a part in the slots of a pair.

        These are the previous and the current slot, see
        :func:`_slots_of_pair`.
        """
        _old, new = pair
        for slot in _slots_of_pair(pair):
            self._sources.setdefault(slot, set()).add(new.source)

    def is_taken_by_another_source(self, pair: part_pair.Pair) -> bool:
        """Return whether another source has claimed a slot of a pair.

        If so, both sources are assumed to report the same part.
        """
        _old, new = pair
        sources = set()
        for slot in _slots_of_pair(pair):
            sources |= self._sources.get(slot, set())
        return bool(sources - {new.source})


class PartGroups:
    """Groups of parts, where parts with a common identity are in one group.

    A part with the identities a and b joins the groups of a and b. So a group
    is one part of the machine, whichever source reports it at whichever time.

    :param parts: parts of several sources and times.
    """

    def __init__(self, parts: Iterable[part.Part]) -> None:
        """Join all identities of each part, and so parts that share one."""
        # A forest of identities. The root of each tree represents its group.
        self._parents: dict[part.Identity, part.Identity] = {}
        for member in parts:
            for identity in member.identities:
                self._parents.setdefault(identity, identity)
                # Move all identities of a part to the tree of its first one.
                root = self._find_root(identity)
                self._parents[root] = self._find_root(member.identities[0])

    def _find_root(self, identity: part.Identity) -> part.Identity:
        """Return the identity that represents the group of an identity.

        It is the root of the tree that contains the identity.
        """
        while self._parents[identity] != identity:
            # Shorten the path for the next search by skipping one parent.
            parent = self._parents[identity]
            self._parents[identity] = self._parents[parent]
            identity = self._parents[identity]
        return identity

    def of_part(self, member: part.Part) -> Group | None:
        """Return the group of a part, or None if it has no identity."""
        if not member.ids:
            return None
        return self._find_root(member.identities[0])

    def of_parts(self, parts: Iterable[part.Part]) -> set[Group | None]:
        """Return the groups of the parts that have an identity.

        None is never in the set. The type includes None only so that results
        of :meth:`of_part` can be looked up in the set.
        """
        return {self.of_part(member) for member in parts if member.ids}

    def distinct(self, parts: Iterable[part.Part]) -> list[part.Part]:
        """Return each part once, even if several sources report it.

        A part without an identity is assumed to be a part of another source,
        preferably the part in the same slot. If one source reports four disks
        with identities and another reports five disks without, there are five.
        """
        parts = list(parts)
        distinct = self._distinct_by_identity(parts)
        unidentified = [member for member in parts if not member.ids]
        for source, parts_of_source in by_source(unidentified).items():
            # All parts of a source are of one kind.
            kind = parts_of_source[0].kind
            # Skip parts that this source reports with an identity, because
            # these are other parts.
            candidates = []
            for reported in distinct:
                if (
                    reported.part.kind == kind
                    and source not in reported.sources
                ):
                    candidates.append(reported)
            for member in _match_unidentified(parts_of_source, candidates):
                distinct.append(_Reported(member, {source}))
        return [reported.part for reported in distinct]

    def _distinct_by_identity(
        self, parts: Iterable[part.Part]
    ) -> list[_Reported]:
        """Return the first part of each group, with the sources of the group.

        Parts without an identity are skipped.
        """
        reported: dict[Group | None, _Reported] = {}
        for member in parts:
            if not member.ids:
                continue
            group = self.of_part(member)
            if group not in reported:
                reported[group] = _Reported(member, set())
            reported[group].sources.add(member.source)
        return list(reported.values())

    def distinct_pairs(
        self, pairs: Iterable[part_pair.Pair]
    ) -> list[part_pair.Pair]:
        """Return one pair for each part, even if several sources report it.

        This way, a part that moved or changed is announced once. A part
        without an identity is skipped if another source has a part in its
        previous or current slot, because both are assumed to be the same.

        :param pairs: pairs of a part as it was before and as it is now.
        """
        of_group: dict[Group | None, part_pair.Pair] = {}
        slots = _SlotClaims()
        unidentified = []
        for pair in pairs:
            old, _new = pair
            if not old.ids:
                unidentified.append(pair)
                continue
            of_group.setdefault(self.of_part(old), pair)
            slots.claim(pair)
        distinct = list(of_group.values())
        # All parts with an identity have claimed their slots at this point.
        for pair in unidentified:
            if not slots.is_taken_by_another_source(pair):
                distinct.append(pair)
            # Claim the slots of skipped pairs too, because a third source may
            # have a part in the other slot.
            slots.claim(pair)
        return distinct

    def without_counterpart(
        self,
        candidates: Iterable[part.Part],
        parts: Sequence[part.Part],
        parts_of_other_time: Sequence[part.Part],
    ) -> Iterator[part.Part]:
        """Yield the parts of one time that cannot be parts of another time.

        Each candidate with an identity is yielded. A part without an identity
        may be any part of its kind. For example, of five disks without
        identities, only the last is yielded if the other time has four disks.

        :param candidates: some of ``parts``, whose identities no part of the
            other time has.
        :param parts: all known parts of the first time.
        :param parts_of_other_time: all known parts of the other time.
        """
        # For each source, the number of parts of the other time that its
        # remaining unidentified parts may be.
        possible_counts = self._count_possible(parts, parts_of_other_time)
        for candidate in candidates:
            if candidate.ids:
                yield candidate
            elif possible_counts[candidate.source] > 0:
                # The candidate may be one of the parts of the other time.
                possible_counts[candidate.source] -= 1
            else:
                yield candidate

    def _count_possible(
        self,
        parts: Sequence[part.Part],
        parts_of_other_time: Sequence[part.Part],
    ) -> dict[str, int]:
        """Count the parts of another time that unidentified parts may be.

        :param parts: parts of the first time, with or without an identity.
        :returns: for each source of these parts, the number of parts of its
            kind at the other time, minus the parts that the source identifies
            as parts of that time. The number may be negative.
        """
        count_of_kind = _count_by_kind(parts_of_other_time)
        groups_of_other_time = self.of_parts(parts_of_other_time)
        counts: dict[str, int] = {}
        for source, parts_of_source in by_source(parts).items():
            # All parts of a source are of one kind.
            kind = parts_of_source[0].kind
            # Parts that have the same identity at the other time. No other
            # part can be one of these.
            recognised = [
                member
                for member in parts_of_source
                if self.of_part(member) in groups_of_other_time
            ]
            counts[source] = count_of_kind[kind] - len(recognised)
        return counts

    def update(
        self,
        parts: Iterable[part.Part],
        moved: Iterable[part_pair.Pair],
        changed: Iterable[part_pair.Pair],
    ) -> Iterator[part.Part]:
        """Yield stored parts with the changes that another source announced.

        For example, Redfish reports that a DIMM has moved from A1 to B1 while
        the ramdisk is silent. Then the DIMM that the ramdisk has reported in
        A1 is stored in B1. Otherwise the ramdisk would announce the same move
        again when it reports the next time.

        :param parts: the last reported parts of their sources.
        :param moved: parts of another source, before and after their slot
            changed.
        :param changed: the same for changed attributes.
        """
        new_slots = self._find_new_slots(moved)
        new_values = self._find_new_values(changed)
        for member in parts:
            group = self.of_part(member)
            place = (member.kind, group, member.slot)
            attributes = {}
            for name, value in member.attributes.items():
                attributes[name] = new_values.get((group, name, value), value)
            yield member._replace(
                slot=new_slots.get(place, member.slot), attributes=attributes
            )

    def _find_new_slots(
        self, moved: Iterable[part_pair.Pair]
    ) -> dict[_Place, str | None]:
        """Return the new slots of parts, by their previous places.

        A place is kind, group and slot. For a DIMM that has moved from A1 to
        B1, the result has, for example, ``{('dimm', None, 'A1'): 'B1'}``.

        :param moved: parts before and after the move.
        """
        slots: dict[_Place, str | None] = {}
        for old, new in moved:
            # Add a place without a group too, because another source may
            # report the part without an identity.
            slots[old.kind, None, old.slot] = new.slot
            slots[old.kind, self.of_part(old), old.slot] = new.slot
        return slots

    def _find_new_values(
        self, changed: Iterable[part_pair.Pair]
    ) -> dict[_AttributeValue, typing.Any]:
        """Return the new values of attributes by group, name and old value.

        For example, ``{(('dimm', 's3z8'), 'size', 16): 32}``. Parts without an
        identity are skipped, because it is unknown which parts of another
        source they are.
        """
        values: dict[_AttributeValue, typing.Any] = {}
        for old, new in changed:
            if not old.ids:
                continue
            group = self.of_part(old)
            for name in old.attributes.keys() & new.attributes.keys():
                old_value = old.attributes[name]
                values[group, name, old_value] = new.attributes[name]
        return values


def _match_unidentified(
    parts: Sequence[part.Part], reported: Sequence[_Reported]
) -> Sequence[part.Part]:
    """Match parts without identity to reported parts; return unmatched parts.

    A part matches the reported part in its slot, or otherwise any reported
    part. For example, one part is returned for five DIMMs and four reported
    ones. The source of a part that matches is added to the sources of the
    reported part.

    :param parts: parts of one source.
    :param reported: parts of the same kind that this source has not reported.
    """
    in_slot: dict[str | None, list[_Reported]] = {}
    for reported_part in reported:
        in_slot.setdefault(reported_part.part.slot, []).append(reported_part)
    elsewhere = []
    for member in parts:
        if member.slot and in_slot.get(member.slot):
            reported_part = in_slot[member.slot].pop()
            reported_part.sources.add(member.source)
        else:
            elsewhere.append(member)
    # Match the other parts to any reported parts that are left.
    unmatched: list[_Reported] = []
    for left_in_slot in in_slot.values():
        unmatched += left_in_slot
    for reported_part, member in zip(unmatched, elsewhere, strict=False):
        reported_part.sources.add(member.source)
    return elsewhere[len(unmatched) :]
