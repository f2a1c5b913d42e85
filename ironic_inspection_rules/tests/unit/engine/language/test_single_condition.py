# SPDX-License-Identifier: Apache-2.0

from ironic_inspection_rules.engine.language import budget
from ironic_inspection_rules.engine.language import compiler
from ironic_inspection_rules.engine.language import model
from ironic_inspection_rules.engine.language import registry
from ironic_inspection_rules.tests.unit import base


class SentenceTestCase(base.TestCase):

    def tell(self, op, args, **plugin_data):
        plan = compiler.compile_rule(model.Rule(
            uuid='r', conditions=({'op': op, 'args': args},), actions=()),
            registry.installed())
        view = budget.View({'plugin_data': plugin_data})
        return plan.conditions[0].reason(view, view)

    def test_it_says_all_arguments(self):
        self.assertEqual(
            "value='x', regex='a.*'",
            self.tell('matches', ['{plugin_data.a}', 'a.*'], a='x'))
        self.assertEqual(
            "values=[1, 'x', [2, 'y']]",
            self.tell('eq', [1, '{plugin_data.a}', [2, '{plugin_data.b}']],
                      a='x', b='y'))
        self.assertEqual(
            "values=['1', 2], force_strings=True",
            self.tell('eq', {'values': ['{plugin_data.a}', 2],
                             'force_strings': True}, a='1'))

    def test_what_is_not_there_comes_first(self):
        self.assertEqual(
            'field {plugin_data.b} does not exist',
            self.tell('eq', ['{plugin_data.a}', '{plugin_data.b}'], a=1))
