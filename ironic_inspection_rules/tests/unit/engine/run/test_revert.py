# SPDX-License-Identifier: Apache-2.0

"""What a rule did is undone when it no longer matches (blueprint 000)."""

import copy

from ironic_inspection_rules.engine.language import compiler
from ironic_inspection_rules.engine.language import registry
from ironic_inspection_rules.engine.language import validation
from ironic_inspection_rules.engine.run import runner
from ironic_inspection_rules.engine.run import working_copy
from ironic_inspection_rules.tests.unit import base

MAC = '52:54:00:00:00:01'
NODE = {
    'name': 'n',
    'driver': 'fake-hardware',
    'traits': ['CUSTOM_A'],
    'extra': {'a': 1, 'l': ['x', 'y']},
    'properties': {'capabilities': 'a:1,b:2'},
}
NEVER = {'op': 'eq', 'args': [1, 2]}
UUID = '00000000-0000-0000-0000-%012d'


class RevertTestCase(base.TestCase):
    def run_rules(self, *rules, explain=False):
        plans = [
            compiler.compile_rule(
                validation.parse(
                    {'uuid': UUID % number, **rule}, registry.installed()
                ),
                registry.installed(),
            )
            for number, rule in enumerate(rules)
        ]
        target = working_copy.WorkingCopy(
            working_copy.Facts(
                inventory={},
                plugin_data={'p': {'q': 1}, 'l': [1]},
                node=copy.deepcopy(NODE),
                ports=({'address': MAC, 'extra': {'a': 1, 'l': [1]}},),
            )
        )
        outcome = runner.run(plans, target, explain=explain)
        self.assertIsNone(outcome.error)
        return target.roots, outcome.traces

    def undone(self, *actions):
        roots, _traces = self.run_rules(
            {
                'conditions': [NEVER],
                'actions': [
                    {'op': op, 'args': args, 'revert': True}
                    for op, args in actions
                ],
            }
        )
        return roots

    def test_a_cleanup_value_is_enough(self):
        actions = [
            {'op': 'set-attribute', 'args': ['/extra/a', 5, 'clean']},
            {
                'op': 'set-port-attribute',
                'args': {
                    'port_id': MAC,
                    'path': '/extra/a',
                    'value': 5,
                    'cleanup': 'clean',
                },
            },
            {
                'op': 'set-attribute',
                'args': {'path': '/extra/l', 'value': 5, 'cleanup': None},
            },
        ]
        roots, _traces = self.run_rules(
            {'conditions': [NEVER], 'actions': actions}
        )
        self.assertEqual(
            {'a': 'clean', 'l': ['x', 'y']}, roots['node']['extra']
        )
        self.assertEqual('clean', roots['ports'][0]['extra']['a'])

    def test_undoing_is_in_the_order_of_actions_and_rules(self):
        first, second, third = (
            {'op': 'set-attribute', 'args': ['/extra/a', 5, value]}
            for value in ('one', 'two', 'three')
        )
        roots, _traces = self.run_rules(
            {'conditions': [NEVER], 'actions': [first, second]}
        )
        self.assertEqual('two', roots['node']['extra']['a'])
        roots, _traces = self.run_rules(
            {'conditions': [NEVER], 'actions': [second]},
            {'conditions': [NEVER], 'actions': [third]},
        )
        self.assertEqual('three', roots['node']['extra']['a'])

    def test_a_cleanup_value_that_is_not_to_be_used_is_refused(self):
        action = {
            'op': 'set-attribute',
            'args': ['/extra/a', 5, 'clean'],
            'revert': False,
        }
        problems = validation.validate(
            {'actions': [action]}, registry.installed()
        )
        self.assertEqual(
            ['/actions/0/revert'], [problem.pointer for problem in problems]
        )

    def test_attributes_go_or_take_the_cleanup_value(self):
        node = self.undone(
            ('set-attribute', ['/extra/a', 5]),
            ('set-attribute', ['/extra/b', 5, 'clean']),
            ('set-attribute', ['/name', 'x']),
            ('set-attribute', ['/driver', 'x']),
            ('extend-attribute', ['/extra/l', 'y']),
        )['node']
        self.assertEqual({'b': 'clean', 'l': ['x']}, node['extra'])
        self.assertIsNone(node['name'])
        self.assertEqual('fake-hardware', node['driver'])

    def test_capabilities_and_traits_go(self):
        node = self.undone(
            ('set-capability', ['a', '5']), ('add-trait', ['CUSTOM_A'])
        )['node']
        self.assertEqual({'capabilities': 'b:2'}, node['properties'])
        self.assertEqual([], node['traits'])
        self.assertEqual(
            [],
            self.undone(('set-traits', [['CUSTOM_A', 'CUSTOM_B']]))['node'][
                'traits'
            ],
        )

    def test_plugin_data_goes(self):
        roots = self.undone(
            ('set-plugin-data', ['/p/q', 5]), ('extend-plugin-data', ['/l', 1])
        )
        self.assertEqual({'p': {}, 'l': []}, roots['plugin_data'])

    def test_attributes_of_ports_go(self):
        [port] = self.undone(
            ('set-port-attribute', [MAC, '/extra/a', 5]),
            ('extend-port-attribute', [MAC.upper(), '/extra/l', 1]),
        )['ports']
        self.assertEqual({'l': []}, port['extra'])

    def test_nothing_to_undo_is_fine(self):
        roots = self.undone(
            ('set-attribute', ['/extra/no/such', 5]),
            ('set-attribute', ['/extra/{node.extra[gone]}', 5]),
            ('extend-attribute', ['/extra/gone', 5]),
            ('set-capability', ['gone', '5']),
            ('add-trait', ['CUSTOM_GONE']),
            ('set-plugin-data', ['/gone', 5]),
            ('extend-plugin-data', ['/p', 5]),
            ('set-port-attribute', ['no-port', '/extra/a', 5]),
            ('extend-port-attribute', ['no-port', '/extra/a', 5]),
        )
        self.assertEqual(NODE, roots['node'])

    def test_every_turn_of_a_loop_is_undone(self):
        roots, _traces = self.run_rules(
            {
                'conditions': [NEVER],
                'actions': [
                    {
                        'op': 'extend-attribute',
                        'revert': True,
                        'args': ['/extra/l', '{item}'],
                        'loop': ['x', 'y'],
                    }
                ],
            }
        )
        self.assertEqual([], roots['node']['extra']['l'])

    def test_the_trace_says_why_nothing_was_undone(self):
        action = {
            'op': 'set-attribute',
            'args': ['/extra/a', 1],
            'revert': True,
        }
        _roots, traces = self.run_rules(
            {
                'conditions': [NEVER],
                'actions': [
                    action,
                    {**action, 'loop': []},
                    {
                        'op': 'extend-attribute',
                        'revert': True,
                        'args': ['/extra/l', '{node.gone}'],
                    },
                    {
                        'op': 'extend-attribute',
                        'revert': True,
                        'loop': ['gone', 'l'],
                        'args': ['/extra/l', '{node.extra[{item}]}'],
                    },
                ],
            }
        )
        self.assertEqual(
            [None, 'empty_loop', 'error', 'error'],
            [each.idle and each.idle.cause for each in traces[0].actions],
        )
        self.assertEqual(
            'field {node.gone} does not exist',
            traces[0].actions[2].idle.reason,
        )

    def test_a_rule_that_matches_undoes_nothing(self):
        roots, _traces = self.run_rules(
            {
                'actions': [
                    {
                        'op': 'set-attribute',
                        'args': ['/extra/a', 5],
                        'revert': True,
                    }
                ]
            }
        )
        self.assertEqual(5, roots['node']['extra']['a'])

    def test_all_is_undone_before_the_first_action(self):
        roots, traces = self.run_rules(
            {'actions': [{'op': 'set-attribute', 'args': ['/extra/a', 7]}]},
            {
                'conditions': [NEVER],
                'actions': [
                    {
                        'op': 'set-attribute',
                        'args': ['/extra/a', 5],
                        'revert': True,
                    }
                ],
            },
        )
        self.assertEqual(7, roots['node']['extra']['a'])
        self.assertEqual(
            [UUID % 1, UUID % 0], [each.rule.uuid for each in traces]
        )

    def test_an_explanation_has_each_rule_once_and_in_order(self):
        _roots, traces = self.run_rules(
            {'actions': [{'op': 'set-attribute', 'args': ['/extra/a', 7]}]},
            {
                'conditions': [{'op': 'eq', 'args': ['{node.extra[a]}', 7]}],
                'actions': [
                    {
                        'op': 'set-attribute',
                        'args': ['/extra/a', 5],
                        'revert': True,
                    }
                ],
            },
            explain=True,
        )
        self.assertEqual(
            [UUID % 0, UUID % 1], [each.rule.uuid for each in traces]
        )
        self.assertEqual('values=[1, 7]', traces[1].conditions[0].reason)

    def test_revert_may_be_text_that_says_no(self):
        roots, _traces = self.run_rules(
            {
                'conditions': [NEVER],
                'actions': [
                    {
                        'op': 'set-attribute',
                        'args': ['/extra/a', 5],
                        'revert': 'false',
                    }
                ],
            }
        )
        self.assertEqual(1, roots['node']['extra']['a'])

    def test_what_cannot_be_undone_is_refused(self):
        for op, args in (('fail', ['no']), ('unset-capability', ['a'])):
            problems = validation.validate(
                {'actions': [{'op': op, 'args': args, 'revert': True}]},
                registry.installed(),
            )
            self.assertEqual(
                ['/actions/0/revert'],
                [problem.pointer for problem in problems],
            )
