# SPDX-License-Identifier: Apache-2.0

"""profile: sorts of disks, interfaces and devices that its rules count."""

from collections.abc import Hashable, Mapping, Sequence
import dataclasses
import itertools
import typing

from ironic_inspection_rules.engine.language import interpolation
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.kit.machine.profile import component

_SIZE = 'size'
# Values that a label names; of more it has the number.
_MOST_NAMES = 3

Key = tuple[typing.Any, ...]
"""The attributes of a part, in the order of those that are used."""


@dataclasses.dataclass(frozen=True)
class ValueTest:
    """The test that an attribute has one of some values.

    :ivar values: None, which is also an attribute that is missing, is not
        among others but the only one.
    """

    values: tuple[typing.Any, ...]

    def holds(self, value: typing.Any) -> bool:
        """Return whether a value is one of them."""
        return value in self.values

    def filter(self, name: str) -> str:
        """Return the filter, for a field, that keeps the items that pass.

        :param name: of the attribute that is tested.
        """
        if self.values == (None,):
            # An item without the attribute is kept as well: a comparison does
            # not hold for it, neither "eq" nor "ne".
            return f"rejectattr('{name}', 'ne', null)"
        if len(self.values) == 1:
            return f"selectattr('{name}', 'eq', {literal(self.values[0])})"
        return f"selectattr('{name}', 'one-of', {literal(self.values)})"

    def condition(self, name: str) -> dict[str, typing.Any]:
        """Return the condition that the item of a loop passes the test.

        :param name: of the attribute that is tested.
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
        """Return whether a value is in the range."""
        return component.is_number(value) and self.low <= value <= self.high

    def filter(self, name: str) -> str:
        """Return the filter, for a field, that keeps the items that pass.

        :param name: of the attribute that is tested.
        """
        if self.low == self.high:
            return f"selectattr('{name}', 'eq', {self.low})"
        return (
            f"selectattr('{name}', 'ge', {self.low}) | "
            f"selectattr('{name}', 'le', {self.high})"
        )

    def condition(self, name: str) -> dict[str, typing.Any]:
        """Return the condition that the item of a loop passes the test.

        :param name: of the attribute that is tested.
        """
        field = f'{{item.{name}}}'
        return {'op': 'le', 'args': {'values': [self.low, field, self.high]}}


@dataclasses.dataclass(frozen=True)
class PartSort:
    """Parts that a rule counts together.

    :param tests: of attributes, by name. All of them hold for such a part.
    :param label: for messages.
    """

    tests: Mapping[str, ValueTest | RangeTest]
    label: str

    def count(self, items: Sequence[component.PartItem]) -> int:
        """Return how many of some items are of this sort."""
        return sum(map(self._accepts, items))

    def _accepts(self, item: component.PartItem) -> bool:
        """Return whether an item is of this sort."""
        for name, test in self.tests.items():
            if not test.holds(item.get(name)):
                return False
        return True

    @property
    def filters(self) -> list[str]:
        """The filters of a list that keep the items of this sort."""
        return [test.filter(name) for name, test in self.tests.items()]

    @property
    def condition(self) -> dict[str, typing.Any]:
        """The condition that the item of a loop is of this sort."""
        conditions = [
            test.condition(name) for name, test in self.tests.items()
        ]
        if len(conditions) == 1:
            return conditions[0]
        return {'op': 'all-of', 'conditions': conditions}


def escape(value: typing.Any) -> typing.Any:
    """Write a value so that no part of it is a replacement field."""
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
    """Write a value as the argument of a filter."""
    if isinstance(value, tuple):
        return f'[{", ".join(map(literal, value))}]'
    if isinstance(value, str):
        return f"'{value.translate(_ESCAPED)}'"
    if isinstance(value, bool):
        return str(value).lower()
    return str(value)


def find(
    compared: component.ComparedParts,
    listed: Sequence[Sequence[component.PartItem]],
    tolerated: component.Tolerance,
) -> list[PartSort]:
    """Return the sorts of the parts of a sample, which rules will count.

    Equal parts that all machines have are a sort. Parts that only some of them
    have, such as disks of two vendors, become one sort together, unless they
    are too different: a spinning disk is never one with a flash disk.

    :param compared: the list of parts and what distinguishes them.
    :param listed: the parts of every machine.
    :param tolerated: how far sizes may be outside of those of the sample.
    """
    all_items = list(itertools.chain.from_iterable(listed))
    # Attributes that no part of the sample reports say nothing.
    reported = []
    for name in compared.attributes:
        if any(item.get(name) not in (None, '') for item in all_items):
            reported.append(name)
    keys_of_machines = []
    for items in listed:
        keys_of_machines.append({_key(item, reported) for item in items})
    # Not a set, which has no order: the same machines make the same rules.
    keys = dict.fromkeys(_key(item, reported) for item in all_items)
    everywhere: list[list[Key]] = []
    somewhere: dict[Hashable, list[Key]] = {}
    for key in keys:
        if all(key in of_machine for of_machine in keys_of_machines):
            everywhere.append([key])
            continue
        # A part that some machines lack is of one sort with the others that
        # agree with it in these attributes.
        shared = tuple(
            value
            for name, value in zip(reported, key, strict=True)
            if name in compared.together
        )
        somewhere.setdefault(shared, []).append(key)
    groups = [*everywhere, *somewhere.values()]
    return _without_overlaps(compared, reported, groups, tolerated)


def _key(item: component.PartItem, reported: Sequence[str]) -> Key:
    """Return the attributes of a part by which it is compared.

    An attribute that is missing, a list or a mapping is None.
    """
    values = []
    for name in reported:
        value = item.get(name)
        if not isinstance(value, str | int | float):
            value = None
        values.append(value)
    return tuple(values)


def _without_overlaps(
    compared: component.ComparedParts,
    reported: Sequence[str],
    groups: Sequence[list[Key]],
    tolerated: component.Tolerance,
) -> list[PartSort]:
    """Return a sort of every group, and one sort of groups that overlap.

    Otherwise a part whose size is in both ranges would be counted twice.

    :param groups: keys of parts that are one sort.
    """
    # The keys of a group, and their sort.
    sorts: list[tuple[list[Key], PartSort]] = []
    for keys in groups:
        part_sort = _sort(compared, reported, keys, tolerated)
        for place, (earlier_keys, earlier_sort) in enumerate(sorts):
            if _have_common_sizes(part_sort, earlier_sort):
                merged = earlier_keys + keys
                sorts[place] = (
                    merged,
                    _sort(compared, reported, merged, tolerated),
                )
                break
        else:
            # It overlaps none of the sorts so far.
            sorts.append((keys, part_sort))
    # A range that has become wider may overlap another one now.
    if len(sorts) < len(groups):
        merged_groups = [keys for keys, _part_sort in sorts]
        return _without_overlaps(compared, reported, merged_groups, tolerated)
    return [part_sort for _keys, part_sort in sorts]


def _have_common_sizes(first: PartSort, second: PartSort) -> bool:
    """Return whether two sorts differ only in ranges of sizes that overlap.

    A part whose size is in both ranges would be of both sorts. Sorts whose
    sizes are single values never overlap.
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
    return {**first.tests, _SIZE: None} == {**second.tests, _SIZE: None}


def _size_test(
    sizes: tuple[int, ...], name: str, tolerated: component.Tolerance
) -> tuple[ValueTest | RangeTest, str]:
    """Return the test that accepts the sizes of parts, and words for them.

    Sizes between them are accepted, and beyond them as far as is tolerated,
    unless the operator has asked for the sizes of the sample only.

    :param name: of the component that the parts are.
    """
    if name in tolerated.observed:
        return ValueTest(sizes), _names(
            [_bytes(size) for size in sorted(sizes)]
        )
    low = min(sizes)
    high = max(sizes)
    lowest, highest = tolerated.size(name, low, high)
    return RangeTest(lowest, highest), _range(_bytes(low), _bytes(high))


def _sort(
    compared: component.ComparedParts,
    reported: Sequence[str],
    group: Sequence[Key],
    tolerated: component.Tolerance,
) -> PartSort:
    """Return one sort that accepts the parts of all keys of a group.

    An attribute that some of the parts have and others lack is not tested.

    :param reported: the names of the attributes that the keys have, in order.
    :param tolerated: how far the size of an accepted part may be outside of
        those of the group.
    """
    tests: dict[str, ValueTest | RangeTest] = {}
    attributes: dict[str, typing.Any] = {}  # What the label names.
    for place, name in enumerate(reported):
        values = tuple(dict.fromkeys(key[place] for key in group))
        if name == _SIZE and all(map(component.is_number, values)):
            tests[name], attributes[name] = _size_test(
                values, compared.component, tolerated
            )
        elif len(values) == 1:
            tests[name] = ValueTest(values)
            attributes[name] = values[0]
        elif None not in values:
            tests[name] = ValueTest(values)
            attributes[name] = _names(values)
    return PartSort(tests, compared.label(attributes))


def _range(low: str, high: str) -> str:
    """Return a range of sizes in words, a single size as it is."""
    if low == high:
        return low
    return _('%(low)s to %(high)s') % {'low': low, 'high': high}


def _names(values: Sequence[typing.Any]) -> str:
    """Return a few values in words, of many only their number."""
    if len(values) > _MOST_NAMES:
        return _('%d kinds') % len(values)
    return _(' or ').join(str(value) for value in values)


def _bytes(size: float) -> str:
    """Write a size in decimal units, as on the labels of disks: ``960 GB``."""
    in_unit = size
    for unit in ('B', 'kB', 'MB', 'GB'):
        if in_unit < 999.5:
            return f'{in_unit:.3g} {unit}'
        in_unit /= 1000
    # No unit is larger. With ".3g" such a number would have an exponent.
    if in_unit >= 999.5:
        return f'{in_unit:.0f} TB'
    return f'{in_unit:.3g} TB'
