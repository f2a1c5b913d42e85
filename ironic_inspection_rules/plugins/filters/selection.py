# SPDX-License-Identifier: Apache-2.0

"""Filters that select items of a list by a condition.

``{inventory.disks | selectattr('size', 'ge', 64)}`` gives the disks whose size
is at least 64. Its condition is ``ge``, and 64 is the operand, with which the
condition compares the size of each disk. ``{… | select('is-true')}`` tests the
items themselves, and has no operand.

The parameters of a condition are the arguments that it declares. The first
gets the tested value; a second one, if the condition has it, gets the operand.
A condition such as ``eq(*values)`` has a single variadic parameter, which
takes both.
"""

import functools
import typing

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.language import (
    arguments as engine_arguments,  # noqa: H301
)
from ironic_inspection_rules.engine.language import budget
from ironic_inspection_rules.engine.language import path as data_path
from ironic_inspection_rules.engine.language import pattern
from ironic_inspection_rules.engine.language import plugin
from ironic_inspection_rules.engine.language import registry
from ironic_inspection_rules.engine.language import suggestion
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.plugins.filters import sequence

Test = typing.Callable[[typing.Any], bool]
"""Returns whether a condition with its operand holds for a value."""


class _Select(plugin.Filter):
    """The base of filters that select items by a condition."""

    TAKES = sequence.KINDS
    TAKES_ITEMS = True
    GIVES = 'list'
    # The filter calls a condition for each item.
    PAYS = True
    REARRANGES = True
    RETURNS_PARTS = True
    KEEPS: typing.ClassVar[bool] = True
    """The result of the condition for items that are kept."""

    def problems(self, arguments: plugin.Arguments) -> plugin.Problems:
        """Check the name of the condition, and a literal operand.

        The operand is the argument ``value`` of the filter. If it has a
        replacement field, it is only checked when the filter is called.

        :param arguments: the literal arguments of the filter by name.
        """
        name = str(arguments.get('op'))
        conditions = _list_usable_conditions()
        if name not in conditions:
            yield 'op', suggestion.choice_message(name, sorted(conditions))
            return
        op = conditions[name]
        parameter = _find_operand_parameter(op)
        if 'value' not in arguments:
            # There is no operand, or it has a replacement field. A regular
            # expression must be literal, because a machine must not choose it.
            if parameter and parameter.type is pattern.Pattern:
                yield 'value', _('must be a regular expression')
            return
        if parameter is None:
            yield 'value', _('is not taken by %s') % name
            return
        try:
            operand = _convert_literal(parameter, arguments['value'])
        except exceptions.OperationError:
            yield 'value', _('is not what %s takes') % name
            return
        # The condition itself may reject the operand, e.g. an invalid subnet.
        for _argument, message in op.problems(operand):
            yield 'value', message

    def bind(
        self, arguments: dict[str, typing.Any]
    ) -> typing.Callable[..., typing.Any]:
        """Build the filter, and check that the condition takes its operand.

        :param arguments: all arguments of the filter by name. None of them has
            replacement fields.
        :raises: :class:`.exceptions.OperationError` if the condition needs an
            operand and has none, or rejects its operand.
        """
        operand = arguments.get('value', data_path.ABSENT)
        op = _list_usable_conditions()[arguments['op']]
        # Call these only for their errors, so that an invalid rule is rejected
        # when it is created.
        test = _make_test(op, operand, budget.UNLIMITED)
        _holds_for_missing(op, test)
        return super().bind(arguments)

    def choose(
        self,
        allowance: budget.Budget,
        items: sequence.Items,
        values: sequence.Items,
        name: str,
        operand: typing.Any,
    ) -> sequence.Items:
        """Return the items for which the condition holds.

        For example, ``choose(…, disks, sizes, 'ge', 64)`` returns the disks
        whose size is at least 64. The filters ``reject`` and ``rejectattr``
        set :attr:`KEEPS` to False, and get the items for which it does not
        hold. For a missing value, a condition is false unless it accepts
        missing values, e.g. ``is-none``.

        :param allowance: the budget, which is charged for every item.
        :param values: the tested value of each item: the item itself, or an
            attribute of it.
        :param name: the name of the condition.
        :param operand: the value to compare with; ABSENT for a condition that
            takes only one value.
        """
        op = _list_usable_conditions()[name]
        test = _make_test(op, operand, allowance)
        holds_for_missing = _holds_for_missing(op, test)
        chosen = []
        allowance.spend(len(items))
        for item, value in zip(items, values, strict=True):
            if value is data_path.ABSENT:
                holds = holds_for_missing
            else:
                holds = test(value)
            if bool(holds) is self.KEEPS:
                chosen.append(item)
        return chosen


class Select(_Select):
    """``select``: the items for which a condition holds."""

    def __call__(
        self,
        allowance: budget.Budget,
        items: sequence.Items,
        op: str,
        value: typing.Any = data_path.ABSENT,
    ) -> sequence.Items:
        return self.choose(allowance, items, items, op, value)


class Reject(Select):
    """``reject``: the items for which a condition does not hold."""

    KEEPS = False


class SelectAttribute(_Select):
    """``selectattr``: the items whose attribute a condition holds for."""

    def __call__(
        self,
        allowance: budget.Budget,
        items: sequence.Items,
        name: str,
        op: str,
        value: typing.Any = data_path.ABSENT,
    ) -> sequence.Items:
        """Test an attribute of each item, and return the items to keep.

        :param name: the name of the attribute, or names separated by dots,
            e.g. ``wwn.vendor``.
        :param op: the name of the condition.
        :param value: the value to compare the attribute with; ABSENT for a
            condition that takes only one value.
        """
        path = tuple(name.split('.'))
        is_one_step = len(path) == 1
        # The attribute of each item; ABSENT for an item without it.
        attributes = []
        for item in items:
            if is_one_step and item.__class__ is dict:
                # This does the same as below, but faster. Most names are one
                # step into a mapping.
                attributes.append(item.get(name, data_path.ABSENT))
            else:
                attributes.append(data_path.get(item, path))
        return self.choose(allowance, items, attributes, op, value)


class RejectAttribute(SelectAttribute):
    """``rejectattr``: the items whose attribute a condition is false for."""

    KEEPS = False


@functools.cache
def _list_usable_conditions() -> typing.Mapping[str, registry.Op]:
    """Return the conditions that can select items, by name."""
    conditions = registry.installed().conditions
    return {name: op for name, op in conditions.items() if _can_test(op)}


def _can_test(op: registry.Op) -> bool:
    """Return whether a condition can be called with one or two values.

    The first value is the item or its attribute. The second value, if the
    condition takes two, is the operand. So the condition must not need the
    data of the machine, other conditions, or a third argument.
    """
    if op.plugin.NEEDS_VIEW or isinstance(op.plugin, plugin.ConditionGroup):
        return False
    if not op.signature.arguments:
        # The condition does not take any value.
        return False
    further_arguments = op.signature.arguments[2:]
    return not any(argument.required for argument in further_arguments)


def _find_operand_parameter(
    op: registry.Op,
) -> engine_arguments.Argument | None:
    """Return the parameter of a condition that gets the operand.

    * For ``eq(*values)``, it is ``values``, which takes both the tested value
      and the operand.
    * For ``one-of(value, values)``, it is ``values``, the second parameter.
    * For ``is-true(value)``, which takes no operand, it is None.
    """
    first, *others = op.signature.arguments
    if first.variadic:
        return first
    if others:
        return others[0]
    return None


def _convert_literal(
    parameter: engine_arguments.Argument, operand: typing.Any
) -> dict[str, typing.Any]:
    """Convert a literal operand to the type of the condition's parameter.

    For example, ``{'subnet': '192.0.2.0/24'}`` for ``in-net``. A variadic
    parameter takes a list: ``{'values': [64]}`` for ``eq``.

    :param parameter: the parameter of the condition that gets the operand.
    :returns: the converted operand by the name of the parameter.
    """
    if parameter.variadic:
        return {parameter.name: [operand]}
    return {parameter.name: engine_arguments.convert(operand, parameter)}


def _holds_for_missing(op: registry.Op, test: Test) -> bool:
    """Return whether a condition holds for an item without the attribute."""
    if op.plugin.SEES_MISSING:
        # "exists" distinguishes a missing value from null.
        return test(data_path.ABSENT)
    if op.plugin.ACCEPTS_MISSING:
        # For "is-none" and others, a missing value counts as null.
        return test(None)
    # Any other condition is false for a missing value.
    return False


def _make_test(
    op: registry.Op, operand: typing.Any, allowance: budget.Budget
) -> Test:
    """Build the function that tests one value with a condition.

    For ``ge`` and 64, it returns whether a value is at least 64.

    :param operand: the value to compare with; ABSENT for a condition that
        takes only one value.
    :param allowance: the budget that a slow condition charges.
    :raises: :class:`.exceptions.OperationError` if the condition needs an
        operand, or rejects this one.
    """
    parameter = _find_operand_parameter(op)
    needs_operand = parameter is not None and parameter.required
    if needs_operand and operand is data_path.ABSENT:
        raise exceptions.OperationError(_('%s takes a value') % op.name)
    first_arguments = []
    if op.plugin.PAYS:
        # A condition that charges for its own work gets the budget first.
        first_arguments = [allowance]
    if parameter is not None and parameter.variadic:
        # The condition takes any number of values, as "eq" does. Pass it the
        # tested value and the operand. A relation has a faster function for
        # two values.
        compare = op.relation()
        if compare is None:
            compare = functools.partial(op.bind({}), *first_arguments)
        return functools.partial(_compare_with_operand, compare, operand)
    # The condition takes the tested value, and perhaps the operand, which is
    # bound here.
    bound_arguments = {}
    if parameter is not None and operand is not data_path.ABSENT:
        bound_arguments = _convert_literal(parameter, operand)
    return functools.partial(op.bind(bound_arguments), *first_arguments)


def _compare_with_operand(
    compare: typing.Callable[..., typing.Any],
    operand: typing.Any,
    value: typing.Any,
) -> bool:
    """Return whether a condition with two values holds for value and operand.

    The tested value is the last parameter here, so that ``functools.partial``
    can bind the others.

    :param compare: the condition, which takes the tested value first.
    """
    return bool(compare(value, operand))
