# SPDX-License-Identifier: Apache-2.0

"""Find rules that may match the same machine, by the values they require.

A rule requires a value of a field if its conditions only hold for some values.
For example, a rule with ``eq: ["{node.driver}", ipmi]`` requires the driver
``ipmi``. A rule with ``gt: ["{inventory.cpu.count}", 8]`` requires a number in
the range above 8. Two rules cannot match the same machine if they require
different values of one field, or ranges that do not overlap.
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

RequiredField = tuple[str, str]
"""The name of a field, e.g. ``/node/driver``, and the ``vars`` of the rule as
JSON if its condition reads them, or ``''`` otherwise. Equally written
conditions over other ``vars`` are about other values."""

_JUST_BELOW = -1
_AT = 0
_JUST_ABOVE = 1

NUMBERS = 'numbers'
TEXTS = 'texts'
VERSIONS = 'versions'
ADDRESSES = 'addresses'

_ENDS: dict[str, tuple[typing.Any, typing.Any]] = {
    NUMBERS: (-math.inf, math.inf),
    # There is no highest text, so texts are pairs that begin with 0.
    TEXTS: ((0, ''), (1, '')),
    # These are below and above the key of any version, which is a tuple of
    # tuples.
    VERSIONS: ((), ((math.inf,),)),
}
"""The lowest and the highest value of a range that has no bound."""


class Bound(typing.NamedTuple):
    """The start or the end of a range.

    "More than 4" starts just above 4, and "at most 8" ends at 8. Bounds are
    compared by their value first, so "just below 8" is lower than "at 8".

    :ivar value: a number, a text as a pair of 0 and the text, the key of a
        version (:func:`.comparison.version_key`), or an address as a pair of
        the IP version and a number.
    :ivar side: ``_JUST_BELOW``, ``_AT`` or ``_JUST_ABOVE`` the value.
    """

    value: typing.Any
    side: int = _AT


class RequiredRange(typing.NamedTuple):
    """The values between two bounds.

    ``RequiredRange(Bound(4, _JUST_ABOVE), Bound(8))`` has all numbers above 4,
    up to 8.
    """

    low: Bound
    high: Bound

    @property
    def is_empty(self) -> bool:
        """Whether the range contains no values."""
        return self.low > self.high

    def within(self, other: 'RequiredRange') -> 'RequiredRange':
        """Return the intersection of this range and another range."""
        # If the ranges have no common value, the result is empty, because the
        # higher start is above the lower end.
        low = max(self.low, other.low)
        high = min(self.high, other.high)
        return RequiredRange(low, high)


@dataclasses.dataclass
class RequiredValues:
    """The values that a rule requires, by field.

    :ivar listed: the only values that a field may have, e.g. ``{'ipmi',
        'redfish'}``; see :func:`.facts.distinct_values`.
    :ivar ranges: the range of a field, by the field and :data:`NUMBERS`,
        :data:`TEXTS`, :data:`VERSIONS` or :data:`ADDRESSES`. A field with
        listed numbers also has the range from the lowest to the highest
        number, to compare it with the ranges of other rules. So has a field
        with listed texts.
    """

    listed: dict[RequiredField, set[typing.Any]] = dataclasses.field(
        default_factory=dict
    )
    ranges: dict[tuple[RequiredField, str], RequiredRange] = dataclasses.field(
        default_factory=dict
    )

    def add(self, fact: facts.Fact, read_vars: str) -> None:
        """Add a fact about a field that a condition of the rule states.

        ``one-of [4, 8]`` is added as the listed values 4 and 8, and as the
        range from 4 to 8. ``lt 8`` and ``lt b`` are only added as ranges. ``lt
        "8"`` is not added, because it compares numbers as numbers and texts as
        texts.

        :param read_vars: the second part of a :data:`RequiredField`.
        """
        field = fact.field, read_vars
        values = facts.distinct_values(fact)
        if values is not None:
            self._add_listed(field, values)
        elif fact.relation == plugin.IN_NET:
            subnet = _range_of_subnet(fact.value)
            if subnet is not None:
                self._add_range(field, ADDRESSES, subnet)
        elif facts.is_version(fact) and isinstance(fact.value, str):
            version = comparison.version_key(fact.value)
            self._add_range(
                field, VERSIONS, _range_of_relation(fact, VERSIONS, version)
            )
        elif fact.unordered:
            # The fact also holds for values that have no order, which are in
            # no range.
            return
        elif _is_number(fact.value):
            self._add_range(
                field, NUMBERS, _range_of_relation(fact, NUMBERS, fact.value)
            )
        elif facts.is_plain_text(fact.value) and fact.relation != 'ne':
            text = 0, fact.value
            self._add_range(
                field, TEXTS, _range_of_relation(fact, TEXTS, text)
            )

    def _add_listed(
        self, field: RequiredField, values: set[typing.Any]
    ) -> None:
        """Add the only values that a field may have.

        If all of them are numbers, or all of them texts, add the range from
        the lowest to the highest value as well.
        """
        # If several conditions list values, those of the first are enough.
        self.listed.setdefault(field, values)
        if values and all(map(_is_number, values)):
            low = Bound(min(values))
            high = Bound(max(values))
            self._add_range(field, NUMBERS, RequiredRange(low, high))
        elif values and all(map(facts.is_plain_text, values)):
            low = Bound((0, min(values)))
            high = Bound((0, max(values)))
            self._add_range(field, TEXTS, RequiredRange(low, high))

    def _add_range(
        self, field: RequiredField, kind: str, added: RequiredRange
    ) -> None:
        """Intersect the range of a field with another range."""
        before = self.ranges.get((field, kind), added)
        self.ranges[field, kind] = before.within(added)


def _range_of_relation(
    fact: facts.Fact, kind: str, value: typing.Any
) -> RequiredRange:
    """Return the range of the values that a comparison allows.

    :param value: the value with which the field is compared, in the form of
        ranges of this kind.
    :returns: for ``lt 8``, the range from minus infinity to just below 8; for
        ``ne``, which only excludes a single value, the range of all values.
    """
    lowest, highest = _ENDS[kind]
    low = Bound(lowest)
    high = Bound(highest)
    relation = fact.relation.removeprefix(plugin.VERSION)
    if relation in ('eq', 'ge'):
        low = Bound(value)
    if relation in ('eq', 'le'):
        high = Bound(value)
    if relation == 'gt':
        low = Bound(value, _JUST_ABOVE)
    if relation == 'lt':
        high = Bound(value, _JUST_BELOW)
    return RequiredRange(low, high)


def _range_of_subnet(written: typing.Any) -> RequiredRange | None:
    """Return the range of the addresses of a subnet; None if it is invalid.

    ``10.0.0.0/24`` starts at the address ``(4, 167772160)``. All IPv4
    addresses are lower than IPv6 addresses.
    """
    try:
        subnet = ipaddress.ip_network(str(written).strip(), strict=False)
    except ValueError:
        # Validation refuses the rule.
        return None
    first = subnet.version, int(subnet.network_address)
    last = subnet.version, int(subnet.broadcast_address)
    # Both addresses belong to the subnet.
    return RequiredRange(Bound(first), Bound(last))


def _is_number(value: typing.Any) -> bool:
    """Return whether a value is a number, and not a boolean."""
    return isinstance(value, int | float) and not isinstance(value, bool)


class _RangesOfField:
    """The ranges of one field that rules require, sorted by both their ends.

    The ranges that do not overlap with a given range are then found without
    comparing it with all of them.

    :param range_by_rule: the ranges by the positions of the rules; none of
        them is empty.
    """

    def __init__(self, range_by_rule: Mapping[int, RequiredRange]) -> None:
        by_low = sorted(
            (required.low, rule) for rule, required in range_by_rule.items()
        )
        by_high = sorted(
            (required.high, rule) for rule, required in range_by_rule.items()
        )
        self._lows = [low for low, _rule in by_low]
        self._rules_by_low = [rule for _low, rule in by_low]
        self._highs = [high for high, _rule in by_high]
        self._rules_by_high = [rule for _high, rule in by_high]

    def find_apart(self, required: RequiredRange) -> list[int]:
        """Return the rules whose ranges do not overlap with a given range."""
        number_below = bisect.bisect_left(self._highs, required.low)
        first_above = bisect.bisect_right(self._lows, required.high)
        rules_below = self._rules_by_high[:number_below]
        rules_above = self._rules_by_low[first_above:]
        return rules_below + rules_above


class _RuleIndex:
    """Finds the rules that require other values than a given rule.

    :param required_by_rule: the values that each rule requires. A rule is
        identified by its position in this list.
    """

    def __init__(self, required_by_rule: Sequence[RequiredValues]) -> None:
        # The rules that list any values of a field, and the rules that list a
        # certain value of a field.
        self._listing: dict[RequiredField, set[int]] = collections.defaultdict(
            set
        )
        self._listing_value: dict[
            tuple[RequiredField, typing.Any], set[int]
        ] = collections.defaultdict(set)
        range_by_rule: dict[
            tuple[RequiredField, str], dict[int, RequiredRange]
        ] = collections.defaultdict(dict)
        for rule, required in enumerate(required_by_rule):
            for field, values in required.listed.items():
                self._listing[field].add(rule)
                for value in values:
                    self._listing_value[field, value].add(rule)
            for field_and_kind, required_range in required.ranges.items():
                if not required_range.is_empty:
                    # Otherwise the rule never matches, which another check
                    # reports.
                    range_by_rule[field_and_kind][rule] = required_range
        self._ranges = {
            field_and_kind: _RangesOfField(ranges_of_field)
            for field_and_kind, ranges_of_field in range_by_rule.items()
        }

    def remove_apart(
        self, partners: set[int], required: RequiredValues
    ) -> None:
        """Remove the rules that never match the same machine as a rule.

        :param partners: rules, from which the others are removed.
        :param required: the values that the rule requires.
        """
        for field, values in required.listed.items():
            # The rules that list only other values of this field.
            listing_others = set(self._listing[field])
            for value in values:
                listing_others -= self._listing_value[field, value]
            partners -= listing_others
        for field_and_kind, required_range in required.ranges.items():
            if not required_range.is_empty:
                apart = self._ranges[field_and_kind].find_apart(required_range)
                partners.difference_update(apart)


def pairs_that_may_meet(
    required_by_rule: Sequence[RequiredValues],
) -> typing.Iterator[tuple[int, int]]:
    """Yield the pairs of rules that may match the same machine.

    Pairs of rules that require different values of one field are skipped, e.g.
    a serial number or a range of memory per rule. A thousand such rules have
    half a million pairs, which are never compared one by one.

    :param required_by_rule: the values that each rule requires. A rule is
        identified by its position in this list.
    :returns: pairs in order; the first position is lower than the second.
    """
    index = _RuleIndex(required_by_rule)
    # Compute the partners of one rule at a time, because those of all rules
    # and fields would fill the memory.
    for rule, required in enumerate(required_by_rule):
        # All later rules, from which the rules that cannot meet are removed.
        partners = set(range(rule + 1, len(required_by_rule)))
        index.remove_apart(partners, required)
        for partner in sorted(partners):
            yield rule, partner
