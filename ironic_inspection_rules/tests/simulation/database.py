# SPDX-License-Identifier: Apache-2.0

"""The database of a simulated cluster: a real one, with faults.

A thread pauses before each transaction, within some, and while it waits for
the lock of another one. The clock of the database is that of the scheduler.
"""

from collections.abc import Callable
import math
from typing import Any

from oslo_db import exception as db_exc
import sqlalchemy as sa

from ironic_inspection_rules.db import clock
from ironic_inspection_rules.tests.simulation import scheduler
from ironic_inspection_rules.tests.simulation import waiting

_TABLES = (
    'ir_requests',
    'ir_unprocessed',
    'ir_runs',
    'ir_inventories',
    'ir_parts',
    'ir_content_sections',
    'ir_contents',
    'ir_sections',
    'node_history',
    'node_traits',
    'node_inventory',
    'ports',
    'nodes',
)

_CLOCK = 'clock_of_schedule'

_OF_NODES = (
    'uuid, reservation, provision_state, last_error, extra, '
    'properties, maintenance, updated_at, inspection_started_at'
)


class Database:
    """Injects pauses and faults into an engine.

    :param engine: the engine that the code under test uses.
    """

    def __init__(self, engine: sa.Engine) -> None:
        self.engine = engine
        self.turns = scheduler.Scheduler(0)
        self.clock_offset = 0.0
        self.away_until = scheduler.NEVER
        self.lose_answers = 0
        self.stall_next = self.stall_claim = 0.0
        self.stall_inside = self.swallow_next = 0.0
        self.pauses = 0.0
        self.changed = self.was_written = True
        self.note_stall: Callable[[scheduler.Process], None] = _ignore
        self.around_commit: Callable[[Callable[[], None]], None] = (
            lambda commit: commit()
        )
        self._clock_sql = (
            str(sa.select(clock.now()).compile(dialect=engine.dialect))
            .partition('SELECT ')[2]
            .rpartition(' AS ')[0]
        )
        # Outside the pool: reads of the invariants must cause no pause.
        self._watcher = sa.create_engine(
            engine.url,
            isolation_level='AUTOCOMMIT',
            pool_size=1,
            connect_args={'check_same_thread': False}
            if engine.dialect.name == 'sqlite'
            else {},
        )
        self._reading: Any = self._watcher.raw_connection()
        dialect: Any = engine.dialect
        self.waits = waiting.make(engine)
        self._idle_since: dict[Any, float] = {}
        self._writing: set[Any] = set()
        self._writes = 0
        self._rows: dict[str, tuple[int, list[dict[str, Any]]]] = {}
        self._do_begin, self._do_commit = dialect.do_begin, dialect.do_commit
        self._do_rollback = dialect.do_rollback
        self._do_execute = dialect.do_execute
        self._do_close = dialect.do_close
        dialect.do_begin, dialect.do_commit = self._begin, self._commit
        dialect.do_rollback = self._rollback
        dialect.do_close = dialect.do_terminate = self._close
        dialect.do_execute = self._execute
        if engine.dialect.name == 'sqlite':
            sa.event.listen(engine, 'connect', self._prepare_sqlite)
            # Connections that are open were not prepared.
            engine.dispose()
        self._with_clock: dict[str, str] = {}

    def close(self) -> None:
        """Close the connection of the invariants."""
        self._reading.close()
        self._watcher.dispose()

    def start(self, turns: scheduler.Scheduler) -> None:
        """Begin a schedule, with empty tables."""
        cursor = self._reading.cursor()
        for table in _TABLES:
            cursor.execute(f'DELETE FROM {table}')
        self.turns = turns
        self.waits.start(turns)
        self._idle_since.clear()
        self._writing.clear()
        self._writes += 1
        self.pauses = turns.random.choice((0.0, 0.05, 0.3))
        self.clock_offset = 0.0
        self.away_until = scheduler.NEVER
        self.calm_down()

    def calm_down(self) -> None:
        """Cancel faults that have not happened yet."""
        self.stall_next = self.stall_claim = 0.0
        self.stall_inside = self.swallow_next = 0.0
        self.lose_answers = 0

    def now(self) -> float:
        """Return the time of the database, in seconds."""
        return 1_000_000.0 + self.turns.now + self.clock_offset

    def touch(self) -> None:
        """Pause or fail, as a transaction that reads would."""
        self.turns.pause()
        self._require()
        if self.turns.random.random() < self.pauses:
            self.turns.pause()
        self._require()
        self._swallow()

    def committed(self) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        """Return all nodes and requests."""
        return self.nodes(), self.requests()

    def is_away(self) -> bool:
        """Return whether it is out of reach."""
        return self.turns.now < self.away_until

    def nodes(self) -> list[dict[str, Any]]:
        """Read all nodes."""
        return self._read(f'SELECT {_OF_NODES} FROM nodes')

    def requests(self) -> list[dict[str, Any]]:
        """Read all requests, oldest first."""
        return self._read('SELECT * FROM ir_requests ORDER BY id')

    def _read(self, query: str) -> list[dict[str, Any]]:
        """Read committed rows; cached until the next commit of a change."""
        writes, rows = self._rows.get(query, (-1, []))
        if writes != self._writes:
            rows = self._query(query)
            self._rows[query] = self._writes, rows
        return rows

    def _query(self, query: str) -> list[dict[str, Any]]:
        cursor = self._reading.cursor()
        cursor.execute(query)
        names = [column[0] for column in cursor.description]
        return [
            dict(zip(names, row, strict=True)) for row in cursor.fetchall()
        ]

    def _begin(self, dbapi_connection: Any) -> None:
        self.turns.pause()
        self._require()
        self._do_begin(dbapi_connection)

    def _execute(
        self, cursor: Any, statement: str, parameters: Any, context: Any = None
    ) -> None:
        """Execute a statement, perhaps after a pause or with a fault."""
        actor = self.turns.current
        statement = self._replace_clock(statement)
        is_change = statement.startswith(('UPDATE', 'INSERT', 'DELETE'))
        if is_change:
            self._writing.add(cursor.connection)
        if actor is None:
            self._do_execute(cursor, statement, parameters, context)
            return
        if statement != 'BEGIN' and (self.turns.random.random() < self.pauses):
            self.turns.pause()
        self._require()
        self._swallow()
        connection = cursor.connection
        self._idle_since[connection] = math.inf
        try:
            self.waits.carry_out(
                connection,
                lambda: self._do_execute(
                    cursor, statement, parameters, context
                ),
            )
        finally:
            self._idle_since[connection] = self.turns.now
        if is_change:
            seconds, self.stall_inside = self.stall_inside, 0.0
            self._stall(actor, seconds)

    def end_idle_transactions(self, limit: float) -> None:
        """End transactions that were idle for too long, as a server does.

        :param limit: seconds.
        """
        for connection, since in list(self._idle_since.items()):
            if self.turns.now - since > limit:
                del self._idle_since[connection]
                self.waits.cut(connection)

    def _swallow(self) -> None:
        """Hang without an answer, then fail, if that is due."""
        seconds, self.swallow_next = self.swallow_next, 0.0
        if seconds:
            self.turns.note(f'no answer for {seconds:.0f} seconds')
            assert self.turns.current is not None
            self.turns.current.process.hangs_until = self.turns.now + seconds
            self.turns.pause(lambda: False, seconds)
            raise db_exc.DBConnectionError('the connection is lost')

    def _rollback(self, dbapi_connection: Any) -> None:
        self._end_of(dbapi_connection)
        self._do_rollback(dbapi_connection)

    def _close(self, dbapi_connection: Any) -> None:
        self._end_of(dbapi_connection)
        self._do_close(dbapi_connection)

    def _end_of(self, dbapi_connection: Any) -> None:
        self.waits.ends += 1
        self._idle_since.pop(_of_driver(dbapi_connection), None)
        self._writing.discard(_of_driver(dbapi_connection))

    def _commit(self, dbapi_connection: Any) -> None:
        if self.is_away() and self.turns.current is not None:
            # A server rolls back after it loses a connection.
            dbapi_connection.rollback()
        self._require()
        is_change = _of_driver(dbapi_connection) in self._writing
        if is_change:
            self.changed = self.was_written = True
        self._end_of(dbapi_connection)

        def commit() -> None:
            self._do_commit(dbapi_connection)
            self._writes += is_change

        if self.turns.current is None:
            commit()
            return
        self.around_commit(commit)
        self._stall_after_commit(self.turns.current)
        if self.lose_answers:
            self.lose_answers -= 1
            self.turns.note('the answer to a commit is lost')
            raise db_exc.DBConnectionError('the answer was lost')

    def _stall_after_commit(self, actor: scheduler.Actor) -> None:
        seconds, self.stall_next = self.stall_next, 0.0
        if not seconds and actor.local.get('claims'):
            seconds, self.stall_claim = self.stall_claim, 0.0
        self._stall(actor, seconds)

    def _stall(self, actor: scheduler.Actor, seconds: float) -> None:
        if seconds:
            actor.process.stalled_until = self.turns.now + seconds
            self.note_stall(actor.process)
            self.turns.note(f'stalls until {actor.process.stalled_until:.1f}')
            self.turns.pause()

    def _require(self) -> None:
        if self.is_away() and self.turns.current is not None:
            raise db_exc.DBConnectionError('the database is away')

    def _replace_clock(self, statement: str) -> str:
        """Replace the clock of the database by that of the scheduler."""
        if self._clock_sql not in statement:
            return statement
        if self.engine.dialect.name != 'sqlite':
            return statement.replace(self._clock_sql, f'({self.now()!r})')
        # A function, as the driver caches prepared statements by their text.
        if statement not in self._with_clock:
            self._with_clock[statement] = statement.replace(
                self._clock_sql, f'{_CLOCK}()'
            )
        return self._with_clock[statement]

    def _prepare_sqlite(self, connection: Any, record: Any) -> None:
        # The data need not be durable. A locked database must be an error at
        # once, so that the thread can pause.
        connection.execute('PRAGMA synchronous=OFF')
        connection.execute('PRAGMA busy_timeout=0')
        connection.create_function(_CLOCK, 0, self.now)


def _ignore(process: scheduler.Process) -> None:
    """Take no note of a stall."""


def _of_driver(connection: Any) -> Any:
    """Return the connection of the driver."""
    return getattr(connection, 'driver_connection', connection)
