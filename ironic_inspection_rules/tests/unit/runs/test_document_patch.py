# SPDX-License-Identifier: Apache-2.0

"""Patches that make one document of another."""

import copy
import json

import fixtures
import hypothesis
from hypothesis import strategies as st

from ironic_inspection_rules.engine.language import path as data_path
from ironic_inspection_rules.runs import document_patch
from ironic_inspection_rules.tests.unit import base

VALUES = st.recursive(
    st.sampled_from([None, False, True, 0, 1, 0.0, 1.0, '', 'a']),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from('abc'), inner)
    ),
    max_leaves=12,
)


class PatchTestCase(base.TestCase):
    def check(self, before, after):
        kept = copy.deepcopy(before)
        patch = document_patch.between(before, after)
        made = document_patch.apply(before, patch)
        self.assertTrue(data_path.is_same(after, made), (before, after, made))
        self.assertTrue(data_path.is_same(kept, before))
        return patch

    @hypothesis.given(VALUES, VALUES)
    def test_it_makes_the_one_of_the_other(self, before, after):
        self.check(before, after)
        self.assertEqual([], self.check(after, copy.deepcopy(after)))

    def test_only_what_differs_is_in_it(self):
        for before, after, patch in (
            (1, 2, [[[], 2]]),
            ({'a': 1}, {'a': 1, 'b': 2}, [[['b'], 2]]),
            ({'a': 1, 'b': 2}, {'a': 1}, [[['b']]]),
            ({'a': 1, 'b': 2}, {'a': True, 'b': 2}, [[['a'], True]]),
            (
                {'a': {'b': {'c': 1, 'd': 2}}},
                {'a': {'b': {'c': 1, 'd': 3}}},
                [[['a', 'b', 'd'], 3]],
            ),
            ({'a': [1, {'b': 2}]}, {'a': [1, {'b': 3}]}, [[['a', 1, 'b'], 3]]),
            ([1, 2], [3, 4], [[[0], 3], [[1], 4]]),
            ([1, 2], [1, 2, 3], [[[], [1, 2, 3]]]),
            ({'a': [1, 2, 3]}, {'a': []}, [[['a'], []]]),
        ):
            self.assertEqual(patch, self.check(before, after))

    def test_another_order_is_told_as_one(self):
        for before, after, order in (
            ('abc', 'cab', [2, 0, 1]),
            ('aab', 'baa', [2, 0, 1]),
            ('ab', 'ba', [1, 0]),
        ):
            self.assertEqual(
                [[['list'], None, order]],
                self.check({'list': list(before)}, {'list': list(after)}),
            )

    def test_an_item_is_found_once(self):
        self.assertEqual(
            [[[0], 'b'], [[1], 'b'], [[2], 'a']],
            self.check(list('aab'), list('bba')),
        )

    def test_of_too_many_steps_there_is_one(self):
        most = document_patch.MOST_STEPS
        for count, steps in ((most, most), (most + 1, 1)):
            before, after = (
                [{'a': [number + new for number in range(count)]}]
                for new in (0, count)
            )
            patch = self.check(before, after)
            self.assertEqual(steps, len(patch))
            self.assertIs(steps == 1, document_patch.replaces_document(patch))

    def test_an_order_is_not_looked_for_at_each_level_of_all(self):
        self.useFixture(
            fixtures.MockPatchObject(document_patch, 'MOST_ORDERED', 1000)
        )
        written = []
        dumps = json.dumps
        self.useFixture(
            fixtures.MockPatchObject(
                document_patch.json,
                'dumps',
                lambda value: written.append(dumps(value)) or written[-1],
            )
        )
        before, after = ['x' * 400, 1], ['x' * 400, 2]
        for number in range(20):
            before, after = [before, number], [after, -1]

        self.check(before, after)
        self.assertLess(sum(map(len, written)), 2000)
