# SPDX-License-Identifier: Apache-2.0

"""Texts that a solver chooses, and values that the engine computes from them.

The solver supports regular expressions over texts, and little else: no
versions, no addresses, no numbers with a fraction in a text. Anything else is
computed by the code of the engine for a few texts that are selected in
advance, and the solver may choose one of these. Limiting a text to them is a
restriction of the search, see :class:`.cell.Restriction`: if none of them is a
solution, another text may be, and the answer is unknown.

For a rule that compares a text ``count`` with the number 8, the solver gets a
variable ``number`` and two formulas that Python computes::

    count == "8" → number == 8
    count == "9" → number == 9

The texts "8" and "9" are *candidates*. The variable ``number`` is a
*computation* from the text.
"""

from collections.abc import Callable, Iterator, Mapping
import dataclasses
import re
import typing

import z3

from ironic_inspection_rules.kit.proof import alphabet as alphabets
from ironic_inspection_rules.kit.proof import logic
from ironic_inspection_rules.kit.proof import solver_limits

_MOST_CANDIDATES = 80
"""Maximum number of texts that a search tries for a field. Every text costs a
formula per computation."""

_MOST_HALVES = 2**50
"""Floats below it can certainly represent one half."""

INTEGER = '-?[0-9]+'
FLOAT = r'-?[0-9]+(\.[0-9]+)?(e[+-][0-9]+)?|nan|-?inf'
"""The texts of numbers in Python, as regular expressions."""

Terms = Mapping[str, logic.Term]
Compute = Callable[[str], Mapping[str, typing.Any]]
ComputeAnswer = Callable[[str], bool]


def may_be_float(text: str) -> bool:
    """Return whether a text may be the text of a float, but of no integer.

    "0.1" and "1e+16" may, "8" and "x" may not.
    """
    if re.fullmatch(INTEGER, text):
        return False
    return bool(re.fullmatch(FLOAT, text))


def pattern_of(number: logic.Term) -> str:
    """Return the regular expression of the texts that a number may have.

    :param number: a number of the solver: an integer, or a real number for a
        float.
    """
    if z3.is_int(number):
        return INTEGER
    return FLOAT


@dataclasses.dataclass(eq=False)
class Computation:
    """Values that the engine computes from a text, outside the solver.

    Examples are the number in a text, or the result of a filter for the text.

    :ivar terms: the terms of the solver that represent the values, by name.
    :ivar compute: returns the values for a known text by the same names, e.g.
        ``{'exists': True, 'number': 8}`` for "8". The solver chooses a value
        that is not there.
    :ivar near: texts to try, because their values may be unusual.
    """

    terms: Terms
    compute: Compute
    near: set[str] = dataclasses.field(default_factory=set)


TextVariables = Mapping[int, 'TextVariable']
"""Texts of the solver by the id of their term."""


@dataclasses.dataclass(eq=False)
class TextVariable:
    """A text that the solver chooses, and the questions of rules about it.

    :ivar derived: whether a filter computes the text from another text.
    :ivar near: texts that it is compared with.
    :ivar computations: values that are computed from it, by their key.
    :ivar languages: formulas that a regular expression matches the text, by
        their id.
    """

    term: logic.Term
    name: str
    alphabet: alphabets.Alphabet
    derived: bool = False
    near: set[str] = dataclasses.field(default_factory=set)
    computations: dict[typing.Any, Computation] = dataclasses.field(
        default_factory=dict
    )
    languages: dict[int, logic.Formula] = dataclasses.field(
        default_factory=dict
    )

    def equations(
        self, variables: TextVariables, text: str
    ) -> Iterator[logic.Formula]:
        """Yield the values that the engine computes from a text, as formulas.

        Rules may compare a text as a number, or read it through a filter. The
        solver has a separate term for every such value. For the text "8", if a
        rule compares its number, a formula is ``number == 8``. For the text
        "Dell", if a rule reads it as ``{field | lower}``, a formula is
        ``lower == "dell"``.

        :param variables: all texts of the solver by the id of their term,
            including texts that filters return.
        :param text: the known text, which the variable has if the solver
            chooses it.
        """
        for computation in self.computations.values():
            for name, computed in computation.compute(text).items():
                term = computation.terms[name]
                if isinstance(computed, str):
                    yield term == logic.text_term(computed)
                elif isinstance(computed, float):
                    yield term == logic.number_term(computed)
                else:
                    yield term == computed
                # The term may represent a text that a filter returns, e.g.
                # "dell". Rules may compute values from that text as well.
                derived = variables.get(term.get_id())
                if derived is not None:
                    yield from derived.equations(variables, computed)

    def list_candidates(self, variables: TextVariables) -> list[str]:
        """List the texts that a search tries for this variable.

        Rules may decide differently for them. They are three usual texts, the
        texts that it is compared with, an example for every regular
        expression, and texts for which a filter may return one of these. If a
        rule asks whether ``{vendor | lower}`` is "dell", the texts for the
        vendor include "dell", "DELL" and "Dell".

        :param variables: all texts, including texts that filters return.
        :returns: at most :data:`_MOST_CANDIDATES`, sorted.
        """
        # Besides the texts in rules, try an empty text, one that sorts before
        # digits and letters, and one that sorts after most texts.
        texts = {'', '-', 'other', *self.near}
        for computation in self.computations.values():
            texts |= computation.near
            for term in computation.terms.values():
                derived = variables.get(term.get_id())
                if derived is not None:
                    texts |= _guess_texts_before_filters(
                        derived.list_candidates(variables)
                    )
        for holds in self.languages.values():
            example = self._find_example(holds)
            if example is not None:
                texts.add(example)
        usable = sorted(text for text in texts if self.alphabet.has(text))
        return usable[:_MOST_CANDIDATES]

    def _find_example(self, holds: logic.Formula) -> str | None:
        """Find a text that a regular expression matches.

        :param holds: the formula that the expression matches this text.
        :returns: None if there is no such text, or if the solver does not find
            one in time.
        """
        solver = solver_limits.new_solver()
        solver_limits.add(solver, holds)
        try:
            if not solver_limits.can_hold(solver, solver_limits.LANGUAGE):
                return None
        except solver_limits.SolverGaveUp:
            return None
        return logic.example_of(self.term, solver)


def _guess_texts_before_filters(texts: list[str]) -> set[str]:
    """Return texts for which a filter such as ``lower`` may return the texts.

    They are the texts themselves, and in other cases: for "dell" also "DELL"
    and "Dell". It does not matter which filter it is, because trying a useless
    text does no harm.
    """
    texts_before = set(texts)
    for text in texts:
        texts_before |= {text.lower(), text.upper(), text.title()}
    return texts_before


@dataclasses.dataclass(frozen=True)
class _Question:
    """A question about the text of a number.

    :ivar holds: the truth value of the solver that represents the answer.
    :ivar compute: returns the answer for a known text.
    """

    holds: logic.Formula
    compute: ComputeAnswer


@dataclasses.dataclass(eq=False)
class NumberVariable:
    """A number of the solver, and the questions about its text.

    :ivar near: numbers to try with their neighbors, because the number is
        compared with them.
    :ivar _questions: the questions about its text, e.g. whether a regular
        expression matches.
    """

    term: logic.Term
    name: str
    near: set[int] = dataclasses.field(default_factory=set)
    _questions: dict[typing.Any, _Question] = dataclasses.field(
        default_factory=dict
    )

    @property
    def asked(self) -> int:
        """The count of all things :meth:`try_numbers` depends on; it grows."""
        return len(self.near) + len(self._questions)

    @property
    def is_asked(self) -> bool:
        """Whether there are any questions about its text."""
        return bool(self._questions)

    def ask(
        self, question: typing.Any, compute: ComputeAnswer
    ) -> logic.Formula:
        """Return the formula that represents the answer to a question.

        The solver chooses it, and :meth:`try_numbers` connects it to the
        number.

        :param question: a name for the question, e.g. ``search '8$'``. Equal
            names have the same formula.
        :param compute: returns the answer for a known text.
        """
        if question not in self._questions:
            holds = z3.Bool(f'{question} of {self.name}')
            self._questions[question] = _Question(holds, compute)
        return self._questions[question].holds

    def try_numbers(self) -> tuple[list[logic.Formula], logic.Formula]:
        """Return formulas about the numbers that a search tries.

        The solver cannot compute the text of a number. Python therefore
        answers the questions for some numbers, and the variable must be one of
        them. For the question whether ``8$`` matches, the formulas are::

            number == 7 → the answer is false
            number == 8 → the answer is true

        :returns: these formulas, and the formula that the variable is one of
            the numbers.
        """
        equations: list[logic.Formula] = []
        choices: list[logic.Formula] = []
        for number in self._list_candidates():
            is_number = self.term == number
            choices.append(is_number)
            for question in self._questions.values():
                answer = question.compute(str(number))
                has_answer = question.holds == answer
                equations.append(z3.Implies(is_number, has_answer))
        return equations, z3.Or(*choices)

    def _list_candidates(self) -> list[int] | list[float]:
        """List the numbers that a search tries for this variable.

        They are common numbers, and the numbers that it is compared with and
        their neighbors: for 64 also 63 and 65, because results change there.
        For a real number, one half is added to all of them.
        """
        numbers = {-1, 0, 1, 2, 8, 10, 32, 100}
        for compared_with in self.near:
            numbers |= {compared_with - 1, compared_with, compared_with + 1}
        if z3.is_int(self.term):
            return sorted(numbers)
        # It is not known here whether a whole number is the integer 2 or the
        # float 2.0 on the machine. A number with one half is surely a float.
        return [
            number + 0.5
            for number in sorted(numbers)
            if abs(number) < _MOST_HALVES
        ]
