# SPDX-License-Identifier: Apache-2.0

"""Swapped parts of generated machines."""

import copy
import os
import random

from ironic_inspection_rules.machine import part
from ironic_inspection_rules.machine import part_difference
from ironic_inspection_rules.machine import part_identity
from ironic_inspection_rules.tests.unit import base

SWAPS = int(os.environ.get('IR_SWAPS', '50'))
"""2,000 with ``make swaps``."""


class Fleet:
    """Machines made by chance, and what happens to them."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.made = 0

    def serial(self):
        self.made += 1
        return f'SN{self.made:06d}{self.random.randrange(16**4):04X}'

    def disk(self, slot):
        return {
            'serial': self.serial(),
            'by_path': f'/dev/disk/{slot}',
            'wwn': f'0x5000{self.random.randrange(16**12):012x}',
            'size': 960 << 30,
            'model': 'MZ7',
        }

    def interface(self, slot):
        self.made += 1
        return {
            'mac_address': '02:00:' + self.made.to_bytes(4, 'big').hex(':'),
            'vendor': '0x8086',
            'product': '0x1572',
            'pci_address': f'0000:{slot:02x}:00.0',
            'speed_mbps': self.random.choice((1000, 25000)),
        }

    def dimm(self, slot):
        return {
            'serial': self.serial(),
            'slot': f'DIMM_A{slot}',
            'size': 64 << 30,
        }

    def machine(self):
        data = {
            'inventory': {
                'disks': [
                    self.disk(slot)
                    for slot in range(self.random.randrange(1, 12))
                ],
                'interfaces': [
                    self.interface(slot)
                    for slot in range(self.random.randrange(1, 8))
                ],
                'cpu': {
                    'model_name': 'Xeon',
                    'count': 64,
                    'frequency': '2000',
                },
                'system_vendor': {
                    'serial_number': self.serial(),
                    'manufacturer': 'D',
                    'firmware': {'version': '1.2', 'vendor': 'D'},
                },
            },
            'plugin_data': {
                'dimms': [self.dimm(slot) for slot in range(16)],
                'pci_devices': [
                    {
                        'vendor_id': '10de',
                        'product_id': '2330',
                        'class': '030200',
                        'bus': f'0000:{bus:02x}:00.0',
                    }
                    for bus in range(8)
                ],
            },
        }
        return data

    def boot(self, machine):
        """Start it again: kernel names and the order are others."""
        machine = copy.deepcopy(machine)
        for parts, name in (
            (machine['inventory'].get('disks'), 'sd'),
            (machine['inventory'].get('interfaces'), 'eth'),
        ):
            if parts:
                self.random.shuffle(parts)
                for number, each in enumerate(parts):
                    each['name'] = f'{name}{number}'
                    each['has_carrier'] = self.random.random() < 0.5
        cpu = machine['inventory'].get('cpu')
        if cpu:
            cpu['frequency'] = str(self.random.random())
        return machine

    def swap(self, machine):
        """Replace a part.

        :returns: the machine, and kind and identities of the parts.
        """
        machine = copy.deepcopy(machine)
        kind, parts, identity, make = self.random.choice(
            (
                ('disk', machine['inventory']['disks'], 'wwn', self.disk),
                (
                    'interface',
                    machine['inventory']['interfaces'],
                    'mac_address',
                    self.interface,
                ),
                ('dimm', machine['plugin_data']['dimms'], 'serial', self.dimm),
            )
        )
        place = self.random.randrange(len(parts))
        gone, parts[place] = parts[place], make(place)
        return machine, (kind, gone[identity], parts[place][identity])

    def hide(self, machine):
        """Leave out what another source would not report."""
        machine = copy.deepcopy(machine)
        where = self.random.choice(
            (
                ('inventory', 'disks'),
                ('inventory', 'interfaces'),
                ('inventory', 'cpu'),
                ('inventory', 'system_vendor'),
                ('plugin_data', 'dimms'),
                ('plugin_data', 'pci_devices'),
            )
        )
        del machine[where[0]][where[1]]
        return machine


def read(machine, reporter='agent'):
    return part.read(machine['inventory'], machine['plugin_data'], reporter)


def told(before, after):
    return sorted(
        (
            (
                change.what,
                change.before and change.before.label,
                change.after and change.after.label,
            )
            for change in part_difference.between(before, after)
        ),
        key=str,
    )


class SwapTestCase(base.TestCase):
    def test_each_swap_is_found_and_nothing_else(self):
        for seed in range(SWAPS):
            fleet = Fleet(seed)
            before = fleet.boot(fleet.machine())
            after, (_kind, gone, new) = fleet.swap(before)

            self.assertEqual(
                [('gone', gone, None), ('new', None, new)],
                told(read(before), read(fleet.boot(after))),
                seed,
            )

    def test_what_is_not_reported_has_not_gone(self):
        for seed in range(SWAPS):
            fleet = Fleet(seed)
            before = fleet.machine()
            changes = told(read(before), read(fleet.hide(fleet.boot(before))))

            self.assertEqual(
                {'unreported'}, {what for what, _old, _new in changes}, seed
            )

    def test_a_swap_between_two_that_do_not_report_is_found(self):
        for seed in range(SWAPS):
            fleet = Fleet(seed)
            before = fleet.machine()
            known = part_difference.PartComparison(
                read(before), read(fleet.hide(fleet.boot(before)))
            ).known()
            after, (_kind, gone, new) = fleet.swap(before)

            self.assertEqual(
                [('gone', gone, None), ('new', None, new)],
                told(known, read(fleet.boot(after))),
                seed,
            )

    def test_another_source_with_fewer_parts_makes_none_gone(self):
        for seed in range(30):
            fleet = Fleet(seed)
            before = fleet.machine()
            after = fleet.hide(fleet.boot(before))
            for name in ('disks', 'interfaces'):
                del after['inventory'].get(name, [])[1:]

            self.assertNotIn(
                'gone',
                {
                    what
                    for what, _old, _new in told(
                        read(before), read(after, 'redfish')
                    )
                },
                seed,
            )


class ChangeTestCase(base.TestCase):
    def of(self, before, after, kind='disks'):
        return told(
            *(part.read({kind: each}, {}, 'agent') for each in (before, after))
        )

    def test_a_part_in_another_slot_has_moved(self):
        self.assertEqual(
            ['moved'],
            [
                each[0]
                for each in self.of(
                    [{'serial': 'A123', 'by_path': 'one'}],
                    [{'serial': 'a123 ', 'by_path': 'two'}],
                )
            ],
        )

    def test_a_part_that_is_not_identified_any_more_has_not_moved(self):
        self.assertEqual(
            [('unreported', 'S1', '')],
            self.of(
                [{'serial': 'S1', 'by_path': 'one', 'size': 1}],
                [{'by_path': 'two', 'size': 1}],
            ),
        )

    def test_a_part_does_not_keep_an_identity_that_a_new_part_has(self):
        known = part.NOTHING
        for disks in (
            [{'serial': 'S1', 'wwn': '0x5001', 'size': 1}],
            [{'wwn': '0x5001', 'size': 1}, {'serial': 'S1', 'size': 1}],
        ):
            known = part_difference.PartComparison(
                known, part.read({'disks': disks}, {}, 'agent')
            ).known()

        self.assertEqual(
            [('5001',), ('s1',)], sorted(each.ids for each in known.parts)
        )

    def test_a_part_that_is_otherwise_has_changed(self):
        self.assertEqual(
            [('changed', 'system firmware', 'system firmware')],
            self.of(
                {'firmware': {'version': '1'}},
                {'firmware': {'version': '2'}},
                'system_vendor',
            ),
        )

    def test_placeholders_are_no_identities(self):
        for name in ('To Be Filled By O.E.M.', '0000000', 'N/A', ' '):
            parts = part.read(
                {'disks': [{'serial': name, 'size': 1}]}, {}, 'agent'
            ).parts
            self.assertEqual([()], [each.ids for each in parts], name)

    def test_an_identity_of_two_parts_is_none(self):
        parts = part.read(
            {
                'disks': [
                    {'serial': 'AB12', 'size': 1},
                    {'serial': 'AB12', 'size': 2},
                ]
            },
            {},
            'agent',
        ).parts
        self.assertEqual([(), ()], [each.ids for each in parts])

    def test_parts_without_an_identity_are_counted(self):
        disk = {'size': 1, 'model': 'virtual'}
        self.assertEqual([('gone', '', None)], self.of([disk] * 3, [disk] * 2))

    def test_another_make_is_another_part_with_or_without_identity(self):
        plain = {'size': 100, 'model': 'a'}
        other = {'size': 480, 'model': 'b', 'serial': 'S1'}

        self.assertEqual(
            [('gone', None), ('new', 's1')], self.of_disks([plain], [other])
        )
        self.assertEqual(
            [('gone', 's1'), ('new', None)], self.of_disks([other], [plain])
        )
        # What a missing collector does not tell is no other make.
        self.assertEqual(
            [('unreported', 's1')], self.of_disks([other], [{'size': 480}])
        )
        self.assertEqual(
            [('unreported', 's1')], self.of_disks([{'size': 480}], [other])
        )

    def test_an_identity_is_known_from_its_first_report_on(self):
        plain, named = ({'size': 1}, {'size': 1, 'serial': 'S1'})
        known = part.NOTHING
        for disk in (plain, named, plain):
            known = part_difference.PartComparison(
                known, part.read({'disks': [disk]}, {}, 'agent')
            ).known()

        self.assertEqual([('s1',)], [each.ids for each in known.parts])

    def test_an_identity_that_a_source_withholds_stays_with_its_part(self):
        drives = [{'drives': [{'serial_number': 'S1', 'size': 1}]}]
        known = part.NOTHING
        for serial in ('S1', None):
            known = part_difference.PartComparison(
                known,
                part.read(
                    {
                        'disks': [{'serial': serial, 'size': 1}],
                        'storage_controllers': drives,
                    },
                    {},
                    'redfish',
                ),
            ).known()
        after = part.read(
            {
                'disks': [
                    {'serial': 'S0', 'size': 1},
                    {'serial': 'S1', 'size': 1},
                ],
                'storage_controllers': drives,
            },
            {},
            'redfish',
        )

        self.assertEqual([('new', None, 'S0')], told(known, after))

    def of_disks(self, before, after):
        changes = part_difference.between(
            *(
                part.read({'disks': disks}, {}, 'agent')
                for disks in (before, after)
            )
        )
        return [
            (
                each.what,
                next(
                    iter(
                        (each.before or each.after).ids
                        or (each.after or each.before).ids
                    ),
                    None,
                ),
            )
            for each in changes
        ]

    def test_thousands_without_an_identity_are_not_all_compared(self):
        looked_at = []

        class Size(int):
            def __eq__(self, other):
                looked_at.append(other)
                return int(self) == other

            __hash__ = int.__hash__

        count = 2000
        plain, named = (
            [
                part.Part(
                    'disk',
                    (f's{number}',) * identified,
                    'x',
                    None,
                    {'size': Size(number + identified * count)},
                    'agent',
                )
                for number in range(count)
            ]
            for identified in (False, True)
        )
        for before, after in ((plain, named), (named, plain)):
            looked_at.clear()
            changes = part_difference.between(
                *(
                    part.Parts(tuple(parts), {'agent': None})
                    for parts in (before, after)
                )
            )
            self.assertEqual(2 * count, len(changes))
            self.assertLess(0, len(looked_at), (before, after))
            self.assertLess(len(looked_at), 100 * count, (before, after))

    def test_what_identifies_a_part_may_be_written_otherwise(self):
        for one, other in (
            ('0x5000C500', '5000c500'),
            ('AA-BB-CC-DD-EE-F0', 'aa:bb:cc:dd:ee:f0'),
        ):
            self.assertEqual(
                part_identity.normalise(one), part_identity.normalise(other)
            )

    def test_parts_are_the_same_after_they_were_stored(self):
        found = read(Fleet(1).machine())
        self.assertEqual(found, part.Parts.from_dict(found.as_dict()))

    def test_inventories_of_strangers_are_read(self):
        for odd in (
            None,
            [],
            {},
            'x',
            3,
            [None],
            [[]],
            {'a': None},
            [{'serial': []}],
            [{'serial': {'a': 1}, 'size': []}],
        ):
            for name in (
                'disks',
                'interfaces',
                'cpu',
                'system_vendor',
                'storage_controllers',
                'dimms',
            ):
                part.read(
                    {name: odd}, {'pci_devices': odd, 'extra': odd}, 'agent'
                )
