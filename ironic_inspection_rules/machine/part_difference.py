# SPDX-License-Identifier: Apache-2.0

"""Differences between the parts of a machine at two times.

The API shows them for two inventories, and the history of a node records
whether an inspection has changed parts.

A source is a list of parts by one reporter, e.g. ``agent disk
inventory.disks`` by the ramdisk. The last report of each source is remembered.
A source is compared only with its own last report, because another reporter
such as Redfish describes the same disk in other words. A source is silent if
it is not in the report, e.g. because Redfish did the inspection.

An identity, e.g. ``('disk', 's3z8')``, connects the parts that several sources
report: they are a group. A source *announces* a change if its report is the
first that shows the change. No other source announces it again, and a part is
not announced as gone while another source still reports it.

In a pair ``(old, new)``, ``old`` is a part as its source reported it last, and
``new`` is the same part in the new report. A pair may have an identity on one
side only, if the two were paired by their slot or their attributes.
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
        :data:`CHANGED`, or :data:`UNREPORTED`. A part is unreported if the
        sources on one side do not report such parts, or do not identify them,
        so that it is unknown what happened to the part.
    :param before: the part before the change; None for a new part.
    :param after: the part after the change; None for a part that is gone.
    """

    what: str
    before: part.Part | None
    after: part.Part | None

    def as_dict(self) -> dict[str, typing.Any]:
        """Return the change as the API shows it.

        For example, ``{'kind': 'dimm', 'what': 'gone', 'id': 'S3Z8', 'slot':
        'A1', 'before': {…}, 'after': None}``.
        """
        # At least one side has a part. If both have one, use the later.
        present = typing.cast(part.Part, self.after or self.before)
        before = _side_as_dict(self.before)
        after = _side_as_dict(self.after)
        # Prefer the identity that is reported now to the earlier one.
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
    """Return the part before or after a change, as the API shows it.

    For example, ``{'id': 'S3Z8', 'slot': 'A1', 'size': 32}``. The ``id`` is
    None if no report identifies the part.

    :param member: the part; None if there is none on this side of the change.
    :returns: None if there is no part.
    """
    if member is None:
        return None
    identity = None
    # The firmware and inventory.cpu have ids that this package assigns. These
    # are the same for all machines, so they are not shown.
    is_id_assigned = part_source.GIVEN_IDS.intersection(member.ids)
    if member.ids and not is_id_assigned:
        identity = member.label
    return {'id': identity, 'slot': member.slot, **member.attributes}


def between(before: part.Parts, after: part.Parts) -> list[PartChange]:
    """Return the changes of a machine's parts between two times.

    :param before: all known parts, see :meth:`PartComparison.known`.
    :param after: the parts of a later report.
    :returns: the changes, with possible changes after certain changes.
    """
    if before == after:
        return []
    return PartComparison(before, after).changes


class PartComparison:
    """Compares the known parts of a machine with a new report.

    :param before: the known parts: for each source, the parts of its last
        report.
    :param after: the parts of the new report. It has only some of the sources.
    :ivar changes: the changes of the machine's parts.
    """

    def __init__(self, before: part.Parts, after: part.Parts) -> None:
        self._before = before
        self._after = after
        # Drop identities that several parts share in the new report, because
        # they did not identify a single part before either.
        self._known_parts = [old.without(after.shared) for old in before.parts]
        # A group is one part, which several sources may report on both sides.
        self._groups = part_group.PartGroups(
            [*self._known_parts, *after.parts]
        )
        self._known_groups = self._groups.find_groups(self._known_parts)
        self._reported_groups = self._groups.find_groups(after.parts)
        # For each source: pairs of the same part, and parts of one side only.
        self._pairings = self._find_pairings()
        sources_heard_before = [
            source for source in self._pairings if source in before.sources
        ]
        # distinct() returns each part once, even if several sources report it,
        # so that its change is announced once. The order matters:
        # _find_moves() reads _gone_parts, and _find_changes() reads all four.
        self._gone_parts = self._groups.distinct(self._find_missing_parts())
        self._new_parts = self._groups.distinct(
            self._find_additional_parts(sources_heard_before)
        )
        self._moved_pairs = self._groups.distinct_pairs(self._find_moves())
        changed = [pair for pair in self._list_pairs() if _has_changed(*pair)]
        self._changed_pairs = self._groups.distinct_pairs(changed)
        self.changes = list(self._find_changes())

    def _find_changes(self) -> Iterator[PartChange]:
        """Yield all changes: first certain changes, then possible changes."""
        for old in self._gone_parts:
            yield PartChange(what=GONE, before=old, after=None)
        for new in self._new_parts:
            yield PartChange(what=NEW, before=None, after=new)
        for old, new in self._moved_pairs:
            yield PartChange(what=MOVED, before=old, after=new)
        for old, new in self._changed_pairs:
            yield PartChange(what=CHANGED, before=old, after=new)
        yield from self._find_unreported_changes()

    def _find_pairings(self) -> dict[str, part_pair.Pairing]:
        """Pair the parts of each source with the parts of its last report.

        :returns: for each source in the new report, the pairs, and the parts
            that only the last report or only the new report has:
            ``{'agent disk inventory.disks': Pairing(…)}``.
        """
        known_by_source = part_group.parts_by_source(self._known_parts)
        reported_by_source = part_group.parts_by_source(self._after.parts)
        pairings = {}
        for source in self._after.sources:
            pairings[source] = part_pair.find(
                known_by_source.get(source, []),
                reported_by_source.get(source, []),
            )
        return pairings

    def _list_pairs(self) -> Iterator[part_pair.Pair]:
        """Yield all pairs of a known part and the same part in the report."""
        for pairing in self._pairings.values():
            yield from pairing.pairs

    def _find_moves(self) -> Iterator[part_pair.Pair]:
        """Yield the pairs of parts that have moved to another slot.

        For example, the DIMM with the serial number S3Z8 was in A1, and is now
        in B1. If the new report of the source does not identify the part, it
        counts as moved only if no source that identifies it says that it is
        gone or has stayed.
        """
        stayed = []
        for old, new in self._list_pairs():
            if old.ids and new.ids and not _has_moved(old, new):
                stayed.append(old)
        stayed_or_gone = self._groups.find_groups([*stayed, *self._gone_parts])
        for old, new in self._list_pairs():
            if not _has_moved(old, new):
                continue
            if not new.ids and self._groups.find_group(old) in stayed_or_gone:
                # The two were paired by their attributes only, and another
                # source knows better.
                continue
            yield old, new

    def _announced_by_others(self, source: str) -> part.AlreadyAnnounced:
        """Return how many changes others announced while a source was silent.

        The result has two numbers: how many parts of the source were announced
        as gone, and how many as new. Both are 0 if it was not silent.

        :param source: the name of the source, e.g. ``agent disk
            inventory.disks``.
        """
        return self._before.announced.get(source, part.AlreadyAnnounced())

    def _find_missing_parts(self) -> Iterator[part.Part]:
        """Yield the known parts that their sources no longer report.

        - A part with an identity is missing if no source of the report has it.
        - Parts without an identity are only counted: if a source had four such
          disks and has three now, one is missing.
        """
        for source, pairing in self._pairings.items():
            unidentified = []
            for old in pairing.only_before:
                if not old.ids:
                    unidentified.append(old)
                elif self._groups.find_group(old) not in self._reported_groups:
                    yield old
            # While this source was silent, other sources announced some of its
            # parts as gone. These must not be announced again. It is unknown
            # which parts without an identity these are, so skip the first.
            count_announced = self._announced_by_others(source).gone
            yield from unidentified[count_announced:]

    def _find_additional_parts(
        self, sources: Iterable[str]
    ) -> Iterator[part.Part]:
        """Yield the parts of some sources that are new, e.g. a new disk.

        - A part with an identity is new if it was not known before.
        - Parts without an identity are only counted: if a source had three
          such disks and has four now, one is new.

        :param sources: names of sources that are in the report.
        """
        for source in sources:
            unidentified = []
            count_known = 0
            for new in self._pairings[source].only_after:
                if not new.ids:
                    unidentified.append(new)
                elif self._groups.find_group(new) in self._known_groups:
                    count_known += 1
                else:
                    yield new
            # While this source was silent, other sources announced some parts
            # as new. These must not be announced again. Known parts are among
            # them. It is unknown which parts without an identity the others
            # are, so skip the first.
            count_announced = self._announced_by_others(source).new
            count_to_skip = max(0, count_announced - count_known)
            yield from unidentified[count_to_skip:]

    def _find_unreported_changes(self) -> Iterator[PartChange]:
        """Yield changes of parts that may be gone or new, or just unreported.

        There are three reasons for doubt:

        1. A source identifies a part on one side only.
        2. A source reported last time, but is silent now. For example, a disk
           that only Redfish has reported may still be there when only the
           ramdisk reports.
        3. A source reports for the first time, so its parts may have been
           there before.

        Parts that are certainly gone, new or moved are skipped.
        """
        moved = [old for old, _new in self._moved_pairs]
        # The groups of the parts that have a change already.
        groups_done = self._groups.find_groups(
            [*self._gone_parts, *self._new_parts, *moved]
        )
        for old, new in self._list_half_identified_pairs(groups_done):
            groups_done |= self._groups.find_groups([old, new])
            yield PartChange(what=UNREPORTED, before=old, after=new)
        for old in self._find_possibly_gone_parts(groups_done):
            yield PartChange(what=UNREPORTED, before=old, after=None)
        for new in self._find_possibly_new_parts(groups_done):
            yield PartChange(what=UNREPORTED, before=None, after=new)

    def _find_possibly_gone_parts(
        self, groups_done: Collection[part_group.Group | None]
    ) -> Iterator[part.Part]:
        """Yield parts of sources that have fallen silent, which may be gone.

        :param groups_done: the groups of parts that have a change already.
        """
        fallen_silent = self._groups.distinct(
            self._parts_outside(
                {*groups_done, *self._reported_groups},
                self._list_parts_fallen_silent(),
            )
        )
        # A part without an identity may be a part that was reported each time.
        return self._groups.without_counterpart(
            fallen_silent, self._known_parts, self._after.parts
        )

    def _find_possibly_new_parts(
        self, groups_done: Collection[part_group.Group | None]
    ) -> Iterator[part.Part]:
        """Yield parts of sources that report for the first time.

        They are new, or were only not reported before.

        :param groups_done: the groups of parts that have a change already.
        """
        sources_heard_first = [
            source
            for source in self._pairings
            if source not in self._before.sources
        ]
        first_reported = self._groups.distinct(
            self._parts_outside(
                groups_done, self._find_additional_parts(sources_heard_first)
            )
        )
        return self._groups.without_counterpart(
            first_reported, self._after.parts, self._known_parts
        )

    def _parts_outside(
        self,
        groups: Collection[part_group.Group | None],
        parts: Iterable[part.Part],
    ) -> list[part.Part]:
        """Return the parts that are in none of the groups.

        Parts without an identity are in no group, so all of them are returned.
        """
        return [
            member
            for member in parts
            if self._groups.find_group(member) not in groups
        ]

    def _list_parts_fallen_silent(self) -> Iterator[part.Part]:
        """Yield the parts of sources that reported last time, but not now.

        If a source was silent last time already, its parts were announced as
        unreported then, and are skipped.
        """
        for old in self._known_parts:
            # The value is None if the source reported last time. For a silent
            # source, it is the time of the last report.
            reported_last_time = self._before.sources.get(old.source) is None
            if reported_last_time and old.source not in self._after.sources:
                yield old

    def _list_half_identified_pairs(
        self, skipped_groups: Collection[part_group.Group | None]
    ) -> list[part_pair.Pair]:
        """Return the pairs of parts that are identified on one side only.

        For example, a disk had the serial number S3Z8, and a disk in the same
        slot has none now. It is unknown whether both are the same part.

        A pair is skipped if another source identifies its part on the other
        side. Of several pairs of the same part, the first is returned.

        :param skipped_groups: groups of parts whose pairs are skipped, because
            they have another change.
        """
        pair_by_group: dict[part_group.Group | None, part_pair.Pair] = {}
        for old, new in self._list_pairs():
            if old.is_identified and not new.ids:
                group = self._groups.find_group(old)
                groups_of_other_side = self._reported_groups
            elif new.ids and not old.ids:
                group = self._groups.find_group(new)
                groups_of_other_side = self._known_groups
            else:
                continue
            if group in groups_of_other_side or group in skipped_groups:
                continue
            pair_by_group.setdefault(group, (old, new))
        return list(pair_by_group.values())

    def known(self, previous_time: str = '') -> part.Parts:
        """Return all known parts after the report, for the next comparison.

        These are the parts of the report, and the last reported parts of the
        sources that are silent now.

        :param previous_time: the time of the previous inspection, as text.
            It is the time of the last report of a source that falls silent.
        """
        parts = [*self._list_reported_parts(), *self._list_silent_parts()]
        # The silent sources, with the time of their last report.
        time_by_silent_source = {}
        for source, last_time in self._before.sources.items():
            if source not in self._after.sources:
                # None means that the source reported in the previous
                # inspection.
                time_by_silent_source[source] = last_time or previous_time
        # The changes that silent sources must not announce again.
        announced = {}
        for source in time_by_silent_source:
            counts = self._count_announced(source)
            if any(counts):
                announced[source] = counts
        sources = {**time_by_silent_source, **self._after.sources}
        return part.Parts(part.sort_parts(parts), sources, announced)

    def _list_reported_parts(self) -> Iterator[part.Part]:
        """Yield the parts of the report, completed by earlier reports.

        A part keeps identities, slot and attributes that this report does not
        have. For example, a DIMM that was known as S3Z8 keeps this serial
        number if the report has only its slot and size. It does not keep an
        identity that another part of the report has, or that belongs to a part
        that is gone.
        """
        gone = self._groups.find_groups(self._gone_parts)
        identities_of_gone = set()
        for old in self._known_parts:
            if self._groups.find_group(old) in gone:
                identities_of_gone.update(old.identities)
        for pairing in self._pairings.values():
            # The identities that no part keeps from earlier reports.
            taken = set(identities_of_gone)
            for _old, new in pairing.pairs:
                taken.update(new.identities)
            for new in pairing.only_after:
                taken.update(new.identities)
            for old, new in pairing.pairs:
                yield _renew_part(old, new, taken)
            # These parts are new, so no earlier report completes them.
            yield from pairing.only_after

    def _list_silent_parts(self) -> Iterator[part.Part]:
        """Return the known parts of the sources that are not in the report.

        Parts that other sources announced as gone are left out. Slots and
        attributes are changed as other sources announced. Otherwise, the
        silent source would announce the same changes again later.
        """
        gone = self._groups.find_groups(self._gone_parts)
        staying = []
        for old in self._known_parts:
            is_silent = old.source not in self._after.sources
            if is_silent and self._groups.find_group(old) not in gone:
                staying.append(old)
        return self._groups.apply_changes(
            staying, moved=self._moved_pairs, changed=self._changed_pairs
        )

    def _count_announced(self, source: str) -> part.AlreadyAnnounced:
        """Count the parts that a silent source must not announce again.

        These are parts that other sources have announced as gone or new since
        the last report of the source. Moves and other changes are not counted,
        because :meth:`_list_silent_parts` applies them to the known parts.

        :param source: the name of a source that is not in the report.
        :returns: the numbers of earlier inspections and of this one together.
        """
        earlier = self._announced_by_others(source)
        kind = part.kind_of(source)
        parts_of_source = [
            old for old in self._known_parts if old.source == source
        ]
        gone_of_kind = [old for old in self._gone_parts if old.kind == kind]
        # Do not count parts that the source identifies. If they are gone,
        # _list_silent_parts() leaves them out, so the source cannot miss them.
        gone = self._parts_outside(
            self._groups.find_groups(parts_of_source), gone_of_kind
        )
        # The source cannot miss more parts than it has without an identity.
        unidentified = [old for old in parts_of_source if not old.ids]
        count_gone = min(earlier.gone + len(gone), len(unidentified))
        new_of_kind = [new for new in self._new_parts if new.kind == kind]
        # It cannot report more new parts than are read.
        count_new = min(earlier.new + len(new_of_kind), part.MOST)
        return part.AlreadyAnnounced(count_gone, count_new)


def _has_moved(old: part.Part, new: part.Part) -> bool:
    """Return whether a part is in another slot than before.

    Return False if a slot is unknown. Return False also if only one of the
    reports identifies the part, because the two may be different parts.
    """
    if old.is_identified and not new.ids:
        return False
    if new.ids and not old.ids:
        return False
    if not old.slot or not new.slot:
        return False
    return old.slot != new.slot


def _has_changed(old: part.Part, new: part.Part) -> bool:
    """Return whether an attribute has different values in the two reports.

    An attribute that is in only one of the reports does not count.
    """
    for name in old.attributes.keys() & new.attributes.keys():
        if old.attributes[name] != new.attributes[name]:
            return True
    return False


def _renew_part(
    old: part.Part, new: part.Part, taken: Collection[part.Identity]
) -> part.Part:
    """Return a part as it is reported now, completed with earlier data.

    For example, if a DIMM was known as S3Z8 in the slot A1, and the report has
    only its size, the result is S3Z8 in A1 with the reported size.

    :param taken: identities that the part must not keep from earlier reports:
        those that its source reports now, including its own, and those of
        parts that are gone.
    """
    kept_ids = [
        name for kind, name in old.identities if (kind, name) not in taken
    ]
    ids = (*new.ids, *kept_ids)
    # The label is an identifier as it was reported, e.g. S3Z8 for s3z8. Take
    # it from the new part if this has any identifier.
    identified = old
    if new.ids:
        identified = new
    return new._replace(
        ids=ids,
        label=identified.label_of(ids),
        slot=new.slot or old.slot,
        attributes={**old.attributes, **new.attributes},
        # All of its identities come from earlier reports.
        unidentified=bool(ids) and not new.ids,
    )
