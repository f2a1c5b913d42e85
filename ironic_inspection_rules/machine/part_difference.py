# SPDX-License-Identifier: Apache-2.0

"""Differences between the parts of a machine at two times."""

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
        :data:`CHANGED`, or :data:`UNREPORTED` where the source of one side
        does not report such parts, so that nothing is known of it.
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
    if found.ids:
        identity = found.label
    return {'id': identity, 'slot': found.slot, **found.what}


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
    """Add the known parts to a report that it says nothing about.

    :param before: all that was known before.
    :param after: what is reported now.
    :param changes: how they differ, where that is known.
    """
    unreported = [change for change in (
        between(before, after) if changes is None else changes)
        if change.what == UNREPORTED and change.before
        and not (change.after and change.after.ids)]
    replaced = {id(change.after) for change in unreported if change.after}
    kept = [change.before for change in unreported if change.before]
    return part.Parts(
        tuple(sorted((*(each for each in after.parts
                        if id(each) not in replaced), *kept),
                     key=part.Part.place)), before.sources | after.sources)


def _pairs(before: Sequence[part.Part], after: Sequence[part.Part]
           ) -> Iterator[tuple[part.Part | None, part.Part | None]]:
    """Pair each part with the one that it became, or with None."""
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


def _always(_old: part.Part, _new: part.Part) -> bool:
    return True


def _may_be(old: part.Part, new: part.Part) -> bool:
    """Return whether two parts may be one: a reporter has one word for it."""
    return old.source != new.source or all(
        new.what.get(name, value) == value
        for name, value in old.what.items())


_Key = Callable[[part.Part, bool], Sequence[Hashable]]

_KEYS: tuple[tuple[_Key, Callable[[part.Part, part.Part], bool]], ...] = (
    # The same part, whatever reports it.
    (lambda each, _is_new: [(each.kind, name) for name in each.ids], _always),
    # Parts without an identity: those of one make and one slot first.
    (lambda each, _is_new: [] if each.ids else [
        (each.source, each.slot, _make(each))], _always),
    (lambda each, _is_new: [] if each.ids else [(each.source, _make(each))],
     _always),
    # An identity that only one side reports.
    (lambda each, is_new: [(each.kind, each.source, each.slot,
                            bool(each.ids) is is_new)], _may_be),
    (lambda each, is_new: [(each.kind, bool(each.ids) is is_new)], _may_be),
)

_MOST = 20
"""Parts that are looked at for another one: a machine may have thousands."""


def _matched(old: list[part.Part], new: list[part.Part], by: typing.Any
             ) -> tuple[list[typing.Any], list[part.Part], list[part.Part]]:
    """Pair parts that have a key in common."""
    key, fits = by
    waiting: dict[Hashable, list[int]] = {}
    for place in reversed(range(len(new))):
        for name in key(new[place], True):
            waiting.setdefault(name, []).append(place)
    pairs, taken, left = [], set(), []
    for each in old:
        found = next((place for name in key(each, False)
                      for place in waiting.get(name, [])[:-_MOST - 1:-1]
                      if fits(each, new[place])), None)
        if found is None:
            left.append(each)
            continue
        taken.add(found)
        pairs.append((each, new[found]))
        for name in key(new[found], True):
            waiting[name].remove(found)
    return pairs, left, [each for place, each in enumerate(new)
                         if place not in taken]


def _make(each: part.Part) -> Hashable:
    return each.kind, tuple(sorted(map(str, each.what.items())))
