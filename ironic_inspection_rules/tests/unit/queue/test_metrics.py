# SPDX-License-Identifier: Apache-2.0

from ironic_inspection_rules.db import backlog
from ironic_inspection_rules.queue import database_queue
from ironic_inspection_rules.queue import delivery
from ironic_inspection_rules.queue import request
from ironic_inspection_rules.queue import service
from ironic_inspection_rules.queue import state
from ironic_inspection_rules.tests import database
from ironic_inspection_rules.tests.unit import base
from ironic_inspection_rules.tests.unit.queue import base as queue_base

LEASE = 60


class BacklogMixin:
    """What is read of the queue, on any database."""

    def setUp(self):
        super().setUp()
        self.useFixture(queue_base.StoppedClock())
        self.queue = database_queue.DatabaseQueue(LEASE)

    def put(self, *nodes):
        for node in nodes:
            self.queue.put(node, request.CONTINUE)

    def test_an_empty_queue_holds_nothing_up(self):
        self.assertEqual((0, 0, 0.0), backlog.read())

    def test_requests_wait_until_a_worker_has_them(self):
        self.put('a', 'b', 'c')
        self.queue.get('worker')
        self.assertEqual((2, 1), backlog.read()[:2])

    def test_the_delay_is_that_of_the_first_that_waits(self):
        self.put('a')
        queue_base.pass_time(20)
        self.put('b')
        queue_base.pass_time(10)
        self.assertAlmostEqual(30, backlog.read().delay, delta=5)
        self.queue.get('worker')
        self.assertAlmostEqual(10, backlog.read().delay, delta=5)

    def test_what_is_done_is_not_counted(self):
        self.put('a')
        self.queue.consume(self.queue.get('worker'), None)
        self.assertEqual((0, 0, 0.0), backlog.read())

    def test_what_a_dead_worker_had_waits(self):
        self.put('a', 'b')
        self.queue.begin(self.queue.get('worker'), state.PROCESSING)
        queue_base.pass_time(LEASE + 10)
        found = backlog.read()
        self.assertEqual((2, 0), found[:2])
        self.assertAlmostEqual(LEASE + 10, found.delay, delta=5)

    def test_what_was_put_off_waits_without_delay(self):
        self.put('a')
        self.queue.retry(self.queue.get('worker'), 20.0)
        self.assertEqual((1, 0, 0.0), backlog.read())

    def test_what_waits_for_long_is_neglected(self):
        self.put('a')
        self.assertIsNone(backlog.read_neglected(30))
        queue_base.pass_time(31)
        self.assertEqual((1, 0), backlog.read_neglected(30)[:2])

    def test_nothing_is_neglected_while_a_worker_is_busy(self):
        self.put('a', 'b')
        queue_base.pass_time(31)
        self.queue.get('worker')
        self.assertIsNone(backlog.read_neglected(30))
        queue_base.pass_time(LEASE)
        self.assertEqual((2, 0), backlog.read_neglected(30)[:2])


class BacklogTestCase(BacklogMixin, base.TestCase):
    def setUp(self):
        self.useFixture(database.Database())
        super().setUp()


class MetricsTestCase(base.StatsdTestCase):
    def setUp(self):
        super().setUp()
        self.useFixture(database.Database())

    def test_statsd_gets_outcomes_by_the_documented_names(self):
        for outcome, name in (
            (delivery.Outcome.FINISHED, b'finished'),
            (delivery.Outcome.FAILED, b'failed'),
            (delivery.Outcome.RETRIED, b'retried'),
            (delivery.Outcome.LOST, b'lost'),
        ):
            service.count_delivery(outcome)
            self.assertEqual(
                b'ironic.InspectionWorker.%b:1|c' % name,
                self.listener.recv(1000),
            )

    def test_statsd_gets_the_backlog(self):
        database_queue.DatabaseQueue(LEASE).put('a', request.CONTINUE)
        service.report_backlog()
        received = [self.listener.recv(1000) for _gauge in range(3)]
        self.assertEqual(
            [
                b'ironic.InspectionQueue.waiting:1|g',
                b'ironic.InspectionQueue.processing:0|g',
            ],
            received[:2],
        )
        self.assertRegex(
            received[2].decode(),
            r'^ironic\.InspectionQueue\.delay:[0-9.e-]+\|g$',
        )
