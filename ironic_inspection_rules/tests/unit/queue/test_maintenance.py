# SPDX-License-Identifier: Apache-2.0

"""The tasks of the leader, on nodes in a real database."""

import datetime

import fixtures
from ironic import objects
from ironic.common import states
from oslo_db.sqlalchemy import enginefacade
from oslo_utils import timeutils
from oslo_utils import uuidutils
import sqlalchemy as sa

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.db import models
from ironic_inspection_rules.db import run
from ironic_inspection_rules.db import unprocessed
from ironic_inspection_rules.queue import database_queue
from ironic_inspection_rules.queue import maintenance
from ironic_inspection_rules.queue import processor
from ironic_inspection_rules.queue import request as queue_request
from ironic_inspection_rules.queue import state
from ironic_inspection_rules.queue import worker
from ironic_inspection_rules.tests.unit.inspection import base

LEASE = 60
NAME = worker.make_name('here')


class QueueMaintenanceTestCase(base.GlueTestCase):

    def setUp(self):
        super().setUp()
        self.node = self.task.node
        self.queue = database_queue.DatabaseQueue(LEASE)
        self.woken = 0
        self.maintenance = maintenance.QueueMaintenance(
            self.queue, 900, 3600, self.wake,
            processor.RequestProcessor(self.queue, 900).settle)

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
            connection.execute(sa.update(models.Request).values(**values))

    def pass_lease(self):
        self.change_rows(due_at=models.Request.due_at - LEASE)

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

    def test_a_node_that_a_live_worker_of_an_earlier_release_has_locked(self):
        self.queue.put(self.node.uuid, queue_request.CONTINUE, {})
        self.queue.begin(self.queue.get(NAME), state.PROCESSING)
        objects.Node.reserve(self.context, NAME, self.node.uuid)
        self.assertEqual(NAME, self.unlock())
        self.pass_lease()
        self.assertIsNone(self.unlock())

    def test_nodes_that_wait_too_long_are_put(self):
        self.set_node(
            provision_state=states.INSPECTWAIT,
            inspection_started_at=timeutils.utcnow() - datetime.timedelta(
                seconds=901))
        self.maintenance.put_timeouts()
        self.maintenance.put_timeouts()
        self.assertEqual(queue_request.TIMEOUT,
                         self.queue.find_open(self.node.uuid).event)

    def test_a_node_with_a_request_does_not_time_out(self):
        self.set_node(
            provision_state=states.INSPECTWAIT,
            inspection_started_at=timeutils.utcnow() - datetime.timedelta(
                seconds=901))
        self.queue.put(self.node.uuid, queue_request.CONTINUE, {})
        self.maintenance.put_timeouts()
        self.assertEqual(queue_request.CONTINUE,
                         self.queue.find_open(self.node.uuid).event)

    def test_old_requests_are_forgotten_and_their_data_are_not(self):
        done = self.take()
        self.queue.consume(done)
        self.maintenance.forget_requests()
        self.queue.find(done.uuid)
        self.change_rows(finished_at=timeutils.utcnow()
                         - datetime.timedelta(seconds=3601))
        self.maintenance.forget_requests()
        self.queue.find(done.uuid)
        self.change_rows(due_at=None)
        self.maintenance.forget_requests()
        self.assertRaises(exceptions.RequestNotFound, self.queue.find,
                          done.uuid)
        self.assertEqual({self.node.uuid}, set(unprocessed.list_nodes('', 9)))

    def test_an_open_request_is_never_forgotten(self):
        held = self.take()
        self.change_rows(created_at=timeutils.utcnow()
                         - datetime.timedelta(days=365))
        self.maintenance.forget_requests()
        self.assertEqual(held.uuid, self.queue.find(held.uuid).uuid)

    def test_what_belongs_to_deleted_nodes_is_removed(self):
        kept = self.queue.put(self.node.uuid, queue_request.CONTINUE, {})
        gone = self.queue.put(uuidutils.generate_uuid(),
                              queue_request.CONTINUE, {})
        self.maintenance.remove_deleted_nodes()
        self.assertRaises(exceptions.RequestNotFound, self.queue.find,
                          gone.uuid)
        self.assertEqual(kept.uuid, self.queue.find(kept.uuid).uuid)
        self.assertEqual({self.node.uuid}, set(unprocessed.list_nodes('', 9)))

    def test_runs_of_deleted_nodes_are_removed(self):
        gone = uuidutils.generate_uuid()
        for node_uuid in (self.node.uuid, gone):
            run.record_run({'uuid': uuidutils.generate_uuid(),
                            'node_uuid': node_uuid, 'event': 'inspection',
                            'result': 'ok', 'phases': {}}, keep=1)
        self.maintenance.remove_deleted_nodes()
        self.assertEqual([self.node.uuid], run.list_nodes('', 9))

    def test_one_round_looks_at_a_bounded_number_of_nodes(self):
        self.useFixture(fixtures.MonkeyPatch(
            'ironic_inspection_rules.queue.maintenance._CHUNK', 2))
        for _node in range(5):
            self.queue.put(uuidutils.generate_uuid(),
                           queue_request.CONTINUE, {})
        left = []
        for _round in range(4):
            self.maintenance.remove_deleted_nodes()
            left.append(len(unprocessed.list_nodes('', 9)))
        self.assertEqual([3, 1, 0, 0], left)

    def test_a_child_node_is_a_node(self):
        self.set_node(parent_node=uuidutils.generate_uuid())
        self.queue.put(self.node.uuid, queue_request.CONTINUE, {})
        self.maintenance.remove_deleted_nodes()
        self.assertEqual({self.node.uuid}, set(unprocessed.list_nodes('', 9)))

    def test_everything_is_a_task(self):
        for task in self.maintenance.tasks:
            task()
        self.assertEqual(6, len(self.maintenance.tasks))
