# SPDX-License-Identifier: Apache-2.0

"""Groups of reported parts, because several sources report the same part.

A source is a list of parts of one kind by one reporter, e.g. ``agent disk
inventory.disks``. If the ramdisk and Redfish both report a disk with the
serial number S3Z8, the two reported parts have the identity ``('disk',
's3z8')`` in common, so they are one group: a single part of the machine.

A part without an identity is in no group. Only the number of these parts and
their slots can show whether another source reports them too.
"""

import collections
from collections.abc import Iterable, Iterator, Sequence
import itertools
import typing

from ironic_inspection_rules.machine import part
from ironic_inspection_rules.machine import part_pair

Group = part.Identity
"""A group of parts, represented by one of its identities."""

_Place = tuple[str, Group | None, str | None]
"""The place of a part: its kind, its group or None, and its slot.

For example, ``('dimm', ('dimm', 's3z8'), 'A1')``.
"""

_AttributeValue = tuple[Group | None, str, typing.Any]
"""A value of an attribute: the group of the part, the name and the value.

For example, ``(('dimm', 's3z8'), 'size', 16)``.
"""


class _ReportedPart(typing.NamedTuple):
    """A part, and the sources that report it.

    Sources are added to ``sources`` as they are found.
    """

    part: part.Part
    sources: set[str]


def parts_by_source(parts: Iterable[part.Part]) -> dict[str, list[part.Part]]:
    """Return the parts by source: ``{'agent disk …': [Part(…), …]}``."""
    parts_of_source: dict[str, list[part.Part]] = {}
    for member in parts:
        parts_of_source.setdefault(member.source, []).append(member)
    return parts_of_source


def _count_by_kind(parts: Iterable[part.Part]) -> collections.Counter[str]:
    """Return how many parts of each kind a machine has: ``{'disk': 5}``.

    Several sources report the same parts, so the largest number counts: if one
    source reports four disks and another source reports five, the machine has
    five.
    """
    count_of_kind: collections.Counter[str] = collections.Counter()
    for parts_of_source in parts_by_source(parts).values():
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
    """The sources that have reported a part in a slot, by the slot.

    A source claims a slot when it reports a part there. If two sources claim
    the same slot, they are assumed to report the same part, even if one of
    them reports no identity. An unknown slot, None, is claimed like any other.
    """

    def __init__(self) -> None:
        self._sources: dict[_Slot, set[str]] = {}

    def claim(self, pair: part_pair.Pair) -> None:
        """Record that the source of a pair has a part in both slots.

        These are the previous and the current slot of the part.
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
        other_sources = sources - {new.source}
        return bool(other_sources)


class PartGroups:
    """Groups of parts, where parts with a common identity are in one group.

    A group is one part of the machine, whichever source reports it at
    whichever time. For example, Redfish reports a disk with the serial number
    a and the WWN b, and the ramdisk reports only b. Both are in the group of a
    and b.

    The groups are sets of identities that are joined step by step, as in the
    algorithm "union–find". Each identity has a parent in its group. The root,
    which is its own parent, represents the group.

    :param parts: parts of several sources and times.
    """

    def __init__(self, parts: Iterable[part.Part]) -> None:
        """Join all identities of each part, and so parts that share one."""
        self._parents: dict[part.Identity, part.Identity] = {}
        for member in parts:
            identities = member.identities
            for identity in identities:
                # At first, each identity is a group of its own.
                self._parents.setdefault(identity, identity)
            for other in identities[1:]:
                self._join(other, identities[0])

    def _join(self, identity: part.Identity, to: part.Identity) -> None:
        """Join the group of an identity to the group of another one."""
        root = self._find_root(identity)
        self._parents[root] = self._find_root(to)

    def _find_root(self, identity: part.Identity) -> part.Identity:
        """Return the identity that represents the group of an identity.

        Follow the parents until an identity is its own parent.
        """
        while self._parents[identity] != identity:
            # Make the grandparent the parent, so that the next search is
            # shorter.
            parent = self._parents[identity]
            self._parents[identity] = self._parents[parent]
            identity = self._parents[identity]
        return identity

    def find_group(self, member: part.Part) -> Group | None:
        """Return the group of a part, or None if it has no identity."""
        if not member.ids:
            return None
        return self._find_root(member.identities[0])

    def find_groups(self, parts: Iterable[part.Part]) -> set[Group | None]:
        """Return the groups of the parts that have an identity.

        None is never in the set. The type includes None only so that results
        of :meth:`find_group` can be looked up in the set.
        """
        return {self.find_group(member) for member in parts if member.ids}

    def distinct(self, parts: Iterable[part.Part]) -> list[part.Part]:
        """Return each part once, even if several sources report it.

        A part without an identity is assumed to be a part of another source,
        preferably the part in the same slot. If one source reports four disks
        with identities and another reports five disks without, there are five.
        """
        parts = list(parts)
        distinct = self._distinct_by_identity(parts)
        # Add the parts without an identity, for one source after the other,
        # unless they match parts that were added before.
        unidentified = [member for member in parts if not member.ids]
        for source, parts_of_source in parts_by_source(unidentified).items():
            # All parts of a source are of one kind.
            kind = parts_of_source[0].kind
            # They cannot match parts that the same source reports with an
            # identity, because a source reports each part once.
            candidates = []
            for reported in distinct:
                is_same_kind = reported.part.kind == kind
                if is_same_kind and source not in reported.sources:
                    candidates.append(reported)
            for member in _match_unidentified(parts_of_source, candidates):
                distinct.append(_ReportedPart(member, {source}))
        return [reported.part for reported in distinct]

    def _distinct_by_identity(
        self, parts: Iterable[part.Part]
    ) -> list[_ReportedPart]:
        """Return the first part of each group, with all sources of the group.

        For example, a disk that the ramdisk and Redfish report is returned
        once, with both sources. Parts without an identity are skipped.
        """
        reported_by_group: dict[Group | None, _ReportedPart] = {}
        for member in parts:
            if not member.ids:
                continue
            reported = reported_by_group.setdefault(
                self.find_group(member), _ReportedPart(member, sources=set())
            )
            reported.sources.add(member.source)
        return list(reported_by_group.values())

    def distinct_pairs(
        self, pairs: Iterable[part_pair.Pair]
    ) -> list[part_pair.Pair]:
        """Return one pair for each part, even if several sources report it.

        This way, a part that moved or changed is announced once. A part
        without an identity is skipped if another source has a pair with its
        previous or current slot, because both are assumed to be the same.

        :param pairs: pairs of a part as it was before and as it is now.
        """
        pair_by_group: dict[Group | None, part_pair.Pair] = {}
        slot_claims = _SlotClaims()
        unidentified = []
        for pair in pairs:
            old, _new = pair
            if not old.ids:
                unidentified.append(pair)
                continue
            # Of several pairs of one part, keep the first.
            pair_by_group.setdefault(self.find_group(old), pair)
            slot_claims.claim(pair)
        distinct = list(pair_by_group.values())
        # All parts with an identity have claimed their slots by now.
        for pair in unidentified:
            if not slot_claims.is_taken_by_another_source(pair):
                distinct.append(pair)
            # Claim the slots of skipped pairs too, because a third source may
            # have a part in the other slot.
            slot_claims.claim(pair)
        return distinct

    def without_counterpart(
        self,
        candidates: Iterable[part.Part],
        parts: Sequence[part.Part],
        parts_of_other_time: Sequence[part.Part],
    ) -> Iterator[part.Part]:
        """Yield the candidates that cannot be parts of another time.

        A part that may have been there at both times, but was reported without
        an identity, must not be announced.

        A candidate with an identity is always yielded, because no part of the
        other time has this identity. A candidate without an identity may be
        any part of its kind. For example, of five disks without identities,
        only the last is yielded if the other time has four disks.

        :param candidates: some of ``parts``, whose identities no part of the
            other time has.
        :param parts: all known parts of one time.
        :param parts_of_other_time: all known parts of the other time.
        """
        # For each source, the number of its candidates without identity that
        # may still be parts of the other time.
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
        """Count, by source, the parts that may be parts of another time.

        Only parts without an identity count. For example, the machine has four
        disks at the other time. If a source reports one of them with the same
        identity, three are left that its disks without an identity may be::

            {'agent disk inventory.disks': 3}

        :param parts: all parts of one time.
        :returns: for each source of these parts, the number of parts of its
            kind at the other time, minus the parts that the source identifies
            as parts of that time. The number may be negative.
        """
        count_of_kind = _count_by_kind(parts_of_other_time)
        groups_of_other_time = self.find_groups(parts_of_other_time)
        counts: dict[str, int] = {}
        for source, parts_of_source in parts_by_source(parts).items():
            # All parts of a source are of one kind.
            kind = parts_of_source[0].kind
            # Parts that have the same identity at the other time. No other
            # part can be one of these.
            recognised = [
                member
                for member in parts_of_source
                if self.find_group(member) in groups_of_other_time
            ]
            counts[source] = count_of_kind[kind] - len(recognised)
        return counts

    def apply_changes(
        self,
        parts: Iterable[part.Part],
        moved: Iterable[part_pair.Pair],
        changed: Iterable[part_pair.Pair],
    ) -> Iterator[part.Part]:
        """Yield parts of silent sources, changed as other sources announced.

        For example, Redfish reports that a DIMM has moved from A1 to B1 while
        the ramdisk is silent. Then the DIMM that the ramdisk has reported in
        A1 is yielded with the slot B1. Otherwise the ramdisk would announce
        the same move again when it reports the next time.

        :param parts: the parts of silent sources, as they were reported last.
        :param moved: parts of other sources, before and after their slot
            changed.
        :param changed: parts of other sources, before and after their
            attributes changed.
        """
        new_slots = self._find_new_slots(moved)
        new_values = self._find_new_values(changed)
        for member in parts:
            group = self.find_group(member)
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
        """Return the new slots of moved parts, by their previous places.

        A place is kind, group and slot. For a DIMM that has moved from A1 to
        B1, the result is ``{('dimm', ('dimm', 's3z8'), 'A1'): 'B1', ('dimm',
        None, 'A1'): 'B1'}``.

        The previous slot is in the key, because another source may use another
        name for the slot. Then its part keeps that name.

        :param moved: parts before and after the move.
        """
        slots: dict[_Place, str | None] = {}
        for old, new in moved:
            # Add a place without a group too, because another source may
            # report the part without an identity.
            slots[old.kind, None, old.slot] = new.slot
            slots[old.kind, self.find_group(old), old.slot] = new.slot
        return slots

    def _find_new_values(
        self, changed: Iterable[part_pair.Pair]
    ) -> dict[_AttributeValue, typing.Any]:
        """Return the new values of attributes by group, name and old value.

        For example, ``{(('dimm', 's3z8'), 'size', 16): 32}``.

        The old value is in the key, because another source may write the value
        differently, e.g. ``16 GB``. Then its value must not be replaced.

        Parts without an identity are skipped, because it is unknown which
        parts of another source they are.

        :param changed: parts before and after the change.
        """
        values: dict[_AttributeValue, typing.Any] = {}
        for old, new in changed:
            if not old.ids:
                continue
            group = self.find_group(old)
            for name in old.attributes.keys() & new.attributes.keys():
                old_value = old.attributes[name]
                values[group, name, old_value] = new.attributes[name]
        return values


def _match_unidentified(
    parts: Sequence[part.Part], reported: Sequence[_ReportedPart]
) -> list[part.Part]:
    """Match parts without identity to reported parts; return unmatched parts.

    A part matches the reported part in its slot, or otherwise any reported
    part. For example, of five DIMMs without identity, one is returned if four
    DIMMs are reported. The source of a part that matches is added to the
    sources of the reported part.

    :param parts: parts of one source, all without identity.
    :param reported: parts of the same kind that this source has not reported.
    """
    # First match parts in the same slot.
    reported_by_slot: dict[str | None, list[_ReportedPart]] = {}
    for reported_part in reported:
        slot = reported_part.part.slot
        reported_by_slot.setdefault(slot, []).append(reported_part)
    in_no_common_slot = []
    for member in parts:
        if member.slot and reported_by_slot.get(member.slot):
            reported_part = reported_by_slot[member.slot].pop()
            reported_part.sources.add(member.source)
        else:
            in_no_common_slot.append(member)
    # Then match each other part to the next reported part that is left.
    left = itertools.chain.from_iterable(reported_by_slot.values())
    unmatched = []
    for member in in_no_common_slot:
        next_reported = next(left, None)
        if next_reported is None:
            unmatched.append(member)
        else:
            next_reported.sources.add(member.source)
    return unmatched
