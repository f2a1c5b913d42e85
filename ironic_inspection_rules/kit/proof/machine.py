# SPDX-License-Identifier: Apache-2.0

"""The symbolic machine of a proof: its fields, and formulas about them.

A symbolic machine stands for all possible machines. Its fields, e.g.
``inventory.cpu.count``, are variables, and a *solver* (z3) chooses values for
them so that a formula holds. Three things help the solver:

* The *domain* is formulas that hold on all machines: ``length of disks >= 0``.
* A *restriction* is a formula that is assumed first: ``length of disks <= 5``.
* A *computation* from a text gives a value that only Python computes, e.g. the
  number in the text. Python computes it for a few texts, the *candidates*.

What cannot be computed at all is a *guess*: a truth value such as ``guess 3``
that the solver chooses freely.
"""

from collections.abc import Callable, Iterable
import dataclasses
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
"""The texts of lists and mappings in Python, as regular expressions."""

# Longest text of a number that is tried, including its sign. Rules rarely
# compare with a longer number.
_MOST_DIGITS = 18


@dataclasses.dataclass(frozen=True, eq=False)
class Rounding:
    """A real number, and the same number rounded to a float."""

    exact: logic.Term
    rounded: logic.Term


class SymbolicMachine:
    """All fields that rules have read, and the formulas about them.

    Dictionaries use the id of a term (``get_id()``) as the key, because ``==``
    between terms makes a formula. The solver reuses the id of a deleted term,
    so everything with such a key must keep the term alive.

    :param alphabet: the characters that texts of the machine may have.
    :param tables: the tables that rules read, by name.
    :ivar domain: formulas that hold for all machines, e.g. that no list has a
        negative length.
    :ivar restrictions: formulas that hold for the machines that the search
        tries first, e.g. that a list has at most five items.
    :ivar cells: the fields, by their paths, e.g. ``('inventory', 'cpu')``.
    :ivar texts: texts of the solver, by the id of their term.
    :ivar numbers: numbers that are compared or whose text is used, by the id
        of their term.
    :ivar numbers_of: the number that a text was made from, by the id of the
        text's term.
    :ivar reasons: why something is guessed, by the name of the guess, e.g.
        ``guess 3``.
    :ivar keep_going: called for every part of a rule that is translated,
        because translating a large rule may exceed the time of a proof.
    :ivar traits: the names of traits that the proof distinguishes. ``PREFIX*``
        stands for all other traits with that prefix, and ``*`` for the rest.
    :ivar guesses_beyond: the names of guesses about the later items of a list,
        by the name of the list, see :meth:`guess_beyond`.
    :ivar likely: guesses that usually hold, which the search tries first, by
        the id of their term.
    :ivar rounded: numbers that are rounded to floats, by the id of the term
        of the exact number.
    """

    def __init__(
        self,
        alphabet: alphabets.Alphabet,
        tables: table.Tables | None = None,
        keep_going: values.KeepGoing = values.keep_going,
    ) -> None:
        self.alphabet = alphabet
        self.keep_going = keep_going
        self.tables = tables or {}
        self.domain: list[logic.Formula] = []
        self.restrictions: list[cells.Restriction] = []
        self.cells: dict[tuple[str | int, ...], cells.Cell] = {}
        self.texts: dict[int, texts.TextVariable] = {}
        self.numbers: dict[int, texts.NumberVariable] = {}
        self.numbers_of: dict[int, logic.Term] = {}
        self.reasons: dict[str, str] = {}
        self.traits = {'*'}
        self.guesses_beyond: dict[str, set[str]] = {}
        self.likely: dict[int, logic.Formula] = {}
        self.rounded: dict[int, Rounding] = {}
        # Texts that are known to contain no marks, by the id of their term.
        self._without_marks: dict[int, logic.Term] = {}
        # The text of a number, by the id of the number's term.
        self._number_texts: dict[int, logic.Term] = {}
        # Terms whose ids are in keys. They are kept alive, so that no other
        # term gets the same id.
        self._kept: list[typing.Any] = []
        # The truth value of every guess, by the things it depends on.
        self._guesses: dict[typing.Any, logic.Formula] = {}
        # The rank of a text, by the sort key that rank() computes for it.
        self._ranks: dict[typing.Any, logic.Term] = {}

    def root(self, name: str) -> Value:
        """Return the value of a root on all machines before the first rule.

        :param name: e.g. ``node`` or ``inventory``.
        """
        return self.cell((name,), inventory_fields.known_fields()).value

    def cell(
        self,
        steps: tuple[str, ...],
        above: inventory_fields.InventoryField | None,
        is_item: bool = False,
    ) -> cells.Cell:
        """Return a field of the machine, which is created on first use.

        :param steps: the path of the field, including the name of the root.
        :param above: the field that contains it, as inspection is known to
            report it; None if nothing is known about it.
        :param is_item: whether the last step is the index of a list.
        """
        key: tuple[str | int, ...] = steps
        if is_item:
            # The field above may be a list with an item 0 on one machine, and
            # a mapping with a name "0" on another. An index is therefore a
            # number here.
            key = (*steps[:-1], int(steps[-1]))
        if key not in self.cells:
            reported_field = None
            if above is not None:
                reported_field = above.step(steps[-1])
            self.cells[key] = cells.Cell(self, steps, reported_field, is_item)
        return self.cells[key]

    def new_text(self, name: str, derived: bool = False) -> logic.Term:
        """Create a text that the solver chooses, and return its term.

        Texts that rules compare it with are recorded later, so that the search
        tries them.

        :param name: the name of the term, e.g. ``inventory.hostname``.
        :param derived: whether a filter computes it from another text.
        """
        term = z3.String(name)
        self.texts[term.get_id()] = texts.TextVariable(
            term, name, self.alphabet, derived
        )
        return term

    def keep_marks_out(self, text: logic.Term) -> None:
        """Add to the domain that a text contains no marks.

        To match a regular expression, the solver puts special characters, the
        marks, around the text. A mark inside the text would be taken for an
        anchor, i.e. for "^" or "$", see :func:`.alphabet.marked`.

        :param text: a text of the solver, or a concatenation of several.
        """
        term_id = text.get_id()
        if term_id in self._without_marks:
            return
        self._without_marks[term_id] = text
        if term_id in self.texts:
            # This is a single text of the solver.
            self.domain.append(z3.InRe(text, alphabets.without_marks()))
        # Visit the parts of a concatenation.
        for part in text.children():
            if z3.is_string(part):
                self.keep_marks_out(part)

    def text_of(self, alternative: values.Alternative) -> logic.Term:
        """Return the text of a value, as templates write it, as a term.

        For a number ``count`` that the solver chooses, the term is computed
        from it, e.g. "8" if the count is 8. For a truth value it is "True" or
        "False", as in Python.

        :returns: None for an unknown value, an error, and a list or mapping
            that is not a constant.
        """
        if isinstance(alternative, values.Const):
            return logic.text_term(str(alternative.value))
        if not isinstance(alternative, values.SolverTerm):
            return None
        term = alternative.term
        if alternative.is_text:
            return term
        if alternative.is_boolean:
            return z3.If(term, z3.StringVal('True'), z3.StringVal('False'))
        # The value is a number. Create only one term for its text, and record
        # in numbers_of which number the text belongs to.
        number_id = term.get_id()
        if number_id not in self._number_texts:
            text = self._text_of_number(term)
            self._number_texts[number_id] = text
            self.numbers_of[text.get_id()] = term
        return self._number_texts[number_id]

    def _text_of_number(self, term: logic.Term) -> logic.Term:
        """Return the text of a number as a term.

        The solver computes the text of an integer ``count``, e.g. "8" for 8
        and "-8" for -8. For a float, the result is a new term that may be the
        text of any float.
        """
        if z3.is_int(term):
            # The solver has no texts of negative numbers: IntToStr(-8) is
            # empty.
            minus = z3.StringVal('-')
            is_negative = term < 0
            text_if_negative = z3.Concat(minus, z3.IntToStr(-term))
            return z3.If(is_negative, text_if_negative, z3.IntToStr(term))
        # The solver cannot convert floats to texts.
        text = self.new_text(
            f'text {len(self._number_texts)} of a float', derived=True
        )
        floats = self.alphabet.language(texts.FLOAT)
        self.domain.append(z3.InRe(text, floats))
        return text

    def ask_of_number_text(
        self,
        number: logic.Term,
        question: str,
        compute: Callable[[str], bool],
        near: str = '',
    ) -> logic.Formula:
        """Return the formula that the text of a number has a property.

        The solver is slow if it has to look into the text of a number.
        The formula is therefore a truth value that the solver chooses, and
        Python computes it for the few numbers that are tried. If the property
        is that ``8$`` matches, the solver then knows::

            count == 7 → false
            count == 8 → true

        :param number: the term of the number.
        :param question: a name for the property, e.g. ``search '8$'``. Calls
            with the same name return the same formula.
        :param compute: returns whether the text of a known number has the
            property.
        :param near: a text for which the answer may be unusual. If it is the
            text of an integer, the integer is tried.
        """
        if re.fullmatch(texts.INTEGER, near) and len(near) < _MOST_DIGITS:
            self.note_number(number, int(near))
        return self._number_variable(number).ask(question, compute)

    def note_number(self, number: logic.Term, value: float) -> None:
        """Let the search try a value that a number is compared with.

        The result of ``count > 8`` changes at 8, so the search tries 7, 8 and
        9 if it has to try numbers.

        :param value: the value that it is compared with; a fraction is cut
            off.
        """
        self._number_variable(number).near.add(int(value))

    def _number_variable(self, term: logic.Term) -> texts.NumberVariable:
        """Return the variable of a number, created on first use."""
        key = term.get_id()
        if key not in self.numbers:
            name = f'number {len(self.numbers)}'
            self.numbers[key] = texts.NumberVariable(term, name)
        return self.numbers[key]

    def guess(self, reason: str, *about: typing.Any) -> logic.Formula:
        """Return a truth value that the solver may choose, e.g. ``guess 3``.

        It is used in a formula for something that cannot be computed, e.g.
        whether a text matches a pattern that the solver does not support. The
        solver finds machines for either choice, so a guess may make an answer
        "unknown", but never a wrong "no". If the engine does not confirm the
        machine, the reasons of its guesses become the reason of the answer.

        :param reason: why the truth is not known, e.g. ``the format of
            {inventory.cpu}``.
        :param about: everything that the truth depends on, including a word
            for the question. Calls with equal things return the same guess,
            whatever their reasons are.
        """
        key = tuple(map(values.fingerprint, about))
        if key not in self._guesses:
            name = f'guess {len(self._guesses)}'
            self.reasons[name] = reason
            self._guesses[key] = z3.Bool(name)
            # Keep these alive, so that no other object gets an id in the key.
            self._kept.append(about)
        return self._guesses[key]

    def guess_beyond(
        self, items: values.ItemList, *about: typing.Any
    ) -> logic.Formula:
        """Return a guess about the items of a list that have no formulas.

        These are the items after the first :data:`.cell.LONGEST`. The name of
        the guess is recorded, so that :class:`.search.MachineSearch` can tell
        whether longer lists matter.

        :param about: everything that the truth depends on, as in
            :meth:`guess`.
        """
        reason = f'more than {cells.LONGEST} items of {items.name}'
        guess = self.guess(reason, *about)
        self.guesses_beyond.setdefault(items.name, set()).add(str(guess))
        return guess

    def may_fail(self, value: Alternatives) -> logic.Formula:
        """Return the guess that an unknown value is an error."""
        return self._guess_state('an error', value)

    def may_lack(self, value: Alternatives) -> logic.Formula:
        """Return the guess that an unknown value is missing."""
        return self._guess_state('missing', value)

    def may_be_null(self, value: Alternatives) -> logic.Formula:
        """Return the guess that an unknown value is null."""
        return self._guess_state('null', value)

    def _guess_state(self, state: str, value: Alternatives) -> logic.Formula:
        """Return the guess that an unknown value is in a state.

        Only the unknown alternatives of the value count, because all other
        values are known to be an error, missing, null, or none of these. If a
        value is a text under the guard ``a`` and unknown under the guard
        ``b``, the formula is ``b and guess 3``.

        :param state: ``an error``, ``missing`` or ``null``.
        """
        parts = []
        for guard, alternative in value:
            if isinstance(alternative, values.UnknownValue):
                is_in_state = self.guess(
                    alternative.reason, state, alternative
                )
                parts.append(logic.conj(guard, is_in_state))
        return logic.disj(*parts)

    def computation(
        self,
        term: logic.Term,
        key: typing.Any,
        make: Callable[[str], texts.Terms],
        compute: texts.Compute,
    ) -> texts.Computation | None:
        """Return the values that only Python computes from a text.

        For example, the solver cannot compute the number in a text, so it has
        a separate term for the number. Python computes it for the texts that
        the search tries, and :meth:`settle` connects the term to these texts::

            text == "8" → number == 8
            text == "9" → number == 9

        :param term: the text.
        :param key: a name for the values, e.g. ``number``. A text has one
            computation for every key.
        :param make: returns the terms of the values by name, given a name for
            the computation.
        :param compute: computes the values of a known text, by the same names.
        :returns: None for a text that is made from several fields, because
            such texts are not tried.
        """
        text = self.texts.get(term.get_id())
        if text is None:
            return None
        if key not in text.computations:
            terms = make(f'{key} of {text.name}')
            text.computations[key] = texts.Computation(terms, compute)
        return text.computations[key]

    def rank(self, text: str, key: Callable[[str], typing.Any]) -> logic.Term:
        """Return the rank of a text in an order that the solver does not know.

        For example, the solver does not know the order of versions. Of two
        versions "1.9" and "1.10", the first has the rank 0 and the second the
        rank 1. :meth:`settle` sets the numbers, when all texts that have a
        rank are known.

        :param key: returns the sort key of a text.
        :returns: a real number of the solver, which is the same for texts with
            equal keys.
        """
        sort_key = key(text)
        if sort_key not in self._ranks:
            # Use a real number instead of an integer, because the rank of a
            # field is a real number. They then compare without a conversion.
            self._ranks[sort_key] = z3.Real(f'rank {len(self._ranks)}')
        return self._ranks[sort_key]

    def note_text(self, term: logic.Term, text: str) -> None:
        """Let the search try the text that a term is compared with.

        For ``{inventory.hostname} == "rack1"`` the search tries "rack1" as the
        hostname. A text that is made from several fields, e.g.
        ``{node.name}-{inventory.hostname}``, is ignored, because such texts
        are not tried.
        """
        variable = self.texts.get(term.get_id())
        if variable is not None:
            variable.near.add(text)

    @property
    def asked(self) -> tuple[int, ...]:
        """Counts of everything that :meth:`settle` and the search depend on.

        They only grow. A search collects the facts again when the counts have
        changed.
        """
        of_texts = 0
        for text in self.texts.values():
            of_texts += len(text.near) + len(text.languages)
            for computation in text.computations.values():
                of_texts += 1 + len(computation.near)
        of_numbers = sum(number.asked for number in self.numbers.values())
        of_secrets = sum(len(cell.secrets) for cell in self.cells.values())
        return (
            len(self.domain),
            len(self.restrictions),
            len(self.cells),
            len(self._ranks),
            of_texts,
            of_numbers,
            of_secrets,
        )

    def settle(self) -> tuple[list[logic.Formula], list[cells.Restriction]]:
        """Return the formulas that hold for all machines, and restrictions.

        The formulas are of two kinds: formulas that were collected when rules
        were translated, and formulas that Python computes for the texts and
        numbers that the search tries. For ``{inventory.cpu.count} > 8``, where
        the count may be a text, it adds a formula for every text, and a
        restriction::

            count == "8" → the number in the text == 8
            count == "9" → the number in the text == 9
            restriction: count == "8" or count == "9"

        A search calls it again if rules have asked more since the last search.
        """
        domain = list(self.domain)
        restrictions = list(self.restrictions)
        for text in self.texts.values():
            # A text that a filter returns is computed from the texts that are
            # tried before the filter.
            if text.derived or not text.computations:
                continue
            equations, is_tried = self._try_texts(text)
            domain += equations
            restrictions.append(
                cells.Restriction(
                    is_tried, f'other text in {text.name} than was tried'
                )
            )
        for number in self.numbers.values():
            if number.is_asked:
                equations, is_tried = number.try_numbers()
                domain += equations
                restrictions.append(
                    cells.Restriction(
                        is_tried, 'other numbers as text than were tried'
                    )
                )
        # This must be last, because the equations above ask for ranks. If
        # there are only the versions 1.9 and 1.10, they get the ranks 0 and 1.
        for index, sort_key in enumerate(sorted(self._ranks)):
            domain.append(self._ranks[sort_key] == index)
        return domain, restrictions

    def _try_texts(
        self, text: texts.TextVariable
    ) -> tuple[list[logic.Formula], logic.Formula]:
        """Tell the solver what Python computes from the texts it may choose.

        For example, the solver cannot compute the number in a text, so it has
        a separate term for the number.

        :returns: a formula for every text that the search tries, e.g.
            ``text == "8" → number == 8``, and the formula that the text is one
            of these texts.
        """
        equations = []
        choices = []
        for candidate in text.list_candidates(self.texts):
            is_candidate = text.term == logic.text_term(candidate)
            choices.append(is_candidate)
            computed = text.equations(self.texts, candidate)
            equations.append(z3.Implies(is_candidate, z3.And(*computed)))
        return equations, z3.Or(*choices)
