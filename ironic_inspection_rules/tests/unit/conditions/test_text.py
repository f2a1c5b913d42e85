# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""Conditions on text, by regular expression."""

import re

import fixtures
import hypothesis
from hypothesis import strategies as st

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.conditions import text
from ironic_inspection_rules.tests.unit import base
from ironic_inspection_rules.tests.unit.engine import fuzz

QUICK = ('(?i)dell', '^eth[0-9]+$', 'a|b|c', r'\{\}', '[*+?{]', 'a{2}', '',
         '(?=a)b', r'Port-channel ?([0-9/]*)', r'\)+', '[]*]')
SLOW = ('(a+)+', '(a|aa)*', '(?:a{1,9}){2}', '(ab)?c', '(?x) a # (b+)+',
        '(?:[a-z]+ ?)*', r'(\(+)+')

_pieces = st.sampled_from([
    'a', 'b', '.', '[ab]', '[^a]', '(a)', '(?:a|b)', 'a*', 'b+?', 'a?',
    'a{2}', 'b{,2}', 'a{1,}', '{', '}', '{a', '(a|b)*', '(?:ab?)+', '^', '$',
    r'\b', r'\d', r'\{', '(?i:A)', '|', ' ', '(?=a)', '(?!b)', '(?<=a)'])
patterns = st.lists(_pieces, max_size=5).map(''.join)
subjects = st.text('aAbB{} \n1', max_size=12)


class TimeLimitTestCase(base.TestCase):

    def setUp(self):
        super().setUp()
        self.useFixture(fixtures.MonkeyPatch(
            'ironic_inspection_rules.conditions.text._match_in_time',
            self.match_in_time))
        self.limited = []

    def match_in_time(self, pattern, method, value):
        self.limited.append(value)
        return False

    def test_what_cannot_take_long_has_no_limit(self):
        for pattern in QUICK:
            text.Contains()('x' * 50, pattern)
            self.assertEqual([], self.limited, pattern)

    def test_what_can_take_long_has_a_limit(self):
        for pattern in SLOW:
            text.Contains()('x', pattern)
            self.assertEqual(['x'], self.limited, pattern)
            self.limited.clear()

    def test_a_repetition_over_a_long_value_has_a_limit(self):
        for pattern in ('.*a', 'a+b+', 'a{3}'):
            text.Contains()('x' * 10_000, pattern)
            self.assertEqual(1, len(self.limited), pattern)
            self.limited.clear()

    def test_a_word_is_looked_for_in_any_value(self):
        text.Contains()('x' * 900_000, 'end')
        self.assertEqual([], self.limited)


class SameLanguageTestCase(base.TestCase):
    """With a time limit or without, the language is that of ``re``."""

    @fuzz.settings
    @hypothesis.given(patterns, subjects)
    def test_both_libraries_agree(self, pattern, subject):
        for method in ('search', 'fullmatch'):
            try:
                expected = getattr(re, method)(pattern, subject)
            except re.error:
                self.assertRaises(exceptions.OperationError,
                                  text.Contains(), subject, pattern)
                continue
            self.assertEqual(
                expected is not None,
                text._match_in_time(pattern, method, subject))

    def test_what_only_the_other_library_knows_is_text(self):
        for pattern, subject, found in (
                ('[[:alpha:]]', 'a]', True), ('[[:alpha:]]', 'z', False),
                ('[[a]--[b]]', 'a', False), ('(?:abc){i<=2}', 'abXc', False),
                ('a{1,2', 'a{1,2', True), ('[a||b]', '|', True)):
            self.assertEqual(
                found, text._match_in_time(pattern, 'search', subject))
