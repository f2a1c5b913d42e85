# SPDX-License-Identifier: Apache-2.0

"""Compiled conditions: their base, groups, and loops.

The reason of a group or a loop is that of the part or item that decided it,
with its number; if all of them did, it is that of all parts, or of the first
items.
"""

import abc
import typing

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.language import budget
from ironic_inspection_rules.engine.language import loop as engine_loop
from ironic_inspection_rules.engine.language import reasons
from ironic_inspection_rules.engine.language import registry
from ironic_inspection_rules.engine.language import rendering
from ironic_inspection_rules.i18n import _

Missing = rendering.Missing
Operation = typing.Mapping[str, typing.Any]

_MOST_ITEMS = 3  # Items of a loop in a reason.


class Condition(abc.ABC):
    """A condition of a rule.

    ``operation`` is what the author of the rule wrote, ``written_op`` the op
    in it. ``needs_view``: it may read any of the data. ``decides_first``: its
    rule is decided before the first action of any rule.
    """

    __slots__ = ('decides_first', 'needs_view', 'op', 'operation',
                 'written_op')

    def __init__(self, op: registry.Op, operation: Operation) -> None:
        self.op = op
        self.operation = operation
        self.written_op: str = operation['op']
        self.needs_view = bool(op.plugin.NEEDS_VIEW)
        self.decides_first = bool(op.plugin.DECIDES_FIRST)

    @abc.abstractmethod
    def check(self, roots: budget.View) -> bool:
        """Return whether it holds for the data, given by root name."""

    def decide(self, roots: budget.View) -> reasons.Decision:
        """Return whether it holds, and why.

        :returns: without a reason if that takes a second look at the data.
        """
        return reasons.Decision(self.written_op, self.check(roots))

    @abc.abstractmethod
    def reason(self, view: budget.View, shown: budget.View) -> str:
        """Return why it holds or does not.

        :param view: the data by root name, as the rule sees them.
        :param shown: the same as they may be shown.
        """


class Group(Condition):
    """A condition made of conditions, its parts."""

    __slots__ = ('_decide', '_inverted', 'parts')

    def __init__(self, op: registry.Op, operation: Operation, inverted: bool,
                 parts: tuple[Condition, ...]) -> None:
        super().__init__(op, operation)
        self._decide = op.run(op.plugin)
        self._inverted = inverted
        self.parts = parts
        self.needs_view = any(part.needs_view for part in parts)
        self.decides_first = any(part.decides_first for part in parts)

    def check(self, roots: budget.View) -> bool:
        if self._decide(check_part(part, roots) for part in self.parts):
            return not self._inverted
        return self._inverted

    def deciding(self, roots: budget.View) -> dict[int, bool]:
        """Return the results of the parts that decide, by their numbers.

        If the plugin asks for no more results after one, such as the first
        true one of ``any-of``, that part alone decides.
        """
        results: list[bool] = []

        def ask() -> typing.Iterator[bool]:
            for part in self.parts:
                results.append(check_part(part, roots))
                yield results[-1]

        self._decide(ask())
        if len(results) == len(self.parts):
            # Find out whether the plugin would ask for one more.
            more = iter([*results, False])
            self._decide(more)
            if next(more, None) is None:
                return dict(enumerate(results))
        return {len(results) - 1: results[-1]}

    def reason(self, view: budget.View, shown: budget.View) -> str:
        return '; '.join(
            _('condition %(number)d of %(count)d: %(op)s %(result)s '
              '(%(reason)s)') % {
                'number': number + 1, 'count': len(self.parts),
                'op': self.parts[number].written_op,
                'result': _('holds') if result else _('does not hold'),
                'reason': self.parts[number].reason(view, shown)}
            for number, result in self.deciding(view).items())


def check_part(part: Condition, roots: budget.View) -> bool:
    """Check a condition in a group or of an action; errors name its op."""
    roots.budget.spend()
    try:
        return part.check(roots)
    except exceptions.BudgetExceeded:
        raise
    # The error of the group or action would name that only.
    except Exception as exc:
        raise exceptions.OperationError(_('%(op)s: %(error)s') % {
            'op': part.operation['op'],
            'error': exceptions.reason_of(exc)}) from exc


class Looped(Condition):
    """A condition that is checked for each item of a loop."""

    __slots__ = ('_multiple', 'condition', 'items')

    def __init__(self, condition: Condition) -> None:
        super().__init__(condition.op, condition.operation)
        self.condition = condition
        self.items = engine_loop.compile_items(condition.operation['loop'])
        self._multiple = condition.operation.get('multiple') or 'any'
        self.needs_view = condition.needs_view
        self.decides_first = condition.decides_first

    def check(self, roots: budget.View) -> bool:
        return self.find(roots).result

    def find(self, roots: budget.View) -> 'Found':
        """Check the items until one decides."""
        items = self.items(roots)
        if isinstance(items, Missing) or not items:
            return Found(False, items)
        first, asked = 0, items
        if self._multiple == 'first':
            asked = items[:1]
        elif self._multiple == 'last':
            first, asked = len(items) - 1, items[-1:]
        decisive = self._multiple != 'all'
        with engine_loop.iterate(asked, roots, first) as each:
            for number, _item in enumerate(each, first):
                if self.condition.check(roots) is decisive:
                    return Found(decisive, items, number)
        return Found(not decisive, items,
                     first if len(asked) < len(items) else None)

    def reason(self, view: budget.View, shown: budget.View) -> str:
        found = self.find(view)
        if isinstance(found.items, Missing):
            return _('field {%s} does not exist') % found.items.field
        if not found.items:
            return engine_loop.NO_ITEMS
        count = len(found.items)
        numbers = range(min(count, _MOST_ITEMS))
        if found.decisive is not None:
            numbers = range(found.decisive, found.decisive + 1)
        items = found.items if shown is view else self.items(shown)
        if isinstance(items, Missing) or len(items) != count:
            return _('the items are hidden')
        parts = []
        for number in numbers:
            each = slice(number, number + 1)
            with (engine_loop.iterate(found.items[each], view, number) as seen,
                  engine_loop.iterate(items[each], shown, number) as masked):
                # Each makes the item known in its data.
                next(seen)
                next(masked)
                parts.append(
                    _('item %(number)d of %(count)d: %(reason)s') % {
                        'number': number + 1, 'count': count,
                        'reason': self.condition.reason(view, shown)})
        if found.decisive is None and count > _MOST_ITEMS:
            parts.append(_('%d more') % (count - _MOST_ITEMS))
        return '; '.join(parts)


class Found(typing.NamedTuple):
    """The result of a loop.

    ``decisive`` is the number of the item that decided it, None if all of
    them did.
    """

    result: bool
    items: list[typing.Any] | Missing
    decisive: int | None = None
