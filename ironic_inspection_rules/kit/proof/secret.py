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
            value = values.transform(value, functools.partial(
                _entry, machine, name, own))
        else:
            value = values.step(value, name)
    return value


def _entry(machine: Machine, name: str, own: bool,
           alternative: values.Alternative) -> Value:
    """Return an entry whose name is that of a secret."""
    found = values.step(values.only(alternative), name)
    if own and _is_written_out(alternative):
        return found
    return values.transform(found, functools.partial(_masked, machine))


def _is_written_out(alternative: values.Alternative) -> bool:
    """Return whether a rule has written out all names of a value."""
    if isinstance(alternative, values.Mapping):
        return alternative.cell is None
    return isinstance(alternative, values.Const)


def _masked(machine: Machine, alternative: values.Alternative) -> Value:
    """Mask a secret; an empty one stays as it is."""
    bare: typing.Any
    if isinstance(alternative, values.Const):
        bare = alternative.value
    elif isinstance(alternative, values.SolverTerm):
        bare = ''
    elif isinstance(alternative, values.ItemList):
        bare = []
    elif isinstance(alternative, values.Mapping):
        bare = {}
    elif isinstance(alternative, values.UnknownValue):
        return values.unknown(alternative.reason, 'masked', alternative)
    else:
        return values.only(alternative)
    return values.choose(_is_bare(machine, alternative), values.const(bare),
                         values.const(masking.MASK))


def _is_bare(machine: Machine, alternative: values.Alternative
             ) -> logic.Formula:
    """Return when a value is empty, so that nothing of it is hidden."""
    if isinstance(alternative, values.Const):
        return logic.known(alternative.value is data_path.ABSENT
                           or alternative.value in (None, '', [], {}))
    if isinstance(alternative, values.SolverTerm):
        return alternative.term == '' if alternative.is_text else logic.FALSE
    if isinstance(alternative, values.ItemList):
        return alternative.length == 0
    if isinstance(alternative, values.Mapping):
        return alternative.is_empty(machine)
    if isinstance(alternative, values.UnknownValue):
        return machine.guess(alternative.reason, 'empty', alternative)
    return logic.FALSE


def whole(machine: Machine, alternative: values.Alternative) -> Value:
    """Return a value that is read, without the secrets inside of it.

    Those of a machine's own mappings are masked when a rule reads them.
    """
    if isinstance(alternative, values.Const):
        shown = masking.mask(alternative.value)
        if shown is alternative.value:
            return values.only(alternative)
        return values.const(shown)
    if isinstance(alternative, values.Mapping):
        changed = {}
        for name, entry in alternative.entries.items():
            made = _inside(machine, name, entry)
            if values.fingerprint(made) != values.fingerprint(entry):
                changed[name] = made
        if not changed:
            return values.only(alternative)
        return values.only(dataclasses.replace(
            alternative, entries={**alternative.entries, **changed}))
    if isinstance(alternative, values.ItemList) and any(
            isinstance(item, values.WrittenItem)
            for item in alternative.items):
        items = tuple(
            values.WrittenItem(_inside(machine, '', item.value))
            if isinstance(item, values.WrittenItem) else item
            for item in alternative.items)
        return values.only(dataclasses.replace(alternative, items=items))
    return values.only(alternative)


def _inside(machine: Machine, name: str, entry: Value) -> Value:
    """Return an entry or an item of a value that is read."""
    shown = whole
    if masking.is_secret(name):
        shown = _masked
    return values.transform(entry, functools.partial(shown, machine))


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
    parts = [_any(machine, step(machine, roots[root], *field.steps, own=True),
                  True)]
    for source in sources:
        if source.root not in roots:
            continue
        there = _is_at(machine, source.field, source.steps, roots)
        if source.is_kept:
            # A masked text is seen in the value; a filter may take it for a
            # list of characters.
            found = values.step(roots[source.root], *source.steps)
            there = logic.conj(there, _is_plain(machine, found))
        parts.append(there)
    return logic.disj(*parts)


def _is_plain(machine: Machine, value: Value) -> logic.Formula:
    """Return when a value is neither a mapping nor a list."""
    parts = []
    for guard, alternative in value:
        if isinstance(alternative, values.UnknownValue):
            parts.append(logic.conj(guard, machine.guess(
                alternative.reason, 'plain', alternative)))
        elif isinstance(alternative, values.SolverTerm) or (
                isinstance(alternative, values.Const)
                and not isinstance(alternative.value, dict | list)):
            parts.append(guard)
    return logic.disj(*parts)


def _is_at(machine: Machine, field: interpolation.Field,
           steps: data_path.Path, roots: typing.Mapping[str, Value]
           ) -> logic.Formula:
    """Return when a value of the machine is or has a secret."""
    root = field.root or ''
    if root in ('ports', 'port_groups') and steps and (
            data_path.index(steps[0]) is None):
        return machine.guess(f'the port of {{{field.text}}}', 'secret',
                             field.text, roots[root])
    found, masks = roots[root], [logic.FALSE]
    for name in steps:
        found = values.step(found, name)
        if masking.is_secret(name):
            masks += [logic.conj(guard, logic.negated(
                _is_bare(machine, alternative)))
                for guard, alternative in found]
    if any(map(masking.is_secret, steps)):
        # Below a secret there is nothing to see.
        return logic.conj(logic.disj(*masks),
                          logic.negated(values.absent(found)))
    return _any(machine, found, False)


def _any(machine: Machine, value: Value, own: bool) -> logic.Formula:
    """Return when a value has a secret in it.

    :param own: whether it was masked before: a secret is known by its mask.
    """
    return logic.disj(*(logic.conj(guard, _has(machine, alternative, own))
                        for guard, alternative in value))


def _has(machine: Machine, alternative: values.Alternative, own: bool
         ) -> logic.Formula:
    if isinstance(alternative, values.Const):
        if alternative.value is data_path.ABSENT:
            return logic.FALSE
        if own:
            return logic.known(_has_mask(alternative.value))
        return logic.known(
            masking.mask(alternative.value) is not alternative.value)
    if isinstance(alternative, values.SolverTerm):
        if own and alternative.is_text:
            return z3.Contains(alternative.term,
                               logic.constant(masking.MASK))
        return logic.FALSE
    if isinstance(alternative, values.Mapping):
        return _has_below(machine, alternative, own)
    if isinstance(alternative, values.ItemList):
        parts = [logic.conj(there, _any(machine, item, own))
                 for (there, item), kept in zip(
                     alternative.items_of_loop(), alternative.items,
                     strict=True) if isinstance(kept, values.WrittenItem)]
        if len(parts) < len(alternative.items):
            parts.append(logic.conj(alternative.length > 0, machine.guess(
                f'a secret in {alternative.name}', 'secret', alternative)))
        return logic.disj(*parts)
    if isinstance(alternative, values.UnknownValue):
        return machine.guess(alternative.reason, 'secret', alternative)
    return logic.FALSE


def _has_below(machine: Machine, mapping: values.Mapping, own: bool
               ) -> logic.Formula:
    parts = []
    for name, entry in mapping.entries.items():
        # Traits and capabilities are no secrets.
        if name.startswith('#'):
            continue
        if not own and masking.is_secret(name):
            parts += [logic.conj(guard, logic.negated(
                _is_bare(machine, alternative)))
                for guard, alternative in entry]
        else:
            parts.append(_any(machine, entry, own))
    if mapping.cell is not None:
        name = getattr(mapping.cell, 'name', 'what nobody knows')
        parts.append(machine.guess(f'a secret in {name}', 'secret', mapping))
    return logic.disj(*parts)


def _has_mask(value: typing.Any) -> bool:
    if isinstance(value, dict):
        return any(map(_has_mask, value.values()))
    if isinstance(value, list):
        return any(map(_has_mask, value))
    return isinstance(value, str) and masking.MASK in value
