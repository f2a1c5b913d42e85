# SPDX-License-Identifier: Apache-2.0

"""Differences of plugin data, of which checkpoints are made."""

from ironic_inspection_rules.inspection import checkpoint
from ironic_inspection_rules.tests.unit import base


class DifferenceTestCase(base.TestCase):
    def test_applying_a_difference_gives_the_same_data(self):
        before = {'same': [1], 'other': [1], 'type': 1, 'gone': 1}
        after = {'same': [1], 'other': [2], 'type': True, 'new': None}
        changes = checkpoint.difference(before, after)
        self.assertEqual(
            {
                'set': {'other': [2], 'type': True, 'new': None},
                'unset': ['gone'],
            },
            changes,
        )
        checkpoint.apply(changes, before)
        self.assertEqual(after, before)
        self.assertIs(True, before['type'])
