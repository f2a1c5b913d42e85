# SPDX-License-Identifier: Apache-2.0

from ironic_inspection_rules.engine.language import suggestion
from ironic_inspection_rules.tests.unit import base


class NearestTestCase(base.TestCase):
    def test_case_and_punctuation_do_not_count(self):
        self.assertEqual(
            'set-attribute',
            suggestion.find_nearest(
                'Set_Attribute', ['set-attribute', 'fail']
            ),
        )

    def test_words_of_other_languages_are_known(self):
        known = ['eq', 'ge', 'one-of']
        for word, meant in (
            ('equals', 'eq'),
            ('==', 'eq'),
            ('>=', 'ge'),
            ('in', 'one-of'),
        ):
            self.assertEqual(meant, suggestion.find_nearest(word, known))

    def test_only_names_there_are_may_be_meant(self):
        self.assertIsNone(suggestion.find_nearest('equals', ['add-trait']))


class UnknownTestCase(base.TestCase):
    def test_the_nearest_is_suggested(self):
        self.assertEqual(
            'unknown op "contain"; did you mean "contains"?',
            suggestion.unknown_message('op', 'contain', ['eq', 'contains']),
        )

    def test_or_else_all(self):
        self.assertEqual(
            'unknown op "xyz"; known: eq, matches',
            suggestion.unknown_message('op', 'xyz', ['matches', 'eq']),
        )

    def test_but_not_where_they_are_too_many(self):
        self.assertEqual(
            'unknown trait "xyz"',
            suggestion.unknown_message(
                'trait', 'xyz', [f'HW_{number}' for number in range(400)]
            ),
        )

    def test_forty_are_listed_and_no_more(self):
        known = [f'HW_{number:02}' for number in range(40)]
        self.assertEqual(
            f'unknown trait "x"; known: {", ".join(known)}',
            suggestion.unknown_message('trait', 'x', known),
        )
        self.assertEqual(
            'unknown trait "x"',
            suggestion.unknown_message('trait', 'x', [*known, 'HW_40']),
        )

    def test_eighty_letters_are_shown(self):
        self.assertEqual(
            'unknown op "' + 'x' * 80 + '"',
            suggestion.unknown_message('op', 'x' * 80, []),
        )
        self.assertEqual(
            'unknown op "' + 'x' * 80 + '…"',
            suggestion.unknown_message('op', 'x' * 81, []),
        )

    def test_a_long_name_is_cut(self):
        self.assertLess(
            len(suggestion.unknown_message('op', 'x' * 10000, [])), 120
        )


class SlipTestCase(base.TestCase):
    def test_one_letter_left_out_put_in_swapped_or_other(self):
        for name in (
            'physcal',
            'physiical',
            'pyhsical',
            'phxsical',
            'physica',
            'hysical',
            'physicall',
            'physicla',
            'Physical',
            'phys-ical',
        ):
            self.assertEqual(
                'physical',
                suggestion.find_intended(name, ['physical', 'total']),
                name,
            )

    def test_more_is_no_slip(self):
        for name in (
            'physcl',
            'physics',
            'phyiscla',
            'xysical',
            '',
            'physical',
        ):
            self.assertIsNone(
                suggestion.find_intended(name, ['physical', 'total']), name
            )

    def test_two_that_are_near_are_no_answer(self):
        self.assertIsNone(suggestion.find_intended('gx', ['gt', 'ge']))


class NotOneOfTestCase(base.TestCase):
    def test_the_value_is_told(self):
        self.assertEqual(
            'must be one of a, b, not 5',
            suggestion.choice_message(5, ['a', 'b']),
        )
        for value, shown in (
            (None, 'null'),
            (True, 'true'),
            (0.5, '0.5'),
            ('x', '"x"'),
        ):
            self.assertEqual(
                f'must be one of a, b, not {shown}',
                suggestion.choice_message(value, ['a', 'b']),
            )
        self.assertEqual(
            'must be one of a, b, not a mapping',
            suggestion.choice_message({}, ['a', 'b']),
        )
