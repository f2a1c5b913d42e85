# SPDX-License-Identifier: Apache-2.0

"""What is normal among peers, so that odd machines can be found.

A value may be a text or a list of parts, of which only equal ones are alike.
Numbers that are measured are normal near the median.
"""

import bisect
import collections
from collections.abc import Hashable, Iterable, Mapping, Sequence
import dataclasses
import math
import statistics
import typing

NEARLY_ALL = 0.75
"""Least share of peers whose values are normal. A fifth may be broken."""

QUARTER = 0.25
"""Share of peers that is enough for a second value to be normal too."""

_MEASURED = 0.03
"""Noise of a measurement that is always expected, as a share of it."""

_EXTREME = 0.045
"""The same for the least or most of several measurements."""

_CAPACITY_NOISE = 0.005
"""Share of a capacity by which another one may differ and count as equal."""

_FAR = 6
"""Standard deviations from the median beyond which a number is odd."""

_SMALL_SAMPLE = 4
"""With so few peers twice that is allowed, and less with more peers."""

_DEVIATION = 1.4826
"""The standard deviation of a normal distribution, in median absolute
deviations. These hardly change with a few odd numbers."""

_UNSTEADY = 0.15
"""Largest spread, as a share of the median, of numbers that are compared."""

_FAR_COUNT = 2
"""How far any other count is from normal, in the unit of :attr:`Odd.far`."""

_EXACT = 10000
"""Whole numbers below it are counts, of which each one matters."""


@dataclasses.dataclass(frozen=True)
class Norm:
    """The values of a field that are normal.

    :param accepted: the most frequent one first.
    :param count: how many peers have the most frequent one.
    :param fitting: how many have any of them.
    :param of: how many report the field.
    """

    accepted: tuple[typing.Any, ...]
    count: int
    fitting: int
    of: int

    @property
    def value(self) -> typing.Any:
        """The most frequent value."""
        return self.accepted[0]


def shared(values: Iterable[Hashable], least: int) -> Norm | None:
    """Return the values that nearly all peers share, None where none are.

    :param values: one of each peer; None where it reports nothing.
    :param least: peers that must report something.
    """
    counts = collections.Counter(values)
    counts.pop(None, None)
    return shared_counts(counts, least)


def shared_counts(
    counts: 'collections.Counter[Hashable]', least: int
) -> Norm | None:
    """Return the values that nearly all peers share; see :func:`shared`.

    Normal are all values that a quarter of the peers have, and at least
    ``least`` of them; or else the most frequent one.

    :param counts: how many peers have a value, without those that report
        none.
    :param least: peers that must report something.
    :returns: None where the normal values together are not those of nearly
        all peers.
    """
    reporting = counts.total()
    if reporting < least:
        return None
    # The most frequent first. Equally frequent ones are sorted by their text,
    # so that the order of the machines does not matter.
    ordered = sorted(counts, key=str)
    ordered.sort(key=counts.__getitem__, reverse=True)
    enough = max(least, reporting * QUARTER)
    accepted = [value for value in ordered if counts[value] >= enough]
    most_frequent = ordered[0]
    if not accepted:
        accepted = [most_frequent]
    fitting = sum(counts[value] for value in accepted)
    if fitting < reporting * NEARLY_ALL:
        return None
    return Norm(tuple(accepted), counts[most_frequent], fitting, reporting)


@dataclasses.dataclass(frozen=True)
class Odd:
    """A number that is far from those of the peers.

    :param place: of the machine among its peers.
    :param far: the distance from the median, as a multiple of the limit.
    """

    place: int
    value: float
    far: float


@dataclasses.dataclass(frozen=True)
class Range:
    """The normal number of peers, and the machines that are far from it.

    :param value: the most frequent number, or the median.
    :param count: how many peers have that number, or are near the median.
    :param of: how many report the number.
    :param odd: the numbers that are far from it, with their machines.
    """

    value: float
    count: int
    of: int
    odd: tuple[Odd, ...]


def numbers(
    values: Sequence[float], least: int, measured: bool, extreme: bool = False
) -> Range | None:
    """Return the normal number of peers, and the machines far from it.

    Counts and capacities are compared with the number that nearly all peers
    share; where there is none, and for what is measured, with the median.

    :param values: of the peers; NaN where one reports none.
    :param least: peers that must report a number.
    :param measured: whether the number is measured, so that all differ.
    :param extreme: whether it is the least or the most of several.
    :returns: None where too few peers report a number, or their numbers vary
        too much.
    """
    reported = [
        (place, value)
        for place, value in enumerate(values)
        if not math.isnan(value)
    ]
    if len(reported) < least:
        return None
    amounts = [value for _place, value in reported]
    # Around a median of zero there is no noise in shares of it: such numbers
    # are counts after all, as of errors in a burn-in.
    if not measured or not statistics.median(amounts):
        normal = shared(amounts, least)
        if normal is not None:
            return _range_of_counts(reported, normal)
    if not measured:
        return _range_by_spread(reported, _CAPACITY_NOISE)
    if extreme:
        return _range_by_spread(reported, _EXTREME)
    return _range_by_spread(reported, _MEASURED)


def _range_of_counts(
    known: Sequence[tuple[int, float]], normal: Norm
) -> Range:
    """Compare numbers that nearly all peers share.

    :param known: places of machines, and their numbers.
    """
    odd = tuple(
        Odd(place, value, _FAR_COUNT)
        for place, value in known
        if not _is_accepted(value, normal)
    )
    return Range(normal.value, normal.count, normal.of, odd)


def _is_accepted(value: float, normal: Norm) -> bool:
    """Return whether a number is normal, or nearly equal to a normal one.

    Counts have to be equal: 7 cores are not nearly 8.
    """
    if value in normal.accepted:
        return True
    nearest = _nearest(normal.accepted, value)
    is_count = nearest.is_integer() and value.is_integer()
    if is_count and max(abs(nearest), abs(value)) < _EXACT:
        return False
    return bool(abs(value - nearest) <= _CAPACITY_NOISE * abs(nearest))


def _range_by_spread(
    reported: Sequence[tuple[int, float]], noise: float
) -> Range | None:
    """Return the median of numbers, and the numbers that are far from it.

    How far is too far depends on their median absolute deviation.

    :param reported: places of machines, and their numbers.
    :param noise: a share of the median that is always expected.
    :returns: None where the numbers vary too much to be compared, or more
        than a quarter of the machines would be odd.
    """
    amounts = [value for _place, value in reported]
    middle = statistics.median(amounts)
    distances = [abs(value - middle) for value in amounts]
    deviation = _DEVIATION * statistics.median(distances)
    if not middle or deviation > _UNSTEADY * abs(middle):
        return None
    # The deviation of few numbers may be small by chance: the fewer there are,
    # the farther an odd one has to be.
    far = _FAR * (1 + _SMALL_SAMPLE / len(amounts))
    limit = max(_FAR * noise * abs(middle), far * deviation)
    odd = []
    for place, value in reported:
        distance = abs(value - middle)
        if distance > limit:
            odd.append(Odd(place, value, distance / limit))
    if len(odd) > len(reported) * QUARTER:
        # So many are another population, and not broken.
        return None
    return Range(
        value=middle,
        count=len(reported) - len(odd),
        of=len(reported),
        odd=tuple(odd),
    )


def unify(counts: Mapping[typing.Any, int]) -> dict[typing.Any, typing.Any]:
    """Return which capacities to replace by a nearly equal, more frequent one.

    Disks of one model differ by some sectors, and memory by what firmware
    takes: without this, such peers would not share a value. Numbers below
    10000 are counts: 23 processors are not 24.

    :param counts: how many peers have a value, by the value. Values other
        than capacities may be among them, and are never replaced.
    :returns: the capacity to take instead, by the one that it replaces; those
        that stay as they are have no entry.
    """
    # The most frequent first, of equally frequent ones the least.
    capacities = sorted(value for value in counts if _is_capacity(value))
    capacities.sort(key=counts.__getitem__, reverse=True)
    # The capacities that stay, in ascending order.
    kept: list[float] = []
    replacements = {}
    for capacity in capacities:
        place = bisect.bisect(kept, capacity)
        neighbours = kept[max(0, place - 1) : place + 1]
        nearby = []
        for neighbour in neighbours:
            tolerance = _CAPACITY_NOISE * abs(neighbour)
            if abs(neighbour - capacity) <= tolerance:
                nearby.append(neighbour)
        if nearby:
            replacements[capacity] = _nearest(nearby, capacity)
        else:
            kept.insert(place, capacity)
    return replacements


def _is_capacity(value: typing.Any) -> bool:
    """Return whether a value is a number that is no count."""
    return type(value) in (int, float) and abs(value) >= _EXACT


def _nearest(numbers: Iterable[typing.Any], value: float) -> typing.Any:
    """Return the number that is nearest to a value, the first of several."""

    def distance(number: float) -> float:
        return abs(number - value)

    return min(numbers, key=distance)
