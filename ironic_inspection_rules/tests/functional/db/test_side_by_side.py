# SPDX-License-Identifier: Apache-2.0

"""Code of the last release and of this one, on one database.

An upgrade replaces one process at a time. The tables go first, so that the old
code works on tables with columns that it does not know. Its statements are
made here from the tables as its own migrations make them.
"""

from typing import Any

from alembic import script as alembic_script
from oslo_utils import uuidutils
import sqlalchemy as sa

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.db import clock
from ironic_inspection_rules.db import migration
from ironic_inspection_rules.db import transaction
from ironic_inspection_rules.db import unprocessed
from ironic_inspection_rules.queue import database_queue
from ironic_inspection_rules.queue import request as queue_request
from ironic_inspection_rules.queue import state
from ironic_inspection_rules.tests.functional.db import test_servers

LEASE = 60.0
OLD = 'b3d91e6a7c25'
"""Revision of the tables of the last release."""


class SideBySideMixin:

    ready = False

    def setUp(self) -> None:
        super().setUp()
        migration.upgrade(OLD)
        self.old = sa.MetaData()
        self.old.reflect(self.database.engine)
        self.requests = self.old.tables['ir_requests']
        self.node_uuid = uuidutils.generate_uuid()

    def upgrade(self) -> database_queue.DatabaseQueue:
        migration.upgrade()
        return database_queue.DatabaseQueue(LEASE)

    def execute(self, statement: Any) -> sa.CursorResult:
        """Carry out a statement of the old code."""
        with transaction.plain_writer() as connection:
            return connection.execute(statement)

    def put(self) -> str:
        """Put a request as the old API does."""
        uuid = uuidutils.generate_uuid()
        data = self.execute(sa.insert(self.old.tables['ir_unprocessed'])
                            .values(node_uuid=self.node_uuid, posted=True,
                                    inventory='{"cpu": 1}', plugin_data='{}'))
        self.execute(sa.insert(self.requests).values(
            uuid=uuid, version='1.0', node_uuid=self.node_uuid,
            open_node_uuid=self.node_uuid, event=queue_request.CONTINUE,
            state=state.WAITING, attempts=0, token=0, due_at=clock.now(),
            progress='{}', unprocessed_id=data.inserted_primary_key[0]))
        return uuid

    def change(self, request: queue_request.Request, **values: Any) -> bool:
        """Change a request as an old worker does, by its token."""
        row = self.requests.c
        return self.execute(
            sa.update(self.requests).values(**values)
            .where(row.uuid == request.uuid, row.token == request.token,
                   row.open_node_uuid.is_not(None))).rowcount == 1

    def claim(self, request: queue_request.Request) -> queue_request.Request:
        """Claim a request as an old worker does."""
        self.assertTrue(self.change(request, worker='old', token=(
            request.token + 1), due_at=clock.now() + LEASE))
        return database_queue.DatabaseQueue(LEASE).find(request.uuid)

    def test_what_was_put_before_the_upgrade_is_processed(self) -> None:
        uuid = self.put()
        queue = self.upgrade()
        claimed = queue.get('new')
        self.assertEqual((uuid, {'cpu': 1}),
                         (claimed.uuid, claimed.inventory))
        queue.consume(queue.begin(claimed, state.PROCESSING))
        self.assertEqual(state.FINISHED, queue.find(uuid).state)

    def test_what_the_old_api_puts_a_new_worker_processes(self) -> None:
        queue = self.upgrade()
        uuid = self.put()
        queue.consume(queue.begin(queue.get('new'), state.PROCESSING))
        self.assertEqual(state.FINISHED, queue.find(uuid).state)

    def test_what_the_new_api_puts_an_old_worker_processes(self) -> None:
        queue = self.upgrade()
        put = queue.put(self.node_uuid, queue_request.CONTINUE, {}, {})
        claimed = self.claim(put)
        self.assertIsNone(queue.get('new'))
        self.assertTrue(self.change(
            claimed, state=state.FINISHED, open_node_uuid=None, due_at=None))
        self.assertEqual(state.FINISHED, queue.find(put.uuid).state)

    def test_a_new_leader_returns_what_a_dead_old_worker_held(self) -> None:
        queue = self.upgrade()
        put = queue.put(self.node_uuid, queue_request.CONTINUE, {}, {})
        claimed = self.claim(put)
        self.change(claimed, state=state.PROCESSING, attempts=1,
                    due_at=clock.now() - 1)
        self.assertEqual(['old'], [each.worker for each in queue.expire()])
        self.assertFalse(self.change(claimed, state=state.FINISHED),
                         'it is not the last delivery any more')
        self.assertEqual(put.uuid, queue.get('new').uuid)

    def test_an_old_worker_takes_over_from_a_dead_new_one(self) -> None:
        queue = self.upgrade()
        queue.put(self.node_uuid, queue_request.CONTINUE, {}, {})
        lost = queue.begin(queue.get('new'), state.PROCESSING)
        claimed = self.claim(lost)
        self.assertEqual({lost.delivery}, queue.heartbeat([lost]))
        self.assertRaises(exceptions.LeaseLost, queue.consume, lost)
        self.assertTrue(self.change(claimed, state=state.FINISHED))

    def test_the_old_api_takes_no_data_for_none(self) -> None:
        queue = self.upgrade()
        self.put()
        queue.consume(queue.begin(queue.get('new'), state.PROCESSING))
        unprocessed.archive(9)
        rows = self.old.tables['ir_unprocessed']
        self.assertEqual(0, self.execute(sa.delete(rows)).rowcount)
        self.put()
        self.assertEqual({'cpu': 1}, queue.get('new').inventory)
        self.assertEqual({'inventory': {'cpu': 1}, 'plugin_data': {}},
                         unprocessed.get_unprocessed(self.node_uuid))

    def test_columns_that_were_added_need_no_value(self) -> None:
        self.upgrade()
        new = sa.MetaData()
        new.reflect(self.database.engine)
        for name, table in self.old.tables.items():
            present = new.tables[name].columns
            self.assertLessEqual(set(table.columns.keys()),
                                 set(present.keys()), name)
            for column in present:
                if column.name not in table.columns:
                    self.assertTrue(
                        column.nullable or column.server_default is not None,
                        f'old code cannot insert into {name}: {column.name}')

    def test_new_code_refuses_old_tables_by_name(self) -> None:
        scripts = alembic_script.ScriptDirectory.from_config(
            migration._config())
        if scripts.get_current_head() == OLD:
            self.skipTest('no tables have changed since the last release')
        exc = self.assertRaises(exceptions.DatabaseNotReady, migration.check)
        self.assertIn('upgrade', str(exc))


class SQLiteSideBySideTestCase(SideBySideMixin, test_servers.ServerTestCase):

    kind = 'sqlite'


class MySQLSideBySideTestCase(SideBySideMixin, test_servers.ServerTestCase):
    kind = 'mysql'


class PostgreSQLSideBySideTestCase(SideBySideMixin,
                                   test_servers.ServerTestCase):
    kind = 'postgresql'
