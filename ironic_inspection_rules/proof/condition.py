# SPDX-License-Identifier: Apache-2.0

"""Conditions of rules as formulas of the solver.

Known values are decided by the op itself; for what a machine sends there is
a translation for each op, of one alternative of each argument. Ops without
one, and values that nobody knows, are guesses.
"""

from collections.abc import Iterable
import json
import typing

import z3

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine import budget
from ironic_inspection_rules.engine import interpolation
from ironic_inspection_rules.engine import model
from ironic_inspection_rules.engine import path as data_path
from ironic_inspection_rules.engine import plugin
from ironic_inspection_rules.engine import registry
from ironic_inspection_rules.proof import expression
from ironic_inspection_rules.proof import logic
from ironic_inspection_rules.proof import machine as machines
from ironic_inspection_rules.proof import operator as operators
from ironic_inspection_rules.proof import value as values

Scope = expression.Scope
Alternatives = tuple[values.Alternative, ...]


class Truth(typing.NamedTuple):
    """When a condition holds, and when it cannot be decided."""

    holds: logic.Formula
    fails: logic.Formula = logic.FALSE


def all_hold(conditions: Iterable[typing.Any], scope: Scope) -> Truth:
    """Return when all conditions hold, asked one after another."""
    holds, fails = logic.TRUE, logic.FALSE
    for each in conditions:
        truth = translate(each, scope)
        fails = logic.disj(fails, logic.conj(holds, truth.fails))
        holds = logic.conj(holds, truth.holds)
        if holds is logic.FALSE:
            break
    return Truth(holds, fails)


def translate(written: typing.Mapping[str, typing.Any],
              scope: Scope) -> Truth:
    """Return when a condition holds."""
    if written.get('loop') is not None:
        return _looped(written, scope)
    name, inverted = model.split_op(written['op'])
    op = registry.installed().conditions[name]
    if isinstance(op.plugin, plugin.Group):
        return _group(op, written['conditions'], inverted, scope)
    bound, _problems = op.signature.bind(written.get('args'))
    return _Single(op, bound, inverted, scope).truth()


def _group(op: registry.Op, parts: Iterable[typing.Any], inverted: bool,
           scope: Scope) -> Truth:
    every = op.plugin.HOLDS == 'all'
    going, fails = logic.TRUE, logic.FALSE
    for each in parts:
        truth = translate(each, scope)
        fails = logic.disj(fails, logic.conj(going, truth.fails))
        going = logic.conj(going, truth.holds if every
                            else logic.negated(truth.holds))
    holds = logic.negated(going) if op.plugin.HOLDS == 'any' else going
    if not op.plugin.HOLDS:
        holds = scope.machine.guess(f'{op.name} has no translation',
                                    object())
    return Truth(logic.negated(holds) if inverted else holds, fails)


def _looped(written: typing.Mapping[str, typing.Any], scope: Scope) -> Truth:
    once = {name: each for name, each in written.items() if name != 'loop'}
    multiple = written.get('multiple') or 'any'
    found = looped_over(written['loop'], scope)
    holds: list[logic.Formula] = []
    fails: list[logic.Formula] = []
    for guard, alternative in found:
        if isinstance(alternative, values.Const) and not isinstance(
                alternative.value, list | dict):
            if alternative.value not in (None, data_path.ABSENT):
                fails.append(guard)
            continue
        if isinstance(alternative, values.Term | values.Failed):
            fails.append(guard)
            continue
        if isinstance(alternative, values.Unknown | values.Names):
            holds.append(logic.conj(guard, scope.machine.guess(
                f'a loop over {getattr(alternative, "reason", "traits")}',
                (json.dumps(written), id(alternative)), alternative)))
            continue
        truth = _over(once, multiple, alternative, scope)
        holds.append(logic.conj(guard, truth.holds))
        fails.append(logic.conj(guard, truth.fails))
    return Truth(logic.disj(*holds), logic.disj(*fails))


def looped_over(loop: typing.Any, scope: Scope) -> values.Value:
    """Return what a loop goes through."""
    if isinstance(loop, list):
        return values.only(values.Items(z3.IntVal(len(loop)), tuple(
            values.Written(_leniently(item, scope)) for item in loop),
            'a list'))
    if isinstance(loop, dict):
        return _leniently(loop, scope)
    return expression.evaluate(loop, scope)


def _leniently(item: typing.Any, scope: Scope) -> values.Value:
    """Return an item, in which a missing field is no reason to miss it."""
    if isinstance(item, dict) and not interpolation.fields(list(item)):
        return values.only(values.Mapping(None, {
            name: _leniently(each, scope) for name, each in item.items()}))
    return expression.evaluate(item, scope)


def _over(once: typing.Mapping[str, typing.Any], multiple: str,
          alternative: values.Alternative, scope: Scope) -> Truth:
    """Return when a condition holds over the items of a list."""
    items = values.listed(alternative)
    if not items:
        return Truth(logic.FALSE)
    truths = [translate(once, scope.within(item=item)) for _there, item
              in items]
    there = [each for each, _item in items]
    more = logic.FALSE
    beyond = logic.FALSE
    if isinstance(alternative, values.Items):
        more = logic.simplified(alternative.is_longer)
        if more is not logic.FALSE:
            beyond = scope.machine.guess(
                f'more than {machines.LONGEST} items of {alternative.name}',
                (json.dumps([once, multiple]), id(alternative), tuple(
                    truth.holds.get_id() for truth in truths)),
                alternative, truths)
            scope.machine.loops.setdefault(
                alternative.name, set()).add(str(beyond))
    if multiple == 'first':
        return Truth(logic.conj(there[0], truths[0].holds),
                     logic.conj(there[0], truths[0].fails))
    if multiple == 'last':
        ends = [logic.conj(one, logic.negated(other)) for one, other
                in zip(there, [*there[1:], more], strict=True)]
        return Truth(*(logic.disj(*(
            logic.conj(end, part) for end, part
            in zip(ends, parts, strict=True)), logic.conj(more, beyond))
            for parts in zip(*truths, strict=True)))
    decisive = multiple != 'all'
    going, fails = logic.TRUE, logic.FALSE
    for present, truth in zip(there, truths, strict=True):
        fails = logic.disj(fails, logic.conj(going, present, truth.fails))
        found = logic.conj(present, truth.holds if decisive
                            else logic.negated(truth.holds))
        going = logic.conj(going, logic.negated(found))
    if decisive:
        return Truth(logic.disj(logic.negated(going),
                                 logic.conj(more, beyond)), fails)
    return Truth(logic.conj(there[0], going, logic.disj(
        logic.negated(more), beyond)), fails)


class _Single:
    """One op with its arguments."""

    def __init__(self, op: registry.Op, bound: dict[str, typing.Any],
                 inverted: bool, scope: Scope) -> None:
        self._op = op
        self._inverted = inverted
        self._scope = scope
        self._machine = scope.machine
        self._written = bound
        self._named: list[str] = []
        self._values: list[values.Value] = []
        for name, value in bound.items():
            argument = op.signature.by_name[name]
            if argument.variadic and isinstance(value, list):
                if len(value) == 1 and isinstance(value[0], list):
                    value = value[0]
                for each in value:
                    self._add('', expression.evaluate(each, scope))
            elif name == 'regex':
                self._add(name, values.const(value))
            else:
                self._add(name, expression.evaluate(value, scope))

    def _add(self, name: str, value: values.Value) -> None:
        self._named.append(name)
        self._values.append(value)

    def truth(self) -> Truth:
        """Return when the condition holds."""
        holds: list[logic.Formula] = []
        fails: list[logic.Formula] = []
        for guard, alternatives in values.product(self._values):
            truth = self._of(alternatives)
            holds.append(logic.conj(guard, truth.holds))
            fails.append(logic.conj(guard, truth.fails))
        return Truth(logic.disj(*holds), logic.disj(*fails))

    def _of(self, alternatives: Alternatives) -> Truth:
        condition = self._op.plugin
        if any(isinstance(each, values.Failed) for each in alternatives):
            return Truth(logic.FALSE, logic.TRUE)
        missing = [isinstance(each, values.Const)
                   and each.value is data_path.ABSENT
                   for each in alternatives]
        if any(missing) and not condition.SEES_MISSING:
            if not condition.ACCEPTS_MISSING:
                return Truth(logic.FALSE)
            alternatives = tuple(
                values.Const(None) if gone else each for each, gone
                in zip(alternatives, missing, strict=True))
        try:
            holds, fails = self._decide(alternatives)
        except (logic.Untranslatable) as exc:
            return Truth(self._machine.guess(
                f'{self._op.name}: {exc}',
                (self._op.name, json.dumps(self._written, sort_keys=True,
                                           default=str),
                 tuple(map(values.identity, alternatives))), alternatives))
        return Truth(logic.negated(holds) if self._inverted else holds,
                     fails)

    def _decide(self, alternatives: Alternatives) -> Truth:
        if self._op.plugin.NEEDS_VIEW or self._op.plugin.LITERAL:
            raise logic.Untranslatable('it looks into the data itself')
        for each in alternatives:
            if isinstance(each, values.Unknown):
                raise logic.Untranslatable(each.reason)
        if all(isinstance(each, values.Const) for each in alternatives):
            return self._known(alternatives)
        found = operators.TRANSLATIONS.get(self._op.name)
        if found is None:
            raise logic.Untranslatable(
                f'there is no translation of {self._op.name}')
        given = {name: each for name, each
                 in zip(self._named, alternatives, strict=True) if name}
        several = [each for name, each
                   in zip(self._named, alternatives, strict=True)
                   if not name]
        return Truth(found(self._machine, self._op.name, given, several))

    def _known(self, alternatives: Alternatives) -> Truth:
        """Decide by the op itself, since all values are known."""
        several, args = [], dict[str, typing.Any]()
        for name, each in zip(self._named, alternatives, strict=True):
            assert isinstance(each, values.Const)
            if name:
                args[name] = each.value
            else:
                several.append(each.value)
        condition = self._op.plugin
        try:
            if 'regex' in args:
                args['regex'] = self._op.signature.by_name['regex'].type(
                    args['regex'])
            paid = [budget.UNLIMITED] if condition.PAYS else []
            return Truth(logic.known(bool(
                condition.bind(args)(*paid, *several))))
        except (exceptions.InspectionRulesError, TypeError, ValueError):
            return Truth(logic.FALSE, logic.TRUE)
