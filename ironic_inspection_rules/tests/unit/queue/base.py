# SPDX-License-Identifier: Apache-2.0

"""What tests of the queue stand on: a database whose time passes at will."""

import contextlib

import fixtures
from oslo_db.sqlalchemy import enginefacade
import sqlalchemy as sa

from ironic_inspection_rules.db import lease as leases
from ironic_inspection_rules.db import models
from ironic_inspection_rules.queue import database_queue
from ironic_inspection_rules.tests import database
from ironic_inspection_rules.tests.unit import base

LEASE = 60.0


class StoppedClock(fixtures.Fixture):
    """Stops the clock of the database in use; only ``pass_time`` goes on.

    Else a second that a busy machine takes is one that nobody asked for. A
    queue has the clock of when it was made: it is to be made afterwards.
    """

    def _setUp(self):
        now = leases.read_clock()
        self.useFixture(
            fixtures.MonkeyPatch(
                'ironic_inspection_rules.db.clock.now',
                lambda: sa.literal(now, sa.Double()),
            )
        )


def pass_time(seconds):
    """Make what is due in so many seconds due now."""
    with enginefacade.writer.get_engine().begin() as connection:
        connection.execute(
            sa.update(models.RequestRow).values(
                due_at=models.RequestRow.due_at - seconds
            )
        )


@contextlib.contextmanager
def statements():
    """Note what the database is asked for in this context, and commits."""
    asked = []

    def note(connection, cursor, statement, *args):
        # Servers are asked for more in each new connection.
        if 'ir_' in statement:
            asked.append(statement)

    def note_commit(connection):
        asked.append('COMMIT')

    engine = enginefacade.writer.get_engine()
    events = (('before_cursor_execute', note), ('commit', note_commit))
    for event, listener in events:
        sa.event.listen(engine, event, listener)
    try:
        yield asked
    finally:
        for event, listener in events:
            sa.event.remove(engine, event, listener)


class QueueTestCase(base.TestCase):
    """A test with a queue in a database of its own."""

    def setUp(self):
        super().setUp()
        self.useFixture(database.Database())
        self.queue = database_queue.DatabaseQueue(LEASE)
