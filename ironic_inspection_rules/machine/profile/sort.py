# SPDX-License-Identifier: Apache-2.0

"""Which disks, interfaces or devices are of one sort, as rules tell it."""

from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import typing

Item = Mapping[str, typing.Any]


@dataclasses.dataclass(frozen=True)
class OneOf:
    """An attribute has one of some values; None is also where there is none.

    None stands alone.
    """

    values: tuple[typing.Any, ...]

    def holds(self, value: typing.Any) -> bool:
        """Tell whether a value is one of them."""
        return value in self.values

    def filter(self, name: str) -> str:
        """Return the filter of a list that keeps the items with it."""
        if self.values == (None,):
            return f"rejectattr('{name}', 'ne', null)"
        if len(self.values) == 1:
            return f"selectattr('{name}', 'eq', {literal(self.values[0])})"
        return f"selectattr('{name}', 'one-of', {literal(self.values)})"

    def condition(self, name: str) -> dict[str, typing.Any]:
        """Return the condition for the item of a loop."""
        field = f'{{item.{name}}}'
        if self.values == (None,):
            return {'op': 'is-none', 'args': {'value': field}}
        return {'op': 'one-of', 'args': {
            'value': field, 'values': [escape(each)
                                       for each in self.values]}}


@dataclasses.dataclass(frozen=True)
class Between:
    """An attribute is a number from ``low`` to ``high``."""

    low: int
    high: int

    def holds(self, value: typing.Any) -> bool:
        """Tell whether a value is in the range."""
        return is_number(value) and self.low <= value <= self.high

    def filter(self, name: str) -> str:
        """Return the filter of a list that keeps the items with it."""
        if self.low == self.high:
            return f"selectattr('{name}', 'eq', {self.low})"
        return (f"selectattr('{name}', 'ge', {self.low}) | "
                f"selectattr('{name}', 'le', {self.high})")

    def condition(self, name: str) -> dict[str, typing.Any]:
        """Return the condition for the item of a loop."""
        return {'op': 'le',
                'args': {'values': [self.low, f'{{item.{name}}}',
                                    self.high]}}


@dataclasses.dataclass(frozen=True)
class Sort:
    """Items that a rule counts together.

    :param tests: what each attribute must be, by its name.
    :param label: what people call them.
    """

    tests: Mapping[str, OneOf | Between]
    label: str

    def count(self, items: Sequence[Item]) -> int:
        """Tell how many of some items are of this sort."""
        return sum(all(test.holds(item.get(name))
                       for name, test in self.tests.items())
                   for item in items)

    @property
    def filters(self) -> list[str]:
        """The filters of a list that keep the items of this sort."""
        return [test.filter(name) for name, test in self.tests.items()]

    @property
    def condition(self) -> dict[str, typing.Any]:
        """The condition for the item of a loop."""
        conditions = [test.condition(name)
                      for name, test in self.tests.items()]
        if len(conditions) == 1:
            return conditions[0]
        return {'op': 'all-of', 'conditions': conditions}


def is_number(value: typing.Any) -> bool:
    """Tell numbers from true and false, and from text."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def escape(value: typing.Any) -> typing.Any:
    """Write a value so that no part of it is a replacement field."""
    if not isinstance(value, str):
        return value
    return value.replace('{', '{{').replace('}', '}}')


_ESCAPED = str.maketrans({'\\': '\\\\', "'": "\\'", '\n': '\\n',
                          '\r': '\\r', '\t': '\\t'})


def literal(value: typing.Any) -> str:
    """Write a value as the argument of a filter."""
    if isinstance(value, tuple):
        return f'[{", ".join(map(literal, value))}]'
    if isinstance(value, str):
        return f"'{value.translate(_ESCAPED)}'"
    return {True: 'true', False: 'false'}[value] if isinstance(
        value, bool) else str(value)
