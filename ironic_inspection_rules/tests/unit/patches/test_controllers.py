# SPDX-License-Identifier: Apache-2.0

import fixtures
from ironic.api.controllers import v1
from ironic.api.controllers.v1 import chassis
from ironic.api.controllers.v1 import node

from ironic_inspection_rules.patches import controllers
from ironic_inspection_rules.tests.unit import base


class ControllersTestCase(base.IronicTestCase):

    def keep(self, owner, name):
        """Have a map of Ironic put back after the test."""
        self.useFixture(fixtures.MonkeyPatch(
            f'{owner.__module__}.{owner.__qualname__}.{name}',
            dict(getattr(owner, name))))

    def test_v1_has_a_map_of_controllers(self):
        self.keep(v1.Controller, '_subcontroller_map')
        self.assertIsInstance(v1.Controller._subcontroller_map['nodes'],
                              node.NodesController)
        controllers.serve('nodes', self)
        self.assertIs(self, v1.Controller._subcontroller_map['nodes'])

    def test_a_node_has_a_map_of_controllers(self):
        self.keep(node.NodesController, '_subcontroller_map')
        self.assertIs(node.NodeTraitsController,
                      node.NodesController._subcontroller_map['traits'])
        controllers.serve_of_node('traits', dict)
        self.assertIs(dict, node.NodesController._subcontroller_map['traits'])

    def test_the_nodes_of_a_chassis_have_a_controller(self):
        stock = chassis.ChassisController.nodes
        self.assertIsInstance(stock, node.NodesController)
        self.assertTrue(stock.from_chassis)
        self.useFixture(fixtures.MonkeyPatch(
            'ironic.api.controllers.v1.chassis.ChassisController.nodes',
            None))
        controller = node.NodesController()
        controllers.serve_of_chassis(controller)
        self.assertIs(controller, chassis.ChassisController.nodes)
        self.assertTrue(controller.from_chassis)

    def test_the_root_shows_what_the_microversion_allows(self):
        self.useFixture(fixtures.MonkeyPatch(
            'ironic.api.controllers.v1.VERSIONED_CONTROLLERS',
            dict(v1.VERSIONED_CONTROLLERS)))
        controllers.show_in_root('traits', bool)
        self.assertIs(bool, v1.VERSIONED_CONTROLLERS['traits'])


class UndecoratedTestCase(base.IronicTestCase):

    def test_the_methods_of_ironic_convert_their_arguments_beneath(self):
        for method in (node.NodesController.get_all,
                       node.NodesController.detail,
                       node.NodeTraitsController.put):
            found = controllers.undecorated(method)
            self.assertIsNot(method, found)
            self.assertTrue(found.arguments_transformed)
            self.assertFalse(
                hasattr(found.__wrapped__, 'arguments_transformed'))

    def test_what_is_not_decorated_stays(self):
        self.assertIs(len, controllers.undecorated(len))
