# SPDX-License-Identifier: Apache-2.0

"""Reapplications with data beside those that wait; their senders are logged.

All else of the call is in ``gabbits/reapply.yaml``.
"""

import webob

from ironic_inspection_rules.queue import database_queue
from ironic_inspection_rules.queue import request as queue_request
from ironic_inspection_rules.tests.functional.api import application
from ironic_inspection_rules.tests.functional.api import conductor
from ironic_inspection_rules.tests.functional.api import gabbi_fixtures
from ironic_inspection_rules.tests.unit import base

MACHINE, FIRST, SECOND = '192.0.2.1', '192.0.2.2', '192.0.2.3'
LOGGER = 'ironic_inspection_rules.queue.database_queue'
CALLS = {
    '/v1/nodes/{}/inventory/reapply': lambda data: data,
    '/v1/introspection/{}/data/unprocessed': lambda data: {
        **data['plugin_data'],
        'inventory': data['inventory'],
    },
}


class ReapplyTestCase(base.TestCase):
    def setUp(self):
        super().setUp()
        self.app = self.useFixture(
            application.Application({'inspection_queue': {'enabled': True}})
        ).app
        self.useFixture(conductor.Conductor())
        nodes = gabbi_fixtures.NodesToInspect()
        nodes.start_fixture()
        self.addCleanup(nodes.stop_fixture)
        self.queue = database_queue.DatabaseQueue(60)

    def data(self, number):
        return {
            'inventory': {
                'interfaces': [{'mac_address': f'52:54:00:00:00:0{number}'}]
            },
            'plugin_data': {'number': number},
        }

    def reapply(self, call, node, number, sender):
        asked = webob.Request.blank(
            call.format(node),
            method='POST',
            headers={
                'Content-Type': 'application/json',
                'X-OpenStack-Ironic-API-Version': '1.96',
            },
        )
        asked.json = CALLS[call](self.data(number))
        asked.environ['REMOTE_ADDR'] = sender
        return asked.get_response(self.app).status_int

    def check(self, call, node, waiting):
        """Check that only the data that wait are accepted again.

        :param waiting: the sender of these.
        """
        self.assertEqual(202, self.reapply(call, node, 1, SECOND))
        with self.assertLogs(LOGGER, 'WARNING') as logs:
            self.assertEqual(409, self.reapply(call, node, 2, SECOND))
        [message] = logs.output
        self.assertIn(SECOND, message)
        self.assertIn(waiting, message)

    def test_beside_those_of_an_operator(self):
        for call in CALLS:
            self.assertEqual(202, self.reapply(call, 'manageable', 1, FIRST))
            self.check(call, 'manageable', FIRST)
            self.queue.consume(self.queue.get('w1'))

    def test_beside_those_of_a_machine(self):
        node_uuid = f'0{gabbi_fixtures.NODE[1:]}'
        self.queue.put(
            node_uuid, queue_request.CONTINUE, **self.data(1), sender=MACHINE
        )
        for call in CALLS:
            self.check(call, 'waiting', MACHINE)
