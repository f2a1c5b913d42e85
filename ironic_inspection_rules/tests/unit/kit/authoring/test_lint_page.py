# SPDX-License-Identifier: Apache-2.0

"""The page about lint has each check, and what it says is so."""

import re

import yaml

from ironic_inspection_rules.engine.language import registry
from ironic_inspection_rules.kit.authoring import lint
from ironic_inspection_rules.tests import guide
from ironic_inspection_rules.tests.unit.rule_file import files

PAGE = 'doc/source/reference/lint.rst'

_ROW = re.compile(
    r'^   \* - ``(?P<check>[a-z-]+)``: .+\n'
    r'     - (?:``(?P<bad>.+)``|–)\n'
    r'     - (?:``(?P<good>.+)``|–)$',
    re.MULTILINE,
)
_LOG = '{op: log, args: {msg: x}}'
_ELSEWHERE = {
    lint.FILE,
    lint.UNMATCHED,
    lint.PLUGIN,
    lint.TABLE,
    lint.UNKNOWN_TABLE,
    lint.UNUSED,
    lint.TABLE_VALUE,
}
"""What is no matter of a rule alone."""


class LintPageTestCase(files.FilesTestCase):
    def setUp(self):
        super().setUp()
        if PAGE not in guide.pages():
            self.skipTest('not a checkout: no documentation')
        self.rows = list(_ROW.finditer(guide.Page(PAGE).text))

    def checks(self, part):
        """Return the checks that find something, each with its message."""
        return [(each.check, each.message) for each in self.findings(part)]

    def findings(self, part):
        """Return what is found in a part of a rule, in a rule, or rules."""
        rule = part if part.startswith('[') else f'{{{part}}}'
        read = yaml.safe_load(rule)
        if 'op' in read:
            if read['op'] in registry.installed().actions:
                rule = f'{{actions: [{rule}]}}'
            else:
                rule = f'{{conditions: [{rule}], actions: [{_LOG}]}}'
        return self.findings_of_file(rule)

    def findings_of_file(self, text):
        """Return what is found in a file."""
        return lint.lint([self.write('rule.yaml', text)], registry.installed())

    def test_each_check_has_its_line(self):
        self.assertEqual(
            set(lint.DESCRIPTIONS), {row['check'] for row in self.rows}
        )
        text = guide.Page(PAGE).text
        self.assertEqual(text.count('\n   * - ``'), len(self.rows))

    def test_what_is_bad_is_found(self):
        for row in self.rows:
            if row['bad'] is None:
                self.assertIn(row['check'], _ELSEWHERE)
                continue
            self.assertIn(
                row['check'],
                [check for check, _message in self.checks(row['bad'])],
                row['bad'],
            )

    def test_levels_are_as_the_page_says(self):
        text = guide.Page(PAGE).text
        levels = dict.fromkeys(lint.DESCRIPTIONS, lint.WARNING)
        for level, words in (
            (lint.ERROR, 'are errors'),
            (lint.NOTE, 'are notes'),
        ):
            sentence = re.search(
                rf'((?:``[a-z-]+``(?:,| and)?\s)+){words}', text
            )
            for check in re.findall('[a-z-]+', sentence[1]):
                if check != 'and':
                    levels[check] = level
        for row in self.rows:
            if row['bad'] is not None:
                self.check_level(
                    levels, row['check'], self.findings(row['bad'])
                )
        twice = 'tables: {t: {key: k, rows: [{k: 1}, {k: 1}]}}'
        self.check_level(levels, lint.TABLE, self.findings_of_file(twice))
        unknown = (
            '{tables: {t: {key: k, rows: [{k: 1}]}}, rules: [{vars: '
            '{a: "{tables.u | row(inventory.hostname)}"}, '
            f'actions: [{_LOG}]}}]}}'
        )
        self.check_level(
            levels, lint.UNKNOWN_TABLE, self.findings_of_file(unknown)
        )
        self.check_level(levels, lint.FILE, self.findings_of_file('{'))

    def check_level(self, levels, check, found):
        """Check that what is found by a check is of its level."""
        self.assertEqual(
            {levels[check]},
            {each.level for each in found if each.check == check},
            check,
        )

    def test_what_is_good_is_good(self):
        for row in self.rows:
            if row['good'] is not None:
                found = [
                    each
                    for each in self.checks(row['good'])
                    if each[0] != lint.NEEDS
                ]
                self.assertEqual([], found, row['good'])
