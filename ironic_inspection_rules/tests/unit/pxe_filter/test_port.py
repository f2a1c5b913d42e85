# SPDX-License-Identifier: Apache-2.0

from ironic.db.sqlalchemy import models
from oslo_utils import uuidutils
import sqlalchemy as sa

from ironic_inspection_rules.pxe_filter import port
from ironic_inspection_rules.tests import database
from ironic_inspection_rules.tests.unit import base


class PortSourceTestCase(base.TestCase):

    def setUp(self):
        super().setUp()
        self.database = self.useFixture(database.Database(ready=False))
        models.Base.metadata.create_all(self.database.engine)
        self.source = port.PortSource(['agent', 'inspector'])
        self.ports = {}

    def insert(self, model, **values):
        uuid = uuidutils.generate_uuid()
        with self.database.engine.begin() as connection:
            result = connection.execute(
                sa.insert(model).values(uuid=uuid, **values))
        return uuid, result.inserted_primary_key[0]

    def node(self, state, *macs, interface='agent', kind=models.Port):
        uuid, number = self.insert(models.Node, provision_state=state,
                                   inspect_interface=interface)
        for mac in macs:
            self.ports[mac] = self.insert(kind, address=mac,
                                          node_id=number)[0]
        return uuid

    def inspected(self):
        return {row for row in self.source.inspected_ports() if row}

    def rows(self, *macs):
        return {(self.ports[mac], mac) for mac in macs}

    def test_it_answers(self):
        self.source.ping()

    def test_all_ports_are_known(self):
        self.node('available', 'a', 'b')
        self.node('inspecting', 'c')
        self.ports['d'] = self.insert(models.Port, address='d')[0]
        self.insert(models.Port)
        self.assertEqual(self.rows('a', 'b', 'c', 'd'),
                         set(self.source.ports()))

    def test_nodes_in_inspection(self):
        self.node('inspecting', 'a', 'b')
        self.node('inspect wait', 'c')
        for state in ('inspect failed', 'manageable', 'enroll', None):
            self.node(state, f'not {state}')
        self.assertEqual(self.rows('a', 'b', 'c'), self.inspected())

    def test_only_those_of_the_supported_interfaces(self):
        self.node('inspecting', 'a', interface='inspector')
        self.node('inspecting', 'b', interface='redfish')
        self.assertEqual(self.rows('a'), self.inspected())

    def test_a_node_in_inspection_without_ports(self):
        self.node('inspecting')
        self.assertEqual({None}, set(self.source.inspected_ports()))

    def test_nothing_in_inspection(self):
        self.node('available', 'a')
        self.assertEqual([], list(self.source.inspected_ports()))

    def test_port_groups_count_as_ports(self):
        self.node('available', 'a', kind=models.Portgroup)
        self.node('inspecting', 'b', kind=models.Portgroup)
        self.assertEqual(self.rows('a', 'b'), set(self.source.ports()))
        self.assertEqual(self.rows('b'), self.inspected())

    def test_what_is_read_later_is_what_is_there_then(self):
        self.node('inspecting', 'a')
        list(self.source.inspected_ports())
        self.node('inspecting', 'b')
        self.assertEqual(self.rows('a', 'b'), self.inspected())
