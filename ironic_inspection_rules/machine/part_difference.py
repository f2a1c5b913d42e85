# SPDX-License-Identifier: Apache-2.0

"""Differences between the parts of a machine at two times.

What each source reported last is remembered. A source is compared with
itself. Identities connect the parts of two sources, so that a change that one
of them announces is not announced by the other, nor is a part gone that the
other still reports.
"""

from collections.abc import Collection, Iterable, Iterator
import dataclasses
import typing

from ironic_inspection_rules.machine import part
from ironic_inspection_rules.machine import part_group
from ironic_inspection_rules.machine import part_pair
from ironic_inspection_rules.machine import part_source

GONE = 'gone'
NEW = 'new'
MOVED = 'moved'
CHANGED = 'changed'
UNREPORTED = 'unreported'


@dataclasses.dataclass(frozen=True)
class PartChange:
    """The change of one part.

    :param what: :data:`GONE`, :data:`NEW`, :data:`MOVED` to another slot,
        :data:`CHANGED`, or :data:`UNREPORTED` where the sources of one side
        do not report such parts, or not their identities, so that nothing is
        known of it.
    """

    what: str
    before: part.Part | None
    after: part.Part | None

    def as_dict(self) -> dict[str, typing.Any]:
        """Return the change as the API shows it.

        For example, ``{'kind': 'dimm', 'what': 'gone', 'id': 'S3Z8', 'slot':
        'A1', 'before': {…}, 'after': None}``.
        """
        # At least one of both is a part.
        present = typing.cast(part.Part, self.after or self.before)
        before = _side_as_dict(self.before)
        after = _side_as_dict(self.after)
        # The identity that is reported now, or else the one that was known.
        identity = None
        if after is not None:
            identity = after['id']
        if identity is None and before is not None:
            identity = before['id']
        return {
            'kind': present.kind,
            'what': self.what,
            'id': identity,
            'slot': present.slot,
            'before': before,
            'after': after,
        }


def _side_as_dict(member: part.Part | None) -> dict[str, typing.Any] | None:
    """Return one side of a change, None if the part is not on that side.

    For example, ``{'id': 'S3Z8', 'slot': 'A1', 'size': 32}``. The ``id`` is
    None where no report identifies the part: it has no ids, or is the
    firmware, or all processors of ``inventory.cpu`` together.
    """
    if member is None:
        return None
    identity = None
    # This plugin gives ids to the firmware and to inventory.cpu: the same ids
    # for all machines.
    if member.ids and not part_source.GIVEN_IDS.intersection(member.ids):
        identity = member.label
    return {'id': identity, 'slot': member.slot, **member.attributes}


def between(before: part.Parts, after: part.Parts) -> list[PartChange]:
    """Compare the parts of a machine at two times.

    :param before: all known parts, see :meth:`PartComparison.known`.
    :param after: the parts of a later report.
    """
    if before == after:
        return []
    return PartComparison(before, after).changes


class PartComparison:
    """Compares the known parts of a machine with a new report.

    :ivar changes: what has happened to its parts.
    """

    def __init__(self, before: part.Parts, after: part.Parts) -> None:
        self._before = before
        self._after = after
        # An identity that two parts share now did not identify one before.
        self._old = [old.without(after.shared) for old in before.parts]
        # A group is one part, which several sources may report at both times.
        self._groups = part_group.PartGroups([*self._old, *after.parts])
        self._known_groups = self._groups.of_parts(self._old)
        self._reported_groups = self._groups.of_parts(after.parts)
        # By source: parts of both times in pairs, and parts of one time.
        self._pairings = self._find_pairings()
        sources_heard_before = [
            source for source in self._pairings if source in before.sources
        ]
        # A change is announced once, whichever sources report the part: hence
        # distinct(). In this order: _find_moves() needs _gone, and
        # _find_unreported_changes() needs _gone, _new and _moved.
        self._gone = self._groups.distinct(self._find_missing_parts())
        self._new = self._groups.distinct(
            self._find_additional_parts(sources_heard_before)
        )
        self._moved = self._groups.distinct_pairs(self._find_moves())
        changed = [pair for pair in self._list_pairs() if _has_changed(*pair)]
        self._changed = self._groups.distinct_pairs(changed)
        self.changes = list(self._find_changes())

    def _find_changes(self) -> Iterator[PartChange]:
        """Yield all changes, those that are certain first.

        A part of one time only is gone or new; of a pair, ``old`` is the part
        as it was known, and ``new`` as it is reported now.
        """
        for old in self._gone:
            yield PartChange(what=GONE, before=old, after=None)
        for new in self._new:
            yield PartChange(what=NEW, before=None, after=new)
        for old, new in self._moved:
            yield PartChange(what=MOVED, before=old, after=new)
        for old, new in self._changed:
            yield PartChange(what=CHANGED, before=old, after=new)
        yield from self._find_unreported_changes()

    def _find_pairings(self) -> dict[str, part_pair.Pairing]:
        """Pair the parts that a source reports with those of its last report.

        A source is a list of parts by one reporter, such as ``agent disk
        inventory.disks``. It is compared only with itself: Redfish describes
        the same disk in other words.

        :returns: the pairings by source.
        """
        before = part_group.by_source(self._old)
        after = part_group.by_source(self._after.parts)
        pairings = {}
        for source in self._after.sources:
            pairings[source] = part_pair.find(
                before.get(source, []), after.get(source, [])
            )
        return pairings

    def _list_pairs(self) -> Iterator[part_pair.Pair]:
        """Yield the parts that both sides have, source by source."""
        for pairing in self._pairings.values():
            yield from pairing.same

    def _find_moves(self) -> Iterator[part_pair.Pair]:
        """Yield the pairs of parts that have moved to another slot.

        For example, the DIMM with the serial number S3Z8 was in A1, and is in
        B1 now. A part has not moved if a source that identifies it says that
        it is in its old slot, or gone.
        """
        stayed = []
        for old, new in self._list_pairs():
            if old.ids and new.ids and not _has_moved(old, new):
                stayed.append(old)
        stayed_or_gone = self._groups.of_parts([*stayed, *self._gone])
        for old, new in self._list_pairs():
            if not _has_moved(old, new):
                continue
            # A new part without an identity was only taken for the old part.
            # A source that identifies the old part knows better where it is.
            if new.ids or self._groups.of_part(old) not in stayed_or_gone:
                yield old, new

    def _announced_by_others(self, source: str) -> part.Announced:
        """Return how many changes others announced while a source was silent.

        These are two numbers: how many of its parts were announced as gone,
        and how many as new.

        :param source: who reports parts and where, such as ``agent disk
            inventory.disks``. It is silent while Redfish reports the machine.
        """
        return self._before.announced.get(source, part.Announced())

    def _find_missing_parts(self) -> Iterator[part.Part]:
        """Yield the parts that a source of the report no longer reports.

        A source is a list of parts by one reporter, such as ``agent disk
        inventory.disks``. A part that another source still reports, such as
        Redfish, is not missing. Parts without an identity are only counted: of
        four such disks before and three now, one is missing.
        """
        for source, pairing in self._pairings.items():
            unidentified = []
            for old in pairing.before:
                if not old.ids:
                    unidentified.append(old)
                elif self._groups.of_part(old) not in self._reported_groups:
                    yield old
            # While this source was silent, other sources announced some of
            # its parts as gone, which must not be announced twice. Nobody
            # knows which of the parts without an identity these are: the
            # first ones are left out.
            announced = self._announced_by_others(source).gone
            yield from unidentified[announced:]

    def _find_additional_parts(
        self, sources: Iterable[str]
    ) -> Iterator[part.Part]:
        """Yield the parts of some sources that are new in the report.

        For example, a disk that was not there before. Parts that another
        source has announced before are left out.

        :param sources: of the report; a source is a list of parts by one
            reporter, such as ``agent disk inventory.disks``.
        """
        for source in sources:
            # While this source was silent, other sources announced so many of
            # its parts as new, which must not be announced twice.
            left_to_find = self._announced_by_others(source).new
            unidentified = []
            for new in self._pairings[source].after:
                if not new.ids:
                    unidentified.append(new)
                elif self._groups.of_part(new) in self._known_groups:
                    # Another source has announced it.
                    left_to_find -= 1
                else:
                    yield new
            # The rest of the announced parts have no identity here. Nobody
            # knows which parts these are: the first ones are left out.
            yield from unidentified[max(0, left_to_find) :]

    def _find_unreported_changes(self) -> Iterator[PartChange]:
        """Yield changes to parts that may be gone or new, or only unreported.

        Their source was silent at the other time: a disk that only Redfish has
        reported may still be there when only the ramdisk reports. Or their
        source identifies the part at only one of the times. Parts that are
        gone, new or moved for certain are left out.
        """
        moved = [old for old, _new in self._moved]
        settled = self._groups.of_parts([*self._gone, *self._new, *moved])
        # This adds its parts to "settled", so that none is yielded once more
        # below.
        yield from self._find_unidentified_changes(settled)
        settled_or_reported = settled | self._reported_groups
        fallen_silent = self._groups.distinct(
            self._parts_outside(
                settled_or_reported, self._list_parts_fallen_silent()
            )
        )
        # A part without an identity may be one that was reported both times.
        for old in self._groups.without_counterpart(
            fallen_silent, self._old, self._after.parts
        ):
            yield PartChange(what=UNREPORTED, before=old, after=None)
        # A part of a source that reports for the first time may have been
        # there before.
        sources_heard_first = [
            source
            for source in self._pairings
            if source not in self._before.sources
        ]
        first_reported = self._groups.distinct(
            self._parts_outside(
                settled, self._find_additional_parts(sources_heard_first)
            )
        )
        for new in self._groups.without_counterpart(
            first_reported, self._after.parts, self._old
        ):
            yield PartChange(what=UNREPORTED, before=None, after=new)

    def _parts_outside(
        self,
        groups: Collection[part_group.Group | None],
        parts: Iterable[part.Part],
    ) -> list[part.Part]:
        """Return the parts that are in none of the groups.

        A group is one part of the machine, which several sources may report.
        Parts without an identity are in no group.
        """
        return [
            member
            for member in parts
            if self._groups.of_part(member) not in groups
        ]

    def _list_parts_fallen_silent(self) -> Iterator[part.Part]:
        """Yield the parts of sources that were heard last time, and not now.

        Of a source that was silent last time already, the parts were reported
        as unreported then.
        """
        for old in self._old:
            # In place of None, a silent source has the time of its last
            # report.
            was_heard = self._before.sources.get(old.source) is None
            if was_heard and old.source not in self._after.sources:
                yield old

    def _find_unidentified_changes(
        self, settled: set[part_group.Group | None]
    ) -> Iterator[PartChange]:
        """Yield changes of pairs that have an identity at one time only.

        For example, a disk had the serial number S3Z8, and a disk in the same
        slot has none now. Nobody knows whether both are the same part.

        :param settled: groups of parts with another change; the groups of
            the pairs are added.
        """
        for old, new in self._list_pairs():
            if old.ids and new.ids:
                continue
            # The old part may have identities of earlier reports. Here only
            # the last report of its source counts.
            if old.is_identified == bool(new.ids):
                # Both reports identify the part, or none does.
                continue
            identified = old
            groups_of_other_side = self._reported_groups
            if new.ids:
                identified = new
                groups_of_other_side = self._known_groups
            group = self._groups.of_part(identified)
            # Another source may identify the part on the other side.
            if group not in groups_of_other_side and group not in settled:
                settled.add(group)
                yield PartChange(what=UNREPORTED, before=old, after=new)

    def known(self, previous_time: str = '') -> part.Parts:
        """Return all known parts after the report, for the next comparison.

        These are the parts of the report, and the parts that sources reported
        last which are silent now. The next report is compared with them.

        :param previous_time: of the inspection before this report, as text.
        """
        parts = [*self._list_reported_parts(), *self._list_silent_parts()]
        since_by_source = {}
        for source, since in self._before.sources.items():
            if source not in self._after.sources:
                # None stands for a source that reported in the inspection
                # before.
                since_by_source[source] = since or previous_time
        announced = {}
        for source in since_by_source:
            counts = self._count_announced(source)
            if any(counts):
                announced[source] = counts
        sources = {**since_by_source, **self._after.sources}
        return part.Parts(part.in_order(parts), sources, announced)

    def _list_reported_parts(self) -> Iterator[part.Part]:
        """Yield the parts of the report, completed by earlier reports.

        A part gets back identities, slot and attributes that this report does
        not have: a DIMM that was known as S3Z8 keeps that serial number,
        though the report has only its slot and size.
        """
        gone = self._groups.of_parts(self._gone)
        identities_of_gone = set()
        for old in self._old:
            if self._groups.of_part(old) in gone:
                identities_of_gone.update(old.identities)
        for pairing in self._pairings.values():
            # A part keeps the identities of earlier reports, unless another
            # part has them now, or they are those of a part that is gone.
            taken = set(identities_of_gone)
            for _old, new in pairing.same:
                taken.update(new.identities)
            for new in pairing.after:
                taken.update(new.identities)
            for old, new in pairing.same:
                yield _renew_part(old, new, taken)
            # These parts are new: no earlier report completes them.
            yield from pairing.after

    def _list_silent_parts(self) -> Iterator[part.Part]:
        """Return the parts of sources that the report does not have.

        They stay, unless another source has shown that they are gone. They get
        the slots and attributes that another source reports now: otherwise,
        their own source would announce the same move or change once more.
        """
        gone = self._groups.of_parts(self._gone)
        staying = []
        for old in self._old:
            if old.source in self._after.sources:
                continue
            if self._groups.of_part(old) not in gone:
                staying.append(old)
        return self._groups.update(staying, self._moved, self._changed)

    def _count_announced(self, source: str) -> part.Announced:
        """Count the parts that a silent source must not call gone or new.

        Other sources have announced them since the source was last heard. When
        the source is heard again, it would announce the same parts once more.
        Moves and other changes are not counted: :meth:`_list_silent_parts`
        makes them in the stored parts.

        :param source: a source that the report does not have.
        """
        before = self._announced_by_others(source)
        kind = part.kind_of(source)
        own = [old for old in self._old if old.source == source]
        unidentified = [old for old in own if not old.ids]
        gone_of_kind = [old for old in self._gone if old.kind == kind]
        # Parts that the source identifies are not counted: if they are gone,
        # _list_silent_parts() takes them out of its stored parts, and it
        # cannot miss them.
        gone = self._parts_outside(self._groups.of_parts(own), gone_of_kind)
        new_of_kind = [new for new in self._new if new.kind == kind]
        # No more can be gone than it has without an identity, and no more can
        # be new than a source may report.
        count_gone = min(before.gone + len(gone), len(unidentified))
        count_new = min(before.new + len(new_of_kind), part.MOST)
        return part.Announced(count_gone, count_new)


def _has_moved(old: part.Part, new: part.Part) -> bool:
    """Return whether a part is in another slot, as far as slots are known.

    If only one of both reports has its identity, it may be another part.
    """
    # A part that is "unidentified" has its ids from reports before the last.
    if bool(old.ids) != bool(new.ids or old.unidentified):
        return False
    return bool(old.slot and new.slot and old.slot != new.slot)


def _has_changed(old: part.Part, new: part.Part) -> bool:
    """Return whether an attribute of both reports differs.

    An attribute that only one of the reports has does not count.
    """
    for name in old.attributes.keys() & new.attributes.keys():
        if old.attributes[name] != new.attributes[name]:
            return True
    return False


def _renew_part(
    old: part.Part, new: part.Part, taken: Collection[part.Identity]
) -> part.Part:
    """Return a part as it is reported now, completed by what was known.

    For example, a DIMM was known as S3Z8 in the slot A1. A report that has
    only its size gives a DIMM of this size, S3Z8, in A1.

    :param taken: the identities that parts have in the new report, this part
        as well, and those of parts that are gone: the part does not keep them
        from earlier reports.
    """
    known_ids = [
        name for kind, name in old.identities if (kind, name) not in taken
    ]
    ids = (*new.ids, *known_ids)
    # The label is an identity as it was reported, such as ``S3Z8`` for s3z8.
    identified = old
    if new.ids:
        identified = new
    return new._replace(
        ids=ids,
        label=identified.label_of(ids),
        slot=new.slot or old.slot,
        attributes={**old.attributes, **new.attributes},
        # Its identities are all from earlier reports.
        unidentified=bool(ids) and not new.ids,
    )
