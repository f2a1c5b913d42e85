# SPDX-License-Identifier: Apache-2.0

"""What a change of rules changes can be read by people."""

from ironic_inspection_rules.kit.report import diff_text
from ironic_inspection_rules.kit.trial import machine_diff
from ironic_inspection_rules.kit.trial import rule_diff
from ironic_inspection_rules.tests.unit import base


class MarkdownTestCase(base.TestCase):
    def test_what_is_written_by_others_stays_code(self):
        text = diff_text.as_markdown(
            [
                rule_diff.RuleChange(
                    '@all `x` ``y``\n# head',
                    'changed',
                    ('+```', '+````', '+<img src=x>'),
                )
            ],
            {machine_diff.ComparisonResult('ok', 'ok', ('+ `',)): ['[a](b)']},
            1,
        )
        self.assertIn('changed: ``` @all `x` ``y`` # head ```\n', text)
        self.assertIn('\n`````diff\n+```\n+````\n+<img src=x>\n`````\n', text)
        self.assertIn('\n`[a](b)`\n\n```diff\n+ `\n```\n', text)

    def test_a_comment_has_a_size(self):
        lines = ('+' + 'x' * 999,) * 50
        text = diff_text.as_markdown(
            [rule_diff.RuleChange(name, 'changed', lines) for name in 'abc'],
            {},
            0,
        )
        self.assertLess(len(text), 65_536)
        self.assertIn('3 changed', text)
        self.assertEqual(1, text.count('```diff'))
        self.assertTrue(text.endswith('2 more are left out\n'))

    def test_many_machines_that_are_alike_are_counted(self):
        self.assertIn(
            '`4`, `5 more`',
            diff_text.as_markdown(
                [],
                {
                    machine_diff.ComparisonResult('ok', 'ok', ('+ x',)): list(
                        '0123456789'
                    )
                },
                10,
            ),
        )
