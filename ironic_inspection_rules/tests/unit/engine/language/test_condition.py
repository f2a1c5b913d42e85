# SPDX-License-Identifier: Apache-2.0

"""Groups and loops of conditions, and why they hold."""

from ironic_inspection_rules.engine.language import budget
from ironic_inspection_rules.tests.unit import base
from ironic_inspection_rules.tests.unit.engine import phase


def eq(*args, **fields):
    return {'op': 'eq', 'args': list(args), **fields}


class GroupTestCase(base.TestCase):
    def test_the_part_that_decides_is_told_alone(self):
        group = {'op': 'any-of', 'conditions': [eq(1, 2), eq(3, 3), eq(4, 4)]}

        self.assertEqual(
            (True, 'condition 2 of 3: eq holds (values=[3, 3])'),
            phase.reason(group),
        )
        self.assertEqual(
            (False, 'condition 2 of 3: eq holds (values=[3, 3])'),
            phase.reason({**group, 'op': '!any-of'}),
        )

    def test_all_parts_are_told_where_all_decide(self):
        self.assertEqual(
            (
                False,
                'condition 1 of 2: eq does not hold (values=[1, 2]); '
                'condition 2 of 2: ne does not hold (values=[3, 3])',
            ),
            phase.reason(
                {
                    'op': 'any-of',
                    'conditions': [eq(1, 2), {'op': 'ne', 'args': [3, 3]}],
                }
            ),
        )

    def test_an_error_names_the_part_and_the_group(self):
        outcome, _roots = phase.run(
            {
                'conditions': [
                    {
                        'op': 'all-of',
                        'conditions': [
                            eq(1, 1),
                            {'op': 'in-net', 'args': ['10.0.0.1', '{item}']},
                        ],
                        'loop': ['x'],
                    }
                ]
            }
        )

        self.assertIn(
            ', all-of: in-net: "x" is not an IP subnet', str(outcome.error)
        )

    def test_parts_cost_as_much_as_conditions(self):
        group = {'op': 'all-of', 'conditions': [eq(1, 1)] * 20}
        few = budget.Limits(operations=45)

        one, _roots = phase.run({'conditions': [group]}, limits=few)
        two, _roots = phase.run({'conditions': [group] * 2}, limits=few)

        self.assertIsNone(one.error)
        self.assertIn('more than 45 operations', str(two.error))


class LoopedTestCase(base.TestCase):
    def check(self, multiple, items, expected, reason):
        self.assertEqual(
            (expected, reason),
            phase.reason(eq('{item}', 1, loop=items, multiple=multiple)),
        )

    def test_each_way_to_join_items(self):
        self.check('any', [0, 1, 2], True, 'item 2 of 3: values=[1, 1]')
        self.check('all', [1, 0, 2], False, 'item 2 of 3: values=[0, 1]')
        self.check('first', [0, 1], False, 'item 1 of 2: values=[0, 1]')
        self.check('last', [0, 1], True, 'item 2 of 2: values=[1, 1]')
        self.check(
            'all',
            [1, 1],
            True,
            'item 1 of 2: values=[1, 1]; item 2 of 2: values=[1, 1]',
        )

    def test_no_more_than_three_items_are_told(self):
        self.check(
            'any',
            [0] * 5,
            False,
            '; '.join(
                [f'item {number} of 5: values=[0, 1]' for number in (1, 2, 3)]
                + ['2 more']
            ),
        )

    def test_without_items_it_is_false(self):
        self.check('all', [], False, 'the loop has no items')
        self.check(
            'any',
            '{plugin_data.gone}',
            False,
            'field {plugin_data.gone} does not exist',
        )

    def test_an_item_is_seen_in_the_parts_of_a_group(self):
        self.assertEqual(
            (True, 'item 2 of 2: condition 1 of 1: eq holds (values=[1, 1])'),
            phase.reason(
                {
                    'op': 'all-of',
                    'loop': '{plugin_data.l}',
                    'conditions': [eq('{item.a}', 1)],
                },
                l=[{'a': 0}, {'a': 1}],
            ),
        )
