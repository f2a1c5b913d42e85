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

"""That the closing line of .ci/run tells the truth."""

import pathlib
import subprocess
import sys

import fixtures

import ironic_inspection_rules
from ironic_inspection_rules.tests.unit import base

TOOL = pathlib.Path(ironic_inspection_rules.__file__).parents[1].joinpath(
    'tools', 'count_tests.py')

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

FAILING = PASSING + """
    def test_fails(self):
        self.fail()

    def test_raises(self):
        raise ValueError

    @unittest.expectedFailure
    def test_does_not_fail_as_expected(self):
        pass
"""

DYING = """
import os
import unittest


class ThingTestCase(unittest.TestCase):

    def test_never_ends(self):
        os._exit(0)
"""


class CountTestsTestCase(base.TestCase):

    def setUp(self):
        super().setUp()
        if not TOOL.is_file():
            self.skipTest('not a checkout: no tools')
        self.directory = pathlib.Path(self.useFixture(fixtures.TempDir()).path)

    def run_tests(self, source):
        self.directory.joinpath('test_thing.py').write_text(source)
        self.run_python('-m', 'stestr', 'run', '--test-path', '.',
                        '--concurrency', '1')

    def run_python(self, *arguments):
        return subprocess.run([sys.executable, *arguments],
                              cwd=self.directory, capture_output=True,
                              text=True)

    def assert_counted(self, code, line):
        result = self.run_python(str(TOOL))
        self.assertEqual((code, line + '\n'),
                         (result.returncode, result.stdout), result.stderr)

    def test_all_runs_are_summed(self):
        self.run_tests(PASSING)
        self.run_tests(PASSING)
        self.assert_counted(0, '4 passed, 0 failed, 2 skipped')

    def test_failures_of_an_earlier_run_count(self):
        self.run_tests(FAILING)
        self.run_tests(PASSING)
        self.assert_counted(1, '4 passed, 3 failed, 2 skipped')

    def test_a_test_that_never_ended_has_failed(self):
        self.run_tests(DYING)
        self.assert_counted(1, '0 passed, 1 failed, 0 skipped')
