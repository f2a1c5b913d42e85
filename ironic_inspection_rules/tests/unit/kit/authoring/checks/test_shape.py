# SPDX-License-Identifier: Apache-2.0

"""Arguments without names are found, also in groups."""

from ironic_inspection_rules.kit.authoring.checks import shape
from ironic_inspection_rules.tests.unit.kit.authoring.checks import base


class CheckTestCase(base.CheckTestCase):
    def test_the_names_are_told(self):
        found = dict(
            self.messages(
                shape.check_arguments,
                """
            - conditions:
              - op: any-of
                conditions: [{op: eq, args: [1, 2]}]
              - {op: is-none, args: {value: x}}
              actions:
              - {op: set-attribute, args: [/extra/a, 1]}
            """,
            )
        )
        self.assertEqual(
            ['/conditions/0/conditions/0/args', '/actions/0/args'], list(found)
        )
        self.assertIn('Ironic 39', found['/actions/0/args'])
        self.assertIn('{path: …, value: …}', found['/actions/0/args'])
        self.assertIn('{values: …}', found['/conditions/0/conditions/0/args'])

    def test_what_is_no_field_yet_becomes_one(self):
        for text, meant in (
            ('{inventory.cpu.count', '{inventory.cpu.count}'),
            ('{node.name} {item[a]', '{node.name} {item[a]}'),
            ('inventory.cpu.count', '{inventory.cpu.count}'),
            ('${node.name}', '{node.name}'),
            ('$inventory.cpu.count', '{inventory.cpu.count}'),
            # The "$" says that it is a field, and another check reports that
            # it does not exist; without the "$" it may be text.
            ('$inventory.cpu.cuont', '{inventory.cpu.cuont}'),
            ('inventory.cpu.cuont', None),
            ('{inventory.cpu count', None),
            ('{nodes.name', None),
            # Longer than any path may be.
            (f'plugin_data{".a" * 40}', None),
            (f'$inventory{".a" * 40}', None),
        ):
            (rule,) = self.rules(f"""
                - actions:
                  - {{op: set-plugin-data, args: {{path: a, value: '{text}'}}}}
                """)
            self.assertEqual(
                [meant] if meant else [],
                [each.new for each in shape.mendings(rule)],
                text,
            )

    def test_the_old_language_has_no_such_form(self):
        self.assertEqual(
            [],
            self.messages(
                shape.check_arguments,
                """
            - actions: [{action: fail, message: x}]
            """,
            ),
        )
