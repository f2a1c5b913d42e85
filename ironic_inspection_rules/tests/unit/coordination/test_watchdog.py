# SPDX-License-Identifier: Apache-2.0

import logging
import threading
import types

import fixtures

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.coordination import watchdog
from ironic_inspection_rules.tests.unit import base


class WatchedLoopTestCase(base.TestCase):
    def setUp(self):
        super().setUp()
        self.log = self.useFixture(
            fixtures.FakeLogger(level=logging.ERROR, format='%(message)s')
        )
        self.now = 1000.0
        self.useFixture(
            fixtures.MonkeyPatch(
                'ironic_inspection_rules.coordination.watchdog.time',
                types.SimpleNamespace(monotonic=lambda: self.now),
            )
        )
        self.stop = threading.Event()
        self.loop = watchdog.WatchedLoop('worker', self.work, self.stop)
        self.first_round = threading.Event()
        self.loop.start()
        # The round begins at its own reading of the clock.
        self.first_round.wait()
        self.addCleanup(self.loop.join)
        self.addCleanup(self.stop.set)

    def work(self):
        self.first_round.set()
        self.stop.wait()

    def test_the_log_has_the_time_for_which_a_thread_hangs(self):
        self.now += 75.0
        self.loop.restart_if_hung(60.0)
        self.assertIn('hangs for 75 seconds', self.log.output)
        self.assertEqual(1, self.loop.generation)

    def test_a_thread_within_its_limit_goes_on(self):
        self.now += 60.0
        self.loop.restart_if_hung(60.0)
        self.assertEqual('', self.log.output)
        self.assertEqual(0, self.loop.generation)


class ThreadThatCannotStartTestCase(base.TestCase):
    def setUp(self):
        super().setUp()
        self.log = self.useFixture(
            fixtures.FakeLogger(level=logging.ERROR, format='%(message)s')
        )
        self.now = 1000.0
        self.useFixture(
            fixtures.MonkeyPatch(
                'ironic_inspection_rules.coordination.watchdog.time',
                types.SimpleNamespace(monotonic=lambda: self.now),
            )
        )
        self.stop = threading.Event()
        self.given_up = 0
        self.rounds = threading.Semaphore(0)
        self.loop = watchdog.WatchedLoop(
            'worker', self.work, self.stop, self.give_up
        )
        self.addCleanup(self.stop.set)
        self.can_start = True
        start = threading.Thread.start

        def start_if_possible(thread):
            if not self.can_start:
                raise RuntimeError("can't start new thread")
            start(thread)

        self.useFixture(
            fixtures.MonkeyPatch('threading.Thread.start', start_if_possible)
        )

    def work(self):
        self.rounds.release()
        self.stop.wait()

    def give_up(self):
        self.given_up += 1

    def test_a_loop_that_never_began_can_be_joined(self):
        self.can_start = False
        self.assertRaises(RuntimeError, self.loop.start)
        self.loop.join()

    def test_nobody_waits_for_a_thread_that_was_given_up(self):
        self.loop.start()
        self.rounds.acquire()
        self.can_start = False
        self.now += 75.0
        self.loop.restart_if_hung(60.0)
        # The thread still hangs.
        self.loop.join()

    def test_a_thread_is_given_up_once(self):
        self.loop.start()
        self.rounds.acquire()
        self.can_start = False
        for _try in range(2):
            self.now += 75.0
            self.loop.restart_if_hung(60.0)
        self.assertEqual((1, 1), (self.loop.generation, self.given_up))
        self.assertEqual(1, self.log.output.count('hangs for'))

        self.can_start = True
        self.now += 75.0
        self.loop.restart_if_hung(60.0)
        self.rounds.acquire()
        self.assertEqual(1, self.loop.generation)

    def test_a_thread_that_came_later_is_replaced_as_well(self):
        self.loop.start()
        self.rounds.acquire()
        self.can_start = False
        self.now += 75.0
        self.loop.restart_if_hung(60.0)
        self.can_start = True
        for _thread in range(2):
            self.now += 75.0
            self.loop.restart_if_hung(60.0)
            self.rounds.acquire()
        self.assertEqual((2, 2), (self.loop.generation, self.given_up))


class OutageTestCase(base.TestCase):
    def setUp(self):
        super().setUp()
        self.log = self.useFixture(
            fixtures.FakeLogger(
                level=logging.INFO, format='%(levelname)s: %(message)s'
            )
        )
        self.outage = watchdog.Outage('The database', retries=2)

    def lines(self):
        return self.log.output.splitlines()

    def test_success_alone_is_not_logged(self):
        self.outage.over()
        self.assertEqual([], self.lines())

    def test_an_outage_logs_a_warning_an_error_and_its_end(self):
        for _failure in range(100):
            self.outage.failed(OSError('refused'))
        for _success in range(2):
            self.outage.over()
        self.assertEqual(
            [
                'WARNING: The database failed and is tried again: refused',
                'ERROR: The database still fails after 2 retries: refused',
                'INFO: The database works again',
            ],
            self.lines(),
        )

    def test_another_kind_of_failure_is_logged_once(self):
        for _failure in range(2):
            self.outage.failed(OSError('refused'))
            self.outage.failed(LookupError('gone'))
        self.assertEqual(
            1,
            self.log.output.count(
                'WARNING: The database failed and is tried again: gone'
            ),
        )

    def test_the_next_outage_is_logged_again(self):
        for _outage in range(2):
            self.outage.failed(OSError('refused'))
            self.outage.over()
        self.assertEqual(2, self.log.output.count('refused'))

    def test_its_end_is_logged_once(self):
        self.outage.over()
        self.assertNotIn('works again', self.log.output)
        self.outage.failed(OSError())
        self.outage.over()
        self.outage.over()
        self.assertEqual(1, self.log.output.count('works again'))


class ReasonTestCase(base.TestCase):
    def test_it_is_the_first_line_of_the_cause(self):
        failure = ValueError('wrapped')
        failure.__cause__ = OSError('refused\nand more')
        self.assertEqual('refused', watchdog.one_line_reason(failure))

    def test_our_own_errors_say_it_themselves(self):
        failure = exceptions.Invalid('one line')
        failure.__cause__ = OSError('more')
        self.assertEqual('one line', watchdog.one_line_reason(failure))

    def test_an_error_without_words_is_named(self):
        self.assertEqual('OSError()', watchdog.one_line_reason(OSError()))
