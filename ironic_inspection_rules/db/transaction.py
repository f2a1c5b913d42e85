# SPDX-License-Identifier: Apache-2.0

"""Transactions that are repeated after a conflict."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
import contextlib
import threading
from typing import Any

from oslo_db import api as oslo_db_api
from oslo_db.sqlalchemy import enginefacade
import sqlalchemy as sa
from sqlalchemy import orm
from sqlalchemy.dialects import mysql
from sqlalchemy.dialects import postgresql
from sqlalchemy.dialects import sqlite

from ironic_inspection_rules.db import patience

# oslo.db keeps the transaction of a thread here: a transaction that is opened
# inside another one becomes part of it, and both are committed together.
_CONTEXT = threading.local()


def reader() -> contextlib.AbstractContextManager[orm.Session]:
    """Open a transaction that only reads, through Ironic's engine."""
    return enginefacade.reader.using(_CONTEXT)


def writer() -> contextlib.AbstractContextManager[orm.Session]:
    """Open a transaction, through Ironic's engine."""
    return enginefacade.writer.using(_CONTEXT)


@contextlib.contextmanager
def writer_without_gaps() -> Iterator[orm.Session]:
    """Open a transaction that locks only the rows that its statements match.

    By default, MySQL also locks the gaps between the rows of a range, and rows
    that it has read but that do not match. Not all transactions use this,
    because setting another isolation level takes two more statements.
    """
    with writer() as session:
        # SQLite has no such level, and locks the whole database.
        if session.get_bind().dialect.name != 'sqlite':
            session.connection(
                execution_options={'isolation_level': 'READ COMMITTED'}
            )
        yield session


def writer_without_session() -> contextlib.AbstractContextManager[
    sa.Connection
]:
    """Open a transaction without a session, which takes less time.

    It is never part of another transaction.
    """
    # Let the engine open it, because oslo.db does not return a connection to
    # the pool if its transaction cannot begin.
    return enginefacade.writer.get_engine().begin()


def retried_on_lock_conflict(
    function: Callable[..., Any],
) -> Callable[..., Any]:
    """Decorate a function to run its transaction again after a lock conflict.

    A lock conflict is a deadlock, a lock that MySQL has waited for too long,
    or, in SQLite, a database that another process has locked. After any other
    error, e.g. a lost connection, the function is not called again.

    :param function: opens the transaction itself. It must not change anything
        outside of it, because it may be called several times.
    """
    return oslo_db_api.wrap_db_retry(
        max_retries=10,
        retry_interval=0.05,
        max_retry_interval=1,
        jitter=True,
        retry_on_deadlock=True,
        exception_checker=_is_locked,
    )(function)


def _is_locked(error: Exception) -> bool:
    """Return whether another process has locked an SQLite database."""
    return 'database is locked' in str(error)


@retried_on_lock_conflict
def read(query: Any) -> list[Any]:
    """Read the first column of rows, or the objects that the rows are."""
    with reader() as session:
        return list(session.execute(query).scalars())


@retried_on_lock_conflict
def read_rows(query: Any) -> list[dict[str, Any]]:
    """Read rows as mappings from column names to values.

    This uses no session, because a query takes less time without one.
    """
    # Use the writer's engine, as oslo.db does for reader(), because the engine
    # of readers may use a replica that lags behind, see
    # [database]slave_connection.
    engine = enginefacade.writer.get_engine()
    with engine.connect() as connection:
        result = connection.execute(query)
        # SQLAlchemy can also make mappings of rows, but takes twice as long.
        names = list(result.keys())
        return [dict(zip(names, row, strict=True)) for row in result]


def limit_waits(engine: sa.Engine, seconds: float) -> None:
    """Limit how long this process and the database wait for each other.

    PostgreSQL and MariaDB then end an idle transaction, so that a process that
    hangs in a transaction loses its locks. A missing answer of the database
    becomes an error in this process. MySQL has no limit for idle transactions.
    The engine opens its connections again, so that all of them have the
    limits. From now on, :func:`.patience.short` has an effect on the engine.

    :param engine: the engine; it is not changed if it uses SQLite or already
        has limits.
    :param seconds: how long a transaction may be idle. An answer may take
        twice as long, because a statement may wait for the lock of such a
        transaction.
    """
    family = engine.dialect.name
    if family == 'sqlite':
        return
    # In an all-in-one Ironic, the queue and the power-on of the conductor both
    # call this for the same engine.
    if getattr(engine, _HAS_LIMITS, False):
        return
    setattr(engine, _HAS_LIMITS, True)
    timeouts = _timeouts_of_driver(engine.dialect.driver, seconds)

    def add_timeouts(
        dialect: Any, record: Any, args: Any, options: dict[str, Any]
    ) -> None:
        # Keep an option that an operator has set in the URL of the database.
        for name, value in timeouts.items():
            options.setdefault(name, value)

    def end_idle_transactions(connection: Any, record: Any) -> None:
        _limit_idle_transactions(connection, family, seconds)

    sa.event.listen(engine, 'do_connect', add_timeouts)
    sa.event.listen(engine, 'connect', end_idle_transactions)
    sa.event.listen(engine, 'begin', patience.set_patience)
    # Close the open connections, which were made without these events.
    engine.dispose()


def _timeouts_of_driver(driver: str, seconds: float) -> dict[str, Any]:
    """Return options of a database driver that limit its wait for an answer.

    :param driver: ``pymysql`` or ``psycopg2``; other drivers have no such
        options.
    :param seconds: how long a transaction may be idle. An answer may take
        twice as long, because a statement may wait for the lock of such a
        transaction.
    """
    if driver == 'pymysql':
        return {'read_timeout': 2 * seconds, 'write_timeout': 2 * seconds}
    if driver == 'psycopg2':
        # The first option, in milliseconds, ends a connection whose data are
        # not acknowledged. The others, in seconds, detect that a server is
        # gone while its answer is awaited. Zero would mean the default of the
        # kernel, which is hours.
        return {
            'tcp_user_timeout': int(2000 * seconds),
            'keepalives_idle': max(int(seconds), 1),
            'keepalives_interval': max(int(seconds / 3), 1),
        }
    return {}


_HAS_LIMITS = '_ir_has_limits'
"""Attribute that marks an engine to which limits were already applied."""


@retried_on_lock_conflict
def write(work: Callable[[sa.Connection], Any]) -> Any:
    """Do work in a transaction, and repeat it after a lock conflict.

    :param work: called with the connection of the transaction.
    :returns: the result of ``work``.
    """
    with writer_without_session() as connection:
        return work(connection)


@retried_on_lock_conflict
def update(statement: sa.Update | sa.Delete) -> int:
    """Update or delete rows in a new transaction; return their number."""
    with writer_without_session() as connection:
        return connection.execute(statement).rowcount


def chunks(values: Sequence[Any], size: int) -> Iterator[Sequence[Any]]:
    """Yield values in parts of a given size; the last part may be smaller."""
    for start in range(0, len(values), size):
        yield values[start : start + size]


def _limit_idle_transactions(
    connection: Any, family: str, seconds: float
) -> None:
    """Make the server end idle transactions of a connection.

    A process that hangs in the middle of a transaction then loses its locks.
    MySQL servers have no such limit, so nothing is set for them.

    :param connection: the connection of the driver, not of SQLAlchemy.
    :param family: SQLAlchemy's name of the dialect of the database.
    :param seconds: how long a transaction may be idle.
    """
    with contextlib.closing(connection.cursor()) as cursor:
        if family == 'postgresql':
            milliseconds = int(1000 * seconds)
            cursor.execute(
                'SET SESSION '
                f'idle_in_transaction_session_timeout = {milliseconds}'
            )
            # Without the commit, a rollback would undo the setting.
            connection.commit()
            return
        # Only MariaDB has the limit, but the dialect is "mysql" for both.
        cursor.execute('SELECT VERSION()')
        server_version = cursor.fetchone()[0].lower()
        if 'mariadb' in server_version:
            # Zero would disable the limit.
            cursor.execute(
                'SET SESSION idle_transaction_timeout = '
                f'{max(int(seconds), 1)}'
            )


def upsert(
    connection: sa.Connection,
    table: Any,
    rows: Sequence[Mapping[str, Any]],
    update: Callable[[Any], Mapping[str, Any]] | None = None,
) -> None:
    """Insert rows, or update existing rows with the same primary keys.

    This is a single statement in the dialect of the database.

    :param table: the table, as a :class:`sqlalchemy.Table`.
    :param rows: column values by name; at least one row.
    :param update: returns the new column values of an existing row, given the
        columns of the row to insert; None keeps existing rows unchanged.
    """
    family = connection.dialect.name
    key = table.primary_key.columns
    statement: Any
    if family in ('mysql', 'mariadb'):
        statement = mysql.insert(table).values(rows)
        new_row = statement.inserted
        if update is None:
            # Set the key to itself, which changes nothing. INSERT IGNORE would
            # hide other errors as well.
            key_column = key.keys()[0]
            changes: Mapping[str, Any] = {key_column: new_row[key_column]}
        else:
            changes = update(new_row)
        statement = statement.on_duplicate_key_update(changes)
    else:
        # PostgreSQL and SQLite support ON CONFLICT; SQLAlchemy has a class for
        # each of them.
        if family == 'postgresql':
            statement = postgresql.insert(table).values(rows)
        else:
            statement = sqlite.insert(table).values(rows)
        if update is None:
            statement = statement.on_conflict_do_nothing()
        else:
            statement = statement.on_conflict_do_update(
                index_elements=list(key), set_=update(statement.excluded)
            )
    connection.execute(statement)


def list_nodes(tables: Iterable[Any], after: str, limit: int) -> list[str]:
    """Read one page of the UUIDs of nodes that have rows in some tables.

    :param tables: classes of rows with a ``node_uuid``.
    :param after: the last UUID of the previous page; '' to start.
    :param limit: maximum number of UUIDs.
    """
    branches = []
    for table in tables:
        # Every table gets the order and the limit, so that the database reads
        # only the beginning of each index. SQLite accepts them only in a
        # subquery.
        first_nodes = (
            sa.select(table.node_uuid)
            .where(table.node_uuid > after)
            .distinct()
            .order_by(table.node_uuid)
            .limit(limit)
            .subquery()
        )
        branches.append(sa.select(first_nodes))
    return read(sa.union(*branches).order_by('node_uuid').limit(limit))
