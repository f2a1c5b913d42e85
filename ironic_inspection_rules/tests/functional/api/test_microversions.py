# SPDX-License-Identifier: Apache-2.0

"""What each call answers below the microversion that it belongs to."""

from ironic import objects
from ironic.common import context
import webob

from ironic_inspection_rules.api import routes
from ironic_inspection_rules.api import routing
from ironic_inspection_rules.tests.functional.api import application
from ironic_inspection_rules.tests.unit import base

UUID = '11111111-1111-4111-8111-111111111111'
TRAIT = 'CUSTOM_X'


class MicroversionTestCase(base.TestCase):
    def setUp(self):
        super().setUp()
        self.app = self.useFixture(
            application.Application({'inspection_queue': {'enabled': True}})
        ).app
        objects.Node(
            context.get_admin_context(),
            uuid=UUID,
            name='n',
            driver='fake-hardware',
        ).create()

    def answer(self, method, path, version):
        request = webob.Request.blank(
            f'/v1/{path}',
            method=method,
            headers={'X-OpenStack-Ironic-API-Version': version},
        )
        request.content_type = 'application/json'
        request.body = b'{}'
        return request.get_response(self.app)

    def status(self, method, path, version):
        return self.answer(method, path, version).status_int

    def test_calls_of_1_96_are_not_there_before(self):
        for route in routes.TABLE:
            if route.since != routing.RULES or route.is_inspector:
                continue
            path = route.path.format(
                uuid=UUID, revision=1, node='n', name='orders'
            )
            expected = 404 if route.method == 'GET' else 405
            for version in ('1.6', '1.36', '1.80', '1.95'):
                self.assertEqual(
                    expected,
                    self.status(route.method, path, version),
                    f'{route.method} {path} at {version}',
                )
            self.assertIn('1.96', self.answer(route.method, path, '1.95').text)
            self.assertNotIn(
                '1.96', self.answer(route.method, path, '1.96').text
            )

    def test_calls_below_an_inventory_are_not_there_before_1_81(self):
        for method, path in (('GET', 'unprocessed'), ('POST', 'reapply')):
            path = f'nodes/n/inventory/{path}'
            before = self.answer(method, path, '1.80')
            self.assertEqual(404, before.status_int, path)
            # The node has no inventory, which is another error.
            self.assertNotEqual(
                before.text,
                self.answer(method, path, '1.81').text,
                (method, path),
            )

    def test_requests_of_the_queue_are_in_every_version(self):
        self.assertEqual(200, self.status('GET', 'inspection_requests', '1.1'))
        for method in ('GET', 'DELETE'):
            self.assertEqual(
                404, self.status(method, f'inspection_requests/{UUID}', '1.1')
            )

    def test_traits_of_nodes_are_not_there_before_1_37(self):
        one = f'nodes/n/traits/{TRAIT}'
        for method, path, expected in (
            ('GET', 'nodes/n/traits', 406),
            ('GET', one, 404),
            ('PUT', 'nodes/n/traits', 405),
            ('PUT', one, 405),
            ('DELETE', 'nodes/n/traits', 404),
            ('DELETE', one, 404),
        ):
            self.assertEqual(
                expected, self.status(method, path, '1.36'), f'{method} {path}'
            )
            self.assertNotIn(self.status(method, path, '1.37'), (405, 406))

    def test_traits_and_filters_are_not_there_before_1_37(self):
        for path, expected in (
            ('traits', 404),
            (f'traits/{TRAIT}', 404),
            (f'nodes?traits={TRAIT}', 406),
            (f'nodes/detail?not-traits-any={TRAIT}', 406),
        ):
            self.assertEqual(expected, self.status('GET', path, '1.36'), path)

    def test_calls_of_inspector_are_in_every_version(self):
        for path in ('rules', 'introspection'):
            self.assertEqual(200, self.status('GET', path, '1.1'))
