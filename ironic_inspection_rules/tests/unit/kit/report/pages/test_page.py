# SPDX-License-Identifier: Apache-2.0

"""What the description of a page becomes."""

from ironic_inspection_rules.kit.report.pages import page
from ironic_inspection_rules.tests import page_example
from ironic_inspection_rules.tests.unit import base
from ironic_inspection_rules.tests.unit.kit.report.pages import page_data

HOSTILE = '</script><img src=x onerror=alert(1)>'


def described(*parts):
    text = page.render(page.HtmlPage('Title', 'Headline', 'About', parts))
    return page_data.read(text)


def table(rows):
    columns = (page.PageColumn('Machine'), page.PageColumn('Result'))
    return page.PageTable(
        'machines', ('machine', 'machines'), columns, tuple(rows)
    )


class PageTestCase(base.TestCase):
    def test_parts_say_their_kind(self):
        self.assertEqual(
            [
                {'kind': 'note', 'text': 'No', 'look': 'bad'},
                'Text',
                ['one', {'kind': 'words', 'text': 'two', 'look': 'soft'}],
                None,
            ],
            described(
                page.Note('No', 'bad'),
                'Text',
                ('one', page.Words('two')),
                None,
            )['parts'],
        )

    def test_what_machines_send_ends_no_script(self):
        rows = [
            page.PageRow(
                (HOSTILE, page.Tag(HOSTILE)),
                (HOSTILE,),
                (page.Lines((HOSTILE,)),),
            )
        ]
        text = page.render(
            page.HtmlPage(HOSTILE, HOSTILE, HOSTILE, (table(rows),))
        )
        self.assertNotIn('<img', text)
        self.assertEqual(2, text.count('</script>'))
        self.assertEqual(
            [HOSTILE, HOSTILE],
            page_data.words(page_data.rows(page_data.read(text))[0]['cells']),
        )

    def test_equal_values_of_a_column_are_there_once(self):
        rows = [
            page.PageRow((f'm{number}', page.Tag('ok', 'good')), ('a=b',))
            for number in range(100)
        ]
        data = described(table(rows))
        [name, result] = data['parts'][0]['cells']
        self.assertEqual(
            {'values': [f'm{number}' for number in range(100)]}, name
        )
        self.assertEqual(
            {
                'values': [{'kind': 'tag', 'text': 'ok', 'look': 'good'}],
                'places': [0] * 100,
            },
            result,
        )
        self.assertEqual(
            ['m7', 'ok'], page_data.words(page_data.rows(data)[7]['cells'])
        )

    def test_ten_thousand_rows_are_small(self):
        text = page_example.sample(10000)
        self.assertLess(len(text), 500_000)
        self.assertLess(len(page_example.sample(0)), 100_000)

    def test_the_most_frequent_are_first(self):
        self.assertEqual(
            [[1, 3, 4], [0], [2]], page.group_equal(['a', 'b', 'c', 'b', 'b'])
        )

    def test_one_is_not_many(self):
        self.assertEqual(
            ['0 disks', '1 disk', '1,200 disks'],
            [
                page.with_noun(number, 'disk', 'disks')
                for number in (0, 1, 1200)
            ],
        )
