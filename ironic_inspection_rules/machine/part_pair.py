# SPDX-License-Identifier: Apache-2.0

"""Parts of one source at two times, paired where they are one part.

An identity decides. Parts that are reported without one are paired by what
they are and where they are; which of several equal ones is which, nobody can
know.
"""

from collections.abc import Callable, Hashable, Iterable, Sequence
import typing

from ironic_inspection_rules.machine import part

_MOST = 20
"""Parts that are looked at for another one: a machine may have thousands."""

Pair = tuple[part.Part, part.Part]

_Keys = Callable[[part.Part], Iterable[Hashable]]
_Fits = Callable[[part.Part, part.Part], bool]


class Pairing(typing.NamedTuple):
    """How the parts of a source at two times belong together.

    :param same: parts of both times, the earlier ones first.
    :param before: parts of the earlier time only.
    :param after: parts of the later time only.
    """

    same: list[Pair]
    before: list[part.Part]
    after: list[part.Part]


def find(before: Sequence[part.Part], after: Sequence[part.Part]) -> Pairing:
    """Pair the parts that one source reported at two times."""
    found = Pairing([], list(before), list(after))
    for keys, fits in _STEPS:
        if not found.before or not found.after:
            break
        found = _step(found, keys, fits)
    return found


def _identities(each: part.Part) -> Iterable[Hashable]:
    return each.identities


def _slot_and_make(each: part.Part) -> Iterable[Hashable]:
    return [(each.kind, each.slot, _make(each))] if each.slot else []


def _make_alone(each: part.Part) -> Iterable[Hashable]:
    return [(each.kind, _make(each))]


def _slot_alone(each: part.Part) -> Iterable[Hashable]:
    return [(each.kind, each.slot)] if each.slot else []


def _kind_alone(each: part.Part) -> Iterable[Hashable]:
    return [each.kind]


def _make(each: part.Part) -> Hashable:
    return tuple(sorted(map(str, each.what.items())))


def _always(_old: part.Part, _new: part.Part) -> bool:
    return True


def _are_nameless(old: part.Part, new: part.Part) -> bool:
    return not old.is_named and not new.ids and _may_be(old, new)


def _one_is_nameless(old: part.Part, new: part.Part) -> bool:
    return not (old.ids and new.ids) and _may_be(old, new)


def _may_be(old: part.Part, new: part.Part) -> bool:
    """Check that nothing that is reported of two parts is different."""
    return all(new.what.get(name, value) == value
               for name, value in old.what.items())


_STEPS: tuple[tuple[_Keys, _Fits], ...] = (
    (_identities, _always),
    # Two parts without identity rather than one of each: the other one may
    # have been replaced by a part with another identity.
    (_slot_and_make, _are_nameless),
    (_make_alone, _are_nameless),
    (_slot_and_make, _one_is_nameless),
    (_make_alone, _one_is_nameless),
    # A collector that tells less than before.
    (_slot_alone, _are_nameless),
    (_slot_alone, _one_is_nameless),
    (_kind_alone, _are_nameless),
    (_kind_alone, _one_is_nameless),
)


def _step(found: Pairing, keys: _Keys, fits: _Fits) -> Pairing:
    """Pair the parts that have a key in common and fit."""
    waiting: dict[Hashable, list[int]] = {}
    for place in reversed(range(len(found.after))):
        for key in keys(found.after[place]):
            waiting.setdefault(key, []).append(place)
    same = list(found.same)
    before = []
    taken = set()
    for old in found.before:
        free = (place for key in keys(old)
                # The last ones are the first of the report.
                for place in waiting.get(key, [])[:-_MOST - 1:-1]
                if fits(old, found.after[place]))
        match = next(free, None)
        if match is None:
            before.append(old)
            continue
        new = found.after[match]
        taken.add(match)
        same.append((old, new))
        for key in keys(new):
            waiting[key].remove(match)
    after = [new for place, new in enumerate(found.after)
             if place not in taken]
    return Pairing(same, before, after)
