# SPDX-License-Identifier: Apache-2.0

import types

import fixtures

from ironic_inspection_rules.api import inspection_queue
from ironic_inspection_rules.queue import request as queue_request
from ironic_inspection_rules.tests.unit.inspection import base


class RequestsTestCase(base.GlueTestCase):
    def setUp(self):
        super().setUp()
        self.called = []
        self.patch(
            'wakeup.WakeupSender.wake',
            lambda sender: self.called.append('wake'),
        )
        self.patch(
            'worker_absence.WorkerAbsence.check',
            lambda absence: self.called.append('check'),
        )
        self.config(embedded=False, group='inspection_queue')
        inspection_queue.get_queue.cache_clear()
        self.addCleanup(inspection_queue.get_queue.cache_clear)

    def patch(self, name, value):
        self.useFixture(
            fixtures.MonkeyPatch(
                f'ironic_inspection_rules.queue.{name}', value
            )
        )

    def put(self):
        inspection_queue.get_queue().put(
            self.task.node.uuid, queue_request.TIMEOUT
        )

    def test_a_request_wakes_workers_and_looks_for_them(self):
        self.config(rpc_transport='oslo')
        self.put()
        self.assertEqual(['wake', 'check'], self.called)

    def test_without_a_broker_workers_find_it_themselves(self):
        self.config(rpc_transport='json-rpc')
        self.put()
        self.assertEqual(['check'], self.called)


class PutInsteadTestCase(base.GlueTestCase):
    def setUp(self):
        super().setUp()
        self.config(embedded=False, group='inspection_queue')
        inspection_queue.get_queue.cache_clear()
        self.addCleanup(inspection_queue.get_queue.cache_clear)
        self.useFixture(
            fixtures.MonkeyPatch(
                'ironic.api.request',
                types.SimpleNamespace(client_addr='192.0.2.1'),
            )
        )
        self.task.node.provision_state = 'inspect wait'
        self.task.node.save()

    def put(self, posted, token=None, **arguments):
        inspection_queue.put_instead(
            posted,
            {'record': {}},
            token,
            self.context,
            self.task.node.uuid,
            topic='t',
            **arguments,
        )
        return inspection_queue.get_queue().get('w1')

    def test_data_are_stored_as_they_came(self):
        posted = {'same': 1, 'gone': 1, 'other': 1}

        stored = self.put(
            posted,
            inventory={'cpu': 1},
            plugin_data={'same': 1, 'other': 2, 'new': 1},
        )

        self.assertEqual(
            ({'cpu': 1}, posted, '192.0.2.1'),
            (stored.inventory, stored.plugin_data, stored.sender),
        )
        self.assertEqual(
            {
                'set': {'other': 2, 'new': 1},
                'unset': ['gone'],
                'run': {'record': {}},
            },
            stored.checkpoints['early'],
        )
