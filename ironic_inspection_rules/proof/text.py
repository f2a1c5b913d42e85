# SPDX-License-Identifier: Apache-2.0

"""Texts of a machine, and what is asked of them."""

import dataclasses
import math
import re
import typing

import z3

from ironic_inspection_rules.proof import alphabet as alphabets
from ironic_inspection_rules.proof import logic

_LONGEST = 0.5  # Seconds to look for a text of a language.
_MOST_CANDIDATES = 80
_MOST_DIGITS = 18

INTEGER = '-?[0-9]+'
FLOAT = r'-?[0-9]+(\.[0-9]+)?(e[+-][0-9]+)?|nan|-?inf'
"""How numbers are shown."""

Compute = typing.Callable[[str], typing.Sequence[typing.Any]]


@dataclasses.dataclass(eq=False)
class Facet:
    """Values computed from a text outside the solver.

    ``terms`` stand for it, ``compute`` says what they are for a text,
    ``near`` are texts for which they may be of interest.
    """

    terms: tuple[typing.Any, ...]
    compute: Compute
    near: set[str] = dataclasses.field(default_factory=set)


Texts = typing.Mapping[int, 'Text']
"""Texts of the solver by the number of their term."""


@dataclasses.dataclass(eq=False)
class Text:
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
        found |= self.met()
        return sorted(filter(self.alphabet.has,
                             found))[:_MOST_CANDIDATES]

    def met(self, among: str | None = None) -> set[str]:
        """Return a text of each language that it is asked for.

        :param among: a regular expression of the texts that it may be.
        """
        found = set()
        for holds in self.languages.values():
            solver = z3.Solver()
            solver.set('timeout', math.ceil(1000 * _LONGEST))
            if among is not None:
                solver.add(z3.InRe(self.term, self.alphabet.language(among)))
            if solver.check(holds) == z3.sat:
                found.add(logic.text_of(solver.model()[self.term]))
        return found


@dataclasses.dataclass(eq=False)
class NumberText:
    """The text of a number: which one it is, is known for a few numbers.

    The solver hardly finds a machine where it has to compute such texts.

    :ivar number: a term.
    """

    number: typing.Any
    text: Text

    @property
    def is_integer(self) -> bool:
        return bool(z3.is_int(self.number))

    @property
    def pattern(self) -> str:
        """A regular expression of all texts that it may be."""
        return INTEGER if self.is_integer else FLOAT

    def domain(self) -> list[logic.Formula]:
        """Return what holds of the text of any number."""
        if self.is_integer:
            natural, negative = (
                z3.InRe(self.text.term, self.text.alphabet.language(pattern))
                for pattern in ('0|[1-9][0-9]*', '-[1-9][0-9]*'))
            return [z3.If(self.number < 0, negative, natural)]
        return [z3.InRe(self.text.term, self.text.alphabet.language(FLOAT))]

    def tried(self) -> tuple[list[logic.Formula], logic.Formula]:
        """Return what holds of a few numbers, and when it is one of them."""
        equations, those = [], []
        for number in self._candidates():
            is_it = self.number == number
            is_text = self.text.term == logic.constant(str(number))
            equations.append(is_it == is_text)
            those.append(is_it)
        return equations, z3.Or(*those)

    def _candidates(self) -> list[int] | list[float]:
        numbers = {-1, 0, 1, 2, 8, 10, 100}
        numbers.update(int(text) for text in (
            *self.text.near, *self.text.met(self.pattern))
            if re.fullmatch(INTEGER, text) and len(text) <= _MOST_DIGITS)
        if self.is_integer:
            return sorted(numbers)
        # With half of one it is a float for sure, whatever it is made of.
        return [number + .5 for number in sorted(numbers)
                if abs(number) < 2 ** 50]
