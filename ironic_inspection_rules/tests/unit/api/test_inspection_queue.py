# SPDX-License-Identifier: Apache-2.0

import fixtures

from ironic_inspection_rules.api import inspection_queue
from ironic_inspection_rules.queue import request as queue_request
from ironic_inspection_rules.tests.unit.inspection import base


class RequestsTestCase(base.GlueTestCase):

    def setUp(self):
        super().setUp()
        self.called = []
        self.patch('wakeup.WakeupSender.wake',
                   lambda sender: self.called.append('wake'))
        self.patch('submission.WorkerAbsence.check',
                   lambda absence: self.called.append('check'))
        self.config(embedded=False, group='inspection_queue')
        inspection_queue.requests.cache_clear()
        self.addCleanup(inspection_queue.requests.cache_clear)

    def patch(self, name, value):
        self.useFixture(fixtures.MonkeyPatch(
            f'ironic_inspection_rules.queue.{name}', value))

    def put(self):
        inspection_queue.requests().put(
            self.task.node.uuid, queue_request.TIMEOUT)

    def test_a_request_wakes_workers_and_looks_for_them(self):
        self.config(rpc_transport='oslo')
        self.put()
        self.assertEqual(['wake', 'check'], self.called)

    def test_without_a_broker_workers_find_it_themselves(self):
        self.config(rpc_transport='json-rpc')
        self.put()
        self.assertEqual(['check'], self.called)
