# SPDX-License-Identifier: Apache-2.0

"""Actions on capabilities."""

from ironic_inspection_rules.engine.language import compiler
from ironic_inspection_rules.engine.language import registry
from ironic_inspection_rules.engine.language import validation
from ironic_inspection_rules.engine.run import runner
from ironic_inspection_rules.engine.run import working_copy
from ironic_inspection_rules.tests.unit import base


class CapabilityTestCase(base.TestCase):
    def run_actions(self, *actions, kept='a:1', **plugin_data):
        rule = validation.parse(
            {
                'uuid': '00000000-0000-4000-8000-000000000000',
                'actions': [{'op': op, 'args': args} for op, *args in actions],
            },
            registry.installed(),
        )
        plan = compiler.compile_rule(rule, registry.installed())
        target = working_copy.WorkingCopy(
            working_copy.Facts(
                inventory={},
                plugin_data=plugin_data,
                node={'properties': {'capabilities': kept}},
            )
        )
        outcome = runner.run([plan], target)
        return outcome.error, target.roots['node']['properties'].get(
            'capabilities'
        )

    def test_it_is_added_behind_the_others(self):
        self.assertEqual(
            (None, 'a:1,b:2'), self.run_actions(('set-capability', 'b', '2'))
        )

    def test_it_is_replaced_where_it_is(self):
        self.assertEqual(
            (None, 'a:2,b:2'),
            self.run_actions(('set-capability', 'a', '2'), kept='a:1,b:2'),
        )

    def test_white_space_around_a_value_is_left_out(self):
        self.assertEqual(
            (None, 'a:1,b:x y'),
            self.run_actions(
                ('set-capability', 'b', '{plugin_data.t}'), t=' x y\n'
            ),
        )

    def test_white_space_around_a_name_is_left_out(self):
        self.assertEqual(
            (None, 'a:2'),
            self.run_actions(
                ('set-capability', '{plugin_data.t}', '2'), t='a\t'
            ),
        )
        self.assertEqual(
            (None, None),
            self.run_actions(('unset-capability', '{plugin_data.t}'), t=' a'),
        )

    def test_the_order_of_actions_counts_for_the_order_alone(self):
        actions = [
            ('set-capability', 'b', '{plugin_data.t}'),
            ('set-capability', 'c', '2'),
        ]
        for ordered in (actions, actions[::-1]):
            _error, text = self.run_actions(*ordered, t='x\n')
            self.assertEqual({'a:1', 'b:x', 'c:2'}, set(text.split(',')))

    def test_white_space_alone_is_no_capability(self):
        for name, value in (
            ('{plugin_data.t}', '1'),
            ('b', '{plugin_data.t}'),
        ):
            error, text = self.run_actions(
                ('set-capability', name, value), t=' \n'
            )
            self.assertIsNotNone(error, (name, value))
            self.assertEqual('a:1', text)
