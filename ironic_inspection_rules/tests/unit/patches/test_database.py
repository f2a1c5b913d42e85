# SPDX-License-Identifier: Apache-2.0

import contextlib
import re
import sqlite3
from unittest import mock

import fixtures
from ironic import objects
from ironic.db.sqlalchemy import models
from oslo_db import exception as db_exc
from oslo_db.sqlalchemy import exc_filters
import sqlalchemy as sa

from ironic_inspection_rules.patches import database
from ironic_inspection_rules.tests.unit.inspection import base


class TransactionTestCase(base.GlueTestCase):
    def names(self):
        """Names of the nodes in the database, as another session sees them."""
        with database.transaction() as session:
            return list(session.scalars(sa.select(models.Node.name)))

    def test_what_ironic_saves_inside_ends_with_the_transaction(self):
        before = self.names()
        with contextlib.suppress(ZeroDivisionError), database.transaction():
            self.task.node.name = 'renamed'
            self.task.node.save()
            raise ZeroDivisionError
        self.assertEqual(before, self.names())

    def test_what_ironic_saves_inside_is_kept_at_its_end(self):
        with database.transaction():
            self.task.node.name = 'renamed'
            self.task.node.save()
        self.assertEqual(['renamed'], self.names())

    def test_one_inside_another_is_the_same(self):
        with database.transaction() as outer, database.transaction() as inner:
            self.assertIs(outer, inner)


class DeadlockTestCase(base.GlueTestCase):
    """Ironic's calls repeat themselves, each alone, after a deadlock."""

    def setUp(self):
        super().setUp()
        self.deadlocks = 1
        sa.event.listen(self.database.engine, 'do_execute', self.lose)
        # SQLite has none, so oslo.db does not know what it calls one.
        self.useFixture(
            fixtures.MockPatchObject(
                exc_filters,
                '_registry',
                {
                    'sqlite': {
                        sa.exc.OperationalError: [
                            (
                                exc_filters._deadlock_error,
                                re.compile('.*a deadlock'),
                            )
                        ]
                    }
                },
            )
        )

    def lose(self, cursor, statement, parameters, context):
        """Undo the transaction that comes to a statement first."""
        if statement.startswith(self.victim) and self.deadlocks:
            self.deadlocks -= 1
            cursor.connection.rollback()
            raise sqlite3.OperationalError('a deadlock')

    def save_all(self):
        with database.transaction():
            self.task.node.name = 'renamed'
            self.task.node.save()
            self.task.ports[0].extra = {'renamed': True}
            self.task.ports[0].save()
            objects.TraitList.create(
                self.context, self.task.node.id, ['CUSTOM_RENAMED']
            )

    def assert_nothing_is_saved(self):
        self.assertRaises(db_exc.DBDeadlock, self.save_all)
        node = self.stored_node()
        self.assertEqual(
            ('one', {}, []),
            (
                node.name,
                self.stored_port().extra,
                node.traits.get_trait_names(),
            ),
        )

    def test_a_call_that_executes_does_not_go_on_alone(self):
        self.victim = 'DELETE FROM node_traits'
        self.assert_nothing_is_saved()

    def test_a_call_that_flushes_does_not_go_on_alone(self):
        self.victim = 'UPDATE ports'
        self.assert_nothing_is_saved()

    def test_a_commit_is_one_of_all(self):
        self.victim = 'nothing'
        with mock.patch.object(
            self.database.engine.dialect,
            'do_commit',
            autospec=True,
            side_effect=sqlite3.OperationalError('a deadlock'),
        ):
            self.assert_nothing_is_saved()

    def test_other_calls_of_ironic_repeat_themselves(self):
        self.victim = 'nothing'
        self.save_all()
        self.victim = 'UPDATE ports'
        self.task.ports[0].extra = {'repeated': True}
        self.task.ports[0].save()
        self.assertEqual(0, self.deadlocks)
        self.assertEqual({'repeated': True}, self.stored_port().extra)
