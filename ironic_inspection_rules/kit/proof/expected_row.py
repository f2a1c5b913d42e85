# SPDX-License-Identifier: Apache-2.0

"""Find the row of a table on all possible machines at once.

A rule reads the row of its machine by ``{tables.NAME | row}``. The table has a
template for the key, e.g. ``{inventory.system_vendor.serial_number}``. In a
proof the key is not known: it has *alternatives*, e.g. missing or a text
``serial`` that the solver chooses. The row then has alternatives too::

    serial == "A1" → the row of "A1"
    serial == "A2" → the row of "A2"
    otherwise      → missing
"""

import dataclasses
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
"""Maximum number of rows of a table, because every row costs formulas."""


def find_row(
    expected: table.Table,
    key: Value,
    machine: machines.SymbolicMachine,
    is_sensitive: bool,
) -> Value:
    """Find the row of a key; it is missing if the table has no such row.

    The key may be a text on one machine and missing on another. Every such
    alternative has its own row, or none.

    :param key: the value of the template ``of`` on all machines, e.g. the
        serial number.
    :param is_sensitive: whether a sensitive rule reads the row.
    """
    readable = _ReadableRows(expected, is_sensitive)
    return values.join(
        (guard, _find_row_of_alternative(readable, alternative, machine))
        for guard, alternative in key
    )


def unknown_row(
    expected: table.Table | None, written: str, fingerprint: typing.Hashable
) -> Value | None:
    """Return an unknown value for a field whose table cannot be used.

    The table is missing, or has too many rows for formulas.

    :param expected: the table, None if there is no table of that name.
    :param written: the field as the rule has it, e.g. ``tables.cpus | row``.
    :param fingerprint: a key of the data that the field reads. Equal fields
        of equal data have the same unknown value.
    :returns: None if the table can be used.
    """
    if expected is None:
        return values.unknown(
            'a row of a table that is not there', written, fingerprint
        )
    if len(expected) > MOST_ROWS:
        return values.unknown('a row of a large table', written, fingerprint)
    return None


@dataclasses.dataclass(frozen=True)
class _ReadableRows:
    """The rows of a table as a rule reads them.

    :ivar is_sensitive: whether the rule is sensitive. Only sensitive rules
        read the values of secret columns.
    """

    expected: table.Table
    is_sensitive: bool

    def row(self, key: str) -> Value:
        """Return the row of a key as a value; it is missing if there is none.

        A secret column is unknown, because sensitive rules read the secret,
        and all other rules read a mask.
        """
        row = self.expected.row(key)
        if row is data_path.ABSENT:
            return values.NOTHING
        definition = self.expected.definition
        # An empty cell of a secret column is not masked.
        masked_columns = [
            column
            for column in definition.secret
            if row.get(column) not in (None, '', [], {})
        ]
        if not masked_columns:
            return values.const(row)
        entries = {
            column: values.const(value) for column, value in row.items()
        }
        for column in masked_columns:
            entries[column] = values.unknown(
                'a secret column',
                definition.name,
                key,
                column,
                self.is_sensitive,
            )
        return values.only(values.Mapping(cell=None, entries=entries))


def _find_row_of_alternative(
    readable: _ReadableRows,
    alternative: values.Alternative,
    machine: machines.SymbolicMachine,
) -> Value:
    """Find the row of a table whose key is an alternative of a value.

    The cases are, in this order::

        an error, e.g. of a filter   → missing: the machine has no row
        a constant                   → its row, or missing
        an unknown value             → unknown
        a list or a mapping          → missing: it cannot be a key
        a text, a number or a truth
        value of the solver          → one alternative for every row, with the
                                       formula that the value is its key
        a number, if the formula
        is not known                 → unknown
    """
    if isinstance(alternative, values.Failed):
        # A machine whose key cannot be computed has no row.
        return values.NOTHING
    if isinstance(alternative, values.Const):
        return _find_row_of_constant(readable, alternative.value)
    if isinstance(alternative, values.UnknownValue):
        return values.unknown(
            alternative.reason,
            readable.expected.definition.name,
            alternative,
            readable.is_sensitive,
        )
    if not isinstance(alternative, values.SolverTerm):
        # A list or a mapping cannot be a key.
        return values.NOTHING
    row = values.NOTHING
    for key in readable.expected.keys:
        has_key = _where_key(alternative, key, machine)
        if has_key is None:
            return values.unknown(
                'a row of a number', key, alternative, readable.is_sensitive
            )
        row = values.choose(has_key, chosen=readable.row(key), otherwise=row)
    return row


def _find_row_of_constant(readable: _ReadableRows, key: typing.Any) -> Value:
    """Find the row of a known key, e.g. 8 for the row "8".

    It is missing if the value cannot be a key, e.g. a list, or if no row has
    the key.
    """
    if key is data_path.ABSENT or isinstance(key, list | dict):
        return values.NOTHING
    key_text = table_key.as_key_text(key)
    if key_text is None:
        return values.NOTHING
    return readable.row(key_text)


def _where_key(
    alternative: values.SolverTerm, key: str, machine: machines.SymbolicMachine
) -> logic.Formula | None:
    """Return the formula that a value is the key of a row.

    By the type of the value, it is::

        a text ``serial``, key "A1"    → serial == "A1"
        a truth value, key "true"      → the truth value
        a float, key "A1"              → false: no float has this text
        an integer ``count``, key "8"  → count == 8
        an integer, key "A1" or "08"   → false

    The key is also recorded as a text or an integer that the search should
    try.

    :returns: None if the formula is not known, e.g. for the key "0.1" and a
        float.
    """
    term = alternative.term
    if alternative.is_text:
        machine.note_text(term, key)
        return term == logic.text_term(key)
    if alternative.is_boolean:
        # A truth value has the key "true" or "false", as in JSON.
        if key == 'true':
            return term
        if key == 'false':
            return logic.negated(term)
        return logic.FALSE
    if not z3.is_int(term):
        # The solver cannot convert floats to texts. But many keys, e.g. serial
        # numbers, are not the text of any float.
        if texts.may_be_float(key):
            return None
        return logic.FALSE
    try:
        number = int(key)
    except ValueError:
        return logic.FALSE
    if str(number) != key:
        # The text of a number is never "007".
        return logic.FALSE
    machine.note_number(term, number)
    return term == number
