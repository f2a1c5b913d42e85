# SPDX-License-Identifier: Apache-2.0

import collections
import logging
import pathlib
import threading
import time
import types
import typing

import fixtures

from ironic_inspection_rules.coordination import election
from ironic_inspection_rules.coordination import watchdog
from ironic_inspection_rules.tests.unit import base
from ironic_inspection_rules.tests.unit import clock
from ironic_inspection_rules.tests.unit.coordination import fake_election

LEASE = 0.3
HEARTBEAT = 0.02
PATIENCE = 60
STEP = LEASE / 4
"""Seconds that a test lets pass at once; leases do not run out by that."""

OPTIONS = {
    'lease': LEASE,
    'heartbeat': HEARTBEAT,
    'connection_retry_interval': HEARTBEAT,
}


class Member:
    """A candidate that runs in a thread and writes down what it is told.

    :param make: makes the election of ``on_gained`` and ``on_lost``.
    """

    def __init__(
        self,
        name: str,
        make: typing.Callable[..., typing.Any],
        diary: list[tuple[str, str]] | None = None,
    ) -> None:
        self.name = name
        self.gained = threading.Event()
        self.lost = threading.Event()
        self.diary = [] if diary is None else diary
        self.threads: set[threading.Thread] = set()
        self.remained_at_loss: list[float] = []
        self.failure: Exception | None = None
        self.election = make(on_gained=self._on_gained, on_lost=self._on_lost)

    def _run(self) -> None:
        try:
            self.election.run(self._stop)
        except Exception as exc:
            self.failure = exc

    def _on_gained(self) -> None:
        self._note('gained')
        self.lost.clear()
        self.gained.set()

    def _on_lost(self) -> None:
        self.remained_at_loss.append(self.election.remaining())
        self._note('lost')
        self.gained.clear()
        self.lost.set()

    def _note(self, what: str) -> None:
        self.diary.append((self.name, what))
        self.threads.add(threading.current_thread())

    def start(self) -> typing.Self:
        self._stop = threading.Event()
        self.thread = threading.Thread(target=self._run)
        self.thread.start()
        return self

    def stop(self) -> None:
        self._stop.set()
        self.thread.join(PATIENCE)

    @property
    def takes_part(self) -> bool:
        return self.thread.is_alive() and not self._stop.is_set()


class ContractMixin:
    """What users of an election rely on, the real one and the fake one."""

    def member(self, name: str = 'alone', **options: typing.Any) -> Member:
        return self.start(
            Member(name, self.maker(name, **options), self.diary)
        )

    def start(self, member: Member) -> Member:
        self.addCleanup(member.stop)
        self.members.append(member.start())
        return member

    def maker(
        self, name: str, **options: typing.Any
    ) -> typing.Callable[..., typing.Any]:
        """What makes the election of a member."""
        raise NotImplementedError()

    def let_win(self, member: Member) -> None:
        """Have a member lead that is alone."""
        raise NotImplementedError()

    def let_lose(self, member: Member) -> None:
        """Have a leader lose what makes it one."""
        raise NotImplementedError()

    def setUp(self) -> None:
        super().setUp()
        self.diary: list[tuple[str, str]] = []
        self.members: list[Member] = []

    def leader(self) -> Member:
        member = self.member()
        self.let_win(member)
        self.assertTrue(member.gained.wait(PATIENCE))
        return member

    def test_who_won_leads(self) -> None:
        leader = self.leader()
        self.assertTrue(leader.election.is_leader)
        self.assertGreater(leader.election.remaining(), 0)

    def test_who_has_not_run_does_not_lead(self) -> None:
        member = Member('idle', self.maker('idle'))
        self.assertFalse(member.election.is_leader)
        self.assertEqual(0.0, member.election.remaining())

    def test_stop_ends_leadership_before_on_lost(self) -> None:
        leader = self.leader()
        leader.stop()
        self.assertEqual([('alone', 'gained'), ('alone', 'lost')], self.diary)
        self.assertEqual([0.0], leader.remained_at_loss)
        self.assertFalse(leader.election.is_leader)

    def test_callbacks_come_from_the_thread_that_runs_it(self) -> None:
        leader = self.leader()
        leader.stop()
        self.assertEqual({leader.thread}, leader.threads)

    def test_a_loss_is_told_and_may_be_made_good(self) -> None:
        leader = self.leader()
        self.let_lose(leader)
        self.assertTrue(leader.lost.wait(PATIENCE))
        self.let_win(leader)
        self.assertTrue(leader.gained.wait(PATIENCE))

    def test_it_may_be_run_again(self) -> None:
        leader = self.leader()
        leader.stop()
        leader.start()
        self.let_win(leader)
        self.assertTrue(leader.gained.wait(PATIENCE))
        leader.stop()
        self.assertEqual(
            ['gained', 'lost', 'gained', 'lost'],
            [what for name, what in self.diary],
        )

    def test_a_callback_that_fails_ends_the_run(self) -> None:
        failure = RuntimeError('no')

        def fail() -> None:
            raise failure

        member = Member('alone', self.maker('alone'))
        member._on_gained = fail
        member.election = self.maker('alone')(
            on_gained=fail, on_lost=member._on_lost
        )
        self.start(member)
        self.let_win(member)
        member.thread.join(PATIENCE)
        self.assertIs(failure, member.failure)
        self.assertFalse(member.election.is_leader)


class ClockMixin:
    """Time passes when a test says so, and all members keep up with it.

    How long a member waits between two questions remains real.
    """

    members: list[Member]

    def setUp(self) -> None:
        super().setUp()
        self.clock = self.useFixture(clock.Clock(election))
        self.answered: collections.Counter[election.Candidacy] = (
            collections.Counter()
        )
        ask = election.Candidacy._acquire_or_renew

        def ask_and_count(part: election.Candidacy, lock: typing.Any) -> None:
            try:
                ask(part, lock)
            finally:
                self.answered[part] += 1

        self.useFixture(
            fixtures.MonkeyPatch(
                f'{election.__name__}.Candidacy._acquire_or_renew',
                ask_and_count,
            )
        )

    def wait_for(self, holds: typing.Callable[[], typing.Any]) -> None:
        deadline = time.monotonic() + PATIENCE
        while not holds() and time.monotonic() < deadline:
            time.sleep(HEARTBEAT / 4)
        self.assertTrue(holds())

    def step(self) -> None:
        """Let a step of time pass, and all members ask when it is over."""
        self.clock.advance(STEP)
        for member in self.members:
            self.wait_for(
                lambda member=member: (
                    not member.takes_part or member.election._candidacy
                )
            )
            part = member.election._candidacy
            # The first one may have been asked before.
            enough = self.answered[part] + 2
            self.wait_for(
                lambda member=member, part=part, enough=enough: (
                    not member.takes_part or self.answered[part] >= enough
                )
            )

    def pass_time(self, seconds: float) -> None:
        for _step in range(round(seconds / STEP)):
            self.step()

    def let_win(self, member: Member) -> None:
        """Let so much time pass that a member leads that is alone."""
        deadline = time.monotonic() + PATIENCE
        while (
            member.takes_part
            and not member.gained.is_set()
            and time.monotonic() < deadline
        ):
            self.step()


class FakeElectionTestCase(ContractMixin, base.TestCase):
    def maker(
        self, name: str, **options: typing.Any
    ) -> typing.Callable[..., typing.Any]:
        return fake_election.FakeElection

    def let_win(self, member: Member) -> None:
        member.election.win()

    def let_lose(self, member: Member) -> None:
        member.election.lose()


class LeadershipTestCase(base.TestCase):
    def test_not_leader_while_an_earlier_one_may_act(self) -> None:
        leadership = election.Leadership(since=13.0, until=15.0)
        self.assertEqual(0.0, leadership.remaining(12.9))

    def test_leader_until_the_lease_ends(self) -> None:
        leadership = election.Leadership(since=13.0, until=15.0)
        self.assertEqual(2.0, leadership.remaining(13.0))
        self.assertEqual(0.0, leadership.remaining(15.0))
        self.assertEqual(0.0, leadership.remaining(99.0))

    def test_never_leader_when_the_lease_ends_before_it_may_begin(
        self,
    ) -> None:
        leadership = election.Leadership(since=13.0, until=11.0)
        self.assertEqual(0.0, leadership.remaining(12.0))
        self.assertEqual(0.0, leadership.remaining(14.0))


class ElectionTestCase(ClockMixin, ContractMixin, base.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.directory = pathlib.Path(
            self.useFixture(fixtures.TempDir()).path, 'coordination'
        )
        self.log = self.useFixture(
            fixtures.FakeLogger(
                level=logging.INFO, format='%(levelname)s: %(message)s'
            )
        )

    def maker(
        self, name: str, **options: typing.Any
    ) -> typing.Callable[..., typing.Any]:
        def make(**callbacks: election.Callback) -> election.Election:
            return election.Election(
                'election',
                f'file://{self.directory}',
                name,
                **{**OPTIONS, **options},
                **callbacks,
            )

        return make

    def let_lose(self, member: Member) -> None:
        # In one step: the member makes the directory again.
        self.directory.rename(self.directory.with_name('gone'))

    def logged(self, level: str) -> int:
        return sum(
            line.startswith(f'{level}:')
            for line in self.log.output.splitlines()
        )

    def test_one_of_two_leads_and_the_other_follows_it(self) -> None:
        first = self.leader()
        second = self.member('second')
        self.pass_time(3 * LEASE)
        self.assertFalse(second.gained.is_set())
        first.stop()
        self.let_win(second)
        self.assertTrue(second.gained.wait(PATIENCE))
        self.assertEqual(
            [('alone', 'gained'), ('alone', 'lost'), ('second', 'gained')],
            self.diary,
        )

    def test_elections_are_apart(self) -> None:
        first = self.member('first')
        other = Member(
            'second',
            lambda **callbacks: election.Election(
                'other',
                f'file://{self.directory}',
                'second',
                **OPTIONS,
                **callbacks,
            ),
        )
        self.start(other)
        for member in (first, other):
            self.let_win(member)
            self.assertTrue(member.gained.wait(PATIENCE), repr(member))

    def test_a_coordinator_is_tried_again_until_it_is_back(self) -> None:
        self.directory.write_text('in the way')
        member = self.member(retries_before_error=1)
        self.wait_for(lambda: self.logged('ERROR'))
        self.directory.unlink()
        self.let_win(member)
        self.assertTrue(member.gained.wait(PATIENCE))

    def test_an_outage_is_logged_by_its_changes(self) -> None:
        self.directory.write_text('in the way')
        member = self.member(retries_before_error=1)
        self.wait_for(lambda: self.logged('ERROR'))
        self.directory.unlink()
        self.let_win(member)
        self.assertTrue(member.gained.wait(PATIENCE))
        self.assertEqual(
            (1, 1), (self.logged('WARNING'), self.logged('ERROR'))
        )
        self.assertIn('[coordination]backend_url', self.log.output)
        self.assertIn('works again', self.log.output)


class CandidacyTestCase(base.TestCase):
    def test_a_lease_runs_from_the_question_not_from_the_answer(self) -> None:
        clock = iter([10.0, 12.0])
        self.useFixture(
            fixtures.MonkeyPatch(
                f'{election.__name__}.time',
                types.SimpleNamespace(monotonic=lambda: next(clock)),
            )
        )
        lock: typing.Any = types.SimpleNamespace(hold=lambda: True)
        part = election.Candidacy(
            lambda: lock, 3.0, 0.5, 1.0, watchdog.Outage('It', 10)
        )
        part._acquire_or_renew(lock)
        self.assertEqual(
            election.Leadership(since=15.0, until=13.0), part.leadership
        )


class FakeCoordinator:
    """Stands for a driver whose answers a test chooses."""

    def __init__(self) -> None:
        self.lock = FakeLock()
        self.answering = threading.Event()
        self.answering.set()
        self.asked_in_vain = threading.Event()

    def start(self) -> None:
        pass

    def stop(self) -> None:
        pass

    def heartbeat(self) -> None:
        if not self.answering.is_set():
            self.asked_in_vain.set()
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


class UnreliableCoordinatorTestCase(ClockMixin, base.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.coordinator = FakeCoordinator()
        self.useFixture(
            fixtures.MonkeyPatch(
                'tooz.coordination.get_coordinator',
                lambda *args, **kwargs: self.coordinator,
            )
        )
        self.leader = Member(
            'leader',
            lambda **callbacks: election.Election(
                'election', 'fake://', 'leader', **OPTIONS, **callbacks
            ),
        )
        self.leader.start()
        self.members = [self.leader]
        self.addCleanup(self.leader.stop)
        self.addCleanup(self.coordinator.answering.set)
        self.let_win(self.leader)
        self.assertTrue(self.leader.gained.wait(PATIENCE))

    def hang(self) -> None:
        """Have the coordinator not answer the next question."""
        self.coordinator.answering.clear()
        self.assertTrue(self.coordinator.asked_in_vain.wait(PATIENCE))

    def test_one_that_hangs_is_lost_by_the_clock(self) -> None:
        self.hang()
        self.clock.advance(LEASE)
        self.assertTrue(self.leader.lost.wait(PATIENCE))
        self.assertFalse(self.leader.election.is_leader)

    def count_rounds(self) -> list[float]:
        """Return a list that grows by the wait of every round of members."""
        waits: list[float] = []
        seconds_to_wait = election.Election._seconds_to_wait

        def note_wait(*args: typing.Any) -> float:
            waits.append(seconds_to_wait(*args))
            return waits[-1]

        self.useFixture(
            fixtures.MonkeyPatch(
                f'{election.__name__}.Election._seconds_to_wait', note_wait
            )
        )
        return waits

    def test_after_a_loss_by_the_clock_a_round_takes_a_heartbeat(
        self,
    ) -> None:
        self.hang()
        self.clock.advance(LEASE)
        self.assertTrue(self.leader.lost.wait(PATIENCE))
        # Read the clock before the count begins: a busy machine may stop this
        # thread between the two while rounds go on.
        began_at = time.monotonic()
        waits = self.count_rounds()
        self.wait_for(lambda: len(waits) >= 5)
        # The fifth round may have begun, and the first before the count.
        self.assertLessEqual(
            len(waits), (time.monotonic() - began_at) / HEARTBEAT + 2
        )
        self.assertEqual({HEARTBEAT}, set(waits))

    def test_a_loss_that_is_due_is_called_back_at_once(self) -> None:
        member = self.leader.election
        past = election.Leadership(since=0.0, until=0.0)
        self.assertEqual(0.0, member._seconds_to_wait(past, True))
        self.assertEqual(HEARTBEAT, member._seconds_to_wait(past, False))

    def test_a_late_confirmation_does_not_count(self) -> None:
        self.hang()
        self.clock.advance(LEASE)
        self.assertTrue(self.leader.lost.wait(PATIENCE))
        self.coordinator.answering.set()
        self.pass_time(LEASE / 2)
        self.assertFalse(self.leader.gained.is_set())
        self.let_win(self.leader)
        self.assertTrue(self.leader.gained.wait(PATIENCE))

    def test_a_lock_that_is_gone_is_lost(self) -> None:
        self.coordinator.lock.ours = False
        self.assertTrue(self.leader.lost.wait(PATIENCE))

    def test_stop_does_not_wait_for_an_answer(self) -> None:
        self.hang()
        self.leader.stop()
        self.assertFalse(self.coordinator.answering.is_set())
        self.assertFalse(self.leader.thread.is_alive())
        self.assertTrue(self.leader.lost.is_set())

    def test_an_answer_to_an_earlier_run_makes_no_leader(self) -> None:
        self.hang()
        part = self.leader.election._candidacy
        before = self.answered[part]
        self.leader.stop()
        self.coordinator.lock.ours = False
        self.leader.start()
        self.coordinator.answering.set()
        self.wait_for(lambda: self.answered[part] > before)
        self.pass_time(2 * LEASE)
        self.assertFalse(self.leader.gained.is_set())
