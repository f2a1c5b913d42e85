# SPDX-License-Identifier: Apache-2.0

"""A rule that no machine meets is found, one that may run never."""

from ironic_inspection_rules.kit.authoring.checks import unreached
from ironic_inspection_rules.tests.unit.kit.authoring.checks import base
from ironic_inspection_rules.tests.unit.rule_file import files

RULES = """
- description: small
  priority: 9
  conditions:
  - {op: lt, args: {values: ["{inventory.memory.physical_mb}", 8192]}}
  actions: [{op: fail, args: {msg: too small}}]
- description: behind it
  conditions:
  - {op: eq, args: {values: ["{inventory.system_vendor.manufacturer}",
                             Dell Inc.]}}
  actions: [{op: log, args: {msg: x}}]
- description: discovered
  scope: lab
  conditions:
  - {op: is-true, args: {value: "{node.auto_discovered}"}}
  actions: [{op: log, args: {msg: x}}]
- description: tried only
  mode: audit
  conditions:
  - {op: eq, args: {values: ["{plugin_data.seen}", 1]}}
  actions: [{op: log, args: {msg: x}}]
- description: before
  phase: preprocess
  actions: [{op: set-plugin-data, args: {path: /seen, value: 1}}]
- description: other maker
  conditions:
  - {op: eq, args: {values: ["{inventory.system_vendor.manufacturer}",
                             Nobody]}}
  actions: [{op: log, args: {msg: x}}]
- description: switched off
  mode: "off"
  conditions:
  - {op: is-none, args: {value: 1}}
  actions: [{op: log, args: {msg: x}}]
"""


FAILS = """
- description: first
  priority: 9
  mode: %s
  vars: {maker: Dell Inc.}
  conditions:
  - {op: eq, args: {values: ["{inventory.system_vendor.manufacturer}",
                             "{vars.maker}"]}}
  actions: [{op: fail, args: {msg: refused}}]
- description: behind it
  vars: {maker: %s}
  conditions:
  - {op: eq, args: {values: ["{inventory.system_vendor.manufacturer}",
                             "{vars.maker}"]}}
  actions: [{op: log, args: {msg: x}}]
"""


class BehindFailingTestCase(base.CheckTestCase):
    def behind(self, mode, maker):
        """Return what is never reached behind the failing rule."""
        rules = self.rules(FAILS % (mode, maker))
        return [
            subject.rule.description
            for subject, _place, _text in unreached.check_rules(rules)
        ]

    def test_a_rule_of_the_same_conditions_is_never_reached(self):
        self.assertEqual(['behind it'], self.behind('enforce', 'Dell Inc.'))

    def test_a_rule_that_is_not_carried_out_fails_nothing(self):
        self.assertEqual([], self.behind('audit', 'Dell Inc.'))
        self.assertEqual([], self.behind('"off"', 'Dell Inc.'))

    def test_the_same_words_over_other_vars_are_other_conditions(self):
        self.assertEqual([], self.behind('enforce', 'Nobody'))


CHANGES = """
- description: first
  priority: 9
  conditions: [{op: eq, args: {values: ["{plugin_data.site}", lab]}}]
  actions: [{op: fail, args: {msg: refused}}]
- description: between
  priority: 8
  mode: %s
  actions: [{op: set-plugin-data, args: {path: %s, value: lab}}]
- description: behind it
  conditions: [{op: eq, args: {values: ["{plugin_data.site}", lab]}}]
  actions: [{op: log, args: {msg: x}}]
"""


class BehindChangeTestCase(base.CheckTestCase):
    def behind(self, mode, path):
        """Return what is never reached, with a rule that writes between."""
        rules = self.rules(CHANGES % (mode, path))
        return [
            subject.rule.description
            for subject, _place, _text in unreached.check_rules(rules)
        ]

    def test_a_condition_may_be_met_only_later(self):
        self.assertEqual([], self.behind('enforce', '/site'))

    def test_a_rule_that_writes_other_things_changes_nothing(self):
        self.assertEqual(['behind it'], self.behind('enforce', '/rack'))
        self.assertEqual(['behind it'], self.behind('audit', '/site'))


class CheckTestCase(base.CheckTestCase):
    def test_only_rules_that_no_machine_meets_are_named(self):
        large = {**files.INVENTORY, 'memory': {'physical_mb': 65536}}
        paths = [
            self.write(f'machine-{number}.json', machine)
            for number, machine in enumerate((large, files.INVENTORY))
        ]
        tried = []
        found, _broken = unreached.check_machines(
            self.rules(RULES), paths, tried.append
        )
        self.assertEqual(
            ['other maker'], [rule.rule.description for rule, _text in found]
        )
        self.assertIn('2 inventories', found[0][1])
        self.assertEqual(2, sum(tried))

    def test_a_rule_behind_one_that_always_fails_is_tried_alone(self):
        path = self.write('machine.json', files.INVENTORY)
        found, _broken = unreached.check_machines(
            self.rules(RULES), [path], lambda count: None
        )
        self.assertNotIn(
            'behind it', [rule.rule.description for rule, _text in found]
        )

    def test_a_broken_file_is_told_and_the_others_are_tried(self):
        paths = [
            self.write('a.json', '{'),
            self.write('b.json', files.INVENTORY),
        ]
        found, broken = unreached.check_machines(
            self.rules(RULES), paths, lambda count: None
        )
        self.assertIn('does not match the inventory', found[0][1])
        self.assertEqual(
            [(paths[0], (2, 1))],
            [(path, place) for path, place, _why in broken],
        )
