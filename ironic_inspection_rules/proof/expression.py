# SPDX-License-Identifier: Apache-2.0

"""Values of text with fields and filters, for the solver."""

from collections.abc import Callable
import dataclasses
import json
import operator
import typing

import z3

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine import budget
from ironic_inspection_rules.engine import filter_syntax
from ironic_inspection_rules.engine import interpolation
from ironic_inspection_rules.engine import masking
from ironic_inspection_rules.engine import path as data_path
from ironic_inspection_rules.engine import registry
from ironic_inspection_rules.engine import rendering
from ironic_inspection_rules.engine import template
from ironic_inspection_rules.proof import logic
from ironic_inspection_rules.proof import machine as machines
from ironic_inspection_rules.proof import value as values

Value = values.Value

_ANY_TEXT = frozenset(('lower', 'upper', 'trim', 'replace', 'trait',
                       'regex_replace'))
_NUMBERS = frozenset(('int', 'float'))
_OF_TEXT = _ANY_TEXT | _NUMBERS | {'regex_search', 'date'}
_ARITHMETIC: dict[str, Callable[[typing.Any, typing.Any], typing.Any]] = {
    'add': operator.add, 'subtract': operator.sub, 'multiply': operator.mul}


@dataclasses.dataclass(frozen=True)
class Scope:
    """The data that fields are looked up in, by the name of a root."""

    machine: machines.Machine
    roots: typing.Mapping[str, Value]

    def within(self, **roots: Value) -> 'Scope':
        """Return the scope with other roots beside its own."""
        return dataclasses.replace(self, roots={**self.roots, **roots})


def evaluate(written: typing.Any, scope: Scope) -> Value:
    """Return what a value of a rule is; missing where a part is."""
    if isinstance(written, str):
        found = [values.const(piece) if isinstance(piece, str)
                 else field(piece, scope)
                 for piece in interpolation.parse(written)]
        return found[0] if len(found) == 1 else values.join(
            (guard, _text(alternatives))
            for guard, alternatives in values.product(found))
    if not isinstance(written, list | dict) or (
            not interpolation.fields(written)):
        return values.const(template.compile_value(written))
    whole: values.Alternative
    if isinstance(written, list):
        parts = [evaluate(each, scope) for each in written]
        whole = values.Items(z3.IntVal(len(parts)), tuple(
            map(values.Written, parts)), 'a list')
    elif interpolation.fields(list(written)):
        return values.only(values.Unknown('a key with a field in it'))
    else:
        inner = {name: evaluate(each, scope) for name, each in written.items()}
        parts, whole = list(inner.values()), values.Mapping(None, inner)
    return values.choose(logic.disj(*map(values.absent, parts)),
                         values.NOTHING, values.only(whole))


def _text(parts: tuple[values.Alternative, ...]) -> Value:
    """Return the text of some values, one after another."""
    for part in parts:
        if values.is_missing(part) or isinstance(
                part, values.Unknown | values.Failed):
            return values.only(part)
    if all(isinstance(part, values.Const) for part in parts):
        return values.const(''.join(
            str(part.value) for part in parts
            if isinstance(part, values.Const)))
    texts = list(map(as_text, parts))
    if any(text is None for text in texts):
        return values.only(values.Unknown('a list or mapping as text'))
    return values.only(values.Term(
        z3.Concat(*texts) if len(texts) > 1 else texts[0]))


def as_text(alternative: values.Alternative) -> typing.Any:
    """Return the text that a plain value is shown as, None if not known."""
    if isinstance(alternative, values.Const):
        return logic.constant(str(alternative.value))
    if not isinstance(alternative, values.Term):
        return None
    term = alternative.term
    if alternative.is_text:
        return term
    if alternative.is_boolean:
        return z3.If(term, z3.StringVal('True'), z3.StringVal('False'))
    if z3.is_int(term):
        return z3.If(term < 0, z3.Concat(z3.StringVal('-'),
                                         z3.IntToStr(-term)),
                     z3.IntToStr(term))
    return None


def field(written: interpolation.Field, scope: Scope) -> Value:
    """Return what a field is, after its filters."""
    found = _looked_up(written, scope)
    for call in written.filters:
        found = _filtered(call, found, scope)
    if written.conversion == 's' and not written.spec:
        return values.each(found, lambda alternative: _text((alternative,)))
    if written.conversion or written.spec:
        return values.each(found, lambda alternative: values.only(
            alternative if values.is_missing(alternative)
            else values.Unknown(f'the format of {{{written.text}}}')))
    return found


def _looked_up(written: interpolation.Field, scope: Scope) -> Value:
    root, steps = written.root or '', written.steps
    if root in ('ports', 'port_groups') and steps and (
            data_path.index(steps[0]) is None):
        return values.only(values.Unknown(f'the port of {{{written.text}}}'))
    found = scope.roots.get(root, values.NOTHING)
    if root == 'node' and steps[:1] == ('traits',):
        found, steps = values.only(values.Names(values.step(
            found, machines.TRAITS[1]))), steps[1:]
    found = _seen(found, *steps)
    if root == 'plugin_data' and steps and (
            steps[0] in rendering.SECOND_NAMES):
        for other, *path in rendering.SECOND_NAMES[steps[0]]:
            second = _seen(scope.roots[other], *path, *steps[1:])
            usable = logic.negated(logic.disj(
                values.when(second, lambda each: isinstance(
                    each, values.Const) and (values.is_missing(each)
                                             or not each.value)),
                *(logic.conj(guard, each.term == '')
                  for guard, each in second if isinstance(each, values.Term)
                  and each.is_text)))
            found = values.choose(logic.conj(values.absent(found), usable),
                                  second, found)
    return found


def _seen(value: Value, *names: str) -> Value:
    """Follow names and indexes below a value, and mask secrets."""
    for name in names:
        value = values.step(value, name)
        if masking.is_secret(name):
            value = values.each(value, _masked)
    return value


def _masked(alternative: values.Alternative) -> Value:
    """Mask a secret; an empty one stays as it is."""
    bare: typing.Any
    if isinstance(alternative, values.Const):
        bare, empty = alternative.value, logic.known(
            alternative.value is data_path.ABSENT
            or alternative.value in (None, '', [], {}))
    elif isinstance(alternative, values.Term):
        bare, empty = '', (alternative.term == '' if alternative.is_text
                           else logic.FALSE)
    elif isinstance(alternative, values.Items):
        bare, empty = [], alternative.length == 0
    elif isinstance(alternative, values.Mapping):
        try:
            bare, empty = {}, values.is_empty(alternative)
        except logic.Untranslatable as exc:
            return values.only(values.Unknown(str(exc)))
    else:
        return values.only(alternative)
    return values.choose(empty, values.const(bare), values.const(masking.MASK))


def _filtered(call: filter_syntax.Call, found: Value, scope: Scope) -> Value:
    op = registry.filters()[call.name]
    given, _problems = op.signature.bind_call(call.arguments)
    if any(isinstance(each, tuple) for each in given.values()) or (
            op.plugin.TAKES_FILTER and not all(
                name for name, _value in call.arguments)):
        return values.only(values.Unknown(
            f'filter {call.name} with a field as argument'))
    filter_ = _Filter(op, given, scope.machine)
    return values.each(found, filter_.of)


class _Filter:
    def __init__(self, op: registry.Op, given: dict[str, typing.Any],
                 machine: machines.Machine) -> None:
        self._name = op.name
        self._given = given
        self._machine = machine
        self._key = json.dumps([op.name, given], sort_keys=True, default=str)

    def apply(self, value: typing.Any) -> typing.Any:
        """Return what the engine makes of a known value."""
        field = interpolation.Field('item', 'item', (), filters=(
            filter_syntax.Call(self._name, tuple(self._given.items())),))
        made = template.join([field]).render(budget.View({'item': value}))
        return (data_path.ABSENT if isinstance(made, rendering.Missing)
                else made)

    def of(self, alternative: values.Alternative) -> Value:
        """Return what the filter makes of one alternative."""
        if isinstance(alternative, values.Const):
            if values.is_missing(alternative):
                return values.const(self._given.get('default', '')) if (
                    self._name == 'default') else values.NOTHING
            try:
                return values.const(self.apply(alternative.value))
            except exceptions.OperationError:
                return values.FAILED
        if isinstance(alternative, values.Unknown | values.Failed):
            return values.only(alternative)
        if self._name == 'default':
            made = None if self._given.get('boolean') else (
                values.only(alternative))
        elif isinstance(alternative, values.Term):
            made = self._of_term(alternative)
        else:
            made = self._of_items(alternative)
        return made or values.only(values.Unknown(f'filter {self._name}'))

    def _of_items(self, alternative: values.Alternative) -> Value | None:
        if self._name == 'get' and isinstance(alternative, values.Mapping):
            found = values.step(values.only(alternative), *str(
                self._given.get('path', '')).split('.'))
            return None if 'default' in self._given else found
        if not isinstance(alternative, values.Items):
            return None
        alternative.uses.add(self._name)
        if self._name == 'length':
            return values.only(values.Term(alternative.length))
        if self._name == 'first' and alternative.items:
            return values.choose(alternative.length > 0,
                                 alternative.items[0].value, values.NOTHING)
        return None

    def _of_term(self, alternative: values.Term) -> Value | None:
        term = alternative.term
        if alternative.is_boolean:
            return values.choose(term, self.of(values.Const(True)),
                                 self.of(values.Const(False)))
        if alternative.is_text:
            if self._name == 'length':
                return values.only(values.Term(z3.Length(term)))
            return self._of_text(term) if self._name in _OF_TEXT else None
        if self._name == 'int' and z3.is_int(term):
            return values.only(alternative)
        if self._name == 'tier':
            found = values.const(self._given.get('default', data_path.ABSENT))
            for bound, label in sorted(self._given['table'],
                                       key=lambda row: row[0]):
                found = values.choose(term >= bound, values.const(label),
                                      found)
            return found
        number = self._given.get('number')
        if isinstance(number, int | float) and not isinstance(number, bool):
            if self._name in _ARITHMETIC and isinstance(number, int):
                return values.only(values.Term(
                    _ARITHMETIC[self._name](term, number)))
            if self._name == 'divide' and z3.is_int(term):
                return values.only(values.Term(
                    z3.ToReal(term) / z3.RealVal(number)))
        return None

    def _of_text(self, term: typing.Any) -> Value | None:
        """Return what becomes of a text: found, failed, and what it is."""
        def make(name: str) -> tuple[typing.Any, ...]:
            made = (z3.Real(name) if self._name in _NUMBERS
                    else self._machine.text(name, derived=True))
            return z3.Int(f'{name} exists'), made

        def compute(text: str) -> tuple[typing.Any, ...]:
            try:
                made = self.apply(text)
            except exceptions.OperationError:
                return 0, None
            return (1, None) if made is data_path.ABSENT else (2, made)

        facet = self._machine.facet(term, self._key, make, compute)
        if facet is None:
            return None
        state, made = facet.terms
        if self._name in _ANY_TEXT:
            self._machine.domain.append(state == 2)
        if self._name in _NUMBERS:
            facet.near |= {'0', '1', '8', '1024'}
        if self._name == 'int':
            made = z3.ToInt(made)
        return values.join((
            (state == 0, values.FAILED), (state == 1, values.NOTHING),
            (logic.negated(logic.disj(state == 0, state == 1)),
             values.only(values.Term(made)))))
