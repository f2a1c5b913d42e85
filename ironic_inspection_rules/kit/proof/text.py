# SPDX-License-Identifier: Apache-2.0

"""Texts that a solver chooses, and what the engine computes from them.

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
ComputeAnswer = Callable[[str], bool]


def may_be_float(text: str) -> bool:
    """Return whether a text may be that of a float, and of no integer.

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
class Facet:
    """Values that the engine computes from a text, outside the solver.

    Examples are the number in a text, or what a filter makes of the text.

    :ivar terms: the terms of the solver that stand for the values.
    :ivar compute: returns the values for a known text, such as ``(True, 8)``
        for "8". For a value None the solver chooses the value.
    :ivar near: texts to be tried, as their values may be unusual.
    """

    terms: tuple[logic.Term, ...]
    compute: Compute
    near: set[str] = dataclasses.field(default_factory=set)


TextVariables = Mapping[int, 'TextVariable']
"""Texts of the solver by the number of their term."""


@dataclasses.dataclass(eq=False)
class TextVariable:
    """A text that the solver chooses, and what rules ask of it.

    :ivar derived: whether a filter makes the text of another text.
    :ivar near: texts that it is compared with.
    :ivar facets: values that are computed from it, by their key.
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
        """Yield what the engine computes from a known text, as formulas.

        Rules may compare a text as a number, or read it through a filter. The
        solver has a term of its own for every such value. For the text "8",
        the number of which some rule compares, a formula is ``number == 8``.
        For the text "Dell", which some rule reads as ``{field | lower}``, a
        formula is ``lower == "dell"``.

        :param variables: all texts by the number of their term; the texts that
            filters make are among them.
        :param text: the known text.
        """
        for facet in self.facets.values():
            # Such as (True, 8): the text reads as a number, and the number.
            computed_values = facet.compute(text)
            for term, computed in zip(
                facet.terms, computed_values, strict=True
            ):
                if computed is None:
                    # The solver chooses the value.
                    continue
                if isinstance(computed, str):
                    yield term == logic.text_term(computed)
                elif isinstance(computed, float):
                    yield term == logic.number_term(computed)
                else:
                    yield term == computed
                # The term may stand for a text that a filter makes, such as
                # "dell", and rules may compute values from that text as well.
                derived = variables.get(term.get_id())
                if derived is not None:
                    yield from derived.equations(variables, computed)

    def list_candidates(self, variables: TextVariables) -> list[str]:
        """List the texts that a search tries for this variable.

        For them the rules may decide differently: texts that it is compared
        with, an example of every regular expression, and texts of which a
        filter may make such a text. For a vendor of which a rule asks whether
        ``{vendor | lower}`` is "dell", "dell", "DELL" and "Dell" are among
        them.

        :param variables: all texts, also those that filters make.
        :returns: at most :data:`_MOST_CANDIDATES`, sorted.
        """
        # Beside those that rules name: one that is empty, one that sorts
        # before digits and letters, and one that sorts after most.
        texts = {'', '-', 'other', *self.near}
        for facet in self.facets.values():
            texts |= facet.near
            for term in facet.terms:
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
        :returns: None if there is no such text, or the solver does not find
            one in time.
        """
        solver = effort.new_solver()
        effort.add(solver, holds)
        try:
            if not effort.can_hold(solver, effort.LANGUAGE):
                return None
        except effort.GivenUp:
            return None
        return logic.example_of(self.term, solver)


def _guess_texts_before_filters(texts: list[str]) -> set[str]:
    """Return texts from which a filter such as ``lower`` may make the texts.

    These are the texts as they are, and in other cases: for "dell" also "DELL"
    and "Dell". Which filter it is, does not matter: to try a text in vain does
    no harm.
    """
    texts_before = set(texts)
    for text in texts:
        texts_before |= {text.lower(), text.upper(), text.title()}
    return texts_before


@dataclasses.dataclass(frozen=True)
class _Question:
    """A question about the text of a number.

    :ivar holds: the truth value of the solver that stands for the answer.
    :ivar compute: returns the answer for a known text.
    """

    holds: logic.Formula
    compute: ComputeAnswer


@dataclasses.dataclass(eq=False)
class NumberVariable:
    """A number of the solver, and what is asked of its text.

    :ivar near: numbers to be tried with their neighbours, as they are compared
        with the number.
    :ivar _questions: the questions about its text, such as whether a regular
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
        """The count of all that :meth:`try_numbers` depends on; it grows."""
        return len(self.near) + len(self._questions)

    @property
    def is_asked(self) -> bool:
        """Whether anything was asked of its text."""
        return bool(self._questions)

    def ask(
        self, question: typing.Any, compute: ComputeAnswer
    ) -> logic.Formula:
        """Return the formula that stands for the answer to a question.

        The solver chooses it, and :meth:`try_numbers` ties it to the number.

        :param question: names the question, as ``search '8$'``; equal ones
            have one formula.
        :param compute: returns the answer for a known text.
        """
        if question not in self._questions:
            holds = z3.Bool(f'{question} of {self.name}')
            self._questions[question] = _Question(holds, compute)
        return self._questions[question].holds

    def try_numbers(self) -> tuple[list[logic.Formula], logic.Formula]:
        """Return formulas about the numbers that a search tries.

        The solver cannot compute the text of a number. So Python answers the
        questions for some numbers, and the variable is to be one of them. For
        the question whether ``8$`` is in the text, these are::

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
        their neighbours: for 64 also 63 and 65, as results change there. For a
        real number, all of these plus one half.
        """
        numbers = {-1, 0, 1, 2, 8, 10, 32, 100}
        for compared_with in self.near:
            numbers |= {compared_with - 1, compared_with, compared_with + 1}
        if z3.is_int(self.term):
            return sorted(numbers)
        # Whether a whole number is the integer 2 or the float 2.0 on the
        # machine is not known here. A number with one half is surely a float.
        return [
            number + 0.5
            for number in sorted(numbers)
            if abs(number) < _MOST_HALVES
        ]
