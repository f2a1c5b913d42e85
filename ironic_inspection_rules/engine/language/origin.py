# SPDX-License-Identifier: Apache-2.0

"""Finds the data that ``vars`` and items of loops are computed from.

A rule assigns values to its ``vars`` and to the ``item`` of a loop. A value
that is computed from a masked value, e.g. its length, no longer looks masked.
So a field that reads ``vars`` or ``item`` is traced back to the data.
"""

import itertools
import typing

from ironic_inspection_rules.engine.language import effects
from ironic_inspection_rules.engine.language import filter_syntax
from ironic_inspection_rules.engine.language import interpolation
from ironic_inspection_rules.engine.language import model
from ironic_inspection_rules.engine.language import path as data_path
from ironic_inspection_rules.engine.language import registry


class Origin(typing.NamedTuple):
    """A field of the data that a value of a rule is computed from.

    With the variable ``disk: '{inventory.disks | first}'``, the value of
    ``{vars.disk.size}`` has the origin ``{inventory.disks | first}``, with the
    steps ``('disks',)`` and the rest ``('size',)``.

    :param field: the field as it is written.
    :param steps: the path below the root of the field, as far as it is known
        without a machine.
    :param rest: the path from there to the value, inside the item that a
        filter or a loop chooses on a machine. It is empty if the value is the
        whole item.
    :param is_kept: whether the value is unchanged from the data, so that a
        masked value still reads ``******``. ``upper`` would change it.
    :param is_row: whether the value is, or is part of, a row of a table.
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
        """The key by which the origin is compared with other origins."""
        # Do not use the field itself. It is not hashable if an argument of a
        # filter is a list or a mapping.
        return self.field.text, self.steps, self.rest, self.is_kept


class _Value(typing.NamedTuple):
    """A variable or an item of a loop that is traced back to its origins.

    For example, to find the origins of ``{vars.disk.size}``, the variable
    ``disk`` is traced with the steps ``('size',)``.

    :param written: the value as the author of the rule wrote it.
    :param steps: the path in the value to the part that is traced.
    :param is_kept: whether the rule reads that part unchanged. It is False if
        a filter on the way has computed something else from it.
    :param vars_before: the number of ``vars`` before the value. Only these
        can be used in it.
    :param is_item: whether the text is a loop over a field, e.g.
        ``{inventory.disks}``. The path is then inside an item of its list.
    """

    written: typing.Any
    steps: data_path.Path
    is_kept: bool
    vars_before: int
    is_item: bool = False


class Origins:
    """Finds the origins of the values of one rule.

    :param own_vars: the ``vars`` of the rule as they are written.
    :param loop: the loop of the operation that reads them, or None.
    """

    __slots__ = ('_loop', '_vars')

    def __init__(
        self,
        own_vars: typing.Mapping[str, typing.Any],
        loop: typing.Any = None,
    ) -> None:
        self._vars = own_vars
        self._loop = loop

    def of(self, root: str, steps: data_path.Path) -> tuple[Origin, ...]:
        """Return the origins of a value, without the ``vars`` on the way.

        With the vars ``a: '{node.name}'`` and ``b: '{vars.a}'``, the value of
        ``b`` has only the origin ``node.name``.

        :param root: ``vars`` or ``item``.
        :param steps: the path to the value below it.
        """
        return tuple(
            origin
            for origin in self._find_all(root, steps)
            if origin.root != model.VARS
        )

    def of_tables(
        self, root: str, steps: data_path.Path
    ) -> tuple[Origin, ...]:
        """Return the origins that read tables, directly or by other values.

        :param root: ``vars`` or ``item``.
        :param steps: the path to the value below it.
        """
        return tuple(
            origin
            for origin in self._find_all(root, steps)
            if effects.reads_table(origin.field)
        )

    def _find_all(
        self, root: str, steps: data_path.Path
    ) -> typing.Collection[Origin]:
        """Return the origins of a value, including the ``vars`` on the way.

        With the vars ``a: '{node.name}'`` and ``b: '{vars.a}'``, the value of
        ``b`` has the origins ``vars.a`` and ``node.name``.
        """
        values_to_follow = self._find_values(root, steps)
        origins: dict[typing.Hashable, Origin] = {}
        # If "c" uses "b" twice and "b" uses "a" twice, four ways lead to "a".
        # Following all of them would take exponential time.
        followed: set[typing.Hashable] = set()
        while values_to_follow:
            value = values_to_follow.pop()
            for origin in _find_fields_as_origins(value):
                origins[origin.key] = origin
                if origin.root != model.VARS:
                    continue
                # The same path in vars may be missing for one value, but not
                # for another value that comes later and may use more vars.
                way = (origin.key, value.vars_before)
                if way in followed:
                    continue
                followed.add(way)
                values_to_follow += self._find_values_of_vars(
                    origin.steps, origin.is_kept, value.vars_before
                )
        return origins.values()

    def _find_values(self, root: str, steps: data_path.Path) -> list[_Value]:
        """Return the values of the rule that a path may read.

        For ``vars`` these are the variables that the path names. For ``item``
        they depend on the loop:

        * In a loop over a list, ``item`` may be any item in the rule.
        * In a loop over a mapping, ``item`` is the mapping.
        * In a loop over a text such as ``{inventory.disks}``, ``item`` is an
          item of a list in the data, so the text is traced to the data.

        :param root: ``vars`` or ``item``.
        :param steps: the path below it.
        """
        # Conditions, actions and loops come after all vars.
        vars_before = len(self._vars)
        if root == model.VARS:
            return self._find_values_of_vars(
                steps, is_kept=True, vars_before=vars_before
            )
        written_items = [self._loop]
        if isinstance(self._loop, list):
            written_items = self._loop
        is_text = isinstance(self._loop, str)
        return [
            _Value(
                item,
                steps,
                is_kept=True,
                vars_before=vars_before,
                is_item=is_text,
            )
            for item in written_items
        ]

    def _find_values_of_vars(
        self, steps: data_path.Path, is_kept: bool, vars_before: int
    ) -> list[_Value]:
        """Return the values of the rule at a path of ``vars``.

        The path is in a value that can only use the ``vars`` before it. Later
        vars are missing there.

        :param steps: the name and the path below it; empty for all ``vars``.
        :param is_kept: see :class:`_Value`.
        :param vars_before: the number of ``vars`` before the value.
        """
        usable_vars = itertools.islice(self._vars.items(), vars_before)
        values = []
        for number, (name, written) in enumerate(usable_vars):
            is_at_path = not steps or steps[0] == name
            if is_at_path:
                values.append(_Value(written, steps[1:], is_kept, number))
        return values


def _find_texts(value: _Value) -> typing.Iterator[tuple[str, data_path.Path]]:
    """Yield the texts at the path in a value, and the rest of the path.

    In ``{'disk': '{inventory.disks | first}'}``, the path ``('disk', 'size')``
    ends at the text. The rest, ``('size',)``, continues inside the value that
    the text has on a machine.
    """
    part_at_path, rest = _follow_steps(value.written, value.steps)
    ahead = [part_at_path]
    while ahead:
        part = ahead.pop()
        if isinstance(part, str):
            yield part, rest
        elif isinstance(part, dict):
            ahead += [*part, *part.values()]
        elif isinstance(part, list):
            ahead += part


def _follow_steps(
    written: typing.Any, steps: data_path.Path
) -> tuple[typing.Any, data_path.Path]:
    """Follow a path in a value as far as the rule writes it out.

    :returns: the part of the value where the path ends or enters a text; and
        the rest of the path, inside the text. If the path may lead to any part
        of a mapping, this is the mapping, without a rest.
    """
    part = written
    for number, step in enumerate(steps):
        if not isinstance(part, dict | list):
            return part, steps[number:]
        inner_part = data_path.get(part, (step,))
        if inner_part is data_path.ABSENT:
            # A name in the mapping may contain fields, so the path may lead to
            # any value in the mapping.
            return part, ()
        part = inner_part
    return part, ()


def _find_fields_as_origins(value: _Value) -> typing.Iterator[Origin]:
    """Yield the fields in a variable or an item as origins.

    These are the fields of all texts at the path in the value. The caller
    traces fields over ``vars`` further.
    """
    for text, rest in _find_texts(value):
        sole = interpolation.sole_field(text)
        if sole is None:
            # The values of several fields form a new text.
            is_kept = False
            fields_inside = effects.fields(text)
        else:
            is_kept = value.is_kept and _keeps_values(sole)
            if _reads_data(sole):
                yield _origin_of_field(value, sole, rest, is_kept)
            # Its filters may keep the value of another field too, e.g.
            # {node.name | default(inventory.hostname)}.
            _sole, *fields_inside = effects.fields_of_field(sole)
        for field in filter(_reads_data, fields_inside):
            # The path does not continue inside the value of such a field.
            yield Origin(field, field.steps, is_kept=is_kept)


def _reads_data(field: interpolation.Field) -> bool:
    """Return whether a field in ``vars`` or in a loop can have a value.

    Text that is not a path reads nothing. ``item`` is missing there, because
    vars and the loop itself have no item.
    """
    return field.root not in (None, interpolation.ITEM)


def _origin_of_field(
    value: _Value,
    field: interpolation.Field,
    rest: data_path.Path,
    is_kept: bool,
) -> Origin:
    """Return the origin for a field that is a whole text.

    For example, ``{inventory.system}`` with the rest ``('serial',)`` has the
    origin ``inventory.system.serial``.

    :param value: the variable or item that contains the text.
    :param rest: the path from the value of the field to the part that is
        traced.
    :param is_kept: whether the rule reads the value of the field unchanged,
        and the filters of the field only choose a part of the data.
    """
    if value.is_kept and gives_row(field):
        # The row comes from the table. The field reads only the key from the
        # machine, so the row is not an unchanged value of the machine.
        return Origin(field, field.steps, rest, is_kept=False, is_row=True)
    if not is_kept:
        # A filter has computed a new value, in which the path says nothing
        # about the data.
        return Origin(field, field.steps, is_kept=False)
    if value.is_item or not field.is_plain:
        # The data determine the item of the list, or the part that the filter
        # returns.
        return Origin(field, field.steps, rest)
    return Origin(field, (*field.steps, *rest))


def gives_row(field: interpolation.Field) -> bool:
    """Return whether the value of a field is a row of a table."""
    if not field.filters or field.conversion or field.spec:
        return False
    return table_of_row(field, field.filters[-1]) is not None


def table_of_row(
    field: interpolation.Field, call: filter_syntax.FilterCall
) -> str | None:
    """Return the name of the table from which a filter takes a row.

    It is ``racks`` for the filters of ``{tables.racks | row}`` and
    ``{node.name | lookup(tables.racks)}``.

    :param call: a filter of the field.
    :returns: None if the filter does not return a row of a table.
    """
    if call.name == filter_syntax.ROW:
        if field.root == interpolation.TABLES and field.steps:
            return field.steps[0]
        return None
    if call.name == filter_syntax.LOOKUP and call.arguments:
        # The first argument is the table, with or without its name:
        # lookup(tables.racks) or lookup(mapping=tables.racks).
        name, value = call.arguments[0]
        is_searched = name in (None, filter_syntax.SEARCHED_BY_LOOKUP)
        if is_searched and isinstance(value, interpolation.Field):
            if value.is_table:
                return value.steps[0]
    return None


def _keeps_values(field: interpolation.Field) -> bool:
    """Return whether the filters of a field only choose existing values.

    ``first`` chooses a value, and ``upper`` computes a new one. If a masked
    value was only chosen, it still reads ``******`` and can be recognized.
    """
    # It is unknown whether the value of the path itself is a text, because
    # that depends on the data.
    may_be_text = False
    for call in field.filters:
        names_of_arguments = [name for name, _value in call.arguments]
        if call.name == 'map' and names_of_arguments == ['attribute']:
            # map(attribute='size') chooses values, map('upper') makes new
            # ones.
            may_be_text = False
            continue
        op = registry.filters().get(call.name)
        if op is None or not op.plugin.RETURNS_PARTS:
            # The filter makes a new value, or is unknown.
            return False
        if may_be_text and op.plugin.TAKES_ITEMS:
            # It returns characters of "******", which do not look masked.
            return False
        # A part may be a text.
        may_be_text = op.plugin.GIVES != 'list'
    # A conversion and a format compute new values too.
    return field.conversion is None and field.spec is None
