# SPDX-License-Identifier: Apache-2.0

"""Old rules find what hooks of ironic-inspector added to the data."""

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.language import budget
from ironic_inspection_rules.plugins.legacy import document
from ironic_inspection_rules.plugins.legacy import field
from ironic_inspection_rules.plugins.legacy import text
from ironic_inspection_rules.tests.unit import base

GIB = 2**30
ETH0 = {
    'name': 'eth0',
    'mac_address': '52:54:00:00:00:0A',
    'ipv4_address': '192.0.2.5',
    'ipv6_address': '2001:db8::5',
}
ETH1 = {
    'name': 'eth1',
    'mac_address': '52:54:00:00:00:0b',
    'ipv4_address': None,
    'ipv6_address': 'fe80::b%eth1',
    'client_id': 'x',
}
ETH2 = {'name': 'eth2', 'mac_address': '52:54:00:00:00:0c'}
BOOT = '01-52-54-00-00-00-0a'


class DocumentTestCase(base.TestCase):
    def found(self, path, plugin_data=None, node=None, **inventory):
        roots = {'inventory': inventory, 'plugin_data': plugin_data or {}}
        if node is not None:
            roots['node'] = {'properties': node}
        return field.compile_field(path)(budget.View(roots))

    def test_the_scheduler_had_numbers_of_the_inventory(self):
        cpu = {'count': '4', 'architecture': 'x86_64'}
        self.assertEqual(
            [4096],
            self.found('memory_mb', memory={'physical_mb': 4096, 'total': 1}),
        )
        self.assertEqual([4], self.found('cpus', cpu=cpu))
        self.assertEqual(['x86_64'], self.found('data://cpu_arch', cpu=cpu))
        self.assertEqual([4, 'x86_64'], self.found('cpus,cpu_arch', cpu=cpu))
        self.assertEqual([4], self.found('$..cpus', cpu=cpu))

    def test_what_nobody_knows_is_missing(self):
        for path in (
            'memory_mb',
            'cpus',
            'cpu_arch',
            'interfaces',
            'all_interfaces',
        ):
            for inventory in (
                {},
                {'memory': None, 'cpu': None},
                {
                    'memory': {'physical_mb': 'many'},
                    'cpu': {'count': None, 'architecture': None},
                    'interfaces': [None, {'name': 'eth0'}],
                },
            ):
                self.assertEqual([], self.found(path, **inventory), path)

    def test_the_data_are_asked_first(self):
        for name in ('memory_mb', 'local_gb', 'cpus', 'ipmi_address'):
            self.assertEqual(
                [1],
                self.found(
                    name,
                    {name: 1},
                    memory={'physical_mb': 2},
                    cpu={'count': 2},
                    bmc_address='2',
                ),
            )

    def test_the_bmc_has_an_address_or_null(self):
        for name, now, none in (
            ('ipmi_address', 'bmc_address', '0.0.0.0'),
            ('ipmi_v6address', 'bmc_v6address', '::/0'),
        ):
            self.assertEqual(['a'], self.found(name, **{now: 'a'}))
            self.assertEqual([None], self.found(name))
            for nothing in (none, '', None):
                self.assertEqual([None], self.found(name, **{now: nothing}))

    def test_the_root_disk_leaves_a_gib_for_partitions(self):
        for size, local_gb in (
            (1000 * GIB, 999),
            (1000 * GIB - 1, 998),
            (GIB, 0),
            (GIB - 1, 0),
            (0, 0),
        ):
            self.assertEqual(
                [local_gb],
                self.found('local_gb', {'root_disk': {'size': size}}),
            )

    def test_a_machine_without_disks_has_no_gib(self):
        self.assertEqual([0], self.found('local_gb'))
        self.assertEqual([0], self.found('local_gb', disks=[]))
        self.assertEqual([], self.found('local_gb', disks=[{'size': GIB}]))
        self.assertEqual(
            [], self.found('local_gb', {'root_disk': {'size': None}})
        )

    def test_root_device_hints_choose_the_disk(self):
        disks = [
            {'name': '/dev/sda', 'size': 10 * GIB, 'serial': 'A'},
            {'name': '/dev/sdb', 'size': 20 * GIB, 'serial': 'B'},
        ]
        for node, found in (
            ({}, [9]),
            ({'root_device': {'serial': ' b '}}, [19]),
            ({'root_device': {'name': '/dev/sda', 'serial': 'B'}}, []),
            ({'root_device': {'size': 20}}, []),
            ({'root_device': {'serial': 's== B'}}, []),
            (
                {
                    'root_device': {'serial': 'B'},
                    'skip_block_devices': [{'serial': 'A'}],
                },
                [],
            ),
        ):
            self.assertEqual(
                found,
                self.found(
                    'local_gb', {'root_disk': disks[0]}, node, disks=disks
                ),
                node,
            )

    def test_interfaces_have_the_old_names(self):
        for name, value in (
            ('ip', '192.0.2.5'),
            ('pxe', True),
            ('mac', '52:54:00:00:00:0a'),
            ('client_id', None),
        ):
            for of in ('all_interfaces', 'interfaces'):
                self.assertEqual(
                    [value],
                    self.found(
                        f'{of}.eth0.{name}',
                        interfaces=[ETH0, ETH1, ETH2],
                        boot={'pxe_interface': BOOT},
                    ),
                    (of, name),
                )
        self.assertEqual(
            ['192.0.2.5', 'fe80::b', None],
            self.found('all_interfaces.*.ip', interfaces=[ETH0, ETH1, ETH2]),
        )
        self.assertEqual(
            ['x'],
            self.found(
                'all_interfaces.eth1.client_id', interfaces=[ETH0, ETH1]
            ),
        )

    def test_ports_are_those_of_the_boot_interface_or_with_an_address(self):
        listed = [
            ETH0,
            ETH1,
            ETH2,
            {**ETH0, 'name': 'lo'},
            {**ETH0, 'name': 'eth3', 'ipv4_address': '127.0.0.1'},
        ]
        self.assertEqual(
            ['52:54:00:00:00:0a'],
            self.found(
                'interfaces.*.mac', {'boot_interface': BOOT}, interfaces=listed
            ),
        )
        self.assertEqual(
            ['52:54:00:00:00:0a', '52:54:00:00:00:0b'],
            self.found('interfaces.*.mac', interfaces=listed),
        )

    def test_interfaces_of_the_hook_of_ironic_have_the_old_names(self):
        made = {
            'eth0': {**ETH0, 'pxe_enabled': True},
            'eth2': {**ETH2, 'pxe_enabled': False},
        }
        hook = {
            'all_interfaces': made,
            'valid_interfaces': made,
            'parsed_lldp': {'eth0': {'switch_port_id': 'p1'}},
        }
        for path, value in (
            ('all_interfaces.eth0.ip', ['192.0.2.5']),
            ('all_interfaces.eth0.pxe_enabled', [True]),
            ('all_interfaces.*.pxe', [True, False]),
            ('interfaces.eth0.pxe', [True]),
            ('interfaces.*.ip', ['192.0.2.5']),
            ('$..mac', ['52:54:00:00:00:0a', '52:54:00:00:00:0c']),
            ('all_interfaces.eth0.lldp_processed.switch_port_id', ['p1']),
            ('all_interfaces.eth2.lldp_processed', []),
            ('all_interfaces.eth0.other', []),
            ('all_interfaces.eth9.ip', []),
        ):
            self.assertEqual(value, self.found(path, hook), path)
        # Ironic's option add_ports has chosen more than the old default.
        self.assertEqual(
            [False],
            self.found(
                'interfaces.eth2.pxe', {**hook, 'boot_interface': BOOT}
            ),
        )

    def test_interfaces_of_ironic_inspector_stay_as_they_are(self):
        old = {
            'eth0': {
                'ip': 'a',
                'mac': 'B',
                'pxe': True,
                'lldp_processed': {'switch_port_id': 'p2'},
            }
        }
        for name, value in (('ip', 'a'), ('mac', 'B')):
            self.assertEqual(
                [value],
                self.found(
                    f'all_interfaces.eth0.{name}', {'all_interfaces': old}
                ),
            )
        self.assertEqual(
            [old], self.found('all_interfaces', {'all_interfaces': old})
        )

    def test_text_finds_them_too(self):
        read = document.InspectorData(
            budget.View(
                {
                    'inventory': {
                        'interfaces': [ETH0],
                        'memory': {'physical_mb': 4096},
                    },
                    'plugin_data': {'inventory': 'other'},
                }
            )
        )
        self.assertEqual(
            '4096 192.0.2.5',
            text.render(
                '{data[memory_mb]} {data[interfaces][eth0][ip]}', read
            ),
        )
        self.assertRaises(
            exceptions.MissingField, text.render, '{data[cpus]}', read
        )

    def test_the_data_as_a_whole_do_not_have_them(self):
        roots = {
            'inventory': {'memory': {'physical_mb': 1}},
            'plugin_data': {'all_interfaces': {'eth0': {**ETH0}}},
        }
        self.assertEqual(
            {'inventory': roots['inventory'], **roots['plugin_data']},
            document.InspectorData(budget.View(roots)),
        )
        self.assertEqual(
            str({'inventory': roots['inventory'], **roots['plugin_data']}),
            text.render('{data}', document.InspectorData(budget.View(roots))),
        )

    def test_they_are_paid_for(self):
        listed = [{**ETH0, 'name': f'eth{number}'} for number in range(200)]
        roots = {'inventory': {'interfaces': listed}, 'plugin_data': {}}
        self.assertRaises(
            exceptions.BudgetExceeded,
            field.compile_field('interfaces.eth0.ip'),
            budget.View(roots, budget.Budget(budget.Limits(operations=100))),
        )


class PlaceTestCase(base.TestCase):
    def test_where_ironic_has_them(self):
        for old, new in (
            ('memory_mb', 'inventory.memory.physical_mb'),
            ('inventory.cpu', 'inventory.cpu'),
            (
                'interfaces.eth0.mac',
                'plugin_data.valid_interfaces.eth0.mac_address',
            ),
            (
                'all_interfaces.eth0.pxe',
                'plugin_data.all_interfaces.eth0.pxe_enabled',
            ),
            (
                'all_interfaces.eth0.lldp_processed.a',
                'plugin_data.parsed_lldp.eth0.a',
            ),
            ('root_disk.wwn', 'plugin_data.root_disk.wwn'),
        ):
            self.assertEqual(
                tuple(new.split('.')),
                document.place_in_ironic(old.split('.')),
                old,
            )
