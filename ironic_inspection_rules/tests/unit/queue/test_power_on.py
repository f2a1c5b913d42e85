# SPDX-License-Identifier: Apache-2.0

"""Machines that wait for their turn to be powered on."""

import contextlib
import dataclasses
import datetime
import functools
import logging
import threading
import types
from unittest import mock

import fixtures
from ironic.common import states
from ironic.conductor import inspection as conductor_inspection
from oslo_utils import timeutils

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.coordination import watchdog
from ironic_inspection_rules.db import node_reservation
from ironic_inspection_rules.patches import inspection
from ironic_inspection_rules.queue import attempt
from ironic_inspection_rules.queue import database_queue
from ironic_inspection_rules.queue import delivery
from ironic_inspection_rules.queue import power_on
from ironic_inspection_rules.queue import request as queue_request
from ironic_inspection_rules.queue import state
from ironic_inspection_rules.queue import worker
from ironic_inspection_rules.tests.unit import base
from ironic_inspection_rules.tests.unit import clock
from ironic_inspection_rules.tests.unit.inspection import base as glue
from ironic_inspection_rules.tests.unit.queue import base as queue_base
from ironic_inspection_rules.tests.unit.queue import test_worker


class PowerOnTestCase(glue.GlueTestCase):
    def setUp(self):
        super().setUp()
        self.node = self.task.node
        self.set_node(provision_state=states.INSPECTING)
        self.queue = database_queue.DatabaseQueue(
            queue_base.LEASE, node_reservation.stop_timeout
        )
        self.turns = []
        self.powered = []
        self.useFixture(
            fixtures.MonkeyPatch(
                'ironic_inspection_rules.patches.inspection.power_on',
                lambda task: self.powered.append(task.node.uuid),
            )
        )
        self.useFixture(
            fixtures.MonkeyPatch(
                'ironic.common.driver_factory.build_driver_for_task',
                lambda task: types.SimpleNamespace(),
            )
        )

    @contextlib.contextmanager
    def turn(self):
        self.turns.append(self.queue.is_any_power_on_due())
        yield

    def claim(self, worker_name):
        return power_on.claim(self.queue, self.turn, worker_name)

    def set_node(self, **fields):
        node = self.stored_node()
        for name, value in fields.items():
            setattr(node, name, value)
        node.save()

    def put(self):
        put = self.queue.put(self.node.uuid, queue_request.POWER_ON)
        self.set_node(provision_state=states.INSPECTWAIT)
        return put

    def deliver(self):
        return delivery.Delivery(
            self.queue,
            self.claim('w1'),
            self.lock_node,
            3,
            1.0,
            lambda seconds: True,
        ).carry_out()

    def lock_node(self, request):
        return attempt.locked(self.queue, 900, request)

    def test_the_conductor_is_done_at_once(self):
        self.config(
            enabled=True, reboot_throttle=1.0, group='inspection_queue'
        )
        self.config(
            group='coordination',
            backend_url=f'file://{self.useFixture(fixtures.TempDir()).path}',
        )
        self.useFixture(
            fixtures.MonkeyPatch(
                'ironic.drivers.modules.inspector.interface.Common.'
                '_power_on_or_reboot',
                inspection.POWER_ON.find(),
            )
        )
        power_on.install()

        inspection.POWER_ON.find()(None, self.task)

        waiting = self.queue.find_open(self.node.uuid)
        self.assertEqual(
            (queue_request.POWER_ON, state.STARTING),
            (waiting.event, waiting.state),
        )
        self.assertEqual([], self.powered)

    def test_no_turn_is_taken_for_nobody(self):
        self.assertIsNone(self.claim('w1'))
        self.assertEqual([], self.turns)

    def test_a_machine_is_powered_on_in_its_turn(self):
        put = self.put()
        self.assertIsNone(self.queue.get('w1'))

        self.assertIs(delivery.Outcome.FINISHED, self.deliver())

        self.assertEqual(
            ([True], [self.node.uuid]), (self.turns, self.powered)
        )
        self.assertEqual(state.FINISHED, self.queue.find(put.uuid).state)
        self.assertIsNone(self.stored_node().reservation)

    def test_its_timeout_counts_from_then_on(self):
        self.put()
        self.assertIsNone(self.stored_node().inspection_started_at)

        self.deliver()

        started = timeutils.normalize_time(
            self.stored_node().inspection_started_at
        )
        self.assertLess(
            abs(timeutils.utcnow() - started), datetime.timedelta(seconds=60)
        )

    def test_a_machine_that_is_on_already_need_not_wait(self):
        waiting = self.put()

        posted = self.queue.put(
            self.node.uuid, queue_request.CONTINUE, {'cpu': 1}
        )

        self.assertEqual(state.ERROR, self.queue.find(waiting.uuid).state)
        self.assertEqual(
            waiting.inspection_began_at, posted.inspection_began_at
        )
        self.assertIsNotNone(posted.inspection_began_at)
        self.assertIsNone(self.claim('w1'))

    def test_an_aborted_inspection_is_not_begun(self):
        self.put()
        self.set_node(provision_state=states.INSPECTFAIL)

        self.assertIs(delivery.Outcome.FAILED, self.deliver())

        self.assertEqual([], self.powered)

    def test_who_waits_for_its_turn_can_be_aborted(self):
        waiting = self.put()

        self.queue.abort(waiting.uuid, 'not this one')

        self.assertIsNone(self.claim('w1'))
        queue_base.pass_time(queue_base.LEASE)
        for request in self.queue.claim_unsettled():
            attempt.settle(self.queue, self.lock_node, request)
        node = self.stored_node()
        self.assertEqual(states.INSPECTFAIL, node.provision_state)
        self.assertIn('not this one', node.last_error)

    def test_whose_turn_it_is_cannot_be_aborted(self):
        waiting = self.put()
        self.claim('w1')

        self.assertRaises(
            exceptions.RequestNotWaiting,
            self.queue.abort,
            waiting.uuid,
            'too late',
        )

    def test_a_newer_inspection_ends_what_is_open_of_an_earlier_one(self):
        self.config(enabled=True, group='inspection_queue')
        self.useFixture(
            fixtures.MonkeyPatch(
                'ironic.conductor.inspection.inspect_hardware',
                lambda task: self.powered.append(task),
            )
        )
        power_on.install()
        self.set_node(
            provision_state=states.INSPECTWAIT,
            inspection_started_at=timeutils.utcnow(),
        )
        self.queue.put(self.node.uuid, queue_request.CONTINUE, {'cpu': 1})
        begun = self.queue.begin(self.queue.get('w1'), state.PROCESSING)

        conductor_inspection.inspect_hardware(self.task)

        self.assertEqual([self.task], self.powered)
        ended = self.queue.find(begun.uuid)
        self.assertEqual(
            (state.ERROR, queue_request.OVERTAKEN),
            (ended.state, ended.last_error),
        )

    def test_a_newer_inspection_ends_a_reapplication_of_earlier_data(self):
        waiting = self.queue.put(self.node.uuid, queue_request.REAPPLY)
        self.queue.supersede(self.node.uuid)
        ended = self.queue.find(waiting.uuid)
        self.assertEqual(
            (state.ERROR, queue_request.OVERTAKEN),
            (ended.state, ended.last_error),
        )

    def test_a_long_turn_is_no_hang(self):
        log = self.useFixture(fixtures.FakeLogger(level=logging.ERROR))
        time = self.useFixture(clock.Clock(power_on, watchdog, worker))
        limit = 2 * power_on.HEARTBEAT
        put = self.put()

        def pause(seconds):
            time.advance(seconds)
            starter._dispatcher.restart_if_hung(limit)
            return starter.pause(0)

        throttle = power_on.Throttle(
            FakeLock, 5 * limit, pause, retries=2, retry_interval=0.01
        )
        done = threading.Event()
        starter = worker.Worker(
            'w1',
            self.queue,
            self.lock_node,
            dataclasses.replace(
                test_worker.SETTINGS, threads=1, lease=limit, time_limit=limit
            ),
            lambda outcome: done.set(),
            functools.partial(power_on.claim, self.queue, throttle.turn),
        )
        thread = threading.Thread(target=starter.run)
        thread.start()
        self.addCleanup(thread.join)
        self.addCleanup(starter.stop)

        self.assertTrue(done.wait(60))

        self.assertEqual([self.node.uuid], self.powered)
        self.assertEqual(state.FINISHED, self.queue.find(put.uuid).state)
        self.assertNotIn('The dispatcher of this process hangs', log.output)


class FakeLock:
    """A lock that is free, unless ``answers`` say otherwise first."""

    def __init__(self, answers=()):
        self.answers = list(answers)
        self.held = False
        self.entered = 0

    def __enter__(self):
        self.entered += 1
        return self

    def __exit__(self, *exc_info):
        self.held = False

    def hold(self):
        answer = True
        if self.answers:
            answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        self.held = answer
        return answer


class Clock:
    """Time that passes at once where it is waited for."""

    def __init__(self, stop_after=None):
        self.now = 100.0
        self.waits = []
        self.stop_after = stop_after

    def wait(self, timeout):
        self.waits.append(timeout)
        self.now += timeout
        return len(self.waits) == self.stop_after

    def monotonic(self):
        return self.now


class ThrottleTestCase(base.TestCase):
    def make(self, lock, clock=None, interval=7.0):
        self.clock = clock or Clock()
        patcher = mock.patch.object(power_on, 'time', self.clock)
        patcher.start()
        self.addCleanup(patcher.stop)
        return power_on.Throttle(
            lambda: lock,
            interval,
            self.clock.wait,
            retries=2,
            retry_interval=1.5,
        )

    def test_the_interval_is_slept_with_the_lock_held(self):
        lock = FakeLock()
        with self.make(lock).turn():
            self.assertTrue(lock.held)
            self.assertEqual(107.0, self.clock.now)
        self.assertFalse(lock.held)

    def test_a_turn_is_waited_for(self):
        lock = FakeLock([False, False])
        with self.make(lock).turn():
            self.assertTrue(lock.held)
            self.assertEqual(107.0 + 2 * power_on.HEARTBEAT, self.clock.now)

    def test_a_lock_lost_while_sleeping_starts_the_turn_anew(self):
        lock = FakeLock([True, True, ValueError('lost')])
        with self.make(lock).turn():
            self.assertEqual(2, lock.entered)
            self.assertGreater(self.clock.now, 107.0 + power_on.HEARTBEAT)

    def test_a_stop_ends_the_sleep_and_frees_the_lock(self):
        lock = FakeLock()
        turn = self.make(lock, Clock(stop_after=1)).turn()
        self.assertRaises(exceptions.Stopping, turn.__enter__)
        self.assertFalse(lock.held)

    def test_a_stop_ends_the_wait_for_the_lock(self):
        lock = FakeLock([False] * 9)
        turn = self.make(lock, Clock(stop_after=4)).turn()
        self.assertRaises(exceptions.Stopping, turn.__enter__)
        self.assertEqual(4, len(self.clock.waits))

    def test_a_stop_ends_the_wait_for_another_thread(self):
        it = self.make(FakeLock(), Clock(stop_after=1))
        it._lock_of_process.acquire()
        self.assertRaises(exceptions.Stopping, it.turn().__enter__)

    def test_the_lock_is_freed_when_the_power_on_fails(self):
        lock = FakeLock()
        it = self.make(lock)

        def power_on():
            with it.turn():
                raise ValueError('no power')

        self.assertRaises(ValueError, power_on)
        self.assertFalse(lock.held)
        with it.turn():
            self.assertTrue(lock.held)

    def test_a_short_absence_of_the_coordinator_is_survived(self):
        lock = FakeLock([ValueError('away'), ValueError('away')])
        with self.make(lock).turn():
            self.assertEqual([1.5, 1.5], self.clock.waits[:2])

    def test_a_long_absence_of_the_coordinator_is_told(self):
        lock = FakeLock([ValueError('away')] * 3)
        self.assertRaises(
            exceptions.TemporaryFailure, self.make(lock).turn().__enter__
        )
