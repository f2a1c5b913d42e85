# SPDX-License-Identifier: Apache-2.0

"""Conditions that compare values; the corpus has what they mean."""

import hypothesis
from hypothesis import strategies as st

from ironic_inspection_rules.conditions import comparison
from ironic_inspection_rules.engine import budget
from ironic_inspection_rules.tests.unit import base
from ironic_inspection_rules.tests.unit.engine import fuzz


class AsNumberTestCase(base.TestCase):

    def test_what_reads_as_a_number(self):
        for text, number in (('8', 8), (' -8 ', -8), ('+8', 8), ('08', 8),
                             ('1.5', 1.5), ('.5', 0.5), ('5.', 5.0),
                             ('1e3', 1000.0), ('-1.5E-1', -0.15)):
            found = comparison.as_number(text)
            self.assertEqual((number, type(number)), (found, type(found)))

    def test_what_does_not(self):
        for text in ('', ' ', 'eight', '0x8', '1_000', '1,5', 'nan', 'inf',
                     '-', '.', 'e5', '8 8', '٨', '1' * 301):
            self.assertIsNone(comparison.as_number(text), text)


class ComparisonTestCase(base.TestCase):

    @fuzz.settings
    @hypothesis.given(st.lists(fuzz.json_values, max_size=4))
    def test_any_values_can_be_compared(self, values):
        for condition in (comparison.Equal, comparison.NotEqual,
                          comparison.Less, comparison.LessOrEqual,
                          comparison.Greater, comparison.GreaterOrEqual):
            for force_strings in (False, True):
                self.assertIsInstance(
                    condition()(*values, force_strings=force_strings), bool)

    def test_whole_numbers_of_any_length_are_told_apart(self):
        for number in (10 ** 16, 2 ** 64, 10 ** 200):
            for other in (number + 1, str(number + 1)):
                self.assertFalse(comparison.Equal()(number, other))
                self.assertTrue(comparison.NotEqual()(number, other))
                self.assertTrue(comparison.Less()(number, other))
                self.assertFalse(comparison.Greater()(number, other))
                self.assertFalse(comparison.GreaterOrEqual()(number, other))
                self.assertFalse(comparison.OneOf()(
                    budget.UNLIMITED, number, [other]))

    @fuzz.settings
    @hypothesis.given(st.integers(), st.integers())
    def test_digits_compare_as_their_number(self, one, other):
        for condition in (comparison.Equal, comparison.Less,
                          comparison.GreaterOrEqual):
            self.assertEqual(condition()(one, other),
                             condition()(str(one), other))
            self.assertEqual(condition()(one, other),
                             condition()(one, str(other)))


class OneOfTestCase(base.TestCase):

    @fuzz.settings
    @hypothesis.given(fuzz.json_values, st.lists(fuzz.json_values))
    def test_a_value_is_one_of_a_list_that_holds_it(self, value, values):
        hypothesis.assume('nan' not in repr(value))
        self.assertTrue(comparison.OneOf()(
            budget.UNLIMITED, value, [*values, value]))
