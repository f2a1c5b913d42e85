# SPDX-License-Identifier: Apache-2.0

"""Of rules that are as their authors meant them, lint says nothing wrong.

The rules are those of the conformance suite. Many of them are odd on
purpose: what lint says of these, and why it is right, is in
``expected_warnings.yaml``. Whether a condition is always or never true is
compared with what the suite says of it. The public rule sets have their list
in ``test_lint.py``, and the pages of the documentation have to be free of
warnings.
"""

import json
import pathlib

import yaml

from ironic_inspection_rules.engine.language import registry
from ironic_inspection_rules.kit.authoring import lint
from ironic_inspection_rules.tests.corpus import case as corpus
from ironic_inspection_rules.tests.unit.rule_file import files

EXPECTED = pathlib.Path(__file__).with_name('expected_warnings.yaml')

ALWAYS, NEVER = 'always-holds', 'never-holds'
BESIDE = ('list-arguments', 'built-in-only', lint.DUPLICATE)
"""What the suite's own form of rules brings with it."""


class GoodRulesTestCase(files.FilesTestCase):
    def setUp(self):
        super().setUp()
        self.found = [
            (case, self.lint(case))
            for case in corpus.load()
            if not case.get('problems')
        ]

    def lint(self, case):
        path = self.write(
            'rules.json',
            json.dumps(
                [
                    {
                        name: value
                        for name, value in rule.items()
                        if name != 'uuid'
                    }
                    for rule in case.rules
                ]
            ),
        )
        return [
            each
            for each in lint.lint([path], registry.installed())
            if each.is_problem and each.check not in BESIDE
        ]

    def test_nothing_is_said_that_is_not_so(self):
        expected = {
            (check, name)
            for entry in yaml.safe_load(EXPECTED.read_text())
            for check, names in entry['checks'].items()
            for name in names
        }
        found = {
            (each.check, f'{case.file}: {case.name}')
            for case, findings in self.found
            for each in findings
            if each.check not in (ALWAYS, NEVER)
        }
        self.assertEqual(sorted(expected), sorted(found))

    def test_each_warning_has_its_reason(self):
        for entry in yaml.safe_load(EXPECTED.read_text()):
            self.assertGreater(len(entry['reason']), 20)

    def test_what_always_or_never_holds_does(self):
        """A case with one condition says whether it holds."""
        compared = 0
        for case, findings in self.found:
            said = {each.check for each in findings} & {ALWAYS, NEVER}
            holds = case.get('holds')
            if (
                not said
                or holds not in (True, False)
                or (case.get('condition') is None)
            ):
                continue
            compared += 1
            self.assertEqual(
                said, {ALWAYS if holds else NEVER}, (case.file, case.name)
            )
        self.assertGreater(compared, 80)
