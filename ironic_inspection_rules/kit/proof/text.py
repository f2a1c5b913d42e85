# SPDX-License-Identifier: Apache-2.0

"""Texts and numbers of a machine, and what is asked of them.

The solver knows regular expressions over texts, and little else: it has no
versions, no addresses, no numbers with a fraction in a text. What it does not
know is computed by the code of the engine for a few texts that were chosen
beforehand, and the solver may take one of these. That a text is one of them
is a restriction of the search, see :class:`.cell.Restriction`: where no such
text is a solution another one may be, and the answer is unknown.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
import dataclasses
import re
import typing

import z3

from ironic_inspection_rules.kit.proof import alphabet as alphabets
from ironic_inspection_rules.kit.proof import effort
from ironic_inspection_rules.kit.proof import logic

_MOST_CANDIDATES = 80
"""Most texts that a search tries of a field: each costs a formula a facet."""

_MOST_HALVES = 2**50
"""Floats below it surely have a digit for one half."""

INTEGER = '-?[0-9]+'
FLOAT = r'-?[0-9]+(\.[0-9]+)?(e[+-][0-9]+)?|nan|-?inf'
"""The texts of numbers in Python, as regular expressions."""

Compute = Callable[[str], Sequence[typing.Any]]
Answers = Callable[[str], bool]


def may_be_float(text: str) -> bool:
    """Return whether Python may write a float so, and writes no integer so."""
    if re.fullmatch(INTEGER, text):
        return False
    return bool(re.fullmatch(FLOAT, text))


def pattern_of(number: logic.Term) -> str:
    """Return the regular expression of the texts that a term may have.

    :param number: a number of the solver, an integer or real.
    """
    if z3.is_int(number):
        return INTEGER
    return FLOAT


@dataclasses.dataclass(eq=False)
class Facet:
    """Values that the engine computes from a text, outside the solver.

    Examples are the number in a text, or what a filter makes of it.

    :ivar terms: of the solver, that stand for the values.
    :ivar compute: returns the values for a known text; None in it leaves the
        choice of the value to the solver.
    :ivar near: texts to be tried, as the values may be others for them than
        for most texts.
    """

    terms: tuple[logic.Term, ...]
    compute: Compute
    near: set[str] = dataclasses.field(default_factory=set)


TextVariables = Mapping[int, 'TextVariable']
"""Texts of the solver by the number of their term."""


@dataclasses.dataclass(eq=False)
class TextVariable:
    """A text that the solver chooses, and what rules ask of it.

    :ivar derived: whether a filter makes it of another text.
    :ivar near: texts that it is compared with.
    :ivar facets: by a key of what computes them.
    :ivar languages: formulas, by their number, that a regular expression
        matches the text.
    """

    term: logic.Term
    name: str
    alphabet: alphabets.Alphabet
    derived: bool = False
    near: set[str] = dataclasses.field(default_factory=set)
    facets: dict[typing.Any, Facet] = dataclasses.field(default_factory=dict)
    languages: dict[int, logic.Formula] = dataclasses.field(
        default_factory=dict
    )

    def equations(
        self, variables: TextVariables, text: str
    ) -> Iterator[logic.Formula]:
        """Yield the formulas that hold if this variable has a known text.

        They equate the terms of all facets with what the engine computes of
        the text, and of texts that filters make of it, likewise.

        :param variables: all texts, with those that filters make of this one.
        :param text: the known text.
        """
        for facet in self.facets.values():
            computed = facet.compute(text)
            for term, result in zip(facet.terms, computed, strict=True):
                if result is None:
                    # The solver chooses the value.
                    continue
                if isinstance(result, str):
                    yield term == logic.constant(result)
                elif isinstance(result, float):
                    yield term == logic.number(result)
                else:
                    yield term == result
                # A text that a filter makes may have facets of its own.
                derived = variables.get(term.get_id())
                if derived is not None:
                    yield from derived.equations(variables, result)

    def candidates(self, variables: TextVariables) -> list[str]:
        """Return the texts that a search tries for this variable.

        They are texts for which the rules may decide differently: those that
        it is compared with, an example of every regular expression, and
        texts of which a filter may make such a text.

        :param variables: all texts, with those that filters make of this one.
        :returns: at most :data:`_MOST_CANDIDATES`, in order.
        """
        texts = {'', '-', 'other', *self.near}
        for facet in self.facets.values():
            texts |= facet.near
            for term in facet.terms:
                derived = variables.get(term.get_id())
                if derived is not None:
                    texts |= _before_filters(derived.candidates(variables))
        for holds in self.languages.values():
            example = self._example(holds)
            if example is not None:
                texts.add(example)
        usable = sorted(text for text in texts if self.alphabet.has(text))
        return usable[:_MOST_CANDIDATES]

    def _example(self, holds: logic.Formula) -> str | None:
        """Ask the solver for a text of which one of ``languages`` holds.

        :param holds: the formula that the text matches a regular expression.
        :returns: None if there is none, or the solver finds none in time.
        """
        solver = z3.Solver()
        try:
            if not effort.can_hold(solver, effort.LANGUAGE, holds):
                return None
        except effort.GivenUp:
            return None
        return logic.example_of(self.term, solver)


def _before_filters(texts: list[str]) -> set[str]:
    """Return texts from which a filter such as ``lower`` may make some texts.

    They are the texts themselves and in other cases. Which filter it is, is
    not looked at: a text that is tried in vain does no harm.
    """
    before = set(texts)
    for text in texts:
        before |= {text.lower(), text.upper(), text.title()}
    return before


@dataclasses.dataclass(frozen=True)
class _Question:
    """A question about the text of a number.

    :ivar holds: the truth value of the solver that stands for the answer.
    :ivar answers: returns the answer for a known text.
    """

    holds: logic.Formula
    answers: Answers


@dataclasses.dataclass(eq=False)
class NumberVariable:
    """A number of the solver, and what is asked of its text.

    :ivar near: numbers to be tried, with their neighbours, since answers may
        be others for them than for most numbers.
    :ivar _questions: what was asked of its text, such as whether a regular
        expression matches it.
    """

    term: logic.Term
    name: str
    near: set[int] = dataclasses.field(default_factory=set)
    _questions: dict[typing.Any, _Question] = dataclasses.field(
        default_factory=dict
    )

    @property
    def asked(self) -> int:
        """A count that grows with all that :meth:`tried` depends on."""
        return len(self.near) + len(self._questions)

    @property
    def is_asked(self) -> bool:
        """Whether anything was asked of its text."""
        return bool(self._questions)

    def asks(self, question: typing.Any, answers: Answers) -> logic.Formula:
        """Return the formula that stands for the answer to a question.

        The solver chooses the answer; :meth:`tried` ties it to the number.

        :param question: names the question; equal ones have one formula.
        :param answers: returns the answer for a known text.
        """
        if question not in self._questions:
            holds = z3.Bool(f'{question} of {self.name}')
            self._questions[question] = _Question(holds, answers)
        return self._questions[question].holds

    def tried(self) -> tuple[list[logic.Formula], logic.Formula]:
        """Return formulas for the numbers that a search tries.

        The solver cannot compute the text of a number. So the engine answers
        the questions for some numbers, and the number has to be one of them.

        :returns: implications from a number to the answers for its text, and
            the formula that the variable is one of these numbers.
        """
        equations: list[logic.Formula] = []
        choices: list[logic.Formula] = []
        for number in self._candidates():
            is_number = self.term == number
            choices.append(is_number)
            for question in self._questions.values():
                answer = question.answers(str(number))
                has_answer = question.holds == answer
                equations.append(z3.Implies(is_number, has_answer))
        return equations, z3.Or(*choices)

    def _candidates(self) -> list[int] | list[float]:
        """Return numbers for which the rules may decide differently.

        They are some common ones and those that the number is compared with,
        with their neighbours. Of a real number, they all have a fraction.
        """
        numbers = {-1, 0, 1, 2, 8, 10, 32, 100}
        for near in self.near:
            numbers |= {near - 1, near, near + 1}
        if z3.is_int(self.term):
            return sorted(numbers)
        # The term is a real number. A whole one might be an integer or a float
        # on the machine, with the text "2" or "2.0": not known here. A number
        # with one half is surely a float.
        return [
            number + 0.5
            for number in sorted(numbers)
            if abs(number) < _MOST_HALVES
        ]
