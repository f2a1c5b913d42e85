# SPDX-License-Identifier: Apache-2.0

"""The command that collects the inventory of the machine it runs on."""

import importlib.util
import json
import os
import pathlib
import subprocess
import sys

import fixtures

from ironic_inspection_rules.tests.unit import base

TOOLS = ('lsblk', 'lscpu', 'lshw', 'udevadm')

#: What the command uses of ironic-python-agent. As in the agent, the first
#: question about hardware lets its manager set up the machine.
AGENT = {
    'config.py': '',
    'errors.py': 'class InspectionError(Exception): pass',
    'utils.py': 'class AccumulatedFailures:\n'
    '    def __init__(self, exc_class): pass',
    'encoding.py': 'import json\n'
    'class RESTJSONEncoder(json.JSONEncoder):\n'
    '    def default(self, value): return value.name',
    'hardware.py': 'class Disk: name = "/dev/sda"\n'
    'class GenericHardwareManager:\n'
    '    def initialize(self): raise SystemExit("set up")\n',
    'inspector.py': 'from ironic_python_agent import hardware\n'
    'def collect_default(data, failures):\n'
    '    hardware.GenericHardwareManager().initialize()\n'
    '    data["inventory"] = {"disks": [hardware.Disk()]}\n',
}
COLLECTED = {'inventory': {'disks': ['/dev/sda']}}


class CollectTestCase(base.TestCase):
    def setUp(self):
        super().setUp()
        self.directory = pathlib.Path(self.useFixture(fixtures.TempDir()).path)

    def install(self, *tools, agent=True):
        """Make a machine with these tools, and with an agent or none."""
        package = self.directory / 'python' / 'ironic_python_agent'
        package.mkdir(parents=True)
        for name, text in AGENT.items():
            package.joinpath(name).write_text(text)
        if agent:
            package.joinpath('__init__.py').write_text('')
        else:
            package.rename(package.with_name('other'))
        for tool in tools:
            path = self.directory / 'bin' / tool
            path.parent.mkdir(exist_ok=True)
            path.write_text('')
            path.chmod(0o755)

    def collect(self, *words, user=0):
        return subprocess.run(
            [
                sys.executable,
                '-c',
                'import os, sys\n'
                'from ironic_inspection_rules.kit.command import shell\n'
                f'os.geteuid = lambda: {user}\n'
                'sys.exit(shell.main(["collect", *sys.argv[1:]]))',
                *words,
            ],
            capture_output=True,
            text=True,
            env={
                **os.environ,
                'PATH': str(self.directory / 'bin'),
                'PYTHONPATH': os.pathsep.join(
                    [str(self.directory / 'python'), *sys.path]
                ),
            },
        )

    def test_the_inventory_goes_to_standard_output_or_into_a_file(self):
        self.install(*TOOLS)
        for words in ((), ('-',)):
            done = self.collect(*words)
            self.assertEqual((0, ''), (done.returncode, done.stderr))
            self.assertEqual(COLLECTED, json.loads(done.stdout))
        path = self.directory / 'machine.json'
        done = self.collect(str(path))
        self.assertEqual(
            (0, '', ''), (done.returncode, done.stdout, done.stderr)
        )
        self.assertEqual(COLLECTED, json.loads(path.read_text()))

    def test_it_does_without_root_and_tells_what_that_costs(self):
        self.install(*TOOLS)
        done = self.collect(user=1000)
        self.assertEqual(COLLECTED, json.loads(done.stdout))
        self.assertEqual(1, len(done.stderr.splitlines()), done.stderr)
        self.assertIn('serial numbers', done.stderr)

    def test_what_is_missing_is_one_line(self):
        if importlib.util.find_spec('ironic_python_agent'):
            self.skipTest('ironic-python-agent is installed')
        self.install('lscpu', 'udevadm', agent=False)
        done = self.collect()
        self.assertEqual(1, done.returncode)
        self.assertEqual(
            'collect needs lsblk (package util-linux), lshw (package lshw), '
            'ironic-python-agent (pip install '
            '"ironic-inspection-rules[collect]")\n',
            done.stderr,
        )

    def test_no_file_can_be_written_where_there_is_no_directory(self):
        self.install(*TOOLS)
        done = self.collect(str(self.directory / 'gone' / 'machine.json'))
        self.assertEqual(os.EX_USAGE, done.returncode)
        self.assertIn('no file can be written there', done.stderr)
