# SPDX-License-Identifier: Apache-2.0

import threading

import fixtures
from oslo_db.sqlalchemy import enginefacade
import sqlalchemy as sa

from ironic_inspection_rules.db import fence
from ironic_inspection_rules.tests.unit import base

NODE = 'ba24e9c1-6a55-4b8d-8f4c-0f34cb0b7ad6'
REQUEST = '6f0e5c4d-6c53-4d2f-9f3b-2f1f2f4f9f60'


class Lost(BaseException):
    """Not an ``Exception``, as what ends an attempt is none."""


class FenceTestCase(base.TestCase):
    def setUp(self):
        super().setUp()
        path = self.useFixture(fixtures.TempDir()).join('test.sqlite')
        self.facade = enginefacade.transaction_context()
        self.facade.configure(connection=f'sqlite:///{path}')
        engine = self.facade.writer.get_engine()
        # One connection for all, as servers have it for many: what is left
        # of a transaction becomes part of the next one.
        engine.pool = sa.QueuePool(
            engine.pool._creator,
            pool_size=1,
            max_overflow=0,
            dialect=engine.dialect,
            _dispatch=engine.pool.dispatch,
        )
        self.addCleanup(engine.dispose)
        self.context = threading.local()
        self.execute('CREATE TABLE nodes (uuid TEXT, reservation TEXT)')
        self.execute(
            'CREATE TABLE ir_requests '
            '(uuid TEXT, node_uuid TEXT, token INTEGER)'
        )
        self.execute(
            f"INSERT INTO ir_requests VALUES ('{REQUEST}', '{NODE}', 2)"
        )
        self.execute(f"INSERT INTO nodes VALUES ('{NODE}', 'me')")

    def execute(self, statement):
        with self.facade.writer.using(self.context) as session:
            session.execute(sa.text(statement))

    def write(self, holder, token=2):
        with fence.while_locked(NODE, holder, REQUEST, token, Lost):
            self.execute("INSERT INTO nodes VALUES ('written', NULL)")

    def count(self):
        with self.facade.reader.using(self.context) as session:
            return session.execute(
                sa.text("SELECT COUNT(*) FROM nodes WHERE uuid = 'written'")
            ).scalar_one()

    def test_who_has_locked_the_node_commits(self):
        self.write('me')
        self.assertEqual(1, self.count())

    def test_who_has_not_commits_nothing(self):
        self.assertRaises(Lost, self.write, 'somebody else')
        self.assertEqual(0, self.count())

    def test_an_earlier_delivery_commits_nothing(self):
        self.assertRaises(Lost, self.write, 'me', token=1)
        self.assertEqual(0, self.count())

    def test_the_next_transaction_does_not_commit_what_was_refused(self):
        self.assertRaises(Lost, self.write, 'somebody else')
        self.execute("UPDATE nodes SET reservation = 'else'")
        self.assertEqual(0, self.count())

    def test_the_next_transaction_can_be_undone_as_a_whole(self):
        self.assertRaises(Lost, self.write, 'somebody else')
        with (
            self.assertRaises(ValueError),
            self.facade.writer.using(self.context) as session,
        ):
            session.execute(
                sa.text("INSERT INTO nodes VALUES ('written', NULL)")
            )
            raise ValueError
        self.assertEqual(0, self.count())

    def test_nothing_is_committed_where_it_cannot_be_checked(self):
        self.execute('ALTER TABLE nodes RENAME COLUMN reservation TO other')
        self.assertRaises(sa.exc.OperationalError, self.write, 'me')
        self.execute("UPDATE nodes SET other = 'else'")
        self.assertEqual(0, self.count())

    def test_outside_of_it_anybody_commits(self):
        self.assertRaises(Lost, self.write, 'somebody else')
        self.execute("INSERT INTO nodes VALUES ('written', NULL)")
        self.assertEqual(1, self.count())
