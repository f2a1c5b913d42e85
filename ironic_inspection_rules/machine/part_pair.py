# SPDX-License-Identifier: Apache-2.0

"""Pairs of the same part that a source reported at two times.

Parts are paired by their identities, e.g. ``('disk', 's3z8')``. Parts without
an identity are paired by their slot and their make. The *make* of a part is
all its attributes, e.g. its model and its size. If several parts have the same
make, it is impossible to know which is which, so any of them are paired.
"""

from collections.abc import (
    Callable,
    Hashable,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
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

    :param same: pairs of the same part, with the earlier one first.
    :param before: parts that were only there at the earlier time.
    :param after: parts that are only there at the later time.
    """

    same: list[Pair]
    before: list[part.Part]
    after: list[part.Part]


def find(before: Sequence[part.Part], after: Sequence[part.Part]) -> Pairing:
    """Pair the parts that one source reported at two times.

    The most certain pairs are made first: parts with the same serial number.
    Then come parts with the same slot and model, and last come parts that have
    only their kind in common.

    :param before: the parts at the earlier time.
    :param after: the parts at the later time.
    """
    pairing = Pairing(same=[], before=list(before), after=list(after))
    # Each step pairs some of the parts that the previous steps left.
    for get_keys, may_pair in _STEPS:
        if not pairing.before or not pairing.after:
            # All parts of one time have been paired.
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
    return not old.is_identified and not new.ids and _may_be_same(old, new)


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
    # For each key, the positions in "pairing.after" of the later parts that
    # have the key and are not paired yet.
    positions_by_key: dict[Hashable, list[int]] = {}
    for position, new in enumerate(pairing.after):
        for key in get_keys(new):
            positions_by_key.setdefault(key, []).append(position)
    same = list(pairing.same)
    unpaired_before = []
    paired_positions = set()
    for old in pairing.before:
        partner_position = None
        for position in _find_candidates(get_keys(old), positions_by_key):
            if may_pair(old, pairing.after[position]):
                partner_position = position
                break
        if partner_position is None:
            unpaired_before.append(old)
            continue
        new = pairing.after[partner_position]
        same.append((old, new))
        paired_positions.add(partner_position)
        # The later part must not be paired again.
        for key in get_keys(new):
            positions_by_key[key].remove(partner_position)
    unpaired_after = [
        new
        for position, new in enumerate(pairing.after)
        if position not in paired_positions
    ]
    return Pairing(same, unpaired_before, unpaired_after)


def _find_candidates(
    keys: Iterable[Hashable],
    positions_by_key: Mapping[Hashable, Sequence[int]],
) -> Iterator[int]:
    """Yield the positions of later parts that have one of the keys.

    Only the first :data:`_MAX_CANDIDATES` parts with a key are yielded,
    because a machine may send thousands.

    :param keys: the keys of an earlier part.
    :param positions_by_key: the positions of later parts.
    """
    for key in keys:
        positions = positions_by_key.get(key, [])
        yield from positions[:_MAX_CANDIDATES]
