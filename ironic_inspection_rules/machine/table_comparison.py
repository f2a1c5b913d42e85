# SPDX-License-Identifier: Apache-2.0

"""Compares machines with the rows of a table.

A table of rules has a row for each machine, e.g. as it was ordered. Its member
``of`` gives the key of a machine, e.g. its serial number, and a machine is
compared with the row of this key. Its member ``expect`` maps columns to
templates: with ``{'cpus': '{inventory.cpu.count}'}``, the machine must have
the number of processors that the column ``cpus`` says.

Machines are compared one by one, and only their keys and differences are kept.
So the memory does not grow with the size of inventories. When all machines
are known, :func:`find_states` finds rows without a machine and rows with
several.
"""

from collections.abc import Iterable, Iterator
import dataclasses
import typing

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.language import budget
from ironic_inspection_rules.engine.language import path as data_path
from ironic_inspection_rules.engine.language import rendering
from ironic_inspection_rules.engine.language import table
from ironic_inspection_rules.machine import part_identity
from ironic_inspection_rules.plugins.conditions import comparison

MISSING = 'missing'
UNEXPECTED = 'unexpected'
WRONG = 'wrong'
TWICE = 'twice'
RIGHT = 'right'
STATES = (MISSING, UNEXPECTED, WRONG, TWICE, RIGHT)

_EMPTY_VALUES: tuple[typing.Any, ...] = (None, '', [], {})
"""Values of cells that say nothing."""


@dataclasses.dataclass(frozen=True, slots=True)
class ColumnDifference:
    """A value that a row expects of a machine, and the machine's value.

    ``found`` is None if the machine has no value.
    """

    column: str
    expected: typing.Any
    found: typing.Any

    def as_dict(self) -> dict[str, typing.Any]:
        """Return the difference in the form that the API returns."""
        return {
            'column': self.column,
            'expected': self.expected,
            'found': self.found,
        }


@dataclasses.dataclass(frozen=True, slots=True)
class ComparedMachine:
    """A machine that was compared with its row.

    ``machine`` is its name. ``key`` is None if the machine has nothing that
    identifies it. ``differences`` are the columns in which it differs from the
    row. ``group`` is its value for the column that groups machines, e.g. its
    rack.
    """

    machine: str
    key: str | None
    differences: tuple[ColumnDifference, ...] = ()
    group: str | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class TableFinding:
    """A machine or a row, and its state, which is one of ``STATES``.

    ``key`` is the key of the row, or None for a machine without a key.
    ``machine`` is None for a row without a machine. ``TWICE`` is the state of
    several machines with the same key, or without any key. ``group`` is the
    value of the column that groups them, e.g. the rack.
    """

    key: str | None
    machine: str | None
    state: str
    differences: tuple[ColumnDifference, ...] = ()
    group: str | None = None

    def as_dict(self) -> dict[str, typing.Any]:
        """Return the finding in the form that the API returns."""
        differences = [difference.as_dict() for difference in self.differences]
        return {
            'key': self.key,
            'node': self.machine,
            'state': self.state,
            'differences': differences,
        }


def compare(
    expected: table.Table,
    machine: str,
    view: budget.View,
    by: str | None = None,
) -> ComparedMachine:
    """Compare the data of a machine with its row in the table.

    - The result has no key if the machine has none, or has a placeholder of
      its vendor instead, e.g. ``Default string``. A key such as ``0000`` is a
      placeholder unless a row has it.
    - It has no differences if no row has the key.
    - Otherwise it has the columns in which the machine differs from its row.
      The values of secret columns are masked.

    :param machine: the name of the machine.
    :param view: the inspection data of the machine, from which templates are
        rendered.
    :param by: the column that groups machines, or None.
    :raises: :class:`.exceptions.BudgetExceeded`
    """
    key = expected.key_of_machine(view)
    group = _group_of_machine(expected, view, by)
    if key is None or part_identity.is_placeholder(key):
        # Many machines have the same placeholder, so it cannot be a key.
        return ComparedMachine(machine, None, group=group)
    # Read the row with its secret columns. They are compared too, and only
    # masked in the differences.
    row = expected.open.row(key)
    if row is data_path.ABSENT:
        # A key such as "0000" or "7", which repeats one character, is a
        # placeholder if no row has it. reported_text() returns None for it.
        if part_identity.reported_text(key) is None:
            return ComparedMachine(machine, None, group=group)
        return ComparedMachine(machine, key, group=group)
    differences = tuple(_compare_columns(expected, key, row, view))
    return ComparedMachine(
        machine=machine, key=key, differences=differences, group=group
    )


def _group_of_machine(
    expected: table.Table, view: budget.View, by: str | None
) -> str | None:
    """Return the group of a machine, e.g. its rack; None if it is unknown.

    It is the machine's own value for the column, because the machine may have
    no row.

    :param view: the inspection data of the machine.
    :param by: the column that groups machines, or None.
    """
    if by is None or by not in expected.expect:
        return None
    return group_text(_render_for_machine(expected.expect[by], view))


def _compare_columns(
    expected: table.Table, key: str, row: table.Row, view: budget.View
) -> Iterator[ColumnDifference]:
    """Yield the columns in which a machine differs from its row.

    For example, if the row has 16 in the column ``cpus`` and the machine has
    12 processors, yield ``ColumnDifference('cpus', 16, 12)``.

    :param key: the key of the row, e.g. a serial number.
    :param row: the row for the key, with its secret columns.
    :param view: the inspection data of the machine.
    """
    # The same row with masked secret columns, as users may see it.
    masked_row = expected.masked.row(key)
    secret = expected.definition.secret
    for column, template in expected.expect.items():
        wanted = row.get(column)
        # An empty cell expects nothing.
        if wanted in _EMPTY_VALUES:
            continue
        actual = _render_for_machine(template, view)
        if comparison.equal(wanted, actual):
            continue
        # The machine's value may be a secret too, so mask it. An empty value
        # may be shown.
        if column in secret and actual not in _EMPTY_VALUES:
            actual = masked_row[column]
        yield ColumnDifference(
            column=column, expected=masked_row[column], found=actual
        )


def find_states(
    expected: table.Table,
    machines: Iterable[ComparedMachine],
    by: str | None = None,
) -> Iterator[TableFinding]:
    """Yield rows and machines with their states, e.g. ``missing``.

    First come the rows in order, each with its machines:

    - a row without a machine is ``missing``;
    - several machines of one row are ``twice``;
    - a single machine of a row is ``wrong`` if it differs from the row,
      otherwise ``right``.

    Then come the machines without a row, grouped by their key:

    - several machines with the same key are ``twice``, and so are several
      machines without a key;
    - a single machine is ``unexpected``.

    :param machines: all machines, compared, each once.
    :param by: the column that groups rows, or None.
    """
    machines_by_key: dict[str | None, list[ComparedMachine]] = {}
    for machine in machines:
        machines_by_key.setdefault(machine.key, []).append(machine)
    for key, row in expected.pairs:
        group = None
        if by is not None:
            group = group_text(row.get(by))
        machines_of_row = machines_by_key.pop(key, [])
        if not machines_of_row:
            yield TableFinding(
                key=key, machine=None, state=MISSING, group=group
            )
        for machine in machines_of_row:
            if len(machines_of_row) > 1:
                state = TWICE
            elif machine.differences:
                state = WRONG
            else:
                state = RIGHT
            yield TableFinding(
                key=key,
                machine=machine.machine,
                state=state,
                differences=machine.differences,
                group=group,
            )
    # Only machines without a row are left.
    for machines_of_key in machines_by_key.values():
        state = UNEXPECTED
        if len(machines_of_key) > 1:
            state = TWICE
        for machine in machines_of_key:
            yield TableFinding(
                key=machine.key,
                machine=machine.machine,
                state=state,
                group=machine.group,
            )


def group_text(value: typing.Any) -> str | None:
    """Return the name of a group, or None if the value cannot be a name.

    :param value: the value of the column that groups machines, e.g. the rack
        ``7``.
    """
    if value in _EMPTY_VALUES or isinstance(value, dict | list):
        return None
    return str(value)


def _render_for_machine(template: typing.Any, view: budget.View) -> typing.Any:
    """Return the value of a template for a machine.

    For example, the template ``{inventory.cpu.count}`` gives 16.

    :param view: the inspection data of the machine.
    :returns: None if the value is missing or cannot be computed.
    :raises: :class:`.exceptions.BudgetExceeded` if rendering takes too many
        operations or too long.
    """
    try:
        actual = rendering.render_value(template, view)
    except exceptions.BudgetExceeded:
        raise
    except exceptions.OperationError:
        return None
    if rendering.is_missing(actual):
        return None
    return actual
