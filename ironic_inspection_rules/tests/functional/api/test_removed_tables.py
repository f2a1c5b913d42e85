# SPDX-License-Identifier: Apache-2.0

"""An API whose tables were removed while it runs."""

import webob

from ironic_inspection_rules.db import migration
from ironic_inspection_rules.tests import database
from ironic_inspection_rules.tests.functional.api import application
from ironic_inspection_rules.tests.unit import base

UUID = '00000000-0000-4000-8000-000000000001'
CALLS = (
    ('GET', '/v1/inspection_rules', None),
    ('GET', f'/v1/inspection_rules/{UUID}', None),
    ('GET', '/v1/inspection_rules/statistics', None),
    ('GET', '/v1/rules', None),
    (
        'POST',
        '/v1/inspection_rules',
        {'actions': [{'op': 'fail', 'args': {'msg': 'no'}}]},
    ),
    ('PUT', '/v1/inspection_rules', {'rules': []}),
    ('DELETE', '/v1/inspection_rules', None),
    ('POST', '/v1/inspection_rules/evaluate', {'inventory': {}}),
    (
        'POST',
        '/v1/continue_inspection',
        {
            'inventory': {
                'bmc_address': '192.0.2.1',
                'cpu': {},
                'boot': {},
                'memory': {},
                'disks': [],
                'interfaces': [
                    {'name': 'a', 'mac_address': '52:54:00:12:34:56'}
                ],
            }
        },
    ),
)


class RemovedTablesTestCase(base.TestCase):
    kind = 'sqlite'

    def setUp(self):
        super().setUp()
        if reason := database.why_absent(self.kind):
            self.skipTest(reason)
        self.app = self.useFixture(application.Application(kind=self.kind)).app

    def test_it_says_so_in_one_line(self):
        migration.drop()
        for method, path, body in CALLS:
            request = webob.Request.blank(
                path,
                method=method,
                headers={'X-OpenStack-Ironic-API-Version': '1.96'},
            )
            if body is not None:
                request.content_type = 'application/json'
                request.json = body

            answer = request.get_response(self.app)

            self.assertEqual(503, answer.status_int, (method, path))
            self.assertIn(
                'tables of the inspection rules are missing', answer.text
            )
            self.assertIn(
                'ironic-inspection-rules-dbsync upgrade', answer.text
            )
            self.assertNotIn('SELECT', answer.text)


class MySQLRemovedTablesTestCase(RemovedTablesTestCase):
    kind = 'mysql'


class PostgreSQLRemovedTablesTestCase(RemovedTablesTestCase):
    kind = 'postgresql'
