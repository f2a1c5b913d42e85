# SPDX-License-Identifier: Apache-2.0

from ironic.common import exception as ironic_exception
from ironic.objects import base as object_base
from oslo_utils import uuidutils

from ironic_inspection_rules.objects import request
from ironic_inspection_rules.queue import database_queue
from ironic_inspection_rules.queue import request as queue_request
from ironic_inspection_rules.queue import state
from ironic_inspection_rules.tests import database
from ironic_inspection_rules.tests.unit import base

NODE = uuidutils.generate_uuid()
OTHER = uuidutils.generate_uuid()


class InspectionRequestTestCase(base.IronicTestCase):
    def setUp(self):
        super().setUp()
        self.useFixture(database.Database())
        self.queue = database_queue.DatabaseQueue(60)

    def put(self, node=NODE):
        return self.queue.put(
            node, queue_request.CONTINUE, {'cpu': 1}, {'a': 1}
        )

    def uuids(self, **kwargs):
        return [
            found.uuid
            for found in request.InspectionRequest.list(None, **kwargs)
        ]

    def test_a_request_is_shown_as_it_is_stored(self):
        put = self.put()
        found = request.InspectionRequest.get_by_uuid(None, put.uuid)
        self.assertEqual(
            (NODE, queue_request.CONTINUE, state.WAITING, 0, None),
            (
                found.node_uuid,
                found.event,
                found.state,
                found.attempts,
                found.worker,
            ),
        )
        self.assertIsNotNone(found.created_at)
        self.queue.begin(self.queue.get('w1'), state.PROCESSING)
        found = request.InspectionRequest.get_by_uuid(None, put.uuid)
        self.assertEqual(
            (state.PROCESSING, 1, 'w1'),
            (found.state, found.attempts, found.worker),
        )
        self.assertIsNotNone(found.started_at)
        self.assertIsNone(found.finished_at)

    def test_an_unknown_request_is_not_found(self):
        self.assertRaises(
            ironic_exception.NotFound,
            request.InspectionRequest.get_by_uuid,
            None,
            OTHER,
        )
        self.assertRaises(ironic_exception.NotFound, self.uuids, marker=OTHER)

    def test_requests_are_listed_in_the_order_they_were_put(self):
        first, second = self.put(), self.put(OTHER)
        self.queue.abort(first.uuid, 'out of the way')
        third = self.put()
        self.assertEqual([first.uuid, second.uuid, third.uuid], self.uuids())
        self.assertEqual(
            [first.uuid, third.uuid], self.uuids(filters={'node_uuid': NODE})
        )
        self.assertEqual(
            [first.uuid], self.uuids(filters={'state': state.ERROR})
        )
        self.assertEqual([first.uuid, second.uuid], self.uuids(limit=2))
        self.assertEqual([third.uuid], self.uuids(marker=second.uuid))

    def test_what_the_ramdisk_posted_last_is_found(self):
        get = request.InspectionRequest.get_unprocessed
        self.assertIsNone(get(None, NODE))
        self.put()
        self.assertEqual(
            {'inventory': {'cpu': 1}, 'plugin_data': {'a': 1}}, get(None, NODE)
        )
        self.assertIsNone(get(None, OTHER))

    def test_rows_say_which_version_of_the_object_shows_them(self):
        put = self.put()
        found = request.InspectionRequest.get_by_uuid(None, put.uuid)
        self.assertEqual(request.InspectionRequest.VERSION, found.VERSION)

    def test_ironic_knows_the_object(self):
        self.assertIn(
            'InspectionRequest', object_base.IronicObjectRegistry.obj_classes()
        )
