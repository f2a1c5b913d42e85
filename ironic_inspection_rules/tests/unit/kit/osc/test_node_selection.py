# SPDX-License-Identifier: Apache-2.0

from openstack import exceptions as sdk_exceptions
from osc_lib import exceptions as osc_exceptions

from ironic_inspection_rules.kit.osc import node_selection
from ironic_inspection_rules.tests.unit import base
from ironic_inspection_rules.tests.unit.kit.osc import fakes


class NodeSelectionTestCase(base.TestCase):
    def setUp(self):
        super().setUp()
        self.ironic = fakes.Ironic()

    def nodes(self, *words):
        return list(
            node_selection.NodeSelection.parse(words).read_nodes(
                self.ironic, 'traits'
            )
        )

    def test_filters_are_those_of_ironic(self):
        self.ironic.routes['GET', '/nodes'] = (200, {'nodes': [{'uuid': '1'}]})
        self.assertEqual(
            [{'uuid': '1'}],
            self.nodes('resource_class=baremetal', 'traits=A,B', 'owner=a=b'),
        )
        self.assertEqual(
            [
                {
                    'params': {
                        'resource_class': 'baremetal',
                        'traits': 'A,B',
                        'owner': 'a=b',
                        'fields': 'uuid,name,traits',
                    }
                }
            ],
            self.ironic.asked('GET', '/nodes'),
        )

    def test_no_words_are_all_nodes(self):
        self.ironic.routes['GET', '/nodes'] = (200, {'nodes': []})
        self.assertEqual([], self.nodes())
        self.assertEqual(
            [{'params': {'fields': 'uuid,name,traits'}}],
            self.ironic.asked('GET', '/nodes'),
        )

    def refusal(self, error, *words):
        self.ironic.routes['GET', '/nodes'] = (
            400,
            {'error_message': 'Unexpected arguments: x'},
        )
        return str(self.assertRaises(error, self.nodes, *words))

    def test_what_ironic_does_not_know_is_told_with_what_it_knows(self):
        for words, said in (
            (
                ('driver=a', 'resource-class=b'),
                'unknown filter of nodes "resource-class"; did you mean '
                '"resource_class"?',
            ),
            (('colour=red',), 'known: associated, chassis_uuid'),
            (
                ('name=rack1-07',),
                '"name" is no filter of nodes; name a node without it: '
                'rack1-07',
            ),
        ):
            self.assertIn(
                said, self.refusal(osc_exceptions.CommandError, *words)
            )

    def test_what_else_ironic_refuses_it_says_itself(self):
        self.refusal(sdk_exceptions.BadRequestException, 'instance_uuid=x')

    def test_nodes_can_be_named(self):
        self.ironic.routes['GET', '/nodes/rack1-07'] = (200, {'uuid': '1'})
        self.assertEqual([{'uuid': '1'}], self.nodes('rack1-07', 'rack1-07'))

    def test_what_cannot_be_meant_is_refused(self):
        for words, reason in (
            (('limit=5',), 'no filter'),
            (('=5',), 'no filter'),
            (('owner=a', 'owner=b'), 'twice'),
            (('owner=a', 'rack1-07'), 'not both'),
        ):
            error = self.assertRaises(
                osc_exceptions.CommandError,
                node_selection.NodeSelection.parse,
                words,
            )
            self.assertIn(reason, str(error))
