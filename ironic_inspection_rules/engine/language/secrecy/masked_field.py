# SPDX-License-Identifier: Apache-2.0

"""Fields through which an action would write a masked value.

A rule that does not see secrets reads ``******`` in their place, and must not
write that, or anything made of it. Whether the value of a field is masked is
asked of the data, since only they tell which names there are.
"""

import typing

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.language import budget
from ironic_inspection_rules.engine.language import interpolation
from ironic_inspection_rules.engine.language import model
from ironic_inspection_rules.engine.language import origin
from ironic_inspection_rules.engine.language import path as data_path
from ironic_inspection_rules.engine.language import reads
from ironic_inspection_rules.engine.language import rendering
from ironic_inspection_rules.engine.language.secrecy import masking

Compile = typing.Callable[[interpolation.Field], rendering.Template]

_TABLES = interpolation.TABLES

OF_RULE = (model.VARS, interpolation.ITEM)
"""The roots of values that a rule makes."""


class MaskedFields:
    """Finds masked fields in the arguments of an action.

    :param written: the arguments as the rule has them, without messages.
    :param own_vars: the ``vars`` of the rule as they are written.
    :param loop: the loop of the action; None for none.
    :param compile_field: builds the template of a field.
    """

    __slots__ = ('_fields', '_of_tables')

    def __init__(self, written: typing.Any,
                 own_vars: typing.Mapping[str, typing.Any],
                 loop: typing.Any, compile_field: Compile) -> None:
        origins = origin.Origins(own_vars, loop)
        self._fields = [
            (field, field.root, _of_machine(field, origins))
            for field in reads.fields(written)
            if field.root and field.root != _TABLES]
        self._of_tables = [
            made for field in interpolation.fields(written)
            for made in _of_tables(field, origins, compile_field)]

    def refuse(self, view: budget.View,
               unmasked: typing.Mapping[str, typing.Any]) -> None:
        """Check that no field is or has a masked value.

        :param view: the data by root name as the rule sees them.
        :param unmasked: the same with all secrets.
        :raises: :class:`.exceptions.MaskedField` if one is or has.
        """
        for made in self._of_tables if hides_columns(view) else ():
            if made.is_masked(view):
                raise exceptions.MaskedField(made.text)
        if view is unmasked:
            return
        for field, root, made_of in self._fields:
            if root in OF_RULE:
                value = data_path.get(_root(view, root), field.steps)
                is_masked = _is_made_of_masked(value, made_of, view, unmasked)
            else:
                is_masked = _is_masked(root, field.steps, view, unmasked)
            if is_masked:
                raise exceptions.MaskedField(field.text)


class _OfTable(typing.NamedTuple):
    """A value that a row of a table gives.

    :param text: of the field of the action.
    :param source: the field that reads the table.
    :param rest: the path from its value to the one that is written.
    :param written: the field that is written.
    """

    text: str
    source: rendering.Template
    rest: data_path.Path
    written: rendering.Template

    def is_masked(self, view: budget.View) -> bool:
        """Return whether the value would be another with secret columns."""
        seen = self.source.render(view)
        hidden = view[_TABLES]
        view[_TABLES] = {name: found.open for name, found in hidden.items()}
        try:
            real = self.source.render(view)
        finally:
            view[_TABLES] = hidden
        if isinstance(seen, rendering.Missing):
            seen = data_path.ABSENT
        if isinstance(real, rendering.Missing):
            real = data_path.ABSENT
        seen_part = data_path.get(seen, self.rest)
        real_part = data_path.get(real, self.rest)
        if seen_part is data_path.ABSENT and real_part is data_path.ABSENT:
            # An item of a loop over the value: its path begins elsewhere.
            return masking.has_mask(self.written.render(view), view.budget)
        return masking.differs(None, seen_part, real_part, view.budget)


def _of_machine(field: interpolation.Field, origins: origin.Origins
                ) -> tuple[origin.Origin, ...]:
    """Return the fields of a machine that a value of the rule is made of."""
    if field.root not in OF_RULE:
        return ()
    return tuple(source for source in origins.of(field.root, field.steps)
                 if source.root != _TABLES)


def hides_columns(view: budget.View) -> bool:
    """Return whether a rule sees tables without their secret columns."""
    tables = view.get(_TABLES) or {}
    return any(found.is_masked for found in tables.values())


def _of_tables(field: interpolation.Field, origins: origin.Origins,
               compile_field: Compile) -> typing.Iterator[_OfTable]:
    """Yield the rows of tables that a field reads."""
    if field.root is None or field.is_table:
        return
    written = compile_field(field)
    if reads.reads_table(field):
        yield _OfTable(field.text, written, (), written)
    if field.root not in OF_RULE:
        return
    for source in origins.of_tables(field.root, field.steps):
        if not source.field.is_table:
            yield _OfTable(field.text, compile_field(source.field),
                           source.rest, written)


def refuse(text: str, key: typing.Any, value: typing.Any, real: typing.Any,
           allowance: budget.Budget) -> None:
    """Check that the value of a field of the old language is not masked.

    :param text: of the field.
    :param key: the name that the value has.
    :param value: what the rule sees.
    :param real: the same with all secrets.
    :raises: :class:`.exceptions.MaskedField` if it is or has a masked one.
    """
    if masking.differs(key, value, real, allowance):
        raise exceptions.MaskedField(text)


def _is_made_of_masked(value: typing.Any,
                       made_of: tuple[origin.Origin, ...], view: budget.View,
                       unmasked: typing.Mapping[str, typing.Any]) -> bool:
    """Return whether a value of the rule has or is made of a masked one."""
    if not made_of:
        # It is the rule's own, even if it reads "******".
        return False
    if masking.has_mask(value, view.budget):
        return True
    for source in made_of:
        # A filter may take a text for a list of characters.
        is_whole = not source.is_kept or not isinstance(
            data_path.get(_root(view, source.root), source.steps),
            dict | list)
        if is_whole and _is_masked(source.root, source.steps, view, unmasked):
            return True
    return False


def _root(view: budget.View, name: str) -> typing.Any:
    try:
        return view[name]
    except KeyError:
        return data_path.ABSENT


def _is_masked(root: str, steps: data_path.Path, view: budget.View,
               unmasked: typing.Mapping[str, typing.Any]) -> bool:
    """Return whether a value of the data is or has a masked one."""
    if root in rendering.PORT_ROOTS and steps:
        ports = _root(view, root)
        number = None if ports is data_path.ABSENT else rendering.find_port(
            ports, steps[0], view.budget)
        if number is None:
            return False
        steps = (str(number), *steps[1:])
    return masking.is_masked(root, steps, view, unmasked)
