# SPDX-License-Identifier: Apache-2.0

"""Filters on lists.

These are join, length, sum, min, max, first, last, unique, sort and map. Their
meaning is that of Jinja2. Most take an attribute of the items instead of the
items themselves: ``{inventory.disks | sum('size')}``. If an item lacks the
attribute, the result is missing, which ABSENT stands for.
"""

import typing

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.language import budget
from ironic_inspection_rules.engine.language import path as data_path
from ironic_inspection_rules.engine.language import plugin
from ironic_inspection_rules.engine.language import suggestion
from ironic_inspection_rules.i18n import _

Items = list[typing.Any]

KINDS = frozenset(('list', 'mapping', 'text'))
_ATTRIBUTE = {
    'attribute': [
        {
            'type': ['string', 'number', 'boolean', 'null'],
            'errorMessage': _('must be the name of an attribute'),
        }
    ]
}


def list_attributes(
    items: Items, attribute: typing.Any, default: typing.Any = data_path.ABSENT
) -> typing.Any:
    """Return the value of an attribute for each item.

    For example, the attribute ``size`` of ``[{'size': 1}, {'size': 2}]`` gives
    ``[1, 2]``.

    :param attribute: a name, or names separated by dots, e.g. ``wwn.vendor``;
        None for the items themselves.
    :param default: the value for an item without the attribute.
    :returns: the values; :data:`.path.ABSENT` if an item lacks the attribute
        and there is no default.
    :raises: :class:`.exceptions.OperationError` if the attribute is a list or
        a mapping.
    """
    if attribute is None:
        return items
    if isinstance(attribute, list | dict):
        raise exceptions.OperationError(
            _('an attribute cannot be %s')
            % suggestion.describe_type(attribute)
        )
    path = tuple(str(attribute).split('.'))
    values = []
    for item in items:
        value = data_path.get(item, path)
        if value is data_path.ABSENT:
            value = default
        if value is data_path.ABSENT:
            # There is no default either.
            return data_path.ABSENT
        values.append(value)
    return values


def _no_order_error(columns: list[Items]) -> exceptions.OperationError:
    """Return the error for values that cannot be ordered.

    If the values of an attribute are of several kinds, the message is e.g.
    "cannot compare a number with text". Otherwise they are all of a kind
    without an order, e.g. mappings.

    :param columns: a list for each attribute, with the values of all items.
    """
    for values in columns:
        kinds = sorted({suggestion.describe_type(value) for value in values})
        if len(kinds) > 1:
            return exceptions.OperationError(
                _('cannot compare %s') % _(' with ').join(kinds)
            )
    return exceptions.OperationError(
        _('puts numbers and texts in order; of mappings, give an attribute')
    )


def ignore_case(value: typing.Any) -> typing.Any:
    """Return a value for comparisons that ignore case."""
    if isinstance(value, str):
        return value.lower()
    return value


class Join(plugin.Filter):
    """``join``: the text of all items, with a separator between them."""

    TAKES = KINDS
    TAKES_ITEMS = True
    GIVES = 'text'
    PAYS = True
    SCHEMAS = _ATTRIBUTE

    def __call__(
        self,
        allowance: budget.Budget,
        items: Items,
        sep: str = '',
        attribute: typing.Any = None,
    ) -> typing.Any:
        """Return the joined text of all items, or of one of their attributes.

        :param allowance: the budget, which is charged for the length of the
            result.
        :param sep: the text between two items.
        :param attribute: the name of the attribute; None for the items.
        :returns: the text; ABSENT if an item lacks the attribute.
        """
        values = list_attributes(items, attribute)
        if values is data_path.ABSENT:
            return data_path.ABSENT
        # Charge the budget before building the text, because a long separator
        # can make it far longer than its items. This loop keeps the text of
        # only one item at a time in memory.
        length = 0
        for value in values:
            length += len(str(value)) + len(sep)
        allowance.make_text(length)
        return sep.join(map(str, values))


class Length(plugin.Filter):
    """``length``: the number of items or characters."""

    TAKES = KINDS
    GIVES = 'number'

    def __call__(self, value: typing.Any) -> int:
        """Return the number of items, entries or characters of a value.

        :raises: :class:`.exceptions.OperationError` if the value has none,
            e.g. a number.
        """
        if not isinstance(value, str | list | dict):
            raise exceptions.OperationError(
                _('takes text, a list or a mapping, not %s')
                % suggestion.describe_type(value)
            )
        return len(value)


class Sum(plugin.Filter):
    """``sum``: the sum of all numbers."""

    TAKES = KINDS
    TAKES_ITEMS = True
    GIVES = 'number'
    SCHEMAS = _ATTRIBUTE

    def __call__(
        self, items: Items, attribute: typing.Any = None
    ) -> typing.Any:
        """Return the sum of all items, or of one of their attributes.

        :param attribute: the name of the attribute; None for the items.
        :returns: the sum; ABSENT if an item lacks the attribute.
        :raises: :class:`.exceptions.OperationError` if a value is not a
            number, or the sum is too large.
        """
        values = list_attributes(items, attribute)
        if values is data_path.ABSENT:
            return data_path.ABSENT
        for value in values:
            if not isinstance(value, int | float):
                raise exceptions.OperationError(
                    _('takes numbers, not %s')
                    % suggestion.describe_type(value)
                )
        try:
            return sum(values)
        except OverflowError as exc:
            raise exceptions.OperationError(
                _('the number is too large')
            ) from exc


class _Extreme(plugin.Filter):
    """The base class of ``min`` and ``max``."""

    TAKES = KINDS
    TAKES_ITEMS = True
    REARRANGES = True
    RETURNS_PARTS = True
    SCHEMAS = _ATTRIBUTE
    choose: typing.ClassVar[typing.Any]
    """Python's function ``min`` or ``max``."""

    def __call__(
        self, items: Items, attribute: typing.Any = None
    ) -> typing.Any:
        """Return the item with the smallest or largest value.

        :param attribute: the attribute whose values are compared; None to
            compare the items themselves.
        :returns: the first such item; ABSENT if there are no items, or if an
            item lacks the attribute.
        :raises: :class:`.exceptions.OperationError` for values that cannot be
            ordered, e.g. a text and a number.
        """
        values = list_attributes(items, attribute)
        if values is data_path.ABSENT or not values:
            return data_path.ABSENT
        keys = [ignore_case(value) for value in values]
        min_or_max = type(self).choose
        try:
            extreme_key = min_or_max(keys)
        except TypeError as exc:
            raise _no_order_error([keys]) from exc
        # The keys are in the order of the items.
        return items[keys.index(extreme_key)]


class Min(_Extreme):
    """``min``: the smallest item; missing if there is none."""

    choose = min


class Max(_Extreme):
    """``max``: the largest item; missing if there is none."""

    choose = max


class First(plugin.Filter):
    """``first``: the first item; missing if there is none."""

    TAKES = KINDS
    TAKES_ITEMS = True
    REARRANGES = True
    RETURNS_PARTS = True
    INDEX: typing.ClassVar[int] = 0

    def __call__(self, items: Items) -> typing.Any:
        """Return the first or the last item, or ABSENT if there is none."""
        if not items:
            return data_path.ABSENT
        return items[self.INDEX]


class Last(First):
    """``last``: the last item; missing if there is none."""

    INDEX = -1


class Unique(plugin.Filter):
    """``unique``: each item once, regardless of case."""

    TAKES = KINDS
    TAKES_ITEMS = True
    GIVES = 'list'
    REARRANGES = True
    RETURNS_PARTS = True
    SCHEMAS = _ATTRIBUTE

    def __call__(
        self, items: Items, attribute: typing.Any = None
    ) -> typing.Any:
        """Return the items without repetitions, in their order.

        Of several items with equal values, the first is kept: ``['a', 'A',
        'b']`` gives ``['a', 'b']``.

        :param attribute: the attribute whose values are compared; None to
            compare the items themselves.
        :returns: a list; ABSENT if an item lacks the attribute.
        """
        values = list_attributes(items, attribute)
        if values is data_path.ABSENT:
            return data_path.ABSENT
        item_by_key: dict[typing.Any, typing.Any] = {}
        for value, item in zip(values, items, strict=True):
            key = _key_of_equal_values(ignore_case(value))
            # This keeps the first item of the key.
            item_by_key.setdefault(key, item)
        return list(item_by_key.values())


def _key_of_equal_values(value: typing.Any) -> typing.Hashable:
    """Return the key by which ``unique`` recognizes equal values.

    As in Jinja2, 1, 1.0 and true have the same key. But ``[1]`` and ``[true]``
    have different keys.
    """
    # data_path.hashable_key() distinguishes 1, 1.0 and true, so convert them
    # to integers.
    if isinstance(value, bool):
        value = int(value)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return data_path.hashable_key(value)


class Sort(plugin.Filter):
    """``sort``: the items in ascending order, ignoring case.

    If there are several attributes, separated by commas, the first one has
    precedence.
    """

    TAKES = KINDS
    TAKES_ITEMS = True
    GIVES = 'list'
    PAYS = True
    REARRANGES = True
    RETURNS_PARTS = True
    SCHEMAS = _ATTRIBUTE

    def __call__(
        self,
        allowance: budget.Budget,
        items: Items,
        attribute: typing.Any = None,
        reverse: bool = False,
    ) -> typing.Any:
        """Return the items in order; missing if any item lacks an attribute.

        :param allowance: the budget, which is charged for the work.
        :param attribute: the name of the attribute to sort by, or several
            names separated by commas; None to sort by the items themselves. A
            later attribute counts only for items whose earlier attributes are
            equal.
        :param reverse: whether the largest item comes first.
        :raises: :class:`.exceptions.OperationError` for values that cannot be
            ordered, e.g. a text and a number.
        """
        names = [attribute]
        if isinstance(attribute, str):
            names = attribute.split(',')
        # One list per attribute, with the values of all items.
        columns = []
        for name in names:
            values = list_attributes(items, name)
            if values is data_path.ABSENT:
                return data_path.ABSENT
            # Charge for every name, because a machine may have sent the names,
            # and any number of them. A name costs one operation, and one more
            # for every four items.
            allowance.spend(1 + len(items) // 4)
            columns.append([ignore_case(value) for value in values])
        # One tuple per item, with its values of all attributes. As in Jinja2,
        # Python compares only the first values of two tuples that differ, so
        # equal values such as null and null need no order.
        keys = list(zip(*columns, strict=True))
        try:
            # Sort the indexes of the items by the keys of the items.
            sorted_indexes = sorted(
                range(len(items)), key=keys.__getitem__, reverse=reverse
            )
        except TypeError as exc:
            raise _no_order_error(columns) from exc
        return [items[index] for index in sorted_indexes]


class Map(plugin.Filter):
    """``map``: an attribute of each item, or a filter applied to it."""

    TAKES = KINDS
    TAKES_ITEMS = True
    GIVES = 'list'
    REARRANGES = True
    SCHEMAS = _ATTRIBUTE
    TAKES_FILTER = True

    def __call__(
        self,
        items: Items,
        filter: typing.Any = None,
        attribute: typing.Any = None,
        default: typing.Any = data_path.ABSENT,
    ) -> typing.Any:
        """Return the result of a filter, or an attribute, for each item.

        :param filter: a function that applies the filter to an item; None to
            use an attribute instead.
        :param attribute: the name of the attribute.
        :param default: the value for an item without the attribute.
        :returns: a list of the results; ABSENT if one of them is missing.
        """
        if filter is None:
            return list_attributes(items, attribute, default)
        results = [filter(item) for item in items]
        if data_path.ABSENT in results:
            return data_path.ABSENT
        return results

    def problems(self, arguments: plugin.Arguments) -> plugin.Problems:
        """Yield a problem unless either a filter or an attribute is given.

        The rule must have one of them, not both. A message begins with the
        name of the argument, so this one reads "attribute or the name of a
        filter is expected".
        """
        has_filter = 'filter' in arguments
        has_attribute = 'attribute' in arguments
        if has_filter == has_attribute:
            yield 'attribute', _('or the name of a filter is expected')
