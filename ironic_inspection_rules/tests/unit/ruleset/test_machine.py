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

from ironic_inspection_rules.ruleset import machine
from ironic_inspection_rules.tests.unit import base


class SeenPluginDataTestCase(base.TestCase):

    def test_has_the_address_of_the_controller(self):
        self.assertEqual(
            {'a': 1, 'bmc_address': '192.0.2.1'},
            machine.seen_plugin_data({'bmc_address': '192.0.2.1',
                                      'bmc_v6address': '2001:db8::1'},
                                     {'a': 1}))

    def test_takes_the_one_of_ipv6_where_there_is_no_other(self):
        self.assertEqual(
            {'bmc_address': '2001:db8::1'},
            machine.seen_plugin_data({'bmc_address': '',
                                      'bmc_v6address': '2001:db8::1'}, {}))

    def test_leaves_what_others_have_put_there(self):
        plugin_data = {'bmc_address': 'theirs'}
        self.assertEqual(plugin_data, machine.seen_plugin_data(
            {'bmc_address': '192.0.2.1'}, plugin_data))

    def test_has_none_where_none_was_found(self):
        self.assertEqual({}, machine.seen_plugin_data({}, {}))
