# SPDX-License-Identifier: Apache-2.0

"""The data of the page of inspections that were decided again."""

from ironic_inspection_rules.kit.report.pages import replay
from ironic_inspection_rules.kit.report.pages import shell
from ironic_inspection_rules.tests import page_samples
from ironic_inspection_rules.tests.unit import base
from ironic_inspection_rules.tests.unit.kit.report.pages import page_data


class ReplayTestCase(base.TestCase):

    def setUp(self):
        super().setUp()
        self.patch(shell, 'now', lambda: '2026-11-22 04:00')
        found = page_samples.replay(30)
        self.page = replay.render('new.yaml', found, {'a': 'Note the rack'})
        self.data = page_data.read(self.page)

    def detail(self, run):
        reason, error, lines, lost, gained = self.data['details'][run[-1]]
        return {'reason': reason, 'error': error, 'lost': lost,
                'gained': gained, 'lines': self.data['lines'][lines]}

    def test_the_title_has_the_rules_and_the_date(self):
        self.assertIn('<title>new.yaml, 2026-11-22 04:00<', self.page)

    def test_all_are_counted(self):
        self.assertEqual((970, 29, 4, 1), tuple(
            self.data[name] for name in (
                'same', 'different', 'incomparable', 'error')))
        self.assertEqual([['rules are gone', 4]], self.data['reasons'])

    def test_an_inspection_has_what_ends_otherwise(self):
        first = self.data['runs'][0]
        self.assertEqual(['r0', '2026-01-02 03:04:00', 'different', 'ok',
                          'failed'], first[:-1])
        self.assertEqual({
            'reason': None, 'error': 'too small', 'gained': ['b'],
            'lost': ['Note the rack'], 'lines': [
                'node', '- /extra/cpus: 4', '+ /extra/size: 0', 'traits',
                '+ CUSTOM_BIG']}, self.detail(first))

    def test_an_error_that_was_there_then_is_not_told(self):
        self.assertIsNone(self.detail(self.data['runs'][1])['error'])

    def test_one_that_cannot_be_decided_has_the_reason(self):
        last = self.data['runs'][-1]
        self.assertEqual(['r29', '', 'error', None, None], last[:-1])
        self.assertEqual('not found', self.detail(last)['reason'])

    def test_equal_details_are_kept_once(self):
        self.assertLess(len(self.data['details']), 10)
