# SPDX-License-Identifier: Apache-2.0

"""That the samples for traits are what the API takes and answers."""

import json

import webob

from ironic_inspection_rules.tests.functional.api import application
from ironic_inspection_rules.tests.functional.api import conductor
from ironic_inspection_rules.tests.functional.api import test_samples
from ironic_inspection_rules.tests.unit import base


def sample(name):
    """Read a sample of the API reference."""
    return json.loads(
        test_samples.SAMPLES.joinpath(f'trait-{name}.json').read_text()
    )


class TraitSamplesTestCase(base.TestCase):
    def setUp(self):
        super().setUp()
        if not test_samples.SAMPLES.is_dir():
            self.skipTest('not a checkout: no API reference')
        self.app = self.useFixture(application.Application()).app
        self.useFixture(conductor.Conductor())
        self.node = sample('node-list-response')['nodes'][0]
        self.send(
            'POST',
            '/v1/nodes',
            {
                'driver': 'fake-hardware',
                'uuid': self.node['uuid'],
                'name': self.node['name'],
            },
        )

    def send(self, method, path, body=None):
        request = webob.Request.blank(
            path,
            method=method,
            headers={'X-OpenStack-Ironic-API-Version': '1.96'},
        )
        if body is not None:
            request.json_body = body
            request.content_type = 'application/json'
        response = request.get_response(self.app)
        self.assertLess(response.status_int, 300, response.text)
        return response

    def assert_answer(self, name, path):
        self.assertEqual(
            test_samples.without_place_and_time(sample(name)),
            test_samples.without_place_and_time(self.send('GET', path).json),
        )

    def test_samples_are_what_the_api_takes_and_answers(self):
        traits = f'/v1/nodes/{self.node["name"]}/traits'
        self.send('PUT', traits, sample('of-node-set-request'))
        self.assert_answer('of-node-response', traits)
        self.assert_answer(
            'list-response',
            '/v1/traits?name=in:CUSTOM_RACK_7,'
            'HW_CPU_X86_SVM,HW_CPU_X86_VMX,CUSTOM_RACK_8',
        )
        self.assert_answer(
            'node-list-response',
            '/v1/nodes?traits-any=CUSTOM_RACK_7,'
            'CUSTOM_RACK_8&fields=uuid,name,traits&limit=1',
        )
