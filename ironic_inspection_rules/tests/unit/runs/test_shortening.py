# SPDX-License-Identifier: Apache-2.0

"""What is too long to be kept is shortened."""

import json

from ironic_inspection_rules.runs import shortening
from ironic_inspection_rules.tests.unit import base

CUT = 'x' * 10 + shortening.ELLIPSIS


class ShortenTestCase(base.TestCase):
    def test_what_fits_is_kept_as_it_is(self):
        for value in ('x' * 10, [1, 2, 3], {'a': 'b'}):
            self.assertEqual(value, shortening.shorten(value, 10)[0])

    def test_it_tells_how_much_it_is(self):
        self.assertEqual(('x' * 9, 9), shortening.shorten('x' * 9, 10))
        self.assertEqual(([1, 2], 6), shortening.shorten([1, 2], 10))

    def test_text_that_is_too_long_is_cut(self):
        self.assertEqual((CUT, 10), shortening.shorten('x' * 11, 10))

    def test_data_that_are_too_long_become_text(self):
        shortened, length = shortening.shorten({'a': 'b' * 100}, 10)
        self.assertEqual(
            ('{"a": "bbb' + shortening.ELLIPSIS, 10), (shortened, length)
        )

    def test_numbers_are_kept_however_short_the_limit_is(self):
        for value in (None, True, 10**18, 0.1):
            self.assertEqual(value, shortening.shorten(value, 1)[0])

    def test_digits_of_long_numbers_are_counted(self):
        self.assertEqual((10**20, 21), shortening.shorten(10**20))
        self.assertEqual(
            ('1000000000' + shortening.ELLIPSIS, 10),
            shortening.shorten(10**4000, 10),
        )

    def test_a_number_may_have_more_digits_than_python_writes(self):
        for value in (10**4299, 10**4500, 10**5000):
            self.assertEqual(
                (2 * shortening.ELLIPSIS, shortening.LONGEST_VALUE),
                shortening.shorten(value),
            )

    def test_characters_are_counted_and_not_their_escapes(self):
        self.assertEqual(
            ['\N{SNOWMAN}' * 6], shortening.shorten(['\N{SNOWMAN}' * 6], 10)[0]
        )

    def test_a_value_is_whole_or_ends_where_it_is_cut(self):
        for value in (
            'x' * 10,
            {'a': 'b'},
            {'a' * 9: 1},
            ['a', 'b', 'c'],
            [[[[]]]],
            {'a': {'b': {}}},
            [None] * 9,
            [10**30],
            ['x' * 5, {'y' * 5: ['z' * 5]}],
        ):
            text = value
            if isinstance(value, list | dict):
                text = json.dumps(value)
            for longest in range(1, 60):
                expected = (value, len(text))
                if len(text) > longest:
                    expected = (text[:longest] + shortening.ELLIPSIS, longest)
                self.assertEqual(expected, shortening.shorten(value, longest))

    def test_no_more_is_looked_at_than_is_kept(self):
        class Items(list):
            asked = 0

            def __iter__(self):
                for item in super().__iter__():
                    self.asked += 1
                    yield item

        items = Items(range(1000))
        shortening.shorten(items, 30)
        self.assertLess(items.asked, 30)

    def test_messages_are_cut(self):
        longest = 'x' * shortening.LONGEST_TEXT
        self.assertIsNone(shortening.shorten_text(None))
        self.assertEqual(longest, shortening.shorten_text(longest))
        self.assertEqual(
            longest + shortening.ELLIPSIS,
            shortening.shorten_text(longest + 'x'),
        )
