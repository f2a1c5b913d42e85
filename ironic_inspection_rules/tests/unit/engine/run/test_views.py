# SPDX-License-Identifier: Apache-2.0

"""Changes of data copy what they change, and only that."""

import copy

import hypothesis
from hypothesis import strategies as st

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.language import path as data_path
from ironic_inspection_rules.engine.run import views
from ironic_inspection_rules.tests.unit import base
from ironic_inspection_rules.tests.unit.engine import fuzz
from ironic_inspection_rules.tests.unit.engine.language.test_path import paths


@st.composite
def data_and_path(draw):
    """A value, and the path of something in it."""
    inner = draw(fuzz.json_values)
    path = []
    for key in draw(st.lists(fuzz.keys, min_size=1, max_size=3)):
        if draw(st.booleans()):
            inner = {**draw(fuzz.mappings), key: inner}
        else:
            before = draw(st.lists(fuzz.plain, max_size=2))
            inner = [*before, inner, *draw(st.lists(fuzz.plain, max_size=2))]
            key = str(len(before))
        path.insert(0, key)
    return inner, tuple(path)


class OneStepTestCase(base.TestCase):
    def test_whoever_holds_the_original_keeps_it(self):
        data = {'a': {'b': [1, {'c': 2}]}, 'other': {}}
        changed = views.Tree().assign(data, ('a', 'b', '1', 'c'), 3)

        self.assertEqual({'a': {'b': [1, {'c': 2}]}, 'other': {}}, data)
        self.assertEqual({'a': {'b': [1, {'c': 3}]}, 'other': {}}, changed)
        self.assertIs(data['other'], changed['other'])

    def test_the_empty_path_is_the_whole(self):
        self.assertEqual(1, views.Tree().assign({'a': 2}, (), 1))

    def test_an_index_beyond_the_end_is_refused(self):
        for token in ('2', '-1', '01', 'a', '1e1', '٠'):
            self.assertRaises(
                exceptions.OperationError,
                views.Tree().assign,
                [1],
                (token,),
                2,
            )

    @fuzz.settings
    @hypothesis.given(fuzz.json_values, paths, fuzz.json_values)
    def test_what_was_assigned_is_there(self, data, path, value):
        before = copy.deepcopy(data)
        try:
            changed = views.Tree().assign(data, path, value)
        except exceptions.OperationError:
            return
        finally:
            self.assertEqual(repr(before), repr(data))
        if data_path.APPEND not in path:
            self.assertIs(value, data_path.get(changed, path))

    @fuzz.settings
    @hypothesis.given(data_and_path())
    def test_what_was_removed_is_gone(self, data_and_path):
        data, path = data_and_path
        before = copy.deepcopy(data)
        changed = views.Tree().remove(data, path)

        self.assertEqual(repr(before), repr(data))
        parent = data_path.get(data, path[:-1])
        if isinstance(parent, list):
            shorter = data_path.get(changed, path[:-1])
            self.assertEqual(len(parent) - 1, len(shorter))
        else:
            self.assertIs(data_path.ABSENT, data_path.get(changed, path))

    @fuzz.settings
    @hypothesis.given(fuzz.mappings, paths, fuzz.json_values)
    def test_removing_undoes_assigning_a_new_key(self, data, path, value):
        changed = views.Tree().remove(
            views.Tree().assign(data, ('new', *path), value), ('new',)
        )

        self.assertEqual(repr(data), repr(changed))


class ManyStepsTestCase(base.TestCase):
    def test_a_list_is_copied_once(self):
        data = {'a': [0]}
        changes = views.Tree()
        changed = changes.append(data, ('a',), 1)
        items = changed['a']
        changed = changes.append(changed, ('a',), 2)
        changed = changes.assign(changed, ('a', '-'), 3)

        self.assertIs(items, changed['a'])
        self.assertEqual([0, 1, 2, 3], items)
        self.assertEqual({'a': [0]}, data)

    def test_what_somebody_else_holds_is_copied_again(self):
        changes = views.Tree()
        changed = changes.append({}, ('a', 'b'), 1)
        held = changed['a']
        changes.release(held)
        changed = changes.append(changed, ('a', 'b'), 2)

        self.assertEqual({'b': [1]}, held)
        self.assertEqual({'a': {'b': [1, 2]}}, changed)

    def test_a_list_can_be_put_into_itself(self):
        changes = views.Tree()
        changed = changes.append({}, ('a',), 1)
        value = changed['a']
        changes.release(value)
        changed = changes.append(changed, ('a',), value)

        self.assertEqual({'a': [1, [1]]}, changed)

    def test_members_follow_the_list(self):
        changes = views.Tree()
        data = {'a': [1, {'b': 2}]}
        self.assertTrue(changes.has_member(data, ('a',), {'b': 2}))
        self.assertFalse(changes.has_member(data, ('a',), 1.0))
        data = changes.append(data, ('a',), 1.0)
        self.assertTrue(changes.has_member(data, ('a',), 1.0))
        data = changes.remove(data, ('a', '0'))
        self.assertFalse(changes.has_member(data, ('a',), 1))
        data = changes.assign(data, ('a', '0'), 1)
        self.assertTrue(changes.has_member(data, ('a',), 1))
        self.assertFalse(changes.has_member(data, ('b',), 1))
