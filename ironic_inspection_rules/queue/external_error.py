# SPDX-License-Identifier: Apache-2.0

"""Recognizes errors that are not the fault of an inspection request.

Such an error is *external*: it comes from the database, the
message broker, the coordination service, the lock of the node, or a lack of
threads. For example, the database is restarted, or another process has locked
the node. The request is then tried again later, and the interrupted attempt
does not count towards ``[inspection_queue]max_attempts``.
"""

from collections.abc import Iterator
import re
import typing

from ironic.common import exception as ironic_exception
from oslo_db import exception as db_exc
import sqlalchemy as sa

from ironic_inspection_rules import exceptions


class Abandoned(BaseException):
    """Ends an attempt without a failure of the inspection.

    It is raised in hooks and rules, passes through Ironic's code, and is
    caught by this project. It is not an ``Exception``, because Ironic would
    catch an Exception and fail the inspection. Its cause is the actual error.
    """


_EXTERNAL_ERRORS: tuple[type[BaseException], ...] = (
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


def is_external(exc: BaseException | None) -> bool:
    """Return whether an error or one of its causes is external.

    External errors come from the database, the message broker, the
    coordination service, the lock of the node, and threads.

    :param exc: the error; None for no error.
    """
    return any(_is_itself_external(error) for error in walk_causes(exc))


def walk_causes(exc: BaseException | None) -> Iterator[BaseException]:
    """Yield an error, then its causes, from the latest to the first.

    The cause of an error is the error in ``raise ... from error``. Without
    such a cause, it is the error that was being handled when this one was
    raised.

    :param exc: the error; None yields nothing.
    """
    # Errors may refer to each other in a circle.
    seen: set[int] = set()
    while exc is not None and id(exc) not in seen:
        seen.add(id(exc))
        yield exc
        exc = exc.__cause__ or exc.__context__


def as_temporary_failure(exc: BaseException) -> exceptions.TemporaryFailure:
    """Return the error with which to end an attempt.

    * An external error or an error of the database becomes a
      TemporaryFailure, after which the attempt does not count.
    * For any other error, only one of its causes is external. It
      becomes a DoubtfulFailure, after which the attempt counts.

    :param exc: an error for which :func:`is_external` is true.
    """
    if _is_itself_external(exc) or isinstance(exc, _ERRORS_OF_DATABASE):
        return exceptions.TemporaryFailure(str(exc))
    # For example, a hook has handled an error of the database and has raised
    # an error of its own. It may do so every time, so the attempts must count,
    # or the request would be tried again forever.
    return exceptions.DoubtfulFailure(str(exc))


def as_exception(abandoned: Abandoned) -> Exception:
    """Return the Exception that was the cause of an Abandoned error.

    :returns: LeaseLost if this was the cause. Any other cause is an external
        error, and is returned as a TemporaryFailure, see
        :func:`as_temporary_failure`.
    """
    cause = abandoned.__cause__ or abandoned
    if isinstance(cause, exceptions.LeaseLost):
        return cause
    return as_temporary_failure(cause)


def _is_itself_external(exc: BaseException) -> bool:
    """Return whether an error itself is external.

    The causes of the error are not looked at. The error is recognized by its
    type, by the code that the database gave it, or by its text.
    """
    if isinstance(exc, _EXTERNAL_ERRORS):
        return True
    if _find_code(exc) in _CODES_OF_OUTAGES:
        return True
    # SQLite gives no codes to these errors. Python raises a RuntimeError
    # without a code if it cannot start a thread.
    if isinstance(exc, (RuntimeError, *_ERRORS_OF_DATABASE)):
        if _TEXT_OF_OUTAGE.search(str(exc)):
            return True
    return _is_of_service(exc) or _follows_outage(exc)


def _is_of_service(exc: BaseException) -> bool:
    """Return whether an error is of the message broker or the coordinator.

    The error is of a class in :data:`_ERRORS_OF_SERVICES`, or of a subclass.
    """
    # isinstance() would need the classes, and importing their libraries would
    # load them in services that do not use them. Compare names instead.
    for error_class in type(exc).__mro__:
        library = error_class.__module__.partition('.')[0]
        if (library, error_class.__name__) in _ERRORS_OF_SERVICES:
            return True
    return False


def _follows_outage(exc: BaseException) -> bool:
    """Return whether an error only follows from an earlier outage.

    After an error such as a deadlock, Ironic tries its statement again, even
    within a transaction of this project. But the session is unusable until a
    rollback, and raises PendingRollbackError. The text of this error has the
    first error, e.g. ``OperationalError) (1213, "Deadlock found …``.
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


def _find_code(exc: typing.Any) -> typing.Any:
    """Return the code that a database gave to an error.

    By the code, an outage is told from an error of a statement.

    :param exc: any error, or an error of the database as oslo.db, SQLAlchemy
        or the database driver raised it.
    :returns: a MySQL number, e.g. 1213 for a deadlock, or a PostgreSQL
        SQLSTATE, e.g. ``'40P01'``; None if the error has no code.
    """
    # Unwrap the error of the driver, which has the code: oslo.db puts
    # SQLAlchemy's error in "inner_exception", and SQLAlchemy puts the error of
    # the driver in "orig".
    driver_error = exc
    for attribute in ('inner_exception', 'orig'):
        inner_error = getattr(driver_error, attribute, None)
        driver_error = inner_error or driver_error
    sqlstate = getattr(driver_error, 'pgcode', None)
    if sqlstate is not None:
        return sqlstate
    library = type(driver_error).__module__.split('.')[0]
    is_of_mysql = library in ('pymysql', 'MySQLdb', 'mysql')
    if is_of_mysql and driver_error.args:
        return driver_error.args[0]
    return None
