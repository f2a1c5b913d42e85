# SPDX-License-Identifier: Apache-2.0

"""Tables of a rule set: rows by key or of a machine, and secret columns.

A table is built once, checked as a whole, and shared by all threads of a
process, because nothing in it changes. The time of a look-up does not depend
on the number of rows.
"""

import collections.abc
import dataclasses
import typing

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.language import budget
from ironic_inspection_rules.engine.language import interpolation
from ironic_inspection_rules.engine.language import path as data_path
from ironic_inspection_rules.engine.language import table_key
from ironic_inspection_rules.engine.language import template
from ironic_inspection_rules.engine.language.secrecy import disclosure

Row = typing.Mapping[str, typing.Any]
"""The values of a row by column: ``{'rack': 'r1', 'unit': 7}``."""

_LIMITS_OF_KEY = budget.Limits(time=1.0, operations=10_000)
"""The limits for computing the key of a mapping that may be a row."""


@dataclasses.dataclass(frozen=True, slots=True)
class TableDefinition:
    """The definition of a table, without its rows.

    ``key`` determines the key of a row. It is the name of a column, or a text
    with columns: ``{rack}-{unit}``. ``of`` is a template that computes the key
    of a machine from its data: ``{inventory.system_vendor.serial_number}``. It
    is None for a table in which rules only look up keys that they have.
    ``types`` are the types of columns, e.g. ``{'cpus': 'integer'}``, and
    ``secret`` are the columns that only sensitive rules may read. ``expect``
    has, by column, a template for the data of the machine that should equal
    the column: ``{'cpus': '{inventory.cpu.count}'}``.
    """

    name: str
    key: str
    of: str | None = None
    types: typing.Mapping[str, str] = dataclasses.field(default_factory=dict)
    secret: tuple[str, ...] = ()
    expect: typing.Mapping[str, str] = dataclasses.field(default_factory=dict)

    def as_dict(self) -> dict[str, typing.Any]:
        """Return the JSON form, without name and rows."""
        return {
            'key': self.key,
            'of': self.of,
            'types': dict(self.types),
            'secret': list(self.secret),
            'expect': dict(self.expect),
        }


class Table:
    """A table whose definition and rows have been checked.

    :param definition: the definition of the table.
    :param rows_by_key: the rows by key, in order.
    :param columns: the names of all columns, in the order of their first
        appearance.
    :param masked: whether the values of secret columns are hidden.
    """

    __slots__ = (
        '_machine_key',
        '_masked',
        '_row_key',
        '_rows_by_key',
        '_secret',
        'columns',
        'definition',
        'expect',
    )

    def __init__(
        self,
        definition: TableDefinition,
        rows_by_key: typing.Mapping[str, Row],
        columns: typing.Sequence[str],
        masked: bool = False,
    ) -> None:
        """Compile the templates of a table.

        The definition and the rows are not checked here, see
        :mod:`.table_form`.
        """
        self.definition = definition
        self.columns = tuple(columns)
        # For each column, a template that reads the machine. For example, the
        # column "cpus" is compared with the value of {inventory.cpu.count}.
        self.expect: typing.Mapping[str, typing.Any] = {
            column: template.compile_value(text)
            for column, text in definition.expect.items()
        }
        self._rows_by_key = rows_by_key
        self._masked = masked
        self._secret = frozenset(definition.secret)
        # Computes the key of a row, e.g. "r1-7" if the key of the table is
        # "{rack}-{unit}".
        self._row_key = table_key.compile_row_key(
            definition.key, definition.secret
        )
        # Computes the key of a machine's row from the data of the machine.
        # None if the rows of the table do not belong to machines.
        self._machine_key: table_key.KeyTemplate | None = None
        if definition.of is not None:
            self._machine_key = table_key.compile_machine_key(definition.of)

    def __repr__(self) -> str:
        # Reasons and errors show this text, and must never show the rows.
        return f'<table {self.definition.name}>'

    def __reduce__(self) -> tuple[typing.Any, ...]:
        # Build the templates again in other processes, which try rules.
        return Table, (
            self.definition,
            dict(self._rows_by_key),
            self.columns,
            self._masked,
        )

    def __len__(self) -> int:
        return len(self._rows_by_key)

    @property
    def is_masked(self) -> bool:
        """Whether secret columns are hidden."""
        return self._masked

    @property
    def keys(self) -> collections.abc.KeysView[str]:
        """The keys of the rows, in order."""
        return self._rows_by_key.keys()

    @property
    def pairs(self) -> collections.abc.ItemsView[str, Row]:
        """Pairs of key and row with all columns, in order."""
        return self._rows_by_key.items()

    @property
    def rows(self) -> collections.abc.ValuesView[Row]:
        """The rows with all columns, in order."""
        return self._rows_by_key.values()

    @property
    def has_of(self) -> bool:
        """Whether the table can find the row of a machine."""
        return self._machine_key is not None

    @property
    def known_columns(self) -> frozenset[str]:
        """The columns of the rows, and the secret columns.

        Secret columns are included because the rows of an export lack them.
        """
        return self._secret.union(self.columns)

    @property
    def open(self) -> 'Table':
        """The table with its secret columns shown."""
        if not self._masked:
            return self
        return Table(self.definition, self._rows_by_key, self.columns)

    @property
    def masked(self) -> 'Table':
        """The table with its secret columns hidden.

        Rules that are not sensitive see this form.
        """
        if self._masked or not self._secret:
            return self
        return Table(
            self.definition, self._rows_by_key, self.columns, masked=True
        )

    def row(self, key: str) -> typing.Any:
        """Return the row for a key, or :data:`.path.ABSENT`.

        In a masked table, secret columns of the row read ``******``.
        """
        row = self._rows_by_key.get(key)
        if row is None:
            return data_path.ABSENT
        if self._masked:
            return disclosure.mask_row(row, self._secret)
        return row

    def find_key_of_row(self, value: typing.Any) -> str | None:
        """Return the key of the row that equals a mapping, or None.

        A reason shows the key instead of the whole row.

        :param value: any mapping, e.g. from the data of a machine.
        """
        # Compute the key that the mapping would have as a row. This needs a
        # limit, because a machine may send a mapping whose key is slow to
        # compute.
        allowance = budget.Budget(_LIMITS_OF_KEY)
        view = budget.View({interpolation.ITEM: value}, allowance)
        try:
            key = self._row_key.compute(view)
        except exceptions.OperationError:
            return None
        if key is None or self.row(key) != value:
            return None
        return key

    def key_of_machine(self, roots: budget.View) -> str | None:
        """Return the key of the row that a machine should have.

        The template ``of`` of the definition computes it from the data of the
        machine.

        :param roots: the data of the machine by root name.
        :returns: None if the table has no ``of``, if a field in it is missing
            or null, if the key is empty, or if it cannot be computed.
        :raises: :class:`.exceptions.BudgetExceeded`
        """
        if self._machine_key is None:
            return None
        try:
            return self._machine_key.compute(roots)
        except exceptions.BudgetExceeded:
            # End the phase instead of continuing as if there was no row.
            raise
        except exceptions.OperationError:
            # The machine has e.g. a list instead of a serial number.
            return None


Tables = typing.Mapping[str, Table]
"""The tables of a rule set by name."""


def without_secret_columns(
    row: Row, secret: typing.Collection[str]
) -> dict[str, typing.Any]:
    """Return a row without its secret columns."""
    return {
        column: value for column, value in row.items() if column not in secret
    }


def find_row_by_key(
    table: Table, key: typing.Any, default: typing.Any
) -> typing.Any:
    """Return the row of a table for a key, or a default.

    :param key: any value of a rule. The number 7 is the key ``7``. A missing,
        null or empty value has no row.
    :raises: :class:`.exceptions.OperationError` for a list or a mapping.
    """
    text = table_key.as_key_text(key)
    if text is None:
        return default
    row = table.row(text)
    if row is data_path.ABSENT:
        return default
    return row


def name_of_row(roots: budget.View, value: typing.Any) -> str | None:
    """Return the text that stands for a row in reasons.

    For example, it is ``<row 'a1' of racks>`` for the row with the key ``a1``.
    If several tables have an equal row, the text names all of them.

    :param roots: the data that a rule sees, by root name.
    :param value: any mapping.
    :returns: None if the mapping is not a row of the tables.
    """
    tables: Tables = roots.get(interpolation.TABLES) or {}
    places = []
    for name, table in sorted(tables.items()):
        key = table.find_key_of_row(value)
        if key is not None:
            places.append(f'{key!r} of {name}')
    if not places:
        return None
    return f'<row {" or ".join(places)}>'
