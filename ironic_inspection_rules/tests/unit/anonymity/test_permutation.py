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

import hypothesis
from hypothesis import strategies

from ironic_inspection_rules.anonymity import permutation
from ironic_inspection_rules.tests.unit import base

_KEYS = strategies.binary(min_size=1)


class PermutationTestCase(base.TestCase):

    @hypothesis.given(key=_KEYS, size=strategies.integers(2, 200))
    def test_each_number_of_a_range_gets_another_one_of_its_own(self, key,
                                                                size):
        numbers = permutation.Permutation(key)
        made = [numbers.number(value, size) for value in range(size)]
        self.assertEqual(set(range(size)), set(made))
        self.assertFalse([value for value in range(size)
                          if made[value] == value])

    def test_a_key_gives_the_same_again_and_another_key_does_not(self):
        made = [permutation.Permutation(key).number(7, 2 ** 64)
                for key in (b'one', b'one', b'two')]
        self.assertEqual(made[0], made[1])
        self.assertNotEqual(made[0], made[2])

    def test_ranges_of_other_names_are_permuted_otherwise(self):
        numbers = permutation.Permutation(b'key')
        self.assertNotEqual(numbers.number(7, 2 ** 64, 'a'),
                            numbers.number(7, 2 ** 64, 'b'))

    def test_a_range_of_one_stays(self):
        self.assertEqual(0, permutation.Permutation(b'key').number(0, 1))

    @hypothesis.given(key=_KEYS, one=strategies.integers(0, 2 ** 32 - 1),
                      same=strategies.integers(8, 31))
    def test_what_begins_alike_still_does_and_no_longer(self, key, one,
                                                        same):
        numbers = permutation.Permutation(key)
        # The first bit that differs is the one after those that are alike.
        other = one ^ 1 << 31 - same
        first, second = (numbers.with_prefix(value, 32, 8)
                         for value in (one, other))
        self.assertEqual(32 - same, (first ^ second).bit_length())
        self.assertEqual(one >> 24, first >> 24)
        self.assertNotEqual(one, first)
