# SPDX-License-Identifier: Apache-2.0

"""All possible machines at one moment of an inspection, and writes to them.

A proof has one :class:`State` instead of a machine. Every value in it has
*alternatives* with *guards*, which are formulas: the guard of an alternative
holds on the machines that have it. After a rule that sets the name of the node
to "a", the name is::

    the rule matched                                → "a"
    the rule did not match, and the name was null   → null
    the rule did not match, and the name was a text → that text

A *place* is a path that begins with a root, e.g. ``('node', 'name')``. A value
is *unknown* after a change that the proof cannot follow.
"""

from collections.abc import Iterator, Mapping
import dataclasses
import typing

import z3

from ironic_inspection_rules.engine.language import call as engine_call
from ironic_inspection_rules.engine.language import effects
from ironic_inspection_rules.engine.language import interpolation
from ironic_inspection_rules.engine.language import model
from ironic_inspection_rules.engine.language import path as data_path
from ironic_inspection_rules.engine.language import plugin
from ironic_inspection_rules.engine.language import registry
from ironic_inspection_rules.kit.proof import cell as cells
from ironic_inspection_rules.kit.proof import logic
from ironic_inspection_rules.kit.proof import machine as machines
from ironic_inspection_rules.kit.proof import value as values
from ironic_inspection_rules.plugins.actions import schema

Value = values.Value

EVERYWHERE: tuple[data_path.Path, ...] = (
    ('node',),
    ('plugin_data',),
    ('ports',),
)
"""All places that rules may change."""

ANY_PORT = '*'  # Stands for a port that is not named by its MAC address.
ERROR = -1  # The result of an inspection that met an error.


@dataclasses.dataclass(frozen=True)
class State:
    """All machines at one moment of an inspection.

    :ivar roots: the data of the machines, by the name of the root, e.g.
        ``node``.
    :ivar going: holds on the machines whose inspection goes on.
    :ivar result: 0 if the inspection goes on, :data:`ERROR` if it ended with
        an error, otherwise the number of the message of a ``fail``.
    """

    roots: Mapping[str, values.Value]
    going: logic.Formula = logic.TRUE
    result: logic.Term = z3.IntVal(0)

    def ended(self, ends: logic.Formula, result: int = ERROR) -> 'State':
        """Return the state after some inspections have ended.

        :param ends: holds on the machines whose inspection ends now. All other
            machines stay as they are.
        :param result: the number of the message of ``fail``, or ``ERROR``.
        """
        if ends is logic.FALSE:
            # No inspection ends.
            return self
        return dataclasses.replace(
            self,
            going=logic.conj(self.going, logic.negated(ends)),
            result=z3.If(ends, z3.IntVal(result), self.result),
        )

    def having(self, **roots: values.Value) -> 'State':
        """Return the state with other data under the given roots."""
        return dataclasses.replace(self, roots={**self.roots, **roots})


@dataclasses.dataclass(frozen=True)
class SymbolicWrite:
    """A value that a rule writes at one place.

    :ivar place: a path that begins with the name of a root. ``ports`` is
        followed by the MAC address of the port, or :data:`ANY_PORT`.
    :ivar when: holds if the value is written.
    :ivar extends: whether it appends to a list or adds a trait.
    :ivar port: the MAC address of the port as a term, even if the address is
        not known; None for another place, or for an action that cannot be
        followed.
    """

    place: data_path.Path
    when: logic.Formula
    value: values.Value
    extends: bool = False
    port: typing.Any = None


@dataclasses.dataclass
class RulePass:
    """The effects of a rule on all machines in a proof.

    :ivar matched: holds if the rule matched.
    :ivar before: the machines before the rule.
    :ivar begin: the machines before its phase. If the phase ends with an
        error, they stay like this.
    :ivar writes: the writes of the rule, in order.
    :ivar lasts: holds if the rule wrote a log entry or made a call, which
        nothing undoes.
    :ivar fails: holds if the rule failed the inspection on purpose.
    :ivar ends: holds if the rule failed the inspection on purpose or ended
        with an error.
    """

    rule: model.Rule
    matched: logic.Formula
    before: State
    begin: State
    writes: list[SymbolicWrite] = dataclasses.field(default_factory=list)
    lasts: logic.Formula = logic.FALSE
    fails: logic.Formula = logic.FALSE
    ends: logic.Formula = logic.FALSE


def places_changed(
    op: registry.Op, bound: dict[str, typing.Any]
) -> Iterator[data_path.Path]:
    """Yield the places that an action may change, as its op declares them.

    ``set-attribute`` with the path ``/name`` yields ``('node', 'name')``. An
    op of another package that declares nothing may change all places.

    :param bound: the arguments of the action by name.
    :raises: :class:`.exceptions.PluginFailed` if the code of an op of another
        package fails.
    """
    declared = effects.writes_of_op(op, bound)
    if not declared:
        yield from EVERYWHERE
    for write in declared:
        yield from _places_of(write)


def _places_of(write: plugin.Write) -> Iterator[data_path.Path]:
    """Yield the places that a declared write of an action may change.

    A place is a path that begins with a root, e.g. ``('node', 'extra',
    'rack')`` for a write of the kind ``node`` with the name ``/extra/rack``.
    By the kind of the write, the places are::

        trait, traits       all traits
        capability          the capabilities by name, and as one text
        port                the path in the port with the address
        node, plugin_data   the path below this root

    Capabilities have two places, and a write to either changes both.

    :param write: a write that the op of an action declares.
    """
    if write.kind in ('trait', 'traits'):
        yield cells.TRAITS
        return
    if write.kind == 'capability':
        yield from (cells.CAPABILITIES, cells.CAPABILITY_TEXT)
        return
    path = _known_beginning(write.name)
    if write.kind == 'port':
        yield ('ports', known_address(values.Const(write.owner)), *path)
        return
    yield (write.kind, *path)
    if (write.kind, *path) == cells.CAPABILITY_TEXT:
        yield cells.CAPABILITIES


def _known_beginning(path: typing.Any) -> data_path.Path:
    """Return the beginning of a path that is the same on all machines.

    For ``/extra/{inventory.hostname}/rack`` it is ``('extra',)``. It ends
    before the first field, or before ``-``, the end of a list. If its last
    token is then an index, it ends before the index.

    :param path: a text or its tokens; for anything else nothing is known.
    """
    if isinstance(path, tuple | list):
        text = data_path.pointer(path)
    elif isinstance(path, str):
        text = path
    else:
        return ()
    known_tokens = []
    for pieces in engine_call.split_path(interpolation.parse(text)):
        # The pieces of a token are texts and fields.
        has_field = not all(isinstance(piece, str) for piece in pieces)
        if has_field:
            break
        token = ''.join(map(str, pieces))
        if data_path.is_append(token):
            break
        known_tokens.append(token)
    if known_tokens and known_tokens[-1].isdigit():
        # Inserting an item moves the items after it.
        known_tokens.pop()
    return tuple(known_tokens)


def address_term(port_id: values.Alternative) -> logic.Term | None:
    """Return the text by which a rule names a port, as a term.

    It is a MAC address in lower case, or a text of the machine, e.g.
    ``{item.mac_address}``, which may be anything.

    :param port_id: the value by which a rule identifies the port.
    :returns: None for a UUID, or any other value that is not a MAC address.
    """
    if isinstance(port_id, values.SolverTerm) and port_id.is_text:
        return port_id.term
    known = known_address(port_id)
    if known == ANY_PORT:
        return None
    return logic.text_term(known)


def known_address(port_id: values.Alternative) -> str:
    """Return the MAC address by which a rule names a port, in lower case.

    :returns: :data:`ANY_PORT` if the address depends on the machine, because
        the rule names the port by a field or a UUID.
    """
    if not isinstance(port_id, values.Const):
        return ANY_PORT
    text = port_id.value
    if not isinstance(text, str) or text.count(':') != 5:
        return ANY_PORT
    if interpolation.fields(text):
        return ANY_PORT
    return text.lower()


def where_at(
    machine: machines.SymbolicMachine,
    port: Value,
    position: int,
    address: logic.Term,
) -> logic.Formula:
    """Return the formula that a port is the one that a rule names.

    For a port of the machine, and the known address "52:54:00:12:34:01", it is
    ``ports[0].address == "52:54:00:12:34:01"``. If the address is known, the
    search should try it.

    :param position: the index of the port in the list of ports.
    :param address: what :func:`address_term` returns for the port.
    """
    parts = []
    # The address may be a text of the machine, or a value that a rule has
    # written. The guard of an alternative holds on the machines that have it.
    for guard, alternative in values.step(port, 'address'):
        if isinstance(alternative, values.UnknownValue):
            has_address = machine.guess(
                alternative.reason, 'address', alternative, address
            )
            parts.append(logic.conj(guard, has_address))
            continue
        own_address = alternative.as_term()
        if own_address is None or not z3.is_string(own_address):
            # Only an impossible port has no text as its address.
            continue
        if z3.is_string_value(address):
            machine.note_text(own_address, logic.text_of(address))
        # Rules may give one address to several ports, one after another. The
        # text may be the UUID of only one of them.
        has_address = where_same_port(machine, own_address, address, position)
        parts.append(logic.conj(guard, has_address))
    return logic.disj(*parts)


def where_same_port(
    machine: machines.SymbolicMachine,
    one: logic.Term,
    other: logic.Term,
    *about: typing.Any,
) -> logic.Formula:
    """Return the formula that two texts name the same port.

    Addresses of ports and known addresses are in lower case. Any other text of
    the machine may be an address in capital letters, or the UUID of a port, by
    which the engine finds the port too. For the solver this is a guess.

    :param about: everything that the guess depends on, except the texts.
    """
    is_equal = logic.settled(one == other)
    addresses = [
        machine.cells['ports', str(index), 'address'].terms['text']
        for index in range(cells.LONGEST)
        if ('ports', str(index), 'address') in machine.cells
    ]
    are_addresses = all(
        z3.is_string_value(text) or any(map(text.eq, addresses))
        for text in (one, other)
    )
    if are_addresses:
        return is_equal
    # Sort both, because the guess is the same for either order.
    is_guessed = machine.guess(
        'a port by its UUID, or by an address in capital letters',
        'same port',
        *sorted((one, other), key=z3.AstRef.get_id),
        *about,
    )
    # The search first assumes an address in lower case.
    machine.likely[is_guessed.get_id()] = logic.negated(is_guessed)
    return logic.disj(is_equal, is_guessed)


def lose_value(
    place: data_path.Path, reason: str, *about: typing.Any
) -> Value:
    """Return an unknown value for a place whose change was not followed.

    ``node`` remains a mapping, but with unknown entries: ``node.name`` may be
    anything, and ``node.extra`` is again a mapping with unknown entries.

    :param reason: why the change cannot be followed.
    :param about: everything that the value depends on.
    """
    unknown = values.unknown_value(reason, *about)
    if not _is_mapping(place):
        return values.only(unknown)
    # The place is a mapping on every machine. If it were unknown as a whole,
    # it might be a text, and reading an entry would be an impossible error.
    entries: dict[str, Value] = {}
    for inner in _mappings_in(place):
        name = inner[-1]
        entries[name] = lose_value(inner, reason, unknown, name)
    return values.only(values.Mapping(unknown, entries))


def _mappings_in(place: data_path.Path) -> list[data_path.Path]:
    """List the places below a place where every machine has a mapping.

    Below ``('node',)`` these are ``('node', 'extra')``, ``('node',
    'properties')`` and so on, and the traits by name.
    """
    if place == cells.PROPERTIES:
        return [cells.CAPABILITIES]
    if place != ('node',):
        return []
    places: list[data_path.Path] = []
    for name, attribute in schema.NODE.items():
        if attribute.kind == 'a mapping':
            places.append(('node', name))
    return [*places, cells.TRAITS]


def _is_mapping(place: data_path.Path) -> bool:
    """Return whether every machine has a mapping at a place."""
    if place in cells.MAPPINGS:
        return True
    if len(place) != 2 or place[0] != 'node':
        return False
    attribute = schema.NODE.get(place[1])
    return attribute is not None and attribute.kind == 'a mapping'


@dataclasses.dataclass(frozen=True)
class Put:
    """A value after a write at a path inside of it.

    :ivar broken: holds if the write is an error, because something in its path
        is not a mapping.
    """

    value: Value
    broken: logic.Formula = logic.FALSE


def put(
    machine: machines.SymbolicMachine,
    value: Value,
    path: data_path.Path,
    new: Value,
    creates: bool = True,
) -> Put:
    """Write a value at a path inside of another value, in all alternatives.

    After 8 is written at ``('hw', 'cpus')``, the value is::

        it was missing or null → {'hw': {'cpus': 8}}
        it was a mapping       → that mapping, with 8 in its "hw"
        it was a text          → that text, and the write is an error

    :param new: the value to write; a missing value deletes.
    :param creates: whether to create missing parents. False for deleting.
    """
    if not path:
        return Put(new)
    parts: list[tuple[logic.Formula, Value]] = []
    broken = [logic.FALSE]
    # The guard of an alternative, e.g. a mapping, holds on the machines that
    # have it.
    for guard, alternative in value:
        changed = _put_in(machine, alternative, path, new, creates)
        parts.append((guard, changed.value))
        broken.append(logic.conj(guard, changed.broken))
    return Put(values.join(parts), broken=logic.disj(*broken))


def _put_in(
    machine: machines.SymbolicMachine,
    into: values.Alternative,
    path: data_path.Path,
    new: Value,
    creates: bool,
) -> Put:
    """Write a value at a path inside of one alternative, see :func:`put`.

    By the alternative, the value after the write is::

        missing or null, and "creates"      → a new mapping or list, changed
                                              as below
        missing or null, without "creates"  → the same
        a mapping                           → the mapping with the new entry
        an unknown value, or a list and a
        path to an item                     → unknown as a whole
        anything else                       → the same; an error if "creates"

    A list becomes unknown because changes of items are not followed.

    :param into: the alternative, e.g. a mapping.
    :param path: at least one token.
    """
    # For ('extra', 'rack') the token is "extra"; "rack" is written below it.
    token, *rest = path
    is_nothing = isinstance(into, values.Const) and (
        into.value in (None, data_path.ABSENT)
    )
    if is_nothing and not creates:
        # There is nothing to delete.
        return Put(values.only(into))
    parent = into
    if is_nothing:
        parent = _new_parent(token)
    elif isinstance(into, values.Const) and isinstance(into.value, dict):
        parent = values.Mapping.of(into.value)
    if isinstance(parent, values.Mapping):
        entry = parent.entry(token)
        inner = put(machine, entry, tuple(rest), new, creates)
        exists = values.where_absent(entry) is logic.FALSE
        if rest and exists:
            changed = parent.with_changed_entry(token, inner.value)
        else:
            changed = parent.with_entry(token, inner.value)
        return Put(values.only(changed), broken=inner.broken)
    if isinstance(parent, values.UnknownValue) or _has_item(parent, token):
        # An unknown value may be a list.
        reason = f'a change inside a list, at {token}'
        about = parent, path, new, creates
        broken = logic.FALSE
        if creates:
            broken = machine.guess(reason, 'fails', *about)
        return Put(values.unknown(reason, *about), broken=broken)
    # Writing an entry is an error: a text or a number has no entries, and a
    # list has none with a name. Deleting such an entry is not an error.
    return Put(values.only(parent), broken=logic.of_bool(creates))


def _has_item(parent: values.Alternative, token: str) -> bool:
    """Return whether a token names an item of a list, or one after its end.

    "0" does, and so does "-", which means a new item at the end.
    """
    if not parent.is_list:
        return False
    return data_path.is_append(token) or data_path.index(token) is not None


def _new_parent(token: str) -> values.Alternative:
    """Return the empty list or mapping that the engine creates for a token.

    For "-", the end of a list, it is a list; otherwise it is a mapping.
    """
    if data_path.is_append(token):
        return values.ItemList(z3.IntVal(0), (), 'a list')
    return values.Mapping(cell=None, entries={})
