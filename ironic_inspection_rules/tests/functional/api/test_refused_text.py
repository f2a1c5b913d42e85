# SPDX-License-Identifier: Apache-2.0

"""Text for which a database refuses to search."""

from urllib import parse

import webob

from ironic_inspection_rules.tests import database
from ironic_inspection_rules.tests.functional.api import application
from ironic_inspection_rules.tests.unit import base

PATHS = (
    '/v1/inspection_rules?scope=%s',
    '/v1/inspection_parts?id=%s',
    '/v1/inspection_tables/%s',
    '/v1/nodes/%s/inspection_runs',
    '/v1/nodes?traits=%s',
    '/v1/rules/%s',
    '/v1/traits?name=in:%s',
    '/v1/traits?name=startswith:%s',
    '/v1/traits/%s',
)
FILTERS = ('conductor_group', 'driver', 'owner', 'resource_class', 'shard')


class RefusedTextTestCase(base.TestCase):
    """PostgreSQL refuses NUL.

    MySQL refuses characters above U+FFFF, as the connection lacks
    charset=utf8mb4.
    """

    kind = 'sqlite'
    texts = ('😀', '\0', 'a\0')

    def setUp(self):
        super().setUp()
        if reason := database.why_absent(self.kind):
            self.skipTest(reason)
        self.app = self.useFixture(application.Application(kind=self.kind)).app

    def check(self, path, body=None):
        request = webob.Request.blank(
            path, headers={'X-OpenStack-Ironic-API-Version': '1.96'}
        )
        if body is not None:
            request.method = 'POST'
            request.content_type = 'application/json'
            request.json = body
        answer = request.get_response(self.app)
        self.assertLess(answer.status_int, 500, (path, body, answer.text))
        self.assertNotIn('SELECT', answer.text)

    def test_it_is_no_internal_error(self):
        for text in self.texts:
            for path in PATHS:
                self.check(path % parse.quote(text))
            for name in FILTERS:
                self.check(
                    '/v1/inspection_rules/evaluate', {'nodes': {name: text}}
                )


class MySQLRefusedTextTestCase(RefusedTextTestCase):
    kind = 'mysql'


class PostgreSQLRefusedTextTestCase(RefusedTextTestCase):
    kind = 'postgresql'
