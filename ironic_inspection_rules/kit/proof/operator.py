# SPDX-License-Identifier: Apache-2.0

"""Translate the ops of conditions to formulas of the solver.

A condition such as ``{inventory.cpu.count} > 8`` has an op, here ``gt``, and
arguments. A proof does not know the count of one machine, but the values that
it may have: it is missing, or a number, or a text, and so on. These are the
*alternatives* of the argument. A function of this module gets one alternative
of every argument, the *operands*, and returns the formula for it, e.g.
``count > 8`` if the count is a number of the solver.

If there is no formula, a function raises :class:`.logic.Untranslatable`. The
caller then uses a *guess*, a truth value that the solver chooses freely.
"""

from collections.abc import Callable, Iterable, Sequence
import dataclasses
import functools
import ipaddress
import re
import typing

import z3

from ironic_inspection_rules.engine.language import interpolation
from ironic_inspection_rules.engine.language import trait_names
from ironic_inspection_rules.kit.proof import alphabet as alphabets
from ironic_inspection_rules.kit.proof import logic
from ironic_inspection_rules.kit.proof import machine as machines
from ironic_inspection_rules.kit.proof import relation as relations
from ironic_inspection_rules.kit.proof import text as texts
from ironic_inspection_rules.kit.proof import value as values
from ironic_inspection_rules.plugins.conditions import (
    value as value_conditions,  # noqa: H301
)

Machine = machines.SymbolicMachine


@dataclasses.dataclass(frozen=True)
class Operands:
    """An op of a condition with one alternative of each of its arguments.

    No alternative is an error or an unknown value. At least one is not a
    constant in a translation: if all are constants, the op itself decides.

    :ivar named: the arguments by name.
    :ivar unnamed: the values, if the op takes any number of them.
    """

    machine: Machine
    op: str
    named: dict[str, values.Alternative]
    unnamed: Sequence[values.Alternative]


Translation = Callable[[Operands], logic.Formula]


def _where_compared(operands: Operands) -> logic.Formula:
    """Return the formula that the values compare as the op says.

    This is the translation of ``eq``, ``ne``, ``lt`` and so on. With
    ``force_strings`` the values are compared as texts, so "10" is less than
    "9".

    :raises: :class:`.logic.Untranslatable` if the solver has no formula, e.g.
        for two lists of the machine.
    """
    compared = operands.unnamed
    force_strings = operands.named.get('force_strings', values.Const(False))
    if not isinstance(force_strings, values.Const):
        raise logic.Untranslatable('force_strings out of the data')
    if force_strings.value:
        compared = _convert_to_texts(operands.machine, compared)
    return relations.between_all(operands.machine, operands.op, compared)


def _convert_to_texts(
    machine: Machine, compared: Sequence[values.Alternative]
) -> list[values.Alternative]:
    """Convert values to texts, as ``force_strings`` does: 8 becomes "8".

    :raises: :class:`.logic.Untranslatable` for a list or a mapping.
    """
    as_texts: list[values.Alternative] = []
    for alternative in compared:
        text = machine.text_of(alternative)
        if text is None:
            raise logic.Untranslatable('a list or mapping as text')
        if isinstance(alternative, values.Const):
            as_texts.append(values.Const(str(alternative.value)))
        else:
            as_texts.append(values.SolverTerm(text))
    return as_texts


def _where_versions_compared(operands: Operands) -> logic.Formula:
    """Return the formula that versions compare as the op says."""
    return relations.between_versions(
        operands.machine,
        operands.op.removeprefix('version-'),
        operands.unnamed,
    )


def _where_matching(operands: Operands) -> logic.Formula:
    """Return the formula that a regular expression matches a value.

    For the regular expression ``Dell.*`` and a text ``vendor`` it is
    ``vendor is in the language Dell.*``, a test that the solver has for texts.
    A value of another type is matched as the text to which Python converts it.
    The solver rarely needs that text: usually all numbers, all lists or all
    mappings match, or none does, and the formula is true or false.

    ``matches`` asks whether the whole text matches, ``contains`` whether a
    part of it does.

    :raises: :class:`.logic.Untranslatable` if the expression has an item of a
        loop, if the solver has no language for it, or if only some texts of
        lists or mappings match.
    """
    machine = operands.machine
    value = operands.named['value']
    regex = typing.cast(values.Const, operands.named['regex']).value
    # The engine fills in the item of a loop. All other braces are not fields,
    # but count repetitions.
    has_item = any(
        field.root == interpolation.ITEM
        for field in interpolation.fields(regex)
    )
    if has_item:
        raise logic.Untranslatable('an item in a regular expression')
    searches = operands.op == 'contains'
    if isinstance(value, values.SolverTerm) and value.is_boolean:
        return _where_boolean_matches(machine, value, regex, searches)
    if isinstance(value, values.SolverTerm) and not value.is_text:
        return _where_number_matches(machine, value, regex, searches)
    text = machine.text_of(value)
    if text is not None:
        return _where_text_matches(machine, text, regex, searches)
    # The content of a list or a mapping is not known, but its text begins and
    # ends with a bracket or a brace.
    pattern_of_texts = machines.LIST
    if isinstance(value, values.Mapping):
        pattern_of_texts = machines.MAPPING
    all_match = machine.alphabet.all_match(
        regex, searches, among=pattern_of_texts
    )
    if all_match is None:
        raise logic.Untranslatable('a list or mapping as text')
    return logic.of_bool(all_match)


def _where_text_matches(
    machine: Machine, text: logic.Term, regex: str, searches: bool
) -> logic.Formula:
    """Return the formula that a regular expression matches a text.

    For the expression ``Dell.*`` and a text ``vendor`` it is ``vendor is in
    the language Dell.*``: the solver knows which texts are in a language.

    :param text: a text of the solver, or a concatenation of several.
    :param searches: whether matching a part of the text is enough.
    """
    language = machine.alphabet.matching(regex, searches)
    holds = z3.InRe(alphabets.marked(text), language)
    # A character of the text must not be taken for an anchor.
    machine.keep_marks_out(text)
    # A text that is a concatenation has no variable.
    variable = machine.texts.get(text.get_id())
    if variable is not None:
        # Filters of a field are tried on a few texts, which must include a
        # text that matches.
        variable.languages[holds.get_id()] = holds
    return holds


def _where_boolean_matches(
    machine: Machine, value: values.SolverTerm, regex: str, searches: bool
) -> logic.Formula:
    """Return the formula that the text of a truth value matches.

    The text is ``True`` or ``False``. It is usually known whether they match,
    so the solver needs no text. For the expression ``T.*``, the formula is the
    truth value itself.

    :param searches: whether matching a part of the text is enough.
    """
    true_matches = machine.alphabet.all_match(regex, searches, among='True')
    false_matches = machine.alphabet.all_match(regex, searches, among='False')
    if true_matches is None or false_matches is None:
        # The solver does not know within its limit.
        return _where_text_matches(
            machine, machine.text_of(value), regex, searches
        )
    return logic.disj(
        logic.conj(value.term, logic.of_bool(true_matches)),
        logic.conj(z3.Not(value.term), logic.of_bool(false_matches)),
    )


def _where_number_matches(
    machine: Machine, value: values.SolverTerm, regex: str, searches: bool
) -> logic.Formula:
    """Return the formula that the text of a number matches.

    Converting numbers to text is expensive for the solver, and most regular
    expressions match all numbers, e.g. ``.*``, or none, e.g. ``Dell``. For all
    other expressions, Python decides for the numbers that the search tries.
    For ``8$`` and a number ``count``, the formula is a truth value that is
    true if 8 is tried, and false if 9 is tried.

    :param searches: whether matching a part of the text is enough.
    """
    pattern_of_numbers = texts.pattern_of(value.term)
    all_match = machine.alphabet.all_match(
        regex, searches, among=pattern_of_numbers
    )
    if all_match is not None:
        return logic.of_bool(all_match)
    way = 'fullmatch'
    if searches:
        way = 'search'
    compute_match = functools.partial(_matches, regex, searches)
    # Let the search try a number that matches.
    matching_text = machine.alphabet.example(
        regex, searches, among=pattern_of_numbers
    )
    return machine.ask_of_number_text(
        value.term,
        question=f'{way} {regex!r}',
        compute=compute_match,
        near=matching_text,
    )


def _matches(regex: str, searches: bool, text: str) -> bool:
    """Return whether a regular expression matches a known text.

    :param searches: whether matching a part of the text is enough.
    """
    if searches:
        return re.search(regex, text) is not None
    return re.fullmatch(regex, text) is not None


def _where_one_of(operands: Operands) -> logic.Formula:
    """Return the formula that a value is one of several.

    The several values are the traits of the node, a list of the machine, or a
    known list. For a text ``vendor`` and the known list ``[Dell, HPE]`` the
    formula is ``vendor == "Dell" or vendor == "HPE"``.

    :raises: :class:`.logic.Untranslatable` if the op does not get a list, and
        for a comparison with an item that the solver does not have.
    """
    value = operands.named['value']
    among = operands.named['values']
    if isinstance(among, values.TraitNames):
        return _where_trait_set(operands.machine, value, among)
    if isinstance(among, values.ItemList):
        return _where_in_list(operands.machine, value, among)
    if not isinstance(among, values.Const) or not among.is_list:
        raise logic.Untranslatable('membership in what is no list')
    parts = []
    for item in among.value:
        known_item = values.Const(item)
        parts.append(
            relations.between(operands.machine, 'eq', value, known_item)
        )
    return logic.disj(*parts)


def _where_trait_set(
    machine: Machine, wanted: values.Alternative, traits: values.TraitNames
) -> logic.Formula:
    """Return the formula that the node has a trait.

    If an earlier rule adds the trait when the memory is large, the value of
    the trait is::

        memory is large      → True
        memory is not large  → a term: did the node have the trait before?

    The formula is then: the memory is large, or it is not and the node had the
    trait before.

    :param wanted: the value that ``one-of`` looks for in ``{node.traits}``.
    :param traits: the traits of the node, after the earlier rules.
    :raises: :class:`.logic.Untranslatable` if no text of a rule has the name
        of the trait, e.g. if it is read from the machine, or if an earlier
        rule has added or removed unknown traits.
    """
    if not isinstance(wanted, values.Const):
        raise logic.Untranslatable('a trait of a field')
    name = wanted.value
    if not isinstance(name, str) or not trait_names.is_good(name):
        # No node can have such a trait.
        return logic.FALSE
    if name not in machine.traits:
        raise logic.Untranslatable('a trait that no rule names')
    formulas = []
    for guard, has_trait in values.step(traits.mapping, name):
        if isinstance(has_trait, values.UnknownValue):
            raise logic.Untranslatable(has_trait.reason)
        if isinstance(has_trait, values.SolverTerm):
            # No rule has set it, so the node may have had it before.
            formulas.append(logic.conj(guard, has_trait.term))
        elif isinstance(has_trait, values.Const) and has_trait.value is True:
            # A rule has added it. If the value is False, a rule has removed
            # it, and the guard is skipped.
            formulas.append(guard)
    return logic.disj(*formulas)


def _where_in_list(
    machine: Machine, value: values.Alternative, among: values.ItemList
) -> logic.Formula:
    """Return the formula that a value is an item of a list.

    Only the first items have formulas of their own. Whether the value is among
    the later items is a guess, a truth value that the solver chooses. For the
    value "sda" and the names of disks the formula is::

        the list has a first item, and it is "sda"; or
        …
        it has more than five items, and the guess is true

    """
    parts = []
    # "exists" holds if the list has this item, and the guard holds if the item
    # is this alternative, e.g. a text.
    for exists, item in among.items_of_loop():
        for guard, alternative in item:
            # If an item has no value, the list has no value either, and the op
            # is not evaluated for it.
            if alternative.is_missing or isinstance(
                alternative, values.UnknownValue | values.Failed
            ):
                continue
            is_equal = relations.between(machine, 'eq', value, alternative)
            parts.append(logic.conj(exists, guard, is_equal))
    # Guess whether the value is among the later items.
    is_beyond = machine.guess_beyond(among, 'among', among, value)
    return logic.disj(*parts, logic.conj(among.where_longer, is_beyond))


def _where_true(operands: Operands) -> logic.Formula:
    """Return the formula that a value is true.

    The words "yes" and "true" in any case, true itself, and any number except
    0 are true. For a number ``count`` the formula is ``count != 0``. A value
    that is not true is not necessarily false.
    """
    value = operands.named['value']
    if value.kind == 'text':
        return _where_word(
            operands.machine, value, value_conditions.TRUE_WORDS
        )
    if value.kind in ('boolean', 'number'):
        return relations.as_number(value) != 0
    return logic.FALSE


def _where_false(operands: Operands) -> logic.Formula:
    """Return the formula that a value is false.

    The words "no" and "false" in any case, false itself, and 0 are false. For
    a number ``count`` the formula is ``count == 0``. Lists and mappings are
    neither true nor false.
    """
    value = operands.named['value']
    if value.kind == 'text':
        return _where_word(
            operands.machine, value, value_conditions.FALSE_WORDS
        )
    if value.kind in ('boolean', 'number'):
        return relations.as_number(value) == 0
    return logic.FALSE


def _where_word(
    machine: Machine, value: values.Alternative, words: Iterable[str]
) -> logic.Formula:
    """Return the formula that a text is one of some words, in any case.

    :param value: a text of the machine.
    :param words: the words in lower case, e.g. ``('yes', 'true')``.
    """
    patterns = []
    for word in words:
        # "no" becomes "[Nn][Oo]". The flag (?i) would match more texts than
        # str.lower(), which the engine uses: "\u017f", the long s, for an "s".
        letters = [f'[{letter.upper()}{letter}]' for letter in word]
        patterns.append(''.join(letters))
    language = machine.alphabet.matching('|'.join(patterns), searches=False)
    text = value.as_term()
    machine.keep_marks_out(text)
    return z3.InRe(alphabets.marked(text), language)


def _where_empty(operands: Operands) -> logic.Formula:
    """Return the formula that a list, mapping or text is empty.

    For a list, the formula is that its length is 0, for a text it is
    ``vendor == ""``. Numbers and truth values are never empty. Null and
    missing values are constants, for which the op itself decides.
    """
    value = operands.named['value']
    if isinstance(value, values.ItemList):
        return value.length == 0
    if isinstance(value, values.Mapping):
        return value.where_empty(operands.machine)
    if isinstance(value, values.TraitNames):
        raise logic.Untranslatable('whether there are traits')
    if value.kind == 'text':
        return value.as_term() == ''
    return logic.FALSE


def _where_none(operands: Operands) -> logic.Formula:
    # Null is a constant, for which the op itself decides. This value is not.
    return logic.FALSE


def _where_existing(operands: Operands) -> logic.Formula:
    # A missing value is a constant, for which the op itself decides.
    return logic.TRUE


def _where_in_subnet(operands: Operands) -> logic.Formula:
    """Return the formula that a text is an address in a subnet.

    The solver represents addresses by integers. For the subnet 10.0.0.0/24 the
    formula is::

        version of address == 4, and 167772160 <= address <= 167772415

    The bounds of these integers are added to the formulas that hold for every
    machine.

    :raises: :class:`.logic.Untranslatable` for a subnet that is read from the
        machine or invalid, or for an address that is a concatenation of texts.
    """
    machine = operands.machine
    address = operands.named['address']
    subnet = operands.named['subnet']
    if not isinstance(subnet, values.Const):
        raise logic.Untranslatable('a subnet of the machine')
    if address.kind != 'text':
        # A number, a list or a mapping is not the text of an address.
        return logic.FALSE
    try:
        network = ipaddress.ip_network(str(subnet.value).strip(), strict=False)
    except ValueError:
        raise logic.Untranslatable('what is no subnet') from None
    # The solver cannot parse an address in a text. It gets the version and the
    # number as two integers, which are computed for the addresses that are
    # tried: those around the ends of every subnet that rules name. Integers
    # are used instead of bit vectors, because addresses have 32 or 128 bits.
    computation = machine.computation(
        address.as_term(), 'address', _make_address, _compute_address
    )
    if computation is None:
        raise logic.Untranslatable('text made of others as an address')
    version = computation.terms['version']
    number = computation.terms['number']
    computation.near |= _addresses_at_ends(network)
    # For any other text the solver chooses the integers. They must be the
    # integers of an address, or version 0 for a text that is not an address.
    machine.domain += [
        z3.Or(version == 0, version == 4, version == 6),
        number >= 0,
        number < 2**128,
        z3.Implies(version == 4, number < 2**32),
    ]
    return z3.And(
        version == network.version,
        number >= int(network[0]),
        number <= int(network[-1]),
    )


def _make_address(name: str) -> texts.Terms:
    """Return the integers of the solver that represent an address."""
    return {'version': z3.Int(f'version of {name}'), 'number': z3.Int(name)}


def _compute_address(text: str) -> dict[str, int]:
    """Return the IP version and the number of an address.

    For "10.0.0.1" they are 4 and 167772161. For a text that is not an address,
    both are 0.
    """
    try:
        address = value_conditions.read_address(text)
    except ValueError:
        return {'version': 0, 'number': 0}
    return {'version': address.version, 'number': int(address)}


def _addresses_at_ends(
    network: ipaddress.IPv4Network | ipaddress.IPv6Network,
) -> set[str]:
    """Return the addresses next to both ends of a subnet.

    For ``10.0.0.0/24`` these are ``9.255.255.255``, ``10.0.0.0``,
    ``10.0.0.1``, ``10.0.0.255`` and ``10.0.1.0``.
    """
    first = int(network[0])
    last = int(network[-1])
    # All addresses of the IP version: 2 ** 32 or 2 ** 128.
    number_of_addresses = 2**network.max_prefixlen
    make_address = type(network[0])
    addresses = set()
    for number in (first - 1, first, first + 1, last, last + 1):
        # There is no address before 0.0.0.0 or after 255.255.255.255.
        if 0 <= number < number_of_addresses:
            addresses.add(str(make_address(number)))
    return addresses


_VERSIONS = tuple(f'version-{name}' for name in relations.COMPARE)

NEVER_FAIL = frozenset(
    (
        *relations.COMPARE,
        *_VERSIONS,
        'contains',
        'matches',
        'is-true',
        'is-false',
        'is-none',
        'is-empty',
        'exists',
    )
)
"""Ops that never fail, whatever their values are."""

TRANSLATIONS: dict[str, Translation] = {
    **dict.fromkeys(relations.COMPARE, _where_compared),
    **dict.fromkeys(_VERSIONS, _where_versions_compared),
    'contains': _where_matching,
    'matches': _where_matching,
    'one-of': _where_one_of,
    'is-true': _where_true,
    'is-false': _where_false,
    'is-none': _where_none,
    'is-empty': _where_empty,
    'exists': _where_existing,
    'in-net': _where_in_subnet,
}
