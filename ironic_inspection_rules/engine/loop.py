# SPDX-License-Identifier: Apache-2.0

"""Loops: the items that a condition or an action runs for, one by one."""

import contextlib
import dataclasses
import itertools
import typing

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine import interpolation
from ironic_inspection_rules.engine import rendering
from ironic_inspection_rules.engine import template
from ironic_inspection_rules.i18n import _

INDEX = '#item'
"""Under which the roots have the number of the item; no field reaches it."""

_MOST_WRITTEN = 1000

Items = typing.Callable[[template.Roots], list[typing.Any] | template.Missing]


def compile_items(loop: typing.Any) -> Items:
    """Build a function that gives the items of a loop.

    :param loop: a list; a mapping, which is one item; or a string whose
        field evaluates to one of the two (spec 003 "Consistent arguments
        for conditions and actions"). Null is a loop without items.
    :returns: a function of the data by root name, which returns a list of
        items, or :class:`.template.Missing`.
    """
    compiled = template.compile_value(loop, lenient=True)
    if not isinstance(compiled, template.Template):
        items = _as_list(compiled)
        return lambda roots: items
    return rendering.Made(
        compiled, lambda value, _allowance: _as_list(value)).render


@dataclasses.dataclass(frozen=True, slots=True)
class Loop:
    """A loop as the rule has it, before any data comes.

    ``items`` are those that are written out in the rule, None where they
    come out of the data.
    """

    items: list[typing.Any] | None

    @classmethod
    def of(cls, loop: typing.Any,
           outer: 'Loop | None' = None) -> 'Loop | None':
        """Return what is known of a loop as it is written, if it is one.

        :param outer: the loop it is in, whose item may be part of it. Where
            there is no other loop, it is this one.
        """
        if loop is None:
            return outer
        if outer is not None and interpolation.fields(loop):
            return cls(None)
        if isinstance(loop, dict):
            return cls([loop])
        return cls(loop if isinstance(loop, list) else None)

    def for_each(self, arguments: typing.Iterable[typing.Any]
                 ) -> template.Template:
        """Build a template of what an argument is for each item in turn.

        :raises: :class:`.exceptions.OperationError` where they are too many.
        """
        most = list(itertools.islice(arguments, _MOST_WRITTEN + 1))
        if len(most) > _MOST_WRITTEN:
            raise exceptions.OperationError(
                _('more than %d items cannot be part of a path or of a '
                  'regular expression') % _MOST_WRITTEN)
        return _ForEach(most)


@dataclasses.dataclass(slots=True, eq=False)
class _ForEach(template.Template):
    """An argument that is known for each item."""

    arguments: list[typing.Any]

    def render(self, roots: template.Roots) -> typing.Any:
        argument = self.arguments[roots[INDEX]]
        if isinstance(argument, template.Template):
            return argument.render(roots)
        return argument


@contextlib.contextmanager
def iterate(items: list[typing.Any], roots: template.Roots,
            first: int = 0) -> typing.Iterator[typing.Iterator[typing.Any]]:
    """Go through the items, each of them known as the item meanwhile.

    Afterwards the item is what it was before, however the loop ends.
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
        _('cannot loop over a value of type %s') % type(value).__name__)
