# SPDX-License-Identifier: Apache-2.0

"""Rules as their authors wrote them."""

from ironic_inspection_rules.engine.language import model
from ironic_inspection_rules.kit.report.pages import rule_text
from ironic_inspection_rules.tests.unit import base

CONDITION = {'op': 'eq', 'args': ['{node.name}', 'geheim']}


def make(**fields):
    return model.Rule(uuid='r1', actions=(), **fields)


def password(arguments):
    return rule_text.operation_lines(
        {'op': 'set-attribute', 'args': arguments}
    )


class RuleTextTestCase(base.TestCase):
    def test_a_head_has_what_is_not_as_always(self):
        self.assertEqual(['uuid: r1'], rule_text.head_lines(make()))
        self.assertEqual(
            ['description: a', 'priority: 5', 'mode: audit'],
            rule_text.head_lines(
                make(description='a', priority=5, mode='audit')
            ),
        )

    def test_an_operation_is_an_item(self):
        self.assertEqual(
            ['- op: add-trait', "  args: ['{item}']", '  loop: [A, B]'],
            rule_text.operation_lines(
                {'op': 'add-trait', 'args': ['{item}'], 'loop': ['A', 'B']}
            ),
        )

    def test_arguments_are_without_the_name(self):
        self.assertEqual(
            "args: ['{node.name}', geheim]", rule_text.argument_text(CONDITION)
        )

    def test_secrets_are_hidden_in_any_form(self):
        path = '/driver_info/redfish_password'
        for arguments in ([path, 'geheim'], {'path': path, 'value': 'geheim'}):
            self.assertEqual(
                ['- op: set-attribute', "  args: '******'"],
                password(arguments),
            )
        self.assertEqual(
            f"  args: [{path}, '{{inventory.bmc}}']",
            password([path, '{inventory.bmc}'])[1],
        )

    def test_variables_are_shown_without_their_secrets(self):
        rule = make(vars={'limit': 4, 'ipmi_password': 'geheim'})
        lines = ["vars: {limit: 4, ipmi_password: '******'}"]
        self.assertEqual(lines, rule_text.variable_lines(rule))
        self.assertEqual(['uuid: r1', *lines], rule_text.head_lines(rule))
        self.assertEqual(
            [],
            rule_text.variable_lines(make(vars={'limit': 4}, sensitive=True)),
        )
        self.assertEqual([], rule_text.variable_lines(make()))
