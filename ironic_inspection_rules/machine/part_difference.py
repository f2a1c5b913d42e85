# SPDX-License-Identifier: Apache-2.0

"""Which parts of a machine are others than before."""

from collections.abc import Callable, Hashable, Iterator, Sequence
import dataclasses
import typing

from ironic_inspection_rules.machine import part

GONE = 'gone'
NEW = 'new'
MOVED = 'moved'
CHANGED = 'changed'
UNREPORTED = 'unreported'


@dataclasses.dataclass(frozen=True)
class Change:
    """The change of one part.

    :param what: :data:`GONE`, :data:`NEW`, :data:`MOVED` to another slot,
        :data:`CHANGED`, or :data:`UNREPORTED`: who reported the one side
        does not report such parts, so that nothing is known of it.
    """

    what: str
    before: part.Part | None
    after: part.Part | None

    def as_dict(self) -> dict[str, typing.Any]:
        """Return it as the API shows it."""
        found = typing.cast(part.Part, self.after or self.before)
        return {'kind': found.kind, 'what': self.what, 'id': found.label,
                'slot': found.slot, **{side: None if each is None else {
                    'id': each.label if each.ids else None,
                    'slot': each.slot, **each.what}
                    for side, each in (('before', self.before),
                                       ('after', self.after))}}


def between(before: part.Parts, after: part.Parts) -> list[Change]:
    """Compare the parts of a machine at two times.

    :param before: all that is known of that time: see :func:`known`.
    :param after: what was reported later.
    """
    changes: list[Change] = []
    if before == after:
        return changes
    for old, new in _pairs(before.parts, after.parts):
        if old is None or new is None:
            one, other = (new, before) if old is None else (old, after)
            if one is not None and one.source not in other.sources:
                changes.append(Change(UNREPORTED, old, new))
            else:
                changes.append(Change(NEW if old is None else GONE, old, new))
        elif bool(old.ids) != bool(new.ids):
            changes.append(Change(UNREPORTED, old, new))
        elif old.source == new.source:
            # Two reporters call one thing by two names.
            if old.slot != new.slot and old.slot and new.slot:
                changes.append(Change(MOVED, old, new))
            if any(value != new.what.get(name, value)
                   for name, value in old.what.items()):
                changes.append(Change(CHANGED, old, new))
    return changes


def known(before: part.Parts, after: part.Parts,
          changes: Sequence[Change] | None = None) -> part.Parts:
    """Add to what was reported what it says nothing of.

    :param before: all that was known before.
    :param after: what is reported now.
    :param changes: how they differ, where that is known.
    """
    unreported = [change for change in (
        between(before, after) if changes is None else changes)
        if change.what == UNREPORTED and change.before]
    replaced = {id(change.after) for change in unreported if change.after}
    kept = [change.before for change in unreported if change.before]
    return part.Parts(
        tuple(sorted((*(each for each in after.parts
                        if id(each) not in replaced), *kept),
                     key=part.Part.place)), before.sources | after.sources)


def _pairs(before: Sequence[part.Part], after: Sequence[part.Part]
           ) -> Iterator[tuple[part.Part | None, part.Part | None]]:
    """Return which part became which, None where there is no other one."""
    old, new = list(before), list(after)
    for key in _KEYS:
        if not old or not new:
            break
        pairs, old, new = _matched(old, new, key)
        yield from pairs
    for each in old:
        yield each, None
    for each in new:
        yield None, each


_Key = Callable[[part.Part], Sequence[Hashable]]

_KEYS: tuple[tuple[_Key, Callable[[part.Part, part.Part], bool]], ...] = (
    # The same part, whatever reports it.
    (lambda each: [(each.kind, name) for name in each.ids],
     lambda old, new: True),
    # Parts without an identity: those of one make and one slot first.
    (lambda each: [(each.source, each.slot, _make(each))],
     lambda old, new: not (old.ids or new.ids)),
    (lambda each: [(each.source, _make(each))],
     lambda old, new: not (old.ids or new.ids)),
    # An identity that only one side reports.
    (lambda each: [(each.kind, each.source, each.slot)],
     lambda old, new: bool(old.ids) != bool(new.ids)),
    (lambda each: [each.kind],
     lambda old, new: bool(old.ids) != bool(new.ids)),
)


def _matched(old: list[part.Part], new: list[part.Part], by: typing.Any
             ) -> tuple[list[typing.Any], list[part.Part], list[part.Part]]:
    """Pair parts that have a key in common."""
    key, fits = by
    waiting: dict[Hashable, list[int]] = {}
    for place in reversed(range(len(new))):
        for name in key(new[place]):
            waiting.setdefault(name, []).append(place)
    pairs, taken, left = [], set(), []
    for each in old:
        found = next((place for name in key(each)
                      for place in reversed(waiting.get(name, ()))
                      if place not in taken and fits(each, new[place])), None)
        if found is None:
            left.append(each)
            continue
        taken.add(found)
        pairs.append((each, new[found]))
        for name in key(each):
            # What is taken is not looked at again and again.
            while waiting.get(name) and waiting[name][-1] in taken:
                waiting[name].pop()
    return pairs, left, [each for place, each in enumerate(new)
                         if place not in taken]


def _make(each: part.Part) -> Hashable:
    return each.kind, tuple(sorted(map(str, each.what.items())))
