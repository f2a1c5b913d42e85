# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""Compiled conditions: what they have in common, groups, and loops."""

import abc
import typing

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine import budget
from ironic_inspection_rules.engine import loop as engine_loop
from ironic_inspection_rules.engine import registry
from ironic_inspection_rules.engine import sentence
from ironic_inspection_rules.engine import template
from ironic_inspection_rules.engine import trace
from ironic_inspection_rules.i18n import _

Missing = template.Missing
Operation = typing.Mapping[str, typing.Any]
Roots = dict[str, typing.Any]


class Condition(abc.ABC):
    """A condition of a rule.

    ``operation`` is what the author of the rule wrote, ``written_op`` its
    name in there. ``is_simple`` tells that it has no loop and no parts.
    """

    __slots__ = ('_sentence', 'op', 'operation', 'written_op')

    is_simple: typing.ClassVar[bool] = True

    def __init__(self, op: registry.Op, operation: Operation) -> None:
        self.op = op
        self.operation = operation
        self.written_op: str = operation['op']
        self._sentence: sentence.Sentence | None = None

    def sentence(self, loop: engine_loop.Loop | None) -> sentence.Sentence:
        """Return what says why it holds or does not.

        It is made when first asked for: of most conditions nobody wants to
        know.

        :param loop: the one around the condition, always the same.
        """
        if self._sentence is None:
            self._sentence = sentence.Sentence(
                self.op, self.operation.get('args'), loop)
        return self._sentence

    @property
    def decides_first(self) -> bool:
        """Whether it is decided before the first action of any rule."""
        return bool(self.op.plugin.DECIDES_FIRST)

    @abc.abstractmethod
    def check(self, roots: Roots) -> bool:
        """Tell whether it holds for the data, given by root name."""

    def decide(self, roots: Roots) -> trace.ConditionTrace:
        """Tell whether it holds, and on what that was decided.

        :returns: without a reason, where that takes a second look.
        """
        return trace.ConditionTrace(self.written_op, self.check(roots))


class Group(Condition):
    """A condition made of conditions, which are its parts."""

    __slots__ = ('_inverted', 'parts')

    is_simple = False

    def __init__(self, op: registry.Op, operation: Operation, inverted: bool,
                 parts: tuple[Condition, ...]) -> None:
        super().__init__(op, operation)
        self._inverted = inverted
        self.parts = parts

    @property
    def decides_first(self) -> bool:
        return any(part.decides_first for part in self.parts)

    def check(self, roots: Roots) -> bool:
        if self.op.plugin(_check(part, roots) for part in self.parts):
            return not self._inverted
        return self._inverted


def _check(part: Condition, roots: Roots) -> bool:
    """Check a part of a group; an error names it."""
    budget.current().spend()
    try:
        return part.check(roots)
    except exceptions.BudgetExceeded:
        raise
    except Exception as exc:
        known = isinstance(exc, exceptions.InspectionRulesError)
        raise exceptions.OperationError(_('%(op)s: %(error)s') % {
            'op': part.operation['op'],
            'error': exc if known else f'{type(exc).__name__}: {exc}',
        }) from exc


class Looped(Condition):
    """A condition that is checked for each item of a loop."""

    __slots__ = ('_items', '_multiple', 'condition')

    is_simple = False

    def __init__(self, condition: Condition) -> None:
        super().__init__(condition.op, condition.operation)
        self.condition = condition
        self._items = engine_loop.compile_items(condition.operation['loop'])
        self._multiple = condition.operation.get('multiple') or 'any'

    @property
    def decides_first(self) -> bool:
        return self.condition.decides_first

    def check(self, roots: Roots) -> bool:
        items = self._items(roots)
        if isinstance(items, Missing) or not items:
            return False
        first = 0
        if self._multiple == 'first':
            items = items[:1]
        elif self._multiple == 'last':
            first, items = len(items) - 1, items[-1:]
        decisive = self._multiple != 'all'
        with engine_loop.iterate(items, roots, first) as each:
            for _item in each:
                if self.condition.check(roots) is decisive:
                    return decisive
        return not decisive
