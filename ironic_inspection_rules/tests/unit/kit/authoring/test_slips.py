# SPDX-License-Identifier: Apache-2.0

"""Slips of operators are found, and named for what they are."""

import pathlib
import re

import yaml

from ironic_inspection_rules.engine.language import registry
from ironic_inspection_rules.kit.authoring import lint
from ironic_inspection_rules.tests.unit.rule_file import files

SLIPS = pathlib.Path(__file__).with_name('slips.yaml')
LOG = 'actions: [{op: log, args: {msg: x}}]\n'


class SlipsTestCase(files.FilesTestCase):
    def messages(self, rule):
        if 'actions:' not in rule:
            rule += LOG
        return [
            each.message
            for each in lint.lint(
                [self.write('rule.yaml', rule)], registry.installed()
            )
        ]

    def test_nine_of_ten_are_found(self):
        slips = yaml.safe_load(SLIPS.read_text())
        missed = []
        for slip in slips:
            found = any(
                re.search(slip['names'], message)
                for message in self.messages(slip['rule'])
            )
            # What is listed as missed and found all the same is no longer
            # missed.
            self.assertIsNot(found, 'missed' in slip, slip['slip'])
            missed += [slip['slip']] if 'missed' in slip else []
        self.assertEqual(50, len(slips))
        self.assertLessEqual(len(missed), 5, missed)
