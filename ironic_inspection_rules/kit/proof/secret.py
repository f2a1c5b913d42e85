# SPDX-License-Identifier: Apache-2.0

"""Secrets in a proof, on all machines at once: what rules see of them.

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

MADE_BY_RULES = (model.VARS, interpolation.ITEM)
"""The roots of values that a rule itself has made.

What is in them was masked when the rule read it from the machine.
"""


def step(
    machine: Machine, value: Value, *names: str, by_rule: bool = False
) -> Value:
    """Follow names and indexes below a value, and mask secrets.

    :param by_rule: whether a rule has made the value. The names that it wrote
        there itself are its choice, and hide nothing.
    """
    for name in names:
        if masking.is_secret(name):
            read_entry = functools.partial(_entry, machine, name, by_rule)
            value = values.transform(value, read_entry)
        else:
            value = values.step(value, name)
    return value


def _entry(
    machine: Machine, name: str, by_rule: bool, alternative: values.Alternative
) -> Value:
    """Return an entry whose name is that of a secret, masked if it is one.

    :param by_rule: whether a rule has made the value. A name that the rule
        itself wrote there is its choice, and hides nothing.
    """
    entry = alternative.step(name)
    if by_rule and _is_written_out(alternative):
        return entry
    return _mask_value(machine, entry)


def _is_written_out(alternative: values.Alternative) -> bool:
    """Return whether a rule has written out all names of a value."""
    if isinstance(alternative, values.Mapping):
        return alternative.cell is None
    return isinstance(alternative, values.Const)


def _mask_value(machine: Machine, value: Value) -> Value:
    """Mask a value that is a secret by its name."""
    return values.transform(value, functools.partial(_mask, machine))


def _mask(machine: Machine, alternative: values.Alternative) -> Value:
    """Return the mask in place of a secret; an empty secret stays as it is."""
    if isinstance(alternative, values.UnknownValue):
        return values.unknown(alternative.reason, 'masked', alternative)
    empty: typing.Any
    if isinstance(alternative, values.Const):
        # Chosen only if it is empty: null, for example.
        empty = alternative.value
    elif isinstance(alternative, values.SolverTerm):
        empty = ''
    elif isinstance(alternative, values.ItemList):
        empty = []
    elif isinstance(alternative, values.Mapping):
        empty = {}
    else:
        return values.only(alternative)
    is_empty = _is_empty(machine, alternative)
    return values.choose(
        is_empty, values.const(empty), values.const(masking.MASK)
    )


def _is_empty(
    machine: Machine, alternative: values.Alternative
) -> logic.Formula:
    """Return on which machines a secret is empty.

    The engine masks no empty secret, so nothing of it is hidden there.
    """
    if isinstance(alternative, values.Const):
        is_empty = alternative.is_missing or (
            alternative.value in (None, '', [], {})
        )
        return logic.known(is_empty)
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
    """Return on which machines something of a secret is hidden.

    An empty secret is not masked, so that it hides nothing.

    :param value: what stands under the name of a secret.
    """
    parts = []
    for guard, alternative in value:
        is_empty = _is_empty(machine, alternative)
        parts.append(logic.conj(guard, logic.negated(is_empty)))
    return logic.disj(*parts)


def without_secrets(
    machine: Machine, alternative: values.Alternative
) -> Value:
    """Return a value that a rule reads, with the secrets inside of it masked.

    Only constants and what rules have written into a mapping or a list are
    masked here. What the machine itself has in a mapping is unknown until a
    rule reads it, and is masked by :func:`step` then.
    """
    if isinstance(alternative, values.Const):
        masked = masking.mask(alternative.value)
        # A value without secrets is returned as the same object.
        if masked is alternative.value:
            return values.only(alternative)
        return values.const(masked)
    if isinstance(alternative, values.Mapping):
        return values.only(_without_secrets(machine, alternative))
    if (
        isinstance(alternative, values.ItemList)
        and alternative.has_written_items
    ):
        items = [
            _item_without_secrets(machine, item) for item in alternative.items
        ]
        masked_list = dataclasses.replace(alternative, items=tuple(items))
        return values.only(masked_list)
    return values.only(alternative)


def _without_secrets(
    machine: Machine, mapping: values.Mapping
) -> values.Mapping:
    """Return a mapping in which the secrets that rules wrote are masked.

    Where there are none it is the same object: comparisons of mappings then
    see at once that they are the same.
    """
    changed = {}
    for name, entry in mapping.entries.items():
        if masking.is_secret(name):
            masked = _mask_value(machine, entry)
        else:
            masked = _whole_value(machine, entry)
        if values.fingerprint(masked) != values.fingerprint(entry):
            changed[name] = masked
    if not changed:
        return mapping
    entries = {**mapping.entries, **changed}
    return dataclasses.replace(mapping, entries=entries)


def _item_without_secrets(machine: Machine, item: typing.Any) -> typing.Any:
    """Return an item of a list with the secrets that rules wrote masked.

    An item of the machine has none of these.
    """
    if isinstance(item, values.WrittenItem):
        return values.WrittenItem(_whole_value(machine, item.value))
    return item


def _whole_value(machine: Machine, value: Value) -> Value:
    """Return a value of which no alternative shows a secret.

    As :func:`without_secrets`, of all alternatives.
    """
    return values.transform(value, functools.partial(without_secrets, machine))


def read_in(
    machine: Machine,
    arguments: typing.Any,
    roots: typing.Mapping[str, Value],
    origins: origin.Origins,
) -> logic.Formula:
    """Return on which machines the arguments of an action show a secret.

    That is an error: an action writes no secret, nor what has one in it or is
    made of one.

    :param arguments: as the rule has them, with their fields.
    :param origins: the origins of the values that its rule has made.
    """
    parts = []
    for field in effects.fields(arguments):
        if field.root in MADE_BY_RULES and field.root in roots:
            parts.append(_is_made_of_secret(machine, field, roots, origins))
        elif field.root in roots:
            parts.append(_has_secret_at(machine, field, field.steps, roots))
    return logic.disj(*parts)


def _is_made_of_secret(
    machine: Machine,
    field: interpolation.Field,
    roots: typing.Mapping[str, Value],
    origins: origin.Origins,
) -> logic.Formula:
    """Return on which machines a value that the rule has made shows a secret.

    It does if a mask is in it, or if it was made of a place that is masked.

    :param field: of ``vars`` or of the item of a loop.
    :param origins: what these are made of, as places of the machine.
    """
    root = field.root or ''
    sources = origins.of(root, field.steps)
    if not sources:
        # Nothing of it is read from the machine: "******" is then a text that
        # the rule has written, and no mask.
        return logic.FALSE
    value = step(machine, roots[root], *field.steps, by_rule=True)
    parts = [_has_secret(machine, value, True)]
    for source in sources:
        if source.root not in roots:
            continue
        is_secret_there = _has_secret_at(
            machine, source.field, source.steps, roots
        )
        if source.is_kept:
            # The value is part of the source as it is. A mask in a part of a
            # list or a mapping is seen in the value itself, by the test
            # above. But of a masked text a filter such as "first" takes a
            # character, in which no mask is seen.
            source_value = values.step(roots[source.root], *source.steps)
            is_secret_there = logic.conj(
                is_secret_there, _is_scalar(machine, source_value)
            )
        parts.append(is_secret_there)
    return logic.disj(*parts)


def _is_scalar(machine: Machine, value: Value) -> logic.Formula:
    """Return on which machines a value is neither a mapping nor a list.

    Of a value that is not followed, it is a guess.
    """
    parts = []
    for guard, alternative in value:
        if isinstance(alternative, values.UnknownValue):
            is_plain = machine.guess(alternative.reason, 'plain', alternative)
            parts.append(logic.conj(guard, is_plain))
        elif isinstance(alternative, values.Const | values.SolverTerm):
            if alternative.kind not in ('list', 'mapping'):
                parts.append(guard)
    return logic.disj(*parts)


def _has_secret_at(
    machine: Machine,
    field: interpolation.Field,
    steps: data_path.Path,
    roots: typing.Mapping[str, Value],
) -> logic.Formula:
    """Return on which machines there is a secret at a place, or in it.

    :param field: which gives the root of the place, and the text of a guess.
    :param steps: of the place, from the root on.
    """
    root = field.root or ''
    names_port = (
        root in rendering.PORT_ROOTS
        and steps
        and (data_path.index(steps[0]) is None)
    )
    if names_port:
        # By its address or UUID: which port of a machine that is, nobody
        # knows.
        return machine.guess(
            f'the port of {{{field.text}}}', 'secret', field.text, roots[root]
        )
    place = roots[root]
    hidden = []
    for name in steps:
        place = values.step(place, name)
        if masking.is_secret(name):
            hidden.append(_hides(machine, place))
    if not hidden:
        return _has_secret(machine, place, False)
    # A rule that reads below a secret reads the mask, so that a place that is
    # there is hidden where a secret above it is not empty.
    is_hidden = logic.disj(*hidden)
    is_there = logic.negated(values.absent(place))
    return logic.conj(is_hidden, is_there)


def _has_secret(
    machine: Machine, value: Value, is_masked: bool
) -> logic.Formula:
    """Return on which machines a value has a secret in it.

    :param is_masked: whether secrets in it are masked already. Then the mask
        is looked for, and otherwise the names of secrets.
    """
    parts = []
    for guard, alternative in value:
        has_secret = _alternative_has_secret(machine, alternative, is_masked)
        parts.append(logic.conj(guard, has_secret))
    return logic.disj(*parts)


def _alternative_has_secret(
    machine: Machine, alternative: values.Alternative, is_masked: bool
) -> logic.Formula:
    """Return on which machines an alternative of a value has a secret in it.

    :param is_masked: whether secrets in it are masked already: then the mask
        is looked for, and otherwise the names of secrets.
    """
    if isinstance(alternative, values.Const):
        return logic.known(_constant_has_secret(alternative, is_masked))
    if isinstance(alternative, values.SolverTerm):
        if is_masked and alternative.is_text:
            mask = logic.constant(masking.MASK)
            return z3.Contains(alternative.term, mask)
        return logic.FALSE
    if isinstance(alternative, values.Mapping):
        return _mapping_has_secret(machine, alternative, is_masked)
    if isinstance(alternative, values.ItemList):
        return _list_has_secret(machine, alternative, is_masked)
    if isinstance(alternative, values.UnknownValue):
        return machine.guess(alternative.reason, 'secret', alternative)
    return logic.FALSE


def _constant_has_secret(alternative: values.Const, is_masked: bool) -> bool:
    """Return whether a constant has a secret in it.

    :param is_masked: whether secrets in it are masked already: then the mask
        is looked for, and otherwise the names of secrets.
    """
    if alternative.is_missing:
        return False
    if is_masked:
        return _has_mask(alternative.value)
    # A value without secrets is returned as the same object.
    return masking.mask(alternative.value) is not alternative.value


def _list_has_secret(
    machine: Machine, items: values.ItemList, is_masked: bool
) -> logic.Formula:
    """Return on which machines an item of a list has a secret in it.

    Of the items that rules wrote it is known; of all items of the machine
    together it is one guess of the solver.

    :param is_masked: whether secrets are masked already: then the mask is
        looked for, and otherwise the names of secrets.
    """
    parts = []
    looped = zip(items.items_of_loop(), items.items, strict=True)
    for (exists, value), item in looped:
        if isinstance(item, values.WrittenItem):
            has_secret = _has_secret(machine, value, is_masked)
            parts.append(logic.conj(exists, has_secret))
    items_of_machine = [
        item
        for item in items.items
        if not isinstance(item, values.WrittenItem)
    ]
    if items_of_machine:
        # Where the guess is true, the witness, a machine that shows it, gets
        # a secret in its first item.
        has_items = items.length > 0
        has_secret = machine.guess(
            f'a secret in {items.name}', 'secret', items
        )
        items_of_machine[0].secrets[has_secret.get_id()] = has_secret
        parts.append(logic.conj(has_items, has_secret))
    return logic.disj(*parts)


def _mapping_has_secret(
    machine: Machine, mapping: values.Mapping, is_masked: bool
) -> logic.Formula:
    """Return on which machines a mapping has a secret in it.

    A mapping of a machine has entries that no rule names, and one of them may
    be a secret: that is a guess.

    :param is_masked: whether secrets in it are masked already: then the mask
        is looked for, and otherwise the names of secrets.
    """
    parts = []
    for name, entry in mapping.entries.items():
        # "#" marks traits and capabilities by their names: no secrets.
        if name.startswith('#'):
            continue
        if not is_masked and masking.is_secret(name):
            parts.append(_hides(machine, entry))
        else:
            parts.append(_has_secret(machine, entry, is_masked))
    if mapping.cell is not None:
        parts.append(_has_secret_elsewhere(machine, mapping))
    return logic.disj(*parts)


def _has_secret_elsewhere(
    machine: Machine, mapping: values.Mapping
) -> logic.Formula:
    """Return on which machines a mapping has a secret that no rule names.

    Such entries are unknown, so the answer is a guess of the solver.
    """
    if isinstance(mapping.cell, values.UnknownValue):
        return machine.guess(
            'a secret in what nobody knows', 'secret', mapping
        )
    reason = f'a secret in {mapping.cell.name}'
    if len(mapping.cell.kinds) > 1:
        # On most machines the field is no mapping, and the reason of an
        # answer says so.
        reason = f'{mapping.cell.name} as a mapping with a secret in it'
    has_secret = machine.guess(reason, 'secret', mapping)
    # Where the guess is true, the machine of the answer gets a secret there.
    mapping.cell.secrets[has_secret.get_id()] = has_secret
    return logic.conj(logic.negated(mapping.cell.empty), has_secret)


def _has_mask(value: typing.Any) -> bool:
    """Return whether a text in a value has a mask in it."""
    if isinstance(value, dict):
        return any(map(_has_mask, value.values()))
    if isinstance(value, list):
        return any(map(_has_mask, value))
    return isinstance(value, str) and masking.MASK in value
