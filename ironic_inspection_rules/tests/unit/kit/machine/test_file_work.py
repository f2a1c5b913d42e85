# SPDX-License-Identifier: Apache-2.0

"""Work on many files is spread over processes and comes back in order."""

from concurrent import futures
import contextlib
import functools
import os
import signal

from ironic_inspection_rules.kit.machine import file_work
from ironic_inspection_rules.tests.unit import base


def _with_process(number, paths):
    return [(number, path, os.getpid()) for path in paths]


def _prepare(number):
    return functools.partial(_with_process, number)


def _prepare_failing():
    return _fail


def _fail(paths):
    raise ValueError(paths[0])


def _ignores_interrupts(_paths):
    return signal.getsignal(signal.SIGINT) == signal.SIG_IGN


def _prepare_asking():
    return _ignores_interrupts


class InChunksTestCase(base.TestCase):
    def do(self, count, jobs):
        paths = [str(number) for number in range(count)]
        done = []
        found = [
            each
            for results in file_work.in_chunks(
                paths, functools.partial(_prepare, 5), done.append, jobs
            )
            for each in results
        ]
        self.assertEqual(paths, [path for _number, path, _pid in found])
        self.assertEqual(count, sum(done))
        self.assertEqual(
            {5} if count else set(), {number for number, _path, _pid in found}
        )
        return {pid for _number, _path, pid in found}

    def test_one_process_does_all_of_it_itself(self):
        self.assertEqual({os.getpid()}, self.do(60, jobs=1))

    def test_few_files_are_not_worth_a_process(self):
        self.assertEqual({os.getpid()}, self.do(3, jobs=2))

    def test_many_files_go_to_processes(self):
        self.assertNotIn(os.getpid(), self.do(400, jobs=2))

    def test_no_files_are_no_work(self):
        self.assertEqual(set(), self.do(0, jobs=2))

    def test_an_error_reaches_the_caller(self):
        paths = [str(number) for number in range(200)]
        self.assertRaisesRegex(
            ValueError,
            '0',
            list,
            file_work.in_chunks(
                paths, _prepare_failing, lambda count: None, 2
            ),
        )

    def test_so_many_chunks_wait_that_no_process_is_idle(self):
        begun, seen = [], []

        class Pool(contextlib.AbstractContextManager):
            def __init__(self, jobs, **_prepared):
                self.jobs = jobs

            def __exit__(self, *_error):
                pass

            def submit(self, _work, chunk):
                begun.append(chunk)
                done = futures.Future()
                done.set_result(chunk)
                return done

        self.patch(file_work.futures, 'ProcessPoolExecutor', Pool)
        for _chunk in file_work.in_chunks(
            ['x'] * 500, _prepare, lambda count: None, 2
        ):
            seen.append(len(begun))
        self.assertEqual([*range(7, 21), *[20] * 6], seen)

    def test_an_interrupt_is_for_the_first_process(self):
        # What is started in the background may ignore interrupts.
        self.addCleanup(
            signal.signal,
            signal.SIGINT,
            signal.signal(signal.SIGINT, signal.default_int_handler),
        )
        for count, expected in ((200, {True}), (1, {False})):
            self.assertEqual(
                expected,
                set(
                    file_work.in_chunks(
                        ['x'] * count, _prepare_asking, lambda count: None, 2
                    )
                ),
            )
