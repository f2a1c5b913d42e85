# SPDX-License-Identifier: Apache-2.0

"""Large requests, and what is read of an error."""

import json
import logging

import fixtures
from openstack import exceptions as sdk_exceptions
import requests

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.kit.client import fleet
from ironic_inspection_rules.kit.client import http
from ironic_inspection_rules.kit.client import inspection_request
from ironic_inspection_rules.kit.client import inspection_rule
from ironic_inspection_rules.kit.client import inspection_run
from ironic_inspection_rules.kit.client import inspection_table
from ironic_inspection_rules.kit.client import inventory_history
from ironic_inspection_rules.kit.client import node
from ironic_inspection_rules.kit.client import rule_set
from ironic_inspection_rules.kit.client import trait
from ironic_inspection_rules.tests.unit import base
from ironic_inspection_rules.tests.unit.kit.osc import fakes


class Baremetal:
    """A bare metal proxy that keeps the arguments of one request."""

    def request(self, _path, _method, **arguments):
        self.arguments = arguments
        response = requests.Response()
        response.status_code = 200
        response._content = b'{"rules": []}'
        response.headers['openstack-request-id'] = 'req-1'
        return response


class Proxy:
    """What answers in place of a bare metal API: a status and a text."""

    def __init__(self, status, text):
        self.status = status
        self.text = text

    def request(self, path, _method, **_arguments):
        response = requests.Response()
        response.status_code = self.status
        response.url = f'http://proxy/v1{path}'
        response._content = self.text.encode()
        response.headers['content-type'] = 'text/html'
        return response


class Pages:
    """A bare metal proxy whose lists have two pages.

    As in Ironic's list of nodes, the link to the second page has few of the
    parameters of the first one.
    """

    def __init__(self):
        self.queries = []

    def request(self, _path, _method, params, **_arguments):
        self.queries.append(params)
        page = {'nodes': [{'uuid': f'page {len(self.queries)}'}]}
        if 'marker' not in params:
            page['next'] = (
                'http://x/v1/nodes?sort_key=id&limit=1&marker=m&owner='
            )
        response = requests.Response()
        response.status_code = 200
        response._content = json.dumps(page).encode()
        return response


class ItemsTestCase(base.TestCase):
    def test_all_pages_are_asked_for_with_the_same_filters(self):
        ironic = Pages()
        filters = {'conductor_group': '', 'driver': 'ipmi', 'owner': None}

        nodes = list(http.list_items(ironic, '/nodes', 'nodes', filters))

        self.assertEqual(['page 1', 'page 2'], [n['uuid'] for n in nodes])
        first, second = ironic.queries
        self.assertEqual({'conductor_group': '', 'driver': 'ipmi'}, first)
        self.assertEqual(
            {
                **first,
                'sort_key': 'id',
                'limit': '1',
                'marker': 'm',
                'owner': '',
            },
            second,
        )

    def test_a_page_whose_next_is_null_is_the_last(self):
        ironic = fakes.Baremetal()
        ironic.answers = [(200, {'nodes': [{'uuid': 'a'}], 'next': None})]

        nodes = list(http.list_items(ironic, '/nodes', 'nodes', {}))

        self.assertEqual([{'uuid': 'a'}], nodes)

    def test_a_link_back_to_the_page_itself_is_an_error(self):
        for following in (
            'http://x/v1/nodes',
            'http://x/v1/nodes?limit=1',
            'http://x/v1/nodes?marker=m',
        ):
            ironic = fakes.Baremetal()
            page = {'nodes': [{'uuid': 'a'}], 'next': following}
            ironic.answers = [(200, page)] * 3
            query = {'limit': 1}
            error = self.assertRaises(
                exceptions.Invalid,
                list,
                http.list_items(ironic, '/nodes', 'nodes', query),
            )
            self.assertIn('/nodes', str(error))
            self.assertIn('this page itself as the next page', str(error))


class ContentTestCase(base.TestCase):
    def test_an_answer_of_something_else_is_told(self):
        ironic = fakes.Baremetal()
        for body, came in (
            (None, 'is empty'),
            ({}, 'is {}'),
            ([], 'is []'),
            ('nodes', 'is "nodes"'),
            ({'node': []}, 'has the members "node"'),
            ({'nodes': None}, 'has no list of objects'),
            ({'nodes': {}}, 'has no list of objects'),
            ({'nodes': [5]}, 'has no list of objects'),
        ):
            ironic.answers = [(200, body)]
            error = self.assertRaises(
                exceptions.Invalid,
                list,
                http.list_items(ironic, '/nodes', 'nodes', {}),
            )
            self.assertEqual(
                f'The answer from /nodes {came}, where "nodes" is expected: '
                'check the endpoint of the bare metal service',
                str(error),
            )

    def test_an_item_without_what_is_needed_is_told(self):
        ironic = fakes.Baremetal()
        for function, arguments, name in (
            (fleet.evaluate_page, {'nodes': {}}, 'nodes'),
            (
                inspection_rule.find_inspection_rule,
                {'name': 'Note the vendor'},
                'inspection_rules',
            ),
        ):
            ironic.answers = [(200, {name: [{}]})]
            error = self.assertRaises(
                exceptions.Invalid, function, ironic, **arguments
            )
            self.assertIn(
                f'has an item of "{name}" that is {{}}, where "uuid" is '
                'expected',
                str(error),
            )

    def test_a_page_of_a_proxy_is_told(self):
        for text, came in (
            ('', 'is empty'),
            ('<html></html>', 'is no JSON ("<html></html>")'),
            (
                '<html><h1>502 Bad Gateway</h1>\n<hr>nginx</html>',
                'is no JSON ("502 Bad Gateway nginx")',
            ),
        ):
            for status in (200, 500):
                error = self.assertRaises(
                    (exceptions.Invalid, sdk_exceptions.HttpException),
                    node.inventory,
                    Proxy(status, text),
                    'n',
                )
                message = getattr(error, 'details', None) or str(error)
                self.assertIn('http://proxy/v1/nodes/n/inventory', message)
                self.assertIn(came, message)
                if status == 500:
                    self.assertIn('with the status 500', message)

    def test_every_call_names_what_it_needs(self):
        ironic = fakes.Baremetal()
        for function, arguments in (
            (fleet.evaluate_page, {'nodes': {}}),
            (inspection_request.get_inspection_request, {'uuid': 'u'}),
            (inspection_request.reapply_inspection, {'node': 'n'}),
            (inspection_rule.create_inspection_rule, {'rule': {}}),
            (inspection_rule.get_inspection_rule, {'uuid': 'u'}),
            (
                inspection_rule.update_inspection_rule,
                {'uuid': 'u', 'fields': {}},
            ),
            (inspection_rule.evaluate_inspection_rules, {'node': 'n'}),
            (inspection_rule.warnings, {}),
            (inspection_run.explain, {'node': 'n', 'path': '/extra/a'}),
            (inspection_run.explain, {'node': 'n', 'rule': 'u'}),
            (inspection_run.get_inspection_run, {'node': 'n', 'uuid': 'u'}),
            (inspection_run.rule_statistics, {}),
            (inspection_table.get_inspection_table, {'name': 't'}),
            (inspection_table.inspection_tables, {}),
            (inspection_table.inspection_table_machines, {'name': 't'}),
            (inventory_history.diff, {'node': 'n'}),
            (inventory_history.inventory, {'node': 'n', 'uuid': 'u'}),
            (inventory_history.parts, {'identity': 'i'}),
            (inventory_history.replay_page, {'nodes': {}}),
            (node.inventory, {'name': 'n'}),
            (node.node, {'name': 'n', 'fields': ('uuid', 'name')}),
            (rule_set.get_inspection_rule_revision, {'revision': 1}),
            (rule_set.replace_inspection_rules, {'rules': []}),
            (rule_set.restore_inspection_rule_revision, {'revision': 1}),
            (trait.traits, {}),
        ):
            ironic.answers = [(200, {})]
            self.assertRaises(
                exceptions.Invalid, function, ironic, **arguments
            )

    def test_nothing_is_deleted_by_something_else(self):
        ironic = fakes.Baremetal()
        for function, arguments in (
            (inspection_request.abort_inspection_request, {'uuid': 'u'}),
            (inspection_rule.delete_all_inspection_rules, {}),
        ):
            for status, body in ((200, {}), (200, None), (302, None)):
                ironic.answers = [(status, body)]
                error = self.assertRaises(
                    exceptions.Invalid, function, ironic, **arguments
                )
                self.assertIn(f'has the status {status}', str(error))


class LargeTestCase(base.TestCase):
    def send(self, body):
        ironic = Baremetal()
        http.call_with_large_body(
            ironic,
            'PUT',
            '/inspection_rules',
            body=body,
            required_member='rules',
        )
        return ironic.arguments

    def test_body_is_sent_as_json(self):
        for body in (
            {},
            [],
            None,
            {'rules': []},
            {'a': {}, 'b': [[], {}]},
            {
                'rules': [
                    {
                        'description': 'Zürich \ud83d "x"',
                        'actions': [{'args': [1, None, [True]]}],
                    }
                ],
                'tables': {
                    'm': {
                        'key': 'n',
                        'types': {},
                        'rows': [{'n': 1.5}, {'n': {}}],
                    }
                },
            },
        ):
            sent = self.send(body)['data']
            self.assertIsInstance(sent, bytes)
            self.assertEqual(body, json.loads(sent))

    def test_body_is_not_in_the_log(self):
        # It may have the secrets of tables.
        self.assertIs(False, self.send({})['log'])

    def test_request_and_answer_are_in_the_log_for_debugging(self):
        logger = self.useFixture(fixtures.FakeLogger(level=logging.DEBUG))

        self.send({'a': 'secret'})

        self.assertEqual(
            [
                'PUT /inspection_rules with a body of 14 bytes',
                'PUT /inspection_rules was answered with 200, request ID '
                'req-1',
            ],
            logger.output.splitlines(),
        )


class TooLargeTestCase(base.TestCase):
    def refused(self, ironic):
        return self.assertRaises(
            (exceptions.Invalid, sdk_exceptions.HttpException),
            http.call_with_large_body,
            ironic,
            'PUT',
            '/inspection_rules',
            body={},
            required_member='rules',
        )

    def test_the_option_of_ironic_is_named(self):
        ironic = fakes.Baremetal()
        fault = json.dumps({'faultstring': 'too large'})
        ironic.answers = [(413, {'error_message': fault})]

        error = self.refused(ironic)

        self.assertIn('[api]max_json_body_size_inspection', str(error))
        self.assertIn('too large', str(error))

    def test_a_proxy_does_not_know_the_option(self):
        error = self.refused(Proxy(413, '<h1>Entity Too Large</h1> nginx'))

        self.assertIn('Entity Too Large nginx', error.details)
        self.assertNotIn('max_json_body_size_inspection', str(error))


class ProblemsTestCase(base.TestCase):
    def problems(self, body):
        ironic = fakes.Baremetal()
        ironic.answers = [(400, body)]
        exc = self.assertRaises(
            sdk_exceptions.HttpException,
            http.call,
            ironic,
            'PUT',
            '/inspection_rules',
            required_member='rules',
        )
        return http.read_problems(exc)

    def test_they_are_data(self):
        self.assertEqual(
            [
                exceptions.Problem('/rules/0', 'bad', 'good'),
                exceptions.Problem('', 'worse'),
            ],
            self.problems(
                {
                    'error_message': json.dumps(
                        {
                            'faultstring': 'Refused',
                            'problems': [
                                {
                                    'pointer': '/rules/0',
                                    'detail': 'bad',
                                    'hint': 'good',
                                },
                                {'pointer': '', 'detail': 'worse'},
                            ],
                        }
                    )
                }
            ),
        )

    def test_errors_of_others_have_none(self):
        for body in (
            None,
            [],
            'text',
            {},
            {'error_message': 'text'},
            {'error_message': {'faultstring': 'text'}},
            *(
                {'error_message': json.dumps(error)}
                for error in (
                    {'faultstring': 'text'},
                    [],
                    {'problems': 5},
                    {'problems': [{'pointer': '/a'}]},
                    {'problems': ['/a']},
                )
            ),
        ):
            self.assertEqual([], self.problems(body), body)
