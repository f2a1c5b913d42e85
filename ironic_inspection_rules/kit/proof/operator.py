# SPDX-License-Identifier: Apache-2.0

"""Operators of conditions as formulas of the solver."""

from collections.abc import Callable, Sequence
import ipaddress
import itertools
import operator
import re
import typing

import z3

from ironic_inspection_rules.engine.language import interpolation
from ironic_inspection_rules.engine.language import registry
from ironic_inspection_rules.kit.proof import alphabet as alphabets
from ironic_inspection_rules.kit.proof import cell as cells
from ironic_inspection_rules.kit.proof import logic
from ironic_inspection_rules.kit.proof import machine as machines
from ironic_inspection_rules.kit.proof import text as texts
from ironic_inspection_rules.kit.proof import value as values
from ironic_inspection_rules.plugins.conditions import comparison
from ironic_inspection_rules.plugins.conditions import (
    value as value_conditions,  # noqa: H301
)
from ironic_inspection_rules.traits import names as trait_names

_MIRRORED = {operator.gt: operator.lt, operator.ge: operator.le}
_REVERSED = {operator.lt: operator.gt, operator.le: operator.ge,
             operator.gt: operator.lt, operator.ge: operator.le}
_COMPARISONS = {'eq': operator.eq, 'ne': operator.ne, 'lt': operator.lt,
                'le': operator.le, 'gt': operator.gt, 'ge': operator.ge}

_OTHER_CHARACTERS = 'characters that the solver does not have'

Machine = machines.SymbolicMachine
Given = dict[str, values.Alternative]
Translation = Callable[[Machine, str, Given,
                        Sequence[values.Alternative]], logic.Formula]


def _compare(machine: Machine, name: str, given: Given,
             several: Sequence[values.Alternative]) -> logic.Formula:
    forced = given.get('force_strings', values.Const(False))
    if not isinstance(forced, values.Const):
        raise logic.Untranslatable('force_strings out of the data')
    if forced.value:
        written = list(map(machine.text_of, several))
        if any(each is None for each in written):
            raise logic.Untranslatable('a list or mapping as text')
        several = [
            values.Const(str(each.value)) if isinstance(each, values.Const)
            else values.SolverTerm(text)
            for each, text in zip(several, written, strict=True)]
    if _is_one(several):
        return logic.TRUE
    compare = _COMPARISONS[name]
    return logic.conj(*(_pair(machine, compare, one, other)
                         for one, other in itertools.pairwise(several)))


def _is_one(several: Sequence[values.Alternative]) -> bool:
    """Return whether there is one value, which is compared with none.

    :raises: :class:`.logic.Untranslatable` for one list, whose items are.
    """
    if len(several) == 1 and _kind(several[0]) == 'list':
        raise logic.Untranslatable('a comparison of the items of a list')
    return len(several) == 1


def _pair(machine: Machine, compare: Callable[..., typing.Any],
          one: values.Alternative, other: values.Alternative) -> logic.Formula:
    if isinstance(one, values.Const) and isinstance(other, values.Const):
        if comparison.equal(one.value, other.value):
            return logic.known(compare(0, 0))
        op = next(name for name, each in _COMPARISONS.items()
                  if each is compare)
        return logic.known(registry.installed().conditions[op].plugin.holds(
            one.value, other.value))
    kinds = _kind(one), _kind(other)
    if kinds == ('text', 'text'):
        for term, text in ((one, other), (other, one)):
            if isinstance(term, values.SolverTerm) and isinstance(
                    text, values.Const):
                machine.note(term.term, text.value)
        found = _compare_texts(machine, compare, one, other)
        if all(machine.alphabet.has(each.value) for each in (one, other)
               if isinstance(each, values.Const)):
            return found
        return machine.guess(_OTHER_CHARACTERS, compare.__name__, one, other)
    if 'number' in kinds and 'text' in kinds:
        readable, terms = logic.TRUE, []
        for each, mate, kind in ((one, other, kinds[0]),
                                 (other, one, kinds[1])):
            if kind == 'text':
                is_number, term = _number_of(machine, each, mate)
                readable = logic.conj(readable, is_number)
                terms.append(term)
            else:
                terms.append(raw(each))
        return logic.disj(
            logic.conj(readable, compare(*terms)),
            logic.conj(logic.negated(readable),
                        logic.known(compare is operator.ne)))
    if set(kinds) <= {'number', 'boolean'}:
        _note_number(machine, one, other)
        _note_number(machine, other, one)
        return compare(*(_as_number(each) for each in (one, other)))
    if kinds[0] == kinds[1] and kinds[0] in ('list', 'mapping'):
        raise logic.Untranslatable('a comparison of lists or mappings')
    return logic.known(compare is operator.ne)


def _note_number(machine: Machine, one: values.Alternative,
                 other: values.Alternative) -> None:
    if isinstance(one, values.SolverTerm) and not one.is_boolean and (
            isinstance(other, values.Const)):
        machine.note_number(one.term, other.value)


def _compare_texts(machine: Machine, compare: Callable[..., typing.Any],
                   one: values.Alternative, other: values.Alternative
                   ) -> logic.Formula:
    if compare in (operator.eq, operator.ne):
        return compare(raw(one), raw(other))
    if isinstance(other, values.Const):
        return _compare_with(machine, compare, raw(one), other.value)
    if isinstance(one, values.Const):
        return _compare_with(machine, _REVERSED[compare], raw(other),
                             one.value)
    if compare in _MIRRORED:
        return _MIRRORED[compare](raw(other), raw(one))
    return compare(raw(one), raw(other))


def _compare_with(machine: Machine, compare: Callable[..., typing.Any],
                  term: typing.Any, text: str) -> logic.Formula:
    """Return how a text is ordered beside one that is known."""
    if compare in (operator.gt, operator.ge):
        opposite = {operator.gt: operator.le, operator.ge: operator.lt}
        return logic.negated(_compare_with(machine, opposite[compare], term,
                                           text))
    number = machine.numbers_of.get(term.get_id())
    if number is None:
        below = z3.InRe(term, machine.alphabet.below(text))
    else:
        held = machine.alphabet.held_below(text, _pattern(number))
        if held is None:
            below = machine.asks_text(number, f'before {text!r}',
                                      lambda known: known < text, text)
        else:
            below = logic.known(held)
    if compare is operator.lt:
        return below
    return logic.disj(below, term == logic.constant(text))


def _kind(alternative: values.Alternative) -> str:
    if isinstance(alternative, values.SolverTerm):
        return 'text' if alternative.is_text else (
            'boolean' if alternative.is_boolean else 'number')
    if isinstance(alternative, values.ItemList | values.TraitNames):
        return 'list'
    if isinstance(alternative, values.Mapping):
        return 'mapping'
    assert isinstance(alternative, values.Const)
    for kind, types in (('boolean', bool), ('number', int | float),
                        ('text', str), ('list', list), ('mapping', dict)):
        if isinstance(alternative.value, types):
            return kind
    return 'null'


def raw(alternative: values.Alternative) -> typing.Any:
    """Return a plain value as a term."""
    if isinstance(alternative, values.SolverTerm):
        return alternative.term
    assert isinstance(alternative, values.Const)
    value = alternative.value
    if isinstance(value, str):
        return logic.constant(value)
    if isinstance(value, bool):
        return z3.BoolVal(value)
    return z3.IntVal(value) if isinstance(value, int) else (
        z3.RealVal(repr(value)))


def _as_number(alternative: values.Alternative) -> typing.Any:
    term = raw(alternative)
    return z3.If(term, z3.IntVal(1), z3.IntVal(0)) if z3.is_bool(
        term) else term


def _number_of(machine: Machine, text: values.Alternative,
               mate: values.Alternative) -> tuple[typing.Any, typing.Any]:
    """Return when a text reads as a number, and which."""
    if isinstance(text, values.Const):
        read = comparison.as_number(text.value)
        return logic.known(read is not None), raw(values.Const(read or 0))

    def compute(each: str) -> Sequence[typing.Any]:
        read = comparison.as_number(each)
        return read is not None, read

    facet = machine.facet(raw(text), 'number', lambda name: (
        z3.Bool(f'{name} exists'), z3.Real(name)), compute)
    if facet is None:
        raise logic.Untranslatable('text made of others as a number')
    if isinstance(mate, values.Const):
        facet.near |= {str(mate.value + more) for more in (-1, 0, 1)}
    return facet.terms


def _matches(machine: Machine, name: str, given: Given,
             several: Sequence[values.Alternative]) -> logic.Formula:
    regex = typing.cast(values.Const, given['regex']).value
    if any(each.root == interpolation.ITEM
           for each in interpolation.fields(regex)):
        raise logic.Untranslatable('an item in a regular expression')
    value = given['value']
    searches = name == 'contains'
    if isinstance(value, values.SolverTerm) and not value.is_text:
        return _number_matches(machine, value, regex, searches)
    text = machine.text_of(value)
    if text is None:
        among = machines.LIST
        if isinstance(value, values.Mapping):
            among = machines.MAPPING
        held = machine.alphabet.held(regex, searches, among)
        if held is None:
            raise logic.Untranslatable('a list or mapping as text')
        return logic.known(held)
    return _text_matches(machine, text, regex, searches)


def _text_matches(machine: Machine, text: typing.Any, regex: str,
                  searches: bool) -> logic.Formula:
    found = machine.alphabet.matching(regex, searches)
    holds = z3.InRe(alphabets.marked(text), found)
    machine.has_no_marks(text)
    if text.get_id() in machine.texts:
        machine.texts[text.get_id()].languages[holds.get_id()] = holds
    return holds


def _number_matches(machine: Machine, value: values.SolverTerm, regex: str,
                    searches: bool) -> logic.Formula:
    """Return when the text of a number or of a truth value matches.

    Numbers as text cost the solver much, and hardly a regular expression is
    about them.
    """
    if value.is_boolean:
        yes, no = (machine.alphabet.held(regex, searches, text)
                   for text in ('True', 'False'))
        if None not in (yes, no):
            return logic.disj(
                logic.conj(value.term, logic.known(bool(yes))),
                logic.conj(z3.Not(value.term), logic.known(bool(no))))
    else:
        held = machine.alphabet.held(regex, searches, _pattern(value.term))
        if held is not None:
            return logic.known(held)
        find = re.search if searches else re.fullmatch
        return machine.asks_text(
            value.term, f'{find.__name__} {regex!r}',
            lambda known: find(regex, known) is not None,
            machine.alphabet.example(regex, searches, _pattern(value.term)))
    return _text_matches(machine, machine.text_of(value), regex, searches)


def _one_of(machine: Machine, name: str, given: Given,
            several: Sequence[values.Alternative]) -> logic.Formula:
    value, among = given['value'], given['values']
    if isinstance(among, values.TraitNames):
        if not isinstance(value, values.Const):
            raise logic.Untranslatable('a trait of a field')
        if not isinstance(value.value, str) or (
                not trait_names.is_good(value.value)):
            return logic.FALSE
        return logic.disj(*(
            logic.conj(guard, each.term) if isinstance(each, values.SolverTerm)
            else guard if isinstance(each, values.Const) and (
                each.value is True) else logic.FALSE
            for guard, each in _known(values.step(among.mapping,
                                                  value.value))))
    if isinstance(among, values.ItemList):
        return logic.disj(*(
            logic.conj(there, guard, _pair(machine, operator.eq, value, each))
            for there, item in values.listed(among) for guard, each in item
            # There is no list where an item has no value.
            if not isinstance(each, values.UnknownValue | values.Failed)
            and not values.is_missing(each)),
            logic.conj(among.is_longer, machine.guess(
                f'more than {cells.LONGEST} items of {among.name}',
                'among', among, value)))
    if not isinstance(among, values.Const) or not isinstance(
            among.value, list):
        raise logic.Untranslatable('membership in what is no list')
    return logic.disj(*(_pair(machine, operator.eq, value,
                               values.Const(each)) for each in among.value))


def _known(value: values.Value) -> values.Value:
    """Return a value of which something is known.

    :raises: :class:`.logic.Untranslatable` where nothing is.
    """
    for _guard, alternative in value:
        if isinstance(alternative, values.UnknownValue):
            raise logic.Untranslatable(alternative.reason)
    return value


def _pattern(number: typing.Any) -> str:
    """Return a regular expression of the texts that a number may have."""
    return texts.INTEGER if z3.is_int(number) else texts.FLOAT


def _truth(machine: Machine, name: str, given: Given,
           several: Sequence[values.Alternative]) -> logic.Formula:
    value = given['value']
    wanted = name == 'is-true'
    kind = _kind(value)
    if kind == 'text':
        word = '[Yy][Ee][Ss]|[Tt][Rr][Uu][Ee]' if wanted else (
            '[Nn][Oo]|[Ff][Aa][Ll][Ss][Ee]')
        machine.has_no_marks(raw(value))
        return z3.InRe(alphabets.marked(raw(value)),
                       machine.alphabet.matching(word, False))
    if kind in ('boolean', 'number'):
        return _as_number(value) != 0 if wanted else _as_number(value) == 0
    return logic.FALSE


def _empty(machine: Machine, name: str, given: Given,
           several: Sequence[values.Alternative]) -> logic.Formula:
    value = given['value']
    if name == 'is-none':
        return logic.FALSE
    if isinstance(value, values.ItemList):
        return value.length == 0
    if isinstance(value, values.Mapping):
        return values.is_empty(machine, value)
    if isinstance(value, values.TraitNames):
        raise logic.Untranslatable('whether there are traits')
    return raw(value) == '' if _kind(value) == 'text' else logic.FALSE


def _in_net(machine: Machine, name: str, given: Given,
            several: Sequence[values.Alternative]) -> logic.Formula:
    subnet, address = given['subnet'], given['address']
    if not isinstance(subnet, values.Const):
        raise logic.Untranslatable('a subnet of the machine')
    if _kind(address) != 'text':
        # No number, and nothing in brackets, is the text of an address.
        return logic.FALSE
    try:
        network = ipaddress.ip_network(str(subnet.value).strip(),
                                       strict=False)
    except ValueError:
        raise logic.Untranslatable('what is no subnet') from None

    def compute(text: str) -> Sequence[typing.Any]:
        try:
            read = value_conditions.read_address(text)
        except ValueError:
            return 0, 0
        return read.version, int(read)

    facet = machine.facet(raw(address), 'address', lambda name: (
        z3.Int(f'version of {name}'), z3.Int(name)), compute)
    if facet is None:
        raise logic.Untranslatable('text made of others as an address')
    number, found = facet.terms
    first, last = int(network[0]), int(network[-1])
    make = type(network[0])
    facet.near |= {str(make(each)) for each in (
        first, first + 1, last, max(first - 1, 0),
        min(last + 1, 2 ** network.max_prefixlen - 1))
        if each < 2 ** network.max_prefixlen}
    machine.domain += [z3.Or(number == 0, number == 4, number == 6),
                       found >= 0, found < 2 ** 128,
                       z3.Implies(number == 4, found < 2 ** 32)]
    return z3.And(number == network.version, found >= first, found <= last)


def _versions(machine: Machine, name: str, given: Given,
              several: Sequence[values.Alternative]) -> logic.Formula:
    if _is_one(several):
        return logic.TRUE
    if any(_kind(each) != 'text' for each in several):
        return logic.FALSE
    compare = _COMPARISONS[name.removeprefix('version-')]
    ranks = []
    for each in several:
        if isinstance(each, values.Const):
            ranks.append(machine.rank(each.value, comparison.version_key))
            continue
        facet = machine.facet(
            raw(each), 'version', lambda name: (z3.Real(name),),
            lambda text: (machine.rank(text, comparison.version_key),))
        if facet is None:
            raise logic.Untranslatable('text made of others as a version')
        facet.near |= {near for other in several
                       if isinstance(other, values.Const)
                       for near in (other.value, f'{other.value}.1',
                                    f'{other.value}~', '0')}
        ranks.append(facet.terms[0])
    return logic.conj(*(compare(one, other) for one, other
                         in itertools.pairwise(ranks)))


NEVER_FAIL = frozenset((
    *_COMPARISONS, *(f'version-{name}' for name in _COMPARISONS), 'contains',
    'matches', 'is-true', 'is-false', 'is-none', 'is-empty', 'exists'))
"""Ops that hold or do not hold, whatever their values are."""

TRANSLATIONS: dict[str, Translation] = {
    **dict.fromkeys(_COMPARISONS, _compare),
    **{f'version-{name}': _versions for name in _COMPARISONS},
    'contains': _matches, 'matches': _matches, 'one-of': _one_of,
    'is-true': _truth, 'is-false': _truth, 'is-none': _empty,
    'is-empty': _empty, 'exists': lambda *_given: logic.TRUE,
    'in-net': _in_net}
