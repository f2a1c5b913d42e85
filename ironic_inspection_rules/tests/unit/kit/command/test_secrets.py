# SPDX-License-Identifier: Apache-2.0

"""What the commands print and write never tells a machine's secrets."""

from ironic_inspection_rules.tests.unit.kit.command import test_shell

CANARY = 'c4n4ry'

RULES = """
- description: reads
  conditions:
  - {op: "!eq", args: ["{inventory[bmc_account][password]}", x]}
  - {op: "!contains", args: ["{plugin_data[site][api_token]}", x]}
  actions:
  - {op: log, args: {msg: "{inventory} {node} {plugin_data}"}}
- description: fails
  actions:
  - {op: fail, args: {msg: "{plugin_data} {node.driver_info[ipmi_password]}"}}
"""

COPIES = """
- description: copies
  actions:
  - {op: set-attribute, args: {path: /extra/b, value: "{node.driver_info}"}}
"""

MACHINE = {
    'inventory': {
        'bmc_account': {'password': f'{CANARY}-inventory'},
        'cpu': {'count': 4},
    },
    'plugin_data': {'site': {'api_token': f'{CANARY}-plugin'}},
}

NODE = {
    'driver_info': {'ipmi_password': f'{CANARY}-node'},
    'extra': {'admin_password': f'{CANARY}-extra'},
}


class SecretsTestCase(test_shell.CallTestCase):
    def setUp(self):
        super().setUp()
        self.rules = self.write('rules.yaml', RULES)
        self.arguments = (
            '--inventory',
            self.write('machine.json', MACHINE),
            '--node',
            self.write('node.json', NODE),
        )

    def told(self, *arguments):
        """Call ``test``.

        :returns: what it prints.
        """
        code, output = self.call(
            'test', self.rules, *self.arguments, *arguments
        )
        self.assertIn(code, (0, 2, 3))
        self.assertNotIn(CANARY, output)
        return output

    def test_what_happens_is_printed_without_them(self):
        for form in ('table', 'json', 'yaml'):
            self.assertIn('******', self.told('-f', form, '--details'))

    def test_reports_are_without_them(self):
        for arguments in ((), ('--coverage',)):
            page = self.directory / 'page.html'
            self.told('--html', str(page), *arguments)
            self.assertNotIn(CANARY, page.read_text())

    def test_expectations_are_without_them(self):
        expected = self.directory / 'expected.yaml'
        self.told('--expect', str(expected), '--update')
        self.assertIn('******', expected.read_text())
        self.assertNotIn(CANARY, expected.read_text())

    def test_what_would_copy_them_is_an_error(self):
        self.rules = self.write('copies.yaml', COPIES)
        code, output = self.call('test', self.rules, *self.arguments)
        self.assertEqual(1, code)
        self.assertIn('{node.driver_info}', output)
        self.assertNotIn(CANARY, output)
