# SPDX-License-Identifier: Apache-2.0

"""The recipes of the documents, on machines that are as odd as real ones."""

import copy

import yaml

from ironic_inspection_rules.tests import guide
from ironic_inspection_rules.tests.corpus import case as corpus
from ironic_inspection_rules.tests.unit import base

_HOOKS = 'Instead of hooks'
"""Under which the rules are that have tests of their own."""

_PAGES = ('doc/source/user/cookbook.rst', 'doc/source/user/traits.rst')

_NOTHING = {
    'cpu': {},
    'memory': {},
    'disks': [],
    'interfaces': [],
    'boot': {},
    'system_vendor': {},
    'bmc_address': None,
}

ODD = {
    'reports nothing': _NOTHING,
    'reports null': dict.fromkeys(_NOTHING),
    'no serial numbers': {
        'disks': [{'name': '/dev/vda', 'serial': None, 'rotational': True}],
        'system_vendor': {'manufacturer': 'QEMU', 'serial_number': ''},
    },
    'booted from virtual media': {
        'boot': {'current_boot_mode': 'uefi', 'pxe_interface': None}
    },
    'booted from an unknown port': {
        'boot': {'pxe_interface': '52:54:00:99:99:99'}
    },
    'no link': {
        'interfaces': [
            {
                'name': 'eth0',
                'has_carrier': False,
                'mac_address': '52:54:00:00:00:01',
            }
        ]
    },
    'no address of the BMC': {
        'bmc_address': '0.0.0.0',
        'system_vendor': {'manufacturer': 'Dell Inc.'},
    },
}


class RecipesTestCase(base.TestCase):
    def setUp(self):
        super().setUp()
        if not guide.pages():
            self.skipTest('not a checkout: no documentation')
        self.rules = []
        for path in _PAGES:
            page = guide.Page(path)
            hooks = page.text.partition(_HOOKS)[0].count('\n')
            for block in page.blocks:
                if (
                    block.language == 'yaml'
                    and block.line <= hooks
                    and not block.is_example
                ):
                    read = yaml.safe_load(block.text)
                    self.rules += read if isinstance(read, list) else [read]
        self.rules.sort(key=lambda rule: -rule.get('priority', 0))

    def run_rules(self, **given):
        case = corpus.Case(
            'recipes',
            '',
            {'name': 'recipes', 'rules': copy.deepcopy(self.rules), **given},
        )
        self.assertEqual([], corpus.problems(case))
        result = corpus.run(case)
        matched = {
            rule['description']
            for rule, did in zip(self.rules, result.matched, strict=True)
            if did
        }
        return result, matched

    def test_no_odd_machine_fails(self):
        for name, inventory in ODD.items():
            for discovered in (True, False):
                result, _matched = self.run_rules(
                    inventory=inventory,
                    node={'auto_discovered': discovered},
                    plugin_data={},
                )
                self.assertIsNone(result.outcome.error, name)

    def test_a_small_machine_fails(self):
        result, _matched = self.run_rules(
            inventory={'memory': {'physical_mb': 1024}}
        )
        self.assertIn('only 1024 MiB', str(result.outcome.error))
        self.assertTrue(result.outcome.error.maintenance)

    def test_traits_that_fit_a_pattern_are_owned(self):
        others = ['CUSTOM_FAST_4_GPUS', 'CUSTOM_GPUS', 'CUSTOM_MINE']
        result, _matched = self.run_rules(
            plugin_data={
                'pci_devices': [
                    {'vendor_id': '10de', 'class': '030200'},
                    {'vendor_id': '10de', 'class': '030200'},
                    {'vendor_id': '10de', 'class': '040300'},
                ]
            },
            node={'traits': [*others, 'CUSTOM_4_GPUS', 'CUSTOM_12_GPUS']},
        )
        self.assertEqual(
            [*others, 'CUSTOM_2_GPUS'],
            [
                name
                for name in result.at('/node/traits')
                if name in others or name.endswith('_GPUS')
            ],
        )

    def test_a_dell_machine_gets_its_driver(self):
        result, _matched = self.run_rules(
            node={'auto_discovered': True},
            inventory={
                'bmc_address': '192.0.2.3',
                'system_vendor': {
                    'manufacturer': 'Dell Inc.',
                    'serial_number': '5',
                },
            },
        )
        self.assertEqual('redfish', result.at('/node/driver'))
        for address in ('0.0.0.0', None):
            _result, matched = self.run_rules(
                node={'auto_discovered': True},
                inventory={
                    'bmc_address': address,
                    'system_vendor': {
                        'manufacturer': 'Dell Inc.',
                        'serial_number': '5',
                    },
                },
            )
            self.assertNotIn('Dell machines by Redfish', matched)

    def test_a_disk_without_moving_parts_need_not_be_the_first(self):
        disks = [
            {'name': 'a', 'rotational': True},
            {'name': 'b', 'rotational': False},
        ]
        for listed in (disks, disks[::-1]):
            result, _matched = self.run_rules(
                inventory={'disks': listed},
                node={'properties': {'root_device': None}},
            )
            self.assertEqual(
                {'rotational': False},
                result.at('/node/properties/root_device'),
            )
        _result, matched = self.run_rules(
            inventory={'disks': disks[:1]},
            node={'properties': {'root_device': None}},
        )
        self.assertNotIn('A disk without moving parts', matched)

    def test_serial_numbers_hold_no_null(self):
        result, _matched = self.run_rules(
            inventory={
                'disks': [
                    {'name': 'a', 'serial': 'S2'},
                    {'name': 'b', 'serial': 'S1'},
                ]
            }
        )
        self.assertEqual(['S2', 'S1'], result.at('/node/extra/disks'))
        _result, matched = self.run_rules(
            inventory={
                'disks': [
                    {'name': 'a', 'serial': 'S2'},
                    {'name': 'b', 'serial': None},
                ]
            }
        )
        self.assertNotIn('Serial numbers', matched)

    def test_only_the_port_that_booted_boots_again(self):
        ports = [
            {
                'address': f'52:54:00:00:00:0{number}',
                'uuid': str(number),
                'pxe_enabled': True,
            }
            for number in (1, 2)
        ]
        for booted in (1, 2):
            result, _matched = self.run_rules(
                ports=ports,
                inventory={
                    'boot': {'pxe_interface': f'52:54:00:00:00:0{booted}'}
                },
            )
            self.assertEqual(
                [booted == 1, booted == 2],
                [port['pxe_enabled'] for port in result.at('/ports')],
            )
        for booted in (None, '52:54:00:99:99:99'):
            result, _matched = self.run_rules(
                ports=ports, inventory={'boot': {'pxe_interface': booted}}
            )
            self.assertEqual(
                [True, True],
                [port['pxe_enabled'] for port in result.at('/ports')],
            )

    def test_a_trait_goes_with_what_it_stood_for(self):
        for flags, traits in (
            (['vmx'], ['CUSTOM_A', 'HW_CPU_X86_VMX']),
            ([], ['CUSTOM_A']),
        ):
            result, _matched = self.run_rules(
                inventory={'cpu': {'flags': flags}},
                plugin_data={},
                node={'traits': ['CUSTOM_A', 'HW_CPU_X86_VMX']},
            )
            self.assertEqual(traits, sorted(result.at('/node/traits')))

    def test_devices_are_where_the_ramdisk_posts_them(self):
        for devices, has in (
            ([{'vendor_id': '8086'}, {'vendor_id': '10de'}], True),
            ([{'vendor_id': '8086'}], False),
            ([], False),
            (None, False),
        ):
            result, _matched = self.run_rules(
                plugin_data={} if devices is None else {'pci_devices': devices}
            )
            self.assertEqual(
                has, 'CUSTOM_GPU_NVIDIA' in result.at('/node/traits')
            )
