# SPDX-License-Identifier: Apache-2.0

"""Differences between the parts of a machine at two times.

What each source reported last is remembered. A source is compared with
itself; identities say which parts of two sources are one, so that what one of
them has told, or still sees, is not told by another.
"""

from collections.abc import Collection, Iterator
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
class Change:
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
        """Return it as the API shows it."""
        found = typing.cast(part.Part, self.after or self.before)
        before = _as_dict(self.before)
        after = _as_dict(self.after)
        identity = None
        for side in (after, before):
            if side is not None and identity is None:
                identity = side['id']
        return {'kind': found.kind, 'what': self.what, 'id': identity,
                'slot': found.slot, 'before': before, 'after': after}


def _as_dict(found: part.Part | None) -> dict[str, typing.Any] | None:
    """Return one side of a change; a part without an identity has none."""
    if found is None:
        return None
    identity = None
    if found.ids and not part_source.GIVEN_IDS.intersection(found.ids):
        identity = found.label
    return {'id': identity, 'slot': found.slot, **found.what}


def between(before: part.Parts, after: part.Parts) -> list[Change]:
    """Compare the parts of a machine at two times.

    :param before: all that is known of that time, see
        :meth:`Comparison.known`.
    :param after: what was reported later.
    """
    if before == after:
        return []
    return Comparison(before, after).changes


class Comparison:
    """A comparison of what was known of a machine with a report.

    :ivar changes: what has happened to its parts.
    """

    def __init__(self, before: part.Parts, after: part.Parts) -> None:
        self._before = before
        self._after = after
        # What two parts share now identifies neither, nor did it before.
        self._old = [each.without(after.shared) for each in before.parts]
        self._groups = part_group.Groups([*self._old, *after.parts])
        self._known_groups = self._groups.of(self._old)
        self._reported_groups = self._groups.of(after.parts)
        self._pairings = self._pair()
        self._gone = self._groups.distinct(self._lost())
        self._new = self._groups.distinct(self._found(is_first=False))
        self._moved = self._groups.distinct_pairs(
            pair for pair in self._pairs() if _has_moved(*pair))
        self._changed = self._groups.distinct_pairs(
            pair for pair in self._pairs() if _has_changed(*pair))
        self.changes = [
            *(Change(GONE, old, None) for old in self._gone),
            *(Change(NEW, None, new) for new in self._new),
            *(Change(MOVED, old, new) for old, new in self._moved),
            *(Change(CHANGED, old, new) for old, new in self._changed),
            *self._unreported()]

    def _pair(self) -> dict[str, part_pair.Pairing]:
        """Pair the parts of each source of the report with its last ones."""
        before = part_group.by_source(self._old)
        after = part_group.by_source(self._after.parts)
        return {source: part_pair.find(before.get(source, []),
                                       after.get(source, []))
                for source in self._after.sources}

    def _pairs(self) -> Iterator[part_pair.Pair]:
        for pairing in self._pairings.values():
            yield from pairing.same

    def _lost(self) -> Iterator[part.Part]:
        """Return what sources of the report do not report any more."""
        for source, pairing in self._pairings.items():
            told, _new = self._before.told.get(source, (0, 0))
            yield from (old for old in pairing.before if old.ids
                        and self._groups.at(old) not in self._reported_groups)
            yield from [old for old in pairing.before if not old.ids][told:]

    def _found(self, is_first: bool) -> Iterator[part.Part]:
        """Return parts of the report that nobody has reported before.

        :param is_first: those of sources that report for the first time, or
            those of the others.
        """
        for source, pairing in self._pairings.items():
            if is_first is (source in self._before.sources):
                continue
            _gone, told = self._before.told.get(source, (0, 0))
            for new in pairing.after:
                if new.ids and self._groups.at(new) in self._known_groups:
                    told -= 1
                elif new.ids:
                    yield new
            nameless = [new for new in pairing.after if not new.ids]
            yield from nameless[max(0, told):]

    def _unreported(self) -> Iterator[Change]:
        """Return what one side has of which the other one says nothing."""
        told = self._groups.of([*self._gone, *self._new,
                                *(old for old, _new in self._moved)])
        for old, new in self._pairs():
            # The side that says which part it is.
            named = new if new.ids else old
            if old.is_named == bool(new.ids) or new.ids and old.ids:
                continue
            there = (self._known_groups if new.ids
                     else self._reported_groups) | told
            if self._groups.at(named) not in there:
                told.add(self._groups.at(named))
                yield Change(UNREPORTED, old, new)
        silent = self._groups.distinct(
            old for old in self._old
            if old.source not in self._after.sources
            and self._before.sources.get(old.source) is None
            and self._groups.at(old) not in told | self._reported_groups)
        for old in self._groups.uncovered(silent, self._old,
                                          self._after.parts):
            yield Change(UNREPORTED, old, None)
        first = self._groups.distinct(
            new for new in self._found(is_first=True)
            if self._groups.at(new) not in told)
        for new in self._groups.uncovered(first, self._after.parts,
                                          self._old):
            yield Change(UNREPORTED, None, new)

    def known(self, heard: str = '') -> part.Parts:
        """Return all that is known of the parts after the report.

        :param heard: when the last inspection before was made.
        """
        gone = self._groups.of(self._gone)
        gone = self._groups.of(self._gone)
        lost = {identity for each in self._old
                if self._groups.at(each) in gone
                for identity in each.identities}
        parts = []
        for pairing in self._pairings.values():
            reported = [*(new for _old, new in pairing.same), *pairing.after]
            taken = lost.union(identity for each in reported
                               for identity in each.identities)
            parts += [_renewed(old, new, taken) for old, new in pairing.same]
            parts += pairing.after
        updated = self._groups.updater(self._moved, self._changed)
        parts += [updated(old) for old in self._old
                  if old.source not in self._after.sources
                  and self._groups.at(old) not in gone]
        silent = {source: since or heard
                  for source, since in self._before.sources.items()
                  if source not in self._after.sources}
        told = {source: counts for source in silent
                if any(counts := self._told(source))}
        return part.Parts(tuple(sorted(parts, key=part.Part.place)),
                          {**silent, **self._after.sources}, told)

    def _told(self, source: str) -> tuple[int, int]:
        """Return how much a source that is silent will not tell again."""
        gone, new = self._before.told.get(source, (0, 0))
        kind = part.kind_of(source)
        own = [old for old in self._old if old.source == source]
        groups = self._groups.of(own)
        gone += sum(each.kind == kind and self._groups.at(each) not in groups
                    for each in self._gone)
        new += sum(each.kind == kind for each in self._new)
        return (min(gone, sum(not each.ids for each in own)),
                min(new, part.MOST))


def _has_moved(old: part.Part, new: part.Part) -> bool:
    if bool(old.ids) != bool(new.ids or old.unidentified):
        return False
    return bool(old.slot and new.slot and old.slot != new.slot)


def _has_changed(old: part.Part, new: part.Part) -> bool:
    return any(value != new.what.get(name, value)
               for name, value in old.what.items())


def _renewed(old: part.Part, new: part.Part,
             taken: Collection[part.Identity]) -> part.Part:
    """Return a part as it is reported now, with what was known of it.

    :param taken: what identifies another part, or one that is gone.
    """
    ids = (*new.ids, *(name for kind, name in old.identities
                       if (kind, name) not in taken))
    named = new if new.ids else old
    return new._replace(
        ids=ids, label=named.label_of(ids), slot=new.slot or old.slot,
        what={**old.what, **new.what}, unidentified=bool(ids) and not new.ids)
