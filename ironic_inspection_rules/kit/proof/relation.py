# SPDX-License-Identifier: Apache-2.0

"""Relations between two values as formulas of the solver.

The engine compares values of any two types: a text that reads as a number is
compared with numbers as one, and texts are in the order of their characters.
The kind of both alternatives is known here, so each pair of kinds has a
formula of its own.

The machine is symbolic: what it sends are variables of the solver. Something
that the solver cannot compute of a text, such as its rank as a version, is a
facet of it: a variable for which functions of the engine compute the value of
every text that is tried.
"""

from collections.abc import Callable, Sequence
import functools
import itertools
import operator
import typing

import z3

from ironic_inspection_rules.engine.language import registry
from ironic_inspection_rules.kit.proof import logic
from ironic_inspection_rules.kit.proof import machine as machines
from ironic_inspection_rules.kit.proof import text as texts
from ironic_inspection_rules.kit.proof import value as values
from ironic_inspection_rules.plugins.conditions import comparison

Machine = machines.SymbolicMachine
Alternatives = Sequence[values.Alternative]

COMPARE: dict[str, Callable[..., typing.Any]] = {
    'eq': operator.eq,
    'ne': operator.ne,
    'lt': operator.lt,
    'le': operator.le,
    'gt': operator.gt,
    'ge': operator.ge,
}
"""What compares two terms, by the op of a condition."""

_REVERSED = {'lt': 'gt', 'le': 'ge', 'gt': 'lt', 'ge': 'le'}
"""The relation of the second value to the first one, by that of the first
to the second."""

_OPPOSITE = {'gt': 'le', 'ge': 'lt'}
"""What holds exactly where a relation of two texts does not."""


def chain(
    machine: Machine, relation: str, several: Alternatives
) -> logic.Formula:
    """Return on which machines some values are in a relation, pair by pair.

    ``[a, b, c]`` and ``lt`` mean a < b and b < c, as in the engine.
    """
    if is_alone(several):
        return logic.TRUE
    parts = []
    for left, right in itertools.pairwise(several):
        parts.append(between(machine, relation, left, right))
    return logic.conj(*parts)


def versions(
    machine: Machine, relation: str, several: Alternatives
) -> logic.Formula:
    """Return on which machines some versions are in a relation, pair by pair.

    ``[a, b, c]`` and ``lt`` mean a < b and b < c, as in the engine. To the
    solver a version is a number: its rank among all versions that this proof
    has asked for.

    :param relation: a key of :data:`COMPARE`.
    :raises: :class:`.logic.Untranslatable` for a single list, and for text of
        several fields.
    """
    # A single value has no next one to differ from.
    if is_alone(several):
        return logic.TRUE
    if any(alternative.kind != 'text' for alternative in several):
        # Only a text is a version.
        return logic.FALSE
    ranks = []
    for alternative in several:
        if isinstance(alternative, values.Const):
            rank = machine.rank(alternative.value, comparison.version_key)
        else:
            rank = _rank_of_text(machine, alternative, several)
        ranks.append(rank)
    compare = COMPARE[relation]
    parts = [compare(left, right) for left, right in itertools.pairwise(ranks)]
    return logic.conj(*parts)


def _rank_of_text(
    machine: Machine, alternative: values.Alternative, others: Alternatives
) -> logic.Term:
    """Return the rank of a version that a machine sends, a variable.

    The engine's own order computes it for every version that is tried.

    :param others: what it is compared with; versions around the known ones
        of these are tried.
    :raises: :class:`.logic.Untranslatable` for text of several fields.
    """
    compute_rank = functools.partial(_compute_rank, machine)
    facet = machine.facet(
        alternative.as_term(), 'version', _make_rank, compute_rank
    )
    if facet is None:
        raise logic.Untranslatable('text made of others as a version')
    for other in others:
        if isinstance(other, values.Const):
            # The version itself, one after it, one before it ("~" comes
            # before the end), and one before nearly all.
            facet.near |= {
                other.value,
                f'{other.value}.1',
                f'{other.value}~',
                '0',
            }
    return facet.terms[0]


def _make_rank(name: str) -> tuple[logic.Term]:
    return (z3.Real(name),)


def _compute_rank(machine: Machine, text: str) -> tuple[logic.Term]:
    return (machine.rank(text, comparison.version_key),)


def is_alone(several: Alternatives) -> bool:
    """Return whether a comparison has a single value: it holds in any case.

    :raises: :class:`.logic.Untranslatable` for a single list: the engine
        compares its items.
    """
    if len(several) != 1:
        return False
    if several[0].kind == 'list':
        raise logic.Untranslatable('a comparison of the items of a list')
    return True


def between(
    machine: Machine,
    relation: str,
    left: values.Alternative,
    right: values.Alternative,
) -> logic.Formula:
    """Return on which machines a relation holds between two values.

    It depends on their kinds, as the comparison of the engine does.

    :raises: :class:`.logic.Untranslatable` for two lists, for two mappings of
        which none is ``{}``, and for a number beside text of several fields.
    """
    machine.keep_going()
    if isinstance(left, values.Const) and isinstance(right, values.Const):
        return logic.known(_holds(relation, left.value, right.value))
    kinds = {left.kind, right.kind}
    if kinds == {'text'}:
        return _between_texts(machine, relation, left, right)
    if kinds == {'number', 'text'}:
        return _between_number_and_text(machine, relation, left, right)
    if kinds <= {'number', 'boolean'}:
        _note_number(machine, left, right)
        _note_number(machine, right, left)
        return COMPARE[relation](as_number(left), as_number(right))
    if kinds == {'mapping'} and relation in ('eq', 'ne'):
        return _between_mappings(machine, relation, left, right)
    if kinds in ({'list'}, {'mapping'}):
        raise logic.Untranslatable('a comparison of lists or mappings')
    # Values of other types have no order, and are not equal.
    return logic.known(relation == 'ne')


def _between_mappings(
    machine: Machine,
    relation: str,
    left: values.Alternative,
    right: values.Alternative,
) -> logic.Formula:
    """Return on which machines a mapping is ``{}``, or is not.

    Mappings are compared with the empty one only.

    :param relation: ``eq``; any other means that they differ.
    :raises: :class:`.logic.Untranslatable` for other mappings and lists.
    """
    for mapping, constant in ((left, right), (right, left)):
        if not isinstance(mapping, values.Mapping):
            continue
        if isinstance(constant, values.Const) and constant.value == {}:
            is_empty = mapping.is_empty(machine)
            if relation == 'eq':
                return is_empty
            return logic.negated(is_empty)
    raise logic.Untranslatable('a comparison of lists or mappings')


def _holds(relation: str, left: typing.Any, right: typing.Any) -> bool:
    """Return whether a relation holds between two known values, by its op."""
    if comparison.equal(left, right):
        # What holds of two zeros holds of any two equal values.
        return bool(COMPARE[relation](0, 0))
    op = registry.installed().conditions[relation]
    return bool(op.plugin.holds(left, right))


def _between_texts(
    machine: Machine,
    relation: str,
    left: values.Alternative,
    right: values.Alternative,
) -> logic.Formula:
    """Return on which machines two texts are in a relation by characters."""
    has_all_characters = True
    for text, compared_with in ((left, right), (right, left)):
        if isinstance(compared_with, values.Const):
            has_all_characters &= machine.alphabet.has(compared_with.value)
            # The results of filters are computed for the texts noted here.
            machine.note(text.as_term(), compared_with.value)
    holds = _compare_texts(machine, relation, left, right)
    if has_all_characters:
        return holds
    # The rule's text has characters that no text of the solver has. That the
    # solver finds no machine with such a text proves nothing.
    return machine.guess(
        'characters that the solver does not have', relation, left, right
    )


def _compare_texts(
    machine: Machine,
    relation: str,
    left: values.Alternative,
    right: values.Alternative,
) -> logic.Formula:
    """Return on which machines two texts are in a relation.

    At least one of them is a text of the machine. The texts before or after a
    known text are a regular language, and the solver finds a text of a
    language much faster than two texts in an order.

    :param relation: ``eq``, ``ne``, ``lt``, ``le``, ``gt`` or ``ge``.
    """
    if relation in ('eq', 'ne'):
        return COMPARE[relation](left.as_term(), right.as_term())
    if isinstance(right, values.Const):
        return _order_beside(machine, relation, left.as_term(), right.value)
    if isinstance(left, values.Const):
        return _order_beside(
            machine, _REVERSED[relation], right.as_term(), left.value
        )
    if relation in ('gt', 'ge'):
        # The solver has "<" and "<=" of texts only.
        compare = COMPARE[_REVERSED[relation]]
        return compare(right.as_term(), left.as_term())
    return COMPARE[relation](left.as_term(), right.as_term())


def _order_beside(
    machine: Machine, relation: str, term: logic.Term, text: str
) -> logic.Formula:
    """Return on which machines a text is in an order with a known text.

    :param relation: an order: ``lt``, ``le``, ``gt`` or ``ge``.
    """
    if relation in _OPPOSITE:
        opposite = _OPPOSITE[relation]
        return logic.negated(_order_beside(machine, opposite, term, text))
    is_before = _is_before(machine, term, text)
    if relation == 'lt':
        return is_before
    return logic.disj(is_before, term == logic.constant(text))


def _is_before(machine: Machine, term: logic.Term, text: str) -> logic.Formula:
    """Return on which machines a text sorts before a known text.

    :param term: the text: one of the machine, or the text of a number.
    """
    number = machine.numbers_of.get(term.get_id())
    if number is None:
        return z3.InRe(term, machine.alphabet.below(text))
    # The solver hardly ever finds a number whose text is in a language. But
    # the texts of all numbers are before most texts, or after them: then
    # there is nothing to find. Else numbers are tried.
    all_before = machine.alphabet.all_below(text, texts.pattern_of(number))
    if all_before is not None:
        return logic.known(all_before)
    compute_order = functools.partial(_comes_before, text)
    return machine.asks_text(number, f'before {text!r}', compute_order, text)


def _comes_before(text: str, known: str) -> bool:
    """Return whether a known text comes before the other one."""
    return known < text


def _between_number_and_text(
    machine: Machine,
    relation: str,
    left: values.Alternative,
    right: values.Alternative,
) -> logic.Formula:
    """Return on which machines a number and a text are in a relation.

    Either of them is the text. It counts as the number that it reads as; one
    that reads as none is not equal to a number, and has no order.
    """
    if left.kind == 'text':
        is_number, left_term = _number_in(machine, left, right)
        right_term = right.as_term()
    else:
        is_number, right_term = _number_in(machine, right, left)
        left_term = left.as_term()
    holds_of_numbers = COMPARE[relation](left_term, right_term)
    holds_of_other_text = logic.known(relation == 'ne')
    return logic.disj(
        logic.conj(is_number, holds_of_numbers),
        logic.conj(logic.negated(is_number), holds_of_other_text),
    )


def _number_in(
    machine: Machine,
    text: values.Alternative,
    compared_with: values.Alternative,
) -> tuple[logic.Formula, logic.Term]:
    """Return on which machines a text reads as a number, and that number.

    The solver cannot read numbers in texts: the engine's own function does,
    for every text that is tried.

    :param text: a known text, or one of the machine.
    :param compared_with: the number that the text is compared with.
    :raises: :class:`.logic.Untranslatable` for text of several fields.
    """
    if isinstance(text, values.Const):
        number = comparison.as_number(text.value)
        if number is None:
            # Any term will do: nobody looks at it where there is no number.
            return logic.FALSE, values.Const(0).as_term()
        return logic.TRUE, values.Const(number).as_term()
    facet = machine.facet(
        text.as_term(), 'number', _make_number, _compute_number
    )
    if facet is None:
        raise logic.Untranslatable('text made of others as a number')
    if isinstance(compared_with, values.Const):
        # Texts to try. The result of the comparison changes at this number.
        number = compared_with.value
        facet.near |= {str(number - 1), str(number), str(number + 1)}
    exists, term = facet.terms
    return exists, term


def _make_number(name: str) -> tuple[logic.Formula, logic.Term]:
    return z3.Bool(f'{name} exists'), z3.Real(name)


def _compute_number(text: str) -> tuple[bool, typing.Any]:
    """Return whether a text reads as a number, and that number.

    It is ``(True, 8)`` for "8", and ``(False, None)`` for "x".
    """
    number = comparison.as_number(text)
    return number is not None, number


def _note_number(
    machine: Machine,
    number: values.Alternative,
    compared_with: values.Alternative,
) -> None:
    """Let the search try a constant that a number is compared with."""
    if not isinstance(number, values.SolverTerm) or number.is_boolean:
        return
    if isinstance(compared_with, values.Const):
        machine.note_number(number.term, compared_with.value)


def as_number(alternative: values.Alternative) -> logic.Term:
    """Return a number or a truth value as a number."""
    term = alternative.as_term()
    if z3.is_bool(term):
        return z3.If(term, z3.IntVal(1), z3.IntVal(0))
    return term
