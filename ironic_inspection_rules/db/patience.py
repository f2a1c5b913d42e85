# SPDX-License-Identifier: Apache-2.0

"""Transactions that do not wait long for locked rows.

The leader's tasks skip locked rows, but some of their transactions are
Ironic's own, and a row may be locked just before it is written. By default,
MySQL waits for 50 seconds and PostgreSQL forever, which would delay all other
tasks of the leader. The limit is set by :func:`set_patience`, which listens to
an event of the engine, because Ironic's objects have no parameter for it.
SQLite has no row locks.
"""

from collections.abc import Iterator
import contextlib
import contextvars
from typing import Any

_SECONDS = 1
"""How long a statement waits; MySQL accepts only whole seconds."""

_DEFAULT = 'lock_wait_of_session'
"""The key of ``connection.info`` for the original limit of a MySQL session."""

_IS_SHORT: contextvars.ContextVar[bool] = contextvars.ContextVar(
    'is_short', default=False
)


@contextlib.contextmanager
def short() -> Iterator[None]:
    """Limit how long transactions that this thread begins wait for a row.

    A transaction that waits longer fails with a database error. The leader
    runs its tasks in this context, so that no task delays the others. This
    has no effect on an engine without :func:`set_patience`.
    """
    token = _IS_SHORT.set(True)
    try:
        yield
    finally:
        _IS_SHORT.reset(token)


def is_short() -> bool:
    """Return whether transactions of this thread wait for a short time."""
    return _IS_SHORT.get()


def set_patience(connection: Any) -> None:
    """Set how long a transaction that begins waits for a locked row.

    This is a listener for the event ``begin`` of an engine of PostgreSQL,
    MySQL or MariaDB, see :func:`.transaction.limit_waits`.
    """
    if connection.dialect.name == 'postgresql':
        if is_short():
            # LOCAL limits the setting to the current transaction.
            connection.exec_driver_sql(
                f"SET LOCAL lock_timeout = '{_SECONDS}s'"
            )
        return
    # MySQL has this limit only for the whole session of a connection, and the
    # next transaction on the connection may belong to another thread. The
    # limit is therefore set or restored at the beginning of every transaction,
    # if it differs from the current limit.
    is_session_short = _DEFAULT in connection.info
    if is_short() == is_session_short:
        return
    if is_short():
        # The original limit is saved so that it can be restored later.
        connection.info[_DEFAULT] = connection.exec_driver_sql(
            'SELECT @@innodb_lock_wait_timeout'
        ).scalar_one()
        seconds = _SECONDS
    else:
        seconds = connection.info.pop(_DEFAULT)
    connection.exec_driver_sql(
        f'SET SESSION innodb_lock_wait_timeout = {seconds}'
    )
