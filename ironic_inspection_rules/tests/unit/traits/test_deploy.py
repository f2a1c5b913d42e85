# SPDX-License-Identifier: Apache-2.0

from ironic_inspection_rules.tests.unit import base
from ironic_inspection_rules.traits import deploy

PRESENT = ['CUSTOM_A', 'CUSTOM_B']


class ProblemTestCase(base.TestCase):
    def test_a_subset_is_good(self):
        for wanted in (
            None,
            [],
            ['CUSTOM_A'],
            ['CUSTOM_B', 'CUSTOM_A'],
            ['CUSTOM_A', 'CUSTOM_A'],
        ):
            self.assertIsNone(deploy.find_problem(wanted, PRESENT), wanted)

    def test_missing_ones_are_named(self):
        found = deploy.find_problem(
            ['CUSTOM_Z', 'CUSTOM_A', 'HW_CPU_X86_VMX', 'CUSTOM_Z'], PRESENT
        )
        self.assertTrue(found.endswith(': CUSTOM_Z, HW_CPU_X86_VMX'), found)

    def test_what_is_no_list_is_refused(self):
        for wanted, words in (
            ('CUSTOM_A', '"CUSTOM_A"'),
            ('', '""'),
            ({}, 'a mapping'),
            ({'CUSTOM_A': True}, 'a mapping'),
            (0, '0'),
            (False, 'false'),
            (7, '7'),
        ):
            found = deploy.find_problem(wanted, PRESENT)
            self.assertIn('must be a list', found)
            self.assertTrue(found.endswith(f', not {words}'), found)

    def test_badly_formed_names_are_told_from_missing_ones(self):
        found = deploy.find_problem(
            ['custom_a', None, ['x'], 'CUSTOM_Z'], PRESENT
        )
        self.assertIn("'custom_a' is not the name of a trait", found)
        self.assertIn('must be a string, not null', found)
        self.assertIn('must be a string, not a list', found)
        self.assertTrue(found.endswith(': CUSTOM_Z'), found)

    def test_a_name_that_the_node_has_is_never_badly_formed(self):
        self.assertIsNone(deploy.find_problem(['HW_NEW'], ['HW_NEW']))
