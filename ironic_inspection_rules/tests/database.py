# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""Throw-away databases for tests."""

import contextlib
import os
import sqlite3

import fixtures
from oslo_db.sqlalchemy import enginefacade
from oslo_db.sqlalchemy import test_fixtures
from oslo_utils import uuidutils
import sqlalchemy as sa

from ironic_inspection_rules.db import migration

SERVERS = {
    'mysql': ('IR_TEST_MYSQL_URL',
              'mysql+pymysql://openstack_citest:openstack_citest@localhost/'
              'openstack_citest'),
    'postgresql': ('IR_TEST_POSTGRESQL_URL',
                   'postgresql+psycopg2://openstack_citest:openstack_citest'
                   '@localhost/openstack_citest'),
}


class Database(fixtures.Fixture):
    """An empty database that oslo.db works on while the fixture is in use.

    :param backend: ``sqlite``, ``mysql`` or ``postgresql``. The latter two
        take the server that an environment variable names by its URL, or
        else the usual ``openstack_citest`` one.
    :param ready: whether it has this project's tables.
    :param query: what else the URL of the database says.
    """

    def __init__(self, backend: str = 'sqlite', ready: bool = True,
                 **query: str) -> None:
        self.backend = backend
        self.ready = ready
        self.query = query

    def _setUp(self) -> None:
        self.url = (self._make_file() if self.backend == 'sqlite'
                    else self._make_on_server())
        facade = enginefacade.transaction_context()
        facade.configure(connection=self.url.render_as_string(False))
        self.useFixture(test_fixtures.ReplaceEngineFacadeFixture(
            enginefacade._context_manager, facade))
        self.engine = facade.writer.get_engine()
        self.addCleanup(self.engine.dispose)
        if self.ready:
            migration.upgrade()

    def _make_file(self) -> sa.URL:
        directory = self.useFixture(fixtures.TempDir()).path
        path = f'{directory}/test.sqlite'
        # As Ironic has it.
        with contextlib.closing(sqlite3.connect(path)) as connection:
            connection.execute('PRAGMA journal_mode=WAL')
        return sa.make_url(f'sqlite:///{path}')

    def _make_on_server(self) -> sa.URL:
        server = sa.create_engine(server_url(self.backend),
                                  isolation_level='AUTOCOMMIT')
        self.addCleanup(server.dispose)
        name = 'ir_test_' + uuidutils.generate_uuid(dashed=False)
        with server.connect() as connection:
            connection.execute(sa.text(f'CREATE DATABASE {name}'))
        self.addCleanup(self._drop, server, name)
        return server.url.set(database=name, query=self.query)

    def _drop(self, server: sa.Engine, name: str) -> None:
        with server.connect() as connection:
            connection.execute(sa.text(f'DROP DATABASE {name}'))


def server_url(backend: str) -> str:
    """Tell where the tests find a database server."""
    variable, usual = SERVERS[backend]
    return os.environ.get(variable, usual)


def why_absent(backend: str) -> str | None:
    """Tell why no test can use a server, None if one can."""
    server = sa.create_engine(server_url(backend))
    try:
        server.connect().close()
    except sa.exc.OperationalError as exc:
        return (f'no {backend} server for {SERVERS[backend][0]} '
                f'({server.url}): {exc.orig}')
    finally:
        server.dispose()
    return None
