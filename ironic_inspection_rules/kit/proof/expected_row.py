# SPDX-License-Identifier: Apache-2.0

"""Rows of tables in a proof, on all machines: small tables exactly."""

import typing

import z3

from ironic_inspection_rules.engine.language import path as data_path
from ironic_inspection_rules.engine.language import table
from ironic_inspection_rules.engine.language import table_key
from ironic_inspection_rules.kit.proof import logic
from ironic_inspection_rules.kit.proof import machine as machines
from ironic_inspection_rules.kit.proof import text as texts
from ironic_inspection_rules.kit.proof import value as values

Value = values.Value

MOST_ROWS = 50
"""Most rows of a table that is looked at: each costs formulas."""


def of_key(
    expected: table.Table, key: Value, machine: machines.SymbolicMachine
) -> Value:
    """Return the row of a key, which is missing where there is none.

    :param key: what the template ``of`` is for all machines.
    """
    return values.join(
        (guard, _row_of_alternative(expected, alternative, machine))
        for guard, alternative in key
    )


def unknown(
    expected: table.Table | None, text: str, fingerprint: typing.Hashable
) -> Value | None:
    """Return the unknown value of a field whose table is not looked at.

    :param expected: the table, None if there is none of that name.
    :param text: the field as the rule has it.
    :param fingerprint: of the scope of the field.
    :returns: None where the table is looked at.
    """
    if expected is None:
        return values.unknown(
            'a row of a table that is not there', text, fingerprint
        )
    if len(expected) > MOST_ROWS:
        return values.unknown('a row of a large table', text, fingerprint)
    return None


def _row_of_alternative(
    expected: table.Table,
    alternative: values.Alternative,
    machine: machines.SymbolicMachine,
) -> Value:
    """Return the row whose key is one alternative of a value.

    For a text or a number of the solver it is a value with an alternative for
    every row of the table.
    """
    if isinstance(alternative, values.Failed):
        # A machine whose key cannot be computed has no row.
        return values.NOTHING
    if isinstance(alternative, values.Const):
        return _row_of_known(expected, alternative.value)
    if isinstance(alternative, values.UnknownValue):
        return values.unknown(
            alternative.reason, expected.definition.name, alternative
        )
    if not isinstance(alternative, values.SolverTerm):
        # Lists and mappings are no keys.
        return values.NOTHING
    row = values.NOTHING
    for key in expected.keys:
        holds = _is_key(alternative, key, machine)
        if holds is None:
            return values.unknown('a row of a number', key, alternative)
        row = values.choose(holds, _row(expected, key), row)
    return row


def _row_of_known(expected: table.Table, key: typing.Any) -> Value:
    """Return the row of a key that is known."""
    if key is data_path.ABSENT or isinstance(key, list | dict):
        return values.NOTHING
    text = table_key.key_text(key)
    if text is None:
        return values.NOTHING
    return _row(expected, text)


def _is_key(
    alternative: values.SolverTerm, key: str, machine: machines.SymbolicMachine
) -> logic.Formula | None:
    """Return on which machines a value is a key, None where that is not known.

    The solver is told to try the key, as a text or a number.
    """
    term = alternative.term
    if alternative.is_text:
        machine.note(term, key)
        return term == logic.constant(key)
    if alternative.is_boolean:
        # A key is a truth value as JSON has it.
        if key == 'true':
            return term
        if key == 'false':
            return logic.negated(term)
        return logic.FALSE
    if not z3.is_int(term):
        # Which text a float has, the solver does not know. But many keys are
        # that of none, such as serial numbers.
        if texts.may_be_float(key):
            return None
        return logic.FALSE
    try:
        number = int(key)
    except ValueError:
        return logic.FALSE
    if str(number) != key:
        # A number as text never reads "007".
        return logic.FALSE
    machine.note_number(term, number)
    return term == number


def _row(expected: table.Table, key: str) -> Value:
    """Return the row of a key as a value of a proof, missing without one.

    A secret column is an unknown value: sensitive rules read the secret there,
    all others a mask. The other columns are known, and that there is a row:
    a secret column is never part of a key.
    """
    row = expected.row(key)
    if row is data_path.ABSENT:
        return values.NOTHING
    hidden = [
        column
        for column in expected.definition.secret
        if row.get(column) not in (None, '', [], {})
    ]
    if not hidden:
        return values.const(row)
    entries = {column: values.const(value) for column, value in row.items()}
    for column in hidden:
        entries[column] = values.unknown(
            'a secret column', expected.definition.name, key, column
        )
    return values.only(values.Mapping(None, entries))
