# SPDX-License-Identifier: Apache-2.0

"""Arithmetic of the engine on integers and floats, as a proof follows it.

To the solver a float is a real number. Comparing is the same for both, but
arithmetic is not: Python rounds each result to one of the floats, so that
three times 0.1 is a little more than 0.3, and 1e16 stays the same with 1
added to it. The solver does know floats bit by bit, but is far too slow with
them.

So a result is a new real number that is near the exact one. There are more
such numbers than floats: where the solver finds none, no float is one either,
and where it finds one, the engine says whether it really is.
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
"""Filters that calculate with one more number."""

_ERROR = z3.RealVal(fractions.Fraction(1, 2**51))
"""How far a result is from the exact one at most, as a part of that.

Rounding costs 2 ** -53, and it happens up to three times: also numbers that
are calculated with are rounded first, where they are integers that no float
has.
"""

_LEAST = z3.RealVal(fractions.Fraction(1, 2**1074))
"""The least float above zero: below it numbers are rounded to it or zero."""

_NORMAL = logic.number(sys.float_info.min)
"""From it on floats have all their digits."""

_TOO_LARGE = z3.IntVal(template.TOO_LARGE)
"""The engine refuses larger results, which it could not write as text."""

_LARGEST_INTEGER = 2**53
"""Up to it all integers are floats."""


def of_integer(machine: Machine, term: logic.Term) -> values.Value:
    """Return an integer as the float that Python makes of it."""
    return _round(machine, z3.ToReal(term), _is_float(term))


def calculate(
    machine: Machine, name: str, term: logic.Term, number: float
) -> values.Value | None:
    """Return the result of one of :data:`OPERATIONS` on a number.

    It is an error where the engine has one: of a division by zero, and of a
    result that is too large.

    :param name: of the operation.
    :param term: the number of the machine, on the left.
    :param number: that the rule writes, on the right.
    :returns: None where the result is not followed.
    """
    is_of_integers = z3.is_int(term) and isinstance(number, int)
    if is_of_integers and name != 'divide':
        return _calculate_integer(name, term, number)
    if abs(number) > sys.float_info.max:
        return None
    if name in ('add', 'subtract') and float(number) != number:
        # Python rounds such an integer to a float first. That is too much of
        # an error where the result is a small difference of large numbers.
        return None
    if number == 0 and name == 'divide':
        return values.FAILED
    real = term
    if z3.is_int(term):
        real = z3.ToReal(term)
    exact = OPERATIONS[name](real, logic.number(fractions.Fraction(number)))
    is_exact = _is_exact(name, term, number, exact)
    rounded = _round(machine, exact, is_exact)
    if z3.is_int(term) and not is_of_integers:
        # Python makes a float of the integer first, an error if it is too
        # large for one.
        fits = logic.is_within_floats(real)
        return values.choose(fits, rounded, values.FAILED)
    return rounded


def _calculate_integer(
    name: str, term: logic.Term, number: float
) -> values.Value:
    """Return the result of an operation on two integers, which is one.

    Integers of Python are exact, as those of the solver.
    """
    integer = OPERATIONS[name](term, number)
    fits = z3.And(integer > -_TOO_LARGE, integer < _TOO_LARGE)
    result = values.only(values.SolverTerm(integer))
    return values.choose(fits, result, values.FAILED)


def _is_exact(
    name: str, term: logic.Term, number: float, exact: logic.Term
) -> logic.Formula:
    """Return on which machines Python surely does not round a result.

    Such are products and quotients with a power of two, which changes none of
    the digits of a float.

    :param term: the number of the machine.
    :param number: that the rule writes.
    :param exact: the result as a real number.
    """
    mantissa, _exponent = math.frexp(abs(number))
    is_power_of_two = mantissa == 0.5
    if name not in ('multiply', 'divide') or not is_power_of_two:
        return logic.FALSE
    has_all_digits = z3.Or(exact >= _NORMAL, exact <= -_NORMAL)
    if z3.is_int(term):
        return z3.And(has_all_digits, _is_float(term))
    return has_all_digits


def _is_float(integer: logic.Term) -> logic.Formula:
    """Return on which machines an integer surely is one of the floats."""
    return z3.And(integer >= -_LARGEST_INTEGER, integer <= _LARGEST_INTEGER)


def _round(
    machine: Machine, exact: logic.Term, is_exact: logic.Formula
) -> values.Value:
    """Return a real number as Python rounds it to a float.

    It is a new number of the solver, somewhere near the exact one: how Python
    rounds, the solver does not know. One that is too large for a float is an
    error.

    :param is_exact: on which machines the number is a float, so that it is
        not rounded.
    """
    key = exact.get_id()
    if key not in machine.rounded:
        name = f'number {len(machine.rounded)} rounded'
        rounded = z3.Real(name)
        machine.rounded[key] = exact, rounded
        machine.reasons[name] = 'how a float is rounded'
        size = z3.If(exact < 0, -exact, exact)
        error = size * _ERROR + _LEAST
        machine.domain += [
            rounded >= exact - error,
            rounded <= exact + error,
            # No result has the other sign.
            z3.Implies(exact >= 0, rounded >= 0),
            z3.Implies(exact <= 0, rounded <= 0),
            z3.Implies(is_exact, rounded == exact),
        ]
    _exact, rounded = machine.rounded[key]
    fits = logic.is_within_floats(rounded)
    result = values.only(values.SolverTerm(rounded))
    return values.choose(fits, result, values.FAILED)
