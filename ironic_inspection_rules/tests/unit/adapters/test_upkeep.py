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

"""The tasks of the leader, on nodes in a real database."""

import datetime

from ironic import objects
from ironic.common import states
from oslo_db.sqlalchemy import enginefacade
from oslo_utils import timeutils
from oslo_utils import uuidutils
import sqlalchemy as sa

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.adapters import upkeep
from ironic_inspection_rules.db import models
from ironic_inspection_rules.ha import database_queue
from ironic_inspection_rules.ha import queue
from ironic_inspection_rules.ha import state
from ironic_inspection_rules.ha import worker
from ironic_inspection_rules.tests.unit.adapters import base

LEASE = 60
NAME = worker.make_name('here')


class UpkeepTestCase(base.GlueTestCase):

    def setUp(self):
        super().setUp()
        self.node = self.task.node
        self.queue = database_queue.DatabaseQueue(LEASE)
        self.announced = 0
        self.upkeep = upkeep.Upkeep(self.queue, 900, 3600, self.announce)

    def announce(self):
        self.announced += 1

    def take(self):
        self.queue.put(self.node.uuid, queue.CONTINUE, {})
        objects.Node.reserve(self.context, NAME, self.node.uuid)
        return self.queue.begin(self.queue.get(NAME), state.PROCESSING)

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
        self.upkeep.return_requests()
        self.assertEqual(NAME, self.stored_node().reservation)
        self.pass_lease()
        self.upkeep.return_requests()
        self.assertIsNone(self.stored_node().reservation)
        self.assertRaises(exceptions.LeaseLost, self.queue.consume, held)
        self.assertEqual(1, self.announced)

    def test_a_node_whose_worker_died_after_its_request_is_unlocked(self):
        self.queue.consume(self.take())
        self.pass_lease()
        self.upkeep.return_requests()
        self.assertIsNone(self.stored_node().reservation)
        self.assertEqual(0, self.announced)

    def test_a_node_that_its_worker_has_got_again_stays_locked(self):
        self.queue.consume(self.take())
        self.pass_lease()
        self.queue.put(self.node.uuid, queue.CONTINUE, {})
        self.queue.get(NAME)
        self.upkeep.return_requests()
        self.assertEqual(NAME, self.stored_node().reservation)

    def test_nodes_that_wait_too_long_are_put(self):
        self.set_node(
            provision_state=states.INSPECTWAIT,
            inspection_started_at=timeutils.utcnow() - datetime.timedelta(
                seconds=901))
        self.upkeep.put_timeouts()
        self.upkeep.put_timeouts()
        self.assertEqual(queue.TIMEOUT,
                         self.queue.find_open(self.node.uuid).event)

    def test_a_node_with_a_request_does_not_time_out(self):
        self.set_node(
            provision_state=states.INSPECTWAIT,
            inspection_started_at=timeutils.utcnow() - datetime.timedelta(
                seconds=901))
        self.queue.put(self.node.uuid, queue.CONTINUE, {})
        self.upkeep.put_timeouts()
        self.assertEqual(queue.CONTINUE,
                         self.queue.find_open(self.node.uuid).event)

    def test_old_requests_are_forgotten_and_their_data_are_not(self):
        done = self.take()
        self.queue.consume(done)
        self.upkeep.forget_requests()
        self.queue.find(done.uuid)
        self.change_rows(finished_at=timeutils.utcnow()
                         - datetime.timedelta(seconds=3601))
        self.upkeep.forget_requests()
        self.assertRaises(exceptions.RequestNotFound, self.queue.find,
                          done.uuid)
        self.assertEqual({self.node.uuid}, self.queue.nodes())

    def test_an_open_request_is_never_forgotten(self):
        held = self.take()
        self.change_rows(created_at=timeutils.utcnow()
                         - datetime.timedelta(days=365))
        self.upkeep.forget_requests()
        self.assertEqual(held.uuid, self.queue.find(held.uuid).uuid)

    def test_what_belongs_to_deleted_nodes_is_removed(self):
        kept = self.queue.put(self.node.uuid, queue.CONTINUE, {})
        gone = self.queue.put(uuidutils.generate_uuid(), queue.CONTINUE, {})
        self.upkeep.remove_deleted_nodes()
        self.assertRaises(exceptions.RequestNotFound, self.queue.find,
                          gone.uuid)
        self.assertEqual(kept.uuid, self.queue.find(kept.uuid).uuid)
        self.assertEqual({self.node.uuid}, self.queue.nodes())

    def test_a_child_node_is_a_node(self):
        self.set_node(parent_node=uuidutils.generate_uuid())
        self.queue.put(self.node.uuid, queue.CONTINUE, {})
        self.upkeep.remove_deleted_nodes()
        self.assertEqual({self.node.uuid}, self.queue.nodes())

    def test_everything_is_a_task(self):
        for task in self.upkeep.tasks:
            task()
        self.assertEqual(4, len(self.upkeep.tasks))
