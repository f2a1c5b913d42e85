# SPDX-License-Identifier: Apache-2.0

"""What a machine sends fills one token of a path."""

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.language import budget
from ironic_inspection_rules.engine.language import call
from ironic_inspection_rules.engine.language import loop
from ironic_inspection_rules.engine.language import path
from ironic_inspection_rules.engine.language import rendering
from ironic_inspection_rules.tests.unit import base
from ironic_inspection_rules.tests.unit.engine import phase


class PatternTestCase(base.TestCase):
    def test_an_item_of_a_machine_is_short(self):
        for length, told in (
            (1024, 'None'),
            (
                1025,
                (
                    'the item is longer than 1024 characters, too long for a '
                    'regular expression'
                ),
            ),
        ):
            outcome, _roots = phase.run(
                {
                    'conditions': [
                        {
                            'op': 'matches',
                            'args': ['x', '{item}'],
                            'loop': '{plugin_data.l}',
                        }
                    ]
                },
                plugin_data={'l': ['x' * length]},
            )
            self.assertIn(told, str(outcome.error))

    def test_null_in_a_loop_of_the_rule_is_no_expression(self):
        for item, text in ((None, '{item}'), ({'name': None}, '^{item.name}')):
            error = self.assertRaises(
                exceptions.OperationError,
                call.compile_pattern,
                text,
                loop.Loop.of(['eth0', item]),
            )
            self.assertIn('is no text in each item', str(error))


class PathTemplateTestCase(base.TestCase):
    def render(self, text, name):
        return call.compile_path(text).render(
            budget.View({'node': {'a': name}})
        )

    def test_a_field_is_one_token(self):
        for name in ('b', 'b/c', '../b', 'b.c', '~1', ''):
            for text in ('/extra/{node.a}/x', 'extra.{node.a}.x'):
                self.assertEqual(('extra', name, 'x'), self.render(text, name))
        self.assertEqual(
            ('extra', 'n-b/c'), self.render('/extra/n-{node.a}', 'b/c')
        )

    def test_a_machine_cannot_leave_the_path_without_an_attribute(self):
        for text in ('/{node.a}', '/{node.a}/x', '{node.a}.x'):
            self.assertRaises(exceptions.OperationError, self.render, text, '')

    def test_no_machine_appends(self):
        self.assertFalse(path.is_append(self.render('/l/{node.a}', '-')[1]))
        self.assertTrue(path.is_append(call.compile_path('/l/-')[1]))

    def test_lists_and_missing_fields_are_no_part(self):
        self.assertRaises(
            exceptions.OperationError, self.render, '/extra/{node.a}', []
        )
        self.assertIsInstance(
            self.render('/extra/{node.b}', 1), rendering.Missing
        )

    def test_items_of_the_rule_may_hold_more_of_the_path(self):
        compiled = call.compile_path(
            '/extra/{item}', loop.Loop.of(['a/b', 'c'])
        )
        self.assertEqual(
            [('extra', 'a', 'b'), ('extra', 'c')],
            [
                compiled.render(budget.View({loop.INDEX: number}))
                for number in range(2)
            ],
        )
