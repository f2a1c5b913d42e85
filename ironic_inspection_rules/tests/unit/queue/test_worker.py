# SPDX-License-Identifier: Apache-2.0

import collections
import dataclasses
import logging
import threading

import fixtures
from oslo_db import exception as db_exc
import sqlalchemy as sa

from ironic_inspection_rules.coordination import watchdog
from ironic_inspection_rules.queue import delivery
from ironic_inspection_rules.queue import request as queue_request
from ironic_inspection_rules.queue import state
from ironic_inspection_rules.queue import worker
from ironic_inspection_rules.tests.unit import clock
from ironic_inspection_rules.tests.unit.queue import base
from ironic_inspection_rules.tests.unit.queue import test_delivery

SETTINGS = worker.WorkerSettings(
    threads=2,
    get_timeout=0.05,
    lease=base.LEASE,
    max_attempts=3,
    connection_retries=2,
    retry_interval=0.01,
)

PATIENCE = 60


class WorkerTestCase(base.QueueTestCase):
    """The loop with its threads; nothing hangs before the clock says so."""

    def setUp(self):
        super().setUp()
        self.clock = self.useFixture(clock.Clock(watchdog, worker))
        self.hung = []
        self.addCleanup(self.join_hung)
        self.nodes = self.useFixture(test_delivery.FakeNodes(self.queue))
        self.seen = []
        self.done = threading.Semaphore(0)
        self.use_settings()

    def join_hung(self):
        """Wait for threads that were given up: the database goes next."""
        for thread in self.hung:
            thread.join(PATIENCE)

    def use_settings(self, **settings):
        self.worker = worker.Worker(
            'w1',
            self.queue,
            self.nodes.lock,
            dataclasses.replace(SETTINGS, **settings),
            self.observe,
        )
        self.thread = threading.Thread(target=self.worker.run)

    def observe(self, outcome):
        self.seen.append(outcome)
        self.done.release()

    def start(self):
        self.thread.start()
        self.addCleanup(self.thread.join)
        self.addCleanup(self.worker.stop)

    def test_all_that_is_put_gets_done(self):
        before = [
            self.queue.put(f'a{n}', queue_request.CONTINUE) for n in range(5)
        ]
        self.start()
        after = [
            self.queue.put(f'b{n}', queue_request.CONTINUE) for n in range(5)
        ]
        self.worker.wake()
        for _request in before + after:
            self.assertTrue(self.done.acquire(timeout=PATIENCE))
        self.assertEqual({delivery.Outcome.FINISHED}, set(self.seen))

    def test_it_ends_when_stopped(self):
        self.start()
        self.worker.stop()
        self.thread.join(PATIENCE)
        self.assertFalse(self.thread.is_alive())

    def test_it_finishes_what_it_has_and_takes_no_more(self):
        started, go_on = threading.Event(), threading.Event()

        def process(request):
            started.set()
            go_on.wait(PATIENCE)

        self.nodes.process = process
        # No free thread: it is not asking for a request when it is stopped.
        self.use_settings(threads=1)
        mine = self.queue.put('a', queue_request.CONTINUE)
        self.start()
        self.assertTrue(started.wait(PATIENCE))
        self.worker.stop()
        left = self.queue.put('b', queue_request.CONTINUE)
        go_on.set()
        self.thread.join(PATIENCE)
        self.assertEqual(state.FINISHED, self.queue.find(mine.uuid).state)
        self.assertEqual(state.WAITING, self.queue.find(left.uuid).state)

    def test_a_failing_delivery_does_not_stop_it(self):
        self.nodes.trouble['check'] = [ValueError('surprise')]
        self.queue.put('a', queue_request.CONTINUE)
        self.start()
        for _outcome in range(2):
            self.assertTrue(self.done.acquire(timeout=PATIENCE))
        self.assertEqual(
            [delivery.Outcome.RETRIED, delivery.Outcome.FINISHED], self.seen
        )

    def lose_queue(self, *troubles):
        """Have the queue fail before it gives anything."""
        troubles = list(troubles)
        get = self.queue.get

        def unreliable(name):
            if troubles:
                raise troubles.pop(0)
            return get(name)

        self.queue.get = unreliable

    def test_a_queue_out_of_reach_is_tried_for_ever(self):
        log = self.useFixture(fixtures.FakeLogger(level=logging.INFO))
        self.lose_queue(
            *[db_exc.DBConnectionError('away')] * 8,
            sa.exc.TimeoutError('the pool is empty'),
        )
        self.queue.put('a', queue_request.CONTINUE)
        self.start()
        self.assertTrue(self.done.acquire(timeout=PATIENCE))
        self.assertEqual(
            1, log.output.count('is tried again: away'), log.output
        )
        self.assertEqual(1, log.output.count('works again'), log.output)

    def test_a_queue_out_of_reach_does_not_keep_it_from_stopping(self):
        asked = threading.Event()

        def unreachable(name):
            asked.set()
            raise db_exc.DBConnectionError()

        self.queue.get = unreachable
        self.start()
        self.assertTrue(asked.wait(PATIENCE))
        self.worker.stop()
        self.thread.join(PATIENCE)
        self.assertFalse(self.thread.is_alive())

    def test_two_deliveries_of_a_request_may_meet_in_it(self):
        first, second = threading.Event(), threading.Event()
        runs = iter((first, second))
        ends = threading.Semaphore(0)

        def process(request):
            next(runs).set()
            ends.acquire(timeout=PATIENCE)

        self.nodes.process = process
        request = self.queue.put('a', queue_request.CONTINUE)
        self.start()
        self.assertTrue(first.wait(PATIENCE))
        base.pass_time(base.LEASE)
        self.worker.wake()
        self.assertTrue(second.wait(PATIENCE))
        ends.release()
        self.assertTrue(self.done.acquire(timeout=PATIENCE))
        held = {one.request.uuid for one in self.worker._in_progress.values()}
        self.assertEqual({request.uuid}, held)
        ends.release()
        self.assertTrue(self.done.acquire(timeout=PATIENCE))
        self.nodes.process = lambda *args: None
        for name in ('b', 'c', 'd'):
            self.queue.put(name, queue_request.CONTINUE)
        self.worker.wake()
        for _request in range(3):
            self.assertTrue(self.done.acquire(timeout=PATIENCE))
        self.assertEqual(
            {delivery.Outcome.FINISHED: 4, delivery.Outcome.LOST: 1},
            collections.Counter(self.seen),
        )

    def test_a_delivery_that_hangs_costs_others_nothing(self):
        log = self.useFixture(fixtures.FakeLogger(level=logging.ERROR))
        hangs, go_on = threading.Event(), threading.Event()
        self.addCleanup(go_on.set)

        def hang_in_a_hook(request):
            if request.node_uuid == 'hangs':
                self.hung.append(threading.current_thread())
                hangs.set()
                go_on.wait(PATIENCE)

        self.nodes.process = hang_in_a_hook
        self.use_settings(threads=1, time_limit=0.1)
        self.queue.put('hangs', queue_request.CONTINUE)
        self.queue.put('b', queue_request.CONTINUE)
        beats = []
        self.queue.heartbeat = lambda held: beats.append(held) or set()
        self.start()

        self.assertTrue(hangs.wait(PATIENCE))
        self.clock.advance(1)
        self.assertTrue(self.done.acquire(timeout=PATIENCE))
        self.worker.stop()
        self.thread.join(PATIENCE)

        self.assertEqual([delivery.Outcome.FINISHED], self.seen)
        self.assertIn('hang_in_a_hook', log.output)
        self.assertEqual(1, log.output.count('is given up'))
        self.assertEqual({}, self.worker._in_progress)

    def test_a_queue_that_hangs_is_asked_by_another_thread(self):
        log = self.useFixture(fixtures.FakeLogger(level=logging.ERROR))
        hangs, go_on = threading.Event(), threading.Event()
        calls, get = [], self.queue.get
        self.addCleanup(go_on.set)

        def swallow_the_answer(name):
            calls.append(name)
            if len(calls) > 1:
                return get(name)
            self.hung.append(threading.current_thread())
            hangs.set()
            go_on.wait(PATIENCE)
            return get(name)

        self.queue.get = swallow_the_answer
        self.use_settings(threads=1, time_limit=0.1, lease=0.1)
        self.queue.put('a', queue_request.CONTINUE)
        self.start()
        self.assertTrue(hangs.wait(PATIENCE))
        self.clock.advance(1)

        self.assertTrue(self.done.acquire(timeout=PATIENCE))

        self.assertEqual([delivery.Outcome.FINISHED], self.seen)
        self.assertIn('swallow_the_answer', log.output)
        self.nodes.process = lambda *args: None
        self.queue.put('b', queue_request.CONTINUE)
        go_on.set()
        self.assertTrue(self.done.acquire(timeout=PATIENCE))

    def test_a_long_wait_for_work_is_no_hang(self):
        log = self.useFixture(fixtures.FakeLogger(level=logging.ERROR))
        asked = threading.Event()

        def find_nothing(name):
            asked.set()

        self.queue.get = find_nothing
        self.use_settings(get_timeout=1000, time_limit=0.1)
        self.start()
        self.assertTrue(asked.wait(PATIENCE))

        # Both waits of a round may take this long.
        self.clock.advance(1500)
        self.worker._look_after_all()

        self.assertNotIn('dispatcher', log.output)

    def test_a_heartbeat_that_hangs_is_sent_by_another_thread(self):
        log = self.useFixture(fixtures.FakeLogger(level=logging.ERROR))
        hangs, go_on, beaten = (threading.Event() for _event in range(3))
        calls = []
        self.addCleanup(go_on.set)

        def swallow_the_answer(held):
            calls.append(held)
            if len(calls) == 1:
                self.hung.append(threading.current_thread())
                hangs.set()
                go_on.wait(PATIENCE)
            else:
                beaten.set()
            return set()

        self.queue.heartbeat = swallow_the_answer
        self.nodes.process = lambda *args: self.assertTrue(
            beaten.wait(PATIENCE)
        )
        self.use_settings(threads=1, time_limit=0.5, lease=0.1)
        # The first is given up at the same limit: the second is in hand.
        for number in range(2):
            self.queue.put(f'a{number}', queue_request.CONTINUE)
        self.start()
        self.assertTrue(hangs.wait(PATIENCE))
        self.clock.advance(1)

        self.assertTrue(beaten.wait(PATIENCE))
        go_on.set()
        self.assertIn('The heartbeat of this process hangs', log.output)
        self.assertIn('swallow_the_answer', log.output)

    def lose_the_lease(self, heartbeat):
        """Have another worker take over a request in the middle of its run.

        :returns: how many attempts are counted in the end.
        """
        beaten, beats = threading.Event(), []

        def beat(held):
            beats.append(held)
            if len(beats) > 1:
                # By now the worker knows what became of the first one.
                beaten.set()
            else:
                self.clock.advance(1)
            return heartbeat()

        def process(request):
            self.assertTrue(beaten.wait(PATIENCE))
            base.pass_time(base.LEASE)
            self.assertEqual(request.uuid, get('w2').uuid)

        get, self.queue.heartbeat, self.nodes.process = (
            self.queue.get,
            beat,
            process,
        )
        self.use_settings(threads=1, lease=0.03)
        put = self.queue.put('a', queue_request.CONTINUE)
        self.start()
        self.assertTrue(self.done.acquire(timeout=PATIENCE))
        self.worker.stop()
        self.thread.join(PATIENCE)
        self.assertEqual([delivery.Outcome.LOST], self.seen)
        return self.queue.find(put.uuid).attempts

    def test_an_attempt_that_an_outage_cut_off_does_not_count(self):
        def fail():
            raise db_exc.DBConnectionError('away')

        self.assertEqual(0, self.lose_the_lease(fail))

    def test_an_attempt_that_was_taken_over_counts(self):
        self.assertEqual(1, self.lose_the_lease(set))

    def put_last_attempt(self):
        """Put 'b', whose workers died twice, after 'a'; wait in 'a'.

        The worker has claimed both then.

        :returns: what is set when a node is begun, what ends its run, and
            the request for 'b'.
        """
        begun = {node: threading.Event() for node in 'abc'}
        ends = {node: threading.Event() for node in 'abc'}

        def process(request):
            begun[request.node_uuid].set()
            self.assertTrue(ends[request.node_uuid].wait(PATIENCE))

        self.nodes.process = process
        claimed = threading.Event()
        get = self.queue.get

        def get_and_tell(name):
            request = get(name)
            if name == 'w1' and request and request.node_uuid == 'b':
                claimed.set()
            return request

        self.queue.get = get_and_tell
        put = self.queue.put('b', queue_request.CONTINUE)
        for _death in range(2):
            self.queue.begin(self.queue.get('dead'), state.PROCESSING)
            base.pass_time(base.LEASE)
        self.queue.put('a', queue_request.CONTINUE)
        self.queue.retry(self.queue.get('dead'), 0.05)
        self.start()
        self.assertTrue(begun['a'].wait(PATIENCE))
        self.assertTrue(claimed.wait(PATIENCE))
        return begun, ends, put

    def test_the_last_attempt_is_made_alone(self):
        begun, ends, _put = self.put_last_attempt()
        self.assertFalse(begun['b'].wait(0.3))

        ends['a'].set()
        self.assertTrue(begun['b'].wait(PATIENCE))
        self.queue.put('c', queue_request.CONTINUE)
        self.worker.wake()
        self.assertFalse(begun['c'].wait(0.3))
        ends['b'].set()
        self.assertTrue(begun['c'].wait(PATIENCE))
        ends['c'].set()

        for _request in 'abc':
            self.assertTrue(self.done.acquire(timeout=PATIENCE))
        self.assertEqual({delivery.Outcome.FINISHED}, set(self.seen))

    def test_a_last_attempt_that_hangs_holds_up_nobody_for_long(self):
        self.use_settings(threads=3, lease=2.0, time_limit=10**6)
        begun, ends, _put = self.put_last_attempt()
        self.queue.put('c', queue_request.CONTINUE)

        for _turn in range(20 * PATIENCE):
            if begun['c'].wait(0.05):
                break
            self.clock.advance(0.1)
        for node in 'abc':
            self.assertTrue(begun[node].is_set())

        for node in 'abc':
            ends[node].set()
            self.assertTrue(self.done.acquire(timeout=PATIENCE))

    def test_a_stop_ends_the_wait_to_be_alone(self):
        retry = self.queue.retry
        alive = []

        def retry_late(*args):
            self.thread.join(0.3)
            alive.append(self.thread.is_alive())
            retry(*args)

        begun, ends, put = self.put_last_attempt()
        self.assertFalse(begun['b'].wait(0.3))
        # The worker must not end before the request is back in the queue.
        self.useFixture(
            fixtures.MockPatchObject(self.queue, 'retry', retry_late)
        )

        self.worker.stop()
        ends['a'].set()
        self.thread.join(PATIENCE)

        self.assertFalse(self.thread.is_alive())
        self.assertEqual([True], alive)
        self.assertFalse(begun['b'].is_set())
        left = self.queue.find(put.uuid)
        self.assertEqual((2, None), (left.attempts, left.worker))

    def start_later(self, name, times):
        """Have a thread of a name not start for so many times.

        :returns: as many items as are left of them.
        """
        start, failures = threading.Thread.start, [name] * times

        def start_unless_it_fails(thread):
            if thread.name == name and failures:
                failures.pop()
                raise RuntimeError("can't start new thread")
            start(thread)

        self.useFixture(
            fixtures.MonkeyPatch(
                'threading.Thread.start', start_unless_it_fails
            )
        )
        return failures

    def test_a_thread_that_cannot_start_leaves_no_request_behind(self):
        self.use_settings(threads=1)
        failures = self.start_later('delivery', times=2)
        put = self.queue.put('a', queue_request.CONTINUE)
        self.start()

        self.assertTrue(self.done.acquire(timeout=PATIENCE))

        self.assertEqual([], failures)
        self.assertEqual(
            (state.FINISHED, 1),
            (
                self.queue.find(put.uuid).state,
                self.queue.find(put.uuid).attempts,
            ),
        )

    def work_for_three_heartbeats(self, beats):
        """Process a request until three more heartbeats are counted.

        :param beats: the semaphore that counts them.
        """
        self.nodes.process = lambda *args: self.assertTrue(
            all(beats.acquire(timeout=PATIENCE) for _turn in range(3))
        )
        self.use_settings(lease=0.03)
        self.queue.put('a', queue_request.CONTINUE)
        self.start()
        self.assertTrue(self.done.acquire(timeout=PATIENCE))
        self.assertEqual([delivery.Outcome.FINISHED], self.seen)

    def test_a_long_run_keeps_its_lease(self):
        beats = threading.Semaphore(0)
        heartbeat = self.queue.heartbeat

        def listen(requests):
            try:
                return heartbeat(requests)
            finally:
                beats.release()

        self.queue.heartbeat = listen
        self.work_for_three_heartbeats(beats)

    def test_a_worker_that_runs_again_keeps_its_leases(self):
        start = self.start
        self.start_later('dispatcher', times=1)

        def start_again():
            self.assertRaises(RuntimeError, self.worker.run)
            start()

        self.start = start_again
        self.test_a_long_run_keeps_its_lease()

    def test_a_worker_without_a_heartbeat_ends_its_watchdog(self):
        self.start_later('heartbeat', times=1)
        self.assertRaises(RuntimeError, self.worker.run)
        self.assertTrue(self.worker._drained.is_set())

    def test_a_heartbeat_that_fails_is_not_the_last_one(self):
        beats = threading.Semaphore(0)

        def fail(requests):
            beats.release()
            raise sa.exc.TimeoutError('the pool is empty')

        self.queue.heartbeat = fail
        self.work_for_three_heartbeats(beats)
