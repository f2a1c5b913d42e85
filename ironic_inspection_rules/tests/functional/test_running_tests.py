# SPDX-License-Identifier: Apache-2.0

"""That what runs and counts the tests tells the truth."""

import pathlib
import subprocess
import sys

import fixtures

import ironic_inspection_rules
from ironic_inspection_rules.tests.unit import base

TOOLS = pathlib.Path(ironic_inspection_rules.__file__).parents[1] / 'tools'

PASSING = """
import unittest


class ThingTestCase(unittest.TestCase):

    def test_passes(self):
        pass

    def test_is_skipped(self):
        self.skipTest('no such server')

    @unittest.expectedFailure
    def test_fails_as_expected(self):
        self.fail()
"""

FAILING = (
    PASSING
    + """
    def test_fails(self):
        self.fail()

    def test_raises(self):
        raise ValueError

    @unittest.expectedFailure
    def test_does_not_fail_as_expected(self):
        pass
"""
)

DYING = """
import os
import unittest


class ThingTestCase(unittest.TestCase):

    def test_never_ends(self):
        os._exit(0)
"""

FAILING_ONCE = (
    PASSING
    + """
    def test_fails_the_first_time(self):
        with open('times', 'a+') as times:
            times.write('again ')
            times.seek(0)
            self.assertEqual('again again ', times.read())
"""
)

CHATTERING = (
    """
import sys

sys.stdout.write('caf\\u00e9 outside of any test\\n')
"""
    + PASSING
)

NOT_LOADED = """
import no_such_module
"""


class ToolTestCase(base.TestCase):
    """A directory with one module of tests, and the tools."""

    def setUp(self):
        super().setUp()
        if not TOOLS.is_dir():
            self.skipTest('not a checkout: no tools')
        self.directory = pathlib.Path(self.useFixture(fixtures.TempDir()).path)

    def write(self, source):
        self.directory.joinpath('test_thing.py').write_text(source)

    def run_python(self, *arguments):
        return subprocess.run(
            [sys.executable, *arguments],
            cwd=self.directory,
            capture_output=True,
            text=True,
        )


class CountTestsTestCase(ToolTestCase):
    def run_tests(self, source):
        self.write(source)
        self.run_python(
            '-m', 'stestr', 'run', '--test-path', '.', '--concurrency', '1'
        )

    def assert_counted(self, code, *lines):
        result = self.run_python(str(TOOLS / 'count_tests.py'))
        self.assertEqual(
            (code, list(lines)),
            (result.returncode, result.stdout.splitlines()),
            result.stderr,
        )

    def test_all_runs_are_summed(self):
        self.run_tests(PASSING)
        self.run_tests(PASSING)
        self.assert_counted(0, '4 passed, 0 failed, 2 skipped')

    def test_failures_of_an_earlier_run_count(self):
        self.run_tests(FAILING)
        self.run_tests(PASSING)
        name = 'FAILED: test_thing.ThingTestCase'
        self.assert_counted(
            1,
            f'{name}.test_does_not_fail_as_expected',
            f'{name}.test_fails',
            f'{name}.test_raises',
            '4 passed, 3 failed, 2 skipped',
        )

    def test_a_test_that_never_ended_has_failed(self):
        self.run_tests(DYING)
        self.assert_counted(
            1,
            'FAILED: test_thing.ThingTestCase.test_never_ends',
            '0 passed, 1 failed, 0 skipped',
        )


class RunTestsTestCase(ToolTestCase):
    def run_tests(self, source, *options):
        self.write(source)
        result = self.run_python(
            str(TOOLS / 'run_tests'), *options, '--test-path', '.'
        )
        self.assertEqual('', result.stderr)
        return result.returncode, result.stdout

    def test_only_what_was_left_out_and_the_sum_when_all_pass(self):
        self.assertEqual(
            (
                0,
                'Skipped 1: no such server\n'
                '3 tests: 2 passed, 1 skipped, 0 failed\n',
            ),
            self.run_tests(PASSING),
        )

    def test_text_of_no_test_is_not_in_the_way(self):
        self.assertEqual(self.run_tests(PASSING), self.run_tests(CHATTERING))

    def test_failures_have_their_log_and_stand_before_the_sum(self):
        code, output = self.run_tests(FAILING)
        self.assertEqual(1, code)
        self.assertIn('raise ValueError', output)
        name = 'FAILED: test_thing.ThingTestCase'
        self.assertEqual(
            [
                f'{name}.test_does_not_fail_as_expected',
                f'{name}.test_fails',
                f'{name}.test_raises',
                '6 tests: 2 passed, 1 skipped, 3 failed',
            ],
            sorted(output.splitlines()[-4:-1]) + output.splitlines()[-1:],
        )

    def test_what_fails_once_is_named_and_may_pass(self):
        code, output = self.run_tests(FAILING_ONCE, '--again')
        self.assertEqual(
            (
                0,
                [
                    'Failed once: test_thing.ThingTestCase'
                    '.test_fails_the_first_time',
                    '4 tests: 3 passed, 1 skipped, 0 failed',
                ],
            ),
            (code, output.splitlines()[-2:]),
        )
        self.assertIn("'again again '", output)
        counted = self.run_python(str(TOOLS / 'count_tests.py'))
        self.assertEqual(
            (0, '3 passed, 0 failed, 1 skipped\n'),
            (counted.returncode, counted.stdout),
        )

    def test_what_fails_again_has_failed(self):
        code, output = self.run_tests(FAILING, '--again')
        self.assertEqual(1, code)
        self.assertNotIn('Failed once', output)
        self.assertEqual(
            '6 tests: 2 passed, 1 skipped, 3 failed', output.splitlines()[-1]
        )
        counted = self.run_python(str(TOOLS / 'count_tests.py'))
        self.assertEqual(1, counted.returncode)

    def test_why_a_module_was_not_loaded(self):
        code, output = self.run_tests(NOT_LOADED)
        self.assertNotEqual(0, code)
        self.assertIn('no_such_module', output)

    def test_no_tests_are_a_failure(self):
        code, output = self.run_tests('')
        self.assertEqual(1, code)
        self.assertIn('0 tests', output)
