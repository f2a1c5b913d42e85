# SPDX-License-Identifier: Apache-2.0

"""Mask secrets on all machines, and find out where an action reveals one.

The engine recognizes secrets by the names of their entries, e.g. ``password``.
A rule that reads one gets the *mask* "******", and an action that would write
a secret is an error. Rules may use any names for their own variables, so a
value is masked when it is read from a machine, but not when a rule reads a
value that it has made itself.

In a proof a value has *alternatives*, whose *guards* hold on the machines that
have them. A text ``password`` is masked to::

    password == "" → "", because an empty secret hides nothing
    password != "" → "******"

A *guess* is a truth value that the solver chooses, e.g. that a mapping has a
secret that no rule names.
"""

from collections.abc import Callable, Iterable
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

Secrets in them were masked when the rule read them from the machine.
"""


def reads_columns(rule: model.Rule) -> bool:
    """Return whether a rule reads the secret columns of tables, unmasked."""
    return rule.sensitive


def step(machine: Machine, value: Value, *names: str) -> Value:
    """Follow names and indexes below a value of the machine, and mask secrets.

    In a node, the path ``driver_info``, ``ipmi_password`` leads to "******",
    or to an empty text if the password is empty.
    """
    read_secret = functools.partial(_read_secret, machine)
    return _step_with(read_secret, value, names)


def step_in_made_value(machine: Machine, value: Value, *names: str) -> Value:
    """Follow names and indexes below a value that a rule has made.

    The secrets of the machine are masked in it, as :func:`step` does. But a
    name that the rule itself has written does not mark a secret.
    """
    read_secret = functools.partial(_read_secret_of_made_value, machine)
    return _step_with(read_secret, value, names)


_ReadSecret = Callable[[str, values.Alternative], Value]
"""Returns the entry with the name of a secret, e.g. ``password``."""


def _step_with(
    read_secret: _ReadSecret, value: Value, names: Iterable[str]
) -> Value:
    """Follow names below a value, with a function for names of secrets."""
    for name in names:
        if masking.is_secret(name):
            read_entry = functools.partial(read_secret, name)
            value = values.transform(value, read_entry)
        else:
            value = values.step(value, name)
    return value


def _read_secret(
    machine: Machine, name: str, alternative: values.Alternative
) -> Value:
    """Return the entry with the name of a secret, masked."""
    return _mask_value(machine, alternative.step(name))


def _read_secret_of_made_value(
    machine: Machine, name: str, alternative: values.Alternative
) -> Value:
    """Return an entry of a value that a rule has made.

    It is masked unless the rule itself has written its name.
    """
    if _is_written_out(alternative):
        return alternative.step(name)
    return _read_secret(machine, name, alternative)


def _is_written_out(alternative: values.Alternative) -> bool:
    """Return whether a rule wrote all names of a value, e.g. in ``vars``.

    For example, it wrote them in ``vars: {login: {password: x}}``.
    """
    if isinstance(alternative, values.Mapping):
        # Only a mapping of the machine has a cell.
        return alternative.cell is None
    return isinstance(alternative, values.Const)


def _mask_value(machine: Machine, value: Value) -> Value:
    """Mask a value that has the name of a secret.

    Every alternative is masked: a text becomes "******" if it is not empty,
    and a missing value stays missing.
    """
    return values.transform(
        value, functools.partial(_mask_alternative, machine)
    )


def _mask_alternative(
    machine: Machine, alternative: values.Alternative
) -> Value:
    """Replace a secret by the mask; an empty secret is not changed.

    A text ``password`` of the machine becomes "" if ``password == ""`` holds,
    otherwise "******". An unknown value stays unknown, and an error stays an
    error.
    """
    if isinstance(alternative, values.UnknownValue):
        return values.unknown(alternative.reason, 'masked', alternative)
    # The value of an empty secret of this kind.
    empty_value: typing.Any
    if isinstance(alternative, values.Const):
        # This is returned only if the constant itself is empty, e.g. null.
        empty_value = alternative.value
    elif isinstance(alternative, values.SolverTerm):
        # Only a text can be empty: a number is always masked.
        empty_value = ''
    elif isinstance(alternative, values.ItemList):
        empty_value = []
    elif isinstance(alternative, values.Mapping):
        empty_value = {}
    else:
        # An error, or the names of traits, which are not secret.
        return values.only(alternative)
    return values.choose(
        _where_empty(machine, alternative),
        chosen=values.const(empty_value),
        otherwise=values.const(masking.MASK),
    )


def _where_empty(
    machine: Machine, alternative: values.Alternative
) -> logic.Formula:
    """Return the formula that a secret is empty.

    The engine does not mask an empty secret, so it hides nothing in this case.
    """
    if isinstance(alternative, values.Const):
        is_empty = alternative.is_missing or (
            alternative.value in (None, '', [], {})
        )
        return logic.of_bool(is_empty)
    if isinstance(alternative, values.SolverTerm) and alternative.is_text:
        return alternative.term == ''
    if isinstance(alternative, values.ItemList):
        return alternative.length == 0
    if isinstance(alternative, values.Mapping):
        return alternative.where_empty(machine)
    if isinstance(alternative, values.UnknownValue):
        return machine.guess(alternative.reason, 'empty', alternative)
    return logic.FALSE


def _where_hidden(machine: Machine, value: Value) -> logic.Formula:
    """Return the formula that a secret is hidden by the mask.

    An empty secret is not masked, so it hides nothing. For a text ``password``
    the formula is ``password != ""``.

    :param value: the value under the name of a secret.
    """
    parts = []
    # The secret may be a text on one machine and missing on another. The guard
    # of an alternative holds on the machines that have it.
    for guard, alternative in value:
        is_empty = _where_empty(machine, alternative)
        parts.append(logic.conj(guard, logic.negated(is_empty)))
    return logic.disj(*parts)


def mask_inside(machine: Machine, alternative: values.Alternative) -> Value:
    """Mask the secrets inside of a value that a rule reads.

    ``{'password': 'x'}`` becomes ``{'password': '******'}``. Entries of the
    machine itself are unknown until a rule reads them; :func:`step` masks them
    then.
    """
    if isinstance(alternative, values.Const):
        masked = masking.mask(alternative.value)
        # mask() returns the same object if the value contains no secret.
        if masked is alternative.value:
            return values.only(alternative)
        return values.const(masked)
    if isinstance(alternative, values.Mapping):
        return values.only(_mask_in_mapping(machine, alternative))
    if (
        isinstance(alternative, values.ItemList)
        and alternative.has_written_items
    ):
        items = []
        for item in alternative.items:
            # Items of the machine itself are masked when a rule reads them.
            if isinstance(item, values.WrittenItem):
                masked_value = _mask_inside_value(machine, item.value)
                items.append(values.WrittenItem(masked_value))
            else:
                items.append(item)
        masked_list = dataclasses.replace(alternative, items=tuple(items))
        return values.only(masked_list)
    return values.only(alternative)


def _mask_in_mapping(
    machine: Machine, mapping: values.Mapping
) -> values.Mapping:
    """Mask the secrets that rules wrote into a mapping.

    If there are none, the same object is returned, so that comparisons see at
    once that nothing differs.
    """
    masked_entries = {}
    for name, entry in mapping.entries.items():
        if masking.is_secret(name):
            masked = _mask_value(machine, entry)
        else:
            masked = _mask_inside_value(machine, entry)
        # If the fingerprints differ, the entry contains a secret.
        if values.fingerprint(masked) != values.fingerprint(entry):
            masked_entries[name] = masked
    if not masked_entries:
        return mapping
    entries = {**mapping.entries, **masked_entries}
    return dataclasses.replace(mapping, entries=entries)


def _mask_inside_value(machine: Machine, value: Value) -> Value:
    """Mask the secrets inside of all alternatives of a value."""
    return values.transform(value, functools.partial(mask_inside, machine))


def where_read(
    machine: Machine,
    written: typing.Any,
    roots: typing.Mapping[str, Value],
    made: origin.Origins,
) -> logic.Formula:
    """Return the formula that an action would reveal a secret.

    It may reveal one by a field such as ``{node.driver_info.password}``, or by
    a variable that was made from this field.

    :param written: the arguments of the action.
    :param roots: the data that its fields read, by root.
    :param made: the origins of the values that its rule has made.
    """
    parts = []
    for field in effects.fields(written):
        if field.root in MADE_BY_RULES and field.root in roots:
            parts.append(_where_made_of_secret(machine, field, roots, made))
        elif field.root in roots:
            parts.append(_where_secret_at(machine, field, field.steps, roots))
    return logic.disj(*parts)


def _where_made_of_secret(
    machine: Machine,
    field: interpolation.Field,
    roots: typing.Mapping[str, Value],
    made: origin.Origins,
) -> logic.Formula:
    """Return the formula that a value was made from a secret.

    If a rule has ``vars: {login: '{node.driver_info.password}'}``, the
    variable ``login`` is "******", and its source is the password. The formula
    is::

        the value contains a mask; or
        a source of the value is a place with a secret

    It is false if the value has no sources, because the rule itself has
    written all of it.

    :param field: the field that reads the value, e.g. ``{vars.login}`` or
        ``{item}``.
    :param made: the places of the machine from which such values are made.
    """
    root = field.root or ''
    sources = made.of(root, field.steps)
    if not sources:
        # No part of it is read from the machine, so "******" is a text that
        # the rule itself has written, not a mask.
        return logic.FALSE
    value = step_in_made_value(machine, roots[root], *field.steps)
    parts = [_MaskSearch(machine).where_in(value)]
    for source in sources:
        if source.root not in roots:
            continue
        there = _where_secret_at(machine, source.field, source.steps, roots)
        if source.is_kept:
            # The value is an unchanged part of the source. If the source is a
            # list or a mapping, the test above finds a mask in the part. But
            # if the source is a masked text, a filter such as "first" takes
            # one character of the mask, which the test does not recognize.
            source_value = values.step(roots[source.root], *source.steps)
            there = logic.conj(there, _where_scalar(machine, source_value))
        parts.append(there)
    return logic.disj(*parts)


def _where_scalar(machine: Machine, value: Value) -> logic.Formula:
    """Return the formula that a value is neither a mapping nor a list.

    For an unknown value it is a guess. If the value is a text on some machines
    and a list on others, the formula holds on those where it is a text.
    """
    parts = []
    # The guard of an alternative holds on the machines that have it.
    for guard, alternative in value:
        if isinstance(alternative, values.UnknownValue):
            is_plain = machine.guess(alternative.reason, 'plain', alternative)
            parts.append(logic.conj(guard, is_plain))
        elif isinstance(alternative, values.Const | values.SolverTerm):
            if alternative.kind not in ('list', 'mapping'):
                parts.append(guard)
    return logic.disj(*parts)


def _where_secret_at(
    machine: Machine,
    field: interpolation.Field,
    steps: data_path.Path,
    roots: typing.Mapping[str, Value],
) -> logic.Formula:
    """Return the formula that a place contains a secret.

    By the path of the place, the formula is::

        a port that is named by its address  → a guess
        no name in the path is of a secret,
        e.g. node.driver_info                → an entry is a secret, perhaps
                                               one that no rule names
        a name is of a secret, e.g.
        node.driver_info.password            → the place exists, and the
                                               secret is not empty

    :param field: the field with the root of the place, e.g. ``node``.
    :param steps: the path from the root to the place.
    :param roots: the data of all machines, by root.
    """
    root = field.root or ''
    names_port = (
        root in rendering.PORT_ROOTS
        and steps
        and (data_path.index(steps[0]) is None)
    )
    if names_port:
        # The port is named by its address or UUID, and it is not known which
        # port of the machine that is.
        return machine.guess(
            f'the port of {{{field.text}}}', 'secret', field.text, roots[root]
        )
    value_there = roots[root]
    # Collect a formula for every name of a secret on the way, e.g. "password".
    hidden_by_names = []
    for name in steps:
        value_there = values.step(value_there, name)
        if masking.is_secret(name):
            hidden_by_names.append(_where_hidden(machine, value_there))
    if not hidden_by_names:
        # No name on the way is one of a secret, but names of entries may be.
        return _NameSearch(machine).where_in(value_there)
    # A rule that reads below a secret reads the mask. A place that exists is
    # therefore hidden if a secret above it is not empty.
    is_hidden = logic.disj(*hidden_by_names)
    is_there = logic.negated(values.where_absent(value_there))
    return logic.conj(is_hidden, is_there)


class _SecretSearch:
    """Searches a value for secrets; a subclass knows how to recognize them.

    Methods return the formula that holds on the machines on which the value
    has a secret.
    """

    def __init__(self, machine: Machine) -> None:
        self._machine = machine

    def where_in(self, value: Value) -> logic.Formula:
        """Return the formula that a value contains a secret."""
        parts = []
        # The value may be a mapping on one machine and a text on another. The
        # guard of an alternative holds on the machines that have it.
        for guard, alternative in value:
            has_secret = self._where_in_alternative(alternative)
            parts.append(logic.conj(guard, has_secret))
        return logic.disj(*parts)

    def _where_in_alternative(
        self, alternative: values.Alternative
    ) -> logic.Formula:
        """Return the formula that an alternative contains a secret."""
        if isinstance(alternative, values.Const):
            if alternative.is_missing:
                return logic.FALSE
            return logic.of_bool(self._is_in_constant(alternative.value))
        if isinstance(alternative, values.SolverTerm):
            return self._where_in_term(alternative)
        if isinstance(alternative, values.Mapping):
            return self._where_in_mapping(alternative)
        if isinstance(alternative, values.ItemList):
            return self._where_in_list(alternative)
        if isinstance(alternative, values.UnknownValue):
            return self._machine.guess(
                alternative.reason, 'secret', alternative
            )
        return logic.FALSE

    def _is_in_constant(self, constant: typing.Any) -> bool:
        """Return whether a known value contains a secret."""
        raise NotImplementedError

    def _where_in_term(self, alternative: values.SolverTerm) -> logic.Formula:
        """Return the formula that a text or a number contains a secret."""
        raise NotImplementedError

    def _where_in_entry(self, name: str, entry: Value) -> logic.Formula:
        """Return the formula that an entry is a secret, or contains one."""
        raise NotImplementedError

    def _where_in_list(self, items: values.ItemList) -> logic.Formula:
        """Return the formula that a list contains a secret.

        Items that a rule has written are searched. For all items of the
        machine together, the solver makes a single guess.
        """
        parts = []
        looped = zip(items.items_of_loop(), items.items, strict=True)
        for (exists, value), item in looped:
            if isinstance(item, values.WrittenItem):
                parts.append(logic.conj(exists, self.where_in(value)))
        items_of_machine = [
            item
            for item in items.items
            if not isinstance(item, values.WrittenItem)
        ]
        if items_of_machine:
            # If the guess is true, the first item of the list in the witness
            # gets a secret.
            has_items = items.length > 0
            has_secret = self._machine.guess(
                f'a secret in {items.name}', 'secret', items
            )
            items_of_machine[0].secrets[has_secret.get_id()] = has_secret
            parts.append(logic.conj(has_items, has_secret))
        return logic.disj(*parts)

    def _where_in_mapping(self, mapping: values.Mapping) -> logic.Formula:
        """Return the formula that a mapping contains a secret.

        A mapping of a machine has entries that no rule names, and whether one
        of them is a secret is a guess.
        """
        parts = []
        for name, entry in mapping.entries.items():
            # Traits and capabilities by name are not secret.
            if not isinstance(name, values.ProofName):
                parts.append(self._where_in_entry(name, entry))
        if mapping.cell is not None:
            parts.append(_where_unnamed_secret_in(self._machine, mapping))
        return logic.disj(*parts)


class _NameSearch(_SecretSearch):
    """Searches for entries with the name of a secret, e.g. ``password``.

    It is used for values of the machine, whose secrets are not masked yet.
    """

    def _is_in_constant(self, constant: typing.Any) -> bool:
        # mask() returns the same object if the value contains no secret.
        return masking.mask(constant) is not constant

    def _where_in_term(self, alternative: values.SolverTerm) -> logic.Formula:
        # A text or a number has no entries.
        return logic.FALSE

    def _where_in_entry(self, name: str, entry: Value) -> logic.Formula:
        if masking.is_secret(name):
            return _where_hidden(self._machine, entry)
        return self.where_in(entry)


class _MaskSearch(_SecretSearch):
    """Searches for the mask ``******``, which replaces secrets.

    It is used for values that a rule has made of masked values. The names in
    them may be those of the rule, so they do not mark secrets.
    """

    def _is_in_constant(self, constant: typing.Any) -> bool:
        return _has_mask(constant)

    def _where_in_term(self, alternative: values.SolverTerm) -> logic.Formula:
        if not alternative.is_text:
            return logic.FALSE
        return z3.Contains(alternative.term, logic.text_term(masking.MASK))

    def _where_in_entry(self, name: str, entry: Value) -> logic.Formula:
        return self.where_in(entry)


def _where_unnamed_secret_in(
    machine: Machine, mapping: values.Mapping
) -> logic.Formula:
    """Return the guess that a mapping has a secret that no rule names."""
    if isinstance(mapping.cell, values.UnknownValue):
        return machine.guess(
            'a secret in what nobody knows', 'secret', mapping
        )
    reason = f'a secret in {mapping.cell.name}'
    if len(mapping.cell.kinds) > 1:
        # On most machines the field is not a mapping, so the reason of an
        # answer must say that it is one.
        reason = f'{mapping.cell.name} as a mapping with a secret in it'
    has_secret = machine.guess(reason, 'secret', mapping)
    # If the guess is true, the mapping gets a secret in the witness.
    mapping.cell.secrets[has_secret.get_id()] = has_secret
    return logic.conj(logic.negated(mapping.cell.empty), has_secret)


def _has_mask(value: typing.Any) -> bool:
    """Return whether a text in a value contains a mask.

    For example, a text in ``['a', {'login': 'admin:******'}]`` does.
    """
    if isinstance(value, dict):
        return any(map(_has_mask, value.values()))
    if isinstance(value, list):
        return any(map(_has_mask, value))
    return isinstance(value, str) and masking.MASK in value
