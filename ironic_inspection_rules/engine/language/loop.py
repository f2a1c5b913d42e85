# SPDX-License-Identifier: Apache-2.0

"""Loops: the items that a condition or an action runs for."""

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
"""The root with the index of the current item; fields cannot read it."""

NO_ITEMS = _('the loop has no items')

_MOST_COMPILED = 1000
"""Maximum number of items of a literal loop for which a path or a pattern is
compiled."""

Items = typing.Callable[[budget.View], list[typing.Any] | rendering.Missing]
"""Returns the items of a loop, for data by root name."""


def compile_items(loop: typing.Any) -> Items:
    """Build a function that returns the items of a loop.

    The loop ``['a', 'b']`` has the same items on all machines. The items of
    ``{inventory.disks}`` are read from the data of a machine.

    :param loop: a list; a mapping, which is one item; or a string whose
        field evaluates to one of the two (spec 003 "Consistent arguments
        for conditions and actions"). Null is a loop without items.
    :returns: a function that takes the data by root name, and returns a list
        of items or :class:`.rendering.Missing`.
    """
    # A missing field in one item must not make the whole loop missing.
    compiled = template.compile_value(loop, lenient=True)
    if isinstance(compiled, rendering.Template):
        return rendering.ComputedTemplate(compiled, _require_items).render
    items = _require_items(compiled)

    def literal_items(_roots: budget.View) -> list[typing.Any]:
        return items

    return literal_items


@dataclasses.dataclass(frozen=True, slots=True)
class Loop:
    """A loop of a rule, with its items if they are written in the rule.

    ``items`` are the items of a literal loop, e.g. ``['a', 'b']``. They are
    None if they come from the data of a machine, e.g. ``{inventory.disks}``.
    """

    items: list[typing.Any] | None

    @classmethod
    def of(
        cls, loop: typing.Any, outer: 'Loop | None' = None
    ) -> 'Loop | None':
        """Return the innermost loop of an operation, or None.

        The items of a literal list are known now, even if they have fields.
        The items of ``{inventory.disks}`` are not. Inside another loop, a list
        with fields also counts as unknown, because ``['{item}_x']`` depends on
        the item of the outer loop.

        :param loop: the ``loop`` of the operation itself.
        :param outer: the loop around the operation, e.g. the loop of its
            group.
        """
        if loop is None:
            return outer
        if outer is not None and interpolation.fields(loop):
            return cls(None)
        if isinstance(loop, list):
            return cls(loop)
        if isinstance(loop, dict):
            # A mapping counts as a single item.
            return cls([loop])
        # It is a text with a field, so the items come from a machine.
        return cls(None)

    def build_for_each_item(
        self, arguments: typing.Iterable[typing.Any]
    ) -> rendering.Template:
        """Build a template of an argument that has a value for each item.

        With the loop ``['a', 'b']``, the path ``/extra/{item}`` has the values
        ``('extra', 'a')`` and ``('extra', 'b')``. Rendering the template
        returns the value for the current item.

        :param arguments: the values or templates, in the order of the items.
        :raises: :class:`.exceptions.OperationError` if there are too many.
        """
        # Iterating may compile the arguments. One more than the limit is
        # enough to detect that there are too many.
        compiled = list(itertools.islice(arguments, _MOST_COMPILED + 1))
        if len(compiled) > _MOST_COMPILED:
            raise exceptions.OperationError(
                _(
                    'more than %d items cannot be part of a path or of a '
                    'regular expression'
                )
                % _MOST_COMPILED
            )
        return _ValueOfItem(compiled)


@dataclasses.dataclass(slots=True, eq=False)
class _ValueOfItem(rendering.Template):
    """A path or a regular expression that contains items of a literal loop.

    It is compiled once for each item instead of for each machine. The index of
    the current item, which selects it, is the root :data:`INDEX` of the data.

    :ivar arguments: the values or templates, in the order of the items.
    """

    arguments: list[typing.Any]

    def render(self, roots: budget.View) -> typing.Any:
        """Return the value for the current item of the loop.

        :param roots: the data by root name, with the index of the item.
        """
        argument = self.arguments[roots[INDEX]]
        if isinstance(argument, rendering.Template):
            return argument.render(roots)
        return argument


class ItemsInTurn:
    """Iterates over the items of a loop, and sets the root ``item`` to each.

    This is a context manager. When the context ends, even by an error, the
    ``item`` of an outer loop is restored. It is not a generator function,
    because that would take as long as checking a condition for an item.

    :param first_number: the index of the first of these items in the loop. It
        is more than 0 if only the last items of a loop are given.
    :raises: :class:`.exceptions.BudgetExceeded` if there are too many items,
        or if the budget is used up while iterating.
    """

    __slots__ = ('_first_number', '_items', '_roots', '_roots_of_outer_loop')

    def __init__(
        self,
        items: list[typing.Any],
        roots: budget.View,
        first_number: int = 0,
    ) -> None:
        self._items = items
        self._roots = roots
        self._first_number = first_number
        # The item of an outer loop and its index, to be restored.
        self._roots_of_outer_loop: dict[str, typing.Any] = {}

    def __enter__(self) -> typing.Iterator[typing.Any]:
        """Save the item of an outer loop, and return the iterator.

        :raises: BudgetExceeded if there are too many items.
        """
        for name in (interpolation.ITEM, INDEX):
            if name in self._roots:
                self._roots_of_outer_loop[name] = self._roots[name]
        self._roots.budget.check_loop(len(self._items))
        return self._iterate()

    def _iterate(self) -> typing.Iterator[typing.Any]:
        """Yield each item after putting it into the data as ``item``.

        Its index is put there too, for :class:`_ValueOfItem`.
        """
        roots = self._roots
        allowance = roots.budget
        for number, item in enumerate(self._items, self._first_number):
            allowance.spend()
            roots[interpolation.ITEM] = item
            roots[INDEX] = number
            yield item

    def __exit__(self, *error: object) -> None:
        """Remove the item, and restore the item of an outer loop."""
        for name in (interpolation.ITEM, INDEX):
            self._roots.pop(name, None)
        self._roots.update(self._roots_of_outer_loop)


def _require_items(value: typing.Any) -> list[typing.Any]:
    """Return the items of a loop's value; a mapping is one item, null none.

    :raises: :class:`.exceptions.OperationError` for a plain value.
    """
    if value is None:
        return []
    if isinstance(value, dict):
        return [value]
    if isinstance(value, list):
        return value
    raise exceptions.OperationError(
        _('cannot loop over %s') % suggestion.describe_type(value)
    )
