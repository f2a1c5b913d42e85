# SPDX-License-Identifier: Apache-2.0

"""A machine that the solver fills in.

Each field that rules look at is a cell: it may be missing, null, or of the
type that inspection is known to report, or of any where that is not known.
Numbers of an inventory are whole and not negative, text is printable ASCII.
"""

from collections.abc import Callable, Iterable
import functools
import typing

import z3

from ironic_inspection_rules.actions import schema
from ironic_inspection_rules.machine import inventory_fields
from ironic_inspection_rules.proof import logic
from ironic_inspection_rules.proof import value as values

Value = values.Value

LONGEST = 5
"""The number of items of a list that are looked at."""

_KINDS = {**dict.fromkeys((*schema.TEXT_KINDS, 'a UUID', 'a MAC address'),
                          'text'),
          'true or false': 'boolean', 'a mapping': 'mapping'}
_ANY = ('boolean', 'number', 'text', 'mapping', 'list')
CAPABILITIES = ('node', 'properties', '#capabilities')
"""Where the capabilities of a node are, each by its name."""

CAPABILITY_TEXT = ('node', 'properties', 'capabilities')
"""Where rules find them as one text, which is not known."""

TEXT = values.only(values.Unknown('capabilities as a text'))

TRAITS = ('node', '#traits')
"""Where the traits of a node are, each true where the node has it."""


class Cell:
    """One field: ``steps`` lead to it from the name of a root."""

    def __init__(self, machine: 'Machine', steps: tuple[str, ...],
                 field: inventory_fields.Field | None,
                 is_item: bool = False) -> None:
        self._is_item = is_item
        self.machine = machine
        self.steps = steps
        self.name = '.'.join(steps)
        self._field = field
        self.below: dict[str, Cell] = {}
        self.empty = z3.Bool(f'{self.name} is empty')
        self.kinds = self._kinds()
        self.kind = z3.Int(f'kind of {self.name}')
        self.terms: dict[str, typing.Any] = {}
        self.uses: set[str] = set()
        if len(self.kinds) > 1:
            machine.domain.append(z3.And(self.kind >= 0,
                                         self.kind < len(self.kinds)))

    @functools.cached_property
    def value(self) -> Value:
        """The value of the field."""
        return values.join(
            (self.is_of(kind), self._of(kind)) for kind in self.kinds)

    def is_of(self, kind: str) -> logic.Formula:
        """Return when the field is of a kind."""
        if len(self.kinds) == 1:
            return logic.TRUE
        return self.kind == self.kinds.index(kind)

    def child(self, name: str) -> Value:
        """Return the field below of that name."""
        if (*self.steps, name) == CAPABILITY_TEXT:
            return TEXT
        if name not in self.below:
            self.below[name] = self.machine.cell((*self.steps, name),
                                                  self._field)
            below = self.below[name]
            self.machine.domain.append(z3.Implies(
                self.empty, below.empty if below.steps == CAPABILITIES
                else values.absent(below.value)))
        return self.below[name].value

    def _kinds(self) -> tuple[str, ...]:
        if self.steps in (('inventory',), ('plugin_data',), ('node',),
                          TRAITS, CAPABILITIES):
            return ('mapping',)
        if self.steps[:-1] == TRAITS:
            return ('boolean',)
        if self.steps[:-1] == CAPABILITIES:
            return ('absent', 'text')
        if self.steps == ('ports',):
            return ('list',)
        if self.steps[0] == 'ports' and len(self.steps) == 2:
            return ('mapping',)
        known = self._field.type if self._field else None
        table = {'node': schema.NODE, 'ports': schema.PORT}.get(
            self.steps[0], {})
        if len(self.steps) == 2 + (self.steps[0] == 'ports') and (
                self.steps[-1] in table):
            attribute = table[self.steps[-1]]
            known = _KINDS[attribute.kind]
            if attribute.default is ... or (
                    self.steps[0] == 'node' and known == 'mapping'):
                # There is no node or port without them.
                return (known,)
        if known is None and self._field and self._field.names:
            known = 'mapping'
        if self._is_item:
            return (known,) if known else ('null', *_ANY)
        return ('absent', 'null', *((known,) if known else _ANY))

    def _of(self, kind: str) -> Value:
        if kind == 'absent':
            return values.NOTHING
        if kind == 'null':
            return values.const(None)
        if kind == 'mapping':
            return values.only(values.Mapping(self, {}))
        if kind == 'list':
            length = self.terms['list'] = z3.Int(f'length of {self.name}')
            self.machine.domain.append(length >= 0)
            self.machine.limits.append(Limit(
                length <= LONGEST,
                f'lists of more than {LONGEST} items in {self.name}', self))
            for index in range(LONGEST):
                self.below[str(index)] = self.machine.cell(
                    (*self.steps, str(index)), self._field, True)
            return values.only(values.Items(
                length, tuple(self.below.values()), self.name, self.uses))
        if kind == 'text':
            term = self.machine.text(self.name)
            if self.steps[:-1] == CAPABILITIES:
                self.machine.domain.append(z3.InRe(term, z3.Plus(z3.Union(
                    z3.Range('!', '+'), z3.Range('-', '~')))))
        elif kind == 'boolean':
            term = z3.Bool(self.name)
        else:
            term = z3.Int(self.name)
            if self._field is not None and self._field.type == 'number':
                self.machine.domain.append(term >= 0)
        self.terms[kind] = term
        return values.only(values.Term(term))


class Limit(typing.NamedTuple):
    """A limit of the search, with what it leaves out.

    ``cell`` is the list whose length it is, if it is one.
    """

    formula: logic.Formula
    reason: str
    cell: Cell | None = None


class Machine:
    """All fields that rules have asked for, and what is known of them.

    ``domain`` holds for all machines; each of ``limits`` says, with a
    reason, to which machines the search is limited. ``loops`` are the
    guesses about the rest of a list, by its name.
    """

    def __init__(self) -> None:
        self.domain: list[logic.Formula] = []
        self.limits: list[Limit] = []
        self.cells: dict[tuple[str, ...], Cell] = {}
        self.texts: dict[int, logic.Text] = {}
        self.reasons: dict[str, str] = {}
        self.loops: dict[str, set[str]] = {}
        self._kept: list[typing.Any] = []
        self._guesses: dict[typing.Any, typing.Any] = {}
        self._ranks: dict[typing.Any, typing.Any] = {}

    def root(self, name: str) -> Value:
        """Return what is under the name of a root."""
        return self.cell((name,), inventory_fields.known()).value

    def cell(self, steps: tuple[str, ...],
             above: inventory_fields.Field | None,
             is_item: bool = False) -> Cell:
        """Return a field of the machine.

        :param above: what is known of the field it is in.
        """
        if steps not in self.cells:
            field = above.step(steps[-1]) if above else None
            self.cells[steps] = Cell(self, steps, field, is_item)
        return self.cells[steps]

    def text(self, name: str, derived: bool = False) -> typing.Any:
        """Return a new text."""
        term = z3.String(name)
        self.domain.append(z3.InRe(term, z3.Star(
            z3.Range(logic.FIRST, logic.LAST))))
        self.texts[term.get_id()] = logic.Text(term, name, derived)
        return term

    def guess(self, reason: str, key: typing.Any, *kept: typing.Any
              ) -> logic.Formula:
        """Return a truth value that the solver may choose.

        :param reason: why it is not known.
        :param key: the same one gives the same truth value.
        :param kept: objects whose ids are in the key, and must stay theirs.
        """
        if key not in self._guesses:
            name = f'guess {len(self._guesses)}'
            self.reasons[name] = reason
            self._guesses[key] = z3.Bool(name)
            self._kept.append(kept)
        return self._guesses[key]

    def lacks(self, value: Iterable[tuple[logic.Formula, values.Alternative]]
              ) -> logic.Formula:
        """Return when an unknown value may be missing, or an error."""
        return logic.disj(*(
            logic.conj(guard, self.guess(each.reason, ('lacks', id(each)),
                                         each))
            for guard, each in value if isinstance(each, values.Unknown)))

    def beyond(self, reason: str, key: typing.Any, *kept: typing.Any
               ) -> logic.Formula:
        """Return a guess that is false for the machines searched for.

        :param key: as for :meth:`guess`, as is ``kept``.
        """
        is_new = key not in self._guesses
        made = self.guess(reason, key, *kept)
        if is_new:
            self.limits.append(Limit(logic.negated(made), reason))
        return made

    def facet(self, term: typing.Any, key: typing.Any,
              make: Callable[[str], tuple[typing.Any, ...]],
              compute: logic.Compute) -> logic.Facet | None:
        """Return values computed from a text, None if it is no whole field.

        :param make: makes their terms, given a name for them.
        """
        text = self.texts.get(term.get_id())
        if text is None:
            return None
        if key not in text.facets:
            text.facets[key] = logic.Facet(make(f'{key} of {text.name}'),
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
                    for text in self.texts.values()))

    def settle(self) -> tuple[list[logic.Formula], list[Limit]]:
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
            limits.append(Limit(
                z3.Or(*tried.values()),
                f'other text in {text.name} than was tried'))
        for index, known in enumerate(sorted(self._ranks)):
            domain.append(self._ranks[known] == index)
        return domain, limits
