# SPDX-License-Identifier: Apache-2.0

"""A process that stops in the middle of a transaction, on real servers."""

from concurrent import futures
import multiprocessing
import os
import signal

from oslo_db import exception as db_exc
import sqlalchemy as sa

from ironic_inspection_rules.db import models
from ironic_inspection_rules.db import transaction
from ironic_inspection_rules.db import unprocessed
from ironic_inspection_rules.queue import database_queue
from ironic_inspection_rules.queue import request as queue_request
from ironic_inspection_rules.queue import state
from ironic_inspection_rules.tests.functional.db import test_servers
from ironic_inspection_rules.tests.unit.queue import base as queue_base

LEASE = 60.0
PATIENCE = 120
WAIT = 3600
"""Seconds that MySQL lets a statement wait for a row: longer than a test."""


class StalledProcessMixin:
    """One process is stopped with the oldest request in hand."""

    others = 10

    def setUp(self):
        super().setUp()
        self.queue = database_queue.DatabaseQueue(LEASE)
        self.pool = futures.ThreadPoolExecutor(1)
        # Who waits for a row goes on when the stalled process is gone.
        self.addCleanup(self.pool.shutdown)

    def promptly(self, function, *args):
        """Call what must not wait for the stalled process."""
        return self.pool.submit(function, *args).result(PATIENCE)

    def put(self, number):
        return self.queue.put(
            f'node-{number}', queue_request.CONTINUE, {'number': number}
        )

    def stall(self, function):
        """Have another process do something, and stop before it commits."""
        process = multiprocessing.get_context('fork').Process(
            target=self.do_and_stop, args=(function,)
        )
        process.start()
        self.addCleanup(process.join)
        self.addCleanup(process.kill)
        os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WNOWAIT)
        return process

    def do_and_stop(self, function):
        self.database.engine.dispose(close=False)

        def stop(connection):
            # Only what has written is committed with locks.
            os.kill(os.getpid(), signal.SIGSTOP)

        sa.event.listen(self.database.engine, 'commit', stop)
        function()

    def claim(self):
        self.queue.get('stalled')

    def drain(self):
        return [
            request.node_uuid
            for request in iter(lambda: self.queue.get('w1'), None)
        ]

    def test_all_other_requests_are_delivered(self):
        for number in range(1 + self.others):
            self.put(number)
        self.stall(self.claim)

        self.assertEqual(
            [f'node-{number}' for number in range(1, 1 + self.others)],
            self.promptly(self.drain),
        )

    def test_more_stalled_ones_than_one_look_covers(self):
        for number in range(12):
            self.put(number)
        for _process in range(2):
            self.stall(self.claim)
        # All that one look finds are locked.
        with transaction.reader() as session:
            query = sa.select(models.RequestRow.id)
            query = query.order_by(models.RequestRow.id).limit(9)
            ids = list(session.execute(query).scalars())
        self.stall(lambda: self.lock_rows(ids))

        self.assertEqual(
            ['node-9', 'node-10', 'node-11'], self.promptly(self.drain)
        )

    def lock_rows(self, ids):
        with transaction.writer() as session:
            for id_ in ids:
                session.execute(
                    sa.select(models.RequestRow.id)
                    .where(models.RequestRow.id == id_)
                    .with_for_update(skip_locked=True)
                )

    def test_another_node_is_accepted_beside_a_single_row(self):
        self.put(0)
        self.stall(self.claim)

        self.assertEqual('node-1', self.promptly(self.put, 1).node_uuid)

    def test_the_leader_and_heartbeats_go_on(self):
        for number in range(3):
            self.put(number)
        done = self.queue.begin(self.queue.get('w1'), state.PROCESSING)
        with transaction.writer() as session:
            self.queue.consume(done, transaction=session)
        lost = self.queue.begin(self.queue.get('w1'), state.PROCESSING)
        queue_base.pass_time(LEASE)
        self.stall(self.claim)
        held = self.promptly(self.queue.get, 'w1')

        self.assertEqual(set(), self.promptly(self.queue.heartbeat, [held]))
        self.assertNotIn(
            lost.uuid,
            [lease.uuid for lease in self.promptly(self.queue.expire)]
            if held.uuid == lost.uuid
            else [],
        )
        self.promptly(self.queue.claim_unsettled)
        self.assertEqual(1, self.promptly(self.queue.forget, -60))
        self.promptly(
            unprocessed.destroy_nodes, ['node-0', 'node-1', 'node-2']
        )

    def test_its_own_request_is_delivered_within_a_lease(self):
        put = self.put(0)
        transaction.limit_waits(self.database.engine, 1)
        self.stall(self.claim)

        self.assertEqual(put.uuid, self.promptly(self.wait_for_work).uuid)

    def wait_for_work(self):
        request = None
        while request is None:
            try:
                request = self.queue.get('w1')
            except db_exc.DBConnectionError:
                # On a busy machine, this process itself may pause for longer
                # than a transaction may be idle. A worker tries again, too.
                continue
        return request


class MySQLStalledProcessTestCase(
    StalledProcessMixin, test_servers.ServerTestCase
):
    kind = 'mysql'
    # The default is shorter than what a busy machine may need for what does
    # not wait at all.
    query = {'init_command': f'SET SESSION innodb_lock_wait_timeout = {WAIT}'}


class PostgreSQLStalledProcessTestCase(
    StalledProcessMixin, test_servers.ServerTestCase
):
    kind = 'postgresql'
