# SPDX-License-Identifier: Apache-2.0

"""Differences between the parts of a machine at two times.

The last report of each source is remembered, and a source is compared only
with itself. Identities connect the parts of different sources. This way, a
change that one source announces is not announced again by another source, and
a part is not announced as gone while another source still reports it.
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
    """

    what: str
    before: part.Part | None
    after: part.Part | None

    def as_dict(self) -> dict[str, typing.Any]:
        """Return the change as the API shows it.

        For example, ``{'kind': 'dimm', 'what': 'gone', 'id': 'S3Z8', 'slot':
        'A1', 'before': {…}, 'after': None}``.
        """
        # At least one of the two sides has a part.
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
    """Return one side of a change, or None if that side has no part.

    For example, ``{'id': 'S3Z8', 'slot': 'A1', 'size': 32}``. The ``id`` is
    None if no report identifies the part: if the part has no ids, or if it is
    the firmware, or all processors of ``inventory.cpu`` together.
    """
    if member is None:
        return None
    identity = None
    # The ids of the firmware and of inventory.cpu do not come from a report.
    # This package assigns them, and they are the same for all machines.
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

    :ivar changes: the changes of its parts.
    """

    def __init__(self, before: part.Parts, after: part.Parts) -> None:
        self._before = before
        self._after = after
        # Drop identities that two parts share in the new report: such an
        # identity did not identify one part before either.
        self._old = [old.without(after.shared) for old in before.parts]
        # A group is one part, which several sources may report on both sides.
        self._groups = part_group.PartGroups([*self._old, *after.parts])
        self._known_groups = self._groups.of_parts(self._old)
        self._reported_groups = self._groups.of_parts(after.parts)
        # For each source: pairs of the same part, and parts of one side only.
        self._pairings = self._find_pairings()
        sources_heard_before = [
            source for source in self._pairings if source in before.sources
        ]
        # Call distinct(), so that a change is announced once even if several
        # sources report the part. The order matters: _find_moves() needs
        # _gone, and _find_unreported_changes() needs _gone, _new and _moved.
        self._gone = self._groups.distinct(self._find_missing_parts())
        self._new = self._groups.distinct(
            self._find_additional_parts(sources_heard_before)
        )
        self._moved = self._groups.distinct_pairs(self._find_moves())
        changed = [pair for pair in self._list_pairs() if _has_changed(*pair)]
        self._changed = self._groups.distinct_pairs(changed)
        self.changes = list(self._find_changes())

    def _find_changes(self) -> Iterator[PartChange]:
        """Yield all changes, starting with those that are certain.

        In a pair, ``old`` is the part as it was known before, and ``new`` is
        the part as it is reported now.
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

        A source is a list of parts by one reporter, e.g. ``agent disk
        inventory.disks``. It is compared only with itself, because another
        reporter such as Redfish describes the same disk in other words.

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
        """Yield the parts that both sides have, for one source at a time."""
        for pairing in self._pairings.values():
            yield from pairing.same

    def _find_moves(self) -> Iterator[part_pair.Pair]:
        """Yield the pairs of parts that have moved to another slot.

        For example, the DIMM with the serial number S3Z8 was in A1, and is now
        in B1. A part has not moved if a source that identifies it reports it
        in its old slot or as gone.
        """
        stayed = []
        for old, new in self._list_pairs():
            if old.ids and new.ids and not _has_moved(old, new):
                stayed.append(old)
        stayed_or_gone = self._groups.of_parts([*stayed, *self._gone])
        for old, new in self._list_pairs():
            if not _has_moved(old, new):
                continue
            # If the new part has no identity, it was paired only by
            # resemblance. A source that identifies the old part knows better
            # where it is.
            if new.ids or self._groups.of_part(old) not in stayed_or_gone:
                yield old, new

    def _announced_by_others(self, source: str) -> part.Announced:
        """Return how many changes others announced while a source was silent.

        The result has two numbers: how many parts of the source were announced
        as gone, and how many as new.

        :param source: a list of parts by one reporter, e.g. ``agent disk
            inventory.disks``. It is silent while only another reporter, e.g.
            Redfish, reports the machine.
        """
        return self._before.announced.get(source, part.Announced())

    def _find_missing_parts(self) -> Iterator[part.Part]:
        """Yield the parts that a source of the report no longer reports.

        A part that another source still reports, e.g. Redfish, is not missing.
        Parts without an identity are only counted: if there were four such
        disks and there are three now, one is missing.
        """
        for source, pairing in self._pairings.items():
            unidentified = []
            for old in pairing.before:
                if not old.ids:
                    unidentified.append(old)
                elif self._groups.of_part(old) not in self._reported_groups:
                    yield old
            # While this source was silent, other sources announced some of its
            # parts as gone. These must not be announced again. It is unknown
            # which parts without an identity these are, so skip the first
            # ones.
            announced = self._announced_by_others(source).gone
            yield from unidentified[announced:]

    def _find_additional_parts(
        self, sources: Iterable[str]
    ) -> Iterator[part.Part]:
        """Yield the parts that are new in the report, e.g. a new disk.

        Parts that another source has announced before are skipped.

        :param sources: sources of the report. A source is a list of parts by
            one reporter, e.g. ``agent disk inventory.disks``.
        """
        for source in sources:
            # While this source was silent, other sources announced this many
            # of its parts as new. These must not be announced again.
            left_to_find = self._announced_by_others(source).new
            unidentified = []
            for new in self._pairings[source].after:
                if not new.ids:
                    unidentified.append(new)
                elif self._groups.of_part(new) in self._known_groups:
                    # Another source has announced this part.
                    left_to_find -= 1
                else:
                    yield new
            # The rest of the announced parts have no identity here. It is
            # unknown which parts these are, so skip the first ones.
            yield from unidentified[max(0, left_to_find) :]

    def _find_unreported_changes(self) -> Iterator[PartChange]:
        """Yield changes of parts that may be gone or new, or just unreported.

        There are two reasons for doubt. The source of the part may have been
        silent on one side: a disk that only Redfish has reported may still be
        there when only the ramdisk reports. Or the source identifies the part
        on one side only. Parts that are certainly gone, new or moved are
        skipped.
        """
        moved = [old for old, _new in self._moved]
        settled = self._groups.of_parts([*self._gone, *self._new, *moved])
        # This call adds its parts to "settled", so that the code below does
        # not yield them again.
        yield from self._find_unidentified_changes(settled)
        settled_or_reported = settled | self._reported_groups
        fallen_silent = self._groups.distinct(
            self._parts_outside(
                settled_or_reported, self._list_parts_fallen_silent()
            )
        )
        # A part without an identity may be a part that was reported each time.
        for old in self._groups.without_counterpart(
            fallen_silent, self._old, self._after.parts
        ):
            yield PartChange(what=UNREPORTED, before=old, after=None)
        # If a source reports for the first time, its parts may have been there
        # before.
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
        Parts without an identity are not in any group.
        """
        return [
            member
            for member in parts
            if self._groups.of_part(member) not in groups
        ]

    def _list_parts_fallen_silent(self) -> Iterator[part.Part]:
        """Yield the parts of sources that reported last time, but not now.

        If a source was silent last time already, its parts were announced as
        unreported then.
        """
        for old in self._old:
            # The value is None if the source reported last time. For a silent
            # source, it is the time of the last report.
            was_heard = self._before.sources.get(old.source) is None
            if was_heard and old.source not in self._after.sources:
                yield old

    def _find_unidentified_changes(
        self, settled: set[part_group.Group | None]
    ) -> Iterator[PartChange]:
        """Yield changes of pairs that have an identity on one side only.

        For example, a disk had the serial number S3Z8, and a disk in the same
        slot has none now. It is unknown whether both are the same part.

        :param settled: groups of parts with another change. The groups of the
            pairs are added to it.
        """
        for old, new in self._list_pairs():
            if old.ids and new.ids:
                continue
            # The old part may have identities from earlier reports. Only the
            # last report of its source counts here.
            if old.is_identified == bool(new.ids):
                # Both reports identify the part, or neither of them does.
                continue
            identified = old
            groups_of_other_side = self._reported_groups
            if new.ids:
                identified = new
                groups_of_other_side = self._known_groups
            group = self._groups.of_part(identified)
            # Skip the part if another source identifies it on the other side.
            if group not in groups_of_other_side and group not in settled:
                settled.add(group)
                yield PartChange(what=UNREPORTED, before=old, after=new)

    def known(self, previous_time: str = '') -> part.Parts:
        """Return all known parts after the report, for the next comparison.

        These are the parts of the report, and the last reported parts of the
        sources that are silent now.

        :param previous_time: the time of the previous inspection, as text.
        """
        parts = [*self._list_reported_parts(), *self._list_silent_parts()]
        since_by_source = {}
        for source, since in self._before.sources.items():
            if source not in self._after.sources:
                # None means that the source reported in the previous
                # inspection.
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

        A part keeps identities, slot and attributes that this report does not
        have. For example, a DIMM that was known as S3Z8 keeps this serial
        number if the report has only its slot and size.
        """
        gone = self._groups.of_parts(self._gone)
        identities_of_gone = set()
        for old in self._old:
            if self._groups.of_part(old) in gone:
                identities_of_gone.update(old.identities)
        for pairing in self._pairings.values():
            # A part keeps the identities of earlier reports, unless another
            # part has them now or they belong to a part that is gone.
            taken = set(identities_of_gone)
            for _old, new in pairing.same:
                taken.update(new.identities)
            for new in pairing.after:
                taken.update(new.identities)
            for old, new in pairing.same:
                yield _renew_part(old, new, taken)
            # These parts are new, so no earlier report completes them.
            yield from pairing.after

    def _list_silent_parts(self) -> Iterator[part.Part]:
        """Return the parts of the sources that are not in the report.

        They are kept, unless another source has shown that they are gone. They
        get the slots and attributes that another source reports now;
        otherwise, their own source would announce the same change again later.
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
        """Count the parts that a source must not announce as gone or new.

        Other sources have announced these parts since the source was last
        heard. Without the counts, the source would announce the same parts
        again when it reports the next time. Moves and other changes are not
        counted, because :meth:`_list_silent_parts` applies them to the stored
        parts.

        :param source: a source that is not in the report.
        """
        before = self._announced_by_others(source)
        kind = part.kind_of(source)
        own = [old for old in self._old if old.source == source]
        unidentified = [old for old in own if not old.ids]
        gone_of_kind = [old for old in self._gone if old.kind == kind]
        # Do not count parts that the source identifies. If they are gone,
        # _list_silent_parts() removes them from its stored parts, so the
        # source cannot miss them.
        gone = self._parts_outside(self._groups.of_parts(own), gone_of_kind)
        new_of_kind = [new for new in self._new if new.kind == kind]
        # At most as many parts can be gone as the source has without identity,
        # and at most as many can be new as a source may report.
        count_gone = min(before.gone + len(gone), len(unidentified))
        count_new = min(before.new + len(new_of_kind), part.MOST)
        return part.Announced(count_gone, count_new)


def _has_moved(old: part.Part, new: part.Part) -> bool:
    """Return whether a part is in another slot, as far as slots are known.

    Return False if only one of the reports identifies it, because it may be
    another part then.
    """
    # The ids of an "unidentified" part come from reports before the last one.
    if bool(old.ids) != bool(new.ids or old.unidentified):
        return False
    return bool(old.slot and new.slot and old.slot != new.slot)


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
        those of parts in the new report, including this part, and those of
        parts that are gone.
    """
    known_ids = [
        name for kind, name in old.identities if (kind, name) not in taken
    ]
    ids = (*new.ids, *known_ids)
    # The label is an identity in its original case, e.g. ``S3Z8`` for s3z8.
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
