# SPDX-License-Identifier: Apache-2.0

"""Translate conditions of rules to formulas about all possible machines.

A proof does not evaluate a condition on one machine. It computes the *truth*
of the condition: the formula that it holds, and the formula that it is an
error. The values that it reads have *alternatives* with *guards*: the count of
processors may be missing on one machine, and a number on another. A guard
holds on the machines that have the alternative. The truth of
``{inventory.cpu.count} > 8`` is joined from one case for every alternative::

    the count is missing  → false
    the count is a number → count > 8

If all values of a case are known, the op itself decides. Otherwise the
translation of the op returns a formula, see :mod:`.operator`. If the op has no
translation, or if a value is unknown, the truth is a *guess*: the solver may
choose it.
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
    """The formulas that a condition holds and that it is an error.

    For ``{inventory.memory | add(1)} > 8``, these are ``memory + 1 > 8``, and
    that the memory is present but not a number, so nothing can be added to it.
    If a condition is an error, ``holds`` has no meaning: a rule matches if its
    conditions hold and do not fail.
    """

    holds: logic.Formula
    fails: logic.Formula = logic.FALSE

    def inverted(self) -> 'Truth':
        """Return the truth of the opposite condition, with the same errors."""
        return Truth(logic.negated(self.holds), self.fails)

    def only_where(self, guard: logic.Formula) -> 'Truth':
        """Limit the truth to the machines of a guard; elsewhere it is false.

        For ``count > 8`` and the guard "the count is a number", the result is
        "the count is a number, and count > 8".
        """
        return Truth(
            logic.conj(guard, self.holds), logic.conj(guard, self.fails)
        )


NEVER_TRUE = Truth(logic.FALSE)
ALWAYS_FAILS = Truth(logic.FALSE, logic.TRUE)


def _join_cases(parts: Sequence[Truth]) -> Truth:
    """Join the truths of several cases to the truth of a condition.

    Every machine belongs to one of the cases, e.g. the count is a number, or
    it is a text. The truth of a case must already be limited to its machines,
    see :meth:`Truth.only_where`.
    """
    holds = logic.disj(*(part.holds for part in parts))
    fails = logic.disj(*(part.fails for part in parts))
    return Truth(holds, fails)


def all_hold(conditions: Iterable[Written], scope: Scope) -> Truth:
    """Return the truth that all conditions hold.

    As in the engine, the first condition that does not hold decides, and
    conditions after it are not evaluated, so their errors do not count. For
    two conditions the formulas are::

        all hold → the first holds, and the second holds
        an error → the first fails; or the first holds, and the second fails
    """
    return _translate_in_order(conditions, scope, expected=True)


def _none_holds(conditions: Iterable[Written], scope: Scope) -> Truth:
    """Return the truth that none of the conditions holds.

    This is like :func:`all_hold`, but the first condition that holds decides.
    """
    return _translate_in_order(conditions, scope, expected=False)


def _translate_in_order(
    conditions: Iterable[Written], scope: Scope, expected: bool
) -> Truth:
    """Return the truth that all conditions have the expected result.

    The first condition with the other result decides.
    """
    # Holds if no condition so far has decided, so the next one is evaluated.
    undecided = logic.TRUE
    fails = logic.FALSE
    for condition in conditions:
        truth = translate(condition, scope)
        fails = logic.disj(fails, logic.conj(undecided, truth.fails))
        if not expected:
            truth = truth.inverted()
        undecided = logic.conj(undecided, truth.holds)
        if undecided is logic.FALSE:
            # The next condition is not evaluated on any machine.
            break
    # If no condition has decided, all of them have the expected result.
    return Truth(undecided, fails)


def translate(written: Written, scope: Scope) -> Truth:
    """Return the truth of a condition of any form.

    The condition may be a group, have a loop, or be inverted by a "!" in its
    op. The truth of ``{inventory.cpu.count} > 8`` holds if::

        count is a number, and count > 8; or
        count is a text, and the number in the text > 8

    This condition never fails, because any two values can be compared.

    :param written: a valid condition in the form of the rule.
    """
    scope.machine.keep_going()
    if written.get('loop') is not None:
        # The field of the loop may be a list on one machine and missing on
        # another. The guard of an alternative holds on the machines that have
        # it.
        cases = []
        for guard, alternative in evaluate_loop(written['loop'], scope):
            truth = _translate_over_alternative(written, alternative, scope)
            cases.append(truth.only_where(guard))
        return _join_cases(cases)
    name, inverted = model.split_op(written['op'])
    op = registry.installed().conditions[name]
    if isinstance(op.plugin, plugin.ConditionGroup):
        truth = _translate_group(op, written['conditions'], scope)
        if inverted:
            return truth.inverted()
        return truth
    return _translate_single(op, written.get('args'), inverted, scope)


def _translate_group(
    op: registry.Op, parts: Sequence[Written], scope: Scope
) -> Truth:
    """Return the truth of ``any-of``, ``all-of`` or ``none-of``.

    As in the engine, the conditions of the group are evaluated in order until
    one decides, see :func:`all_hold` and :func:`_none_holds`.

    :param parts: the conditions of the group.
    """
    if op.plugin.HOLDS == 'all':
        return all_hold(parts, scope)
    truth = _none_holds(parts, scope)
    if op.plugin.HOLDS == 'any':
        # "Any holds" is the opposite of "none holds".
        return truth.inverted()
    if op.plugin.HOLDS == 'none':
        return truth
    # A group of another package: it is not known how it combines conditions.
    holds = scope.machine.guess(
        f'{op.name} has no translation', op.name, json.dumps(parts), scope
    )
    return Truth(holds, truth.fails)


def _translate_over_alternative(
    written: Written, alternative: values.Alternative, scope: Scope
) -> Truth:
    """Return the truth of a condition over one alternative of its loop.

    As in the engine, the value that the loop goes over decides::

        missing or null                 → false
        a text, a number, true or false → an error
        an error                        → an error
        unknown, or the node's traits   → a guess
        a list or a mapping             → evaluated item by item

    :param written: the condition, with its loop.
    :param alternative: the value that the loop goes over, e.g. a list of
        disks.
    """
    if alternative.is_missing:
        return NEVER_TRUE
    if isinstance(alternative, values.Const):
        # The value is the same on all machines.
        if alternative.value is None:
            return NEVER_TRUE
        if not isinstance(alternative.value, list | dict):
            return ALWAYS_FAILS
    if isinstance(alternative, values.SolverTerm | values.Failed):
        # A text, number or truth value that the solver chooses, or an error.
        return ALWAYS_FAILS
    if isinstance(alternative, values.UnknownValue):
        # The items of the value are not known.
        reason = f'a loop over {alternative.reason}'
    elif isinstance(alternative, values.TraitNames):
        # The order of the traits of a node is not known.
        reason = 'a loop over traits'
    else:
        return _translate_over_items(written, alternative, scope)
    # The solver guesses whether the condition holds and whether it fails. The
    # guess is the same for the same condition on the same data.
    condition = json.dumps(written)
    machine = scope.machine
    holds = machine.guess(reason, 'holds', condition, alternative, scope)
    fails = machine.guess(reason, 'fails', condition, alternative, scope)
    return Truth(holds, fails)


def evaluate_loop(loop: typing.Any, scope: Scope) -> values.Value:
    """Evaluate the loop of a condition or an action.

    If the rule itself writes the list, e.g. ``['{vars.a}', '{vars.b}']``, the
    engine fills all its fields before the first item, so an error in any field
    is an error of the loop. A missing field is not an error: only its item is
    missing.

    :returns: the value to loop over, e.g. a list with its items. It is an
        error on machines where a field is an error.
    """
    if not isinstance(loop, list | dict):
        # A field, such as "{inventory.disks}".
        return expression.evaluate(loop, scope)
    if isinstance(loop, list):
        items = []
        for item in loop:
            items.append(values.WrittenItem(_evaluate_leniently(item, scope)))
        length = z3.IntVal(len(items))
        written = values.only(values.ItemList(length, tuple(items), 'a list'))
    else:
        written = _evaluate_leniently(loop, scope)
    is_broken = _where_unfillable(loop, scope)
    return values.choose(is_broken, values.FAILED, written)


def _where_unfillable(written: typing.Any, scope: Scope) -> logic.Formula:
    """Return the formula that a field in the data of a rule is an error.

    For an unknown field, the formula is a guess.

    :param written: a list, a mapping or a text, as the rule has it.
    """
    if isinstance(written, dict):
        # The keys of a mapping may contain fields too.
        parts = [*written, *written.values()]
    elif isinstance(written, list):
        parts = written
    else:
        value = expression.evaluate(written, scope)
        return logic.disj(
            values.where_failed(value), scope.machine.may_fail(value)
        )
    errors_of_parts = [_where_unfillable(part, scope) for part in parts]
    return logic.disj(*errors_of_parts)


def _evaluate_leniently(item: typing.Any, scope: Scope) -> values.Value:
    """Evaluate an item that a rule writes and whose fields may be missing.

    A mapping such as ``{'vlan': '{vars.vlan}'}`` exists even if its field is
    missing. Only a condition or an action that reads the entry has no value.
    """
    has_plain_keys = isinstance(item, dict) and not interpolation.fields(
        list(item)
    )
    if not has_plain_keys:
        return expression.evaluate(item, scope)
    entries = {}
    for name, entry in item.items():
        entries[name] = _evaluate_leniently(entry, scope)
    # There is no cell, because the rule has written all of the entries.
    return values.only(values.LenientMapping(cell=None, entries=entries))


@dataclasses.dataclass(frozen=True)
class _Item:
    """An item of a loop, with the truth of the condition for the item.

    :ivar exists: holds if the loop has this item, e.g. for the third disk, if
        there are at least three disks.
    """

    exists: logic.Formula
    truth: Truth


def _translate_over_items(
    written: Written, alternative: values.Alternative, scope: Scope
) -> Truth:
    """Return the truth of a condition over the items of its loop.

    ``multiple`` says for which items the condition must hold. It never holds
    over an empty list. ``{item.size} > 100`` for any of the disks holds if::

        there is a first disk, and its size > 100; or
        there is a second disk, and its size > 100; or
        … and so on, up to the fifth; or
        there are more than five, and the solver guesses that one matches

    :param alternative: the list, or a mapping, which is its own only item.
    """
    # Evaluate the condition without its loop for every item.
    once = {name: part for name, part in written.items() if name != 'loop'}
    items = []
    for exists, item in alternative.items_of_loop():
        truth = translate(once, scope.within(item=item))
        items.append(_Item(exists, truth))
    if not items:
        return NEVER_TRUE
    multiple = written.get('multiple') or 'any'
    # Treat all items after the first few as one more item, the last.
    items.append(
        _guess_items_beyond(once, multiple, alternative, items, scope)
    )
    first = items[0]
    if multiple == 'first':
        return first.truth.only_where(first.exists)
    if multiple == 'last':
        return _hold_for_last(items)
    if multiple == 'all':
        truth = _hold_for_all(items)
        # As in the engine, "all" does not hold for a list without items.
        return Truth(logic.conj(first.exists, truth.holds), truth.fails)
    # "Any holds" is the opposite of "none holds".
    return _hold_for_all(items, holding=False).inverted()


def _guess_items_beyond(
    once: Written,
    multiple: str,
    alternative: values.Alternative,
    items: Sequence[_Item],
    scope: Scope,
) -> _Item:
    """Return all items after the first ``LONGEST`` of a list as one item.

    Only the first items of a list have formulas of their own. For the others,
    the solver guesses whether the condition holds and whether it fails; the
    engine must confirm these guesses.

    :param once: the condition without its loop.
    :param multiple: ``any``, ``all``, ``first`` or ``last``.
    :param alternative: the list that the loop goes over.
    :param items: the first items, which have formulas.
    :returns: an item that never exists if the list cannot be longer.
    """
    if not isinstance(alternative, values.ItemList):
        # A mapping is its own only item, and a constant list has formulas for
        # all of its items.
        return _Item(exists=logic.FALSE, truth=NEVER_TRUE)
    exists = logic.settled(alternative.where_longer)
    if exists is logic.FALSE:
        return _Item(exists=logic.FALSE, truth=NEVER_TRUE)
    machine = scope.machine
    # The guesses depend on these: equal conditions on equal data share them.
    about = (json.dumps([once, multiple]), alternative, scope)
    holds = machine.guess_beyond(alternative, 'holds', *about)
    if all(item.truth.fails is logic.FALSE for item in items):
        # A condition that cannot fail for the first items cannot fail for
        # later items.
        return _Item(exists, Truth(holds))
    fails = machine.guess_beyond(alternative, 'fails', *about)
    return _Item(exists, Truth(holds, fails))


def _hold_for_last(items: Sequence[_Item]) -> Truth:
    """Return the truth of a condition with ``multiple: last``.

    For example, if there are two disks, it is the truth for the second.
    """
    cases = []
    for number, item in enumerate(items, 1):
        is_last = item.exists
        if number < len(items):
            # The item is the last one if the next does not exist.
            next_exists = items[number].exists
            is_last = logic.conj(item.exists, logic.negated(next_exists))
        cases.append(item.truth.only_where(is_last))
    return _join_cases(cases)


def _hold_for_all(items: Sequence[_Item], holding: bool = True) -> Truth:
    """Return the truth that a condition holds for all items, or for none.

    As in the engine, the first item that decides ends the loop: the condition
    is not evaluated for later items, so it cannot be an error for them. For
    two items, and to ask whether it holds for none, the formulas are::

        none holds → it holds neither for the first nor for the second item
        an error   → it fails for the first item; or it does not hold for the
                     first, and fails for the second

    :param holding: True to ask whether it holds for all items, False to ask
        whether it holds for none.
    """
    # Holds if no item so far has decided.
    undecided = logic.TRUE
    fails = logic.FALSE
    for item in items:
        fails_here = logic.conj(undecided, item.exists, item.truth.fails)
        fails = logic.disj(fails, fails_here)
        decides = item.truth.holds
        if holding:
            decides = logic.negated(decides)
        decides_here = logic.conj(item.exists, decides)
        undecided = logic.conj(undecided, logic.negated(decides_here))
    return Truth(undecided, fails)


@dataclasses.dataclass(frozen=True)
class _Argument:
    """An argument of a condition, with its value on all machines.

    :ivar name: empty if the op takes any number of such values.
    """

    name: str
    value: values.Value


@dataclasses.dataclass(frozen=True)
class _Operand:
    """An argument of a condition with one of its alternatives."""

    name: str
    alternative: values.Alternative


def _translate_single(
    op: registry.Op, args: typing.Any, inverted: bool, scope: Scope
) -> Truth:
    """Return the truth of a condition that is not a group and has no loop.

    Every combination of alternatives of its arguments is decided separately.
    If the solver has no formula for a combination, the truth is a guess. The
    truth of ``{inventory.cpu.count} > 8`` is joined from cases such as::

        count is missing → false
        count is a list  → false
        count is integer → count > 8

    :param inverted: whether the op is written with a "!", e.g. ``!gt``.
    """
    bound, _problems = op.signature.bind(args)
    arguments = _evaluate_arguments(op, bound, scope)
    cases = []
    # A combination is, for example, an integer "count" and the constant 8.
    for guard, combination in values.product(
        [argument.value for argument in arguments], scope.machine.keep_going
    ):
        chosen = [
            _Operand(argument.name, alternative)
            for argument, alternative in zip(
                arguments, combination, strict=True
            )
        ]
        try:
            truth = _decide_combination(op, chosen, inverted, scope.machine)
        except logic.Untranslatable as exc:
            truth = _guess_truth(
                op, bound, inverted, combination, scope, cause=str(exc)
            )
        cases.append(truth.only_where(guard))
    return _join_cases(cases)


def _evaluate_arguments(
    op: registry.Op, bound: dict[str, typing.Any], scope: Scope
) -> list[_Argument]:
    """Evaluate the arguments of a condition for all machines.

    By the argument that the op declares, the result is::

        a regular expression, or another
        text whose braces mark no fields → the text as the rule has it
        any number of values             → an argument without a name for
                                           every value
        any other argument               → its value, converted to its type

    A missing value is already replaced by the value that the op gets instead.
    For ``{op: eq, args: ['{node.name}', a]}`` there are two arguments without
    a name: the name of the node with its alternatives, and the constant "a".

    :param bound: the arguments by name, as the rule has them.
    :returns: the arguments in the order in which the engine reads them,
        because the first argument without a value decides.
    """
    arguments: list[_Argument] = []
    for name, written in bound.items():
        declared = op.signature.by_name[name]
        if name == 'regex' or name in op.plugin.LITERAL:
            # Braces in such an argument do not mark a field.
            arguments.append(_Argument(name, values.const(written)))
        elif declared.variadic and isinstance(written, list):
            several = written
            if len(written) == 1 and isinstance(written[0], list):
                # If the only value is a list, its items are the values.
                several = written[0]
            refuse_missing = functools.partial(_refuse_missing_part, op)
            for part in several:
                value = values.transform(
                    expression.evaluate(part, scope), refuse_missing
                )
                arguments.append(_Argument('', value))
        else:
            replace_missing = functools.partial(_replace_missing, op, declared)
            value = values.transform(
                expression.evaluate(written, scope), replace_missing
            )
            converted = expression.convert_argument(declared, value)
            arguments.append(_Argument(name, converted))
    return arguments


def _replace_missing(
    op: registry.Op,
    declared: engine_arguments.Argument,
    alternative: values.Alternative,
) -> values.Value:
    """Replace a missing value of an argument by the value that the op gets.

    :returns: null if the op accepts a missing value as null; an error if the
        op asks for missing values but the type of the argument does not allow
        them; otherwise the value itself.
    """
    if not alternative.is_missing:
        return values.only(alternative)
    if op.plugin.SEES_MISSING and declared.type in engine_arguments.TYPES:
        # The engine gives the op a marker for "missing". Converting the marker
        # to a text, a number and so on is an error.
        return values.FAILED
    if op.plugin.ACCEPTS_MISSING and not op.plugin.SEES_MISSING:
        # If the argument is optional, its default later replaces null.
        return values.const(None)
    return values.only(alternative)


def _refuse_missing_part(
    op: registry.Op, alternative: values.Alternative
) -> values.Value:
    """Replace a missing value in a list of arguments by an error.

    It is an error only for an op that asks about missing values. For any other
    op the value stays missing, and the condition does not hold.
    """
    if alternative.is_missing and _asks_missing(op):
        # The values are one argument, which is missing as a whole if one value
        # is missing, and the engine cannot split a missing list.
        return values.FAILED
    return values.only(alternative)


def _asks_missing(op: registry.Op) -> bool:
    """Return whether an op asks about missing values."""
    return bool(op.plugin.SEES_MISSING or op.plugin.ACCEPTS_MISSING)


def _guess_truth(
    op: registry.Op,
    bound: dict[str, typing.Any],
    inverted: bool,
    chosen: Alternatives,
    scope: Scope,
    cause: str,
) -> Truth:
    """Return a guess for a condition that cannot be translated.

    The solver chooses whether the condition holds and whether it fails. Its
    choice is the same whenever the same op has the same values. The engine
    must confirm a machine that is found with this choice.

    :param bound: the arguments as the rule has them.
    :param inverted: whether the op is written with a "!".
    :param chosen: one alternative of every argument.
    :param cause: why the condition cannot be translated.
    """
    machine = scope.machine
    # The guess depends on these. The raw arguments are included, because the
    # alternatives alone do not tell which arguments they belong to.
    raw_arguments = json.dumps(bound, sort_keys=True, default=str)
    orders = [alternative.order for alternative in chosen]
    about = [op.name, inverted, chosen, orders, raw_arguments]
    if op.plugin.NEEDS_VIEW or op.plugin.LITERAL:
        # The op reads more than its arguments, so include all data.
        about.append(scope)
    reason = f'{op.name}: {cause}'
    # If an argument is unknown, it may be an error.
    fails = machine.may_fail(
        [(logic.TRUE, alternative) for alternative in chosen]
    )
    if op.name not in operators.NEVER_FAIL:
        fails = logic.disj(fails, machine.guess(reason, 'fails', *about))
    return Truth(machine.guess(reason, *about), fails)


def _decide_combination(
    op: registry.Op,
    chosen: Sequence[_Operand],
    inverted: bool,
    machine: machines.SymbolicMachine,
) -> Truth:
    """Return the truth of a condition for one combination of alternatives.

    If all values are known, e.g. 4 and 8, the op of the engine itself decides.
    Otherwise the translation of the op returns a formula, e.g. ``count > 8``
    for an integer of the machine and 8.

    :param chosen: the arguments, in the order in which the engine reads them.
    :raises: :class:`.logic.Untranslatable` if the solver cannot decide.
    """
    alternatives = [argument.alternative for argument in chosen]
    truth_without_value = _truth_without_value(
        alternatives, _asks_missing(op), machine
    )
    if truth_without_value is not None:
        # If a value is missing, the condition does not hold, even with "!".
        return truth_without_value
    if op.plugin.NEEDS_VIEW or op.plugin.LITERAL:
        raise logic.Untranslatable('it looks into the data itself')
    for alternative in alternatives:
        if isinstance(alternative, values.UnknownValue):
            raise logic.Untranslatable(alternative.reason)
    operands = _build_operands(op, chosen, machine)
    is_known = all(
        isinstance(alternative, values.Const) for alternative in alternatives
    )
    if is_known:
        truth = _decide_known(op, operands)
    else:
        translation = operators.TRANSLATIONS.get(op.name)
        if translation is None:
            raise logic.Untranslatable(f'there is no translation of {op.name}')
        truth = Truth(translation(operands))
    if inverted:
        return truth.inverted()
    return truth


def _build_operands(
    op: registry.Op,
    chosen: Sequence[_Operand],
    machine: machines.SymbolicMachine,
) -> operators.Operands:
    """Return the arguments in the form that the translation of an op expects.

    Some ops, e.g. ``eq``, take any number of values, which have no names. If a
    rule reads all of them from one field, a constant list is split into its
    items.

    :raises: :class:`.logic.Untranslatable` if a rule reads all values from one
        list of the machine.
    """
    named: dict[str, values.Alternative] = {}
    unnamed: list[values.Alternative] = []
    for argument in chosen:
        alternative = argument.alternative
        if not argument.name:
            unnamed.append(alternative)
        elif not op.signature.by_name[argument.name].variadic:
            named[argument.name] = alternative
        elif isinstance(alternative, values.Const):
            # The items of a known list are the values.
            unnamed += map(values.Const, alternative.value)
        else:
            raise logic.Untranslatable('a list of values')
    return operators.Operands(machine, op.name, named, unnamed)


def _truth_without_value(
    alternatives: Sequence[values.Alternative],
    asks_missing: bool,
    machine: machines.SymbolicMachine,
) -> Truth | None:
    """Return the truth of a condition if an argument has no value.

    Arguments are read in order. If the first one without a value is missing,
    the condition is false; if it is an error, the condition is an error. An
    unknown value may be missing or an error: the solver guesses. Before a
    missing value, it may still make the condition an error.

    :param alternatives: one alternative of every argument, in order.
    :param asks_missing: whether the op itself accepts a missing value.
    :returns: None if every argument has a value or may have one, so the op
        must decide.
    """
    fails = logic.FALSE
    unknown: list[values.Alternative] = []
    for alternative in alternatives:
        if isinstance(alternative, values.UnknownValue):
            may_fail = machine.may_fail(values.only(alternative))
            fails = logic.disj(fails, may_fail)
            unknown.append(alternative)
        elif isinstance(alternative, values.Failed):
            if not unknown or asks_missing:
                return ALWAYS_FAILS
            # The unknown value before it may be missing. It then decides, and
            # the error is not reached.
            fails = machine.guess('a value before an error', *unknown)
            return Truth(logic.FALSE, fails)
        elif alternative.is_missing and not asks_missing:
            return Truth(logic.FALSE, fails)
    return None


def _decide_known(op: registry.Op, operands: operators.Operands) -> Truth:
    """Let the op itself decide a condition whose values are all known.

    ``gt`` with 16 and 8 holds on all machines. If the op refuses a value, the
    condition is an error on all machines.
    """
    args = {
        name: _known_value(alternative)
        for name, alternative in operands.named.items()
    }
    unnamed = [_known_value(alternative) for alternative in operands.unnamed]
    try:
        if 'regex' in args:
            # The regex is still a text here, see _evaluate_arguments().
            args['regex'] = op.signature.by_name['regex'].type(args['regex'])
        if op.plugin.PAYS:
            # Such an op takes the budget of a phase as its first argument. A
            # proof has no limit on the size of a machine.
            unnamed.insert(0, budget.UNLIMITED)
        decide = op.bind(args)
        holds = bool(decide(*unnamed))
    except (exceptions.InspectionRulesError, TypeError, ValueError):
        # The engine treats these as errors of the rule too, even if an op of
        # another package raises them.
        return ALWAYS_FAILS
    return Truth(logic.of_bool(holds))


def _known_value(alternative: values.Alternative) -> typing.Any:
    """Return the value of an alternative that is a constant."""
    return typing.cast(values.Const, alternative).value
