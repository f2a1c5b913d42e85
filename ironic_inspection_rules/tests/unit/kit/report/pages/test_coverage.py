# SPDX-License-Identifier: Apache-2.0

"""The data of the page of what machines reached of rules."""

from ironic_inspection_rules.kit.report.pages import coverage
from ironic_inspection_rules.kit.report.pages import shell
from ironic_inspection_rules.kit.trial import coverage as coverage_
from ironic_inspection_rules.kit.trial import machine_test
from ironic_inspection_rules.tests.unit.kit.report.pages import page_data
from ironic_inspection_rules.tests.unit.rule_file import files

RULES = """
- description: Name it
  priority: 5
  conditions:
  - {op: ge, args: ["{inventory.memory.physical_mb}", 4096]}
  - {op: is-true, args: {value: "{inventory.memory.physical_mb}"}}
  actions:
  - {op: set-attribute, args: [/name, large]}
- description: Never there
  conditions: [{op: is-none, args: ["{inventory.memory}"]}]
  actions:
  - {op: set-attribute, args: [/driver_info/redfish_password, geheim]}
- description: Sensitive
  sensitive: true
  actions: [{op: set-attribute, args: [/extra/code, geheim]}]
"""
SMALL = {**files.INVENTORY, 'memory': {'physical_mb': 5}}


class CoveragePageTestCase(files.FilesTestCase):

    def setUp(self):
        super().setUp()
        rules = machine_test.load_rules([self.write('rules.yaml', RULES)])
        self.covered = coverage_.measure(
            rules, machine_test.Nodes(),
            [self.write('a.json', files.INVENTORY),
             self.write('b.json', SMALL)], lambda count: None)
        self.patch(shell, 'now', lambda: '2026-11-22 04:00')
        self.page = coverage.render(self.covered, 2, ['a/rules.yaml'])
        self.rules = page_data.read(self.page)['rules']

    def test_the_title_has_the_file_and_the_date(self):
        self.assertIn('<title>Coverage of rules.yaml, 2026-11-22 04:00<',
                      self.page)

    def test_lines_tell_what_was_reached(self):
        self.assertEqual([
            ['description: Name it', '', []],
            ['priority: 5', '', []],
            ['conditions:', '', []],
            ['- op: ge', 'covered', [1, 1]],
            ["  args: ['{inventory.memory.physical_mb}', 4096]", 'covered',
             []],
            ['- op: is-true', 'half', [2, 0]],
            ["  args: {value: '{inventory.memory.physical_mb}'}", 'half',
             []],
            ['actions:', '', []],
            ['- op: set-attribute', 'covered', [1]],
            ['  args: [/name, large]', 'covered', []],
        ], [line[:3] for line in self.rules[0]['lines']])
        self.assertEqual([0], self.rules[1]['lines'][-2][2])
        self.assertEqual('missed', self.rules[1]['lines'][-2][1])

    def test_lines_tell_why_an_action_did_not_run(self):
        rules = machine_test.load_rules([self.write('idle.yaml', """
- actions: [{op: log, args: ["{item}"], loop: []}]
""")])
        covered = coverage_.measure(
            rules, machine_test.Nodes(),
            [self.write('a.json', files.INVENTORY)], lambda count: None)
        rule, = page_data.read(coverage.render(covered, 1, ['x']))['rules']
        self.assertEqual(
            [[[0], 'the loop has no items (1 machine)']],
            [line[2:] for line in rule['lines'] if line[2]])

    def test_secrets_are_not_shown(self):
        self.assertNotIn('geheim', self.page)

    def test_shares_are_those_of_the_table(self):
        self.assertEqual(
            [self.covered.percent_of(rule) for rule in self.covered.rules],
            [rule['percent'] for rule in self.rules])
        self.assertEqual([(5, 4), (3, 1), (1, 1)],
                         [(rule['parts'], rule['reached'])
                          for rule in self.rules])
