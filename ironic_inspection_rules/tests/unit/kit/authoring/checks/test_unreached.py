# SPDX-License-Identifier: Apache-2.0

"""A rule that no machine meets is found, one that may run never."""

from ironic_inspection_rules.engine.language import registry
from ironic_inspection_rules.kit.authoring.checks import unreached
from ironic_inspection_rules.rule_set import repository as repositories
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


FAILS_FIRST = """
- description: before
  priority: 9
  actions: [{op: set-plugin-data, args: {path: /site, value: lab}}]
- description: first
  priority: 8
  %s
  vars: {place: /site, of: 1}
  conditions:
  - {op: eq, args: {values: ["%s", lab]}}
  actions:
  - {op: set-plugin-data, args: {path: /refused, value: true}, revert: %s}
  - {op: fail, args: {msg: refused}}
- description: between
  priority: 7
  conditions: [{op: is-true, args: {value: "{plugin_data.late}"}}]
  actions:
  - %s
- description: behind it
  %s
  vars: {place: /site, of: %s}
  conditions:
  - {op: eq, args: {values: ["%s", lab]}}
  actions:
  - {op: set-plugin-data, args: {path: /seen, value: 1}, revert: %s}
"""
LOG = '{op: log, args: {msg: x}}'


class DecidedOtherwiseTestCase(base.CheckTestCase):
    """The same conditions, decided on other data than before."""

    def behind(
        self,
        read='{plugin_data.site}',
        between=LOG,
        reverts=('false', 'false'),
        fields=('', ''),
        of='1',
    ):
        """Return what is never reached."""
        rules = self.rules(
            FAILS_FIRST
            % (
                fields[0],
                read,
                reverts[0],
                between,
                fields[1],
                of,
                read,
                reverts[1],
            )
        )
        return [
            subject.rule.description
            for subject, _place, _text in unreached.check_rules(rules)
        ]

    def test_rules_that_are_decided_alike(self):
        self.assertEqual(['behind it'], self.behind())
        self.assertEqual(['behind it'], self.behind(reverts=('true', 'true')))

    def test_one_is_decided_before_any_rule_acts(self):
        self.assertEqual([], self.behind(reverts=('true', 'false')))
        self.assertEqual([], self.behind(reverts=('false', 'true')))

    def test_what_is_written_between_does_not_matter_to_earlier_decisions(
        self,
    ):
        site = '{op: set-plugin-data, args: {path: /site, value: lab}}'
        self.assertEqual(
            ['behind it'], self.behind(between=site, reverts=('true', 'true'))
        )

    def test_a_place_that_is_known_on_a_machine_may_be_the_one(self):
        for between in (
            '{op: set-plugin-data, args: {path: "{vars.place}", value: lab}}',
            '{op: set-plugin-data, args: {path: "/{item}", value: lab}, '
            'loop: "{inventory.disks}"}',
        ):
            self.assertEqual([], self.behind(between=between))

    def test_traits_that_are_known_on_a_machine_may_be_those(self):
        between = '{op: set-traits, args: {names: "{plugin_data.traits}"}}'
        self.assertEqual([], self.behind('{node.traits[0]}', between))
        self.assertEqual(['behind it'], self.behind(between=between))

    def test_the_row_of_a_machine_may_be_another_one(self):
        read = "{tables.sites | row | get('name')}"
        between = '{op: set-plugin-data, args: {path: /rack, value: r1}}'
        self.assertEqual(['behind it'], self.behind(read))
        self.assertEqual([], self.behind(read, between))

    def test_a_sensitive_rule_reads_what_is_masked_for_others(self):
        fields = ('', 'sensitive: true')
        self.assertEqual(['behind it'], self.behind(fields=fields))
        self.assertEqual(
            [], self.behind('{plugin_data.password}', fields=fields)
        )

    def test_vars_that_are_equal_to_python_only_are_other_ones(self):
        self.assertEqual(['behind it'], self.behind('{vars.of}'))
        self.assertEqual([], self.behind('{vars.of}', of='true'))

    def test_an_empty_scope_is_none(self):
        fields = ("scope: ''", 'scope: lab')
        self.assertEqual(['behind it'], self.behind(fields=fields))


SCOPES = """
- description: first
  priority: 9
  scope: %s
  actions: [{op: fail, args: {msg: refused}}]
- description: behind it
  scope: %s
  actions: [{op: log, args: {msg: x}}]
"""


class DefaultScopeTestCase(base.CheckTestCase):
    """The server may give a scope to rules that have none."""

    def messages(self, first, second):
        """Return what is said of rules with these scopes."""
        rules = self.rules(SCOPES % (first, second))
        return [text for _rule, _place, text in unreached.check_rules(rules)]

    def runs(self, rules, default_scope, scope):
        """Return the rules that run on a node, behind the failing one too."""
        repository = repositories.Repository(
            registry.installed(),
            (),
            read_revision=lambda context: 1,
            read_rules=lambda context: (),
            default_scope=default_scope,
        )
        scoped = [
            repository.with_default_scope(subject.rule) for subject in rules
        ]
        return [
            rule.description
            for rule in scoped
            if not rule.scope or rule.scope == scope
        ]

    def test_the_option_may_keep_the_failing_rule_from_a_machine(self):
        rules = self.rules(SCOPES % ('null', 'lab'))
        self.assertEqual(['behind it'], self.runs(rules, 'site', 'lab'))
        (text,) = self.messages('null', 'lab')
        self.assertIn('unless [inspection_rules]default_scope is set', text)
        self.assertIn('"lab"', text)

    def test_the_option_does_not_matter_to_rules_of_one_scope(self):
        for first, second in (('null', 'null'), ('lab', 'lab')):
            (text,) = self.messages(first, second)
            self.assertNotIn('default_scope', text)

    def test_a_failing_rule_with_a_scope_lets_other_nodes_pass(self):
        rules = self.rules(SCOPES % ('lab', 'null'))
        self.assertEqual(['behind it'], self.runs(rules, 'site', 'site'))
        self.assertEqual([], self.messages('lab', 'null'))


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
