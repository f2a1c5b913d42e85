# SPDX-License-Identifier: Apache-2.0

from osc_lib import exceptions
from osc_lib.cli import format_columns

from ironic_inspection_rules.kit.osc import trait
from ironic_inspection_rules.tests.unit import base
from ironic_inspection_rules.tests.unit.kit.osc import fakes

NODE = {
    'uuid': '9f6c1d0e-7b3a-4d52-8c11-0e5f4a3b2c10',
    'name': 'one',
    'provision_state': 'manageable',
    'traits': ['CUSTOM_A', 'CUSTOM_B'],
    'maintenance': True,
    'conductor': 'host',
    'health': 'OK',
    'inspection_finished_at': '2026-01-31T10:00:00+00:00',
}


class CommandTestCase(base.TestCase):
    def setUp(self):
        super().setUp()
        self.ironic = fakes.Ironic()
        self.ironic.routes['GET', '/nodes'] = (200, {'nodes': [NODE]})
        self.ironic.routes['GET', '/nodes/detail'] = (200, {'nodes': [NODE]})
        self.ironic.routes['GET', '/traits'] = (
            200,
            {'traits': [{'name': 'CUSTOM_A', 'nodes': 3}]},
        )

    def run_command(self, command, *arguments):
        app = fakes.App(self.ironic)
        instance = command(app, None)
        parsed = instance.get_parser('openstack').parse_args(arguments)
        columns, rows = instance.take_action(parsed)
        return tuple(columns), [tuple(row) for row in rows]

    def query(self, path):
        """Return the parameters of the only request, which has this path."""
        [(_method, path_of_request, arguments)] = self.ironic.calls
        self.assertEqual(path, path_of_request)
        return arguments['params']


class FindNodesTestCase(CommandTestCase):
    def test_every_filter_is_asked_for(self):
        self.run_command(
            trait.FindNodes,
            '--trait',
            'A',
            'B',
            '--trait',
            'C',
            '--trait-any',
            'D',
            '--not-trait',
            'E',
            '--not-trait-any',
            'F',
        )
        self.assertEqual(
            {
                'traits': 'A,B,C',
                'traits-any': 'D',
                'not-traits': 'E',
                'not-traits-any': 'F',
                'fields': 'uuid,name,provision_state,traits',
            },
            self.query('/nodes'),
        )

    def test_traits_are_shown(self):
        columns, rows = self.run_command(trait.FindNodes, '--trait', 'A')
        self.assertEqual(
            ('UUID', 'Name', 'Provisioning State', 'Traits'), columns
        )
        self.assertEqual(
            [
                (
                    NODE['uuid'],
                    'one',
                    'manageable',
                    format_columns.ListColumn(['CUSTOM_A', 'CUSTOM_B']),
                )
            ],
            rows,
        )

    def test_fields_can_be_chosen(self):
        self.assertEqual(
            (('Name', 'Maintenance'), [('one', True)]),
            self.run_command(
                trait.FindNodes,
                '--trait',
                'A',
                '--fields',
                'name',
                'maintenance',
            ),
        )

    def test_fields_that_openstacksdk_does_not_know_are_shown(self):
        _columns, rows = self.run_command(
            trait.FindNodes,
            '--trait',
            'A',
            '--fields',
            'inspection_finished_at',
            'health',
        )
        self.assertEqual([(NODE['inspection_finished_at'], 'OK')], rows)

    def test_fields_that_ironic_computes_need_details(self):
        _columns, rows = self.run_command(
            trait.FindNodes, '--trait', 'A', '--fields', 'name', 'conductor'
        )
        self.assertEqual([('one', 'host')], rows)
        self.assertEqual({'traits': 'A'}, self.query('/nodes/detail'))

    def test_without_a_trait_nothing_is_asked_for(self):
        self.assertRaises(
            exceptions.CommandError, self.run_command, trait.FindNodes
        )
        self.assertEqual([], self.ironic.calls)


class ListTraitsTestCase(CommandTestCase):
    def test_traits_are_shown_with_their_nodes(self):
        self.assertEqual(
            (('Name', 'Nodes'), [('CUSTOM_A', 3)]),
            self.run_command(trait.ListTraits),
        )
        self.assertEqual({}, self.query('/traits'))

    def test_some_are_asked_for(self):
        for words, query in (
            (
                ('--name', 'in:A', '--associated'),
                {'name': 'in:A', 'associated': True},
            ),
            (('--unassociated',), {'associated': False}),
        ):
            self.ironic.calls.clear()
            self.run_command(trait.ListTraits, *words)
            self.assertEqual(query, self.query('/traits'))
