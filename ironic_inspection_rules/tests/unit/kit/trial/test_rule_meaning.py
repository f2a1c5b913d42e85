# SPDX-License-Identifier: Apache-2.0

"""Rules that are written otherwise have one meaning, others have not."""

import yaml

from ironic_inspection_rules.engine.language import path
from ironic_inspection_rules.engine.language import registry
from ironic_inspection_rules.kit.trial import rule_meaning
from ironic_inspection_rules.rule_file import file_rule
from ironic_inspection_rules.tests.unit import base

ACTION = '{op: log, args: [x]}'


class RuleMeaningTestCase(base.TestCase):
    def of(self, conditions='', actions=ACTION, fields=''):
        return rule_meaning.compute(
            file_rule.parse(
                yaml.safe_load(
                    f'{{conditions: [{conditions}], actions: [{actions}], '
                    f'{fields}}}'
                ),
                registry.installed(),
            )
        )

    def is_same(self, one, other):
        return path.is_same(self.of(**one), self.of(**other))

    def assert_conditions(self, same, *conditions):
        for other in conditions[1:]:
            self.assertIs(
                same,
                self.is_same(
                    {'conditions': conditions[0]}, {'conditions': other}
                ),
                other,
            )

    def assert_actions(self, same, *actions):
        for other in actions[1:]:
            self.assertIs(
                same,
                self.is_same({'actions': actions[0]}, {'actions': other}),
                other,
            )

    def test_arguments_have_names_and_defaults(self):
        self.assert_conditions(
            True,
            '{op: eq, args: ["{node.name}", 1]}',
            '{op: eq, args: [["{node.name}", 1]]}',
            '{op: eq, args: {values: ["{node.name}", 1]}}',
            '{op: " eq", args: {values: ["{node[name]}", 1], '
            'force_strings: "no"}}',
        )
        self.assert_conditions(
            False,
            '{op: eq, args: ["{node.name}", 1]}',
            '{op: eq, args: ["{node.name}", "1"]}',
            '{op: eq, args: ["{node.name}", true]}',
            '{op: eq, args: [1, "{node.name}"]}',
            '{op: "!eq", args: ["{node.name}", 1]}',
            '{op: eq, args: {values: ["{node.name}", 1], '
            'force_strings: true}}',
        )

    def test_paths_are_tokens(self):
        self.assert_actions(
            True,
            '{op: set-attribute, args: [/extra/a.b, 1]}',
            '{op: set-attribute, args: {path: extra/a.b, value: 1}}',
        )
        self.assert_actions(
            True,
            '{op: set-attribute, args: ["/extra/{node.name}/b", 1]}',
            '{op: set-attribute, args: ["extra.{node[name]}.b", 1]}',
        )
        self.assert_actions(
            False,
            '{op: set-attribute, args: [/extra/a.b, 1]}',
            '{op: set-attribute, args: [extra.a.b, 1]}',
            '{op: set-attribute, args: [/extra/a~1b, 1]}',
        )

    def test_an_item_may_hold_more_of_a_path(self):
        self.assert_actions(
            False,
            '{op: set-attribute, args: ["/extra/{item}", 1], loop: [a.b]}',
            '{op: set-attribute, args: ["extra.{item}", 1], loop: [a.b]}',
        )
        self.assert_actions(
            True,
            '{op: set-attribute, args: ["/extra/{item}", 1], loop: [a]}',
            '{op: set-attribute, args: ["extra.{item}", 1], loop: [a]}',
        )

    def test_filters_have_names_and_defaults(self):
        self.assert_conditions(
            True,
            '{op: eq, args: ["{inventory.disks|sort|first}", 1]}',
            '{op: eq, args: ["{inventory.disks | sort( ) | first}", 1]}',
            '{op: eq, args: ["{inventory.disks|sort(reverse=false)|first}", '
            '1]}',
        )
        self.assert_conditions(
            True,
            """{op: eq, args: ["{inventory.a|replace('b','c')}", 1]}""",
            """{op: eq, args: ["{inventory.a|replace(new='c', old='b')}",
                               1]}""",
        )
        self.assert_conditions(
            True,
            """{op: eq, args: ["{inventory.a|map('upper')}", 1]}""",
            """{op: eq, args: ["{inventory.a|map( \\"upper\\" )}", 1]}""",
        )
        self.assert_conditions(
            False,
            """{op: eq, args: ["{inventory.a|map('upper')}", 1]}""",
            """{op: eq, args: ["{inventory.a|map('lower')}", 1]}""",
            """{op: eq, args: ["{inventory.a|map(attribute='upper')}", 1]}""",
        )
        self.assert_conditions(
            False,
            '{op: eq, args: ["{inventory.a|default(1)}", 1]}',
            '{op: eq, args: ["{inventory.a|default(true)}", 1]}',
            '{op: eq, args: ["{inventory.a|default(\'1\')}", 1]}',
            '{op: eq, args: ["{inventory.a|default(item)}", 1], loop: [1]}',
            '{op: eq, args: ["{inventory.a|default(inventory.b)}", 1]}',
            '{op: eq, args: ["{inventory.a|default(1)!s}", 1]}',
        )

    def test_vars_are_in_order_where_one_uses_one(self):
        for same, one, other in (
            (True, 'x: 1, y: 2', 'y: 2, x: 1'),
            (False, 'x: 1, y: "{vars.x}"', 'y: "{vars.x}", x: 1'),
            (True, 'x: 1, y: "{vars.x}"', 'x: 1, y: "{vars[x]}"'),
        ):
            self.assertIs(
                same,
                self.is_same(
                    {'fields': f'vars: {{{one}}}'},
                    {'fields': f'vars: {{{other}}}'},
                ),
            )

    def test_braces_are_read(self):
        self.assert_actions(
            True,
            '{op: log, args: ["{{a}} {"]}',
            '{op: log, args: {msg: "{{a}} {{"}}',
        )
        self.assert_actions(
            False,
            '{op: log, args: ["{{node.name}}"]}',
            '{op: log, args: ["{node.name}"]}',
            '{op: log, args: ["{node.name} "]}',
        )

    def test_regexes_are_what_they_are(self):
        self.assert_conditions(
            False,
            '{op: contains, args: ["{node.name}", "a b"]}',
            '{op: contains, args: ["{node.name}", "a  b"]}',
        )

    def test_loops_and_parts(self):
        self.assert_conditions(
            True,
            '{op: eq, args: ["{item.a}", 1], loop: {a: 1}}',
            '{op: eq, args: ["{item.a}", 1], loop: [{a: 1}], multiple: any}',
        )
        self.assert_conditions(
            False,
            '{op: eq, args: ["{item}", 1], loop: [1, 2]}',
            '{op: eq, args: ["{item}", 1], loop: [1, 2], multiple: all}',
            '{op: eq, args: ["{item}", 1], loop: [2, 1]}',
            '{op: eq, args: ["{item}", 1], loop: "{inventory.a}"}',
        )
        self.assert_conditions(
            False,
            '{op: any-of, conditions: [{op: is-none, args: [1]}]}',
            '{op: any-of, conditions: [{op: is-none, args: [2]}]}',
        )
        self.assert_actions(
            False,
            ACTION,
            '{op: log, args: [x], when: [{op: is-true, args: [1]}]}',
        )
        self.assert_actions(
            True, ACTION, '{op: log, args: [x], when: [], loop: null}'
        )

    def test_undoing_is_a_meaning(self):
        action = '{op: set-attribute, args: [/extra/a, 1]%s}'
        self.assert_actions(False, action % '', action % ', revert: true')
        self.assert_actions(True, action % '', action % ', revert: false')

    def test_fields_of_the_rule_count_but_its_names(self):
        self.assertTrue(self.is_same({}, {'fields': 'description: a'}))
        for fields in (
            'priority: 1',
            'mode: audit',
            'scope: a',
            'sensitive: true',
            'phase: early',
            'vars: {a: 1}',
        ):
            self.assertFalse(self.is_same({}, {'fields': fields}), fields)
