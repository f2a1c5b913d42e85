# SPDX-License-Identifier: Apache-2.0

"""One field of a machine, of which nobody knows the type.

What a machine sends may be missing, or of any type: nobody checks it before
the rules do. What Ironic keeps, such as an attribute of a node, is of the
type of its column.
"""

from collections.abc import Iterable
import functools
import typing

import z3

from ironic_inspection_rules.kit.machine import inventory_fields
from ironic_inspection_rules.kit.proof import logic
from ironic_inspection_rules.kit.proof import value as values
from ironic_inspection_rules.plugins.actions import schema

Value = values.Value

LONGEST = 5
"""The number of items of a list that are looked at."""

_KINDS = {**dict.fromkeys((*schema.TEXT_KINDS, 'a UUID', 'a MAC address'),
                          'text'),
          'true or false': 'boolean', 'a mapping': 'mapping'}
_ANY = ('boolean', 'number', 'float', 'text', 'mapping', 'list')
CAPABILITIES = ('node', 'properties', '#capabilities')
"""Where the capabilities of a node are, each by its name."""

_CAPABILITY = r'[^\s,]+'

CAPABILITY_TEXT = ('node', 'properties', 'capabilities')
"""Where rules find them as one text, which is not known."""

TRAITS = ('node', '#traits')
"""Where the traits of a node are, each true where the node has it."""


class Cell:
    """One field: ``steps`` lead to it from the name of a root."""

    def __init__(self, machine: typing.Any, steps: tuple[str, ...],
                 field: inventory_fields.Field | None,
                 is_item: bool = False) -> None:
        self._is_item = is_item
        self.machine = machine
        self.steps = steps
        self.name = '.'.join(steps)
        if is_item:
            self.name = f'{".".join(steps[:-1])}[{steps[-1]}]'
        self._field = field
        self.below: dict[str, Cell] = {}
        self.items: list[Cell] = []
        self.empty = z3.Bool(f'{self.name} is empty')
        self._only: dict[frozenset[str], logic.Formula] = {
            frozenset(): self.empty}
        self.kinds = self._kinds()
        self.kind = z3.Int(f'kind of {self.name}')
        self.terms: dict[str, typing.Any] = {}
        self.uses: set[str] = set()
        if len(self.kinds) > 1:
            machine.domain.append(z3.And(self.kind >= 0,
                                         self.kind < len(self.kinds)))

    @property
    def type(self) -> str | None:
        """The type that inspection is known to report it with."""
        if self._field is None:
            return None
        if self._field.type is None and self._field.names:
            return 'mapping'
        return self._field.type

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
            return values.unknown('capabilities as a text',
                                  self.child(CAPABILITIES[-1]))
        if name not in self.below:
            below = self.below[name] = self.machine.cell(
                (*self.steps, name), self._field)
            self.machine.domain += [
                z3.Implies(only, self._is_gone(below))
                for names, only in self._only.items() if name not in names]
        return self.below[name].value

    @staticmethod
    def _is_gone(below: 'Cell') -> logic.Formula:
        if below.steps == CAPABILITIES:
            return below.empty
        return values.absent(below.value)

    def has_only(self, names: Iterable[str]) -> logic.Formula:
        """Return when a mapping has nothing but entries of these names."""
        # The text of capabilities is not there without any of them.
        wanted = frozenset(name for name in names
                           if (*self.steps, name) != CAPABILITY_TEXT)
        if wanted in self._only:
            return self._only[wanted]
        made = z3.Bool(f'{self.name} has only {sorted(wanted)}')
        for name in wanted:
            self.child(name)
        for name, below in self.below.items():
            if name not in wanted:
                self.machine.domain.append(
                    z3.Implies(made, self._is_gone(below)))
        for known, only in self._only.items():
            for less, more, fewer, others in (
                    (known, wanted, only, made), (wanted, known, made, only)):
                if less < more:
                    self.machine.domain += [
                        z3.Implies(fewer, others),
                        z3.Implies(logic.conj(others, *(
                            self._is_gone(self.below[name])
                            for name in sorted(more - less))), fewer)]
        self._only[wanted] = made
        return made

    def others(self) -> Iterable[tuple[frozenset[str], logic.Formula]]:
        """Return when it has only entries of some names, those asked for."""
        return self._only.items()

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
            return ('absent', 'null', known)
        return ('null', *_ANY) if self._is_item else ('absent', 'null', *_ANY)

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
            self.items = [
                self.machine.cell((*self.steps, str(index)), self._field, True)
                for index in range(LONGEST)]
            return values.only(values.ItemList(
                length, tuple(self.items), self.name, self.uses))
        if kind == 'text':
            term = self.machine.text(self.name)
            if self.steps[:-1] == CAPABILITIES:
                self.machine.domain.append(z3.InRe(
                    term, self.machine.alphabet.language(_CAPABILITY)))
        elif kind == 'boolean':
            term = z3.Bool(self.name)
        elif kind == 'float':
            term = z3.Real(f'{self.name} as a float')
        else:
            term = z3.Int(self.name)
        self.terms[kind] = term
        return values.only(values.SolverTerm(term))


class Limit(typing.NamedTuple):
    """A limit of the search, with what it leaves out.

    ``cell`` is the list whose length it is, if it is one.
    """

    formula: logic.Formula
    reason: str
    cell: Cell | None = None
