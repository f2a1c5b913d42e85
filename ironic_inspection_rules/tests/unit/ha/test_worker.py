# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

import contextlib
import threading

from oslo_db import exception as db_exc

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.ha import memory_queue
from ironic_inspection_rules.ha import queue
from ironic_inspection_rules.ha import state
from ironic_inspection_rules.ha import worker
from ironic_inspection_rules.tests.unit import base

LEASE = 60.0
SETTINGS = worker.Settings(threads=2, get_timeout=0.05, lease=LEASE,
                           max_attempts=3, connection_retries=2,
                           retry_interval=0.01)


class Killed(BaseException):
    """The process ends here: nothing after this line of it happens."""


class FakeProcessor:
    """Nodes as a dictionary of marks; dies or fails where it is told to."""

    def __init__(self):
        self.calls = []
        self.locked = set()
        self.failed = {}
        self.finding = worker.Finding()
        self.trouble = {}

    def _reach(self, step):
        self.calls.append(step)
        if self.trouble.get(step):
            raise self.trouble[step].pop(0)

    @contextlib.contextmanager
    def lock(self, request):
        self._reach('lock')
        self.locked.add(request.node_uuid)
        yield request.node_uuid
        self._reach('unlock')
        self.locked.discard(request.node_uuid)

    def check(self, node, request):
        self._reach('check')
        return self.finding

    def run(self, node, request, notes):
        self._reach('run')
        return self.failed.get(node)

    def fail(self, node, request, reason):
        self._reach('fail')
        self.failed[node] = reason


class DeliverTestCase(base.TestCase):

    def setUp(self):
        super().setUp()
        self.now = 0.0
        self.queue = memory_queue.MemoryQueue(LEASE, clock=lambda: self.now)
        self.processor = FakeProcessor()
        self.request = self.queue.put('node', queue.CONTINUE)

    def deliver(self, name='w1'):
        it = worker.Worker(name, self.queue, self.processor, SETTINGS)
        return it.deliver(self.queue.get(name))

    def outcome(self):
        request = self.queue.find(self.request.uuid)
        return request.state, request.attempts, request.last_error

    def test_the_steps_come_in_order(self):
        self.assertIs(worker.Outcome.FINISHED, self.deliver())
        self.assertEqual(['lock', 'check', 'run', 'unlock'],
                         self.processor.calls)
        self.assertEqual((state.FINISHED, 1, None), self.outcome())

    def test_the_node_is_locked_until_the_request_is_consumed(self):
        consume = self.queue.consume
        locked = []

        def consume_and_look(request, error=None):
            locked.extend(self.processor.locked)
            return consume(request, error)
        self.queue.consume = consume_and_look
        self.deliver()
        self.assertEqual(['node'], locked)

    def test_a_failed_request_is_not_tried_again(self):
        self.processor.failed['node'] = 'no disk'
        self.assertIs(worker.Outcome.FAILED, self.deliver())
        self.assertEqual((state.ERROR, 1, 'no disk'), self.outcome())

    def test_a_locked_node_costs_no_attempt(self):
        self.processor.trouble['lock'] = [exceptions.NodeBusy('busy')] * 5
        for _turn in range(5):
            self.assertIs(worker.Outcome.RETRIED, self.deliver())
            self.now += SETTINGS.retry_interval
        self.assertIs(worker.Outcome.FINISHED, self.deliver())
        self.assertEqual((state.FINISHED, 1, None), self.outcome())

    def test_the_request_of_a_deleted_node_is_consumed(self):
        self.processor.trouble['lock'] = [exceptions.NodeGone('gone')]
        self.assertIs(worker.Outcome.FAILED, self.deliver())
        self.assertEqual((state.ERROR, 0, 'gone'), self.outcome())

    def test_a_wrong_state_of_the_node_fails_the_request(self):
        self.processor.finding = worker.Finding(obstacle='it is active')
        self.assertIs(worker.Outcome.FAILED, self.deliver())
        self.assertEqual((state.ERROR, 0, 'it is active'), self.outcome())
        self.assertEqual({'node': 'it is active'}, self.processor.failed)
        self.assertNotIn('run', self.processor.calls)

    def test_what_was_finished_before_is_only_consumed(self):
        self.processor.finding = worker.Finding(done=True)
        self.assertIs(worker.Outcome.FINISHED, self.deliver())
        self.assertNotIn('run', self.processor.calls)
        self.assertEqual((state.FINISHED, 0, None), self.outcome())

    def test_what_failed_for_a_while_is_tried_again(self):
        self.processor.trouble['run'] = [
            exceptions.TemporaryFailure('database away')]
        self.assertIs(worker.Outcome.RETRIED, self.deliver())
        self.assertEqual((state.PROCESSING, 1, 'database away'),
                         self.outcome())
        self.now += SETTINGS.retry_interval
        self.assertIs(worker.Outcome.FINISHED, self.deliver())
        self.assertEqual((state.FINISHED, 2, None), self.outcome())

    def test_what_broke_off_is_tried_again(self):
        self.processor.trouble['unlock'] = [ValueError('surprise')]
        self.processor.trouble['run'] = [ValueError('surprise')]
        self.assertIs(worker.Outcome.RETRIED, self.deliver())
        self.assertEqual((state.PROCESSING, 1, 'surprise'), self.outcome())

    def test_a_queue_that_went_away_gets_its_request_back_by_the_lease(self):
        self.processor.trouble['run'] = [db_exc.DBConnectionError('away')]
        self.assertIs(worker.Outcome.LOST, self.deliver())
        self.assertIsNone(self.queue.get('w2'))
        self.now += LEASE
        self.assertIs(worker.Outcome.FINISHED, self.deliver('w2'))

    def test_attempts_are_bounded(self):
        self.processor.trouble['run'] = [
            exceptions.TemporaryFailure(f'trouble {number}')
            for number in range(10)]
        for _turn in range(SETTINGS.max_attempts):
            self.assertIs(worker.Outcome.RETRIED, self.deliver())
            self.now += SETTINGS.retry_interval
        self.assertIs(worker.Outcome.FAILED, self.deliver())
        reason = ('given up after 3 attempts; the last one failed: '
                  'trouble 2')
        self.assertEqual((state.ERROR, 3, reason), self.outcome())
        self.assertEqual({'node': reason}, self.processor.failed)

    def test_another_worker_goes_on_wherever_one_dies(self):
        for step in ('lock', 'check', 'run'):
            with self.subTest(step=step):
                self.processor.trouble[step] = [Killed()]
                self.request = self.queue.put('node', queue.CONTINUE)
                self.assertRaises(Killed, self.deliver, 'w1')
                self.assertIsNone(self.queue.get('w2'))
                self.now += LEASE
                self.assertIs(worker.Outcome.FINISHED, self.deliver('w2'))

    def test_a_request_that_kills_its_workers_is_given_up(self):
        self.processor.trouble['run'] = [Killed(), Killed(), Killed()]
        for number in range(3):
            self.assertRaises(Killed, self.deliver, f'w{number}')
            self.now += LEASE
        self.assertIs(worker.Outcome.FAILED, self.deliver('w9'))
        self.assertIn('none of the workers lived', self.outcome()[2])

    def test_who_wakes_up_too_late_does_not_begin(self):
        late = self.queue.get('w1')
        self.now += LEASE
        self.deliver('w2')
        it = worker.Worker('w1', self.queue, self.processor, SETTINGS)
        self.assertIs(worker.Outcome.LOST, it.deliver(late))
        self.assertEqual(1, self.processor.calls.count('run'))

    def test_a_timeout_ends_in_error(self):
        request = self.queue.put('late', queue.TIMEOUT)
        self.queue.abort(self.request.uuid, 'out of the way')
        self.processor.failed['late'] = 'timed out'
        self.assertIs(worker.Outcome.FAILED, self.deliver())
        done = self.queue.find(request.uuid)
        self.assertEqual((state.ERROR, 'timed out'),
                         (done.state, done.last_error))


class DecideTestCase(base.TestCase):

    def decide(self, **values):
        request = queue.Request('uuid', 'node', **{
            'event': queue.CONTINUE, **values})
        return worker.decide(request, max_attempts=3)

    def test_a_waiting_request_is_processed(self):
        self.assertEqual((state.PROCESSING, None), self.decide())

    def test_a_repetition_is_forgiven(self):
        self.assertEqual((state.PROCESSING, None),
                         self.decide(state=state.PROCESSING, attempts=2))

    def test_a_repetition_too_many_is_not(self):
        decision = self.decide(state=state.PROCESSING, attempts=3)
        self.assertEqual(state.ERROR, decision.state)
        self.assertIn('given up after 3 attempts', decision.refusal)

    def test_an_illegal_transition_is_refused(self):
        decision = self.decide(state=state.STARTING)
        self.assertEqual('the event continue is not allowed in the state '
                         'starting', decision.refusal)

    def test_a_timeout_waits_until_it_has_run(self):
        self.assertEqual((state.WAITING, None),
                         self.decide(event=queue.TIMEOUT))


class RunTestCase(base.TestCase):
    """The loop with its threads."""

    def setUp(self):
        super().setUp()
        self.queue = memory_queue.MemoryQueue(LEASE)
        self.processor = FakeProcessor()
        self.seen = []
        self.done = threading.Semaphore(0)
        self.worker = worker.Worker('w1', self.queue, self.processor,
                                    SETTINGS, self.observe)
        self.thread = threading.Thread(target=self.worker.run)

    def observe(self, outcome):
        self.seen.append(outcome)
        self.done.release()

    def start(self):
        self.thread.start()
        self.addCleanup(self.thread.join)
        self.addCleanup(self.worker.stop)

    def test_all_that_is_put_gets_done(self):
        before = [self.queue.put(f'a{n}', queue.CONTINUE) for n in range(5)]
        self.start()
        after = [self.queue.put(f'b{n}', queue.CONTINUE) for n in range(5)]
        self.worker.wake()
        for _request in before + after:
            self.assertTrue(self.done.acquire(timeout=10))
        self.assertEqual({worker.Outcome.FINISHED}, set(self.seen))

    def test_it_ends_when_stopped(self):
        self.start()
        self.worker.stop()
        self.thread.join(10)
        self.assertFalse(self.thread.is_alive())

    def test_it_finishes_what_it_has_and_takes_no_more(self):
        started, go_on = threading.Event(), threading.Event()

        def run(node, request, notes):
            started.set()
            go_on.wait(10)
        self.processor.run = run
        mine = self.queue.put('a', queue.CONTINUE)
        self.start()
        self.assertTrue(started.wait(10))
        self.worker.stop()
        left = self.queue.put('b', queue.CONTINUE)
        go_on.set()
        self.thread.join(10)
        self.assertEqual(state.FINISHED, self.queue.find(mine.uuid).state)
        self.assertEqual(state.WAITING, self.queue.find(left.uuid).state)

    def test_a_failing_delivery_does_not_stop_it(self):
        self.processor.trouble['check'] = [ValueError('surprise')]
        self.queue.put('a', queue.CONTINUE)
        self.start()
        for _outcome in range(2):
            self.assertTrue(self.done.acquire(timeout=10))
        self.assertEqual([worker.Outcome.RETRIED, worker.Outcome.FINISHED],
                         self.seen)

    def test_a_queue_out_of_reach_for_a_while_is_survived(self):
        trouble = [db_exc.DBConnectionError(), db_exc.DBConnectionError()]
        get = self.queue.get

        def unreliable(name):
            if trouble:
                raise trouble.pop()
            return get(name)
        self.queue.get = unreliable
        self.queue.put('a', queue.CONTINUE)
        self.start()
        self.assertTrue(self.done.acquire(timeout=10))

    def test_a_queue_out_of_reach_for_long_ends_it(self):
        def unreachable(name):
            raise db_exc.DBConnectionError()
        self.queue.get = unreachable
        self.assertRaises(db_exc.DBConnectionError, self.worker.run)

    def test_a_long_run_keeps_its_lease(self):
        beats = threading.Semaphore(0)
        heartbeat = self.queue.heartbeat

        def listen(requests):
            try:
                return heartbeat(requests)
            finally:
                beats.release()
        self.queue.heartbeat = listen
        self.processor.run = lambda *args: self.assertTrue(
            all(beats.acquire(timeout=10) for _turn in range(3)))
        self.worker = worker.Worker(
            'w1', self.queue, self.processor,
            worker.dataclasses.replace(SETTINGS, lease=0.03), self.observe)
        self.thread = threading.Thread(target=self.worker.run)
        self.queue.put('a', queue.CONTINUE)
        self.start()
        self.assertTrue(self.done.acquire(timeout=10))
        self.assertEqual([worker.Outcome.FINISHED], self.seen)
