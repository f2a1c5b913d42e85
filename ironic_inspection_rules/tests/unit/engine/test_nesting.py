# SPDX-License-Identifier: Apache-2.0

"""How deep JSON is nested, against what a parser says."""

import json

import hypothesis
from hypothesis import strategies as st

from ironic_inspection_rules.engine import nesting
from ironic_inspection_rules.tests.unit import base

DOCUMENTS = st.recursive(
    st.none() | st.integers() | st.text('[]{}"\\,: a\u2200'),
    lambda inner: st.lists(inner) | st.dictionaries(
        st.text('[]{}"\\'), inner), max_leaves=20)


def height(document):
    """Count the lists and objects around the innermost value."""
    if not isinstance(document, dict | list):
        return 0
    inner = document.values() if isinstance(document, dict) else document
    return 1 + max(map(height, inner), default=0)


class NestingTestCase(base.TestCase):

    @hypothesis.given(DOCUMENTS)
    def test_json_is_as_deep_as_what_it_stands_for(self, document):
        depth = height(document)
        for text in (json.dumps(document),
                     json.dumps(document, ensure_ascii=False)):
            self.assertFalse(nesting.is_deeper(text.encode(), depth))
            if depth:
                self.assertTrue(nesting.is_deeper(text.encode(), depth - 1))

    @hypothesis.given(st.binary(), st.integers(1, 5))
    def test_of_anything_something_is_told(self, text, limit):
        self.assertIsInstance(nesting.is_deeper(text, limit), bool)

    def test_what_is_opened_and_never_closed_counts(self):
        self.assertTrue(nesting.is_deeper(b'["",' * 100_000, 99_999))
        self.assertFalse(nesting.is_deeper(b'[],' * 100_000, 1))
