# SPDX-License-Identifier: Apache-2.0

"""What flavors ask bare metal for."""

from ironic_inspection_rules.kit.trial.fleet import flavor
from ironic_inspection_rules.tests.unit import base

GOLD = {'resources:CUSTOM_GOLD': '1'}


class FlavorTestCase(base.TestCase):
    def fits(self, specs, resource_class='CUSTOM_GOLD', traits=()):
        return flavor.parse('f', specs).fits(resource_class, frozenset(traits))

    def assert_problem(self, text, specs, **sizes):
        read = flavor.parse('f', specs, **sizes)
        self.assertIn(text, read.problem)
        self.assertFalse(read.fits('CUSTOM_GOLD', frozenset()))

    def test_class_and_traits_decide(self):
        specs = {
            **GOLD,
            'resources:VCPU': '0',
            'trait:CUSTOM_A': 'required',
            'trait:CUSTOM_B': 'forbidden',
        }
        self.assertTrue(self.fits(specs, traits=['CUSTOM_A', 'CUSTOM_C']))
        self.assertFalse(self.fits(specs, traits=[]))
        self.assertFalse(self.fits(specs, traits=['CUSTOM_A', 'CUSTOM_B']))
        self.assertFalse(self.fits(specs, 'CUSTOM_SILVER', ['CUSTOM_A']))
        self.assertFalse(self.fits(specs, None, ['CUSTOM_A']))

    def test_numbers_of_json_and_yaml_are_as_good_as_text(self):
        self.assertTrue(
            self.fits({'resources:CUSTOM_GOLD': 1, 'resources:MEMORY_MB': 0})
        )

    def test_a_group_with_a_name_is_asked_of_the_same_node(self):
        specs = {
            'resources1:CUSTOM_GOLD': '1',
            'trait1:CUSTOM_A': 'required',
            'resources2:VCPU': '0',
        }
        self.assertTrue(self.fits(specs, traits=['CUSTOM_A']))
        self.assertFalse(self.fits(specs))

    def test_no_node_has_two_resources(self):
        for specs in (
            {**GOLD, 'resources:CUSTOM_SILVER': '1'},
            {**GOLD, 'resources1:CUSTOM_GOLD': '1'},
            {'resources:CUSTOM_GOLD': '2'},
        ):
            self.assert_problem('a node has one resource class', specs)

    def test_traits_go_with_resources(self):
        self.assert_problem('trait1:', {**GOLD, 'trait1:CUSTOM_A': 'required'})

    def test_what_only_virtual_machines_have_is_named(self):
        for sizes in ({'vcpus': 4}, {'ram': 4}, {'disk': 4}):
            self.assert_problem('set resources:', GOLD, **sizes)
        self.assertIsNone(
            flavor.parse(
                'f',
                {
                    **GOLD,
                    'resources:VCPU': '0',
                    'resources:MEMORY_MB': '0',
                    'resources:DISK_GB': '0',
                },
                4,
                4,
                4,
            ).problem
        )
        self.assert_problem('no custom resource class', {}, vcpus=4)
        self.assertFalse(flavor.asks_for_bare_metal({'resources:VCPU': '1'}))
        self.assertTrue(flavor.asks_for_bare_metal(GOLD))

    def test_what_placement_is_not_asked_for_is_named(self):
        ignored = {
            'capabilities:boot_mode': 'uefi',
            'trait:CUSTOM_A': 'ok',
            'resources:CUSTOM_B': 'x',
            'resources:CUSTOM_C': '-1',
        }
        read = flavor.parse('f', {**GOLD, 'group_policy': 'none', **ignored})
        self.assertEqual(tuple(ignored), read.ignored)
        self.assertTrue(read.fits('CUSTOM_GOLD', frozenset()))

    def test_classes_are_normalized_as_nova_does(self):
        for name, expected in (
            ('gold', 'CUSTOM_GOLD'),
            ('', None),
            ('bm -- v1.2', 'CUSTOM_BM_V1_2'),
            (None, None),
            ('straße', 'CUSTOM_STRA_E'),
        ):
            self.assertEqual(expected, flavor.normalize(name))
