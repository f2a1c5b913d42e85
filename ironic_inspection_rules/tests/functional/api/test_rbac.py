# SPDX-License-Identifier: Apache-2.0

"""Who may call what: rbac.yaml, and that no call is left out of it."""

import inspect
import pathlib

import fixtures
from ironic import objects
from ironic.common import context
from pecan import core
import webob
import yaml

from ironic_inspection_rules.api import routes
from ironic_inspection_rules.api.controllers import node
from ironic_inspection_rules.tests.functional.api import application
from ironic_inspection_rules.tests.functional.api import conductor
from ironic_inspection_rules.tests.functional.api import gabbi_fixtures
from ironic_inspection_rules.tests.unit import base

TABLE = yaml.safe_load(
    pathlib.Path(__file__).with_name('rbac.yaml').read_text()
)

ANONYMOUS = 'anonymous'

OPTIONS = {
    'DEFAULT': {
        'auth_strategy': 'keystone',
        'rbac_service_role_elevated_access': True,
    },
    'conductor': {'node_locked_retry_attempts': 0},
    'inspection_queue': {'enabled': True},
}


EXTENDED = {node.NodesController.get_all, node.NodesController.detail}
"""What answers in the place of Ironic's own."""


class RBACTestCase(base.TestCase):
    def setUp(self):
        super().setUp()
        self.app = self.useFixture(application.Application(OPTIONS)).app
        self.useFixture(conductor.Conductor())
        nodes = gabbi_fixtures.NodesToInspect()
        nodes.start_fixture()
        self.addCleanup(nodes.stop_fixture)
        admin = context.get_admin_context()
        for name in ('posted', 'locked'):
            node = objects.Node.get_by_name(admin, name)
            objects.TraitList.create(admin, node.id, ['CUSTOM_A'])
            objects.NodeInventory(
                admin, node_id=node.id, inventory_data={}, plugin_data={}
            ).create()
        self.called = set()
        find = core.PecanBase.find_controller

        def find_controller(pecan, state):
            found = find(pecan, state)
            # A call of the table is the method of its route.
            self.called.add(found[0])
            self.called.add(
                inspect.unwrap(getattr(found[0], '__func__', found[0]))
            )
            return found

        self.useFixture(
            fixtures.MonkeyPatch(
                'pecan.core.PecanBase.find_controller', find_controller
            )
        )

    def call(self, persona, method, path, body=None, **_expected):
        """Make a call; Ironic's answer to it must not change the next one's.

        :returns: the status.
        """
        request = webob.Request.blank(
            path,
            method=method.upper(),
            headers={'X-OpenStack-Ironic-API-Version': '1.96'},
        )
        if persona != ANONYMOUS:
            request.headers['X-Auth-Token'] = persona
        if body is not None:
            request.json_body = body
            request.content_type = 'application/json'
        return request.get_response(self.app).status_int

    def test_every_persona_gets_the_answer_of_the_table(self):
        for name, call in TABLE['calls'].items():
            self.assertEqual(
                call['assert_status'],
                ' '.join(
                    str(self.call(persona, **call))
                    for persona in TABLE['personas']
                ),
                name,
            )

    def test_every_call_that_is_served_is_in_the_table(self):
        for call in TABLE['calls'].values():
            self.call('system-admin', **call)

        self.assertEqual(
            [],
            [
                f'{route.method} {route.path}'
                for route in routes.TABLE
                if route.exposed not in self.called
            ],
            'calls without a row in rbac.yaml',
        )
        self.assertEqual(set(), {*map(inspect.unwrap, EXTENDED)} - self.called)

    def test_every_persona_of_ironic_is_in_the_table(self):
        self.assertEqual(
            {*application.PERSONAS, ANONYMOUS}, set(TABLE['personas'])
        )
