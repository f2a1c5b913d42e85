# SPDX-License-Identifier: Apache-2.0

"""Throw-away databases for tests."""

import contextlib
import sqlite3
import typing

import fixtures
from ironic.db.sqlalchemy import models as ironic_models
from oslo_db import exception as db_exc
from oslo_db.sqlalchemy import enginefacade
from oslo_db.sqlalchemy import engines
from oslo_db.sqlalchemy import provision
from oslo_db.sqlalchemy import test_fixtures
from oslo_utils import uuidutils
import sqlalchemy as sa

from ironic_inspection_rules.db import history
from ironic_inspection_rules.db import migration
from ironic_inspection_rules.db import run
from ironic_inspection_rules.db import transaction


class _Compiled(sa.util.LRUCache):
    """What statements were compiled to, by the kind of database.

    An engine's own is for its own dialect, of which each test has a new one.
    """

    def get(self, key: typing.Any, default: typing.Any = None) -> typing.Any:
        return super().get((key[0].name, *key[1:]), default)

    def __setitem__(self, key: typing.Any, value: typing.Any) -> None:
        super().__setitem__((key[0].name, *key[1:]), value)


_compiled = _Compiled(2000)

_PATIENCE = 60.0
"""Seconds to wait for a lock or a connection; they are busy for less."""


class Database(fixtures.Fixture):
    """An empty database that oslo.db works on while the fixture is in use.

    :param kind: ``sqlite``, ``mysql`` or ``postgresql``. The server of the
        latter two is that of ``OS_TEST_DBAPI_ADMIN_CONNECTION`` (URLs with
        ``;`` between them) or else a local one that knows the user
        ``openstack_citest``.
    :param ready: whether it has this project's tables.
    :param ironic: whether it has Ironic's tables.
    :param query: what else the URL of the database says.
    :raises: oslo_db.exception.BackendNotAvailable when there is no such
        server; see :func:`why_absent`.
    """

    _made: typing.ClassVar[dict[tuple[bool, bool], bytes]] = {}
    """Files of SQLite by ``ready`` and ``ironic``; copying one is quick."""

    def __init__(self, kind: str = 'sqlite', ready: bool = True,
                 ironic: bool = False, **query: str) -> None:
        self.kind = kind
        self.ready = ready
        self.ironic = ironic
        self.query = query

    def _setUp(self) -> None:
        made = (self._made.get((self.ready, self.ironic))
                if self.kind == 'sqlite' else None)
        url = (self._make_file(made) if self.kind == 'sqlite'
               else self._make_on_server())
        facade = enginefacade.transaction_context()
        # What a test leaves need not outlive a loss of power.
        facade.configure(connection=url.render_as_string(False),
                         sqlite_synchronous=False)
        self.useFixture(test_fixtures.ReplaceEngineFacadeFixture(
            enginefacade._context_manager, facade))
        # Ironic reads the option once in a process, and keeps what it says.
        self.useFixture(fixtures.MonkeyPatch(
            'ironic.common.utils.USING_SQLITE', self.kind == 'sqlite'))
        self.engine = facade.writer.get_engine()
        self.engine._compiled_cache = _compiled
        # Needed for green threads only, and slow on a busy machine.
        sa.event.remove(self.engine, 'checkin', engines._thread_yield)
        if self.kind == 'sqlite':
            # Without a pool, each transaction opens the file again.
            self.engine.pool = sa.QueuePool(
                self.engine.pool._creator, pool_size=20, timeout=_PATIENCE,
                dialect=self.engine.dialect,
                _dispatch=self.engine.pool.dispatch)
        self.addCleanup(self.engine.dispose)
        if made is None:
            self._make_tables()

    def _make_tables(self) -> None:
        if self.ready:
            migration.upgrade()
        if self.ironic:
            ironic_models.Base.metadata.create_all(self.engine)
        if self.kind == 'sqlite':
            path = self.engine.url.database
            with contextlib.closing(sqlite3.connect(path)) as connection:
                connection.execute('PRAGMA wal_checkpoint(TRUNCATE)')
            with open(path, 'rb') as stream:
                self._made[self.ready, self.ironic] = stream.read()

    def _make_file(self, made: bytes | None) -> sa.URL:
        directory = self.useFixture(fixtures.TempDir()).path
        path = f'{directory}/test.sqlite'
        if made is not None:
            with open(path, 'wb') as stream:
                stream.write(made)
            return self._sqlite_url(path)
        # As Ironic has it.
        with contextlib.closing(sqlite3.connect(path)) as connection:
            connection.execute('PRAGMA journal_mode=WAL')
        return self._sqlite_url(path)

    @staticmethod
    def _sqlite_url(path: str) -> sa.URL:
        return sa.make_url(f'sqlite:///{path}?timeout={_PATIENCE:g}')

    def _make_on_server(self) -> sa.URL:
        backend = provision.Backend.backend_for_database_type(self.kind)
        name = 'ir_' + uuidutils.generate_uuid(dashed=False)
        backend.create_named_database(name)
        self.addCleanup(backend.drop_named_database, name)
        return backend.provisioned_database_url(name).set(query=self.query)


def record_run(values: typing.Mapping[str, typing.Any], keep: int) -> None:
    """Store a run of rules in a transaction of its own."""
    transaction.within(None, lambda connection: run.record_run(
        connection, values, keep))


def keep_inspection(kept: dict[str, typing.Any]) -> None:
    """Store what :func:`.runs.history.prepare` returns, likewise."""
    transaction.within(None, lambda connection: history.record(
        connection, **kept))


def why_absent(kind: str) -> str | None:
    """Tell why there is no database of a kind, None if there is one."""
    try:
        provision.Backend.backend_for_database_type(kind)
    except db_exc.BackendNotAvailable as exc:
        return f'no {kind} server: {exc}'
    return None
