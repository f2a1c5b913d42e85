# SPDX-License-Identifier: Apache-2.0

"""Actions of a rule: their conditions, loops, and what they may write."""

from ironic_inspection_rules.engine.language import action
from ironic_inspection_rules.engine.language import plugin
from ironic_inspection_rules.engine.language import registry
from ironic_inspection_rules.engine.run import working_copy
from ironic_inspection_rules.tests.unit import base
from ironic_inspection_rules.tests.unit.engine import phase


class Tell(plugin.Action):
    """An action with a message and a value."""

    TELLS = frozenset({'msg'})

    def __call__(self, target, msg, value):
        target.set(working_copy.PLUGIN_DATA, ('told',), value)


def append(value, **fields):
    return {'op': 'extend-plugin-data', 'args': ['/l', value], **fields}


class ApplyTestCase(base.TestCase):
    def written(self, operation, **plugin_data):
        outcome, roots = phase.run(
            {'actions': [operation]}, plugin_data=plugin_data
        )
        self.assertIsNone(outcome.error)
        return roots['plugin_data'].get('l'), outcome.traces[0].actions[0]

    def test_it_asks_its_conditions_for_each_item(self):
        items, told = self.written(
            append(
                '{item}',
                loop=[1, 2, 3, 4],
                when=[
                    {'op': 'gt', 'args': ['{item}', 1]},
                    {'op': 'ne', 'args': ['{item}', 3]},
                ],
            )
        )

        self.assertEqual([2, 4], items)
        self.assertTrue(told.ran)
        self.assertEqual(
            [(3, 1), (2, 1)], [(each.true, each.false) for each in told.when]
        )

    def test_it_has_not_run_where_its_conditions_never_hold(self):
        for loop in ({}, {'loop': [1, 2]}):
            items, told = self.written(
                append(1, when=[{'op': 'eq', 'args': [1, 2]}], **loop)
            )
            self.assertIsNone(items, repr(loop))
            self.assertFalse(told.ran, repr(loop))

    def test_it_has_not_run_where_there_is_nothing_to_run_for(self):
        for loop in ([], '{plugin_data.none}', '{plugin_data.empty}'):
            items, told = self.written(
                append(
                    '{item}', loop=loop, when=[{'op': 'eq', 'args': [1, 1]}]
                ),
                none=None,
                empty=[],
            )
            self.assertIsNone(items, repr(loop))
            self.assertEqual(
                ('empty_loop', 'the loop has no items'), told.idle
            )

    def test_it_has_not_run_if_one_of_its_items_has_an_error(self):
        outcome, roots = phase.run(
            {'actions': [append('{item | int}', loop=['1', 'x'])]}
        )
        (told,) = outcome.traces[0].actions
        self.assertEqual([1], roots['plugin_data']['l'])
        self.assertEqual(('error', outcome.error.reason), told.idle)

    def test_to_fail_the_inspection_is_to_run(self):
        outcome, _roots = phase.run(
            {'actions': [{'op': 'fail', 'args': ['no']}]}
        )
        self.assertTrue(outcome.traces[0].actions[0].ran)

    def test_it_ends_though_it_extends_what_it_loops_over(self):
        outcome, roots = phase.run(
            {
                'actions': [
                    append(1),
                    append(2),
                    append('{item}', loop='{plugin_data.l}'),
                ]
            }
        )

        self.assertIsNone(outcome.error)
        self.assertEqual([1, 2, 1, 2], roots['plugin_data']['l'])

    def test_a_missing_loop_or_value_is_an_error(self):
        for operation in (
            append(1, loop='{plugin_data.gone}'),
            append('{plugin_data.gone}'),
        ):
            outcome, _roots = phase.run({'actions': [operation]})
            self.assertIn('plugin_data.gone', str(outcome.error))

    def test_a_masked_secret_is_never_written(self):
        for value in (
            '{node.driver_info.ipmi_password}',
            '{node.driver_info}',
            'x{node.driver_info}',
        ):
            outcome, roots = phase.run(
                {'actions': [append(value)]}, mask_secrets='always'
            )
            self.assertIn('has a secret', str(outcome.error))
            self.assertNotIn('l', roots['plugin_data'])

    def test_a_masked_secret_of_a_port_is_never_written(self):
        for value in (
            f'{{ports[{phase.MAC}].extra.password}}',
            f'{{ports[{phase.MAC}]}}',
            '{ports[0].extra}',
        ):
            outcome, roots = phase.run(
                {
                    'actions': [
                        {
                            'op': 'set-port-attribute',
                            'args': [phase.MAC, '/extra/password', 'secret'],
                        },
                        append(value),
                    ]
                },
                mask_secrets='always',
            )
            self.assertIn('has a secret', str(outcome.error))
            self.assertNotIn('l', roots['plugin_data'])

    def test_what_was_masked_before_is_not_written_either(self):
        kept = {'a': {'password': '******'}, 'b': [{'name': '******'}]}
        for value in (
            '{plugin_data.a.password}',
            '{plugin_data.a}',
            '{plugin_data}',
        ):
            outcome, roots = phase.run(
                {'actions': [append(value)]},
                mask_secrets='always',
                plugin_data=kept,
            )
            self.assertIn('has a secret', str(outcome.error))
            self.assertNotIn('l', roots['plugin_data'])

        outcome, roots = phase.run(
            {'actions': [append('{plugin_data.b}')]},
            mask_secrets='always',
            plugin_data=kept,
        )
        self.assertEqual([[{'name': '******'}]], roots['plugin_data']['l'])

    def test_a_message_may_tell_what_is_masked_or_missing(self):
        outcome, _roots = phase.run(
            {
                'actions': [
                    {
                        'op': 'fail',
                        'args': [
                            '{node.driver_info.ipmi_password} {node.gone}'
                        ],
                    }
                ]
            },
            mask_secrets='always',
        )

        self.assertIn('****** (missing)', str(outcome.error))

    def test_only_a_message_of_an_action_with_one_may_have_a_secret(self):
        ops = registry.Registry({}, {'tell': Tell()})
        for args, told in (
            ({'msg': '{node.driver_info}', 'value': 1}, 1),
            ({'msg': 'x', 'value': '{node}'}, None),
        ):
            outcome, roots = phase.run(
                {'actions': [{'op': 'tell', 'args': args}]},
                ops=ops,
                mask_secrets='always',
            )
            self.assertEqual(told is None, outcome.error is not None)
            self.assertEqual(told, roots['plugin_data'].get('told'))

    def test_what_undoes_an_action_is_checked_for_what_it_uses(self):
        never = {'op': 'eq', 'args': [1, 2]}
        for args, refused in (
            ({'path': '/l/0', 'value': '{node}'}, False),
            ({'path': '/l/{vars.n}', 'value': 1}, True),
        ):
            outcome, roots = phase.run(
                {
                    'vars': {'n': '{node.driver_info.ipmi_password | length}'},
                    'conditions': [never],
                    'actions': [
                        {'op': 'set-plugin-data', 'args': args, 'revert': True}
                    ],
                },
                mask_secrets='always',
                plugin_data={'l': ['x']},
            )
            self.assertEqual(refused, outcome.error is not None)
            self.assertEqual(
                ['x'] if refused else [], roots['plugin_data']['l']
            )

    def test_what_a_sensitive_rule_wrote_is_told_by_who_reads_it(self):
        outcome, _roots = phase.run(
            {
                'sensitive': True,
                'priority': 2,
                'actions': [
                    {'op': 'set-plugin-data', 'args': ['/key', 'hush']}
                ],
            },
            {
                'priority': 1,
                'actions': [
                    {'op': 'log', 'args': ['key {plugin_data.key}']},
                    {
                        'op': 'log',
                        'args': ['{item}'],
                        'loop': ['{plugin_data.key}'],
                    },
                    {'op': 'log', 'args': ['open {plugin_data.open}']},
                ],
            },
            plugin_data={'open': 'y'},
        )

        self.assertEqual(
            [('info: key hush',), ('info: hush',), ('info: open y',)],
            [each.notes for each in outcome.traces[1].actions],
        )


class RevertsTestCase(base.TestCase):
    def test_a_cleanup_value_is_as_good_as_revert(self):
        op = registry.installed().actions['set-attribute']
        for fields, expected in (
            ({}, False),
            ({'revert': True}, True),
            ({'revert': 'yes'}, True),
            ({'revert': False}, False),
            ({'args': ['/extra/a', 1, 'old']}, True),
            (
                {'args': {'path': '/extra/a', 'value': 1, 'cleanup': None}},
                False,
            ),
        ):
            self.assertIs(
                expected,
                action.reverts(
                    {'op': 'set-attribute', 'args': ['/extra/a', 1], **fields},
                    op,
                ),
                fields,
            )
