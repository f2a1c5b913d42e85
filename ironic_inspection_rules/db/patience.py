# SPDX-License-Identifier: Apache-2.0

"""Transactions that do not wait long for locked rows.

The leader's tasks pass over such rows, but some of their transactions are
Ironic's own, and a row may be locked just before it is written. By default,
MySQL waits for 50 seconds and PostgreSQL for ever, and all other tasks of the
leader would wait with it. The limit is set by an event of the engine, as
Ironic's objects take no argument of ours. SQLite has no locks of rows.
"""

from collections.abc import Iterator
import contextlib
import contextvars
from typing import Any

import sqlalchemy as sa

_SECONDS = 1
"""How long a statement waits; MySQL takes whole seconds only."""

_DEFAULT = 'lock_wait_of_session'
"""Where a connection to MySQL keeps how long it waited before."""

_IS_SHORT: contextvars.ContextVar[bool] = contextvars.ContextVar(
    'is_short', default=False
)


@contextlib.contextmanager
def short() -> Iterator[None]:
    """Limit how long transactions that this thread begins wait for a row.

    A transaction that waits longer fails with an error of the database. The
    leader does its tasks within this, so that none of them keeps the others
    waiting.
    """
    token = _IS_SHORT.set(True)
    try:
        yield
    finally:
        _IS_SHORT.reset(token)


def is_short() -> bool:
    """Return whether transactions of this thread wait for a short time."""
    return _IS_SHORT.get()


@sa.event.listens_for(sa.Engine, 'begin')
def _set_patience(connection: Any) -> None:
    """Set how long a transaction that begins waits for a locked row."""
    family = connection.dialect.name
    if family == 'postgresql':
        if is_short():
            # LOCAL: until the end of the transaction.
            connection.exec_driver_sql(
                f"SET LOCAL lock_timeout = '{_SECONDS}s'"
            )
    elif family in ('mysql', 'mariadb'):
        _set_patience_of_session(connection)


def _set_patience_of_session(connection: Any) -> None:
    """Set how long a transaction of MySQL waits for a locked row.

    MySQL has a limit only for the whole session of a connection. The next
    transaction on this connection may be that of another thread. So the limit
    is set or put back before every transaction, if it is another one.
    """
    is_session_short = _DEFAULT in connection.info
    if is_short() == is_session_short:
        return
    if is_short():
        # The limit of before is noted, to be put back later.
        connection.info[_DEFAULT] = connection.exec_driver_sql(
            'SELECT @@innodb_lock_wait_timeout'
        ).scalar_one()
        seconds = _SECONDS
    else:
        seconds = connection.info.pop(_DEFAULT)
    connection.exec_driver_sql(
        f'SET SESSION innodb_lock_wait_timeout = {seconds}'
    )
