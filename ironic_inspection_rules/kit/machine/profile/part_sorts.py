# SPDX-License-Identifier: Apache-2.0

"""Sorts of disks, interfaces and devices, which rules of a profile count.

A profile is a set of rules that accept only machines like a sample of good
machines. One of its rules says, for example, that a machine must have four
"SSD 480 GB Intel". These disks are a sort. A sort is defined by tests of
attributes, such as a size from 456 to 504 GB and the vendor Intel. The tests
are written in two ways:

* as filters, for the rule that counts the parts of the sort, and
* as a condition, for the rule that finds parts of no sort in a loop.
"""

from collections.abc import Hashable, Mapping, Sequence
import dataclasses
import itertools
import typing

from ironic_inspection_rules.engine.language import interpolation
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.kit.machine.profile import component

_SIZE = 'size'
# A label names at most this many values. If there are more, it gives their
# number.
_MAX_NAMES = 3

Key = tuple[typing.Any, ...]
"""The values of a part for the reported attributes, in the same order."""


@dataclasses.dataclass(frozen=True)
class ValueTest:
    """The test that an attribute has one of several values.

    :ivar values: the accepted values. ``(None,)`` accepts an attribute that is
        null or missing; None is never combined with other values.
    """

    values: tuple[typing.Any, ...]

    def holds(self, value: typing.Any) -> bool:
        """Return whether a value passes the test."""
        return value in self.values

    def filter(self, name: str) -> str:
        """Return the filter that keeps the items of a list that pass the test.

        For example, ``selectattr('vendor', 'eq', 'Intel')``.

        :param name: the name of the attribute that is tested.
        """
        if self.values == (None,):
            # This filter also keeps items that lack the attribute, because
            # neither "eq" nor "ne" is true for them.
            return f"rejectattr('{name}', 'ne', null)"
        if len(self.values) == 1:
            return f"selectattr('{name}', 'eq', {literal(self.values[0])})"
        return f"selectattr('{name}', 'one-of', {literal(self.values)})"

    def condition(self, name: str) -> dict[str, typing.Any]:
        """Return the condition that the item of a loop passes the test.

        For example, ``{'op': 'one-of', 'args': {'value': '{item.vendor}',
        'values': ['Intel']}}``.

        :param name: the name of the attribute that is tested.
        """
        field = f'{{item.{name}}}'
        if self.values == (None,):
            return {'op': 'is-none', 'args': {'value': field}}
        escaped = [escape(value) for value in self.values]
        return {'op': 'one-of', 'args': {'value': field, 'values': escaped}}


@dataclasses.dataclass(frozen=True)
class RangeTest:
    """The test that an attribute is a number from ``low`` to ``high``."""

    low: int
    high: int

    def holds(self, value: typing.Any) -> bool:
        """Return whether a value passes the test."""
        return component.is_number(value) and self.low <= value <= self.high

    def filter(self, name: str) -> str:
        """Return the filter that keeps the items of a list that pass the test.

        For example, ``selectattr('size', 'ge', 912) | selectattr('size', 'le',
        1008)``.

        :param name: the name of the attribute that is tested.
        """
        if self.low == self.high:
            return f"selectattr('{name}', 'eq', {self.low})"
        return (
            f"selectattr('{name}', 'ge', {self.low}) | "
            f"selectattr('{name}', 'le', {self.high})"
        )

    def condition(self, name: str) -> dict[str, typing.Any]:
        """Return the condition that the item of a loop passes the test.

        It is true if ``low <= item.<name> <= high``.

        :param name: the name of the attribute that is tested.
        """
        field = f'{{item.{name}}}'
        return {'op': 'le', 'args': {'values': [self.low, field, self.high]}}


@dataclasses.dataclass(frozen=True)
class PartSort:
    """A sort of parts, such as all SSDs of 480 GB, which a rule counts.

    :param tests: the tests, by name of the attribute. A part is of this sort
        if it passes all of them.
    :param label: the name for messages, e.g. ``SSD 480 GB``.
    """

    tests: Mapping[str, ValueTest | RangeTest]
    label: str

    def count(self, items: Sequence[component.PartItem]) -> int:
        """Count the items that are of this sort."""
        return sum(map(self._accepts, items))

    def _accepts(self, item: component.PartItem) -> bool:
        """Return whether an item is of this sort."""
        for name, test in self.tests.items():
            if not test.holds(item.get(name)):
                return False
        return True

    @property
    def filters(self) -> list[str]:
        """The filters that keep the items of this sort in a list."""
        return [test.filter(name) for name, test in self.tests.items()]

    @property
    def condition(self) -> dict[str, typing.Any]:
        """The condition that the item of a loop is of this sort.

        All of its tests must hold.
        """
        conditions = [
            test.condition(name) for name, test in self.tests.items()
        ]
        if len(conditions) == 1:
            return conditions[0]
        return {'op': 'all-of', 'conditions': conditions}


def escape(value: typing.Any) -> typing.Any:
    """Escape a value, so that no part of it is read as a field.

    For example, the text ``{x}`` becomes ``{{x}}``. Values of other types
    stay.
    """
    if isinstance(value, str):
        return interpolation.escape(value)
    return value


_ESCAPED = str.maketrans(
    {
        '\\': '\\\\',
        "'": "\\'",
        '\n': '\\n',
        '\r': '\\r',
        '\t': '\\t',
    }
)


def literal(value: typing.Any) -> str:
    """Write a value as the argument of a filter.

    For example, the tuple ``('a', 1, True)`` becomes ``['a', 1, true]``.
    """
    if isinstance(value, tuple):
        return f'[{", ".join(map(literal, value))}]'
    if isinstance(value, str):
        return f"'{value.translate(_ESCAPED)}'"
    if isinstance(value, bool):
        return str(value).lower()
    return str(value)


def find_sorts(
    compared: component.ComparedParts,
    lists: Sequence[Sequence[component.PartItem]],
    tolerated: component.Tolerance,
) -> list[PartSort]:
    """Divide the parts of a sample into sorts, which rules will count.

    For example, if every machine has two SSDs of 480 GB and four of 960 GB,
    there are two sorts. Parts that only some machines have, such as disks of
    two vendors, are combined into one sort, because any machine may have
    either. But a spinning disk is never combined with a flash disk. Sorts
    whose ranges of sizes overlap are joined.

    :param compared: the list of parts, and the attributes that distinguish
        them.
    :param lists: the parts of every machine of the sample.
    :param tolerated: the amounts by which sizes may differ from the sample.
    """
    all_items = list(itertools.chain.from_iterable(lists))
    # Attributes that no part of the sample reports are skipped.
    reported = []
    for name in compared.attributes:
        if any(item.get(name) not in (None, '') for item in all_items):
            reported.append(name)
    keys_of_machines = []
    for items in lists:
        keys_of_machines.append(
            [_key_of_part(item, reported) for item in items]
        )
    groups = _group_keys(compared, reported, keys_of_machines)
    return _join_overlapping(compared, reported, groups, tolerated)


def _group_keys(
    compared: component.ComparedParts,
    reported: Sequence[str],
    keys_of_machines: Sequence[Sequence[Key]],
) -> list[list[Key]]:
    """Group the keys of parts; every group becomes a sort.

    A key of a part that all machines have is a group of its own. If only some
    machines have a part, the others may have another part in its place.
    Therefore all such parts are one group if some attributes are equal, e.g.
    ``rotational`` for disks.

    :param reported: the names of the attributes in the keys, in order.
    :param keys_of_machines: the keys of the parts of every machine. A key is
        e.g. ``(960, 'Intel')``.
    """
    on_all_machines: list[list[Key]] = []
    on_some_machines: dict[Hashable, list[Key]] = {}
    key_sets = list(map(set, keys_of_machines))
    # A dict is used because a set has no order, and the same machines must
    # give the same rules.
    distinct_keys = dict.fromkeys(itertools.chain(*keys_of_machines))
    for key in distinct_keys:
        if all(key in keys for keys in key_sets):
            on_all_machines.append([key])
        else:
            values = dict(zip(reported, key, strict=True))
            agreeing = tuple(values.get(name) for name in compared.must_agree)
            on_some_machines.setdefault(agreeing, []).append(key)
    return [*on_all_machines, *on_some_machines.values()]


def _key_of_part(item: component.PartItem, reported: Sequence[str]) -> Key:
    """Return the key of a part: its values for the reported attributes.

    For example, ``(960, 'Intel')`` for the attributes size and vendor. Equal
    parts have equal keys. The value is None if an attribute is missing, a list
    or a mapping.
    """
    values = []
    for name in reported:
        value = item.get(name)
        if not isinstance(value, str | int | float):
            value = None
        values.append(value)
    return tuple(values)


def _join_overlapping(
    compared: component.ComparedParts,
    reported: Sequence[str],
    groups: Sequence[list[Key]],
    tolerated: component.Tolerance,
) -> list[PartSort]:
    """Build a sort for every group, and join sorts whose sizes overlap.

    Otherwise a part whose size is in two ranges would be counted twice. For
    example, with a tolerance of 5 %, the sizes 960 and 1000 have the ranges
    912 to 1008 and 950 to 1050. They become one sort with the range 912 to
    1050.

    :param reported: the names of the attributes in the keys, in order.
    :param groups: lists of keys; every list becomes one sort.
    """
    joined_groups: list[list[Key]] = []
    sorts: list[PartSort] = []
    for keys in groups:
        part_sort = _build_sort(compared, reported, keys, tolerated)
        index = _find_overlapping(part_sort, sorts)
        if index is None:
            joined_groups.append(keys)
            sorts.append(part_sort)
        else:
            joined_groups[index] = joined_groups[index] + keys
            sorts[index] = _build_sort(
                compared, reported, joined_groups[index], tolerated
            )
    if len(joined_groups) < len(groups):
        # A range that has become wider may now overlap another range.
        return _join_overlapping(compared, reported, joined_groups, tolerated)
    return sorts


def _find_overlapping(
    part_sort: PartSort, sorts: Sequence[PartSort]
) -> int | None:
    """Return the index of the first sort that overlaps a given sort.

    :param part_sort: the given sort.
    :param sorts: the sorts to search.
    :returns: None if no sort overlaps it.
    """
    for index, candidate in enumerate(sorts):
        if _have_common_sizes(part_sort, candidate):
            return index
    return None


def _have_common_sizes(first: PartSort, second: PartSort) -> bool:
    """Return whether two sorts differ only in ranges of sizes that overlap.

    A part whose size is in both ranges would belong to both sorts. Sorts that
    accept single sizes never overlap, because equal sizes are in one sort
    already.
    """
    first_sizes = first.tests.get(_SIZE)
    second_sizes = second.tests.get(_SIZE)
    if not isinstance(first_sizes, RangeTest):
        return False
    if not isinstance(second_sizes, RangeTest):
        return False
    if first_sizes.low > second_sizes.high:
        return False
    if second_sizes.low > first_sizes.high:
        return False
    # Their ranges overlap. All tests of other attributes must be equal.
    return {**first.tests, _SIZE: None} == {**second.tests, _SIZE: None}


def _build_size_test(
    sizes: tuple[int, ...], name: str, tolerated: component.Tolerance
) -> tuple[ValueTest | RangeTest, str]:
    """Build the test that accepts the sizes of parts, and describe the sizes.

    The test accepts the range of the sizes, widened by the tolerance. With
    ``observed``, it accepts only the given sizes.

    :param sizes: the distinct sizes of the parts.
    :param name: the name of the component, e.g. ``disks``.
    :param tolerated: the amounts by which sizes may differ from these.
    :returns: the test, and the sizes in words without the tolerance, e.g. "480
        GB to 960 GB".
    """
    if name in tolerated.observed:
        size_texts = [_format_size(size) for size in sorted(sizes)]
        return ValueTest(sizes), _format_values(size_texts)
    low = min(sizes)
    high = max(sizes)
    lowest, highest = tolerated.widen_sizes(name, low, high)
    range_text = _format_range(_format_size(low), _format_size(high))
    return RangeTest(lowest, highest), range_text


def _build_sort(
    compared: component.ComparedParts,
    reported: Sequence[str],
    group: Sequence[Key],
    tolerated: component.Tolerance,
) -> PartSort:
    """Build one sort that accepts the parts of all keys of a group.

    For example, for disks of 480 GB by two vendors, it tests for the size 480
    GB and for one of the two vendors. Every attribute is treated by the first
    of these cases that applies:

    * If it is the size, and all parts report it, the size must be in the range
      of the sizes, widened by the tolerance. With ``observed``, it must be one
      of the sizes.
    * If all parts have the same value, a part must have this value. If none of
      them has the attribute, a part must not have it either.
    * If all parts have a value, a part must have one of these values.
    * If only some of the parts have a value, the attribute is not tested.

    :param compared: the list of parts, which has a function for the label.
    :param reported: the names of the attributes in the keys, in order.
    :param group: the keys.
    :param tolerated: the amounts by which the size of an accepted part may
        differ from the sizes in the group.
    """
    tests: dict[str, ValueTest | RangeTest] = {}
    # The attributes from which the label is made.
    attributes: dict[str, typing.Any] = {}
    for index, name in enumerate(reported):
        # The distinct values of the attribute, in the order of the keys.
        values = tuple(dict.fromkeys(key[index] for key in group))
        if name == _SIZE and all(map(component.is_number, values)):
            tests[name], attributes[name] = _build_size_test(
                values, compared.component, tolerated
            )
        elif len(values) == 1:
            tests[name] = ValueTest(values)
            attributes[name] = values[0]
        elif None not in values:
            tests[name] = ValueTest(values)
            attributes[name] = _format_values(values)
    return PartSort(tests, compared.label(attributes))


def _format_range(low: str, high: str) -> str:
    """Return a range of sizes in words, e.g. "480 GB to 960 GB"."""
    if low == high:
        return low
    return _('%(low)s to %(high)s') % {'low': low, 'high': high}


def _format_values(values: Sequence[typing.Any]) -> str:
    """Return values in words, e.g. "A or B"; "5 kinds" for many values."""
    if len(values) > _MAX_NAMES:
        return _('%d kinds') % len(values)
    return _(' or ').join(str(value) for value in values)


def _format_size(size: float) -> str:
    """Return a size as text in the units used for disks, e.g. "960 GB"."""
    in_unit = size
    # From 999.5 on, the format ".3g" would round up to 1000 and write "1e+03".
    for unit in ('B', 'kB', 'MB', 'GB'):
        if in_unit < 999.5:
            return f'{in_unit:.3g} {unit}'
        in_unit /= 1000
    # There is no larger unit. The format ".3g" would write such a number with
    # an exponent.
    if in_unit >= 999.5:
        return f'{in_unit:.0f} TB'
    return f'{in_unit:.3g} TB'
