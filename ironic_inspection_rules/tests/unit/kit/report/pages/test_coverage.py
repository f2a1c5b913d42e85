# SPDX-License-Identifier: Apache-2.0

"""The data of the page of what machines reached of rules."""

import math

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
            rules,
            machine_test.Nodes(),
            [
                self.write('a.json', files.INVENTORY),
                self.write('b.json', SMALL),
            ],
            lambda count: None,
        )
        self.patch(shell, 'format_now', lambda: '2026-11-22 04:00')
        self.page = coverage.render(self.covered, 2, ['a/rules.yaml'])
        self.data = page_data.read(self.page)
        self.lines = [
            [tuple(line.values())[1:] for line in source['lines']]
            for source in page_data.parts(self.data, 'rulesource')
        ]

    def test_the_title_has_the_file_and_the_date(self):
        self.assertIn(
            '<title>Coverage of rules.yaml, 2026-11-22 04:00<', self.page
        )

    def test_lines_tell_what_was_reached(self):
        self.assertEqual(
            [
                ('description: Name it', '', []),
                ('priority: 5', '', []),
                ('conditions:', '', []),
                ('- op: ge', 'covered', [1, 1]),
                (
                    "  args: ['{inventory.memory.physical_mb}', 4096]",
                    'covered',
                    [],
                ),
                ('- op: is-true', 'half', [2, 0]),
                (
                    "  args: {value: '{inventory.memory.physical_mb}'}",
                    'half',
                    [],
                ),
                ('actions:', '', []),
                ('- op: set-attribute', 'covered', [1]),
                ('  args: [/name, large]', 'covered', []),
            ],
            [line[:3] for line in self.lines[0]],
        )
        self.assertEqual(('missed', [0]), self.lines[1][-2][1:3])

    def test_lines_tell_why_an_action_did_not_run(self):
        rules = machine_test.load_rules(
            [
                self.write(
                    'idle.yaml',
                    """
- actions: [{op: log, args: ["{item}"], loop: []}]
""",
                )
            ]
        )
        covered = coverage_.measure(
            rules,
            machine_test.Nodes(),
            [self.write('a.json', files.INVENTORY)],
            lambda count: None,
        )
        page = coverage.render(covered, 1, ['x'])
        [source] = page_data.parts(page_data.read(page), 'rulesource')
        self.assertEqual(
            [([0], 'the loop has no items (1 machine)')],
            [
                (line['counts'], line['why'])
                for line in source['lines']
                if line['counts']
            ],
        )

    def test_secrets_are_not_shown(self):
        self.assertNotIn('geheim', self.page)

    def test_shares_are_those_of_the_table(self):
        meters = [row['cells'][2] for row in page_data.rows(self.data)]
        self.assertEqual(
            [(5, 4), (3, 1), (1, 1)],
            [(meter['whole'], meter['part']) for meter in meters],
        )
        self.assertEqual(
            [
                math.floor(self.covered.percent_of(rule))
                for rule in self.covered.rules
            ],
            [int(meter['text'].split()[0]) for meter in meters],
        )

    def test_tiles_count_the_rules_that_they_choose(self):
        marks = [
            mark for row in page_data.rows(self.data) for mark in row['marks']
        ]
        self.assertEqual(['show=partial', 'show=partial', 'show=whole'], marks)
        self.assertEqual([1, 2, 0], list(page_data.tiles(self.data).values()))

    def test_what_is_missed_is_in_words(self):
        first, second, third = page_data.rows(self.data)
        for row, op in ((first, 'is-true'), (second, 'is-none')):
            self.assertIn(op, row['cells'][1]['text'])
        self.assertEqual('', third['cells'][1]['text'])
        [missed] = page_data.parts(second['opened'], 'block')
        self.assertEqual(2, len(missed['parts']))
