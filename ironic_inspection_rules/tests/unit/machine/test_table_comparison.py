# SPDX-License-Identifier: Apache-2.0

"""Machines beside the rows of a table."""

from ironic_inspection_rules.engine.language import budget
from ironic_inspection_rules.engine.language import table_form
from ironic_inspection_rules.machine import table_comparison
from ironic_inspection_rules.tests.unit import base

ENTRY = {
    'key': '{serial | upper}',
    'of': '{inventory.serial | upper}',
    'secret': ['pin'],
    'expect': {
        'cpus': '{inventory.cpus}',
        'rack': '{inventory.rack}',
        'pin': '{inventory.pin}',
        'ram': '{inventory.ram | add(1)}',
    },
    'rows': [
        {'serial': 'a1', 'cpus': '64', 'rack': 'R1', 'pin': '1234', 'ram': 2},
        {'serial': 'a2', 'cpus': 64, 'rack': '', 'pin': None},
        {'serial': 'na', 'cpus': 1},
    ],
}

RIGHT = {'serial': 'A1', 'cpus': 64, 'rack': 'R1', 'pin': '1234', 'ram': 1}


class ComparisonTestCase(base.TestCase):
    def compare(self, *inventories, by=None):
        expected = table_form.read('m', ENTRY)
        seen = [
            table_comparison.compare(
                expected,
                f'n{number}',
                budget.View({'inventory': inventory}),
                by,
            )
            for number, inventory in enumerate(inventories)
        ]
        return list(table_comparison.find_states(expected, seen, by))

    def states(self, *inventories):
        return [
            (each.key, each.machine, each.state)
            for each in self.compare(*inventories)
        ]

    def test_rows_come_in_their_order_then_machines_of_no_row(self):
        self.assertEqual(
            [
                ('A1', None, 'missing'),
                ('A2', 'n1', 'right'),
                ('NA', None, 'missing'),
                ('B7', 'n0', 'unexpected'),
            ],
            self.states({'serial': 'B7'}, {'serial': 'a2', 'cpus': 64}),
        )

    def test_text_that_reads_as_a_number_is_that_number(self):
        self.assertEqual(('A1', 'n0', 'right'), self.states(RIGHT)[0])

    def test_what_differs_is_told_by_column(self):
        found = self.compare({**RIGHT, 'cpus': 32, 'rack': None})[0]
        self.assertEqual(
            {
                'key': 'A1',
                'node': 'n0',
                'state': 'wrong',
                'differences': [
                    {'column': 'cpus', 'expected': '64', 'found': 32},
                    {'column': 'rack', 'expected': 'R1', 'found': None},
                ],
            },
            found.as_dict(),
        )

    def test_empty_cell_expects_nothing(self):
        self.assertIn(
            ('A2', 'n0', 'right'),
            self.states(
                {'serial': 'A2', 'cpus': 64, 'rack': 'R9', 'pin': '1'}
            ),
        )

    def test_secret_column_is_compared_and_not_told(self):
        found = self.compare({**RIGHT, 'pin': '4321'})[0]
        self.assertEqual('wrong', found.state)
        self.assertEqual(
            [{'column': 'pin', 'expected': '******', 'found': '******'}],
            found.as_dict()['differences'],
        )
        found = self.compare({**RIGHT, 'pin': None})[0]
        self.assertIsNone(found.differences[0].found)

    def test_what_cannot_be_computed_is_not_there(self):
        found = self.compare({**RIGHT, 'ram': 'much'})[0]
        self.assertEqual(
            [{'column': 'ram', 'expected': 2, 'found': None}],
            found.as_dict()['differences'],
        )

    def test_two_machines_of_one_key_are_both_told(self):
        self.assertEqual(
            [('A1', 'n0', 'twice'), ('A1', 'n1', 'twice')],
            self.states(RIGHT, {**RIGHT, 'cpus': 1})[:2],
        )
        self.assertEqual(
            [('B7', 'n0', 'twice'), ('B7', 'n1', 'twice')],
            self.states({'serial': 'B7'}, {'serial': 'b7'})[3:],
        )

    def test_placeholder_is_no_identity_of_a_row(self):
        for serial in (
            'NA',
            'To be filled by O.E.M.',
            '',
            None,
            [],
            '0000',
            'Default string',
        ):
            self.assertEqual(
                [('NA', None, 'missing'), (None, 'n0', 'unexpected')],
                self.states({'serial': serial})[2:],
                serial,
            )
        self.assertEqual((None, 'n0', 'unexpected'), self.states({})[3])

    def test_machines_without_identity_have_one_key(self):
        self.assertEqual(
            [(None, 'n0', 'twice'), (None, 'n1', 'twice')],
            self.states({'serial': 'NA'}, {})[3:],
        )

    def test_groups_are_of_the_row_or_of_what_was_found(self):
        found = self.compare(
            {**RIGHT, 'rack': 'R8'}, {'serial': 'B7', 'rack': 'R9'}, by='rack'
        )
        self.assertEqual(
            ['R1', None, None, 'R9'], [each.group for each in found]
        )
