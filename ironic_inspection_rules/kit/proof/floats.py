# SPDX-License-Identifier: Apache-2.0

"""Arithmetic of the engine on integers and floats, as a proof follows it.

In the solver a float is a real number. Comparisons of both are the same, but
arithmetic is not: Python rounds every result to a float, so three times 0.1 is
a little more than 0.3, and adding 1 to 1e16 does not change it. The solver
also supports floats bit by bit, but is far too slow with them.

A result is therefore a new real number, which the solver chooses near the
exact one: ``exact - error <= rounded <= exact + error``. There are more such
numbers than floats: if the solver finds none, there is no float either, and if
it finds one, the engine decides whether Python computes it.

Results are values: a value has *alternatives*, here a number of the solver or
an error, with the formula on which machines each is the result.
"""

from collections.abc import Callable
import fractions
import math
import operator
import sys

import z3

from ironic_inspection_rules.engine.language import template
from ironic_inspection_rules.kit.proof import logic
from ironic_inspection_rules.kit.proof import machine as machines
from ironic_inspection_rules.kit.proof import value as values

Machine = machines.SymbolicMachine

OPERATIONS: dict[str, Callable[[logic.Term, logic.Term], logic.Term]] = {
    'add': operator.add,
    'subtract': operator.sub,
    'multiply': operator.mul,
    'divide': operator.truediv,
}
"""Filters that calculate with another number."""

_MAX_RELATIVE_ERROR = z3.RealVal(fractions.Fraction(1, 2**51))
"""Maximum distance of a result from the exact one, as a share of the latter.

Rounding costs 2 ** -53, and it happens up to three times, because an integer
that is not a float is rounded before Python calculates with it.
"""

_SMALLEST_FLOAT = z3.RealVal(fractions.Fraction(1, 2**1074))
"""The smallest float above zero."""

_SMALLEST_NORMAL = logic.number_term(sys.float_info.min)
"""Floats of at least this size have the full number of digits."""

_TOO_LARGE = z3.IntVal(template.TOO_LARGE)
"""The engine refuses larger results, which it cannot convert to text."""

_LARGEST_EXACT_INTEGER = 2**53
"""All integers up to this one are floats."""


def convert_integer(machine: Machine, term: logic.Term) -> values.Value:
    """Convert an integer to a float, as Python does.

    8 becomes 8.0. An integer beyond 2 ** 53 may be rounded: 2 ** 53 + 1
    becomes the float 2.0 ** 53.
    """
    exact = z3.ToReal(term)
    return _round(machine, exact, is_exact=_where_float(term))


def calculate(
    machine: Machine, name: str, term: logic.Term, number: float
) -> values.Value | None:
    """Calculate with a number of the machine, e.g. ``memory / 1024``.

    As in the engine, a division by zero and a result that is too large are
    errors. The cases are, in this order::

        two integers that are not divided      → the exact integer
        ``number`` is beyond all floats        → None
        ``add`` or ``subtract``, and no float
        is equal to ``number``                 → None
        a division by 0                        → an error
        otherwise                              → a rounded real number

    :param name: the name of one of :data:`OPERATIONS`.
    :param term: the number of the machine, on the left.
    :param number: the number that the rule writes, on the right.
    :returns: None if the result cannot be followed.
    """
    is_of_integers = z3.is_int(term) and isinstance(number, int)
    if is_of_integers and name != 'divide':
        return _calculate_integer(name, term, number)
    if abs(number) > sys.float_info.max:
        # No float is so large. Python can still divide an integer by it, but
        # raises an error for a float.
        return None
    if name in ('add', 'subtract') and float(number) != number:
        # Python first rounds such an integer to a float. For a small
        # difference of large numbers this error is too large.
        return None
    if number == 0 and name == 'divide':
        return values.FAILED
    real = term
    if z3.is_int(term):
        real = z3.ToReal(term)
    exact = OPERATIONS[name](
        real, logic.number_term(fractions.Fraction(number))
    )
    is_exact = _where_exact(name, term, number, exact)
    rounded = _round(machine, exact, is_exact)
    if z3.is_int(term) and not is_of_integers:
        # Python first converts the integer to a float, which is an error if
        # the integer is too large.
        fits = logic.where_within_floats(real)
        return values.choose(fits, rounded, values.FAILED)
    return rounded


def _calculate_integer(
    name: str, term: logic.Term, number: float
) -> values.Value:
    """Calculate with two integers, exactly as Python does.

    For ``add`` and 1, the result for a number ``count`` is ``count + 1``. A
    result that is too large for the engine is an error.
    """
    integer = OPERATIONS[name](term, number)
    fits = z3.And(integer > -_TOO_LARGE, integer < _TOO_LARGE)
    result = values.only(values.SolverTerm(integer))
    return values.choose(fits, result, values.FAILED)


def _where_exact(
    name: str, term: logic.Term, number: float, exact: logic.Term
) -> logic.Formula:
    """Return a formula that holds only if Python does not round.

    A float has 53 binary digits and an exponent. Multiplying or dividing it by
    a power of two changes only the exponent, e.g. a memory divided by 1024 is
    not rounded. For any other calculation it is not known whether Python
    rounds, so the formula never holds.

    :param term: the number of the machine.
    :param number: the number that the rule writes.
    :param exact: the result as a real number.
    """
    # The number is mantissa * 2 ** exponent, with a mantissa of at least 0.5
    # and less than 1. Only a power of two has the mantissa 0.5.
    mantissa, _exponent = math.frexp(abs(number))
    is_power_of_two = mantissa == 0.5
    if name not in ('multiply', 'divide') or not is_power_of_two:
        return logic.FALSE
    # Floats below this size have fewer digits, so a smaller result may be
    # rounded.
    has_all_digits = z3.Or(
        exact >= _SMALLEST_NORMAL, exact <= -_SMALLEST_NORMAL
    )
    if z3.is_int(term):
        # An integer beyond 2 ** 53 may have more digits than a float, so it
        # must also be small enough to be a float itself.
        return z3.And(has_all_digits, _where_float(term))
    return has_all_digits


def _where_float(integer: logic.Term) -> logic.Formula:
    """Return a formula that holds only if an integer is a float.

    All integers up to 2 ** 53 are. For larger integers the formula does not
    hold, although some of them are floats as well.
    """
    return z3.And(
        integer >= -_LARGEST_EXACT_INTEGER, integer <= _LARGEST_EXACT_INTEGER
    )


def _round(
    machine: Machine, exact: logic.Term, is_exact: logic.Formula
) -> values.Value:
    """Round a real number to a float, as Python does.

    The solver does not know how Python rounds. The result is a number that the
    solver chooses near the exact one::

        exact - error <= rounded <= exact + error

    A number that is too large for a float is an error. If the same number is
    rounded twice, both results are the same term.

    :param exact: the exact number, e.g. ``count * 0.1``.
    :param is_exact: holds only if the number is a float, and is not rounded.
    """
    key = exact.get_id()
    if key not in machine.rounded:
        name = f'number {len(machine.rounded)} rounded'
        rounded = z3.Real(name)
        machine.rounded[key] = machines.Rounding(exact, rounded)
        machine.reasons[name] = 'how a float is rounded'
        size = z3.If(exact < 0, -exact, exact)
        error = size * _MAX_RELATIVE_ERROR + _SMALLEST_FLOAT
        machine.domain += [
            rounded >= exact - error,
            rounded <= exact + error,
            # Rounding never changes the sign.
            z3.Implies(exact >= 0, rounded >= 0),
            z3.Implies(exact <= 0, rounded <= 0),
            z3.Implies(is_exact, rounded == exact),
        ]
    rounded = machine.rounded[key].rounded
    fits = logic.where_within_floats(rounded)
    result = values.only(values.SolverTerm(rounded))
    return values.choose(fits, result, values.FAILED)
