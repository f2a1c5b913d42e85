# SPDX-License-Identifier: Apache-2.0

"""The data of the page of what a change of rules changes."""

from ironic_inspection_rules.kit.report.pages import diff
from ironic_inspection_rules.kit.report.pages import shell
from ironic_inspection_rules.tests.unit import base
from ironic_inspection_rules.tests.unit.kit.report.pages import page_data

LINES = ['@@ -1 +1 @@', '-result: ok', '+result: failed']
RULE = {'title': 'Set the class', 'change': 'changed',
        'lines': ['-priority: 1', '+priority: 2']}


def machine(name: str, **fields: object) -> dict[str, object]:
    return {'name': name, 'differs': True, 'lines': LINES, 'old': 'ok',
            'new': 'failed', **fields}


class DiffPageTestCase(base.TestCase):

    def test_the_title_has_the_files_and_the_date(self):
        self.patch(shell, 'now', lambda: '2026-11-22 04:00')
        page = diff.render({'old': ['a/old'], 'new': list('bcdef'),
                            'rules': [], 'machines': []})
        self.assertIn('<title>old → b, c, d, 2 more, 2026-11-22 04:00<',
                      page)

    def test_equal_differences_are_there_once(self):
        data = page_data.read(diff.render({
            'old': ['old.yaml'], 'new': ['new.yaml'], 'rules': [RULE],
            'machines': [
                machine('a'), machine('b'),
                machine('c', differs=False, lines=[], new='ok')]}))
        self.assertEqual([RULE], data['rules'])
        self.assertEqual([LINES, []], data['lines'])
        self.assertEqual([['a', True, 0, 'ok', 'failed'],
                          ['b', True, 0, 'ok', 'failed'],
                          ['c', False, 1, 'ok', 'ok']], data['machines'])
