# SPDX-License-Identifier: Apache-2.0

"""Rules of a request are compiled once for many requests."""

import fixtures

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.api import posted_rules
from ironic_inspection_rules.engine import model
from ironic_inspection_rules.engine import registry
from ironic_inspection_rules.rule_set import repository
from ironic_inspection_rules.tests.unit import base

UUID = '1d5c8e0a-6b1f-4a57-9a35-2f4f6f0f7a11'


def rule(text='x', **fields):
    return {'actions': [{'op': 'log', 'args': [text]}], **fields}


class PostedRulesTestCase(base.TestCase):

    def setUp(self):
        super().setUp()
        self.use_rules([])

    def use_rules(self, built_in, **options):
        rules = repository.Repository(registry.installed(), built_in, None,
                                      **options)
        self.useFixture(fixtures.MonkeyPatch(
            'ironic_inspection_rules.inspection.start.rules', lambda: rules))

    def test_a_set_that_was_there_is_not_compiled_again(self):
        first = posted_rules.plans([rule(), rule(phase='early')])
        self.assertIs(first, posted_rules.plans(
            [rule(), rule(phase='early')]))
        self.assertIsNot(first, posted_rules.plans(
            [rule(phase='early'), rule()]))

    def test_only_some_sets_are_kept(self):
        first = posted_rules.plans([rule()])
        for number in range(4):
            posted_rules.plans([rule(str(number))])
        self.assertIsNot(first, posted_rules.plans([rule()]))

    def test_no_big_set_is_kept(self):
        big = [rule('x' * (1 << 20))]
        self.assertIsNot(posted_rules.plans(big), posted_rules.plans(big))

    def test_a_uuid_depends_on_what_a_rule_says_and_where(self):
        def uuids(*rules):
            return [plan.rule.uuid
                    for plan in posted_rules.plans(list(rules))['main']]

        first, second = uuids(rule(), rule())
        self.assertNotEqual(first, second)
        self.assertEqual([first], uuids(rule(uuid=None)))
        self.assertNotEqual([first], uuids(rule('y')))

    def test_a_built_in_rule_is_named_by_its_uuid(self):
        built_in = model.Rule.from_mapping(
            rule(uuid='high', priority=20000, built_in=True))
        self.use_rules([built_in])
        plans = posted_rules.plans([rule(uuid=UUID, priority=9999),
                                    {'uuid': 'high', 'built_in': True}])
        self.assertEqual(['high', UUID],
                         [plan.rule.uuid for plan in plans['main']])
        self.assertRaises(exceptions.InvalidRules, posted_rules.plans,
                          [{'uuid': UUID, 'built_in': True}])

    def test_rules_have_the_scope_that_they_would_have_stored(self):
        self.use_rules([], default_scope='site')
        plans = posted_rules.plans([rule(), rule(scope='rack')])
        self.assertEqual(['site', 'rack'],
                         [plan.rule.scope for plan in plans['main']])

    def test_a_bad_rule_is_refused_with_its_place(self):
        exc = self.assertRaises(exceptions.InvalidRules, posted_rules.plans,
                                [rule(), {'actions': 1}])
        self.assertIn('/rules/1', str(exc))
