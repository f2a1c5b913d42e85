# SPDX-License-Identifier: Apache-2.0

import types

import fixtures
from ironic import objects
from ironic.api.controllers import v1
from ironic.api.controllers.v1 import chassis
from ironic.api.controllers.v1 import node
from ironic.api.controllers.v1 import ramdisk
from ironic.common import context as ironic_context
from ironic.common import exception
from ironic.db.sqlalchemy import api as db_api
from ironic.db.sqlalchemy import models
from oslo_utils import uuidutils
import sqlalchemy as sa

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.patches import controllers
from ironic_inspection_rules.tests.unit import base


class ControllersTestCase(base.IronicTestCase):
    def keep(self, owner, name):
        """Have a map of Ironic put back after the test."""
        self.useFixture(
            fixtures.MonkeyPatch(
                f'{owner.__module__}.{owner.__qualname__}.{name}',
                dict(getattr(owner, name)),
            )
        )

    def test_v1_has_a_map_of_controllers(self):
        self.keep(v1.Controller, '_subcontroller_map')
        self.assertIsInstance(
            v1.Controller._subcontroller_map['nodes'], node.NodesController
        )
        controllers.serve('nodes', self)
        self.assertIs(self, v1.Controller._subcontroller_map['nodes'])

    def test_a_node_has_a_map_of_controllers(self):
        self.keep(node.NodesController, '_subcontroller_map')
        self.assertIs(
            node.NodeTraitsController,
            node.NodesController._subcontroller_map['traits'],
        )
        controllers.serve_of_node('traits', dict)
        self.assertIs(dict, node.NodesController._subcontroller_map['traits'])

    def test_the_nodes_of_a_chassis_have_a_controller(self):
        stock = chassis.ChassisController.nodes
        self.assertIsInstance(stock, node.NodesController)
        self.assertTrue(stock.from_chassis)
        self.useFixture(
            fixtures.MonkeyPatch(
                'ironic.api.controllers.v1.chassis.ChassisController.nodes',
                None,
            )
        )
        controller = node.NodesController()
        controllers.serve_of_chassis(controller)
        self.assertIs(controller, chassis.ChassisController.nodes)
        self.assertTrue(controller.from_chassis)

    def test_the_root_shows_what_the_microversion_allows(self):
        self.useFixture(
            fixtures.MonkeyPatch(
                'ironic.api.controllers.v1.VERSIONED_CONTROLLERS',
                dict(v1.VERSIONED_CONTROLLERS),
            )
        )
        controllers.show_in_root('traits', bool)
        self.assertIs(bool, v1.VERSIONED_CONTROLLERS['traits'])


class UndecoratedTestCase(base.IronicTestCase):
    def test_the_methods_of_ironic_convert_their_arguments_beneath(self):
        for method in (
            node.NodesController.get_all,
            node.NodesController.detail,
            node.NodeTraitsController.put,
        ):
            found = controllers.undecorate(method)
            self.assertIsNot(method, found)
            self.assertTrue(found.arguments_transformed, repr(method))
            self.assertFalse(
                hasattr(found.__wrapped__, 'arguments_transformed'),
                repr(method),
            )

    def test_what_is_not_decorated_stays(self):
        self.assertIs(len, controllers.undecorate(len))


class ContinueInspectionTestCase(base.IronicTestCase):
    def test_the_method_of_ironic_calls_the_conductor_of_the_request(self):
        called = ramdisk.ContinueInspectionController.post
        names = {name for code in self.codes(called) for name in code.co_names}
        self.assertLessEqual({'rpcapi', 'continue_inspection'}, names)

    def codes(self, function):
        """Code of a function and of all that it decorates."""
        while function is not None:
            yield function.__code__
            function = getattr(function, '__wrapped__', None)

    def test_data_are_checked_as_ironic_does(self):
        data = {
            'inventory': {'interfaces': [{'mac_address': '52:54:00:00:00:01'}]}
        }
        self.assertEqual(data, controllers.validate_inspection_data(data))
        self.assertRaises(
            exception.InvalidParameterValue,
            controllers.validate_inspection_data,
            {'inventory': 1},
        )

    def refused(self, hand_over=None):
        """Post data to an Ironic that refuses them.

        :returns: the conductor API of the request.
        """
        request = types.SimpleNamespace(rpcapi=types.SimpleNamespace())
        self.useFixture(fixtures.MonkeyPatch('ironic.api.request', request))
        self.useFixture(
            fixtures.MonkeyPatch(
                'ironic.api.controllers.v1.utils.allow_continue_inspection_'
                'endpoint',
                lambda: False,
            )
        )
        self.assertRaises(
            exception.NotFound,
            controllers.post_inspection_data,
            {'inventory': {}},
            None,
            hand_over,
        )
        return request.rpcapi

    def test_the_request_calls_something_else_than_a_conductor(self):
        self.assertIs(len, self.refused(len).continue_inspection)

    def test_ironic_answers_what_it_raises(self):
        self.assertEqual(types.SimpleNamespace(), self.refused())


class NodeQueryTestCase(base.IronicTestCase):
    def setUp(self):
        super().setUp()
        self.useFixture(
            fixtures.MonkeyPatch(
                'ironic.db.sqlalchemy.api.Connection._add_nodes_filters',
                db_api.Connection._add_nodes_filters,
            )
        )
        controllers.patch_node_lists()

    def where(self):
        """How Ironic would list nodes in maintenance."""
        return str(self.conditions())

    def conditions(self):
        return (
            db_api.Connection()
            ._add_nodes_filters(
                sa.select(models.Node.id), {'maintenance': True}
            )
            .whereclause
        )

    def test_conditions_join_those_of_ironic(self):
        stock = self.conditions()
        ours = [models.Node.name == 'a', models.Node.owner == 'b']
        with controllers.node_conditions(ours):
            narrowed = self.where()
        self.assertIn('nodes.maintenance', str(stock))
        self.assertEqual(str(sa.and_(stock, *ours)), narrowed)

    def test_conditions_end_with_the_block(self):
        stock = self.where()
        self.assertRaises(ZeroDivisionError, self.fail_with_conditions)
        self.assertEqual(stock, self.where())

    def fail_with_conditions(self):
        with controllers.node_conditions([models.Node.name == 'a']):
            raise ZeroDivisionError

    def test_it_is_refused_where_ironic_makes_its_query_otherwise(self):
        def _add_nodes_filters(self, query):
            return query

        db_api.Connection._add_nodes_filters = _add_nodes_filters
        controllers.patch_node_lists()

        self.assertIs(_add_nodes_filters, db_api.Connection._add_nodes_filters)
        self.assertRaises(exceptions.Invalid, self.fail_with_conditions)

    def test_installed_twice_it_narrows_once(self):
        controllers.patch_node_lists()
        with controllers.node_conditions([models.Node.name == 'a']):
            self.assertEqual(1, self.where().count('nodes.name'))

    def answer_of_ironic(self, nodes, limit):
        return node.node_list_convert_with_links(
            nodes, limit, url='nodes', fields=['uuid'], sort_key='id'
        )

    def test_an_answer_of_uuids_is_that_of_ironic_without_links(self):
        context = ironic_context.RequestContext(is_public_api=True)
        self.useFixture(
            fixtures.MonkeyPatch(
                'ironic.api.request',
                types.SimpleNamespace(
                    context=context,
                    public_url='http://127.0.0.1',
                    version=types.SimpleNamespace(minor=96),
                ),
            )
        )
        self.useFixture(
            fixtures.MonkeyPatch(
                'ironic.api.controllers.v1.node.node_list_convert_with_links',
                node.node_list_convert_with_links,
            )
        )
        self.useFixture(
            fixtures.MonkeyPatch(
                'ironic.common.policy.check', lambda *args: False
            )
        )
        self.useFixture(
            fixtures.MonkeyPatch(
                'ironic.common.policy.check_policy', lambda *args: True
            )
        )
        nodes = [
            objects.Node(
                context,
                uuid=uuidutils.generate_uuid(),
                owner=None,
                lessee=None,
                created_at=None,
                updated_at=None,
            )
            for _number in range(3)
        ]
        for limit in (2, 3, 4):
            stock = self.answer_of_ironic(nodes, limit)
            for item in stock['nodes']:
                del item['links']
            controllers.patch_node_lists()
            with controllers.only_uuids():
                self.assertEqual(stock, self.answer_of_ironic(nodes, limit))
            self.assertIn(
                'links', self.answer_of_ironic(nodes, limit)['nodes'][0]
            )

    def test_lists_of_ironic_use_the_seam(self):
        self.useFixture(
            fixtures.MonkeyPatch(
                'ironic.db.sqlalchemy.api._paginate_query', lambda *args: args
            )
        )
        connection = db_api.Connection()
        with controllers.node_conditions([models.Node.name == 'a']):
            for fields in (None, ['uuid'], ['uuid', 'traits']):
                query = connection.get_node_list(fields=fields)[-1]
                self.assertIn('nodes.name', str(query.whereclause), fields)
                self.assertEqual(1, len(query.get_final_froms()), fields)
