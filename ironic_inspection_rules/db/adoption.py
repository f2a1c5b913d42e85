# SPDX-License-Identifier: Apache-2.0

"""Rules that other tables hold: Ironic's own, and ironic-inspector's."""

from collections.abc import Iterable, Mapping, Sequence
import json
from typing import Any

from oslo_db.sqlalchemy import types as db_types
import sqlalchemy as sa

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.db import rule_set
from ironic_inspection_rules.db import transaction
from ironic_inspection_rules.i18n import _

Row = dict[str, Any]

_IRONIC = sa.table(
    'inspection_rules',
    *(sa.column(name) for name in ('id', 'uuid', 'priority', 'description',
                                   'scope', 'phase')),
    sa.column('sensitive', sa.Boolean),
    sa.column('conditions', db_types.JsonEncodedList),
    sa.column('actions', db_types.JsonEncodedList))

_ASIDE = 'was:'
"""How the phase of a rule begins that was taken over: no Ironic runs it."""


@transaction.retried
def read_ironic(set_aside: bool = False) -> list[Row]:
    """Read the rules of Ironic's own table, in creation order.

    :param set_aside: those that were taken over instead of the others.
    :returns: the columns that describe a rule, as they were, and ``id``; none
        where Ironic has no such table.
    """
    with transaction.reader() as session:
        if not sa.inspect(session.connection()).has_table(_IRONIC.name):
            return []
        return _read_ironic(session, set_aside)


def _read_ironic(session: Any, set_aside: bool = False) -> list[Row]:
    found = session.execute(sa.select(_IRONIC).order_by(_IRONIC.c.id))
    rows = [dict(row) for row in found.mappings()]
    return [{**row, 'phase': (row['phase'] or '').removeprefix(_ASIDE) or None}
            for row in rows
            if set_aside is (row['phase'] or '').startswith(_ASIDE)]


@transaction.retried
def store(values: Sequence[Mapping[str, Any]], moved: Sequence[Row] = (),
          present: list[Row] | None = None,
          origin: rule_set.Origin = rule_set.UNKNOWN) -> None:
    """Store rules, all or none.

    :param values: column values of each, see :func:`.rule.create_rule`.
    :param moved: their rows in Ironic's table. They stay there, in a phase
        that no Ironic runs, see :func:`restore`.
    :param present: all rows of Ironic's table when they were read.
    :raises: Conflict if Ironic's table has changed since.
    :raises: RuleAlreadyExists if a UUID is taken.
    :raises: Invalid if the database cannot store a value.
    """
    with rule_set.change(origin) as change:
        if present is not None and _read_ironic(change.session) != present:
            raise exceptions.Conflict(
                _("Ironic's inspection rules were changed meanwhile; "
                  'nothing was moved'))
        for row in moved:
            _write_phase(change.session, row, f'{_ASIDE}{row["phase"] or ""}')
        change.create(values)


@transaction.retried
def restore(rows: Sequence[Row], uuids: Sequence[str],
            origin: rule_set.Origin = rule_set.UNKNOWN) -> None:
    """Give rules back to Ironic that were taken over.

    :param rows: of Ironic's table, with the phases that they had.
    :param uuids: of the rules to remove here.
    """
    with rule_set.change(origin) as change:
        for row in rows:
            _write_phase(change.session, row, row['phase'])
        change.delete(uuids)


def _write_phase(session: Any, row: Row, phase: str | None) -> None:
    session.execute(sa.update(_IRONIC).where(
        _IRONIC.c.id == row['id']).values(phase=phase))


def read_inspector(url: str) -> list[Row]:
    """Read the rules of a database of ironic-inspector, in creation order.

    :returns: rules as its API gives them.
    :raises: Invalid if the driver of that database is not installed.
    :raises: sqlalchemy.exc.SQLAlchemyError if it cannot be read.
    """
    try:
        engine = sa.create_engine(url)
    except ImportError as exc:
        raise exceptions.Invalid(str(exc)) from exc
    try:
        with engine.connect() as connection:
            tables = sa.MetaData()
            rules, conditions, actions = (
                sa.Table(name, tables, autoload_with=connection)
                for name in ('rules', 'rule_conditions', 'rule_actions'))
            # Not a column since the beginning.
            scope = getattr(rules.c, 'scope', sa.null().label('scope'))
            found = connection.execute(
                sa.select(rules.c.uuid, rules.c.description, scope)
                .order_by(rules.c.created_at))
            return [{
                **row,
                'conditions': _read_parts(
                    connection, conditions, row['uuid'],
                    ('op', 'field', 'multiple', 'invert')),
                'actions': _read_parts(connection, actions, row['uuid'],
                                       ('action',)),
            } for row in found.mappings()]
    finally:
        engine.dispose()


def _read_parts(connection: sa.Connection, table: sa.Table, uuid: str,
                names: Iterable[str]) -> list[Row]:
    found = connection.execute(sa.select(table).where(
        table.c.rule == uuid).order_by(table.c.id))
    return [{**json.loads(row['params'] or '{}'),
             **{name: row[name] for name in names}}
            for row in found.mappings()]
