# SPDX-License-Identifier: Apache-2.0

"""Formulas and terms of the solver, which is z3.

A *term* is a text, a number or a truth value of the solver. It is a constant,
e.g. 8, or a variable such as ``inventory.cpu.count``, whose value the solver
chooses. A *formula* such as ``inventory.cpu.count > 8`` *holds* on some
machines and not on others. Proofs compute with formulas instead of the data of
one machine. A formula is not a ``bool``: Python cannot test it with ``if``.
"""

import fractions
import re
import sys
import typing

import z3

# z3 has no types.
Formula = typing.Any
"""A formula of the solver, which may hold on a machine or not."""
Term = typing.Any
"""A text, a number or a truth value of the solver, constant or variable."""
Language = typing.Any
"""A set of texts in the solver."""

# The only formulas that are always true or always false. They can be compared
# with "is", while "==" between formulas would make a third formula.
TRUE = z3.BoolVal(True)
FALSE = z3.BoolVal(False)

_LARGEST_FLOAT = z3.RealVal(fractions.Fraction(sys.float_info.max))

_ESCAPE = re.compile(r'\\u\{([0-9a-f]+)\}')


class Untranslatable(Exception):
    """The solver cannot express something; the message says what it is."""


def of_bool(holds: bool) -> Formula:
    """Return :data:`TRUE` or :data:`FALSE` for a truth value of Python."""
    if holds:
        return TRUE
    return FALSE


def simplified(formula: Formula) -> Formula:
    """Return an equivalent formula, simplified by the solver.

    A formula that is always true or always false becomes :data:`TRUE` or
    :data:`FALSE`, e.g. ``a and not a`` becomes :data:`FALSE`.
    """
    simple = z3.simplify(formula)
    if z3.is_true(simple):
        return TRUE
    if z3.is_false(simple):
        return FALSE
    return simple


def settled(formula: Formula) -> Formula:
    """Return :data:`TRUE` or :data:`FALSE` for a formula that is constant.

    Any other formula is returned unchanged, even if the solver could simplify
    it.
    """
    simple = simplified(formula)
    if simple is TRUE or simple is FALSE:
        return simple
    # Do not return the simplified formula: depending on its history, the
    # solver may simplify the same formula in two ways, and caches with a
    # formula in their keys would then miss their entries.
    return formula


def conj(*parts: Formula) -> Formula:
    """Return the formula that all parts hold: ``a and b``.

    The result is::

        a part is FALSE              → FALSE
        there is no part except TRUE → TRUE
        otherwise                    → the conjunction of all other parts

    The solver would make ``And(a, True)`` a new formula. Here callers can test
    a result with ``is TRUE`` or ``is FALSE``.
    """
    open_parts = [part for part in parts if part is not TRUE]
    if any(part is FALSE for part in open_parts):
        return FALSE
    if not open_parts:
        return TRUE
    if len(open_parts) == 1:
        return open_parts[0]
    return z3.And(*open_parts)


def disj(*parts: Formula) -> Formula:
    """Return the formula that at least one part holds: ``a or b``.

    The result is::

        a part is TRUE                → TRUE
        there is no part except FALSE → FALSE
        otherwise                     → the disjunction of all other parts

    The solver would make ``Or(a, False)`` a new formula. Here callers can test
    a result with ``is TRUE`` or ``is FALSE``.
    """
    open_parts = [part for part in parts if part is not FALSE]
    if any(part is TRUE for part in open_parts):
        return TRUE
    if not open_parts:
        return FALSE
    if len(open_parts) == 1:
        return open_parts[0]
    return z3.Or(*open_parts)


def negated(part: Formula) -> Formula:
    """Return the formula that a part does not hold: ``not a``.

    For :data:`TRUE` it is :data:`FALSE` itself, and the reverse, so that
    callers can test a result with ``is``.
    """
    if part is TRUE:
        return FALSE
    if part is FALSE:
        return TRUE
    return z3.Not(part)


def text_term(text: str) -> Term:
    """Return a known text as a constant of the solver."""
    # The solver reads "\u{41}" as "A". Escape the backslashes, so that a text
    # with these very characters is not changed.
    return z3.StringVal(text.replace('\\', r'\u{5c}'))


def number_term(value: float | fractions.Fraction) -> Term:
    """Return a finite number as a term with exactly the same value.

    The engine compares integers with floats exactly: 10 ** 23 is more than
    1e23, which is 99999999999999991611392.
    """
    if isinstance(value, int):
        return z3.IntVal(value)
    return z3.RealVal(fractions.Fraction(value))


def where_within_floats(number: Term) -> Formula:
    """Return the formula that a real number is not too large for a float.

    A rule that computes a larger number fails.
    """
    return z3.And(number >= -_LARGEST_FLOAT, number <= _LARGEST_FLOAT)


def text_of(term: Term) -> str:
    """Return the text of a term in a model.

    A model has the values that the solver has chosen. It writes "é" as
    ``\\u{e9}``.
    """
    return _ESCAPE.sub(_character_of, term.as_string())


def example_of(term: Term, solver: z3.Solver) -> str:
    """Return the text of a term in the model of the last check.

    If the formulas do not determine the text, the solver chooses it.

    :param term: a term of the main context.
    :param solver: a solver with its own context, made by
        :func:`.solver_limits.new_solver`.
    """
    term_in_context = term.translate(solver.ctx)
    model = solver.model()
    return text_of(model.eval(term_in_context, model_completion=True))


def _character_of(escape: re.Match[str]) -> str:
    return chr(int(escape[1], 16))
