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
import sqlite3

import fixtures
from oslo_db import exception as db_exc
from oslo_db.sqlalchemy import enginefacade
from oslo_db.sqlalchemy import provision
from oslo_db.sqlalchemy import test_fixtures
from oslo_utils import uuidutils
import sqlalchemy as sa

from ironic_inspection_rules.db import migration


class Database(fixtures.Fixture):
    """An empty database that oslo.db works on while the fixture is in use.

    :param kind: ``sqlite``, ``mysql`` or ``postgresql``. The server of the
        latter two is that of ``OS_TEST_DBAPI_ADMIN_CONNECTION`` (URLs with
        ``;`` between them) or else a local one that knows the user
        ``openstack_citest``.
    :param ready: whether it has this project's tables.
    :param query: what else the URL of the database says.
    :raises: oslo_db.exception.BackendNotAvailable when there is no such
        server; see :func:`why_absent`.
    """

    def __init__(self, kind: str = 'sqlite', ready: bool = True,
                 **query: str) -> None:
        self.kind = kind
        self.ready = ready
        self.query = query

    def _setUp(self) -> None:
        url = (self._make_file() if self.kind == 'sqlite'
               else self._make_on_server())
        facade = enginefacade.transaction_context()
        facade.configure(connection=url.render_as_string(False))
        self.useFixture(test_fixtures.ReplaceEngineFacadeFixture(
            enginefacade._context_manager, facade))
        # Ironic reads the option once in a process, and keeps what it says.
        self.useFixture(fixtures.MonkeyPatch(
            'ironic.common.utils.USING_SQLITE', self.kind == 'sqlite'))
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
        backend = provision.Backend.backend_for_database_type(self.kind)
        name = 'ir_' + uuidutils.generate_uuid(dashed=False)
        backend.create_named_database(name)
        self.addCleanup(backend.drop_named_database, name)
        return backend.provisioned_database_url(name).set(query=self.query)


def why_absent(kind: str) -> str | None:
    """Tell why there is no database of a kind, None if there is one."""
    try:
        provision.Backend.backend_for_database_type(kind)
    except db_exc.BackendNotAvailable as exc:
        return f'no {kind} server: {exc}'
    return None
