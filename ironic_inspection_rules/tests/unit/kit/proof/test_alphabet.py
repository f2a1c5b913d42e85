# SPDX-License-Identifier: Apache-2.0

"""Languages of regular expressions have the texts that Python matches."""

import itertools
import re
import unittest

from ironic_inspection_rules.tests.unit import base

try:
    import z3

    from ironic_inspection_rules.kit.proof import alphabet
    from ironic_inspection_rules.kit.proof import logic
except ImportError as exc:
    raise unittest.SkipTest('needs z3-solver') from exc

CHARACTERS = 'ab\n'
TEXTS = [
    ''.join(characters)
    for length in range(4)
    for characters in itertools.product(CHARACTERS, repeat=length)
]

TRANSLATED = (
    'a^b',
    'a*^b',
    '(?:a*^)b',
    'a|^b',
    'a(^|b)',
    '(?:^a)*b',
    '(?:^)+a',
    '(?:^|b)*a',
    '(?:^){0}a',
    'a$|b',
    'b\\Z',
    '(?m)\\Aa',
    '(?m)b\\Z',
    '(?m)\\A[ab]+\\Z',
    '(?m)\\A.|b',
    '(?m:\\Ab)$',
    '(?m)(?-m:^b)',
)
REFUSED = (
    '^$',
    '^a?^b',
    'a$b',
    '(?:a$)*',
    '(?m)^a',
    '(?m)a$',
    '(?m)\\Aa$',
    '(?m:^b)\\Z',
    # In Python they hold twice at one place, where a text has one mark.
    '(?:^){2}a',
    '(?:a|^){2}b',
    '(?:^b?){2,}a',
)


class AnchorTestCase(base.TestCase):
    def language(self, pattern: str, searches: bool) -> logic.Language:
        characters = alphabet.Alphabet([pattern, CHARACTERS])
        return characters.matching(pattern, searches)

    def has(self, language: logic.Language, text: str) -> bool:
        solver = z3.Solver()
        marked = alphabet.marked(z3.StringVal(text))
        solver.add(z3.InRe(z3.simplify(marked), language))
        return solver.check() == z3.sat

    def test_a_language_has_the_texts_that_python_matches(self) -> None:
        for pattern, searches in itertools.product(TRANSLATED, (True, False)):
            match = re.fullmatch
            if searches:
                match = re.search
            language = self.language(pattern, searches)
            expected = [text for text in TEXTS if match(pattern, text)]
            matched = [text for text in TEXTS if self.has(language, text)]
            self.assertEqual(expected, matched, (pattern, searches))

    def test_what_a_single_mark_cannot_say_is_refused(self) -> None:
        for pattern in REFUSED:
            for searches in (True, False):
                self.assertRaises(
                    logic.Untranslatable, self.language, pattern, searches
                )
