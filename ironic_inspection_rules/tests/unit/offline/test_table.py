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

import io

import fixtures

from ironic_inspection_rules.offline import table
from ironic_inspection_rules.tests.unit import base


class Terminal(io.StringIO):

    def isatty(self):
        return True


class TableTestCase(base.TestCase):

    ROWS = (['a.yaml:1:1', 'error', 'long ' * 40],)

    def render(self, output):
        return table.render(['Place', 'Level', 'Problem'], self.ROWS, output)

    def test_it_is_as_wide_as_it_needs_to_be(self):
        self.assertIn(self.ROWS[0][2].strip(), self.render(io.StringIO()))

    def test_on_a_terminal_it_fits_and_only_wide_columns_are_narrowed(self):
        self.useFixture(fixtures.EnvironmentVariable('COLUMNS', '60'))
        lines = self.render(Terminal()).splitlines()
        self.assertEqual({60}, {len(line) for line in lines})
        self.assertIn('| a.yaml:1:1 | error |', lines[3])

    def test_the_width_can_be_given_as_for_the_openstack_client(self):
        self.useFixture(fixtures.EnvironmentVariable(
            'CLIFF_MAX_TERMINAL_WIDTH', '50'))
        self.assertEqual(50, len(self.render(io.StringIO()).splitlines()[0]))

    def test_colour_is_for_terminals_that_want_it(self):
        self.useFixture(fixtures.EnvironmentVariable('NO_COLOR'))
        self.assertEqual('error', table.coloured('error', io.StringIO()))
        self.assertIn('\033[31m', table.coloured('error', Terminal()))
        self.assertEqual('other', table.coloured('other', Terminal()))
        self.useFixture(fixtures.EnvironmentVariable('NO_COLOR', '1'))
        self.assertEqual('error', table.coloured('error', Terminal()))
