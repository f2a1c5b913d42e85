# SPDX-License-Identifier: Apache-2.0

"""What is printed of rules that are tried on one node."""

from ironic_inspection_rules.osc import inspection_rule
from ironic_inspection_rules.tests.unit import base


class TablesTestCase(base.TestCase):

    def test_no_change_is_said_in_words(self):
        change = {'object': 'node', 'op': 'add', 'path': '/extra/a',
                  'value': 1}
        for changes, said in (([], True), ([change], False)):
            text = inspection_rule._as_tables(
                {'rules': [], 'changes': changes, 'error': None})
            self.assertIs(said, 'nothing would change' in text)
            self.assertIs(not said, '/extra/a' in text)
