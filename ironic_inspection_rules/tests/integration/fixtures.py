# SPDX-License-Identifier: Apache-2.0

"""Ironics of different shapes, and databases for them, as fixtures."""

import atexit
from collections.abc import Sequence
import functools
import json
import subprocess
import tempfile
from typing import Self
import unittest
import uuid

import fixtures
from testtools import content
from testtools import content_type

from ironic_inspection_rules.tests.live import launcher
from ironic_inspection_rules.tests.live import options

TEMP = tempfile.gettempdir()
"""Tests have temporary directories of their own, which go when they end."""

_KEPT = 2
"""How many Ironics a process keeps for other tests."""


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

    def __init__(
        self,
        overrides: options.Options | None = None,
        auth: tuple[str, str] | None = None,
    ) -> None:
        super().__init__()
        self._overrides = overrides or {}
        self._auth = auth

    @classmethod
    def shared(cls, overrides: options.Options | None = None) -> Self:
        """The one with these overrides that this process keeps for a while.

        Tests that leave nothing behind but nodes and rules of their own
        need not wait for an Ironic of their own. An idle one takes
        processor time from the others, so the one that was used longest
        ago ends where there are too many.
        """
        key = f'{cls.__name__} {json.dumps(overrides, sort_keys=True)}'
        fixture = cls._shared.pop(key, None)
        if fixture is None:
            if len(cls._shared) == _KEPT:
                cls._end(next(iter(cls._shared)))
            fixture = cls(overrides)
            fixture.setUp()
        cls._shared[key] = fixture
        return fixture

    @classmethod
    def _end(cls, key: str) -> None:
        fixture = cls._shared.pop(key)
        fixture.ironic.kill()
        fixture.cleanUp()

    @classmethod
    def end_shared(cls) -> None:
        """End those that are still kept."""
        for key in list(cls._shared):
            cls._end(key)

    def _setUp(self) -> None:
        directory = self.useFixture(fixtures.TempDir(TEMP)).path
        self.ironic = launcher.Ironic(
            directory, self._overrides, self.services, self._auth
        )
        self.addDetail(
            'ironic logs',
            content.Content(
                content_type.UTF8_TEXT, lambda: [self.ironic.logs().encode()]
            ),
        )
        self.addCleanup(self.ironic.stop)
        self._create_database()
        self.ironic.start()

    def _create_database(self) -> None:
        self.ironic.database_file.write_bytes(empty_database())


atexit.register(AllInOne.end_shared)


@functools.cache
def empty_database() -> bytes:
    """Return an SQLite file with all tables; making one takes seconds."""
    with tempfile.TemporaryDirectory() as directory:
        ironic = launcher.Ironic(directory)
        ironic.create_database()
        return ironic.database_file.read_bytes()


class Split(AllInOne):
    """A separate ``ironic-api`` and ``ironic-conductor``.

    They speak JSON-RPC with each other.

    :param database: URL of an empty database for both.
    :param overrides: as of :class:`AllInOne`.
    """

    services = ('ironic-conductor', 'ironic-api')

    def __init__(
        self, database: str, overrides: options.Options | None = None
    ) -> None:
        super().__init__(
            options.merged(
                options.split(),
                {'database': {'connection': database}},
                overrides or {},
            )
        )

    def _create_database(self) -> None:
        self.ironic.create_database()


class MessageBus(fixtures.Fixture):
    """An empty virtual host of the local RabbitMQ, removed afterwards.

    Needs the right to use ``rabbitmqctl``.

    :ivar url: as the option ``transport_url`` takes it.
    """

    def _setUp(self) -> None:
        name = f'ir_{uuid.uuid4().hex}'
        try:
            self._control('add_vhost', name)
        except (OSError, subprocess.CalledProcessError) as exc:
            raise unittest.SkipTest(f'no RabbitMQ here: {exc}') from exc
        self.addCleanup(self._control, 'delete_vhost', name)
        self._control('set_permissions', '-p', name, 'guest', '.*', '.*', '.*')
        self.url = f'rabbit://guest:guest@127.0.0.1:5672/{name}'

    def _control(self, *arguments: str) -> None:
        subprocess.run(
            ['rabbitmqctl', '-q', *arguments], check=True, capture_output=True
        )
