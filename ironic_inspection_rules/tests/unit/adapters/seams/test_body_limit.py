# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""The limit that Ironic puts on the bodies of requests."""

import io

import fixtures
from ironic.api.middleware import json_depth

from ironic_inspection_rules.adapters.seams import body_limit
from ironic_inspection_rules.tests.unit import base


class BodyLimitTestCase(base.TestCase):

    def setUp(self):
        super().setUp()
        self.useFixture(fixtures.MonkeyPatch(
            'ironic.api.middleware.json_depth._is_inspection_path',
            json_depth._is_inspection_path))

    def status(self, path, size):
        """Send a JSON body of some size through Ironic's middleware."""
        statuses = []

        def app(environ, start_response):
            start_response('200 OK', [])
            return []

        json_depth.JsonDepthMiddleware(
            app, max_body_size=10, max_provision_size=20,
            max_inspection_size=30)(
                {'PATH_INFO': path, 'CONTENT_TYPE': 'application/json',
                 'CONTENT_LENGTH': str(size),
                 'wsgi.input': io.BytesIO(b'"' + b'x' * (size - 2) + b'"')},
                lambda status, headers: statuses.append(int(status[:3])))
        return statuses[0]

    def test_requests_with_inspection_data_may_be_bigger(self):
        body_limit.as_inspection_data('things/try')

        self.assertEqual(200, self.status('/v1/things/try', 30))
        self.assertEqual(413, self.status('/v1/things/try', 31))

    def test_the_limits_of_others_stay(self):
        body_limit.as_inspection_data('things/try')

        self.assertEqual(200, self.status('/v1/continue_inspection', 30))
        self.assertEqual(413, self.status('/v1/things', 11))
