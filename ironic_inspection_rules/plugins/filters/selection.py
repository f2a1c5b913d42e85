# SPDX-License-Identifier: Apache-2.0

"""Filters that select items of a list by a condition."""

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
"""Returns whether a condition holds for a value."""


class _Select(plugin.Filter):
    """The base of filters that select items by a condition."""

    TAKES = sequence.KINDS
    TAKES_ITEMS = True
    GIVES = 'list'
    # The filter calls a condition for each item.
    PAYS = True
    REARRANGES = True
    KEEPS: typing.ClassVar[bool] = True
    """The result of the condition for items that are kept."""

    def problems(self, arguments: plugin.Arguments) -> plugin.Problems:
        """Check the name of the condition, and its literal value.

        A value with a field is only checked when the filter is called.
        """
        name = str(arguments.get('op'))
        conditions = _list_usable_conditions()
        if name not in conditions:
            yield 'op', suggestion.not_one_of(name, sorted(conditions))
            return
        op = conditions[name]
        parameter = _find_parameter(op)
        if 'value' not in arguments:
            # There is no value, or it is a field. A regular expression must be
            # literal, because a machine must not choose it.
            if parameter and parameter.type is pattern.Pattern:
                yield 'value', _('must be a regular expression')
        elif parameter is None:
            yield 'value', _('is not taken by %s') % name
        else:
            try:
                literals = _convert_literal(parameter, arguments['value'])
            except exceptions.OperationError:
                yield 'value', _('is not what %s takes') % name
                return
            for _argument, problem in op.problems(literals):
                yield 'value', problem

    def bind(
        self, arguments: dict[str, typing.Any]
    ) -> typing.Callable[..., typing.Any]:
        """Build the filter, and check its literal arguments together.

        :raises: :class:`.exceptions.OperationError` if the condition needs a
            value and has none, or rejects its value.
        """
        # Call this only for its errors, so that an invalid rule is rejected.
        # No argument has a field here, so if there is no value, it is missing.
        _make_test(
            arguments['op'],
            arguments.get('value', data_path.ABSENT),
            budget.UNLIMITED,
        )
        return super().bind(arguments)

    def choose(
        self,
        allowance: budget.Budget,
        items: sequence.Items,
        values: sequence.Items,
        op: str,
        operand: typing.Any,
    ) -> sequence.Items:
        """Return the items for whose value the condition gives :attr:`KEEPS`.

        For example, ``choose(…, disks, sizes, 'ge', 64)`` keeps the disks
        whose size is at least 64. For a missing value, a condition is false
        unless it accepts missing values, e.g. ``is-none``.

        :param values: the tested value of each item: the item itself, or an
            attribute of it.
        :param op: the name of the condition.
        :param operand: the value to compare with; ABSENT for a condition that
            takes only one value.
        """
        test, holds_for_missing = _make_test(op, operand, allowance)
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
        """
        path = tuple(name.split('.'))
        is_one_step = len(path) == 1
        values = []
        for item in items:
            # Save the call for most names, which are one step into a mapping.
            if is_one_step and item.__class__ is dict:
                values.append(item.get(name, data_path.ABSENT))
            else:
                values.append(data_path.get(item, path))
        return self.choose(allowance, items, values, op, value)


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
    condition takes two, is the argument ``value`` of the filter.
    """
    if op.plugin.NEEDS_VIEW or isinstance(op.plugin, plugin.ConditionGroup):
        # The condition needs the data of the machine, or other conditions.
        return False
    if not op.signature.arguments:
        return False
    for argument in op.signature.arguments[2:]:
        if argument.required:
            return False
    return True


def _find_parameter(op: registry.Op) -> engine_arguments.Argument | None:
    """Return the argument of a condition that gets ``value`` of the filter.

    For example, this is ``values`` of ``one-of(value, values)``.

    :returns: None if the condition takes only the value that it tests.
    """
    tested, *others = op.signature.arguments
    if tested.variadic:
        # The argument takes any number of values, as "eq" does.
        return tested
    if others:
        return others[0]
    return None


def _convert_literal(
    parameter: engine_arguments.Argument, operand: typing.Any
) -> dict[str, typing.Any]:
    """Convert ``value`` of the filter to an argument of the condition.

    :param parameter: the argument of the condition.
    :returns: the converted value by the name of the argument.
    """
    if parameter.variadic:
        return {parameter.name: [operand]}
    return {parameter.name: engine_arguments.convert(operand, parameter)}


def _make_test(
    name: str, operand: typing.Any, allowance: budget.Budget
) -> tuple[Test, bool]:
    """Build the function that tests one value with a condition.

    For ``ge`` and 64, it returns whether a value is at least 64.

    :param name: the name of the condition.
    :param operand: the value to compare with; ABSENT for a condition that
        takes only one value.
    :param allowance: the budget that a slow condition charges.
    :returns: the function; and the result for a missing value, for which the
        caller does not call the function.
    :raises: :class:`.exceptions.OperationError` if the condition needs an
        operand, or rejects this one.
    """
    op = _list_usable_conditions()[name]
    parameter = _find_parameter(op)
    has_operand = operand is not data_path.ABSENT
    if parameter is not None and parameter.required and not has_operand:
        raise exceptions.OperationError(_('%s takes a value') % name)
    test = _bind_operand(op, parameter, operand, allowance)
    if op.plugin.SEES_MISSING:
        return test, test(data_path.ABSENT)
    if op.plugin.ACCEPTS_MISSING:
        return test, test(None)
    return test, False


def _bind_operand(
    op: registry.Op,
    parameter: engine_arguments.Argument | None,
    operand: typing.Any,
    allowance: budget.Budget,
) -> Test:
    """Bind the operand of a condition, so that it only takes the tested value.

    :param parameter: the argument that gets the operand, or None.
    :param operand: the value to compare with; ABSENT for none.
    :param allowance: the budget that a slow condition charges.
    :raises: :class:`.exceptions.OperationError` if the condition rejects the
        operand.
    """
    first_arguments = []
    if op.plugin.PAYS:
        # A condition that charges for its own work gets the budget first.
        first_arguments = [allowance]
    if parameter is not None and parameter.variadic:
        # The condition takes any number of values, as "eq" does. If it is a
        # relation, use its faster function for two values.
        compare = op.relation()
        if compare is None:
            compare = functools.partial(op.bind({}), *first_arguments)
        return functools.partial(_compare_with, compare, operand)
    literals = {}
    if parameter is not None and operand is not data_path.ABSENT:
        literals = _convert_literal(parameter, operand)
    return functools.partial(op.bind(literals), *first_arguments)


def _compare_with(
    compare: typing.Callable[..., typing.Any],
    operand: typing.Any,
    value: typing.Any,
) -> bool:
    """Compare a value with an operand.

    The value comes last, so that ``functools.partial`` can bind the others.
    """
    return bool(compare(value, operand))
