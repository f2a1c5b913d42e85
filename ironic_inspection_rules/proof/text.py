# SPDX-License-Identifier: Apache-2.0

"""Texts of a machine, and what is asked of them."""

import dataclasses
import math
import typing

import z3

from ironic_inspection_rules.proof import alphabet as alphabets
from ironic_inspection_rules.proof import logic

_LONGEST = 0.5  # Seconds to look for a text of a language.
_MOST_CANDIDATES = 80

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
        for holds in self.languages.values():
            solver = z3.Solver()
            solver.set('timeout', math.ceil(1000 * _LONGEST))
            if solver.check(holds) == z3.sat:
                found.add(logic.text_of(solver.model()[self.term]))
        return sorted(filter(self.alphabet.has,
                             found))[:_MOST_CANDIDATES]
