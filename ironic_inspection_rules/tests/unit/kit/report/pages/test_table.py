# SPDX-License-Identifier: Apache-2.0

"""The data of the page of machines beside the rows of a table."""

from ironic_inspection_rules.engine.language import table_form
from ironic_inspection_rules.kit.report.pages import table as table_page
from ironic_inspection_rules.machine import table_comparison
from ironic_inspection_rules.tests import page_samples
from ironic_inspection_rules.tests.unit import base
from ironic_inspection_rules.tests.unit.kit.report.pages import page_data


class TablePageTestCase(base.TestCase):
    def setUp(self):
        super().setUp()
        self.data = page_data.read(page_samples.expected_machines(3))

    def row(self, label):
        [row] = [
            row
            for row in page_data.rows(self.data)
            if page_data.words(row['cells'])[:2] == label
        ]
        return row

    def test_states_are_counted(self):
        self.assertEqual(
            {
                'missing': 1,
                'unexpected': 1,
                'wrong': 1,
                'twice': 2,
                'right': 27,
            },
            page_data.tiles(self.data),
        )

    def test_the_headline_counts_what_is_not_as_expected(self):
        self.assertEqual(
            '5 of 32 rows and machines are not as expected.',
            self.data['headline'],
        )

    def test_what_is_not_as_expected_is_first(self):
        states = [
            page_data.words(row['cells'])[-1]
            for row in page_data.rows(self.data)
        ]
        self.assertEqual(
            ['missing', 'wrong', 'twice', 'twice', 'unexpected', 'right'],
            states[:6],
        )

    def test_a_missing_row_has_no_machine(self):
        row = self.row(['R0-0', ''])
        self.assertEqual(
            ['R0-0', '', 'R0', 'missing'], page_data.words(row['cells'])
        )
        self.assertEqual([], row['opened'])

    def test_a_machine_without_a_key_has_its_name(self):
        row = self.row(['alone', 'alone'])
        self.assertEqual(
            ['alone', 'alone', '', 'unexpected'], page_data.words(row['cells'])
        )

    def test_a_difference_has_both_values(self):
        row = self.row(['R0-1', 'm00001'])
        self.assertEqual(
            [['- memory: 64', '+ memory: 32']],
            page_data.words(row['opened'])[1],
        )

    def test_the_rack_where_most_is_not_as_expected_is_first(self):
        items = list(page_data.parts(self.data, 'item'))
        headings = [page_data.words(item['heading']) for item in items]
        self.assertEqual(
            [
                ['R0', '11 entries'],
                ['No rack', '1 entry'],
                ['R1', '10 entries'],
                ['R2', '10 entries'],
            ],
            headings,
        )
        self.assertIn(['missing', ' R0-0'], page_data.words(items[0]['parts']))

    def test_racks_come_by_their_numbers(self):
        data = page_data.read(page_samples.expected_machines(12))
        names = [
            page_data.words(item['heading'])[0]
            for item in page_data.parts(data, 'item')
        ]
        self.assertEqual(['R1', 'R2'], names[2:4])
        self.assertEqual(['R10', 'R11'], names[-2:])

    def test_the_name_of_a_rack_may_be_a_number_of_any_length(self):
        long_name = '9' * 5000
        row = {'serial': 'A1', 'rack': long_name}
        expected = table_form.read(
            'orders',
            {'key': 'serial', 'of': '{inventory.serial}', 'rows': [row]},
        )
        findings = list(table_comparison.find_states(expected, [], 'rack'))
        data = page_data.read(table_page.render(expected, findings, 'rack'))
        [item] = page_data.parts(data, 'item')
        self.assertEqual(long_name, item['heading'][0])

    def test_the_name_of_a_rack_may_have_digits_of_any_script(self):
        rows = [
            {'serial': 'A1', 'rack': 'R2'},
            {'serial': 'A2', 'rack': '\u0663'},
        ]
        expected = table_form.read(
            'orders',
            {'key': 'serial', 'of': '{inventory.serial}', 'rows': rows},
        )
        findings = list(table_comparison.find_states(expected, [], 'rack'))
        data = page_data.read(table_page.render(expected, findings, 'rack'))
        names = [item['heading'][0] for item in page_data.parts(data, 'item')]
        self.assertEqual(['R2', '\u0663'], names)

    def test_links_of_a_rack_choose_its_rows(self):
        links = [
            item['heading'][1] for item in page_data.parts(self.data, 'item')
        ]
        for link in links:
            mark = f'{link["key"]}={link["value"]}'
            chosen = [
                row
                for row in page_data.rows(self.data)
                if mark in row['marks']
            ]
            self.assertEqual(int(link['text'].split()[0]), len(chosen))

    def test_without_a_column_there_are_no_groups(self):
        expected = table_form.read(
            'orders', {'key': 'serial', 'of': '{inventory.serial}', 'rows': []}
        )
        data = page_data.read(table_page.render(expected, [], None))
        self.assertEqual([], list(page_data.parts(data, 'card')))
        self.assertEqual(
            'None of 0 rows and machines are not as expected.',
            data['headline'],
        )
