# SPDX-License-Identifier: Apache-2.0

"""Conditions of rules as formulas of the solver.

Known values are decided by the op itself; for what a machine sends each op
has a translation, which is given one alternative of each argument. Ops
without one, and unknown values, make guesses.
"""

import json
import typing

import z3

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.language import budget
from ironic_inspection_rules.engine.language import interpolation
from ironic_inspection_rules.engine.language import model
from ironic_inspection_rules.engine.language import path as data_path
from ironic_inspection_rules.engine.language import plugin
from ironic_inspection_rules.engine.language import registry
from ironic_inspection_rules.kit.proof import cell as cells
from ironic_inspection_rules.kit.proof import expression
from ironic_inspection_rules.kit.proof import logic
from ironic_inspection_rules.kit.proof import machine as machines
from ironic_inspection_rules.kit.proof import operator as operators
from ironic_inspection_rules.kit.proof import value as values

Scope = expression.Scope
Alternatives = tuple[values.Alternative, ...]


class Truth(typing.NamedTuple):
    """When a condition holds, and when it cannot be decided."""

    holds: logic.Formula
    fails: logic.Formula = logic.FALSE


def all_hold(conditions: typing.Iterable[typing.Any], scope: Scope,
             result: bool = True) -> Truth:
    """Return when all conditions hold, asked one after another.

    :param result: False for when none of them does.
    """
    going, fails = logic.TRUE, logic.FALSE
    for each in conditions:
        truth = translate(each, scope)
        fails = logic.disj(fails, logic.conj(going, truth.fails))
        going = logic.conj(going, truth.holds if result
                           else logic.negated(truth.holds))
        if going is logic.FALSE:
            break
    return Truth(going, fails)


def translate(written: typing.Mapping[str, typing.Any], scope: Scope) -> Truth:
    """Return when a condition holds."""
    if written.get('loop') is not None:
        return _looped(written, scope)
    name, inverted = model.split_op(written['op'])
    op = registry.installed().conditions[name]
    if isinstance(op.plugin, plugin.Group):
        return _group(op, written['conditions'], inverted, scope)
    return _single(op, written.get('args'), inverted, scope)


def _group(op: registry.Op, parts: typing.Sequence[typing.Any], inverted: bool,
           scope: Scope) -> Truth:
    holds, fails = all_hold(parts, scope, op.plugin.HOLDS == 'all')
    if op.plugin.HOLDS == 'any':
        holds = logic.negated(holds)
    if not op.plugin.HOLDS:
        holds = scope.machine.guess(f'{op.name} has no translation',
                                    op.name, json.dumps(parts), scope)
    return Truth(logic.negated(holds) if inverted else holds, fails)


def _looped(written: typing.Mapping[str, typing.Any], scope: Scope) -> Truth:
    once = {name: each for name, each in written.items() if name != 'loop'}
    multiple = written.get('multiple') or 'any'
    parts = []
    for guard, alternative in looped_over(written['loop'], scope):
        if isinstance(alternative, values.Const) and not isinstance(
                alternative.value, list | dict):
            truth = Truth(logic.FALSE, logic.known(
                alternative.value not in (None, data_path.ABSENT)))
        elif isinstance(alternative, values.SolverTerm | values.Failed):
            truth = Truth(logic.FALSE, logic.TRUE)
        elif isinstance(alternative, values.UnknownValue | values.TraitNames):
            about = (json.dumps(written), alternative, scope)
            reason = f'a loop over {getattr(alternative, "reason", "traits")}'
            truth = Truth(scope.machine.guess(reason, 'holds', *about),
                          scope.machine.guess(reason, 'fails', *about))
        else:
            truth = _over(once, multiple, alternative, scope)
        parts.append((guard, truth))
    return _joined(parts)


def _joined(parts: typing.Sequence[tuple[logic.Formula, Truth]]) -> Truth:
    """Return the truth of the part whose guard holds."""
    return Truth(*(logic.disj(*(
        logic.conj(guard, truth[side]) for guard, truth in parts))
        for side in (0, 1)))


def looped_over(loop: typing.Any, scope: Scope) -> values.Value:
    """Return what a loop goes through.

    What a rule writes out is filled before the first item is looked at, so
    that an error in any part of it is one of the whole loop.
    """
    if not isinstance(loop, list | dict):
        return expression.evaluate(loop, scope)
    if isinstance(loop, list):
        written = values.only(values.ItemList(z3.IntVal(len(loop)), tuple(
            values.WrittenItem(_leniently(item, scope)) for item in loop),
            'a list'))
    else:
        written = _leniently(loop, scope)
    return values.choose(_cannot_be_filled(loop, scope), values.FAILED,
                         written)


def _cannot_be_filled(written: typing.Any, scope: Scope) -> logic.Formula:
    """Return when a part of what a rule writes out is an error."""
    if isinstance(written, dict):
        parts = [*written, *written.values()]
    elif isinstance(written, list):
        parts = written
    else:
        found = expression.evaluate(written, scope)
        return logic.disj(values.failed(found), scope.machine.may_fail(found))
    return logic.disj(*(_cannot_be_filled(part, scope) for part in parts))


def _leniently(item: typing.Any, scope: Scope) -> values.Value:
    """Return an item, which exists even where a field in it is missing."""
    if isinstance(item, dict) and not interpolation.fields(list(item)):
        return values.only(values.LenientMapping(None, {
            name: _leniently(each, scope) for name, each in item.items()}))
    return expression.evaluate(item, scope)


def _over(once: typing.Mapping[str, typing.Any], multiple: str,
          alternative: values.Alternative, scope: Scope) -> Truth:
    """Return when a condition holds over the items of a list."""
    items = alternative.items_of_loop()
    if not items:
        return Truth(logic.FALSE)
    truths = [translate(once, scope.within(item=item)) for _there, item
              in items]
    there = [each for each, _item in items]
    more = logic.FALSE
    beyond = fails_beyond = logic.FALSE
    if isinstance(alternative, values.ItemList):
        more = logic.settled(alternative.is_longer)
        if more is not logic.FALSE:
            about = (json.dumps([once, multiple]), alternative, scope)
            reason = (f'more than {cells.LONGEST} items of '
                      f'{alternative.name}')
            beyond = scope.machine.guess(reason, 'holds', *about)
            loops = scope.machine.loops.setdefault(alternative.name, set())
            loops.add(str(beyond))
            if any(truth.fails is not logic.FALSE for truth in truths):
                fails = scope.machine.guess(reason, 'fails', *about)
                loops.add(str(fails))
                fails_beyond = logic.conj(more, fails)
    if multiple == 'first':
        return Truth(logic.conj(there[0], truths[0].holds),
                     logic.conj(there[0], truths[0].fails))
    if multiple == 'last':
        ends = [logic.conj(one, logic.negated(other)) for one, other
                in zip(there, [*there[1:], more], strict=True)]
        holds, fails = (logic.disj(*(
            logic.conj(end, part) for end, part
            in zip(ends, parts, strict=True)))
            for parts in zip(*truths, strict=True))
        return Truth(logic.disj(holds, logic.conj(more, beyond)),
                     logic.disj(fails, fails_beyond))
    decisive = multiple != 'all'
    going, fails = logic.TRUE, logic.FALSE
    for present, truth in zip(there, truths, strict=True):
        fails = logic.disj(fails, logic.conj(going, present, truth.fails))
        found = logic.conj(present, truth.holds if decisive
                            else logic.negated(truth.holds))
        going = logic.conj(going, logic.negated(found))
    fails = logic.disj(fails, logic.conj(going, fails_beyond))
    if decisive:
        return Truth(logic.disj(logic.negated(going),
                                 logic.conj(more, beyond)), fails)
    return Truth(logic.conj(there[0], going, logic.disj(
        logic.negated(more), beyond)), fails)


def _single(op: registry.Op, args: typing.Any, inverted: bool,
            scope: Scope) -> Truth:
    bound, _problems = op.signature.bind(args)
    # Each value with the name of its argument; any number of them has none.
    named: list[tuple[str, values.Value]] = []
    for name, value in bound.items():
        if name == 'regex' or name in op.plugin.LITERAL:
            named.append((name, values.const(value)))
        elif op.signature.by_name[name].variadic and isinstance(value, list):
            if len(value) == 1 and isinstance(value[0], list):
                value = value[0]
            named += [('', expression.evaluate(each, scope)) for each in value]
        else:
            named.append((name, expression.argument(
                op.signature.by_name[name], value, scope)))
    names = [name for name, _value in named]
    parts = []
    for guard, chosen in values.product([value for _name, value in named]):
        try:
            truth = _decide(op, names, chosen, inverted, scope.machine)
        except logic.Untranslatable as exc:
            about = [op.name, inverted, chosen, json.dumps(
                bound, sort_keys=True, default=str)]
            if op.plugin.NEEDS_VIEW or op.plugin.LITERAL:
                about.append(scope)
            reason = f'{op.name}: {exc}'
            fails = scope.machine.may_fail(
                (logic.TRUE, each) for each in chosen)
            if op.name not in operators.NEVER_FAIL:
                fails = logic.disj(fails, scope.machine.guess(
                    reason, 'fails', *about))
            truth = Truth(scope.machine.guess(reason, *about), fails)
        parts.append((guard, truth))
    return _joined(parts)


def _decide(op: registry.Op, names: list[str], chosen: Alternatives,
            inverted: bool, machine: machines.SymbolicMachine) -> Truth:
    """Return when an op holds for one alternative of each argument."""
    asks_missing = op.plugin.SEES_MISSING or op.plugin.ACCEPTS_MISSING
    ended = _ended(chosen, asks_missing, machine)
    if ended is not None:
        return ended
    if not op.plugin.SEES_MISSING:
        chosen = tuple(values.Const(None) if each.is_missing else each
                       for each in chosen)
    if op.plugin.NEEDS_VIEW or op.plugin.LITERAL:
        raise logic.Untranslatable('it looks into the data itself')
    for each in chosen:
        if isinstance(each, values.UnknownValue):
            raise logic.Untranslatable(each.reason)
    given: dict[str, values.Alternative] = {}
    several: list[values.Alternative] = []
    for name, each in zip(names, chosen, strict=True):
        if not name:
            several.append(each)
        elif not op.signature.by_name[name].variadic:
            given[name] = each
        elif isinstance(each, values.Const):
            several += map(values.Const, each.value)
        else:
            raise logic.Untranslatable('a list of values')
    if all(isinstance(each, values.Const) for each in chosen):
        holds, fails = _known(op, {
            name: each.value for name, each in given.items()
            if isinstance(each, values.Const)}, [
            each.value for each in several if isinstance(each, values.Const)])
    else:
        found = operators.TRANSLATIONS.get(op.name)
        if found is None:
            raise logic.Untranslatable(f'there is no translation of {op.name}')
        holds, fails = found(operators.Operands(
            machine, op.name, given, several)), logic.FALSE
    return Truth(logic.negated(holds) if inverted else holds, fails)


def _ended(chosen: Alternatives, asks_missing: bool,
           machine: machines.SymbolicMachine) -> Truth | None:
    """Return the truth where an argument has no value, None where all have.

    Arguments are read in order: the first that has none decides.

    :param asks_missing: whether the op asks about a value that is missing.
    """
    fails = logic.FALSE
    unknown = list[values.Alternative]()
    for each in chosen:
        if isinstance(each, values.UnknownValue):
            alone = values.only(each)
            fails = logic.disj(fails, machine.may_fail(alone))
            unknown.append(each)
        elif isinstance(each, values.Failed):
            if not unknown or asks_missing:
                return Truth(logic.FALSE, logic.TRUE)
            # An unknown value may be missing, and the error is not reached.
            return Truth(logic.FALSE, machine.guess(
                'a value before an error', *unknown))
        elif each.is_missing and not asks_missing:
            return Truth(logic.FALSE, fails)
    return None


def _known(op: registry.Op, args: dict[str, typing.Any],
           several: list[typing.Any]) -> Truth:
    """Decide by the op itself, since all values are known."""
    try:
        if 'regex' in args:
            args['regex'] = op.signature.by_name['regex'].type(args['regex'])
        paid = [budget.UNLIMITED] if op.plugin.PAYS else []
        return Truth(logic.known(bool(op.bind(args)(*paid, *several))))
    except (exceptions.InspectionRulesError, TypeError, ValueError):
        return Truth(logic.FALSE, logic.TRUE)
