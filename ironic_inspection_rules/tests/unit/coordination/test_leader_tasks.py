# SPDX-License-Identifier: Apache-2.0

import functools
import pathlib
import shutil
import threading
import time

import fixtures

from ironic_inspection_rules.coordination import election
from ironic_inspection_rules.coordination import leader_tasks
from ironic_inspection_rules.tests.unit import base
from ironic_inspection_rules.tests.unit.coordination import fake_election

PATIENCE = 10


class LeaderTasksTestCase(base.TestCase):

    def setUp(self):
        super().setUp()
        self.rounds = threading.Semaphore(0)
        self.stop = threading.Event()

    def run_tasks(self, *tasks, period=0.01, limit=600.0):
        def make_election(**callbacks):
            self.election = fake_election.FakeElection(**callbacks)
            return self.election
        tasks = leader_tasks.LeaderTasks(make_election, tasks, period,
                                         limit)
        thread = threading.Thread(target=tasks.run, args=(self.stop,))
        thread.start()
        self.addCleanup(thread.join)
        self.addCleanup(self.stop.set)

    def wait(self, semaphore):
        self.assertTrue(semaphore.acquire(timeout=PATIENCE))

    def test_the_leader_works_in_rounds(self):
        self.run_tasks(self.rounds.release)
        self.election.win()
        for _round in range(3):
            self.wait(self.rounds)

    def test_who_does_not_lead_does_nothing(self):
        self.run_tasks(self.rounds.release)
        self.assertFalse(self.rounds.acquire(timeout=0.05))

    def test_no_task_is_begun_after_the_loss(self):
        done = []
        begun, lost = threading.Event(), threading.Event()

        def first():
            begun.set()
            lost.wait(PATIENCE)

        self.run_tasks(first, lambda: done.append('second'))
        self.election.win()
        self.assertTrue(begun.wait(PATIENCE))
        [worker] = [thread for thread in threading.enumerate()
                    if thread.name == 'leader tasks']
        self.stop.set()
        while self.election.is_leader:
            self.stop.wait(0)
        lost.set()
        worker.join(PATIENCE)
        self.assertEqual([], done)

    def test_tasks_go_on_after_leadership_is_regained(self):
        self.run_tasks(self.rounds.release)
        for _term in range(2):
            self.election.win()
            self.wait(self.rounds)
            self.election.lose()

    def test_a_failing_task_does_not_keep_the_others_from_their_turn(self):
        def fail():
            raise ValueError('broken')
        self.run_tasks(fail, self.rounds.release)
        self.election.win()
        for _round in range(2):
            self.wait(self.rounds)

    def test_a_round_that_hangs_is_left_to_itself(self):
        log = self.useFixture(fixtures.FakeLogger())
        go_on, calls = threading.Event(), []
        self.addCleanup(go_on.set)

        def hang_once():
            calls.append(self)
            if len(calls) == 1:
                go_on.wait(60)
        self.run_tasks(hang_once, self.rounds.release, limit=0.2)
        self.election.win()
        self.wait(self.rounds)
        self.assertIn('The leader tasks of this process hangs', log.output)
        self.assertIn('hang_once', log.output)

    def test_failures_in_a_row_are_logged_once(self):
        log = self.useFixture(fixtures.FakeLogger())
        failing = True

        def fail():
            self.rounds.release()
            if failing:
                raise ValueError('broken')
        self.run_tasks(fail, fail)
        self.election.win()
        for _round in range(6):
            self.wait(self.rounds)
        failing = False
        while 'works again' not in log.output:
            self.wait(self.rounds)
        self.assertEqual(1, log.output.count('Traceback'))
        self.assertEqual(1, log.output.count('is tried again: broken'))


class OutageTestCase(base.TestCase):
    """Tasks of a leader in a real election, whose coordinator goes away."""

    def test_tasks_run_again_after_any_outage(self):
        directory = pathlib.Path(self.useFixture(fixtures.TempDir()).path,
                                 'coordination')
        rounds = threading.Semaphore(0)
        stop = threading.Event()
        tasks = leader_tasks.LeaderTasks(
            functools.partial(
                election.Election, 'election', f'file://{directory}', 'name',
                connection_retries=1, connection_retry_interval=0.01,
                lease=0.2, heartbeat=0.02),
            [rounds.release], period=0.01)
        thread = threading.Thread(target=tasks.run, args=(stop,))
        thread.start()
        self.addCleanup(thread.join)
        self.addCleanup(stop.set)
        log = self.useFixture(fixtures.FakeLogger())
        for _outage in range(2):
            self.assertTrue(rounds.acquire(timeout=PATIENCE))
            shutil.rmtree(directory)
            directory.write_text('in the way')
            deadline = time.monotonic() + PATIENCE
            while ('after 1 retries' not in log.output
                   and time.monotonic() < deadline):
                time.sleep(0.01)
            self.assertIn('after 1 retries', log.output)
            while rounds.acquire(blocking=False):
                pass
            directory.unlink()
        self.assertTrue(rounds.acquire(timeout=PATIENCE))
