# SPDX-License-Identifier: Apache-2.0

import os_traits

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.language import trait_names
from ironic_inspection_rules.tests.unit import base


class ProblemTestCase(base.TestCase):
    def test_a_name_of_nothing_that_is_known_was_to_be_a_custom_one(self):
        for name, meant in (
            ('lower-case', 'CUSTOM_LOWER_CASE'),
            ('gpu', 'CUSTOM_GPU'),
            ('HW_CPU_X86_VMXX', 'HW_CPU_X86_VMX'),
        ):
            self.assertIn(
                f'did you mean "{meant}"?', trait_names.find_problem(name)
            )
        for name in ('', '-', 'CUSTOM_', 'x' * 250):
            self.assertNotIn('did you mean', trait_names.find_problem(name))

    def test_a_name_that_capitals_make_too_long_is_not_meant(self):
        name = 'custom_' + 'ß' * 200

        self.assertNotIn('did you mean', trait_names.find_problem(name))

    def test_standard_and_custom_names_are_good(self):
        for name in (
            os_traits.HW_CPU_X86_VMX,
            'CUSTOM_A',
            'CUSTOM_1_B',
            'CUSTOM__',
            'CUSTOM_' + 'A' * 248,
        ):
            self.assertIsNone(trait_names.find_problem(name), name)

    def test_anything_else_is_refused_by_name(self):
        for name in (
            '',
            'CUSTOM_',
            'custom_a',
            'CUSTOM_a',
            'CUSTOM-A',
            'CUSTOM_A ',
            ' CUSTOM_A',
            'CUSTOM_A\n',
            'CUSTOM_É',
            'CUSTOM_٣',
            'HW_CPU_X86_NOT_A_CPU',
            'THIS_NAME',
        ):
            self.assertIn(f"'{name}'", trait_names.find_problem(name))

    def test_a_long_name_is_refused_with_its_length(self):
        self.assertIn(
            'has 256', trait_names.find_problem('CUSTOM_' + 'A' * 249)
        )

    def test_what_is_no_string_is_refused(self):
        for name in (None, 5, True, ['CUSTOM_A'], {'CUSTOM_A': 1}):
            self.assertIn('must be a string', trait_names.find_problem(name))


class ValidateTestCase(base.TestCase):
    def test_good_names_pass(self):
        trait_names.validate([])
        trait_names.validate(['CUSTOM_A', 'HW_CPU_X86_VMX'])

    def test_every_bad_name_is_named(self):
        error = self.assertRaises(
            exceptions.Invalid,
            trait_names.validate,
            ['CUSTOM_A', 'bad', 'worse'],
        )
        self.assertIn("'bad'", str(error))
        self.assertIn("'worse'", str(error))
        self.assertNotIn('CUSTOM_A', str(error))


class ValidateCountTestCase(base.TestCase):
    many = [f'CUSTOM_{number}' for number in range(trait_names.MAX_TRAITS)]

    def test_a_full_node_passes_and_duplicates_count_once(self):
        trait_names.validate_count_of_node(self.many + self.many)

    def test_one_too_many_is_refused(self):
        error = self.assertRaises(
            exceptions.Invalid,
            trait_names.validate_count_of_node,
            [*self.many, 'CUSTOM_A'],
        )
        self.assertIn('50', str(error))
        self.assertIn('51', str(error))
