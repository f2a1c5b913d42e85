# SPDX-License-Identifier: Apache-2.0

"""Values of a machine that nobody knows yet, and what rules make of them.

A value is one of several alternatives, each under a guard, a formula of z3;
exactly one guard holds for a machine. What rules write out is known, what a
machine sends is a cell that the solver fills.
"""

import dataclasses
import functools
import itertools
import typing

import z3

from ironic_inspection_rules.engine import path as data_path
from ironic_inspection_rules.proof import logic

Formula = logic.Formula


@dataclasses.dataclass(frozen=True, eq=False)
class Const:
    """A value that is known: JSON data, or :data:`.path.ABSENT`."""

    value: typing.Any


@dataclasses.dataclass(frozen=True, eq=False)
class Term:
    """A truth value, a number or a text of the solver."""

    term: typing.Any

    @property
    def is_text(self) -> bool:
        return bool(z3.is_string(self.term))

    @property
    def is_boolean(self) -> bool:
        return bool(z3.is_bool(self.term))


@dataclasses.dataclass(frozen=True, eq=False)
class Mapping:
    """A mapping: that of a machine, if there is one, with other entries.

    ``cell`` is the :class:`.machine.Cell` of the first, else None.
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
        found: Value = self.cell.child(name) if self.cell else NOTHING
        return found


@dataclasses.dataclass(frozen=True, eq=False)
class Written:
    """An item that a rule writes out."""

    value: 'Value'


@dataclasses.dataclass(frozen=True, eq=False)
class Items:
    """A list of a machine; ``items`` are those that are looked at.

    Each has a ``value``: a :class:`Written` or a :class:`.machine.Cell`.
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
class Names:
    """A list of names: those whose entry is true."""

    mapping: 'Value'


@dataclasses.dataclass(frozen=True, eq=False)
class Unknown:
    """A value of which nothing is known, and why."""

    reason: str


@dataclasses.dataclass(frozen=True, eq=False)
class Failed:
    """A value that cannot be computed: reading it is an error."""


Alternative = Const | Term | Mapping | Items | Names | Unknown | Failed
Value = tuple[tuple[Formula, Alternative], ...]


def only(alternative: Alternative) -> Value:
    """Return a value with one alternative."""
    return ((logic.TRUE, alternative),)


def const(value: typing.Any) -> Value:
    """Return a value that is known."""
    return only(Const(value))


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
    return tuple(known.values())


def identity(alternative: Alternative) -> typing.Hashable:
    """Return a key that is the same for alternatives that surely are."""
    if isinstance(alternative, Const):
        return None if alternative.value is data_path.ABSENT else (
            data_path.identity(alternative.value))
    if isinstance(alternative, Term):
        return 'term', alternative.term.get_id()
    return Failed if isinstance(alternative, Failed) else id(alternative)


def choose(guard: Formula, one: Value, other: Value) -> Value:
    """Return one value where the guard holds, and else the other one.

    Mappings of one cell stay one: what differs are their entries.
    """
    if one is other or guard is logic.TRUE:
        return one
    if guard is logic.FALSE:
        return other
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
    if isinstance(alternative, Items):
        position = data_path.index(name)
        if position is None:
            return NOTHING
        alternative.uses.add(name)
        return choose(
            alternative.length > position, alternative.items[position].value
            if position < len(alternative.items) else only(Unknown(
                f'item {position} of {alternative.name}')), NOTHING)
    if isinstance(alternative, Term):
        return NOTHING
    return only(Unknown('one of the traits by its number') if isinstance(
        alternative, Names) else alternative)


def is_missing(alternative: Alternative) -> bool:
    """Return whether an alternative stands for no value."""
    return isinstance(alternative, Const) and (
        alternative.value is data_path.ABSENT)


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


def is_empty(mapping: Mapping) -> Formula:
    """Return when a mapping has no entries.

    :raises: :class:`.logic.Untranslatable` where an entry may be there.
    """
    gone = logic.TRUE
    reasons = []
    for name, entry in mapping.entries.items():
        parts = []
        for guard, alternative in entry:
            if name.startswith('#') and isinstance(alternative, Mapping):
                parts.append(logic.conj(guard, is_empty(alternative)))
            elif is_missing(alternative):
                parts.append(guard)
            elif isinstance(alternative, Unknown):
                reasons.append(alternative.reason)
                parts.append(guard)
        gone = logic.conj(gone, logic.disj(*parts))
    if reasons and gone is not logic.FALSE:
        raise logic.Untranslatable(reasons[0])
    if not mapping.cell or gone is logic.FALSE:
        return gone
    # Rules may have removed all that the mapping of the machine had.
    removed = logic.disj(*(
        logic.negated(absent(mapping.cell.child(name)))
        for name in mapping.entries if not name.startswith('#')))
    return logic.conj(gone, logic.disj(
        mapping.cell.empty, logic.conj(removed, mapping.cell.machine.guess(
            'what rules left of a mapping', ('empty', id(mapping)),
            mapping))))


def listed(alternative: Alternative) -> list[tuple[Formula, Value]]:
    """Return the items of a loop, each with when it exists."""
    if isinstance(alternative, Mapping):
        return [(logic.TRUE, only(alternative))]
    if isinstance(alternative, Const):
        inner = alternative.value
        return [(logic.TRUE, const(item)) for item
                in (inner if isinstance(inner, list) else [inner])]
    assert isinstance(alternative, Items)
    return [(logic.simplified(alternative.length > index), item.value)
            for index, item in enumerate(alternative.items)]
