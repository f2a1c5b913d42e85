# SPDX-License-Identifier: Apache-2.0

"""Machines that other rules treat differently are found, and how."""

from ironic_inspection_rules.kit.trial import machine_diff
from ironic_inspection_rules.kit.trial import machine_test
from ironic_inspection_rules.kit.trial import rule_diff
from ironic_inspection_rules.tests.unit.rule_file import files

OLD = """
- description: A
  actions:
  - {op: set-attribute, args: [/extra/a, {b: 1, c: 2}]}
  - {op: add-trait, args: [CUSTOM_OLD]}
- description: B
  actions: [{op: set-plugin-data, args: [/x, 1]}]
"""


class MachineDiffTestCase(files.FilesTestCase):
    def treat(self, new, old=OLD, inventory=files.INVENTORY):
        before, after = (
            rule_diff.ComparedRules.load([self.write(name, text)])
            for name, text in (('old.yaml', old), ('new.yaml', new))
        )
        (treated,) = machine_diff.compare(
            machine_test.RuleSet(before.rules, before.tables),
            machine_test.RuleSet(
                rule_diff.compare(before, after).rules, after.tables
            ),
            machine_test.Nodes(),
            [self.write('m.json', inventory)],
            lambda count: None,
        )
        return treated

    def test_the_way_there_does_not_matter(self):
        treated = self.treat("""
            - description: other
              actions: [{op: set-plugin-data, args: [/x, 5]},
                        {op: set-plugin-data, args: [/x, 1]}]
            - description: A
              actions:
              - {op: add-trait, args: [CUSTOM_OLD]}
              - {op: set-attribute, args: [/extra/a/b, 1]}
              - {op: set-attribute, args: [/extra/a/c, 2]}
        """)
        self.assertEqual((), treated.lines)
        self.assertFalse(treated.differs)

    def test_the_smallest_values_that_differ_are_told(self):
        treated = self.treat(
            OLD.replace('c: 2', 'd: 2')
            .replace('CUSTOM_OLD', 'CUSTOM_NEW')
            .replace('[/x, 1]', '[/x, "1"]')
        )
        self.assertEqual(
            (
                'node',
                '- /extra/a/c: 2',
                '+ /extra/a/d: 2',
                'traits',
                '- CUSTOM_OLD',
                '+ CUSTOM_NEW',
                'plugin_data',
                '- /x: 1',
                '+ /x: "1"',
            ),
            treated.lines,
        )

    def test_another_result_is_told(self):
        failing = (
            OLD + '- {description: C, actions: [{op: fail, args: [nope]}]}\n'
        )
        treated = self.treat(failing)
        self.assertEqual(('ok', 'failed'), (treated.old, treated.new))
        self.assertEqual(('inspection', '- ok'), treated.lines[:2])
        self.assertEqual('+ failed: nope', treated.lines[2])

    def test_which_rule_fails_is_no_difference(self):
        failing = '- {description: C, actions: [{op: fail, args: [nope]}]}\n'
        self.assertEqual(
            (), self.treat(failing, failing.replace('C,', 'D,')).lines
        )

    def test_a_rule_that_fails_as_before_is_no_difference(self):
        failing = '- {description: C, actions: [{op: fail, args: [nope]}]}\n'
        self.assertEqual((), self.treat(failing + '# why', failing).lines)
        self.assertEqual(
            (),
            self.treat(
                failing.replace('{desc', '{priority: 1, desc'), failing
            ).lines,
        )

    def test_a_secret_that_changes_is_told_but_not_shown(self):
        secret = (
            '- {description: S, actions: [{op: set-attribute, '
            'args: [/driver_info/ipmi_password, one]}]}'
        )
        treated = self.treat(secret.replace('one', 'two'), secret)
        self.assertEqual(
            (
                'node',
                '- /driver_info/ipmi_password: "******"',
                '+ /driver_info/ipmi_password: "******"',
            ),
            treated.lines,
        )

    def test_what_a_sensitive_rule_has_set_is_never_shown(self):
        rule = (
            '- {description: S, sensitive: %s, actions: ['
            '{op: set-attribute, args: [/extra/a, %s]}, '
            '{op: add-trait, args: [CUSTOM_%s]}]}'
        )
        hidden, open_ = (
            rule % ('true', 'TOP', 'TOP'),
            rule % ('false', 'new', 'NEW'),
        )
        for old, new in (
            (hidden, open_),
            (open_, hidden),
            (hidden, rule % ('true', 'PEAK', 'PEAK')),
        ):
            treated = self.treat(new, old)
            told = '\n'.join(treated.lines)
            self.assertIn('what sensitive rules set is withheld', told)
            self.assertNotIn('TOP', told)
            self.assertNotIn('PEAK', told)

    def test_a_broken_file_is_a_problem(self):
        treated = self.treat(OLD, inventory='[')
        self.assertIn('m.json', treated.problem)
        self.assertFalse(treated.differs)
