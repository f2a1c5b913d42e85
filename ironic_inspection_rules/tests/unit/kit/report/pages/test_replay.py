# SPDX-License-Identifier: Apache-2.0

"""The data of the page of inspections that were replayed."""

from ironic_inspection_rules.kit.report.pages import replay
from ironic_inspection_rules.kit.report.pages import shell
from ironic_inspection_rules.tests import page_samples
from ironic_inspection_rules.tests.unit import base
from ironic_inspection_rules.tests.unit.kit.report.pages import page_data


class ReplayTestCase(base.TestCase):
    def setUp(self):
        super().setUp()
        self.patch(shell, 'format_now', lambda: '2026-11-22 04:00')
        found = page_samples.replay(30)
        self.page = replay.render('new.yaml', found, {'a': 'Note the rack'})
        self.data = page_data.read(self.page)

    def test_the_title_has_the_rules_and_the_date(self):
        self.assertIn('<title>new.yaml, 2026-11-22 04:00<', self.page)

    def test_all_are_counted(self):
        self.assertEqual(
            (970, 29, 15, 4, 1), tuple(page_data.tiles(self.data).values())
        )
        (card,) = (
            card
            for card in page_data.parts(self.data, 'card')
            if card['id'] == 'reasons'
        )
        self.assertEqual(['4: rules are gone'], card['parts'])

    def test_an_inspection_has_what_ends_otherwise(self):
        first = page_data.rows(self.data)[0]
        self.assertEqual(
            ['r0', '2026-01-02 03:04:00', 'ok → failed'],
            page_data.words(first['cells']),
        )
        self.assertEqual(
            ['show=different', 'show=worse', 'difference=1'], first['marks']
        )
        self.assertEqual(
            [
                'too small',
                [
                    [
                        'node',
                        '- /extra/cpus: 4',
                        '+ /extra/size: 0',
                        'traits',
                        '+ CUSTOM_BIG',
                    ]
                ],
                ['Matched then, not now', ['Note the rack']],
                ['Matches now, not then', ['b']],
            ],
            page_data.words(first['opened']),
        )

    def test_an_error_that_was_there_then_is_not_told(self):
        second = page_data.rows(self.data)[1]
        self.assertEqual([], list(page_data.parts(second['opened'], 'note')))

    def test_one_that_cannot_be_decided_has_the_reason(self):
        last = page_data.rows(self.data)[-1]
        self.assertEqual(
            ['r29', '', 'not decided'], page_data.words(last['cells'])
        )
        self.assertEqual(['not found'], page_data.words(last['opened']))

    def test_what_became_worse_is_first(self):
        headings = [
            page_data.words(item['heading'])
            for item in page_data.parts(self.data, 'item')
        ]
        self.assertEqual([['5 inspections', 'ok → failed']] * 3, headings[:3])
        self.assertNotIn(['5 inspections', 'ok → failed'], headings[3:])

    def test_equal_details_are_kept_once(self):
        (table,) = page_data.parts(self.data, 'pagetable')
        self.assertLess(len(table['opened']['values']), 10)
