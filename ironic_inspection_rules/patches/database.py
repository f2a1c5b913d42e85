# SPDX-License-Identifier: Apache-2.0

"""Patches of Ironic's database transactions."""

from collections.abc import Iterator
import contextlib
from typing import Any

from oslo_db import exception as db_exc
import sqlalchemy as sa

from ironic_inspection_rules.patches import name

SESSION = name.Name(
    'ironic.db.sqlalchemy.api',
    '_session_for_write',
    'the changes of a rule set cannot be saved as a whole',
    parameters=(),
)

NAMES = (SESSION,)

_stock_session = SESSION.find()

_IS_JOINED = 'inspection_rules_is_joined'
"""The option of a connection that calls of Ironic's objects join."""


class _Undone(Exception):
    """A deadlock, under a name that Ironic does not know."""


@contextlib.contextmanager
def transaction() -> Iterator[Any]:
    """Open a transaction that Ironic's objects join inside of the block.

    After a deadlock, the database undoes the whole transaction. Ironic would
    repeat only its last call. So Ironic gets an exception that it does not
    know.

    :raises: oslo_db.exception.DBDeadlock if the whole transaction must be
        repeated.
    """
    try:
        # Ironic's objects join the session that enginefacade has for this
        # thread.
        with _stock_session() as session:
            engine = session.get_bind()
            # After oslo.db's own listener, which translates the error.
            if not sa.event.contains(engine, 'handle_error', _rename_deadlock):
                sa.event.listen(
                    engine, 'handle_error', _rename_deadlock, retval=True
                )
            session.connection(execution_options={_IS_JOINED: True})
            yield session
    except _Undone as exc:
        raise db_exc.DBDeadlock(exc) from exc


def _rename_deadlock(context: sa.ExceptionContext) -> Exception | None:
    """Return another exception for a deadlock in a joined transaction.

    The engine calls this for errors of every connection; None leaves an error
    as it is.
    """
    # The listener of oslo.db has translated the error of the driver.
    failure = getattr(context, 'chained_exception', None)
    if not isinstance(failure, db_exc.DBDeadlock):
        return None
    if context.connection is None:
        return None
    options = context.connection.get_execution_options()
    if not options.get(_IS_JOINED):
        return None
    return _Undone(str(failure))
