# SPDX-License-Identifier: Apache-2.0

"""Formulas and constants of the solver."""

import re
import typing

import z3

Formula = typing.Any  # A formula of z3.

TRUE, FALSE = z3.BoolVal(True), z3.BoolVal(False)


def known(holds: bool) -> Formula:
    """Return the one formula that is true, or that is false."""
    return TRUE if holds else FALSE


def simplified(formula: Formula) -> Formula:
    """Return a formula that is the same, and as short as may be."""
    made = z3.simplify(formula)
    return TRUE if z3.is_true(made) else FALSE if z3.is_false(made) else made


def settled(formula: Formula) -> Formula:
    """Return true or false where a formula is that, else the formula itself.

    What the solver makes of a formula depends on what it made before: two
    formulas that are the same would not stay it.
    """
    made = simplified(formula)
    return made if made is TRUE or made is FALSE else formula


def conj(*parts: Formula) -> Formula:
    """Return a formula that holds where all parts do."""
    left = [part for part in parts if part is not TRUE]
    if any(part is FALSE for part in left):
        return FALSE
    return z3.And(*left) if len(left) > 1 else left[0] if left else TRUE


def disj(*parts: Formula) -> Formula:
    """Return a formula that holds where one of the parts does."""
    left = [part for part in parts if part is not FALSE]
    if any(part is TRUE for part in left):
        return TRUE
    return z3.Or(*left) if len(left) > 1 else left[0] if left else FALSE


def negated(part: Formula) -> Formula:
    """Return a formula that holds where the part does not."""
    return FALSE if part is TRUE else TRUE if part is FALSE else z3.Not(part)


def constant(text: str) -> typing.Any:
    """Return a text as a term."""
    # The solver reads \u{41} as A.
    return z3.StringVal(text.replace('\\', r'\u{5c}'))


def text_of(term: typing.Any) -> str:
    """Return the text that a term of a model is."""
    return re.sub(r'\\u\{([0-9a-f]+)\}',
                  lambda escape: chr(int(escape[1], 16)), term.as_string())


class Untranslatable(Exception):
    """The solver has no words for something; the message says for what."""
