# SPDX-License-Identifier: Apache-2.0

"""Several machines make ranges, and tolerance makes them wider."""

import copy

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.kit.machine.profile import component
from ironic_inspection_rules.tests.unit.kit.machine.profile import machines


class RangeTestCase(machines.ProfileTestCase):
    def test_each_of_the_machines_is_accepted(self):
        found = machines.samples()
        plans = self.plans(*found)
        for one, other in zip(found, found[1:], strict=False):
            plans = self.plans(one, other)
            self.assertEqual([], self.differences(plans, one))
            self.assertEqual([], self.differences(plans, other))

    def test_counts_sizes_and_models_make_ranges(self):
        other = copy.deepcopy(machines.SERVER)
        other.inventory['memory']['physical_mb'] = 262144
        other.inventory['cpu']['model_name'] = 'EPYC'
        other.inventory['disks'][:4] = [
            {**machines.SSD, 'model': 'B', 'size': 960197124096}
            for _number in range(6)
        ]
        plans = self.plans(machines.SERVER, other)
        self.assertEqual([], self.differences(plans, machines.SERVER))
        self.assertEqual([], self.differences(plans, other))
        between = copy.deepcopy(other)
        between.inventory['memory']['physical_mb'] = 200000
        between.inventory['disks'].pop(0)
        self.assertEqual([], self.differences(plans, between))
        beyond = copy.deepcopy(other)
        beyond.inventory['memory']['physical_mb'] = 131072
        beyond.inventory['cpu']['model_name'] = 'Other'
        beyond.inventory['disks'][0]['size'] = 240057409536
        self.assertEqual(
            [
                'processors: model Other, not Xeon {6230} or EPYC',
                'memory: 131072 MiB, not 196608 to 262144 MiB',
                'disks: not all are expected, there are rotational False, '
                'True and size 240057409536, 960197124096, 4000787030016 and '
                'vendor ATA and model B, ST4000',
            ],
            self.differences(plans, beyond),
        )

    def test_what_one_machine_does_not_tell_is_not_compared(self):
        other = copy.deepcopy(machines.SERVER)
        del other.inventory['memory'], other.inventory['disks']
        plans = self.plans(machines.SERVER, other)
        other.inventory['memory'] = {'physical_mb': 1}
        self.assertEqual([], self.differences(plans, other))

    def test_tolerance_widens_sizes_and_counts(self):
        plans = self.plans(
            machines.SERVER,
            tolerated=['memory=5%', 'disks=1%', 'disks=1', 'processors=10%'],
        )
        other = copy.deepcopy(machines.SERVER)
        other.inventory['memory']['physical_mb'] = 190000
        other.inventory['cpu']['count'] = 72
        other.inventory['disks'][0]['size'] += 10**9
        other.inventory['disks'].pop(1)
        self.assertEqual([], self.differences(plans, other))
        other.inventory['memory']['physical_mb'] = 180000
        other.inventory['cpu']['count'] = 71
        other.inventory['disks'].pop(1)
        self.assertEqual(
            {'memory', 'processors', 'disks'}, self.components(plans, other)
        )

    def test_sizes_that_tolerance_makes_one_are_counted_once(self):
        first = copy.deepcopy(machines.SERVER)
        first.inventory['disks'][0]['size'] = 500107862016
        plans = self.plans(first, tolerated=['disks=5%'])
        first.inventory['disks'].pop(0)
        (text,) = self.differences(plans, first)
        self.assertIn('3 of 4 × SSD 480 GB to 500 GB', text)

    def test_sizes_that_are_shown_alike_have_rules_of_their_own(self):
        first = copy.deepcopy(machines.SERVER)
        first.inventory['disks'][0]['size'] += 4096
        descriptions = [
            rule['description'] for rule in self.write_rules(first)
        ]
        self.assertEqual(len(descriptions), len(set(descriptions)))
        self.assertEqual([], self.differences(self.plans(first), first))

    def test_a_share_of_disks_is_one_of_their_size(self):
        tolerated = component.parse_tolerance(['disks=50%', 'interfaces=50%'])
        self.assertEqual((2, 2), tolerated.widen_counts('disks', 2, 2))
        self.assertEqual((1, 3), tolerated.widen_counts('interfaces', 2, 2))
        self.assertEqual((50, 150), tolerated.widen_sizes('disks', 100, 100))

    def test_a_share_is_rounded_down_but_not_by_the_computer(self):
        tolerated = component.parse_tolerance(['disks=29%', 'processors=10%'])
        self.assertEqual((71, 129), tolerated.widen_sizes('disks', 100, 100))
        self.assertEqual((9, 9), tolerated.widen_counts('processors', 9, 9))
        self.assertEqual(
            (18, 88), tolerated.widen_counts('processors', 20, 80)
        )

    def test_a_tolerance_that_is_none_is_refused(self):
        for text in (
            'memory',
            'memory=x',
            'fans=1',
            'disks=1.5',
            '=1%',
            'disks=1_0',
            'disks=\u0661',
        ):
            self.assertRaisesRegex(
                exceptions.Invalid,
                'tolerance',
                component.parse_tolerance,
                [text],
            )
