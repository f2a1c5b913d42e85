# SPDX-License-Identifier: Apache-2.0

"""The data of the page of what a change of rules changes."""

from ironic_inspection_rules.kit.report.pages import diff
from ironic_inspection_rules.kit.report.pages import shell
from ironic_inspection_rules.tests.unit import base
from ironic_inspection_rules.tests.unit.kit.report.pages import page_data

LINES = ['@@ -1 +1 @@', '-result: ok', '+result: failed']
RULE = {
    'title': 'Set the class',
    'change': 'changed',
    'lines': ['-priority: 1', '+priority: 2'],
}


def machine(name: str, **fields: object) -> dict[str, object]:
    return {
        'name': name,
        'differs': True,
        'lines': LINES,
        'old': 'ok',
        'new': 'failed',
        **fields,
    }


SAMPLE = {
    'old': ['old.yaml'],
    'new': ['new.yaml'],
    'rules': [RULE],
    'machines': [
        machine('a'),
        machine('b'),
        machine('c', differs=False, lines=[], new='ok'),
    ],
}


class DiffPageTestCase(base.TestCase):
    def test_the_title_has_the_files_and_the_date(self):
        self.patch(shell, 'format_now', lambda: '2026-11-22 04:00')
        page = diff.render(
            {
                'old': ['a/old'],
                'new': list('bcdef'),
                'rules': [],
                'machines': [],
            }
        )
        self.assertIn('<title>old → b, c, d, 2 more, 2026-11-22 04:00<', page)

    def test_machines_have_their_results_and_what_differs(self):
        data = page_data.read(diff.render(SAMPLE))
        rows = page_data.rows(data)
        self.assertEqual(
            [
                ['a', 'ok → failed', 'differently'],
                ['b', 'ok → failed', 'differently'],
                ['c', 'ok', 'as before'],
            ],
            [page_data.words(row['cells']) for row in rows],
        )
        self.assertEqual(
            [['show=differing', 'difference=1', 'show=worse']] * 2 + [[]],
            [row['marks'] for row in rows],
        )
        self.assertEqual(
            [{'kind': 'lines', 'lines': LINES}], rows[0]['opened']
        )

    def test_equal_differences_are_there_once(self):
        data = page_data.read(
            diff.render(
                {**SAMPLE, 'machines': [machine(f'm{at}') for at in range(9)]}
            )
        )
        (table,) = page_data.parts(data, 'pagetable')
        self.assertEqual([0] * 9, table['opened']['places'])
        (card,) = (
            card
            for card in page_data.parts(data, 'card')
            if card['id'] == 'differences'
        )
        [item] = page_data.parts(card, 'item')
        self.assertEqual(
            ['9 machines', 'ok → failed'], page_data.words(item['heading'])
        )

    def test_rules_have_their_changes(self):
        data = page_data.read(diff.render(SAMPLE))
        [item, _group] = page_data.parts(data, 'item')
        self.assertEqual(
            ['Changed', 'Set the class'], page_data.words(item['heading'])
        )
        self.assertEqual(
            [{'kind': 'lines', 'lines': RULE['lines']}], item['parts']
        )

    def test_tiles_count_rules_and_machines(self):
        tiles = page_data.tiles(page_data.read(diff.render(SAMPLE)))
        self.assertEqual(
            (1, 0, 2, 2),
            (
                tiles['rules changed'],
                tiles['rules added'],
                tiles['machines differ'],
                tiles['no longer succeed'],
            ),
        )

    def test_without_machines_there_are_only_rules(self):
        data = page_data.read(diff.render({**SAMPLE, 'machines': []}))
        self.assertEqual(
            ['rules'], [card['id'] for card in page_data.parts(data, 'card')]
        )
        self.assertEqual('1 rule differs.', data['headline'])
