# SPDX-License-Identifier: Apache-2.0

import logging
import queue
import threading

import fixtures
from ironic.common import rpc
from oslo_messaging import conffixture

from ironic_inspection_rules.queue import wakeup
from ironic_inspection_rules.tests.unit import base

PATIENCE = 60


class WakeupTestCase(base.IronicTestCase):
    """Over the messaging of oslo.messaging that stays in the process."""

    def setUp(self):
        super().setUp()
        messaging = self.useFixture(conffixture.ConfFixture(self.cfg.conf))
        messaging.transport_url = 'fake:/'
        rpc.init(self.cfg.conf)
        self.addCleanup(rpc.cleanup)

    def listen(self, name):
        heard = threading.Semaphore(0)
        listener = wakeup.Listener(name, heard.release)
        listener.start()
        self.addCleanup(listener._server.stop)
        return heard

    def assert_hears(self, heard, sender):
        for _turn in range(PATIENCE * 5):
            if heard.acquire(timeout=0.2):
                return
            # It was not listening yet.
            sender.wake()
        self.fail('no wake-up was heard')

    def test_all_workers_hear_a_wake_up(self):
        heard = [self.listen(name) for name in ('w1', 'w2')]
        sender = wakeup.WakeupSender()
        sender.wake()
        for one in heard:
            self.assert_hears(one, sender)

    def test_a_wake_up_is_addressed_to_all_workers(self):
        targets = queue.SimpleQueue()
        self.useFixture(
            fixtures.MonkeyPatch('ironic.common.rpc.get_client', targets.put)
        )

        wakeup.WakeupSender().wake()

        self.assertTrue(targets.get(timeout=PATIENCE).fanout)

    def test_one_thread_sends_all_wake_ups(self):
        sender = wakeup.WakeupSender()
        sender.wake()
        first = sender._thread

        sender.wake()

        self.assertIs(first, sender._thread)

    def test_a_broken_transport_delays_and_stops_nobody(self):
        sent = threading.Semaphore(0)
        failures = [ValueError('no broker')] * 3

        class Client:
            def prepare(self, **kwargs):
                return self

            def cast(self, *args):
                sent.release()
                if failures:
                    raise failures.pop()

        self.useFixture(
            fixtures.MonkeyPatch(
                'ironic.common.rpc.get_client', lambda target: Client()
            )
        )
        log = self.useFixture(fixtures.FakeLogger(level=logging.INFO))
        sender = wakeup.WakeupSender()
        for _time in range(5):
            sender.wake()
            self.assertTrue(sent.acquire(timeout=PATIENCE))
        self.assertEqual(
            [
                'Waking up inspection workers failed and is tried again: '
                'no broker',
                'Waking up inspection workers works again',
            ],
            log.output.splitlines(),
        )

    def test_a_thread_that_cannot_start_fails_no_request(self):
        heard = self.listen('w1')
        sender = wakeup.WakeupSender()

        def fail(_thread):
            raise RuntimeError("can't start new thread")

        with fixtures.MonkeyPatch('threading.Thread.start', fail):
            sender.wake()

        sender.wake()
        self.assert_hears(heard, sender)

    def test_wake_ups_need_oslo_messaging_between_the_services(self):
        for transport, expected in (
            ('oslo', True),
            ('json-rpc', False),
            ('none', False),
        ):
            self.config(rpc_transport=transport)
            self.assertEqual(expected, wakeup.is_available())
