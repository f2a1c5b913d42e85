# SPDX-License-Identifier: Apache-2.0

"""Values on all machines at once: alternatives, guarded by formulas.

A value is one of several alternatives, each under a guard, a formula of z3;
exactly one guard holds for a machine. What rules write out is known, what a
machine sends is a cell that the solver fills.

So a field that may be missing, a number or a text has three alternatives, and
what is asked of it is asked of each of them. A rule that changes the field
for some machines leaves the new value under the guard "the rule matched" and
the old ones under its opposite.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
import dataclasses
import functools
import itertools
import typing
import weakref

import z3

from ironic_inspection_rules.engine.language import path as data_path
from ironic_inspection_rules.kit.proof import logic

Formula = logic.Formula

MOST_ALTERNATIVES = 64
"""Most alternatives of a value: one with more becomes an unknown value.

Every rule may double them, and formulas with them would grow without end.
"""

_MOST_INNER_VALUES = 5_000
"""Most values inside of a value, for the same reason.

A rule that puts a value into itself doubles it.
"""

_MOST_PAIRS = 400
"""Most pairs of alternatives of two values that are compared exactly."""


class Guesses(typing.Protocol):
    """Makes truth values that the solver may choose."""

    def guess(self, reason: str, *about: typing.Any) -> Formula:
        """Return a truth value that the solver may choose."""


class Alternative:
    """One of the things that a value may be: missing, say, or a text.

    Two alternatives are never compared with ``==``: they are the same if
    their ``identity`` is, and whether they are equal on a machine is a
    formula.
    """

    @property
    def is_missing(self) -> bool:
        """Whether it stands for no value."""
        return False

    @property
    def is_list(self) -> bool:
        """Whether it is a list for sure."""
        return False

    @property
    def kind(self) -> str:
        """The type of a value of which something is known."""
        # Callers do not ask about an unknown value or an error. One that does
        # is a mistake, for which a question has the answer "unknown".
        raise AssertionError(f'{type(self).__name__} is of no type')

    @property
    def identity(self) -> Hashable:
        """A key: alternatives with equal keys are the same on any machine.

        With different keys they may be the same on some or on all machines.
        """
        return id(self)

    @property
    def size(self) -> int:
        """How many values are inside of it, at any depth."""
        return 0

    def as_term(self) -> logic.Term | None:
        """Return a plain value as a term of the solver, else None."""
        return None

    def opened(self) -> 'Alternative':
        """Return the alternative with its parts, if it has any.

        A constant list or mapping is one value. As an :class:`ItemList` or a
        :class:`Mapping` it can be compared with one of the machine, part by
        part.
        """
        return self

    def step(self, name: str) -> 'Value':
        """Return what is under a name or an index."""
        return NOTHING

    def items_of_loop(self) -> list[tuple[Formula, 'Value']]:
        """Return the items of a loop, with formulas that the items exist.

        Only a :class:`Const`, a :class:`Mapping` and an :class:`ItemList` are
        asked.
        """
        raise AssertionError(f'{type(self).__name__} has no items')

    def where_differs_from(
        self, machine: Guesses, other: 'Alternative'
    ) -> Formula:
        """Return the formula that holds where another alternative differs.

        :param other: no :class:`UnknownValue`. Of both, constant lists and
            mappings have been opened, and at least one is no :class:`Const`.
        """
        # Values of two types are never the same.
        return logic.TRUE


Value = tuple[tuple[Formula, Alternative], ...]
"""Alternatives with their guards, such as a text that may be missing::

    ((kind == 0, Const(ABSENT)), (kind == 1, SolverTerm(String('model'))))
"""


@dataclasses.dataclass(frozen=True, eq=False)
class Const(Alternative):
    """A value that is known: JSON data, or :data:`.path.ABSENT`."""

    value: typing.Any

    @property
    def is_missing(self) -> bool:
        return self.value is data_path.ABSENT

    @property
    def is_list(self) -> bool:
        return isinstance(self.value, list)

    @property
    def kind(self) -> str:
        """The type of the value; ``null`` is also that of a missing one."""
        # bool before int, of which it is a subclass.
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
        return data_path.identity(self.value)

    def as_term(self) -> logic.Term | None:
        """Return a text, a truth value or a number as a term, else None."""
        # A kind of JSON is a sort of the solver: bool before int, of which it
        # is a subclass, or true would be 1.
        if isinstance(self.value, str):
            return logic.text_term(self.value)
        if isinstance(self.value, bool):
            return z3.BoolVal(self.value)
        if isinstance(self.value, int | float):
            return logic.number_term(self.value)
        return None

    def opened(self) -> Alternative:
        """Return a list or a mapping as one of constants, part by part."""
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
        """The type of the value, which the sort of the term says."""
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


_mapping_numbers: dict[Hashable, int] = {}
"""Numbers of mappings by what is in them; see :attr:`Mapping.identity`."""


@dataclasses.dataclass(frozen=True, eq=False)
class Mapping(Alternative):
    """A mapping: the one of a machine with the entries that rules changed.

    An entry whose name begins with ``#`` is the other form of the entry
    without it: capabilities by name, which the node has as one text.

    :ivar cell: what entries beside ``entries`` are: those of a
        :class:`.cell.Cell`; unknown ones where it is an
        :class:`UnknownValue`; none where it is None.
    :ivar entries: that rules have written, or removed, by name.
    """

    cell: typing.Any
    entries: typing.Mapping[str, 'Value']

    @classmethod
    def of(cls, known: dict[str, typing.Any]) -> 'Mapping':
        """Return a mapping that is known by its entries."""
        entries = {name: const(value) for name, value in known.items()}
        return cls(cell=None, entries=entries)

    @property
    def kind(self) -> str:
        return 'mapping'

    def entry(self, name: str) -> 'Value':
        """Return the entry of a name; it may be missing.

        An entry that rules have not written is that of the machine.
        """
        if name in self.entries:
            return self.entries[name]
        by_name = self.entries.get(f'#{name}')
        if by_name is not None:
            # A rule has changed capabilities or traits by name. Which text
            # that makes is not followed: the names may have any order in it.
            return unknown(f'{name} as a text', by_name)
        if self.cell is None:
            # A rule has made the whole mapping: it has no other entries.
            return NOTHING
        return typing.cast(Value, self.cell.child(name))

    def step(self, name: str) -> 'Value':
        return self.entry(name)

    def items_of_loop(self) -> list[tuple[Formula, 'Value']]:
        # A loop over a mapping has one item, the mapping.
        return [(logic.TRUE, only(self))]

    @functools.cached_property
    def identity(self) -> Hashable:
        """A key of the mapping: the field it is of, and what rules wrote.

        It is the class and a number, such as ``(Mapping, 7)``. Mappings of the
        same field of the machine and the same entries have the same number.
        """
        keys_of_entries = []
        for name in sorted(self.entries):
            keys_of_entries.append((name, fingerprint(self.entries[name])))
        content = id(self.cell), tuple(keys_of_entries)
        # Not the content itself, which has the keys of inner mappings: it
        # would grow with the depth.
        next_number = len(_mapping_numbers)
        number = _mapping_numbers.setdefault(content, next_number)
        return Mapping, number

    @functools.cached_property
    def size(self) -> int:
        return sum(map(size, self.entries.values()))

    def where_empty(self, machine: Guesses) -> Formula:
        """Return the formula that holds where the mapping has no entries.

        It has neither those that rules wrote, nor others that the machine may
        have. If a rule has removed ``extra.rack``, it is for ``extra``: the
        machine has no other entries than ``rack`` there.
        """
        entries_gone = logic.TRUE
        for name, entry in self.entries.items():
            # A rule that removes an entry writes a missing value.
            is_gone = _where_gone(machine, name, entry)
            entries_gone = logic.conj(entries_gone, is_gone)
        if entries_gone is logic.FALSE:
            # An entry is there, whatever the machine has.
            return logic.FALSE
        if self.cell is None:
            # The rules have made the mapping, the machine has none.
            return entries_gone
        if isinstance(self.cell, UnknownValue):
            # What the machine has there is not known: the solver chooses.
            no_others = machine.guess(self.cell.reason, 'empty', self)
        else:
            no_others = self.cell.where_only(self.entries)
        return logic.conj(entries_gone, no_others)

    def where_differs_from(
        self, machine: Guesses, other: Alternative
    ) -> Formula:
        """Return the formula that holds where another alternative differs.

        The node before a rule and the node after it have the same cell: they
        differ where an entry that the rule has written does.
        """
        if not isinstance(other, Mapping):
            return logic.TRUE
        if self.cell is not other.cell:
            # They are from two places of a machine, and entries that no rule
            # names may differ: that is a guess.
            return guess_difference(machine, self, other)
        # What no rule has written is the same in both.
        differing = []
        for name in sorted({*self.entries, *other.entries}):
            entries_differ = where_different(
                machine, self.entry(name), other.entry(name)
            )
            differing.append(entries_differ)
        return logic.disj(*differing)


def _where_gone(machine: Guesses, name: str, entry: 'Value') -> Formula:
    """Return the formula that holds where an entry of a mapping is missing.

    For an entry that a rule has removed it is "the rule has matched".

    :param name: the name of the entry, such as ``cpu`` or ``#capabilities``.
    """
    parts = []
    for guard, alternative in entry:
        if name.startswith('#') and isinstance(alternative, Mapping):
            # The text of capabilities is not there without any of them.
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
    """An item of a loop that a rule writes out, with fields in it.

    It exists where some of these fields are missing. But a rule that reads
    the item as a whole gets a value only where all of them have one.
    """


@dataclasses.dataclass(frozen=True, eq=False)
class WrittenItem:
    """An item of a list that a rule has written, and not the machine."""

    value: 'Value'


def _missing() -> 'Value':
    return NOTHING


@dataclasses.dataclass(frozen=True, eq=False)
class ItemList(Alternative):
    """A list: its length, a number of the solver, and its first items.

    :ivar items: the first items, all that are looked at: a
        :class:`WrittenItem` or a :class:`.cell.Cell`. Both have a ``value``.
    :ivar name: of the field, for reasons of answers.
    :ivar uses: whatever reads the length or the place of an item, or acts for
        every item. Where it is empty, rules only look for items: those that
        are not looked at are then like the others, and the search needs no
        longer lists, if rules look for few; see
        :class:`.search.MachineSearch`.
    :ivar rest: what rules have made of the items that are not looked at;
        missing where no rule has written to one of them.
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
        """The formula that there are items that are not looked at."""
        return self.length > len(self.items)

    @property
    def has_written_items(self) -> bool:
        """Whether a rule has written out or changed some of its items."""
        return any(isinstance(item, WrittenItem) for item in self.items)

    @property
    def identity(self) -> Hashable:
        """A key of the list: its length, its items, and the rest.

        Lists of equal keys are the same on any machine.
        """
        keys: list[Hashable] = []
        for item in self.items:
            if isinstance(item, WrittenItem):
                keys.append(fingerprint(item.value))
            else:
                # A field of the machine: there is one object for it.
                keys.append(id(item))
        keys.append(fingerprint(self.rest))
        return ItemList, self.length.get_id(), tuple(keys)

    @property
    def size(self) -> int:
        # Items of the machine do not grow by what rules do.
        return sum(
            size(item.value)
            for item in self.items
            if isinstance(item, WrittenItem)
        )

    def step(self, name: str) -> 'Value':
        """Return the item at an index, missing where the list is shorter.

        :param name: the index as it stands in a path, such as "3". Any other
            name, such as "size", is missing in every list.
        """
        position = data_path.index(name)
        if position is None:
            return NOTHING
        # A rule that reads item 3 may need a list with four items, while
        # loops are content with few: the search for machines may not leave
        # out longer lists then.
        self.uses.add(name)
        if position < len(self.items):
            item = self.items[position].value
        else:
            # Only the first items are followed; this one may be anything.
            item = unknown(f'item {position} of {self.name}', self)
        # Not a bool: a formula about all machines.
        where_long_enough = self.length > position
        return choose(where_long_enough, chosen=item, otherwise=NOTHING)

    def items_of_loop(self) -> list[tuple[Formula, 'Value']]:
        """Return the items of a loop, with formulas that the items exist.

        Items that are not looked at are left out.
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

        Lists differ where their lengths do, or two items at one index. Two
        lists of the machine that no rule has written into are from two places
        of it: whether they differ, the solver chooses.
        """
        if not isinstance(other, ItemList):
            return logic.TRUE
        if not self.has_written_items and not other.has_written_items:
            return guess_difference(machine, self, other)
        differing = [self.length != other.length]
        # The shorter one of the two may have no items left to compare.
        pairs = list(zip(self.items, other.items, strict=False))
        for index, (item, other_item) in enumerate(pairs):
            items_differ = where_different(
                machine, item.value, other_item.value
            )
            # Only where the list is so long that it has this item.
            differing.append(logic.conj(self.length > index, items_differ))
        # Two lists of one length are one list of the machine: the items that
        # are not looked at differ only by what rules have made of them.
        others_differ = where_different(machine, self.rest, other.rest)
        if not self.length.eq(other.length):
            others_differ = guess_difference(machine, self, other)
        has_more = self.length > len(pairs)
        differing.append(logic.conj(has_more, others_differ))
        return logic.disj(*differing)


@dataclasses.dataclass(frozen=True, eq=False)
class TraitNames(Alternative):
    """The list of a node's traits.

    :ivar mapping: truth values by the name of a trait: whether the node has
        it.
    """

    mapping: 'Value'

    @property
    def kind(self) -> str:
        return 'list'

    @property
    def identity(self) -> Hashable:
        return TraitNames, fingerprint(self.mapping)

    def step(self, name: str) -> 'Value':
        # Nobody knows in which order a node has its traits.
        return unknown('one of the traits by its number', self, name)


@dataclasses.dataclass(frozen=True, eq=False)
class UnknownValue(Alternative):
    """A value of which nothing is known, and why.

    It may be of any type, missing, or an error. It stands for the result of
    an unknown function of ``about``: for the same things
    :func:`unknown_value` returns the same object. So two rules that compute
    the same are known to have the same result, whatever that is.

    :ivar reason: why nothing is known, for users.
    """

    reason: str
    about: tuple[typing.Any, ...] = ()

    def child(self, name: str) -> 'Value':
        """Return what it has under a name, if it is a mapping."""
        return unknown(self.reason, self, name)

    def step(self, name: str) -> 'Value':
        return self.child(name)

    def where_differs_from(
        self, machine: Guesses, other: Alternative
    ) -> Formula:
        return guess_difference(machine, self, other)


@dataclasses.dataclass(frozen=True, eq=False)
class Failed(Alternative):
    """A value that cannot be computed: reading it is an error."""

    @property
    def identity(self) -> Hashable:
        return Failed

    def step(self, name: str) -> 'Value':
        return only(self)


# Keys have ids of objects in them, which another object may get later. That is
# safe: the unknown value keeps the objects that it is about, and its entry
# goes with the last user of the value.
_unknown: weakref.WeakValueDictionary[Hashable, UnknownValue] = (
    weakref.WeakValueDictionary()
)


def unknown(reason: str, *about: typing.Any) -> Value:
    """Return a value of which nothing is known, see :func:`unknown_value`."""
    return only(unknown_value(reason, *about))


def unknown_value(reason: str, *about: typing.Any) -> UnknownValue:
    """Return the unknown value that depends on some things.

    Two rules that sort the same list read the same unknown value: so it is
    known that they do not differ.

    :param reason: why it is not known, for users.
    :param about: all that the value depends on, such as the filter and the
        list: the same things have the same unknown value.
    """
    key = reason, *map(fingerprint, about)
    value = _unknown.get(key)
    if value is None:
        value = UnknownValue(reason, about)
        _unknown[key] = value
    return value


def fingerprint(thing: typing.Any) -> Hashable:
    """Return a key that is equal for things that are surely the same.

    By such keys guesses and unknown values are made only once.

    :param thing: an alternative, a value, a formula, text, or a sequence of
        them. It must be kept as long as the key is: the key has ids of
        objects, which others get once these are gone.
    """
    if isinstance(thing, Alternative):
        return thing.identity
    if isinstance(thing, z3.AstRef):
        # Equal formulas are one object of the solver.
        return z3.AstRef, thing.get_id()
    if isinstance(thing, tuple | list):
        return tuple(map(fingerprint, thing))
    # A scope of fields, whose class is not known here.
    its_fingerprint = getattr(thing, 'fingerprint', None)
    if its_fingerprint is not None:
        return typing.cast(Hashable, its_fingerprint)
    return typing.cast(Hashable, thing)


def only(alternative: Alternative) -> Value:
    """Return a value with one alternative."""
    return ((logic.TRUE, alternative),)


def const(value: typing.Any) -> Value:
    """Return a value that is known."""
    return only(Const(value))


NOTHING = const(data_path.ABSENT)
FAILED = only(Failed())


def join(parts: Iterable[tuple[Formula, Value]]) -> Value:
    """Join guarded values into one value.

    A value "a" where a guard holds, and "b" or "a" where it does not, become
    one value with two alternatives, "a" and "b": equal alternatives become
    one, which is there where either of their guards holds. With more than
    :data:`MOST_ALTERNATIVES` the value is unknown.

    :param parts: pairs of a guard and a value. On a machine exactly one guard
        holds.
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
        # Bounds the time of a proof, at the price of its answer.
        return unknown(
            'a value with too many alternatives', tuple(joined.values())
        )
    return tuple(joined.values())


def size(value: Value) -> int:
    """Count the values inside of a value, its own alternatives included.

    Of a value that may be missing or a mapping of two texts these are four.
    """
    return sum(1 + alternative.size for _guard, alternative in value)


def choose(guard: Formula, chosen: Value, otherwise: Value) -> Value:
    """Choose a value where a guard holds, and another where it does not.

    A rule leaves such a value: a new one where it matched, the old elsewhere.
    After a rule that sets the resource class to "big", the class is::

        the rule matched                              → "big"
        it did not match, and the class was null      → null
        it did not match, and the class was a text    → that text

    Two mappings of one cell, that is, of one field of the machine, stay one
    mapping, with entries that depend on the guard: a hundred rules that set an
    entry each leave one mapping, and not 2 ** 100 alternatives.

    :param guard: the formula, such as that the rule matched.
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
    others_left = list(otherwise)
    for inner_guard, alternative in chosen:
        is_chosen = logic.conj(guard, inner_guard)
        # If the alternative is the node after a rule, this is the node before
        # it, with its own guard.
        mapping_before = _find_mapping_of_cell(alternative, others_left)
        if mapping_before is None:
            parts.append((is_chosen, only(alternative)))
            continue
        others_left.remove(mapping_before)
        guard_before, before = mapping_before
        is_before_chosen = logic.conj(opposite, guard_before)
        is_either_chosen = logic.disj(is_chosen, is_before_chosen)
        assert isinstance(alternative, Mapping)
        merged = _choose_entries(guard, alternative, before)
        parts.append((is_either_chosen, only(merged)))
    for inner_guard, alternative in others_left:
        parts.append((logic.conj(opposite, inner_guard), only(alternative)))
    return join(parts)


def _choose_entries(guard: Formula, one: Mapping, other: Mapping) -> Mapping:
    """Merge two mappings of one field of the machine, entry by entry.

    An entry is that of ``one`` where the guard holds, else that of ``other``.
    After a rule that sets the name of a node, the name is the new one where
    the rule matched, and no other entry changes.
    """
    entries = {}
    for name in (*one.entries, *other.entries):
        entries[name] = choose(guard, one.entry(name), other.entry(name))
    return Mapping(one.cell, entries)


def _find_mapping_of_cell(
    alternative: Alternative,
    others: list[tuple[Formula, Alternative]],
) -> tuple[Formula, Mapping] | None:
    """Find another mapping of one field, such as ``node`` before a rule.

    Its cell, which is what the machine has in the field, is the same object.

    :param alternative: a mapping, such as ``node`` after the rule.
    :returns: the pair of its guard and the mapping. None where there is none,
        where the rule has changed nothing, so that it is the same mapping, and
        where the alternative itself is no mapping.
    """
    if not isinstance(alternative, Mapping):
        return None
    for pair in others:
        _guard, other = pair
        if isinstance(other, Mapping) and other.cell is alternative.cell:
            if other is alternative:
                # One and the same: join() makes one alternative of both.
                return None
            # The same pair, which the caller removes from the others.
            return typing.cast('tuple[Formula, Mapping]', pair)
    return None


def transform(value: Value, function: Callable[[Alternative], Value]) -> Value:
    """Apply a function to every alternative, and join the results.

    A function that trims texts makes of a value that is missing, " a" or "a" a
    value that is missing or "a".
    """
    return join((guard, function(alternative)) for guard, alternative in value)


KeepGoing = Callable[[], typing.Any]
"""Raises an error of its own where no time is left for a proof."""


def keep_going() -> None:
    """Let the work take any time."""


def product(
    values: Sequence[Value], keep_going: KeepGoing = keep_going
) -> Iterator[tuple[Formula, tuple[Alternative, ...]]]:
    """Yield the combinations of alternatives of some values, with guards.

    A count that is missing, null or a number, and a vendor that is missing or
    a text, have six combinations: a caller decides each of them by itself.

    :param keep_going: called before every combination: a text with many fields
        has more of them than anybody waits for.
    :returns: pairs of a guard, that all alternatives of a combination are
        there, and these alternatives. Impossible combinations are left out.
    """
    for pairs in itertools.product(*values):
        keep_going()
        all_hold = logic.conj(*(guard for guard, _alternative in pairs))
        if all_hold is not logic.FALSE:
            yield all_hold, tuple(alternative for _guard, alternative in pairs)


def step(value: Value, *names: str) -> Value:
    """Follow names and indexes below a value.

    From the inventory, ``cpu`` and ``count`` lead to the number of processors:
    it is missing where the inventory has no ``cpu``, or no ``count`` in it.
    """
    for name in names:
        value = join(
            (guard, alternative.step(name)) for guard, alternative in value
        )
    return value


def where(value: Value, test: Callable[[Alternative], bool]) -> Formula:
    """Return the formula that holds where the alternative passes a test.

    :param test: asked about every alternative, such as :func:`is_missing`.
    """
    guards = [guard for guard, alternative in value if test(alternative)]
    return logic.disj(*guards)


def is_missing(alternative: Alternative) -> bool:
    """Return whether an alternative stands for no value."""
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

    So a proof tells that a rule changes something, or that two rules leave
    different results. A name that is missing or a text ``name`` differs from
    the known text "node-1" where the name is missing, and where it is a text
    and ``name != "node-1"`` holds.
    """
    if one is other or fingerprint(one) == fingerprint(other):
        return logic.FALSE
    if len(one) * len(other) > _MOST_PAIRS:
        # To compare every pair would take too long.
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
    """Return the formula that holds where two values of many parts differ.

    To compare every pair of their alternatives would take too long. So values
    with the same alternative are equal, and of all others the solver chooses
    whether they differ.
    """
    guard_by_identity = {
        alternative.identity: guard for guard, alternative in other
    }
    cases_of_same = []
    for guard, alternative in one:
        guard_of_other = guard_by_identity.get(alternative.identity)
        if guard_of_other is not None:
            # On a machine with both guards, both values are this alternative.
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

    A text ``name`` differs from the constant "a" where ``name != "a"``, and
    from the constant 8 on all machines. Of an unknown value nobody can tell:
    the solver chooses.
    """
    if one.identity == other.identity:
        # They are the same on every machine.
        return logic.FALSE
    if isinstance(one, Const) and isinstance(other, Const):
        return logic.of_bool(not data_path.same(one.value, other.value))
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

    Terms of two sorts always differ: 1 is another value than 1.0 or true,
    though conditions take them for equal. So does None, which is no term.
    """
    if one is None or other is None or one.sort() != other.sort():
        return logic.TRUE
    return one != other


def guess_difference(
    machine: Guesses, one: Alternative, other: Alternative
) -> Formula:
    """Return a guess whether two alternatives differ.

    It is the same guess in either order of the two.
    """
    return machine.guess(
        'whether two values are the same', 'differ', _Pair(one, other)
    )


@dataclasses.dataclass(frozen=True, eq=False)
class _Pair:
    """Two alternatives or values, in either order.

    A guess about "a" and "b" is then the guess about "b" and "a".
    """

    one: typing.Any
    other: typing.Any

    @property
    def fingerprint(self) -> Hashable:
        """A key, which is equal for both orders of the two."""
        # The keys of the two are of several types, and have addresses in them:
        # there is no order to sort them by.
        return frozenset((fingerprint(self.one), fingerprint(self.other)))
