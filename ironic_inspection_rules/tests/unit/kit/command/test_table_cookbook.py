# SPDX-License-Identifier: Apache-2.0

"""The cookbook of tables: its rules do what the page says."""

import json
import textwrap

from ironic_inspection_rules.tests import guide
from ironic_inspection_rules.tests.unit.kit.command import test_shell
from ironic_inspection_rules.tests.unit.kit.command import test_table

PAGE = 'doc/source/user/tables.rst'


class CookbookTestCase(test_shell.CallTestCase):
    def setUp(self):
        super().setUp()
        if PAGE not in guide.pages():
            self.skipTest('not a checkout: no documentation')

    def recipe(self, title, name, rows):
        """Write a rule set of the page, and the rows that it names."""
        text = guide.Page(PAGE).text.partition(f'\n{title}\n')[2]
        lines = text.partition('.. code-block:: yaml\n')[2].split('\n')[1:]
        end = next(
            (
                number
                for number, line in enumerate(lines)
                if line and not line.startswith('   ')
            ),
            None,
        )
        self.write(f'rules/{name}', rows)
        return self.write(
            'rules/rules.yaml', textwrap.dedent('\n'.join(lines[:end]))
        )

    def tried(self, rules, inventory, **plugin_data):
        path = self.write(
            'machine.json',
            {'inventory': inventory, 'plugin_data': plugin_data},
        )
        _code, output = self.call(
            'test', rules, '-f', 'json', '--inventory', path
        )
        (found,) = json.loads(output)
        return found['result'], [
            (each['path'], each['value']) for each in found['changes']
        ]

    def test_credentials_names_and_racks(self):
        rules = self.recipe(
            'Credentials, names and racks',
            'machines.csv',
            'serial,name,rack,cpus,bmc_user,bmc_password\n'
            'a1,web-1,R1,4,root,hush\n',
        )
        result, changes = self.tried(rules, test_table.inventory('A1', 4))
        self.assertEqual('ok', result)
        self.assertIn(('/name', 'web-1'), changes)
        self.assertIn(('/extra/rack', 'R1'), changes)
        result, changes = self.tried(rules, test_table.inventory('B1', 4))
        self.assertEqual(('failed', []), (result, changes))

    def test_sku_and_who_is_missing(self):
        rows = '\n'.join(
            f'A{number},GOLD,R{number // 40},4,4096'
            for number in range(1, 121)
        )
        rules = self.recipe(
            'A SKU for each machine',
            'ordered.csv',
            f'serial,sku,rack,cpus,memory_mb\n{rows}\n',
        )
        for number in range(1, 119):
            machine = test_table.inventory(f'A{number}', 4)
            machine['extra'] = {'rack': f'R{number // 40}'}
            self.write(f'fleet/{number}.json', machine)
        fleet = str(self.directory / 'fleet')
        code, output = self.call(
            'table', rules, '--inventory', fleet, '--missing', '-f', 'json'
        )
        self.assertEqual(
            (2, ['A119', 'A120']),
            (code, [each['key'] for each in json.loads(output)['machines']]),
        )
        self.assertEqual(
            0, self.call('table', rules, '--inventory', fleet, '--wrong')[0]
        )
        self.assertEqual(
            ('ok', [('/resource_class', 'gold')]),
            self.tried(rules, test_table.inventory('A1', 4)),
        )

    def test_exchanged_cables_are_both_named(self):
        rules = self.recipe(
            'Cables',
            'cables.csv',
            'switch,port,plug\nsw1,1,A1 eth0\nsw1,2,A1 eth1\n',
        )

        def seen(*ports):
            return {
                f'eth{number}': {
                    'switch_system_name': 'sw1',
                    'switch_port_id': port,
                }
                for number, port in enumerate(ports)
            }

        machine = test_table.inventory('A1', 4)
        self.assertEqual(
            ('ok', []), self.tried(rules, machine, parsed_lldp=seen('1', '2'))
        )
        result, changes = self.tried(
            rules, machine, parsed_lldp=seen('2', '1')
        )
        self.assertEqual('ok', result)
        told = json.dumps(changes)
        self.assertIn('eth0 is at sw1 2, the place of A1 eth1', told)
        self.assertIn('eth1 is at sw1 1, the place of A1 eth0', told)
