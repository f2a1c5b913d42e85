# SPDX-License-Identifier: Apache-2.0

"""A rule as plain, frozen data."""

import dataclasses

from ironic_inspection_rules.engine.language import model
from ironic_inspection_rules.tests.unit import base


class RuleTestCase(base.TestCase):
    def test_what_is_absent_or_null_takes_the_default(self):
        rule = model.Rule.from_mapping(
            {
                'uuid': 'a',
                'actions': [{'op': 'log'}],
                'conditions': None,
                'priority': None,
                'phase': None,
                'links': [],
                'version': '1.0',
            }
        )

        self.assertEqual(model.Rule(uuid='a', actions=({'op': 'log'},)), rule)
        self.assertEqual(
            (0, 'main', False, None),
            (rule.priority, rule.phase, rule.sensitive, rule.scope),
        )

    def test_what_its_author_set_makes_the_same_rule(self):
        rule = model.Rule(
            uuid='a',
            actions=({'op': 'log'},),
            mode='off',
            scope='rack',
            priority=3,
        )

        self.assertEqual(rule, model.Rule.from_mapping(rule.to_mapping()))
        self.assertEqual([{'op': 'log'}], rule.to_mapping()['actions'])

    def test_what_is_read_only_is_not_its_authors(self):
        rule = model.Rule(uuid='a', actions=(), built_in=True, revision=7)

        self.assertEqual(
            {'built_in', 'revision'},
            set(model.FIELDS) - set(rule.to_mapping()),
        )

    def test_it_cannot_be_changed(self):
        rule = model.Rule(uuid='a', actions=())
        self.assertRaises(
            dataclasses.FrozenInstanceError, setattr, rule, 'priority', 1
        )


class SameTestCase(base.TestCase):
    def test_values_of_other_types_are_others(self):
        for one, other in ((1, True), (1, 1.0), ([1], [True]), (None, [])):
            self.assertFalse(
                model.is_same_value('actions', one, other), (one, other)
            )
            self.assertTrue(
                model.is_same_value('actions', one, one), (one, other)
            )

    def test_vars_in_another_order_are_others(self):
        one, other = {'x': 1, 'y': 2}, {'y': 2, 'x': 1}

        self.assertFalse(model.is_same_value('vars', one, other))
        self.assertTrue(model.is_same_value('vars', one, dict(one)))
        self.assertTrue(model.is_same_value('vars', None, None))
        self.assertTrue(model.is_same_value('actions', [one], [other]))


class SplitOpTestCase(base.TestCase):
    def test_an_exclamation_mark_inverts(self):
        for op, split in (
            ('eq', ('eq', False)),
            ('!eq', ('eq', True)),
            ('! eq', ('eq', True)),
            (' ! eq ', ('eq', True)),
            ('!!eq', ('!eq', True)),
            ('', ('', False)),
        ):
            self.assertEqual(split, model.split_op(op))
