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

from ironic_inspection_rules.engine import call as engine_call
from ironic_inspection_rules.engine import interpolation
from ironic_inspection_rules.engine import loop as engine_loop
from ironic_inspection_rules.engine import model
from ironic_inspection_rules.engine import registry
from ironic_inspection_rules.engine import template

Missing = template.Missing
Operation = typing.Mapping[str, typing.Any]
Roots = dict[str, typing.Any]


class Condition(abc.ABC):
    """A condition of a rule.

    ``operation`` is what the author of the rule wrote.
    """

    __slots__ = ('op', 'operation')

    def __init__(self, op: registry.Op, operation: Operation) -> None:
        self.op = op
        self.operation = operation

    @abc.abstractmethod
    def check(self, roots: Roots) -> bool:
        """Tell whether it holds for the data, given by root name."""


def compile_condition(operation: Operation,
                      ops: registry.Registry) -> Condition:
    """Compile a condition that passed validation."""
    name, inverted = model.split_op(operation['op'])
    op = ops.conditions[name]
    call = engine_call.Call(op, operation.get('args'),
                            op.plugin.ACCEPTS_MISSING)
    first = next(iter(op.signature.arguments), None)
    condition: Condition
    if first and list(call.varying) == [first.name] and (
            not op.plugin.NEEDS_VIEW):
        kind = _OfValues if first.variadic else _OfValue
        condition = kind(op, operation, call, inverted)
    else:
        condition = _OfArguments(op, operation, call, inverted)
    if operation.get('loop') is not None:
        condition = _Looped(condition)
    return condition


class _OfValue(Condition):
    """A condition of which only the first argument varies."""

    __slots__ = ('_holds', '_inverted', '_template')

    def __init__(self, op: registry.Op, operation: Operation,
                 call: engine_call.Call, inverted: bool) -> None:
        super().__init__(op, operation)
        self._template, = call.varying.values()
        self._holds = op.plugin.bind(call.literals)
        self._inverted = inverted

    def check(self, roots: Roots) -> bool:
        value = self._template.render(roots)
        if value.__class__ is Missing:
            return False
        if self._holds(value):
            return not self._inverted
        return self._inverted


class _OfValues(_OfValue):
    """A condition of which only the values vary, any number of them."""

    __slots__ = ()

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


class _Looped(Condition):
    """A condition that is checked for each item of a loop."""

    __slots__ = ('_condition', '_items', '_multiple')

    def __init__(self, condition: Condition) -> None:
        super().__init__(condition.op, condition.operation)
        self._condition = condition
        self._items = engine_loop.compile_items(condition.operation['loop'])
        self._multiple = condition.operation.get('multiple') or 'any'

    def check(self, roots: Roots) -> bool:
        items = self._items(roots)
        if isinstance(items, Missing) or not items:
            return False
        if self._multiple in ('first', 'last'):
            items = items[:1] if self._multiple == 'first' else items[-1:]
        decisive = self._multiple != 'all'
        with engine_loop.forgetting_item(roots):
            for item in items:
                roots[interpolation.ITEM] = item
                if self._condition.check(roots) is decisive:
                    return decisive
        return not decisive
