# SPDX-License-Identifier: Apache-2.0

"""Texts of a machine, and what is asked of them."""

import dataclasses
import math
import typing

import z3

from ironic_inspection_rules.kit.proof import alphabet as alphabets
from ironic_inspection_rules.kit.proof import logic

_LONGEST = 0.5  # Seconds to look for a text of a language.
_MOST_CANDIDATES = 80
_MOST_HALVES = 2 ** 50
"""From where on a float does not tell half of one."""

INTEGER = '-?[0-9]+'
FLOAT = r'-?[0-9]+(\.[0-9]+)?(e[+-][0-9]+)?|nan|-?inf'
"""How numbers are shown."""

Compute = typing.Callable[[str], typing.Sequence[typing.Any]]
Answers = typing.Callable[[str], bool]


@dataclasses.dataclass(eq=False)
class Facet:
    """Values computed from a text outside the solver.

    ``terms`` stand for it, ``compute`` says what they are for a text,
    ``near`` are texts for which they may be of interest.
    """

    terms: tuple[typing.Any, ...]
    compute: Compute
    near: set[str] = dataclasses.field(default_factory=set)


Texts = typing.Mapping[int, 'TextVariable']
"""Texts of the solver by the number of their term."""


@dataclasses.dataclass(eq=False)
class TextVariable:
    """A text of the solver, and what is asked of it."""

    term: typing.Any
    name: str
    alphabet: alphabets.Alphabet
    derived: bool = False
    near: set[str] = dataclasses.field(default_factory=set)
    facets: dict[typing.Any, Facet] = dataclasses.field(default_factory=dict)
    languages: dict[int, logic.Formula] = dataclasses.field(
        default_factory=dict)

    def equations(self, texts: 'Texts', text: str
                  ) -> typing.Iterator[logic.Formula]:
        """Yield what holds where the text is this one."""
        for facet in self.facets.values():
            made = facet.compute(text)
            for term, result in zip(facet.terms, made, strict=True):
                if result is None:
                    continue
                yield term == (logic.constant(result) if isinstance(
                    result, str) else result)
                inner = texts.get(term.get_id())
                if inner is not None:
                    yield from inner.equations(texts, result)

    def candidates(self, texts: 'Texts') -> list[str]:
        """Return texts that differ in what is asked of them."""
        found = {'', '-', 'other', *self.near}
        for facet in self.facets.values():
            found |= facet.near
            for term in facet.terms:
                inner = texts.get(term.get_id())
                for text in inner.candidates(texts) if inner else ():
                    found |= {text, text.lower(), text.upper(), text.title()}
        for holds in self.languages.values():
            solver = z3.Solver()
            solver.set('timeout', math.ceil(1000 * _LONGEST))
            if solver.check(holds) == z3.sat:
                found.add(logic.text_of(solver.model()[self.term]))
        return sorted(filter(self.alphabet.has,
                             found))[:_MOST_CANDIDATES]


@dataclasses.dataclass(eq=False)
class NumberVariable:
    """A number of the solver, and what is asked of its text.

    ``near`` are numbers for which the answers may be of interest.
    """

    term: typing.Any
    name: str
    near: set[int] = dataclasses.field(default_factory=set)
    _answers: dict[typing.Any, tuple[logic.Formula, Answers]] = (
        dataclasses.field(default_factory=dict))

    @property
    def asked(self) -> int:
        """How much was asked."""
        return len(self.near) + len(self._answers)

    @property
    def is_asked(self) -> bool:
        return bool(self._answers)

    def asks(self, question: typing.Any, answers: Answers) -> logic.Formula:
        """Return when something holds of the text.

        :param question: tells what holds from other things.
        """
        if question not in self._answers:
            made = z3.Bool(f'{question} of {self.name}')
            self._answers[question] = made, answers
        return self._answers[question][0]

    def tried(self) -> tuple[list[logic.Formula], logic.Formula]:
        """Return what holds of a few numbers, and when it is one of them."""
        equations, those = [], []
        for number in self._candidates():
            is_it = self.term == number
            those.append(is_it)
            equations += [
                z3.Implies(is_it, holds == answers(str(number)))
                for holds, answers in self._answers.values()]
        return equations, z3.Or(*those)

    def _candidates(self) -> list[int] | list[float]:
        numbers = {-1, 0, 1, 2, 8, 10, 32, 100}
        for near in self.near:
            numbers |= {near - 1, near, near + 1}
        if z3.is_int(self.term):
            return sorted(numbers)
        # With half of one it is a float for sure, whatever it is made of.
        return [number + .5 for number in sorted(numbers)
                if abs(number) < _MOST_HALVES]
