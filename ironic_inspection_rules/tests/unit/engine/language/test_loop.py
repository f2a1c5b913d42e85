# SPDX-License-Identifier: Apache-2.0

"""The items that a condition or an action runs for."""

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.language import budget
from ironic_inspection_rules.engine.language import loop
from ironic_inspection_rules.engine.language import rendering
from ironic_inspection_rules.tests.unit import base

ROOTS = budget.View(
    {
        'node': {
            'list': [1, 2],
            'mapping': {'a': 1},
            'text': 'abc',
            'null': None,
            'number': 5,
        }
    }
)


class CompileItemsTestCase(base.TestCase):
    def items(self, written):
        return loop.compile_items(written)(ROOTS)

    def test_items_of_every_form_of_a_loop(self):
        for written, items in (
            ([], []),
            ([1, '{node.text}'], [1, 'abc']),
            ({'a': '{node.number}'}, [{'a': 5}]),
            ('{node.list}', [1, 2]),
            ('{node.mapping}', [{'a': 1}]),
            ('{node.null}', []),
        ):
            self.assertEqual(items, self.items(written))

    def test_a_missing_loop_is_missing(self):
        self.assertEqual(
            rendering.Missing('node.none'), self.items('{node.none}')
        )

    def test_a_plain_value_is_no_loop(self):
        for written in ('{node.text}', '{node.number}', 'a{node.text}'):
            self.assertRaises(exceptions.OperationError, self.items, written)
