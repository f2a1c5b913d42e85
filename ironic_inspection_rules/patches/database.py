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


class _RenamedDeadlock(Exception):
    """A deadlock, as an exception that Ironic does not know."""


@contextlib.contextmanager
def transaction() -> Iterator[Any]:
    """Open a transaction that Ironic's objects join inside of the block.

    After a deadlock, the database undoes the whole transaction. Ironic would
    only repeat its last call, and what came before would be lost. So Ironic
    gets an exception after which it repeats nothing.

    :raises: oslo_db.exception.DBDeadlock if the whole transaction must be
        repeated.
    """
    try:
        # Ironic's objects join the session that enginefacade has for this
        # thread.
        with _stock_session() as session:
            engine = session.get_bind()
            # Listeners are called in their order: that of oslo.db comes first,
            # and makes a DBDeadlock of the error of the driver.
            if not sa.event.contains(engine, 'handle_error', _rename_deadlock):
                sa.event.listen(
                    engine, 'handle_error', _rename_deadlock, retval=True
                )
            session.connection(execution_options={_IS_JOINED: True})
            yield session
    except _RenamedDeadlock as exc:
        raise db_exc.DBDeadlock(exc) from exc


def _rename_deadlock(context: sa.ExceptionContext) -> Exception | None:
    """Return another exception for a deadlock in a joined transaction.

    The engine calls this for the errors of all its connections. Those of other
    transactions stay as they are.

    :returns: None for an error that stays.
    """
    # The listener of oslo.db has put its own exception here.
    error = getattr(context, 'chained_exception', None)
    if not isinstance(error, db_exc.DBDeadlock):
        return None
    if context.connection is None:
        return None
    options = context.connection.get_execution_options()
    if not options.get(_IS_JOINED):
        return None
    return _RenamedDeadlock(str(error))
