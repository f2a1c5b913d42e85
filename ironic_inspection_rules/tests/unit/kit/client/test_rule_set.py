# SPDX-License-Identifier: Apache-2.0

"""What applying rules would do, as it is found out."""

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.kit.client import rule_set
from ironic_inspection_rules.kit.osc import rule_set as commands
from ironic_inspection_rules.tests.unit import base
from ironic_inspection_rules.tests.unit.kit.osc import fakes

GIVEN = '41a5a1c8-6f6c-4d0f-8c1f-16b9d9e0ee21'
MADE = '9f6c1d0e-7b3a-4d52-8c11-0e5f4a3b2c10'
LOG = [{'op': 'log', 'args': ['x']}]


def created(uuid):
    return {
        'uuid': uuid,
        'description': 'big',
        'outcome': 'created',
        'matched_by': None,
        'fields': [],
    }


class PlanTestCase(base.TestCase):
    def plan(self, prune, *uuids, written=str.upper):
        answer = (
            200,
            {
                'revision': 3,
                'rules': [created(uuid or MADE) for uuid in uuids],
            },
        )
        ironic = fakes.Baremetal()
        ironic.answers = [answer, (200, {'inspection_rules': []}), answer]
        return rule_set.plan(
            ironic,
            [
                {
                    'description': 'big',
                    'actions': LOG,
                    **({'uuid': written(uuid)} if uuid else {}),
                }
                for uuid in uuids
            ],
            prune,
        )

    def test_an_answer_without_all_rules_is_an_error(self):
        ironic = fakes.Baremetal()
        ironic.answers = [
            (200, {'revision': 3, 'rules': []}),
            (200, {'inspection_rules': []}),
        ]
        error = self.assertRaises(
            exceptions.Invalid,
            rule_set.plan,
            ironic,
            [{'description': 'big', 'actions': LOG}],
            False,
        )
        self.assertIn('0 of 1 rules', str(error))

    def test_a_uuid_that_does_not_exist_yet_is_not_invented(self):
        for prune in (True, False):
            plan = self.plan(prune, GIVEN, None)
            self.assertEqual(
                [GIVEN, '(known after apply)'],
                [step['uuid'] for step in plan.steps],
            )
            self.assertEqual(
                '(known after apply)', plan.steps[1]['after']['uuid']
            )
            told = commands.as_json(plan)
            self.assertNotIn(MADE, told)
            self.assertIn(GIVEN, told)

    def test_a_uuid_without_hyphens_is_known(self):
        def drop_hyphens(uuid):
            return uuid.replace('-', '')

        plan = self.plan(True, GIVEN, written=drop_hyphens)
        self.assertEqual([GIVEN], [step['uuid'] for step in plan.steps])
        self.assertEqual(GIVEN, plan.steps[0]['after']['uuid'])
