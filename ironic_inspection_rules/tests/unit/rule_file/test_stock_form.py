# SPDX-License-Identifier: Apache-2.0

"""Rules that were written for stock Ironic's own engine."""

import yaml

from ironic_inspection_rules.engine.language import registry
from ironic_inspection_rules.kit.authoring import lint
from ironic_inspection_rules.kit.authoring.conversion import converted_file
from ironic_inspection_rules.rule_file import document
from ironic_inspection_rules.rule_file import stock_form
from ironic_inspection_rules.tests import guide
from ironic_inspection_rules.tests import shared_data
from ironic_inspection_rules.tests.unit.rule_file import files

CONVERT = 'ironic-inspection-rules convert --from ironic'

CERTAIN = (
    '{actions: [{op: log, args: {msg: x}}], links: [], updated_at: null}',
    '{actions: [{op: set-plugin-data, '
    'args: {path: a, value: b, plugin_data: {}}}]}',
    '{actions: [{op: set-plugin-data, args: [a, b, {}]}]}',
    r"""{conditions: [{op: matches, args: {value: "{inventory[bmc_address]}",
    regex: '\{inventory\[bmc_address\]\}'}}],
    actions: [{op: log, args: {msg: x}}]}""",
)
LIKELY = (
    '{conditions: [{op: eq, args: {values: ["{inventory[a]}", "None"]}}], '
    'actions: [{op: log, args: {msg: x}}]}',
    '{conditions: [{op: one-of, args: {value: "{inventory[a]}", '
    'values: ["", "False"]}}], actions: [{op: log, args: {msg: x}}]}',
    '{actions: [{op: log, args: {msg: x}, loop: []}]}',
    """{actions: [{op: set-attribute,
    args: {path: /extra/a, value: '{"a": [1]}'}}]}""",
)
OURS = (
    '{conditions: [{op: eq, args: {values: ["{inventory.a!s}", "None"]}}], '
    'actions: [{op: log, args: {msg: x}}]}',
    '{conditions: [{op: eq, args: {values: ["{inventory.a}", none]}}], '
    'actions: [{op: log, args: {msg: x}}]}',
    '{mode: off, actions: [{op: log, args: {msg: x}, loop: []}]}',
    '{conditions: [{op: ge, args: {values: [2, 1]}}], '
    'actions: [{op: log, args: {msg: x}, loop: []}]}',
    '{links: [], created_at: null, revision: 3, mode: enforce, '
    'actions: [{op: log, args: {msg: x}}]}',
    '{actions: [{op: set-attribute, args: {path: /extra/a, '
    'value: "{{a}}"}, when: []}]}',
    '[1]',
    '{actions: 1}',
    '{actions: [1, {op: [x]}]}',
)


class StockFormTestCase(files.FilesTestCase):
    def said(self, text):
        found = stock_form.find_sign(yaml.safe_load(text))
        return found.sentence if found else ''

    def test_what_ironic_adds_is_certain(self):
        for text in CERTAIN:
            self.assertIn('this is a rule of stock Ironic', self.said(text))
            self.assertIn(CONVERT, self.said(text))

    def test_what_is_of_use_only_there_is_likely(self):
        for text in LIKELY:
            self.assertIn('this looks like a rule of stock', self.said(text))
            self.assertIn(CONVERT, self.said(text))

    def test_what_only_this_language_has_is_no_rule_of_stock_ironic(self):
        for text in OURS:
            self.assertEqual('', self.said(text), text)

    def test_lint_warns_with_the_place(self):
        for text in (*CERTAIN, *LIKELY):
            path = self.write('rules.yaml', f'- {text}\n')
            found = [
                each
                for each in lint.lint([path], registry.installed())
                if each.check == lint.STOCK
            ]
            self.assertEqual(['warning'], [each.level for each in found], text)

    def test_what_convert_writes_is_of_stock_ironic_no_more(self):
        for text in (*CERTAIN, *LIKELY):
            path = self.write('rules.yaml', f'- {text}\n')
            made = converted_file.convert(
                document.load(path), registry.installed(), stock=True
            )
            for rule in yaml.safe_load(made.text):
                self.assertIsNone(stock_form.find_sign(rule), made.text)

    def test_convert_wants_to_be_told_whose_they_are(self):
        path = self.write('rules.yaml', f'- {CERTAIN[3]}\n')
        lost = converted_file.convert(
            document.load(path), registry.installed()
        ).lost
        self.assertIn(CONVERT, lost[0].message)

    def test_samples_are_of_this_language(self):
        if not guide.pages():
            self.skipTest('not a checkout: no samples')
        path = guide.ROOT / 'tools' / 'samples' / 'rules.yaml'
        for entry in yaml.safe_load(path.read_text()):
            self.assertIsNone(stock_form.find_sign(entry), entry)

    def test_real_rules_are_told_apart(self):
        found = {
            path.name
            for path in sorted(shared_data.directory().glob('rules-*/*'))
            for entry in yaml.safe_load(path.read_text())
            if stock_form.find_sign(entry)
        }
        self.assertEqual({'kayobe-2026.json'}, found)
