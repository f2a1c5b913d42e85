# SPDX-License-Identifier: Apache-2.0

"""Texts and numbers of a machine, and what is asked of them.

The solver knows regular expressions over texts, and little else: it has no
versions, no addresses, no numbers with a fraction in a text. What it does not
know is computed by the code of the engine for a few texts that were chosen
beforehand, and the solver may take one of these. That a text is one of them
is a limit of the search: what holds for no machine within the limit may hold
for one beyond it, and the answer is unknown.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
import dataclasses
import re
import typing

import z3

from ironic_inspection_rules.kit.proof import alphabet as alphabets
from ironic_inspection_rules.kit.proof import effort
from ironic_inspection_rules.kit.proof import logic

# Texts that a search tries: each is a formula for every facet.
_MOST_CANDIDATES = 80
_MOST_HALVES = 2 ** 50
"""From where on a float does not tell half of one."""

INTEGER = '-?[0-9]+'
FLOAT = r'-?[0-9]+(\.[0-9]+)?(e[+-][0-9]+)?|nan|-?inf'
"""How numbers are shown."""

Compute = Callable[[str], Sequence[typing.Any]]
Answers = Callable[[str], bool]


def may_be_float(text: str) -> bool:
    """Return whether a text is perhaps that of a float, and of no integer."""
    if re.fullmatch(INTEGER, text):
        return False
    return bool(re.fullmatch(FLOAT, text))


def pattern_of(number: logic.Term) -> str:
    """Return a regular expression of the texts that a number may have."""
    if z3.is_int(number):
        return INTEGER
    return FLOAT


@dataclasses.dataclass(eq=False)
class Facet:
    """Values computed from a text outside the solver.

    ``terms`` stand for them, ``compute`` returns what they are for a text,
    None for a term that may be anything; ``near`` are texts for which they
    may be of interest.
    """

    terms: tuple[logic.Term, ...]
    compute: Compute
    near: set[str] = dataclasses.field(default_factory=set)


TextVariables = Mapping[int, 'TextVariable']
"""Texts of the solver by the number of their term."""


@dataclasses.dataclass(eq=False)
class TextVariable:
    """A text of the solver, and what is asked of it.

    ``derived`` is one that a filter makes of another text. ``near`` are texts
    that it is compared with, ``languages`` say when a regular expression
    matches it, by the number of the formula.
    """

    term: logic.Term
    name: str
    alphabet: alphabets.Alphabet
    derived: bool = False
    near: set[str] = dataclasses.field(default_factory=set)
    facets: dict[typing.Any, Facet] = dataclasses.field(default_factory=dict)
    languages: dict[int, logic.Formula] = dataclasses.field(
        default_factory=dict)

    def equations(self, variables: TextVariables,
                  text: str) -> Iterator[logic.Formula]:
        """Yield what holds where the text is this one."""
        for facet in self.facets.values():
            computed = facet.compute(text)
            for term, result in zip(facet.terms, computed, strict=True):
                if result is None:
                    continue
                if isinstance(result, str):
                    yield term == logic.constant(result)
                elif isinstance(result, float):
                    yield term == logic.number(result)
                else:
                    yield term == result
                # What a filter makes of the text may be asked for, too.
                derived = variables.get(term.get_id())
                if derived is not None:
                    yield from derived.equations(variables, result)

    def candidates(self, variables: TextVariables) -> list[str]:
        """Return texts that differ in what is asked of them.

        Texts that differ only behind a filter are among them. There are at
        most as many as a search can try.
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
        """Return a text that a regular expression matches.

        :returns: None where the solver finds none in time.
        """
        solver = z3.Solver()
        try:
            if not effort.can_hold(solver, effort.LANGUAGE, holds):
                return None
        except effort.GivenUp:
            return None
        return logic.text_of(solver.model()[self.term])


def _before_filters(texts: list[str]) -> set[str]:
    """Return texts of which a filter may make these."""
    before = set(texts)
    for text in texts:
        before |= {text.lower(), text.upper(), text.title()}
    return before


@dataclasses.dataclass(frozen=True)
class _Question:
    """What is asked of the text of a number: ``holds`` stands for it."""

    holds: logic.Formula
    answers: Answers


@dataclasses.dataclass(eq=False)
class NumberVariable:
    """A number of the solver, and what is asked of its text.

    ``near`` are numbers for which the answers may be of interest.
    """

    term: logic.Term
    name: str
    near: set[int] = dataclasses.field(default_factory=set)
    _questions: dict[typing.Any, _Question] = dataclasses.field(
        default_factory=dict)

    @property
    def asked(self) -> int:
        """How much was asked."""
        return len(self.near) + len(self._questions)

    @property
    def is_asked(self) -> bool:
        """Whether anything was asked of its text."""
        return bool(self._questions)

    def asks(self, question: typing.Any, answers: Answers) -> logic.Formula:
        """Return when something holds of the text.

        :param question: tells what holds from other things.
        """
        if question not in self._questions:
            holds = z3.Bool(f'{question} of {self.name}')
            self._questions[question] = _Question(holds, answers)
        return self._questions[question].holds

    def tried(self) -> tuple[list[logic.Formula], logic.Formula]:
        """Return the answers for a few numbers, and when it is one of them.

        The first formulas say which answer each question has if the number of
        the solver is one that is tried. It may be another one only beyond the
        limits of a search.
        """
        equations: list[logic.Formula] = []
        is_tried: list[logic.Formula] = []
        for number in self._candidates():
            is_it = self.term == number
            is_tried.append(is_it)
            for question in self._questions.values():
                answer = question.answers(str(number))
                equations.append(z3.Implies(is_it, question.holds == answer))
        return equations, z3.Or(*is_tried)

    def _candidates(self) -> list[int] | list[float]:
        """Return numbers whose texts may differ in what is asked of them."""
        numbers = {-1, 0, 1, 2, 8, 10, 32, 100}
        for near in self.near:
            numbers |= {near - 1, near, near + 1}
        if z3.is_int(self.term):
            return sorted(numbers)
        # A real number of the solver may be an integer of the machine, whose
        # text is another one. With half of one it is a float for sure.
        return [number + .5 for number in sorted(numbers)
                if abs(number) < _MOST_HALVES]
