# SPDX-License-Identifier: Apache-2.0

"""The budget of a phase: time, operations, and size of the data.

The data come from unauthenticated machines. So everything whose cost grows
with the data is charged, always by the caller:

* ``call`` and ``single_condition`` charge for the arguments of actions and
  conditions, and ``template`` charges for the arguments of filters, by their
  length. ``template`` also charges for the results of filters, by everything
  in them.
* ``rendering`` charges for text that is built from fields, ``step`` for rules,
  actions and ``vars``, ``loop`` for items, and ``working_copy`` for the values
  that actions write.
* ``masking`` and ``pattern`` charge for their own walks and matches.

One operation pays for a condition, for 64 characters or items that are read,
for 256 characters of text that is built, or for 4 items of a list or mapping
whose items are visited.

Most plugins need not know about the budget. A plugin must charge by itself
only if a single call can build something huge or take long before it returns.

Code that reads the data gets a :class:`View`, which holds the budget. Outside
a phase, nothing is limited.
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
"""Operations between two checks of the clock, because a check is slow."""

SHORT = 63
"""Maximum length of a value that is free, in characters or items.

Callers of ops and filters compare with it first, because a call that charges
nothing would take longer than most conditions.
"""

_CONTAINERS = frozenset((dict, list))
_SIZED = frozenset((dict, list, str))


@dataclasses.dataclass(frozen=True, slots=True)
class Limits:
    """The limits of one phase.

    ``time`` is in seconds. ``operations`` is the number of operations for
    conditions, actions, loop items, and data that are read or written.
    ``loop`` is the maximum number of items of one loop. ``depth`` and ``size``
    limit the values that are built: levels of nesting, counted as Ironic does
    for posted JSON, and characters.
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
    """The remaining part of the limits of a phase.

    The time of the phase starts when the budget is created.
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
        # Check the clock when fewer operations than this are left. It is at
        # least zero, so that the next call checks and raises when there are
        # fewer than zero operations.
        self._check_below = max(self._operations_left - _CHECK_EVERY, 0)
        # Number of characters that the phase may still write.
        self._characters_left = limits.size
        self._deadline = time.monotonic() + limits.time

    def spend(self, operations: int = 1) -> None:
        """Pay for operations.

        :raises: :class:`.exceptions.BudgetExceeded` if too few operations are
            left, or time is up.
        """
        # This is called for everything that a phase does, so most calls must
        # end after one comparison.
        self._operations_left -= operations
        if self._operations_left < self._check_below:
            self._check_limits()

    def _check_limits(self) -> None:
        """Check the operations and the time, and decide when to check again.

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
        """Return the seconds that the phase may still run, more than zero.

        :raises: :class:`.exceptions.BudgetExceeded` if time is up.
        """
        self.check_time()
        # The deadline may pass between the two readings of the clock. "regex"
        # treats a negative limit as no limit, and "requests" rejects zero.
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
        """Pay for a value that is passed to an op or a filter.

        It costs one operation for each 64 characters or items. Numbers are
        free, and so are texts, lists and mappings of at most :data:`SHORT`
        characters or items.

        :raises: :class:`.exceptions.BudgetExceeded` if too few operations are
            left, or time is up.
        """
        kind = value.__class__
        if kind in _SIZED:
            if len(value) > SHORT:
                self.spend(len(value) // 64)
            if kind is not str:
                # Check the time too. The contents of the items are not
                # charged, so even a short list may take long to process.
                self.check_time()

    def pay_for_result(
        self, value: typing.Any, of_parts: bool = False
    ) -> None:
        """Pay for a value that a filter returns, or that is built from fields.

        :param of_parts: whether a list or mapping contains only parts that
            were charged before, as for ``sort``. Then only the number of its
            items is charged, not their contents.
        :raises: :class:`.exceptions.BudgetExceeded` if the value is too large
            or nested too deeply, if too few operations are left, or if time is
            up.
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
        """Pay for a text that is built: one operation per 256 characters.

        :param length: length of the text in characters.
        :raises: :class:`.exceptions.BudgetExceeded` if the text is too long,
            if too few operations are left, or if time is up.
        """
        if length > self.limits.size:
            raise exceptions.BudgetExceeded(
                _('the text is longer than %d characters') % self.limits.size
            )
        self.spend(length // 256)

    def make_value(self, value: typing.Any) -> None:
        """Pay for a list or a mapping that is built from other values.

        A value that occurs in it several times is counted each time.

        :raises: :class:`.exceptions.BudgetExceeded` like :meth:`measure`, or
            if the value is too large.
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

        :param before: the value that is replaced.
        :raises: :class:`.exceptions.BudgetExceeded` like :meth:`measure`, or
            if the phase has written too much in total.
        """
        # Count the path too, because it is recorded with the value. Each of
        # its tokens is a level of nesting around the value.
        size = self.measure(value, len(path)) + sum(map(len, path))
        if before.__class__ in _SIZED:
            # The replaced value no longer takes space.
            size -= self.measure(before)
        self._characters_left -= size
        if self._characters_left < 0:
            raise exceptions.BudgetExceeded(
                _('the phase writes more than %d characters')
                % self.limits.size
            )

    def measure(self, value: typing.Any, depth: int = 0) -> int:
        """Return the approximate length of a value as JSON, in characters.

        ``{'a': [1]}`` has 13. Each list and mapping in it costs operations.

        :param depth: the number of lists and mappings around the value.
        :raises: :class:`.exceptions.BudgetExceeded` if the value is nested too
            deeply, if too few operations are left to visit it, or if time is
            up.
        """
        if depth > self.limits.depth:
            raise self._too_deep_error()
        if value.__class__ is str:
            return len(value)
        if value.__class__ not in _CONTAINERS:
            # A number, a boolean or null. The length need not be exact.
            return 8
        size = 0
        # Walk level by level without recursion, because Ironic's threads have
        # a small stack. This also rejects a value that is too deep before its
        # deepest parts are visited.
        level = [value]
        while level:
            depth += 1
            if depth > self.limits.depth:
                raise self._too_deep_error()
            next_level: list[typing.Any] = []
            for container in level:
                # Pay first, because the same container may be in many places.
                self.spend(1 + (len(container) // 4))
                # Count brackets, and a separator and a blank for each item.
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
                        # A number, a boolean or null, approximately.
                        size += 4
            level = next_level
        return size

    def _too_deep_error(self) -> exceptions.BudgetExceeded:
        return exceptions.BudgetExceeded(
            _('the value is nested deeper than %d levels') % self.limits.depth
        )


UNLIMITED = Budget(Limits(math.inf, math.inf, math.inf, math.inf, math.inf))


class View(dict[str, typing.Any]):
    """The data of a machine by root name, e.g. ``node``, with a budget.

    The budget pays for the work of code that reads the data.
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

    This is a class, because a context manager from a generator function takes
    longer than a condition, and each rule that does not match is explained in
    such a context.
    """

    __slots__ = ('_before', '_budget', '_views')

    def __init__(self, budget: Budget, *views: View) -> None:
        self._budget = budget
        self._views = views
        # All views of a machine have the same budget.
        self._before = views[0].budget

    def __enter__(self) -> None:
        for view in self._views:
            view.budget = self._budget

    def __exit__(self, *error: object) -> None:
        for view in self._views:
            view.budget = self._before


# Everything except brackets: strings, whose closing quote may be missing in
# invalid JSON, and the text between them. One match covers as much as
# possible, because a match for each string of a large table would take as much
# memory as the table. The quantifiers are possessive, so that there is no
# backtracking.
_NO_BRACKETS = re.compile(
    rb'(?:[^"\[\]{}]++|"[^"\\]*+(?:\\.[^"\\]*+)*+"?)++', re.DOTALL
)
_OPENING = b'[{'


def is_within_depth(raw: bytes, max_depth: int) -> bool:
    """Return whether lists and objects are nested no deeper than a limit.

    This does not parse the text. Parsers use recursion, and Ironic's threads
    have such a small stack that a deep document would end the process instead
    of raising an error.

    In the API, this replaces a function of Ironic that has the same
    parameters.

    :param raw: JSON in UTF-8.
    """
    depth = 0
    # Removing everything else from {"a": ["[", 1]} leaves the brackets {[]}.
    # A bracket in a string opens nothing, and is removed too.
    for bracket in _NO_BRACKETS.sub(b'', raw):
        if bracket in _OPENING:
            depth += 1
        else:
            depth -= 1
        if depth > max_depth:
            return False
    return True
