# SPDX-License-Identifier: Apache-2.0

"""What the queue asks of its connections, on real servers."""

import select

from oslo_db import exception as db_exc
import sqlalchemy as sa

from ironic_inspection_rules.db import transaction
from ironic_inspection_rules.tests.functional.db import test_servers

PATIENCE = 60


class ConnectionsMixin:
    def setUp(self):
        super().setUp()
        transaction.limit_waits(self.database.engine, 1)

    def ask(self, query):
        with self.database.engine.connect() as connection:
            return connection.execute(sa.text(query)).first()[-1]

    def isolation(self, open_transaction):
        with open_transaction() as session:
            return (
                session.execute(sa.text(self.ISOLATION))
                .first()[-1]
                .replace('-', ' ')
                .upper()
            )

    def test_who_removes_rows_locks_no_gaps(self):
        before = self.isolation(transaction.writer)
        self.assertEqual(
            'READ COMMITTED', self.isolation(transaction.writer_without_gaps)
        )
        # The pool gets the connection back as it was.
        self.assertEqual(before, self.isolation(transaction.writer))


class MySQLConnectionsTestCase(ConnectionsMixin, test_servers.ServerTestCase):
    kind = 'mysql'
    ISOLATION = (
        "SHOW VARIABLES WHERE Variable_name IN ('tx_isolation',"
        " 'transaction_isolation')"
    )

    def test_an_answer_that_does_not_come_is_an_error(self):
        # In time it would come, and be none.
        self.assertRaises(
            db_exc.DBConnectionError, self.ask, 'SELECT SLEEP(30)'
        )

    def test_the_server_ends_a_transaction_that_does_nothing(self):
        with self.database.engine.connect() as connection:
            connection.execute(sa.text('SELECT 1 FROM ir_requests'))
            # Readable when the server has closed it.
            readable, *_others = select.select(
                [connection.connection.driver_connection._sock],
                [],
                [],
                PATIENCE,
            )
            self.assertTrue(readable)
            self.assertRaises(
                db_exc.DBConnectionError,
                connection.execute,
                sa.text('SELECT 1'),
            )


class PostgreSQLConnectionsTestCase(
    ConnectionsMixin, test_servers.ServerTestCase
):
    kind = 'postgresql'
    ISOLATION = 'SHOW transaction_isolation'

    def test_a_host_that_does_not_answer_is_an_error(self):
        connection = self.database.engine.raw_connection()
        self.addCleanup(connection.close)
        found = connection.driver_connection.get_dsn_parameters()
        self.assertEqual(
            ('2000', '1', '1'),
            tuple(
                found[name]
                for name in (
                    'tcp_user_timeout',
                    'keepalives_idle',
                    'keepalives_interval',
                )
            ),
        )

    def test_the_server_ends_a_transaction_that_does_nothing(self):
        self.assertEqual(
            '1s', self.ask('SHOW idle_in_transaction_session_timeout')
        )
