# SPDX-License-Identifier: Apache-2.0

"""Locking the nodes of requests, in a real database."""

from concurrent import futures
import contextlib
import functools

import fixtures
from ironic import objects
from ironic.common import exception as ironic_exception
from oslo_db.sqlalchemy import enginefacade
import sqlalchemy as sa

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.db import fence
from ironic_inspection_rules.db import models
from ironic_inspection_rules.queue import attempt
from ironic_inspection_rules.queue import database_queue
from ironic_inspection_rules.queue import node as queue_node
from ironic_inspection_rules.queue import request as queue_request
from ironic_inspection_rules.queue import state
from ironic_inspection_rules.queue import worker
from ironic_inspection_rules.tests.unit.inspection import base
from ironic_inspection_rules.tests.unit.queue import base as queue_base

LEASE = 60
NAME = worker.make_name('here')
OTHER = worker.make_name('there')


class NodeLockTestCase(base.GlueTestCase):
    def setUp(self):
        super().setUp()
        self.node = self.task.node
        self.queue = database_queue.DatabaseQueue(LEASE)
        self.request = self.get(NAME)

    def get(self, worker_name):
        self.queue.put(self.node.uuid, queue_request.CONTINUE, {'cpu': 1})
        return self.queue.get(worker_name)

    @contextlib.contextmanager
    def lock(self, request=None):
        with attempt.locked(
            self.queue, 900, request or self.request
        ) as current:
            yield current.task

    def reserve(self, holder):
        objects.Node.reserve(self.context, holder, self.node.uuid)

    def reservation(self):
        return self.stored_node().reservation

    def lock_and_unlock(self):
        with self.lock(self.queue.get(OTHER)):
            pass

    def in_another_thread(self, function):
        with futures.ThreadPoolExecutor(1) as pool:
            pool.submit(function).result()

    def pass_lease(self):
        with enginefacade.writer.get_engine().begin() as connection:
            connection.execute(
                sa.update(models.RequestRow).values(
                    due_at=models.RequestRow.due_at - LEASE
                )
            )

    def test_the_node_is_locked_by_the_delivery(self):
        with self.lock() as task:
            self.assertEqual(self.node.uuid, task.node.uuid)
            self.assertFalse(task.shared)
            self.assertEqual(self.request.delivery, self.reservation())
        self.assertIsNone(self.reservation())

    def test_who_proves_the_token_is_not_asked_for_the_lock(self):
        with self.lock(), queue_base.statements() as asked:
            self.queue.consume(
                self.queue.begin(self.request, state.PROCESSING)
            )
        self.assertEqual(
            ['UPDATE', 'COMMIT'] * 2,
            [statement.split()[0] for statement in asked][:4],
        )

    def test_the_end_is_one_transaction(self):
        with self.lock() as task, queue_base.statements() as asked:
            ended = task.end(
                functools.partial(self.queue.consume, self.request, None)
            )
            self.assertEqual(state.FINISHED, ended.state)
            self.assertIsNone(self.reservation())
        self.assertEqual(
            ['UPDATE', 'COMMIT'], [statement.split()[0] for statement in asked]
        )
        self.assertFalse(
            self.queue.is_held(self.node.uuid, self.request.delivery)
        )

    def test_who_is_followed_ends_nothing(self):
        def end():
            with self.lock() as task:
                self.pass_lease()
                self.in_another_thread(lambda: self.queue.get(NAME))
                try:
                    task.end(
                        functools.partial(
                            self.queue.consume, self.request, None
                        )
                    )
                finally:
                    self.assertEqual(self.request.delivery, self.reservation())

        self.assertRaises(exceptions.LeaseLost, end)
        self.assertIsNone(self.reservation())
        self.assertIsNotNone(self.queue.find_open(self.node.uuid))

    def test_who_lost_the_lock_ends_the_request_all_the_same(self):
        def lock_as_conductor():
            objects.Node.release(
                self.context, self.request.delivery, self.node.uuid
            )
            self.reserve('conductor')

        with self.lock() as task:
            self.in_another_thread(lock_as_conductor)
            task.end(functools.partial(self.queue.consume, self.request, None))
        self.assertEqual('conductor', self.reservation())
        self.assertIsNone(self.queue.find_open(self.node.uuid))

    def test_the_node_is_unlocked_whatever_happens(self):
        with contextlib.suppress(ValueError), self.lock():
            raise ValueError()
        self.assertIsNone(self.reservation())

    def test_a_deleted_node_is_gone(self):
        self.node.destroy()
        self.assertRaises(exceptions.NodeGone, self.lock().__enter__)

    def test_a_node_that_is_deleted_after_the_first_try_is_gone(self):
        node = self.node

        class DeletedWhenLocked(queue_node.DeliveryTask):
            def __init__(self, context, request):
                try:
                    super().__init__(context, request)
                except ironic_exception.NodeLocked:
                    node.destroy()
                    raise

        self.reserve('conductor')
        self.useFixture(
            fixtures.MonkeyPatch(
                'ironic_inspection_rules.queue.node.DeliveryTask',
                DeletedWhenLocked,
            )
        )
        self.assertRaises(exceptions.NodeGone, self.lock().__enter__)

    def test_a_node_may_be_deleted_while_it_is_locked(self):
        with self.lock():
            fence._FENCE.set(None)
            self.node.destroy()

    def test_a_node_that_a_conductor_locks_is_busy(self):
        self.reserve('conductor')
        self.assertRaises(exceptions.NodeBusy, self.lock().__enter__)

    def test_the_lock_of_a_delivery_that_goes_on_is_kept(self):
        first = self.request
        with self.lock(first):
            self.queue.consume(first)
            self.assertRaises(
                exceptions.NodeBusy, self.lock(self.get(NAME)).__enter__
            )
            self.assertEqual(first.delivery, self.reservation())

    def test_the_lock_of_a_dead_worker_is_broken(self):
        self.reserve(self.request.delivery)
        self.pass_lease()
        again = self.queue.get(OTHER)
        with self.lock(again):
            self.assertEqual(again.delivery, self.reservation())

    def test_a_worker_does_not_take_its_own_lock_for_another_delivery(self):
        def end_both():
            second = self.queue.get(NAME)
            with self.lock(second):
                self.assertRaises(
                    ironic_exception.NodeLocked, task.release_resources
                )
                self.assertEqual(second.delivery, self.reservation())

        with self.lock() as task:
            self.pass_lease()
            self.in_another_thread(end_both)
        self.assertIsNone(self.reservation())

    def test_who_lost_the_lock_changes_nothing(self):
        def go_on():
            with self.lock() as task:
                self.pass_lease()
                self.in_another_thread(self.lock_and_unlock)
                task.node.extra = {'late': True}
                try:
                    task.node.save()
                except Exception:
                    self.fail('Ironic may think that inspection failed')

        self.assertRaises(exceptions.LeaseLost, go_on)
        self.assertEqual({}, self.stored_node().extra)

    def test_who_is_followed_changes_nothing_before_the_next_has_locked(self):
        def go_on():
            with self.lock() as task:
                self.pass_lease()
                self.in_another_thread(lambda: self.queue.get(NAME))
                task.node.extra = {'late': True}
                task.node.save()

        self.assertRaises(exceptions.LeaseLost, go_on)
        self.assertEqual({}, self.stored_node().extra)

    def test_who_gives_a_request_back_does_so_while_it_has_the_lock(self):
        with self.lock():
            self.queue.retry(self.request, 0)
        self.assertIsNone(self.reservation())
        self.assertIsNone(self.queue.find(self.request.uuid).worker)

    def test_who_has_the_lock_changes_what_it_wants(self):
        with self.lock() as task:
            self.request = self.queue.begin(self.request, state.PROCESSING)
            task.node.extra = {'in time': True}
            task.node.save()
            self.queue.consume(self.request)
        self.assertEqual({'in time': True}, self.stored_node().extra)
