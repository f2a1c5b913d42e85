# SPDX-License-Identifier: Apache-2.0

"""Lets several calls of Ironic's objects share one database transaction.

Every call of an object of Ironic, e.g. ``node.save()``, has a transaction of
its own, and Ironic repeats the call after a deadlock. Inside
``with transaction():``, these calls *join* one transaction, so that all of
their changes are made or none of them.
"""

from collections.abc import Iterator
import contextlib
from typing import Any

from oslo_db import exception as db_exc
import sqlalchemy as sa

from ironic_inspection_rules.patches import name

SESSION = name.Name(
    'ironic.db.sqlalchemy.api',
    '_session_for_write',
    'the changes of a phase of rules cannot be saved as a whole',
    parameters=(),
)

NAMES = (SESSION,)

_stock_session = SESSION.find()

_IS_JOINED = 'inspection_rules_is_joined'
"""The execution option that marks the connection of :func:`transaction`."""


class _RenamedDeadlock(Exception):
    """A deadlock, raised as an exception that Ironic does not handle."""


@contextlib.contextmanager
def transaction() -> Iterator[Any]:
    """Open a transaction that Ironic's objects join inside the block.

    After a deadlock, the database rolls back the whole transaction, but Ironic
    would repeat only its last call, and all earlier changes would be lost.
    Inside the block, the deadlock is therefore raised as another exception,
    for which Ironic repeats nothing. At the end, it becomes a deadlock again.

    :raises: oslo_db.exception.DBDeadlock if the caller must repeat the whole
        transaction.
    """
    try:
        # enginefacade keeps one session per thread, which Ironic's objects
        # join.
        with _stock_session() as session:
            engine = session.get_bind()
            # SQLAlchemy calls _rename_deadlock() for every error of the
            # engine. The listener of oslo.db was registered earlier, so it is
            # called first, and converts the error of the driver to a
            # DBDeadlock.
            if not sa.event.contains(engine, 'handle_error', _rename_deadlock):
                sa.event.listen(
                    engine, 'handle_error', _rename_deadlock, retval=True
                )
            # Mark the connection for _rename_deadlock().
            session.connection(execution_options={_IS_JOINED: True})
            yield session
    except _RenamedDeadlock as exc:
        raise db_exc.DBDeadlock(exc) from exc


def _rename_deadlock(context: sa.ExceptionContext) -> Exception | None:
    """Replace the exception of a deadlock in :func:`transaction`.

    SQLAlchemy calls this for every error of the engine. Other errors, and the
    errors of other transactions, are not changed.

    :returns: the new exception; None if the error must not be changed.
    """
    # The listener of oslo.db has stored its own exception in this attribute.
    error = getattr(context, 'chained_exception', None)
    if not isinstance(error, db_exc.DBDeadlock):
        return None
    if context.connection is None:
        return None
    options = context.connection.get_execution_options()
    if not options.get(_IS_JOINED):
        # The error belongs to another transaction.
        return None
    return _RenamedDeadlock(str(error))
