# SPDX-License-Identifier: Apache-2.0

"""Convert values as actions do before they write them, on all machines.

Ironic stores attributes with a type, capabilities in one text, and traits with
valid names. A value that the checks of actions refuse is an error of the rule
here as well.

The functions get one *alternative* of a value, i.e. what the value may be: a
constant such as 8, a term (a text or a number that the solver chooses), a
list, a mapping, or an unknown value. They return the value after the
conversion, again with its alternatives. A text ``name`` that is written to the
name of a node becomes::

    name is a valid name → name
    otherwise            → an error
"""

import functools
import typing

import z3

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.language import path as data_path
from ironic_inspection_rules.engine.language import trait_names
from ironic_inspection_rules.kit.proof import cell as cells
from ironic_inspection_rules.kit.proof import logic
from ironic_inspection_rules.kit.proof import machine as machines
from ironic_inspection_rules.kit.proof import text as texts
from ironic_inspection_rules.kit.proof import value as values
from ironic_inspection_rules.plugins.actions import schema

Value = values.Value
Table = typing.Mapping[str, schema.Attribute]

MOST_LISTS = 16
"""Maximum number of alternatives of a list that rules extend. Every rule may
double them."""

_TRIMMED_TEXT = r'[^\s,](?:[^,]*[^\s,])?'
"""The value of a capability, without white space around it."""


def where_trait_name(
    machine: machines.SymbolicMachine, name: values.Alternative
) -> logic.Formula | None:
    """Return the formula that a text of the machine is the name of a trait.

    The solver cannot check the text itself. The formula is therefore a truth
    value ``is trait`` that the solver chooses, but not freely: the search
    limits the text to a few candidates, and the engine checks them::

        text == "CUSTOM_A" → is trait
        text == "other"    → not is trait

    :param name: the value that a rule uses as a name.
    :returns: None for a value that is neither known nor a text of the machine,
        and for a text that is made from several fields, because the search
        does not try candidates for it.
    """
    if isinstance(name, values.Const):
        return logic.of_bool(trait_names.is_good(name.value))
    if not isinstance(name, values.SolverTerm) or not name.is_text:
        return None
    # A computation is a value that Python computes from a text for the solver.
    computation = machine.computation(
        name.term,
        key='trait',
        make=_make_trait_term,
        compute=_compute_trait_answer,
    )
    if computation is None:
        return None
    # The search tries the texts that rules compare the text with. Add one that
    # is certainly the name of a trait.
    computation.near.add('CUSTOM_A')
    return computation.terms['is trait']


def _make_trait_term(name: str) -> texts.Terms:
    return {'is trait': z3.Bool(name)}


def _compute_trait_answer(text: str) -> dict[str, bool]:
    return {'is trait': trait_names.is_good(text)}


def convert_to_attribute(
    machine: machines.SymbolicMachine,
    path: data_path.Path,
    table: Table,
    alternative: values.Alternative,
) -> Value:
    """Convert a value to the form that an attribute stores, e.g. 8 to "8".

    A value that the attribute does not accept is an error of the rule. The
    cases are, in this order::

        a constant                          → the engine converts it
        an error                            → the same
        anything below an attribute, e.g.
        in ``extra``                        → the same
        an unknown value                    → another unknown value
        for a mapping: a mapping            → the same, else an error
        for true or false: a truth value    → the same
        for a text: a text or a number      → see _convert_to_text()
        for a text: a list or a mapping     → an error
        for a text, a UUID or a MAC
        address: a truth value              → an error
        anything else                       → unknown

    :param path: the path of the attribute, or a path below it.
    :param table: the attributes of nodes, or of ports.
    :param alternative: the value that is written.
    """
    if isinstance(alternative, values.Const):
        # The check of the engine itself decides.
        try:
            stored = schema.read_value(path, alternative.value, table)
        except exceptions.OperationError:
            return values.FAILED
        return values.const(stored)
    if isinstance(alternative, values.Failed):
        return values.only(alternative)
    if len(path) > 1:
        # Inside of an attribute, any value is allowed.
        return values.only(alternative)
    # Only the engine knows, for example, which texts it reads as true.
    unknown = values.unknown(f'{path[0]} out of the data', alternative)
    if isinstance(alternative, values.UnknownValue):
        # It may be converted, e.g. from 8 to "8", or be an error.
        return unknown
    kind = table[path[0]].kind
    if kind == 'a mapping':
        if isinstance(alternative, values.Mapping):
            return values.only(alternative)
        return values.FAILED
    if isinstance(alternative, values.SolverTerm) and alternative.is_boolean:
        if kind == 'true or false':
            return values.only(alternative)
        # True and false are not a text, a UUID or a MAC address.
        return values.FAILED
    if kind in schema.TEXT_KINDS:
        if isinstance(alternative, values.SolverTerm):
            return _convert_to_text(machine, path, table, alternative)
        return values.FAILED
    return unknown


def _convert_to_text(
    machine: machines.SymbolicMachine,
    path: data_path.Path,
    table: Table,
    alternative: values.SolverTerm,
) -> Value:
    """Convert a text or a number to the text that an attribute stores.

    It is an error if the attribute does not accept the text. For a text
    ``vendor`` that is written to the name of a node, the result is ``vendor``
    if it has at most 255 characters and may be the name of a node.
    """
    text = machine.text_of(alternative)
    number = machine.numbers_of.get(text.get_id())
    if number is not None:
        # The solver rarely finds a number whose text has a certain length. The
        # engine therefore checks for the numbers that are tried whether their
        # text fits.
        fits = machine.ask_of_number_text(
            number,
            f'{path[0]} takes',
            functools.partial(_takes_text, path, table),
        )
    else:
        attribute = table[path[0]]
        is_short = z3.Length(text) <= attribute.longest
        if attribute.kind == schema.NAME_KIND:
            fits = z3.And(is_short, _where_node_name(machine, text))
        else:
            # No column can store NUL. The solver does not have any other
            # character that cannot be stored, see _is_usable() in alphabet.
            has_nul = z3.Contains(text, logic.text_term('\0'))
            fits = z3.And(is_short, z3.Not(has_nul))
    return values.choose(
        fits, values.only(values.SolverTerm(text)), values.FAILED
    )


def _takes_text(path: data_path.Path, table: Table, text: str) -> bool:
    """Return whether an attribute accepts a text.

    The name of a node does not accept a text of 300 characters.
    """
    try:
        schema.read_value(path, text, table)
    except exceptions.OperationError:
        return False
    return True


def _where_node_name(
    machine: machines.SymbolicMachine, text: typing.Any
) -> logic.Formula:
    """Return the formula that a text may be the name of a node.

    Ironic refuses a name that looks like a UUID, because it is ambiguous.
    The formula is therefore that the text is in the language of names, and not
    in the language of UUIDs.
    """
    names = machine.alphabet.language(schema.NODE_NAME)
    uuids = machine.alphabet.language(schema.UUID_LIKE)
    return z3.And(z3.InRe(text, names), z3.Not(z3.InRe(text, uuids)))


def extend_list(
    machine: machines.SymbolicMachine,
    is_crowded: bool,
    old: values.Alternative,
    new: values.Alternative,
    unique: values.Alternative,
) -> Value:
    """Return a list with an item appended, e.g. ``[1, 2]`` for ``[1]`` and 2.

    The new list is known only if the list, the item and ``unique`` are
    constants. Any other list becomes unknown, including a list of the machine.
    Extending a text, a number or a mapping is an error of the rule. If nothing
    is known about the value, the solver guesses whether it is a list: it
    chooses a truth value.

    :param is_crowded: whether the new list must be unknown because the place
        has too many lists. Every rule that extends them may double them.
    :param old: the list; null and a missing value count as an empty list.
    :param new: the item.
    :param unique: the value of the argument ``unique``. If it is true, a list
        that already has the item is not changed.
    """
    if isinstance(old, values.Failed | values.SolverTerm | values.Mapping):
        return values.FAILED
    unknown_list = values.unknown('a list that rules extend', old, new, unique)
    if isinstance(old, values.UnknownValue):
        is_no_list = machine.guess(old.reason, 'no list', old)
        return values.choose(
            is_no_list, chosen=values.FAILED, otherwise=unknown_list
        )
    if not isinstance(old, values.Const):
        # A list of the machine, or a list with unknown items.
        return unknown_list
    items = old.value
    if items in (None, data_path.ABSENT):
        items = []
    if not isinstance(items, list):
        return values.FAILED
    if is_crowded:
        return unknown_list
    if not isinstance(new, values.Const):
        return unknown_list
    if not isinstance(unique, values.Const):
        return unknown_list
    if unique.value:
        has_item = any(data_path.is_same(item, new.value) for item in items)
        if has_item:
            return values.const(items)
    return values.const([*items, new.value])


def convert_to_capability(
    machine: machines.SymbolicMachine, alternative: values.Alternative
) -> Value:
    """Convert a value to the text of a capability, e.g. " uefi" to "uefi".

    An empty text, and a list or a mapping that the rule writes, are errors of
    the rule. So is a comma in the text, because commas separate capabilities.
    A list or a mapping of the machine becomes unknown. A text ``mode`` of the
    machine becomes::

        mode is empty, or has a comma             → an error
        mode has white space at neither end       → mode
        mode has white space at an end            → unknown
    """
    if isinstance(alternative, values.Const):
        if isinstance(alternative.value, list | dict):
            return values.FAILED
        trimmed = str(alternative.value).strip()
        if not trimmed or ',' in trimmed:
            return values.FAILED
        return values.const(trimmed)
    unknown = values.unknown('the value of a capability', alternative)
    text = machine.text_of(alternative)
    if text is None:
        return unknown
    # The solver cannot strip white space, so such a text becomes unknown.
    is_trimmed = z3.InRe(text, machine.alphabet.language(_TRIMMED_TEXT))
    fails = z3.Or(text == '', z3.Contains(text, ','))
    as_it_is = values.only(values.SolverTerm(text))
    return values.choose(
        fails,
        chosen=values.FAILED,
        otherwise=values.choose(is_trimmed, as_it_is, unknown),
    )


def where_capabilities_spoilt(
    machine: machines.SymbolicMachine, path: data_path.Path, value: Value
) -> logic.Formula:
    """Return the formula that a write spoils the capabilities of a node.

    Ironic stores all of them in one text, e.g. ``boot_mode:uefi,gpu:yes``,
    under ``properties/capabilities``. Writing anything except a text there is
    an error of the rule. Removing them is not. By the place of the write, the
    formula is::

        below the text, e.g. properties/capabilities/a → true
        neither at the text nor around it              → false
        at the text, or at properties                  → the text is no text

    :param path: the place of the write, without the root ``node``, e.g.
        ``('properties',)`` or ``('properties', 'capabilities')``.
    :param value: the value that is written there.
    """
    path_of_text = cells.CAPABILITY_TEXT[1:]
    is_below_text = (
        path[: len(path_of_text)] == path_of_text and path != path_of_text
    )
    if is_below_text:
        # A text has no entries.
        return logic.TRUE
    is_at_or_around_text = path == path_of_text[: len(path)]
    if not is_at_or_around_text:
        return logic.FALSE
    # The value at the place of the text after the write.
    written_there = values.step(value, *path_of_text[len(path) :])
    parts = []
    for guard, alternative in written_there:
        is_spoilt = _where_no_capabilities(machine, alternative)
        parts.append(logic.conj(guard, is_spoilt))
    return logic.disj(*parts)


def _where_no_capabilities(
    machine: machines.SymbolicMachine, alternative: values.Alternative
) -> logic.Formula:
    """Return the formula that a value cannot be a node's capabilities.

    They are one text, e.g. ``boot_mode:uefi,gpu:yes``. A node without
    capabilities has null or no value there. Any other value is an error of the
    rule that writes it. For an unknown value, the solver guesses.
    """
    if isinstance(alternative, values.UnknownValue):
        return machine.guess(alternative.reason, 'is no text', alternative)
    if isinstance(alternative, values.SolverTerm):
        return logic.of_bool(not alternative.is_text)
    if isinstance(alternative, values.Const):
        is_nothing = alternative.value in (None, data_path.ABSENT)
        is_text = alternative.kind == 'text'
        return logic.of_bool(not is_nothing and not is_text)
    # A list or a mapping is not a text.
    return logic.TRUE
