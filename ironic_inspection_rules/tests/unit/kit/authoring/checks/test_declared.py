# SPDX-License-Identifier: Apache-2.0

"""A plugin that fails when lint asks it about a rule is named."""

import json

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.language import plugin
from ironic_inspection_rules.engine.language import registry
from ironic_inspection_rules.kit.authoring import lint
from ironic_inspection_rules.kit.authoring import schema
from ironic_inspection_rules.tests.unit.engine import foreign
from ironic_inspection_rules.tests.unit.rule_file import files

_GROUP = {'op': 'all-of', 'conditions': [foreign.CONDITION]}


class DeclaredTestCase(files.FilesTestCase):
    def lint(self, method, **fields):
        rule = {
            'conditions': [foreign.CONDITION, _GROUP],
            'actions': [
                {
                    'op': 'log',
                    'args': {'msg': 'x'},
                    'when': [foreign.CONDITION],
                },
                foreign.ACTION,
            ],
            **fields,
        }
        return lint.lint(
            [self.write('rules.yaml', json.dumps([rule]))], foreign.ops(method)
        )

    def assert_named(self, expected, method, found, **fields):
        found = [each for each in found if each.check == lint.PLUGIN]
        self.assertEqual(
            expected, [each.message.partition(': ')[0] for each in found]
        )
        for finding in found:
            self.assertEqual(lint.WARNING, finding.level)
            self.assertIn('"odd-', finding.message)
            self.assertIn(
                f'({foreign.code(method)}): KeyError:', finding.message
            )
            self.assertIn(foreign.TEXT, finding.message)

    def test_what_a_condition_states(self):
        self.assert_named(
            ['condition 1', 'condition 2.1', 'action 1, when 1'],
            'facts',
            self.lint('facts'),
        )

    def test_what_an_action_writes(self):
        self.assert_named(['action 2'], 'writes', self.lint('writes'))
        self.assert_named(
            ['action 2'],
            'writes',
            self.lint(
                'writes',
                actions=[
                    {'op': 'log', 'args': {'msg': 'x'}},
                    {**foreign.ACTION, 'loop': [1, 2]},
                ],
            ),
        )

    def test_a_rule_with_problems_is_not_asked(self):
        found = self.lint('facts', priority='x')
        self.assertEqual(
            [lint.INVALID],
            [each.check for each in found if each.level == lint.ERROR],
        )
        self.assert_named([], 'facts', found)

    def test_what_is_no_fact_is_the_fault_of_the_plugin(self):
        class Odd(foreign.Condition):
            def facts(self, arguments, inverted=False):
                yield 'a', 'b'

        class OddAction(foreign.Action):
            def writes(self, arguments):
                return 5

        class OddPlace(foreign.Action):
            def writes(self, arguments):
                yield plugin.Write('disk', 'sda', 1)

        for ops in (
            registry.Registry(
                {'odd-condition': Odd}, {'odd-action': foreign.Action}
            ),
            registry.Registry(
                {'odd-condition': foreign.Condition}, {'odd-action': OddAction}
            ),
            registry.Registry(
                {'odd-condition': foreign.Condition}, {'odd-action': OddPlace}
            ),
        ):
            found = lint.lint(
                [
                    self.write(
                        'rules.yaml',
                        json.dumps(
                            [
                                {
                                    'conditions': [foreign.CONDITION],
                                    'actions': [foreign.ACTION],
                                }
                            ]
                        ),
                    )
                ],
                ops,
            )
            self.assertEqual(
                1, [each.check for each in found].count(lint.PLUGIN), found
            )

    def test_a_place_that_no_argument_of_the_action_names(self):
        class Rack(plugin.Action):
            def writes(self, arguments):
                rack = arguments['rack']
                yield plugin.Write('node', '/rack', rack)
                yield plugin.Write('node', '/resource_class', rack)

            def __call__(self, target, rack: str):
                pass

        ops = registry.Registry({}, {'set-rack': Rack})
        for args in ({'rack': 'CUSTOM_R1'}, ['CUSTOM_R1']):
            rule = {'actions': [{'op': 'set-rack', 'args': args}]}
            found = lint.lint(
                [self.write('rules.yaml', json.dumps([rule]))], ops
            )
            checks = {finding.check for finding in found}
            self.assertIn('resource-class', checks)
            self.assertNotIn(lint.PLUGIN, checks)

    def test_a_check_that_fails_refuses_the_rule(self):
        found = [
            each
            for each in self.lint('problems')
            if each.check == lint.INVALID
        ]
        self.assertEqual(4, len(found), found)
        for finding in found:
            self.assertIn(
                f'({foreign.code("problems")}): KeyError:', finding.message
            )

    def test_so_does_the_schema_for_editors(self):
        error = self.assertRaises(
            exceptions.PluginError, schema.schema, foreign.ops('cases')
        )
        self.assertIn('"odd-', str(error))
        self.assertIn(foreign.code('cases'), str(error))
