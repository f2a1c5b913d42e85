# SPDX-License-Identifier: Apache-2.0

"""Changes of a node's traits: its lock, and who is told of them."""

import fixtures
from ironic import objects
from ironic.common import context
from ironic.conf import CONF
from oslo_config import fixture as config_fixture
import webob

from ironic_inspection_rules.tests.functional.api import application
from ironic_inspection_rules.tests.functional.api import conductor
from ironic_inspection_rules.tests.unit import base


class FakeNotifier:
    """Keeps what it is told: the kind of event, and the node's traits."""

    def __init__(self):
        self.events = []

    def prepare(self, publisher_id):
        return self

    def info(self, _context, event_type, payload):
        traits = payload['ironic_object.data']['traits']
        self.events.append((event_type, sorted(traits)))

    error = info


class NodeTraitsTestCase(base.TestCase):
    def setUp(self):
        super().setUp()
        self.app = self.useFixture(application.Application()).app
        self.useFixture(conductor.Conductor())
        self.config = self.useFixture(config_fixture.Config(CONF))
        self.context = context.get_admin_context()
        self.node = objects.Node(
            self.context, driver='fake-hardware', name='one'
        )
        self.node.create()
        objects.TraitList.create(self.context, self.node.id, ['CUSTOM_A'])

    def send(self, method, path='', body=None):
        request = webob.Request.blank(
            f'/v1/nodes/one/traits{path}',
            method=method,
            headers={'X-OpenStack-Ironic-API-Version': '1.96'},
        )
        if body is not None:
            request.json_body = body
            request.content_type = 'application/json'
        return request.get_response(self.app).status_int

    def traits(self):
        return sorted(
            objects.TraitList.get_by_node_id(
                self.context, self.node.id
            ).get_trait_names()
        )

    def test_a_locked_node_stays_as_it_is(self):
        self.config.config(group='conductor', node_locked_retry_attempts=0)
        objects.Node.reserve(self.context, 'elsewhere', self.node.id)
        for method, path, body in (
            ('PUT', '', {'traits': ['CUSTOM_B']}),
            ('PUT', '/CUSTOM_B', None),
            ('DELETE', '', None),
            ('DELETE', '/CUSTOM_A', None),
        ):
            self.assertEqual(
                409, self.send(method, path, body), (method, path)
            )
        self.assertEqual(['CUSTOM_A'], self.traits())

    def test_changes_are_announced_as_updates_of_the_node(self):
        notifier = FakeNotifier()
        self.config.config(notification_level='info')
        self.useFixture(
            fixtures.MonkeyPatch(
                'ironic.common.rpc.VERSIONED_NOTIFIER', notifier
            )
        )
        self.assertEqual(204, self.send('PUT', '/CUSTOM_B'))
        self.assertEqual(204, self.send('PUT', '', {'traits': ['CUSTOM_C']}))
        self.assertEqual(204, self.send('DELETE'))
        self.assertEqual(
            [
                (f'baremetal.node.update.{phase}', traits)
                for traits in (['CUSTOM_A', 'CUSTOM_B'], ['CUSTOM_C'], [])
                for phase in ('start', 'end')
            ],
            notifier.events,
        )

    def test_nothing_is_announced_of_what_is_refused(self):
        notifier = FakeNotifier()
        self.config.config(notification_level='info')
        self.useFixture(
            fixtures.MonkeyPatch(
                'ironic.common.rpc.VERSIONED_NOTIFIER', notifier
            )
        )
        self.assertEqual(400, self.send('PUT', '', {'traits': ['bad']}))
        self.assertEqual(400, self.send('PUT', '/bad'))
        self.assertEqual([], notifier.events)
