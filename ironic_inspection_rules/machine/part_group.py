# SPDX-License-Identifier: Apache-2.0

"""Parts that are one: a machine has each, several sources report it."""

import collections
from collections.abc import Callable, Iterable, Iterator, Sequence
import typing

from ironic_inspection_rules.machine import part
from ironic_inspection_rules.machine import part_pair


class _Told(typing.NamedTuple):
    """A part, and the sources that tell something of it."""

    part: part.Part
    sources: set[str]


def by_source(parts: Iterable[part.Part]) -> dict[str, list[part.Part]]:
    """Return the parts of each source."""
    found: dict[str, list[part.Part]] = {}
    for each in parts:
        found.setdefault(each.source, []).append(each)
    return found


class Groups:
    """Parts in groups that have identities in common, directly or not.

    :param parts: of several sources and times.
    """

    def __init__(self, parts: Iterable[part.Part]) -> None:
        self._above: dict[part.Identity, part.Identity] = {}
        for each in parts:
            for identity in each.identities:
                self._above.setdefault(identity, identity)
                self._above[self._top(identity)] = self._top(
                    each.identities[0])

    def _top(self, identity: part.Identity) -> part.Identity:
        while self._above[identity] != identity:
            # A shorter way for the next one.
            self._above[identity] = self._above[self._above[identity]]
            identity = self._above[identity]
        return identity

    def at(self, each: part.Part) -> part.Identity | None:
        """Return what stands for the group of a part, None without any."""
        return self._top(each.identities[0]) if each.ids else None

    def of(self, parts: Iterable[part.Part]) -> set[part.Identity | None]:
        """Return what stands for the groups of parts."""
        return {self.at(each) for each in parts if each.ids}

    def distinct(self, parts: Iterable[part.Part]) -> list[part.Part]:
        """Leave out parts of which another source tells the same.

        A part without an identity is taken for one of another source, if
        possible for one in the same slot.
        """
        told: dict[part.Identity | None, _Told] = {}
        nameless = []
        for each in parts:
            if each.ids:
                told.setdefault(self.at(each), _Told(each, set())
                                ).sources.add(each.source)
            else:
                nameless.append(each)
        distinct = list(told.values())
        for source, found in by_source(nameless).items():
            distinct += [_Told(each, {source}) for each in _others(
                found, [each for each in distinct
                        if each.part.kind == found[0].kind
                        and source not in each.sources])]
        return [each.part for each in distinct]

    def distinct_pairs(self, pairs: Iterable[part_pair.Pair]
                       ) -> list[part_pair.Pair]:
        """Leave out pairs of which another source tells the same.

        A part without an identity is taken for the one of another source that
        has left the same slot, or is in the same slot now.
        """
        distinct: dict[typing.Any, part_pair.Pair] = {}
        claims: dict[tuple[typing.Any, ...], set[str]] = {}
        # Parts with an identity first.
        for old, new in sorted(pairs, key=lambda pair: not pair[0].ids):
            slots = [(old.kind, 'from', old.slot), (old.kind, 'to', new.slot)]
            name: typing.Any = self.at(old)
            if name is None:
                others = set().union(*(claims.get(slot, ()) for slot in slots))
                name = None if others - {new.source} else len(distinct)
            if name is not None:
                distinct.setdefault(name, (old, new))
            for slot in slots:
                claims.setdefault(slot, set()).add(new.source)
        return list(distinct.values())

    def uncovered(self, parts: Iterable[part.Part], own: Sequence[part.Part],
                  others: Sequence[part.Part]) -> Iterator[part.Part]:
        """Leave out parts without identity that may be parts of another time.

        :param own: all that is known of the time of the parts.
        :param others: all that is known of the other time.
        """
        most: collections.Counter[str] = collections.Counter()
        for found in by_source(others).values():
            most[found[0].kind] = max(most[found[0].kind], len(found))
        groups = self.of(others)
        room = {source: most[found[0].kind] - sum(
            self.at(each) in groups for each in found)
            for source, found in by_source(own).items()}
        for each in parts:
            if each.ids or room[each.source] <= 0:
                yield each
            else:
                room[each.source] -= 1

    def updater(self, moved: Iterable[part_pair.Pair],
                changed: Iterable[part_pair.Pair]
                ) -> Callable[[part.Part], part.Part]:
        """Return a function that brings a part of another source up to date.

        What has been told once is not told again by that source.
        """
        slots: dict[typing.Any, str | None] = {}
        for old, new in moved:
            slots[old.kind, None, old.slot] = new.slot
            slots[old.kind, self.at(old), old.slot] = new.slot
        values = {(self.at(old), name, old.what[name]): value
                  for old, new in changed if old.ids
                  for name, value in new.what.items() if name in old.what}

        def updated(each: part.Part) -> part.Part:
            group = self.at(each)
            return each._replace(
                slot=slots.get((each.kind, group, each.slot), each.slot),
                what={name: values.get((group, name, value), value)
                      for name, value in each.what.items()})
        return updated


def _others(found: Sequence[part.Part], told: Sequence[_Told]
            ) -> Sequence[part.Part]:
    """Return the parts of a source that none of the others may be."""
    slots: dict[str | None, list[_Told]] = {}
    for entry in told:
        slots.setdefault(entry.part.slot, []).append(entry)
    left = []
    for each in found:
        if each.slot and slots.get(each.slot):
            slots[each.slot].pop().sources.add(each.source)
        else:
            left.append(each)
    free = [entry for entries in slots.values() for entry in entries]
    for entry, each in zip(free, left, strict=False):
        entry.sources.add(each.source)
    return left[len(free):]
