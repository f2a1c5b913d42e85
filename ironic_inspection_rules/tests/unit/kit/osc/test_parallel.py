# SPDX-License-Identifier: Apache-2.0

import argparse
import contextlib
import io
import threading

from keystoneauth1 import exceptions as auth_exceptions
from openstack import exceptions as sdk_exceptions
import requests

from ironic_inspection_rules.kit.osc import parallel
from ironic_inspection_rules.tests.unit import base


def answer(status):
    response = requests.Response()
    response.status_code = status
    return response


class RequestsTestCase(base.TestCase):
    def setUp(self):
        super().setUp()
        self.patch(parallel, '_MAX_WAIT', 0)

    def each(self, function, items, jobs=3):
        with parallel.RequestThreads(jobs) as threads:
            return list(threads.map(function, items, 'Working'))

    def test_results_come_in_the_order_of_the_items(self):
        self.assertEqual(
            [number * 2 for number in range(50)],
            self.each(lambda item: item * 2, range(50)),
        )

    def test_as_many_as_said_are_worked_on_at_a_time(self):
        barrier = threading.Barrier(3)
        self.each(lambda item: barrier.wait(60), range(6))

    def test_what_may_pass_is_tried_again(self):
        failures = [
            sdk_exceptions.HttpException(response=answer(503)),
            auth_exceptions.ConnectFailure(),
            auth_exceptions.UnknownConnectionError('x', None),
        ]

        def fail(item):
            if failures:
                raise failures.pop()
            return item

        self.assertEqual([1], self.each(fail, [1]))
        self.assertEqual([], failures)

    def test_what_does_not_pass_is_raised_in_the_end(self):
        calls = []

        def fail(item):
            calls.append(item)
            raise auth_exceptions.ConnectFailure()

        self.assertRaises(auth_exceptions.ConnectFailure, self.each, fail, [1])
        self.assertEqual([1] * 6, calls)

    def test_what_is_final_is_raised_at_once(self):
        calls = []

        def refuse(item):
            calls.append(item)
            raise sdk_exceptions.ConflictException(response=answer(409))

        self.assertRaises(
            sdk_exceptions.ConflictException, self.each, refuse, [1]
        )
        self.assertEqual([1], calls)

    def test_an_interruption_begins_nothing_more(self):
        begun = []

        def note(item):
            begun.append(item)

        with (
            contextlib.suppress(KeyboardInterrupt),
            parallel.RequestThreads(1) as threads,
        ):
            for _result in threads.map(note, range(100), 'Working'):
                raise KeyboardInterrupt
        self.assertLess(len(begun), 4)

    def test_an_interruption_is_told_and_ends_as_signals_do(self):
        stderr = io.StringIO()

        def interrupt():
            with parallel.interruptible(stderr, 'Interrupted: 3 done'):
                raise KeyboardInterrupt

        self.assertEqual(130, self.assertRaises(SystemExit, interrupt).code)
        self.assertEqual('Interrupted: 3 done\n', stderr.getvalue())

    def test_the_number_of_jobs_is_bounded(self):
        parser = argparse.ArgumentParser(exit_on_error=False)
        parallel.add_jobs(parser)
        for text, jobs in (('7', 7), ('1000', 64)):
            self.assertEqual(jobs, parser.parse_args(['--jobs', text]).jobs)
        for text in ('0', '-1', 'x', '1_0', '\u0661', '9' * 5000):
            self.assertRaises(
                argparse.ArgumentError, parser.parse_args, ['--jobs=' + text]
            )
