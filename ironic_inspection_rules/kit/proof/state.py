# SPDX-License-Identifier: Apache-2.0

"""Machines before, between and after rules, and what rules write there."""

import dataclasses
import typing

import z3

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.language import call as engine_call
from ironic_inspection_rules.engine.language import effects
from ironic_inspection_rules.engine.language import interpolation
from ironic_inspection_rules.engine.language import model
from ironic_inspection_rules.engine.language import path as data_path
from ironic_inspection_rules.engine.language import registry
from ironic_inspection_rules.kit.proof import cell as cells
from ironic_inspection_rules.kit.proof import logic
from ironic_inspection_rules.kit.proof import machine as machines
from ironic_inspection_rules.kit.proof import value as values
from ironic_inspection_rules.plugins.actions import schema
from ironic_inspection_rules.traits import names as trait_names

Value = values.Value

EVERYWHERE: tuple[data_path.Path, ...] = (
    ('node',), ('plugin_data',), ('ports',))
"""All places that rules may change."""

ANY_PORT = '*'  # Stands for a port that is not named by its MAC address.
MOST = 16  # Each rule that extends a list may double what it can be.
ERROR = -1  # The result of an inspection that met an error.

_TRIMMED = r'[^\s,](?:[^,]*[^\s,])?'
"""The value of a capability, without white space around it."""


@dataclasses.dataclass(frozen=True)
class State:
    """All machines at one moment.

    ``going`` holds for those whose inspection goes on; ``result`` is 0 where
    it goes on, -1 where it ended with an error, else the number of the
    message that it failed with.
    """

    roots: typing.Mapping[str, values.Value]
    going: logic.Formula = logic.TRUE
    result: typing.Any = dataclasses.field(
        default_factory=lambda: z3.IntVal(0))

    def ended(self, ends: logic.Formula, result: int = ERROR) -> 'State':
        """Return the state after some inspections have ended."""
        if ends is logic.FALSE:
            return self
        return dataclasses.replace(
            self, going=logic.conj(self.going, logic.negated(ends)),
            result=z3.If(ends, z3.IntVal(result), self.result))

    def having(self, **roots: values.Value) -> 'State':
        """Return the state with other data under some roots."""
        return dataclasses.replace(self, roots={**self.roots, **roots})


@dataclasses.dataclass(frozen=True)
class SymbolicWrite:
    """The value that a rule leaves at one place, and when.

    ``place`` begins with the name of a root; after ``ports`` comes the MAC
    address of the port, or :data:`ANY_PORT`; ``port`` is it as a term.
    """

    place: data_path.Path
    when: logic.Formula
    value: values.Value
    extends: bool = False
    port: typing.Any = None


@dataclasses.dataclass
class RulePass:
    """One rule that has run.

    ``before`` are the machines as it found them, ``begin`` as its phase did;
    ``lasts`` says when it wrote a log or called somebody, ``fails`` when it
    failed an inspection, ``ends`` when it did that or met an error.
    """

    rule: model.Rule
    matched: logic.Formula
    before: State
    begin: State
    writes: list[SymbolicWrite] = dataclasses.field(default_factory=list)
    lasts: logic.Formula = logic.FALSE
    fails: logic.Formula = logic.FALSE
    ends: logic.Formula = logic.FALSE


def places(op: registry.Op, bound: dict[str, typing.Any]
           ) -> typing.Iterator[data_path.Path]:
    """Yield the places that an action may change, all if it declares none.

    :raises: :class:`.exceptions.PluginFailed`.
    """
    declared = effects.declared_by(op, bound)
    if not declared:
        yield from EVERYWHERE
    for write in declared:
        if write.kind in ('trait', 'traits'):
            yield cells.TRAITS
        elif write.kind == 'capability':
            yield from (cells.CAPABILITIES, cells.CAPABILITY_TEXT)
        else:
            path = _written_out(write.name)
            if write.kind == 'port':
                yield ('ports', shown(values.Const(write.owner)), *path)
            else:
                yield (write.kind, *path)
                if (write.kind, *path) == cells.CAPABILITY_TEXT:
                    yield cells.CAPABILITIES


def _written_out(path: typing.Any) -> data_path.Path:
    """Return the tokens of a path before the first that has a field."""
    if not isinstance(path, str):
        path = data_path.pointer(path) if isinstance(
            path, tuple | list) else '/{}'
    tokens = []
    for pieces in engine_call.split(interpolation.parse(path)):
        if not all(isinstance(piece, str) for piece in pieces) or (
                data_path.appends(''.join(map(str, pieces)))):
            break
        tokens.append(''.join(map(str, pieces)))
    return tuple(tokens)


def address(port_id: values.Alternative) -> typing.Any:
    """Return the MAC address of a port as a term, None if it is none."""
    if isinstance(port_id, values.SolverTerm) and port_id.is_text:
        return port_id.term
    known = shown(port_id)
    return None if known == ANY_PORT else logic.constant(known)


def shown(port_id: values.Alternative) -> str:
    """Return the MAC address that a rule writes out, else ``ANY_PORT``."""
    text = port_id.value if isinstance(port_id, values.Const) else None
    if not isinstance(text, str) or text.count(':') != 5 or (
            interpolation.fields(text)):
        return ANY_PORT
    return text.lower()


def is_at(machine: machines.SymbolicMachine, port: Value,
          address: typing.Any) -> logic.Formula:
    """Return when a port has a MAC address."""
    parts = []
    for guard, found in values.step(port, 'address'):
        if isinstance(found, values.SolverTerm) and found.is_text:
            if z3.is_string_value(address):
                machine.note(found.term, logic.text_of(address))
            parts.append(logic.conj(guard, found.term == address))
    return logic.disj(*parts)


def is_trait(machine: machines.SymbolicMachine, name: values.Alternative
             ) -> logic.Formula | None:
    """Return when a text is the name of a trait, None if nobody knows."""
    if not isinstance(name, values.SolverTerm) or not name.is_text:
        return None
    facet = machine.facet(
        name.term, 'trait', lambda known: (z3.Bool(known),),
        lambda text: (trait_names.is_good(text),))
    if facet is None:
        return None
    facet.near.add('CUSTOM_A')
    return facet.terms[0]


def _is_name(machine: machines.SymbolicMachine,
             text: typing.Any) -> logic.Formula:
    """Return when Ironic takes a text as the name of a node."""
    is_name, is_uuid = (
        z3.InRe(text, machine.alphabet.language(pattern))
        for pattern in (schema.NODE_NAME, schema.UUID_LIKE))
    return z3.And(is_name, z3.Not(is_uuid))


def _takes(path: data_path.Path, text: str,
           table: typing.Mapping[str, schema.Attribute]) -> bool:
    """Return whether an attribute may be set to a text."""
    try:
        schema.read_value(path, text, table)
    except exceptions.OperationError:
        return False
    return True


def read(machine: machines.SymbolicMachine, path: data_path.Path,
         table: typing.Mapping[str, schema.Attribute],
         each: values.Alternative) -> Value:
    """Return a value as an attribute of a node or a port keeps it."""
    if isinstance(each, values.Const):
        try:
            return values.const(schema.read_value(path, each.value, table))
        except exceptions.OperationError:
            return values.FAILED
    if len(path) > 1 or isinstance(each, values.UnknownValue | values.Failed):
        return values.only(each)
    attribute = table[path[0]]
    is_boolean = isinstance(each, values.SolverTerm) and each.is_boolean
    if attribute.kind == 'a mapping':
        return values.only(each) if isinstance(each, values.Mapping) else (
            values.FAILED)
    if attribute.kind == 'true or false' and is_boolean:
        return values.only(each)
    if attribute.kind in schema.TEXT_KINDS:
        if not isinstance(each, values.SolverTerm):
            return values.FAILED
        text = None if is_boolean else machine.text_of(each)
        if text is not None:
            number = machine.numbers_of.get(text.get_id())
            if number is not None:
                fits = machine.asks_text(
                    number, f'{path[0]} takes',
                    lambda known: _takes(path, known, table))
            else:
                fits = z3.Length(text) <= attribute.longest
                if attribute.kind == schema.NAME_KIND:
                    fits = z3.And(fits, _is_name(machine, text))
            return values.choose(fits, values.only(values.SolverTerm(text)),
                                 values.FAILED)
    return values.FAILED if is_boolean else values.unknown(
        f'{path[0]} out of the data', each)


def extended(machine: machines.SymbolicMachine, is_crowded: bool,
             old: values.Alternative, new: values.Alternative,
             once: values.Alternative) -> Value:
    """Return a list with one more item.

    :param is_crowded: whether it has too many alternatives to follow.
    """
    if isinstance(old, values.Failed | values.SolverTerm | values.Mapping):
        return values.FAILED
    lost = values.unknown('a list that rules extend', old, new, once)
    if isinstance(old, values.UnknownValue):
        return values.choose(
            machine.guess(old.reason, 'no list', old), values.FAILED, lost)
    if isinstance(old, values.Const) and isinstance(
            new, values.Const) and isinstance(once, values.Const):
        items = [] if old.value in (None, data_path.ABSENT) else old.value
        if not isinstance(items, list):
            return values.FAILED
        if is_crowded:
            return lost
        if once.value and any(data_path.same(each, new.value)
                              for each in items):
            return values.const(items)
        return values.const([*items, new.value])
    if isinstance(old, values.Const) and old.value not in (
            None, data_path.ABSENT) and not isinstance(old.value, list):
        return values.FAILED
    return lost


def capability_text(machine: machines.SymbolicMachine,
                    each: values.Alternative) -> Value:
    """Return the value of a capability, which is text without commas.

    White space around it is left out.
    """
    unknown = values.unknown('the value of a capability', each)
    if isinstance(each, values.Const):
        if isinstance(each.value, list | dict):
            return values.FAILED
        constant = str(each.value).strip()
        if not constant or ',' in constant:
            return values.FAILED
        return values.const(constant)
    if isinstance(each, values.SolverTerm):
        text = machine.text_of(each)
        if text is not None:
            # The solver has no texts without the white space around others.
            is_trimmed = z3.InRe(text, machine.alphabet.language(_TRIMMED))
            fails = z3.Or(text == '', z3.Contains(text, ','))
            return values.choose(fails, values.FAILED, values.choose(
                is_trimmed, values.only(values.SolverTerm(text)), unknown))
    return unknown


def no_capabilities(machine: machines.SymbolicMachine, path: data_path.Path,
                    value: Value) -> logic.Formula:
    """Return when a value leaves capabilities that are no text.

    :param path: where it is written, from the node on.
    """
    names = cells.CAPABILITY_TEXT[1:]
    if path[:len(names)] == names and path != names:
        return logic.TRUE
    if path != names[:len(path)]:
        return logic.FALSE
    found = [logic.FALSE]
    for guard, each in values.step(value, *names[len(path):]):
        wrong = logic.TRUE
        if isinstance(each, values.UnknownValue):
            wrong = machine.guess(each.reason, 'is no text', each)
        elif isinstance(each, values.SolverTerm):
            wrong = logic.known(not each.is_text)
        elif isinstance(each, values.Const):
            wrong = logic.known(not (
                each.value is None or each.value is data_path.ABSENT
                or isinstance(each.value, str)))
        found.append(logic.conj(guard, wrong))
    return logic.disj(*found)


def lost(place: data_path.Path, reason: str, *about: typing.Any) -> Value:
    """Return what is at a place after a change that nobody can follow.

    What is a mapping in any case stays one.
    """
    found, = values.unknown(reason, *about)
    unknown = typing.cast(values.UnknownValue, found[1])
    if place == ('node',):
        inside: dict[str, Value] = {
            name: lost(('node', name), reason, unknown, name)
            for name, attribute in schema.NODE.items()
            if attribute.kind == 'a mapping'}
        inside[cells.TRAITS[-1]] = lost(cells.TRAITS, reason, unknown,
                                           'traits')
        return values.only(values.Mapping(unknown, inside))
    if place == cells.CAPABILITIES[:-1]:
        return values.only(values.Mapping(unknown, {
            cells.CAPABILITIES[-1]: lost(
                cells.CAPABILITIES, reason, unknown, 'capabilities')}))
    is_mapping = place in (('plugin_data',), cells.TRAITS,
                           cells.CAPABILITIES) or (
        len(place) == 2 and place[0] == 'node' and place[1] in schema.NODE
        and schema.NODE[place[1]].kind == 'a mapping')
    return values.only(values.Mapping(unknown, {}) if is_mapping else unknown)


def put(machine: machines.SymbolicMachine, value: Value, path: data_path.Path,
        new: Value, creates: bool = True) -> tuple[Value, logic.Formula]:
    """Write a value at a path.

    :param creates: whether parents that are missing are made.
    :returns: the value with it, and when that cannot be.
    """
    if not path:
        return new, logic.FALSE
    parts: list[tuple[logic.Formula, Value]] = []
    errors = [logic.FALSE]
    for guard, alternative in value:
        made, error = _put_in(machine, alternative, path, new, creates)
        parts.append((guard, made))
        errors.append(logic.conj(guard, error))
    return values.join(parts), logic.disj(*errors)


def _put_in(machine: machines.SymbolicMachine, into: values.Alternative,
            path: data_path.Path, new: Value, creates: bool
            ) -> tuple[Value, logic.Formula]:
    """Write a value below one alternative; see :func:`put`."""
    if isinstance(into, values.Const):
        if into.value in (None, data_path.ABSENT):
            if not creates:
                return values.only(into), logic.FALSE
            into = values.Mapping(None, {})
            if data_path.appends(path[0]):
                into = values.ItemList(z3.IntVal(0), (), 'a list')
        elif isinstance(into.value, dict):
            into = values.Mapping.of(into.value)
    if isinstance(into, values.Mapping):
        inner, error = put(machine, into.entry(path[0]), path[1:], new,
                           creates)
        entries = {**into.entries, path[0]: inner}
        return values.only(values.Mapping(into.cell, entries)), error
    may_be_item = into.is_list and (
        data_path.appends(path[0]) or data_path.index(path[0]) is not None)
    if may_be_item or isinstance(into, values.UnknownValue):
        reason = f'a change inside a list, at {path[0]}'
        about = into, path, new, creates
        error = logic.FALSE
        if creates:
            error = machine.guess(reason, 'fails', *about)
        return values.unknown(reason, *about), error
    # A plain value has no entries, and a list none with a name.
    return values.only(into), logic.known(creates)
