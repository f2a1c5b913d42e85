# SPDX-License-Identifier: Apache-2.0

import os
import signal
import subprocess
import sys
import threading
import time
import typing

import fixtures

from ironic_inspection_rules.coordination import election
from ironic_inspection_rules.tests.functional import coordinator
from ironic_inspection_rules.tests.unit import base

LEASE = 1
HEARTBEAT = 0.1
PATIENCE = 60


class Member(fixtures.Fixture):
    """A candidate in a process of its own, this module run as a program."""

    def __init__(self, url: str, name: str) -> None:
        super().__init__()
        self._arguments = [
            sys.executable,
            '-W',
            'ignore',
            '-m',
            __name__,
            url,
            name,
        ]
        self.leads = threading.Event()
        self.follows = threading.Event()

    def _setUp(self) -> None:
        self._process = subprocess.Popen(
            self._arguments,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self._reader = threading.Thread(target=self._read)
        self._reader.start()
        self.addCleanup(self._end)

    def _read(self) -> None:
        for line in self._process.stdout:
            now, before = self.leads, self.follows
            if line != 'gained\n':
                now, before = before, now
            before.clear()
            now.set()

    def _end(self) -> None:
        self._process.kill()
        self._process.wait()
        self._reader.join()
        self._process.stdout.close()

    def signal(self, number: int) -> None:
        os.kill(self._process.pid, number)


def main(url: str, name: str) -> None:
    """Take part until SIGTERM, printing every change."""
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda number, frame: stop.set())
    election.Election(
        'election',
        url,
        name,
        lease=LEASE,
        heartbeat=HEARTBEAT,
        connection_retry_interval=HEARTBEAT,
        on_gained=lambda: print('gained', flush=True),
        on_lost=lambda: print('lost', flush=True),
    ).run(stop)


class Mixin:
    """What must hold with every backend."""

    url: str

    def member(self, name: str) -> Member:
        return self.useFixture(Member(self.url, name))

    def leader_and_other(self) -> tuple[Member, Member]:
        leader = self.member('leader')
        self.assertTrue(leader.leads.wait(PATIENCE))
        return leader, self.member('other')

    def test_another_leads_after_a_stop(self) -> None:
        leader, other = self.leader_and_other()
        leader.signal(signal.SIGTERM)
        self.assertTrue(other.leads.wait(PATIENCE))
        self.assertTrue(leader.follows.wait(PATIENCE))

    def test_another_leads_after_a_kill(self) -> None:
        leader, other = self.leader_and_other()
        leader.signal(signal.SIGKILL)
        self.assertTrue(other.leads.wait(PATIENCE))


class ServerMixin(Mixin):
    """What must hold when the coordinator is a server."""

    server: type[coordinator.Coordinator]

    def setUp(self) -> None:
        super().setUp()
        missing = self.server.why_missing()
        if missing:
            self.skipTest(missing)
        self.coordinator = self.useFixture(self.server())
        self.url = self.coordinator.url

    def test_no_leader_without_the_coordinator(self) -> None:
        leader, other = self.leader_and_other()
        self.coordinator.stop()
        self.check_nobody_leads(leader, other)
        self.coordinator.start()
        self.wait_for_leaders(1, leader, other)

    def test_a_leader_whose_lock_is_taken_away_steps_down(self) -> None:
        leader, other = self.leader_and_other()
        self.coordinator.forget('election')
        self.assertTrue(leader.follows.wait(PATIENCE))
        self.wait_for_leaders(1, leader, other)

    def test_no_leader_while_the_coordinator_hangs(self) -> None:
        leader, other = self.leader_and_other()
        self.coordinator.freeze()
        self.check_nobody_leads(leader, other)
        self.coordinator.thaw()
        self.wait_for_leaders(1, leader, other)

    def test_a_suspended_leader_is_followed_and_steps_down(self) -> None:
        leader, other = self.leader_and_other()
        leader.signal(signal.SIGSTOP)
        self.assertTrue(other.leads.wait(PATIENCE))
        leader.signal(signal.SIGCONT)
        self.assertTrue(leader.follows.wait(PATIENCE))
        self.wait_for_leaders(1, leader, other)

    def check_nobody_leads(self, *members: Member) -> None:
        """Wait until nobody leads, and check that this remains so."""
        # On a busy machine the other one may have won in the meantime.
        self.wait_for_leaders(0, *members)
        for member in members:
            self.assertFalse(member.leads.wait(LEASE))

    def wait_for_leaders(self, count: int, *members: Member) -> None:
        """Wait until so many lead; each tells of a change a bit later."""

        def leading() -> int:
            return sum(member.leads.is_set() for member in members)

        deadline = time.monotonic() + PATIENCE
        while leading() != count and time.monotonic() < deadline:
            time.sleep(HEARTBEAT)
        self.assertEqual(count, leading())


class FileElectionTestCase(Mixin, base.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.url = f'file://{self.useFixture(fixtures.TempDir()).path}'


class RedisElectionTestCase(ServerMixin, base.TestCase):
    server = coordinator.Redis


class EtcdElectionTestCase(ServerMixin, base.TestCase):
    server = coordinator.Etcd


class ZookeeperElectionTestCase(ServerMixin, base.TestCase):
    server = coordinator.Zookeeper


if __name__ == '__main__':
    main(*typing.cast(tuple[str, str], sys.argv[1:]))
