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

"""A field may be found under a second name; the data stay as they are."""

from ironic_inspection_rules.engine import template
from ironic_inspection_rules.legacy import field as json_field
from ironic_inspection_rules.legacy import text as old_text
from ironic_inspection_rules.legacy import view
from ironic_inspection_rules.tests.unit import base

FIELD = '{plugin_data.bmc_address}'


def roots(plugin_data=None, **inventory):
    return {'inventory': inventory, 'plugin_data': plugin_data or {}}


class BMCAddressTestCase(base.TestCase):

    def found(self, data):
        """Return the address as rules of both languages find it."""
        found = template.compile_value(FIELD).render(data)
        found = None if isinstance(found, template.Missing) else found
        old = json_field.compile_field('data://bmc_address')(data)
        self.assertEqual([found] if found else [], old)
        return found

    def test_it_is_found_in_the_inventory(self):
        both = {'bmc_address': '192.0.2.1', 'bmc_v6address': '2001:db8::1'}
        self.assertEqual('192.0.2.1', self.found(roots(**both)))
        self.assertEqual('2001:db8::1', self.found(
            roots(**{**both, 'bmc_address': ''})))
        self.assertEqual('192.0.2.1', old_text.render(
            '{data[bmc_address]}', view.data(roots(**both))))

    def test_what_others_have_put_there_is_first(self):
        self.assertEqual('theirs', self.found(
            roots({'bmc_address': 'theirs'}, bmc_address='192.0.2.1')))

    def test_there_is_none_where_none_was_found(self):
        self.assertIsNone(self.found(roots(bmc_address=None)))
        self.assertIsNone(self.found(roots()))

    def test_the_data_as_a_whole_do_not_have_it(self):
        data = roots({'a': 1}, bmc_address='192.0.2.1')
        self.assertEqual({'a': 1},
                         template.compile_value('{plugin_data}').render(data))
        self.assertEqual(
            "{'inventory': {'bmc_address': '192.0.2.1'}, 'a': 1}",
            old_text.render('{data}', view.data(data)))
