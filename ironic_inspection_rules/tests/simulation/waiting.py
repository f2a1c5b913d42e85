# SPDX-License-Identifier: Apache-2.0

"""Statements that wait for the locks of other transactions.

A thread that holds the baton must not wait for one that does not. On SQLite a
lock is refused at once, and asked for again. On a server the statement is
carried out by another thread; the server itself decides who waits for whom,
and finds deadlocks.
"""

from collections.abc import Callable
from concurrent import futures
import sqlite3
from typing import Any

import sqlalchemy as sa

from ironic_inspection_rules.tests.simulation import scheduler

_SQLITE_PATIENCE = 5.0
"""Simulated seconds, the default of Python's module."""

_MYSQL_PATIENCE = 50.0
"""Simulated seconds, the default of ``innodb_lock_wait_timeout``."""

_MOMENT = 0.03
"""Real seconds after which a statement waits for a lock, and not for us.

One that is slower for another reason is only taken for one that waits.
"""

_UNTIL_DEADLOCK = 1.5
"""Real seconds in which PostgreSQL finds a deadlock; it looks after one."""


class Waits:
    """Carries out statements that may wait.

    :ivar ends: how many transactions have ended.
    """

    def __init__(self) -> None:
        self.ends = 0
        self.turns = scheduler.Scheduler(0)

    def start(self, turns: scheduler.Scheduler) -> None:
        """Begin a schedule."""
        self.turns = turns

    def carry_out(self, connection: Any, run: Callable[[], None]) -> None:
        """Run a statement; others have their turns while it waits."""
        run()

    def cut(self, connection: Any) -> None:
        """End the session of a connection, as a server does by itself."""


class SQLiteWaits(Waits):
    """Asks for a lock again whenever another transaction has ended."""

    def carry_out(self, connection: Any, run: Callable[[], None]) -> None:
        """See :meth:`Waits.carry_out`."""
        deadline = self.turns.now + _SQLITE_PATIENCE
        while True:
            ends = self.ends
            try:
                run()
                return
            except sqlite3.OperationalError as exc:
                # Whose snapshot is old need not wait: it will not get newer.
                if (exc.sqlite_errorname != 'SQLITE_BUSY'
                        or self.turns.now >= deadline):
                    raise
            self.turns.note('waits for a lock')
            self.turns.pause(lambda: self.ends != ends,  # noqa: B023
                             deadline - self.turns.now)


class ServerWaits(Waits):
    """Has statements carried out by threads of their own.

    :param engine: of the database.
    """

    patience: float | None = None

    def __init__(self, engine: sa.Engine) -> None:
        super().__init__()
        self._pool = futures.ThreadPoolExecutor(32)
        self._monitor = sa.create_engine(
            engine.url, isolation_level='AUTOCOMMIT', pool_size=1)
        self._waiting: dict[futures.Future, int] = {}

    def start(self, turns: scheduler.Scheduler) -> None:
        """See :meth:`Waits.start`."""
        super().start(turns)
        turns.before_time_passes = self._look_for_deadlocks

    def _look_for_deadlocks(self) -> None:
        """Give the server time to see that none of those can go on."""
        if len(self._waiting) > 1:
            futures.wait(self._waiting, _UNTIL_DEADLOCK,
                         futures.FIRST_COMPLETED)

    def carry_out(self, connection: Any, run: Callable[[], None]) -> None:
        """See :meth:`Waits.carry_out`."""
        future = self._pool.submit(run)
        futures.wait([future], _MOMENT)
        if not future.done():
            self.turns.note('waits for a lock')
            self._waiting[future] = self.ends
            try:
                if not self.turns.pause(lambda: self._is_done(future),
                                        self.patience):
                    raise self._give_up(connection, future)
            except scheduler.Killed:
                self._end(connection, future)
                raise
            finally:
                del self._waiting[future]
        future.result()

    def _is_done(self, future: futures.Future) -> bool:
        if self._waiting[future] != self.ends:
            self._waiting[future] = self.ends
            futures.wait([future], _MOMENT)
        return future.done()

    def _end(self, connection: Any, future: futures.Future) -> None:
        """End what a process waits for that is no more."""
        with self._monitor.connect() as monitor:
            monitor.exec_driver_sql(self._kill(connection))
        futures.wait([future])

    def cut(self, connection: Any) -> None:
        """See :meth:`Waits.cut`."""
        self.turns.note('the server ends a transaction that does nothing')
        self.ends += 1
        with self._monitor.connect() as monitor:
            monitor.exec_driver_sql(self._disconnect(connection))

    def _kill(self, connection: Any) -> str:
        raise NotImplementedError()

    def _disconnect(self, connection: Any) -> str:
        raise NotImplementedError()

    def _give_up(self, connection: Any, future: futures.Future) -> Exception:
        raise NotImplementedError()


class MySQLWaits(ServerWaits):
    """Waits for locks no longer than a server does by default."""

    patience = _MYSQL_PATIENCE

    def __init__(self, engine: sa.Engine) -> None:
        super().__init__(engine)
        sa.event.listen(
            engine, 'connect', lambda connection, record: connection.query(
                'SET SESSION innodb_lock_wait_timeout = 3600'))

    def _kill(self, connection: Any) -> str:
        return f'KILL QUERY {connection.thread_id()}'

    def _disconnect(self, connection: Any) -> str:
        return f'KILL {connection.thread_id()}'

    def _give_up(self, connection: Any, future: futures.Future) -> Exception:
        self._end(connection, future)
        return connection.OperationalError(
            1205, 'Lock wait timeout exceeded; try restarting transaction')


class PostgreSQLWaits(ServerWaits):
    """Waits for locks without end."""

    def _kill(self, connection: Any) -> str:
        pid = connection.get_backend_pid()
        return f'SELECT pg_cancel_backend({pid})'

    def _disconnect(self, connection: Any) -> str:
        pid = connection.get_backend_pid()
        return f'SELECT pg_terminate_backend({pid})'


def make(engine: sa.Engine) -> Waits:
    """Make what suits a database."""
    kinds: dict[str, Callable[[sa.Engine], Waits]] = {
        'mysql': MySQLWaits, 'postgresql': PostgreSQLWaits}
    kind = kinds.get(engine.dialect.name)
    return SQLiteWaits() if kind is None else kind(engine)
