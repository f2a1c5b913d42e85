# SPDX-License-Identifier: Apache-2.0

"""The budget of a phase: time, operations, and size of the data.

The data come from unauthenticated machines. So everything that grows with
them is charged here, by who calls, whatever is called:

* ``call`` and ``single_condition`` for the arguments of actions and
  conditions, ``template`` for those of filters, by their length; ``template``
  also for what filters return, by all that is in it;
* ``rendering`` for text that is made of fields, ``step`` for rules, actions
  and ``vars``, ``loop`` for items, ``working_copy`` for what actions write;
* ``masking`` and ``pattern`` for their own walks and matches.

One operation pays for a condition, for 64 characters or items that are read,
for 256 characters of text that is made, or for 4 items of a list or mapping
whose items are looked at.

Plugins need not know of it. Only one of which a single call can make
something huge, or take long, before it returns charges that itself.

Code that reads the data gets a :class:`View`, which holds the budget; outside
of a phase nothing is limited.
"""

import collections.abc
import dataclasses
import math
import re
import time
import typing

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.language import model
from ironic_inspection_rules.i18n import _

_CHECK_EVERY = 64
"""Operations between two looks at the clock, which take longer than one."""

SHORT = 63
"""Characters or items up to which a value is free.

Who calls an op or a filter compares with it first: a call that charges
nothing would take longer than most conditions.
"""

_CONTAINERS = frozenset((dict, list))
_SIZED = frozenset((dict, list, str))


@dataclasses.dataclass(frozen=True, slots=True)
class Limits:
    """The limits of one phase.

    ``time`` is in seconds. ``operations`` counts conditions, actions, items
    of loops, and data that are read or written, by size. ``loop`` is the
    maximum number of items of one loop. ``depth`` and ``size`` limit the
    values that are built: levels of nesting, as Ironic counts those of posted
    JSON, and characters.
    """

    time: float = 10.0
    operations: float = 1_000_000
    loop: float = 100_000
    depth: float = 25
    size: float = 16 * 2**20


MAIN = Limits()
EARLY = Limits(time=2.0, operations=100_000)

BY_PHASE: typing.Mapping[str, Limits] = {
    model.EARLY: EARLY,
    model.PREPROCESS: MAIN,
    model.MAIN: MAIN,
}
"""The default limits of each phase."""


class Budget:
    """What is left of the limits of a phase.

    The time runs from when it is made.
    """

    __slots__ = (
        '_deadline',
        '_operations_left',
        '_check_below',
        '_characters_left',
        'limits',
    )

    def __init__(self, limits: Limits) -> None:
        """Start the time of the phase."""
        self.limits = limits
        self._operations_left = limits.operations
        # The clock is read again when fewer operations are left. At least
        # zero: below zero operations, the next call checks, and raises.
        self._check_below = max(self._operations_left - _CHECK_EVERY, 0)
        # Characters that the phase may still write.
        self._characters_left = limits.size
        self._deadline = time.monotonic() + limits.time

    def spend(self, operations: int = 1) -> None:
        """Pay for operations.

        :raises: :class:`.exceptions.BudgetExceeded` if too few are left, or
            time is up.
        """
        # This is called for everything that a phase does, so most calls end
        # after one comparison.
        self._operations_left -= operations
        if self._operations_left < self._check_below:
            self._check_limits()

    def _check_limits(self) -> None:
        """Check the operations and the time, and note when to check again.

        :raises: :class:`.exceptions.BudgetExceeded` if too few operations are
            left, or time is up.
        """
        if self._operations_left < 0:
            raise exceptions.BudgetExceeded(
                _('the phase does more than %d operations')
                % self.limits.operations
            )
        self._check_below = max(self._operations_left - _CHECK_EVERY, 0)
        self.check_time()

    def check_time(self) -> None:
        """Check that the time of the phase is not up.

        :raises: :class:`.exceptions.BudgetExceeded` if time is up.
        """
        if time.monotonic() > self._deadline:
            raise exceptions.BudgetExceeded(
                _('the phase runs longer than %g seconds') % self.limits.time
            )

    def remaining(self) -> float:
        """Return how many seconds the phase may still run, more than zero.

        :raises: :class:`.exceptions.BudgetExceeded` if time is up.
        """
        self.check_time()
        # The deadline may come between the two looks at the clock. To "regex"
        # a limit below zero is no limit, and "requests" refuses zero.
        return max(self._deadline - time.monotonic(), 0.001)

    def check_loop(self, items: int) -> None:
        """Check the number of items of a loop.

        :raises: :class:`.exceptions.BudgetExceeded` if there are too many.
        """
        if items > self.limits.loop:
            raise exceptions.BudgetExceeded(
                _('the loop has %(items)d items, more than %(most)d')
                % {'items': items, 'most': self.limits.loop}
            )

    def pay_for_argument(self, value: typing.Any) -> None:
        """Pay for a value that an op or a filter is called with.

        It costs an operation for every 64 characters or items. A number is
        free, and so is a text, list or mapping of at most :data:`SHORT`
        characters or items.

        :raises: :class:`.exceptions.BudgetExceeded` if too few are left, or
            time is up.
        """
        kind = value.__class__
        if kind in _SIZED:
            if len(value) > SHORT:
                self.spend(len(value) // 64)
            if kind is not str:
                # What is in the items is not charged. So it may take long to
                # work on a list of a few items.
                self.check_time()

    def pay_for_result(
        self, value: typing.Any, of_parts: bool = False
    ) -> None:
        """Pay for a value that a filter returns, or that is made of fields.

        :param of_parts: whether a list or mapping is only made of parts that
            were charged before, as by ``sort``. Then the number of its items
            is charged, and nothing that is in them.
        :raises: :class:`.exceptions.BudgetExceeded` if it is too large or
            nested too deeply, too few operations are left, or time is up.
        """
        kind = value.__class__
        if kind is str:
            self.make_text(len(value))
        elif kind in _CONTAINERS:
            if of_parts:
                self.spend(len(value) // 4)
            else:
                self.make_value(value)

    def make_text(self, length: int) -> None:
        """Pay for a text that is made, an operation for 256 characters.

        :param length: in characters.
        :raises: :class:`.exceptions.BudgetExceeded` if it is too long, too
            few operations are left, or time is up.
        """
        if length > self.limits.size:
            raise exceptions.BudgetExceeded(
                _('the text is longer than %d characters') % self.limits.size
            )
        self.spend(length // 256)

    def make_value(self, value: typing.Any) -> None:
        """Pay for a list or a mapping that is made of other values.

        The same value may be in it many times, and counts as often.

        :raises: :class:`.exceptions.BudgetExceeded` as :meth:`measure`, or
            if it is too large.
        """
        if self.measure(value) > self.limits.size:
            raise exceptions.BudgetExceeded(
                _('the value is larger than %d characters') % self.limits.size
            )

    def write(
        self,
        value: typing.Any,
        path: typing.Sequence[str],
        before: typing.Any = None,
    ) -> None:
        """Pay for a value that is written to a path.

        :param before: the value that it replaces.
        :raises: :class:`.exceptions.BudgetExceeded` as :meth:`measure`, or
            if all that the phase has written is too large.
        """
        # The path counts, too, as it is recorded with the value.
        size = self.measure(value, len(path)) + sum(map(len, path))
        if before.__class__ in _SIZED:
            # The room of the value that it replaces is free again.
            size -= self.measure(before)
        self._characters_left -= size
        if self._characters_left < 0:
            raise exceptions.BudgetExceeded(
                _('the phase writes more than %d characters')
                % self.limits.size
            )

    def measure(self, value: typing.Any, depth: int = 0) -> int:
        """Return about how many characters a value has as JSON.

        ``{'a': [1]}`` has 13. Every list and mapping in it costs operations.

        :param depth: how many lists and mappings the value itself is in.
        :raises: :class:`.exceptions.BudgetExceeded` if it is nested too
            deeply, if there are too few operations left to look at it, or
            if time is up.
        """
        if depth > self.limits.depth:
            raise self._too_deep_error()
        if value.__class__ is str:
            return len(value)
        if value.__class__ not in _CONTAINERS:
            # A number, a boolean or null: it need not be exact.
            return 8
        size = 0
        # Level by level, not by recursion: Ironic's threads have little
        # stack, and a value that is too deep is refused before it is walked.
        level = [value]
        while level:
            depth += 1
            if depth > self.limits.depth:
                raise self._too_deep_error()
            next_level: list[typing.Any] = []
            for container in level:
                # Paid first: the same container may be in many places.
                self.spend(1 + (len(container) // 4))
                # Brackets, and a separator and a blank for every item.
                size += 2 + 2 * len(container)
                items: collections.abc.Iterable[typing.Any] = container
                if container.__class__ is dict:
                    size += sum(len(str(key)) for key in container)
                    items = container.values()
                for item in items:
                    if item.__class__ is str:
                        size += len(item)
                    elif item.__class__ in _CONTAINERS:
                        next_level.append(item)
                    else:
                        # A number, a boolean or null: roughly.
                        size += 4
            level = next_level
        return size

    def _too_deep_error(self) -> exceptions.BudgetExceeded:
        return exceptions.BudgetExceeded(
            _('the value is nested deeper than %d levels') % self.limits.depth
        )


UNLIMITED = Budget(Limits(math.inf, math.inf, math.inf, math.inf, math.inf))


class View(dict[str, typing.Any]):
    """The data of a machine by root name, such as ``node``, with a budget.

    The budget pays for what their reader does.
    """

    __slots__ = ('budget',)

    def __init__(
        self,
        roots: typing.Mapping[str, typing.Any] | None = None,
        budget: Budget = UNLIMITED,
    ) -> None:
        super().__init__(roots or ())
        self.budget = budget

    def paid_by(self, budget: Budget) -> 'PaidBy':
        """Return a context in which the view has another budget."""
        return PaidBy(budget, self)


class PaidBy:
    """A context in which views have another budget.

    It is a class and no generator function, which takes longer than a
    condition: every rule that does not match is explained in such a context.
    """

    __slots__ = ('_before', '_budget', '_views')

    def __init__(self, budget: Budget, *views: View) -> None:
        self._budget = budget
        self._views = views
        # Views of one machine have the same budget.
        self._before = views[0].budget

    def __enter__(self) -> None:
        for view in self._views:
            view.budget = self._budget

    def __exit__(self, *error: object) -> None:
        for view in self._views:
            view.budget = self._before


# All but brackets: strings, whose closing quote may be missing in what is no
# JSON, and what is between them. A match goes on as far as it can: one for
# each string of a large table would take as much memory as the table.
# Possessive: nothing is kept to try it in another way.
_NO_BRACKETS = re.compile(
    rb'(?:[^"\[\]{}]++|"[^"\\]*+(?:\\.[^"\\]*+)*+"?)++', re.DOTALL
)
_OPENING = b'[{'


def is_deeper(text: bytes, limit: int) -> bool:
    """Return whether lists and objects are nested deeper than a limit.

    Nothing is parsed: parsers recurse, and Ironic's threads have so little
    stack that a deep document ends the process instead of raising an error.

    :param text: JSON in UTF-8.
    """
    depth = 0
    # Of {"a": ["[", 1]} the brackets {[]} are left: one in a string opens
    # nothing.
    for bracket in _NO_BRACKETS.sub(b'', text):
        if bracket in _OPENING:
            depth += 1
        else:
            depth -= 1
        if depth > limit:
            return True
    return False
