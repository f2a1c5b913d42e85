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
"""The execution option that marks connections opened by :func:`transaction`.

Calls of Ironic's objects join the transactions of these connections.
"""


class _RenamedDeadlock(Exception):
    """A deadlock, raised as an exception that Ironic does not handle."""


@contextlib.contextmanager
def transaction() -> Iterator[Any]:
    """Open a transaction that Ironic's objects join inside the block.

    After a deadlock, the database rolls back the whole transaction, but Ironic
    would repeat only its last call, and all earlier changes would be lost. To
    prevent this, the deadlock is raised as an exception that Ironic does not
    retry.

    :raises: oslo_db.exception.DBDeadlock if the whole transaction must be
        repeated.
    """
    try:
        # enginefacade keeps one session per thread, which Ironic's objects
        # join.
        with _stock_session() as session:
            engine = session.get_bind()
            # Listeners are called in the order of their registration. The
            # listener of oslo.db is first, and converts the error of the
            # driver to a DBDeadlock.
            if not sa.event.contains(engine, 'handle_error', _rename_deadlock):
                sa.event.listen(
                    engine, 'handle_error', _rename_deadlock, retval=True
                )
            session.connection(execution_options={_IS_JOINED: True})
            yield session
    except _RenamedDeadlock as exc:
        raise db_exc.DBDeadlock(exc) from exc


def _rename_deadlock(context: sa.ExceptionContext) -> Exception | None:
    """Replace the exception of a deadlock in a joined transaction.

    The engine calls this for the errors of all its connections. Errors of
    other transactions are not changed.

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
        return None
    return _RenamedDeadlock(str(error))
