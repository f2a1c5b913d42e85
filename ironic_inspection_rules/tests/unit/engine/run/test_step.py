# SPDX-License-Identifier: Apache-2.0

"""The steps of one rule: its values, its actions, and its errors."""

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.language import budget
from ironic_inspection_rules.tests.unit import base
from ironic_inspection_rules.tests.unit.engine import phase

FAILING = '{plugin_data.text | round}'


class VarsTestCase(base.TestCase):
    def run_rule(self, **fields):
        return phase.run(
            {
                'vars': {
                    'a': '{plugin_data.n}',
                    'b': '{vars.a}!',
                    'gone': '{plugin_data.gone}',
                },
                **fields,
            },
            plugin_data={'n': 7, 'text': 'x'},
        )

    def test_one_uses_those_before_it_with_their_types(self):
        _outcome, roots = self.run_rule(
            actions=[{'op': 'set-plugin-data', 'args': ['/v', '{vars}']}]
        )

        self.assertEqual({'a': 7, 'b': '7!'}, roots['plugin_data']['v'])

    def test_they_stay_while_actions_change_what_they_are_made_of(self):
        _outcome, roots = self.run_rule(
            actions=[
                {'op': 'set-plugin-data', 'args': ['/n', 8]},
                {'op': 'set-plugin-data', 'args': ['/v', '{vars.a}']},
            ]
        )

        self.assertEqual(7, roots['plugin_data']['v'])

    def test_they_stay_where_a_rule_before_made_what_they_are(self):
        append = {'op': 'extend-plugin-data', 'args': ['/l', 1]}
        _outcome, roots = phase.run(
            {'priority': 1, 'actions': [append]},
            {
                'vars': {'l': '{plugin_data.l}'},
                'actions': [
                    append,
                    {'op': 'set-plugin-data', 'args': ['/v', '{vars.l}']},
                ],
            },
        )

        self.assertEqual({'l': [1, 1], 'v': [1]}, roots['plugin_data'])

    def test_no_other_rule_sees_them(self):
        outcome, roots = phase.run(
            {'vars': {'a': 1}, 'priority': 1},
            {
                'conditions': [{'op': 'exists', 'args': ['{vars.a}']}],
                'actions': [{'op': 'fail', 'args': ['seen']}],
            },
        )

        self.assertIsNone(outcome.error)
        self.assertNotIn('vars', roots)

    def test_an_error_names_the_value(self):
        rule = {'vars': {'a': 1, 'bad': FAILING}}
        for sensitive, told in ((False, ', vars.bad: '), (True, ', vars')):
            outcome, _roots = phase.run(
                {**rule, 'sensitive': sensitive}, plugin_data={'text': 'x'}
            )
            self.assertIn(told, str(outcome.error))
            self.assertIs(sensitive, 'bad' not in str(outcome.error))

    def test_a_large_value_is_paid_for(self):
        value = ['{plugin_data.text}'] * 50
        limits = budget.Limits(size=1000)
        for length, told in ((10, None), (30, 'larger than 1000')):
            outcome, _roots = phase.run(
                {'vars': {'a': value}},
                limits=limits,
                plugin_data={'text': 'x' * length},
            )
            if told is None:
                self.assertIsNone(outcome.error, (length, told))
            else:
                self.assertIn(told, str(outcome.error))


class ErrorTestCase(base.TestCase):
    RULE = {
        'description': 'mine',
        'conditions': [{'op': 'eq', 'args': [FAILING, 1]}],
    }

    def error(self, **fields):
        outcome, _roots = phase.run(
            {**self.RULE, **fields}, plugin_data={'text': 'x'}
        )
        return outcome.error

    def test_it_tells_rule_op_reason_and_cause(self):
        error = self.error()

        self.assertIn('(mine)', str(error))
        self.assertIn(', eq: filter round: takes a number', str(error))
        self.assertIsInstance(error.__cause__, exceptions.OperationError)

    def test_of_a_sensitive_rule_only_the_op(self):
        error = self.error(sensitive=True)

        self.assertNotIn('mine', str(error))
        self.assertNotIn('round', str(error))
        self.assertIsNone(error.__cause__)

    def test_fail_keeps_what_came_before_it(self):
        outcome, roots = phase.run(
            {
                'actions': [
                    phase.SET,
                    {'op': 'fail', 'args': ['no', True]},
                    phase.SET,
                ]
            }
        )

        self.assertTrue(outcome.keeps_changes)
        self.assertTrue(outcome.error.maintenance)
        self.assertEqual(
            ['set-plugin-data', 'fail'],
            [each.op for each in outcome.traces[0].actions],
        )
        self.assertTrue(roots['plugin_data']['done'])

    def test_any_other_error_keeps_nothing(self):
        outcome, _roots = phase.run(
            {
                'actions': [
                    phase.SET,
                    {'op': 'set-plugin-data', 'args': ['/x', FAILING]},
                ]
            },
            plugin_data={'text': 'x'},
        )

        self.assertFalse(outcome.keeps_changes)

    def test_rules_are_paid_for_in_advance(self):
        outcome, _roots = phase.run(
            *[{}] * 20, limits=budget.Limits(operations=20)
        )

        self.assertIn(
            'set-plugin-data: the phase does more than 20', str(outcome.error)
        )


class AskedTestCase(base.TestCase):
    def test_the_reason_is_that_of_the_first_item_that_failed(self):
        outcome, _roots = phase.run(
            {
                'actions': [
                    {
                        **phase.SET,
                        'loop': [1, 2, 3],
                        'when': [{'op': 'eq', 'args': ['{item}', 1]}],
                    }
                ]
            },
            explain=True,
        )

        self.assertEqual(
            [('eq', 1, 2, 'values=[2, 1]')],
            [tuple(each) for each in outcome.traces[0].actions[0].when],
        )

    def test_nobody_is_told_of_a_sensitive_rule(self):
        outcome, _roots = phase.run(
            {
                'sensitive': True,
                'actions': [
                    {**phase.SET, 'when': [{'op': 'eq', 'args': [1, 1]}]}
                ],
            },
            explain=True,
        )

        self.assertEqual((), outcome.traces[0].actions)
