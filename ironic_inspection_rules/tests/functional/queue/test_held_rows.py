# SPDX-License-Identifier: Apache-2.0

"""Tasks of the leader, claims and expiry beside rows that others hold.

A statement that waits for such a row is an error here: the session bounds how
long it may wait.
"""

import datetime
import functools

from ironic.common import states
from ironic.db.sqlalchemy import models as ironic_models
from oslo_db import exception as db_exc
from oslo_utils import timeutils
import sqlalchemy as sa
from sqlalchemy import orm

from ironic_inspection_rules.db import clock
from ironic_inspection_rules.db import content
from ironic_inspection_rules.db import lock_timeout
from ironic_inspection_rules.db import models
from ironic_inspection_rules.db import transaction
from ironic_inspection_rules.queue import attempt
from ironic_inspection_rules.queue import database_queue
from ironic_inspection_rules.queue import external_error
from ironic_inspection_rules.queue import maintenance
from ironic_inspection_rules.queue import request as queue_request
from ironic_inspection_rules.queue import state
from ironic_inspection_rules.queue import worker
from ironic_inspection_rules.runs import recorder
from ironic_inspection_rules.tests import database
from ironic_inspection_rules.tests.unit.inspection import base as glue

LONG_AGO = datetime.datetime(2020, 1, 1)
LEASE = 60.0
DEAD = worker.make_name('dead')
TABLES = [ironic_models.Node.__table__, *models.Base.metadata.sorted_tables]
HAVE_NODES = [
    models.RequestRow,
    models.InspectionDataRow,
    models.RunRow,
    models.KeptInventoryRow,
    models.PartStayRow,
]
OF_REQUESTS = {
    'version': '1.0',
    'event': queue_request.CONTINUE,
    'checkpoints': {},
}


class HeldRowsMixin:
    """Another transaction holds a row of each table, each of them once."""

    def setUp(self):
        if reason := database.why_absent(self.kind):
            self.skipTest(reason)
        super().setUp()
        self.engine = self.database.engine
        self.errors = []
        sa.event.listen(self.engine, 'connect', self.bound_waits)
        sa.event.listen(self.engine, 'handle_error', self.note_error)
        self.engine.dispose()
        self.holder = sa.create_engine(self.engine.url)
        self.addCleanup(self.holder.dispose)
        self.queue = database_queue.DatabaseQueue(LEASE)
        self.number = 0

    def bound_waits(self, connection, record):
        with connection.cursor() as cursor:
            cursor.execute(self.bound)
        connection.commit()

    def note_error(self, context):
        self.errors.append((context.statement, context.original_exception))

    def tasks(self):
        made = maintenance.QueueMaintenance(
            self.queue,
            900,
            3600,
            lambda: None,
            functools.partial(
                attempt.settle,
                self.queue,
                functools.partial(attempt.locked, self.queue, 900),
            ),
        )
        return {
            **{task.__name__: task for task in made.tasks},
            'claim': lambda: self.queue.get('w1'),
            'clean': lambda: recorder.Cleaner().clean(1),
        }

    def node(self, **fields):
        self.number += 1
        first, last = divmod(self.number, 100)
        return self.make_task(
            mac=f'52:54:00:00:{first:02}:{last:02}', **fields
        ).node

    def request(self, node_uuid, present, **fields):
        self.number += 1
        is_open = present not in state.TERMINAL
        return models.RequestRow(
            **{
                **OF_REQUESTS,
                'uuid': f'request-{self.number}',
                'node_uuid': node_uuid,
                'state': present,
                'open_node_uuid': node_uuid if is_open else None,
                **fields,
            }
        )

    def data(self, node_uuid, posted=True):
        self.number += 1
        return models.InspectionDataRow(
            node_uuid=node_uuid,
            posted=posted,
            plugin_data={},
            inventory={'number': self.number},
        )

    def fill(self):
        """Give each task two things to do, so that one is not held."""
        due = clock.now() - LEASE
        rows = []
        for number in range(2):
            dead = self.node(provision_state=states.INSPECTING)
            request = self.request(
                dead.uuid, state.PROCESSING, worker=DEAD, due_at=due
            )
            dead.reservation = f'inspection-request:{request.uuid}:0'
            dead.save()
            unsettled = self.node(provision_state=states.INSPECTWAIT)
            overdue, again = (
                self.node(
                    provision_state=states.INSPECTWAIT,
                    inspection_started_at=LONG_AGO,
                )
                for _ in range(2)
            )
            kept, waiting = self.node(), self.node()
            gone = f'gone-{number}'
            rows += [
                request,
                self.request(unsettled.uuid, state.ERROR, due_at=due),
                self.request(
                    again.uuid,
                    state.WAITING,
                    due_at=due,
                    event=queue_request.TIMEOUT,
                ),
                self.request(waiting.uuid, state.WAITING, due_at=due),
                self.request(kept.uuid, state.FINISHED, finished_at=LONG_AGO),
                self.data(waiting.uuid),
                self.data(kept.uuid),
                self.data(kept.uuid, posted=False),
                *self.rows_of(kept.uuid, number),
                self.request(
                    gone, state.FINISHED, finished_at=timeutils.utcnow()
                ),
                self.data(gone),
                *self.rows_of(gone, number),
            ]
            content.store({'unnamed': f'{number}' * 2000})
        with transaction.writer() as session:
            session.add_all(rows)
            for table in (models.ContentRow, models.SectionRow):
                session.execute(
                    sa.update(table).values(
                        used_at=clock.now() - content.GRACE - 1
                    )
                )

    def rows_of(self, node_uuid, number, began=LONG_AGO):
        """Return the rows of a node's history."""
        self.number += 1
        digest = content.store({'named': f'{number}' * 2000})
        return [
            models.InspectionDataRow(
                node_uuid=node_uuid,
                posted=True,
                inventory={},
                plugin_data={},
                content=digest,
            ),
            models.RunRow(
                uuid=f'run-{self.number}',
                node_uuid=node_uuid,
                event='inspection',
                result='ok',
                phases={},
                created_at=LONG_AGO,
            ),
            models.KeptInventoryRow(
                uuid=f'inventory-{self.number}',
                node_uuid=node_uuid,
                created_at=began,
                changed=False,
                content=digest,
                parts=digest,
            ),
            models.PartStayRow(
                identity=f'part-{self.number}',
                kind='disk',
                label='',
                node_uuid=node_uuid,
                began_at=began,
                ended_at=began,
            ),
        ]

    def empty(self):
        with self.engine.begin() as connection:
            for table in reversed(ironic_models.Base.metadata.sorted_tables):
                connection.execute(sa.delete(table))
            for table in models.Base.metadata.sorted_tables:
                connection.execute(sa.delete(table))

    def keys(self, table):
        with self.engine.connect() as connection:
            return connection.execute(
                sa.select(*table.primary_key.columns).order_by(
                    *table.primary_key.columns
                )
            ).all()

    def hold(self, connection, table, key):
        held = [
            column == value
            for column, value in zip(
                table.primary_key.columns, key, strict=True
            )
        ]
        connection.execute(
            sa.select(*table.primary_key.columns)
            .where(*held)
            .with_for_update()
        ).one()

    def done_requests(self):
        """Return the keys of requests that are to be removed."""
        with orm.Session(self.engine) as session:
            return session.execute(
                sa.select(models.RequestRow.id).where(
                    models.RequestRow.finished_at == LONG_AGO
                )
            ).all()

    def waits(self, held):
        """Run each task, and return the statements that met a held row."""
        waits = {}
        for name, task in self.tasks().items():
            self.errors.clear()
            task()
            if self.errors:
                waits[name, held] = list(self.errors)
        return waits

    def test_no_task_waits_for_a_row(self):
        self.fill()
        most = max(len(self.keys(table)) for table in TABLES)
        for place in range(most):
            with self.holder.begin() as other:
                held = {}
                for table in TABLES:
                    keys = self.keys(table)
                    if place < len(keys):
                        self.hold(other, table, keys[place])
                        held[table.name] = keys[place]
                self.assertEqual({}, self.waits(tuple(held.items())))
                self.assertLessEqual(
                    set(self.done_requests()),
                    {held.get(models.RequestRow.__tablename__)},
                )
            self.empty()
            self.fill()

    def test_what_stays_in_a_small_table_is_not_waited_for(self):
        # MySQL scans such a table as a whole for most of its keys.
        stays = self.task.node.uuid
        now = timeutils.utcnow()
        rows = [
            self.request(stays, state.WAITING, due_at=None),
            self.data(stays),
            *self.rows_of(stays, 0, now),
        ]
        with transaction.writer() as session:
            session.add_all(rows)
        with self.holder.begin() as other:
            for table in TABLES:
                for key in self.keys(table):
                    self.hold(other, table, key)
            with transaction.writer() as session:
                for number in range(4):
                    node = self.node()
                    session.add_all(
                        [
                            self.request(
                                node.uuid, state.FINISHED, finished_at=LONG_AGO
                            ),
                            self.data(node.uuid, posted=False),
                            *self.rows_of(f'gone-{number}', 0),
                        ]
                    )
            self.assertEqual({}, self.waits(()))
            left = {
                table.__tablename__: len(self.keys(table.__table__))
                for table in HAVE_NODES
            }
        # Of the data, one is in its row, and one is stored by content.
        self.assertEqual(
            {
                **{table.__tablename__: 1 for table in HAVE_NODES},
                'ir_unprocessed': 2,
            },
            left,
        )

    def test_what_was_held_is_done_when_it_is_free(self):
        self.fill()
        with self.holder.begin() as other:
            for table in TABLES:
                for key in self.keys(table):
                    self.hold(other, table, key)
            self.assertEqual({}, self.waits(()))
            self.assertEqual(2, len(self.done_requests()))
        self.waits(())

        self.assertEqual([], self.done_requests())
        with orm.Session(self.engine) as session:
            for table in HAVE_NODES:
                self.assertEqual(
                    0,
                    session.scalar(
                        sa.select(sa.func.count())
                        .select_from(table)
                        .where(table.node_uuid.like('gone%'))
                    ),
                    table,
                )

    def test_other_statements_of_the_leader_do_not_wait_for_long(self):
        sa.event.remove(self.engine, 'connect', self.bound_waits)
        # So does the queue.
        transaction.limit_waits(self.engine, 60)
        node = self.task.node
        with self.holder.begin() as other:
            self.hold(other, ironic_models.Node.__table__, (node.id,))
            node.extra = {'asset': 5}
            with lock_timeout.shortened():
                exc = self.assertRaises(
                    (db_exc.DBError, sa.exc.OperationalError), node.save
                )
        self.assertTrue(external_error.is_external(exc))
        with (
            transaction.reader() as ours,
            self.holder.connect() as default,
        ):
            self.assertEqual(
                default.scalar(sa.text(self.question)),
                ours.scalar(sa.text(self.question)),
            )


class MySQLHeldRowsTestCase(HeldRowsMixin, glue.GlueTestCase):
    kind = 'mysql'
    bound = 'SET SESSION innodb_lock_wait_timeout = 1'
    question = 'SELECT @@innodb_lock_wait_timeout'


class PostgreSQLHeldRowsTestCase(HeldRowsMixin, glue.GlueTestCase):
    kind = 'postgresql'
    bound = "SET SESSION lock_timeout = '1s'"
    question = 'SHOW lock_timeout'
