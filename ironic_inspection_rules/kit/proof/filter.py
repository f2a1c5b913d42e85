# SPDX-License-Identifier: Apache-2.0

"""Filters on all machines at once."""

from collections.abc import Callable
import json
import operator
import typing

import z3

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.language import budget
from ironic_inspection_rules.engine.language import filter_syntax
from ironic_inspection_rules.engine.language import interpolation
from ironic_inspection_rules.engine.language import path as data_path
from ironic_inspection_rules.engine.language import registry
from ironic_inspection_rules.engine.language import rendering
from ironic_inspection_rules.engine.language import template
from ironic_inspection_rules.kit.proof import logic
from ironic_inspection_rules.kit.proof import machine as machines
from ironic_inspection_rules.kit.proof import secret
from ironic_inspection_rules.kit.proof import value as values

Value = values.Value

_ANY_TEXT = frozenset(('lower', 'upper', 'trim', 'replace', 'regex_replace'))
_NUMBERS = frozenset(('int', 'float'))
_OF_TEXT = _ANY_TEXT | _NUMBERS | {'regex_search', 'date', 'trait'}
_OF_NUMBERS = frozenset(('round', 'abs', 'add', 'subtract', 'multiply',
                         'divide', 'tier'))
_OF_LISTS = frozenset(('length', 'join', 'sum', 'min', 'max', 'first', 'last',
                       'unique', 'sort'))
_ARITHMETIC: dict[str, Callable[[typing.Any, typing.Any], typing.Any]] = {
    'add': operator.add, 'subtract': operator.sub, 'multiply': operator.mul}


class FilterTranslation:
    """A filter with its arguments.

    :param given: the arguments by name.
    """

    def __init__(self, op: registry.Op, given: dict[str, typing.Any],
                 machine: machines.SymbolicMachine) -> None:
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
            if alternative.is_missing:
                return values.const(self._given.get('default', '')) if (
                    self._name == 'default') else values.NOTHING
            try:
                return values.const(self.apply(alternative.value))
            except exceptions.OperationError:
                return values.FAILED
        if isinstance(alternative, values.Failed):
            return values.only(alternative)
        if isinstance(alternative, values.UnknownValue):
            return values.unknown(alternative.reason, self._key, alternative)
        if not self._takes(alternative):
            return values.FAILED
        if self._name == 'default':
            made = None if self._given.get('boolean') else (
                values.only(alternative))
        elif isinstance(alternative, values.SolverTerm):
            made = self._of_term(alternative)
        else:
            made = self._of_items(alternative)
        return made or values.unknown(f'filter {self._name}', self._key,
                                      alternative)

    def _takes(self, alternative: values.Alternative) -> bool:
        """Return False where the filter takes no value of such a type."""
        is_plain = isinstance(alternative, values.SolverTerm)
        is_number = is_plain and not typing.cast(
            values.SolverTerm, alternative).is_text
        if self._name in _OF_NUMBERS:
            return is_number
        if self._name in _OF_TEXT:
            return is_plain
        return not is_number or self._name not in _OF_LISTS

    def _of_items(self, alternative: values.Alternative) -> Value | None:
        if self._name == 'get' and isinstance(alternative, values.Mapping):
            found = secret.step(self._machine, values.only(alternative), *str(
                self._given.get('path', '')).split('.'), own=True)
            return None if 'default' in self._given else found
        if not isinstance(alternative, values.ItemList):
            return None
        alternative.uses.add(self._name)
        if self._name == 'length':
            return values.only(values.SolverTerm(alternative.length))
        if self._name == 'first' and alternative.items:
            return values.choose(alternative.length > 0,
                                 alternative.items[0].value, values.NOTHING)
        return None

    def _of_term(self, alternative: values.SolverTerm) -> Value | None:
        term = alternative.term
        if alternative.is_boolean:
            return values.choose(term, self.of(values.Const(True)),
                                 self.of(values.Const(False)))
        if alternative.is_text:
            if self._name == 'length':
                return values.only(values.SolverTerm(z3.Length(term)))
            return self._of_text(term) if self._name in _OF_TEXT else None
        return self._of_number(alternative)

    def _of_number(self, alternative: values.SolverTerm) -> Value | None:
        term = alternative.term
        if z3.is_int(term) and self._name in ('int', 'round'):
            return values.only(alternative)
        if self._name == 'int':
            return values.only(values.SolverTerm(z3.If(
                term < 0, -z3.ToInt(-term), z3.ToInt(term))))
        if self._name == 'float':
            return values.only(values.SolverTerm(
                z3.ToReal(term) if z3.is_int(term) else term))
        if self._name == 'abs':
            return values.only(values.SolverTerm(z3.If(term < 0, -term, term)))
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
                return values.only(values.SolverTerm(
                    _ARITHMETIC[self._name](term, number)))
            if self._name == 'divide' and z3.is_int(term):
                return values.only(values.SolverTerm(
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
             values.only(values.SolverTerm(made)))))
