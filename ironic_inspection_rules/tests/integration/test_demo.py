# SPDX-License-Identifier: Apache-2.0

"""The demonstration, as ``make demo`` runs it."""

import os
import pathlib
import signal
import subprocess
import sys

import fixtures
import requests

from ironic_inspection_rules.tests.integration import base

_DEMO = pathlib.Path(__file__).parents[3] / 'tools' / 'demo'


class DemoTestCase(base.IntegrationTestCase):
    """``tools/demo``."""

    def setUp(self) -> None:
        super().setUp()
        if not _DEMO.exists():
            self.skipTest('not in a checkout')
        self.scratch = self.useFixture(fixtures.TempDir()).path

    def start(self) -> subprocess.Popen[str]:
        demo = subprocess.Popen(
            [sys.executable, '-u', str(_DEMO)], text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            env={**os.environ, 'TMPDIR': self.scratch})
        self.addCleanup(demo.wait)
        self.addCleanup(demo.kill)
        return demo

    def test_it_shows_rules_changes_and_traits(self) -> None:
        demo = self.start()
        output, _ = demo.communicate()
        self.assertEqual(0, demo.returncode, output)
        for line in ('Write down what the machine has: matched',
                     '/properties/cpus = 2',
                     'Big memory is for databases: did not match',
                     'trait CUSTOM_SIMULATION',
                     'CUSTOM_SIMULATION, HW_CPU_X86_AVX2',
                     '4 CPUs were ordered', '1 passes, 1 would fail',
                     'rack-1 passes and would have',
                     'How to go on'):
            self.assertIn(line, output)
        for noise in ('Traceback', 'Warning', 'DEBUG'):
            self.assertNotIn(noise, output)
        self.assertTrue(output.endswith('doc/build/fleet.html\n'), output)
        for page in ('demo.html', 'fleet.html'):
            self.assertTrue(_DEMO.parents[1].joinpath(
                'doc', 'build', page).is_file())
        self.assertEqual([], os.listdir(self.scratch))

    def test_an_interrupted_demo_leaves_nothing_behind(self) -> None:
        demo = self.start()
        assert demo.stdout
        url = next(line.split()[-1] for line in demo.stdout
                   if 'answers at' in line)
        demo.send_signal(signal.SIGINT)
        output, _ = demo.communicate()
        self.assertEqual(130, demo.returncode, output)
        self.assertRaises(requests.ConnectionError, requests.get, url)
        self.assertEqual([], os.listdir(self.scratch))
