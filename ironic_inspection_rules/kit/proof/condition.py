# SPDX-License-Identifier: Apache-2.0

"""Translate conditions of rules to formulas about all possible machines.

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
    """The formulas that a condition holds, and that it is an error.

    For ``{inventory.memory | add(1)} > 8``, these are ``memory + 1 > 8``, and
    that the memory is there but no number, so that nothing can be added to it.
    Where a condition is an error, ``holds`` says nothing: a rule matches where
    its conditions hold and do not fail.
    """

    holds: logic.Formula
    fails: logic.Formula = logic.FALSE

    def inverted(self) -> 'Truth':
        """Return the truth of the opposite, with the same errors."""
        return Truth(logic.negated(self.holds), self.fails)

    def only_where(self, guard: logic.Formula) -> 'Truth':
        """Return the truth on the machines of a guard, and false elsewhere.

        For ``count > 8`` and the guard "the count is a number", it is "the
        count is a number, and count > 8".
        """
        return Truth(
            logic.conj(guard, self.holds), logic.conj(guard, self.fails)
        )


NEVER_TRUE = Truth(logic.FALSE)
ALWAYS_FAILS = Truth(logic.FALSE, logic.TRUE)


def _join_cases(parts: Sequence[Truth]) -> Truth:
    """Join the truths of cases to the truth of a condition.

    Every machine is in one of the cases, such as that the count is a number,
    or that it is a text. The truth of a case is already limited to its
    machines: see :meth:`Truth.only_where`.
    """
    holds = logic.disj(*(part.holds for part in parts))
    fails = logic.disj(*(part.fails for part in parts))
    return Truth(holds, fails)


def all_hold(
    conditions: Iterable[Written], scope: Scope, holding: bool = True
) -> Truth:
    """Return the truth that all conditions hold, or that none does.

    As in the engine, they are asked in order, up to the first that decides:
    errors of a condition that is not asked do not count. For two conditions
    the formulas are::

        all hold:    first holds, and second holds
        an error:    first fails; or first holds, and second fails

    :param holding: True where all are to hold, and the first that does not
        decides; False where none is, and the first that holds decides.
    """
    # Holds where no condition so far has decided, so that the next is asked.
    undecided = logic.TRUE
    fails = logic.FALSE
    for condition in conditions:
        truth = translate(condition, scope)
        fails = logic.disj(fails, logic.conj(undecided, truth.fails))
        if not holding:
            truth = truth.inverted()
        undecided = logic.conj(undecided, truth.holds)
        if undecided is logic.FALSE:
            # On no machine is the next condition asked.
            break
    # Where none of them has decided, all hold, or none does.
    return Truth(undecided, fails)


def translate(written: Written, scope: Scope) -> Truth:
    """Return the truth of a condition of any form.

    It may be a group, have a loop, and be inverted by a "!" in its op. The
    truth of ``{inventory.cpu.count} > 8`` holds where::

        count is a number, and count > 8; or
        count is a text, and the number in the text > 8

    and it fails nowhere, as any two values can be compared.

    :param written: a valid condition, as the rule has it.
    """
    scope.machine.keep_going()
    if written.get('loop') is not None:
        return _translate_loop(written, scope)
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

    As the engine does, :func:`all_hold` asks the conditions of the group in
    order, up to the first that decides.

    :param parts: the conditions of the group.
    """
    asks_for_all = op.plugin.HOLDS == 'all'
    # The truth that all of them hold, or else that none of them does.
    truth = all_hold(parts, scope, holding=asks_for_all)
    if op.plugin.HOLDS == 'any':
        # The opposite of "none holds".
        return truth.inverted()
    if op.plugin.HOLDS:
        # "all", or "none".
        return truth
    # A group of another package, of which nobody knows what it asks for.
    holds = scope.machine.guess(
        f'{op.name} has no translation', op.name, json.dumps(parts), scope
    )
    return Truth(holds, truth.fails)


def _translate_loop(written: Written, scope: Scope) -> Truth:
    """Return the truth of a condition with a loop.

    The field of the loop may be a list on one machine and missing on another:
    every alternative is decided by itself, on the machines that have it.
    """
    cases = []
    for guard, alternative in evaluate_loop(written['loop'], scope):
        truth = _translate_over(written, alternative, scope)
        cases.append(truth.only_where(guard))
    return _join_cases(cases)


def _translate_over(
    written: Written, alternative: values.Alternative, scope: Scope
) -> Truth:
    """Return the truth of a condition over one alternative of its loop.

    As in the engine, a loop over null or a missing value does not hold, and
    one over a text or a number is an error. Over a list or a mapping, the
    condition is asked item by item.

    :param written: the condition, with its loop.
    :param alternative: what the loop goes over, such as a list of disks.
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
        # Nobody knows what is in it.
        reason = f'a loop over {alternative.reason}'
    elif isinstance(alternative, values.TraitNames):
        # Nobody knows in which order a node has its traits.
        reason = 'a loop over traits'
    else:
        return _translate_over_items(written, alternative, scope)
    # The solver chooses whether the condition holds and whether it fails, and
    # chooses the same for the same condition on the same data.
    condition = json.dumps(written)
    machine = scope.machine
    holds = machine.guess(reason, 'holds', condition, alternative, scope)
    fails = machine.guess(reason, 'fails', condition, alternative, scope)
    return Truth(holds, fails)


def evaluate_loop(loop: typing.Any, scope: Scope) -> values.Value:
    """Evaluate the loop of a condition or an action.

    If a rule writes the list itself, such as ``['{vars.a}', '{vars.b}']``, the
    engine fills all fields before the first item: an error in any field is an
    error of the loop. A missing field is no error: its item is then missing.

    :returns: such as a list with its items; an error where a field is one.
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
    """Return the formula that a field in data of a rule is an error.

    For an unknown field it is a guess.

    :param written: a list, a mapping or a text, as the rule has it.
    """
    if isinstance(written, dict):
        # Keys of a mapping may have fields as well.
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
    """Evaluate an item that a rule writes, whose fields may be missing.

    A mapping such as ``{'vlan': '{vars.vlan}'}`` exists even then: only a
    condition or an action that reads the field has no value.
    """
    has_plain_keys = isinstance(item, dict) and not interpolation.fields(
        list(item)
    )
    if not has_plain_keys:
        return expression.evaluate(item, scope)
    entries = {}
    for name, entry in item.items():
        entries[name] = _evaluate_leniently(entry, scope)
    # Without a cell: the rule has written all of its entries.
    return values.only(values.LenientMapping(cell=None, entries=entries))


@dataclasses.dataclass(frozen=True)
class _Item:
    """An item of a loop, with the truth of the condition for the item.

    :ivar exists: holds where the loop has so many items: for the third disk,
        where there are at least three.
    """

    exists: logic.Formula
    truth: Truth


def _translate_over_items(
    written: Written, alternative: values.Alternative, scope: Scope
) -> Truth:
    """Return the truth of a condition over the items of its loop.

    ``multiple`` says for which items it has to hold. Over an empty list it
    never holds. ``{item.size} > 100`` for any of the disks holds where::

        there is a first disk, and its size > 100; or
        there is a second disk, and its size > 100; or
        … and so on, up to the fifth; or
        there are more than five, and the solver guesses that one will do

    :param alternative: the list, or a mapping, which is the only item.
    """
    # The condition without its loop is asked for every item.
    once = {name: part for name, part in written.items() if name != 'loop'}
    items = []
    for exists, item in alternative.items_of_loop():
        truth = translate(once, scope.within(item=item))
        items.append(_Item(exists, truth))
    if not items:
        return NEVER_TRUE
    multiple = written.get('multiple') or 'any'
    # All items that are not looked at are one more item, the last.
    items.append(
        _guess_items_beyond(once, multiple, alternative, items, scope)
    )
    first = items[0]
    if multiple == 'first':
        return first.truth.only_where(first.exists)
    if multiple == 'last':
        return _hold_for_last(items)
    if multiple == 'all':
        # The first item for which the condition does not hold decides.
        all_held, fails = _loop_until_decided(items, decisive=False)
        # As in the engine, "all" does not hold for a list without items.
        return Truth(logic.conj(first.exists, all_held), fails)
    # "any": the first item for which the condition holds decides.
    none_held, fails = _loop_until_decided(items, decisive=True)
    return Truth(logic.negated(none_held), fails)


def _guess_items_beyond(
    once: Written,
    multiple: str,
    alternative: values.Alternative,
    items: Sequence[_Item],
    scope: Scope,
) -> _Item:
    """Return all items after the first ``LONGEST`` of a list as one item.

    Only the first items of a list have formulas of their own. For the others,
    the solver chooses whether the condition holds, and whether it fails: these
    are guesses, which the engine confirms or not. Their names are noted in
    ``machine.loops`` under the name of the list: by their number
    :class:`.search.MachineSearch` knows whether longer lists matter at all.

    :param once: the condition without its loop.
    :param items: the first items, which have formulas.
    :returns: an item that never exists where the list cannot be longer.
    """
    if not isinstance(alternative, values.ItemList):
        # A mapping is the only item, and all items of a known list are looked
        # at.
        return _Item(exists=logic.FALSE, truth=NEVER_TRUE)
    exists = logic.settled(alternative.where_longer)
    if exists is logic.FALSE:
        return _Item(exists=logic.FALSE, truth=NEVER_TRUE)
    machine = scope.machine
    # What the guesses depend on: equal conditions on equal data have the same.
    about = (json.dumps([once, multiple]), alternative, scope)
    reason = f'more than {cells.LONGEST} items of {alternative.name}'
    names_of_guesses = machine.loops.setdefault(alternative.name, set())
    holds = machine.guess(reason, 'holds', *about)
    names_of_guesses.add(str(holds))
    if all(item.truth.fails is logic.FALSE for item in items):
        # A condition that is no error for the first items is none for later
        # items.
        return _Item(exists, Truth(holds))
    fails = machine.guess(reason, 'fails', *about)
    names_of_guesses.add(str(fails))
    return _Item(exists, Truth(holds, fails))


def _hold_for_last(items: Sequence[_Item]) -> Truth:
    """Return the truth of a condition with ``multiple: last``.

    It is that of the second disk where there are two, for example.
    """
    cases = []
    for number, item in enumerate(items, 1):
        is_last = item.exists
        if number < len(items):
            # The item is the last where the next one does not exist.
            next_exists = items[number].exists
            is_last = logic.conj(item.exists, logic.negated(next_exists))
        cases.append(item.truth.only_where(is_last))
    return _join_cases(cases)


def _loop_until_decided(
    items: Sequence[_Item], decisive: bool
) -> tuple[logic.Formula, logic.Formula]:
    """Ask a condition item by item, until the result for one decides.

    As in the engine, the loop then ends: for later items the condition is not
    asked, and is no error. So an error for the second item is one of the loop
    where the first item does not decide.

    :param decisive: the result that decides: True for ``any``, where one item
        for which the condition holds is enough; False for ``all``, where one
        is enough for which it does not.
    :returns: the formula that no item decides, and the formula that the
        condition is an error for an item that is reached.
    """
    # Holds where no item so far has decided.
    undecided = logic.TRUE
    fails = logic.FALSE
    for item in items:
        fails_here = logic.conj(undecided, item.exists, item.truth.fails)
        fails = logic.disj(fails, fails_here)
        decides = item.truth.holds
        if not decisive:
            decides = logic.negated(decides)
        decides_here = logic.conj(item.exists, decides)
        undecided = logic.conj(undecided, logic.negated(decides_here))
    return undecided, fails


@dataclasses.dataclass(frozen=True)
class _Argument:
    """An argument of a condition, with its value for all machines.

    :ivar name: empty for a value of an op that takes any number of them.
    """

    name: str
    value: values.Value


def _translate_single(
    op: registry.Op, args: typing.Any, inverted: bool, scope: Scope
) -> Truth:
    """Return the truth of a condition that is no group or loop.

    Every combination of alternatives of its arguments is decided by itself. If
    the solver has no formula for a combination, the truth is a guess. The
    truth of ``{inventory.cpu.count} > 8`` is joined of cases such as::

        count is missing → false
        count is a list  → false
        count is integer → count > 8

    :param inverted: whether the op is written with a "!", such as ``!gt``.
    """
    bound, _problems = op.signature.bind(args)
    arguments = _evaluate_arguments(op, bound, scope)
    names = [argument.name for argument in arguments]
    all_values = [argument.value for argument in arguments]
    cases = []
    # One combination is, for example, an integer "count" and the constant 8.
    for guard, combination in values.product(
        all_values, scope.machine.keep_going
    ):
        try:
            truth = _decide_combination(
                op, names, combination, inverted, scope.machine
            )
        except logic.Untranslatable as exc:
            truth = _guess_truth(
                op, bound, inverted, combination, scope, cause=str(exc)
            )
        cases.append(truth.only_where(guard))
    return _join_cases(cases)


def _evaluate_arguments(
    op: registry.Op, bound: dict[str, typing.Any], scope: Scope
) -> list[_Argument]:
    """Evaluate the arguments of a condition, for all machines.

    They are in the order in which the engine reads them: the first without a
    value decides. A missing value is already what the op gets in its place.
    For ``{op: eq, args: ['{node.name}', a]}`` there are two arguments without
    a name, as ``eq`` compares any number of values: the name of the node with
    its alternatives, and the constant "a".

    :param bound: the arguments as the rule has them, by name.
    """
    arguments: list[_Argument] = []
    for name, written in bound.items():
        declared = op.signature.by_name[name]
        if name == 'regex' or name in op.plugin.LITERAL:
            # Braces in such an argument are no fields.
            arguments.append(_Argument(name, values.const(written)))
        elif declared.variadic and isinstance(written, list):
            several = written
            if len(written) == 1 and isinstance(written[0], list):
                # A list as the only value is all the values.
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
    """Replace a missing value of an argument by what the op gets instead.

    :returns: null for an op that takes a missing value as null, an error if
        the op asks for missing values but the type of the argument has none;
        else the value as it is.
    """
    if not alternative.is_missing:
        return values.only(alternative)
    if op.plugin.SEES_MISSING and declared.type in engine_arguments.TYPES:
        # The engine gives the op a marker for "missing". To convert the marker
        # to a text, a number and so on is an error.
        return values.FAILED
    if op.plugin.ACCEPTS_MISSING and not op.plugin.SEES_MISSING:
        # For null, an argument that is not required has a default.
        return values.const(None)
    return values.only(alternative)


def _refuse_missing_part(
    op: registry.Op, alternative: values.Alternative
) -> values.Value:
    """Replace a missing value in a list of arguments by an error.

    It is an error for an op that asks about missing values. For any other op
    it stays missing, and the condition does not hold.
    """
    if alternative.is_missing and _asks_missing(op):
        # The values are one argument, which is missing as a whole if a value
        # is missing: the engine cannot take a missing list apart.
        return values.FAILED
    return values.only(alternative)


def _asks_missing(op: registry.Op) -> bool:
    """Return whether an op asks about a value that is missing."""
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

    The solver chooses whether it holds, and whether it fails, and chooses the
    same wherever the same op is asked about the same values. The engine has to
    confirm a machine that is found with such a choice.

    :param bound: the arguments as the rule has them.
    :param chosen: an alternative of every argument.
    :param cause: why it cannot be translated.
    """
    machine = scope.machine
    # What the guess depends on. The alternatives alone do not say which
    # arguments they are.
    raw_arguments = json.dumps(bound, sort_keys=True, default=str)
    about = [op.name, inverted, chosen, raw_arguments]
    if op.plugin.NEEDS_VIEW or op.plugin.LITERAL:
        # The op reads more than its arguments: the guess depends on all data.
        about.append(scope)
    reason = f'{op.name}: {cause}'
    # An unknown argument may be an error.
    fails = machine.may_fail(
        [(logic.TRUE, alternative) for alternative in chosen]
    )
    if op.name not in operators.NEVER_FAIL:
        fails = logic.disj(fails, machine.guess(reason, 'fails', *about))
    return Truth(machine.guess(reason, *about), fails)


def _decide_combination(
    op: registry.Op,
    names: Sequence[str],
    chosen: Alternatives,
    inverted: bool,
    machine: machines.SymbolicMachine,
) -> Truth:
    """Return the truth of a condition for one combination of alternatives.

    If all values are known, as 4 and 8, the op of the engine itself decides.
    Else its translation makes a formula, such as ``count > 8`` for an integer
    of the machine and 8.

    :param names: the names of the arguments; empty for a value of an op that
        takes any number of them.
    :param chosen: an alternative of every argument, in the same order.
    :raises: :class:`.logic.Untranslatable` where the solver cannot say.
    """
    truth_without_value = _truth_without_value(
        chosen, _asks_missing(op), machine
    )
    if truth_without_value is not None:
        # Without a value, a condition does not hold even with "!".
        return truth_without_value
    if op.plugin.NEEDS_VIEW or op.plugin.LITERAL:
        raise logic.Untranslatable('it looks into the data itself')
    for alternative in chosen:
        if isinstance(alternative, values.UnknownValue):
            raise logic.Untranslatable(alternative.reason)
    operands = _build_operands(op, names, chosen, machine)
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


def _build_operands(
    op: registry.Op,
    names: Sequence[str],
    chosen: Alternatives,
    machine: machines.SymbolicMachine,
) -> operators.Operands:
    """Return the arguments as the translation of an op takes them.

    Values of an op that takes any number of them have no name.

    :param names: the names of the arguments, empty for such a value.
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
    """Return the truth of a condition that lacks the value of an argument.

    Arguments are read in order. If the first without a value is missing, the
    condition is false; if it is an error, so is the condition.

    :param chosen: an alternative of every argument, in order.
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
                return ALWAYS_FAILS
            # The unknown value before may be missing, and decide: the error is
            # not reached then.
            fails = machine.guess('a value before an error', *unknown)
            return Truth(logic.FALSE, fails)
        elif alternative.is_missing and not asks_missing:
            return Truth(logic.FALSE, fails)
    return None


def _decide_known(op: registry.Op, operands: operators.Operands) -> Truth:
    """Let the op itself decide a condition whose values are all known.

    For ``gt`` with 16 and 8 it holds on all machines. A value that the op
    refuses is an error on all machines.
    """
    args = {
        name: _known_value(alternative)
        for name, alternative in operands.named.items()
    }
    unnamed = [_known_value(alternative) for alternative in operands.unnamed]
    try:
        if 'regex' in args:
            # It is still the text of the rule: see _evaluate_arguments().
            args['regex'] = op.signature.by_name['regex'].type(args['regex'])
        if op.plugin.PAYS:
            # Such an op takes the budget of a phase before its values. In a
            # proof no machine is too large for a rule.
            unnamed.insert(0, budget.UNLIMITED)
        decide = op.bind(args)
        holds = bool(decide(*unnamed))
    except (exceptions.InspectionRulesError, TypeError, ValueError):
        # As in the engine, these are errors of the rule also where an op of
        # another package raises them.
        return ALWAYS_FAILS
    return Truth(logic.of_bool(holds))


def _known_value(alternative: values.Alternative) -> typing.Any:
    """Return the value of an alternative that is a constant."""
    return typing.cast(values.Const, alternative).value
