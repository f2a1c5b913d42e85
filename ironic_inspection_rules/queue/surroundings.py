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

    This is not an ``Exception``, because Ironic would catch an Exception and
    fail the inspection.
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
"""Errors of libraries that only some services load, by their names."""

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
"""The errors into which libraries convert any error of the database."""

# Errors of SQLite and of Python that have no code.
_TEXT_OF_OUTAGE = re.compile(
    "database is locked|readonly database|can't start new thread"
)

# The first error in the text of a PendingRollbackError: its MySQL code, as in
# "OperationalError) (1213, ", or the name of its class in psycopg2.
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
    """Return whether the surroundings caused an error or one of its causes.

    The surroundings are the database, the message broker, the coordination
    service, the lock of the node, and threads.
    """
    return any(_is_of_surroundings(error) for error in chain(exc))


def chain(exc: BaseException | None) -> Iterator[BaseException]:
    """Yield an error, then its causes, from the latest to the first.

    If an error was raised while another one was handled, the other one counts
    as its cause.
    """
    seen: set[int] = set()
    while exc is not None and id(exc) not in seen:
        seen.add(id(exc))
        yield exc
        exc = exc.__cause__ or exc.__context__


def as_temporary_failure(exc: BaseException) -> exceptions.TemporaryFailure:
    """Return the error with which to end an attempt.

    After a TemporaryFailure the attempt does not count; after a
    DoubtfulFailure it counts.

    :param exc: an error caused by the surroundings, e.g. the database.
    """
    if _is_of_surroundings(exc) or isinstance(exc, _ERRORS_OF_DATABASE):
        return exceptions.TemporaryFailure(str(exc))
    # Only a cause of the error comes from the surroundings. A hook that
    # handles it and raises an error of its own may do so forever, so its
    # attempts are counted.
    return exceptions.DoubtfulFailure(str(exc))


def as_exception(abandoned: Abandoned) -> Exception:
    """Return the Exception for which an attempt was abandoned.

    :returns: LeaseLost, or a TemporaryFailure for an error of the
        surroundings, see :func:`as_temporary_failure`.
    """
    cause = abandoned.__cause__ or abandoned
    if isinstance(cause, exceptions.LeaseLost):
        return cause
    return as_temporary_failure(cause)


def _is_of_surroundings(exc: BaseException) -> bool:
    """Return whether an error itself comes from the surroundings."""
    if isinstance(exc, _TROUBLE) or _code(exc) in _CODES_OF_OUTAGES:
        return True
    # SQLite has no codes for these errors, and Python has none for threads.
    if isinstance(exc, (RuntimeError, *_ERRORS_OF_DATABASE)):
        if _TEXT_OF_OUTAGE.search(str(exc)):
            return True
    return _is_of_service(exc) or _broke_session(exc)


def _is_of_service(exc: BaseException) -> bool:
    """Return whether an error is of the message broker or the coordinator."""
    # Compare the names of its classes, because importing the libraries would
    # load them in services that do not use them.
    for kind in type(exc).__mro__:
        library = kind.__module__.partition('.')[0]
        if (library, kind.__name__) in _ERRORS_OF_SERVICES:
            return True
    return False


def _broke_session(exc: BaseException) -> bool:
    """Return whether an earlier error of the surroundings broke a session.

    Ironic retries after a deadlock even within a transaction of this project.
    The session then raises PendingRollbackError, which has the first error
    only as text.
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

    :returns: a MySQL number, e.g. 1213 for a deadlock, or a PostgreSQL
        SQLSTATE, e.g. ``'40P01'``; None if the error has no code.
    """
    # The error of oslo.db has SQLAlchemy's error in "inner_exception", which
    # has the error of the driver in "orig".
    for attribute in ('inner_exception', 'orig'):
        exc = getattr(exc, attribute, None) or exc
    sqlstate = getattr(exc, 'pgcode', None)
    if sqlstate is not None:
        return sqlstate
    library = type(exc).__module__.split('.')[0]
    if library in ('pymysql', 'MySQLdb', 'mysql') and exc.args:
        return exc.args[0]
    return None
