# SPDX-License-Identifier: Apache-2.0

from osc_lib import exceptions as osc_exceptions

from ironic_inspection_rules.osc import node_selection
from ironic_inspection_rules.tests.unit import base
from ironic_inspection_rules.tests.unit.osc import fakes


class NodeSelectionTestCase(base.TestCase):

    def setUp(self):
        super().setUp()
        self.ironic = fakes.Ironic()

    def nodes(self, *words):
        return list(node_selection.NodeSelection.parse(words).nodes(
            self.ironic, 'traits'))

    def test_filters_are_those_of_ironic(self):
        self.ironic.routes['GET', '/nodes'] = (200, {'nodes': [{'uuid': '1'}]})
        self.assertEqual([{'uuid': '1'}], self.nodes(
            'resource_class=baremetal', 'traits=A,B', 'owner=a=b'))
        self.assertEqual(
            [{'params': {'resource_class': 'baremetal', 'traits': 'A,B',
                         'owner': 'a=b', 'fields': 'uuid,name,traits'}}],
            self.ironic.asked('GET', '/nodes'))

    def test_no_words_are_all_nodes(self):
        self.ironic.routes['GET', '/nodes'] = (200, {'nodes': []})
        self.assertEqual([], self.nodes())
        self.assertEqual([{'params': {'fields': 'uuid,name,traits'}}],
                         self.ironic.asked('GET', '/nodes'))

    def test_nodes_can_be_named(self):
        self.ironic.routes['GET', '/nodes/rack1-07'] = (200, {'uuid': '1'})
        self.assertEqual([{'uuid': '1'}], self.nodes('rack1-07', 'rack1-07'))

    def test_what_cannot_be_meant_is_refused(self):
        for words, reason in ((('limit=5',), 'no filter'),
                              (('=5',), 'no filter'),
                              (('owner=a', 'owner=b'), 'twice'),
                              (('owner=a', 'rack1-07'), 'not both')):
            error = self.assertRaises(
                osc_exceptions.CommandError,
                node_selection.NodeSelection.parse, words)
            self.assertIn(reason, str(error))
