# SPDX-License-Identifier: Apache-2.0

"""Every route: described, and closed to those who have no business there."""

import collections
import pathlib
import re
import uuid

import webob
import yaml

import ironic_inspection_rules
from ironic_inspection_rules.api import routes as api_routes
from ironic_inspection_rules.tests.functional.api import application
from ironic_inspection_rules.tests.unit import base

DESCRIPTION = (
    pathlib.Path(ironic_inspection_rules.__file__)
    .parents[1]
    .joinpath('api-ref', 'source', 'openapi.yaml')
)

VERBS = {'get', 'put', 'post', 'patch', 'delete'}


def routes() -> list[tuple[str, str]]:
    """Return method and path of all that the OpenAPI document describes."""
    described = yaml.safe_load(DESCRIPTION.read_text())
    return [
        (verb.upper(), path)
        for path, operations in described['paths'].items()
        for verb in VERBS.intersection(operations)
    ]


class RoutesTestCase(base.TestCase):
    def setUp(self):
        super().setUp()
        if not DESCRIPTION.exists():
            self.skipTest('not a checkout: no API reference')

    def test_no_name_of_the_description_is_there_twice(self):
        # Of two schemas with one name YAML takes the last, without a word.
        ahead = [yaml.compose(DESCRIPTION.read_text())]
        twice = []
        while ahead:
            node = ahead.pop()
            if isinstance(node, yaml.MappingNode):
                names = collections.Counter(
                    key.value for key, _value in node.value
                )
                twice += [name for name, count in names.items() if count > 1]
                ahead += [value for _key, value in node.value]
            elif isinstance(node, yaml.SequenceNode):
                ahead += node.value

        self.assertEqual([], twice)

    def answers(self, user=None, **options):
        """Send an empty request to every route.

        :returns: the status by method and path.
        """
        app = self.useFixture(
            application.Application({'DEFAULT': options})
        ).app
        statuses = {}
        for method, path in routes():
            request = webob.Request.blank(
                path.format(
                    uuid=uuid.uuid4(), revision=1, node='n', name='machines'
                ),
                method=method,
                headers={
                    'X-OpenStack-Ironic-API-Version': '1.96',
                    **({'X-Auth-Token': user} if user else {}),
                },
            )
            request.content_type = 'application/json'
            statuses[method, path] = request.get_response(app).status_int
        return statuses

    def test_all_are_described(self):
        described = (
            'inspection_rules',
            'inspection_runs',
            'history',
            'inspection_parts',
            'inspection_tables',
        )
        self.assertEqual(
            {
                (route.method, re.sub('{.*?}', '{}', f'/v1/{route.path}'))
                for route in api_routes.TABLE
                if {*described}.intersection(route.parts)
            },
            {
                (method, re.sub('{.*?}', '{}', path))
                for method, path in routes()
            },
        )

    def test_bodies_are_as_they_are_described(self):
        described = yaml.safe_load(DESCRIPTION.read_text())
        for route in api_routes.TABLE:
            if not (route.schema and 'inspection_rules' in route.parts):
                continue
            body = described['paths'][f'/v1/{route.path}'][
                route.method.lower()
            ]['requestBody']['content']['application/json']['schema']
            while '$ref' in body:
                body = described['components']['schemas'][
                    body['$ref'].rpartition('/')[2]
                ]
            self.assertEqual(
                {*route.schema['properties']},
                {*body['properties']},
                route.path,
            )

    def test_other_methods_are_told_which_there_are(self):
        app = self.useFixture(application.Application()).app
        by_path = collections.defaultdict(set)
        for route in api_routes.TABLE:
            by_path[route.path].add(route.method)
        for path, methods in by_path.items():
            for method, status in (('OPTIONS', 200), ('LINK', 405)):
                answer = webob.Request.blank(
                    '/v1/'
                    + path.replace('{node}', 'n')
                    .replace('{', '')
                    .replace('}', ''),
                    method=method,
                    headers={'X-OpenStack-Ironic-API-Version': '1.96'},
                ).get_response(app)
                self.assertEqual(
                    (status, ', '.join(sorted(methods))),
                    (answer.status_int, answer.headers.get('Allow')),
                    path,
                )

    def test_without_a_token_all_answer_401(self):
        answers = self.answers(auth_strategy='keystone')

        self.assertEqual(dict.fromkeys(answers, 401), answers)

    def test_to_a_member_of_a_project_all_answer_403(self):
        answers = self.answers('member', auth_strategy='keystone')

        # Parts may be looked for, among those of one's own nodes.
        self.assertEqual(400, answers.pop(('GET', '/v1/inspection_parts')))
        # Whose node it is nobody learns.
        self.assertEqual(
            {route: 404 if '{node}' in route[1] else 403 for route in answers},
            answers,
        )

    def test_a_reader_of_the_system_can_only_read(self):
        answers = self.answers('reader', auth_strategy='keystone')

        self.assertEqual(
            {'GET'},
            {
                method
                for (method, _path), status in answers.items()
                if status != 403
            },
        )

    def test_none_fails_on_an_empty_request(self):
        for status in self.answers().values():
            self.assertLess(status, 500)
