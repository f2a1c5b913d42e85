# SPDX-License-Identifier: Apache-2.0

"""Values of a machine that nobody knows yet, and what rules make of them.

A value is one of several alternatives, each under a guard, a formula of z3;
exactly one guard holds for a machine. What rules write out is known, what a
machine sends is a cell that the solver fills.
"""

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Iterator
import dataclasses
import typing

import z3

from ironic_inspection_rules.engine import masking
from ironic_inspection_rules.engine import path as data_path

Formula = typing.Any
"""A formula of z3."""

TRUE, FALSE = z3.BoolVal(True), z3.BoolVal(False)


def known(holds: bool) -> Formula:
    """Return the one formula that is true, or that is false."""
    return TRUE if holds else FALSE


def simplified(formula: Formula) -> Formula:
    """Return a formula that is the same, and as short as may be."""
    made = z3.simplify(formula)
    return TRUE if z3.is_true(made) else FALSE if z3.is_false(made) else made


def conj(*parts: Formula) -> Formula:
    """Return a formula that holds where all parts do."""
    left = [part for part in parts if part is not TRUE]
    if any(part is FALSE for part in left):
        return FALSE
    return z3.And(*left) if len(left) > 1 else left[0] if left else TRUE


def disj(*parts: Formula) -> Formula:
    """Return a formula that holds where one of the parts does."""
    left = [part for part in parts if part is not FALSE]
    if any(part is TRUE for part in left):
        return TRUE
    return z3.Or(*left) if len(left) > 1 else left[0] if left else FALSE


def negated(part: Formula) -> Formula:
    """Return a formula that holds where the part does not."""
    return FALSE if part is TRUE else TRUE if part is FALSE else z3.Not(part)


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
        """True for a text."""
        return bool(z3.is_string(self.term))

    @property
    def is_boolean(self) -> bool:
        """True for a truth value."""
        return bool(z3.is_bool(self.term))


class Cells(typing.Protocol):
    """The fields of a machine below one of them."""

    @property
    def empty(self) -> Formula:
        """Holds where there are none."""

    def child(self, name: str) -> 'Value':
        """Return the field of that name."""


@dataclasses.dataclass(frozen=True, eq=False)
class Mapping:
    """A mapping: that of a machine, if there is one, with other entries."""

    cell: Cells | None
    entries: typing.Mapping[str, 'Value']

    def entry(self, name: str) -> 'Value':
        """Return the entry of that name, which may be absent."""
        if name in self.entries:
            return self.entries[name]
        return self.cell.child(name) if self.cell else NOTHING


class Item(typing.Protocol):
    """An item of a list."""

    @property
    def value(self) -> 'Value':
        """Its value."""


@dataclasses.dataclass(frozen=True, eq=False)
class Written:
    """An item that a rule writes out."""

    value: 'Value'


@dataclasses.dataclass(frozen=True, eq=False)
class Items:
    """A list of a machine; ``items`` are those that are looked at.

    ``uses`` are those for which the number or the place of items matters.
    """

    length: Formula
    items: tuple[Item, ...]
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
    """Return a value that is this in any case."""
    return ((TRUE, alternative),)


def const(value: typing.Any) -> Value:
    """Return a value that is known."""
    return only(Const(value))


NOTHING = const(data_path.ABSENT)


def join(parts: Iterable[tuple[Formula, Value]]) -> Value:
    """Return a value that is that of the part whose guard holds."""
    known: dict[typing.Any, tuple[Formula, Alternative]] = {}
    for guard, value in parts:
        for inner, alternative in value:
            both = conj(guard, inner)
            if both is FALSE:
                continue
            key = _key(alternative)
            if key in known:
                both = disj(known[key][0], both)
            known[key] = both, alternative
    return tuple(known.values())


def _key(alternative: Alternative) -> typing.Any:
    if isinstance(alternative, Const):
        return data_path.identity(alternative.value) if (
            alternative.value is not data_path.ABSENT) else None
    if isinstance(alternative, Term):
        return 'term', alternative.term.get_id()
    if isinstance(alternative, Failed):
        return Failed
    return id(alternative)


def choose(guard: Formula, one: Value, other: Value) -> Value:
    """Return one value where the guard holds, and else the other one.

    Mappings of one cell stay one: what differs are their entries.
    """
    if one is other or guard is TRUE:
        return one
    if guard is FALSE:
        return other
    opposite = negated(guard)
    parts: list[tuple[Formula, Value]] = []
    left = list(other)
    for inner, alternative in one:
        twin = next((each for each in left if isinstance(
            alternative, Mapping) and isinstance(each[1], Mapping)
            and each[1].cell is alternative.cell), None)
        if twin is None or twin[1] is alternative:
            parts.append((conj(guard, inner), only(alternative)))
            continue
        left.remove(twin)
        mine, theirs = alternative, twin[1]
        assert isinstance(mine, Mapping) and isinstance(theirs, Mapping)
        parts.append((
            disj(conj(guard, inner), conj(opposite, twin[0])),
            only(Mapping(mine.cell, {
                name: choose(guard, mine.entry(name), theirs.entry(name))
                for name in (*mine.entries, *theirs.entries)}))))
    parts += [(conj(opposite, inner), only(alternative))
              for inner, alternative in left]
    return join(parts)


def each(value: Value, make: Callable[[Alternative], Value]) -> Value:
    """Return what becomes of a value, alternative by alternative."""
    return join((guard, make(alternative)) for guard, alternative in value)


def product(values: typing.Sequence[Value]
            ) -> Iterator[tuple[Formula, tuple[Alternative, ...]]]:
    """Yield all alternatives that some values can have together."""
    if not values:
        yield TRUE, ()
        return
    for guard, alternative in values[0]:
        for others, rest in product(values[1:]):
            both = conj(guard, others)
            if both is not FALSE:
                yield both, (alternative, *rest)


def step(value: Value, name: str, masked: bool) -> Value:
    """Return what is below a value under a name, or as an item."""
    def inside(alternative: Alternative) -> Value:
        if isinstance(alternative, Const):
            return const(data_path.get(alternative.value, (name,)))
        if isinstance(alternative, Mapping):
            return alternative.entry(name)
        if isinstance(alternative, Items):
            position = data_path.index(name)
            if position is None:
                return NOTHING
            alternative.uses.add(name)
            there = alternative.length > position
            if position < len(alternative.items):
                return choose(there, alternative.items[position].value,
                              NOTHING)
            return choose(there, only(Unknown(
                f'item {position} of {alternative.name}')), NOTHING)
        if isinstance(alternative, Term):
            return NOTHING
        if isinstance(alternative, Names):
            return only(Unknown('one of the traits by its number'))
        return only(alternative)

    found = each(value, inside)
    return each(found, _masked) if masked and masking.is_secret(
        name) else found


def _masked(alternative: Alternative) -> Value:
    """Return what a rule sees of a secret."""
    hidden = const(masking.MASK)
    if isinstance(alternative, Const):
        return const(alternative.value) if (
            alternative.value is data_path.ABSENT
            or alternative.value in (None, '', [], {})) else hidden
    if isinstance(alternative, Term) and alternative.is_text:
        return choose(alternative.term == '', const(''), hidden)
    if isinstance(alternative, Items):
        return choose(alternative.length == 0, const([]), hidden)
    if isinstance(alternative, Mapping):
        return choose(is_empty(alternative), const({}), hidden)
    return hidden if isinstance(alternative, Term) else only(alternative)


def absent(value: Value) -> Formula:
    """Return when a value is not there."""
    return when(value, lambda alternative: isinstance(
        alternative, Const) and alternative.value is data_path.ABSENT)


def when(value: Value, test: Callable[[Alternative], bool]) -> Formula:
    """Return when the alternative is one of some."""
    return disj(*(guard for guard, alternative in value
                  if test(alternative)))


def is_empty(mapping: Mapping) -> Formula:
    """Return when a mapping has no entries."""
    gone = conj(*(
        is_empty(each[0][1]) if name.startswith('#') and isinstance(
            each[0][1], Mapping) else absent(each)
        for name, each in mapping.entries.items()))
    return conj(gone, mapping.cell.empty) if mapping.cell else gone


def put(value: Value, path: data_path.Path, new: Value,
        creates: bool = True) -> tuple[Value, Formula]:
    """Write a value at a path.

    :param creates: whether parents that are missing are made.
    :returns: the value with it, and when that cannot be.
    """
    if not path:
        return new, FALSE
    parts: list[tuple[Formula, Value]] = []
    errors = [FALSE]
    for guard, alternative in value:
        into = alternative
        if isinstance(into, Const):
            if into.value in (None, data_path.ABSENT):
                if not creates:
                    parts.append((guard, only(into)))
                    continue
                into = Mapping(None, {})
            elif isinstance(into.value, dict):
                into = Mapping(None, {name: const(inner) for name, inner
                                      in into.value.items()})
        if path[0] == data_path.APPEND:
            into = Unknown('a path that appends to a list')
        if isinstance(into, Mapping):
            inner, error = put(into.entry(path[0]), path[1:], new, creates)
            errors.append(conj(guard, error))
            into = Mapping(into.cell, {**into.entries, path[0]: inner})
        elif isinstance(into, Items) or (isinstance(into, Const)
                                         and isinstance(into.value, list)):
            into = Unknown(f'a change inside a list, at {path[0]}')
        elif creates and not isinstance(into, Unknown):
            errors.append(guard)
        parts.append((guard, only(into)))
    return join(parts), disj(*errors)


def listed(alternative: Alternative) -> list[
        tuple[Formula, Value]]:
    """Return the items of a loop, each with when there is one."""
    if isinstance(alternative, Mapping):
        return [(TRUE, only(alternative))]
    if isinstance(alternative, Const):
        inner = alternative.value
        return [(TRUE, const(item)) for item
                in (inner if isinstance(inner, list) else [inner])]
    assert isinstance(alternative, Items)
    return [(simplified(alternative.length > index), item.value)
            for index, item in enumerate(alternative.items)]


def identity(alternative: Alternative) -> typing.Hashable:
    if isinstance(alternative, Term):
        return int(alternative.term.get_id())
    if isinstance(alternative, Const) and (
            alternative.value is not data_path.ABSENT):
        return data_path.identity(alternative.value)
    return id(alternative)
