# SPDX-License-Identifier: Apache-2.0

"""The machine that a solver makes up: its fields, and guesses about it."""

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
"""The texts of lists and mappings in Python, as regular expressions."""

# Of a number that is tried, and its sign: rules hardly compare with a longer
# one.
_MOST_DIGITS = 18


class SymbolicMachine:
    """All fields that rules have asked for, and the formulas about them.

    A term is a key by its number (``get_id()``), as ``==`` between terms makes
    a formula. The solver gives the number of a term that is gone to another
    one: so whatever has such a key keeps the term as well.

    :param alphabet: the characters that its texts may have.
    :param tables: that rules read, by name.
    :ivar domain: formulas that hold for all machines, such as that no list
        has a negative length.
    :ivar restrictions: formulas that hold for the machines that the search
        looks at first, such as that a list has at most five items.
    :ivar cells: the fields, by the steps to them, as ``('inventory', 'cpu')``.
    :ivar texts: texts of the solver, by the number of their term.
    :ivar numbers: numbers of whose text something was asked or that are
        compared, by the number of their term.
    :ivar numbers_of: the number whose text a term is, by the number of that
        term.
    :ivar reasons: why something is guessed, by the name of the guess, such as
        ``guess 3``.
    :ivar keep_going: called for every part of a rule that is translated: one
        rule may be so large that its translation takes longer than a proof.
    :ivar loops: names of guesses about the items of a list that are not looked
        at, by the name of the list.
    :ivar likely: guesses that mostly hold, which the search tries first, by
        the number of their term.
    :ivar rounded: pairs of a real number and the same rounded to a float, by
        the number of the first term.
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
        self.cells: dict[tuple[str, ...], cells.Cell] = {}
        self.texts: dict[int, texts.TextVariable] = {}
        self.numbers: dict[int, texts.NumberVariable] = {}
        self.numbers_of: dict[int, logic.Term] = {}
        self.reasons: dict[str, str] = {}
        self.loops: dict[str, set[str]] = {}
        self.likely: dict[int, logic.Formula] = {}
        self.rounded: dict[int, tuple[logic.Term, logic.Term]] = {}
        # Texts that have no marks in them, by the number of their term.
        self._without_marks: dict[int, logic.Term] = {}
        # The text of a number, by the number of the number's term.
        self._number_texts: dict[int, logic.Term] = {}
        # Terms whose numbers are in keys: as long as they are kept, no other
        # term gets such a number.
        self._kept: list[typing.Any] = []
        # The truth value of every guess, by what it depends on.
        self._guesses: dict[typing.Any, logic.Formula] = {}
        # The place in an order, by what rank() orders a text by.
        self._ranks: dict[typing.Any, logic.Term] = {}

    def root(self, name: str) -> Value:
        """Return the value of a root on all machines before the first rule.

        :param name: such as ``node`` or ``inventory``.
        """
        return self.cell((name,), inventory_fields.known_fields()).value

    def cell(
        self,
        steps: tuple[str, ...],
        above: inventory_fields.InventoryField | None,
        is_item: bool = False,
    ) -> cells.Cell:
        """Return a field of the machine, which is made when first asked for.

        :param steps: the path of the field, from the name of a root on.
        :param above: the field that it is in, as inspection is known to report
            it; None where nothing is known of that.
        :param is_item: whether the last step is the index of a list.
        """
        key = steps
        if is_item:
            # The field above may be a list with an item 0 on one machine, and
            # a mapping with a key 0 on another: the item has the key "[0]".
            key = (*steps[:-1], f'[{steps[-1]}]')
        if key not in self.cells:
            reported_field = None
            if above is not None:
                reported_field = above.step(steps[-1])
            self.cells[key] = cells.Cell(self, steps, reported_field, is_item)
        return self.cells[key]

    def new_text(self, name: str, derived: bool = False) -> logic.Term:
        """Make a text that the solver chooses, and return its term.

        What rules compare it with is noted later, so that the search tries
        these texts.

        :param name: the name of the term, such as ``inventory.hostname``.
        :param derived: whether a filter makes it of another text.
        """
        term = z3.String(name)
        self.texts[term.get_id()] = texts.TextVariable(
            term, name, self.alphabet, derived
        )
        return term

    def keep_marks_out(self, text: logic.Term) -> None:
        """Add to the domain that a text has no marks in it.

        A mark in the text would be taken for an anchor of a regular
        expression, see :func:`.alphabet.marked`.

        :param text: a text of the solver, or several in a row.
        """
        term_id = text.get_id()
        if term_id in self._without_marks:
            return
        self._without_marks[term_id] = text
        if term_id in self.texts:
            # It is a single text of the solver.
            self.domain.append(z3.InRe(text, alphabets.without_marks()))
        # The parts of several texts in a row.
        for part in text.children():
            if z3.is_string(part):
                self.keep_marks_out(part)

    def text_of(self, alternative: values.Alternative) -> logic.Term:
        """Return the text of a value, as templates write it, as a term.

        Of a number ``count`` that the solver chooses it is a term that the
        solver computes from it: "8" where the count is 8. Of a truth value it
        is "True" or "False", as Python writes them.

        :returns: None for an unknown value, and for a list or mapping that is
            no constant.
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
        # It is a number. There is one term for its text, and numbers_of leads
        # from the text back to the number.
        number_id = term.get_id()
        if number_id not in self._number_texts:
            text = self._text_of_number(term)
            self._number_texts[number_id] = text
            self.numbers_of[text.get_id()] = term
        return self._number_texts[number_id]

    def _text_of_number(self, term: logic.Term) -> logic.Term:
        """Return the text of a number as a term.

        The solver computes the text of an integer ``count``: "8" for 8, and
        "-8" for -8. For a float it is a new term, which may be the text of any
        float.
        """
        if z3.is_int(term):
            # The solver has no texts of negative numbers: IntToStr(-8) is
            # empty.
            minus = z3.StringVal('-')
            is_negative = term < 0
            text_if_negative = z3.Concat(minus, z3.IntToStr(-term))
            return z3.If(is_negative, text_if_negative, z3.IntToStr(term))
        # The solver knows nothing about the texts of floats.
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

        The solver hardly finds a machine where it has to look into such a
        text. So the formula is a truth value that the solver chooses, and that
        Python computes for a few numbers, which are tried. For the question
        whether ``8$`` matches, the solver knows afterwards::

            count == 7 → false
            count == 8 → true

        :param number: the number, a term.
        :param question: a name of the property, such as ``search '8$'``:
            questions with one name have one formula.
        :param compute: returns whether the text of a known number has it.
        :param near: a text for which the answer may be unusual. If it is the
            text of an integer, the integer is tried.
        """
        if re.fullmatch(texts.INTEGER, near) and len(near) < _MOST_DIGITS:
            self.note_number(number, int(near))
        return self._number_variable(number).ask(question, compute)

    def note_number(self, number: logic.Term, value: float) -> None:
        """Let the search try what a number is compared with.

        The result of ``count > 8`` changes at 8: the search tries 7, 8 and 9
        where it has to try numbers.

        :param value: what it is compared with; a fraction is cut off.
        """
        self._number_variable(number).near.add(int(value))

    def _number_variable(self, term: logic.Term) -> texts.NumberVariable:
        """Return the variable of a number, made when first asked for."""
        key = term.get_id()
        if key not in self.numbers:
            name = f'number {len(self.numbers)}'
            self.numbers[key] = texts.NumberVariable(term, name)
        return self.numbers[key]

    def guess(self, reason: str, *about: typing.Any) -> logic.Formula:
        """Return a truth value that the solver may choose, as ``guess 3``.

        It stands in a formula for what nobody can compute, for example whether
        a text matches a pattern that the solver cannot read. With guesses an
        answer becomes "unknown", and never a wrong "no": the solver finds a
        machine for either choice. If the engine does not confirm the machine,
        the reasons of its guesses are those of the answer.

        :param reason: why the truth is not known, such as ``the format of
            {inventory.cpu}``.
        :param about: all that the truth depends on: equal things have the same
            guess.
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

        Only unknown alternatives of the value count: of a text or a number it
        is known that it is neither an error, nor missing, nor null.

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

    def facet(
        self,
        term: logic.Term,
        key: typing.Any,
        make: Callable[[str], tuple[logic.Term, ...]],
        compute: texts.Compute,
    ) -> texts.Facet | None:
        """Return a facet of a text: values that only Python computes from it.

        The solver cannot compute, for example, the number in a text: for it
        the number is a term of its own. Python computes it for the texts that
        the search tries, and :meth:`settle` ties the term to these texts::

            text == "8" → number == 8
            text == "9" → number == 9

        :param term: the text.
        :param key: names the values, such as ``number``: for a text and a key
            there is one facet.
        :param make: returns the terms of the values, given a name for them.
        :param compute: computes the values of a known text.
        :returns: None for a text made of several fields, which is not tried.
        """
        text = self.texts.get(term.get_id())
        if text is None:
            return None
        if key not in text.facets:
            terms = make(f'{key} of {text.name}')
            text.facets[key] = texts.Facet(terms, compute)
        return text.facets[key]

    def rank(self, text: str, key: Callable[[str], typing.Any]) -> logic.Term:
        """Return the rank of a text in an order that the solver lacks.

        Versions have such an order: the rank of "1.9" is less than that of
        "1.10". Which numbers they are, :meth:`settle` decides when it knows
        all texts that have a rank.

        :param key: returns what the text is ordered by.
        :returns: a real number of the solver; texts of equal keys have one.
        """
        sort_key = key(text)
        if sort_key not in self._ranks:
            # A real number and no integer, as the rank of a field is one: so
            # they compare without a conversion.
            self._ranks[sort_key] = z3.Real(f'rank {len(self._ranks)}')
        return self._ranks[sort_key]

    def note_text(self, term: logic.Term, text: str) -> None:
        """Let the search try the text that a term is compared with.

        For ``{inventory.hostname} == "rack1"`` the search tries "rack1" as the
        hostname. Nothing is noted for a text made of several fields, such as
        ``{node.name}-{inventory.hostname}``: these are not tried.
        """
        variable = self.texts.get(term.get_id())
        if variable is not None:
            variable.near.add(text)

    @property
    def asked(self) -> tuple[int, ...]:
        """Counts of all that :meth:`settle` and the search depend on.

        They only grow: a search collects the facts again when the counts have
        changed.
        """
        of_texts = 0
        for text in self.texts.values():
            of_texts += len(text.near) + len(text.languages)
            for facet in text.facets.values():
                of_texts += 1 + len(facet.near)
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
        """Return the formulas that hold of all machines, and restrictions.

        To those that were collected when rules were translated, it adds what
        Python computes from the texts and numbers that the search tries. For
        a condition ``{inventory.cpu.count} > 8``, where the count may be a
        text, it adds a formula for every text, and a restriction::

            count == "8" → the number in the text == 8
            count == "9" → the number in the text == 9
            restriction: count == "8" or count == "9"

        A search calls it again if more was asked since the last search.
        """
        domain = list(self.domain)
        restrictions = list(self.restrictions)
        for text in self.texts.values():
            # A text that a filter makes is computed from the texts that are
            # tried before the filter.
            if text.derived or not text.facets:
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
        # Last, as the equations above have asked for ranks. If there are no
        # others, the versions 1.9 and 1.10 get the ranks 0 and 1.
        for index, sort_key in enumerate(sorted(self._ranks)):
            domain.append(self._ranks[sort_key] == index)
        return domain, restrictions

    def _try_texts(
        self, text: texts.TextVariable
    ) -> tuple[list[logic.Formula], logic.Formula]:
        """Tell the solver what Python computes from the texts it may choose.

        The solver cannot compute the number in a text, for example: to it, the
        number is a term of its own.

        :returns: a formula for every text that the search tries, such as
            ``text == "8" → number == 8``; and the formula that the text is one
            of those.
        """
        equations = []
        choices = []
        for candidate in text.list_candidates(self.texts):
            is_candidate = text.term == logic.text_term(candidate)
            choices.append(is_candidate)
            computed = text.equations(self.texts, candidate)
            equations.append(z3.Implies(is_candidate, z3.And(*computed)))
        return equations, z3.Or(*choices)
