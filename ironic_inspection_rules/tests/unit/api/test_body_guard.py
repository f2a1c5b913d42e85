# SPDX-License-Identifier: Apache-2.0

"""Bodies that are not let through, whatever they claim to be."""

import fixtures
import webob

from ironic_inspection_rules.api import body_guard
from ironic_inspection_rules.patches import body_limit
from ironic_inspection_rules.tests.unit import base

DEEP = b'[' * 26 + b']' * 26
OTHER_TYPES = ('text/plain', 'application/x-www-form-urlencoded', '')


class BodyGuardTestCase(base.IronicTestCase):

    def send(self, body, content_type='text/plain', path='/v1/rules',
             **environ):
        """Send a body through the guard.

        :returns: the status, and what the application below could read.
        """
        read = []

        def app(environ, start_response):
            read.append(webob.Request(environ).body)
            return webob.Response()(environ, start_response)

        request = webob.Request.blank(
            path, method='POST', body=body,
            environ={'CONTENT_TYPE': content_type, **environ})
        answer = request.get_response(body_guard.BodyGuard(app))
        return answer.status_int, *read

    def without_limits_of_ironic(self):
        self.useFixture(fixtures.MonkeyPatch(
            'ironic_inspection_rules.patches.body_limit.json_depth', None))

    def test_what_is_within_the_limits_is_read_below(self):
        for content_type in (*OTHER_TYPES, 'application/json'):
            self.assertEqual((200, DEEP[1:-1]),
                             self.send(DEEP[1:-1], content_type))

    def test_a_request_without_a_body_passes(self):
        self.assertEqual((200, b''), self.send(b''))

    def test_depth_is_limited_whatever_it_claims_to_be(self):
        for content_type in OTHER_TYPES:
            self.assertEqual((400,), self.send(DEEP, content_type))

    def test_depth_of_json_is_left_to_ironic_where_it_looks(self):
        if body_limit.json_depth is None:
            self.skipTest('this Ironic has no limits')
        self.assertEqual((200, DEEP), self.send(DEEP, 'application/json'))

    def test_depth_of_json_is_limited_where_ironic_does_not_look(self):
        self.without_limits_of_ironic()

        self.assertEqual((400,), self.send(DEEP, 'application/json'))

    def test_size_is_limited_by_path(self):
        body = b'"' + b'x' * 1024 ** 2 + b'"'

        self.assertEqual((413,), self.send(body))
        for path in ('/v1/continue_inspection',
                     '/v1/nodes/n/states/provision'):
            self.assertEqual((200, body), self.send(body, path=path))

    def test_size_is_limited_where_no_length_is_told(self):
        body = b'"' + b'x' * 1024 ** 2 + b'"'

        for sent, expected in ((body, (413,)), (b'{}', (200, b'{}'))):
            self.assertEqual(expected, self.send(sent, **{
                'CONTENT_LENGTH': '', 'wsgi.input_terminated': True}))

    def test_forms_with_parts_do_not_pass(self):
        self.assertEqual((415,), self.send(b'--a--', 'multipart/form-data'))

    def test_only_utf_8_passes(self):
        for charset in ('utf-16', 'latin-1', 'nonsense', 'zip'):
            for kind in ('application/json', 'text/plain'):
                self.assertEqual((415,), self.send(
                    b'{}', f'{kind}; charset={charset}'))
        self.assertEqual((400,), self.send('{}'.encode('utf-16')))
        for charset in ('utf-8', 'UTF8', '"utf-8"', 'us-ascii'):
            self.assertEqual((200, b'{}'), self.send(
                b'{}', f'application/json; charset={charset}'))
