# SPDX-License-Identifier: Apache-2.0

"""Models the values that a field may have on all machines at once.

A value consists of *alternatives*. Every alternative has a *guard*, which is a
formula of the solver z3, and exactly one guard holds on any machine. A field
``model`` that may be missing or a text has two alternatives::

    kind of model == 0 → missing
    kind of model == 1 → the text ``model``, which the solver chooses

Every question about the field is asked of both alternatives. A rule that sets
the field to "a" on some machines leaves three::

    the rule matched                         → "a"
    it did not match, and kind of model == 0 → missing
    it did not match, and kind of model == 1 → the text ``model``

Functions named ``where_…`` return a formula: it holds on the machines where
something is so. A *guess* is a truth value that the solver may choose, because
a proof cannot compute it. An *unknown* value is one about which a proof knows
nothing but the reason.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
import dataclasses
import functools
import itertools
import json
import typing
import weakref

import z3

from ironic_inspection_rules.engine.language import path as data_path
from ironic_inspection_rules.kit.proof import logic

Formula = logic.Formula

MOST_ALTERNATIVES = 64
"""Maximum number of alternatives; a value with more becomes unknown.

Every rule may double the alternatives, so formulas would grow without limit.
"""

_MOST_INNER_VALUES = 5_000
"""Maximum number of values inside a value, for the same reason.

A rule that inserts a value into itself doubles it.
"""

_MOST_PAIRS = 400
"""Maximum number of pairs of alternatives that are compared exactly."""


class Guesses(typing.Protocol):
    """Creates guesses, which are truth values that the solver may choose."""

    def guess(self, reason: str, *about: typing.Any) -> Formula:
        """Return a truth value that the solver may choose."""


class Alternative:
    """One possibility for a value, e.g. that it is missing or a text.

    Alternatives are never compared with ``==``. Two alternatives are the same
    if their ``identity`` is equal. Otherwise a formula says on which machines
    they differ, see :meth:`where_differs_from`.
    """

    @property
    def is_missing(self) -> bool:
        """Whether the value is missing."""
        return False

    @property
    def is_list(self) -> bool:
        """Whether it is certainly a list."""
        return False

    @property
    def kind(self) -> str:
        """The type of a value of which something is known."""
        # Callers must not ask for the type of an unknown value or an error. If
        # a caller does, the mistake makes the answer "unknown".
        raise AssertionError(f'{type(self).__name__} is of no type')

    @property
    def identity(self) -> Hashable:
        """A key that is equal only for alternatives that are the same.

        Alternatives with different keys may still be the same on some or all
        machines.
        """
        return id(self)

    @property
    def order(self) -> Hashable:
        """A key for the order of the entries inside, if identity has none.

        Only texts and some filters depend on this order, e.g. ``keys``. They
        use this key together with the identity.
        """
        return None

    @property
    def size(self) -> int:
        """The number of values inside the alternative, at any depth."""
        return 0

    def as_term(self) -> logic.Term | None:
        """Return a term of the solver for a plain value, otherwise None."""
        return None

    def opened(self) -> 'Alternative':
        """Return the alternative with its parts, if it has any.

        A constant list or mapping is a single value. Opened, it becomes an
        :class:`ItemList` or a :class:`Mapping`, which can be compared part by
        part with a value of the machine.
        """
        return self

    def step(self, name: str) -> 'Value':
        """Return the value under a name or an index."""
        return NOTHING

    def items_of_loop(self) -> list[tuple[Formula, 'Value']]:
        """Return the items of a loop, with formulas that the items exist.

        It is called only for a :class:`Const`, a :class:`Mapping` and an
        :class:`ItemList`.
        """
        raise AssertionError(f'{type(self).__name__} has no items')

    def where_differs_from(
        self, machine: Guesses, other: 'Alternative'
    ) -> Formula:
        """Return the formula that holds where another alternative differs.

        :param other: an alternative that is not an :class:`UnknownValue`.
            Constant lists and mappings on both sides have been opened, and
            at least one side is not a :class:`Const`.
        """
        # Values of different types are never the same.
        return logic.TRUE


Value = tuple[tuple[Formula, Alternative], ...]
"""Pairs of a guard and an alternative, e.g. a text that may be missing::

    ((kind == 0, Const(ABSENT)), (kind == 1, SolverTerm(String('model'))))
"""


@dataclasses.dataclass(frozen=True, eq=False)
class Const(Alternative):
    """A known value, which is JSON data or :data:`.path.ABSENT`."""

    value: typing.Any

    @property
    def is_missing(self) -> bool:
        return self.value is data_path.ABSENT

    @property
    def is_list(self) -> bool:
        return isinstance(self.value, list)

    @property
    def kind(self) -> str:
        """The type of the value; a missing value is of type ``null``."""
        # bool is checked before int because it is a subclass of int.
        if isinstance(self.value, bool):
            return 'boolean'
        if isinstance(self.value, int | float):
            return 'number'
        if isinstance(self.value, str):
            return 'text'
        if isinstance(self.value, list):
            return 'list'
        if isinstance(self.value, dict):
            return 'mapping'
        return 'null'

    @property
    def identity(self) -> Hashable:
        if self.is_missing:
            return None
        if isinstance(self.value, list | dict):
            # Rules can read the order of entries, so it is part of the key.
            return Const, json.dumps(self.value, default=repr)
        return data_path.hashable_key(self.value)

    def as_term(self) -> logic.Term | None:
        """Return the term of a text, a boolean or a number, otherwise None."""
        # Every JSON type has its own sort in the solver. bool is checked
        # before int, because it is a subclass and true would become 1.
        if isinstance(self.value, str):
            return logic.text_term(self.value)
        if isinstance(self.value, bool):
            return z3.BoolVal(self.value)
        if isinstance(self.value, int | float):
            return logic.number_term(self.value)
        return None

    def opened(self) -> Alternative:
        """Return a list or a mapping with its parts as constants."""
        if isinstance(self.value, dict):
            return Mapping.of(self.value)
        if isinstance(self.value, list):
            items = tuple(WrittenItem(const(item)) for item in self.value)
            return ItemList(z3.IntVal(len(items)), items, 'a list')
        return self

    def step(self, name: str) -> 'Value':
        return const(data_path.get(self.value, (name,)))

    def items_of_loop(self) -> list[tuple[Formula, 'Value']]:
        if not isinstance(self.value, list):
            return [(logic.TRUE, only(self))]
        return [(logic.TRUE, const(item)) for item in self.value]

    def where_differs_from(
        self, machine: Guesses, other: Alternative
    ) -> Formula:
        return _where_terms_differ(self.as_term(), other.as_term())


@dataclasses.dataclass(frozen=True, eq=False)
class SolverTerm(Alternative):
    """A truth value, a number or a text that the solver chooses."""

    term: logic.Term

    @property
    def is_text(self) -> bool:
        return bool(z3.is_string(self.term))

    @property
    def is_boolean(self) -> bool:
        return bool(z3.is_bool(self.term))

    @property
    def kind(self) -> str:
        """The type of the value, which follows from the sort of the term."""
        if self.is_text:
            return 'text'
        if self.is_boolean:
            return 'boolean'
        return 'number'

    @property
    def identity(self) -> Hashable:
        return 'term', self.term.get_id()

    def as_term(self) -> logic.Term | None:
        return self.term

    def where_differs_from(
        self, machine: Guesses, other: Alternative
    ) -> Formula:
        return _where_terms_differ(self.term, other.as_term())


class ProofName(data_path.Key):
    """The name of an entry that a proof adds to the data of a node.

    The entry is another form of an entry that the node has, e.g. capabilities
    by name, which the node has as one text. The name is equal only to itself:
    a rule may write an entry of its own that is called ``#capabilities``.
    """

    __slots__ = ()

    # Python asks the right side of "==" first only if it is of a subclass. The
    # base is therefore Key, the class of tokens in paths, and not str.
    def __eq__(self, other: object) -> bool:
        return self is other

    def __ne__(self, other: object) -> bool:
        return self is not other

    __hash__ = str.__hash__

    def __repr__(self) -> str:
        # Without quotes, so that terms of the solver that list names differ.
        return str(self)


BY_NAME = {
    'capabilities': ProofName('#capabilities'),
    'traits': ProofName('#traits'),
}
"""The entry that has capabilities or traits by name, by the entry of the node
that has them as one text or as a list."""


_mapping_numbers: dict[Hashable, int] = {}
"""The numbers of mappings by content; see :attr:`Mapping.identity`."""


@dataclasses.dataclass(frozen=True, eq=False)
class Mapping(Alternative):
    """A mapping of the machine, together with the entries that rules changed.

    :ivar cell: the source of all entries that are not in ``entries``. With a
        :class:`.cell.Cell` they are the entries of the machine, with an
        :class:`UnknownValue` they are unknown, and with None there are none.
    :ivar entries: the entries that rules have written or removed, by name.
    :ivar writes: a key for the writes to the mapping, in their order; None if
        rules have made it with all its entries, or not changed it.
    """

    cell: typing.Any
    entries: typing.Mapping[str, 'Value']
    writes: 'UnknownValue | None' = None

    @classmethod
    def of(cls, known: dict[str, typing.Any]) -> 'Mapping':
        """Build a mapping whose entries are all known."""
        entries = {name: const(value) for name, value in known.items()}
        return cls(cell=None, entries=entries)

    @property
    def kind(self) -> str:
        return 'mapping'

    def entry(self, name: str) -> 'Value':
        """Return the entry with a name; it may be missing.

        If rules have not written the entry, it is the entry of the machine.
        """
        if name in self.entries:
            return self.entries[name]
        name_of_form = BY_NAME.get(name)
        if name_of_form is not None and name_of_form in self.entries:
            # A rule has changed capabilities or traits by name. The resulting
            # text is unknown, because it may have the names in any order.
            by_name = self.entries[name_of_form]
            return unknown(f'{name} as a text', by_name, order(by_name))
        if self.cell is None:
            # A rule has made the whole mapping, so it has no other entries.
            return NOTHING
        return typing.cast(Value, self.cell.child(name))

    def step(self, name: str) -> 'Value':
        return self.entry(name)

    def items_of_loop(self) -> list[tuple[Formula, 'Value']]:
        # A loop over a mapping has one item, which is the mapping itself.
        return [(logic.TRUE, only(self))]

    @functools.cached_property
    def identity(self) -> Hashable:
        """A key for the mapping's field and the entries that rules wrote.

        The key is the class and a number, e.g. ``(Mapping, 7)``. Mappings have
        the same number if they have the same field of the machine and the same
        written entries.
        """
        keys_of_entries = []
        for name in sorted(self.entries):
            keys_of_entries.append((name, fingerprint(self.entries[name])))
        content = id(self.cell), tuple(keys_of_entries)
        # A number replaces the content, because the content includes the keys
        # of inner mappings and would grow with the depth.
        next_number = len(_mapping_numbers)
        number = _mapping_numbers.setdefault(content, next_number)
        return Mapping, number

    @functools.cached_property
    def order(self) -> Hashable:
        orders_inside = tuple(map(order, self.entries.values()))
        return _number_of_order(fingerprint(self.own_order), orders_inside)

    @property
    def own_order(self) -> tuple[typing.Any, ...]:
        """What the order of the entries depends on, but not inside of them."""
        return self.writes, tuple(self.entries)

    @functools.cached_property
    def size(self) -> int:
        return sum(map(size, self.entries.values()))

    def with_entry(self, name: str, entry: 'Value') -> 'Mapping':
        """Return the mapping after a write to an entry.

        :param entry: the entry after the write; missing if it is removed.
        """
        writes = unknown_value(
            'the order of entries', *self.own_order, name, entry
        )
        return Mapping(self.cell, {**self.entries, name: entry}, writes)

    def with_changed_entry(self, name: str, entry: 'Value') -> 'Mapping':
        """Return the mapping after a write inside of an entry that exists.

        The order of the entries does not change.
        """
        return Mapping(self.cell, {**self.entries, name: entry}, self.writes)

    def where_empty(self, machine: Guesses) -> Formula:
        """Return the formula that holds where the mapping has no entries.

        The entries that rules wrote must be missing, and the machine must not
        have others. For example, if a rule has removed ``extra.rack``, the
        formula for ``extra`` is that the machine has no other entry than
        ``rack`` there. If it is unknown which other entries there are, a guess
        replaces the second part of the formula.
        """
        entries_gone = logic.TRUE
        for name, entry in self.entries.items():
            # A rule that removes an entry writes a missing value.
            is_gone = _where_gone(machine, name, entry)
            entries_gone = logic.conj(entries_gone, is_gone)
        if entries_gone is logic.FALSE:
            # At least one entry exists on every machine.
            return logic.FALSE
        if self.cell is None:
            # Rules have made the whole mapping, so it has no entries of the
            # machine.
            return entries_gone
        if isinstance(self.cell, UnknownValue):
            # The solver chooses because the other entries are unknown.
            no_others = machine.guess(self.cell.reason, 'empty', self)
        else:
            no_others = self.cell.where_only(self.entries)
        return logic.conj(entries_gone, no_others)

    def where_differs_from(
        self, machine: Guesses, other: Alternative
    ) -> Formula:
        """Return the formula that holds where another alternative differs.

        The node before a rule and the node after it have the same cell, so
        they differ if an entry that the rule has written differs.
        """
        if not isinstance(other, Mapping):
            return logic.TRUE
        if self.cell is not other.cell:
            # The mappings come from two places of a machine. A guess is needed
            # because entries that no rule names may differ.
            return guess_difference(machine, self, other)
        # The entries that no rule has written are the same in both.
        differing = []
        for name in sorted({*self.entries, *other.entries}):
            entries_differ = where_different(
                machine, self.entry(name), other.entry(name)
            )
            differing.append(entries_differ)
        return logic.disj(*differing)


_order_numbers: dict[Hashable, int] = {}


def _number_of_order(*content: Hashable) -> Hashable:
    """Return a key of the content of an order, which does not grow with it.

    Values may share their parts, so a key with the keys of all parts would be
    much larger than the value.
    """
    next_number = len(_order_numbers)
    return 'order', _order_numbers.setdefault(content, next_number)


def _where_gone(machine: Guesses, name: str, entry: 'Value') -> Formula:
    """Return the formula that holds where an entry of a mapping is missing.

    For an entry that a rule has removed, the formula is "the rule has
    matched".

    :param name: the name of the entry, e.g. ``cpu``, or a :class:`ProofName`.
    """
    parts = []
    for guard, alternative in entry:
        is_other_form = isinstance(name, ProofName)
        if is_other_form and isinstance(alternative, Mapping):
            # The text of capabilities is missing if there are none.
            parts.append(logic.conj(guard, alternative.where_empty(machine)))
        elif alternative.is_missing:
            parts.append(guard)
        elif isinstance(alternative, UnknownValue):
            is_absent = machine.guess(
                alternative.reason, 'absent', alternative
            )
            parts.append(logic.conj(guard, is_absent))
    return logic.disj(*parts)


class LenientMapping(Mapping):
    """An item of a loop that is written in a rule and contains fields.

    The item exists even if some of these fields are missing. However, a rule
    that reads the whole item gets a value only if all of the fields have one.
    """


@dataclasses.dataclass(frozen=True, eq=False)
class WrittenItem:
    """An item of a list that was written by a rule, not by the machine."""

    value: 'Value'


def _missing() -> 'Value':
    return NOTHING


@dataclasses.dataclass(frozen=True, eq=False)
class ItemList(Alternative):
    """A list with its first items and a length that the solver chooses.

    :ivar items: the first items, which are the only ones examined. They are
        a :class:`WrittenItem` or a :class:`.cell.Cell`, which both have a
        ``value``.
    :ivar name: the name of the field, for the reasons of answers.
    :ivar uses: everything that reads the length or the position of an item,
        or acts for every item. If it is empty, rules only search for items.
        The unexamined items are then like the others, and the search does not
        need longer lists if rules search for few items; see
        :class:`.search.MachineSearch`.
    :ivar rest: the value that rules have given to the unexamined items;
        missing if no rule has written to any of them.
    """

    length: Formula
    items: tuple[typing.Any, ...]
    name: str
    uses: set[str] = dataclasses.field(default_factory=set)
    rest: 'Value' = dataclasses.field(default_factory=_missing)

    @property
    def is_list(self) -> bool:
        return True

    @property
    def kind(self) -> str:
        return 'list'

    @property
    def where_longer(self) -> Formula:
        """The formula that the list has more items than are examined."""
        return self.length > len(self.items)

    @property
    def has_written_items(self) -> bool:
        """Whether a rule has written or changed some of the items."""
        return any(isinstance(item, WrittenItem) for item in self.items)

    @property
    def identity(self) -> Hashable:
        """A key made of the length, the items and the rest of the list.

        Lists with equal keys are the same on every machine.
        """
        keys: list[Hashable] = []
        for item in self.items:
            if isinstance(item, WrittenItem):
                keys.append(fingerprint(item.value))
            else:
                # The id suffices because every field of the machine is one
                # object.
                keys.append(id(item))
        keys.append(fingerprint(self.rest))
        return ItemList, self.length.get_id(), tuple(keys)

    @property
    def size(self) -> int:
        # Items of the machine are skipped because rules do not make them
        # grow.
        return sum(
            size(item.value)
            for item in self.items
            if isinstance(item, WrittenItem)
        )

    @functools.cached_property
    def order(self) -> Hashable:
        orders_inside = [
            order(item.value)
            for item in self.items
            if isinstance(item, WrittenItem)
        ]
        if not any(orders_inside):
            return None
        return _number_of_order(*orders_inside)

    def step(self, name: str) -> 'Value':
        """Return the item at an index; it is missing if the list is shorter.

        :param name: the index as written in a path, e.g. "3". Any other name,
            e.g. "size", is missing in every list.
        """
        position = data_path.index(name)
        if position is None:
            return NOTHING
        # A rule that reads item 3 may need a list with four items, although
        # loops need only a few. The search for machines must then try longer
        # lists too.
        self.uses.add(name)
        if position < len(self.items):
            item = self.items[position].value
        else:
            # The item may be anything, because only the first are examined.
            item = unknown(f'item {position} of {self.name}', self)
        # This is not a bool but a formula about all machines.
        where_long_enough = self.length > position
        return choose(where_long_enough, chosen=item, otherwise=NOTHING)

    def items_of_loop(self) -> list[tuple[Formula, 'Value']]:
        """Return the items of a loop, with formulas that the items exist.

        Items that are not examined are omitted.
        """
        items = []
        for index, item in enumerate(self.items):
            exists = logic.settled(self.length > index)
            items.append((exists, item.value))
        return items

    def where_differs_from(
        self, machine: Guesses, other: Alternative
    ) -> Formula:
        """Return the formula that holds where another alternative differs.

        Lists differ if their lengths differ, or two items at the same index.
        Two lists without written items come from two places of the machine,
        so the solver chooses whether they differ.
        """
        if not isinstance(other, ItemList):
            return logic.TRUE
        if not self.has_written_items and not other.has_written_items:
            return guess_difference(machine, self, other)
        differing = [self.length != other.length]
        # One of the two may have more examined items than the other.
        pairs = list(zip(self.items, other.items, strict=False))
        for index, (item, other_item) in enumerate(pairs):
            items_differ = where_different(
                machine, item.value, other_item.value
            )
            # The items count only if the list is long enough to have them.
            differing.append(logic.conj(self.length > index, items_differ))
        # If both lengths are the same term, both are the same list of the
        # machine. Unexamined items then differ only if rules changed them.
        others_differ = where_different(machine, self.rest, other.rest)
        if not self.length.eq(other.length):
            others_differ = guess_difference(machine, self, other)
        has_more = self.length > len(pairs)
        differing.append(logic.conj(has_more, others_differ))
        return logic.disj(*differing)


@dataclasses.dataclass(frozen=True, eq=False)
class TraitNames(Alternative):
    """The list of a node's traits.

    :ivar mapping: maps the name of a trait to whether the node has it.
    """

    mapping: 'Value'

    @property
    def kind(self) -> str:
        return 'list'

    @property
    def identity(self) -> Hashable:
        # The order of the names is that in which rules have added traits.
        return TraitNames, fingerprint(self.mapping), order(self.mapping)

    def step(self, name: str) -> 'Value':
        # The order of the traits of a node is unknown.
        return unknown('one of the traits by its number', self, name)


@dataclasses.dataclass(frozen=True, eq=False)
class UnknownValue(Alternative):
    """A value about which nothing is known, with the reason.

    The value may be of any type, missing, or an error. It represents the
    result of an unknown function of ``about``. :func:`unknown_value` returns
    the same object for the same arguments, so that two rules with the same
    computation are known to have the same result.

    :ivar reason: the reason why nothing is known, for users.
    """

    reason: str
    about: tuple[typing.Any, ...] = ()

    def child(self, name: str) -> 'Value':
        """Return the entry that it has under a name if it is a mapping."""
        return unknown(self.reason, self, name)

    def step(self, name: str) -> 'Value':
        return self.child(name)

    def where_differs_from(
        self, machine: Guesses, other: Alternative
    ) -> Formula:
        return guess_difference(machine, self, other)


@dataclasses.dataclass(frozen=True, eq=False)
class Failed(Alternative):
    """A value that cannot be computed, so that reading it is an error."""

    @property
    def identity(self) -> Hashable:
        return Failed

    def step(self, name: str) -> 'Value':
        return only(self)


# Keys contain ids of objects, which other objects may get later. This is safe
# because the unknown value keeps the objects that it is about, and its entry
# is removed together with the last user of the value.
_unknown: weakref.WeakValueDictionary[Hashable, UnknownValue] = (
    weakref.WeakValueDictionary()
)


def unknown(reason: str, *about: typing.Any) -> Value:
    """Return a value that is unknown; see :func:`unknown_value`."""
    return only(unknown_value(reason, *about))


def unknown_value(reason: str, *about: typing.Any) -> UnknownValue:
    """Return an unknown value, the same one for equal arguments.

    Two rules that sort the same list get the same unknown value. A proof then
    knows that their results do not differ, although it does not know them.

    :param reason: the reason why the value is unknown, for users.
    :param about: everything on which the value depends, e.g. the filter and
        the list. Equal arguments give the same unknown value.
    """
    key = reason, *map(fingerprint, about)
    value = _unknown.get(key)
    if value is None:
        value = UnknownValue(reason, about)
        _unknown[key] = value
    return value


def fingerprint(thing: typing.Any) -> Hashable:
    """Return a key that is equal only for things that are the same.

    Guesses and unknown values are kept by such keys, so that the same question
    about the same things does not make a second one. The key is::

        an alternative         → its identity
        a formula of z3        → its number in the solver
        a value, a sequence    → the keys of its parts
        an object with a
        ``fingerprint``        → that
        anything else, a text  → the thing itself

    :param thing: an alternative, a value, a formula, text, or a sequence of
        them. It must be kept as long as the key, because the key contains ids
        of objects, which other objects may get after these are freed.
    """
    if isinstance(thing, Alternative):
        return thing.identity
    if isinstance(thing, z3.AstRef):
        # The solver has only one object for equal formulas.
        return z3.AstRef, thing.get_id()
    if isinstance(thing, tuple | list):
        return tuple(map(fingerprint, thing))
    if isinstance(thing, data_path.Key) and thing == data_path.APPEND:
        # As a token, this text is the end of a list. The name is not.
        return data_path.Key, data_path.APPEND
    # Other classes, e.g. a scope of fields, provide their own key.
    its_fingerprint = getattr(thing, 'fingerprint', None)
    if its_fingerprint is not None:
        return typing.cast(Hashable, its_fingerprint)
    return typing.cast(Hashable, thing)


def only(alternative: Alternative) -> Value:
    """Return a value with a single alternative."""
    return ((logic.TRUE, alternative),)


def const(value: typing.Any) -> Value:
    """Return a value that is known to be the given constant."""
    return only(Const(value))


NOTHING = const(data_path.ABSENT)
FAILED = only(Failed())


def join(parts: Iterable[tuple[Formula, Value]]) -> Value:
    """Join guarded values into one value.

    The guard of an alternative is then that both the guard of its value and
    its own guard hold. Alternatives that are the same are merged: their guard
    is that one of their guards holds. If the value is "a" where a rule
    matched, and elsewhere "b" or "a", the result is::

        the rule matched, or it did not and the other is "a" → "a"
        the rule did not match, and the other is "b"         → "b"

    With more than :data:`MOST_ALTERNATIVES` the value is unknown.

    :param parts: pairs of a guard and a value. Exactly one guard holds on any
        machine.
    """
    joined: dict[Hashable, tuple[Formula, Alternative]] = {}
    for guard_of_part, value in parts:
        for guard, alternative in value:
            both_hold = logic.conj(guard_of_part, guard)
            if both_hold is logic.FALSE:
                # No machine has this alternative.
                continue
            key = alternative.identity
            if key in joined:
                earlier_guard, _same = joined[key]
                any_holds = logic.disj(earlier_guard, both_hold)
                joined[key] = any_holds, alternative
            else:
                joined[key] = both_hold, alternative
    if len(joined) > MOST_ALTERNATIVES:
        # This limits the time of a proof, but the proof may get no answer.
        return unknown(
            'a value with too many alternatives', tuple(joined.values())
        )
    return tuple(joined.values())


def order(value: Value) -> Hashable:
    """Return a key for the order of entries inside, see ``Alternative``."""
    orders = [alternative.order for _guard, alternative in value]
    if not any(orders):
        return None
    return tuple(orders)


def size(value: Value) -> int:
    """Count the values inside a value, including its own alternatives.

    For example, the count is four if the value may be missing or a mapping of
    two texts.
    """
    return sum(1 + alternative.size for _guard, alternative in value)


def choose(guard: Formula, chosen: Value, otherwise: Value) -> Value:
    """Combine the value where a guard holds with the value where it does not.

    This is the value of a field after a rule: the new value where the rule
    matched, and the old value elsewhere. For example, after a rule that sets
    the resource class to "big", the class is::

        the rule matched                              → "big"
        it did not match, and the class was null      → null
        it did not match, and the class was a text    → that text

    Two mappings of one cell, i.e. of one field of the machine, and two
    mappings that rules have made, are merged into one mapping whose entries
    depend on the guard. Otherwise a hundred rules that set one entry each
    would leave 2 ** 100 alternatives.

    :param guard: a formula, e.g. that the rule matched.
    :param chosen: the value where the guard holds.
    :param otherwise: the value where it does not hold.
    """
    if chosen is otherwise or guard is logic.TRUE:
        return chosen
    if guard is logic.FALSE:
        return otherwise
    if size(chosen) + size(otherwise) > _MOST_INNER_VALUES:
        return unknown(
            'a value with too many entries', guard, chosen, otherwise
        )
    opposite = logic.negated(guard)
    parts: list[tuple[Formula, Value]] = []
    # The alternatives of the other value that are not merged yet.
    others_left = list(otherwise)
    for inner_guard, alternative in chosen:
        is_chosen = logic.conj(guard, inner_guard)
        # If the alternative is the node after a rule, this is the node before
        # the rule, with its own guard.
        index = _find_mapping_of_cell(alternative, others_left)
        if index is None:
            parts.append((is_chosen, only(alternative)))
            continue
        guard_before, before = others_left.pop(index)
        is_before_chosen = logic.conj(opposite, guard_before)
        is_either_chosen = logic.disj(is_chosen, is_before_chosen)
        assert isinstance(alternative, Mapping)
        assert isinstance(before, Mapping)
        merged = _choose_entries(guard, alternative, before)
        parts.append((is_either_chosen, only(merged)))
    for inner_guard, alternative in others_left:
        parts.append((logic.conj(opposite, inner_guard), only(alternative)))
    return join(parts)


def _choose_entries(guard: Formula, one: Mapping, other: Mapping) -> Mapping:
    """Merge two mappings of one field of the machine, entry by entry.

    An entry comes from ``one`` if the guard holds, otherwise from ``other``.
    For example, after a rule that sets the name of a node, the name is the new
    one where the rule matched, and no other entry changes.
    """
    entries = {}
    for name in (*one.entries, *other.entries):
        entries[name] = choose(guard, one.entry(name), other.entry(name))
    return Mapping(one.cell, entries, _choose_writes(guard, one, other))


def _choose_writes(
    guard: Formula, one: Mapping, other: Mapping
) -> UnknownValue | None:
    """Return the key for the writes to one of two mappings, as a guard says.

    Without it, the order of the entries would be lost if rules write the same
    entries in one order where they match, and in another order elsewhere.
    """
    one_order = one.own_order
    other_order = other.own_order
    if one_order == other_order:
        return one.writes
    return unknown_value('the order of entries', guard, one_order, other_order)


def _find_mapping_of_cell(
    alternative: Alternative,
    others: list[tuple[Formula, Alternative]],
) -> int | None:
    """Return the index of another mapping of the same field.

    Both mappings have the same cell, which is the field of the machine, or
    none if rules have made them.

    :param alternative: any alternative, e.g. ``node`` after a rule.
    :param others: pairs of a guard and an alternative, e.g. ``node`` before
        the rule.
    :returns: None if there is no such mapping, if the rule has changed nothing
        so that both are the same mapping, or if the alternative is not a
        mapping.
    """
    if not isinstance(alternative, Mapping):
        return None
    for index, (_guard, other) in enumerate(others):
        if isinstance(other, Mapping) and other.cell is alternative.cell:
            if other is alternative:
                # Both are the same object, and join() merges them.
                return None
            return index
    return None


def transform(value: Value, function: Callable[[Alternative], Value]) -> Value:
    """Apply a function to every alternative, and join the results.

    For example, a function that trims texts turns a value that is missing,
    " a" or "a" into a value that is missing or "a".
    """
    return join((guard, function(alternative)) for guard, alternative in value)


KeepGoing = Callable[[], typing.Any]
"""Raises an exception if no time is left for a proof."""


def keep_going() -> None:
    """Do nothing, so that the work may take any time."""


def product(
    values: Sequence[Value], keep_going: KeepGoing = keep_going
) -> Iterator[tuple[Formula, tuple[Alternative, ...]]]:
    """Yield all combinations of the alternatives of values, with guards.

    For example, a count that is missing, null or a number and a vendor that is
    missing or a text have six combinations, which the caller decides one by
    one.

    :param keep_going: called before every combination, because a text with
        many fields may have too many combinations to wait for.
    :returns: pairs of a guard and a combination of alternatives. The guard is
        the conjunction of their guards. Impossible combinations are skipped.
    """
    for pairs in itertools.product(*values):
        keep_going()
        all_hold = logic.conj(*(guard for guard, _alternative in pairs))
        if all_hold is not logic.FALSE:
            yield all_hold, tuple(alternative for _guard, alternative in pairs)


def step(value: Value, *names: str) -> Value:
    """Follow names and indexes below a value.

    For example, ``cpu`` and ``count`` lead from the inventory to the number of
    processors, which is missing if the inventory has no ``cpu`` or if that has
    no ``count``.
    """
    for name in names:
        value = join(
            (guard, alternative.step(name)) for guard, alternative in value
        )
    return value


def where(value: Value, test: Callable[[Alternative], bool]) -> Formula:
    """Return the formula that holds where the alternative passes a test.

    :param test: called for every alternative, e.g. :func:`is_missing`.
    """
    guards = [guard for guard, alternative in value if test(alternative)]
    return logic.disj(*guards)


def is_missing(alternative: Alternative) -> bool:
    """Return whether an alternative is a missing value."""
    return alternative.is_missing


def is_failed(alternative: Alternative) -> bool:
    """Return whether an alternative cannot be computed."""
    return isinstance(alternative, Failed)


def has_no_value(alternative: Alternative) -> bool:
    """Return whether an alternative is missing or an error."""
    return alternative.is_missing or isinstance(alternative, Failed)


def where_absent(value: Value) -> Formula:
    """Return the formula that holds where a value is missing."""
    return where(value, is_missing)


def where_failed(value: Value) -> Formula:
    """Return the formula that holds where a value cannot be computed."""
    return where(value, is_failed)


def where_different(machine: Guesses, one: Value, other: Value) -> Formula:
    """Return the formula that holds where two values differ.

    Proofs use it to find out whether a rule changes something, or whether two
    rules leave different results. For example, a name that is missing or a
    text ``name`` differs from the known text "node-1" if it is missing, or if
    it is a text and ``name != "node-1"`` holds.
    """
    if one is other or fingerprint(one) == fingerprint(other):
        return logic.FALSE
    if len(one) * len(other) > _MOST_PAIRS:
        # Comparing every pair would take too long.
        return _where_identities_differ(machine, one, other)
    parts = []
    for guard, (alternative, other_alternative) in product([one, other]):
        differing = _where_alternatives_differ(
            machine, alternative, other_alternative
        )
        parts.append(logic.conj(guard, differing))
    return logic.disj(*parts)


def _where_identities_differ(
    machine: Guesses, one: Value, other: Value
) -> Formula:
    """Return the formula that two values with many alternatives differ.

    Comparing every pair of alternatives would take too long. Therefore values
    with the same alternative are equal, and the solver chooses whether all
    others differ.
    """
    guard_by_identity = {
        alternative.identity: guard for guard, alternative in other
    }
    cases_of_same = []
    for guard, alternative in one:
        guard_of_other = guard_by_identity.get(alternative.identity)
        if guard_of_other is not None:
            # If both guards hold, both values are this alternative.
            cases_of_same.append(logic.conj(guard, guard_of_other))
    are_not_same = logic.negated(logic.disj(*cases_of_same))
    do_differ = machine.guess(
        'whether two values are the same', 'differ', _Pair(one, other)
    )
    return logic.conj(are_not_same, do_differ)


def _where_alternatives_differ(
    machine: Guesses, one: Alternative, other: Alternative
) -> Formula:
    """Return the formula that holds where two alternatives differ.

    For example, a text ``name`` differs from the constant "a" if
    ``name != "a"``, and always from the constant 8. If a value is unknown, the
    solver chooses whether it differs.
    """
    if one.identity == other.identity:
        # They are the same on every machine.
        return logic.FALSE
    if isinstance(one, Const) and isinstance(other, Const):
        return logic.of_bool(not data_path.is_same(one.value, other.value))
    # A constant list or mapping is compared part by part.
    opened = one.opened()
    other_opened = other.opened()
    if isinstance(other_opened, UnknownValue):
        return guess_difference(machine, opened, other_opened)
    return opened.where_differs_from(machine, other_opened)


def _where_terms_differ(
    one: logic.Term | None, other: logic.Term | None
) -> Formula:
    """Return the formula that holds where two terms differ.

    Terms of different sorts always differ, e.g. 1 differs from 1.0 and true,
    although conditions treat them as equal. None, which stands for no term,
    differs from everything.
    """
    if one is None or other is None or one.sort() != other.sort():
        return logic.TRUE
    return one != other


def guess_difference(
    machine: Guesses, one: Alternative, other: Alternative
) -> Formula:
    """Return the guess that two alternatives differ.

    The solver chooses whether they do. The guess is the same for either order
    of the two.
    """
    return machine.guess(
        'whether two values are the same', 'differ', _Pair(one, other)
    )


@dataclasses.dataclass(frozen=True, eq=False)
class _Pair:
    """A pair of alternatives or values whose order does not matter.

    It makes a guess about "a" and "b" the same as a guess about "b" and "a".
    """

    one: typing.Any
    other: typing.Any

    @property
    def fingerprint(self) -> Hashable:
        """A key that is equal for both orders of the pair."""
        # A set is used instead of sorting, because the keys have several
        # types and contain addresses.
        return frozenset((fingerprint(self.one), fingerprint(self.other)))
