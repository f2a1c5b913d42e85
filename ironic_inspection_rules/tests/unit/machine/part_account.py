# SPDX-License-Identifier: Apache-2.0

"""What a source had and has of a machine's parts, counted by make.

Of parts without identity only their number is known. The functions that judge
return all that may be said.
"""

import collections
import dataclasses

WHAT = GONE, NEW, MOVED, UNREPORTED = 'gone', 'new', 'moved', 'unreported'

ANYWHERE = 'anywhere'
"""The slot of a part that may be in one of several."""


@dataclasses.dataclass(eq=False)
class Entry:
    """A part as a source has it.

    :param shown: whether its last report named it.
    """

    ids: frozenset
    make: int
    slot: str | None
    shown: bool


class Class:
    """The parts of one make that a source had and has, without pairs by id."""

    def __init__(self):
        self.nameless, self.lost = [], []  # Entries.
        self.unnamed, self.named = [], []  # Sights.

    @property
    def withheld(self):
        return [each for each in self.nameless if each.ids]

    @property
    def stay(self):
        """How many have no identity before and after."""
        return min(len(self.nameless), len(self.unnamed))

    @property
    def nameless_left(self):
        """The least and the most nameless entries that are left."""
        left = len(self.nameless) - self.stay
        known = len(self.withheld)
        return max(0, left - known), min(left, len(self.nameless) - known)

    @property
    def unnamed_left(self):
        return len(self.unnamed) - self.stay

    def gone(self):
        return [max(0, left - len(self.named)) for left in self.nameless_left]

    def new(self):
        return max(0, self.unnamed_left - len(self.lost))

    def arrival(self):
        """What may be said of a part that the source names."""
        least, most = self.nameless_left
        if most == 0:
            return {NEW}
        return {UNREPORTED} if least >= len(self.named) else {NEW, UNREPORTED}

    def loss(self, entry):
        """What may be said of a part that the source does not name."""
        if entry.shown:
            free, others = self.unnamed_left, self.lost
        else:
            free, others = len(self.unnamed), self.nameless
        kept = UNREPORTED if entry.shown else None
        if free == 0:
            return {GONE}
        return {kept} if free >= len(others) else {kept, GONE}

    def moves(self):
        slots = collections.Counter(each.slot for each in self.nameless)
        now = collections.Counter(each.slot for each in self.unnamed)
        return self.stay - min(self.stay, (slots & now).total())

    def entries(self, may_stay, is_seen):
        """Return what the source has of its unnamed parts from now on.

        :param may_stay: whether an entry that was named may be among them.
        :param is_seen: whether another source names it.
        """
        slots = {sight.slot for sight in self.unnamed}
        kept = []
        for entries, most in (
            (self.withheld, self.stay),
            (self.lost, self.unnamed_left),
        ):
            kept += sorted(
                filter(may_stay, entries),
                key=lambda entry: (entry.slot not in slots, is_seen(entry)),
            )[:most]
        entries = []
        for sight in self.unnamed:
            entry = next(
                (
                    entry
                    for entry in kept
                    if entry.slot is not None and entry.slot == sight.slot
                ),
                None,
            )
            if entry is not None:
                kept.remove(entry)
            entries.append(
                Entry(
                    entry.ids if entry else frozenset(),
                    sight.make,
                    sight.slot,
                    False,
                )
            )
        nobody = [entry for entry in entries if not entry.ids]
        for entry, other in zip(kept, nobody, strict=False):
            # Which of them it is, and so where it is, cannot be known.
            other.ids = entry.ids
            other.slot = other.slot and ANYWHERE
        return entries


def groups(sets):
    """Return a name for all identities that occur together in some way."""
    names = {name: name for ids in sets for name in ids}
    for ids in sets:
        tops = {names[name] for name in ids}
        for name, top in names.items():
            if top in tops:
                names[name] = min(tops)
    return names
