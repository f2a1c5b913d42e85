# SPDX-License-Identifier: Apache-2.0

"""Limits how long a transaction waits for a row that another one has locked.

The leader of the inspection workers runs its tasks one after another. By
default, a task could wait for a locked row for 50 seconds in MySQL and forever
in PostgreSQL, and delay all other tasks. The leader therefore runs its tasks
inside ``with lock_timeout.shortened():``, where a statement waits for one
second.

Some transactions of these tasks are Ironic's own, and Ironic's objects have no
parameter for the limit. Therefore :func:`set_lock_timeout` sets it whenever
the database engine begins a transaction. SQLite has no row locks.
"""

from collections.abc import Iterator
import contextlib
import contextvars
from typing import Any

_SHORT_LIMIT = 1
"""Seconds that a statement waits; MySQL accepts only whole seconds."""

_ORIGINAL_LIMIT = 'lock_wait_of_session'
"""The key of ``connection.info`` for the original limit of a MySQL session."""

_IS_SHORTENED: contextvars.ContextVar[bool] = contextvars.ContextVar(
    'is_short', default=False
)


@contextlib.contextmanager
def shortened() -> Iterator[None]:
    """Limit how long this thread waits for locked rows in the ``with`` block.

    A transaction that begins in the block and waits longer than a second
    fails with a database error. This has no effect unless
    :func:`set_lock_timeout` listens to the database engine.
    """
    token = _IS_SHORTENED.set(True)
    try:
        yield
    finally:
        _IS_SHORTENED.reset(token)


def is_shortened() -> bool:
    """Return whether this thread is inside a ``with shortened():`` block."""
    return _IS_SHORTENED.get()


def set_lock_timeout(connection: Any) -> None:
    """Set the limit for locked rows on a connection that begins a transaction.

    Inside ``with shortened():`` the limit is one second, otherwise the
    original limit of the database. SQLAlchemy calls this at the beginning of
    every transaction in PostgreSQL, MySQL and MariaDB, because
    :func:`.transaction.limit_waits` has registered it for the event ``begin``.

    :param connection: the connection on which the transaction begins.
    """
    if connection.dialect.name != 'postgresql':
        _set_lock_timeout_of_mysql(connection)
    elif is_shortened():
        # LOCAL ends the setting together with the transaction, so nothing has
        # to be restored.
        connection.exec_driver_sql(
            f"SET LOCAL lock_timeout = '{_SHORT_LIMIT}s'"
        )


def _set_lock_timeout_of_mysql(connection: Any) -> None:
    """Set or restore the limit of a session of MySQL or MariaDB, if needed.

    The setting stays on the connection after the transaction, and the next
    transaction may belong to another thread, which wants another limit.
    """
    has_short_limit = _ORIGINAL_LIMIT in connection.info
    if has_short_limit == is_shortened():
        return
    if has_short_limit:
        seconds = connection.info.pop(_ORIGINAL_LIMIT)
    else:
        # Keep the original limit, so that a later transaction can restore it.
        connection.info[_ORIGINAL_LIMIT] = connection.exec_driver_sql(
            'SELECT @@innodb_lock_wait_timeout'
        ).scalar_one()
        seconds = _SHORT_LIMIT
    connection.exec_driver_sql(
        f'SET SESSION innodb_lock_wait_timeout = {seconds}'
    )
