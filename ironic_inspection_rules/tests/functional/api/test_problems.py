# SPDX-License-Identifier: Apache-2.0

"""Problems of a request as data, beside the sentence that says them all."""

import json

import webob

from ironic_inspection_rules.tests.functional.api import application
from ironic_inspection_rules.tests.unit import base

RULES = '/v1/inspection_rules'
GOOD = {'actions': [{'op': 'log', 'args': {'msg': 'x'}}]}
UNKNOWN = {'actions': [{'op': 'lgo', 'args': {'msg': 'x'}}]}


class ProblemsTestCase(base.TestCase):
    def setUp(self):
        super().setUp()
        self.app = self.useFixture(application.Application()).app

    def send(self, method, path, body):
        request = webob.Request.blank(
            path,
            method=method,
            content_type='application/json',
            body=json.dumps(body).encode(),
            headers={'X-OpenStack-Ironic-API-Version': '1.96'},
        )
        return request.get_response(self.app)

    def refused(self, *sent):
        """Return the sentence of an error, and its problems by place."""
        answer = self.send(*sent)
        self.assertEqual(400, answer.status_int, answer.text)
        fault = json.loads(answer.json['error_message'])
        self.assertEqual('Client', fault['faultcode'])
        problems = fault.get('problems', [])
        for problem in problems:
            self.assertIn(problem['detail'], fault['faultstring'])
            self.assertIn(problem.get('hint', ''), fault['faultstring'])
        return fault['faultstring'], {
            problem['pointer']: problem for problem in problems
        }

    def test_they_have_places_in_a_rule(self):
        sentence, problems = self.refused(
            'POST', RULES, {**UNKNOWN, 'priority': 'x'}
        )
        self.assertEqual({'/actions/0/op', '/priority'}, set(problems))
        self.assertEqual(
            {
                'pointer': '/actions/0/op',
                'detail': 'unknown op "lgo"',
                'hint': 'did you mean "log"?',
            },
            problems['/actions/0/op'],
        )
        self.assertIn(
            '/actions/0/op: unknown op "lgo"; did you mean "log"?', sentence
        )
        self.assertNotIn('hint', problems['/priority'])

    def test_they_have_places_among_several_rules(self):
        rules = [UNKNOWN, GOOD, {**GOOD, 'built_in': True}]
        for sent in (
            ('PUT', RULES, {'rules': rules}),
            ('POST', f'{RULES}/evaluate', {'inventory': {}, 'rules': rules}),
        ):
            _sentence, problems = self.refused(*sent)
            self.assertEqual(
                {'/rules/0/actions/0/op', '/rules/2'}, set(problems)
            )

    def test_those_of_rules_and_tables_are_told_together(self):
        body = {'rules': [UNKNOWN], 'tables': {'x': {'key': 'a', 'rows': 5}}}
        for sent in (
            ('PUT', RULES, body),
            ('POST', f'{RULES}/evaluate', {'inventory': {}, **body}),
        ):
            sentence, problems = self.refused(*sent)
            self.assertEqual(
                {'/rules/0/actions/0/op', '/tables/x/rows'}, set(problems)
            )
            self.assertIn('/tables/x/rows', sentence)

    def test_those_of_other_members_are_told_with_them(self):
        body = {'rules': [UNKNOWN], 'tables': {'x': 5}, 'unknown': 1}
        for sent, place in (
            (('PUT', RULES, {**body, 'revision': 'x'}), '/revision'),
            (('POST', f'{RULES}/evaluate', {**body, 'node': 5}), '/node'),
            (('POST', f'{RULES}/replay', {**body, 'limit': 0}), '/limit'),
        ):
            sentence, problems = self.refused(*sent)
            self.assertEqual(
                {'', place, '/rules/0/actions/0/op', '/tables/x'},
                set(problems),
            )
            self.assertIn('/rules/0: /actions/0/op: unknown op', sentence)

    def test_members_that_exclude_each_other_are_told_together(self):
        for body, places in (
            (
                {'nodes': {}, 'node': 'x', 'plugin_data': {}},
                {'/node', '/plugin_data', '/rules/0/actions/0/op'},
            ),
            (
                {'limit': 5, 'compare': True},
                {'/limit', '/compare', '', '/rules/0/actions/0/op'},
            ),
        ):
            _sentence, problems = self.refused(
                'POST', f'{RULES}/evaluate', {**body, 'rules': [UNKNOWN]}
            )
            self.assertEqual(places, set(problems))

    def test_those_of_nodes_are_told_with_the_others(self):
        for nodes, marker, places in (
            ({'drivr': 'x', 'owner': {}}, None, {'/nodes', '/nodes/owner'}),
            ([5], 'x', {'/nodes', '/marker'}),
            (['a'] * 1001, None, {'/nodes'}),
        ):
            for call in ('evaluate', 'replay'):
                _sentence, problems = self.refused(
                    'POST',
                    f'{RULES}/{call}',
                    {'nodes': nodes, 'marker': marker, 'rules': [UNKNOWN]},
                )
                self.assertEqual(
                    {*places, '/rules/0/actions/0/op'}, set(problems)
                )

    def test_prune_without_rules_is_told_with_those_of_nodes(self):
        for call in ('evaluate', 'replay'):
            _sentence, problems = self.refused(
                'POST', f'{RULES}/{call}', {'nodes': [5], 'prune': True}
            )
            self.assertEqual({'/nodes', '/prune'}, set(problems))

    def test_rules_are_no_rules_where_another_member_is_wrong(self):
        for body, places in (
            ({'rules': 5, 'revision': 'x'}, {'/rules', '/revision'}),
            (
                {'rules': [GOOD], 'tables': 5, 'revision': 'x'},
                {'/tables', '/revision'},
            ),
            ({'revision': 'x'}, {'', '/revision'}),
            ([], {''}),
        ):
            _sentence, problems = self.refused('PUT', RULES, body)
            self.assertEqual(places, set(problems))

    def test_a_table_that_is_not_there_is_one_of_several(self):
        reading = {
            'actions': [{'op': 'log', 'args': ['{tables.y | row}']}],
        }
        rules = [reading, UNKNOWN]
        for sent in (
            ('PUT', RULES, {'rules': rules}),
            ('POST', f'{RULES}/evaluate', {'inventory': {}, 'rules': rules}),
        ):
            _sentence, problems = self.refused(*sent)
            self.assertEqual(
                {'/rules/0/actions/0/args/0', '/rules/1/actions/0/op'},
                set(problems),
            )

    def test_that_a_rule_would_be_opened_is_one_of_several(self):
        made = self.send('POST', RULES, {**GOOD, 'sensitive': True}).json
        path = f'{RULES}/{made["uuid"]}'
        changes = [
            {'op': 'replace', 'path': '/sensitive', 'value': False},
            {'op': 'replace', 'path': '/priority', 'value': -1},
        ]
        open_rule = {**GOOD, 'priority': -1}
        for sent in (
            ('PATCH', path, changes),
            ('PUT', path, open_rule),
        ):
            _sentence, problems = self.refused(*sent)
            self.assertEqual({'/sensitive', '/priority'}, set(problems))

        rules = [{**open_rule, 'uuid': made['uuid']}]
        _sentence, problems = self.refused('PUT', RULES, {'rules': rules})
        self.assertEqual(
            {'/rules/0/sensitive', '/rules/0/priority'}, set(problems)
        )

    def test_they_have_places_in_the_body(self):
        _sentence, problems = self.refused(
            'POST', f'{RULES}/evaluate', {'rules': 5, 'prune': 'x'}
        )
        self.assertEqual({'/rules', '/prune'}, set(problems))

    def test_they_are_numbers_of_operations_of_a_patch(self):
        uuid = self.send('POST', RULES, GOOD).json['uuid']
        for patch in (
            [
                {'op': 'test', 'path': '/priority', 'value': 0},
                {'op': 'remove', 'path': '/created_at'},
            ],
            [
                {'op': 'test', 'path': '/priority', 'value': 0},
                {'op': 'remove', 'path': '/vars/x'},
            ],
        ):
            _sentence, problems = self.refused(
                'PATCH', f'{RULES}/{uuid}', patch
            )
            self.assertEqual({'/1'}, set(problems))

    def test_there_are_at_most_fifty_and_their_number(self):
        sentence, problems = self.refused(
            'PUT', RULES, {'rules': [UNKNOWN] * 60}
        )
        self.assertEqual(51, len(problems))
        self.assertEqual('and 10 more', problems['']['detail'])
        self.assertTrue(sentence.endswith('; and 10 more'))

    def test_other_errors_have_none(self):
        answer = self.send('GET', f'{RULES}/none', {})
        self.assertNotIn('problems', answer.text)
