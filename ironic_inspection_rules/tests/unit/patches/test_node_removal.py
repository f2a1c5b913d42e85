# SPDX-License-Identifier: Apache-2.0

import inspect

import fixtures
from ironic.conductor import manager
from ironic.objects import node as node_object

from ironic_inspection_rules.patches import node_removal
from ironic_inspection_rules.tests.unit import base


class FakeNode:

    uuid = 'a-uuid'


class NodeRemovalTestCase(base.IronicTestCase):

    def setUp(self):
        super().setUp()
        self.seen = []
        self.useFixture(fixtures.MonkeyPatch(
            'ironic.objects.node.Node.destroy', node_object.Node.destroy))
        self.useFixture(fixtures.MonkeyPatch(
            'ironic_inspection_rules.patches.node_removal._stock_destroy',
            self.destroy))

    def destroy(self, node):
        self.seen.append('destroyed')

    def test_ironic_removes_nodes_by_this_method(self):
        self.assertIn('node.destroy()', inspect.getsource(manager))

    def test_the_function_is_called_afterwards(self):
        node_removal.after_removal(self.seen.append)
        node_object.Node.destroy(FakeNode())
        self.assertEqual(['destroyed', 'a-uuid'], self.seen)

    def test_a_node_that_cannot_be_removed_is_not_forgotten(self):
        def fail(node):
            raise ValueError()

        self.useFixture(fixtures.MonkeyPatch(
            'ironic_inspection_rules.patches.node_removal._stock_destroy',
            fail))
        node_removal.after_removal(self.seen.append)
        self.assertRaises(ValueError, node_object.Node.destroy, FakeNode())
        self.assertEqual([], self.seen)
