# SPDX-License-Identifier: Apache-2.0

"""Rules are tried whose operations only the server knows."""

from ironic.common import policy
from oslo_policy import policy as oslo_policy

from ironic_inspection_rules import policies
from ironic_inspection_rules.tests.functional.api import test_fleet

SECRET = test_fleet.SECRET
HIDDEN = {**SECRET, 'conditions': None, 'actions': None}


class HiddenOperationsTestCase(test_fleet.FleetTestCase):
    def setUp(self):
        super().setUp()
        for rule in (test_fleet.SIZE, SECRET):
            self.assertEqual(
                201, self.send(rule, path=test_fleet.RULES).status_int
            )

    def test_they_are_those_of_the_stored_rule(self):
        expected = self.page({}, rules=[test_fleet.TIMES, SECRET])
        self.assertEqual(
            expected, self.page({}, rules=[test_fleet.TIMES, HIDDEN])
        )
        self.assertIn(SECRET['uuid'], expected['nodes'][0]['matched'])

    def test_so_they_are_for_one_node(self):
        response = self.send({'node': 'n1', 'rules': [HIDDEN]})
        self.assertEqual(
            self.send({'node': 'n1', 'rules': [SECRET]}).json, response.json
        )
        self.assertEqual([], response.json['changes'])
        self.assertNotIn('s3cret', response.text)

    def test_an_export_differs_nowhere_from_what_is_in_force(self):
        for uuid in (SECRET['uuid'], SECRET['uuid'].upper(), None):
            rules = [
                test_fleet.SIZE,
                {**HIDDEN, 'uuid': uuid, 'sensitive': 'true'},
            ]
            for entry in self.entries({}, rules=rules, compare=True).values():
                self.assertFalse(entry['differs'], entry)

    def test_other_fields_are_those_of_the_request(self):
        entry = self.entries({}, rules=[{**HIDDEN, 'mode': 'audit'}])['n1']
        self.assertEqual([], entry['changes'])
        self.assertEqual(
            [SECRET['uuid']], [each['uuid'] for each in entry['audit']]
        )

    def test_a_rule_that_is_not_stored_is_named(self):
        for rule in (
            {**HIDDEN, 'uuid': test_fleet.UNKNOWN},
            {**HIDDEN, 'uuid': None, 'description': 'other'},
            {**HIDDEN, 'uuid': test_fleet.SIZE['uuid']},
        ):
            self.assertIn(
                '/rules/1: no sensitive rule is stored',
                self.reason({'nodes': {}, 'rules': [test_fleet.TIMES, rule]}),
            )

    def test_no_rule_is_opened(self):
        for sensitive in (False, None):
            self.assertIn(
                '/rules/0',
                self.reason(
                    {
                        'node': 'n1',
                        'rules': [{**HIDDEN, 'sensitive': sensitive}],
                    }
                ),
            )

    def test_errors_do_not_tell_of_them(self):
        reason = self.reason(
            {'nodes': {}, 'rules': [{**HIDDEN, 'phase': 'early'}]}
        )
        self.assertIn(
            '/rules/0: /actions/0: is not valid in this rule', reason
        )
        self.assertNotIn('set-attribute', reason)

    def test_only_who_may_change_rules_may_try_them(self):
        enforcer = policy.get_enforcer()
        enforcer.load_rules()
        self.addCleanup(
            enforcer.set_rules,
            dict(enforcer.rules),
            use_conf=enforcer.use_conf,
        )
        enforcer.set_rules(
            oslo_policy.Rules.from_dict({policies.EVALUATE: '@'}),
            overwrite=False,
        )
        for members in (
            {'nodes': {}},
            # Refused, but only then.
            {'nodes': {}, 'limit': 0},
            {'nodes': {}, 'node': 'n1'},
        ):
            self.assertIn(
                'inspection_rule:update',
                self.reason({**members, 'rules': [HIDDEN]}, 403, 'reader'),
            )
        self.page({}, 'reader', rules=[SECRET])
