# SPDX-License-Identifier: Apache-2.0

"""Pairs of the same part that a source reported at two times.

Parts are paired by their identities, e.g. ``('disk', 's3z8')``. Parts without
an identity are paired by their slot and their make. The *make* of a part is
all its attributes, e.g. its model and its size. If several parts have the same
make, it is impossible to know which is which, so any of them are paired.
"""

from collections.abc import Callable, Hashable, Iterable, Sequence
import typing

from ironic_inspection_rules.machine import part

_MAX_CANDIDATES = 20
"""Maximum number of parts with the same key that are tried for a part.

A machine may send thousands of equal parts, and trying all combinations would
take too long.
"""

Pair = tuple[part.Part, part.Part]

_GetKeys = Callable[[part.Part], Iterable[Hashable]]
_MayPair = Callable[[part.Part, part.Part], bool]


class Pairing(typing.NamedTuple):
    """The parts of a source at two times, paired as far as possible.

    :param pairs: pairs of the same part, with the earlier one first.
    :param only_before: parts of the earlier time without a counterpart.
    :param only_after: parts of the later time without a counterpart.
    """

    pairs: list[Pair]
    only_before: list[part.Part]
    only_after: list[part.Part]


def find(before: Sequence[part.Part], after: Sequence[part.Part]) -> Pairing:
    """Pair the parts that one source reported at two times.

    The most certain pairs are made first: parts with a common identity. Then
    come parts of the same make, if possible in the same slot, then parts in
    the same slot, and last come parts that have only their kind in common.

    :param before: the parts at the earlier time.
    :param after: the parts at the later time.
    """
    pairing = Pairing(
        pairs=[], only_before=list(before), only_after=list(after)
    )
    # Each step pairs some of the parts that the previous steps left.
    for get_keys, may_pair in _STEPS:
        if not pairing.only_before or not pairing.only_after:
            break
        pairing = _pair_by_key(get_keys, may_pair, pairing)
    return pairing


def _identities(member: part.Part) -> Iterable[Hashable]:
    """Return the identities of a part, e.g. ``('disk', 's3z8')``."""
    return member.identities


def _slot_and_make(member: part.Part) -> Iterable[Hashable]:
    """Return a key of kind, slot and make; no key without a slot.

    The make is all attributes. A part whose slot is unknown cannot be paired
    by its slot, so it has no key here.
    """
    if not member.slot:
        return []
    return [(member.kind, member.slot, _describe_make(member))]


def _make_alone(member: part.Part) -> Iterable[Hashable]:
    """Return a key of kind and make, whatever the slot of the part."""
    return [(member.kind, _describe_make(member))]


def _slot_alone(member: part.Part) -> Iterable[Hashable]:
    """Return a key of kind and slot; no key if the slot is unknown."""
    if not member.slot:
        return []
    return [(member.kind, member.slot)]


def _kind_alone(member: part.Part) -> Iterable[Hashable]:
    """Return the kind as the only key, which e.g. any two disks share."""
    return [member.kind]


def _describe_make(member: part.Part) -> Hashable:
    """Return the attributes of a part, e.g. its model and its size, as a key.

    They are converted to texts, so that values of all types can be sorted.
    """
    return tuple(sorted(map(str, member.attributes.items())))


def _accept_all(_old: part.Part, _new: part.Part) -> bool:
    """Accept any pair, because a common identity is enough."""
    return True


def _may_be_same_unidentified(old: part.Part, new: part.Part) -> bool:
    """Return whether two parts that no report identifies may be the same.

    Return False if either report identifies its part. Identities that the
    earlier part has from even earlier reports do not count.
    """
    if old.is_identified or new.ids:
        return False
    return _may_be_same(old, new)


def _may_be_same_half_identified(old: part.Part, new: part.Part) -> bool:
    """Return whether two parts may be the same if one has no identity.

    Return False if both have identities, because these are different: parts
    with a common identity have been paired before.
    """
    if old.ids and new.ids:
        return False
    return _may_be_same(old, new)


def _may_be_same(old: part.Part, new: part.Part) -> bool:
    """Return whether all attributes that both parts have are equal."""
    return all(
        new.attributes.get(name, value) == value
        for name, value in old.attributes.items()
    )


_STEPS: tuple[tuple[_GetKeys, _MayPair], ...] = (
    (_identities, _accept_all),
    # Prefer pairs of two parts without identity to pairs of one with and one
    # without, because a part with identity may have replaced another part.
    (_slot_and_make, _may_be_same_unidentified),
    (_make_alone, _may_be_same_unidentified),
    (_slot_and_make, _may_be_same_half_identified),
    (_make_alone, _may_be_same_half_identified),
    # Do not compare the make, because a collector may report fewer attributes
    # than before.
    (_slot_alone, _may_be_same_unidentified),
    (_slot_alone, _may_be_same_half_identified),
    (_kind_alone, _may_be_same_unidentified),
    (_kind_alone, _may_be_same_half_identified),
)
"""The steps of pairing, with the most certain first.

A step is a function that returns the keys of a part, and a test. It pairs two
parts that have a key in common and pass the test.
"""


def _pair_by_key(
    get_keys: _GetKeys, may_pair: _MayPair, pairing: Pairing
) -> Pairing:
    """Pair each earlier part with the first later part that shares a key.

    For example, if serial numbers are the keys, an earlier disk is paired with
    the later disk that has the same serial number. A part is paired only once.

    :param get_keys: returns the keys of a part.
    :param may_pair: takes an earlier and a later part with a common key, and
        returns whether they may be paired.
    :param pairing: the result of the previous steps. Its pairs are kept, and
        its other parts are paired here.
    :returns: the pairs of this and the previous steps, and the parts that are
        still not paired.
    """
    later_parts = _LaterParts(pairing.only_after, get_keys)
    pairs = list(pairing.pairs)
    only_before = []
    for old in pairing.only_before:
        new = later_parts.take_counterpart(old, may_pair)
        if new is None:
            only_before.append(old)
        else:
            pairs.append((old, new))
    return Pairing(pairs, only_before, later_parts.list_remaining())


class _LaterParts:
    """Parts of the later time, which are taken when they are paired.

    :param parts: the parts. Some may be equal, so they are known by their
        position in this list.
    :param get_keys: returns the keys by which a part is found.
    """

    def __init__(self, parts: Sequence[part.Part], get_keys: _GetKeys) -> None:
        self._parts = parts
        self._get_keys = get_keys
        self._taken: set[int] = set()
        # The positions of the parts that have a key and are not taken.
        self._positions_by_key: dict[Hashable, list[int]] = {}
        for position, new in enumerate(parts):
            for key in get_keys(new):
                self._positions_by_key.setdefault(key, []).append(position)

    def take_counterpart(
        self, old: part.Part, may_pair: _MayPair
    ) -> part.Part | None:
        """Take the first part that shares a key with an earlier part.

        Only the first :data:`_MAX_CANDIDATES` parts with a key are tried,
        because a machine may send thousands.

        :param may_pair: returns whether the two parts may be paired.
        :returns: None if there is no such part.
        """
        for key in self._get_keys(old):
            positions = self._positions_by_key.get(key, [])
            for position in positions[:_MAX_CANDIDATES]:
                if may_pair(old, self._parts[position]):
                    return self._take(position)
        return None

    def _take(self, position: int) -> part.Part:
        """Return the part at a position, and never find it again."""
        taken = self._parts[position]
        self._taken.add(position)
        for key in self._get_keys(taken):
            self._positions_by_key[key].remove(position)
        return taken

    def list_remaining(self) -> list[part.Part]:
        """Return the parts that were not taken, in their order."""
        return [
            new
            for position, new in enumerate(self._parts)
            if position not in self._taken
        ]
