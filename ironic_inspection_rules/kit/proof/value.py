# SPDX-License-Identifier: Apache-2.0

"""Values of a machine that nobody knows yet, and what rules make of them.

A value is one of several alternatives, each under a guard, a formula of z3;
exactly one guard holds for a machine. What rules write out is known, what a
machine sends is a cell that the solver fills.
"""

from collections.abc import Hashable
import dataclasses
import functools
import itertools
import typing
import weakref

import z3

from ironic_inspection_rules.engine.language import path as data_path
from ironic_inspection_rules.kit.proof import logic

Formula = logic.Formula


@dataclasses.dataclass(frozen=True, eq=False)
class Const:
    """A value that is known: JSON data, or :data:`.path.ABSENT`."""

    value: typing.Any


@dataclasses.dataclass(frozen=True, eq=False)
class SolverTerm:
    """A truth value, a number or a text of the solver."""

    term: typing.Any

    @property
    def is_text(self) -> bool:
        return bool(z3.is_string(self.term))

    @property
    def is_boolean(self) -> bool:
        return bool(z3.is_bool(self.term))


_mappings: dict[Hashable, int] = {}


@dataclasses.dataclass(frozen=True, eq=False)
class Mapping:
    """A mapping: that of a machine, if there is one, with other entries.

    ``cell`` is the :class:`.cell.Cell` of the first, an
    :class:`UnknownValue` where nobody knows what else is in it, None where
    nothing is.
    """

    cell: typing.Any
    entries: typing.Mapping[str, 'Value']

    @classmethod
    def of(cls, known: dict[str, typing.Any]) -> 'Mapping':
        """Return a mapping that is known by its entries."""
        return cls(None, {name: const(each) for name, each in known.items()})

    def entry(self, name: str) -> 'Value':
        """Return the entry of that name, which may be absent."""
        if name in self.entries:
            return self.entries[name]
        kept = self.entries.get(f'#{name}')
        if kept is not None:
            # The text of what rules change by its names.
            return unknown(f'{name} as a text', kept)
        found: Value = self.cell.child(name) if self.cell else NOTHING
        return found

    @functools.cached_property
    def identity(self) -> Hashable:
        """A key that is the same for mappings that surely are."""
        key = id(self.cell), tuple(
            (name, fingerprint(self.entries[name]))
            for name in sorted(self.entries))
        # A number: mappings in mappings would have keys without end.
        return Mapping, _mappings.setdefault(key, len(_mappings))

    @functools.cached_property
    def size(self) -> int:
        """How many values are in it, at any depth."""
        return sum(map(size, self.entries.values()))


class LenientMapping(Mapping):
    """An item of a loop that a rule writes out, perhaps without some fields.

    The item is there, but as a whole it has a value only where all are.
    """


@dataclasses.dataclass(frozen=True, eq=False)
class WrittenItem:
    """An item that a rule writes out."""

    value: 'Value'


@dataclasses.dataclass(frozen=True, eq=False)
class ItemList:
    """A list of a machine; ``items`` are those that are looked at.

    Each has a ``value``: a :class:`WrittenItem` or a :class:`.machine.Cell`.
    ``uses`` are those for which the number or the place of items matters.
    """

    length: Formula
    items: tuple[typing.Any, ...]
    name: str
    uses: set[str] = dataclasses.field(default_factory=set)

    @property
    def is_longer(self) -> Formula:
        """Holds where there are items that are not looked at."""
        return self.length > len(self.items)


@dataclasses.dataclass(frozen=True, eq=False)
class TraitNames:
    """A list of names: those whose entry is true."""

    mapping: 'Value'


@dataclasses.dataclass(frozen=True, eq=False)
class UnknownValue:
    """A value of which nothing is known, and why.

    It may be of any type, missing, or an error. It is the value that a
    function has for the things it is ``about``: :func:`unknown` returns the
    same one where they are the same.
    """

    reason: str
    about: tuple[typing.Any, ...] = ()

    def child(self, name: str) -> 'Value':
        """Return what it has under a name, if it is a mapping."""
        return unknown(self.reason, self, name)


@dataclasses.dataclass(frozen=True, eq=False)
class Failed:
    """A value that cannot be computed: reading it is an error."""


Alternative = (Const | SolverTerm | Mapping | ItemList | TraitNames
               | UnknownValue | Failed)
Value = tuple[tuple[Formula, Alternative], ...]

# An entry goes with the last user of the unknown value. That keeps what it is
# about, so that no other object gets an id that is in the key.
_unknown: weakref.WeakValueDictionary[Hashable, UnknownValue] = (
    weakref.WeakValueDictionary())


def unknown(reason: str, *about: typing.Any) -> 'Value':
    """Return the value that nobody knows of things that are known.

    :param about: all that the value depends on.
    """
    key = reason, *map(fingerprint, about)
    found = _unknown.get(key)
    if found is None:
        found = _unknown[key] = UnknownValue(reason, about)
    return only(found)


def fingerprint(thing: typing.Any) -> Hashable:
    """Return a key that is the same for things that surely are.

    :param thing: an alternative, a value, a formula, text, or a sequence of
        them. It must be kept as long as the key is.
    """
    if isinstance(thing, Alternative):
        return identity(thing)
    if isinstance(thing, z3.AstRef):
        return z3.AstRef, thing.get_id()
    if isinstance(thing, tuple | list):
        return tuple(map(fingerprint, thing))
    known = getattr(thing, 'fingerprint', None)
    if known is not None:
        return typing.cast(Hashable, known)
    return typing.cast(Hashable, thing)


def only(alternative: Alternative) -> Value:
    """Return a value with one alternative."""
    return ((logic.TRUE, alternative),)


def const(value: typing.Any) -> Value:
    """Return a value that is known."""
    return only(Const(value))


MOST = 64
"""Alternatives of a value that are followed."""

_LARGEST = 5_000
"""Values inside of a value that are followed: one put into itself grows."""

NOTHING = const(data_path.ABSENT)
FAILED = only(Failed())


def join(parts: typing.Iterable[tuple[Formula, Value]]) -> Value:
    """Return the value of the part whose guard holds."""
    known: dict[typing.Any, tuple[Formula, Alternative]] = {}
    for guard, value in parts:
        for inner, alternative in value:
            both = logic.conj(guard, inner)
            if both is logic.FALSE:
                continue
            key = identity(alternative)
            if key in known:
                both = logic.disj(known[key][0], both)
            known[key] = both, alternative
    if len(known) > MOST:
        return unknown('a value with too many alternatives',
                       tuple(known.values()))
    return tuple(known.values())


def identity(alternative: Alternative) -> typing.Hashable:
    """Return a key that is the same for alternatives that surely are."""
    if isinstance(alternative, Const):
        return None if alternative.value is data_path.ABSENT else (
            data_path.identity(alternative.value))
    if isinstance(alternative, SolverTerm):
        return 'term', alternative.term.get_id()
    if isinstance(alternative, Mapping):
        return alternative.identity
    if isinstance(alternative, ItemList):
        return (ItemList, alternative.length.get_id(), tuple(
            fingerprint(item.value) if isinstance(item, WrittenItem)
            else id(item) for item in alternative.items))
    if isinstance(alternative, TraitNames):
        return TraitNames, fingerprint(alternative.mapping)
    return Failed if isinstance(alternative, Failed) else id(alternative)


def size(value: Value) -> int:
    """Return how many values there are in a value, itself among them."""
    found = 0
    for _guard, alternative in value:
        found += 1
        if isinstance(alternative, Mapping):
            found += alternative.size
        elif isinstance(alternative, ItemList):
            found += sum(size(item.value) for item in alternative.items
                         if isinstance(item, WrittenItem))
    return found


def choose(guard: Formula, one: Value, other: Value) -> Value:
    """Return one value where the guard holds, and else the other one.

    Mappings of one cell stay one: what differs are their entries.
    """
    if one is other or guard is logic.TRUE:
        return one
    if guard is logic.FALSE:
        return other
    if size(one) + size(other) > _LARGEST:
        return unknown('a value with too many entries', guard, one, other)
    opposite = logic.negated(guard)
    parts: list[tuple[Formula, Value]] = []
    left = list(other)
    for inner, mine in one:
        twin = next((pair for pair in left if isinstance(mine, Mapping)
                     and isinstance(pair[1], Mapping)
                     and pair[1].cell is mine.cell), None)
        theirs = twin and twin[1]
        if theirs is mine or not isinstance(mine, Mapping) or (
                not isinstance(theirs, Mapping)) or twin is None:
            parts.append((logic.conj(guard, inner), only(mine)))
            continue
        left.remove(twin)
        parts.append((
            logic.disj(logic.conj(guard, inner),
                       logic.conj(opposite, twin[0])),
            only(Mapping(mine.cell, {
                name: choose(guard, mine.entry(name), theirs.entry(name))
                for name in (*mine.entries, *theirs.entries)}))))
    parts += [(logic.conj(opposite, inner), only(alternative))
              for inner, alternative in left]
    return join(parts)


def opened(alternative: Alternative) -> Alternative:
    """Return a known mapping or list as one of alternatives."""
    if isinstance(alternative, Const):
        inner = alternative.value
        if isinstance(inner, dict):
            return Mapping.of(inner)
        if isinstance(inner, list):
            return ItemList(z3.IntVal(len(inner)), tuple(
                WrittenItem(const(item)) for item in inner), 'a list')
    return alternative


def each(value: Value, make: typing.Callable[[Alternative], Value]) -> Value:
    """Apply a function to each alternative of a value."""
    return join((guard, make(alternative)) for guard, alternative in value)


def product(values: typing.Sequence[Value]
            ) -> typing.Iterator[tuple[Formula, tuple[Alternative, ...]]]:
    """Yield the combinations of alternatives, each with its guard."""
    for chosen in itertools.product(*values):
        both = logic.conj(*(guard for guard, _alternative in chosen))
        if both is not logic.FALSE:
            yield both, tuple(alternative for _guard, alternative in chosen)


def step(value: Value, *names: str) -> Value:
    """Follow names and indexes below a value."""
    for name in names:
        value = each(value, functools.partial(_below, name))
    return value


def _below(name: str, alternative: Alternative) -> Value:
    if isinstance(alternative, Const):
        return const(data_path.get(alternative.value, (name,)))
    if isinstance(alternative, Mapping):
        return alternative.entry(name)
    if isinstance(alternative, ItemList):
        position = data_path.index(name)
        if position is None:
            return NOTHING
        alternative.uses.add(name)
        return choose(
            alternative.length > position, alternative.items[position].value
            if position < len(alternative.items) else unknown(
                f'item {position} of {alternative.name}', alternative),
            NOTHING)
    if isinstance(alternative, TraitNames):
        return unknown('one of the traits by its number', alternative, name)
    if isinstance(alternative, UnknownValue):
        return alternative.child(name)
    return only(alternative) if isinstance(alternative, Failed) else NOTHING


def is_missing(alternative: Alternative) -> bool:
    """Return whether an alternative stands for no value."""
    return isinstance(alternative, Const) and (
        alternative.value is data_path.ABSENT)


def is_list(alternative: Alternative) -> bool:
    """Return whether an alternative is a list for sure."""
    if isinstance(alternative, Const):
        return isinstance(alternative.value, list)
    return isinstance(alternative, ItemList)


def absent(value: Value) -> Formula:
    """Return when a value is not there."""
    return when(value, is_missing)


def failed(value: Value) -> Formula:
    """Return when a value cannot be computed."""
    return when(value, lambda alternative: isinstance(alternative, Failed))


def when(value: Value, test: typing.Callable[[Alternative], bool]) -> Formula:
    """Return when a value is an alternative that passes a test."""
    return logic.disj(*(guard for guard, alternative in value
                  if test(alternative)))


def is_empty(machine: typing.Any, mapping: Mapping) -> Formula:
    """Return when a mapping has no entries.

    :param machine: the :class:`.machine.SymbolicMachine` that it is of.
    """
    gone = logic.TRUE
    for name, entry in mapping.entries.items():
        parts = []
        for guard, alternative in entry:
            if name.startswith('#') and isinstance(alternative, Mapping):
                parts.append(logic.conj(guard, is_empty(machine,
                                                        alternative)))
            elif is_missing(alternative):
                parts.append(guard)
            elif isinstance(alternative, UnknownValue):
                parts.append(logic.conj(guard, machine.guess(
                    alternative.reason, 'absent', alternative)))
        gone = logic.conj(gone, logic.disj(*parts))
    if gone is logic.FALSE or mapping.cell is None:
        return gone
    if isinstance(mapping.cell, UnknownValue):
        return logic.conj(gone, machine.guess(
            mapping.cell.reason, 'empty', mapping))
    # Rules may have removed all that the mapping of the machine had.
    return logic.conj(gone, mapping.cell.has_only(mapping.entries))


def listed(alternative: Alternative) -> list[tuple[Formula, Value]]:
    """Return the items of a loop, each with when it exists."""
    if isinstance(alternative, Mapping):
        return [(logic.TRUE, only(alternative))]
    if isinstance(alternative, Const):
        inner = alternative.value
        return [(logic.TRUE, const(item)) for item
                in (inner if isinstance(inner, list) else [inner])]
    assert isinstance(alternative, ItemList)
    return [(logic.settled(alternative.length > index), item.value)
            for index, item in enumerate(alternative.items)]
