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

"""Rules of stock Ironic."""

from ironic_inspection_rules.ruleset import stock
from ironic_inspection_rules.tests.unit import base

UUID = '0a1b2c3d-0000-4000-8000-000000000001'


class TranslateTestCase(base.TestCase):

    def translate(self, **fields):
        ours, changed = stock.translate({
            'uuid': UUID, 'actions': [{'op': 'fail', 'args': {'msg': 'no'}}],
            **fields})
        return ours, '\n'.join(changed)

    def test_a_rule_that_means_the_same_is_left_as_it_is(self):
        fields = {'uuid': UUID, 'conditions': [],
                  'actions': [{'op': 'fail', 'args': {'msg': 'no'}}]}

        self.assertEqual((fields, []), stock.translate(fields))

    def test_keys_that_had_no_effect_are_dropped_and_named(self):
        ours, changed = self.translate(
            inspection_rule_id=7,
            conditions=[{'op': 'eq', 'args': [1, 1], 'multiple': 'all',
                         'force_strings': True}],
            actions=[{'op': 'fail', 'args': {'msg': 'no'}, 'unique': True}])

        self.assertEqual([{'op': 'eq', 'args': [1, 1], 'multiple': 'all'}],
                         ours['conditions'])
        self.assertEqual([{'op': 'fail', 'args': {'msg': 'no'}}],
                         ours['actions'])
        for part in ('inspection_rule_id', 'force_strings', '"eq"', 'unique'):
            self.assertIn(part, changed)

    def test_what_it_means_here_is_told(self):
        _ours, changed = self.translate(phase='preprocess', scope='lab')

        self.assertIn('never ran', changed)
        self.assertIn('ran on all nodes', changed)

    def test_priorities_are_brought_into_range(self):
        for given, wanted in ((-5, 0), (10_000, 9999), (9999, 9999)):
            self.assertEqual(wanted,
                             self.translate(priority=given)[0]['priority'])

    def test_a_name_becomes_a_uuid(self):
        ours, changed = self.translate(uuid='any-name')

        self.assertIn('"any-name" becomes its UUID', changed)
        self.assertEqual(ours['uuid'],
                         self.translate(uuid='any-name')[0]['uuid'])


class LoadTestCase(base.TestCase):

    def load(self, text):
        return stock.load(self.create_tempfiles([('rules', text)])[0])

    def test_a_rule_without_uuid_has_one_by_its_content(self):
        one, two, named = self.load(
            '[{"priority": 1}, {"priority": 2}, {"uuid": "a"}]')

        self.assertNotEqual(one['uuid'], two['uuid'])
        self.assertEqual('a', named['uuid'])
        again, = self.load('[{"priority": 1}]')
        self.assertEqual(one['uuid'], again['uuid'])

    def test_what_is_no_list_of_rules_is_refused(self):
        for text in ('a: 1', '[1]', '{', ''):
            self.assertRaises(ValueError, self.load, text)
        self.assertRaises(ValueError, stock.load, '/nowhere/rules.yaml')
