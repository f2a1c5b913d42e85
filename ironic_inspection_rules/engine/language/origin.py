# SPDX-License-Identifier: Apache-2.0

"""Origins: the fields of the data that values of a rule are made of.

A rule gives values to its ``vars`` and to the ``item`` of a loop. What it
makes of a masked value there, such as its length, no longer looks masked. So
a field over such a value is followed to the data.
"""

import typing

from ironic_inspection_rules.engine.language import filter_syntax
from ironic_inspection_rules.engine.language import interpolation
from ironic_inspection_rules.engine.language import model
from ironic_inspection_rules.engine.language import path as data_path
from ironic_inspection_rules.engine.language import reads

_GIVES_LISTS = frozenset((
    'dict2items', 'keys', 'reject', 'rejectattr', 'select', 'selectattr',
    'sort', 'unique', 'values'))
_GIVES_ITEMS = frozenset(('default', 'first', 'get', 'last', 'max', 'min'))
"""Filters that return parts of their value as they are."""

_SPLITS_TEXT = frozenset((
    'first', 'last', 'max', 'min', 'reject', 'select', 'sort', 'unique'))
"""Those of them that take a text for a list of characters."""


class Origin(typing.NamedTuple):
    """A field of the data that a value of a rule is made of.

    :param field: the field as it is written.
    :param steps: the path to the value below the root of the field, as far
        as the rule tells.
    :param rest: the path from what a filter or a loop makes of that to the
        value; empty if the value is all of it.
    :param is_kept: whether the value is found in the data as it is, so that
        a masked one still reads ``******``.
    :param is_row: whether what the path begins in is a row of a table.
    """

    field: interpolation.Field
    steps: data_path.Path
    rest: data_path.Path = ()
    is_kept: bool = True
    is_row: bool = False

    @property
    def root(self) -> str:
        """The name of the root of the data."""
        return self.field.root or ''

    @property
    def key(self) -> typing.Hashable:
        """What tells it from others; arguments of filters may be mappings."""
        return self.field.text, self.steps, self.rest, self.is_kept


class _Value(typing.NamedTuple):
    """A value of the rule whose origins are sought.

    :param steps: the path in it to what is sought.
    :param usable: how many of the ``vars`` it may use: those before it.
    :param is_item: whether it may be a list of items with the path in each.
    """

    written: typing.Any
    steps: data_path.Path
    is_kept: bool
    usable: int
    is_item: bool = False


class Origins:
    """Finds the origins of the values of one rule.

    :param own_vars: the ``vars`` of the rule as they are written.
    :param loop: the loop of the operation that reads them; None for none.
    """

    __slots__ = ('_loop', '_numbers', '_vars')

    def __init__(self, own_vars: typing.Mapping[str, typing.Any],
                 loop: typing.Any = None) -> None:
        self._vars = own_vars
        self._loop = loop
        self._numbers = {name: number for number, name in enumerate(own_vars)}

    def of(self, root: str, steps: data_path.Path) -> tuple[Origin, ...]:
        """Return the origins of a value.

        :param root: ``vars`` or ``item``.
        :param steps: the path to the value below it.
        """
        return tuple(found for found in self._all(root, steps)
                     if found.root != model.VARS)

    def of_tables(self, root: str, steps: data_path.Path
                  ) -> tuple[Origin, ...]:
        """Return the origins that read tables, also by values of the rule.

        The parameters are those of :meth:`of`.
        """
        return tuple(found for found in self._all(root, steps)
                     if reads.reads_table(found.field))

    def _all(self, root: str, steps: data_path.Path
             ) -> typing.Collection[Origin]:
        count = len(self._vars)
        if root == model.VARS:
            ahead = self._of_vars(steps, True, count)
        elif isinstance(self._loop, list):
            ahead = [_Value(item, steps, True, count)
                     for item in self._loop]
        else:
            ahead = [_Value(self._loop, steps, True, count,
                            is_item=isinstance(self._loop, str))]
        found: dict[typing.Hashable, Origin] = {}
        # One of the vars may be used by many that are used by many more.
        known: set[typing.Hashable] = set()
        while ahead:
            value = ahead.pop()
            for text, rest in _texts(value):
                for origin in _of_text(value, text, rest):
                    found[origin.key] = origin
                    if origin.root != model.VARS:
                        continue
                    if (origin.key, value.usable) not in known:
                        known.add((origin.key, value.usable))
                        ahead += self._of_vars(origin.steps, origin.is_kept,
                                               value.usable)
        return found.values()

    def _of_vars(self, steps: data_path.Path, is_kept: bool,
                 usable: int) -> list[_Value]:
        """Return the values at a path in the first ``vars``."""
        names = steps[:1] or tuple(self._vars)
        return [_Value(self._vars[name], steps[1:], is_kept,
                       self._numbers[name])
                for name in names
                if self._numbers.get(name, usable) < usable]


def _texts(value: _Value) -> typing.Iterator[tuple[str, data_path.Path]]:
    """Yield the texts at the path in a value, each with what is left of it."""
    written, steps = value.written, value.steps
    while steps and isinstance(written, dict | list):
        inner = data_path.get(written, steps[:1])
        if inner is data_path.ABSENT:
            # A name may be made of fields: the value is one of all these.
            steps = ()
            break
        written, steps = inner, steps[1:]
    ahead = [written]
    while ahead:
        part = ahead.pop()
        if isinstance(part, str):
            yield part, steps
        elif isinstance(part, dict):
            ahead += [*part, *part.values()]
        elif isinstance(part, list):
            ahead += part


def _of_text(value: _Value, text: str,
             rest: data_path.Path) -> typing.Iterator[Origin]:
    """Yield what is read for what is at a path in the value of a text.

    :returns: origins, also those in ``vars``.
    """
    sole = interpolation.sole_field(text)
    is_kept = value.is_kept and sole is not None and _keeps(sole)
    for field in reads.fields(text):
        if not field.root or field.root == interpolation.ITEM:
            continue
        if field is sole and value.is_kept and gives_row(field):
            yield Origin(field, field.steps, rest, False, True)
        elif not is_kept or field is not sole:
            # It is not the value, or is an argument of a filter.
            yield Origin(field, field.steps, (), is_kept)
        elif value.is_item or not field.is_plain:
            yield Origin(field, field.steps, rest, is_kept)
        else:
            yield Origin(field, (*field.steps, *rest), (), is_kept)


def gives_row(field: interpolation.Field) -> bool:
    """Return whether the value of a field is a row of a table."""
    if not field.filters or field.conversion or field.spec:
        return False
    return table_of(field, field.filters[-1]) is not None


def table_of(field: interpolation.Field, call: filter_syntax.Call
             ) -> str | None:
    """Return the name of the table of which a filter gives a row.

    :param call: one of the filters of the field.
    """
    if call.name == filter_syntax.ROW:
        is_of_table = field.root == interpolation.TABLES and field.steps
        return field.steps[0] if is_of_table else None
    if call.name == filter_syntax.LOOKUP[0]:
        for argument, value in call.arguments[:1]:
            if argument in (None, filter_syntax.LOOKUP[1]) and isinstance(
                    value, interpolation.Field) and value.is_table:
                return value.steps[0]
    return None


def _keeps(field: interpolation.Field) -> bool:
    """Return whether a field gives parts of its value as they are.

    Whether the value itself is a text only the data tell.
    """
    may_be_text = False
    for call in field.filters:
        if may_be_text and call.name in _SPLITS_TEXT:
            return False
        if call.name in _GIVES_LISTS or _steps_into(call):
            may_be_text = False
        elif call.name in _GIVES_ITEMS:
            may_be_text = True
        else:
            return False
    return field.conversion is None and field.spec is None


def _steps_into(call: filter_syntax.Call) -> bool:
    return call.name == 'map' and [
        name for name, _value in call.arguments] == ['attribute']
