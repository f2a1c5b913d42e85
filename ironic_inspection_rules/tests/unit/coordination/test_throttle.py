# SPDX-License-Identifier: Apache-2.0

from unittest import mock

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.coordination import throttle
from ironic_inspection_rules.tests.unit import base


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
        answer = self.answers.pop(0) if self.answers else True
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
        patcher = mock.patch.object(throttle, 'time', self.clock)
        patcher.start()
        self.addCleanup(patcher.stop)
        return throttle.Throttle(lambda: lock, interval, self.clock.wait,
                                 retries=2, retry_interval=1.5)

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
            self.assertEqual(107.0 + 2 * throttle.HEARTBEAT, self.clock.now)

    def test_a_lock_lost_while_sleeping_starts_the_turn_anew(self):
        lock = FakeLock([True, True, ValueError('lost')])
        with self.make(lock).turn():
            self.assertEqual(2, lock.entered)
            self.assertGreater(self.clock.now, 107.0 + throttle.HEARTBEAT)

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
        it._of_process.acquire()
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
        self.assertRaises(exceptions.TemporaryFailure,
                          self.make(lock).turn().__enter__)
