# SPDX-License-Identifier: Apache-2.0

"""Transactions on the database that Ironic is configured with."""

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

_CONTEXT = threading.local()


def reader() -> contextlib.AbstractContextManager[orm.Session]:
    """Open a transaction that only reads, through Ironic's engine."""
    return enginefacade.reader.using(_CONTEXT)


def writer() -> contextlib.AbstractContextManager[orm.Session]:
    """Open a transaction, through Ironic's engine."""
    return enginefacade.writer.using(_CONTEXT)


@contextlib.contextmanager
def writer_without_gaps() -> Iterator[orm.Session]:
    """Open a transaction that locks rows only.

    MySQL by default locks what lies between the rows of a range as well, and
    rows that it looked at and found to be others. It takes two statements
    more, which is why not all transactions are like this.
    """
    with writer() as session:
        if session.get_bind().dialect.name != 'sqlite':
            session.connection(execution_options={
                'isolation_level': 'READ COMMITTED'})
        yield session


def plain_writer() -> contextlib.AbstractContextManager[sa.Connection]:
    """Open a transaction without a session, which takes less time.

    The engine opens it: oslo.db does not give a connection back to the pool
    when its transaction cannot begin.
    """
    return enginefacade.writer.get_engine().begin()


def plain_reader() -> contextlib.AbstractContextManager[sa.Connection]:
    """Open a transaction that only reads, likewise."""
    return enginefacade.writer.get_engine().connect()


def retried(function: Callable[..., Any]) -> Callable[..., Any]:
    """Repeat a transaction that lost against another one."""
    return oslo_db_api.wrap_db_retry(
        max_retries=10, retry_interval=0.05, max_retry_interval=1,
        jitter=True, retry_on_deadlock=True,
        exception_checker=lambda exc: 'database is locked' in str(exc)
    )(function)


@retried
def read(query: Any) -> list[Any]:
    """Read the first column of rows, or the objects that they are."""
    with reader() as session:
        return list(session.execute(query).scalars())


@retried
def read_rows(query: Any) -> list[dict[str, Any]]:
    """Read rows as mappings of the names of their columns."""
    with plain_reader() as connection:
        return [dict(row._mapping) for row in connection.execute(query)]


def bound(engine: sa.Engine, seconds: float) -> None:
    """Limit how long either side of a connection waits.

    A process that stops in the middle of a transaction loses its locks: the
    database ends the transaction. An answer that does not come is an error.

    :param seconds: how long a transaction may do nothing; twice as long an
        answer may take.
    """
    family = engine.dialect.name
    if family == 'sqlite' or getattr(engine, _BOUND, False):
        return
    setattr(engine, _BOUND, True)
    parameters: dict[str, Any] = {}
    if engine.dialect.driver == 'pymysql':
        parameters = {'read_timeout': 2 * seconds,
                      'write_timeout': 2 * seconds}
    elif engine.dialect.driver == 'psycopg2':
        parameters = {'tcp_user_timeout': int(2000 * seconds),
                      'keepalives_idle': max(int(seconds), 1),
                      'keepalives_interval': max(int(seconds / 3), 1)}

    def add_timeouts(dialect: Any, record: Any, args: Any,
                     given: dict[str, Any]) -> None:
        for name, value in parameters.items():
            given.setdefault(name, value)

    def end_idle_transactions(connection: Any, record: Any) -> None:
        with contextlib.closing(connection.cursor()) as cursor:
            if family == 'postgresql':
                cursor.execute('SET SESSION idle_in_transaction_session_'
                               f'timeout = {int(1000 * seconds)}')
                connection.commit()
                return
            # MySQL has no such limit.
            cursor.execute('SELECT VERSION()')
            if 'mariadb' in cursor.fetchone()[0].lower():
                cursor.execute('SET SESSION idle_transaction_timeout = '
                               f'{max(int(seconds), 1)}')
    sa.event.listen(engine, 'do_connect', add_timeouts)
    sa.event.listen(engine, 'connect', end_idle_transactions)
    # Connections that there are have not been told.
    engine.dispose()


_BOUND = '_ir_is_bound'


def within(session: orm.Session | sa.Connection | None,
           work: Callable[[sa.Connection], Any]) -> Any:
    """Do work as part of a transaction, or in one of its own.

    :param session: the transaction; None for one of its own, which is
        repeated where it loses against another one.
    """
    if session is not None:
        return work(session if isinstance(session, sa.Connection)
                    else session.connection())

    @retried
    def alone() -> Any:
        with plain_writer() as connection:
            return work(connection)

    return alone()


def chunks(values: Sequence[Any], size: int) -> Iterator[Sequence[Any]]:
    """Yield values in parts of no more than a statement is to have."""
    for start in range(0, len(values), size):
        yield values[start:start + size]


def upsert(connection: sa.Connection, table: Any,
           rows: Sequence[Mapping[str, Any]],
           update: Callable[[Any], Mapping[str, Any]] | None = None) -> None:
    """Insert rows, and update those that are there by their key.

    :param update: returns what columns become, given the columns of the row
        that would have been inserted; None leaves a row as it is.
    """
    family = connection.dialect.name
    key = table.primary_key.columns
    statement: Any
    if family in ('mysql', 'mariadb'):
        statement = mysql.insert(table).values(rows)
        new = statement.inserted
        first = key.keys()[0]
        statement = statement.on_duplicate_key_update(
            update(new) if update else {first: new[first]})
    else:
        dialect = postgresql if family == 'postgresql' else sqlite
        statement = dialect.insert(table).values(rows)
        statement = statement.on_conflict_do_update(
            index_elements=list(key), set_=update(statement.excluded)
        ) if update else statement.on_conflict_do_nothing()
    connection.execute(statement)


def list_nodes(tables: Iterable[Any], after: str, limit: int) -> list[str]:
    """Read the UUIDs of nodes that tables have rows of, in order.

    :param after: the UUID before the first one, '' to begin.
    """
    # Each branch reads its index from where it begins, and no further.
    branches = [
        sa.select(sa.select(table.node_uuid).where(table.node_uuid > after)
                  .distinct().order_by(table.node_uuid).limit(limit)
                  .subquery()) for table in tables]
    return read(sa.union(*branches).order_by('node_uuid').limit(limit))
