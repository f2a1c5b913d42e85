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

OF_RULE = (model.VARS, interpolation.ITEM)
"""The roots of values that a rule makes."""


class MaskedFields:
    """Finds masked fields in the arguments of an action.

    :param written: the arguments as the rule has them, without messages.
    :param own_vars: the ``vars`` of the rule as they are written.
    :param loop: the loop of the action; None for none.
    """

    __slots__ = ('_fields',)

    def __init__(self, written: typing.Any,
                 own_vars: typing.Mapping[str, typing.Any],
                 loop: typing.Any) -> None:
        origins = origin.Origins(own_vars, loop)
        self._fields = [
            (field, field.root, origins.of(field.root, field.steps)
             if field.root in OF_RULE else ())
            for field in reads.fields(written) if field.root]

    def refuse(self, view: budget.View,
               unmasked: typing.Mapping[str, typing.Any]) -> None:
        """Check that no field is or has a masked value.

        :param view: the data by root name as the rule sees them.
        :param unmasked: the same with all secrets.
        :raises: :class:`.exceptions.MaskedField` if one is or has.
        """
        for field, root, made_of in self._fields:
            if root in OF_RULE:
                value = data_path.get(_root(view, root), field.steps)
                is_masked = _is_made_of_masked(value, made_of, view, unmasked)
            else:
                is_masked = _is_masked(root, field.steps, view, unmasked)
            if is_masked:
                raise exceptions.MaskedField(field.text)


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
