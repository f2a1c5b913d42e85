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

"""What a conductor says of phases that do not run."""

from ironic.conf import CONF

from ironic_inspection_rules import conf
from ironic_inspection_rules.inspection import coverage
from ironic_inspection_rules.tests.unit import base


class GapsTestCase(base.IronicTestCase):

    def setUp(self):
        super().setUp()
        conf.register_opts(CONF)
        self.enable('agent', 'redfish', 'idrac-redfish', 'no-inspect')
        self.config(group='inspector', hooks='ports,inspection-rules')
        self.config(group='redfish', inspection_hooks='inspection-rules')

    def enable(self, *names):
        self.config(enabled_inspect_interfaces=list(names))

    def gaps(self):
        return coverage.gaps('inspection-rules')

    def test_nothing_is_said_where_all_phases_run(self):
        self.assertIsNone(self.gaps())

    def test_a_list_of_hooks_without_ours(self):
        self.config(group='redfish', inspection_hooks='ports')

        said = self.gaps()
        for part in ('redfish: no rules of the phase preprocess',
                     'idrac-redfish: no rules', '[redfish]inspection_hooks'):
            self.assertIn(part, said)
        self.assertNotIn('agent', said)

    def test_hooks_after_ours(self):
        self.config(group='inspector', hooks='inspection-rules, ports,raid')

        said = self.gaps()
        self.assertIn('agent: ', said)
        self.assertIn('ports, raid', said)

    def test_an_interface_that_runs_none(self):
        self.enable('fake')
        self.assertIsNone(self.gaps())

        self.config(group='inspection_rules', supported_interfaces='.*')
        self.assertIn('fake: no rules run', self.gaps())
