# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

import inspect

import fixtures
from ironic import objects
from ironic.common import utils
from oslo_db import exception as db_exc
from oslo_db.sqlalchemy import enginefacade
import sqlalchemy as sa

from ironic_inspection_rules.inspection import facts
from ironic_inspection_rules.patches import database
from ironic_inspection_rules.patches import node_saving
from ironic_inspection_rules.tests.unit.inspection import base


class NodeSavingTestCase(base.GlueTestCase):

    def setUp(self):
        super().setUp()
        # What is said of servers is tried without one.
        self.useFixture(fixtures.MonkeyPatch(
            'ironic.common.utils.USING_SQLITE', False))
        self.node = self.stored_node()
        objects.TraitList.create(self.context, self.node.id, ['CUSTOM_X'])
        node_saving.save_at_once(self.node)
        self.asked = []
        engine = enginefacade.writer.get_engine()
        for event, listener in (
                ('before_cursor_execute', self.note),
                ('commit', lambda connection: self.asked.append('COMMIT'))):
            sa.event.listen(engine, event, listener)
            self.addCleanup(sa.event.remove, engine, event, listener)

    def note(self, connection, cursor, statement, *args):
        if '.driver_internal_info' in statement:
            self.asked.append(f'{statement.split()[0]} all'
                              if '.chassis_id' in statement else 'SELECT')

    def save(self):
        del self.asked[:]
        self.node.save()

    def test_ironic_saves_nodes_by_this_method(self):
        self.assertIn('self.dbapi.update_node(self.uuid, updates)',
                      inspect.getsource(objects.Node.save))

    def test_a_node_is_read_once_and_what_was_written_again(self):
        self.node.driver_internal_info = {'a': 1}
        self.save()
        self.assertEqual(['SELECT all', 'SELECT', 'COMMIT'], self.asked)

    def test_the_node_is_as_ironic_has_it(self):
        other = self.stored_node()
        for node in (self.node, other):
            node.extra = {'list': (1, 2)}
            node.provision_state = 'inspecting'
            node.save()
        self.assertEqual(set(), self.node.obj_what_changed())
        self.assertEqual({'list': [1, 2]}, self.node.extra)
        self.assertEqual(['CUSTOM_X'], self.node.traits.get_trait_names())
        self.assertLessEqual(self.node.inspection_started_at,
                             other.inspection_started_at)
        known = facts.as_dict(self.node)
        self.assertLess(50, len(known))
        for name in ('updated_at', 'provision_updated_at',
                     'inspection_started_at'):
            known[name] = getattr(other, name).isoformat()
        self.assertEqual(facts.as_dict(other), known)

    def test_who_loses_against_another_saves_again(self):
        lost = []

        def lose(connection):
            if not lost:
                lost.append(connection)
                raise db_exc.DBDeadlock()
        engine = enginefacade.writer.get_engine()
        sa.event.listen(engine, 'commit', lose)
        self.addCleanup(sa.event.remove, engine, 'commit', lose)
        self.node.extra = {'a': 1}
        self.save()
        self.assertEqual(1, len(lost))
        self.assertEqual({'a': 1}, self.stored_node().extra)

    def test_a_transaction_that_a_deadlock_has_ended_is_done_again(self):
        self.lose_by_flush()
        self.node.extra = {'a': 1}
        self.save()
        self.assertEqual({'a': 1}, self.stored_node().extra)

    def test_who_began_a_transaction_is_told_that_it_has_ended(self):
        self.lose_by_flush()
        self.node.extra = {'a': 1}

        def save():
            with database.transaction():
                self.node.save()
        self.assertRaises(sa.exc.PendingRollbackError, save)
        self.assertEqual({}, self.stored_node().extra)

    def lose_by_flush(self):
        lost = []

        def lose(connection, cursor, statement, *args):
            if statement.startswith('UPDATE nodes') and not lost:
                lost.append(statement)
                raise db_exc.DBDeadlock()
        engine = enginefacade.writer.get_engine()
        sa.event.listen(engine, 'before_cursor_execute', lose)
        self.addCleanup(sa.event.remove, engine, 'before_cursor_execute',
                        lose)

    def test_with_sqlite_all_is_as_in_ironic(self):
        utils.USING_SQLITE = True
        node = self.stored_node()
        node_saving.save_at_once(node)
        self.assertIs(objects.Node.dbapi, node.dbapi)
