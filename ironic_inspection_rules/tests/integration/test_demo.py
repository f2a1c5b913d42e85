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

    def start(
        self, *options: str, **environment: str
    ) -> subprocess.Popen[str]:
        demo = subprocess.Popen(
            [sys.executable, '-u', str(_DEMO), *options],
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env={**os.environ, 'TMPDIR': self.scratch, **environment},
        )
        self.addCleanup(demo.wait)
        self.addCleanup(demo.kill)
        return demo

    def test_it_shows_rules_changes_and_traits(self) -> None:
        demo = self.start()
        output, _ = demo.communicate()
        self.assertEqual(0, demo.returncode, output)
        for line in (
            'Write down what the machine has: matched',
            '/properties/cpus = 2',
            'Big memory is for databases: did not match',
            'trait CUSTOM_SIMULATION',
            'manageable, resource class simulation',
            '1 passes, 1 would fail',
            'Inspecting rack-1 …',
            'How to go on',
        ):
            self.assertIn(line, output)
        self.assertEqual(1, output.count('4 CPUs were ordered'))
        for noise in ('Traceback', 'Warning', 'DEBUG'):
            self.assertNotIn(noise, output)
        for page in ('demo.html', 'fleet.html'):
            text = _DEMO.parents[1].joinpath('doc', 'build', page).read_text()
            self.assertIn('rack-1', text)
            self.assertIn('rack-2', text)
        self.assertEqual([], os.listdir(self.scratch))

    def test_the_lines_of_a_kept_ironic_work_as_they_are_printed(self) -> None:
        demo = self.start('--keep')
        output, _ = demo.communicate()
        self.assertEqual(0, demo.returncode, output)
        lines = [line.strip() for line in output.splitlines()]
        stop = next(
            line.removeprefix('Stop it: ')
            for line in lines
            if line.startswith('Stop it: ')
        )
        self.addCleanup(subprocess.run, ['bash', '-c', stop], check=True)
        first = next(
            number
            for number, line in enumerate(lines)
            if line.startswith('export PATH=')
        )
        done = subprocess.run(
            ['bash', '-ec', '\n'.join(lines[first : first + 4])],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.assertEqual(0, done.returncode, done.stdout)
        self.assertIn('trait CUSTOM_SIMULATION', done.stdout)
        self.assertIn('1 finished', done.stdout)

    def test_an_interrupted_demo_leaves_nothing_behind(self) -> None:
        demo = self.start()
        assert demo.stdout
        url = next(
            line.split()[-1] for line in demo.stdout if 'answers at' in line
        )
        demo.send_signal(signal.SIGINT)
        output, _ = demo.communicate()
        self.assertEqual(130, demo.returncode, output)
        self.assertRaises(requests.ConnectionError, requests.get, url)
        self.assertEqual([], os.listdir(self.scratch))

    def test_what_this_machine_lacks_is_one_line(self) -> None:
        demo = self.start('--this-machine', PATH='/nowhere')
        output, _ = demo.communicate()
        self.assertEqual(1, demo.returncode, output)
        self.assertRegex(output.strip(), '^The demo failed: .*$')
        self.assertIn('collect', output)
        self.assertNotIn('import sys', output)
