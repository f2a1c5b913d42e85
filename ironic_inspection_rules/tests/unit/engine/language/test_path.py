# SPDX-License-Identifier: Apache-2.0

"""Places inside plain data."""

import copy

import hypothesis
from hypothesis import strategies as st

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.language import path as data_path
from ironic_inspection_rules.tests.unit import base
from ironic_inspection_rules.tests.unit.engine import fuzz

paths = st.lists(fuzz.keys, min_size=1, max_size=4).map(tuple)


class ParseTestCase(base.TestCase):
    def test_all_forms_of_a_path(self):
        for text in ('/extra/a', 'extra/a', 'extra.a'):
            self.assertEqual(('extra', 'a'), data_path.parse(text))

    def test_too_many_parts_are_refused(self):
        data_path.parse('/a' * 32)
        self.assertRaises(
            exceptions.OperationError, data_path.parse, '/a' * 33
        )

    def test_escapes_of_a_pointer(self):
        self.assertEqual(
            ('a/b', 'c~d', '~1', ''), data_path.parse('/a~1b/c~0d/~01/')
        )

    def test_what_names_nothing_is_refused(self):
        for text in ('', '/', '.', '.a', '//a'):
            self.assertRaises(exceptions.OperationError, data_path.parse, text)

    @fuzz.settings
    @hypothesis.given(paths)
    def test_a_written_path_reads_as_itself(self, path):
        hypothesis.assume(path[0])
        self.assertEqual(path, data_path.parse(data_path.pointer(path)))


class DataTestCase(base.TestCase):
    def test_getting_from_plain_values_finds_nothing(self):
        for data in (None, 1, 'text', True):
            self.assertIs(
                data_path.ABSENT, data_path.get(data, ('0',)), repr(data)
            )


class OverlapTestCase(base.TestCase):
    def test_one_path_begins_with_the_other(self):
        for first, second, overlaps in (
            ((), ('a',), True),
            (('a',), ('a',), True),
            (('a',), ('a', 'b'), True),
            (('a', 'c'), ('a', 'b'), False),
            (('ab',), ('a', 'b'), False),
        ):
            self.assertIs(overlaps, data_path.overlap(first, second))
            self.assertIs(overlaps, data_path.overlap(second, first))


class SameTestCase(base.TestCase):
    def test_types_count_at_any_depth(self):
        self.assertFalse(data_path.is_same([{'a': 1}], [{'a': True}]))
        self.assertFalse(data_path.is_same([{'a': 1}], [{'a': 1.0}]))
        self.assertTrue(data_path.is_same([{'a': 1}], [{'a': 1}]))

    def test_the_order_of_keys_does_not(self):
        self.assertTrue(data_path.is_same({'a': 1, 'b': 2}, {'b': 2, 'a': 1}))

    def test_any_depth_is_fine(self):
        one, other = [], []
        for _level in range(20_000):
            one, other = [one], [other]
        self.assertTrue(data_path.is_same(one, other))
        while one:
            one, other = one.pop(), other.pop()

    @fuzz.settings
    @hypothesis.given(fuzz.json_values, fuzz.json_values)
    def test_what_is_the_same_has_one_identity(self, one, other):
        for each in (other, copy.deepcopy(one)):
            self.assertEqual(
                data_path.is_same(one, each),
                data_path.hashable_key(one) == data_path.hashable_key(each),
            )

    def test_zero_is_the_same_with_either_sign(self):
        self.assertEqual(
            data_path.hashable_key([0.0]), data_path.hashable_key([-0.0])
        )

    def test_numbers_that_a_machine_chose_are_told_apart_quickly(self):
        modulus = 2**61 - 1
        self.assertEqual(hash(modulus), hash(2 * modulus))
        self.assertNotEqual(
            hash(data_path.hashable_key(modulus)),
            hash(data_path.hashable_key(2 * modulus)),
        )

    @fuzz.settings
    @hypothesis.given(fuzz.json_values)
    def test_a_value_is_the_same_as_its_copy(self, value):
        hypothesis.assume('nan' not in repr(value))
        self.assertTrue(data_path.is_same(value, copy.deepcopy(value)))


class WalkTestCase(base.TestCase):
    def test_all_values_come_in_order_with_their_places(self):
        value = {'a': [1, {'b': 2}], 3: 'c'}
        self.assertEqual(
            [
                ((), value),
                (('a',), value['a']),
                (('a', '0'), 1),
                (('a', '1'), {'b': 2}),
                (('a', '1', 'b'), 2),
                (('3',), 'c'),
            ],
            list(data_path.walk(value)),
        )

    def test_texts_and_keys_have_their_places(self):
        value = {'a': ['b', 1, {'c': None}], 2: 'd'}
        self.assertEqual(
            [((), 'a'), (('a', '0'), 'b'), (('a', '2'), 'c'), (('2',), 'd')],
            list(data_path.walk_texts(value)),
        )

    def test_a_deep_value_needs_no_deep_stack(self):
        value = []
        for _level in range(5000):
            value = [value]
        self.assertEqual(5001, sum(1 for _each in data_path.walk(value)))

    def test_texts_are_replaced_and_keys_if_asked_for(self):
        value = {'a': ['b', 1, None, {'c': 'd'}]}
        self.assertEqual(
            {'a': ['B', 1, None, {'c': 'D'}]},
            data_path.replace_texts(value, str.upper),
        )
        self.assertEqual(
            {'A': ['B', 1, None, {'C': 'D'}]},
            data_path.replace_texts(value, str.upper, keys=True),
        )

    def test_what_was_appended_has_an_index(self):
        data = {'l': [{'m': {'-': 1}}, {'l': [1, 2, 3]}]}
        for path, found in (
            (('l', '-'), ('l', '1')),
            (('l', '-', 'l', '-'), ('l', '1', 'l', '2')),
            (('l', '0', 'm', '-'), ('l', '0', 'm', '-')),
            (('l', '0'), ('l', '0')),
            ((), ()),
        ):
            self.assertEqual(found, data_path.resolve_append(data, path))
