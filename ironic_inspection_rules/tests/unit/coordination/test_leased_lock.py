# SPDX-License-Identifier: Apache-2.0

from collections.abc import Callable
import pathlib
import typing

import fixtures

from ironic_inspection_rules.coordination import leased_lock
from ironic_inspection_rules.tests.unit import base


class LeasedLockTestCase(base.TestCase):

    def setUp(self) -> None:
        super().setUp()
        self.directory = self.useFixture(fixtures.TempDir()).path

    def lock(self, member: str) -> leased_lock.LeasedLock:
        return leased_lock.LeasedLock(
            f'file://{self.directory}', member, 'lock', 1.0)

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
            self.assertRaises(leased_lock.LockLost, first.hold)

    def test_exit_leaves_although_the_lock_cannot_be_freed(self) -> None:
        service = FakeCoordinator()
        self.useFixture(fixtures.MonkeyPatch(
            'tooz.coordination.get_coordinator',
            lambda *args, **kwargs: service))
        with self.lock('first') as first:
            first.hold()
        self.assertEqual(['start', 'heartbeat', 'acquire', 'release', 'stop'],
                         service.calls)


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
