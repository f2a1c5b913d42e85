# SPDX-License-Identifier: Apache-2.0

"""What became of a rule, and of a value, in runs that are kept."""

import datetime

from ironic import objects
from ironic.common import context
from ironic.conf import CONF
import webob

from ironic_inspection_rules.objects import rule as rule_object
from ironic_inspection_rules.rule_set import repository
from ironic_inspection_rules.tests import database
from ironic_inspection_rules.tests.functional.api import application
from ironic_inspection_rules.tests.functional.api import gabbi_fixtures
from ironic_inspection_rules.tests.unit import base

RULE = '55555555-5555-4555-8555-555555555555'
RUNS = f'/v1/nodes/{gabbi_fixtures.NODE}/inspection_runs'

WITHHELD = {'uuid': RULE, 'matched': True, 'withheld': True}


class ExplanationTestCase(base.TestCase):
    def setUp(self):
        super().setUp()
        for fixture in (gabbi_fixtures.API(), gabbi_fixtures.InspectedNode()):
            fixture.start_fixture()
            self.addCleanup(fixture.stop_fixture)

    def call(self, path, method='GET', status=200, **body):
        request = webob.Request.blank(
            path,
            method=method,
            headers={'X-OpenStack-Ironic-API-Version': '1.96'},
        )
        if body:
            request.json = body
            request.content_type = 'application/json'
        response = request.get_response(application.current)
        self.assertEqual(status, response.status_int, response.text)
        return response.json

    def rule(self, **fields):
        return self.call(
            '/v1/inspection_rules',
            'POST',
            201,
            uuid=RULE,
            **{
                'actions': [{'op': 'set-plugin-data', 'args': ['/a', 1]}],
                'conditions': [
                    {'op': 'eq', 'args': ['{inventory.cpu.count}', 4]}
                ],
                **fields,
            },
        )

    def run_was(self, *rules, kind='rules', saved=True, **fields):
        main = {
            'rules': [],
            'reverted': [],
            'audit': [],
            'saved': saved,
            'seconds': 0.01,
            kind: list(rules),
        }
        database.record_run(
            {
                'uuid': '66666666-6666-4666-8666-666666666666',
                'node_uuid': gabbi_fixtures.NODE,
                'event': 'inspection',
                'inspect_interface': 'agent',
                'result': 'ok',
                'revision': 1,
                'phases': {'main': main},
                **fields,
            },
            keep=5,
        )

    def explain(self, query=f'rule={RULE}'):
        return self.call(f'{RUNS}/explain?{query}')

    def test_without_a_run_nothing_is_known(self):
        self.rule()
        error = self.call(f'{RUNS}/explain?rule={RULE}', status=404)
        self.assertIn('is kept', str(error))

    def test_what_did_not_match_is_decided_on_what_is_stored(self):
        self.rule()
        self.run_was()
        told = self.explain()
        self.assertEqual(
            (
                False,
                True,
                None,
                [{'op': 'eq', 'result': False, 'reason': 'values=[8, 4]'}],
            ),
            (
                told['matched'],
                told['decided_again'],
                told['reason'],
                told['conditions'],
            ),
        )

    def test_rules_that_change_meanwhile_are_not_those_of_the_run(self):
        self.rule()
        self.run_was()
        self.patch(repository.Repository, 'in_force', lambda *_args: [])
        told = self.explain()
        self.assertEqual(
            (True, 'values=[8, 4]'),
            (told['decided_again'], told['conditions'][0]['reason']),
        )

    def test_data_of_a_later_inspection_are_not_those_of_the_run(self):
        self.rule()
        self.run_was(created_at=datetime.datetime(2020, 1, 1))
        told = self.explain()
        self.assertEqual(
            (False, None), (told['decided_again'], told['conditions'])
        )
        self.assertIn('not kept', told['reason'])

    def test_what_would_match_by_now_is_said_to(self):
        self.rule(conditions=[])
        self.run_was()
        told = self.explain()
        self.assertIs(False, told['matched'])
        self.assertIn('would match now', told['reason'])

    def check_was_not_there(self):
        error = str(self.call(f'{RUNS}/explain?rule={RULE}', status=404))
        self.assertIn('made after the inspection', error)
        self.assertIn('rule evaluate --node inspected', error)
        self.assertIn('inspection reapply inspected', error)

    def test_a_rule_made_after_a_run_without_rules_was_not_there(self):
        # No revision 0 is kept.
        self.run_was(revision=0, started_at=datetime.datetime(2020, 1, 1))
        self.rule(conditions=[])
        self.check_was_not_there()

    def test_a_rule_made_after_a_run_with_others_was_not_there(self):
        self.call(
            '/v1/inspection_rules',
            'POST',
            201,
            actions=[{'op': 'log', 'args': {'msg': 'x'}}],
        )
        self.run_was(started_at=datetime.datetime(2020, 1, 1))
        self.rule(conditions=[])
        self.check_was_not_there()

    def test_a_rule_that_nobody_knows_was_not_there(self):
        self.rule()
        self.run_was()
        unknown = RULE.replace('5', '7')
        error = str(self.call(f'{RUNS}/explain?rule={unknown}', status=404))
        self.assertIn('was not among the rules', error)
        self.assertNotIn('reapply', error)

    def test_a_rule_that_was_changed_since_is_not_that_of_the_run(self):
        # What the rule was at that time is not kept.
        CONF.set_override('keep_revisions', 1, group='inspection_rules')
        self.addCleanup(
            CONF.clear_override, 'keep_revisions', group='inspection_rules'
        )
        self.rule()
        self.run_was(started_at=datetime.datetime(2100, 1, 1))
        self.call(
            '/v1/inspection_rules',
            'PUT',
            rules=[{'uuid': RULE, 'actions': [{'op': 'log', 'args': ['x']}]}],
        )
        told = self.explain()
        self.assertIn(
            'the rule was changed since, in revision 2', told['reason']
        )

    def test_a_run_that_came_to_no_rules_has_none_of_a_revision(self):
        self.rule()
        self.run_was(revision=None, result='failed', error='x', phases={})
        told = self.explain()
        self.assertEqual(
            (None, False, 'values=[8, 4]'),
            (
                told['revision'],
                told['matched'],
                told['conditions'][0]['reason'],
            ),
        )
        self.assertIn('came to no rules', told['reason'])

    def test_a_run_that_came_to_no_rules_did_not_decide(self):
        # The rule would match: nothing has changed since.
        self.rule(conditions=[])
        self.run_was(revision=None, result='failed', error='x', phases={})
        told = self.explain()
        self.assertIn('came to no rules', told['reason'])

    def test_early_rules_have_run_also_where_a_run_has_no_revision(self):
        self.rule(phase='early')
        self.run_was(revision=None, result='failed', error='x', phases={})
        told = self.explain()
        self.assertIn('is not known', told['reason'])

    def test_a_run_that_came_to_no_rules_knows_no_unknown_one(self):
        self.run_was(revision=None, result='failed', error='x', phases={})
        error = str(self.call(f'{RUNS}/explain?rule={RULE}', status=404))
        self.assertIn('came to no rules', error)
        self.assertNotIn('None', error)

    def test_another_scope_is_a_reason(self):
        self.rule(scope='rack')
        self.run_was()
        self.assertIn('"rack"', self.explain()['reason'])

    def test_what_a_rule_did_is_told_as_it_is_kept(self):
        self.rule()
        change = {
            'object': 'plugin_data',
            'op': 'add',
            'path': '/a',
            'before': None,
            'after': 1,
            'action': 'set-plugin-data',
        }
        kept = {
            'uuid': RULE,
            'description': None,
            'revision': 1,
            'conditions': [],
            'actions': ['set-plugin-data'],
            'changes': [change],
            'matched': True,
        }
        for kind, matched in (
            ('rules', True),
            ('reverted', False),
            ('audit', True),
        ):
            self.run_was(kept, kind=kind, saved=kind == 'rules')
            told = self.explain()
            self.assertEqual(
                (matched, [change], False),
                (told['matched'], told['changes'], told['decided_again']),
            )
            self.assertEqual(kind == 'rules', told['reason'] is None)

    def test_of_a_sensitive_rule_it_is_told_that_it_matched(self):
        self.rule(sensitive=True)
        self.run_was(WITHHELD)
        self.assertEqual(
            {'rule': {'uuid': RULE}, 'matched': True, 'withheld': True},
            self.explain(),
        )

    def test_nor_of_one_that_has_become_sensitive_since(self):
        self.rule()
        self.run_was()
        request = webob.Request.blank(
            f'/v1/inspection_rules/{RULE}',
            method='PATCH',
            headers={'X-OpenStack-Ironic-API-Version': '1.96'},
        )
        request.json = [{'op': 'replace', 'path': '/sensitive', 'value': True}]
        request.content_type = 'application/json'
        self.assertEqual(
            200, request.get_response(application.current).status_int
        )
        self.assertEqual(
            {'rule': {'uuid': RULE}, 'matched': False, 'withheld': True},
            self.explain(),
        )

    def test_a_sensitive_rule_that_set_a_value_is_all_that_is_told(self):
        self.run_was(
            WITHHELD, places={'main': {RULE: [['node', '/extra/rack']]}}
        )
        self.assertEqual(
            {'rule': {'uuid': RULE}, 'withheld': True},
            self.explain('path=/extra/rack'),
        )
        for path in ('?detail=true', '/66666666-6666-4666-8666-666666666666'):
            self.assertNotIn('places', str(self.call(RUNS + path)))

    def test_of_a_trait_that_a_sensitive_rule_set_its_uuid_is_told(self):
        self.run_was(
            WITHHELD, places={'main': {RULE: [['traits', '/CUSTOM_A']]}}
        )
        self.assertEqual(
            {'rule': {'uuid': RULE}, 'withheld': True},
            self.explain('trait=CUSTOM_A'),
        )
        self.call(f'{RUNS}/explain?trait=CUSTOM_B', status=404)

    def test_what_nobody_knows_to_be_open_is_withheld(self):
        change = {
            'object': 'node',
            'op': 'add',
            'path': '/extra/rack',
            'before': None,
            'after': 'b7',
            'action': 'set-attribute',
        }
        self.run_was(
            {
                'uuid': RULE,
                'description': 'mine',
                'revision': 1,
                'conditions': [],
                'actions': ['set-attribute'],
                'changes': [change],
            }
        )
        run = '/66666666-6666-4666-8666-666666666666'
        self.assertEqual(
            [WITHHELD], self.call(RUNS + run)['phases']['main']['rules']
        )
        self.assertEqual(
            {'rule': {'uuid': RULE}, 'withheld': True},
            self.explain('path=/extra/rack'),
        )
        self.rule()
        self.assertEqual(
            [change],
            self.call(RUNS + run)['phases']['main']['rules'][0]['changes'],
        )
        rule_object.StoredRule.get_by_uuid(
            context.get_admin_context(), RULE
        ).destroy()
        self.assertEqual('b7', self.explain('path=/extra/rack')['after'])

    def test_an_error_counts_the_runs_that_were_searched(self):
        path = f'{RUNS}/explain?path=/extra/a'
        for number, words in (
            (1, 'in the 1 inspection that is kept.'),
            (2, 'in the 2 inspections that are kept.'),
        ):
            self.run_was(uuid=f'66666666-6666-4666-8666-66666666666{number}')
            error = self.call(path, status=404)['error_message']
            self.assertIn(words, error)

    def test_an_error_says_that_fail_sets_maintenance_beside_the_runs(self):
        self.run_was()
        for path, is_said in (
            ('/maintenance', True),
            ('maintenance_reason', True),
            ('/extra/maintenance', False),
            ('/plugin_data/maintenance', False),
        ):
            answer = self.call(f'{RUNS}/explain?path={path}', status=404)
            self.assertEqual(
                is_said,
                'does not count the action' in answer['error_message'],
                path,
            )
        answer = self.call(
            f'{RUNS}/explain?port=52:54:00:00:00:09&path=/maintenance',
            status=404,
        )
        self.assertNotIn('does not count', answer['error_message'])

    def test_what_a_value_is_by_now_is_told(self):
        self.rule()
        change = {
            'object': 'node',
            'op': 'add',
            'path': '/extra/rack',
            'before': None,
            'after': 'b7',
            'action': 'set-attribute',
        }
        seen = {
            **change,
            'object': 'plugin_data',
            'path': '/seen',
            'after': True,
        }
        gone = {**seen, 'path': '/gone'}
        self.run_was(
            {
                'uuid': RULE,
                'description': None,
                'revision': 1,
                'conditions': [],
                'actions': [],
                'changes': [change, seen, gone],
            }
        )
        for path, current in (
            ('/extra/rack', (False, 'a1')),
            ('/plugin_data/seen', (True, None)),
            ('/plugin_data/gone', (False, None)),
        ):
            told = self.explain(f'path={path}')
            self.assertEqual(current, (told['current'], told['current_value']))
        admin = context.get_admin_context()
        node = objects.Node.get_by_uuid(admin, gabbi_fixtures.NODE)
        objects.NodeInventory(admin, node_id=node.id).destroy(node.id)
        self.assertIsNone(self.explain('path=/plugin_data/seen')['current'])

    def test_what_is_left_of_a_value_is_not_another_one(self):
        self.rule()
        change = {
            'object': 'node',
            'op': 'remove',
            'path': '/extra/m/k',
            'before': 1,
            'after': None,
            'action': 'del-attribute',
        }
        self.run_was(
            {
                'uuid': RULE,
                'description': None,
                'revision': 1,
                'conditions': [],
                'actions': [],
                'changes': [change],
            }
        )
        admin = context.get_admin_context()
        node = objects.Node.get_by_uuid(admin, gabbi_fixtures.NODE)
        for left, current, value in (
            ({'other': 1}, None, None),
            ({}, None, None),
            ({'k': 2}, False, {'k': 2}),
            ('x', False, 'x'),
        ):
            node.extra = {'m': left}
            node.save()
            told = self.explain('path=/extra/m')
            self.assertEqual(
                (RULE, current, value),
                (told['rule']['uuid'], told['current'], told['current_value']),
                left,
            )
            told = self.explain('path=/extra/m/k')
            self.assertIs(left != {'k': 2}, told['current'])

    def test_what_ironic_knows_by_another_name_is_not_known(self):
        self.rule()
        change = {
            'object': 'node',
            'op': 'add',
            'path': '/chassis_uuid',
            'before': None,
            'after': RULE,
            'action': 'set-attribute',
        }
        self.run_was(
            {
                'uuid': RULE,
                'description': None,
                'revision': 1,
                'conditions': [],
                'actions': [],
                'changes': [change],
            }
        )
        self.assertIsNone(self.explain('path=/chassis_uuid')['current'])
