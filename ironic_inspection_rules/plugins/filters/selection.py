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


class _Select(plugin.Filter):
    """Base of filters that select items by a condition."""

    TAKES = sequence.KINDS
    TAKES_ITEMS = True
    GIVES = 'list'
    # It calls a condition for each item.
    PAYS = True
    REARRANGES = True
    KEEPS: typing.ClassVar[bool] = True

    def problems(self, arguments: plugin.Arguments) -> plugin.Problems:
        op = str(arguments.get('op'))
        known = _tests()
        if op not in known:
            yield 'op', suggestion.not_one_of(op, sorted(known))
            return
        parameter = _parameter(known[op])
        if 'value' not in arguments:
            # The value varies, and a machine's data are not an expression.
            if parameter and parameter.type is pattern.Pattern:
                yield 'value', _('must be a regular expression')
        elif parameter is None:
            yield 'value', _('is not taken by %s') % op
        else:
            try:
                literals = _literals(parameter, arguments['value'])
            except exceptions.OperationError:
                yield 'value', _('is not what %s takes') % op
                return
            for _name, problem in known[op].problems(literals):
                yield 'value', problem

    def bind(self, arguments: dict[str, typing.Any]
             ) -> typing.Callable[..., typing.Any]:
        # No argument varies: without a value here there is none at all.
        _test(arguments['op'], arguments.get('value', data_path.ABSENT),
              budget.UNLIMITED)
        return super().bind(arguments)

    def choose(self, allowance: budget.Budget, items: sequence.Items,
               found: sequence.Items, op: str,
               wanted: typing.Any) -> sequence.Items:
        """Return the items whose value a condition holds for.

        :param found: the value of each item.
        :param wanted: the second argument of the condition.
        """
        test, of_missing = _test(op, wanted, allowance)
        kept = []
        allowance.spend(len(items))
        for item, each in zip(items, found, strict=True):
            holds = of_missing if each is data_path.ABSENT else test(each)
            if bool(holds) is self.KEEPS:
                kept.append(item)
        return kept


class Select(_Select):
    """``select``: the items for which a condition holds."""

    def __call__(self, allowance: budget.Budget, items: sequence.Items,
                 op: str, value: typing.Any = data_path.ABSENT
                 ) -> sequence.Items:
        return self.choose(allowance, items, items, op, value)


class Reject(Select):
    """``reject``: the items for which a condition does not hold."""

    KEEPS = False


class SelectAttribute(_Select):
    """``selectattr``: the items whose attribute a condition holds for."""

    def __call__(self, allowance: budget.Budget, items: sequence.Items,
                 name: str, op: str, value: typing.Any = data_path.ABSENT
                 ) -> sequence.Items:
        path = tuple(name.split('.'))
        # Most names are one step into a mapping, which costs no call.
        found = [item.get(name, data_path.ABSENT)
                 if item.__class__ is dict and len(path) == 1
                 else data_path.get(item, path) for item in items]
        return self.choose(allowance, items, found, op, value)


class RejectAttribute(SelectAttribute):
    """``rejectattr``: the items whose attribute a condition is false for."""

    KEEPS = False


@functools.cache
def _tests() -> typing.Mapping[str, registry.Op]:
    """Return the conditions with one or two required arguments, by name."""
    return {
        name: op for name, op in registry.installed().conditions.items()
        if op.signature.arguments and not op.plugin.NEEDS_VIEW
        and not isinstance(op.plugin, plugin.Group)
        and not any(each.required for each in op.signature.arguments[2:])}


def _parameter(op: registry.Op) -> engine_arguments.Argument | None:
    """Return the argument that the value is compared with, if any."""
    declared = op.signature.arguments
    if declared[0].variadic:
        return declared[0]
    return declared[1] if len(declared) > 1 else None


def _literals(parameter: engine_arguments.Argument,
              wanted: typing.Any) -> dict[str, typing.Any]:
    """Return the arguments after the value, by name."""
    if parameter.variadic:
        return {parameter.name: [wanted]}
    return {parameter.name: engine_arguments.convert(wanted, parameter)}


def _test(name: str, wanted: typing.Any,
          allowance: budget.Budget) -> tuple[Test, bool]:
    """Build the test of a value by a condition.

    :param wanted: the second argument of the condition, or ABSENT.
    :returns: a function of the value, and its result for a missing value.
    :raises: :class:`.exceptions.OperationError` if an argument is missing.
    """
    op = _tests()[name]
    parameter = _parameter(op)
    given = wanted is not data_path.ABSENT
    if parameter and parameter.required and not given:
        raise exceptions.OperationError(_('%s takes a value') % name)
    holds = op.plugin
    paid = [allowance] if holds.PAYS else []
    if parameter and parameter.variadic:
        compare = op.relation() or functools.partial(op.bind({}), *paid)

        def test(value: typing.Any) -> bool:
            return bool(compare(value, wanted))
    else:
        test = functools.partial(op.bind(
            _literals(parameter, wanted) if parameter and given else {}),
            *paid)
    if holds.SEES_MISSING:
        return test, test(data_path.ABSENT)
    return test, holds.ACCEPTS_MISSING and test(None)
