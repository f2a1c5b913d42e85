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

import pathlib
import shutil
import threading
import time
import typing

import fixtures

from ironic_inspection_rules.ha import election
from ironic_inspection_rules.tests.unit import base

LEASE = 0.3
BEAT = 0.02
PATIENCE = 20


class Member:
    """A candidate that runs in a thread and writes down what it is told."""

    def __init__(self, name: str, url: str, diary: list[tuple[str, str]],
                 **options: typing.Any) -> None:
        self.name = name
        self.gained = threading.Event()
        self.lost = threading.Event()
        self.failure: Exception | None = None
        self._diary = diary
        self._stop = threading.Event()
        self.election = election.Election(
            'office', url, name, on_gained=self._on_gained,
            on_lost=self._on_lost, lease=LEASE, beat=BEAT,
            connection_retry_interval=BEAT, **options)
        self._thread = threading.Thread(target=self._run)

    def _run(self) -> None:
        try:
            self.election.run(self._stop)
        except Exception as exc:
            self.failure = exc

    def _on_gained(self) -> None:
        self._diary.append((self.name, 'gained'))
        self.lost.clear()
        self.gained.set()

    def _on_lost(self) -> None:
        self._diary.append((self.name, 'lost'))
        self.gained.clear()
        self.lost.set()

    def start(self) -> typing.Self:
        self._thread.start()
        return self

    def stop(self) -> None:
        self._stop.set()
        self.wait()

    def wait(self) -> None:
        self._thread.join(PATIENCE)


class TenureTestCase(base.TestCase):

    def test_not_leader_while_an_earlier_one_may_act(self) -> None:
        tenure = election.Tenure(since=13.0, until=15.0)
        self.assertEqual(0.0, tenure.remaining(12.9))

    def test_leader_until_the_lease_ends(self) -> None:
        tenure = election.Tenure(since=13.0, until=15.0)
        self.assertEqual(2.0, tenure.remaining(13.0))
        self.assertEqual(0.0, tenure.remaining(15.0))
        self.assertEqual(0.0, tenure.remaining(99.0))

    def test_never_leader_when_the_lease_ends_before_it_may_begin(
            self) -> None:
        tenure = election.Tenure(since=13.0, until=11.0)
        self.assertEqual(0.0, tenure.remaining(12.0))
        self.assertEqual(0.0, tenure.remaining(14.0))


class ElectionTestCase(base.TestCase):

    def setUp(self) -> None:
        super().setUp()
        self.directory = pathlib.Path(
            self.useFixture(fixtures.TempDir()).path, 'coordination')
        self.url = f'file://{self.directory}'
        self.diary: list[tuple[str, str]] = []

    def member(self, name: str, **options: typing.Any) -> Member:
        member = Member(name, self.url, self.diary, **options)
        self.addCleanup(member.stop)
        return member.start()

    def test_a_lone_member_leads(self) -> None:
        alone = self.member('alone')
        self.assertTrue(alone.gained.wait(PATIENCE))
        self.assertTrue(alone.election.is_leader)

    def test_stop_loses_the_office_first(self) -> None:
        alone = self.member('alone')
        self.assertTrue(alone.gained.wait(PATIENCE))
        alone.stop()
        self.assertEqual([('alone', 'gained'), ('alone', 'lost')],
                         self.diary)
        self.assertFalse(alone.election.is_leader)
        self.assertIsNone(alone.failure)

    def test_one_of_two_leads_and_the_other_follows_it(self) -> None:
        first = self.member('first')
        self.assertTrue(first.gained.wait(PATIENCE))
        second = self.member('second')
        self.assertFalse(second.gained.wait(3 * LEASE))
        first.stop()
        self.assertTrue(second.gained.wait(PATIENCE))
        self.assertEqual(
            [('first', 'gained'), ('first', 'lost'), ('second', 'gained')],
            self.diary)

    def test_offices_are_apart(self) -> None:
        first = self.member('first')
        other = election.Election('other', self.url, 'second', lease=LEASE,
                                  beat=BEAT)
        stop = threading.Event()
        thread = threading.Thread(target=other.run, args=(stop,))
        thread.start()
        self.addCleanup(thread.join)
        self.addCleanup(stop.set)
        self.assertTrue(first.gained.wait(PATIENCE))
        self.wait_for(lambda: other.is_leader)

    def test_a_coordinator_that_vanished_is_lost(self) -> None:
        alone = self.member('alone', connection_retries=1000)
        self.assertTrue(alone.gained.wait(PATIENCE))
        shutil.rmtree(self.directory)
        self.assertTrue(alone.lost.wait(PATIENCE))

    def test_leads_again_when_the_coordinator_is_back(self) -> None:
        alone = self.member('alone', connection_retries=1000)
        self.assertTrue(alone.gained.wait(PATIENCE))
        shutil.rmtree(self.directory)
        self.assertTrue(alone.lost.wait(PATIENCE))
        self.assertTrue(alone.gained.wait(PATIENCE))

    def test_gives_up_after_the_retries(self) -> None:
        self.directory.write_text('in the way')
        member = self.member('alone', connection_retries=2)
        member.wait()
        self.assertIsInstance(member.failure, election.CoordinatorLost)
        self.assertIn('office', str(member.failure))
        self.assertEqual([], self.diary)

    def test_a_callback_that_fails_ends_the_run(self) -> None:
        def fail() -> None:
            raise RuntimeError('no')
        office = election.Election('office', self.url, 'alone',
                                   on_gained=fail, lease=LEASE, beat=BEAT)
        self.assertRaises(RuntimeError, office.run, threading.Event())

    def wait_for(self, holds: typing.Callable[[], bool]) -> None:
        deadline = time.monotonic() + PATIENCE
        while not holds() and time.monotonic() < deadline:
            time.sleep(BEAT)
        self.assertTrue(holds())


class FakeCoordinator:
    """Stands for a driver whose answers a test chooses."""

    def __init__(self) -> None:
        self.lock = FakeLock()
        self.answering = threading.Event()
        self.answering.set()

    def start(self) -> None:
        pass

    def stop(self) -> None:
        pass

    def heartbeat(self) -> None:
        self.answering.wait(PATIENCE)

    def get_lock(self, name: bytes) -> 'FakeLock':
        return self.lock


class FakeLock:

    def __init__(self) -> None:
        self.ours = True

    def acquire(self, blocking: bool) -> bool:
        return self.ours

    def is_still_owner(self) -> bool:
        return self.ours

    def release(self) -> bool:
        return True


class UnreliableCoordinatorTestCase(base.TestCase):

    def setUp(self) -> None:
        super().setUp()
        self.coordinator = FakeCoordinator()
        self.useFixture(fixtures.MonkeyPatch(
            'tooz.coordination.get_coordinator',
            lambda *args, **kwargs: self.coordinator))
        self.leader = Member('leader', 'fake://', [])
        self.leader.start()
        self.addCleanup(self.leader.stop)
        self.addCleanup(self.coordinator.answering.set)
        self.assertTrue(self.leader.gained.wait(PATIENCE))

    def test_one_that_hangs_is_lost_by_the_clock(self) -> None:
        self.coordinator.answering.clear()
        self.assertTrue(self.leader.lost.wait(PATIENCE))
        self.assertFalse(self.leader.election.is_leader)

    def test_a_late_confirmation_does_not_count(self) -> None:
        self.coordinator.answering.clear()
        self.assertTrue(self.leader.lost.wait(PATIENCE))
        self.coordinator.answering.set()
        self.assertFalse(self.leader.gained.wait(LEASE / 2))
        self.assertTrue(self.leader.gained.wait(PATIENCE))

    def test_a_lock_that_is_gone_is_lost(self) -> None:
        self.coordinator.lock.ours = False
        self.assertTrue(self.leader.lost.wait(PATIENCE))

    def test_stop_does_not_wait_for_an_answer(self) -> None:
        self.coordinator.answering.clear()
        self.leader.stop()
        self.assertTrue(self.leader.lost.is_set())
