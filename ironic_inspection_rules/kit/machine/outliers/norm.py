# SPDX-License-Identifier: Apache-2.0

"""Find out which values are normal among peers, and which machines are odd.

Texts and lists of parts are either equal or different: a value is normal if
enough peers have it. The same holds for counts, such as 8 cores, if nearly all
peers have the same few counts. But measurements, such as the speed of a disk,
are never quite equal. They are normal if they are near the median, and odd if
they are farther from it than a limit.
"""

import bisect
import collections
from collections.abc import Hashable, Iterable, Mapping, Sequence
import dataclasses
import math
import statistics
import typing

NEARLY_ALL = 0.75
"""Least share of peers that have a normal value. A quarter of them may be
broken."""

QUARTER = 0.25
"""Share of peers that makes a second value normal, too."""

NOISE_OF_MEASUREMENT = 0.03
"""Expected noise of a measurement, as a share of the measured value."""

NOISE_OF_EXTREME = 0.045
"""Expected noise of the least or the greatest of several measurements."""

_NOISE_OF_CAPACITY = 0.005
"""Share of a capacity by which an equal capacity may differ."""

_MAX_DEVIATIONS = 6
"""Number of standard deviations from the median beyond which a number is
odd."""

_PEERS_THAT_DOUBLE_LIMIT = 4
"""Number of peers for which the limit is doubled, because their deviation may
be small by chance. With more peers, the limit is raised less."""

_STANDARD_PER_MEDIAN_DEVIATION = 1.4826
"""Ratio of the standard deviation of a normal distribution to its median
absolute deviation, which a few odd numbers hardly change."""

_MAX_SHARE_OF_DEVIATION = 0.15
"""Largest deviation with which numbers are compared, as a share of the
median."""

_DISTANCE_OF_COUNT = 2
"""The :attr:`Odd.relative_distance` of an odd count."""

_MIN_CAPACITY = 10000
"""Whole numbers below this are counts, for which a difference of one
matters."""


@dataclasses.dataclass(frozen=True)
class Norm:
    """The normal values of a field.

    :param accepted: the normal values, the most frequent first.
    :param count: the number of peers that have the most frequent value.
    :param normal_count: the number of peers that have any normal value.
    :param reporting_count: the number of peers that report the field.
    """

    accepted: tuple[typing.Any, ...]
    count: int
    normal_count: int
    reporting_count: int

    @property
    def value(self) -> typing.Any:
        """The most frequent value."""
        return self.accepted[0]


def find_norm(values: Iterable[Hashable], min_peers: int) -> Norm | None:
    """Return the values that nearly all peers have; None if there are none.

    For example, if nine peers have ``uefi`` and one has ``bios``, only
    ``uefi`` is normal.

    :param values: the value of every peer; None if it reports nothing.
    :param min_peers: the number of peers that must report a value.
    """
    counts = collections.Counter(values)
    # Peers that report nothing are not counted.
    counts.pop(None, None)
    return find_norm_of_counts(counts, min_peers)


def find_norm_of_counts(
    counts: 'collections.Counter[Hashable]', min_peers: int
) -> Norm | None:
    """Return the values that nearly all peers have; see :func:`find_norm`.

    A value is normal if at least a quarter of the peers have it, and at least
    ``min_peers`` of them. If there is no such value, the most frequent value
    is normal.

    :param counts: the number of peers, by value.
    :param min_peers: the number of peers that must report a value.
    :returns: None if too few peers report a value, or if more than a quarter
        of the reporting peers have a value that is not normal.
    """
    reporting_count = counts.total()
    if reporting_count < min_peers:
        return None
    # Equally frequent values are sorted by their text, so that the result does
    # not depend on the order of the machines.
    ordered = sorted(counts, key=str)
    ordered.sort(key=counts.__getitem__, reverse=True)
    enough = max(min_peers, reporting_count * QUARTER)
    accepted = [value for value in ordered if counts[value] >= enough]
    most_frequent = ordered[0]
    if not accepted:
        accepted = [most_frequent]
    normal_count = sum(counts[value] for value in accepted)
    if normal_count < reporting_count * NEARLY_ALL:
        return None
    return Norm(
        accepted=tuple(accepted),
        count=counts[most_frequent],
        normal_count=normal_count,
        reporting_count=reporting_count,
    )


@dataclasses.dataclass(frozen=True)
class Odd:
    """A number that is far from the numbers of the peers.

    :param index: the index of the machine among its peers.
    :param relative_distance: the distance from the median, as a multiple of
        the limit; 2 for a count.
    """

    index: int
    value: float
    relative_distance: float


@dataclasses.dataclass(frozen=True)
class Range:
    """The normal number of peers, and the machines that are far from it.

    :param value: the most frequent number, or the median.
    :param count: the number of peers that have this number, or are near the
        median.
    :param reporting_count: the number of peers that report a number.
    :param odd: the numbers that are far from all normal numbers.
    """

    value: float
    count: int
    reporting_count: int
    odd: tuple[Odd, ...]


def find_normal_numbers(
    values: Sequence[float], min_peers: int
) -> Range | None:
    """Return the normal counts or capacities, and the machines with others.

    Numbers that many peers have are normal if nearly all peers have one of
    them, e.g. 8 and 16 processors. A count must be equal to one of them, a
    capacity may differ a little. If no numbers are normal in this sense, the
    median is, and machines far from it are odd.

    :param values: the numbers of the peers; NaN if a peer reports nothing.
    :param min_peers: the number of peers that must report a number.
    :returns: None if too few peers report a number, or if their numbers vary
        too much.
    """
    reported = _reported_numbers(values)
    if len(reported) < min_peers:
        return None
    normal = find_norm((value for _index, value in reported), min_peers)
    if normal is None:
        # The peers have different numbers, which may still be close together.
        return _range_by_spread(reported, _NOISE_OF_CAPACITY)
    odd = []
    for index, value in reported:
        if not _is_nearly_normal(value, normal):
            odd.append(
                Odd(
                    index=index,
                    value=value,
                    relative_distance=_DISTANCE_OF_COUNT,
                )
            )
    return Range(
        value=normal.value,
        count=normal.count,
        reporting_count=normal.reporting_count,
        odd=tuple(odd),
    )


def find_range_of_measurements(
    values: Sequence[float], min_peers: int, noise: float
) -> Range | None:
    """Return the normal measurement, and the machines far from it.

    The median is normal, because no two measurements are equal, e.g. of the
    speed of a disk. If the median is 0, the numbers are compared as counts.

    :param values: the numbers of the peers; NaN if a peer reports nothing.
    :param min_peers: the number of peers that must report a number.
    :param noise: the expected noise, as a share of the measured value.
    :returns: None if too few peers report a number, or if their numbers vary
        too much.
    """
    reported = _reported_numbers(values)
    if len(reported) < min_peers:
        return None
    if statistics.median(value for _index, value in reported) == 0:
        # The noise would be zero, as a share of zero. Such numbers are counts,
        # e.g. the errors of a burn-in.
        return find_normal_numbers(values, min_peers)
    return _range_by_spread(reported, noise)


def _reported_numbers(values: Sequence[float]) -> list[tuple[int, float]]:
    """Return the numbers that are reported, with the indexes of machines.

    For example, ``[(0, 8.0), (2, 8.0)]`` for 8, NaN and 8.
    """
    return [
        (index, value)
        for index, value in enumerate(values)
        if not math.isnan(value)
    ]


def _is_nearly_normal(value: float, normal: Norm) -> bool:
    """Return whether a number is normal, or nearly equal to a normal number.

    For example, a capacity of 960100 is nearly equal to 960000. Counts must be
    equal: 7 cores are not nearly 8.

    :param value: the number of one machine.
    :param normal: the numbers that are normal among its peers.
    """
    if value in normal.accepted:
        return True
    nearest = _nearest(normal.accepted, value)
    is_count = nearest.is_integer() and value.is_integer()
    if is_count and max(abs(nearest), abs(value)) < _MIN_CAPACITY:
        return False
    return bool(abs(value - nearest) <= _NOISE_OF_CAPACITY * abs(nearest))


def _range_by_spread(
    reported: Sequence[tuple[int, float]], noise: float
) -> Range | None:
    """Return the median of numbers, and the machines too far from it.

    For example, the median of 100, 101, 99, 100, 100 and 160 is 100. If the
    noise is 0.03, the machine with 160 is odd.

    :param reported: pairs of the index of a machine and its number.
    :param noise: the expected noise, as a share of the median.
    :returns: None if the numbers vary too much to be compared, if the median
        is 0, or if more than a quarter of the machines would be odd.
    """
    amounts = [value for _index, value in reported]
    median = statistics.median(amounts)
    distances = [abs(value - median) for value in amounts]
    # The deviation is computed from the median of the distances. A single
    # machine that is far away would change their mean.
    deviation = _STANDARD_PER_MEDIAN_DEVIATION * statistics.median(distances)
    if median == 0 or deviation > _MAX_SHARE_OF_DEVIATION * abs(median):
        # The numbers vary too much to say which are normal, or there is no
        # median of which the noise could be a share.
        return None
    limit_of_noise = _MAX_DEVIATIONS * noise * abs(median)
    # The fewer numbers there are, the more likely they are close to each other
    # by chance, so that another number looks odd. The allowance for four
    # numbers is 2.
    allowance_for_few = 1 + _PEERS_THAT_DOUBLE_LIMIT / len(amounts)
    limit_of_spread = _MAX_DEVIATIONS * deviation * allowance_for_few
    limit = max(limit_of_noise, limit_of_spread)
    odd = []
    for index, value in reported:
        distance = abs(value - median)
        if distance > limit:
            odd.append(
                Odd(
                    index=index,
                    value=value,
                    relative_distance=distance / limit,
                )
            )
    if len(odd) > len(reported) * QUARTER:
        # So many machines are not broken, but are another population.
        return None
    return Range(
        value=median,
        count=len(reported) - len(odd),
        reporting_count=len(reported),
        odd=tuple(odd),
    )


def find_common_capacities(
    counts: Mapping[typing.Any, int],
) -> dict[typing.Any, typing.Any]:
    """Find the common capacities that replace nearly equal ones.

    For example, ``{960000: 9, 960100: 1}`` gives ``{960100: 960000}``. Disks
    of one model differ by a few sectors, and memory differs by the part that
    firmware reserves. Numbers below 10000 are counts: 23 processors are not
    24.

    :param counts: the number of peers, by value. Values that are not
        capacities are never replaced.
    :returns: the common capacity, by the capacity that it replaces.
    """
    # The most frequent capacity comes first, and replaces the others. Of
    # equally frequent capacities, the least comes first.
    capacities = sorted(value for value in counts if _is_capacity(value))
    capacities.sort(key=counts.__getitem__, reverse=True)
    # The common capacities, in ascending order. Therefore only the two
    # neighbors of a capacity can be nearly equal to it.
    common: list[float] = []
    replacements = {}
    for capacity in capacities:
        index = bisect.bisect(common, capacity)
        neighbors = common[max(0, index - 1) : index + 1]
        nearby = []
        for neighbor in neighbors:
            tolerance = _NOISE_OF_CAPACITY * abs(neighbor)
            if abs(neighbor - capacity) <= tolerance:
                nearby.append(neighbor)
        if nearby:
            replacements[capacity] = _nearest(nearby, capacity)
        else:
            common.insert(index, capacity)
    return replacements


def _is_capacity(value: typing.Any) -> bool:
    """Return whether a value is a number that is too large for a count."""
    return type(value) in (int, float) and abs(value) >= _MIN_CAPACITY


def _nearest(numbers: Iterable[typing.Any], value: float) -> typing.Any:
    """Return the number nearest to a value; the first if there are several."""

    def distance(number: float) -> float:
        return abs(number - value)

    return min(numbers, key=distance)
