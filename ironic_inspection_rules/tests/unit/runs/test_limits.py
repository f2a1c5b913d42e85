# SPDX-License-Identifier: Apache-2.0

"""How much of a run is kept."""

from ironic_inspection_rules.runs import limits
from ironic_inspection_rules.tests.unit import base

CUT = 'x' * 10 + limits.ELLIPSIS


class ShortenTestCase(base.TestCase):

    def test_what_fits_is_kept_as_it_is(self):
        for value in ('x' * 10, [1, 2, 3], {'a': 'b'}):
            self.assertEqual(value, limits.shorten(value, 10)[0])

    def test_it_tells_how_much_it_is(self):
        self.assertEqual(('x' * 9, 9), limits.shorten('x' * 9, 10))
        self.assertEqual(([1, 2], 6), limits.shorten([1, 2], 10))

    def test_text_that_is_too_long_is_cut(self):
        self.assertEqual((CUT, 10), limits.shorten('x' * 11, 10))

    def test_data_that_are_too_long_become_text(self):
        shortened, length = limits.shorten({'a': 'b' * 100}, 10)
        self.assertEqual(('{"a": "bbb' + limits.ELLIPSIS, 10),
                         (shortened, length))

    def test_numbers_are_kept_however_short_the_limit_is(self):
        for value in (None, True, 10 ** 18, 0.1):
            self.assertEqual(value, limits.shorten(value, 1)[0])

    def test_digits_of_long_numbers_are_counted(self):
        self.assertEqual((10 ** 20, 21), limits.shorten(10 ** 20))
        self.assertEqual(('1000000000' + limits.ELLIPSIS, 10),
                         limits.shorten(10 ** 4000, 10))

    def test_characters_are_counted_and_not_their_escapes(self):
        self.assertEqual(['\N{SNOWMAN}' * 6],
                         limits.shorten(['\N{SNOWMAN}' * 6], 10)[0])

    def test_messages_are_cut(self):
        longest = 'x' * limits.LONGEST_TEXT
        self.assertIsNone(limits.shorten_text(None))
        self.assertEqual(longest, limits.shorten_text(longest))
        self.assertEqual(longest + limits.ELLIPSIS,
                         limits.shorten_text(longest + 'x'))
