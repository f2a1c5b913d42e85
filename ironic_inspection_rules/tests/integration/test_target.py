# SPDX-License-Identifier: Apache-2.0

"""What rules may change on nodes, ports and traits."""

import shutil

from ironic_inspection_rules.tests.integration import base
from ironic_inspection_rules.tests.integration.base import action


class NodeTestCase(base.TestCase):
    """Attributes of the node."""

    def test_attributes_are_set_extended_and_deleted(self) -> None:
        self.create_rule(
            action('set-attribute', '/resource_class', 'small'),
            action('set-attribute', '/properties/a/b/c', [1]),
            action('set-attribute', '/properties/a~1b', 'slash'),
            action('extend-attribute', '/properties/a/b/c', 2),
            action(
                'extend-attribute',
                path='properties/a/b/c',
                value=1,
                unique=True,
            ),
            action('extend-attribute', 'extra.list', 'first'),
            action('del-attribute', '/extra/old'),
            action('del-attribute', '/extra/never/there'),
            action('set-attribute', '/description', None),
        )
        node = self.inspect(extra={'old': 1, 'kept': 1}, description='to go')
        self.assert_inspected(node)
        self.assertEqual('small', node['resource_class'])
        self.assertIsNone(node['description'])
        self.assertEqual({'list': ['first'], 'kept': 1}, node['extra'])
        self.assertEqual({'b': {'c': [1, 2]}}, node['properties']['a'])
        self.assertEqual('slash', node['properties']['a/b'])

    def test_capabilities_are_replaced_not_doubled(self) -> None:
        self.create_rule(
            action('set-capability', 'boot_mode', 'uefi'),
            action('set-capability', 'cpu_vt', 'true'),
            action('unset-capability', 'old'),
        )
        node = self.inspect(
            properties={'capabilities': 'boot_mode:bios,old:1,kept:yes'}
        )
        self.assertEqual(
            {'boot_mode:uefi', 'cpu_vt:true', 'kept:yes'},
            set(node['properties']['capabilities'].split(',')),
        )
        self.assertEqual(3, len(node['properties']['capabilities'].split(',')))

    def test_another_driver_leaves_valid_interfaces(self) -> None:
        if not shutil.which('ipmitool'):
            self.skipTest('no ipmitool here')
        self.create_rule(action('set-attribute', '/driver', 'ipmi'))
        node = self.inspect()
        self.assert_inspected(node)
        self.assertEqual('ipmi', node['driver'])
        self.assertEqual('agent', node['inspect_interface'])
        self.assertEqual('ipmitool', node['power_interface'])
        self.client.call(
            'PATCH',
            f'/v1/nodes/{node["uuid"]}',
            [{'op': 'add', 'path': '/extra/a', 'value': 1}],
        )

    def test_an_unknown_driver_fails_and_changes_nothing(self) -> None:
        rule = self.create_rule(
            action('set-attribute', '/extra/a', 1),
            action('set-attribute', '/driver', 'nothing'),
        )
        node = self.inspect()
        self.assert_failed(node, rule['uuid'], 'set-attribute')
        self.assertEqual(
            ('fake-hardware', {}), (node['driver'], node['extra'])
        )


class PortTestCase(base.TestCase):
    """Attributes of ports."""

    def test_ports_are_found_by_mac_in_any_case_and_by_uuid(self) -> None:
        macs = [base.new_mac(), base.new_mac()]
        data = base.ramdisk_data(*macs)
        node = self.client.enroll(macs)
        self.create_rule(
            action('set-port-attribute', macs[0].upper(), '/extra/a', 1),
            action('extend-port-attribute', macs[0], '/extra/list', 'x'),
            action(
                'set-port-attribute',
                port_id='{ports[1].uuid}',
                path='/physical_network',
                value='net-{ports[1].address}',
            ),
            action('del-port-attribute', macs[0], '/extra/never'),
        )
        self.assert_inspected(self.client.inspect(node, data))
        self.assertEqual(
            {'a': 1, 'list': ['x']}, self.client.port(macs[0])['extra']
        )
        changed = [
            port
            for port in map(self.client.port, macs)
            if port['physical_network']
        ]
        self.assertEqual(
            [f'net-{port["address"]}' for port in changed],
            [port['physical_network'] for port in changed],
        )
        self.assertEqual(1, len(changed))

    def test_ports_made_by_this_inspection_are_there(self) -> None:
        mac = base.new_mac()
        self.create_rule(
            action(
                'set-port-attribute',
                '{item[mac_address]}',
                '/extra/name',
                '{item[name]}',
                loop='{inventory[interfaces]}',
            )
        )
        node = self.client.enroll()
        self.assert_inspected(
            self.client.inspect(node, base.ramdisk_data(mac))
        )
        self.assertEqual({'name': 'eth0'}, self.client.port(mac)['extra'])

    def test_an_unknown_port_fails(self) -> None:
        rule = self.create_rule(
            action('set-port-attribute', base.new_mac(), '/extra/a', 1)
        )
        self.assert_failed(self.inspect(), rule['uuid'], 'set-port-attribute')


class TraitTestCase(base.TestCase):
    """The node's traits."""

    def test_traits_are_added_removed_and_replaced_by_prefix(self) -> None:
        self.create_rule(
            action('add-trait', 'HW_CPU_X86_VMX'),
            action('add-trait', 'CUSTOM_A'),
            action('remove-trait', 'CUSTOM_OLD'),
            action('remove-trait', 'CUSTOM_NEVER'),
            action('set-traits', ['CUSTOM_RACK_B'], 'CUSTOM_RACK_'),
        )
        data = base.ramdisk_data(base.new_mac())
        node = self.client.enroll()
        self.client.call(
            'PUT',
            f'/v1/nodes/{node}/traits',
            {'traits': ['CUSTOM_OLD', 'CUSTOM_RACK_A', 'CUSTOM_KEPT']},
        )
        self.assert_inspected(self.client.inspect(node, data))
        self.assertEqual(
            ['CUSTOM_A', 'CUSTOM_KEPT', 'CUSTOM_RACK_B', 'HW_CPU_X86_VMX'],
            self.client.traits(node),
        )

    def test_a_node_has_at_most_fifty(self) -> None:
        self.create_rule(
            action('add-trait', 'CUSTOM_{item}', loop=list(range(50))),
            priority=1,
        )
        self.assert_inspected(self.inspect())
        rule = self.create_rule(action('add-trait', 'CUSTOM_TOO_MANY'))
        node = self.inspect()
        self.assert_failed(node, rule['uuid'], 'add-trait', '50')
        self.assertEqual([], self.client.traits(node['uuid']))

    def test_a_bad_name_fails(self) -> None:
        rule = self.create_rule(
            action('add-trait', 'CUSTOM_{inventory[hostname]}')
        )
        self.assert_failed(
            self.inspect(), rule['uuid'], 'add-trait', 'CUSTOM_example'
        )
