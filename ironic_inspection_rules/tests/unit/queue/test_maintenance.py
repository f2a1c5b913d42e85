# SPDX-License-Identifier: Apache-2.0

"""The tasks of the leader, on nodes in a real database."""

import datetime
import functools
import pathlib
import threading
import time

import fixtures
from ironic import objects
from ironic.common import states
from oslo_db.sqlalchemy import enginefacade
from oslo_utils import timeutils
from oslo_utils import uuidutils
import sqlalchemy as sa

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.coordination import election
from ironic_inspection_rules.coordination import watchdog
from ironic_inspection_rules.db import lock_timeout
from ironic_inspection_rules.db import models
from ironic_inspection_rules.db import run
from ironic_inspection_rules.db import unprocessed
from ironic_inspection_rules.queue import attempt
from ironic_inspection_rules.queue import database_queue
from ironic_inspection_rules.queue import maintenance
from ironic_inspection_rules.queue import request as queue_request
from ironic_inspection_rules.queue import state
from ironic_inspection_rules.queue import worker
from ironic_inspection_rules.tests import database
from ironic_inspection_rules.tests.unit import base
from ironic_inspection_rules.tests.unit import clock
from ironic_inspection_rules.tests.unit.coordination import fake_election
from ironic_inspection_rules.tests.unit.inspection import base as glue

LEASE = 60
NAME = worker.make_name('here')


class QueueMaintenanceTestCase(glue.GlueTestCase):
    def setUp(self):
        super().setUp()
        self.node = self.task.node
        self.queue = database_queue.DatabaseQueue(LEASE)
        self.woken = 0
        self.maintenance = maintenance.QueueMaintenance(
            self.queue,
            900,
            3600,
            self.wake,
            functools.partial(
                attempt.settle,
                self.queue,
                functools.partial(attempt.locked, self.queue, 900),
            ),
        )

    def wake(self):
        self.woken += 1

    def take(self):
        self.queue.put(self.node.uuid, queue_request.CONTINUE, {})
        begun = self.queue.begin(self.queue.get(NAME), state.PROCESSING)
        objects.Node.reserve(self.context, begun.delivery, self.node.uuid)
        return begun

    def unlock(self):
        self.maintenance.return_requests()
        self.maintenance.unlock_nodes()
        return self.stored_node().reservation

    def change_rows(self, **values):
        with enginefacade.writer.get_engine().begin() as connection:
            connection.execute(sa.update(models.RequestRow).values(**values))

    def pass_lease(self):
        self.change_rows(due_at=models.RequestRow.due_at - LEASE)

    def set_node(self, **fields):
        for name, value in fields.items():
            setattr(self.node, name, value)
        self.node.save()

    def test_the_dead_give_back_requests_and_nodes(self):
        held = self.take()
        self.assertEqual(held.delivery, self.unlock())
        self.pass_lease()
        self.assertIsNone(self.unlock())
        self.assertRaises(exceptions.LeaseLost, self.queue.consume, held)
        self.assertEqual(1, self.woken)

    def test_a_node_whose_worker_died_after_its_request_is_unlocked(self):
        self.queue.consume(self.take())
        self.pass_lease()
        self.assertIsNone(self.unlock())
        self.assertEqual(0, self.woken)

    def test_a_node_that_its_worker_has_got_again_stays_locked(self):
        self.queue.consume(self.take())
        self.pass_lease()
        self.unlock()
        again = self.take()
        self.assertEqual(again.delivery, self.unlock())

    def test_a_node_whose_request_is_gone_is_unlocked(self):
        self.take()
        unprocessed.destroy_nodes([self.node.uuid])
        self.assertIsNone(self.unlock())

    def test_a_node_that_a_conductor_has_locked_stays_locked(self):
        objects.Node.reserve(self.context, 'conductor', self.node.uuid)
        self.assertEqual('conductor', self.unlock())

    def test_nodes_that_wait_too_long_are_put(self):
        self.set_node(
            provision_state=states.INSPECTWAIT,
            inspection_started_at=timeutils.utcnow()
            - datetime.timedelta(seconds=901),
        )
        self.maintenance.put_timeouts()
        self.maintenance.put_timeouts()
        self.assertEqual(
            queue_request.TIMEOUT, self.queue.find_open(self.node.uuid).event
        )

    def test_a_node_with_a_request_does_not_time_out(self):
        self.set_node(
            provision_state=states.INSPECTWAIT,
            inspection_started_at=timeutils.utcnow()
            - datetime.timedelta(seconds=901),
        )
        self.queue.put(self.node.uuid, queue_request.CONTINUE, {})
        self.maintenance.put_timeouts()
        self.assertEqual(
            queue_request.CONTINUE, self.queue.find_open(self.node.uuid).event
        )

    def test_a_node_that_cannot_be_settled_keeps_no_other_from_it(self):
        seen = []

        def settle(request):
            seen.append(request.node_uuid)
            if len(seen) == 1:
                raise exceptions.NodeBusy('locked')
            raise ValueError('surprise')

        for node_uuid in ('node-1', 'node-2', 'node-3'):
            self.queue.put(node_uuid, queue_request.CONTINUE, {})
            self.queue.consume(self.queue.get(NAME), 'no way')
        self.pass_lease()
        maintenance.QueueMaintenance(
            self.queue, 900, 3600, self.wake, settle
        ).settle_nodes()
        self.assertEqual(['node-1', 'node-2', 'node-3'], sorted(seen))

    def test_old_requests_are_forgotten_and_their_data_are_not(self):
        done = self.take()
        self.queue.consume(done)
        self.maintenance.forget_requests()
        self.queue.find(done.uuid)
        self.change_rows(
            finished_at=timeutils.utcnow() - datetime.timedelta(seconds=3601)
        )
        self.maintenance.forget_requests()
        self.queue.find(done.uuid)
        self.change_rows(due_at=None)
        self.maintenance.forget_requests()
        self.assertRaises(
            exceptions.RequestNotFound, self.queue.find, done.uuid
        )
        self.assertEqual({self.node.uuid}, set(unprocessed.list_nodes('', 9)))

    def test_an_open_request_is_never_forgotten(self):
        held = self.take()
        self.change_rows(
            created_at=timeutils.utcnow() - datetime.timedelta(days=365)
        )
        self.maintenance.forget_requests()
        self.assertEqual(held.uuid, self.queue.find(held.uuid).uuid)

    def test_what_belongs_to_deleted_nodes_is_removed(self):
        kept = self.queue.put(self.node.uuid, queue_request.CONTINUE, {})
        gone = self.queue.put(
            uuidutils.generate_uuid(), queue_request.CONTINUE, {}
        )
        self.maintenance.remove_deleted_nodes()
        self.assertRaises(
            exceptions.RequestNotFound, self.queue.find, gone.uuid
        )
        self.assertEqual(kept.uuid, self.queue.find(kept.uuid).uuid)
        self.assertEqual({self.node.uuid}, set(unprocessed.list_nodes('', 9)))

    def test_runs_of_deleted_nodes_are_removed(self):
        gone = uuidutils.generate_uuid()
        for node_uuid in (self.node.uuid, gone):
            database.record_run(
                {
                    'uuid': uuidutils.generate_uuid(),
                    'node_uuid': node_uuid,
                    'event': 'inspection',
                    'result': 'ok',
                    'phases': {},
                },
                keep=1,
            )
        self.maintenance.remove_deleted_nodes()
        self.assertEqual([self.node.uuid], run.list_nodes('', 9))

    def test_one_round_looks_at_a_bounded_number_of_nodes(self):
        self.useFixture(
            fixtures.MonkeyPatch(
                'ironic_inspection_rules.runs.deleted_node._MOST_CHECKED', 2
            )
        )
        for _node in range(5):
            self.queue.put(
                uuidutils.generate_uuid(), queue_request.CONTINUE, {}
            )
        left = []
        for _round in range(4):
            self.maintenance.remove_deleted_nodes()
            left.append(len(unprocessed.list_nodes('', 9)))
        self.assertEqual([3, 1, 0, 0], left)

    def test_data_of_ended_requests_are_stored_by_content(self):
        self.queue.consume(self.take())
        self.maintenance.store_data_by_content()
        self.assertEqual(0, unprocessed.store_by_content(9))
        self.assertEqual(
            {'inventory': {}, 'plugin_data': {}},
            unprocessed.get_unprocessed(self.node.uuid),
        )

    def test_a_child_node_is_a_node(self):
        self.set_node(parent_node=uuidutils.generate_uuid())
        self.queue.put(self.node.uuid, queue_request.CONTINUE, {})
        self.maintenance.remove_deleted_nodes()
        self.assertEqual({self.node.uuid}, set(unprocessed.list_nodes('', 9)))

    def test_everything_is_a_task(self):
        for task in self.maintenance.tasks:
            task()
        self.assertEqual(7, len(self.maintenance.tasks))


PATIENCE = 60


class LeaderTasksTestCase(base.TestCase):
    def setUp(self):
        super().setUp()
        self.rounds = threading.Semaphore(0)
        self.stop = threading.Event()

    def run_tasks(self, *tasks, period=0.01, limit=600.0):
        def make_election(**callbacks):
            self.election = fake_election.FakeElection(**callbacks)
            return self.election

        tasks = maintenance.LeaderTasks(make_election, tasks, period, limit)
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

    def test_a_task_does_not_wait_long_for_rows(self):
        short = []

        def task():
            short.append(lock_timeout.is_shortened())
            self.rounds.release()

        self.run_tasks(task)
        self.election.win()
        self.wait(self.rounds)
        self.assertEqual(
            [True, False], [short[0], lock_timeout.is_shortened()]
        )

    def test_who_does_not_lead_does_nothing(self):
        self.run_tasks(self.rounds.release)
        self.assertFalse(self.rounds.acquire(timeout=0.05))

    def test_no_task_is_begun_after_the_loss(self):
        done, workers = [], []
        begun, lost = threading.Event(), threading.Event()

        def first():
            workers.append(threading.current_thread())
            begun.set()
            lost.wait(PATIENCE)

        self.run_tasks(first, lambda: done.append('second'))
        self.election.win()
        self.assertTrue(begun.wait(PATIENCE))
        [worker] = workers
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
        time = self.useFixture(clock.Clock(watchdog))
        hangs, go_on = threading.Event(), threading.Event()
        calls = []
        self.addCleanup(go_on.set)

        def hang_once():
            calls.append(self)
            if len(calls) == 1:
                hangs.set()
                go_on.wait(PATIENCE)

        self.run_tasks(hang_once, self.rounds.release, limit=0.2)
        self.election.win()
        self.assertTrue(hangs.wait(PATIENCE))
        time.advance(1)
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
        # The line of the traceback.
        self.assertEqual(1, log.output.count("raise ValueError('broken')"))
        self.assertEqual(1, log.output.count('is tried again: broken'))


class OutageTestCase(base.TestCase):
    """Tasks of a leader in a real election, whose coordinator goes away."""

    def test_tasks_run_again_after_any_outage(self):
        place = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        directory, link = place / 'directory', place / 'coordination'
        directory.mkdir()
        link.symlink_to(directory)
        place.joinpath('file').write_text('in the way')

        def point_to(name):
            # In one step: the election makes directories that are missing.
            place.joinpath('next').symlink_to(place / name)
            place.joinpath('next').replace(link)

        rounds = threading.Semaphore(0)
        stop = threading.Event()
        tasks = maintenance.LeaderTasks(
            functools.partial(
                election.Election,
                'election',
                f'file://{link}',
                'name',
                retries_before_error=1,
                connection_retry_interval=0.01,
                lease=0.2,
                heartbeat=0.02,
            ),
            [rounds.release],
            period=0.01,
        )
        thread = threading.Thread(target=tasks.run, args=(stop,))
        thread.start()
        self.addCleanup(thread.join)
        self.addCleanup(stop.set)
        log = self.useFixture(fixtures.FakeLogger())
        for _outage in range(2):
            self.assertTrue(rounds.acquire(timeout=PATIENCE))
            before = log.output.count('after 1 retries')
            point_to('file')
            deadline = time.monotonic() + PATIENCE
            while (
                log.output.count('after 1 retries') == before
                and time.monotonic() < deadline
            ):
                time.sleep(0.01)
            self.assertLess(before, log.output.count('after 1 retries'))
            while rounds.acquire(blocking=False):
                pass
            point_to('directory')
        self.assertTrue(rounds.acquire(timeout=PATIENCE))
