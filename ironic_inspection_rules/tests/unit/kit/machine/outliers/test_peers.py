# SPDX-License-Identifier: Apache-2.0

"""Machines that differ from their peers."""

import copy
import random

from ironic_inspection_rules.engine.run import views
from ironic_inspection_rules.kit.machine.outliers import finding
from ironic_inspection_rules.kit.machine.outliers import sketch
from ironic_inspection_rules.tests import odd_fleet
from ironic_inspection_rules.tests import odd_fleet_trial
from ironic_inspection_rules.tests import shared_data
from ironic_inspection_rules.tests.unit import base

SEED = 20261127


def plain(number, **fields):
    """A machine of which little is known."""
    return {
        'inventory': {
            'system_vendor': {
                'manufacturer': 'Acme',
                'product_name': 'One',
                'serial_number': f'S{number}',
            },
            'hostname': f'host{number}',
            'cpu': {'count': 8},
            'memory': {'physical_mb': 524288},
            **fields,
        },
        'plugin_data': {},
    }


def fleet(count, **fields):
    return {
        f'm{number:02}': plain(number, **copy.deepcopy(fields))
        for number in range(count)
    }


def with_dimms(machine, slots, size=32):
    machine['plugin_data']['dmi'] = {
        'memory': {
            'devices': [
                {
                    'Locator': slot,
                    'Size': f'{size} GB',
                    'Serial Number': f'x{slot}',
                }
                for slot in slots
            ]
        }
    }


def told(machines, **options):
    """Return machine, kind and slot of what is found."""
    return [
        (each.machine, each.kind, each.slot)
        for each in odd_fleet_trial.compare(machines, **options).findings
    ]


class TruthTestCase(base.TestCase):
    """Planted faults are found, and nothing else."""

    def score(self, sizes, share=0.2):
        draw = random.Random(SEED)
        score = odd_fleet_trial.Score()
        for number, size in enumerate(sizes):
            score += odd_fleet_trial.run(
                odd_fleet.group(draw, number, size, share)
            )
        return score

    def test_groups_of_ten_and_more(self):
        score = self.score([10] * 12 + [40, 41, 60])
        self.assertGreater(score.planted.total(), 50)
        self.assertEqual([], score.remarks)

    def test_two_populations_of_one_model(self):
        draw = random.Random(SEED)
        score = odd_fleet_trial.Score()
        for size in (6, 10, 10, 20):
            score += odd_fleet_trial.run(odd_fleet.two_kinds(draw, size))
        self.assertGreater(score.planted.total(), 10)
        self.assertEqual([], score.remarks)

    def test_nothing_is_odd_where_nothing_is_broken(self):
        score = self.score([5, 6, 7, 8, 9] * 4 + [50], share=0)
        self.assertEqual([], score.remarks)

    def test_every_fault_in_the_smallest_group(self):
        draw = random.Random(SEED)
        for fault in odd_fleet.FAULTS:
            group = odd_fleet.group(draw, 1, 5, 0)
            while fault not in odd_fleet.visible(group.model) or (
                group.model.dimms == 16 or not group.model.gpus
            ):
                group = odd_fleet.group(draw, 1, 5, 0)
            name = sorted(group.machines)[2]
            slot = fault.plant(group.machines[name])
            group.planted.append(odd_fleet.Planted(name, fault, slot or None))
            self.assertEqual([], odd_fleet_trial.run(group).remarks)

    def test_public_inventories(self):
        paths = shared_data.directory().joinpath('inventories').glob('*.json')
        for path in sorted(paths):
            data = shared_data.read(f'inventories/{path.name}')
            inventory = data.get('inventory', data)
            machines = {
                f'm{number}': {
                    'inventory': inventory,
                    'plugin_data': data.get('plugin_data', {}),
                }
                for number in range(10)
            }
            self.assertEqual([], told(machines), path.name)
            broken = copy.deepcopy(inventory)
            broken['interfaces'].append(
                {'name': 'eth9', 'mac_address': '52:54:00:00:00:99'}
            )
            machines['m3'] = {**machines['m3'], 'inventory': broken}
            self.assertEqual(
                [('m3', 'interface', None)], told(machines), path.name
            )


class NamesTestCase(base.TestCase):
    def test_names_and_the_order_of_files_change_nothing(self):
        draw = random.Random(SEED)
        group = odd_fleet.group(draw, 1, 30, 0.2)
        machines = {
            name: machine.inventory()
            for name, machine in group.machines.items()
        }
        first = odd_fleet_trial.compare(machines)
        names = sorted(machines)
        draw.shuffle(names)
        others = dict(zip(sorted(machines), names, strict=True))
        shuffled = list(machines.items())
        draw.shuffle(shuffled)
        second = odd_fleet_trial.compare(
            {others[name]: data for name, data in shuffled}
        )
        self.assertGreater(len(first.findings), 3)
        self.assertEqual(
            sorted(
                (others[each.machine], each.text, each.odd)
                for each in first.findings
            ),
            sorted(
                (each.machine, each.text, each.odd) for each in second.findings
            ),
        )

    def test_what_is_a_machines_own_is_not_compared(self):
        machines = fleet(10)
        for number, machine in enumerate(machines.values()):
            machine['plugin_data']['site'] = {
                'asset_tag': 'none',
                'uuid': 'none',
                'boot_time': 'none',
                'node_name': 'none',
                'ip': 'none',
                'text': f'10.0.0.{number}',
            }
        machines['m04']['plugin_data']['site'] = {
            'asset_tag': 'T4',
            'uuid': 'U4',
            'boot_time': 'now',
            'node_name': 'four',
            'ip': '10.0.0.4',
            'text': '10.0.0.4',
        }
        self.assertEqual([], told(machines))


class NoiseTestCase(base.TestCase):
    """What differs without a fault is not odd."""

    def test_disks_of_one_model_differ_by_some_sectors(self):
        machines = fleet(10, disks=[{'name': 'a', 'size': 480103981056}])
        for name in ('m03', 'm04', 'm05', 'm06', 'm07'):
            machines[name]['inventory']['disks'][0]['size'] += 4096
        machines['m08']['inventory']['disks'][0]['size'] -= 512
        self.assertEqual([], told(machines))
        result = odd_fleet_trial.compare(machines)
        self.assertEqual([], result.as_dict()['kinds'])
        machines['m08']['inventory']['disks'][0]['size'] = 240057409536
        self.assertEqual([('m08', 'disk', None)], told(machines))

    def test_memory_that_a_kernel_takes_makes_no_kinds(self):
        machines = fleet(10)
        for number, machine in enumerate(machines.values()):
            machine['inventory']['memory']['total'] = (
                549000000000 - number % 2 * 80000000
            )
        result = odd_fleet_trial.compare(machines)
        self.assertEqual([], result.as_dict()['kinds'])
        self.assertEqual((), result.findings)

    def test_firmware_pads_with_spaces(self):
        machines = fleet(
            10,
            system_vendor={
                'manufacturer': 'Acme',
                'product_name': 'One',
                'firmware': {'version': 'U30 v2.68 (07/14/2022)'},
            },
        )
        firmware = machines['m03']['inventory']['system_vendor']['firmware']
        firmware['version'] = ' U30  v2.68 (07/14/2022) '
        self.assertEqual([], told(machines))

    def test_the_ramdisk_is_not_the_machine(self):
        machines = fleet(10)
        for name, machine in machines.items():
            release = '5.14.0-9' if name == 'm03' else '5.14.0-8'
            machine['plugin_data'] = {
                'configuration': {
                    'collectors': ['default', release],
                    'managers': [{'version': release}],
                },
                'extra': {
                    'system': {
                        'kernel': {'version': release},
                        'os': {'version': release},
                    },
                    'network': {
                        'eth0': {
                            'businfo': 'pci@0000:18:00.0',
                            'driver': 'ice',
                            'driverversion': release,
                        }
                    },
                },
            }
        self.assertEqual([], told(machines))

    def test_sensors_that_follow_the_load(self):
        machines = fleet(10)
        for name, machine in machines.items():
            odd = name == 'm03'
            machine['plugin_data'] = {
                'extra': {
                    'ipmi': {
                        'Exhaust': {
                            'value': 44 + 9 * odd,
                            'unit': 'degrees C',
                        },
                        'Current 1': {'value': 0.4 + odd, 'unit': 'Amps'},
                        'Pwr': {'value': 140 + 60 * odd, 'unit': 'Watts'},
                    }
                },
                'health': {
                    'power_cycles': 3 + odd,
                    'inlet': 21 + 5 * odd,
                    'bytes_written': 10**12 * (1 + odd),
                },
            }
        self.assertEqual([], told(machines))

    def test_other_names_of_interfaces(self):
        machines = fleet(
            10,
            interfaces=[
                {
                    'name': 'eth0',
                    'mac_address': '52:54:00:00:00:01',
                    'biosdevname': 'em1',
                }
            ],
        )
        interface = machines['m03']['inventory']['interfaces'][0]
        interface.update(name='eno1', biosdevname='p1p1')
        self.assertEqual([], told(machines))


class PeersTestCase(base.TestCase):
    def test_too_few_are_skipped_and_said(self):
        machines = fleet(4)
        result = odd_fleet_trial.compare(machines)
        self.assertEqual((), result.groups)
        self.assertEqual(
            [
                {
                    'group': 'Acme One',
                    'machines': sorted(machines),
                    'reason': '4 machines, which are too few',
                }
            ],
            result.as_dict()['skipped'],
        )
        machines['m00']['inventory']['cpu']['count'] = 4
        self.assertEqual([('m00', 'processor', None)], told(machines, least=4))

    def test_peers_by_other_values(self):
        machines = fleet(12)
        for number, machine in enumerate(machines.values()):
            machine['inventory']['cpu']['count'] = 8 if number < 6 else 16
        machines['m07']['inventory']['memory']['physical_mb'] = 1024
        result = odd_fleet_trial.compare(machines, by=['inventory.cpu.count'])
        self.assertEqual(
            ['16', '8'], sorted(each.label for each in result.groups)
        )
        self.assertEqual(
            [('m07', 'memory', '5')],
            [
                (each.machine, each.kind, str(each.peers.count))
                for each in result.findings
            ],
        )

    def test_one_without_a_board_is_of_the_others(self):
        machines = fleet(6)
        for machine in list(machines.values())[1:]:
            machine['plugin_data']['extra'] = {
                'system': {'motherboard': {'name': 'B1'}}
            }
        result = odd_fleet_trial.compare(machines)
        self.assertEqual([6], [each.size for each in result.groups])
        self.assertEqual((), result.skipped)

    def test_one_that_was_told_otherwise_is_a_machine_of_its_own(self):
        machines = fleet(6)
        machines['m01']['inventory']['system_vendor']['product_name'] = 'Two'
        result = odd_fleet_trial.compare(machines)
        self.assertEqual(
            ['Acme Two'],
            [each['group'] for each in result.as_dict()['skipped']],
        )

    def test_two_populations_are_two_kinds(self):
        machines = fleet(40)
        for number, machine in enumerate(machines.values()):
            if number >= 25:
                machine['inventory']['memory']['physical_mb'] = 262144
        machines['m30']['inventory']['memory']['physical_mb'] = 245760
        result = odd_fleet_trial.compare(machines)
        self.assertEqual(
            [('m30', '240 GiB', '256 GiB', 14, 15)],
            [
                (
                    each.machine,
                    each.has,
                    each.peers.value,
                    each.peers.count,
                    each.peers.reporting_count,
                )
                for each in result.findings
            ],
        )
        (kinds,) = result.as_dict()['kinds']
        self.assertEqual(
            [25, 15], [each['machines'] for each in kinds['kinds']]
        )
        self.assertEqual(
            [
                [{'field': 'inventory.memory.physical_mb', 'value': value}]
                for value in ('512 GiB', '256 GiB')
            ],
            [each['differs'] for each in kinds['kinds']],
        )

    def test_kinds_are_told_apart_by_parts(self):
        machines = fleet(12, disks=[{'name': 'a', 'size': 10**12}])
        for name in ('m00', 'm01', 'm02', 'm03', 'm04'):
            machines[name]['inventory']['disks'].append(
                {'name': 'b', 'size': 10**12}
            )
        (kinds,) = odd_fleet_trial.compare(machines).as_dict()['kinds']
        self.assertEqual(
            [
                [
                    ('inventory.disks number', '1'),
                    ('inventory.disks size', '1 × 1 TB'),
                ],
                [
                    ('inventory.disks number', '2'),
                    ('inventory.disks size', '2 × 1 TB'),
                ],
            ],
            [
                [tuple(field.values()) for field in each['differs']]
                for each in kinds['kinds']
            ],
        )

    def test_a_value_is_cut_only_where_something_is_left_out(self):
        model = 'Model' * 40
        for length, expected in (
            (196, f'1 × {model[:196]}'),
            (197, f'1 × {model[:196]}…'),
        ):
            machines = fleet(
                12, disks=[{'name': 'a', 'size': 10**12, 'model': 'Small'}]
            )
            for name in ('m00', 'm01', 'm02', 'm03', 'm04'):
                (disk,) = machines[name]['inventory']['disks']
                disk['model'] = model[:length]
            (kinds,) = odd_fleet_trial.compare(machines).as_dict()['kinds']
            self.assertEqual(
                [
                    [{'field': 'inventory.disks model', 'value': value}]
                    for value in ('1 × Small', expected)
                ],
                [each['differs'] for each in kinds['kinds']],
            )

    def test_a_fifth_is_no_kind(self):
        machines = fleet(40)
        for number, machine in enumerate(machines.values()):
            if number >= 32:
                machine['inventory']['memory']['physical_mb'] = 262144
        result = odd_fleet_trial.compare(machines)
        self.assertEqual([], result.as_dict()['kinds'])
        self.assertEqual(8, len(result.findings))

    def test_a_setting_alone_makes_no_other_machines(self):
        machines = fleet(10)
        for number, machine in enumerate(machines.values()):
            machine['plugin_data']['rack'] = {'half': str(number % 2)}
        machines['m03']['inventory']['cpu']['count'] = 4
        machines['m05']['inventory']['cpu']['count'] = 4
        result = odd_fleet_trial.compare(machines)
        self.assertEqual([], result.as_dict()['kinds'])
        self.assertEqual(
            ['m03', 'm05'], sorted(each.machine for each in result.findings)
        )


class SharedTestCase(base.TestCase):
    def draw(self, machine):
        return sketch.build(
            'm', views.Facts(machine['inventory'], machine['plugin_data']), ()
        )

    def test_parts_of_lists_that_differ_are_kept_once(self):
        first, second = plain(1), plain(2)
        with_dimms(first, ['A1', 'A2'])
        with_dimms(second, ['A1', 'A3'])
        shared = sketch.SketchInterner()
        [one] = shared.intern(self.draw(first)).parts
        [other] = shared.intern(self.draw(second)).parts
        self.assertEqual('A1', one.items[0][0])
        self.assertIs(one.items[0], other.items[0])

    def test_fields_beside_others_are_kept_once(self):
        first, second = plain(1), plain(2)
        for machine, text in ((first, 'x86_64'), (second, 'aarch64')):
            machine['inventory']['cpu'] = {
                'flags': ['aes', 'avx'],
                'architecture': text,
            }
        shared = sketch.SketchInterner()
        flags = []
        for machine in (first, second):
            for section in shared.intern(self.draw(machine)).sections:
                flags += [
                    field
                    for field in section[1]
                    if field[0] == 'inventory.cpu.flags[]'
                ]
        self.assertIs(flags[0], flags[1])


class FindingTestCase(base.TestCase):
    def test_a_missing_module_is_told_with_its_slot_and_the_memory(self):
        machines = fleet(40)
        for machine in machines.values():
            with_dimms(machine, [f'B{place}' for place in range(1, 17)])
        with_dimms(
            machines['m07'],
            [f'B{place}' for place in range(1, 17) if place != 4],
        )
        machines['m07']['inventory']['memory']['physical_mb'] = 491520
        (found,) = odd_fleet_trial.compare(machines).findings
        self.assertEqual(
            'memory 480 GiB, 39 of 40 have 512 GiB: DIMM B4 is missing',
            found.text,
        )
        plain = found.as_dict()
        self.assertEqual(
            {
                'machine': 'm07',
                'kind': 'dimm',
                'slot': 'B4',
                'has': '480 GiB',
                'peers': {'value': '512 GiB', 'count': 39, 'of': 40},
            },
            {
                name: plain[name]
                for name in ('machine', 'kind', 'slot', 'has', 'peers')
            },
        )

    def test_a_module_explains_a_benchmark_and_a_firmware_of_the_memory(self):
        slots = ['A1', 'A2', 'B1', 'B2']

        def found(slots_of_one, size=32, speed=9000, firmware='1.5.0'):
            machines = fleet(10)
            for machine in machines.values():
                with_dimms(machine, slots)
                machine['plugin_data']['benchmarks'] = {
                    'memory_bandwidth': 20000
                }
                machine['plugin_data']['memory_firmware'] = {'name': '1.5.0'}
            one = machines['m03']
            with_dimms(one, slots_of_one, size)
            one['plugin_data']['benchmarks']['memory_bandwidth'] = speed
            one['plugin_data']['memory_firmware']['name'] = firmware
            return told(machines)

        self.assertEqual([('m03', 'benchmark', None)], found(slots))
        self.assertEqual([('m03', 'dimm', 'B2')], found(slots[:3]))
        self.assertEqual([('m03', 'dimm', 'C1')], found([*slots, 'C1']))
        self.assertEqual(
            [('m03', 'dimm', slot) for slot in slots], found(slots, size=16)
        )
        # A module in another slot is no less memory.
        self.assertIn(
            ('m03', 'benchmark', None), found(['A1', 'A2', 'B1', 'C1'])
        )
        self.assertEqual(
            [('m03', 'dimm', 'C1')],
            found([*slots, 'C1'], speed=20000, firmware='1.6.0'),
        )

    def test_peers_without_a_module_are_those_that_have_none_there(self):
        machines = fleet(10)
        for name, machine in machines.items():
            slots = ['A1', 'A2']
            if name in ('m03', 'm04'):
                slots.append('A3')
            with_dimms(machine, slots)
        report = odd_fleet_trial.compare(machines)
        new = [
            outlier.as_dict()
            for outlier in report.findings
            if outlier.slot == 'A3'
        ]
        self.assertEqual(['m03', 'm04'], [found['machine'] for found in new])
        for found in new:
            peers = found['peers']
            self.assertEqual(
                ('nothing there', 8, 10),
                (peers['value'], peers['count'], peers['of']),
            )

    def test_what_a_source_does_not_report_is_not_missing(self):
        machines = fleet(10, disks=[{'name': '/dev/sda', 'size': 10**12}])
        for machine in machines.values():
            with_dimms(machine, ['A1', 'A2'])
            machine['plugin_data']['pci_devices'] = [
                {
                    'vendor_id': '10de',
                    'product_id': '1',
                    'class': '0302',
                    'bus': '0000:81:00.0',
                }
            ]
        del machines['m01']['plugin_data']['dmi']
        del machines['m02']['inventory']['disks']
        del machines['m03']['plugin_data']['pci_devices']
        del machines['m04']['inventory']['cpu']
        self.assertEqual([], told(machines))
        machines['m05']['plugin_data']['pci_devices'] = []
        self.assertEqual(
            [('m05', 'accelerator', '0000:81:00.0')], told(machines)
        )

    def test_a_card_with_two_ports_is_one_finding(self):
        def card(number):
            return [
                {
                    'name': f'eth{port}',
                    'mac_address': f'52:54:00:00:{number:02x}:0{port}',
                    'pci_address': f'0000:3b:00.{port}',
                    'vendor': '0x8086',
                }
                for port in (0, 1)
            ]

        machines = {
            f'm{number}': plain(number, interfaces=card(number))
            for number in range(10)
        }
        machines['m2']['inventory']['interfaces'] = []
        self.assertEqual([('m2', 'interface', '0000:3b:00.0')], told(machines))

    def test_disks_without_slots_are_counted(self):
        machines = fleet(
            10,
            disks=[
                {'name': f'Disk {bay}', 'size': 480 * 10**9, 'model': 'M1'}
                for bay in range(4)
            ],
        )
        machines['m02']['inventory']['disks'].pop()
        machines['m05']['inventory']['disks'][0]['model'] = 'M2'
        self.assertEqual(
            [
                'disk: model M2, 8 of 10 have model M1',
                '3, 9 of 10 have 4 (480 GB M1): disk is missing',
            ],
            sorted(
                (
                    each.text
                    for each in odd_fleet_trial.compare(machines).findings
                ),
                reverse=True,
            ),
        )

    def test_a_slow_processor_is_told_though_speeds_differ(self):
        draw = random.Random(SEED)
        machines = fleet(20)
        for machine in machines.values():
            machine['plugin_data']['extra'] = {
                'cpu': {
                    'logical_0': {'loops_per_sec': int(draw.gauss(3000, 40))}
                }
            }
        self.assertEqual([], told(machines))
        machines['m11']['plugin_data']['extra']['cpu']['logical_0'][
            'loops_per_sec'
        ] = 2400
        self.assertEqual([('m11', 'benchmark', None)], told(machines))

    def test_versions_that_look_like_addresses_or_placeholders(self):
        for usual, odd in (
            ('4.40.10.0', '4.32.10.0'),
            ('1.1', '1.2'),
            ('202301150900', '202101150900'),
        ):
            machines = fleet(
                10,
                system_vendor={
                    'manufacturer': 'Acme',
                    'product_name': 'One',
                    'firmware': {'version': usual},
                },
            )
            firmware = machines['m03']['inventory']['system_vendor'][
                'firmware'
            ]
            firmware['version'] = odd
            self.assertEqual([('m03', 'firmware', None)], told(machines))

    def test_models_with_an_id_of_one_digit(self):
        machines = fleet(10)
        for name, machine in machines.items():
            machine['plugin_data']['pci_devices'] = [
                {
                    'vendor_id': '1000',
                    'class': '0104',
                    'bus': '0000:18:00.0',
                    'product_id': '2222' if name == 'm03' else '1111',
                }
            ]
        self.assertEqual(
            [('m03', 'pci-device', '0000:18:00.0')], told(machines)
        )

    def test_errors_where_others_have_none(self):
        machines = fleet(10)
        for name, machine in machines.items():
            machine['plugin_data']['burnin'] = {
                'memory': {'errors': 4 if name == 'm03' else 0}
            }
        self.assertEqual([('m03', 'benchmark', None)], told(machines))

    def test_a_setting_whose_name_has_the_word_of_a_reading(self):
        machines = fleet(10)
        for number, machine in enumerate(machines.values()):
            machine['plugin_data']['bios_settings'] = {
                'LoadOptimizedDefaults': 'Enabled',
                'AssetTag': f'T{number}',
            }
        machines['m03']['plugin_data']['bios_settings'][
            'LoadOptimizedDefaults'
        ] = 'Disabled'
        self.assertEqual([('m03', 'bios-setting', None)], told(machines))

    def test_one_item_more_of_a_list_is_one_finding(self):
        device = {'vendor': '0x1d6b', 'product': '0x0002', 'class': '09'}
        machines = fleet(10)
        for machine in machines.values():
            machine['plugin_data']['usb_devices'] = [device, device]
        machines['m03']['plugin_data']['usb_devices'] = [
            device,
            device,
            {'vendor': '0x0930', 'product': '0x6545', 'class': '08'},
        ]
        (found,) = odd_fleet_trial.compare(machines).findings
        self.assertEqual('m03', found.machine)
        self.assertEqual('plugin_data.usb_devices[] number', found.field)

    def test_a_pulled_cable_hides_no_device(self):
        machines = fleet(
            10,
            interfaces=[
                {
                    'name': 'eth0',
                    'mac_address': '52:54:00:00:00:01',
                    'has_carrier': True,
                }
            ],
        )
        for machine in machines.values():
            machine['plugin_data']['pci_devices'] = [
                {
                    'vendor_id': '1000',
                    'product_id': '0016',
                    'class': '0104',
                    'revision': '02',
                    'bus': '0000:18:00.0',
                }
            ]
        machines['m03']['inventory']['interfaces'][0]['has_carrier'] = False
        machines['m03']['plugin_data']['pci_devices'][0]['revision'] = '01'
        self.assertEqual(
            [
                ('m03', 'interface', None),
                ('m03', 'pci-device', '0000:18:00.0'),
            ],
            told(machines),
        )

    def test_settings_may_be_a_list(self):
        machines = fleet(10)
        for machine in machines.values():
            machine['plugin_data']['bios_settings'] = [
                {'name': 'BootMode', 'value': 'Uefi'},
                {'name': 'SriovGlobalEnable', 'value': 'Enabled'},
            ]
        machines['m04']['plugin_data']['bios_settings'][1]['value'] = 'Off'
        (found,) = odd_fleet_trial.compare(machines).findings
        self.assertEqual(
            'bios-setting: SriovGlobalEnable Off, 9 of 10 have '
            'SriovGlobalEnable Enabled',
            found.text,
        )

    def test_a_fan_is_named(self):
        machines = fleet(10)
        for name, machine in machines.items():
            machine['plugin_data']['extra'] = {
                'ipmi': {
                    'Fan1A': {
                        'value': 0 if name == 'm03' else 3120,
                        'unit': 'RPM',
                    }
                }
            }
        (found,) = odd_fleet_trial.compare(machines).findings
        self.assertEqual('Fan1A value 0', found.has)

    def test_bytes_are_told_in_units(self):
        machines = fleet(10)
        for name, machine in machines.items():
            less = 2 if name == 'm03' else 1
            machine['inventory']['memory'] = {'total': 2**36 // less}
            machine['plugin_data']['root_disk'] = {'size': 480 * 10**9 // less}
        self.assertEqual(
            [('32 GiB', '64 GiB'), ('size 240 GB', 'size 480 GB')],
            sorted(
                (found.has, found.peers.value)
                for found in odd_fleet_trial.compare(machines).findings
            ),
        )

    def test_the_boot_mode_is_compared(self):
        machines = {
            f'm{number}': plain(
                number,
                boot={
                    'current_boot_mode': 'uefi',
                    'pxe_interface': f'52:54:00:00:00:0{number}',
                },
            )
            for number in range(8)
        }
        machines['m4']['inventory']['boot']['current_boot_mode'] = 'bios'
        self.assertEqual([('m4', 'field', None)], told(machines))

    def test_hostile_data_do_no_harm(self):
        machines = fleet(8, disks=[{'name': '/dev/sda', 'size': 10**9}])
        deep = {}
        for _time in range(200):
            deep = {'deeper': [deep]}
        for number, hostile in enumerate(
            (10**400, float('nan'), float('inf'), -1, True, None, deep)
        ):
            inventory = machines[f'm{number:02}']['inventory']
            inventory['disks'][0]['size'] = hostile
            inventory['disks'] += [None, [], 'x']
            inventory['cpu']['count'] = hostile
            inventory['system_vendor']['firmware'] = hostile
            machines[f'm{number:02}']['plugin_data'] = {
                'extra': hostile,
                'dmi': {'cpu': hostile},
                '': {'': hostile},
                'pci_devices': {'a': hostile},
                'lone': '\ud800',
            }
        self.assertEqual(8, odd_fleet_trial.compare(machines).groups[0].size)

    def test_the_oddest_comes_first(self):
        machines = fleet(40)
        for name in ('m01', 'm02', 'm03'):
            machines[name]['inventory']['cpu']['count'] = 4
        machines['m09']['inventory']['memory']['physical_mb'] = 1024
        found = odd_fleet_trial.compare(machines).findings
        self.assertEqual('m09', found[0].machine)
        odd = [each.odd for each in found]
        self.assertEqual(sorted(odd, reverse=True), odd)

    def test_kinds_may_be_ignored(self):
        machines = fleet(10)
        machines['m01']['inventory']['cpu']['count'] = 4
        machines['m02']['inventory']['memory']['physical_mb'] = 1024
        result = odd_fleet_trial.compare(machines)
        self.assertEqual(
            ['memory'],
            [
                each.kind
                for each in result.without_kinds(
                    ['processor', 'flag']
                ).findings
            ],
        )
        self.assertEqual((), result.without_kinds(finding.KINDS).findings)

    def test_every_kind_is_known(self):
        score = [
            each.kind
            for number in range(4)
            for each in odd_fleet_trial.compare(
                {
                    name: machine.inventory()
                    for name, machine in odd_fleet.group(
                        random.Random(number), 1, 40
                    ).machines.items()
                }
            ).findings
        ]
        self.assertEqual(set(), set(score) - set(finding.KINDS))
