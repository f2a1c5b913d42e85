# SPDX-License-Identifier: Apache-2.0

"""Regular expressions that end in time."""

import re
import time

import fixtures
import hypothesis
from hypothesis import strategies as st

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.language import budget
from ironic_inspection_rules.engine.language import call
from ironic_inspection_rules.engine.language import pattern as engine_pattern
from ironic_inspection_rules.tests.unit import base
from ironic_inspection_rules.tests.unit.engine import fuzz

QUICK = (
    '(?i)dell',
    '^eth[0-9]+$',
    'a|b|c',
    r'\{\}',
    '[*+?{]',
    'a{2}',
    '',
    '(?=a)b',
    r'Port-channel ?([0-9/]*)',
    r'\)+',
    '[]*]',
)
SLOW = (
    '(a+)+',
    '(a|aa)*',
    '(?:a{1,9}){2}',
    '(ab)?c',
    '(?x) a # (b+)+',
    '(?:[a-z]+ ?)*',
    r'(\(+)+',
    '(?x:(a+) +)$',
    '(?i)(?sx-i:(a+) +)',
    '(a+)(?#[)+[$]',
)

_pieces = st.sampled_from(
    [
        'a',
        'b',
        '.',
        '[ab]',
        '[^a]',
        '(a)',
        '(?:a|b)',
        'a*',
        'b+?',
        'a?',
        'a{2}',
        'b{,2}',
        'a{1,}',
        '{',
        '}',
        '{a',
        '(a|b)*',
        '(?:ab?)+',
        '^',
        '$',
        r'\b',
        r'\d',
        r'\{',
        '(?i:A)',
        '|',
        ' ',
        '(?=a)',
        '(?!b)',
        '(?<=a)',
    ]
)
patterns = st.lists(_pieces, max_size=5).map(''.join)
subjects = st.text('aAbB{} \n1', max_size=12)


class TimeLimitTestCase(base.TestCase):
    def has_limit(self, pattern, value):
        found = engine_pattern.Pattern(pattern)
        limited = []

        def match_in_time(pattern, allowance, method, text):
            limited.append(text)

        self.useFixture(
            fixtures.MonkeyPatch(
                'ironic_inspection_rules.engine.language.pattern.Pattern._call_with_limit',
                match_in_time,
            )
        )
        found.find('search', value, budget.UNLIMITED)
        limited_before = len(limited)
        found.matcher('search')(budget.UNLIMITED, value)
        self.assertEqual(2 * limited_before, len(limited))
        return bool(limited)

    def test_what_cannot_take_long_has_no_limit(self):
        for pattern in QUICK:
            self.assertFalse(self.has_limit(pattern, 'x' * 50), pattern)

    def test_what_can_take_long_has_a_limit(self):
        for pattern in SLOW:
            self.assertTrue(self.has_limit(pattern, 'x'), pattern)

    def test_a_repetition_over_a_long_value_has_a_limit(self):
        for pattern in ('.*a', 'a+b+', 'a{3}'):
            self.assertTrue(self.has_limit(pattern, 'x' * 10_000), pattern)

    def test_many_branches_have_a_limit(self):
        # Each may double the ways to match, whatever is repeated.
        branches = '|'.join('ab' for _each in range(12))
        self.assertFalse(self.has_limit(f'^(?:{branches})', 'a' * 100))
        self.assertTrue(self.has_limit(f'^(?:{branches})[a-z]+$', 'a' * 100))
        self.assertFalse(self.has_limit('^(?:ab)[a-z]+$', 'a' * 100))

    def test_a_word_is_looked_for_in_any_value(self):
        self.assertFalse(self.has_limit('end', 'x' * 900_000))

    def test_a_match_takes_no_longer_than_the_phase(self):
        self.patch(self.phase_clock, 'monotonic', time.monotonic)
        slow = engine_pattern.Pattern('(a|aa)+$')
        error = self.assertRaises(
            exceptions.BudgetExceeded,
            slow.find,
            'search',
            'a' * 10_000 + 'b',
            budget.Budget(budget.Limits(time=0.01)),
        )
        self.assertIn('0.01 seconds', str(error))


class FieldsTestCase(base.TestCase):
    def test_only_where_a_brace_is_a_field_is_looked_for(self):
        looked = []
        self.useFixture(
            fixtures.MonkeyPatch(
                'ironic_inspection_rules.engine.language.interpolation.field_at',
                lambda text, position: looked.append(position),
            )
        )
        self.assertIsNone(call.find_problem('a|{b|c}|{item|', None))
        self.assertEqual([2], looked)


class SameLanguageTestCase(base.TestCase):
    """With a time limit or without, the language is that of ``re``."""

    @fuzz.settings
    @hypothesis.given(patterns, subjects)
    def test_both_libraries_agree(self, pattern, subject):
        for method in ('search', 'fullmatch'):
            try:
                expected = getattr(re, method)(pattern, subject)
            except re.error:
                self.assertRaises(
                    exceptions.OperationError, engine_pattern.Pattern, pattern
                )
                continue
            self.assertEqual(
                expected is not None,
                engine_pattern.Pattern(pattern)._call_with_limit(
                    budget.UNLIMITED, method, subject
                )
                is not None,
            )

    def test_what_only_the_other_library_knows_is_text(self):
        for pattern, subject, found in (
            ('[[:alpha:]]', 'a]', True),
            ('[[:alpha:]]', 'z', False),
            ('[[a]--[b]]', 'a', False),
            ('(?:abc){i<=2}', 'abXc', False),
            ('a{1,2', 'a{1,2', True),
            ('[a||b]', '|', True),
        ):
            self.assertEqual(
                found,
                engine_pattern.Pattern(pattern)._call_with_limit(
                    budget.UNLIMITED, 'search', subject
                )
                is not None,
            )


class ReplaceTestCase(base.TestCase):
    def replace(self, pattern, replacement, text, size=10_000):
        return engine_pattern.Pattern(pattern).replace(
            engine_pattern.Replacement(replacement),
            text,
            budget.Budget(budget.Limits(size=size)),
        )

    def test_groups_are_put_in(self):
        for text in ('a1b2', 'a1b2' * 100):
            self.assertEqual(
                re.sub(r'(\w)(\d)', r'\2-\g<1>', text),
                self.replace(r'(\w)(\d)', r'\2-\g<1>', text),
            )

    def test_too_much_text_is_refused_before_it_is_made(self):
        for replacement in ('x' * 1000, r'\1' * 100):
            error = self.assertRaises(
                exceptions.BudgetExceeded,
                self.replace,
                '(?=(.*))',
                replacement,
                'a' * 60,
            )
            self.assertIn('longer than 10000', str(error))

    def test_much_text_without_groups_is_no_guess(self):
        self.assertEqual('x' * 900, self.replace('a+', 'x' * 900, 'a' * 9_000))

    def test_a_group_that_is_none_is_told_when_it_is_checked(self):
        self.assertRaises(
            exceptions.OperationError,
            engine_pattern.Pattern('(a)b').check_replacement,
            engine_pattern.Replacement(r'\2'),
        )
        engine_pattern.Pattern('(a)b|(?P<n>c)').check_replacement(
            engine_pattern.Replacement(r'\2\g<n>')
        )
