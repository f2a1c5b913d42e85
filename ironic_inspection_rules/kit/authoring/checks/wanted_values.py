# SPDX-License-Identifier: Apache-2.0

"""lint: which rules one machine may match, by the values that they want.

A rule wants a value of a field if its conditions hold for some values only:
with ``eq: ["{node.driver}", ipmi]`` it wants the driver ``ipmi``.
"""

import bisect
import collections
from collections.abc import Mapping, Sequence
import dataclasses
import ipaddress
import math
import typing

from ironic_inspection_rules.engine.language import plugin
from ironic_inspection_rules.kit.authoring.checks import facts
from ironic_inspection_rules.plugins.conditions import comparison

WantedField = tuple[str, str]
"""The name of a field, such as ``/node/driver``, and the ``vars`` of the rule
as JSON if its condition reads them, else ``''``: the same words over other
``vars`` are conditions on other things."""

Bound = tuple[typing.Any, int]
"""Where a range begins or ends: at a value (0), just below (-1) or just above
it (1). "More than 4" begins at ``(4, 1)``, "at most 8" ends at ``(8, 0)``."""

NUMBERS = 'numbers'
VERSIONS = 'versions'
ADDRESSES = 'addresses'

_ENDS: dict[str, tuple[typing.Any, typing.Any]] = {
    NUMBERS: (-math.inf, math.inf),
    # Below and above the key of any version, which is a tuple of tuples.
    VERSIONS: ((), ((math.inf,),)),
}
"""The lowest and the highest value of a range without a bound there."""


class WantedRange(typing.NamedTuple):
    """The values between two bounds.

    They are numbers, keys of versions (:func:`.comparison.version_key`), or
    addresses as pairs of the version of IP and a number.
    """

    low: Bound
    high: Bound

    @property
    def is_empty(self) -> bool:
        """Whether no value is in the range."""
        return self.low > self.high

    def within(self, other: 'WantedRange') -> 'WantedRange':
        """Return the range of the values that are in this and another one."""
        # It is empty where the ranges have no value in common: the higher
        # begin is then above the lower end.
        low = max(self.low, other.low)
        high = min(self.high, other.high)
        return WantedRange(low, high)


@dataclasses.dataclass
class WantedValues:
    """The values that a rule wants, by the field.

    :ivar listed: the only values that a field may have, such as
        ``{'ipmi', 'redfish'}``; see :func:`.facts.distinct_values`.
    :ivar ranges: the range that a field has to be in, by the field and
        :data:`NUMBERS`, :data:`VERSIONS` or :data:`ADDRESSES`. A field with
        listed numbers has the range from the lowest to the highest, too, to
        be compared with the ranges of other rules.
    """

    listed: dict[WantedField, set[typing.Any]] = dataclasses.field(
        default_factory=dict
    )
    ranges: dict[tuple[WantedField, str], WantedRange] = dataclasses.field(
        default_factory=dict
    )

    def add(self, fact: facts.Fact, read_vars: str) -> None:
        """Add what a condition of the rule states of a field.

        ``one-of [4, 8]`` is added as the listed values 4 and 8, and as the
        range from 4 to 8; ``lt 8`` is a range only. Of a text that is a bound,
        such as ``lt b``, nothing is added.

        :param read_vars: the second part of a :data:`WantedField`.
        """
        field = fact.field, read_vars
        values = facts.distinct_values(fact)
        if values is not None:
            self.listed.setdefault(field, values)
            if values and all(map(_is_number, values)):
                low = min(values), 0
                high = max(values), 0
                self._add_range(field, NUMBERS, WantedRange(low, high))
        elif fact.relation == plugin.IN_NET:
            subnet = _range_of_subnet(fact.value)
            if subnet is not None:
                self._add_range(field, ADDRESSES, subnet)
        elif facts.is_version(fact) and isinstance(fact.value, str):
            version = comparison.version_key(fact.value)
            self._add_range(
                field, VERSIONS, _range_of_relation(fact, VERSIONS, version)
            )
        elif _is_number(fact.value) and not fact.unordered:
            self._add_range(
                field, NUMBERS, _range_of_relation(fact, NUMBERS, fact.value)
            )

    def _add_range(
        self, field: WantedField, kind: str, added: WantedRange
    ) -> None:
        """Narrow the range of a field to what is in another range, too."""
        before = self.ranges.get((field, kind), added)
        self.ranges[field, kind] = before.within(added)


def _range_of_relation(
    fact: facts.Fact, kind: str, value: typing.Any
) -> WantedRange:
    """Return the range of the values that a comparison allows.

    :param value: what the field is compared with, as ranges of this kind have
        it.
    :returns: for ``lt 8``, the range from minus infinity to just below 8; for
        ``ne``, which forbids a single value, the range of all values.
    """
    lowest, highest = _ENDS[kind]
    low = lowest, 0
    high = highest, 0
    relation = fact.relation.removeprefix(plugin.VERSION)
    if relation in ('eq', 'ge'):
        low = value, 0
    if relation in ('eq', 'le'):
        high = value, 0
    if relation == 'gt':
        low = value, 1
    if relation == 'lt':
        high = value, -1
    return WantedRange(low, high)


def _range_of_subnet(written: typing.Any) -> WantedRange | None:
    """Return the first and the last address of a subnet, None if it is none.

    ``10.0.0.0/24`` begins at ``(4, 167772160)``: all of IPv4 is before IPv6.
    """
    try:
        subnet = ipaddress.ip_network(str(written).strip(), strict=False)
    except ValueError:
        # The rule is refused.
        return None
    first = subnet.version, int(subnet.network_address)
    last = subnet.version, int(subnet.broadcast_address)
    return WantedRange((first, 0), (last, 0))


def _is_number(value: typing.Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


class _RangesOfField:
    """The ranges of one field that rules want, sorted by both their ends.

    :param range_by_rule: the ranges, none of them empty, by the positions of
        the rules.
    """

    def __init__(self, range_by_rule: Mapping[int, WantedRange]) -> None:
        by_low = sorted(
            (wanted.low, rule) for rule, wanted in range_by_rule.items()
        )
        by_high = sorted(
            (wanted.high, rule) for rule, wanted in range_by_rule.items()
        )
        self._lows = [low for low, _rule in by_low]
        self._rules_by_low = [rule for _low, rule in by_low]
        self._highs = [high for high, _rule in by_high]
        self._rules_by_high = [rule for _high, rule in by_high]

    def find_apart(self, wanted: WantedRange) -> list[int]:
        """Return the rules whose ranges have no value of a wanted range.

        They end before it begins, or begin after it ends.
        """
        ending_before = bisect.bisect_left(self._highs, wanted.low)
        first_beginning_after = bisect.bisect_right(self._lows, wanted.high)
        return (
            self._rules_by_high[:ending_before]
            + self._rules_by_low[first_beginning_after:]
        )


def pairs_that_may_meet(
    wanted_by_rule: Sequence[WantedValues],
) -> typing.Iterator[tuple[int, int]]:
    """Yield the pairs of rules that one machine may match.

    Left out are rules that want different values of one field, such as a
    serial number or a range of memory for each rule. Of a thousand such rules
    there are half a million pairs: they are never compared one by one.

    :param wanted_by_rule: what each rule wants. A rule is named by its
        position in this list.
    :returns: pairs in order; the first position is lower than the second.
    """
    # Rules that list values of a field, and those that list a certain value.
    listing: dict[WantedField, set[int]] = collections.defaultdict(set)
    listing_value: dict[tuple[WantedField, typing.Any], set[int]] = (
        collections.defaultdict(set)
    )
    range_by_rule: dict[tuple[WantedField, str], dict[int, WantedRange]] = (
        collections.defaultdict(dict)
    )
    for rule, wanted in enumerate(wanted_by_rule):
        for field, values in wanted.listed.items():
            listing[field].add(rule)
            for value in values:
                listing_value[field, value].add(rule)
        for field_and_kind, wanted_range in wanted.ranges.items():
            if not wanted_range.is_empty:
                # Else the rule never holds, which another check reports.
                range_by_rule[field_and_kind][rule] = wanted_range
    ranges = {
        field_and_kind: _RangesOfField(ranges_of_field)
        for field_and_kind, ranges_of_field in range_by_rule.items()
    }
    # The partners of one rule at a time: those of all rules, for each field,
    # would fill the memory.
    for rule, wanted in enumerate(wanted_by_rule):
        partners = set(range(rule + 1, len(wanted_by_rule)))
        for field, values in wanted.listed.items():
            listing_others = set(listing[field])
            for value in values:
                listing_others -= listing_value[field, value]
            partners -= listing_others
        for field_and_kind, wanted_range in wanted.ranges.items():
            if not wanted_range.is_empty:
                apart = ranges[field_and_kind].find_apart(wanted_range)
                partners.difference_update(apart)
        for partner in sorted(partners):
            yield rule, partner
