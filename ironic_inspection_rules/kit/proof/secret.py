# SPDX-License-Identifier: Apache-2.0

"""Secrets on all machines at once: what rules see of them.

The engine hides them by the names that they are kept under. So that rules
may name their own variables as they like, a value is masked where it is read
from a machine, and not where a rule reads what it has made of it.
"""

import dataclasses
import functools
import typing

import z3

from ironic_inspection_rules.engine.language import effects
from ironic_inspection_rules.engine.language import interpolation
from ironic_inspection_rules.engine.language import model
from ironic_inspection_rules.engine.language import origin
from ironic_inspection_rules.engine.language import path as data_path
from ironic_inspection_rules.engine.language import rendering
from ironic_inspection_rules.engine.language.secrecy import masking
from ironic_inspection_rules.kit.proof import logic
from ironic_inspection_rules.kit.proof import machine as machines
from ironic_inspection_rules.kit.proof import value as values

Value = values.Value
Machine = machines.SymbolicMachine

OWN = (model.VARS, interpolation.ITEM)
"""The roots in which rules find what they have read before."""


def step(machine: Machine, value: Value, *names: str,
         own: bool = False) -> Value:
    """Follow names and indexes below a value, and mask secrets.

    :param own: whether a rule has made the value: names that it wrote out are
        of no secrets.
    """
    for name in names:
        if masking.is_secret(name):
            read_entry = functools.partial(_entry, machine, name, own)
            value = values.transform(value, read_entry)
        else:
            value = values.step(value, name)
    return value


def _entry(machine: Machine, name: str, own: bool,
           alternative: values.Alternative) -> Value:
    """Return an entry whose name is that of a secret."""
    entry = alternative.step(name)
    if own and _is_written_out(alternative):
        return entry
    return _masked_value(machine, entry)


def _is_written_out(alternative: values.Alternative) -> bool:
    """Return whether a rule has written out all names of a value."""
    if isinstance(alternative, values.Mapping):
        return alternative.cell is None
    return isinstance(alternative, values.Const)


def _masked_value(machine: Machine, value: Value) -> Value:
    """Mask a value that is a secret by its name."""
    return values.transform(value, functools.partial(_masked, machine))


def _masked(machine: Machine, alternative: values.Alternative) -> Value:
    """Mask a secret; an empty one stays as it is."""
    if isinstance(alternative, values.UnknownValue):
        return values.unknown(alternative.reason, 'masked', alternative)
    empty: typing.Any
    if isinstance(alternative, values.Const):
        empty = alternative.value
    elif isinstance(alternative, values.SolverTerm):
        empty = ''
    elif isinstance(alternative, values.ItemList):
        empty = []
    elif isinstance(alternative, values.Mapping):
        empty = {}
    else:
        return values.only(alternative)
    is_bare = _is_bare(machine, alternative)
    return values.choose(is_bare, values.const(empty),
                         values.const(masking.MASK))


def _is_bare(machine: Machine, alternative: values.Alternative
             ) -> logic.Formula:
    """Return when a value is empty, so that nothing of it is hidden."""
    if isinstance(alternative, values.Const):
        is_bare = alternative.is_missing or (
            alternative.value in (None, '', [], {}))
        return logic.known(is_bare)
    if isinstance(alternative, values.SolverTerm) and alternative.is_text:
        return alternative.term == ''
    if isinstance(alternative, values.ItemList):
        return alternative.length == 0
    if isinstance(alternative, values.Mapping):
        return alternative.is_empty(machine)
    if isinstance(alternative, values.UnknownValue):
        return machine.guess(alternative.reason, 'empty', alternative)
    return logic.FALSE


def _hides(machine: Machine, value: Value) -> logic.Formula:
    """Return when something of a value is hidden because of its name."""
    parts = []
    for guard, alternative in value:
        is_bare = _is_bare(machine, alternative)
        parts.append(logic.conj(guard, logic.negated(is_bare)))
    return logic.disj(*parts)


def whole(machine: Machine, alternative: values.Alternative) -> Value:
    """Return a value that is read, without the secrets inside of it.

    Those of a machine's own mappings are masked when a rule reads them.
    """
    if isinstance(alternative, values.Const):
        masked = masking.mask(alternative.value)
        if masked is alternative.value:
            return values.only(alternative)
        return values.const(masked)
    if isinstance(alternative, values.Mapping):
        return values.only(_without_secrets(machine, alternative))
    if (isinstance(alternative, values.ItemList)
            and alternative.has_written_items):
        items = [_item_without_secrets(machine, item)
                 for item in alternative.items]
        shown = dataclasses.replace(alternative, items=tuple(items))
        return values.only(shown)
    return values.only(alternative)


def _without_secrets(machine: Machine, mapping: values.Mapping
                     ) -> values.Mapping:
    """Return a mapping with what rules wrote there masked.

    It is the same object if nothing is, so that it stays known as the same.
    """
    changed = {}
    for name, entry in mapping.entries.items():
        if masking.is_secret(name):
            masked = _masked_value(machine, entry)
        else:
            masked = _whole_value(machine, entry)
        if values.fingerprint(masked) != values.fingerprint(entry):
            changed[name] = masked
    if not changed:
        return mapping
    entries = {**mapping.entries, **changed}
    return dataclasses.replace(mapping, entries=entries)


def _item_without_secrets(machine: Machine, item: typing.Any) -> typing.Any:
    """Return an item of a list; one of the machine has no rule's secrets."""
    if isinstance(item, values.WrittenItem):
        return values.WrittenItem(_whole_value(machine, item.value))
    return item


def _whole_value(machine: Machine, value: Value) -> Value:
    """Return what :func:`whole` makes of the alternatives of a value."""
    return values.transform(value, functools.partial(whole, machine))


def read_in(machine: Machine, written: typing.Any,
            roots: typing.Mapping[str, Value], made: origin.Origins
            ) -> logic.Formula:
    """Return when a field somewhere is, has or is made of a secret.

    An action does not write that.

    :param written: the arguments of an action.
    :param made: finds what the values of its rule are made of.
    """
    parts = []
    for field in effects.fields(written):
        if field.root in OWN and field.root in roots:
            parts.append(_is_made(machine, field, roots, made))
        elif field.root in roots:
            parts.append(_is_at(machine, field, field.steps, roots))
    return logic.disj(*parts)


def _is_made(machine: Machine, field: interpolation.Field,
             roots: typing.Mapping[str, Value], made: origin.Origins
             ) -> logic.Formula:
    """Return when a value of the rule has or is made of a secret."""
    root = field.root or ''
    sources = made.of(root, field.steps)
    if not sources:
        # It is the rule's own, even if it reads "******".
        return logic.FALSE
    own = step(machine, roots[root], *field.steps, own=True)
    parts = [_any(machine, own, True)]
    for source in sources:
        if source.root not in roots:
            continue
        there = _is_at(machine, source.field, source.steps, roots)
        if source.is_kept:
            # A masked text is seen in the value; a filter may take it for a
            # list of characters.
            kept = values.step(roots[source.root], *source.steps)
            there = logic.conj(there, _is_plain(machine, kept))
        parts.append(there)
    return logic.disj(*parts)


def _is_plain(machine: Machine, value: Value) -> logic.Formula:
    """Return when a value is neither a mapping nor a list."""
    parts = []
    for guard, alternative in value:
        if isinstance(alternative, values.UnknownValue):
            perhaps = machine.guess(alternative.reason, 'plain', alternative)
            parts.append(logic.conj(guard, perhaps))
        elif isinstance(alternative, values.Const | values.SolverTerm):
            if alternative.kind not in ('list', 'mapping'):
                parts.append(guard)
    return logic.disj(*parts)


def _is_at(machine: Machine, field: interpolation.Field,
           steps: data_path.Path, roots: typing.Mapping[str, Value]
           ) -> logic.Formula:
    """Return when a value of the machine is or has a secret."""
    root = field.root or ''
    names_port = root in rendering.PORT_ROOTS and steps and (
        data_path.index(steps[0]) is None)
    if names_port:
        # By its address or UUID: which port of a machine that is, nobody
        # knows.
        return machine.guess(f'the port of {{{field.text}}}', 'secret',
                             field.text, roots[root])
    place = roots[root]
    hidden = []
    for name in steps:
        place = values.step(place, name)
        if masking.is_secret(name):
            hidden.append(_hides(machine, place))
    if not hidden:
        return _any(machine, place, False)
    # Below a secret there is nothing to see.
    is_hidden = logic.disj(*hidden)
    is_there = logic.negated(values.absent(place))
    return logic.conj(is_hidden, is_there)


def _any(machine: Machine, value: Value, own: bool) -> logic.Formula:
    """Return when a value has a secret in it.

    :param own: whether it was masked before: a secret is known by its mask.
    """
    parts = []
    for guard, alternative in value:
        has_secret = _has(machine, alternative, own)
        parts.append(logic.conj(guard, has_secret))
    return logic.disj(*parts)


def _has(machine: Machine, alternative: values.Alternative, own: bool
         ) -> logic.Formula:
    """Return when one alternative has a secret in it; see :func:`_any`."""
    if isinstance(alternative, values.Const):
        return logic.known(_has_known(alternative, own))
    if isinstance(alternative, values.SolverTerm):
        if own and alternative.is_text:
            mask = logic.constant(masking.MASK)
            return z3.Contains(alternative.term, mask)
        return logic.FALSE
    if isinstance(alternative, values.Mapping):
        return _has_below(machine, alternative, own)
    if isinstance(alternative, values.ItemList):
        return _has_item(machine, alternative, own)
    if isinstance(alternative, values.UnknownValue):
        return machine.guess(alternative.reason, 'secret', alternative)
    return logic.FALSE


def _has_known(alternative: values.Const, own: bool) -> bool:
    """Return whether a known value has a secret in it; see :func:`_any`."""
    if alternative.is_missing:
        return False
    if own:
        return _has_mask(alternative.value)
    return masking.mask(alternative.value) is not alternative.value


def _has_item(machine: Machine, items: values.ItemList, own: bool
              ) -> logic.Formula:
    """Return when an item of a list has a secret in it."""
    parts = []
    looped = zip(items.items_of_loop(), items.items, strict=True)
    for (exists, value), item in looped:
        if isinstance(item, values.WrittenItem):
            has_secret = _any(machine, value, own)
            parts.append(logic.conj(exists, has_secret))
    looked_at = [item for item in items.items
                 if not isinstance(item, values.WrittenItem)]
    if looked_at:
        # What is in an item of the machine, only its fields tell. A machine
        # that shows it has a secret in the first one.
        has_items = items.length > 0
        perhaps = machine.guess(f'a secret in {items.name}', 'secret', items)
        looked_at[0].secrets[perhaps.get_id()] = perhaps
        parts.append(logic.conj(has_items, perhaps))
    return logic.disj(*parts)


def _has_below(machine: Machine, mapping: values.Mapping, own: bool
               ) -> logic.Formula:
    """Return when a mapping has a secret in it.

    What a machine has in it that no rule names may be one: that is a guess.
    """
    parts = []
    for name, entry in mapping.entries.items():
        # Traits and capabilities are no secrets.
        if name.startswith('#'):
            continue
        if not own and masking.is_secret(name):
            parts.append(_hides(machine, entry))
        else:
            parts.append(_any(machine, entry, own))
    if mapping.cell is not None:
        parts.append(_beside_entries(machine, mapping))
    return logic.disj(*parts)


def _beside_entries(machine: Machine, mapping: values.Mapping
                    ) -> logic.Formula:
    """Return when there is a secret in a mapping that no rule has written."""
    if isinstance(mapping.cell, values.UnknownValue):
        return machine.guess('a secret in what nobody knows', 'secret',
                             mapping)
    reason = f'a secret in {mapping.cell.name}'
    if len(mapping.cell.kinds) > 1:
        # Of a field with a plain value on most machines.
        reason = f'{mapping.cell.name} as a mapping with a secret in it'
    perhaps = machine.guess(reason, 'secret', mapping)
    mapping.cell.secrets[perhaps.get_id()] = perhaps
    return logic.conj(logic.negated(mapping.cell.empty), perhaps)


def _has_mask(value: typing.Any) -> bool:
    """Return whether a text in a value has a mask in it."""
    if isinstance(value, dict):
        return any(map(_has_mask, value.values()))
    if isinstance(value, list):
        return any(map(_has_mask, value))
    return isinstance(value, str) and masking.MASK in value
