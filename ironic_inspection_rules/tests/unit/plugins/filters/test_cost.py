# SPDX-License-Identifier: Apache-2.0

"""What filters make and look at is paid for, before it is made."""

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.language import budget
from ironic_inspection_rules.engine.language import template
from ironic_inspection_rules.tests.unit import base

ITEMS = list(range(400))

TEXT = (
    ("node.a | join('-')", ['x' * 9] * 100),
    ("node.a | join('---------')", ['x'] * 100),
    ("node.a | join('--')", [12345678] * 100),
    ("node.a | replace('x', '1234567890')", 'x' * 100),
    ("node.a | replace('x', 'y')", 'x' * 1000),
    ("node.a | replace('-', '')", 'x' * 1000),
    ("node.a | replace('x', '123', 400)", 'x' * 200 + '-' * 400),
    ("node.a | regex_replace('x', '1234567890')", 'x' * 100),
)
"""Filters that make about 1,000 characters of a value."""

LISTS = (
    ('sort', ITEMS, 208),
    ("select('ge', 0)", ITEMS, 507),
    ("reject('ge', 0)", ITEMS, 407),
    ("map('lower')", 'x' * 4000, 6063),
    ('first', 'x' * 4000, 1063),
    ('last', 'x' * 4000, 1063),
    ("split('-')", '-' * 4000, 2063),
    ('split', 'x ' * 2000, 1063),
    ('keys', dict.fromkeys(map(str, ITEMS)), 107),
    ('values', dict.fromkeys(map(str, ITEMS)), 107),
    ('dict2items', dict.fromkeys(map(str, ITEMS)), 507),
    ('unique', 'x' * 4000, 1063),
    ('join', 'x' * 4000, 1093),
    ('min', 'x' * 4000, 1063),
    ('tier(node.b)', 5, 7),
    ("replace('x', 'y')", 'x' * 65535, 1790),
    ('get(node.long)', {}, 3900),
    ('get(node.b)', {}, 17),
    ('map(attribute=node.long)', [], 15600),
    ('sort(node.names)', [{'a': 1}], 1032),
    (f"replace('x', '{'y' * 500}')", 'x' * 250, 981),
)
"""Filters that look at many items or characters, and about what they pay."""


class CostTestCase(base.TestCase):
    def render(self, field, value, **limits):
        view = budget.View(
            {
                'node': {
                    'a': value,
                    'b': [[each, 'x'] for each in ITEMS],
                    'long': 'y' * 10**6,
                    'names': 'a' + ',a' * 999,
                }
            },
            budget.Budget(budget.Limits(**limits)),
        )
        return template.compile_value(f'{{{field}}}').render(view)

    def test_text_that_is_too_long_is_not_made(self):
        for field, value in TEXT:
            made = self.render(field, value, size=2000)
            self.assertLess(900, len(made), field)
            self.assertRaises(
                exceptions.BudgetExceeded,
                self.render,
                field,
                value,
                size=len(made) - 11,
            )

    def test_what_no_memory_holds_is_not_begun(self):
        text = 'x' * 10**6
        for field in (
            "node.a | replace('x', node.long)",
            "node.a | replace('x', node.long, 999999)",
            "node.a | regex_replace('x', node.long)",
            'node.a | join(node.long)',
        ):
            self.assertRaises(
                exceptions.BudgetExceeded, self.render, field, text
            )
        self.assertRaises(
            exceptions.BudgetExceeded,
            self.render,
            'node.a | join',
            [text] * 10**6,
        )

    def test_each_item_that_is_looked_at_costs(self):
        for name, value, cost in LISTS:
            field = f'node.a | {name}'
            self.render(field, value, operations=cost * 1.15)
            self.assertRaises(
                exceptions.BudgetExceeded,
                self.render,
                field,
                value,
                operations=cost * 0.95,
            )

    def test_the_clock_is_looked_at_before_each_list_and_mapping(self):
        # Short ones may hold all that a machine sent.
        for name, value in (('first', [1]), ('keys', {'a': 1})):
            self.assertRaises(
                exceptions.BudgetExceeded,
                self.render,
                f'node.a | {name}',
                value,
                time=-1,
            )
        self.assertEqual('a', self.render('node.a | lower', 'A', time=-1))

    def test_short_text_costs_no_more_than_a_step(self):
        for field in (
            "node.a | replace('x', '1234567890')",
            "node.a | regex_replace('x', 'y')",
            'node.a | lower',
        ):
            self.assertTrue(
                self.render(field, 'x' * 20, operations=1), repr(field)
            )
