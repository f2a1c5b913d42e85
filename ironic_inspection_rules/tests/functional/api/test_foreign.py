# SPDX-License-Identifier: Apache-2.0

"""A plugin of somebody else fails; the API says which, and does not."""

import json

import fixtures
import webob

from ironic_inspection_rules.tests.functional.api import application
from ironic_inspection_rules.tests.unit import base
from ironic_inspection_rules.tests.unit.engine import foreign

RULES = '/v1/inspection_rules'
RULE = {'conditions': [foreign.CONDITION], 'actions': [foreign.ACTION]}


class ForeignTestCase(base.TestCase):
    def serve(self, method):
        ops = foreign.ops(method)
        self.useFixture(
            fixtures.MonkeyPatch(
                'ironic_inspection_rules.engine.language.registry.installed',
                lambda: ops,
            )
        )
        self.app = self.useFixture(application.Application()).app
        self.code = foreign.code(method)

    def send(self, path, body, status):
        request = webob.Request.blank(
            path,
            method='POST',
            content_type='application/json',
            body=json.dumps(body).encode(),
            headers={'X-OpenStack-Ironic-API-Version': '1.96'},
        )
        answer = request.get_response(self.app)
        self.assertEqual(status, answer.status_int, answer.text)
        return answer.json

    def assert_named(self, op, text):
        self.assertIn(op, text)
        self.assertIn(f'({self.code}): KeyError:', text)
        self.assertIn(foreign.TEXT, text)

    def evaluate(self, **fields):
        return self.send(
            f'{RULES}/evaluate',
            {
                'inventory': {},
                'plugin_data': {'a': 1},
                'rules': [{**RULE, **fields}],
            },
            200,
        )

    def refused(self, path, body):
        fault = json.loads(self.send(path, body, 400)['error_message'])
        return fault['faultstring']

    def test_a_rule_that_it_cannot_check_is_refused(self):
        self.serve('problems')
        for path, body in (
            (RULES, RULE),
            (f'{RULES}/evaluate', {'inventory': {}, 'rules': [RULE]}),
        ):
            text = self.refused(path, body)
            self.assert_named('/conditions/0/args: "odd-condition": ', text)
            self.assert_named('/actions/0/args: "odd-action": ', text)

    def test_a_rule_that_it_cannot_prepare_is_refused(self):
        self.serve('bind')
        self.assert_named(
            'op "odd-condition": ',
            self.refused(
                f'{RULES}/evaluate', {'inventory': {}, 'rules': [RULE]}
            ),
        )
        text = self.refused(
            f'{RULES}/evaluate',
            {'inventory': {}, 'rules': [{**RULE, 'sensitive': True}]},
        )
        self.assertIn('op "odd-condition" cannot be prepared', text)
        self.assertNotIn(foreign.TEXT, text)

    def test_a_trial_ends_with_its_error(self):
        self.serve('')
        for fields in ({}, {'conditions': []}):
            answer = self.evaluate(**fields)
            self.assertEqual('failed', answer['result'])
            self.assert_named(
                'odd-action' if fields else 'odd-condition', answer['error']
            )

    def test_a_reason_is_its_error(self):
        self.serve('explain')
        answer = self.evaluate()
        self.assertEqual('ok', answer['result'])
        self.assert_named('', answer['rules'][0]['conditions'][0]['reason'])

    def test_of_a_sensitive_rule_only_the_op_is_told(self):
        self.serve('')
        answer = self.evaluate(sensitive=True)
        self.assertIn('odd-condition', answer['error'])
        self.assertNotIn(foreign.TEXT, json.dumps(answer))

    def test_what_only_lint_asks_for_changes_nothing(self):
        for method in ('facts', 'writes', 'cases'):
            self.serve(method)
            self.assertEqual('ok', self.evaluate()['result'])
