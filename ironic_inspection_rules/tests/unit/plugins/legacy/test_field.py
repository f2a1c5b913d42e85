# SPDX-License-Identifier: Apache-2.0

"""Fields of old rules find what they found in ironic-inspector."""

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.language import budget
from ironic_inspection_rules.plugins.legacy import field
from ironic_inspection_rules.tests.unit import base

DATA = {
    'memory_mb': 4096,
    'serial': 'S1',
    'load': 0.5,
    'none': None,
    'names': ['eth0', 'eth1'],
    'vendor': {'a-b': {'c.d': 1, 'x': {'y': 'deep'}}, 'x[*]y': 5},
}
ROOTS = {
    'plugin_data': DATA,
    'inventory': {
        'disks': [{'size': 10}, {'size': 20, 'wwn': 'w'}],
        'boot': {'size': 30},
    },
    'node': {'extra': {'system_vendor': {'product_name': 'R640'}}},
}


class FieldTestCase(base.TestCase):
    def found(self, text):
        return field.compile_field(text)(budget.View(ROOTS))

    def check(self, cases):
        self.assertEqual(cases, {text: self.found(text) for text in cases})

    def test_schemes_choose_the_data_or_the_node(self):
        self.check(
            {
                'memory_mb': [4096],
                'data://memory_mb': [4096],
                'data://inventory.boot.size': [30],
                'node://extra.system_vendor.product_name': ['R640'],
                'node://extra[system_vendor][product_name]': ['R640'],
                'node://memory_mb': [],
            }
        )
        self.assertRaisesRegex(
            exceptions.OperationError,
            'scheme',
            field.compile_field,
            'file://etc',
        )

    def test_paths_whose_tree_would_be_too_deep_are_refused(self):
        for path in (
            'a|' * 500 + 'a',
            'a.' * 3000 + 'a',
            '(' * 500,
            'a[' * 500,
            'a where ' * 500 + 'a',
            'a & ' * 500 + 'a',
            'a,' * 500 + 'a',
        ):
            self.assertRaisesRegex(
                exceptions.OperationError, 'steps', field.compile_field, path
            )

    def test_names_may_be_quoted_and_have_dashes(self):
        self.check(
            {
                "vendor.'a-b'.'c.d'": [1],
                'vendor["a-b"].x.y': ['deep'],
                'vendor.a-b.x.y': ['deep'],
                "vendor.'x[*]y'": [5],
            }
        )

    def test_items_and_slices(self):
        self.check(
            {
                'inventory.disks[1].size': [20],
                'inventory.disks[-1].size': [20],
                'inventory.disks[2].size': [],
                'inventory.disks[*].size': [10, 20],
                'inventory.disks[ * ].wwn': ['w'],
                'names[1:]': ['eth1'],
            }
        )

    def test_any_item_of_no_list_is_the_value_itself(self):
        self.check(
            {
                'inventory.boot[*].size': [30],
                'memory_mb[*]': [4096],
                'serial[*]': ['S1'],
            }
        )

    def test_star_is_for_the_members_of_mappings(self):
        self.check(
            {
                'vendor.*.x.y': ['deep'],
                'inventory.disks.*': [],
                'inventory.disks[*].*': [10, 20, 'w'],
            }
        )

    def test_descendants_come_in_the_order_of_the_document(self):
        self.check({'inventory..size': [10, 20, 30], '$..wwn': ['w']})

    def test_descendants_are_paid_for(self):
        roots = {**ROOTS, 'inventory': {'disks': [{}] * 200}}
        find = field.compile_field('inventory..size')
        self.assertRaises(
            exceptions.BudgetExceeded,
            find,
            budget.View(roots, budget.Budget(budget.Limits(operations=100))),
        )

    def test_unions_conditions_and_parents(self):
        self.check(
            {
                '(serial|memory_mb)': ['S1', 4096],
                'serial,memory_mb': ['S1', 4096],
                'inventory.disks[*] where wwn': [{'size': 20, 'wwn': 'w'}],
                'inventory.boot.size.`parent`': [{'size': 30}],
                'inventory.`this`.boot.size': [30],
            }
        )

    def test_the_root_is_the_document(self):
        self.check(
            {
                '$.memory_mb': [4096],
                '$': [{'inventory': ROOTS['inventory'], **DATA}],
                'inventory.$.memory_mb': [4096],
            }
        )

    def test_a_step_into_a_plain_value_finds_nothing(self):
        self.check(
            {'serial.x': [], 'none.x': [], 'names.x': [], 'no.such.thing': []}
        )

    def test_an_item_of_a_plain_value_is_an_error(self):
        for text in (
            'memory_mb[0]',
            'none[0]',
            'inventory[0]',
            'none[*]',
            'load[*]',
            'names[-3]',
        ):
            self.assertRaises(exceptions.OperationError, self.found, text)

    def test_what_is_no_path_is_refused(self):
        for text in ('', 'a b', 'disks[', 'a.', 'a[?(@.x)]', '`foo`'):
            self.assertRaisesRegex(
                exceptions.OperationError,
                'is not a JSON path',
                field.compile_field,
                text,
            )
