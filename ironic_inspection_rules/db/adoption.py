# SPDX-License-Identifier: Apache-2.0

"""Reads Ironic's own rules from its database, for their *adoption*.

Operators can move the rules of stock Ironic, or of ironic-inspector, to this
project. An adopted rule of Ironic is *set aside*: it stays in Ironic's table,
but in a phase that Ironic never runs, e.g. ``was:main`` instead of ``main``.
So it does not run twice, and the adoption can be undone.
"""

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
    *(
        sa.column(name)
        for name in ('id', 'uuid', 'priority', 'description', 'scope', 'phase')
    ),
    sa.column('sensitive', sa.Boolean),
    sa.column('conditions', db_types.JsonEncodedList),
    sa.column('actions', db_types.JsonEncodedList),
)

_SET_ASIDE = 'was:'
"""Prefix of the phase of a rule that was set aside: ``was:main``.

No release of Ironic runs rules of such a phase.
"""


@transaction.retried_on_lock_conflict
def count_ironic() -> int:
    """Return the number of rules in Ironic's own table that Ironic runs.

    Only their phases are read, because a service must start even if a rule of
    Ironic cannot be decoded.
    """
    with transaction.reader() as session:
        if not sa.inspect(session.connection()).has_table(_IRONIC.name):
            return 0
        phases = session.execute(sa.select(_IRONIC.c.phase)).scalars()
        return sum(not _is_set_aside(phase) for phase in phases)


@transaction.retried_on_lock_conflict
def read_ironic(set_aside: bool = False) -> list[Row]:
    """Read the rules of Ironic's own table, in creation order.

    :param set_aside: whether to read the rules that were set aside, instead of
        the rules that Ironic still runs.
    :returns: the columns of every rule. The phase is the phase that the rule
        had before it was set aside. The list is empty if this release of
        Ironic has no such table.
    :raises: Invalid if a column cannot be decoded.
    """
    with transaction.reader() as session:
        inspector = sa.inspect(session.connection())
        if not inspector.has_table(_IRONIC.name):
            return []
        return _read_ironic(session, set_aside)


def _read_ironic(session: Any, set_aside: bool = False) -> list[Row]:
    """Read the rules of Ironic's table in an open transaction.

    :param set_aside: whether to read the rules that were set aside, instead of
        the rules that Ironic still runs.
    :returns: the columns of every rule. The phase ``was:main`` of a rule that
        was set aside becomes ``main``, and ``was:`` becomes None.
    :raises: Invalid if a column cannot be decoded.
    """
    query = sa.select(_IRONIC).order_by(_IRONIC.c.id)
    try:
        all_rows = session.execute(query).mappings().all()
    except (ValueError, RecursionError) as exc:
        # Somebody has written text to the database that is no JSON, or is
        # nested too deeply.
        raise exceptions.Invalid(
            _("A rule in Ironic's own table cannot be read: %s") % exc
        ) from exc
    rows = []
    for row in all_rows:
        if _is_set_aside(row['phase']) == set_aside:
            # The column may be null.
            stored_phase = row['phase'] or ''
            phase = stored_phase.removeprefix(_SET_ASIDE) or None
            rows.append({**row, 'phase': phase})
    return rows


def _is_set_aside(stored_phase: str | None) -> bool:
    """Return whether a rule of Ironic with this phase was set aside."""
    return (stored_phase or '').startswith(_SET_ASIDE)


@transaction.retried_on_lock_conflict
def store(
    values: Sequence[Mapping[str, Any]],
    moved: Sequence[Row] = (),
    present: list[Row] | None = None,
    origin: rule_set.ChangeOrigin = rule_set.UNKNOWN,
) -> None:
    """Store adopted rules and set their originals aside, in one transaction.

    :func:`restore` undoes this.

    :param values: column values of the adopted rules, see
        :func:`.rule.create_rule`.
    :param moved: the originals in Ironic's table, which are set aside; none
        for rules of ironic-inspector.
    :param present: the rows that :func:`read_ironic` returned earlier, to
        check that nobody has changed them since; None to skip the check.
    :param origin: who makes the change and why, for the revision.
    :raises: Conflict if Ironic's table has changed since it was read.
    :raises: RuleAlreadyExists if a UUID is taken.
    :raises: Invalid if the database cannot store a value.
    """
    with rule_set.change(origin) as change:
        if present is not None and _read_ironic(change.session) != present:
            raise exceptions.Conflict(
                _(
                    "Ironic's inspection rules were changed meanwhile; "
                    'nothing was moved'
                )
            )
        for row in moved:
            phase = row['phase'] or ''
            _write_phase(change.session, row, _SET_ASIDE + phase)
        change.create(values)


@transaction.retried_on_lock_conflict
def restore(
    rows: Sequence[Row],
    uuids: Sequence[str],
    origin: rule_set.ChangeOrigin = rule_set.UNKNOWN,
) -> None:
    """Undo an adoption: let Ironic run its rules again, and remove ours.

    Both changes are made in one transaction.

    :param rows: rows of Ironic's table that were set aside, with their
        original phases, as :func:`read_ironic` returns them.
    :param uuids: UUIDs of the adopted rules, which are removed.
    :param origin: who makes the change and why, for the revision.
    """
    with rule_set.change(origin) as change:
        for row in rows:
            _write_phase(change.session, row, row['phase'])
        change.delete(uuids)


def _write_phase(session: Any, row: Row, phase: str | None) -> None:
    """Change the phase of a rule in Ironic's table."""
    session.execute(
        sa.update(_IRONIC).where(_IRONIC.c.id == row['id']).values(phase=phase)
    )


def read_inspector(url: str) -> list[Row]:
    """Read all rules from the database of an ironic-inspector, oldest first.

    Databases of all releases of ironic-inspector can be read.

    :param url: the SQLAlchemy URL of the database.
    :returns: rules with ``uuid``, ``description``, ``scope``, ``conditions``
        and ``actions``, in the format of ironic-inspector's API.
    :raises: Invalid if the driver of that database is not installed.
    :raises: sqlalchemy.exc.SQLAlchemyError if the database cannot be read.
    """
    try:
        engine = sa.create_engine(url)
    except ImportError as exc:
        raise exceptions.Invalid(str(exc)) from exc
    try:
        with engine.connect() as connection:
            return _read_rules_of_inspector(connection)
    finally:
        engine.dispose()


def _read_rules_of_inspector(connection: sa.Connection) -> list[Row]:
    """Read all rules of an ironic-inspector, oldest first.

    :param connection: a connection to the database of ironic-inspector.
    :returns: rules with ``uuid``, ``description``, ``scope``, ``conditions``
        and ``actions``, in the format of ironic-inspector's API.
    """
    tables = sa.MetaData()
    # Releases of ironic-inspector differ in the columns of these tables, so
    # the columns are read from the database.
    rule_table = sa.Table('rules', tables, autoload_with=connection)
    conditions = sa.Table('rule_conditions', tables, autoload_with=connection)
    actions = sa.Table('rule_actions', tables, autoload_with=connection)
    # Early releases have no column for the scope.
    scope = getattr(rule_table.c, 'scope', sa.null().label('scope'))
    query = sa.select(rule_table.c.uuid, rule_table.c.description, scope)
    query = query.order_by(rule_table.c.created_at)
    # All rows are read now, because other statements are executed on the same
    # connection below.
    rows = connection.execute(query).mappings().all()
    rules = []
    for row in rows:
        rule = dict(row)
        rule['conditions'] = _read_operations(
            connection,
            conditions,
            row['uuid'],
            ('op', 'field', 'multiple', 'invert'),
        )
        rule['actions'] = _read_operations(
            connection, actions, row['uuid'], ('action',)
        )
        rules.append(rule)
    return rules


def _read_operations(
    connection: sa.Connection,
    table: sa.Table,
    rule_uuid: str,
    column_names: Iterable[str],
) -> list[Row]:
    """Read the conditions or the actions of a rule of ironic-inspector.

    For an action, the column ``action`` has its name, and the column
    ``params`` its parameters as JSON. A row with ``set-attribute`` and
    ``{"path": "/name", "value": "a"}`` becomes ``{'action': 'set-attribute',
    'path': '/name', 'value': 'a'}``.

    :param table: the table of conditions or of actions.
    :param column_names: the columns to copy, in addition to ``params``.
    :returns: the conditions or actions in their order.
    """
    query = sa.select(table).where(table.c.rule == rule_uuid)
    query = query.order_by(table.c.id)
    operations = []
    for row in connection.execute(query).mappings():
        operation = json.loads(row['params'] or '{}')
        for name in column_names:
            operation[name] = row[name]
        operations.append(operation)
    return operations
