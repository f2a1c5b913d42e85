# SPDX-License-Identifier: Apache-2.0

"""Fields through which an action would write a masked value.

A rule that does not see secrets reads ``******`` in their place, and must not
write that, or anything made of it. Whether the value of a field is masked is
asked of the data, since only they have the names that there are.
"""

import typing

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.language import budget
from ironic_inspection_rules.engine.language import effects
from ironic_inspection_rules.engine.language import interpolation
from ironic_inspection_rules.engine.language import model
from ironic_inspection_rules.engine.language import origin
from ironic_inspection_rules.engine.language import path as data_path
from ironic_inspection_rules.engine.language import rendering
from ironic_inspection_rules.engine.language.secrecy import masking

CompileField = typing.Callable[[interpolation.Field], rendering.Template]
CompileValue = typing.Callable[[typing.Any, bool], typing.Any]
"""Takes a value, and whether missing fields stay in its lists."""

_TABLES = interpolation.TABLES
_FAILED = object()
"""Stands for a value that cannot be computed."""

OF_RULE = (model.VARS, interpolation.ITEM)
"""The roots of values that a rule makes."""


class MaskedFields:
    """Finds masked fields in the arguments of an action.

    :param written: the arguments as the rule has them, without messages.
    :param own_vars: the ``vars`` of the rule as they are written.
    :param loop: the loop of the action; None for none.
    :param compile_field: builds the template of a field.
    :param compile_value: builds the template of a value, if it has fields.
    """

    __slots__ = ('_fields', '_of_tables')

    def __init__(
        self,
        written: typing.Any,
        own_vars: typing.Mapping[str, typing.Any],
        loop: typing.Any,
        compile_field: CompileField,
        compile_value: CompileValue,
    ) -> None:
        origins = origin.Origins(own_vars, loop)
        # Without those over tables, which have secrets of another kind.
        self._fields = []
        for field in effects.fields(written):
            if field.root and field.root != _TABLES:
                self._fields.append(
                    (field, field.root, _of_machine(field, origins))
                )
        fields_with_root = [
            field for field in interpolation.fields(written) if field.root
        ]
        self._of_tables = _FieldsOfTables(
            fields_with_root, origins, compile_field
        )
        if self._of_tables.reads_vars:
            self._of_tables.own_vars = {
                name: compile_value(value, False)
                for name, value in own_vars.items()
            }
        if self._of_tables.reads_item:
            self._of_tables.loop = compile_value(loop, True)

    def refuse(
        self, view: budget.View, unmasked: typing.Mapping[str, typing.Any]
    ) -> None:
        """Check that no field is or has a masked value.

        :param view: the data by root name as the rule sees them.
        :param unmasked: the same with all secrets.
        :raises: :class:`.exceptions.MaskedField` if one is or has.
        """
        if self._of_tables.are_any and hides_columns(view):
            self._of_tables.refuse(view)
        if view is unmasked:
            return
        for field, root, origins in self._fields:
            if root in OF_RULE:
                value = data_path.get(_root(view, root), field.steps)
                is_masked = _is_made_of_masked(value, origins, view, unmasked)
            else:
                is_masked = _is_masked(root, field.steps, view, unmasked)
            if is_masked:
                raise exceptions.MaskedField(field.text)


class _FieldsOfTables:
    """The fields of an action that read tables, also by values of the rule.

    What is made of a masked column need not look masked. So the value of a
    field is computed twice, with masked and with open tables: where both are
    the same, no secret is in it.

    ``own_vars`` and ``loop`` are templates; they are set where they are read.
    """

    __slots__ = (
        '_fields',
        'are_any',
        'loop',
        'own_vars',
        'reads_item',
        'reads_vars',
    )

    def __init__(
        self,
        fields: typing.Iterable[interpolation.Field],
        origins: origin.Origins,
        compile_field: CompileField,
    ) -> None:
        self._fields: list[tuple[str, rendering.Template]] = []
        self.own_vars: typing.Mapping[str, typing.Any] = {}
        self.loop: typing.Any = None
        roots: set[str] = set()
        for field in fields:
            roots_of_field = set(_roots_with_tables(field, origins))
            if roots_of_field:
                self._fields.append((field.text, compile_field(field)))
            roots |= roots_of_field
        self.are_any = bool(self._fields)
        self.reads_item = interpolation.ITEM in roots
        # The loop may read the vars.
        self.reads_vars = model.VARS in roots or self.reads_item

    def refuse(self, view: budget.View) -> None:
        """Check that no field is or has a masked column.

        :param view: the data by root name; they are the same afterwards.
        :raises: :class:`.exceptions.MaskedField`
        """
        roots = (_TABLES, model.VARS, interpolation.ITEM)
        before = {name: view[name] for name in roots if name in view}
        masked_tables = before[_TABLES]
        open_tables = {
            name: table.open for name, table in masked_tables.items()
        }
        item = before.get(interpolation.ITEM)
        try:
            masked_items = self._use_tables(view, masked_tables)
            masked_values = self._values(view, item)
            open_items = self._use_tables(view, open_tables)
            # Several, where it is not known which item the present one is
            # with open tables.
            open_values = []
            for open_item in _counterparts(item, masked_items, open_items):
                open_values.append(self._values(view, open_item))
        finally:
            for name in roots:
                view.pop(name, None)
            view.update(before)
        for number, (text, _field) in enumerate(self._fields):
            masked_value = masked_values[number]
            for values in open_values:
                if _differ(masked_value, values[number], view.budget):
                    raise exceptions.MaskedField(text)

    def _use_tables(self, view: budget.View, tables: typing.Any) -> typing.Any:
        """Put tables into the data, and the vars that are made of them.

        :returns: the items of the loop with these tables; None if no field
            reads them.
        """
        view[_TABLES] = tables
        if self.reads_vars:
            values: dict[str, typing.Any] = {}
            view[model.VARS] = values
            for name, written in self.own_vars.items():
                made = _render(written, view)
                if not isinstance(made, rendering.Missing):
                    values[name] = made
        if not self.reads_item:
            return None
        return _render(self.loop, view)

    def _values(self, view: budget.View, item: typing.Any) -> list[typing.Any]:
        """Return the values of all fields, in their order.

        :param item: the item of the loop that they are read with.
        """
        if self.reads_item:
            view[interpolation.ITEM] = item
        return [_render(field, view) for _text, field in self._fields]


def _roots_with_tables(
    field: interpolation.Field, origins: origin.Origins
) -> typing.Iterator[str]:
    """Yield the roots by which a field reads tables."""
    for read in effects.of_field(field):
        if read.root == _TABLES:
            yield _TABLES
        elif read.root in OF_RULE and origins.of_tables(read.root, read.steps):
            yield read.root


def _render(written: typing.Any, view: budget.View) -> typing.Any:
    """Return a value, or ``_FAILED``.

    A masked value may be of no use for a filter that takes the real one.
    """
    if not isinstance(written, rendering.Template):
        return written
    try:
        return written.render(view)
    except exceptions.BudgetExceeded:
        raise
    except exceptions.OperationError:
        return _FAILED


def _counterparts(
    item: typing.Any, masked_items: typing.Any, open_items: typing.Any
) -> list[typing.Any]:
    """Return what an item of a loop may be with open tables.

    :param masked_items: the items with masked tables, None if these are not
        read by the loop.
    :param open_items: the same with open tables.
    """
    if masked_items is None:
        return [item]
    if isinstance(masked_items, dict):
        # A mapping is the only item itself.
        masked_items = [masked_items]
        open_items = [open_items]
    if not isinstance(masked_items, list) or not isinstance(open_items, list):
        return [_FAILED]
    # Items that differ in a secret only are the same with masked tables.
    candidates = []
    for masked_item, open_item in zip(masked_items, open_items, strict=False):
        if masked_item == item:
            candidates.append(open_item)
    if not candidates:
        # The data have changed since the loop began.
        return [_FAILED]
    return candidates


def _differ(
    seen: typing.Any, real: typing.Any, allowance: budget.Budget
) -> bool:
    """Return whether a field has another value with open tables.

    A missing field is as one value: it does not differ from itself.
    """
    if isinstance(seen, rendering.Missing):
        seen = data_path.ABSENT
    if isinstance(real, rendering.Missing):
        real = data_path.ABSENT
    return masking.differs(None, seen, real, allowance)


def _of_machine(
    field: interpolation.Field, origins: origin.Origins
) -> tuple[origin.Origin, ...]:
    """Return the fields of a machine that a value of the rule is made of."""
    if field.root not in OF_RULE:
        return ()
    return tuple(
        source
        for source in origins.of(field.root, field.steps)
        if source.root != _TABLES
    )


def hides_columns(view: budget.View) -> bool:
    """Return whether a rule sees tables without their secret columns."""
    tables = view.get(_TABLES) or {}
    return any(table.is_masked for table in tables.values())


def refuse(
    text: str,
    key: typing.Any,
    value: typing.Any,
    real: typing.Any,
    allowance: budget.Budget,
) -> None:
    """Check that the value of a field of the old language is not masked.

    :param text: of the field.
    :param key: the name that the value has.
    :param value: what the rule sees.
    :param real: the same with all secrets.
    :raises: :class:`.exceptions.MaskedField` if it is or has a masked one.
    """
    if masking.differs(key, value, real, allowance):
        raise exceptions.MaskedField(text)


def _is_made_of_masked(
    value: typing.Any,
    made_of: tuple[origin.Origin, ...],
    view: budget.View,
    unmasked: typing.Mapping[str, typing.Any],
) -> bool:
    """Return whether a value of the rule has or is made of a masked one."""
    if not made_of:
        # It is the rule's own, even if it reads "******".
        return False
    if masking.has_mask(value, view.budget):
        return True
    for source in made_of:
        if source.is_kept:
            origin_value = data_path.get(
                _root(view, source.root), source.steps
            )
            if isinstance(origin_value, dict | list):
                # A masked part would still read "******". Of a text, a
                # filter may have taken characters, which do not.
                continue
        if _is_masked(source.root, source.steps, view, unmasked):
            return True
    return False


def _root(view: budget.View, name: str) -> typing.Any:
    """Return a root of the data, or :data:`.path.ABSENT`."""
    try:
        return view[name]
    except KeyError:
        return data_path.ABSENT


def _is_masked(
    root: str,
    steps: data_path.Path,
    view: budget.View,
    unmasked: typing.Mapping[str, typing.Any],
) -> bool:
    """Return whether a value of the data is or has a masked one."""
    if root in rendering.PORT_ROOTS and steps:
        ports = _root(view, root)
        if ports is data_path.ABSENT:
            return False
        name, *below = steps
        number = rendering.find_port(ports, name, view.budget)
        if number is None:
            return False
        steps = (str(number), *below)
    return masking.is_masked(root, steps, view, unmasked)
