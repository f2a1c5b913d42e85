# SPDX-License-Identifier: Apache-2.0

"""Translate comparisons such as ``count > 8`` to formulas of the solver.

The engine compares values of any two types: a text that can be read as a
number is compared with numbers as a number, and texts are ordered by their
characters. Here the kinds of both alternatives are known, so every pair of
kinds has its own formula.

An *alternative* is what a value may be: a constant, a text, a number or a
truth value that the solver chooses, a list, or a mapping. A *term* is the form
of a plain value for the solver: 8, or the variable ``inventory.cpu.count``.

If the solver cannot compute something from a text, e.g. its rank as a version,
the text has a *computation*: a variable of the solver whose value Python
computes for the few texts that the search tries::

    text == "8" → number == 8
    text == "9" → number == 9
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
"""The function that compares two terms, by the op of a condition."""

_SWAPPED = {'lt': 'gt', 'le': 'ge', 'gt': 'lt', 'ge': 'le'}
"""The relation of the second value to the first, by the relation of the first
to the second."""

_OPPOSITE = {'gt': 'le', 'ge': 'lt'}
"""The relation of two texts that holds exactly if the other does not."""


def between_all(
    machine: Machine, relation: str, several: Alternatives
) -> logic.Formula:
    """Return the formula that all pairs of neighbors are in a relation.

    ``[a, b, c]`` and ``lt`` mean a < b and b < c, as in the engine.
    """
    # A single value has no neighbor.
    if is_alone(several):
        return logic.TRUE
    relations_of_pairs = []
    for left, right in itertools.pairwise(several):
        holds = between(machine, relation, left, right)
        relations_of_pairs.append(holds)
    return logic.conj(*relations_of_pairs)


def between_versions(
    machine: Machine, relation: str, several: Alternatives
) -> logic.Formula:
    """Return the formula that versions are in a relation.

    ``[a, b, c]`` and ``lt`` mean a < b and b < c, as in the engine. In the
    solver a version is a number: its rank among all versions of this proof. If
    these are "1.9" and "1.10", their ranks are 0 and 1, and the formula
    compares the ranks.

    :param relation: a key of :data:`COMPARE`.
    :raises: :class:`.logic.Untranslatable` for a single list, and for a text
        that is made from several fields.
    """
    # A single value has no neighbor.
    if is_alone(several):
        return logic.TRUE
    if any(alternative.kind != 'text' for alternative in several):
        # Only a text can be a version.
        return logic.FALSE
    ranks = []
    for alternative in several:
        if isinstance(alternative, values.Const):
            rank = machine.rank(alternative.value, comparison.version_key)
        else:
            rank = _rank_of_text(machine, alternative, several)
        ranks.append(rank)
    compare = COMPARE[relation]
    relations_of_pairs = [
        compare(left, right) for left, right in itertools.pairwise(ranks)
    ]
    return logic.conj(*relations_of_pairs)


def _rank_of_text(
    machine: Machine, alternative: values.Alternative, others: Alternatives
) -> logic.Term:
    """Return the rank of a version that a machine sends, as a term.

    The rank is a number that the solver chooses. For every version that is
    tried, the engine's own order determines the rank::

        version == "1.9"  → rank == 0
        version == "1.10" → rank == 1

    :param others: the values that the version is compared with. The known
        versions among them, and versions near these, are tried.
    :raises: :class:`.logic.Untranslatable` for a text that is made from
        several fields.
    """
    compute_rank = functools.partial(_compute_rank, machine)
    # A text that is made from several fields has no computation and is not
    # tried.
    computation = machine.computation(
        alternative.as_term(), 'version', _make_rank, compute_rank
    )
    if computation is None:
        raise logic.Untranslatable('text made of others as a version')
    for other in others:
        if isinstance(other, values.Const):
            # Try the known version, a later one, an earlier one ("~" sorts
            # before the end), and one that is earlier than nearly all others.
            computation.near |= {
                other.value,
                f'{other.value}.1',
                f'{other.value}~',
                '0',
            }
    return computation.terms['rank']


def _make_rank(name: str) -> texts.Terms:
    return {'rank': z3.Real(name)}


def _compute_rank(machine: Machine, text: str) -> texts.Terms:
    return {'rank': machine.rank(text, comparison.version_key)}


def is_alone(several: Alternatives) -> bool:
    """Return whether a comparison has a single value, so it always holds.

    :raises: :class:`.logic.Untranslatable` for a single list, because the
        engine then compares its items.
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
    """Return the formula that two values are in a relation.

    It depends on their kinds, as the comparison of the engine does. In this
    order, the cases are::

        two constants                  → the engine compares them
        two texts                      → see _between_texts()
        a number and a text            → see _between_number_and_text()
        two numbers or truth values    → left > right, if the relation is gt
        two mappings, for eq and ne    → see _between_mappings()
        two lists, or two mappings     → Untranslatable
        any other two kinds            → true for ne, otherwise false

    :param relation: a key of :data:`COMPARE`, e.g. ``gt``.
    :raises: :class:`.logic.Untranslatable` for two lists, for two mappings
        unless ``eq`` or ``ne`` compares with a known ``{}``, and for a number
        and a text that is made from several fields.
    """
    machine.keep_going()
    if isinstance(left, values.Const) and isinstance(right, values.Const):
        return logic.of_bool(_is_related(relation, left.value, right.value))
    kinds = {left.kind, right.kind}
    if kinds == {'text'}:
        return _between_texts(machine, relation, left, right)
    if kinds == {'number', 'text'}:
        return _between_number_and_text(machine, relation, left, right)
    if kinds <= {'number', 'boolean'}:
        _note_known_number(machine, left, right)
        _note_known_number(machine, right, left)
        return COMPARE[relation](as_number(left), as_number(right))
    if kinds == {'mapping'} and relation in ('eq', 'ne'):
        return _between_mappings(machine, relation, left, right)
    if kinds in ({'list'}, {'mapping'}):
        raise logic.Untranslatable('a comparison of lists or mappings')
    # Values of other types have no order, and are not equal.
    return logic.of_bool(relation == 'ne')


def _between_mappings(
    machine: Machine,
    relation: str,
    left: values.Alternative,
    right: values.Alternative,
) -> logic.Formula:
    """Return the formula that a mapping is ``{}``, or that it is not.

    It is the translation of ``{node.extra} == {}``. Other comparisons of two
    mappings are not supported.

    :param relation: ``eq``, or ``ne`` for the opposite.
    :raises: :class:`.logic.Untranslatable` if neither mapping is known to be
        ``{}``.
    """
    for mapping, known in ((left, right), (right, left)):
        if not isinstance(mapping, values.Mapping):
            continue
        if isinstance(known, values.Const) and known.value == {}:
            is_empty = mapping.where_empty(machine)
            if relation == 'eq':
                return is_empty
            return logic.negated(is_empty)
    raise logic.Untranslatable('a comparison of lists or mappings')


def _is_related(relation: str, one: typing.Any, other: typing.Any) -> bool:
    """Return whether two known values are in a relation, as its op says.

    In the engine, "8" and 8 are equal, and so are 1 and true.
    """
    if comparison.equal(one, other):
        # All equal values are in the same relations as 0 and 0: "eq", "le" and
        # "ge" hold, and the others do not.
        return bool(COMPARE[relation](0, 0))
    op = registry.installed().conditions[relation]
    return bool(op.plugin.holds(one, other))


def _between_texts(
    machine: Machine,
    relation: str,
    left: values.Alternative,
    right: values.Alternative,
) -> logic.Formula:
    """Return the formula that two texts are in a relation.

    For ``{node.name} == "rack1"`` it is ``name == "rack1"``. A known text is
    recorded for the field that it is compared with, so that the search tries
    it.
    """
    solver_has_characters = True
    for text, compared_with in ((left, right), (right, left)):
        if isinstance(compared_with, values.Const):
            known_text = compared_with.value
            if not machine.alphabet.has(known_text):
                solver_has_characters = False
            machine.note_text(text.as_term(), known_text)
    holds = _where_texts_compare(machine, relation, left, right)
    if solver_has_characters:
        return holds
    # The rule's text has characters that texts of the solver cannot have. If
    # the solver finds no machine with such a text, this proves nothing.
    return machine.guess(
        'characters that the solver does not have', relation, left, right
    )


def _where_texts_compare(
    machine: Machine,
    relation: str,
    left: values.Alternative,
    right: values.Alternative,
) -> logic.Formula:
    """Return the formula that two texts are in a relation.

    At least one of the texts is from the machine. The texts before or after a
    known text form a regular language, and the solver finds a text of a
    language much faster than two texts in an order. Therefore ``name < "b"``
    becomes ``name is one of the texts that sort before "b"``.

    :param relation: ``eq``, ``ne``, ``lt``, ``le``, ``gt`` or ``ge``.
    """
    if relation in ('eq', 'ne'):
        return COMPARE[relation](left.as_term(), right.as_term())
    if isinstance(right, values.Const):
        return _where_ordered(machine, relation, left.as_term(), right.value)
    if isinstance(left, values.Const):
        return _where_ordered(
            machine, _SWAPPED[relation], right.as_term(), left.value
        )
    if relation in ('gt', 'ge'):
        # The solver supports only "<" and "<=" for texts.
        compare = COMPARE[_SWAPPED[relation]]
        return compare(right.as_term(), left.as_term())
    return COMPARE[relation](left.as_term(), right.as_term())


def _where_ordered(
    machine: Machine, relation: str, term: logic.Term, text: str
) -> logic.Formula:
    """Return the formula that a text is before or after a known text.

    Only "before" has a formula of its own: ``name > "b"`` becomes the negation
    of ``name is before "b", or equal to it``.

    :param relation: an order: ``lt``, ``le``, ``gt`` or ``ge``.
    :param term: the text that the solver chooses, e.g. ``name``.
    :param text: the known text, e.g. "b".
    """
    if relation in _OPPOSITE:
        opposite = _OPPOSITE[relation]
        return logic.negated(_where_ordered(machine, opposite, term, text))
    is_before = _where_text_before(machine, term, text)
    if relation == 'lt':
        return is_before
    return logic.disj(is_before, term == logic.text_term(text))


def _where_text_before(
    machine: Machine, term: logic.Term, text: str
) -> logic.Formula:
    """Return the formula that a text sorts before a known text.

    If the text is the text of a number, the formula is true or false if all
    numbers or no number sort before the known text. Otherwise it is a truth
    value that Python computes for the numbers that the search tries.

    :param text: the known text.
    :param term: a text of the machine, or the text of a number.
    """
    number = machine.numbers_of.get(term.get_id())
    if number is None:
        return z3.InRe(term, machine.alphabet.below(text))
    # The solver rarely finds a number whose text is in a language. But most
    # texts sort after the texts of all numbers, or before them, so there is
    # nothing to find. Otherwise numbers are tried.
    all_before = machine.alphabet.all_below(text, texts.pattern_of(number))
    if all_before is not None:
        return logic.of_bool(all_before)
    compute_order = functools.partial(_is_before, text)
    return machine.ask_of_number_text(
        number, f'before {text!r}', compute_order, text
    )


def _is_before(text: str, known: str) -> bool:
    """Return whether a known text sorts before ``text``, e.g. "a" and "b"."""
    return known < text


def _between_number_and_text(
    machine: Machine,
    relation: str,
    left: values.Alternative,
    right: values.Alternative,
) -> logic.Formula:
    """Return the formula that a number and a text are in a relation.

    Either value may be the text. "8" counts as the number 8. "x" is not equal
    to any number, and neither less nor greater. For a text ``count``, and
    ``count > 8``, the formula is that the text reads as a number, and that
    this number is > 8.
    """
    if left.kind == 'text':
        is_number, left_number = _read_number(machine, left, right)
        right_number = right.as_term()
    else:
        is_number, right_number = _read_number(machine, right, left)
        left_number = left.as_term()
    holds_of_numbers = COMPARE[relation](left_number, right_number)
    # "x" differs from every number, and has no other relation to it.
    holds_of_other_text = logic.of_bool(relation == 'ne')
    return logic.disj(
        logic.conj(is_number, holds_of_numbers),
        logic.conj(logic.negated(is_number), holds_of_other_text),
    )


def _read_number(
    machine: Machine,
    text: values.Alternative,
    compared_with: values.Alternative,
) -> tuple[logic.Formula, logic.Term]:
    """Return the formula that a text reads as a number, and the number.

    The solver cannot parse numbers in texts. The number is therefore a
    variable of the solver, and the engine's own function computes it for every
    text that is tried.

    :param text: a known text, or a text of the machine.
    :param compared_with: the number that the text is compared with.
    :returns: the formula, and a term that has no meaning if it is false.
    :raises: :class:`.logic.Untranslatable` for a text that is made from
        several fields.
    """
    if isinstance(text, values.Const):
        number = comparison.as_number(text.value)
        if number is None:
            any_term = values.Const(0).as_term()
            return logic.FALSE, any_term
        return logic.TRUE, values.Const(number).as_term()
    # A text that is made from several fields has no computation and is not
    # tried.
    computation = machine.computation(
        text.as_term(), 'number', _make_number, _compute_number
    )
    if computation is None:
        raise logic.Untranslatable('text made of others as a number')
    if isinstance(compared_with, values.Const):
        # Try these texts, because the result changes at this number.
        number = compared_with.value
        computation.near |= {str(number - 1), str(number), str(number + 1)}
    return computation.terms['exists'], computation.terms['number']


def _make_number(name: str) -> texts.Terms:
    return {'exists': z3.Bool(f'{name} exists'), 'number': z3.Real(name)}


def _compute_number(text: str) -> dict[str, typing.Any]:
    """Return whether a text reads as a number, and that number."""
    number = comparison.as_number(text)
    if number is None:
        return {'exists': False}
    return {'exists': True, 'number': number}


def _note_known_number(
    machine: Machine,
    number: values.Alternative,
    compared_with: values.Alternative,
) -> None:
    """Let the search try a known number for a number of the machine.

    For ``{inventory.cpu.count} > 8`` the search tries 8 and its neighbors as
    the count. Other pairs of values are ignored.

    :param number: the number of the machine.
    :param compared_with: the known number.
    """
    if not isinstance(number, values.SolverTerm) or number.is_boolean:
        return
    if isinstance(compared_with, values.Const):
        machine.note_number(number.term, compared_with.value)


def as_number(alternative: values.Alternative) -> logic.Term:
    """Return a number as a term; true becomes 1 and false becomes 0.

    A rule may compare a truth value with a number, and true is equal to 1.
    """
    term = alternative.as_term()
    if z3.is_bool(term):
        return z3.If(term, z3.IntVal(1), z3.IntVal(0))
    return term
