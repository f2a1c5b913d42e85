# SPDX-License-Identifier: Apache-2.0

"""Transactions through Ironic's database engine, and common queries.

A function that opens a transaction is decorated with
:func:`retried_on_lock_conflict`. Two transactions may lock rows in such an
order that both would wait forever. The database then ends one of them with an
error, and the decorator runs its function again.

The databases are SQLite, PostgreSQL, MySQL and MariaDB. SQLAlchemy calls the
last two by the same name, ``mysql``.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
import contextlib
import threading
from typing import Any

from oslo_db import api as oslo_db_api
from oslo_db import exception as db_exc
from oslo_db.sqlalchemy import enginefacade
import sqlalchemy as sa
from sqlalchemy import orm
from sqlalchemy.dialects import mysql
from sqlalchemy.dialects import postgresql
from sqlalchemy.dialects import sqlite

from ironic_inspection_rules.db import lock_timeout

# oslo.db keeps the transaction of a thread here: a transaction that is opened
# inside another one becomes part of it, and both are committed together.
_CONTEXT = threading.local()

_HAS_LIMITS = '_ir_has_limits'
"""Attribute that marks an engine to which limits were already applied."""


@contextlib.contextmanager
def values_hidden() -> Iterator[None]:
    """Remove the values of the statement from an error of the database.

    SQLAlchemy adds them to the text of an error. They may be secrets, and the
    text gets into logs, into answers and into ``last_error`` of a node.
    """
    try:
        yield
    except db_exc.DBError as exc:
        cause = exc.inner_exception
        if isinstance(cause, sa.exc.StatementError):
            cause.hide_parameters = True
            # oslo.db has copied the text.
            exc.args = (str(cause),)
        raise


def reader() -> contextlib.AbstractContextManager[orm.Session]:
    """Open a transaction that only reads, through Ironic's engine."""
    return enginefacade.reader.using(_CONTEXT)


@contextlib.contextmanager
def writer() -> Iterator[orm.Session]:
    """Open a transaction, through Ironic's engine."""
    with values_hidden(), enginefacade.writer.using(_CONTEXT) as session:
        yield session


@contextlib.contextmanager
def writer_without_gaps() -> Iterator[orm.Session]:
    """Open a transaction that locks only the rows that its statements match.

    By default, MySQL also locks rows that a statement has read but that do not
    match, and the *gaps* between rows, so that other transactions cannot
    insert rows there. Not all transactions use this, because setting another
    isolation level takes two more statements.
    """
    with writer() as session:
        # SQLite has no such isolation level, and locks the whole database.
        if session.get_bind().dialect.name != 'sqlite':
            session.connection(
                execution_options={'isolation_level': 'READ COMMITTED'}
            )
        yield session


@contextlib.contextmanager
def writer_without_session() -> Iterator[sa.Connection]:
    """Open a transaction without a session, which takes less time.

    It is never part of another transaction.
    """
    # Let the engine open it, because oslo.db does not return a connection to
    # the pool if its transaction cannot begin.
    with values_hidden(), enginefacade.writer.get_engine().begin() as opened:
        yield opened


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

    The limits are set on all connections that the engine opens from now on:

    - The database ends a transaction in which this process does nothing for
      too long, so that a process that hangs loses its locks. MySQL has no
      limit like this, but PostgreSQL and MariaDB have one.
    - A statement fails if the database does not answer in time.
    - :func:`.lock_timeout.shortened` has an effect.

    :param engine: the engine; it is not changed if it uses SQLite or already
        has limits.
    :param seconds: how long this process may do nothing in a transaction. An
        answer of the database may take twice as long, because a statement may
        wait for the lock of another process that does nothing.
    """
    dialect_name = engine.dialect.name
    if dialect_name == 'sqlite':
        return
    # In an all-in-one Ironic, the queue and the power-on of the conductor both
    # call this for the same engine.
    if getattr(engine, _HAS_LIMITS, False):
        return
    setattr(engine, _HAS_LIMITS, True)
    timeouts = _build_timeout_options(engine.dialect.driver, seconds)

    # SQLAlchemy calls this before it opens a connection.
    def add_timeouts(
        dialect: Any, record: Any, args: Any, options: dict[str, Any]
    ) -> None:
        # Keep an option that an operator has set in the URL of the database.
        for name, value in timeouts.items():
            options.setdefault(name, value)

    # SQLAlchemy calls this after it has opened a connection.
    def limit_idle_transactions(connection: Any, record: Any) -> None:
        _limit_idle_transactions(connection, dialect_name, seconds)

    sa.event.listen(engine, 'do_connect', add_timeouts)
    sa.event.listen(engine, 'connect', limit_idle_transactions)
    sa.event.listen(engine, 'begin', lock_timeout.set_lock_timeout)
    # Close the open connections, which were opened without these limits.
    engine.dispose()


def _build_timeout_options(driver: str, seconds: float) -> dict[str, Any]:
    """Return options of a database driver that limit its wait for an answer.

    For 30 seconds, PyMySQL gets ``{'read_timeout': 60, 'write_timeout': 60}``.

    :param driver: ``pymysql`` or ``psycopg2``; the result is empty for other
        drivers.
    :param seconds: how long a transaction may be idle. An answer may take
        twice as long, see :func:`limit_waits`.
    """
    if driver == 'pymysql':
        return {'read_timeout': 2 * seconds, 'write_timeout': 2 * seconds}
    if driver == 'psycopg2':
        # The first option, in milliseconds, ends a connection whose data are
        # not acknowledged. The others, in seconds, detect that a server is
        # gone while its answer is awaited. They are at least 1, because 0
        # would mean the default of the kernel, which is hours.
        return {
            'tcp_user_timeout': int(2000 * seconds),
            'keepalives_idle': max(int(seconds), 1),
            'keepalives_interval': max(int(seconds / 3), 1),
        }
    return {}


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
    connection: Any, dialect_name: str, seconds: float
) -> None:
    """Make the server end a transaction of a connection that is idle too long.

    The setting depends on the database:

    - PostgreSQL has it in milliseconds;
    - MariaDB has it in whole seconds;
    - MySQL has no such setting, and nothing is set.

    :param connection: the connection of the driver, not of SQLAlchemy.
    :param dialect_name: ``postgresql``, or ``mysql`` for MySQL and MariaDB.
    :param seconds: how long a transaction may be idle.
    """
    with contextlib.closing(connection.cursor()) as cursor:
        if dialect_name == 'postgresql':
            milliseconds = int(1000 * seconds)
            cursor.execute(
                'SET SESSION '
                f'idle_in_transaction_session_timeout = {milliseconds}'
            )
            # Without the commit, a rollback would undo the setting.
            connection.commit()
            return
        cursor.execute('SELECT VERSION()')
        server_version = cursor.fetchone()[0].lower()
        if 'mariadb' in server_version:
            # Zero would disable the limit.
            whole_seconds = max(int(seconds), 1)
            cursor.execute(
                f'SET SESSION idle_transaction_timeout = {whole_seconds}'
            )


def upsert(
    connection: sa.Connection,
    table: Any,
    rows: Sequence[Mapping[str, Any]],
    update: Callable[[Any], Mapping[str, Any]] | None = None,
) -> None:
    """Insert rows, or update existing rows with the same primary keys.

    This is a single statement: ``INSERT … ON DUPLICATE KEY UPDATE …`` in MySQL
    and MariaDB, ``INSERT … ON CONFLICT …`` in PostgreSQL and SQLite.

    :param table: the table, as a :class:`sqlalchemy.Table`.
    :param rows: column values by name; at least one row.
    :param update: called with the columns of the row to insert; returns the
        new values of an existing row, as SQL expressions by column. None keeps
        existing rows unchanged.
    """
    if connection.dialect.name in ('mysql', 'mariadb'):
        connection.execute(_make_upsert_of_mysql(table, rows, update))
        return
    # The statement is the same in both databases, but SQLAlchemy has a class
    # for each of them.
    statement: Any
    if connection.dialect.name == 'postgresql':
        statement = postgresql.insert(table).values(rows)
    else:
        statement = sqlite.insert(table).values(rows)
    if update is None:
        statement = statement.on_conflict_do_nothing()
    else:
        statement = statement.on_conflict_do_update(
            index_elements=list(table.primary_key.columns),
            set_=update(statement.excluded),
        )
    connection.execute(statement)


def _make_upsert_of_mysql(
    table: Any,
    rows: Sequence[Mapping[str, Any]],
    update: Callable[[Any], Mapping[str, Any]] | None,
) -> Any:
    """Build the statement of :func:`upsert` for MySQL and MariaDB."""
    statement = mysql.insert(table).values(rows)
    new_row: Any = statement.inserted
    if update is None:
        # Set the key to itself, which changes nothing. INSERT IGNORE would
        # hide other errors as well.
        key_column = table.primary_key.columns.keys()[0]
        return statement.on_duplicate_key_update(
            {key_column: new_row[key_column]}
        )
    return statement.on_duplicate_key_update(update(new_row))


def list_nodes(tables: Iterable[Any], after: str, limit: int) -> list[str]:
    """Read one page of the UUIDs of nodes that have a row in any table.

    Page by page, the leader of the workers looks for nodes that Ironic has no
    longer, and removes their rows.

    :param tables: mapped classes with the column ``node_uuid``.
    :param after: the last UUID of the previous page; '' to start.
    :param limit: maximum number of UUIDs.
    :returns: the UUIDs, sorted.
    """
    queries = []
    for table in tables:
        # The query of every table has an order and a limit of its own, so that
        # the database reads only the beginning of each index. SQLite accepts
        # them only in a subquery.
        first_nodes = (
            sa.select(table.node_uuid)
            .where(table.node_uuid > after)
            .distinct()
            .order_by(table.node_uuid)
            .limit(limit)
            .subquery()
        )
        queries.append(sa.select(first_nodes))
    return read(sa.union(*queries).order_by('node_uuid').limit(limit))
