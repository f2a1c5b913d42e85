# SPDX-License-Identifier: Apache-2.0

"""Loops: the items that a condition or an action runs for."""

import contextlib
import dataclasses
import itertools
import typing

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.language import budget
from ironic_inspection_rules.engine.language import interpolation
from ironic_inspection_rules.engine.language import rendering
from ironic_inspection_rules.engine.language import suggestion
from ironic_inspection_rules.engine.language import template
from ironic_inspection_rules.i18n import _

INDEX = '#item'
"""The root with the number of the item; no field can reach it."""

NO_ITEMS = _('the loop has no items')

_MOST_WRITTEN = 1000

Items = typing.Callable[[budget.View], list[typing.Any] | rendering.Missing]


def compile_items(loop: typing.Any) -> Items:
    """Build a function that returns the items of a loop.

    :param loop: a list; a mapping, which is one item; or a string whose
        field evaluates to one of the two (spec 003 "Consistent arguments
        for conditions and actions"). Null is a loop without items.
    :returns: a function of the data by root name, which returns a list of
        items, or :class:`.template.Missing`.
    """
    compiled = template.compile_value(loop, lenient=True)
    if not isinstance(compiled, rendering.Template):
        items = _as_list(compiled)
        return lambda roots: items
    return rendering.Made(compiled, _as_list).render


@dataclasses.dataclass(frozen=True, slots=True)
class Loop:
    """A loop of a rule.

    ``items`` are those of a literal loop, None if they come from the data.
    """

    items: list[typing.Any] | None

    @classmethod
    def of(cls, loop: typing.Any,
           outer: 'Loop | None' = None) -> 'Loop | None':
        """Return the loop of an operation, if it has one.

        :param outer: the loop that the operation is in, which is also its own
            if it has no other. The inner loop may be made of its item.
        """
        if loop is None:
            return outer
        if outer is not None and interpolation.fields(loop):
            return cls(None)
        if isinstance(loop, dict):
            return cls([loop])
        return cls(loop if isinstance(loop, list) else None)

    def for_each(self, arguments: typing.Iterable[typing.Any]
                 ) -> rendering.Template:
        """Build a template of an argument that is given for each item.

        :raises: :class:`.exceptions.OperationError` if there are too many.
        """
        most = list(itertools.islice(arguments, _MOST_WRITTEN + 1))
        if len(most) > _MOST_WRITTEN:
            raise exceptions.OperationError(
                _('more than %d items cannot be part of a path or of a '
                  'regular expression') % _MOST_WRITTEN)
        return _ForEach(most)


@dataclasses.dataclass(slots=True, eq=False)
class _ForEach(rendering.Template):
    """An argument with one value or template for each item."""

    arguments: list[typing.Any]

    def render(self, roots: budget.View) -> typing.Any:
        argument = self.arguments[roots[INDEX]]
        if isinstance(argument, rendering.Template):
            return argument.render(roots)
        return argument


@contextlib.contextmanager
def iterate(items: list[typing.Any], roots: budget.View,
            first: int = 0) -> typing.Iterator[typing.Iterator[typing.Any]]:
    """Iterate over the items, and set the root ``item`` to each in turn.

    The previous ``item`` is restored when the context ends.
    """
    outer = {name: roots[name] for name in (interpolation.ITEM, INDEX)
             if name in roots}
    allowance = roots.budget
    allowance.enter_loop(len(items))

    def each() -> typing.Iterator[typing.Any]:
        for index, item in enumerate(items, first):
            allowance.spend()
            roots[interpolation.ITEM] = item
            roots[INDEX] = index
            yield item

    try:
        yield each()
    finally:
        for name in (interpolation.ITEM, INDEX):
            roots.pop(name, None)
        roots.update(outer)


def _as_list(value: typing.Any) -> list[typing.Any]:
    if value is None:
        return []
    if isinstance(value, dict):
        return [value]
    if isinstance(value, list):
        return value
    raise exceptions.OperationError(
        _('cannot loop over %s') % suggestion.kind_of(value))
