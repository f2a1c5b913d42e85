# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

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
