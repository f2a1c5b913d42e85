# SPDX-License-Identifier: Apache-2.0

"""Every route: described, and closed to those who have no business there."""

from collections.abc import Iterator
import inspect
import pathlib
import re
import uuid

from ironic.api.controllers import v1
from ironic.api.controllers.v1 import node
import webob
import yaml

import ironic_inspection_rules
from ironic_inspection_rules.api.controllers import base as base_controller
from ironic_inspection_rules.tests.functional.api import application
from ironic_inspection_rules.tests.unit import base

DESCRIPTION = pathlib.Path(
    ironic_inspection_rules.__file__).parents[1].joinpath(
        'api-ref', 'source', 'openapi.yaml')

VERBS = {'get', 'put', 'post', 'patch', 'delete'}


def routes() -> list[tuple[str, str]]:
    """Return method and path of all that the OpenAPI document describes."""
    described = yaml.safe_load(DESCRIPTION.read_text())
    return [(verb.upper(), path)
            for path, operations in described['paths'].items()
            for verb in VERBS.intersection(operations)]


def served(controller: base_controller.RestController,
           path: str) -> Iterator[tuple[str, str]]:
    """Return method and path of what a controller and those in it answer.

    :param path: where it is; a ``{}`` in a path stands for any name.
    """
    for name in dir(controller):
        handler = getattr(controller, name)
        if isinstance(handler, base_controller.RestController):
            yield from served(handler, f'{path}/{name}')
        elif name[0] != '_' and getattr(handler, 'exposed', False):
            method, below = name.split('_')[0].upper(), path
            for parameter in inspect.signature(handler).parameters.values():
                if parameter.default is None:
                    yield method, below
                below += ('/restore' if parameter.name == 'action'
                          else '/{}')
            yield method, below


class RoutesTestCase(base.TestCase):

    def setUp(self):
        super().setUp()
        if not DESCRIPTION.exists():
            self.skipTest('not a checkout: no API reference')

    def answers(self, user=None, **options):
        """Send an empty request to every route.

        :returns: the status by method and path.
        """
        app = self.useFixture(application.Application(
            {'DEFAULT': options})).app
        statuses = {}
        for method, path in routes():
            request = webob.Request.blank(
                path.format(uuid=uuid.uuid4(), revision=1, node='n'),
                method=method, headers={
                    'X-OpenStack-Ironic-API-Version': '1.96',
                    **({'X-Auth-Token': user} if user else {})})
            request.content_type = 'application/json'
            statuses[method, path] = request.get_response(app).status_int
        return statuses

    def test_all_are_described(self):
        self.useFixture(application.Application())
        rules = v1.Controller._subcontroller_map['inspection_rules']
        runs = node.NodesController._subcontroller_map['inspection_runs']

        inventory = node.NodesController._subcontroller_map['inventory']
        parts = v1.Controller._subcontroller_map['inspection_parts']

        self.assertEqual(
            {*served(rules, '/v1/inspection_rules'),
             *served(runs('a-node'), '/v1/nodes/{}/inspection_runs'),
             *served(inventory('a-node').history,
                     '/v1/nodes/{}/inventory/history'),
             *served(parts, '/v1/inspection_parts')},
            {(method, re.sub('{.*?}', '{}', path))
             for method, path in routes()})

    def test_without_a_token_all_answer_401(self):
        answers = self.answers(auth_strategy='keystone')

        self.assertEqual(dict.fromkeys(answers, 401), answers)

    def test_to_a_member_of_a_project_all_answer_403(self):
        answers = self.answers('member', auth_strategy='keystone')

        # Whose node it is nobody learns.
        # Parts may be looked for, among those of one's own nodes.
        self.assertEqual(400, answers.pop(('GET', '/v1/inspection_parts')))
        self.assertEqual({route: 404 if '{node}' in route[1] else 403
                          for route in answers}, answers)

    def test_a_reader_of_the_system_can_only_read(self):
        answers = self.answers('reader', auth_strategy='keystone')

        self.assertEqual(
            {'GET'}, {method for (method, _path), status in answers.items()
                      if status != 403})

    def test_none_fails_on_an_empty_request(self):
        for status in self.answers().values():
            self.assertLess(status, 500)
