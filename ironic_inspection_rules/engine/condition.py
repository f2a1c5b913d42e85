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

"""Compiled conditions.

Most time of an inspection is spent here. Nearly all conditions have only one
argument that depends on the data, and get along without a mapping of their
arguments.
"""

import abc
import typing

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine import budget
from ironic_inspection_rules.engine import call as engine_call
from ironic_inspection_rules.engine import loop as engine_loop
from ironic_inspection_rules.engine import model
from ironic_inspection_rules.engine import path as data_path
from ironic_inspection_rules.engine import plugin
from ironic_inspection_rules.engine import registry
from ironic_inspection_rules.engine import sentence
from ironic_inspection_rules.engine import template
from ironic_inspection_rules.engine import trace
from ironic_inspection_rules.i18n import _

_trace: typing.Callable[..., trace.ConditionTrace] = tuple.__new__
"""Makes a trace of a tuple; half the time of making one of arguments."""

_NOTHING_YET = (None, None, trace.ConditionTrace('', None))
_SHORT = 64
"""Characters of a machine's text that are kept for the next machine."""

Holds = typing.Callable[..., bool]
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


def compile_condition(operation: Operation, ops: registry.Registry,
                      outer: engine_loop.Loop | None = None) -> Condition:
    """Compile a condition that passed validation.

    :param outer: the loop of the group it is in.
    """
    name, inverted = model.split_op(operation['op'])
    op = ops.conditions[name]
    loop = engine_loop.Loop.of(operation.get('loop'), outer)
    condition: Condition
    if isinstance(op.plugin, plugin.Group):
        condition = Group(op, operation, inverted, tuple(
            compile_condition(each, ops, loop)
            for each in operation['conditions']))
    else:
        condition = _compile_single(op, operation, inverted, loop)
    if operation.get('loop') is not None:
        condition = Looped(condition)
    return condition


def _compile_single(op: registry.Op, operation: Operation, inverted: bool,
                    loop: engine_loop.Loop | None) -> Condition:
    missing: typing.Any = ...
    if op.plugin.SEES_MISSING:
        missing = data_path.ABSENT
    elif op.plugin.ACCEPTS_MISSING:
        missing = None
    call = engine_call.Call(op, operation.get('args'), missing, loop)
    first = next(iter(op.signature.arguments), None)
    if first is None or list(call.varying) != [first.name] or (
            op.plugin.NEEDS_VIEW):
        return _OfArguments(op, operation, call, inverted)
    varying = call.varying[first.name]
    holds = op.plugin.bind(call.literals)
    if not first.variadic:
        return _OfValue(op, operation, varying, holds, inverted)
    pair = varying.pair() if isinstance(varying, template.List) else None
    if pair:
        return _OfPair(op, operation, *pair, holds, inverted)
    return _OfValues(op, operation, varying, holds, inverted)


class _OfValue(Condition):
    """A condition of which only the first argument varies."""

    __slots__ = ('_holds', '_inverted', '_last', '_others', '_says_value',
                 '_template')

    def __init__(self, op: registry.Op, operation: Operation,
                 varying: template.Template, holds: Holds, inverted: bool,
                 *others: typing.Any) -> None:
        super().__init__(op, operation)
        self._template = varying
        self._holds = holds
        self._inverted = inverted
        self._others = others
        self._last: tuple[typing.Any, typing.Any, trace.ConditionTrace] = (
            _NOTHING_YET)
        self._says_value = not isinstance(varying, template.List) and (
            engine_call.is_as_written(varying))

    def decide(self, roots: Roots) -> trace.ConditionTrace:
        told_by = self._sentence or self.sentence(None)
        say = told_by.say
        if say is None or not self._says_value:
            return super().decide(roots)
        value = self._template.render(roots)
        if value.__class__ is Missing:
            holds = False
        elif self._holds(value, *self._others):
            holds = not self._inverted
        else:
            holds = self._inverted
        source = told_by.source
        seen = value if source is None else source.render(roots)
        last, last_seen, told = self._last
        is_text = value.__class__ is seen.__class__ is str
        if is_text and value == last and seen == last_seen and (
                told.result is holds):
            # Machines of one kind are decided on alike.
            return told
        told = _trace(trace.ConditionTrace, (self.written_op, holds,
                                             say(roots, value)))
        if is_text and len(value) <= _SHORT and len(seen) <= _SHORT:
            self._last = (value, seen, told)
        return told

    def check(self, roots: Roots) -> bool:
        value = self._template.render(roots)
        if value.__class__ is Missing:
            return False
        if self._holds(value):
            return not self._inverted
        return self._inverted


class _OfPair(_OfValue):
    """A condition of two values, the first of which varies."""

    __slots__ = ('_other',)

    def __init__(self, op: registry.Op, operation: Operation,
                 varying: template.Template, other: typing.Any, holds: Holds,
                 inverted: bool) -> None:
        super().__init__(op, operation, varying, holds, inverted, other)
        self._other = other

    def check(self, roots: Roots) -> bool:
        value = self._template.render(roots)
        if value.__class__ is Missing:
            return False
        if self._holds(value, self._other):
            return not self._inverted
        return self._inverted


class _OfValues(_OfValue):
    """A condition of which only the values vary, any number of them."""

    __slots__ = ()

    decide = Condition.decide

    def check(self, roots: Roots) -> bool:
        values = self._template.render(roots)
        if values.__class__ is Missing:
            return False
        if self._holds(*values):
            return not self._inverted
        return self._inverted


class _OfArguments(Condition):
    """A condition of any arguments."""

    __slots__ = ('_call', '_holds', '_inverted', '_values', '_variadic')

    def __init__(self, op: registry.Op, operation: Operation,
                 call: engine_call.Call, inverted: bool) -> None:
        super().__init__(op, operation)
        self._call = call
        self._inverted = inverted
        literals = dict(call.literals)
        self._variadic = next((argument.name for argument
                               in op.signature.arguments
                               if argument.variadic), '')
        self._values = literals.pop(self._variadic, ())
        self._holds = op.plugin.bind(literals)

    def check(self, roots: Roots) -> bool:
        rendered = self._call.render(roots)
        if isinstance(rendered, Missing):
            return False
        view = [roots] if self.op.plugin.NEEDS_VIEW else []
        values = rendered.pop(self._variadic, self._values)
        if self._holds(*view, *values, **rendered):
            return not self._inverted
        return self._inverted


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
