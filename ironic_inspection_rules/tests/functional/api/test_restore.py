# SPDX-License-Identifier: Apache-2.0

"""Rule sets of the past whose rules cannot run any more."""

from ironic.common import context
import webob

from ironic_inspection_rules.objects import rule as rule_object
from ironic_inspection_rules.tests.functional.api import application
from ironic_inspection_rules.tests.unit import base

UUID = '00000000-0000-4000-8000-000000000001'
SECRET = 's3cret'


class RestoreTestCase(base.TestCase):
    def setUp(self):
        super().setUp()
        self.app = self.useFixture(application.Application()).app
        self.context = context.get_admin_context()

    def restore(self, sensitive):
        """Restore a revision with a rule whose plugin is gone."""
        rule = rule_object.StoredRule(
            self.context,
            uuid=UUID,
            sensitive=sensitive,
            conditions=[],
            actions=[{'op': SECRET, 'args': {}}],
        )
        rule.create()
        rule.destroy()
        request = webob.Request.blank(
            '/v1/inspection_rules/revisions/1/restore',
            method='POST',
            headers={'X-OpenStack-Ironic-API-Version': '1.96'},
        )
        return request.get_response(self.app)

    def test_a_first_change_that_was_a_mistake_is_taken_back(self):
        rule_object.StoredRule(
            self.context, uuid=UUID, sensitive=False, conditions=[], actions=[]
        ).create()
        headers = {'X-OpenStack-Ironic-API-Version': '1.96'}
        path = '/v1/inspection_rules/revisions/0'
        shown = webob.Request.blank(path, headers=headers).get_response(
            self.app
        )
        self.assertEqual((200, []), (shown.status_int, shown.json['rules']))

        answer = webob.Request.blank(
            f'{path}/restore', method='POST', headers=headers
        ).get_response(self.app)

        self.assertEqual(200, answer.status_int)
        self.assertEqual(2, answer.json['revision'])
        self.assertEqual([], rule_object.StoredRule.list(self.context))

    def call(self, method, path, body=None):
        request = webob.Request.blank(
            f'/v1/inspection_rules{path}',
            method=method,
            headers={'X-OpenStack-Ironic-API-Version': '1.96'},
        )
        if body is not None:
            request.content_type = 'application/json'
            request.json = body
        return request.get_response(self.app)

    def test_a_rule_that_is_deleted_and_posted_again_makes_no_revision(self):
        rule = {
            'uuid': UUID,
            'description': 'mine',
            'sensitive': True,
            'vars': {'a': 1},
            'actions': [{'op': 'fail', 'args': {'msg': '{vars.a}'}}],
        }
        self.assertEqual(201, self.call('POST', '', rule).status_int)
        before = self.call('GET', '/revisions').json

        for _turn in range(2):
            self.assertEqual(204, self.call('DELETE', f'/{UUID}').status_int)
            self.assertEqual(201, self.call('POST', '', rule).status_int)

        self.assertEqual(before, self.call('GET', '/revisions').json)
        self.assertEqual(1, self.call('GET', f'/{UUID}').json['revision'])
        current = self.call('PUT', '?dry_run=true', {'rules': [rule]}).json
        self.assertEqual(
            ['unchanged'], [each['outcome'] for each in current['rules']]
        )
        shown = self.call('GET', f'/revisions/{current["revision"]}').json
        self.assertEqual([UUID], [each['uuid'] for each in shown['rules']])
        newest = before['revisions'][0]['revision']
        for revision, status in ((newest, 200), (newest - 1, 409)):
            self.assertEqual(
                status,
                self.call(
                    'PUT', '', {'rules': [], 'revision': revision}
                ).status_int,
            )

    def test_a_call_that_changes_nothing_makes_no_revision(self):
        rule = {
            'conditions': [{'op': 'eq', 'args': [1, [2]]}],
            'actions': [{'op': 'log', 'args': {'msg': 'hello'}}],
        }
        made = self.call('POST', '', {'uuid': UUID, **rule}).json
        before = self.call('GET', '/revisions').json

        for method, body in (
            ('PATCH', []),
            (
                'PATCH',
                [
                    {
                        'op': 'replace',
                        'path': '/actions',
                        'value': rule['actions'],
                    }
                ],
            ),
            ('PUT', rule),
        ):
            answer = self.call(method, f'/{UUID}', body)
            self.assertEqual((200, made), (answer.status_int, answer.json))

        self.assertEqual(before, self.call('GET', '/revisions').json)

    def test_nor_does_one_of_the_old_api(self):
        rule = {
            'conditions': [{'op': 'eq', 'field': 'a', 'value': 1}],
            'actions': [{'action': 'fail', 'message': 'no'}],
        }
        for method, path in (
            ('POST', '/v1/rules'),
            ('PUT', f'/v1/rules/{UUID}'),
            ('PUT', f'/v1/rules/{UUID}'),
        ):
            request = webob.Request.blank(
                path, method=method, content_type='application/json'
            )
            request.json = {'uuid': UUID, **rule}
            answer = request.get_response(self.app)
            self.assertIn(answer.status_int, (200, 201), answer.text)

        revisions = self.call('GET', '/revisions').json['revisions']
        self.assertEqual([1], [each['revision'] for each in revisions])

    def test_a_revision_has_the_order_in_which_its_rules_ran(self):
        def rule(name, priority):
            return {
                'description': name,
                'priority': priority,
                'actions': [{'op': 'log', 'args': {'msg': name}}],
            }

        self.call('PUT', '', {'rules': [rule('low', 0), rule('high', 1)]})
        answer = self.call(
            'PUT',
            '',
            {'rules': [rule('high', 1), rule('low', 0), rule('new', 0)]},
        ).json
        uuid_of_high = answer['rules'][0]['uuid']
        patch = [{'op': 'replace', 'path': '/priority', 'value': 0}]
        self.assertEqual(
            200, self.call('PATCH', f'/{uuid_of_high}', patch).status_int
        )

        in_force = self.names('', 'inspection_rules')
        self.assertEqual(in_force, self.names('/revisions/3', 'rules'))
        self.call('DELETE', '')
        self.call('POST', '/revisions/3/restore')
        self.assertEqual(in_force, self.names('', 'inspection_rules'))

    def names(self, path, member):
        """Return the descriptions of the rules that a call answers."""
        rules = self.call('GET', path).json[member]
        return [rule['description'] for rule in rules]

    def test_the_op_that_is_not_there_is_named(self):
        response = self.restore(sensitive=False)
        self.assertEqual(400, response.status_int)
        self.assertIn(
            f'/rules/0: /actions/0/op: unknown op \\"{SECRET}',
            response.json['error_message'],
        )
        self.assertEqual([], rule_object.StoredRule.list(self.context))

    def test_of_a_sensitive_rule_nothing_is_told(self):
        response = self.restore(sensitive=True)
        self.assertEqual(400, response.status_int)
        self.assertIn('/rules/0', response.text)
        self.assertNotIn(SECRET, response.text)
