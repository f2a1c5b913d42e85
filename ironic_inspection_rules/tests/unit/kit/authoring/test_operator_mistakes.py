# SPDX-License-Identifier: Apache-2.0

"""Mistakes of operators are found, and named for what they are."""

import pathlib
import re

import yaml

from ironic_inspection_rules.engine.language import registry
from ironic_inspection_rules.kit.authoring import lint
from ironic_inspection_rules.tests.unit.rule_file import files

MISTAKES = pathlib.Path(__file__).with_name('operator_mistakes.yaml')
LOG = 'actions: [{op: log, args: {msg: x}}]\n'


class OperatorMistakesTestCase(files.FilesTestCase):
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
        mistakes = yaml.safe_load(MISTAKES.read_text())
        missed = []
        for mistake in mistakes:
            found = any(
                re.search(mistake['names'], message)
                for message in self.messages(mistake['rule'])
            )
            # A mistake that is listed as missed and found all the same is no
            # longer missed.
            self.assertIsNot(found, 'missed' in mistake, mistake['mistake'])
            if 'missed' in mistake:
                missed.append(mistake['mistake'])
        self.assertEqual(50, len(mistakes))
        self.assertLessEqual(len(missed), 5, missed)
