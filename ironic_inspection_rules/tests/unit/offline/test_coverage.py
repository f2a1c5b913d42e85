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

"""How much of their rules some machines reach."""

from ironic_inspection_rules.engine import registry
from ironic_inspection_rules.offline import coverage
from ironic_inspection_rules.offline import machine_test
from ironic_inspection_rules.tests.unit.offline import files

RULES = """
- description: little
  conditions:
  - {op: lt, args: {values: ["{inventory[memory][physical_mb]}", 4096]}}
  actions:
  - {op: log, args: {msg: little}}
  - {op: fail, args: {msg: too little}}
- description: after
  actions:
  - {op: log, args: {msg: enough}}
"""


class CoverageTestCase(files.FilesTestCase):

    def setUp(self):
        super().setUp()
        self.ops = registry.installed()
        self.rules = machine_test.load_rules(
            [self.write('rules.yaml', RULES)], self.ops)

    def cover(self, *megabytes):
        covered = coverage.Coverage(self.rules)
        plans = machine_test.compile_rules(self.rules, self.ops)
        for number in megabytes:
            inventory = {**files.INVENTORY, 'memory': {'physical_mb': number}}
            covered.note(machine_test.run(
                self.write(f'{number}.json', inventory), plans,
                machine_test.load_node(None)))
        return covered

    def test_no_machine_covers_nothing(self):
        self.assertEqual(0, self.cover().percent)

    def test_rules_that_are_not_there_are_covered(self):
        self.assertEqual(100, coverage.Coverage([]).percent)

    def test_machines_are_counted_for_each_part(self):
        self.assertEqual([
            {'description': 'little', 'uuid': self.rules[0].uuid,
             'conditions': [{'true': 1, 'false': 2}],
             'actions': [{'ran': 1}, {'ran': 1}]},
            {'description': 'after', 'uuid': self.rules[1].uuid,
             'conditions': [], 'actions': [{'ran': 2}]},
        ], self.cover(1024, 8192, 16384).as_dict()['rules'])

    def test_the_share_counts_true_and_false_and_each_action(self):
        covered = self.cover(1024)
        self.assertEqual(60, covered.percent)
        self.assertEqual([75, 0], [covered.percent_of(rule)
                                   for rule in self.rules])
        self.assertEqual(100, self.cover(1024, 8192).percent)

    def test_what_others_counted_is_added(self):
        covered = self.cover(1024)
        covered.add(self.cover(8192))
        self.assertEqual(self.cover(1024, 8192).as_dict(), covered.as_dict())
