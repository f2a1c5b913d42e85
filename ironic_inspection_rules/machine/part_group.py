# SPDX-License-Identifier: Apache-2.0

"""Groups of reported parts: several sources report the same part.

Parts of a group are known by their identities. Of parts that are reported
without one, only their number and their slots say whether another source
reports them.
"""

import collections
from collections.abc import Iterable, Iterator, Sequence
import typing

from ironic_inspection_rules.machine import part
from ironic_inspection_rules.machine import part_pair

Group = part.Identity
"""A group of parts, which is known by one of its identities."""

_Place = tuple[str, Group | None, str | None]
"""Where a part is: its kind, its group if it has one, and its slot."""

_AttributeValue = tuple[Group | None, str, typing.Any]
"""A value of an attribute: the group of the part, the name, and the value."""


class _Reported(typing.NamedTuple):
    """A part, and the sources that report it."""

    part: part.Part
    sources: set[str]


def by_source(parts: Iterable[part.Part]) -> dict[str, list[part.Part]]:
    """Return the parts by their source, such as ``agent disk …``."""
    parts_of_source: dict[str, list[part.Part]] = {}
    for member in parts:
        parts_of_source.setdefault(member.source, []).append(member)
    return parts_of_source


def _count_by_kind(parts: Iterable[part.Part]) -> collections.Counter[str]:
    """Return how many parts of each kind a machine has.

    If one source reports four disks, and another source five, the machine has
    five: they report the same disks.
    """
    count_of_kind: collections.Counter[str] = collections.Counter()
    for parts_of_source in by_source(parts).values():
        # A source has one kind of parts.
        kind = parts_of_source[0].kind
        count = len(parts_of_source)
        count_of_kind[kind] = max(count_of_kind[kind], count)
    return count_of_kind


_Slot = tuple[str, str, str | None]
"""The kind of a part, "from" before or "to" now, and the name of the slot."""


def _slots_of_pair(pair: part_pair.Pair) -> list[_Slot]:
    """Return the slot of a part before, and its slot now.

    For example, ``[('dimm', 'from', 'A1'), ('dimm', 'to', 'B1')]``.
    """
    old, new = pair
    return [(old.kind, 'from', old.slot), (old.kind, 'to', new.slot)]


class _SlotClaims:
    """The sources that have reported a part in a slot, by the slot."""

    def __init__(self) -> None:
        self._sources: dict[_Slot, set[str]] = {}

    def claim(self, pair: part_pair.Pair) -> None:
        """Note that a source has reported a part in the slots of a pair.

        The slots are the one before and the one now; see
        :func:`_slots_of_pair`.
        """
        _old, new = pair
        for slot in _slots_of_pair(pair):
            self._sources.setdefault(slot, set()).add(new.source)

    def is_taken_by_another_source(self, pair: part_pair.Pair) -> bool:
        """Return whether another source has claimed a slot of a pair.

        Then both sources are taken to report the same part.
        """
        _old, new = pair
        sources = set()
        for slot in _slots_of_pair(pair):
            sources |= self._sources.get(slot, set())
        return bool(sources - {new.source})


class PartGroups:
    """Parts in groups: parts with an identity in common are in one group.

    A part with the identities a and b joins the groups of a and of b. So a
    group is one part of the machine, whichever sources and times report it.

    :param parts: parts of several sources and times.
    """

    def __init__(self, parts: Iterable[part.Part]) -> None:
        """Join all identities of a part, and so parts that share one."""
        # A forest of identities; the root of a tree stands for its group.
        self._parents: dict[part.Identity, part.Identity] = {}
        for member in parts:
            for identity in member.identities:
                self._parents.setdefault(identity, identity)
                # All identities of a part come into the tree of its first.
                root = self._find_root(identity)
                self._parents[root] = self._find_root(member.identities[0])

    def _find_root(self, identity: part.Identity) -> part.Identity:
        """Return the identity that stands for the group of an identity.

        It is the root of the tree that the identity is in.
        """
        while self._parents[identity] != identity:
            # Shorten the way for the next search: the parent of the parent
            # becomes the parent.
            parent = self._parents[identity]
            self._parents[identity] = self._parents[parent]
            identity = self._parents[identity]
        return identity

    def of_part(self, member: part.Part) -> Group | None:
        """Return the group of a part, None if it has no identity."""
        if not member.ids:
            return None
        return self._find_root(member.identities[0])

    def of_parts(self, parts: Iterable[part.Part]) -> set[Group | None]:
        """Return the groups of the parts that have an identity.

        None is never in the set. Its type only allows to look up a result of
        :meth:`of_part` in it, which is None for a part without an identity.
        """
        return {self.of_part(member) for member in parts if member.ids}

    def distinct(self, parts: Iterable[part.Part]) -> list[part.Part]:
        """Return every part once, however many sources report it.

        A part without an identity is taken for a part of another source, if
        possible for the part in the same slot. Four disks with identities of
        one source and five disks without of another source are five disks.
        """
        parts = list(parts)
        distinct = self._distinct_by_identity(parts)
        unidentified = [member for member in parts if not member.ids]
        for source, parts_of_source in by_source(unidentified).items():
            # A source has one kind of parts.
            kind = parts_of_source[0].kind
            # Parts that this source reports with an identity are other parts.
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

        Parts without an identity are left out.
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
        """Return one pair for every part, whichever sources report it.

        So a part that moved or changed is announced once. A part without an
        identity is left out if another source has a part in its slot, before
        or now: they are taken for the same part.

        :param pairs: parts as they were before and as they are now.
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
        # All parts with an identity have claimed their slots by now.
        for pair in unidentified:
            if not slots.is_taken_by_another_source(pair):
                distinct.append(pair)
            # Also for a pair that is left out: a third source may have a part
            # in its other slot.
            slots.claim(pair)
        return distinct

    def without_counterpart(
        self,
        candidates: Iterable[part.Part],
        parts: Sequence[part.Part],
        parts_of_other_time: Sequence[part.Part],
    ) -> Iterator[part.Part]:
        """Yield the parts of one time that cannot be parts of another time.

        Every candidate with an identity is yielded. A part without an identity
        may be any part of its kind: of five such disks, only the last is
        yielded if the other time has four disks.

        :param candidates: some of ``parts``, whose identities no part of the
            other time has.
        :param parts: all known parts of the one time.
        :param parts_of_other_time: all known parts of the other time.
        """
        # How many parts of the other time may still be one of a source.
        possible_counts = self._count_possible(parts, parts_of_other_time)
        for candidate in candidates:
            if candidate.ids:
                yield candidate
            elif possible_counts[candidate.source] > 0:
                # It may be one of the parts of the other time.
                possible_counts[candidate.source] -= 1
            else:
                yield candidate

    def _count_possible(
        self,
        parts: Sequence[part.Part],
        parts_of_other_time: Sequence[part.Part],
    ) -> dict[str, int]:
        """Count the parts of another time that unidentified parts may be.

        :param parts: parts of the one time, with an identity or without.
        :returns: for every source of these parts, how many parts of its kind
            the other time has, without the parts that the source identifies.
            The number may be negative.
        """
        count_of_kind = _count_by_kind(parts_of_other_time)
        groups_of_other_time = self.of_parts(parts_of_other_time)
        counts: dict[str, int] = {}
        for source, parts_of_source in by_source(parts).items():
            # A source has one kind of parts.
            kind = parts_of_source[0].kind
            # Parts that have the same identity at the other time: no other
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

        For example, Redfish says that a DIMM has moved from A1 to B1, while
        the ramdisk is silent: the DIMM that the ramdisk has reported in A1 is
        stored in B1. Otherwise the ramdisk would announce the same move once
        more when it reports the next time.

        :param parts: what their sources reported the last time.
        :param moved: parts of another source before and after their slot
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
        """Return the new slots of parts, by their places before.

        A place is kind, group and slot, for example ``{('dimm', None, 'A1'):
        'B1'}`` of a DIMM that has moved from A1 to B1.

        :param moved: parts before and after the move.
        """
        slots: dict[_Place, str | None] = {}
        for old, new in moved:
            # Another source may report the part without an identity: by its
            # kind and slot alone.
            slots[old.kind, None, old.slot] = new.slot
            slots[old.kind, self.of_part(old), old.slot] = new.slot
        return slots

    def _find_new_values(
        self, changed: Iterable[part_pair.Pair]
    ) -> dict[_AttributeValue, typing.Any]:
        """Return the new values of attributes by group, name and old value.

        For example, ``{(('dimm', 's3z8'), 'size', 16): 32}``. Parts without an
        identity are left out: nobody knows which parts of another source they
        are.
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
    """Match parts without identity with reported parts; return the rest.

    A part matches the reported part in its slot, else any: of five DIMMs and
    four reported ones, one is returned. The source of a part that matches is
    added to the sources of the reported part.

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
    # Parts in unknown or other slots match any reported part that is left.
    unmatched: list[_Reported] = []
    for left_in_slot in in_slot.values():
        unmatched += left_in_slot
    for reported_part, member in zip(unmatched, elsewhere, strict=False):
        reported_part.sources.add(member.source)
    return elsewhere[len(unmatched) :]
