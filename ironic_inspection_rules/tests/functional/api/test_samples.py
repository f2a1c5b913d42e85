# SPDX-License-Identifier: Apache-2.0

"""That the API answers as the API reference says."""

import json
import pathlib
import re
from typing import Any

from ironic import objects
from ironic.common import context
import webob

import ironic_inspection_rules
from ironic_inspection_rules.tests.functional.api import application
from ironic_inspection_rules.tests.functional.api import gabbi_fixtures
from ironic_inspection_rules.tests.unit import base

SAMPLES = (
    pathlib.Path(ironic_inspection_rules.__file__)
    .parents[1]
    .joinpath('api-ref', 'source', 'samples')
)

TIME = re.compile(r'\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?\+00:00')
HOST = re.compile(r'http://[^/]+')

RULES = '/v1/inspection_rules'
UNKNOWN = '00000000-0000-4000-8000-000000000000'


def sample(name: str, resource: str = 'inspection-rule') -> Any:
    """Read a sample of the API reference."""
    return json.loads(SAMPLES.joinpath(f'{resource}-{name}.json').read_text())


def without_place_and_time(document: Any) -> Any:
    """Make documents of different hosts and times equal."""
    text = TIME.sub('TIME', HOST.sub('HOST', json.dumps(document)))
    return json.loads(text)


class SamplesTestCase(base.TestCase):
    def setUp(self):
        super().setUp()
        if not SAMPLES.is_dir():
            self.skipTest('not a checkout: no API reference')
        self.app = self.useFixture(application.Application()).app

    def send(self, method, path, body=None):
        request = webob.Request.blank(
            path,
            method=method,
            headers={'X-OpenStack-Ironic-API-Version': '1.96'},
        )
        if body is not None:
            request.json_body = body
            request.content_type = 'application/json'
        return request.get_response(self.app)

    def assert_answer(
        self,
        name,
        method,
        path,
        body=None,
        status=200,
        resource='inspection-rule',
    ):
        response = self.send(method, path, body)
        self.assertEqual(status, response.status_int, response.text)
        self.assertEqual(
            without_place_and_time(sample(name, resource)),
            without_place_and_time(response.json),
        )

    def test_samples_are_what_the_api_takes_and_answers(self):
        rule = f'{RULES}/{sample("create-request")["uuid"]}'

        self.assert_answer(
            'response', 'POST', RULES, sample('create-request'), 201
        )
        self.assert_answer('response', 'GET', rule)
        self.assert_answer(
            'list-detail-response', 'GET', f'{RULES}?detail=true'
        )
        self.send('POST', RULES, {'actions': [{'op': 'log', 'args': ['x']}]})
        self.assert_answer('list-response', 'GET', f'{RULES}?limit=1')
        self.assert_answer(
            'update-response', 'PATCH', rule, sample('update-request')
        )
        self.assert_answer(
            'replace-response', 'PUT', rule, sample('replace-request')
        )
        self.send('DELETE', RULES)
        self.assert_answer(
            'evaluate-response',
            'POST',
            f'{RULES}/evaluate',
            sample('evaluate-request'),
        )

    def test_so_are_those_of_the_rule_set(self):
        revisions = f'{RULES}/revisions'

        self.assert_answer('set-response', 'PUT', RULES, sample('set-request'))
        self.assert_answer('revisions-response', 'GET', revisions)
        self.assert_answer('revision-response', 'GET', f'{revisions}/1')

    def test_so_are_those_of_tables(self):
        tables = '/v1/inspection_tables'
        resource = 'inspection-table'
        self.assert_answer(
            'set-response',
            'PUT',
            RULES,
            sample('set-request', resource),
            200,
            resource,
        )
        for name, path in (
            ('list-response', ''),
            ('response', '/machines'),
            ('machines-response', '/machines/machines'),
        ):
            self.assert_answer(
                name, 'GET', f'{tables}{path}', resource=resource
            )

    def test_so_are_those_of_rules_of_ironic_inspector(self):
        rules = '/v1/rules'
        given = sample('create-request', 'inspector-rule')
        rule = f'{rules}/{given["uuid"]}'
        for name, method, path, body, status in (
            ('response', 'POST', rules, given, 201),
            ('response', 'GET', rule, None, 200),
            ('list-response', 'GET', rules, None, 200),
            (
                'replace-response',
                'PUT',
                rule,
                sample('replace-request', 'inspector-rule'),
                200,
            ),
        ):
            response = self.send(method, path, body)
            self.assertEqual(
                (status, sample(name, 'inspector-rule')),
                (response.status_int, response.json),
            )
        error = self.send('GET', f'{rules}/{UNKNOWN}').json
        self.assertEqual(sample('error-response', 'inspector-rule'), error)


class RunSamplesTestCase(base.TestCase):
    def setUp(self):
        super().setUp()
        if not SAMPLES.is_dir():
            self.skipTest('not a checkout: no API reference')
        for fixture in (
            gabbi_fixtures.API(),
            gabbi_fixtures.InspectedNode(),
            gabbi_fixtures.InspectionRuns(),
        ):
            fixture.start_fixture()
            self.addCleanup(fixture.stop_fixture)

    def answer(self, path):
        request = webob.Request.blank(
            path, headers={'X-OpenStack-Ironic-API-Version': '1.96'}
        )
        response = request.get_response(application.current)
        self.assertEqual(200, response.status_int, response.text)
        return without_place_and_time(response.json)

    def test_samples_are_what_the_api_answers(self):
        runs = f'/v1/nodes/{gabbi_fixtures.NODE}/inspection_runs'
        for name, path in (
            ('run-list', f'{runs}?limit=1'),
            ('run', f'{runs}/00000001-0000-4000-8000-000000000001'),
            ('run-explain', f'{runs}/explain?path=/extra/rack'),
        ):
            self.assertEqual(
                without_place_and_time(
                    sample('response', f'inspection-{name}')
                ),
                self.answer(path),
            )

    def test_so_is_what_became_of_a_rule(self):
        rule = gabbi_fixtures.RULE
        for number, count in enumerate((1, 2, 4)):
            # As revision 3, that of the run.
            request = webob.Request.blank(
                f'{RULES}/{rule}' if number else RULES,
                method='PUT' if number else 'POST',
                headers={'X-OpenStack-Ironic-API-Version': '1.96'},
            )
            request.json = {
                'uuid': rule,
                'description': 'big',
                'conditions': [
                    {
                        'op': 'ge',
                        'args': {'values': ['{inventory.cpu.count}', count]},
                    }
                ],
                'actions': [{'op': 'log', 'args': {'msg': 'big'}}],
            }
            request.content_type = 'application/json'
            request.get_response(application.current)
        self.assertEqual(
            without_place_and_time(
                sample('explain-rule-response', 'inspection-run')
            ),
            self.answer(
                f'/v1/nodes/{gabbi_fixtures.NODE}/inspection_runs/'
                f'explain?rule={rule}'
            ),
        )

    def test_so_are_those_of_a_fleet(self):
        admin = context.get_admin_context()
        node = objects.Node.get_by_uuid(admin, gabbi_fixtures.NODE)
        objects.TraitList.create(admin, node.id, ['CUSTOM_RACK_A1'])
        request = webob.Request.blank(
            f'{RULES}/evaluate',
            method='POST',
            headers={'X-OpenStack-Ironic-API-Version': '1.96'},
        )
        request.json_body = sample('fleet-request')
        request.content_type = 'application/json'
        response = request.get_response(application.current)
        self.assertEqual(sample('fleet-response'), response.json)

    def test_so_are_statistics(self):
        rule = {
            'uuid': gabbi_fixtures.BUILT_IN_RULES[2]['uuid'],
            'description': 'Note the size',
            'actions': [{'op': 'log', 'args': {'msg': 'big'}}],
        }
        request = webob.Request.blank(
            RULES,
            method='POST',
            headers={'X-OpenStack-Ironic-API-Version': '1.96'},
        )
        request.json_body = rule
        request.content_type = 'application/json'
        self.assertEqual(
            201, request.get_response(application.current).status_int
        )
        self.assertEqual(
            without_place_and_time(sample('response', 'rule-statistics')),
            self.answer(f'{RULES}/statistics'),
        )
