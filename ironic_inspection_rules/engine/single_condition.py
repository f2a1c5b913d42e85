# SPDX-License-Identifier: Apache-2.0

"""Compiled conditions that are one call of an op.

Most time of an inspection is spent here. Nearly all conditions have only one
argument that depends on the data, and get along without a mapping of their
arguments.
"""

import typing

from ironic_inspection_rules.engine import call as engine_call
from ironic_inspection_rules.engine import condition
from ironic_inspection_rules.engine import loop as engine_loop
from ironic_inspection_rules.engine import path as data_path
from ironic_inspection_rules.engine import registry
from ironic_inspection_rules.engine import template
from ironic_inspection_rules.engine import trace

_SHORT = 64
"""Characters of a machine's text that are kept for the next machine."""

Holds = typing.Callable[..., bool]
Missing = template.Missing


def compile_single(op: registry.Op, operation: condition.Operation,
                   inverted: bool,
                   loop: engine_loop.Loop | None) -> condition.Condition:
    """Compile a condition in the form that is quickest for its arguments.

    :param loop: the one around it.
    """
    missing: typing.Any = ...
    if op.plugin.SEES_MISSING:
        missing = data_path.ABSENT
    elif op.plugin.ACCEPTS_MISSING:
        missing = None
    call = engine_call.Call(op, operation.get('args'), missing, loop)
    first = next(iter(op.signature.arguments), None)
    if first is None or list(call.varying) != [first.name] or (
            op.plugin.NEEDS_VIEW or op.plugin.PAYS and first.variadic):
        return _OfArguments(op, operation, call, inverted)
    varying = call.varying[first.name]
    holds = op.plugin.bind(call.literals)
    if not first.variadic:
        return _OfValue(op, operation, varying, holds, inverted)
    pair = varying.pair() if isinstance(varying, template.List) else None
    if pair:
        return _OfPair(op, operation, *pair, holds, inverted)
    return _OfValues(op, operation, varying, holds, inverted)


class _OfValue(condition.Condition):
    """A condition of which only the first argument varies."""

    __slots__ = ('_holds', '_inverted', '_others', '_pays', '_says_value',
                 '_template', '_told')

    def __init__(self, op: registry.Op, operation: condition.Operation,
                 varying: template.Template, holds: Holds, inverted: bool,
                 *others: typing.Any) -> None:
        super().__init__(op, operation)
        self._template = varying
        self._holds = holds
        self._inverted = inverted
        self._others = others
        self._pays = bool(op.plugin.PAYS)
        self._says_value = not isinstance(varying, template.List) and (
            engine_call.is_as_written(varying))
        # The last value, the one it was before filters, and the trace of
        # them. Threads share a plan: with three attributes one could read the
        # value of its own machine and the trace of another. So it is one
        # tuple in one attribute, read once and replaced whole.
        self._told = ('', '', trace.ConditionTrace(self.written_op, None))

    def decide(self, roots: condition.Roots) -> trace.ConditionTrace:
        told_by = self._sentence or self.sentence(None)
        say, source = told_by.say, told_by.source
        if say is None or not self._says_value:
            return super().decide(roots)
        value = self._template.render(roots)
        if value.__class__ is Missing:
            holds = False
        elif (self._holds(roots.budget, value) if self._pays
              else self._holds(value, *self._others)):
            holds = not self._inverted
        else:
            holds = self._inverted
        seen = value if source is None else source.render(roots)
        is_text = value.__class__ is seen.__class__ is str
        if is_text:
            # Machines of one kind are decided on alike.
            last, last_seen, told = self._told
            if value == last and seen == last_seen and told.result is holds:
                return told
        told = trace.ConditionTrace(self.written_op, holds,
                                    say(roots, value))
        if is_text and len(value) <= _SHORT and len(seen) <= _SHORT:
            self._told = value, seen, told
        return told

    def check(self, roots: condition.Roots) -> bool:
        value = self._template.render(roots)
        if value.__class__ is Missing:
            return False
        if (self._holds(roots.budget, value) if self._pays
                else self._holds(value)):
            return not self._inverted
        return self._inverted


class _OfPair(_OfValue):
    """A condition of two values, the first of which varies."""

    __slots__ = ('_other',)

    def __init__(self, op: registry.Op, operation: condition.Operation,
                 varying: template.Template, other: typing.Any, holds: Holds,
                 inverted: bool) -> None:
        super().__init__(op, operation, varying, holds, inverted, other)
        self._other = other

    def check(self, roots: condition.Roots) -> bool:
        value = self._template.render(roots)
        if value.__class__ is Missing:
            return False
        if self._holds(value, self._other):
            return not self._inverted
        return self._inverted


class _OfValues(_OfValue):
    """A condition of which only the values vary, any number of them."""

    __slots__ = ()

    decide = condition.Condition.decide

    def check(self, roots: condition.Roots) -> bool:
        values = self._template.render(roots)
        if values.__class__ is Missing:
            return False
        if self._holds(*values):
            return not self._inverted
        return self._inverted


class _OfArguments(condition.Condition):
    """A condition of any arguments."""

    __slots__ = ('_call', '_holds', '_inverted', '_values', '_variadic')

    def __init__(self, op: registry.Op, operation: condition.Operation,
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

    def check(self, roots: condition.Roots) -> bool:
        rendered = self._call.render(roots)
        if isinstance(rendered, Missing):
            return False
        values = rendered.pop(self._variadic, self._values)
        if self._holds(*self.op.context(roots), *values, **rendered):
            return not self._inverted
        return self._inverted
