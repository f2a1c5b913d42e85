# SPDX-License-Identifier: Apache-2.0

"""Rejects actions that would write a masked value.

A rule that does not see secrets reads ``******`` instead. It must not write
that, or anything computed from it. Whether the value of a field is masked can
only be decided with the data, because names in the data determine what is
secret.

The secrets of a machine are in its data. Tables have another kind of secrets:
columns that their authors mark as secret, see :class:`_FieldsOfTables`. A
*masked* table has ``******`` in these columns, and an *open* table has the
real values.
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
from ironic_inspection_rules.engine.language import template
from ironic_inspection_rules.engine.language.secrecy import masking

_TABLES = interpolation.TABLES
_FAILED = object()
"""Stands for the value of a field or loop whose filter fails.

It differs from any other value, so the action is rejected if a filter fails
only with masked tables, or only with open tables.
"""

ROOTS_OF_RULE = (model.VARS, interpolation.ITEM)
"""The roots of values that a rule computes: its vars, and its loop items."""


class MaskedFields:
    """Rejects an action that would write a masked value.

    An action of a rule that does not see all secrets calls ``refuse`` before
    it writes.

    :param written: the arguments as the rule has them, without messages.
    :param own_vars: the ``vars`` of the rule as they are written.
    :param loop: the loop of the action, or None.
    """

    __slots__ = ('_machine_fields', '_table_fields')

    def __init__(
        self,
        written: typing.Any,
        own_vars: typing.Mapping[str, typing.Any],
        loop: typing.Any,
    ) -> None:
        """Find the fields that may read secrets of machines or of tables.

        Whether they read a secret is decided by :meth:`refuse`, with the data
        of a machine.
        """
        origins = origin.Origins(own_vars, loop)
        self._machine_fields = []
        for field in effects.fields(written):
            if not field.root or field.root == _TABLES:
                continue
            sources: list[origin.Origin] = []
            if field.root in ROOTS_OF_RULE:
                for source in origins.of(field.root, field.steps):
                    if source.root != _TABLES:
                        sources.append(source)
            self._machine_fields.append(
                _MachineField(field.text, field.root, field.steps, sources)
            )
        # The fields that read tables. They are computed with their filters, so
        # fields in the arguments of filters need no separate check.
        fields_with_root = [
            field for field in interpolation.fields(written) if field.root
        ]
        self._table_fields = _FieldsOfTables(
            fields_with_root, origins, own_vars, loop
        )

    def refuse(
        self, view: budget.View, unmasked: typing.Mapping[str, typing.Any]
    ) -> None:
        """Raise an error if a field of the action has a masked value.

        :param view: the data by root name as the rule sees them.
        :param unmasked: the data with all secrets. It is the same object as
            ``view`` if the rule sees secrets.
        :raises: :class:`.exceptions.MaskedField` if the value of a field is
            masked, contains a masked value or is computed from one.
        """
        if self._table_fields.has_fields and hides_columns(view):
            self._table_fields.refuse(view)
        if view is unmasked:
            # The rule sees the secrets of the machine and may write them.
            return
        for text, root, steps, sources in self._machine_fields:
            if root in ROOTS_OF_RULE:
                # The rule has computed the value from masked data, so there is
                # no unmasked value to compare it with.
                value = data_path.get(_get_root(view, root), steps)
                is_masked = _is_made_of_masked(value, sources, view, unmasked)
            else:
                is_masked = _is_masked(root, steps, view, unmasked)
            if is_masked:
                raise exceptions.MaskedField(text)


class _MachineField(typing.NamedTuple):
    """A field of an action that reads the data of a machine.

    It may read them through a var or a loop item. ``sources`` are the places
    in the data from which the rule computes this var or item.
    """

    text: str
    root: str
    steps: data_path.Path
    sources: list[origin.Origin]


class _FieldsOfTables:
    """The fields of an action that read tables, directly or by vars or items.

    A value that is computed from a masked column need not look masked. So the
    value of each field is computed twice, with masked and with open tables. If
    both values are equal, they contain no secret.

    ``has_fields`` is whether there are such fields.

    :param fields: all fields of the action; fields without tables are skipped.
    :param own_vars: the ``vars`` of the rule as they are written.
    :param loop: the loop of the action as it is written, or None.
    """

    __slots__ = (
        '_fields',
        '_loop',
        '_own_vars',
        '_reads_item',
        '_reads_vars',
        'has_fields',
    )

    def __init__(
        self,
        fields: typing.Iterable[interpolation.Field],
        origins: origin.Origins,
        own_vars: typing.Mapping[str, typing.Any],
        loop: typing.Any,
    ) -> None:
        """Compile the fields that read tables, and their dependencies.

        A field over ``vars`` or ``item`` depends on the variables or the loop.
        These are also computed with masked and with open tables.
        """
        # Pairs of text and template, for each field that reads a table.
        self._fields: list[tuple[str, rendering.Template]] = []
        # The roots by which these fields read tables: "tables" if they read
        # them directly, "vars" or "item".
        roots: set[str] = set()
        for field in fields:
            roots_of_field = set(_find_roots_with_tables(field, origins))
            if roots_of_field:
                compiled = template.compile_field(field)
                self._fields.append((field.text, compiled))
            roots |= roots_of_field
        self.has_fields = bool(self._fields)
        self._reads_item = interpolation.ITEM in roots
        # The vars are also needed for the loop, which may read them.
        self._reads_vars = model.VARS in roots or self._reads_item
        # Templates of the vars and of the loop, if a field needs them.
        self._own_vars: dict[str, typing.Any] = {}
        if self._reads_vars:
            for name, value in own_vars.items():
                self._own_vars[name] = template.compile_value(value)
        self._loop: typing.Any = None
        if self._reads_item:
            self._loop = template.compile_value(loop, lenient=True)

    def refuse(self, view: budget.View) -> None:
        """Raise an error if a field depends on a masked column of a table.

        All fields, vars and loop items are computed with masked and with open
        tables, and the values are compared.

        :param view: the data by root name, with masked tables. Its tables,
            vars and item are replaced during the call and restored afterwards.
        :raises: :class:`.exceptions.MaskedField` if a value differs.
        """
        roots = (_TABLES, model.VARS, interpolation.ITEM)
        before = {name: view[name] for name in roots if name in view}
        masked_tables = before[_TABLES]
        open_tables = {
            name: table.open for name, table in masked_tables.items()
        }
        item = before.get(interpolation.ITEM)
        try:
            self._replace_tables(view, masked_tables)
            masked_items = self._compute_items(view)
            masked_values = self._compute_values(view, item)
            self._replace_tables(view, open_tables)
            open_items = self._compute_items(view)
            # Several items may look like the current item when they are
            # masked. This has the values of all fields for each such item.
            open_values_by_item = [
                self._compute_values(view, open_item)
                for open_item in _find_open_counterparts(
                    item, masked_items, open_items
                )
            ]
        finally:
            for name in roots:
                view.pop(name, None)
            view.update(before)
        for number, (text, _template) in enumerate(self._fields):
            for open_values in open_values_by_item:
                if _differ(
                    masked_values[number], open_values[number], view.budget
                ):
                    raise exceptions.MaskedField(text)

    def _replace_tables(self, view: budget.View, tables: typing.Any) -> None:
        """Replace the tables in the data, and compute the vars with them.

        A variable that is missing with these tables is left out.

        :param view: the data by root name, which are changed.
        :param tables: the masked or the open tables by name.
        """
        view[_TABLES] = tables
        if not self._reads_vars:
            return
        values: dict[str, typing.Any] = {}
        # Add the vars before they are complete, because a variable may use
        # the variables before it.
        view[model.VARS] = values
        for name, written in self._own_vars.items():
            value = _render(written, view)
            if not isinstance(value, rendering.Missing):
                values[name] = value

    def _compute_items(self, view: budget.View) -> typing.Any:
        """Compute the items of the loop with the tables in the data.

        :returns: a list; or a mapping, which counts as the only item;
            ``_FAILED`` if a filter fails; None if no field reads the item.
        """
        if not self._reads_item:
            return None
        return _render(self._loop, view)

    def _compute_values(
        self, view: budget.View, item: typing.Any
    ) -> list[typing.Any]:
        """Compute the values of all fields, in order.

        :param item: the item of the loop to use.
        """
        if self._reads_item:
            view[interpolation.ITEM] = item
        return [_render(compiled, view) for _text, compiled in self._fields]


def _find_roots_with_tables(
    field: interpolation.Field, origins: origin.Origins
) -> typing.Iterator[str]:
    """Yield the roots by which a field or its filters read tables.

    For ``{tables.racks | row}`` the root is ``tables``. For
    ``{vars.row.room}`` it is ``vars`` if the variable ``row`` is computed from
    a table. The same holds for ``item`` and the loop.

    :param origins: finds the origins of vars and of the loop.
    """
    for read in effects.fields_of_field(field):
        if read.root == _TABLES:
            yield _TABLES
        elif read.root in ROOTS_OF_RULE and origins.of_tables(
            read.root, read.steps
        ):
            yield read.root


def _render(written: typing.Any, view: budget.View) -> typing.Any:
    """Render a template; return any other value as it is.

    :returns: the value, or ``_FAILED`` if a filter fails. A filter may fail
        only with the masked value, which counts as a difference.
    :raises: :class:`.exceptions.BudgetExceeded`.
    """
    if not isinstance(written, rendering.Template):
        return written
    try:
        return written.render(view)
    except exceptions.BudgetExceeded:
        raise
    except exceptions.OperationError:
        return _FAILED


def _find_open_counterparts(
    item: typing.Any, masked_items: typing.Any, open_items: typing.Any
) -> list[typing.Any]:
    """Return the open items that a masked item of a loop may stand for.

    Items that differ only in secrets are equal when they are masked. So the
    masked item ``{'password': '******'}`` may be any open item with a
    password.

    :param item: the current item of the loop, with masked tables.
    :param masked_items: all items with masked tables; None if no field reads
        the item.
    :param open_items: the same items with open tables.
    :returns: at least one item. It is :data:`_FAILED`, which differs from any
        value, if the masked item is not among the items.
    """
    if masked_items is None:
        return [item]
    if isinstance(masked_items, dict):
        # In a loop over a mapping, the mapping is the only item.
        masked_items = [masked_items]
        open_items = [open_items]
    if not isinstance(masked_items, list) or not isinstance(open_items, list):
        return [_FAILED]
    candidates = []
    for masked_item, open_item in zip(masked_items, open_items, strict=False):
        if masked_item == item:
            candidates.append(open_item)
    if not candidates:
        # The data have changed since the loop began.
        return [_FAILED]
    return candidates


def _differ(
    masked: typing.Any, unmasked: typing.Any, allowance: budget.Budget
) -> bool:
    """Return whether masked secrets in tables change the value of a field.

    :param masked: the value of the field with masked tables.
    :param unmasked: its value with open tables.
    :param allowance: the budget that pays for the comparison.
    """
    # Two missing values are equal, even if they name different fields.
    if isinstance(masked, rendering.Missing):
        masked = data_path.ABSENT
    if isinstance(unmasked, rendering.Missing):
        unmasked = data_path.ABSENT
    return masking.is_masked_value(
        key=None, value=masked, real=unmasked, allowance=allowance
    )


def hides_columns(view: budget.View) -> bool:
    """Return whether a rule sees ``******`` in secret columns of tables."""
    tables = view.get(_TABLES) or {}
    return any(table.is_masked for table in tables.values())


def refuse(
    text: str,
    key: typing.Any,
    value: typing.Any,
    real: typing.Any,
    allowance: budget.Budget,
) -> None:
    """Raise an error if a field of ironic-inspector's language is masked.

    :param text: text of the field.
    :param key: the name of the value.
    :param value: the value that the rule sees.
    :param real: the value with all secrets.
    :raises: :class:`.exceptions.MaskedField` if the value is masked, or has a
        masked value in it.
    """
    if masking.is_masked_value(key, value, real, allowance):
        raise exceptions.MaskedField(text)


def _is_made_of_masked(
    value: typing.Any,
    sources: typing.Sequence[origin.Origin],
    view: budget.View,
    unmasked: typing.Mapping[str, typing.Any],
) -> bool:
    """Return whether a value is computed from a secret.

    The value need not show that: the first letter of ``******`` is ``*``.

    :param value: a variable or loop item, as the rule sees it.
    :param sources: the places in the machine's data that it is computed from.
    :param view: the data by root name as the rule sees them.
    :param unmasked: the data with all secrets.
    """
    if not sources:
        # The value is written in the rule, even if it reads "******".
        return False
    if masking.has_mask(value, view.budget):
        return True
    for source in sources:
        if source.is_kept:
            value_of_source = data_path.get(
                _get_root(view, source.root), source.steps
            )
            if isinstance(value_of_source, dict | list):
                # The value is an unchanged part of this list or mapping. A
                # secret in it would still read "******", which has_mask() has
                # not found. But if the source is a text, a filter may have
                # taken single characters of "******".
                continue
        if _is_masked(source.root, source.steps, view, unmasked):
            return True
    return False


def _get_root(view: budget.View, name: str) -> typing.Any:
    """Return the data under a root, or :data:`.path.ABSENT`."""
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
    """Return whether a value in the machine's data, or part of it, is masked.

    :param steps: the steps from the root to the value. The first step below
        ``ports`` may be the address of a port. A missing port is not masked.
    :param view: the data by root name as the rule sees them.
    :param unmasked: the data with all secrets.
    """
    if root in rendering.PORT_ROOTS and steps:
        ports = _get_root(view, root)
        if ports is data_path.ABSENT:
            return False
        # The path of the data has the number of the port in place of its
        # address.
        name, *below = steps
        number = rendering.find_port(ports, name, view.budget)
        if number is None:
            return False
        steps = (str(number), *below)
    return masking.is_masked(root, steps, view, unmasked)
