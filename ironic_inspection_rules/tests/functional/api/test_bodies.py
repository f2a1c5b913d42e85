# SPDX-License-Identifier: Apache-2.0

"""Bodies that nobody should send, to every call that takes one."""

import json

import fixtures
import webob

from ironic_inspection_rules.api import routes
from ironic_inspection_rules.api.controllers import introspection
from ironic_inspection_rules.patches import body_limit
from ironic_inspection_rules.tests.functional.api import application
from ironic_inspection_rules.tests.functional.api import conductor
from ironic_inspection_rules.tests.functional.api import gabbi_fixtures
from ironic_inspection_rules.tests.unit import base

_VALUES = {
    'node': 'posted',
    'name': 'CUSTOM_A',
    'revision': 1,
    'uuid': '00000000-0000-4000-8000-000000000001',
}

CALLS = [
    (route.method, '/v1/' + route.path.format(**_VALUES))
    for route in routes.TABLE
    if route.method not in ('GET', 'DELETE')
    # The conductor of these tests changes no states.
    and route.handler not in (introspection.begin, introspection.abort)
]

BODIES = (
    b'nonsense',
    b'[]',
    b'5',
    b'null',
    b'"x"',
    b'{"a": NaN}',
    b'\xff',
    b'\xef\xbb\xbf{"a": 1}',
    b'\xef\xbb\xbf',
    b'{}'.replace(b'{', b'{\x00'),
    '{"a": 1}'.encode('utf-16'),
    b'[' * 26 + b']' * 26,
    b'{"a": "\\ud800"}',
    b'{"traits": ["\\ud800"]}',
    b'--a\r\n',
)

TYPES = (
    'application/json',
    'application/json; charset=utf-16',
    'application/json; charset=nonsense',
    'text/plain',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=a',
    'multipart/form-data',
    '',
)


class BodiesTestCase(base.TestCase):
    def serve(self, **options):
        self.app = self.useFixture(
            application.Application(
                {'inspection_queue': {'enabled': True}, **options}
            )
        ).app

    def send(
        self,
        method,
        path,
        body,
        content_type='application/json',
        is_chunked=False,
        **headers,
    ):
        request = webob.Request.blank(
            path,
            method=method,
            body=body,
            headers={'X-OpenStack-Ironic-API-Version': '1.96', **headers},
        )
        request.environ['CONTENT_TYPE'] = content_type
        if is_chunked:
            request.content_length = None
            request.environ['wsgi.input_terminated'] = True
        return request.get_response(self.app)

    def test_none_is_an_error_of_the_server(self):
        self.serve()
        self.useFixture(conductor.Conductor())
        nodes = gabbi_fixtures.NodesToInspect()
        nodes.start_fixture()
        self.addCleanup(nodes.stop_fixture)

        for method, path in CALLS:
            for body in BODIES:
                for content_type in TYPES:
                    answer = self.send(method, path, body, content_type)
                    self.assertLess(
                        answer.status_int,
                        500,
                        (method, path, body, content_type, answer.text),
                    )

    def test_bodies_are_not_read_before_the_policy_is_asked(self):
        self.serve(DEFAULT={'auth_strategy': 'keystone'})
        nodes = gabbi_fixtures.NodesToInspect()
        nodes.start_fixture()
        self.addCleanup(nodes.stop_fixture)

        for method, path in CALLS:
            if 'continue' in path:
                # A call without a policy.
                continue
            answer = self.send(
                method, path, b'nonsense', **{'X-Auth-Token': 'lessee-reader'}
            )
            self.assertEqual(403, answer.status_int, (method, path))

    def test_depth_is_counted_for_who_may_call_only(self):
        # It takes a second for the largest bodies.
        self.serve(DEFAULT={'auth_strategy': 'keystone'})
        deep = b'[' * 26 + b']' * 26
        for token, status in (('lessee-reader', 403), ('system-admin', 400)):
            answer = self.send(
                'PUT', '/v1/inspection_rules', deep, **{'X-Auth-Token': token}
            )
            self.assertEqual(status, answer.status_int, token)
        self.assertIn('nested too deeply', answer.text)

    def test_a_node_may_be_named_like_a_call(self):
        self.serve()
        self.useFixture(conductor.Conductor())
        nodes = gabbi_fixtures.NodesToInspect()
        nodes.start_fixture()
        self.addCleanup(nodes.stop_fixture)

        answer = self.send(
            'PATCH',
            '/v1/nodes/rack1-inspection_rules',
            json.dumps(
                [{'op': 'add', 'path': '/extra/a', 'value': 1}]
            ).encode(),
        )

        # It is looked for: Ironic has read the body.
        self.assertEqual(404, answer.status_int, answer.text)

    def test_pecan_parses_no_body_of_ours(self):
        # What it finds takes as much memory as what is read of it.
        self.serve()

        def parse(received):
            self.assertEqual(b'', received.body)
            raise ValueError

        self.useFixture(
            fixtures.MonkeyPatch(
                'webob.request.BaseRequest.json', property(parse)
            )
        )
        rule = {'actions': [{'op': 'log', 'args': ['a']}]}
        answer = self.send(
            'PUT',
            '/v1/inspection_rules',
            json.dumps({'rules': [rule]}).encode(),
        )
        self.assertEqual(200, answer.status_int, answer.text)
        self.assertEqual(1, len(answer.json['rules']))

    def test_what_is_not_utf_8_is_told(self):
        self.serve()
        for method, path in CALLS:
            for is_chunked in (False, True):
                answer = self.send(
                    method, path, b'{"a": "\xff"}', is_chunked=is_chunked
                )
                self.assertEqual(400, answer.status_int, (method, path))
                self.assertIn('must be encoded in UTF-8', answer.text)

    def test_large_bodies_without_a_length_are_refused(self):
        self.serve()
        for method, path in CALLS:
            self.assertEqual(
                413,
                self.send(
                    method, path, b' ' * (17 * 1024**2), is_chunked=True
                ).status_int,
                (method, path),
            )

    def test_dry_runs_may_have_what_inspection_data_have(self):
        if body_limit.json_depth is None:
            self.skipTest('this Ironic has no options for bodies')
        self.serve(
            api={'max_json_body_size': 4, 'max_json_body_size_inspection': 64}
        )
        body = json.dumps({'inventory': {'a': 'x' * 10_000}}).encode()

        self.assertEqual(
            200,
            self.send(
                'POST', '/v1/inspection_rules/evaluate', body
            ).status_int,
        )
        self.assertEqual(413, self.send('POST', '/v1/rules', body).status_int)
