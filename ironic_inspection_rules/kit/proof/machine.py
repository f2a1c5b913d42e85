# SPDX-License-Identifier: Apache-2.0

"""A machine that the solver fills in: each field that rules look at."""

from collections.abc import Callable, Iterable
import re
import typing

import z3

from ironic_inspection_rules.engine.language import table
from ironic_inspection_rules.kit.machine import inventory_fields
from ironic_inspection_rules.kit.proof import alphabet as alphabets
from ironic_inspection_rules.kit.proof import cell as cells
from ironic_inspection_rules.kit.proof import logic
from ironic_inspection_rules.kit.proof import text as texts
from ironic_inspection_rules.kit.proof import value as values

Value = values.Value
Alternatives = Iterable[tuple[logic.Formula, values.Alternative]]

LIST = r'(?s)\[.*\]'
MAPPING = r'(?s)\{.*\}'
_MOST_DIGITS = 18


class SymbolicMachine:
    """All fields that rules have asked for, and what is known of them.

    ``domain`` holds for all machines; each of ``limits`` says, with a
    reason, to which machines the search is limited. ``loops`` are the
    guesses about the rest of a list, by its name. ``numbers_of`` are the
    numbers that texts are of, by the terms of these.

    :param alphabet: the characters that its texts may have.
    :param tables: those that rules read, by name.
    """

    def __init__(self, alphabet: alphabets.Alphabet,
                 tables: table.Tables | None = None) -> None:
        self.alphabet = alphabet
        self.tables = tables or {}
        self.domain: list[logic.Formula] = []
        self.limits: list[cells.Limit] = []
        self.cells: dict[tuple[str, ...], cells.Cell] = {}
        self.texts: dict[int, texts.TextVariable] = {}
        self.numbers: dict[int, texts.NumberVariable] = {}
        self.numbers_of: dict[int, typing.Any] = {}
        self.reasons: dict[str, str] = {}
        self.loops: dict[str, set[str]] = {}
        self._without_marks: dict[int, typing.Any] = {}
        self._number_texts: dict[int, typing.Any] = {}
        self._kept: list[typing.Any] = []
        self._guesses: dict[typing.Any, typing.Any] = {}
        self._ranks: dict[typing.Any, typing.Any] = {}

    def root(self, name: str) -> Value:
        """Return what is under the name of a root."""
        return self.cell((name,), inventory_fields.known()).value

    def cell(self, steps: tuple[str, ...],
             above: inventory_fields.Field | None,
             is_item: bool = False) -> cells.Cell:
        """Return a field of the machine.

        :param above: what is known of the field it is in.
        """
        # A field may be a mapping with a key 0, or a list with an item 0.
        key = (*steps[:-1], f'[{steps[-1]}]') if is_item else steps
        if key not in self.cells:
            field = above.step(steps[-1]) if above else None
            self.cells[key] = cells.Cell(self, steps, field, is_item)
        return self.cells[key]

    def text(self, name: str, derived: bool = False) -> typing.Any:
        """Return a new text."""
        term = z3.String(name)
        self.texts[term.get_id()] = texts.TextVariable(
            term, name, self.alphabet, derived)
        return term

    def has_no_marks(self, text: typing.Any) -> None:
        """Keep the marks of a regular expression out of a text.

        :param text: a text of the solver, or several in a row.
        """
        if text.get_id() in self._without_marks:
            return
        self._without_marks[text.get_id()] = text
        if text.get_id() in self.texts:
            self.domain.append(z3.InRe(text, alphabets.without_marks()))
        for part in text.children():
            if z3.is_string(part):
                self.has_no_marks(part)

    def text_of(self, alternative: values.Alternative) -> typing.Any:
        """Return the text that a plain value is shown as, as a term.

        :returns: None for lists, mappings and what nobody knows.
        """
        if isinstance(alternative, values.Const):
            return logic.constant(str(alternative.value))
        if not isinstance(alternative, values.SolverTerm):
            return None
        term = alternative.term
        if term.get_id() in self._number_texts:
            return self._number_texts[term.get_id()]
        if alternative.is_text:
            return term
        if alternative.is_boolean:
            return z3.If(term, z3.StringVal('True'), z3.StringVal('False'))
        if z3.is_int(term):
            text = z3.If(term < 0, z3.Concat(z3.StringVal('-'),
                                             z3.IntToStr(-term)),
                         z3.IntToStr(term))
        else:
            # Which text it is, nobody knows.
            text = self.text(f'text {len(self._number_texts)} of a float',
                             derived=True)
            self.domain.append(z3.InRe(
                text, self.alphabet.language(texts.FLOAT)))
        self._number_texts[term.get_id()] = text
        self.numbers_of[text.get_id()] = term
        return text

    def asks_text(self, number: typing.Any, question: str,
                  compute: Callable[[str], bool],
                  near: str = '') -> logic.Formula:
        """Return when something holds of the text of a number.

        The solver hardly finds a machine where it has to look into such a
        text: so what holds is known for a few numbers.

        :param number: a term.
        :param question: tells what holds from other things.
        :param near: a text for which the answer may be of interest.
        """
        if re.fullmatch(texts.INTEGER, near) and len(near) < _MOST_DIGITS:
            self.note_number(number, int(near))
        return self._number(number).asks(question, compute)

    def note_number(self, number: typing.Any, value: float) -> None:
        """Store a number that another one is compared with."""
        self._number(number).near.add(int(value))

    def _number(self, term: typing.Any) -> texts.NumberVariable:
        known = self.numbers.get(term.get_id())
        if known is None:
            known = self.numbers[term.get_id()] = texts.NumberVariable(
                term, f'number {len(self.numbers)}')
        return known

    def guess(self, reason: str, *about: typing.Any) -> logic.Formula:
        """Return a truth value that the solver may choose.

        :param reason: why it is not known.
        :param about: all that it depends on: where that is the same, the
            truth value is, too.
        """
        key = tuple(map(values.fingerprint, about))
        if key not in self._guesses:
            name = f'guess {len(self._guesses)}'
            self.reasons[name] = reason
            self._guesses[key] = z3.Bool(name)
            # Kept, so that no other object gets an id that is in the key.
            self._kept.append(about)
        return self._guesses[key]

    def may_fail(self, value: Alternatives) -> logic.Formula:
        """Return when an unknown value may be an error."""
        return self._may_be('an error', value)

    def may_lack(self, value: Alternatives) -> logic.Formula:
        """Return when an unknown value may be missing."""
        return self._may_be('missing', value)

    def may_be_null(self, value: Alternatives) -> logic.Formula:
        """Return when an unknown value may be null."""
        return self._may_be('null', value)

    def _may_be(self, what: str, value: Alternatives) -> logic.Formula:
        return logic.disj(*(
            logic.conj(guard, self.guess(each.reason, what, each))
            for guard, each in value if isinstance(each, values.UnknownValue)))

    def facet(self, term: typing.Any, key: typing.Any,
              make: Callable[[str], tuple[typing.Any, ...]],
              compute: texts.Compute) -> texts.Facet | None:
        """Return values computed from a text, None if it is no whole field.

        :param make: makes their terms, given a name for them.
        """
        text = self.texts.get(term.get_id())
        if text is None:
            return None
        if key not in text.facets:
            text.facets[key] = texts.Facet(make(f'{key} of {text.name}'),
                                           compute)
        return text.facets[key]

    def rank(self, text: str, key: Callable[[str], typing.Any]) -> typing.Any:
        """Return a number that places a text in an order such as versions'.

        :param key: returns what the text is ordered by.
        """
        known = key(text)
        if known not in self._ranks:
            self._ranks[known] = z3.Real(f'rank {len(self._ranks)}')
        return self._ranks[known]

    def note(self, term: typing.Any, text: str) -> None:
        """Store a text that another one is compared with."""
        known = self.texts.get(term.get_id())
        if known is not None:
            known.near.add(text)

    @property
    def asked(self) -> tuple[int, ...]:
        """The number of questions about machines, of each kind."""
        return (len(self.domain), len(self.limits), len(self.cells),
                len(self._ranks), sum(
                    len(text.near) + len(text.languages) + sum(
                        1 + len(facet.near) for facet in text.facets.values())
                    for text in self.texts.values()),
                sum(number.asked for number in self.numbers.values()))

    def settle(self) -> tuple[list[logic.Formula], list[cells.Limit]]:
        """Return all that holds of machines, and all limits."""
        domain, limits = list(self.domain), list(self.limits)
        for text in self.texts.values():
            if text.derived or not text.facets:
                continue
            candidates = text.candidates(self.texts)
            tried = {each: text.term == logic.constant(each)
                     for each in candidates}
            domain += [z3.Implies(is_it, z3.And(
                *text.equations(self.texts, each)))
                for each, is_it in tried.items()]
            limits.append(cells.Limit(
                z3.Or(*tried.values()),
                f'other text in {text.name} than was tried'))
        for number in self.numbers.values():
            if number.is_asked:
                equations, is_tried = number.tried()
                domain += equations
                limits.append(cells.Limit(
                    is_tried, 'other numbers as text than were tried'))
        for index, known in enumerate(sorted(self._ranks)):
            domain.append(self._ranks[known] == index)
        return domain, limits
