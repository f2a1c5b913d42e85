# SPDX-License-Identifier: Apache-2.0

"""Statements that wait for the locks of other transactions.

Only one simulated thread runs at a time, so it must not block in the database.
SQLite refuses a lock at once; the statement is retried. On a server, another
real thread executes the statement; the server orders waits and detects
deadlocks.
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
"""Real seconds after which a statement counts as waiting for a lock.

If it is slow for another reason, others only run earlier: simulated time
passes after the server confirms that all of them wait.
"""

_MOST_MOMENTS = 300
"""How often the server is asked for that at most."""

_UNTIL_DEADLOCK = 1.5
"""Real seconds in which PostgreSQL detects a deadlock; it checks after 1."""


class Waits:
    """Executes statements that may wait for locks.

    :ivar ends: number of transactions that have ended.
    """

    def __init__(self) -> None:
        self.ends = 0
        self.turns = scheduler.Scheduler(0)

    def start(self, turns: scheduler.Scheduler) -> None:
        """Begin a schedule."""
        self.turns = turns

    def carry_out(self, connection: Any, run: Callable[[], None]) -> None:
        """Execute a statement; other threads run while it waits."""
        run()

    def cut(self, connection: Any) -> None:
        """End the session of a connection, as a server may do."""


class SQLiteWaits(Waits):
    """Retries a statement whenever another transaction has ended."""

    def carry_out(self, connection: Any, run: Callable[[], None]) -> None:
        """See :meth:`Waits.carry_out`."""
        deadline = self.turns.now + _SQLITE_PATIENCE
        while True:
            ends = self.ends
            try:
                run()
                return
            except sqlite3.OperationalError as exc:
                # Other errors, such as for an old snapshot, do not pass.
                if (
                    exc.sqlite_errorname != 'SQLITE_BUSY'
                    or self.turns.now >= deadline
                ):
                    raise
            self.turns.note('waits for a lock')
            self.turns.pause(
                lambda: self.ends != ends,  # noqa: B023
                deadline - self.turns.now,
            )


class ServerWaits(Waits):
    """Executes statements in real threads.

    :param engine: the engine of the database.
    """

    patience: float | None = None
    locked: str
    """Query for the sessions that wait for locks."""
    kill: str
    disconnect: str

    def __init__(self, engine: sa.Engine) -> None:
        super().__init__()
        self._pool = futures.ThreadPoolExecutor(32)
        self._monitor = sa.create_engine(
            engine.url, isolation_level='AUTOCOMMIT', pool_size=1
        )
        self._waiting: dict[futures.Future, int] = {}
        self._sessions: dict[futures.Future, int] = {}

    def start(self, turns: scheduler.Scheduler) -> None:
        """See :meth:`Waits.start`."""
        super().start(turns)
        turns.before_time_passes = self._wait_for_statements

    def _wait_for_statements(self) -> None:
        """Wait until all statements are done or wait for locks."""
        for _moment in range(_MOST_MOMENTS):
            # The thread of one that is done may be stalled.
            slow = [future for future in self._waiting if not future.done()]
            if not slow or self.turns.runnable():
                return
            with self._monitor.connect() as monitor:
                locked = set(monitor.exec_driver_sql(self.locked).scalars())
            if {self._sessions[future] for future in slow} <= locked:
                break
            futures.wait(slow, _MOMENT, futures.FIRST_COMPLETED)
        # All wait for each other: let the server detect a deadlock.
        if len(self._waiting) > 1:
            futures.wait(
                self._waiting, _UNTIL_DEADLOCK, futures.FIRST_COMPLETED
            )

    def carry_out(self, connection: Any, run: Callable[[], None]) -> None:
        """See :meth:`Waits.carry_out`."""
        future = self._pool.submit(run)
        futures.wait([future], _MOMENT)
        if not future.done():
            self.turns.note('waits for a lock')
            self._waiting[future] = self.ends
            self._sessions[future] = self._session(connection)
            try:
                if not self.turns.pause(
                    lambda: self._is_done(future), self.patience
                ):
                    raise self._give_up(connection, future)
            except scheduler.Killed:
                self._end(connection, future)
                raise
            finally:
                del self._waiting[future], self._sessions[future]
        future.result()

    def _is_done(self, future: futures.Future) -> bool:
        if self._waiting[future] != self.ends:
            self._waiting[future] = self.ends
            futures.wait([future], _MOMENT)
        return future.done()

    def _end(self, connection: Any, future: futures.Future) -> None:
        """Cancel the statement of a connection."""
        with self._monitor.connect() as monitor:
            monitor.exec_driver_sql(self.kill % self._session(connection))
        futures.wait([future])

    def cut(self, connection: Any) -> None:
        """See :meth:`Waits.cut`."""
        self.turns.note('the server ends a transaction that does nothing')
        self.ends += 1
        with self._monitor.connect() as monitor:
            monitor.exec_driver_sql(
                self.disconnect % self._session(connection)
            )

    def _session(self, connection: Any) -> int:
        raise NotImplementedError()

    def _give_up(self, connection: Any, future: futures.Future) -> Exception:
        raise NotImplementedError()


class MySQLWaits(ServerWaits):
    """Waits for a lock as long as MySQL does by default."""

    patience = _MYSQL_PATIENCE
    locked = (
        'SELECT trx_mysql_thread_id FROM information_schema.innodb_trx'
        " WHERE trx_state = 'LOCK WAIT'"
    )
    kill, disconnect = 'KILL QUERY %d', 'KILL %d'

    def __init__(self, engine: sa.Engine) -> None:
        super().__init__(engine)
        sa.event.listen(
            engine,
            'connect',
            lambda connection, record: connection.query(
                'SET SESSION innodb_lock_wait_timeout = 3600'
            ),
        )

    def _session(self, connection: Any) -> int:
        return int(connection.thread_id())

    def _give_up(self, connection: Any, future: futures.Future) -> Exception:
        self._end(connection, future)
        return connection.OperationalError(
            1205, 'Lock wait timeout exceeded; try restarting transaction'
        )


class PostgreSQLWaits(ServerWaits):
    """Waits for a lock without a limit."""

    locked = "SELECT pid FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
    kill = 'SELECT pg_cancel_backend(%d)'
    disconnect = 'SELECT pg_terminate_backend(%d)'

    def _session(self, connection: Any) -> int:
        return int(connection.get_backend_pid())


def make(engine: sa.Engine) -> Waits:
    """Return the class for the kind of a database."""
    kinds: dict[str, Callable[[sa.Engine], Waits]] = {
        'mysql': MySQLWaits,
        'postgresql': PostgreSQLWaits,
    }
    kind = kinds.get(engine.dialect.name)
    return SQLiteWaits() if kind is None else kind(engine)
