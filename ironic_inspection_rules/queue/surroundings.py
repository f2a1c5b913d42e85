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

    It is no ``Exception``, because Ironic would catch that and fail the
    inspection.
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

_ERRORS_OF_SERVICES = {
    ('oslo_messaging', 'MessagingException'),
    ('tooz', 'ToozError'),
}
"""Errors of libraries that not every service loads, by their names."""

_CODES_OF_OUTAGES = frozenset(
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

_ERRORS_OF_DATABASE = (
    db_exc.DBError,
    sa.exc.DBAPIError,
    sa.exc.PendingRollbackError,
)
"""What libraries make of an error of the database, whatever it is."""

# Errors that have no code, of SQLite and of Python.
_TEXT_OF_OUTAGE = re.compile(
    "database is locked|readonly database|can't start new thread"
)

# The first error in the text of a PendingRollbackError: its code in MySQL, as
# in "OperationalError) (1213, ", or the name of its class in psycopg2.
_FIRST_ERROR = re.compile(r'Error\) \((\d{4}), |\(psycopg2\.errors\.(\w+)\)')
_POSTGRESQL_OUTAGES = frozenset(
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
"""The classes of psycopg2 for the codes of PostgreSQL above."""


def are_to_blame(exc: BaseException | None) -> bool:
    """Return whether an error, or a cause of it, is of the surroundings.

    These are the database, the message broker, the coordination service, the
    lock of the node, and threads.
    """
    return any(map(_is_of_surroundings, chain(exc)))


def chain(exc: BaseException | None) -> Iterator[BaseException]:
    """Yield an error, then the errors that caused it, the first cause last.

    An error is a cause also if the later one was raised while it was handled.
    """
    seen: set[int] = set()
    while exc is not None and id(exc) not in seen:
        seen.add(id(exc))
        yield exc
        exc = exc.__cause__ or exc.__context__


def failure(exc: BaseException) -> exceptions.TemporaryFailure:
    """Return the error to end an attempt with.

    After a TemporaryFailure the attempt does not count, after a
    DoubtfulFailure it does.

    :param exc: an error that the surroundings, such as the database, are to
        blame for.
    """
    if _is_of_surroundings(exc) or isinstance(exc, _ERRORS_OF_DATABASE):
        return exceptions.TemporaryFailure(str(exc))
    # Only a cause of it is of the surroundings. A hook that handles that by an
    # error of its own may do so for ever, so its attempts are counted.
    return exceptions.DoubtfulFailure(str(exc))


def error_of(abandoned: Abandoned) -> Exception:
    """Return the error that an attempt was abandoned for.

    :returns: LeaseLost, or what :func:`failure` makes of the error.
    """
    cause = abandoned.__cause__ or abandoned
    if isinstance(cause, exceptions.LeaseLost):
        return cause
    return failure(cause)


def _is_of_surroundings(exc: BaseException) -> bool:
    """Return whether an error itself is of the surroundings."""
    if isinstance(exc, _TROUBLE) or _code(exc) in _CODES_OF_OUTAGES:
        return True
    # SQLite has no codes for these, and Python none for threads.
    if isinstance(exc, (RuntimeError, *_ERRORS_OF_DATABASE)):
        if _TEXT_OF_OUTAGE.search(str(exc)):
            return True
    return _is_of_service(exc) or _broke_session(exc)


def _is_of_service(exc: BaseException) -> bool:
    """Return whether an error is of the message broker or the coordinator."""
    # By the names of its classes: to import the libraries would load them in
    # services that do not use them.
    for kind in type(exc).__mro__:
        library = kind.__module__.partition('.')[0]
        if (library, kind.__name__) in _ERRORS_OF_SERVICES:
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
    first_error = _FIRST_ERROR.search(str(exc))
    if first_error is None:
        return False
    mysql_code, postgresql_name = first_error.groups()
    if postgresql_name is not None:
        return postgresql_name in _POSTGRESQL_OUTAGES
    return int(mysql_code) in _CODES_OF_OUTAGES


def _code(exc: typing.Any) -> typing.Any:
    """Return the code that a database gave to an error.

    :returns: a number of MySQL, such as 1213 for a deadlock, or a SQLSTATE of
        PostgreSQL, such as ``'40P01'``; None if the error has no code.
    """
    # The error of oslo.db has that of SQLAlchemy in "inner_exception", and
    # that has the error of the driver in "orig".
    for attribute in ('inner_exception', 'orig'):
        exc = getattr(exc, attribute, None) or exc
    sqlstate = getattr(exc, 'pgcode', None)
    if sqlstate is not None:
        return sqlstate
    library = type(exc).__module__.split('.')[0]
    if library in ('pymysql', 'MySQLdb', 'mysql') and exc.args:
        return exc.args[0]
    return None
