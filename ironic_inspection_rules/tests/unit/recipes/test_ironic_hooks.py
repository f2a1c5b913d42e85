# SPDX-License-Identifier: Apache-2.0

"""Recipes come to the same as the hooks that Ironic has for it."""

import copy
import types

import fixtures
from ironic.common import exception
from ironic.conf import CONF
from ironic.drivers.modules.inspector.hooks import accelerators
from ironic.drivers.modules.inspector.hooks import architecture
from ironic.drivers.modules.inspector.hooks import boot_mode
from ironic.drivers.modules.inspector.hooks import cpu_capabilities
from ironic.drivers.modules.inspector.hooks import extra_hardware
from ironic.drivers.modules.inspector.hooks import local_link_connection
from ironic.drivers.modules.inspector.hooks import memory
from ironic.drivers.modules.inspector.hooks import parse_lldp
from ironic.drivers.modules.inspector.hooks import pci_devices
from ironic.drivers.modules.inspector.hooks import physical_network
from ironic.drivers.modules.inspector.hooks import ports as ports_hook
from ironic.drivers.modules.inspector.hooks import raid_device
from ironic.drivers.modules.inspector.hooks import root_device
from ironic.drivers.modules.inspector.hooks import validate_interfaces
from oslo_config import fixture as config_fixture
import yaml

from ironic_inspection_rules.tests.corpus import case as corpus
from ironic_inspection_rules.tests.unit import base

_MOST_LINES = 30
_CASES = {each.name: each for each in corpus.load() if each.file == 'recipe'}


class FakeNode(types.SimpleNamespace):
    id = 1

    def set_property(self, name, value):
        self.properties = {**self.properties, name: value}

    def save(self):
        pass


class FakePort(types.SimpleNamespace):
    id = 1
    uuid = 'port'

    def set_local_link_connection(self, name, value):
        self.local_link_connection = {
            **self.local_link_connection,
            name: value,
        }

    def save(self):
        pass


class FakePorts:
    """Ports in memory, in the place of Ironic's object."""

    def __init__(self, ports):
        self.ports = ports

    def list_by_node_id(self, _context, _node_id):
        return self.ports

    def get_by_address(self, _context, address):
        for port in self.ports:
            if port.address == address:
                return port
        raise exception.PortNotFound(port=address)


class IronicHooksTestCase(base.TestCase):
    def setUp(self):
        super().setUp()
        self.config = self.useFixture(config_fixture.Config(CONF)).config

    def compare(self, name, *hooks, **given):
        """Run a recipe, and hooks, on the same machine.

        :param given: what the machine has that the recipe's has not.
        """
        case = corpus.Case(
            'recipe', '', {**copy.deepcopy(_CASES[name].content), **given}
        )
        facts = copy.deepcopy(case.facts())
        node = FakeNode(
            uuid=facts.node['uuid'], properties=dict(facts.node['properties'])
        )
        ports = [
            FakePort(
                **{
                    'local_link_connection': {},
                    'extra': {},
                    'physical_network': None,
                    **port,
                }
            )
            for port in facts.ports
        ]
        for module, attribute in (
            (physical_network.objects, 'Port'),
            (local_link_connection.ironic_port, 'Port'),
        ):
            self.useFixture(
                fixtures.MockPatchObject(module, attribute, FakePorts(ports))
            )
        stored = facts.previous and {
            'inventory_data': facts.previous['inventory']
        }
        self.useFixture(
            fixtures.MockPatchObject(
                raid_device.node_inventory,
                'NodeInventory',
                types.SimpleNamespace(get_by_node_id=self.previous(stored)),
            )
        )
        task = types.SimpleNamespace(node=node, context=None)
        result = corpus.run(case)
        try:
            for hook in hooks:
                hook.preprocess(task, facts.inventory, facts.plugin_data)
            for hook in hooks:
                hook(task, facts.inventory, facts.plugin_data)
        except exception.IronicException:
            self.assertIsNotNone(result.outcome.error, given)
            return facts
        self.assertIsNone(result.outcome.error, given)
        self.assertEqual(node.properties, result.at('/node/properties'), given)
        for port, after in zip(ports, result.at('/ports'), strict=True):
            self.assertEqual(
                {
                    key: value
                    for key, value in vars(port).items()
                    if key in after
                },
                after,
                given,
            )
        return facts, result

    @staticmethod
    def previous(stored):
        def get(_context, _node_id):
            if stored is None:
                raise exception.NodeInventoryNotFound(node='node')
            return stored

        return get

    def test_memory(self):
        for physical in (65536, 1, 0):
            self.compare(
                'the memory of the machine',
                memory.MemoryHook(),
                inventory={'memory': {'physical_mb': physical}},
            )
        for known in ({}, None):
            self.compare(
                'the memory of the machine',
                memory.MemoryHook(),
                inventory={'memory': known},
            )

    def test_architecture(self):
        for processor in ({'architecture': 'aarch64'}, {}, None):
            self.compare(
                'the architecture of the processor',
                architecture.ArchitectureHook(),
                inventory={'cpu': processor},
            )

    def test_boot_mode(self):
        for mode in ('uefi', 'bios'):
            for known in ({}, {'capabilities': 'a:b,boot_mode:bios'}):
                self.compare(
                    'the boot mode',
                    boot_mode.BootModeHook(),
                    inventory={'boot': {'current_boot_mode': mode}},
                    node={'properties': known},
                )

    def test_capabilities_of_the_processor(self):
        self.config(
            cpu_capabilities={'aes': 'cpu_aes', 'vmx': 'cpu_vt'},
            group='inspector',
        )
        for flags in (['aes'], ['vmx', 'fpu', 'aes']):
            self.compare(
                'capabilities of the processor',
                cpu_capabilities.CPUCapabilitiesHook(),
                inventory={'cpu': {'flags': flags}},
            )

    def test_accelerators(self):
        device = {'vendor_id': '10de', 'bus': '0000:41:00.0'}
        for ids in (['2236'], ['2235', 'ffff', '2235'], ['ffff'], []):
            for known in ({}, {'accelerators': [{'old': 1}]}):
                self.compare(
                    'accelerators out of PCI devices',
                    accelerators.AcceleratorsHook(),
                    plugin_data={
                        'pci_devices': [
                            {**device, 'product_id': each} for each in ids
                        ]
                    },
                    node={'properties': known},
                )

    def test_capabilities_of_pci_devices(self):
        self.useFixture(
            fixtures.MockPatchObject(
                pci_devices.PciDevicesHook,
                '_aliases',
                {('10de', '20b5'): 'gpu', ('8086', '1572'): 'nic'},
            )
        )
        gpu = {'vendor_id': '10de', 'product_id': '20b5'}
        nic = {'vendor_id': '8086', 'product_id': '1572'}
        for devices in (
            [gpu],
            [gpu, nic, gpu],
            [],
            [{**gpu, 'product_id': '1'}],
        ):
            self.compare(
                'a capability for each kind of PCI device',
                pci_devices.PciDevicesHook(),
                plugin_data={'pci_devices': devices},
            )

    def test_the_size_of_the_root_disk(self):
        for sizes in (
            [480103981056, 4000787030016],
            [5 * 2**30, 2**32],
            [2**40],
        ):
            self.compare(
                'local_gb of the smallest disk that is large enough',
                root_device.RootDeviceHook(),
                inventory={'disks': [{'size': each} for each in sizes]},
                plugin_data={'root_disk': {'size': min(sizes)}},
            )

    def test_the_new_disk(self):
        name = 'the disk that is new is the root device'
        for disks, before in (
            (['a', 'b'], ['a']),
            (['a'], ['a']),
            (['a', 'b', 'c'], ['a']),
            ([None, 'b'], ['a']),
            (['a', 'b'], ['b', 'c']),
        ):
            for known in ({}, {'root_device': {'name': 'x'}}):
                self.compare(
                    name,
                    raid_device.RaidDeviceHook(),
                    inventory={'disks': [{'serial': each} for each in disks]},
                    previous={
                        'inventory': {
                            'disks': [{'serial': each} for each in before]
                        }
                    },
                    node={'properties': known},
                )
        self.compare(name, raid_device.RaidDeviceHook(), previous=None)

    def test_interfaces_that_can_be_used(self):
        good = {'name': 'eth0', 'mac_address': '52:54:00:aa:bb:01'}
        for interfaces in (
            [good],
            [{**good, 'name': 'lo'}],
            [],
            [{**good, 'name': None}, {**good, 'name': 'b'}],
            [{**good, 'mac_address': None}],
        ):
            self.config(add_ports='all', group='inspector')
            self.compare(
                'no network interface that can be used',
                validate_interfaces.ValidateInterfacesHook(),
                inventory={'interfaces': interfaces},
            )

    def test_the_physical_network(self):
        self.config(
            physical_network_cidr_map=['10.7.0.0/16:provisioning'],
            group='inspector',
        )
        for first, second in (('10.7.1.9', None), ('10.8.0.1', '10.7.0.1')):
            self.compare(
                'the physical network by subnet',
                validate_interfaces.ValidateInterfacesHook(),
                physical_network.PhysicalNetworkHook(),
                ports=[
                    {
                        'address': f'52:54:00:aa:bb:0{number}',
                        'physical_network': None,
                    }
                    for number in (1, 2)
                ],
                inventory={
                    'interfaces': [
                        {
                            'name': f'eth{number}',
                            'ipv4_address': address,
                            'mac_address': f'52:54:00:aa:bb:0{number}',
                        }
                        for number, address in ((1, first), (2, second))
                    ]
                },
            )

    def test_the_port_that_has_booted(self):
        self.config(
            add_ports='disabled',
            keep_ports='all',
            update_pxe_enabled=True,
            group='inspector',
        )
        for booted in (
            '52:54:00:aa:bb:01',
            '52:54:00:AA:BB:02',
            None,
            '01-52-54-00-aa-bb-02',
        ):
            self.compare(
                'PXE only for the port that has booted',
                validate_interfaces.ValidateInterfacesHook(),
                ports_hook.PortsHook(),
                inventory={'boot': {'pxe_interface': booted}},
            )

    def test_the_local_link_connection(self):
        name = 'the local link connection out of LLDP'
        raw = {'eth0': [[1, '04aabbcc000001'], [2, '05457468312f37']]}
        data = {'lldp_raw': raw}
        task = types.SimpleNamespace(node=types.SimpleNamespace(uuid='node'))
        parse_lldp.ParseLLDPHook()(
            task, {'interfaces': [{'name': 'eth0'}]}, data
        )
        self.assertEqual(
            _CASES[name].get('plugin_data'),
            {
                'parsed_lldp': {
                    'eth0': {
                        key: data['parsed_lldp']['eth0'][key]
                        for key in ('switch_chassis_id', 'switch_port_id')
                    }
                }
            },
        )
        self.compare(
            name,
            validate_interfaces.ValidateInterfacesHook(),
            local_link_connection.LocalLinkConnectionHook(),
            plugin_data=data,
            ports=[
                {
                    'address': f'52:54:00:aa:bb:0{number}',
                    'local_link_connection': {},
                }
                for number in (1, 2)
            ],
        )

    def test_what_hardware_detect_found(self):
        for data in (
            [
                ['a', 'b', 'c', '5'],
                ['a', 'b', 'd', 'x'],
                ['a', 'e/f', 'c', '-7'],
            ],
            [['cpu', '0', 'x', 5]],
        ):
            facts, result = self.compare(
                'what hardware-detect found, by its names',
                extra_hardware.ExtraHardwareHook(),
                plugin_data={'data': data},
            )
            self.assertEqual(facts.plugin_data, result.at('/plugin_data'))

    def test_no_recipe_is_long(self):
        self.assertGreaterEqual(len(_CASES), 20)
        for case in _CASES.values():
            rule = {
                key: value
                for key, value in case.rules[0].items()
                if key not in ('uuid', 'description')
            }
            text = yaml.safe_dump(rule, width=79)
            self.assertLessEqual(
                len(text.splitlines()), _MOST_LINES, case.name
            )
