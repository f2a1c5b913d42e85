# SPDX-License-Identifier: Apache-2.0

from ironic.common import states
from oslo_utils import timeutils

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.db import node_reservation
from ironic_inspection_rules.queue import database_queue
from ironic_inspection_rules.queue import request as queue_request
from ironic_inspection_rules.tests.unit.inspection import base


class AcceptanceTestCase(base.GlueTestCase):
    """Data that nobody can process are not accepted."""

    def put(self, provision_state, event=queue_request.CONTINUE):
        node = self.task.node
        node.provision_state = provision_state
        node.inspection_started_at = timeutils.utcnow()
        node.save()
        return database_queue.DatabaseQueue(
            60.0, node_reservation.stop_timeout
        ).put(node.uuid, event, {}, {})

    def test_a_node_that_waits_has_its_clock_stopped(self):
        put = self.put(states.INSPECTWAIT)
        self.assertIsNotNone(put.inspection_began_at)
        self.assertIsNone(self.stored_node().inspection_started_at)

    def test_a_node_that_is_new_waits_too(self):
        self.assertEqual(queue_request.CONTINUE, self.put(states.ENROLL).event)

    def test_a_node_whose_inspection_is_over_takes_none(self):
        for over in (states.INSPECTFAIL, states.MANAGEABLE):
            exc = self.assertRaises(exceptions.Conflict, self.put, over)
            self.assertIn(over, str(exc))

    def test_a_machine_waits_for_its_power_in_any_state(self):
        # Whether it is still to be powered on is decided in its turn.
        put = self.put(states.INSPECTFAIL, queue_request.POWER_ON)
        self.assertIsNone(put.inspection_began_at)
