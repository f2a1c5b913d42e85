# SPDX-License-Identifier: Apache-2.0

"""Conditions of rules as formulas of the solver.

Known values are decided by the op itself; for what a machine sends there is
a translation for each op, of one alternative of each argument. Ops without
one, and values that nobody knows, are guesses.
"""

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Sequence
import ipaddress
import itertools
import json
import operator
import typing

import z3

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.conditions import comparison
from ironic_inspection_rules.conditions import version
from ironic_inspection_rules.engine import interpolation
from ironic_inspection_rules.engine import model
from ironic_inspection_rules.engine import path as data_path
from ironic_inspection_rules.engine import plugin
from ironic_inspection_rules.engine import registry
from ironic_inspection_rules.proof import expression
from ironic_inspection_rules.proof import language
from ironic_inspection_rules.proof import machine as machines
from ironic_inspection_rules.proof import value as values

Scope = expression.Scope
Alternatives = tuple[values.Alternative, ...]

_COMPARISONS = {'eq': operator.eq, 'ne': operator.ne, 'lt': operator.lt,
                'le': operator.le, 'gt': operator.gt, 'ge': operator.ge}


class Truth(typing.NamedTuple):
    """When a condition holds, and when it cannot be decided."""

    holds: values.Formula
    fails: values.Formula = values.FALSE


class _Unknown(Exception):
    """There is no translation; the message says of what."""


def all_hold(conditions: Iterable[typing.Any], scope: Scope) -> Truth:
    """Return when all conditions hold, asked one after another."""
    holds, fails = values.TRUE, values.FALSE
    for each in conditions:
        truth = translate(each, scope)
        fails = values.disj(fails, values.conj(holds, truth.fails))
        holds = values.conj(holds, truth.holds)
        if holds is values.FALSE:
            break
    return Truth(holds, fails)


def translate(written: typing.Mapping[str, typing.Any],
              scope: Scope) -> Truth:
    """Return when a condition holds."""
    if written.get('loop') is not None:
        return _looped(written, scope)
    name, inverted = model.split_op(written['op'])
    op = registry.installed().conditions[name]
    if isinstance(op.plugin, plugin.Group):
        return _group(op, written['conditions'], inverted, scope)
    bound, _problems = op.signature.bind(written.get('args'))
    return _Single(op, bound, inverted, scope).truth()


def _group(op: registry.Op, parts: Iterable[typing.Any], inverted: bool,
           scope: Scope) -> Truth:
    every = op.plugin.HOLDS == 'all'
    going, fails = values.TRUE, values.FALSE
    for each in parts:
        truth = translate(each, scope)
        fails = values.disj(fails, values.conj(going, truth.fails))
        going = values.conj(going, truth.holds if every
                            else values.negated(truth.holds))
    holds = values.negated(going) if op.plugin.HOLDS == 'any' else going
    if not op.plugin.HOLDS:
        holds = scope.machine.guess(f'{op.name} has no translation',
                                    object())
    return Truth(values.negated(holds) if inverted else holds, fails)


def _looped(written: typing.Mapping[str, typing.Any], scope: Scope) -> Truth:
    once = {name: each for name, each in written.items() if name != 'loop'}
    multiple = written.get('multiple') or 'any'
    found = looped_over(written['loop'], scope)
    holds: list[values.Formula] = []
    fails: list[values.Formula] = []
    for guard, alternative in found:
        if isinstance(alternative, values.Const) and not isinstance(
                alternative.value, list | dict):
            if alternative.value not in (None, data_path.ABSENT):
                fails.append(guard)
            continue
        if isinstance(alternative, values.Term | values.Failed):
            fails.append(guard)
            continue
        if isinstance(alternative, values.Unknown | values.Names):
            holds.append(values.conj(guard, scope.machine.guess(
                f'a loop over {getattr(alternative, "reason", "traits")}',
                (json.dumps(written), id(alternative)), alternative)))
            continue
        truth = _over(once, multiple, alternative, scope)
        holds.append(values.conj(guard, truth.holds))
        fails.append(values.conj(guard, truth.fails))
    return Truth(values.disj(*holds), values.disj(*fails))


def looped_over(loop: typing.Any, scope: Scope) -> values.Value:
    """Return what a loop goes through."""
    if isinstance(loop, list):
        return values.only(values.Items(z3.IntVal(len(loop)), tuple(
            values.Written(_leniently(item, scope)) for item in loop),
            'a list'))
    if isinstance(loop, dict):
        return _leniently(loop, scope)
    return expression.evaluate(loop, scope)


def _leniently(item: typing.Any, scope: Scope) -> values.Value:
    """Return an item, in which a missing field is no reason to miss it."""
    if isinstance(item, dict) and not interpolation.fields(list(item)):
        return values.only(values.Mapping(None, {
            name: _leniently(each, scope) for name, each in item.items()}))
    return expression.evaluate(item, scope)


def listed(alternative: values.Alternative) -> list[
        tuple[values.Formula, values.Value]]:
    """Return the items of a loop, each with when there is one."""
    if isinstance(alternative, values.Mapping):
        return [(values.TRUE, values.only(alternative))]
    if isinstance(alternative, values.Const):
        inner = alternative.value
        return [(values.TRUE, values.const(item)) for item
                in (inner if isinstance(inner, list) else [inner])]
    assert isinstance(alternative, values.Items)
    return [(values.simplified(alternative.length > index), item.value)
            for index, item in enumerate(alternative.items)]


def _over(once: typing.Mapping[str, typing.Any], multiple: str,
          alternative: values.Alternative, scope: Scope) -> Truth:
    """Return when a condition holds over the items of a list."""
    items = listed(alternative)
    if not items:
        return Truth(values.FALSE)
    truths = [translate(once, scope.within(item=item)) for _there, item
              in items]
    there = [each for each, _item in items]
    more = values.FALSE
    beyond = values.FALSE
    if isinstance(alternative, values.Items):
        more = values.simplified(alternative.is_longer)
        if more is not values.FALSE:
            beyond = scope.machine.guess(
                f'more than {machines.LONGEST} items of {alternative.name}',
                (json.dumps([once, multiple]), id(alternative), tuple(
                    truth.holds.get_id() for truth in truths)),
                alternative, truths)
            scope.machine.loops.setdefault(
                alternative.name, set()).add(str(beyond))
    if multiple == 'first':
        return Truth(values.conj(there[0], truths[0].holds),
                     values.conj(there[0], truths[0].fails))
    if multiple == 'last':
        ends = [values.conj(one, values.negated(other)) for one, other
                in zip(there, [*there[1:], more], strict=True)]
        return Truth(*(values.disj(*(
            values.conj(end, part) for end, part
            in zip(ends, parts, strict=True)), values.conj(more, beyond))
            for parts in zip(*truths, strict=True)))
    decisive = multiple != 'all'
    going, fails = values.TRUE, values.FALSE
    for present, truth in zip(there, truths, strict=True):
        fails = values.disj(fails, values.conj(going, present, truth.fails))
        found = values.conj(present, truth.holds if decisive
                            else values.negated(truth.holds))
        going = values.conj(going, values.negated(found))
    if decisive:
        return Truth(values.disj(values.negated(going),
                                 values.conj(more, beyond)), fails)
    return Truth(values.conj(there[0], going, values.disj(
        values.negated(more), beyond)), fails)


class _Single:
    """One op with its arguments."""

    def __init__(self, op: registry.Op, bound: dict[str, typing.Any],
                 inverted: bool, scope: Scope) -> None:
        self._op = op
        self._inverted = inverted
        self._scope = scope
        self._machine = scope.machine
        self._written = bound
        self._named: list[str] = []
        self._values: list[values.Value] = []
        for name, value in bound.items():
            argument = op.signature.by_name[name]
            if argument.variadic and isinstance(value, list):
                if len(value) == 1 and isinstance(value[0], list):
                    value = value[0]
                for each in value:
                    self._add('', expression.evaluate(each, scope))
            elif name == 'regex':
                self._add(name, values.const(value))
            else:
                self._add(name, expression.evaluate(value, scope))

    def _add(self, name: str, value: values.Value) -> None:
        self._named.append(name)
        self._values.append(value)

    def truth(self) -> Truth:
        """Return when the condition holds."""
        holds: list[values.Formula] = []
        fails: list[values.Formula] = []
        for guard, alternatives in values.product(self._values):
            truth = self._of(alternatives)
            holds.append(values.conj(guard, truth.holds))
            fails.append(values.conj(guard, truth.fails))
        return Truth(values.disj(*holds), values.disj(*fails))

    def _of(self, alternatives: Alternatives) -> Truth:
        condition = self._op.plugin
        if any(isinstance(each, values.Failed) for each in alternatives):
            return Truth(values.FALSE, values.TRUE)
        missing = [isinstance(each, values.Const)
                   and each.value is data_path.ABSENT
                   for each in alternatives]
        if any(missing) and not condition.SEES_MISSING:
            if not condition.ACCEPTS_MISSING:
                return Truth(values.FALSE)
            alternatives = tuple(
                values.Const(None) if gone else each for each, gone
                in zip(alternatives, missing, strict=True))
        try:
            holds, fails = self._decide(alternatives)
        except (_Unknown, language.Untranslatable) as exc:
            return Truth(self._machine.guess(
                f'{self._op.name}: {exc}',
                (self._op.name, json.dumps(self._written, sort_keys=True,
                                           default=str),
                 tuple(map(_identity, alternatives))), alternatives))
        return Truth(values.negated(holds) if self._inverted else holds,
                     fails)

    def _decide(self, alternatives: Alternatives) -> Truth:
        if self._op.plugin.NEEDS_VIEW or self._op.plugin.LITERAL:
            raise _Unknown('it looks into the data itself')
        for each in alternatives:
            if isinstance(each, values.Unknown):
                raise _Unknown(each.reason)
        if all(isinstance(each, values.Const) for each in alternatives):
            return self._known(alternatives)
        found = TRANSLATIONS.get(self._op.name)
        if found is None:
            raise _Unknown(f'there is no translation of {self._op.name}')
        given = {name: each for name, each
                 in zip(self._named, alternatives, strict=True) if name}
        several = [each for name, each
                   in zip(self._named, alternatives, strict=True)
                   if not name]
        return Truth(found(self._machine, self._op.name, given, several))

    def _known(self, alternatives: Alternatives) -> Truth:
        """Let the op itself decide about values that are known."""
        several, named = [], {}
        for name, each in zip(self._named, alternatives, strict=True):
            assert isinstance(each, values.Const)
            if name:
                named[name] = each.value
            else:
                several.append(each.value)
        args: typing.Any = {**named}
        parameter = next((each.name for each in self._op.signature.arguments
                          if each.variadic), '')
        if parameter:
            args[parameter] = several
        try:
            return Truth(values.TRUE if _holds(self._op, args, parameter)
                         else values.FALSE)
        except (exceptions.InspectionRulesError, TypeError, ValueError):
            return Truth(values.FALSE, values.TRUE)


def _holds(op: registry.Op, args: dict[str, typing.Any],
           parameter: str) -> bool:
    several = args.pop(parameter, ())
    if 'regex' in args:
        args['regex'] = op.signature.by_name['regex'].type(args['regex'])
    return bool(op.plugin.bind(args)(*several))


def _identity(alternative: values.Alternative) -> typing.Hashable:
    if isinstance(alternative, values.Term):
        return int(alternative.term.get_id())
    if isinstance(alternative, values.Const) and (
            alternative.value is not data_path.ABSENT):
        return data_path.identity(alternative.value)
    return id(alternative)


Given = dict[str, values.Alternative]
Translation = Callable[[machines.Machine, str, Given,
                        Sequence[values.Alternative]], values.Formula]


def _compare(machine: machines.Machine, name: str, given: Given,
             several: Sequence[values.Alternative]) -> values.Formula:
    forced = given.get('force_strings')
    if isinstance(forced, values.Const) and forced.value:
        texts = list(map(expression.as_text, several))
        if any(each is None for each in texts):
            raise _Unknown('a list or mapping as text')
        several = list(map(values.Term, texts))
    compare = _COMPARISONS[name]
    return values.conj(*(_pair(machine, compare, one, other)
                         for one, other in itertools.pairwise(several)))


def _pair(machine: machines.Machine, compare: Callable[..., typing.Any],
          one: values.Alternative, other: values.Alternative
          ) -> values.Formula:
    """Return when a comparison holds between two values."""
    if isinstance(one, values.Const) and isinstance(other, values.Const):
        if comparison.equal(one.value, other.value):
            return values.known(compare(0, 0))
        op = next(name for name, each in _COMPARISONS.items()
                  if each is compare)
        return values.known(registry.installed().conditions[op].plugin.holds(
            one.value, other.value))
    kinds = _kind(one), _kind(other)
    if kinds == ('text', 'text'):
        _note(machine, one, other)
        return _ordered(compare, raw(one), raw(other))
    if 'number' in kinds and 'text' in kinds:
        readable, terms = values.TRUE, []
        for each, mate, kind in ((one, other, kinds[0]),
                                 (other, one, kinds[1])):
            if kind == 'text':
                is_number, term = _number_of(machine, each, mate)
                readable = values.conj(readable, is_number)
                terms.append(term)
            else:
                terms.append(raw(each))
        return values.disj(
            values.conj(readable, compare(*terms)),
            values.conj(values.negated(readable),
                        values.known(compare is operator.ne)))
    if set(kinds) <= {'number', 'boolean'}:
        return compare(*(_as_number(each) for each in (one, other)))
    if {'list', 'mapping'} & set(kinds):
        if kinds[0] == kinds[1]:
            raise _Unknown('a comparison of lists or mappings')
        return values.known(compare is operator.ne)
    return values.known(compare is operator.ne)


def _ordered(compare: Callable[..., typing.Any], one: typing.Any,
             other: typing.Any) -> values.Formula:
    if compare is operator.gt:
        return other < one
    if compare is operator.ge:
        return other <= one
    return compare(one, other)


def _kind(alternative: values.Alternative) -> str:
    if isinstance(alternative, values.Term):
        return 'text' if alternative.is_text else (
            'boolean' if alternative.is_boolean else 'number')
    if isinstance(alternative, values.Items | values.Names):
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
    if isinstance(alternative, values.Term):
        return alternative.term
    assert isinstance(alternative, values.Const)
    value = alternative.value
    if isinstance(value, str):
        return z3.StringVal(value)
    if isinstance(value, bool):
        return z3.BoolVal(value)
    return z3.IntVal(value) if isinstance(value, int) else (
        z3.RealVal(repr(value)))


def _as_number(alternative: values.Alternative) -> typing.Any:
    term = raw(alternative)
    return z3.If(term, z3.IntVal(1), z3.IntVal(0)) if z3.is_bool(
        term) else term


def _note(machine: machines.Machine, one: values.Alternative,
          other: values.Alternative) -> None:
    for term, text in ((one, other), (other, one)):
        if isinstance(term, values.Term) and isinstance(text, values.Const):
            machine.note(term.term, text.value)


def _number_of(machine: machines.Machine, text: values.Alternative,
               mate: values.Alternative) -> tuple[typing.Any, typing.Any]:
    """Return when a text reads as a number, and which."""
    if isinstance(text, values.Const):
        read = comparison.as_number(text.value)
        return values.known(read is not None), raw(values.Const(read or 0))

    def compute(each: str) -> Sequence[typing.Any]:
        read = comparison.as_number(each)
        return read is not None, read

    facet = machine.facet(raw(text), 'number', lambda name: (
        z3.Bool(f'{name} exists'), z3.Real(name)), compute)
    if facet is None:
        raise _Unknown('text made of others as a number')
    if isinstance(mate, values.Const):
        facet.near |= {str(mate.value + more) for more in (-1, 0, 1)}
    return facet.terms


def _matches(machine: machines.Machine, name: str, given: Given,
             several: Sequence[values.Alternative]) -> values.Formula:
    regex = typing.cast(values.Const, given['regex']).value
    if any(each.root == interpolation.ITEM
           for each in interpolation.fields(regex)):
        raise _Unknown('an item in a regular expression')
    text = expression.as_text(given['value'])
    if text is None:
        raise _Unknown('a list or mapping as text')
    found = language.matching(regex, name == 'contains')
    holds = z3.InRe(language.marked(text), found)
    machine.examples(text, holds)
    return holds


def _one_of(machine: machines.Machine, name: str, given: Given,
            several: Sequence[values.Alternative]) -> values.Formula:
    value, among = given['value'], given['values']
    if isinstance(among, values.Names):
        if not isinstance(value, values.Const):
            raise _Unknown('a trait of a field')
        there = values.step(among.mapping, str(value.value), False)
        return has_trait(there)
    if isinstance(among, values.Items):
        return values.disj(*(
            values.conj(there, guard,
                        _pair(machine, operator.eq, value, each))
            for there, item in listed(among) for guard, each in item),
            values.conj(among.is_longer, machine.guess(
                f'more than {machines.LONGEST} items of {among.name}',
                (id(among), _identity(value)), among, value)))
    if not isinstance(among, values.Const) or not isinstance(
            among.value, list):
        raise _Unknown('membership in what is no list')
    return values.disj(*(_pair(machine, operator.eq, value,
                               values.Const(each)) for each in among.value))


def has_trait(entry: values.Value) -> values.Formula:
    """Return when a trait is there, of its entry."""
    return values.disj(*(
        values.conj(guard, each.term) if isinstance(each, values.Term)
        else guard if isinstance(each, values.Const) and each.value is True
        else values.FALSE for guard, each in entry))


def _truth(machine: machines.Machine, name: str, given: Given,
           several: Sequence[values.Alternative]) -> values.Formula:
    value = given['value']
    wanted = name == 'is-true'
    kind = _kind(value)
    if kind == 'text':
        word = '[Yy][Ee][Ss]|[Tt][Rr][Uu][Ee]' if wanted else (
            '[Nn][Oo]|[Ff][Aa][Ll][Ss][Ee]')
        return z3.InRe(language.marked(raw(value)),
                       language.matching(word, False))
    if kind in ('boolean', 'number'):
        return _as_number(value) != 0 if wanted else _as_number(value) == 0
    return values.FALSE


def _empty(machine: machines.Machine, name: str, given: Given,
           several: Sequence[values.Alternative]) -> values.Formula:
    value = given['value']
    if name == 'is-none':
        return values.FALSE
    if isinstance(value, values.Items):
        return value.length == 0
    if isinstance(value, values.Mapping):
        return values.is_empty(value)
    if isinstance(value, values.Names):
        raise _Unknown('whether there are traits')
    return raw(value) == '' if _kind(value) == 'text' else values.FALSE


def _exists(machine: machines.Machine, name: str, given: Given,
            several: Sequence[values.Alternative]) -> values.Formula:
    return values.TRUE


def _in_net(machine: machines.Machine, name: str, given: Given,
            several: Sequence[values.Alternative]) -> values.Formula:
    subnet, address = given['subnet'], given['address']
    if not isinstance(subnet, values.Const):
        raise _Unknown('a subnet of the machine')
    if _kind(address) != 'text':
        if _kind(address) == 'number':
            raise _Unknown('a number as an address')
        return values.FALSE
    network = ipaddress.ip_network(subnet.value.strip(), strict=False)

    def compute(text: str) -> Sequence[typing.Any]:
        try:
            read = ipaddress.ip_address(text.strip().partition('/')[0])
        except ValueError:
            return 0, 0
        return read.version, int(read)

    facet = machine.facet(raw(address), 'address', lambda name: (
        z3.Int(f'version of {name}'), z3.Int(name)), compute)
    if facet is None:
        raise _Unknown('text made of others as an address')
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


def _versions(machine: machines.Machine, name: str, given: Given,
              several: Sequence[values.Alternative]) -> values.Formula:
    if any(_kind(each) != 'text' for each in several):
        return values.FALSE
    compare = _COMPARISONS[name.removeprefix('version-')]
    ranks = []
    for each in several:
        if isinstance(each, values.Const):
            ranks.append(machine.rank(each.value, version.key))
            continue
        facet = machine.facet(
            raw(each), 'version', lambda name: (z3.Real(name),),
            lambda text: (machine.rank(text, version.key),))
        if facet is None:
            raise _Unknown('text made of others as a version')
        facet.near |= {near for other in several
                       if isinstance(other, values.Const)
                       for near in (other.value, f'{other.value}.1',
                                    f'{other.value}~', '0')}
        ranks.append(facet.terms[0])
    return values.conj(*(compare(one, other) for one, other
                         in itertools.pairwise(ranks)))


TRANSLATIONS: dict[str, Translation] = {
    **dict.fromkeys(_COMPARISONS, _compare),
    **{f'version-{name}': _versions for name in _COMPARISONS},
    'contains': _matches, 'matches': _matches, 'one-of': _one_of,
    'is-true': _truth, 'is-false': _truth, 'is-none': _empty,
    'is-empty': _empty, 'exists': _exists, 'in-net': _in_net}
