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

import threading

import tooz

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.ha import throttle
from ironic_inspection_rules.tests.unit import base


class FakeLock:
    """A lock of the cluster; ``answers`` come first when it is asked for."""

    def __init__(self, *answers):
        self.answers = list(answers)
        self.held = False

    def acquire(self, blocking=True):
        if self.answers:
            answer = self.answers.pop(0)
            if isinstance(answer, Exception):
                raise answer
            return answer
        if self.held:
            return False
        self.held = True
        return True

    def release(self):
        self.held = False


class Clock(threading.Event):
    """A stop flag that notes how long it is waited for, and does not wait."""

    def __init__(self, stop_after=None):
        super().__init__()
        self.waits = []
        self.stop_after = stop_after

    def wait(self, timeout=None):
        self.waits.append(timeout)
        return len(self.waits) == self.stop_after


class ThrottleTestCase(base.TestCase):

    def make(self, lock, clock, interval=7.0):
        return throttle.Throttle(lock, interval, clock, retries=2,
                                 retry_interval=1.5)

    def test_the_interval_is_slept_with_the_lock_held(self):
        lock, clock = FakeLock(), Clock()
        with self.make(lock, clock).turn():
            self.assertTrue(lock.held)
            self.assertEqual([7.0], clock.waits)
        self.assertFalse(lock.held)

    def test_a_turn_is_waited_for(self):
        lock, clock = FakeLock(False, False), Clock()
        with self.make(lock, clock).turn():
            self.assertTrue(lock.held)
        self.assertEqual(3, len(clock.waits))

    def test_a_stop_ends_the_sleep_and_frees_the_lock(self):
        lock, clock = FakeLock(), Clock(stop_after=1)
        self.assertRaises(exceptions.Stopping,
                          self.make(lock, clock).turn().__enter__)
        self.assertFalse(lock.held)

    def test_a_stop_ends_the_wait_for_the_lock(self):
        lock, clock = FakeLock(*[False] * 9), Clock(stop_after=4)
        self.assertRaises(exceptions.Stopping,
                          self.make(lock, clock).turn().__enter__)
        self.assertEqual(4, len(clock.waits))

    def test_the_lock_is_freed_when_the_power_on_fails(self):
        lock = FakeLock()

        def power_on():
            with self.make(lock, Clock()).turn():
                raise ValueError('no power')
        self.assertRaises(ValueError, power_on)
        self.assertFalse(lock.held)

    def test_a_short_absence_of_the_service_is_survived(self):
        lock = FakeLock(tooz.ToozError('away'), tooz.ToozError('away'))
        clock = Clock()
        with self.make(lock, clock).turn():
            self.assertEqual([1.5, 1.5, 7.0], clock.waits)

    def test_a_long_absence_of_the_service_is_told(self):
        lock = FakeLock(*[tooz.ToozError('away')] * 3)
        self.assertRaises(exceptions.TemporaryFailure,
                          self.make(lock, Clock()).turn().__enter__)

    def test_a_lock_that_cannot_be_freed_does_not_fail_the_turn(self):
        lock = FakeLock()

        def release():
            raise tooz.ToozError('away')
        lock.release = release
        with self.make(lock, Clock()).turn():
            pass
