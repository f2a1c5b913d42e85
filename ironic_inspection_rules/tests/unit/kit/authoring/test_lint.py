# SPDX-License-Identifier: Apache-2.0

"""Mistakes in rules are found, with their places, and no others."""

from ironic.objects import node
from ironic.objects import port

from ironic_inspection_rules.engine.language import registry
from ironic_inspection_rules.kit.authoring import lint
from ironic_inspection_rules.kit.authoring.checks import names
from ironic_inspection_rules.kit.report import sarif
from ironic_inspection_rules.tests import shared_data
from ironic_inspection_rules.tests.unit import base
from ironic_inspection_rules.tests.unit.rule_file import files

PUBLIC_MISTAKES = {
    # Its "uuid" is a name, which only built-in rules may have.
    ('ironic-docs-full-example.yaml', 'built-in-only'): 1,
    # {all_interfaces…}, which is in plugin_data.
    ('kayobe-2026.json', 'stock-rule'): 5,
    ('kayobe-2026.json', 'unknown-field'): 9,
    # ironic-inspector had LLDP in all_interfaces, Ironic has not.
    # There is no inventory.system, only system_vendor.
    ('tempest-payloads.json', 'unreported-field'): 1,
    ('tempest-payloads.json', 'list-arguments'): 2,
    # {plugin_data[bmc_address} lacks a bracket.
    ('spec-examples.yaml', 'unknown-field'): 1,
    ('spec-examples.yaml', 'list-arguments'): 12,
    # A Dell machine with both addresses meets both rules; only the order
    # says whether its driver is ipmi or idrac.
    ('spec-examples.yaml', 'conflict'): 1,
}
"""What is said of the public rule sets, all of it true."""


class LintTestCase(files.FilesTestCase):
    def lint(self, *texts):
        """Return check, place and message of all findings.

        What a list of arguments and an old rule are said to be has tests of
        its own; here the first keep rules short.
        """
        paths = [
            self.write(f'rules-{number}.yaml', text)
            for number, text in enumerate(texts)
        ]
        return [
            (each.check, each.line, each.column, each.message)
            for each in lint.lint(paths, registry.installed())
            if each.check not in ('list-arguments', lint.INSPECTOR_RULE)
        ]

    def checks(self, conditions, actions='[{op: log, args: [x]}]', **fields):
        more = ''.join(f', {name}: {value}' for name, value in fields.items())
        return [
            found[0]
            for found in self.lint(
                f'- {{conditions: {conditions}, actions: {actions}{more}}}'
            )
        ]

    def test_a_good_rule_has_nothing(self):
        self.assertEqual(
            [],
            self.lint("""
            - description: good
              uuid: 12ab7a3e-7a4b-4b0e-8b0e-6d3c5f0f9a11
              conditions:
              - {op: gt, args: ["{inventory[memory][physical_mb]}", 4096]}
              - {op: eq, args: ["{item.name}", eth0], loop: "{ports}"}
              - {op: is-empty, args: ["{node.extra[rack]}"]}
              actions:
              - {op: set-attribute, args: [/extra/a, "{{x}} {plugin_data}"]}
              - {op: fail, args: [x]}
        """),
        )

    def test_rules_of_ironic_inspector_are_spared_some_checks(self):
        actions = [
            {'path': '/driver_info/redfish_password', 'value': 's'},
            {'path': '/extra/a', 'value': 1},
            {'path': '/extra/a', 'value': '{node.x}'},
        ]
        ours = [{'op': 'set-attribute', 'args': action} for action in actions]
        theirs = [{'action': 'set-attribute', **action} for action in actions]

        self.assertEqual(
            ['secret', 'overwritten', 'unknown-field'], self.checks('[]', ours)
        )
        self.assertEqual(['unknown-field'], self.checks('[]', theirs))

    def test_all_problems_are_told_with_their_places(self):
        self.assertEqual(
            [('invalid', 3, 9), ('invalid', 4, 37), ('invalid', 6, 14)],
            [
                found[:3]
                for found in self.lint("""
                - actions:
                  - op: faill
                  - {op: fail, args: {msg: x, more: y}}
                - {actions: [{op: log, args: [x]}],
                   priority: high}
                - {actions: [{op: log, args: [x]}]}
            """)
            ],
        )

    def test_a_file_that_cannot_be_read_is_told_beside_the_others(self):
        found = self.lint('- {actions: [\n', '- {actions: [{op: no}]}')
        self.assertEqual(['file', 'invalid'], [each[0] for each in found])
        self.assertEqual((2, 1), found[0][1:3])

    def test_a_machine_is_one_mistake(self):
        [found] = self.lint('{"interfaces": [], "cpu": {}, "disks": []}')
        self.assertEqual(('file', 1, 1), found[:3])

    def test_what_is_too_long_for_a_path_is_found_as_any_mistake(self):
        path = f'plugin_data{".a" * 40}'
        row = f'{{tables.racks[1] | get({path!r})}}'
        for value in (
            f'"{{{path}}}"',
            f'"{{inventory | get({path!r})}}"',
            '"{inventory | get(\'\')}"',
            f'"{row}"',
            '[' * 40 + '"a"' + ']' * 40,
            '[' * 20 + 'no, "inventory.cpu.count"' + ']' * 20,
        ):
            for written in (
                f'{{op: set-plugin-data, args: {{path: a, value: {value}}}}}',
                f'{{op: set-plugin-data, args: {{path: {path}, '
                f'value: {value}}}}}',
            ):
                found = self.lint(f"""
                    - conditions:
                      - {{op: eq, args: {{values: [{value}, 16 GiB]}}}}
                      actions: [{written}]
                    """)
                self.assertNotEqual([], found, value)

    def test_fields_over_unknown_names(self):
        for field in (
            '{all_interfaces.eth0}',
            '{plugin_data[a}',
            '{item.x}',
            '{node.drivr}',
            '{data[memory_mb]}',
            '{}',
        ):
            self.assertEqual(
                ['unknown-field'],
                self.checks(f'[{{op: is-none, args: ["{field}"]}}]'),
                field,
            )
        self.assertEqual(
            ['unknown-field'],
            self.checks('[{op: is-none, args: [1], loop: "{item}"}]')[:1],
        )

    def test_fields_of_ports(self):
        one = '[{op: is-none, args: {value: "{%s}"}, loop: "{ports}"}]'
        for field, count in (
            ('item.address', 0),
            ('item[extra][x]', 0),
            ('item', 0),
            ('ports[0].pxe_enabled', 0),
            ('ports', 0),
            ('ports[52:54:00:00:00:01].name', 0),
            ("ports | map(attribute='address') | first", 0),
            ('item.adress', 1),
            ('ports[0].pxe_enable', 1),
            ("ports | map(attribute='adress')", 1),
            ("ports | selectattr('nam', 'eq', 'x') | first", 1),
        ):
            self.assertEqual(
                ['unknown-field'] * count,
                [
                    check
                    for check in self.checks(one % field)
                    if check != 'no-effect'
                ],
                field,
            )

    def test_fields_of_the_node_in_the_early_phase(self):
        for field in ('{node.name}', '{ports[0].address}'):
            self.assertEqual(
                ['invalid'],
                self.checks(
                    f'[{{op: is-none, args: ["{field}"]}}]', phase='early'
                ),
            )

    def test_hints_name_what_may_be_meant(self):
        for field, hint in (
            ('{invntory.cpu}', 'inventory'),
            ('{node.drivr}', 'driver'),
            ('{all_interfaces}', 'plugin_data[all_interfaces]'),
            ('{data[x]}', 'inventory and plugin_data'),
        ):
            (found,) = self.lint(
                f'- actions: [{{op: log, args: ["{field}"]}}]'
            )
            self.assertIn(hint, found[3])

    def test_names_of_regexes_are_no_fields(self):
        self.assertEqual(
            [],
            self.checks(
                '[{op: matches, args: ["{node.name}", "[a-z]{nope}"]}]'
            ),
        )

    def test_variables_that_were_not_replaced(self):
        self.assertEqual(
            ['jinja'],
            self.checks('[]', '[{op: log, args: ["{{ ipmi_username }}"]}]'),
        )
        self.assertEqual(
            ['jinja'],
            self.checks(
                '[]',
                '[{op: set-attribute, args: '
                '{path: "{{ /properties/cpu_model }}", value: x}}]',
            ),
        )
        self.assertEqual(
            [],
            self.checks(
                '[]', '[{op: log, args: ["{{literal braces}} {{}}"]}]'
            ),
        )

    def test_conditions_that_never_hold(self):
        one = '"{node.name}"'
        for conditions in (
            '{op: eq, args: [1, 2]}',
            '{op: one-of, args: [1, []]}',
            '{op: is-none, args: [1]}',
            f'{{op: le, args: [9, {one}, 5]}}',
            f'{{op: gt, args: [{one}, 5]}}, {{op: lt, args: [{one}, 5]}}',
            f'{{op: gt, args: [{one}, 5]}}, {{op: le, args: [{one}, 5]}}',
            f'{{op: gt, args: [{one}, 5]}}, {{op: lt, args: [6, 5]}}',
            f'{{op: eq, args: [{one}, 5]}}, {{op: ne, args: [{one}, 5]}}',
            f'{{op: eq, args: [{one}, a]}}, {{op: eq, args: [{one}, b]}}',
            f'{{op: ge, args: [{one}, 5]}}, {{op: ge, args: [4, {one}]}}',
            f'{{op: is-empty, args: [{one}]}}, '
            f'{{op: "!is-empty", args: [{one}]}}',
            f'{{op: is-true, args: [{one}]}}, {{op: is-false, args: [{one}]}}',
        ):
            self.assertEqual(
                ['never-holds'], self.checks(f'[{conditions}]'), conditions
            )

    def test_conditions_over_an_empty_loop_never_hold(self):
        self.assertEqual(
            ['never-holds', 'stock-rule'],
            self.checks('[{op: eq, args: [1, 1], loop: []}]'),
        )

    def test_conditions_that_may_hold(self):
        one = '"{node.name}"'
        for conditions in (
            f'{{op: ge, args: [{one}, 5]}}, {{op: le, args: [{one}, 5]}}',
            f'{{op: eq, args: [{one}, 5]}}, {{op: eq, args: [{one}, "5"]}}',
            f'{{op: ne, args: [{one}, a]}}, {{op: ne, args: [{one}, b]}}',
            f'{{op: gt, args: [{one}, 5]}}, '
            '{op: lt, args: ["{node.uuid}", 5]}',
            '{op: eq, args: ["{item}", 5], loop: "{ports}"}, '
            '{op: eq, args: ["{item}", 6], loop: "{ports}"}',
            f'{{op: is-false, args: [{one}]}}, {{op: is-none, args: [{one}]}}',
        ):
            self.assertEqual([], self.checks(f'[{conditions}]'), conditions)

    def test_old_conditions_that_never_hold(self):
        def checks(*conditions):
            listed = ', '.join(f'{{field: {each}}}' for each in conditions)
            return self.checks(f'[{listed}]', '[{action: fail, message: x}]')

        self.assertEqual(
            ['never-holds'],
            checks('a, op: lt, value: 5', '"data://a", op: gt, value: 5'),
        )
        self.assertEqual(
            ['never-holds'],
            checks('a, op: is-empty', 'a, op: is-empty, invert: true'),
        )
        self.assertEqual(
            [], checks('"a[*]", op: lt, value: 5', '"a[*]", op: gt, value: 5')
        )

    def test_conditions_in_groups_are_looked_at(self):
        inside = '[{op: %s, conditions: [{op: eq, args: ["{%s}", 1]}]%s}]'
        for op in ('any-of', 'all-of', 'none-of'):
            self.assertEqual(
                ['unknown-field'], self.checks(inside % (op, 'node.nme', ''))
            )
            self.assertEqual(
                ['unknown-field'], self.checks(inside % (op, 'item.name', ''))
            )
            self.assertEqual(
                [],
                self.checks(inside % (op, 'item.name', ', loop: "{ports}"')),
            )
            self.assertEqual([], self.checks(inside % (op, 'node.name', '')))

    def test_rules_behind_one_that_fails_for_some_of_a_group(self):
        rule = (
            '- conditions: [{op: any-of, conditions: [{op: eq, args: '
            '["{node.name}", %s]}]}]\n  actions: [%s]\n'
        )
        fails, logs = '{op: fail, args: [x]}', '{op: log, args: [x]}'
        for name, found in (('a', 1), ('b', 0)):
            self.assertEqual(
                found,
                len(self.lint(rule % ('a', fails) + rule % (name, logs))),
            )

    def test_actions_behind_a_fail(self):
        self.assertEqual(
            ['unreachable-action'],
            self.checks('[]', '[{op: fail, args: [x]}, {op: log, args: [x]}]'),
        )
        self.assertEqual(
            [],
            self.checks(
                '[]',
                '[{op: fail, args: [x], loop: "{ports}"}, '
                '{op: log, args: [x]}]',
            ),
        )

    def test_rules_behind_one_that_fails(self):
        same = 'conditions: [{op: is-empty, args: ["{node.name}"]}]'
        fails = f'{{{same}, actions: [{{op: fail, args: [x]}}]%s}}'
        log = 'actions: [{op: log, args: [x]}]'

        def unreachable(*rules):
            return [
                found[1]
                for found in self.lint(
                    '\n'.join(f'- {rule}' for rule in rules)
                )
                if found[0] == 'unreachable-rule'
            ]

        self.assertEqual([2], unreachable(fails % '', f'{{{same}, {log}}}'))
        self.assertEqual([], unreachable(fails % '', f'{{{log}}}'))
        self.assertEqual([], unreachable(f'{{{same}, {log}}}', fails % ''))
        self.assertEqual(
            [1], unreachable(f'{{{same}, {log}}}', fails % ', priority: 5')
        )
        self.assertEqual(
            [], unreachable(fails % ', scope: a', f'{{{same}, {log}}}')
        )
        self.assertEqual(
            [],
            unreachable(fails % '', f'{{{same}, {log}, phase: preprocess}}'),
        )

    def test_rules_of_several_files_are_one_set(self):
        found = self.lint(
            '- {actions: [{op: fail, args: [x]}]}',
            '- {actions: [{op: log, args: [x]}]}',
        )
        self.assertEqual(['unreachable-rule'], [each[0] for each in found])

    def test_secrets_in_rules_that_are_not_sensitive(self):
        for action in (
            'set-attribute, args: [/driver_info/ipmi_password, x]',
            'set-attribute, args: {path: /driver_info, '
            'value: {redfish_password: x}}',
            'set-plugin-data, args: [/a/auth_token, x]',
            'api-call, args: ["https://user:pw@host/"]',
            'api-call, args: {url: "http://h", headers: '
            '{Authorization: Basic x}}',
        ):
            actions = f'[{{op: {action}}}]'
            self.assertEqual(['secret'], self.checks('[]', actions), action)
            self.assertEqual([], self.checks('[]', actions, sensitive='true'))

    def test_fields_are_no_secrets(self):
        for value in ('{plugin_data[pw]}', ''):
            self.assertEqual(
                [],
                self.checks(
                    '[]',
                    '[{op: set-attribute, args: '
                    f'[/driver_info/ipmi_password, "{value}"]}}]',
                ),
            )

    def test_old_rules_cannot_be_marked_sensitive(self):
        self.assertEqual(
            [],
            self.checks(
                '[]',
                '[{action: set-attribute, path: /driver_info/x_password, '
                'value: x}]',
            ),
        )

    def test_formats_of_old_rules(self):
        self.assertEqual(
            ['unknown-field'] * 2,
            self.checks(
                '[]',
                '[{action: set-attribute, path: /extra/a, '
                'value: ["{node[x]}", "{data[a"]}]',
            ),
        )

    def test_the_same_uuid_twice(self):
        rule = '{actions: [{op: log, args: [x]}]}'
        (found,) = self.lint(f'- {rule}\n- {rule}\n')
        self.assertEqual(('duplicate-uuid', 2), found[:2])
        self.assertIn('rules-0.yaml:1', found[3])

    def test_what_only_built_in_rules_may_have(self):
        self.assertEqual(
            ['built-in-only'] * 2,
            self.checks('[]', uuid='a-name', priority=-5),
        )

    def test_public_rules_have_only_their_known_mistakes(self):
        found = {}
        for path in sorted(shared_data.directory().glob('rules-*/*')):
            for each in lint.lint([str(path)], registry.installed()):
                if each.is_problem:
                    key = (path.name, each.check)
                    found[key] = found.get(key, 0) + 1
        self.assertEqual(PUBLIC_MISTAKES, found)


class SarifTestCase(files.FilesTestCase):
    def test_findings_are_where_reviewers_see_them(self):
        path = self.write('a rule.yaml', '- {actions: [{op: fail}]}')
        log = sarif.build_log(lint.lint([path], registry.installed()))
        (run,) = log['runs']
        (result,) = run['results']
        self.assertEqual('error', result['level'])
        place = result['locations'][0]['physicalLocation']
        self.assertEqual({'startLine': 1, 'startColumn': 14}, place['region'])
        self.assertTrue(
            place['artifactLocation']['uri'].endswith('/a%20rule.yaml')
        )
        self.assertEqual(
            result['ruleId'],
            run['tool']['driver']['rules'][result['ruleIndex']]['id'],
        )


class NodeFieldsTestCase(base.TestCase):
    def test_they_are_those_that_rules_see(self):
        self.assertEqual({*node.Node.fields, 'auto_discovered'}, names.NODE)
        self.assertEqual(set(), {*port.Port.fields} - names.PORT)
