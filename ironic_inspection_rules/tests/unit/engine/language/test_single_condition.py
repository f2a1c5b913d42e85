# SPDX-License-Identifier: Apache-2.0

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.language import budget
from ironic_inspection_rules.engine.language import compiler
from ironic_inspection_rules.engine.language import model
from ironic_inspection_rules.engine.language import plugin
from ironic_inspection_rules.engine.language import registry
from ironic_inspection_rules.tests.unit import base


class SentenceTestCase(base.TestCase):
    def tell(self, op, args, **plugin_data):
        plan = compiler.compile_rule(
            model.Rule(
                uuid='r', conditions=({'op': op, 'args': args},), actions=()
            ),
            registry.installed(),
        )
        view = budget.View({'plugin_data': plugin_data})
        return plan.conditions[0].reason(view, view)

    def test_it_says_all_arguments(self):
        self.assertEqual(
            "value='x', regex='a.*'",
            self.tell('matches', ['{plugin_data.a}', 'a.*'], a='x'),
        )
        self.assertEqual(
            "values=[1, 'x', [2, 'y']]",
            self.tell(
                'eq',
                [1, '{plugin_data.a}', [2, '{plugin_data.b}']],
                a='x',
                b='y',
            ),
        )
        self.assertEqual(
            "values=['1', 2], force_strings=True",
            self.tell(
                'eq',
                {'values': ['{plugin_data.a}', 2], 'force_strings': True},
                a='1',
            ),
        )

    def test_what_is_not_there_comes_first(self):
        self.assertEqual(
            'field {plugin_data.b} does not exist',
            self.tell('eq', ['{plugin_data.a}', '{plugin_data.b}'], a=1),
        )


class Near(plugin.Relation):
    """A third party's: the values differ by one at most."""

    __module__ = 'near_rules'

    def holds(self, one, other):
        return abs(one - other) <= 1


class RelationTestCase(base.TestCase):
    def check(self, args, expected, op='near', **plugin_data):
        ops = registry.Registry({'near': Near}, {})
        plan = compiler.compile_rule(
            model.Rule(
                uuid='r', conditions=({'op': op, 'args': args},), actions=()
            ),
            ops,
        )
        view = budget.View({'plugin_data': plugin_data})
        (condition,) = plan.conditions
        self.assertIs(expected, condition.check(view))
        self.assertIs(expected, condition.decide(view).result)

    def test_two_values_are_compared(self):
        self.check(['{plugin_data.a}', 2], True, a=1)
        self.check(['{plugin_data.a}', 2], False, a=4)
        self.check(['{plugin_data.a}', 2], True, '!near', a=4)
        self.check([2, '{plugin_data.a}'], False, a=4)
        self.check(['{plugin_data.a}', '{plugin_data.b}'], True, a=1, b=2)

    def test_each_value_is_compared_with_the_next(self):
        self.check(['{plugin_data.a}', 2, 3], True, a=1)
        self.check(['{plugin_data.a}', 2, 4], False, a=1)
        self.check(['{plugin_data.l}'], True, l=[1, 2])

    def test_a_missing_value_is_false_inverted_or_not(self):
        for op in ('near', '!near'):
            self.check(['{plugin_data.gone}', 2], False, op)
            self.check([2, '{plugin_data.gone}'], False, op)
            self.check([2, 3, '{plugin_data.gone}'], False, op)

    def test_an_error_of_a_stranger_names_the_op(self):
        error = self.assertRaises(
            exceptions.PluginFailed,
            self.check,
            ['{plugin_data.a}', 2],
            True,
            a='x',
        )
        self.assertEqual('near', error.op)
        self.assertIn('Near.holds', str(error))
