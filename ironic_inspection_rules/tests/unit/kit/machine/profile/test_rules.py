# SPDX-License-Identifier: Apache-2.0

"""Rules made from good machines tell what is different about others."""

import copy
import json
import random

from ironic_inspection_rules.engine.run import evaluation
from ironic_inspection_rules.engine.run import working_copy
from ironic_inspection_rules.kit.authoring import lint
from ironic_inspection_rules.kit.machine.profile import rules
from ironic_inspection_rules.tests.unit.kit.machine.profile import machines

SERVER = machines.SERVER

LISTS = {
    'disks': ('model', 'size'),
    'interfaces': ('product', 'speed_mbps'),
    'pci-devices': ('product_id', None),
    'accelerators': ('product_id', None),
}
VALUES = {
    'system': ('system_vendor', 'product_name'),
    'processors': ('cpu', 'model_name'),
    'memory': ('memory', 'physical_mb'),
}


def is_accelerator(item):
    return str(item.get('class')).startswith('0302')


def listed(each, component):
    """The whole list, and the places in it that are of the component."""
    if component in ('disks', 'interfaces'):
        items = each.inventory.get(component)
    else:
        items = each.plugin_data.get(
            'pci_devices', each.inventory.get('pci_devices')
        )
    return items, [
        place
        for place, item in enumerate(items or [])
        if component in ('disks', 'interfaces')
        or is_accelerator(item) == (component == 'accelerators')
    ]


class MutationTestCase(machines.ProfileTestCase):
    _plans = {}

    def plans_of(self, each):
        """Return the rules of one sample, which all tests share."""
        if id(each) not in self._plans:
            self._plans[id(each)] = self.plans(each)
        return self._plans[id(each)]

    def each_changed(self, each, component, change):
        """Change a copy of a machine at each place of a component."""
        for place in listed(each, component)[1]:
            other = copy.deepcopy(each)
            items = listed(other, component)[0]
            if change(items, place) is not False:
                yield other

    def assert_told(self, component, change):
        tried = 0
        for each in machines.samples():
            plans = self.plans_of(each)
            for other in self.each_changed(each, component, change):
                self.assertEqual(
                    {component},
                    self.components(plans, other),
                    (each.inventory, component),
                )
                tried += 1
        self.assertGreater(tried, 0)

    def test_a_part_that_is_gone_is_told(self):
        for component in LISTS:
            self.assert_told(component, lambda items, place: items.pop(place))

    def test_one_more_part_is_told(self):
        for component in LISTS:
            self.assert_told(
                component,
                lambda items, place: items.append(
                    {**items[place], 'serial': 'new'}
                ),
            )

    def test_another_part_is_told(self):
        for component, (name, _size) in LISTS.items():
            self.assert_told(
                component,
                lambda items, place, name=name: (
                    items[place].update({name: 'another'})
                    if items[place].get(name)
                    else False
                ),
            )

    def test_a_part_that_was_never_seen_is_told_by_what_it_is(self):
        other = copy.deepcopy(SERVER)
        other.inventory['disks'].append({**machines.SSD, 'model': 'Alien'})
        (text,) = self.differences(self.plans_of(SERVER), other)
        self.assertEqual(
            'disks: not all are expected, there are rotational False, True '
            'and size 480103981056, 4000787030016 and vendor ATA '
            "and model SSD {a} 'b' \\c, "
            'ST4000, Alien',
            text,
        )

    def test_another_size_is_told(self):
        for component, (_name, size) in LISTS.items():
            if size:
                self.assert_told(
                    component,
                    lambda items, place, size=size: (
                        items[place].update({size: items[place][size] * 2})
                        if items[place].get(size)
                        else False
                    ),
                )

    def test_a_size_is_told_as_it_is_sold(self):
        other = copy.deepcopy(SERVER)
        other.inventory['disks'].pop(0)
        self.assertEqual(
            ["disks: 3 of 4 × SSD 480 GB ATA SSD {a} 'b' \\c"],
            self.differences(self.plans_of(SERVER), other),
        )

    def test_values_that_differ_are_told(self):
        for each in machines.samples():
            plans = self.plans_of(each)
            for component, (place, name) in VALUES.items():
                value = (each.inventory.get(place) or {}).get(name)
                for new in (None, 'another', 3):
                    other = copy.deepcopy(each)
                    if value:
                        other.inventory[place][name] = new
                    self.assertEqual(
                        {component} if value else set(),
                        self.components(plans, other),
                    )

    def test_a_component_that_is_gone_is_told(self):
        for place, component in (
            ('cpu', 'processors'),
            ('memory', 'memory'),
            ('disks', 'disks'),
            ('interfaces', 'interfaces'),
        ):
            for value in (None, ...):
                other = copy.deepcopy(SERVER)
                if value is ...:
                    del other.inventory[place]
                else:
                    other.inventory[place] = value
                self.assertEqual(
                    {component}, self.components(self.plans_of(SERVER), other)
                )
        self.assertEqual(
            {'pci-devices', 'accelerators'},
            self.components(
                self.plans_of(SERVER), working_copy.Facts(SERVER.inventory, {})
            ),
        )

    def test_firmware_is_told(self):
        other = copy.deepcopy(SERVER)
        other.inventory['system_vendor']['firmware']['version'] = '2.5'
        self.assertEqual(
            ['firmware: version 2.5, not 2.4.8'],
            self.differences(self.plans_of(SERVER), other),
        )

    def test_the_bios_that_a_collector_reports_is_told(self):
        for collector, bios in (
            (
                'extra',
                lambda version: {
                    'firmware': {'bios': {'vendor': 'D', 'version': version}}
                },
            ),
            (
                'dmi',
                lambda version: {'bios': {'Vendor': 'D', 'Version': version}},
            ),
        ):
            plans = self.plans(
                *(
                    working_copy.Facts({}, {collector: bios(version)})
                    for version in ('2.3.3', 3, 5)
                )
            )
            for version, differences in (
                ('2.3.3', []),
                (5, []),
                (4, ['firmware: BIOS version 4, not 2.3.3 or 3 or 5']),
                (
                    None,
                    ['firmware: BIOS version unknown, not 2.3.3 or 3 or 5'],
                ),
            ):
                other = working_copy.Facts({}, {collector: bios(version)})
                self.assertEqual(differences, self.differences(plans, other))

    def test_order_names_and_numbers_do_not_matter(self):
        shuffle = random.Random(1).shuffle
        for each in machines.samples():
            other = copy.deepcopy(each)
            for component in LISTS:
                items = listed(other, component)[0] or []
                shuffle(items)
                for item in items:
                    item.update(
                        {
                            name: 'x'
                            for name in (
                                'name',
                                'serial',
                                'wwn',
                                'hctl',
                                'by_path',
                                'bus',
                                'mac_address',
                                'ipv4_address',
                                'pci_address',
                                'biosdevname',
                            )
                            if name in item
                        }
                    )
            for place, name in (
                ('system_vendor', 'serial_number'),
                ('cpu', 'flags'),
                ('memory', 'total'),
            ):
                if isinstance(other.inventory.get(place), dict):
                    other.inventory[place][name] = 'x'
            self.assertEqual(
                [],
                self.differences(self.plans_of(each), other),
                each.inventory,
            )


class MismatchTestCase(machines.ProfileTestCase):
    def setUp(self):
        super().setUp()
        self.other = copy.deepcopy(SERVER)
        self.other.inventory['memory']['physical_mb'] = 1
        self.other.inventory['cpu']['count'] = 1

    def test_a_trait_says_that_it_differs(self):
        plans = self.plans(SERVER, on_mismatch=rules.TRAIT)
        outcome = self.evaluate(plans, self.other)
        self.assertIsNone(outcome.error)
        self.assertEqual(
            [('add', '/CUSTOM_GOOD_ONE_X_MISMATCH')],
            [
                (each.op, each.path)
                for each in outcome.changes
                if each.object == working_copy.TRAITS
            ],
        )
        self.assertEqual(
            ['processors: count 1, not 80', 'memory: 1 MiB, not 196608 MiB'],
            [
                each.value
                for each in outcome.changes
                if each.path.startswith('/profiles/good_one_x/')
            ],
        )

    def test_the_trait_goes_when_nothing_differs(self):
        outcome = evaluation.evaluate(
            self.plans(SERVER, on_mismatch=rules.TRAIT),
            working_copy.Facts(
                SERVER.inventory,
                SERVER.plugin_data,
                {'traits': ['CUSTOM_GOOD_ONE_X_MISMATCH']},
            ),
        )
        self.assertIn(
            ('remove', '/CUSTOM_GOOD_ONE_X_MISMATCH'),
            [(each.op, each.path) for each in outcome.changes],
        )

    def test_audit_records_each_difference_and_does_nothing(self):
        outcome = self.evaluate(
            self.plans(SERVER, on_mismatch=rules.AUDIT), self.other
        )
        self.assertEqual((None, ()), (outcome.error, outcome.changes))
        self.assertEqual(
            ['processors: count 1, not 80', 'memory: 1 MiB, not 196608 MiB'],
            [each.error.partition('fail: ')[2] for each in outcome.audited],
        )

    def test_what_an_earlier_run_noted_is_forgotten(self):
        each = working_copy.Facts(
            SERVER.inventory,
            {**SERVER.plugin_data, 'profiles': {'good_one_x': ['old']}},
        )
        self.assertEqual([], self.differences(self.plans(SERVER), each))

    def test_lint_finds_nothing(self):
        for each in machines.samples():
            for how in rules.ON_MISMATCH:
                path = self.write(
                    'rules.json',
                    json.dumps(
                        self.write_rules(
                            each,
                            on_mismatch=how,
                            tolerated=['disks=1%', 'memory=5%'],
                        )
                    ),
                )
                self.assertEqual(
                    [],
                    [
                        each
                        for each in lint.lint([path], self.ops)
                        if each.is_problem
                    ],
                )
