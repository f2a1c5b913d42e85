# SPDX-License-Identifier: Apache-2.0

"""The commands for tables, on answers that are not those of this release."""

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.kit.osc import inspection_table
from ironic_inspection_rules.tests.unit import base
from ironic_inspection_rules.tests.unit.kit.osc import fakes

MACHINE = {
    'key': '1DA99XYZ',
    'node': 'rack1-07',
    'state': 'right',
    'differences': [],
}


class MachinesTestCase(base.TestCase):
    def list_machines(self, machine, output_format):
        baremetal = fakes.Baremetal()
        baremetal.answers = [(200, {'machines': [MACHINE, machine]})]
        app = fakes.App(baremetal)
        command = inspection_table.ListInspectionTableMachines(app, None)
        parser = command.get_parser('openstack')
        return command.run(parser.parse_args(['orders', '-f', output_format]))

    def test_machines_that_are_right_are_no_error(self):
        self.assertEqual(0, self.list_machines(MACHINE, 'table'))

    def test_an_unknown_state_is_an_error_that_names_the_machine(self):
        for state in (None, 'sideways'):
            for output_format in ('table', 'json', 'csv'):
                error = self.assertRaises(
                    exceptions.Invalid,
                    self.list_machines,
                    {**MACHINE, 'state': state, 'node': 'rack1-08'},
                    output_format,
                )
                self.assertIn('machine rack1-08', str(error))

    def test_a_difference_may_have_members_of_a_later_release(self):
        difference = {
            'column': 'rack',
            'expected': 'r1',
            'found': 'r2',
            'since': '2026-01-31',
        }
        machine = {**MACHINE, 'state': 'wrong', 'differences': [difference]}
        for output_format in ('table', 'json'):
            self.assertEqual(
                inspection_table.EXIT_NOT_RIGHT,
                self.list_machines(machine, output_format),
            )
