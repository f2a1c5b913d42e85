# SPDX-License-Identifier: Apache-2.0

from ironic_inspection_rules.db import backlog
from ironic_inspection_rules.queue import database_queue
from ironic_inspection_rules.queue import delivery
from ironic_inspection_rules.queue import request
from ironic_inspection_rules.queue import service
from ironic_inspection_rules.tests import database
from ironic_inspection_rules.tests.unit import base
from ironic_inspection_rules.tests.unit.queue import base as queue_base

LEASE = 60


class BacklogMixin:
    """What is read of the queue, on any database."""

    def setUp(self):
        super().setUp()
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


class BacklogTestCase(BacklogMixin, base.TestCase):

    def setUp(self):
        self.useFixture(database.Database())
        super().setUp()


class MetricsTestCase(base.StatsdTestCase):

    def setUp(self):
        super().setUp()
        self.useFixture(database.Database())

    def test_statsd_gets_outcomes_by_the_documented_names(self):
        for outcome, name in ((delivery.Outcome.FINISHED, b'finished'),
                              (delivery.Outcome.FAILED, b'failed'),
                              (delivery.Outcome.RETRIED, b'retried'),
                              (delivery.Outcome.LOST, b'lost')):
            service.count_delivery(outcome)
            self.assertEqual(b'ironic.InspectionWorker.%b:1|c' % name,
                             self.listener.recv(1000))

    def test_statsd_gets_the_backlog(self):
        database_queue.DatabaseQueue(LEASE).put('a', request.CONTINUE)
        service.report_backlog()
        received = [self.listener.recv(1000) for _gauge in range(3)]
        self.assertEqual([b'ironic.InspectionQueue.waiting:1|g',
                          b'ironic.InspectionQueue.processing:0|g'],
                         received[:2])
        self.assertRegex(received[2].decode(),
                         r'^ironic\.InspectionQueue\.delay:[0-9.e-]+\|g$')
