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

"""Rules for machines that Ironic inspects through their controller."""

from ironic_inspection_rules.tests.integration import base
from ironic_inspection_rules.tests.integration import bmc
from ironic_inspection_rules.tests.integration.base import action

_HOOKS = {'inspection_hooks': '$default_inspection_hooks,inspection-rules'}


class RedfishTestCase(base.TestCase):
    """A server of its own, behind a controller."""

    def inspect_redfish(self) -> base.Json:
        controller = self.useFixture(bmc.RedfishBmc(base.new_mac()))
        node = self.client.enroll(
            driver='redfish', driver_info=controller.driver_info,
            inspect_interface='redfish', properties={'old': 1, 'kept': 1})
        self.client.call('PUT', f'/v1/nodes/{node}/states/provision',
                         {'target': 'inspect'})
        return self.client.wait_for_state(node, 'manageable',
                                          'inspect failed')


class SupportedTestCase(RedfishTestCase):
    """The redfish inspect interface with the hook switched on for it."""

    overrides = {'inspection_rules': {'supported_interfaces': '.*'},
                 'redfish': _HOOKS}

    def test_changed_properties_survive(self) -> None:
        self.create_rule(
            action('set-attribute', '/properties/site', {'row': 7}),
            action('set-attribute', '/properties/memory_mb', 4096),
            action('del-attribute', '/properties/old'),
            action('set-capability', 'rack', 'A1'),
            action('set-attribute', '/extra/cpus', '{inventory[cpu][count]}'),
            action('add-trait', 'CUSTOM_REDFISH'))
        self.create_rule(
            action('set-attribute', '/properties/early', 1),
            phase='preprocess')
        node = self.inspect_redfish()
        self.assert_inspected(node)
        properties = node['properties']
        self.assertEqual({'row': 7}, properties['site'])
        self.assertEqual(4096, properties['memory_mb'])
        self.assertEqual((1, 1), (properties['early'], properties['kept']))
        self.assertNotIn('old', properties)
        self.assertIn('rack:A1', properties['capabilities'])
        self.assertEqual(464, properties['local_gb'])
        self.assertEqual({'cpus': 8}, node['extra'])
        self.assertEqual(['CUSTOM_REDFISH'], self.client.traits(node['uuid']))

    def test_the_trace_is_stored(self) -> None:
        rule = self.create_rule(action('set-attribute', '/extra/a', 1))
        node = self.inspect_redfish()
        trace = self.client.trace(node['uuid'])
        self.assertEqual([rule['uuid']],
                         [entry['uuid'] for entry in trace['main']])

    def test_a_rule_may_fail_it(self) -> None:
        rule = self.create_rule(action('fail', 'not here'))
        node = self.inspect_redfish()
        self.assert_failed(node, rule['uuid'], 'not here')


class UnsupportedTestCase(RedfishTestCase):
    """The same hook where ``supported_interfaces`` leaves redfish out."""

    overrides = {'redfish': _HOOKS}

    def test_rules_do_not_run(self) -> None:
        self.create_rule(action('fail', 'never'))
        node = self.inspect_redfish()
        self.assert_inspected(node)
        self.assertEqual(464, node['properties']['local_gb'])
