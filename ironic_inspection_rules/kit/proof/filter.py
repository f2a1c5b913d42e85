# SPDX-License-Identifier: Apache-2.0

"""Translate filters: their results for values that the solver chooses.

For values that rules write, the filter itself is applied. For values that a
machine sends there are three ways: arithmetic is done by the solver, see
:mod:`.floats`; results for texts are computed in Python for a few texts, see
:mod:`.text`; any other result is an unknown value, which is the same whenever
the same filter gets the same value.

A value has *alternatives*, i.e. it may be missing, a constant, a list, and so
on. A filter gets one of them at a time. A *term* is an alternative that is a
text, a number or a truth value that the solver chooses: with a number
``count``, the filter ``add(1)`` returns the term ``count + 1``.
"""

import json
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
from ironic_inspection_rules.kit.proof import floats
from ironic_inspection_rules.kit.proof import logic
from ironic_inspection_rules.kit.proof import machine as machines
from ironic_inspection_rules.kit.proof import secret
from ironic_inspection_rules.kit.proof import text as texts
from ironic_inspection_rules.kit.proof import value as values

Value = values.Value

# Filters by the types that they accept, see FilterTranslation._takes(). Those
# in the first set return a text for any text: they never fail.
_ALWAYS_MAKE_TEXT = frozenset(
    ('lower', 'upper', 'trim', 'replace', 'regex_replace')
)
_MAKE_NUMBER = frozenset(('int', 'float'))
_OF_TEXT = _ALWAYS_MAKE_TEXT | _MAKE_NUMBER | {'regex_search', 'date', 'trait'}
_OF_NUMBERS = frozenset(('round', 'abs', 'tier', *floats.OPERATIONS))
_OF_LISTS = frozenset(
    ('length', 'join', 'sum', 'min', 'max', 'first', 'last', 'unique', 'sort')
)

_FAILS, _RETURNS_NOTHING, _RETURNS_VALUE = 0, 1, 2
"""Whether a filter fails for a text, returns nothing, or returns a value."""


class FilterTranslation:
    """Translates a filter with known arguments for the solver.

    It returns the result of one filter of a rule, e.g. ``add(1)``, for any
    alternative of a value.

    :param args: the arguments by name, e.g. ``{'number': 1}``.
    """

    def __init__(
        self,
        op: registry.Op,
        args: dict[str, typing.Any],
        machine: machines.SymbolicMachine,
    ) -> None:
        self._name = op.name
        self._args = args
        self._machine = machine
        # Equal for filters that return the same results for all values.
        self._key = json.dumps([op.name, args], sort_keys=True, default=str)

    def apply(self, value: typing.Any) -> typing.Any:
        """Apply the filter of the engine to a known value.

        :returns: the result, e.g. "dell" for the filter ``lower`` and "Dell";
            ABSENT if the filter finds nothing.
        :raises: :class:`.exceptions.OperationError` if the filter raises it.
        """
        # The engine applies filters only to fields, so pass the value as the
        # field {item}.
        call = filter_syntax.FilterCall(self._name, tuple(self._args.items()))
        field = interpolation.Field('item', 'item', filters=(call,))
        view = budget.View({'item': value})
        result = template.join([field]).render(view)
        if isinstance(result, rendering.Missing):
            return data_path.ABSENT
        return result

    def result_for(self, alternative: values.Alternative) -> Value:
        """Return the result of the filter for an alternative of a value.

        The cases are, in this order::

            a missing value      → missing; for "default", the default
            a constant, e.g. -5  → the filter itself is applied: 5 for "abs"
            an error             → the same error
            an unknown value     → an unknown result
            a type that the
            filter refuses       → an error
            a value of the
            machine              → a term; without a translation, an unknown
                                   result

        An unknown result is the same whenever the same filter gets the same
        alternative.
        """
        if alternative.is_missing:
            if self._name == 'default':
                return values.const(self._args.get('default', ''))
            return values.NOTHING
        if isinstance(alternative, values.Const):
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
        result = self._translate(alternative)
        if result is None:
            # A filter such as "keys" reads the order of entries.
            return values.unknown(
                f'filter {self._name}',
                self._key,
                alternative,
                alternative.order,
            )
        return result

    def _takes(self, alternative: values.Alternative) -> bool:
        """Return whether the filter accepts the type of an alternative.

        Any other value is an error of the rule, e.g. a list for ``lower``. A
        truth value counts as a number here; the filter itself is applied to
        true and false later.
        """
        # A text, a number or a truth value of the machine.
        is_plain = isinstance(alternative, values.SolverTerm)
        is_number = is_plain and alternative.kind != 'text'
        if self._name in _OF_NUMBERS:
            return is_number
        if self._name in _OF_TEXT:
            # Filters of text also accept a number, which they read as text.
            return is_plain
        if self._name in _OF_LISTS:
            # Some of them accept a text, or a mapping.
            return not is_number
        return True

    def _translate(self, alternative: values.Alternative) -> Value | None:
        """Return the result of the filter for a value of the machine.

        ``default`` does not change the value, because it exists. ``length`` of
        a list returns the length, a number of the solver.

        :returns: None if the result is unknown.
        """
        if self._name == 'default':
            if self._args.get('boolean'):
                # The default then also replaces an empty value or zero, and it
                # depends on the machine whether the value is one of these.
                return None
            return values.only(alternative)
        if isinstance(alternative, values.SolverTerm):
            return self._translate_term(alternative)
        if isinstance(alternative, values.Mapping):
            return self._translate_mapping(alternative)
        if isinstance(alternative, values.ItemList):
            return self._translate_list(alternative)
        return None

    def _translate_mapping(self, mapping: values.Mapping) -> Value | None:
        """Return the entry that the filter ``get`` reads from a mapping.

        ``{inventory.cpu | get('count')}`` is the value of
        ``{inventory.cpu.count}``.

        :returns: None if the result is unknown: for any other filter, and for
            a ``get`` with a default.
        """
        if self._name != 'get':
            return None
        try:
            path = data_path.parse(str(self._args.get('path', '')))
        except exceptions.OperationError:
            return values.FAILED
        entry = secret.step_in_made_value(
            self._machine, values.only(mapping), *path
        )
        if 'default' in self._args:
            # The default also replaces null, and it is not known whether a
            # machine has null there.
            return None
        return entry

    def _translate_list(self, items: values.ItemList) -> Value | None:
        """Return the result of the filter for a list, None if it is unknown.

        ``length`` returns its length, and ``first`` its first item, which is
        missing if the list is empty. The filter is recorded as a use of the
        list, because it may depend on the number of items. The search then
        cannot conclude from short lists to longer ones.
        """
        items.uses.add(self._name)
        if self._name == 'length':
            return values.only(values.SolverTerm(items.length))
        if self._name == 'first' and items.items:
            return values.choose(
                items.length > 0,
                chosen=items.items[0].value,
                otherwise=values.NOTHING,
            )
        return None

    def _translate_term(self, alternative: values.SolverTerm) -> Value | None:
        """Return the result of the filter for a term, None if it is unknown.

        A term is a text, a number or a truth value that the solver chooses.
        """
        term = alternative.term
        if alternative.is_boolean:
            # The results for true and for false are known.
            return values.choose(
                term,
                self.result_for(values.Const(True)),
                self.result_for(values.Const(False)),
            )
        if not alternative.is_text:
            return self._translate_number(alternative)
        if self._name == 'length':
            return values.only(values.SolverTerm(z3.Length(term)))
        if self._name in _OF_TEXT:
            return self._translate_text(term)
        return None

    def _translate_number(
        self, alternative: values.SolverTerm
    ) -> Value | None:
        """Return the result of the filter for a number, None if it is unknown.

        An integer becomes a float only by ``float``, by ``divide``, or by a
        calculation with a float. As in Python, 2 and 2.0 are different values,
        and different texts. ``abs`` returns the term ``if count < 0: -count,
        else: count`` for a number ``count``.
        """
        term = alternative.term
        is_integer = z3.is_int(term)
        if self._name == 'tier':
            return self._find_label(term)
        if self._name in floats.OPERATIONS:
            return self._calculate(term)
        if self._name == 'float' and is_integer:
            return floats.convert_integer(self._machine, term)
        if self._name == 'int':
            result = _without_fraction(term)
        elif self._name == 'float':
            result = term
        elif self._name == 'abs':
            result = z3.If(term < 0, -term, term)
        elif self._name == 'round' and is_integer and self._keeps_integers():
            result = term
        else:
            return None
        return values.only(values.SolverTerm(result))

    def _keeps_integers(self) -> bool:
        """Return whether rounding leaves integers unchanged.

        With a negative precision it does not: -2 rounds 1234 to 1200.
        """
        precision = self._args.get('precision', 0)
        return isinstance(precision, int) and precision >= 0

    def _find_label(self, term: logic.Term) -> Value:
        """Return the label of the highest bound that a number reaches.

        With the table ``[[32, 'small'], [128, 'large']]`` and a number
        ``count``, it is::

            count >= 128      → 'large'
            32 <= count < 128 → 'small'
            count < 32        → the default of the filter
        """
        label_by_bound: dict[float, typing.Any] = {}
        for bound, label in self._args['table']:
            # If bounds are equal, the first one in the table decides.
            label_by_bound.setdefault(bound, label)
        result = values.const(self._args.get('default', data_path.ABSENT))
        # Start with the lowest bound: the last bound that is reached decides.
        for bound in sorted(label_by_bound):
            result = values.choose(
                term >= logic.number_term(bound),
                values.const(label_by_bound[bound]),
                result,
            )
        return result

    def _calculate(self, term: logic.Term) -> Value | None:
        """Calculate with a number of the machine; None if unknown.

        For the filter ``add(1)`` and a number ``count`` it is ``count + 1``.
        """
        number = self._args.get('number')
        if isinstance(number, bool) or not isinstance(number, int | float):
            return None
        return floats.calculate(self._machine, self._name, term, number)

    def _translate_text(self, term: logic.Term) -> Value | None:
        """Return the result for a text: an error, nothing, or a value.

        The solver cannot apply the filter, so it chooses the result as two
        terms: ``outcome`` says which of the three it is, and ``result`` is the
        value. The search applies the filter to the texts that it tries, and
        connects the terms to these texts. For ``int`` the formulas are::

            text == "8" → outcome == _RETURNS_VALUE and result == 8
            text == "x" → outcome == _FAILS

        :param term: the text.
        :returns: None if the text is made from several fields, because such
            texts are not tried, and the result is unknown.
        """
        computation = self._machine.computation(
            term, self._key, self._make_terms, self._compute_result
        )
        if computation is None:
            return None
        outcome = computation.terms['outcome']
        result = computation.terms['result']
        if self._name in _ALWAYS_MAKE_TEXT:
            # These filters return a value for any text.
            self._machine.domain.append(outcome == _RETURNS_VALUE)
        if self._name in _MAKE_NUMBER:
            # Try these texts, because rules often compare with such numbers.
            computation.near |= {'0', '1', '8', '1024'}
        if self._name == 'int':
            # The term is a real number, as for "float", but int returns an
            # integer.
            result = z3.ToInt(result)
        fails = outcome == _FAILS
        returns_nothing = outcome == _RETURNS_NOTHING
        has_no_value = logic.disj(fails, returns_nothing)
        has_value = logic.negated(has_no_value)
        return values.join(
            (
                (fails, values.FAILED),
                (returns_nothing, values.NOTHING),
                (has_value, values.only(values.SolverTerm(result))),
            )
        )

    def _make_terms(self, name: str) -> texts.Terms:
        """Return the terms for the result of the filter for a text.

        The outcome is _FAILS, _RETURNS_NOTHING or _RETURNS_VALUE. The result,
        which is only used with _RETURNS_VALUE, is a number for ``int`` and
        ``float``, and a text for any other filter.

        :param name: the name of the terms, e.g. ``["int", {}] of
            inventory.hostname``.
        """
        if self._name in _MAKE_NUMBER:
            result = z3.Real(name)
        else:
            result = self._machine.new_text(name, derived=True)
        return {'outcome': z3.Int(f'{name} exists'), 'result': result}

    def _compute_result(self, text: str) -> dict[str, typing.Any]:
        """Return the values of the terms of :meth:`_make_terms` for a text."""
        try:
            result = self.apply(text)
        except exceptions.OperationError:
            return {'outcome': _FAILS}
        if result is data_path.ABSENT:
            return {'outcome': _RETURNS_NOTHING}
        return {'outcome': _RETURNS_VALUE, 'result': result}


def _without_fraction(term: logic.Term) -> logic.Term:
    """Return a number rounded towards zero, as Python's int() does."""
    if z3.is_int(term):
        return term
    # The solver rounds down, which would make -2 from -1.5.
    return z3.If(term < 0, -z3.ToInt(-term), z3.ToInt(term))
