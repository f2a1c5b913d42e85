# SPDX-License-Identifier: Apache-2.0

"""Conditions of a rule: groups, loops, and their reasons.

A reason says why a condition holds or not, e.g. ``values=[8, 4]``. A group or
a loop is often decided by one of its parts or items: ``any-of`` holds if its
second part holds. Its reason is then the reason of this part or item, with
its number. Otherwise, its reason contains the reasons of all parts, or of the
first few items.
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
"""A condition as its author wrote it: ``{'op': 'eq', 'args': [1, 2]}``."""

_MOST_ITEMS = 3
"""Maximum number of items of a loop in a reason."""


class CompiledCondition(abc.ABC):
    """A condition of a rule, ready to be checked on machines.

    ``op`` is the plugin. ``operation`` is the condition as the author wrote
    it, and ``written_op`` is its op. ``needs_view`` is whether the condition
    may read any of the data. ``decides_first`` is whether its rule is decided
    before the first action of any rule.
    """

    __slots__ = (
        'decides_first',
        'needs_view',
        'op',
        'operation',
        'written_op',
    )

    def __init__(self, op: registry.Op, operation: Operation) -> None:
        """Store the attributes that all kinds of conditions have."""
        self.op = op
        self.operation = operation
        self.written_op: str = operation['op']
        self.needs_view = bool(op.plugin.NEEDS_VIEW)
        self.decides_first = bool(op.plugin.DECIDES_FIRST)

    @abc.abstractmethod
    def check(self, roots: budget.View) -> bool:
        """Return whether the condition holds for the data of a machine."""

    def decide(self, roots: budget.View) -> reasons.ConditionResult:
        """Return whether the condition holds, and why.

        :returns: the result. It has no reason if :meth:`reason` must read the
            data again to find the reason.
        """
        return reasons.ConditionResult(self.written_op, self.check(roots))

    @abc.abstractmethod
    def reason(self, view: budget.View, masked_view: budget.View) -> str:
        """Return the reason why the condition holds or does not hold.

        :param view: the data by root name, as the rule sees them. They
            determine the result.
        :param masked_view: the data without secrets, from which the reason
            shows values. It is the same object as ``view`` if the rule sees no
            secrets.
        """


class CompoundCondition(CompiledCondition):
    """A group of conditions, which are its parts, e.g. ``any-of``."""

    __slots__ = ('_decide', '_inverted', 'parts')

    def __init__(
        self,
        op: registry.Op,
        operation: Operation,
        inverted: bool,
        parts: tuple[CompiledCondition, ...],
    ) -> None:
        """Compile a group.

        :param inverted: whether its op has a ``!`` before it.
        :param parts: the compiled conditions of the group.
        """
        super().__init__(op, operation)
        # The function of the plugin, e.g. of any-of. It takes the results of
        # the parts one by one, and returns whether the group holds.
        self._decide = op.wrap_for_machines(op.plugin)
        self._inverted = inverted
        self.parts = parts
        self.needs_view = any(part.needs_view for part in parts)
        self.decides_first = any(part.decides_first for part in parts)

    def check(self, roots: budget.View) -> bool:
        """Return whether the group holds for the data of a machine.

        A part is only checked when the group requests its result. For example,
        ``any-of`` stops at the first part that holds.
        """
        if self._decide(check_part(part, roots) for part in self.parts):
            return not self._inverted
        return self._inverted

    def find_deciding_parts(self, roots: budget.View) -> dict[int, bool]:
        """Return the results of the parts that decide, by their numbers.

        The reason of the group names only these parts. If the second part of
        ``any-of`` is true, ``any-of`` requests no further results, and this
        part alone decides: ``{1: True}``. If all parts are false, all of them
        decide: ``{0: False, 1: False}``. A ``!`` before the op of the group
        does not change which parts decide.

        :raises: the errors of :func:`check_part`.
        """
        # The results that the group requests, which may be fewer than all.
        results: list[bool] = []
        requests_further_result = False

        def results_in_turn() -> typing.Iterator[bool]:
            """Check each part when the group requests its result."""
            nonlocal requests_further_result
            for part in self.parts:
                result = check_part(part, roots)
                results.append(result)
                yield result
            # There is no further part, so none of them has decided alone.
            requests_further_result = True

        self._decide(results_in_turn())
        if requests_further_result:
            return dict(enumerate(results))
        last_number = len(results) - 1
        return {last_number: results[last_number]}

    def reason(self, view: budget.View, masked_view: budget.View) -> str:
        """Return the reasons of the parts that decide, with their numbers.

        For example, ``condition 2 of 3: eq holds (values=[8, 8])``.
        """
        reasons_of_parts = []
        for number, result in self.find_deciding_parts(view).items():
            part = self.parts[number]
            if result:
                result_text = _('holds')
            else:
                result_text = _('does not hold')
            reason = part.reason(view, masked_view)
            reasons_of_parts.append(
                _(
                    'condition %(number)d of %(count)d: %(op)s %(result)s '
                    '(%(reason)s)'
                )
                % {
                    'number': number + 1,
                    'count': len(self.parts),
                    'op': part.written_op,
                    'result': result_text,
                    'reason': reason,
                }
            )
        return '; '.join(reasons_of_parts)


def check_part(part: CompiledCondition, roots: budget.View) -> bool:
    """Check a condition in a group, or a condition of an action.

    An error names the op of the condition, e.g. ``contains: the item is longer
    …``, because the caller only adds the op of the group or action around it.

    :param roots: the data of the machine by root name, with the budget.
    :raises: :class:`.exceptions.BudgetExceeded`, or
        :class:`.exceptions.OperationError` for any other error.
    """
    roots.budget.spend()
    try:
        return part.check(roots)
    except exceptions.BudgetExceeded:
        # This error ends the phase, whichever condition raises it.
        raise
    except Exception as exc:
        raise exceptions.OperationError(
            _('%(op)s: %(error)s')
            % {'op': part.written_op, 'error': exceptions.reason_of(exc)}
        ) from exc


class LoopedCondition(CompiledCondition):
    """A condition that is checked for the items of a loop.

    ``condition`` checks one item. ``items`` is a function that takes the data
    by root name and returns the items.
    """

    __slots__ = ('_multiple', 'condition', 'items')

    def __init__(self, condition: CompiledCondition) -> None:
        """Compile the loop of a condition.

        :param condition: the condition, compiled without its loop.
        """
        super().__init__(condition.op, condition.operation)
        self.condition = condition
        self.items = engine_loop.compile_items(condition.operation['loop'])
        self._multiple = condition.operation.get('multiple') or 'any'
        self.needs_view = condition.needs_view
        self.decides_first = condition.decides_first

    def check(self, roots: budget.View) -> bool:
        return self.check_items(roots).result

    def check_items(self, roots: budget.View) -> 'LoopResult':
        """Check the condition for the items of the loop until one decides.

        ``multiple`` determines which items are checked, and whether all or any
        of them must hold. A loop without items, or over a missing field, does
        not hold.

        :param roots: the data of the machine by root name.
        :returns: whether the condition holds, the items, and the number of
            the item that decided, if any.
        """
        items = self.items(roots)
        if isinstance(items, Missing) or not items:
            return LoopResult(result=False, items=items)
        # Only these items are checked. The index of the first of them is
        # needed because the reason names items by their numbers in the loop.
        checked_items = items
        first_number = 0
        # The item that decides alone, if it is known before the check. With
        # "any" and "all", the loop below may find one.
        decisive = None
        if self._multiple == 'first':
            checked_items = items[:1]
            decisive = 0
        elif self._multiple == 'last':
            checked_items = items[-1:]
            first_number = len(items) - 1
            decisive = first_number
        # "all" is decided by the first item that does not hold. The other
        # values of "multiple" are decided by the first item that holds.
        deciding_result = self._multiple != 'all'
        with engine_loop.ItemsInTurn(
            checked_items, roots, first_number
        ) as items_in_turn:
            # Each step of the iterator puts an item into the data.
            for number, _item in enumerate(items_in_turn, first_number):
                if self.condition.check(roots) is deciding_result:
                    return LoopResult(deciding_result, items, decisive=number)
        return LoopResult(not deciding_result, items, decisive)

    def reason(self, view: budget.View, masked_view: budget.View) -> str:
        """Return the reasons of the items that decide, with their numbers.

        For example, ``item 2 of 3: values=[480, 480]``. If all items decide,
        only the first few are explained.
        """
        loop = self.check_items(view)
        if isinstance(loop.items, Missing):
            return _('field {%s} does not exist') % loop.items.field
        if not loop.items:
            return engine_loop.NO_ITEMS
        count = len(loop.items)
        # The items decide with their secrets, but are shown without secrets.
        masked_items: list[typing.Any] | Missing = loop.items
        if masked_view is not view:
            masked_items = self.items(masked_view)
        if isinstance(masked_items, Missing) or len(masked_items) != count:
            # The masked data have no list here, or one of another length, so
            # the items or some of them are secret.
            return _('the items are hidden')
        if loop.decisive is not None:
            explained_numbers = [loop.decisive]
        else:
            explained_numbers = list(range(min(count, _MOST_ITEMS)))
        sentences = []
        for number in explained_numbers:
            reason = self._reason_of_item(
                number,
                loop.items[number],
                masked_items[number],
                view,
                masked_view,
            )
            sentences.append(
                _('item %(number)d of %(count)d: %(reason)s')
                % {'number': number + 1, 'count': count, 'reason': reason}
            )
        if loop.decisive is None and count > _MOST_ITEMS:
            sentences.append(_('%d more') % (count - _MOST_ITEMS))
        return '; '.join(sentences)

    def _reason_of_item(
        self,
        number: int,
        item: typing.Any,
        masked_item: typing.Any,
        view: budget.View,
        masked_view: budget.View,
    ) -> str:
        """Return the reason of the condition for one item of the loop.

        :param number: the index of the item in the loop.
        :param masked_item: the item without its secrets.
        """
        in_view = engine_loop.ItemsInTurn([item], view, number)
        in_masked_view = engine_loop.ItemsInTurn(
            [masked_item], masked_view, number
        )
        with in_view as iterator, in_masked_view as masked_iterator:
            # A step of each iterator puts the item into the data.
            next(iterator)
            next(masked_iterator)
            return self.condition.reason(view, masked_view)


class LoopResult(typing.NamedTuple):
    """The result of a condition for the items of a loop.

    ``items`` are all items of the loop, or its missing field. ``decisive`` is
    the index of the item that decided alone. It is None if all items together
    gave the result, e.g. if no item holds for ``any``.
    """

    result: bool
    items: list[typing.Any] | Missing
    decisive: int | None = None
