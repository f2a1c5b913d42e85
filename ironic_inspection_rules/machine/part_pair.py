# SPDX-License-Identifier: Apache-2.0

"""Pairs of the same part that a source reported at two times.

An identity decides. Parts that are reported without an identity are paired by
their attributes and slots; which of several equal parts is which, nobody can
know.
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
"""Most parts with the same key that are tried for a part.

A machine may send thousands of equal ones, and trying all of them with one
another would take too long.
"""

Pair = tuple[part.Part, part.Part]

_GetKeys = Callable[[part.Part], Iterable[Hashable]]
_MayPair = Callable[[part.Part, part.Part], bool]


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
    """Pair the parts that one source reported at two times.

    The surest pairs are made first: a disk is paired by its serial number
    rather than by its slot. Then come parts with the same slot and model, and
    last parts that have no more in common than their kind.
    """
    pairing = Pairing([], list(before), list(after))
    for get_keys, may_pair in _STEPS:
        if not pairing.before or not pairing.after:
            # All parts of one time have a partner.
            break
        pairing = _pair_by_key(get_keys, may_pair, pairing)
    return pairing


def _identities(member: part.Part) -> Iterable[Hashable]:
    """Return the identities of a part, such as ``('disk', 's3z8')``."""
    return member.identities


def _slot_and_make(member: part.Part) -> Iterable[Hashable]:
    """Return a key of kind, slot and attributes; none without a slot."""
    if not member.slot:
        return []
    return [(member.kind, member.slot, _describe_make(member))]


def _make_alone(member: part.Part) -> Iterable[Hashable]:
    """Return a key of kind and attributes, in whichever slot the part is."""
    return [(member.kind, _describe_make(member))]


def _slot_alone(member: part.Part) -> Iterable[Hashable]:
    """Return a key of kind and slot; none without a slot."""
    if not member.slot:
        return []
    return [(member.kind, member.slot)]


def _kind_alone(member: part.Part) -> Iterable[Hashable]:
    """Return the kind as the only key: any two disks have it in common."""
    return [member.kind]


def _describe_make(member: part.Part) -> Hashable:
    """Return the attributes of a part, such as its model and its size.

    As texts, which can be sorted whatever the types of the values are.
    """
    return tuple(sorted(map(str, member.attributes.items())))


def _accept_all(_old: part.Part, _new: part.Part) -> bool:
    """Accept any pair: an identity in common is enough."""
    return True


def _may_be_same_unidentified(old: part.Part, new: part.Part) -> bool:
    """Check that parts may be the same, where neither report has an identity.

    Identities that the earlier part has from still earlier reports do not
    count.
    """
    return not old.is_identified and not new.ids and _may_be_same(old, new)


def _may_be_same_half_identified(old: part.Part, new: part.Part) -> bool:
    """Check that parts may be the same, where at least one has no identity."""
    if old.ids and new.ids:
        return False
    return _may_be_same(old, new)


def _may_be_same(old: part.Part, new: part.Part) -> bool:
    """Check that parts may be the same: no attribute of both differs.

    An attribute that only one of the parts has does not count.
    """
    return all(
        new.attributes.get(name, value) == value
        for name, value in old.attributes.items()
    )


_STEPS: tuple[tuple[_GetKeys, _MayPair], ...] = (
    (_identities, _accept_all),
    # Two parts without identity rather than one of them and one with: the
    # latter may have replaced another part.
    (_slot_and_make, _may_be_same_unidentified),
    (_make_alone, _may_be_same_unidentified),
    (_slot_and_make, _may_be_same_half_identified),
    (_make_alone, _may_be_same_half_identified),
    # For a collector that reports fewer attributes than before, so that the
    # make is not the same.
    (_slot_alone, _may_be_same_unidentified),
    (_slot_alone, _may_be_same_half_identified),
    (_kind_alone, _may_be_same_unidentified),
    (_kind_alone, _may_be_same_half_identified),
)
"""The steps of pairing, the surest first: keys of a part, and a test.

In a step, two parts are paired that have a key in common and pass the test.
"""


def _pair_by_key(
    get_keys: _GetKeys, may_pair: _MayPair, pairing: Pairing
) -> Pairing:
    """Pair each earlier part with the first later part that shares a key.

    For example, with serial numbers as keys, an earlier disk is paired with
    the later disk of the same serial number. The two must also pass the test.
    The first later part is that which the report has first.

    :param get_keys: returns the keys of a part.
    :param may_pair: tests an earlier part and a later part.
    :param pairing: the result of the steps before, whose pairs stay.
    """
    # Positions of the later parts that are not paired yet.
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
        # A part is paired only once.
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
    """Yield positions of later parts that have one of the keys.

    They are in the order of the report. A machine may send thousands of parts
    with one key: at most 20 are tried.
    """
    for key in keys:
        positions = positions_by_key.get(key, [])
        yield from positions[:_MAX_CANDIDATES]
