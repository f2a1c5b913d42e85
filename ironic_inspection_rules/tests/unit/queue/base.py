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
    """Stops the clock of the database in use; :func:`pass_time` moves it.

    So a test does not depend on how busy the machine is. A queue keeps the
    clock of the time when it was made, so it is to be made afterwards.
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
    """Collect the statements and the commits of this context.

    :returns: a list that grows meanwhile, such as ``['SELECT …', 'COMMIT']``.
    """
    collected = []

    def note(connection, cursor, statement, *args):
        # Only those on tables of this project: a new connection to a server
        # makes statements of its own.
        if 'ir_' in statement:
            collected.append(statement)

    def note_commit(connection):
        collected.append('COMMIT')

    engine = enginefacade.writer.get_engine()
    events = (('before_cursor_execute', note), ('commit', note_commit))
    for event, listener in events:
        sa.event.listen(engine, event, listener)
    try:
        yield collected
    finally:
        for event, listener in events:
            sa.event.remove(engine, event, listener)


class QueueTestCase(base.TestCase):
    """A test with a queue in a database of its own."""

    def setUp(self):
        super().setUp()
        self.useFixture(database.Database())
        self.queue = database_queue.DatabaseQueue(LEASE)
