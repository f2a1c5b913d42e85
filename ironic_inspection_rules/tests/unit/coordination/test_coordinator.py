# SPDX-License-Identifier: Apache-2.0

from collections.abc import Callable
import errno
import os
import pathlib
import socket
import stat
import sys
import threading
import typing
from unittest import mock

import fixtures
from ironic.conf import CONF
import tooz

from ironic_inspection_rules import conf
from ironic_inspection_rules import exceptions
from ironic_inspection_rules.coordination import coordinator
from ironic_inspection_rules.coordination import election
from ironic_inspection_rules.tests.unit import base


class CheckTestCase(base.IronicTestCase):
    def setUp(self):
        super().setUp()
        conf.register_opts(CONF)
        self.directory = pathlib.Path(
            self.useFixture(fixtures.TempDir()).path, 'coordination'
        )

    def check(self, url):
        self.config(group='coordination', backend_url=url)
        coordinator.check(CONF)

    def refused(self, url):
        exc = self.assertRaises(exceptions.Invalid, self.check, url)
        self.assertIn('[coordination]backend_url', str(exc))
        return str(exc)

    def test_what_can_be_used_passes(self):
        for url in (
            f'file://{self.directory}',
            'redis://192.0.2.1:6379',
            'redis://:secret@192.0.2.1:6379/1?ssl=true',
            'etcd3+http://192.0.2.1:2379?api_version=v3',
            'zookeeper://192.0.2.1:2181',
        ):
            self.check(url)

    def test_an_unknown_scheme_is_named(self):
        for scheme in ('rediss-typo', 'etcd3', 'mysql', ''):
            self.assertIn(
                f'"{scheme}" is none of file, redis',
                self.refused(f'{scheme}://192.0.2.1'),
            )

    def test_a_url_without_a_host_is_named(self):
        self.assertIn('no host', self.refused('redis:/192.0.2.1'))

    def test_a_directory_with_too_few_slashes_is_named(self):
        self.assertIn(
            'file:///directory', self.refused('file://var/lib/ironic')
        )

    def test_a_directory_that_cannot_be_made_is_named(self):
        self.directory.write_text('in the way')
        self.assertIn(
            str(self.directory), self.refused(f'file://{self.directory}')
        )

    def test_a_bad_port_is_named(self):
        self.assertIn('port', self.refused('redis://192.0.2.1:none'))

    def test_what_is_no_url_is_refused(self):
        for url in ('redis://[192.0.2.1', 'redis://:secret@\u2100.example'):
            message = self.refused(url)
            self.assertIn('not a URL', message)
            self.assertNotIn('secret', message)

    def test_a_missing_library_is_named(self):
        with mock.patch.dict(sys.modules, {'tooz.drivers.redis': None}):
            message = self.refused('redis://192.0.2.1')
        self.assertIn('tooz.drivers.redis', message)
        self.assertIn('tooz[redis]', message)

    def test_the_password_is_in_no_error(self):
        for url in (
            'redis-typo://:secret@192.0.2.1',
            'redis://:secret@:1',
            'redis://:secret/@192.0.2.1',
        ):
            self.assertNotIn('secret', self.refused(url))


class ProbeTestCase(base.IronicTestCase):
    def setUp(self):
        super().setUp()
        conf.register_opts(CONF)
        self.directory = pathlib.Path(
            self.useFixture(fixtures.TempDir()).path, 'a', 'coordination'
        )

    def probe(self, url):
        self.config(group='coordination', backend_url=url)
        coordinator.probe(CONF, 'prober')

    def refused(self, url):
        exc = self.assertRaises(exceptions.Invalid, self.probe, url)
        self.assertIn('[coordination]backend_url', str(exc))
        return str(exc)

    def test_no_directory_is_made_or_changed(self):
        self.probe(f'file://{self.directory}')
        self.assertFalse(self.directory.parent.exists())

        self.directory.mkdir(parents=True)
        self.directory.chmod(0o755)
        self.probe(f'file://{self.directory}')
        self.assertEqual(0o755, stat.S_IMODE(self.directory.stat().st_mode))
        self.assertEqual([], list(self.directory.iterdir()))

    def test_a_directory_that_cannot_be_used_is_named(self):
        self.directory.parent.write_text('in the way')
        for name in ('coordination', 'coordination/deeper', ''):
            message = self.refused(f'file://{self.directory.parent / name}')
            self.assertIn(str(self.directory.parent), message)
        with mock.patch('os.access', autospec=True, return_value=False):
            self.assertIn(os.strerror(errno.EACCES), self.refused('file:///'))

    def test_a_wrong_url_is_refused_as_at_the_start_of_a_service(self):
        self.assertIn('none of file', self.refused('mysql://192.0.2.1'))

    def test_a_service_that_does_not_answer_is_told(self):
        with socket.socket() as unused:
            unused.bind(('127.0.0.1', 0))
            port = unused.getsockname()[1]
            with mock.patch.object(coordinator, '_PROBE_TIMEOUT', 1):
                message = self.refused(f'redis://:secret@127.0.0.1:{port}')
        self.assertIn('does not answer', message)
        self.assertNotIn('secret', message)

    def test_an_option_of_the_url_may_be_wrong(self):
        message = self.refused('redis://127.0.0.1?socket_timeout=soon')
        self.assertNotIn('\n', message)


class PermissionsTestCase(base.IronicTestCase):
    def setUp(self):
        super().setUp()
        conf.register_opts(CONF)
        self.directory = pathlib.Path(
            self.useFixture(fixtures.TempDir()).path, 'coordination'
        )
        self.config(
            group='coordination', backend_url=f'file://{self.directory}'
        )

    def modes(self):
        return {
            path.name: stat.S_IMODE(path.stat().st_mode)
            for path in (self.directory, self.directory / 'lock')
        }

    def hold(self):
        with coordinator.LeasedLock(
            CONF.coordination.backend_url, 'member', 'lock', 3
        ) as lock:
            self.assertTrue(lock.hold())

    def test_nobody_else_can_open_a_lock(self):
        self.hold()
        self.assertEqual({'coordination': 0o700, 'lock': 0o600}, self.modes())

    def test_an_open_directory_of_before_is_closed(self):
        self.directory.mkdir()
        self.directory.chmod(0o755)
        self.hold()
        self.assertEqual(0o700, self.modes()['coordination'])

    def test_an_election_keeps_to_it(self):
        stop = threading.Event()
        stop.set()
        election.make(
            CONF, 'lock', 'member', on_gained=stop.set, on_lost=stop.set
        ).run(stop)
        self.assertEqual(0o700, stat.S_IMODE(self.directory.stat().st_mode))


class LeasedLockTestCase(base.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.directory = self.useFixture(fixtures.TempDir()).path

    def lock(self, member: str) -> coordinator.LeasedLock:
        return coordinator.LeasedLock(
            f'file://{self.directory}', member, 'lock', 1.0
        )

    def test_one_holds_and_another_does_not(self) -> None:
        with self.lock('first') as first, self.lock('second') as second:
            self.assertTrue(first.hold())
            self.assertFalse(second.hold())
            self.assertTrue(first.hold())

    def test_exit_frees_the_lock(self) -> None:
        with self.lock('second') as second:
            with self.lock('first') as first:
                first.hold()
            self.assertTrue(second.hold())

    def test_another_file_of_the_name_is_not_ours(self) -> None:
        with self.lock('first') as first:
            first.hold()
            path = pathlib.Path(self.directory, 'lock')
            path.rename(path.with_suffix('.old'))
            path.touch()
            self.assertRaises(coordinator.LockLost, first.hold)

    def test_exit_leaves_although_the_lock_cannot_be_freed(self) -> None:
        service = FakeCoordinator()
        self.useFixture(
            fixtures.MonkeyPatch(
                'tooz.coordination.get_coordinator',
                lambda *args, **kwargs: service,
            )
        )
        with self.lock('first') as first:
            first.hold()
        self.assertEqual(
            ['start', 'heartbeat', 'acquire', 'release', 'stop'], service.calls
        )


class FakeCoordinator:
    """A coordinator, and its lock, that is lost when it is to be freed."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    def __getattr__(self, name: str) -> Callable[..., bool]:
        return lambda **options: not self.calls.append(name)

    def get_lock(self, name: bytes) -> typing.Self:
        return self

    def release(self) -> None:
        self.calls.append('release')
        raise ConnectionError('the coordinator is away')


class EtcdLockTestCase(base.TestCase):
    """The driver for etcd cannot say whether a lock is still ours."""

    def setUp(self):
        super().setUp()
        self.service = mock.Mock(
            **{
                'get_lock.return_value.acquire.return_value': True,
                'get_lock.return_value.is_still_owner.side_effect': (
                    tooz.NotImplemented
                ),
                'get_lock.return_value._uuid': 'b3Vycw==',
                'client.get.return_value': [b'ours'],
            }
        )
        self.useFixture(
            fixtures.MonkeyPatch(
                'tooz.coordination.get_coordinator',
                lambda *args, **kwargs: self.service,
            )
        )

    def test_it_is_while_the_key_has_what_we_wrote(self):
        with coordinator.LeasedLock(
            'etcd3+http://etcd:2379', 'member', 'lock', 3
        ) as lock:
            self.assertEqual([True, True], [lock.hold(), lock.hold()])

    def test_it_is_lost_with_the_key_or_to_another(self):
        for found in ([], [b'theirs']):
            self.service.client.get.return_value = found
            with coordinator.LeasedLock(
                'etcd3+http://etcd:2379', 'member', 'lock', 3
            ) as lock:
                self.assertTrue(lock.hold(), repr(found))
                self.assertRaises(coordinator.LockLost, lock.hold)
