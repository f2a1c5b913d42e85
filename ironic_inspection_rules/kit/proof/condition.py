# SPDX-License-Identifier: Apache-2.0

"""Conditions in a proof, on all machines: groups, loops, errors.

Known values are decided by the op itself; for what a machine sends each op
has a translation, which is given one alternative of each argument. Ops
without one, and unknown values, make guesses.
"""

from collections.abc import Iterable, Mapping, Sequence
import dataclasses
import functools
import json
import typing

import z3

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.language import (
    arguments as engine_arguments,  # noqa: H301
)
from ironic_inspection_rules.engine.language import budget
from ironic_inspection_rules.engine.language import interpolation
from ironic_inspection_rules.engine.language import model
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
Written = Mapping[str, typing.Any]  # A condition as a rule has it.


@dataclasses.dataclass(frozen=True)
class Truth:
    """On which machines a condition holds, and on which it is an error.

    Where it is an error, ``holds`` says nothing: a rule matches where its
    conditions hold and do not fail.
    """

    holds: logic.Formula
    fails: logic.Formula = logic.FALSE

    def inverted(self) -> 'Truth':
        """Return the truth of the opposite, which fails where this does."""
        return Truth(logic.negated(self.holds), self.fails)

    def where(self, guard: logic.Formula) -> 'Truth':
        """Return a truth that neither holds nor fails without a guard."""
        return Truth(
            logic.conj(guard, self.holds), logic.conj(guard, self.fails)
        )


NEVER = Truth(logic.FALSE)
ERROR = Truth(logic.FALSE, logic.TRUE)


def _join(parts: Sequence[Truth]) -> Truth:
    """Return the truth of a condition from those of its cases.

    The cases exclude one another: every machine is in one of them, and the
    guard that says so is already part of its truth.
    """
    holds = logic.disj(*(part.holds for part in parts))
    fails = logic.disj(*(part.fails for part in parts))
    return Truth(holds, fails)


def all_hold(
    conditions: Iterable[Written], scope: Scope, holding: bool = True
) -> Truth:
    """Return on which machines all conditions hold, asked in order.

    As in the engine, a condition is asked only where all before it hold: an
    error of one that is not asked is none.

    :param holding: False to return on which machines none of them holds
        instead: a condition is then asked only where none before it holds.
    """
    going = logic.TRUE
    fails = logic.FALSE
    for condition in conditions:
        truth = translate(condition, scope)
        fails = logic.disj(fails, logic.conj(going, truth.fails))
        if not holding:
            truth = truth.inverted()
        going = logic.conj(going, truth.holds)
        if going is logic.FALSE:
            break
    return Truth(going, fails)


def translate(condition: Written, scope: Scope) -> Truth:
    """Return on which machines a condition holds, and on which it fails.

    It is decided as the engine does it, with its loop, for a group with all
    conditions in it, and inverted where its op says so.

    :param condition: a valid condition, as the rule has it.
    """
    scope.machine.keep_going()
    if condition.get('loop') is not None:
        return _looped(condition, scope)
    name, inverted = model.split_op(condition['op'])
    op = registry.installed().conditions[name]
    if isinstance(op.plugin, plugin.ConditionGroup):
        truth = _group(op, condition['conditions'], scope)
        if inverted:
            return truth.inverted()
        return truth
    return _single(op, condition.get('args'), inverted, scope)


def _group(op: registry.Op, parts: Sequence[Written], scope: Scope) -> Truth:
    """Return on which machines a group of conditions holds.

    The engine asks the conditions of ``any-of``, ``all-of`` and ``none-of`` in
    order, up to the first that decides, as :func:`all_hold` does. Whether a
    group of another package holds is a guess.
    """
    truth = all_hold(parts, scope, op.plugin.HOLDS == 'all')
    if op.plugin.HOLDS == 'any':
        # all_hold() has returned on which machines none of them holds.
        return truth.inverted()
    if op.plugin.HOLDS:
        # "all", or "none".
        return truth
    # A group of another package that decides by itself.
    holds = scope.machine.guess(
        f'{op.name} has no translation', op.name, json.dumps(parts), scope
    )
    return Truth(holds, truth.fails)


def _looped(condition: Written, scope: Scope) -> Truth:
    """Return on which machines a condition with a loop holds.

    A field that it loops over may be a list on one machine and missing on
    another: every alternative is decided by itself.
    """
    parts = []
    for guard, alternative in looped_over(condition['loop'], scope):
        truth = _over_alternative(condition, alternative, scope)
        parts.append(truth.where(guard))
    return _join(parts)


def _over_alternative(
    condition: Written, alternative: values.Alternative, scope: Scope
) -> Truth:
    """Return on which machines a condition holds over one value of its loop.

    As in the engine, over null and what is missing it does not hold, and over
    anything else than a list or a mapping it is an error.

    :param alternative: what the loop goes over.
    """
    if alternative.is_missing:
        return NEVER
    if isinstance(alternative, values.Const):
        if alternative.value is None:
            return NEVER
        if not isinstance(alternative.value, list | dict):
            return ERROR
    if isinstance(alternative, values.SolverTerm | values.Failed):
        return ERROR
    if isinstance(alternative, values.UnknownValue | values.TraitNames):
        about = (json.dumps(condition), alternative, scope)
        over = 'traits'
        if isinstance(alternative, values.UnknownValue):
            over = alternative.reason
        reason = f'a loop over {over}'
        holds = scope.machine.guess(reason, 'holds', *about)
        fails = scope.machine.guess(reason, 'fails', *about)
        return Truth(holds, fails)
    return _holds_over_items(condition, alternative, scope)


def looped_over(loop: typing.Any, scope: Scope) -> values.Value:
    """Return the value that a loop of a condition or an action goes over.

    Where a rule writes the list or mapping itself, the engine fills all its
    fields before the first item: an error in any of them is one of the loop.
    """
    if not isinstance(loop, list | dict):
        return expression.evaluate(loop, scope)
    if isinstance(loop, list):
        items = []
        for item in loop:
            items.append(values.WrittenItem(_leniently(item, scope)))
        length = z3.IntVal(len(items))
        literal = values.only(values.ItemList(length, tuple(items), 'a list'))
    else:
        literal = _leniently(loop, scope)
    is_broken = _cannot_be_filled(loop, scope)
    return values.choose(is_broken, values.FAILED, literal)


def _cannot_be_filled(literal: typing.Any, scope: Scope) -> logic.Formula:
    """Return on which machines a field in a value of a rule is an error.

    Where a field is not followed, that it may be one is a guess.

    :param literal: a list, a mapping or a text, as the rule has it.
    """
    if isinstance(literal, dict):
        parts = [*literal, *literal.values()]
    elif isinstance(literal, list):
        parts = literal
    else:
        value = expression.evaluate(literal, scope)
        return logic.disj(values.failed(value), scope.machine.may_fail(value))
    problems = [_cannot_be_filled(part, scope) for part in parts]
    return logic.disj(*problems)


def _leniently(item: typing.Any, scope: Scope) -> values.Value:
    """Return an item that a rule writes, without asking for all its fields.

    A mapping exists even where a field in it is missing: only a condition or
    an action that reads the field has no value.
    """
    if isinstance(item, dict) and not interpolation.fields(list(item)):
        parts = {}
        for name, part in item.items():
            parts[name] = _leniently(part, scope)
        return values.only(values.LenientMapping(None, parts))
    return expression.evaluate(item, scope)


@dataclasses.dataclass(frozen=True)
class _Item:
    """An item of a loop, with the truth of the condition for it.

    :ivar exists: on which machines the loop has so many items.
    """

    exists: logic.Formula
    truth: Truth


def _holds_over_items(
    condition: Written, alternative: values.Alternative, scope: Scope
) -> Truth:
    """Return on which machines a condition holds over the loop's items.

    ``multiple`` says for which of them it has to hold. Over a list without
    items it never does.

    :param alternative: the list, or a mapping, which is the only item.
    """
    # The condition without its loop, which is asked for every item.
    once = {name: part for name, part in condition.items() if name != 'loop'}
    items = []
    for exists, item in alternative.items_of_loop():
        truth = translate(once, scope.within(item=item))
        items.append(_Item(exists, truth))
    if not items:
        return NEVER
    multiple = condition.get('multiple') or 'any'
    rest = _items_beyond(once, multiple, alternative, items, scope)
    if multiple == 'first':
        return items[0].truth.where(items[0].exists)
    if multiple == 'last':
        return _holds_for_last(items, rest)
    if multiple == 'all':
        return _holds_for_all(items, rest)
    return _holds_for_any(items, rest)


def _items_beyond(
    once: Written,
    multiple: str,
    alternative: values.Alternative,
    items: Sequence[_Item],
    scope: Scope,
) -> _Item:
    """Return all items after the first ``LONGEST`` of a list as one item.

    A list of a machine has no end, so only its first items have formulas of
    their own. For the others, whether the condition holds, and whether it
    fails, are guesses: free variables of the solver. Their names are noted in
    ``machine.loops`` under the name of the list: by their number
    :class:`.search.MachineSearch` knows whether longer lists matter at all.

    :param once: the condition without its loop.
    :param items: the first items, which have formulas.
    :returns: an item that never exists where the list cannot be longer.
    """
    if not isinstance(alternative, values.ItemList):
        return _Item(logic.FALSE, NEVER)
    exists = logic.settled(alternative.is_longer)
    if exists is logic.FALSE:
        return _Item(logic.FALSE, NEVER)
    machine = scope.machine
    about = (json.dumps([once, multiple]), alternative, scope)
    reason = f'more than {cells.LONGEST} items of {alternative.name}'
    names_of_guesses = machine.loops.setdefault(alternative.name, set())
    holds = machine.guess(reason, 'holds', *about)
    names_of_guesses.add(str(holds))
    if all(item.truth.fails is logic.FALSE for item in items):
        # The same condition, which is an error for none of these items, is
        # none for the others either.
        return _Item(exists, Truth(holds))
    fails = machine.guess(reason, 'fails', *about)
    names_of_guesses.add(str(fails))
    return _Item(exists, Truth(holds, fails))


def _holds_for_last(items: Sequence[_Item], rest: _Item) -> Truth:
    """Return on which machines the condition holds for the last item.

    :param rest: the items that are not looked at, see :func:`_items_beyond`.
    """
    # An item is the last one where the one after it does not exist.
    following = [*(item.exists for item in items[1:]), rest.exists]
    parts = []
    for item, follows in zip(items, following, strict=True):
        is_last = logic.conj(item.exists, logic.negated(follows))
        parts.append(item.truth.where(is_last))
    # The last item is one of those looked at, or one of the rest.
    looked_at = _join(parts)
    return _join([looked_at, rest.truth.where(rest.exists)])


def _holds_for_any(items: Sequence[_Item], rest: _Item) -> Truth:
    """Return on which machines the condition holds for any item.

    The first item for which it does ends the loop. The items that are not
    looked at are asked as one, after all others.
    """
    none_holds, fails = _until_first(items, rest, holding=True)
    beyond = logic.conj(rest.exists, rest.truth.holds)
    return Truth(logic.disj(logic.negated(none_holds), beyond), fails)


def _holds_for_all(items: Sequence[_Item], rest: _Item) -> Truth:
    """Return on which machines the condition holds for all items.

    As in the engine, it does not hold for a list without items.
    """
    all_held, fails = _until_first(items, rest, holding=False)
    beyond = logic.disj(logic.negated(rest.exists), rest.truth.holds)
    # There are items where there is a first one.
    return Truth(logic.conj(items[0].exists, all_held, beyond), fails)


def _until_first(
    items: Sequence[_Item], rest: _Item, holding: bool
) -> tuple[logic.Formula, logic.Formula]:
    """Return on which machines no item decides, and on which the loop fails.

    As in the engine, the first item that decides ends the loop: an error of
    the condition for a later item does not matter.

    :param items: the first items, which have formulas of their own.
    :param rest: the items after them, see :func:`_items_beyond`.
    :param holding: True where an item decides for which the condition holds
        (``any``), False where one for which it does not (``all``).
    :returns: on which machines the loop goes on to ``rest``; and on which it
        fails for any item.
    """
    goes_on = logic.TRUE
    fails = logic.FALSE
    for item in items:
        fails_here = logic.conj(goes_on, item.exists, item.truth.fails)
        fails = logic.disj(fails, fails_here)
        decides = item.truth.holds
        if not holding:
            decides = logic.negated(decides)
        ends_here = logic.conj(item.exists, decides)
        goes_on = logic.conj(goes_on, logic.negated(ends_here))
    fails_in_rest = logic.conj(goes_on, rest.exists, rest.truth.fails)
    return goes_on, logic.disj(fails, fails_in_rest)


@dataclasses.dataclass(frozen=True)
class _Argument:
    """An argument of a condition, with its value for all machines.

    :ivar name: empty for a value of an op that takes any number of them.
    """

    name: str
    value: values.Value


def _single(
    op: registry.Op, args: typing.Any, inverted: bool, scope: Scope
) -> Truth:
    """Return on which machines a condition holds that is no group or loop.

    An argument has several alternatives, each with the guard under which a
    machine has it. Every combination of them is decided by itself; where the
    solver has no formula for one, its truth is a guess.
    """
    bound, _problems = op.signature.bind(args)
    arguments = _arguments(op, bound, scope)
    names = [argument.name for argument in arguments]
    all_values = [argument.value for argument in arguments]
    parts = []
    for guard, chosen in values.product(all_values, scope.machine.keep_going):
        try:
            truth = _decide(op, names, chosen, inverted, scope.machine)
        except logic.Untranslatable as exc:
            truth = _guess(op, bound, inverted, chosen, scope, str(exc))
        parts.append(truth.where(guard))
    return _join(parts)


def _arguments(
    op: registry.Op, bound: dict[str, typing.Any], scope: Scope
) -> list[_Argument]:
    """Return the values of the arguments of a condition, for all machines.

    They are in the order in which the engine reads them: the first that has
    no value decides.

    :param bound: the arguments as the rule has them, by name.
    """
    arguments: list[_Argument] = []
    for name, raw in bound.items():
        declared = op.signature.by_name[name]
        if name == 'regex' or name in op.plugin.LITERAL:
            # Braces in them are no fields.
            arguments.append(_Argument(name, values.const(raw)))
        elif declared.variadic and isinstance(raw, list):
            several = raw
            if len(raw) == 1 and isinstance(raw[0], list):
                # A list as the only value is all the values.
                several = raw[0]
            fill = functools.partial(_part_of_list, op)
            for part in several:
                value = values.transform(
                    expression.evaluate(part, scope), fill
                )
                arguments.append(_Argument('', value))
        else:
            # A missing value becomes what the op gets in its place.
            fill = functools.partial(_instead_of_missing, op, declared)
            value = values.transform(expression.evaluate(raw, scope), fill)
            converted = expression.converted(declared, value)
            arguments.append(_Argument(name, converted))
    return arguments


def _instead_of_missing(
    op: registry.Op,
    declared: engine_arguments.Argument,
    alternative: values.Alternative,
) -> values.Value:
    """Return a value of an argument as the op gets it from the engine.

    Only a missing value may become something else.

    :returns: null for a missing value that the op takes as null, an error
        where the op asks for missing values but the type of the argument has
        none; else the value as it is.
    """
    if not alternative.is_missing:
        return values.only(alternative)
    if op.plugin.SEES_MISSING and declared.type in engine_arguments.TYPES:
        # The engine gives the op a marker for "missing". Reading that as a
        # text, a number and so on is an error.
        return values.FAILED
    if op.plugin.ACCEPTS_MISSING and not op.plugin.SEES_MISSING:
        # A missing value counts as null, for which an argument that is not
        # required has a default.
        return values.const(None)
    return values.only(alternative)


def _part_of_list(
    op: registry.Op, alternative: values.Alternative
) -> values.Value:
    """Return a value of an op that takes any number of them.

    A missing one is an error if the op asks for missing values.
    """
    if alternative.is_missing and _asks_missing(op):
        # The values are one argument, which is missing as a whole if one of
        # them is: the engine cannot take a missing list apart.
        return values.FAILED
    return values.only(alternative)


def _asks_missing(op: registry.Op) -> bool:
    """Return whether an op asks about a value that is missing."""
    return bool(op.plugin.SEES_MISSING or op.plugin.ACCEPTS_MISSING)


def _guess(
    op: registry.Op,
    bound: dict[str, typing.Any],
    inverted: bool,
    chosen: Alternatives,
    scope: Scope,
    cause: str,
) -> Truth:
    """Return a guess for a condition that cannot be translated.

    A guess is a free variable of the solver: the engine has to confirm the
    machine that is found with it. It is the same wherever the same op is asked
    about the same values.

    :param bound: its arguments as the rule has them.
    :param chosen: an alternative of every argument.
    :param cause: why it cannot be translated.
    """
    machine = scope.machine
    raw_arguments = json.dumps(bound, sort_keys=True, default=str)
    about = [op.name, inverted, chosen, raw_arguments]
    if op.plugin.NEEDS_VIEW or op.plugin.LITERAL:
        # It reads more of the data than its arguments: the guess depends on
        # all of them.
        about.append(scope)
    reason = f'{op.name}: {cause}'
    fails = machine.may_fail(
        [(logic.TRUE, alternative) for alternative in chosen]
    )
    if op.name not in operators.NEVER_FAIL:
        fails = logic.disj(fails, machine.guess(reason, 'fails', *about))
    return Truth(machine.guess(reason, *about), fails)


def _decide(
    op: registry.Op,
    names: Sequence[str],
    chosen: Alternatives,
    inverted: bool,
    machine: machines.SymbolicMachine,
) -> Truth:
    """Return on which machines an op holds for chosen alternatives.

    :param names: of the arguments; empty for a value of an op that takes any
        number of them.
    :param chosen: an alternative of every argument, in the same order.

    :raises: :class:`.logic.Untranslatable` where the solver cannot say.
    """
    ended = _truth_without_value(chosen, _asks_missing(op), machine)
    if ended is not None:
        # Also with "!", a condition without a value does not hold.
        return ended
    if op.plugin.NEEDS_VIEW or op.plugin.LITERAL:
        raise logic.Untranslatable('it looks into the data itself')
    for alternative in chosen:
        if isinstance(alternative, values.UnknownValue):
            raise logic.Untranslatable(alternative.reason)
    operands = _operands(op, names, chosen, machine)
    if all(isinstance(alternative, values.Const) for alternative in chosen):
        truth = _decide_known(op, operands)
    else:
        translation = operators.TRANSLATIONS.get(op.name)
        if translation is None:
            raise logic.Untranslatable(f'there is no translation of {op.name}')
        truth = Truth(translation(operands))
    if inverted:
        return truth.inverted()
    return truth


def _operands(
    op: registry.Op,
    names: Sequence[str],
    chosen: Alternatives,
    machine: machines.SymbolicMachine,
) -> operators.Operands:
    """Return the arguments as the translation of an op takes them.

    Values of an op that takes any number of them have no name.

    :param names: of the arguments, empty for such a value.
    :param chosen: an alternative of every argument, in the same order.
    :raises: :class:`.logic.Untranslatable` for a list of the machine in the
        place of all such values.
    """
    named: dict[str, values.Alternative] = {}
    unnamed: list[values.Alternative] = []
    for name, alternative in zip(names, chosen, strict=True):
        if not name:
            unnamed.append(alternative)
        elif not op.signature.by_name[name].variadic:
            named[name] = alternative
        elif isinstance(alternative, values.Const):
            # A known list: its items are the values.
            unnamed += map(values.Const, alternative.value)
        else:
            raise logic.Untranslatable('a list of values')
    return operators.Operands(machine, op.name, named, unnamed)


def _truth_without_value(
    chosen: Alternatives, asks_missing: bool, machine: machines.SymbolicMachine
) -> Truth | None:
    """Return the truth of a condition with an argument that has no value.

    Arguments are read in order: the first that is missing makes the condition
    false, the first that is an error makes it an error, and the op is not
    asked.

    :param asks_missing: whether the op itself takes a missing value.
    :returns: None where every argument has a value or may have one, so that
        the op has to be asked.
    """
    fails = logic.FALSE
    unknown: list[values.Alternative] = []
    for alternative in chosen:
        if isinstance(alternative, values.UnknownValue):
            may_fail = machine.may_fail(values.only(alternative))
            fails = logic.disj(fails, may_fail)
            unknown.append(alternative)
        elif isinstance(alternative, values.Failed):
            if not unknown or asks_missing:
                return ERROR
            # The unknown value before may be missing. Then it decides, and
            # the error is not reached.
            fails = machine.guess('a value before an error', *unknown)
            return Truth(logic.FALSE, fails)
        elif alternative.is_missing and not asks_missing:
            return Truth(logic.FALSE, fails)
    return None


def _decide_known(op: registry.Op, operands: operators.Operands) -> Truth:
    """Return whether a condition holds whose values are all known.

    The op itself decides, as it does in an inspection.
    """
    args = {
        name: _known_value(alternative)
        for name, alternative in operands.named.items()
    }
    unnamed = [_known_value(alternative) for alternative in operands.unnamed]
    try:
        if 'regex' in args:
            args['regex'] = op.signature.by_name['regex'].type(args['regex'])
        if op.plugin.PAYS:
            # Such an op takes the budget of a phase before its values. Proofs
            # have no budget: a machine is not too large for a rule.
            unnamed.insert(0, budget.UNLIMITED)
        decide = op.bind(args)
        holds = bool(decide(*unnamed))
    except (exceptions.InspectionRulesError, TypeError, ValueError):
        # As in the engine, these are errors of the rule also where an op of
        # another package raises them.
        return ERROR
    return Truth(logic.known(holds))


def _known_value(alternative: values.Alternative) -> typing.Any:
    """Return the value of an alternative that is known to be a constant."""
    return typing.cast(values.Const, alternative).value
