# SPDX-License-Identifier: Apache-2.0

import fixtures
from openstack.baremetal.v1 import node
from osc_lib import exceptions
from osc_lib.cli import format_columns

from ironic_inspection_rules.kit.osc import trait
from ironic_inspection_rules.tests.unit import base
from ironic_inspection_rules.tests.unit.kit.osc import fakes

NODES = [
    node.Node(name='one', traits=['CUSTOM_A', 'CUSTOM_B'], is_maintenance=True)
]


class CommandTestCase(base.TestCase):
    def setUp(self):
        super().setUp()
        self.asked = {}
        for name, answer in (
            ('nodes', NODES),
            ('traits', [{'name': 'CUSTOM_A', 'nodes': 3}]),
        ):
            self.useFixture(
                fixtures.MonkeyPatch(
                    f'ironic_inspection_rules.kit.client.trait.{name}',
                    self.answering(answer),
                )
            )

    def answering(self, answer):
        def function(baremetal, **query):
            self.asked = query
            return answer

        return function

    def run_command(self, command, *arguments):
        app = fakes.App()
        instance = command(app, None)
        parsed = instance.get_parser('openstack').parse_args(arguments)
        columns, rows = instance.take_action(parsed)
        return tuple(columns), [tuple(row) for row in rows]


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
        self.assertEqual(['A', 'B', 'C'], self.asked['traits'])
        self.assertEqual(['D'], self.asked['traits_any'])
        self.assertEqual(['E'], self.asked['not_traits'])
        self.assertEqual(['F'], self.asked['not_traits_any'])

    def test_traits_are_shown(self):
        columns, rows = self.run_command(trait.FindNodes, '--trait', 'A')
        self.assertEqual(
            ('UUID', 'Name', 'Provisioning State', 'Traits'), columns
        )
        self.assertEqual(
            [
                (
                    None,
                    'one',
                    None,
                    format_columns.ListColumn(['CUSTOM_A', 'CUSTOM_B']),
                )
            ],
            rows,
        )
        self.assertEqual(
            ['uuid', 'name', 'provision_state', 'traits'], self.asked['fields']
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

    def test_fields_that_ironic_computes_need_details(self):
        self.run_command(
            trait.FindNodes, '--trait', 'A', '--fields', 'name', 'conductor'
        )
        self.assertTrue(self.asked['details'])
        self.assertNotIn('fields', self.asked)

    def test_without_a_trait_nothing_is_asked_for(self):
        self.assertRaises(
            exceptions.CommandError, self.run_command, trait.FindNodes
        )
        self.assertEqual({}, self.asked)


class ListTraitsTestCase(CommandTestCase):
    def test_traits_are_shown_with_their_nodes(self):
        self.assertEqual(
            (('Name', 'Nodes'), [('CUSTOM_A', 3)]),
            self.run_command(trait.ListTraits),
        )
        self.assertEqual({'name': None, 'associated': None}, self.asked)

    def test_some_are_asked_for(self):
        self.run_command(trait.ListTraits, '--name', 'in:A', '--associated')
        self.assertEqual({'name': 'in:A', 'associated': True}, self.asked)
        self.run_command(trait.ListTraits, '--unassociated')
        self.assertEqual({'name': None, 'associated': False}, self.asked)
