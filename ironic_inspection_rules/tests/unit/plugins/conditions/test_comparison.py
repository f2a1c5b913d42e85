# SPDX-License-Identifier: Apache-2.0

"""Conditions that compare values; the corpus has what they mean.

Versions compare as rpm compares them, which is asked itself.
"""

import ctypes
import functools
import random

import hypothesis
from hypothesis import strategies as st

from ironic_inspection_rules.engine.language import budget
from ironic_inspection_rules.plugins.conditions import comparison
from ironic_inspection_rules.tests.unit import base
from ironic_inspection_rules.tests.unit.engine import fuzz

_LIBRARIES = ('librpm.so.9', 'librpm.so.10', 'librpm.so.8')
_PARTS = (
    '0',
    '1',
    '2',
    '9',
    '10',
    '03',
    '00',
    'a',
    'b',
    'A',
    'rc',
    'el8',
    '~',
    '^',
    '.',
    '-',
    '_',
    '+',
    '..',
    'ä',
    '٣',
    ' ',
    '1' * 20,
)

# The vectors of rpm's own tests/rpmvercmp.at.
_KNOWN = """
1.0 1.0 0, 1.0 2.0 -1, 2.0 1.0 1, 2.0.1 2.0.1 0, 2.0 2.0.1 -1, 2.0.1 2.0 1,
2.0.1a 2.0.1a 0, 2.0.1a 2.0.1 1, 2.0.1 2.0.1a -1, 5.5p1 5.5p1 0,
5.5p1 5.5p2 -1, 5.5p2 5.5p1 1, 5.5p10 5.5p10 0, 5.5p1 5.5p10 -1,
5.5p10 5.5p1 1, 10xyz 10.1xyz -1, 10.1xyz 10xyz 1, xyz10 xyz10 0,
xyz10 xyz10.1 -1, xyz10.1 xyz10 1, xyz.4 xyz.4 0, xyz.4 8 -1, 8 xyz.4 1,
xyz.4 2 -1, 2 xyz.4 1, 5.5p2 5.6p1 -1, 5.6p1 5.5p2 1, 5.6p1 6.5p1 -1,
6.5p1 5.6p1 1, 6.0.rc1 6.0 1, 6.0 6.0.rc1 -1, 10b2 10a1 1, 10a2 10b2 -1,
1.0aa 1.0aa 0, 1.0a 1.0aa -1, 1.0aa 1.0a 1, 10.0001 10.0001 0,
10.0001 10.1 0, 10.1 10.0001 0, 10.0001 10.0039 -1, 10.0039 10.0001 1,
4.999.9 5.0 -1, 5.0 4.999.9 1, 20101121 20101121 0, 20101121 20101122 -1,
20101122 20101121 1, 2_0 2_0 0, 2.0 2_0 0, 2_0 2.0 0, a a 0, a+ a+ 0,
a+ a_ 0, a_ a+ 0, +a +a 0, +a _a 0, _a +a 0, +_ +_ 0, _+ +_ 0, _+ _+ 0,
+ _ 0, _ + 0, 1.0~rc1 1.0~rc1 0, 1.0~rc1 1.0 -1, 1.0 1.0~rc1 1,
1.0~rc1 1.0~rc2 -1, 1.0~rc2 1.0~rc1 1, 1.0~rc1~git123 1.0~rc1~git123 0,
1.0~rc1~git123 1.0~rc1 -1, 1.0~rc1 1.0~rc1~git123 1, 1.0^ 1.0^ 0,
1.0^ 1.0 1, 1.0 1.0^ -1, 1.0^git1 1.0^git1 0, 1.0^git1 1.0 1,
1.0 1.0^git1 -1, 1.0^git1 1.0^git2 -1, 1.0^git2 1.0^git1 1,
1.0^git1 1.01 -1, 1.01 1.0^git1 1, 1.0^20160101 1.0^20160101 0,
1.0^20160101 1.0.1 -1, 1.0.1 1.0^20160101 1,
1.0^20160101^git1 1.0^20160101^git1 0, 1.0^20160102 1.0^20160101^git1 1,
1.0^20160101^git1 1.0^20160102 -1, 1.0~rc1^git1 1.0~rc1^git1 0,
1.0~rc1^git1 1.0~rc1 1, 1.0~rc1 1.0~rc1^git1 -1, 1.0^git1~pre 1.0^git1~pre 0,
1.0^git1 1.0^git1~pre 1, 1.0^git1~pre 1.0^git1 -1
"""


def _compare(one, other):
    first, second = comparison.version_key(one), comparison.version_key(other)
    return (first > second) - (first < second)


class AsNumberTestCase(base.TestCase):
    def test_what_reads_as_a_number(self):
        for text, number in (
            ('8', 8),
            (' -8 ', -8),
            ('+8', 8),
            ('08', 8),
            ('1.5', 1.5),
            ('.5', 0.5),
            ('5.', 5.0),
            ('1e3', 1000.0),
            ('-1.5E-1', -0.15),
        ):
            found = comparison.as_number(text)
            self.assertEqual((number, type(number)), (found, type(found)))

    def test_what_does_not(self):
        for text in (
            '',
            ' ',
            'eight',
            '0x8',
            '1_000',
            '1,5',
            'nan',
            'inf',
            '-',
            '.',
            'e5',
            '8 8',
            '٨',
            '1' * 301,
        ):
            self.assertIsNone(comparison.as_number(text), text)


def free(condition):
    """Build a condition that costs nothing."""
    return functools.partial(condition, budget.UNLIMITED)


class ComparisonTestCase(base.TestCase):
    @fuzz.settings
    @hypothesis.given(st.lists(fuzz.json_values, max_size=4))
    def test_any_values_can_be_compared(self, values):
        for condition in (
            comparison.Equal,
            comparison.NotEqual,
            comparison.Less,
            comparison.LessOrEqual,
            comparison.Greater,
            comparison.GreaterOrEqual,
        ):
            for force_strings in (False, True):
                self.assertIsInstance(
                    free(condition())(*values, force_strings=force_strings),
                    bool,
                    (condition, force_strings),
                )

    def test_whole_numbers_of_any_length_are_told_apart(self):
        for number in (10**16, 2**64, 10**200):
            for other in (number + 1, str(number + 1)):
                for condition, holds in (
                    (comparison.Equal(), False),
                    (comparison.NotEqual(), True),
                    (comparison.Less(), True),
                    (comparison.Greater(), False),
                    (comparison.GreaterOrEqual(), False),
                ):
                    self.assertIs(holds, free(condition)(number, other))
                self.assertFalse(
                    comparison.OneOf()(number, [other]), (number, other)
                )

    def test_one_list_is_as_good_as_its_items(self):
        for condition, holds in (
            (free(comparison.Less()), True),
            (free(comparison.Greater()), False),
            (comparison.VersionLess(), True),
            (comparison.VersionGreater(), False),
        ):
            for values in (['1', '2'], ['1', '2', '3']):
                self.assertIs(holds, condition(values))
                self.assertIs(holds, condition(*values))
            self.assertFalse(condition(['1'], '2'), (condition, holds))
            self.assertFalse(condition('1', ['2']), (condition, holds))
            self.assertFalse(condition(['1'], ['2'], '3'), (condition, holds))
            for nothing in ([], ['1']):
                self.assertTrue(
                    condition(nothing), (condition, holds, nothing)
                )

    @fuzz.settings
    @hypothesis.given(st.integers(), st.integers())
    def test_digits_compare_as_their_number(self, one, other):
        for condition in (
            free(comparison.Equal()),
            free(comparison.Less()),
            free(comparison.GreaterOrEqual()),
        ):
            self.assertEqual(condition(one, other), condition(str(one), other))
            self.assertEqual(condition(one, other), condition(one, str(other)))


class OneOfTestCase(base.TestCase):
    @fuzz.settings
    @hypothesis.given(fuzz.json_values, st.lists(fuzz.json_values))
    def test_a_value_is_one_of_a_list_that_holds_it(self, value, values):
        hypothesis.assume('nan' not in repr(value))
        self.assertTrue(comparison.OneOf()(value, [*values, value]))


class VersionTestCase(base.TestCase):
    def test_the_vectors_of_rpm(self):
        for line in _KNOWN.replace('\n', ' ').split(','):
            one, other, expected = line.split()
            self.assertEqual(int(expected), _compare(one, other), line)

    def test_what_is_no_version_is_named_as_rules_have_it(self):
        for value, words in (
            (None, 'null'),
            (True, 'true'),
            (1.1, '1.1'),
            ([1], 'a list'),
        ):
            problems = comparison.VersionEqual().problems({'values': [value]})
            self.assertEqual(
                [
                    (
                        'values',
                        f'a version is text, not {words}; put it in quotes',
                    )
                ],
                list(problems),
            )

    def test_rpm_itself_compares_so(self):
        for name in _LIBRARIES:
            try:
                rpmvercmp = ctypes.CDLL(name).rpmvercmp
                break
            except OSError:
                continue
        else:
            self.skipTest('librpm is not installed')
        chance = random.Random(7)
        seen = set()
        for _each in range(10_000):
            one, other = (
                ''.join(chance.choices(_PARTS, k=chance.randint(0, 6)))
                for _side in range(2)
            )
            if chance.random() < 0.5:
                other = one[: chance.randint(0, len(one))] + other
            expected = rpmvercmp(one.encode(), other.encode())
            seen.add(expected)
            self.assertEqual(expected, _compare(one, other), (one, other))
        self.assertEqual({-1, 0, 1}, seen)

    def test_each_op_is_what_the_order_says(self):
        for one, other in (('2.9', '2.10'), ('2.10', '2.9'), ('1', '01')):
            order = _compare(one, other)
            for op, holds in (
                (comparison.VersionEqual, order == 0),
                (comparison.VersionLess, order < 0),
                (comparison.VersionNotEqual, order != 0),
                (comparison.VersionLessOrEqual, order <= 0),
                (comparison.VersionGreater, order > 0),
                (comparison.VersionGreaterOrEqual, order >= 0),
            ):
                self.assertIs(holds, op()(one, other), (one, op))
