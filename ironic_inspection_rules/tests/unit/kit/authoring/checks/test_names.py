# SPDX-License-Identifier: Apache-2.0

"""One wrong letter in a name that Ironic knows is found."""

import json

from ironic_inspection_rules.kit.authoring.checks import names
from ironic_inspection_rules.tests.unit.kit.authoring.checks import base

RULE = """
- conditions:
  - {{op: is-empty, args: {{value: "{{node.driver_info[{}]}}"}}}}
  actions:
  - {{op: set-attribute, args: {{path: "{}", value: x}}}}
"""


class CheckTestCase(base.CheckTestCase):
    def check(self, name, path):
        return [
            found
            for _pointer, found in self.messages(
                names.check_node, RULE.format(name, path)
            )
        ]

    def test_known_names_and_those_of_a_site_are_good(self):
        self.assertEqual(
            [], self.check('ipmi_username', '/properties/cpu_arch')
        )
        self.assertEqual([], self.check('rack', '/driver_info/my_tool'))
        self.assertEqual(
            [], self.check('drac_username', '/extra/ipmi_usernam')
        )

    def test_one_wrong_letter_is_found(self):
        for name in (
            'ipmi_usernam',
            'ipmi_usename',
            'ipmi_usrename',
            'ipmi_ussername',
            'ipmi_isername',
            'ipmi-username',
        ):
            found, other = self.check(name, f'driver_info.{name}')
            self.assertIn(f'"{name}"', found)
            self.assertIn('did you mean "ipmi_username"?', found)
            self.assertIn(f'"driver_info.{name}"', other)

    def test_names_of_five_letters_are_long_enough(self):
        for name, found in (
            ('cpuss', 1),
            ('xcpus', 1),
            ('cpux', 0),
            ('cpu', 0),
        ):
            self.assertEqual(
                found,
                len(self.check('ipmi_username', f'/properties/{name}')),
                name,
            )

    def test_items_of_a_loop_are_looked_at(self):
        found = self.messages(
            names.check_node,
            """
            - actions:
              - op: set-attribute
                args: {path: "{item[path]}", value: 1}
                loop: [{path: /properties/capabilites}]
            """,
        )
        self.assertIn('"capabilities"', found[0][1])


class ItemTestCase(base.CheckTestCase):
    def hint(self, field, item):
        """Return the end of the message about a field over a literal loop."""
        rule = f"""
        - actions:
          - op: log
            args: {{msg: "{{{field}}}"}}
            loop: [{json.dumps(item)}]
        """
        ((_pointer, message),) = self.messages(names.check, rule)
        _beginning, _separator, hint = message.rpartition('; ')
        return hint

    def test_the_hint_says_what_the_items_are(self):
        names_of_40 = {f'n{number}': 1 for number in range(40)}
        for field, item, hint in (
            ('item.x', 'eth0', 'they are no mappings'),
            ('item.x', ['a'], 'they are no mappings'),
            ('item.x', {}, 'they have 0 other names'),
            ('item.sise', {'size': 1}, 'did you mean "size"?'),
            ('item.x', {'size': 1}, 'known: size'),
            (
                'item.x',
                names_of_40,
                'known: ' + ', '.join(sorted(names_of_40)),
            ),
            (
                'item.x',
                {**names_of_40, 'size': 1},
                'they have 41 other names',
            ),
            ('item.a.x', {'a': 1}, '"a" is no mapping'),
            ('item.a.x', {'a': None}, '"a" is no mapping'),
            ('item.a.b.x', {'a': {'b': [1]}}, '"a.b" is no mapping'),
            ('item.a.x', {'a': {}}, '"a" has 0 other names'),
            (
                'item.a.x',
                {'a': {**names_of_40, 'size': 1}},
                '"a" has 41 other names',
            ),
        ):
            self.assertEqual(hint, self.hint(field, item), (field, item))


class VarsTestCase(base.CheckTestCase):
    def test_a_value_that_comes_later_is_told_to_be_that(self):
        found = self.messages(
            names.check,
            """
            - vars: {a: "{vars.b}", b: "{inventory.cpu.count}"}
              actions: [{op: log, args: {msg: "{vars.a}"}}]
            """,
        )
        self.assertEqual(['/vars/a'], [pointer for pointer, _text in found])
        self.assertIn('{vars.b}: "b" comes later', found[0][1])

    def test_other_problems_take_no_value_away(self):
        for broken in ('"{inventory.disks | lst}"', '1'):
            found = self.messages(
                names.check,
                f"""
                - vars: {{a: {broken}, b: "{{inventory.cpu.count}}"}}
                  actions:
                  - op: log
                    args: {{msg: "{{vars.a}} {{vars.b}} {{vars.c}}"}}
                  - {{op: zap}}
                """,
            )
            self.assertEqual(
                ['/actions/0/args/msg'],
                [pointer for pointer, _message in found],
            )
            self.assertIn('no "c" in its vars', found[0][1])

    def test_values_are_used_beside_other_problems(self):
        self.assertEqual(
            [],
            self.messages(
                names.check_vars,
                """
            - vars: {a: 1}
              actions: [{op: log, args: {msg: "{vars.a}"}}, {op: zap}]
            """,
            ),
        )
