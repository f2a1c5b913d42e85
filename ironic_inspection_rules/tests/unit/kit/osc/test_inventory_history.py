# SPDX-License-Identifier: Apache-2.0

"""The commands for what inspections found over time."""

import json

from openstack import exceptions as sdk_exceptions
from osc_lib import exceptions as osc_exceptions

from ironic_inspection_rules.kit.osc import inventory_history
from ironic_inspection_rules.tests.unit.kit.osc import test_inspection_run

KEPT = {
    'uuid': 'i',
    'created_at': 'today',
    'interface': 'agent',
    'run': 'i',
    'changed': True,
}
NODE = {'uuid': 'n', 'name': 'one'}
DIFF = {
    'from': 'h',
    'to': 'i',
    'parts': [
        {
            'kind': 'disk',
            'what': 'gone',
            'id': 'S1',
            'slot': 'bay 1',
            'before': {'id': 'S1', 'slot': 'bay 1', 'size': 5},
            'after': None,
        }
    ],
}
ROW = ('one', 'disk', 'gone', 'S1', 'bay 1', 'id S1, slot bay 1, size 5', '')


class HistoryTestCase(test_inspection_run.CommandTestCase):
    def test_inventories_are_listed(self):
        self.answer({'inventories': [KEPT], 'next': 'http://x/?marker=i'})
        _columns, rows = self.run_command(
            inventory_history.ListInventories, 'one', '--limit', '1'
        )
        self.assertEqual([('i', 'today', 'agent', 'i', True)], rows)
        self.assertEqual(['/nodes/one/inventory/history'], self.paths())

    def test_the_last_inventory_is_shown_if_none_is_named(self):
        shown = {'inventory': {'cpu': 1}, 'plugin_data': {}}
        self.answer({'inventories': [KEPT]}, shown)
        self.run_command(inventory_history.ShowInventory, 'one')
        self.assertEqual('/nodes/one/inventory/history/i', self.paths()[1])
        self.assertEqual(shown, json.loads(self.app.stdout.getvalue()))

    def test_a_node_may_have_no_history(self):
        self.answer({'inventories': []}, {'inventories': []}, {'parts': []})
        self.assertRaisesRegex(
            osc_exceptions.CommandError,
            'one.*keep_history',
            self.run_command,
            inventory_history.ShowInventory,
            'one',
        )
        for kind in (
            inventory_history.ListInventories,
            inventory_history.FindInspectionPart,
        ):
            _columns, rows = self.run_command(kind, 'one')
            self.assertEqual([], rows)
        self.assertEqual(2, self.app.stderr.getvalue().count('keep_history'))

    def test_one_node_is_compared_with_itself(self):
        self.answer(DIFF)
        _columns, rows = self.run_command(
            inventory_history.DiffInventories, 'one', '--from', 'h'
        )
        self.assertEqual([ROW], rows)
        self.assertEqual({'from': 'h'}, self.baremetal.calls[0][2]['params'])

    def test_many_are_compared_since_a_time(self):
        self.answer(
            {'nodes': [NODE]},
            {'inventories': [KEPT]},
            {'inventories': [{**KEPT, 'uuid': 'h'}]},
            DIFF,
        )
        _columns, rows = self.run_command(
            inventory_history.DiffInventories,
            'resource_class=x',
            '--since',
            '30d',
        )
        self.assertEqual([ROW], rows)
        self.assertEqual(
            {'from': 'h', 'to': 'i'}, self.baremetal.calls[3][2]['params']
        )

    def test_nodes_that_cannot_be_compared_are_counted(self):
        missing = {'title': 'Not Found', 'description': 'keep_history is 0'}
        missing = {'error_message': json.dumps(missing)}
        self.baremetal.answers = [
            (200, {'nodes': [NODE, {'uuid': 'm', 'name': None}]}),
            (200, DIFF),
            (404, missing),
            (200, {'traits': []}),
        ]
        _columns, rows = self.run_command(
            inventory_history.DiffInventories, 'driver=x', '--jobs', '1'
        )
        self.assertEqual([ROW], rows)
        self.assertEqual(
            'Not compared: 1 of 2, such as m: keep_history is 0\n',
            self.app.stderr.getvalue(),
        )

    def test_without_the_plugin_nothing_is_said_to_be_equal(self):
        absent = (404, {'error_message': 'Not Found'})
        self.baremetal.answers = [
            (200, {'nodes': [NODE, {'uuid': 'm', 'name': None}]}),
            absent,
            absent,
            absent,
        ]
        self.assertRaises(
            sdk_exceptions.NotFoundException,
            self.run_command,
            inventory_history.DiffInventories,
            'driver=x',
            '--jobs',
            '1',
        )

    def test_filters_that_match_no_node_are_an_error(self):
        self.answer({'nodes': []})
        error = self.assertRaises(
            osc_exceptions.CommandError,
            self.run_command,
            inventory_history.DiffInventories,
            'driver=typo',
        )
        self.assertEqual('No node matches driver=typo', str(error))

    def test_inventories_are_named_of_one_node_only(self):
        self.assertRaises(
            osc_exceptions.CommandError,
            self.run_command,
            inventory_history.DiffInventories,
            'one',
            'two',
            '--to',
            'i',
        )

    def test_a_part_is_found(self):
        self.answer(
            {
                'parts': [
                    {
                        'id': 'S1',
                        'kind': 'disk',
                        'node': 'n',
                        'from': 'then',
                        'to': None,
                    }
                ]
            }
        )
        _columns, rows = self.run_command(
            inventory_history.FindInspectionPart, 'S1'
        )
        self.assertEqual([('S1', 'disk', 'n', 'then', None)], rows)
        self.assertEqual({'id': 'S1'}, self.baremetal.calls[0][2]['params'])

    def test_times_are_read_and_what_is_none_is_said(self):
        self.assertEqual(
            '2026-01-31T00:00:00', inventory_history.parse_since('2026-01-31')
        )
        self.assertRegex(inventory_history.parse_since('30d'), '^20')
        for text in ('yesterday', '30', '-1d', '9999999d'):
            self.assertRaises(
                osc_exceptions.CommandError,
                inventory_history.parse_since,
                text,
            )
