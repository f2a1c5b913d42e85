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

"""Ironics of different shapes, and databases for them, as fixtures."""

import atexit
from collections.abc import Sequence
import json
from typing import Self
import unittest
import uuid

import fixtures
from oslo_db import exception as db_exception
from oslo_db.sqlalchemy import provision
from testtools import content
from testtools import content_type

from ironic_inspection_rules.tests.live import launcher
from ironic_inspection_rules.tests.live import options


class AllInOne(fixtures.Fixture):
    """The all-in-one ``ironic`` service over an SQLite file.

    :param overrides: configuration on top of
        :func:`options.all_in_one`; the plugin is off with
        ``{'api': {'middleware': None}, 'inspector': {'hooks': None}}``.
    :param auth: user name and password for HTTP basic authentication.
    :ivar ironic: the running :class:`launcher.Ironic`.
    """

    services: Sequence[str] = ('ironic',)
    _shared: dict[str, Self] = {}

    def __init__(self, overrides: options.Options | None = None,
                 auth: tuple[str, str] | None = None) -> None:
        super().__init__()
        self._overrides = overrides or {}
        self._auth = auth

    @classmethod
    def shared(cls, overrides: options.Options | None = None) -> Self:
        """The one with these overrides that this process keeps to its end.

        Tests that leave nothing behind but nodes and rules of their own
        need not wait for an Ironic of their own.
        """
        key = f'{cls.__name__} {json.dumps(overrides, sort_keys=True)}'
        if key not in cls._shared:
            fixture = cls(overrides)
            fixture.setUp()
            atexit.register(fixture.cleanUp)
            cls._shared[key] = fixture
        return cls._shared[key]

    def _setUp(self) -> None:
        directory = self.useFixture(fixtures.TempDir()).path
        self.ironic = launcher.Ironic(directory, self._configuration(),
                                      self.services, self._auth)
        self.addDetail('ironic logs', content.Content(
            content_type.UTF8_TEXT,
            lambda: [self.ironic.logs().encode()]))
        self.addCleanup(self.ironic.stop)
        self.ironic.create_database()
        self.ironic.start()

    def _configuration(self) -> options.Options:
        return self._overrides


class Split(AllInOne):
    """A separate ``ironic-api`` and ``ironic-conductor`` over JSON-RPC.

    :param database: URL of an empty database for both.
    :param overrides: as of :class:`AllInOne`.
    """

    services = ('ironic-conductor', 'ironic-api')

    def __init__(self, database: str,
                 overrides: options.Options | None = None) -> None:
        super().__init__(overrides)
        self._database = database

    def _configuration(self) -> options.Options:
        return options.merged(
            options.split(),
            {'database': {'connection': self._database}}, self._overrides)


class Database(fixtures.Fixture):
    """An empty database on a server, dropped afterwards.

    The server is the one of ``OS_TEST_DBAPI_ADMIN_CONNECTION`` or, without
    it, a local one that knows the user ``openstack_citest``.

    :param kind: ``mysql`` or ``postgresql``.
    :raises: unittest.SkipTest when there is no such server.
    :ivar url: of the database.
    """

    def __init__(self, kind: str) -> None:
        super().__init__()
        self._kind = kind

    def _setUp(self) -> None:
        try:
            backend = provision.Backend.backend_for_database_type(self._kind)
        except db_exception.BackendNotAvailable as exc:
            raise unittest.SkipTest(f'no {self._kind} server: {exc}') from exc
        name = f'ir_{uuid.uuid4().hex}'
        backend.create_named_database(name)
        self.addCleanup(backend.drop_named_database, name)
        self.url = backend.provisioned_database_url(name).render_as_string(
            hide_password=False)
