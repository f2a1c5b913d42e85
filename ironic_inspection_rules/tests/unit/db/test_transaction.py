# SPDX-License-Identifier: Apache-2.0

from unittest import mock

from oslo_db import exception as db_exc
import sqlalchemy as sa

from ironic_inspection_rules.db import transaction
from ironic_inspection_rules.tests import database
from ironic_inspection_rules.tests.unit import base


class PlainTransactionTestCase(base.TestCase):
    def setUp(self):
        super().setUp()
        self.engine = self.useFixture(database.Database()).engine

    def assert_given_back(self, work):
        given_back = []
        sa.event.listen(
            self.engine, 'checkin', lambda *args: given_back.append(args)
        )
        with mock.patch.object(
            self.engine.dialect,
            'do_begin',
            autospec=True,
            side_effect=db_exc.DBConnectionError('away'),
        ):
            # While there is the error, nothing is garbage.
            error = self.assertRaises(db_exc.DBConnectionError, work)
            self.assertEqual(1, len(given_back), error)

    def test_a_writer_that_cannot_begin_gives_its_connection_back(self):
        self.assert_given_back(
            lambda: transaction.write(lambda connection: None)
        )

    def test_a_reader_that_cannot_begin_gives_its_connection_back(self):
        self.assert_given_back(lambda: transaction.read_rows(sa.select(1)))
