# SPDX-License-Identifier: Apache-2.0

"""Ironic's own transactions."""

from collections.abc import Iterator
import contextlib
import contextvars
from typing import Any

from oslo_db import exception as db_exc
import sqlalchemy as sa

from ironic_inspection_rules.patches import name

SESSION = name.Name(
    'ironic.db.sqlalchemy.api', '_session_for_write',
    'the changes of a rule set cannot be saved as a whole', parameters=())

NAMES = (SESSION,)

_IS_JOINED: contextvars.ContextVar[bool] = contextvars.ContextVar(
    'is_joined', default=False)


class _Undone(Exception):
    """A deadlock by a name that Ironic does not know."""


@contextlib.contextmanager
def transaction() -> Iterator[Any]:
    """Open a transaction that the calls of Ironic's objects inside it join.

    The database undoes all of it after a deadlock. Ironic, which repeats
    single calls then, would save a part of it, so it is told otherwise.

    :raises: oslo_db.exception.DBDeadlock if all of it is to be repeated.
    """
    joined = _IS_JOINED.set(True)
    try:
        with SESSION.find()() as session:
            _listen(session.get_bind())
            yield session
    except _Undone as exc:
        raise db_exc.DBDeadlock(exc) from exc
    finally:
        _IS_JOINED.reset(joined)


def _listen(engine: sa.Engine) -> None:
    """Hear of the errors of an engine, once oslo.db has named them."""
    if not sa.event.contains(engine, 'handle_error', _rename_deadlock):
        sa.event.listen(engine, 'handle_error', _rename_deadlock,
                        retval=True)


def _rename_deadlock(context: sa.ExceptionContext) -> Exception | None:
    failure = getattr(context, 'chained_exception', None)
    if _IS_JOINED.get() and isinstance(failure, db_exc.DBDeadlock):
        return _Undone(str(failure))
    return None
