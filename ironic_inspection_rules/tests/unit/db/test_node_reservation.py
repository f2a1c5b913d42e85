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

from ironic.common import states
from oslo_utils import timeutils

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.db import node_reservation
from ironic_inspection_rules.queue import database_queue
from ironic_inspection_rules.queue import request as queue_request
from ironic_inspection_rules.tests.unit.inspection import base


class AcceptanceTestCase(base.GlueTestCase):
    """Data that nobody can process are not accepted."""

    def put(self, provision_state):
        node = self.task.node
        node.provision_state = provision_state
        node.inspection_started_at = timeutils.utcnow()
        node.save()
        return database_queue.DatabaseQueue(
            60.0, node_reservation.stop_clock).put(
                node.uuid, queue_request.CONTINUE, {}, {})

    def test_a_node_that_waits_has_its_clock_stopped(self):
        put = self.put(states.INSPECTWAIT)
        self.assertIsNotNone(put.inspection_began_at)
        self.assertIsNone(self.stored_node().inspection_started_at)

    def test_a_node_that_is_new_waits_too(self):
        self.assertEqual(queue_request.CONTINUE,
                         self.put(states.ENROLL).event)

    def test_a_node_whose_inspection_is_over_takes_none(self):
        for over in (states.INSPECTFAIL, states.MANAGEABLE):
            exc = self.assertRaises(exceptions.NotInInspection,
                                    self.put, over)
            self.assertIn(over, str(exc))
