# SPDX-License-Identifier: Apache-2.0

"""Errors around the work on a request, and not in it."""

import re
import typing

from ironic.common import exception as ironic_exception
from oslo_db import exception as db_exc
import sqlalchemy as sa

from ironic_inspection_rules import exceptions

_TROUBLE: tuple[type[BaseException], ...] = (
    exceptions.NodeBusy, exceptions.TemporaryFailure, exceptions.Stopping,
    db_exc.DBConnectionError, db_exc.DBDeadlock, db_exc.RetryRequest,
    db_exc.CantStartEngineError, sa.exc.TimeoutError,
    ironic_exception.NodeLocked, ironic_exception.NoFreeConductorWorker)

_OF_SERVICES = {('oslo_messaging', 'MessagingException'),
                ('tooz', 'ToozError')}
"""Errors of libraries that not every service loads."""

_CODES = frozenset({
    # MySQL: too many connections, shutting down, lost; lock wait, deadlock;
    # read only; killed, which is what happens to idle transactions.
    1040, 1053, 1203, 1205, 1213, 1226, 1290, 1792, 1836, 1927, 2006, 2013,
    3024, 4031,
    # PostgreSQL, by SQLSTATE, likewise.
    '25006', '25P03', '40001', '40P01', '53300', '55P03', '57P01', '57P02',
    '57P03'})

_TEXT = re.compile('database is locked|readonly database'
                   "|can't start new thread")

_EARLIER = re.compile(r'Error\) \((\d{4}), |\(psycopg2\.errors\.(\w+)\)')
_OF_POSTGRESQL = frozenset({
    'ReadOnlySqlTransaction', 'IdleInTransactionSessionTimeout',
    'SerializationFailure', 'DeadlockDetected', 'TooManyConnections',
    'LockNotAvailable', 'AdminShutdown', 'CrashShutdown', 'CannotConnectNow'})
"""What psycopg2 calls the errors of PostgreSQL above."""


def are_to_blame(exc: BaseException | None) -> bool:
    """Return whether something failed only because of its surroundings.

    Database, broker, coordination service, a lock of the node, or a lack of
    threads: it is no fault of the work, and passes.
    """
    seen: set[int] = set()
    while exc is not None and id(exc) not in seen:
        seen.add(id(exc))
        if isinstance(exc, _TROUBLE) or _OF_SERVICES & {
                (each.__module__.partition('.')[0], each.__name__)
                for each in type(exc).__mro__} or _code(exc) in _CODES or (
                isinstance(exc, (RuntimeError, db_exc.DBError,
                                 sa.exc.DBAPIError,
                                 sa.exc.PendingRollbackError))
                and _TEXT.search(str(exc))) or _was_in_the_way(exc):
            return True
        exc = exc.__cause__ or exc.__context__
    return False


def _was_in_the_way(exc: BaseException) -> bool:
    """Return whether a session cannot go on after such an error.

    Ironic repeats what lost against another transaction, also within one of
    ours, whose session only has the text of the error by then.
    """
    if not isinstance(exc, sa.exc.PendingRollbackError):
        return False
    found = _EARLIER.search(str(exc))
    return found is not None and (
        found[2] in _OF_POSTGRESQL or int(found[1] or 0) in _CODES)


def _code(exc: typing.Any) -> typing.Any:
    """Return the code that the driver of a database gives an error."""
    for attribute in ('inner_exception', 'orig'):
        exc = getattr(exc, attribute, None) or exc
    state = getattr(exc, 'pgcode', None)
    if state is not None:
        return state
    is_of_driver = type(exc).__module__.split('.')[0] in (
        'pymysql', 'MySQLdb', 'mysql')
    return exc.args[0] if is_of_driver and exc.args else None
