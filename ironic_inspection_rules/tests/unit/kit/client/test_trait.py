# SPDX-License-Identifier: Apache-2.0

import json

from openstack import exceptions as sdk_exceptions
from openstack import proxy
import requests

from ironic_inspection_rules.kit.client import trait
from ironic_inspection_rules.tests.unit import base
from ironic_inspection_rules.tests.unit.kit.osc import fakes


class FakeBaremetal(proxy.Proxy):
    """A bare metal proxy that answers from a list."""

    def __init__(self, *answers):
        self.answers = list(answers)
        self.requests = []

    def get(self, url, **kwargs):
        request = requests.Request(
            'GET',
            f'http://ironic.test/v1{url}' if url.startswith('/') else url,
            params=kwargs.get('params'),
        ).prepare()
        self.requests.append(request.url.removeprefix('http://ironic.test'))
        response = requests.Response()
        response.status_code = 200
        response.url = request.url
        response._content = json.dumps(self.answers.pop(0)).encode()
        return response

    def get_endpoint_data(self):
        return None

    def _get_connection(self):
        return None


class NodesTestCase(base.TestCase):
    def names(self, baremetal, *args, **kwargs):
        return [
            node.name
            for node in trait.nodes(
                baremetal, *args, microversion='1.37', **kwargs
            )
        ]

    def test_every_filter_is_sent(self):
        baremetal = FakeBaremetal({'nodes': [{'name': 'one'}]})
        self.assertEqual(
            ['one'],
            self.names(
                baremetal,
                traits=['CUSTOM_A', 'CUSTOM_B'],
                traits_any=('CUSTOM_C',),
                not_traits={'CUSTOM_D'},
                not_traits_any=['CUSTOM_E'],
            ),
        )
        self.assertEqual(
            [
                '/v1/nodes?traits=CUSTOM_A,CUSTOM_B&traits-any=CUSTOM_C'
                '&not-traits=CUSTOM_D&not-traits-any=CUSTOM_E'
            ],
            baremetal.requests,
        )

    def test_what_the_sdk_knows_is_sent_too(self):
        baremetal = FakeBaremetal({'nodes': []})
        self.names(baremetal, True, traits=['CUSTOM_A'], is_maintenance=True)
        self.assertEqual(
            ['/v1/nodes/detail?traits=CUSTOM_A&maintenance=True'],
            baremetal.requests,
        )

    def test_pages_are_followed(self):
        baremetal = FakeBaremetal(
            {
                'nodes': [{'uuid': '1', 'name': 'one'}],
                'next': 'http://ironic.test/v1/nodes?traits=CUSTOM_A&marker=1',
            },
            {'nodes': [{'uuid': '2', 'name': 'two'}]},
        )
        self.assertEqual(
            ['one', 'two'], self.names(baremetal, traits=['CUSTOM_A'])
        )
        self.assertIn('traits=CUSTOM_A', baremetal.requests[1])
        self.assertIn('marker=1', baremetal.requests[1])

    def test_a_name_that_is_none_reaches_ironic(self):
        baremetal = FakeBaremetal({'nodes': []})
        self.names(baremetal, traits=['%s &x=1'])
        self.assertEqual(
            ['/v1/nodes?traits=%25s+%26x%3D1'], baremetal.requests
        )


class TraitsTestCase(base.TestCase):
    found = {'traits': [{'name': 'CUSTOM_A', 'nodes': 1}]}

    def setUp(self):
        super().setUp()
        self.baremetal = fakes.Baremetal()

    def test_all_are_asked_for(self):
        self.baremetal.answers = [(200, self.found)]
        self.assertEqual(self.found['traits'], trait.traits(self.baremetal))
        self.assertEqual(
            [('GET', '/traits', {'params': {}})], self.baremetal.calls
        )

    def test_some_are_asked_for(self):
        self.baremetal.answers = [(200, self.found)]
        trait.traits(self.baremetal, 'in:CUSTOM_A', associated=False)
        query = {'name': 'in:CUSTOM_A', 'associated': False}
        self.assertEqual(
            [('GET', '/traits', {'params': query})], self.baremetal.calls
        )

    def test_an_error_is_raised(self):
        self.baremetal.answers = [(400, {'error_message': 'no'})]
        self.assertRaises(
            sdk_exceptions.BadRequestException,
            trait.traits,
            self.baremetal,
            'x',
        )

    def test_the_page_of_a_proxy_is_named_with_its_url(self):
        self.baremetal.answers = [(502, 'Bad Gateway')]
        error = self.assertRaises(
            sdk_exceptions.HttpException, trait.traits, self.baremetal
        )
        self.assertEqual(
            'The answer from /traits with the status 502 is "Bad Gateway"',
            error.details,
        )
