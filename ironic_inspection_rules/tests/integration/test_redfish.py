# SPDX-License-Identifier: Apache-2.0

"""Rules for machines that Ironic inspects through their controller."""

from ironic_inspection_rules.tests.integration import base
from ironic_inspection_rules.tests.integration import bmc
from ironic_inspection_rules.tests.integration.base import action


class DiscoveryTestCase(base.TestCase):
    """A machine that nobody has enrolled, behind a controller."""

    overrides = {
        'auto_discovery': {'enabled': True, 'driver': 'redfish'},
        'inspector': {'require_managed_boot': False},
    }

    def test_it_is_powered_off_with_what_rules_have_set(self) -> None:
        mac = base.new_mac()
        controller = self.useFixture(bmc.RedfishBmc(mac))
        self.create_rule(
            *(
                action('set-attribute', f'/driver_info/{name}', value)
                for name, value in controller.driver_info.items()
            ),
            conditions=[{'op': 'is-true', 'args': ['{node.auto_discovered}']}],
        )

        node = self.client.discover(base.ramdisk_data(mac))

        self.assertIsNone(node['last_error'])
        self.assertEqual(['ForceOff'], controller.resets)
        self.assertEqual(
            ('enroll', 'power off'),
            (node['provision_state'], node['power_state']),
        )
        self.assertEqual(['main'], [*self.client.trace(node['uuid'])])

    def test_the_cause_is_kept_where_it_cannot_be_powered_off(self) -> None:
        node = self.client.discover(base.ramdisk_data(base.new_mac()))
        self.assertIn('redfish_address', node['last_error'])
        self.assertEqual('enroll', node['provision_state'])


class QueuedDiscoveryTestCase(DiscoveryTestCase):
    """The same with durable inspection."""

    overrides = {
        **DiscoveryTestCase.overrides,
        'inspection_queue': {'enabled': True},
    }


class RedfishTestCase(base.TestCase):
    """A server of its own, behind a controller."""

    def inspect_redfish(self) -> base.Json:
        self.mac = base.new_mac()
        controller = self.useFixture(bmc.RedfishBmc(self.mac))
        node = self.client.enroll(
            driver='redfish',
            driver_info=controller.driver_info,
            inspect_interface='redfish',
            properties={'old': 1, 'kept': 1},
        )
        self.client.call(
            'PUT', f'/v1/nodes/{node}/states/provision', {'target': 'inspect'}
        )
        return self.client.wait_for_state(node, 'manageable', 'inspect failed')


class OutOfBandTestCase(RedfishTestCase):
    """Rules where nothing but the plugin is switched on."""

    def test_changed_properties_survive(self) -> None:
        self.create_rule(
            action('set-attribute', '/properties/site', {'row': 7}),
            action('set-attribute', '/properties/memory_mb', 4096),
            action('del-attribute', '/properties/old'),
            action('set-capability', 'rack', 'A1'),
            action('set-attribute', '/extra/cpus', '{inventory[cpu][count]}'),
            action('add-trait', 'CUSTOM_REDFISH'),
        )
        node = self.inspect_redfish()
        self.assert_inspected(node)
        properties = node['properties']
        self.assertEqual({'row': 7}, properties['site'])
        self.assertEqual(4096, properties['memory_mb'])
        self.assertEqual(1, properties['kept'])
        self.assertNotIn('old', properties)
        self.assertIn('rack:A1', properties['capabilities'])
        self.assertEqual(464, properties['local_gb'])
        self.assertEqual({'cpus': 8}, node['extra'])
        self.assertEqual(['CUSTOM_REDFISH'], self.client.traits(node['uuid']))

    def test_properties_that_were_replaced_do_not_come_back(self) -> None:
        properties = {'memory_mb': 1, 'cpu_arch': 'x86_64', 'local_gb': 2}
        self.create_rule(action('set-attribute', '/properties', properties))
        node = self.inspect_redfish()
        self.assert_inspected(node)
        self.assertEqual(properties, node['properties'])

    def test_rules_see_and_change_the_ports_that_were_found(self) -> None:
        self.create_rule(
            action(
                'set-port-attribute',
                '{item[address]}',
                '/extra/seen',
                True,
                loop='{ports}',
            )
        )
        node = self.inspect_redfish()
        self.assert_inspected(node)
        (port,) = self.client.call(
            'GET', f'/v1/ports/detail?node={node["uuid"]}'
        )['ports']
        self.assertEqual(
            (self.mac, {'seen': True}), (port['address'], port['extra'])
        )

    def test_the_trace_is_stored(self) -> None:
        rule = self.create_rule(action('set-attribute', '/extra/a', 1))
        node = self.inspect_redfish()
        trace = self.client.trace(node['uuid'])
        self.assertEqual(
            [rule['uuid']], [entry['uuid'] for entry in trace['main']]
        )

    def test_a_rule_may_fail_it(self) -> None:
        rule = self.create_rule(
            action('set-attribute', '/extra/a', 1), action('fail', 'not here')
        )
        node = self.inspect_redfish()
        self.assert_failed(node, rule['uuid'], 'not here')
        self.assertEqual({'a': 1}, node['extra'])


class PreprocessTestCase(RedfishTestCase):
    """The hook in the list of redfish too, and not the last one there."""

    overrides = {
        'redfish': {
            'inspection_hooks': 'inspection-rules,$default_inspection_hooks'
        }
    }

    def test_both_phases_run(self) -> None:
        self.create_rule(
            action('set-attribute', '/properties/early', 1),
            action('set-attribute', '/properties/memory_mb', 4096),
            phase='preprocess',
        )
        self.create_rule(
            action('set-attribute', '/extra/seen', '{node.properties}'),
            action('set-attribute', '/properties/late', '{ports[0].address}'),
        )
        node = self.inspect_redfish()
        self.assert_inspected(node)
        properties = node['properties']
        self.assertEqual(self.mac, properties.pop('late'))
        self.assertEqual({'seen': properties}, node['extra'])
        # Some releases of Ironic add it.
        properties.pop('vendor', None)
        self.assertEqual(
            {
                'early': 1,
                'kept': 1,
                'old': 1,
                'memory_mb': 4096,
                'local_gb': 464,
                'cpu_arch': 'x86_64',
                'capabilities': 'boot_mode:uefi',
            },
            properties,
        )


class PreprocessLastTestCase(RedfishTestCase):
    """The hook as the last one in the list of redfish."""

    overrides = {
        'redfish': {
            'inspection_hooks': '$default_inspection_hooks,inspection-rules'
        }
    }

    def test_what_was_found_stays(self) -> None:
        self.create_rule(
            action('set-attribute', '/extra/vendor', 'Example'),
            phase='preprocess',
        )
        node = self.inspect_redfish()
        self.assert_inspected(node)
        self.assertEqual({'vendor': 'Example'}, node['extra'])
        self.assertEqual(16384, node['properties']['memory_mb'])
        self.assertEqual(464, node['properties']['local_gb'])


class UnsupportedTestCase(RedfishTestCase):
    """``supported_interfaces`` leaves redfish out."""

    overrides = {'inspection_rules': {'supported_interfaces': '^agent$'}}

    def test_rules_do_not_run(self) -> None:
        self.create_rule(action('fail', 'never'))
        node = self.inspect_redfish()
        self.assert_inspected(node)
        self.assertEqual(464, node['properties']['local_gb'])
