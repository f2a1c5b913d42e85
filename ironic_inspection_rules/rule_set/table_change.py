# SPDX-License-Identifier: Apache-2.0

"""Compares a table before and after a change, for the plan of the change.

A plan shows what a change of the rule set would do, before anything is stored.
It has a :class:`Step` for each table: whether the table is created, updated or
deleted, which members of its definition differ, and which rows are new,
changed or gone. A table may have very many rows, so a step counts them and
keeps only the first of each kind.

A definition may declare columns as secret. Their values are masked in plans.
"""

import dataclasses
import json
import typing

from ironic_inspection_rules.engine.language import path as data_path
from ironic_inspection_rules.engine.language import table
from ironic_inspection_rules.engine.language.secrecy import disclosure
from ironic_inspection_rules.i18n import _

CREATED = 'created'
UPDATED = 'updated'
DELETED = 'deleted'
UNCHANGED = 'unchanged'

_SIGNS = {CREATED: '+', UPDATED: '~', DELETED: '-'}

MOST_SHOWN = 10
"""Maximum number of rows of each kind that are shown."""

Pairs = typing.Iterable[typing.Sequence[typing.Any]]
"""Rows with their keys: ``[('SN1', {'rack': 'A1'}), …]``."""


@dataclasses.dataclass(frozen=True, slots=True)
class RowChange:
    """A row before and after a change; None if there is no such row."""

    key: str
    before: table.Row | None
    after: table.Row | None


@dataclasses.dataclass(slots=True)
class RowChanges:
    """All new rows, all changed rows, or all rows that are gone.

    ``count`` is their number, and ``first`` are the first :data:`MOST_SHOWN`.
    """

    count: int = 0
    first: list[RowChange] = dataclasses.field(default_factory=list)

    def add(self, change: RowChange) -> None:
        """Count a row, and keep it if it is one of the first."""
        self.count += 1
        if len(self.first) < MOST_SHOWN:
            self.first.append(change)


@dataclasses.dataclass(slots=True)
class TableDifference:
    """The differences between the rows of two tables."""

    new: RowChanges = dataclasses.field(default_factory=RowChanges)
    changed: RowChanges = dataclasses.field(default_factory=RowChanges)
    gone: RowChanges = dataclasses.field(default_factory=RowChanges)

    @property
    def counts(self) -> dict[str, int]:
        """The number of rows of each kind."""
        return {
            'new': self.new.count,
            'changed': self.changed.count,
            'gone': self.gone.count,
        }


def compare(before: Pairs, after: Pairs) -> TableDifference:
    """Compare the rows of two tables by their keys.

    A row is *new* if the old table does not have its key, *gone* if the new
    table does not have it, and *changed* if the rows of a key differ.

    :param before: the keys and rows of the old table.
    :param after: the keys and rows of the new table. A row that is the same in
        both tables may be left out of both.
    """
    difference = TableDifference()
    # Old rows, by key, that have not been found in the new table so far.
    old_rows: dict[str, table.Row] = {}
    for key, row in before:
        old_rows[key] = row
    for key, row in after:
        old_row = old_rows.pop(key, None)
        if old_row is None:
            difference.new.add(RowChange(key, before=None, after=row))
            continue
        # "==" considers 1, 1.0 and true as equal. is_same() tells them apart,
        # but is slow, so it is only called if "==" is true.
        is_same = old_row == row and data_path.is_same(old_row, row)
        if not is_same:
            difference.changed.add(RowChange(key, before=old_row, after=row))
    for key, row in old_rows.items():
        difference.gone.add(RowChange(key, before=row, after=None))
    return difference


@dataclasses.dataclass(frozen=True, slots=True)
class Step:
    """The part of a plan that concerns one table.

    ``before`` and ``after`` are the definitions of the table; None if it does
    not exist before or after the change. ``difference`` has the rows that are
    new, changed or gone. ``moved`` is whether the order of rows or columns
    changes.
    """

    name: str
    before: table.TableDefinition | None
    after: table.TableDefinition | None
    difference: TableDifference
    moved: bool = False

    @property
    def outcome(self) -> str:
        """What happens to the table: CREATED, UPDATED, DELETED or UNCHANGED.

        It is updated if its definition, a row, or the order of rows or columns
        changes.
        """
        if self.before is None:
            return CREATED
        if self.after is None:
            return DELETED
        has_row_changes = any(self.difference.counts.values())
        if self.fields or self.moved or has_row_changes:
            return UPDATED
        return UNCHANGED

    @property
    def fields(self) -> list[str]:
        """The members of the definition that differ, e.g. ``['expect']``.

        A table that is created or deleted has none.
        """
        if self.before is None or self.after is None:
            return []
        before = self.before.as_dict()
        after = self.after.as_dict()
        return [name for name in before if before[name] != after[name]]

    def as_dict(self) -> dict[str, typing.Any]:
        """Return the step as plain JSON data, with its secrets masked.

        For example::

            {
                'name': 'racks',
                'outcome': 'updated',
                'fields': ['expect'],  # members of the definition that differ
                'rows': {'new': 14, 'changed': 1, 'gone': 0},  # numbers
                # The first MOST_SHOWN rows of each kind.
                'new': [{'key': 'SN3', 'row': {'rack': 'B8'}}, …],
                'changed': [{'key': 'SN2', 'before': {…}, 'after': {…}}],
                'gone': [],
            }
        """
        # A column is masked if it is secret before or after the change.
        secret: set[str] = set()
        for definition in (self.before, self.after):
            if definition is not None:
                secret.update(definition.secret)
        difference = self.difference
        return {
            'name': self.name,
            'outcome': self.outcome,
            'fields': self.fields,
            'rows': difference.counts,
            'new': [
                _show_row(change.key, change.after, secret)
                for change in difference.new.first
            ],
            'changed': [
                _show_changed_row(change, secret)
                for change in difference.changed.first
            ],
            'gone': [
                _show_row(change.key, change.before, secret)
                for change in difference.gone.first
            ],
        }


def _show_row(
    key: str, row: table.Row | None, secret: typing.Collection[str]
) -> dict[str, typing.Any]:
    """Return a row that is new or gone, with its secrets masked."""
    return {'key': key, 'row': disclosure.mask_row(row or {}, secret)}


def _show_changed_row(
    change: RowChange, secret: typing.Collection[str]
) -> dict[str, typing.Any]:
    """Return a changed row with only the columns that differ, for a plan.

    For example, ``{'key': 'SN2', 'before': {'rack': 'A1'}, 'after': {'rack':
    'B7'}}``. A column that is added or removed differs too.

    :param secret: columns whose values are masked.
    """
    before = change.before or {}
    after = change.after or {}
    differing = []
    for column in {**before, **after}:
        is_in_both = column in before and column in after
        if not is_in_both or not data_path.is_same(
            before[column], after[column]
        ):
            differing.append(column)
    return {
        'key': change.key,
        'before': disclosure.mask_row(
            _select_columns(before, differing), secret
        ),
        'after': disclosure.mask_row(
            _select_columns(after, differing), secret
        ),
    }


def _select_columns(
    row: table.Row, names: typing.Collection[str]
) -> dict[str, typing.Any]:
    """Return the named columns of a row, in the order of the names.

    Names that the row does not have are skipped.
    """
    return {column: row[column] for column in names if column in row}


def with_kept_secrets(
    wanted: table.Table, stored: table.Table
) -> list[table.Row] | None:
    """Return the posted rows, completed with secret values of stored rows.

    An exported file lacks the secret columns. When it is posted again, its
    rows get these values back from the stored rows with the same key:
    ``{'rack': 'A1'}`` becomes ``{'rack': 'A1', 'password': 'x'}`` if
    ``password`` is secret in both tables. A column that a posted row has is
    not changed, so a client can remove a value by posting null.

    :param wanted: the table as it was posted.
    :param stored: the table that it replaces.
    :returns: all rows of the posted table, in order; None if no row gets a
        value back, so that the posted table can be used as it is.
    """
    secret_in_both = [
        column
        for column in wanted.definition.secret
        if column in stored.definition.secret
    ]
    if not secret_in_both:
        return None
    rows: list[table.Row] = []
    is_any_row_completed = False
    for key, row in wanted.pairs:
        missing = [column for column in secret_in_both if column not in row]
        if not missing:
            rows.append(row)
            continue
        stored_row = stored.row(key)
        if stored_row is data_path.ABSENT:
            # The key is new.
            rows.append(row)
            continue
        # The stored row may lack some of these columns too.
        stored_secrets = _select_columns(stored_row, missing)
        # The order of columns is stored too. With a secret at another place
        # than in the stored row, the row would look changed.
        columns_in_order = dict.fromkeys([*stored_row, *row])
        rows.append(
            _select_columns({**row, **stored_secrets}, columns_in_order)
        )
        if stored_secrets:
            is_any_row_completed = True
    if not is_any_row_completed:
        return None
    return rows


def plan_lines(
    steps: typing.Iterable[typing.Mapping[str, typing.Any]],
) -> typing.Iterator[str]:
    """Yield the plan of tables as the lines of a human-readable diff.

    For example::

        ~ table racks: 14 rows new, 1 changed, 1 gone; other expect
        -SN1: {"rack": "A1"}
        -SN2: {"rack": "A1"}
        +SN2: {"rack": "B7"}
        +SN3: {"rack": "B8"}
        …
         and 4 more rows

    An empty line ends each table. Tables that do not change are skipped.

    :param steps: a mapping for each table, as :meth:`Step.as_dict` returns it:
        ``{'name': 'racks', 'outcome': 'updated', 'fields': ['expect'], 'rows':
        {'new': 14, …}, 'new': […], 'changed': […], 'gone': […]}``. ``rows``
        has the numbers of all rows; the lists have the first of them.
    """
    for step in steps:
        if step['outcome'] == UNCHANGED:
            continue
        yield _title_line(step)
        for row_change in step['gone']:
            yield f'-{row_change["key"]}: {_to_json(row_change["row"])}'
        for row_change in step['changed']:
            yield f'-{row_change["key"]}: {_to_json(row_change["before"])}'
            yield f'+{row_change["key"]}: {_to_json(row_change["after"])}'
        for row_change in step['new']:
            yield f'+{row_change["key"]}: {_to_json(row_change["row"])}'
        left_out = 0
        for kind in ('new', 'changed', 'gone'):
            left_out += step['rows'][kind] - len(step[kind])
        if left_out:
            yield _(' and %d more rows') % left_out
        yield ''


def _title_line(step: typing.Mapping[str, typing.Any]) -> str:
    """Return the first line of a table in a plan.

    For example, ``~ table racks: 14 rows new, 1 changed, 1 gone; other
    expect``, where ``expect`` is a member of the definition that differs.

    :param step: see :func:`plan_lines`.
    """
    members = ''
    if step['fields']:
        members = _('; other %s') % ', '.join(step['fields'])
    return _(
        '%(sign)s table %(name)s: %(new)d rows new, %(changed)d '
        'changed, %(gone)d gone%(members)s'
    ) % {
        'sign': _SIGNS[step['outcome']],
        'name': step['name'],
        **step['rows'],
        'members': members,
    }


def _to_json(row: table.Row) -> str:
    """Return a row as JSON on one line, with any letters as they are."""
    return json.dumps(row, ensure_ascii=False)
