# SPDX-License-Identifier: Apache-2.0

import fixtures
from ironic.db.sqlalchemy import api as db_api
from ironic.db.sqlalchemy import models
import sqlalchemy as sa

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.patches import node_query
from ironic_inspection_rules.tests.unit import base


class NodeQueryTestCase(base.IronicTestCase):

    def setUp(self):
        super().setUp()
        self.useFixture(fixtures.MonkeyPatch(
            'ironic.db.sqlalchemy.api.Connection._add_nodes_filters',
            db_api.Connection._add_nodes_filters))
        node_query.install()

    def where(self):
        """How Ironic would list nodes in maintenance."""
        query = db_api.Connection()._add_nodes_filters(
            sa.select(models.Node.id), {'maintenance': True})
        return str(query.whereclause)

    def test_conditions_join_those_of_ironic(self):
        stock = self.where()
        with node_query.narrowed([models.Node.name == 'a',
                                  models.Node.owner == 'b']):
            narrowed = self.where()
        self.assertIn('nodes.maintenance', stock)
        self.assertEqual(
            f'{stock} AND nodes.name = :name_1 AND nodes.owner = :owner_1',
            narrowed)

    def test_conditions_end_with_the_block(self):
        stock = self.where()
        self.assertRaises(ZeroDivisionError, self.fail_narrowed)
        self.assertEqual(stock, self.where())

    def fail_narrowed(self):
        with node_query.narrowed([models.Node.name == 'a']):
            raise ZeroDivisionError

    def test_it_is_refused_where_another_process_makes_the_query(self):
        self.config(use_rpc_for_database=True)

        self.assertRaises(exceptions.Invalid, self.fail_narrowed)

    def test_it_is_refused_where_ironic_makes_its_query_otherwise(self):
        def _add_nodes_filters(self, query):
            return query

        db_api.Connection._add_nodes_filters = _add_nodes_filters
        node_query.install()

        self.assertIs(_add_nodes_filters,
                      db_api.Connection._add_nodes_filters)
        self.assertRaises(exceptions.Invalid, self.fail_narrowed)

    def test_installed_twice_it_narrows_once(self):
        node_query.install()
        with node_query.narrowed([models.Node.name == 'a']):
            self.assertEqual(1, self.where().count('nodes.name'))

    def test_lists_of_ironic_use_the_seam(self):
        self.useFixture(fixtures.MonkeyPatch(
            'ironic.db.sqlalchemy.api._paginate_query', lambda *args: args))
        connection = db_api.Connection()
        with node_query.narrowed([models.Node.name == 'a']):
            for fields in (None, ['uuid'], ['uuid', 'traits']):
                query = connection.get_node_list(fields=fields)[-1]
                self.assertIn('nodes.name', str(query.whereclause), fields)
                self.assertEqual(1, len(query.get_final_froms()), fields)
