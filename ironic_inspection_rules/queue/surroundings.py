# SPDX-License-Identifier: Apache-2.0

"""Tells errors of the surroundings, which should cost no attempt.

The surroundings are the database, the message broker, the coordination
service, the lock of the node, and threads.
"""

from collections.abc import Iterator
import re
import typing

from ironic.common import exception as ironic_exception
from oslo_db import exception as db_exc
import sqlalchemy as sa

from ironic_inspection_rules import exceptions


class Abandoned(BaseException):
    """The attempt ends, and Ironic must not fail the inspection.

    Not an ``Exception``: Ironic would catch that and fail the inspection.
    """


_TROUBLE: tuple[type[BaseException], ...] = (
    exceptions.NodeBusy,
    exceptions.TemporaryFailure,
    exceptions.Stopping,
    db_exc.DBConnectionError,
    db_exc.DBDeadlock,
    db_exc.RetryRequest,
    db_exc.CantStartEngineError,
    sa.exc.TimeoutError,
    ironic_exception.NodeLocked,
    ironic_exception.NoFreeConductorWorker,
)

_OF_SERVICES = {
    ('oslo_messaging', 'MessagingException'),
    ('tooz', 'ToozError'),
}
"""Errors of libraries that not every service loads."""

_CODES = frozenset(
    {
        # MySQL: too many connections, shutdown, lost connection, lock wait
        # timeout, deadlock, read only, killed (as idle transactions are).
        1040,
        1053,
        1203,
        1205,
        1213,
        1226,
        1290,
        1792,
        1836,
        1927,
        2006,
        2013,
        3024,
        4031,
        # The same of PostgreSQL, by SQLSTATE.
        '25006',
        '25P03',
        '40001',
        '40P01',
        '53300',
        '55P03',
        '57P01',
        '57P02',
        '57P03',
    }
)

_OF_DATABASE = (db_exc.DBError, sa.exc.DBAPIError, sa.exc.PendingRollbackError)
"""What libraries make of an error of the database, whatever it is."""

# Errors that have no code, of SQLite and of Python.
_TEXT = re.compile(
    "database is locked|readonly database|can't start new thread"
)

# An earlier error in the text of a PendingRollbackError: its code in MySQL, or
# the name of its class in psycopg2.
_EARLIER = re.compile(r'Error\) \((\d{4}), |\(psycopg2\.errors\.(\w+)\)')
_OF_POSTGRESQL = frozenset(
    {
        'ReadOnlySqlTransaction',
        'IdleInTransactionSessionTimeout',
        'SerializationFailure',
        'DeadlockDetected',
        'TooManyConnections',
        'LockNotAvailable',
        'AdminShutdown',
        'CrashShutdown',
        'CannotConnectNow',
    }
)
"""The names of these errors of PostgreSQL in psycopg2."""


def are_to_blame(exc: BaseException | None) -> bool:
    """Return whether an error, or a cause of it, is of the surroundings."""
    return any(map(_is_of_surroundings, chain(exc)))


def chain(exc: BaseException | None) -> Iterator[BaseException]:
    """Yield an error, then its causes and what it was raised in handling."""
    seen: set[int] = set()
    while exc is not None and id(exc) not in seen:
        seen.add(id(exc))
        yield exc
        exc = exc.__cause__ or exc.__context__


def failure(exc: BaseException) -> exceptions.TemporaryFailure:
    """Return the error to end an attempt with.

    A hook may raise errors of its own whenever it meets one of the
    surroundings, for ever. So those count as attempts.

    :param exc: one that the surroundings are to blame for.
    :returns: a DoubtfulFailure if only a cause of it is of the surroundings.
    """
    if _is_of_surroundings(exc) or isinstance(exc, _OF_DATABASE):
        return exceptions.TemporaryFailure(str(exc))
    return exceptions.DoubtfulFailure(str(exc))


def error_of(abandoned: Abandoned) -> Exception:
    """Return the error that an attempt was abandoned for.

    :returns: LeaseLost, or the TemporaryFailure that :func:`failure` makes of
        the error: a DoubtfulFailure counts as an attempt.
    """
    cause = abandoned.__cause__ or abandoned
    if isinstance(cause, exceptions.LeaseLost):
        return cause
    return failure(cause)


def _is_of_surroundings(exc: BaseException) -> bool:
    """Return whether an error itself is of the surroundings."""
    if isinstance(exc, _TROUBLE) or _code(exc) in _CODES:
        return True
    # SQLite has no codes for these, and Python none for threads.
    if isinstance(exc, (RuntimeError, *_OF_DATABASE)):
        if _TEXT.search(str(exc)):
            return True
    return _is_of_service(exc) or _broke_session(exc)


def _is_of_service(exc: BaseException) -> bool:
    """Return whether an error is one of the libraries of services."""
    for kind in type(exc).__mro__:
        library = kind.__module__.partition('.')[0]
        if (library, kind.__name__) in _OF_SERVICES:
            return True
    return False


def _broke_session(exc: BaseException) -> bool:
    """Return whether an earlier error of the surroundings broke a session.

    Ironic retries after a deadlock, also within a transaction of ours. Then
    the session raises PendingRollbackError, which has the first error only as
    text.
    """
    if not isinstance(exc, sa.exc.PendingRollbackError):
        return False
    earlier = _EARLIER.search(str(exc))
    if earlier is None:
        return False
    code, name = earlier.groups()
    if name is not None:
        return name in _OF_POSTGRESQL
    return int(code) in _CODES


def _code(exc: typing.Any) -> typing.Any:
    """Return the code of a database error: of MySQL, or SQLSTATE.

    :returns: None if the error is none of a database.
    """
    # What oslo.db wraps is SQLAlchemy's, and in that is the driver's.
    for attribute in ('inner_exception', 'orig'):
        exc = getattr(exc, attribute, None) or exc
    state = getattr(exc, 'pgcode', None)
    if state is not None:
        return state
    library = type(exc).__module__.split('.')[0]
    if library in ('pymysql', 'MySQLdb', 'mysql') and exc.args:
        return exc.args[0]
    return None
