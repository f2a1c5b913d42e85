# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.


"""Filters on lists."""

import functools
import typing

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.conditions import comparison
from ironic_inspection_rules.engine import budget
from ironic_inspection_rules.engine import path as data_path
from ironic_inspection_rules.engine import pattern
from ironic_inspection_rules.engine import plugin
from ironic_inspection_rules.i18n import _

Items = list[typing.Any]
Test = typing.Callable[[typing.Any], bool]


def read(value: typing.Any) -> Items:
    """Return the items of a list; those of a mapping are its keys.

    :raises: :class:`.exceptions.OperationError` where it has none.
    """
    if isinstance(value, list):
        return value
    if isinstance(value, dict | str):
        budget.current().spend(len(value) >> 2)
        return list(value)
    raise exceptions.OperationError(
        _('takes a list, not a value of type %s') % type(value).__name__)


def attributes(items: Items, attribute: typing.Any) -> typing.Any:
    """Return an attribute of each item, or :data:`.path.ABSENT`.

    :param attribute: its name, or names with dots between them; None for
        the items themselves.
    """
    if attribute is None:
        return items
    path = tuple(str(attribute).split('.'))
    found = [data_path.get(item, path) for item in items]
    return data_path.ABSENT if data_path.ABSENT in found else found


def ignore_case(value: typing.Any) -> typing.Any:
    """Return what a value is told by where case does not matter."""
    return value.lower() if isinstance(value, str) else value


class Join(plugin.Filter):
    """``join``: the text of all items, with a separator between them."""

    def __call__(self, value: typing.Any, sep: str = '',
                 attribute: typing.Any = None) -> typing.Any:
        found = attributes(read(value), attribute)
        if found is data_path.ABSENT:
            return found
        budget.current().make_text(
            sum(len(str(item)) + len(sep) for item in found))
        return sep.join(map(str, found))


class Length(plugin.Filter):
    """``length``: how many items or characters there are."""

    def __call__(self, value: typing.Any) -> int:
        return len(value)


class Sum(plugin.Filter):
    """``sum``: all numbers together."""

    def __call__(self, value: typing.Any,
                 attribute: typing.Any = None) -> typing.Any:
        found = attributes(read(value), attribute)
        return found if found is data_path.ABSENT else sum(found)


class _Extreme(plugin.Filter):

    choose: typing.ClassVar[typing.Any]

    def __call__(self, value: typing.Any,
                 attribute: typing.Any = None) -> typing.Any:
        items = read(value)
        found = attributes(items, attribute)
        if found is data_path.ABSENT or not found:
            return data_path.ABSENT
        keys = [ignore_case(each) for each in found]
        return items[keys.index(type(self).choose(keys))]


class Min(_Extreme):
    """``min``: the smallest item; missing where there is none."""

    choose = min


class Max(_Extreme):
    """``max``: the largest item; missing where there is none."""

    choose = max


class First(plugin.Filter):
    """``first``: the first item; missing where there is none."""

    def __call__(self, value: typing.Any) -> typing.Any:
        items = read(value)
        return items[0] if items else data_path.ABSENT


class Last(plugin.Filter):
    """``last``: the last item; missing where there is none."""

    def __call__(self, value: typing.Any) -> typing.Any:
        items = read(value)
        return items[-1] if items else data_path.ABSENT


class Unique(plugin.Filter):
    """``unique``: each item once, text in any case."""

    def __call__(self, value: typing.Any,
                 attribute: typing.Any = None) -> typing.Any:
        items = read(value)
        found = attributes(items, attribute)
        if found is data_path.ABSENT:
            return found
        first: dict[typing.Any, typing.Any] = {}
        for each, item in zip(found, items, strict=True):
            first.setdefault(_key(ignore_case(each)), item)
        return list(first.values())


def _key(value: typing.Any) -> typing.Hashable:
    """Return a key for what is equal, which numbers of all types may be."""
    if isinstance(value, bool):
        value = int(value)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return data_path.identity(value)


class Sort(plugin.Filter):
    """``sort``: in order, the smallest first; text in any case."""

    def __call__(self, value: typing.Any, attribute: typing.Any = None,
                 reverse: bool = False) -> typing.Any:
        items = read(value)
        found = attributes(items, attribute)
        if found is data_path.ABSENT:
            return found
        keys = [ignore_case(each) for each in found]
        budget.current().spend(len(items) >> 2)
        order = sorted(range(len(items)), key=keys.__getitem__,
                       reverse=reverse)
        return [items[index] for index in order]


class Map(plugin.Filter):
    """``map``: an attribute of each item."""

    def __call__(self, value: typing.Any, attribute: typing.Any
                 ) -> typing.Any:
        return attributes(read(value), attribute)


class _Select(plugin.Filter):

    KEEPS: typing.ClassVar[bool] = True

    def problems(self, arguments: typing.Mapping[str, typing.Any]
                 ) -> typing.Iterator[tuple[str, str]]:
        op = arguments.get('op')
        if op not in _TESTS:
            yield 'op', _('must be one of %s') % ', '.join(_TESTS)
        elif op in _METHODS:
            # What a machine sends is no expression.
            try:
                _TESTS[op](arguments.get('value'))
            except exceptions.OperationError as exc:
                yield 'value', str(exc)

    def _choose(self, items: Items, found: Items, op: str,
                wanted: typing.Any) -> Items:
        test = _TESTS[op](wanted)
        allowance = budget.current()
        kept = []
        for item, each in zip(items, found, strict=True):
            allowance.spend()
            holds = each is not data_path.ABSENT and test(each)
            if holds is self.KEEPS:
                kept.append(item)
        return kept


class Select(_Select):
    """``select``: the items for which a condition holds."""

    def __call__(self, items: typing.Any, op: str,
                 value: typing.Any) -> Items:
        items = read(items)
        return self._choose(items, items, op, value)


class Reject(Select):
    """``reject``: the items for which a condition does not hold."""

    KEEPS = False


class SelectAttribute(_Select):
    """``selectattr``: the items whose attribute a condition holds for."""

    def __call__(self, items: typing.Any, name: str, op: str,
                 value: typing.Any) -> Items:
        items = read(items)
        path = tuple(name.split('.'))
        # Most names are of one step into what a mapping is: that is no call.
        found = [item.get(name, data_path.ABSENT)
                 if item.__class__ is dict and len(path) == 1
                 else data_path.get(item, path) for item in items]
        return self._choose(items, found, op, value)


class RejectAttribute(SelectAttribute):
    """``rejectattr``: the items whose attribute it does not hold for."""

    KEEPS = False


def _compare(kind: type[comparison.Comparison]
             ) -> typing.Callable[[typing.Any], Test]:
    holds = kind().holds
    return lambda wanted: lambda value: holds(value, wanted)


def _match(method: str) -> typing.Callable[[typing.Any], Test]:
    def test(wanted: typing.Any) -> Test:
        if not isinstance(wanted, str):
            raise exceptions.OperationError(
                _('a regular expression is expected'))
        return pattern.Pattern(wanted).matcher(method)
    return test


def _one_of(wanted: typing.Any) -> Test:
    return functools.partial(comparison.OneOf(), values=wanted)


_METHODS = {'contains': 'search', 'matches': 'fullmatch'}

_TESTS: dict[str, typing.Callable[[typing.Any], Test]] = {
    'eq': _compare(comparison.Equal),
    'ne': _compare(comparison.NotEqual),
    'lt': _compare(comparison.Less),
    'le': _compare(comparison.LessOrEqual),
    'gt': _compare(comparison.Greater),
    'ge': _compare(comparison.GreaterOrEqual),
    'one-of': _one_of,
    **{op: _match(method) for op, method in _METHODS.items()},
}
