# SPDX-License-Identifier: Apache-2.0

"""What is read as a part of a machine, and what identifies it."""

from ironic_inspection_rules.machine import part
from ironic_inspection_rules.machine import part_difference
from ironic_inspection_rules.machine import part_identity
from ironic_inspection_rules.machine import part_source
from ironic_inspection_rules.tests.unit import base


def ids(plugin_data, kind='dimm'):
    return [
        (each.slot, each.ids)
        for each in part.read({}, plugin_data, 'agent').parts
        if each.kind == kind
    ]


class CollectorTestCase(base.TestCase):
    def test_modules_that_dmidecode_reports_are_parts(self):
        module = {
            'Size': '16384 MB',
            'Locator': 'DIMM_A1',
            'Bank Locator': 'NODE 1',
            'Manufacturer': 'Samsung',
            'Part Number': 'M393',
            'Serial Number': 'EF3D2255',
        }
        parts = part.read(
            {}, {'dmi': {'memory': {'devices': [module]}}}, 'agent'
        )
        (found,) = parts.parts
        self.assertEqual(
            (
                'dimm',
                ('ef3d2255',),
                'EF3D2255',
                'DIMM_A1',
                {
                    'manufacturer': 'Samsung',
                    'part_number': 'M393',
                    'size': '16384 MB',
                },
            ),
            found[:5],
        )

    def test_slots_without_a_module_are_no_parts(self):
        for size in ('No Module Installed', 'Not Installed', '0 MB'):
            self.assertEqual(
                [],
                ids(
                    {
                        'dmi': {
                            'memory': {
                                'devices': [
                                    {
                                        'Size': size,
                                        'Locator': 'A2',
                                        'Manufacturer': 'NO DIMM',
                                        'Serial Number': 'SerNum01',
                                    }
                                ]
                            }
                        }
                    }
                ),
                size,
            )

    def test_sums_and_empty_banks_of_extra_hardware_are_no_parts(self):
        self.assertEqual(
            [('A1', ('sn1x',))],
            ids(
                {
                    'extra': {
                        'memory': {
                            'total': {'size': 32},
                            'banks': {'count': 2},
                            'bank:0': {
                                'size': 32,
                                'serial': 'SN1X',
                                'slot': 'A1',
                            },
                            'bank:1': {
                                'slot': 'A2',
                                'vendor': 'UNKNOWN',
                                'product': 'NOT AVAILABLE',
                                'description': 'DDR3',
                            },
                            'bank:2': {
                                'slot': 'A3',
                                'serial': 'SN9X',
                                'description': 'DIMM DDR3 Synchronous [empty]',
                            },
                            'bank:3': {
                                'slot': 'A4',
                                'serial': 'Not Specified',
                            },
                        }
                    }
                }
            ),
        )

    def test_memory_that_could_not_be_read_has_not_gone(self):
        bank = {'size': 32, 'serial': 'SN1X'}
        for full, empty in (
            (
                {'extra': {'memory': {'total': {'size': 1}, 'bank:0': bank}}},
                {'extra': {'memory': {'total': {'size': 1}}}},
            ),
            (
                {
                    'dmi': {
                        'memory': {
                            'devices': [
                                {'Size': '8 GB', 'Serial Number': 'SN1X'}
                            ]
                        }
                    }
                },
                {'dmi': {'memory': {'devices': []}}},
            ),
        ):
            (change,) = part_difference.between(
                *(part.read({}, data, 'agent') for data in (full, empty))
            )
            self.assertEqual('unreported', change.what)

    def test_processors_of_dmidecode_are_known_by_their_serial_number(self):
        self.assertEqual(
            [('CPU1', ('5a3f',))],
            ids(
                {
                    'dmi': {
                        'cpu': [
                            {
                                'Socket Designation': 'CPU1',
                                'Serial Number': '5A3F',
                                'Status': 'Populated, Enabled',
                                'Version': 'Xeon',
                            },
                            {
                                'Socket Designation': 'CPU2',
                                'Serial Number': '5A40',
                                'Status': 'Unpopulated',
                            },
                        ]
                    }
                },
                'processor',
            ),
        )

    def test_firmware_has_no_identity_whoever_reports_it(self):
        def read(version, *collectors):
            bios = {'vendor': 'D', 'version': version}
            return part.read(
                {'system_vendor': {'firmware': bios}},
                {
                    name: data
                    for name, data in (
                        ('extra', {'firmware': {'bios': bios}}),
                        ('dmi', {'bios': {'Version': version}}),
                    )
                    if name in collectors
                },
                'agent',
            )

        (change,) = part_difference.between(
            read('1', 'extra', 'dmi'), read('2', 'extra', 'dmi')
        )
        told = change.as_dict()
        self.assertEqual(
            ('firmware', 'changed', None, '1', '2'),
            (
                told['kind'],
                told['what'],
                told['id'],
                told['before']['version'],
                told['after']['version'],
            ),
        )
        self.assertIsNone(told['before']['id'])
        # What one source has told, another does not tell again.
        known = part_difference.PartComparison(
            read('1', 'extra', 'dmi'), read('2')
        ).known()
        self.assertEqual(
            [], part_difference.between(known, read('2', 'extra', 'dmi'))
        )

    def test_the_class_of_a_pci_device_says_whether_it_is_an_accelerator(self):
        devices = []
        for pci_class in ('030200', '0x0b4000', '120000', '020000', None):
            devices.append({'class': pci_class, 'vendor_id': '10de'})
        parts = part.read({'pci_devices': devices}, {}, 'redfish').parts

        self.assertEqual(
            ['accelerator'] * 3 + ['pci-device'] * 2,
            [each.kind for each in parts],
        )

    def test_a_path_that_leads_nowhere_has_no_value(self):
        for path in ('inventory', 'inventory.cpu.count'):
            self.assertIsNone(part_source.value_at({}, path))

    def test_the_order_of_a_report_does_not_matter(self):
        disks = [
            {'by_path': 'one', 'vendor': 'B'},
            {'by_path': 'two', 'vendor': 'A'},
            {'by_path': 'two', 'vendor': 'C'},
        ]
        reports = []
        for ordered in (disks, disks[::-1]):
            reports.append(part.read({'disks': ordered}, {}, 'agent'))

        self.assertEqual(*reports)
        self.assertEqual(
            ['one', 'two', 'two'], [each.slot for each in reports[0].parts]
        )


class IdentityTestCase(base.TestCase):
    def test_numbers_are_identities_without_zeros_in_front(self):
        for number, text in (
            (66555322, '66555322'),
            (665532, '00665532'),
            (12345, '1_2345'),
            (-78, '-0078'),
        ):
            self.assertEqual(int(text), number)
            self.assertEqual(
                *(
                    part_identity.normalise(part_identity.reported_text(value))
                    for value in (number, text)
                )
            )

    def test_other_values_are_none(self):
        for value in (
            6655.0,
            1e300,
            True,
            None,
            0,
            7,
            1111,
            123456789,
            [],
            {},
            10**5000,
        ):
            self.assertIsNone(part_identity.reported_text(value), value)

    def test_texts_that_are_no_numbers_stay(self):
        for text in ('0123e2', '00ab', '1.5', '0x00ff12'):
            self.assertEqual(
                text.removeprefix('0x'), part_identity.normalise(text)
            )

    def test_an_identity_stays_the_same_however_often_it_is_read(self):
        for text in ('0x5000C500', '000123', 'AA-BB-CC-DD-EE-0F', 'S1'):
            once = part_identity.normalise(text)
            self.assertEqual(once, part_identity.normalise(once))

    def test_what_two_parts_share_is_shown_for_neither(self):
        parts = part.read(
            {
                'disks': [
                    {'wwn': '0x5000', 'serial': 'S1', 'size': 1},
                    {'wwn': '0x5000', 'serial': 'S2', 'size': 1},
                ]
            },
            {},
            'agent',
        )
        changes = part_difference.between(
            part.Parts((), dict(parts.sources)), parts
        )

        self.assertEqual(
            [(('s1',), 'S1'), (('s2',), 'S2')],
            [(each.ids, each.label) for each in parts.parts],
        )
        self.assertEqual(
            ['S1', 'S2'], [each.as_dict()['id'] for each in changes]
        )

    def test_a_part_is_identified_by_what_it_does_not_share(self):
        disk = part.Part('disk', ('5000', 's1'), 'S1', None, {}, 'agent disk')

        self.assertTrue(disk.without([('disk', '5000')]).is_identified)

    def test_what_is_shared_later_was_no_identity(self):
        disk = {'wwn': '0x5000C5', 'size': 1, 'model': 'M'}
        known = part.NOTHING
        for disks in ([disk], [disk, disk]):
            known = part_difference.PartComparison(
                known, part.read({'disks': disks}, {}, 'agent')
            ).known()
        self.assertEqual([(), ()], [each.ids for each in known.parts])


class StoredTestCase(base.TestCase):
    def test_all_that_is_known_is_the_same_after_it_was_stored(self):
        known = part.NOTHING
        for reporter, disks in (
            ('agent', [{'serial': 'S1', 'size': 1}, {'size': 2}]),
            ('redfish', [{'size': 1}, {'size': 2}]),
            ('agent', [{'size': 1}]),
        ):
            comparison = part_difference.PartComparison(
                known, part.read({'disks': disks}, {}, reporter)
            )
            known = comparison.known('2026-01-01')
            self.assertEqual(known, part.Parts.from_dict(known.as_dict()))
        self.assertTrue(known.announced)


class GuessTestCase(base.TestCase):
    """One source identifies modules of memory, another one not any more."""

    def read(self, extra, dmi):
        """Read modules by slot, with their serial numbers or None."""
        banks = {}
        for number, (slot, serial) in enumerate(extra.items()):
            banks[f'bank:{number}'] = {
                'slot': slot,
                'serial': serial,
                'size': 8,
                'vendor': 'S',
            }
        devices = []
        for slot, serial in dmi.items():
            devices.append(
                {'Locator': slot, 'Serial Number': serial, 'Size': '8 GB'}
            )
        return part.read(
            {},
            {
                'extra': {'memory': banks},
                'dmi': {'memory': {'devices': devices}},
            },
            'agent',
        )

    def changes(self, *reports):
        known = part.NOTHING
        for report in reports:
            comparison = part_difference.PartComparison(known, report)
            known = comparison.known()
        return [
            (change.what, change.as_dict()['id'])
            for change in comparison.changes
        ]

    def test_a_part_that_is_gone_has_not_moved(self):
        modules = {'A': 'AB01', 'B': 'AB02'}
        self.assertEqual(
            [('gone', 'AB01')],
            self.changes(
                self.read({'A': 'AB01'}, modules),
                self.read({'A': None}, modules),
                self.read({'B': None}, {'B': 'AB02'}),
            ),
        )

    def test_a_part_that_stays_has_not_moved(self):
        modules = {'A': 'AB01', 'B': 'AB02'}
        self.assertEqual(
            [],
            self.changes(
                self.read({'A': 'AB01'}, modules),
                self.read({'A': None}, modules),
                self.read({'B': None}, modules),
            ),
        )
