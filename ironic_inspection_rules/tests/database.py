# SPDX-License-Identifier: Apache-2.0

"""Temporary databases for tests."""

import atexit
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
from ironic_inspection_rules.db import rule_set
from ironic_inspection_rules.db import run
from ironic_inspection_rules.db import transaction
from ironic_inspection_rules.runs import history as runs_history


class _Compiled(sa.util.LRUCache):
    """A cache of compiled statements that the engines of all tests share.

    The cache of an engine uses the dialect object as part of the key. Because
    every test has a new dialect object, this cache uses its name instead.
    """

    def get(self, key: typing.Any, default: typing.Any = None) -> typing.Any:
        return super().get((key[0].name, *key[1:]), default)

    def __setitem__(self, key: typing.Any, value: typing.Any) -> None:
        super().__setitem__((key[0].name, *key[1:]), value)


_compiled = _Compiled(2000)

_PATIENCE = 60.0
"""Seconds to wait for a lock or a connection.

Locks and connections are never held for so long.
"""


class Database(fixtures.Fixture):
    """An empty database that oslo.db works on while the fixture is in use.

    :param kind: ``sqlite``, ``mysql`` or ``postgresql``. For the latter two,
        ``OS_TEST_DBAPI_ADMIN_CONNECTION`` has the URLs of the servers,
        separated by ``;``. Otherwise a local server with the user
        ``openstack_citest`` is used.
    :param ready: whether the database has this project's tables.
    :param ironic: whether the database has Ironic's tables.
    :param query: parameters to add to the URL of the database.
    :raises: oslo_db.exception.BackendNotAvailable if there is no such server;
        see :func:`why_absent`.
    """

    def __init__(
        self,
        kind: str = 'sqlite',
        ready: bool = True,
        ironic: bool = False,
        **query: str,
    ) -> None:
        self.kind = kind
        self.ready = ready
        self.ironic = ironic
        self.query = query

    def _setUp(self) -> None:
        template = _templates.get((self.kind, self.ready, self.ironic))
        url = _KINDS[self.kind].make(self, template)
        self.engine = self._use(url.update_query_dict(self.query))
        if template is None:
            self._make_tables()

    def _use(self, url: sa.URL) -> sa.Engine:
        """Make oslo.db use a database.

        :returns: the engine that oslo.db uses.
        """
        facade = enginefacade.transaction_context()
        # Do not sync files to the disk, because the data of a test need not
        # survive a power failure.
        facade.configure(
            connection=url.render_as_string(False), sqlite_synchronous=False
        )
        self.useFixture(
            test_fixtures.ReplaceEngineFacadeFixture(
                enginefacade._context_manager, facade
            )
        )
        # Patch this, because Ironic reads the option only once per process.
        self.useFixture(
            fixtures.MonkeyPatch(
                'ironic.common.utils.USING_SQLITE', self.kind == 'sqlite'
            )
        )
        engine = facade.writer.get_engine()
        engine._compiled_cache = _compiled
        # Remove this listener, because only green threads need it and it is
        # slow on a busy machine.
        sa.event.remove(engine, 'checkin', engines._thread_yield)
        if self.kind == 'sqlite':
            # Use a pool, because otherwise every transaction opens the file.
            engine.pool = sa.QueuePool(
                engine.pool._creator,
                pool_size=20,
                timeout=_PATIENCE,
                dialect=engine.dialect,
                _dispatch=engine.pool.dispatch,
            )
        self.addCleanup(engine.dispose)
        return engine

    def _make_tables(self) -> None:
        """Create the tables, and keep them as a template for later tests."""
        if self.ready:
            migration.upgrade()
        if self.ironic:
            ironic_models.Base.metadata.create_all(self.engine)
        if self.ready or self.ironic:
            _templates[self.kind, self.ready, self.ironic] = _KINDS[
                self.kind
            ].keep(self.engine)


class _SQLite:
    """Makes SQLite files in temporary directories of tests.

    A template is the content of such a file.
    """

    @staticmethod
    def make(test: Database, template: bytes | None) -> sa.URL:
        """Create a file from a template, or an empty one; return its URL."""
        directory = test.useFixture(fixtures.TempDir()).path
        path = f'{directory}/test.sqlite'
        if template is not None:
            with open(path, 'wb') as stream:
                stream.write(template)
        else:
            # Use a write-ahead log, because Ironic does.
            with contextlib.closing(sqlite3.connect(path)) as connection:
                connection.execute('PRAGMA journal_mode=WAL')
        return sa.make_url(f'sqlite:///{path}?timeout={_PATIENCE:g}')

    @staticmethod
    def keep(engine: sa.Engine) -> bytes:
        """Return the content of the file as a template."""
        # Write the changes from the write-ahead log into the file first.
        path = engine.url.database
        with contextlib.closing(sqlite3.connect(path)) as connection:
            connection.execute('PRAGMA wal_checkpoint(TRUNCATE)')
        with open(path, 'rb') as stream:
            return stream.read()


class _MySQL:
    """Makes databases on the MySQL server.

    A template is a list of SQL statements that create the tables.
    """

    @staticmethod
    def make(test: Database, template: list[str] | None) -> sa.URL:
        """Create a database, run the template's statements; return its URL."""
        url = _make_on_server(test)
        if template is not None:
            engine = sa.create_engine(url)
            with engine.begin() as connection:
                for statement in template:
                    connection.exec_driver_sql(statement)
            engine.dispose()
        return url

    @staticmethod
    def keep(engine: sa.Engine) -> list[str]:
        """Return statements that create the tables and their rows."""
        # Tables may have foreign keys to tables that are created later.
        statements = ['SET FOREIGN_KEY_CHECKS = 0']
        rows = []
        with engine.connect() as connection:
            for table in sa.inspect(connection).get_table_names():
                _name, statement = connection.exec_driver_sql(
                    f'SHOW CREATE TABLE `{table}`'
                ).one()
                statements.append(statement.replace('%', '%%'))
                rows += _rows_as_statements(connection, table)
        return statements + rows


class _PostgreSQL:
    """Makes databases on the PostgreSQL server.

    A template is the name of a database to clone.
    """

    @staticmethod
    def make(test: Database, template: str | None) -> sa.URL:
        """Clone the template, or create an empty database; return its URL."""
        if template is None:
            return _make_on_server(test)
        backend = _backend('postgresql')
        name = _new_name()
        _clone(backend, template, name)
        test.addCleanup(backend.drop_named_database, name)
        return backend.provisioned_database_url(name)

    @staticmethod
    def keep(engine: sa.Engine) -> str:
        """Clone the database as a template, and return its name."""
        backend = _backend('postgresql')
        name = _new_name()
        # Close all connections, because PostgreSQL cannot clone a database
        # that is in use.
        engine.dispose()
        _clone(backend, engine.url.database, name)
        atexit.register(backend.drop_named_database, name)
        return name


def _backend(kind: str) -> provision.Backend:
    """Return oslo.db's access to the server of a kind."""
    return provision.Backend.backend_for_database_type(kind)


def _new_name() -> str:
    """Return a unique name for a database."""
    return 'ir_' + uuidutils.generate_uuid(dashed=False)


def _make_on_server(test: Database) -> sa.URL:
    """Create an empty database, which is dropped when the test ends.

    :returns: the URL of the database.
    """
    backend = _backend(test.kind)
    name = _new_name()
    backend.create_named_database(name)
    test.addCleanup(backend.drop_named_database, name)
    return backend.provisioned_database_url(name)


def _clone(backend: provision.Backend, template: str, name: str) -> None:
    """Create a database as a copy of another one."""
    # Use autocommit, because PostgreSQL does not allow CREATE DATABASE in a
    # transaction.
    with backend.engine.connect() as connection:
        connection.execution_options(isolation_level='AUTOCOMMIT')
        connection.exec_driver_sql(
            f'CREATE DATABASE {name} TEMPLATE {template}'
        )


def _rows_as_statements(connection: sa.Connection, table: str) -> list[str]:
    """Return one INSERT statement per row that migrations left in a table."""
    statements = []
    for row in connection.exec_driver_sql(f'SELECT * FROM `{table}`'):
        values = ', '.join(repr(value) for value in row)
        statements.append(
            f'INSERT INTO `{table}` VALUES ({values})'.replace('%', '%%')
        )
    return statements


_KINDS = {'sqlite': _SQLite, 'mysql': _MySQL, 'postgresql': _PostgreSQL}

_templates: dict[tuple[str, bool, bool], typing.Any] = {}
"""Templates of databases by ``kind``, ``ready`` and ``ironic``.

They are used because creating the tables takes seconds on a server, and
cloning them takes much less time.
"""


def read_revision() -> int:
    """Read the revision of the rule set."""
    with transaction.reader() as session:
        return rule_set.read_revision(session)


def record_run(values: typing.Mapping[str, typing.Any], keep: int) -> None:
    """Store a run of rules in its own transaction."""
    transaction.write(
        lambda connection: run.record_run(connection, values, keep)
    )


def keep_inspection(kept: runs_history.PreparedInspection) -> None:
    """Store an inspection in its own transaction."""
    transaction.write(
        lambda connection: history.record(
            connection, kept.values, kept.new_stays, kept.end_times
        )
    )


def why_absent(kind: str) -> str | None:
    """Return why there is no server of a kind, or None if there is one."""
    try:
        provision.Backend.backend_for_database_type(kind)
    except db_exc.BackendNotAvailable as exc:
        return f'no {kind} server: {exc}'
    return None
