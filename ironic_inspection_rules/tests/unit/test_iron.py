# SPDX-License-Identifier: Apache-2.0

"""That ``make iron`` would begin: no machine is booted here."""

import datetime
import os
import pathlib
import re
import signal
import subprocess
import sys
from typing import Any
from unittest import mock

import fixtures

from ironic_inspection_rules.tests import guide
from ironic_inspection_rules.tests.iron import boot_image
from ironic_inspection_rules.tests.iron import cases
from ironic_inspection_rules.tests.iron import disk_image
from ironic_inspection_rules.tests.iron import machine
from ironic_inspection_rules.tests.iron import needs
from ironic_inspection_rules.tests.unit import base

HERE = pathlib.Path(cases.__file__).parent


class CasesTestCase(base.TestCase):
    def test_cases_are_those_of_the_modules(self) -> None:
        modules = {
            path.stem.removeprefix('test_') for path in HERE.glob('test_*.py')
        }
        self.assertEqual(modules, set(cases.CASES))

    def test_each_case_has_tests(self) -> None:
        for name in cases.CASES:
            tests = list(_flattened(cases.load([name])))
            self.assertNotEqual([], tests, name)
            for test in tests:
                self.assertNotEqual('_FailedTest', type(test).__name__, test)

    def test_another_case_is_refused(self) -> None:
        self.assertRaises(KeyError, cases.load, ['nothing'])


class NeedsTestCase(base.TestCase):
    def test_packages_of_missing_programs_are_named(self) -> None:
        self.useFixture(fixtures.EnvironmentVariable('PATH', ''))
        with (
            mock.patch.object(needs, '_PATH', ''),
            mock.patch.object(needs, 'FILES', {'/nowhere': 'some-file'}),
        ):
            missing = needs.missing_packages()
        self.assertEqual(
            sorted({*needs.PROGRAMS.values(), 'some-file'}), missing
        )

    def test_what_is_missing_is_said(self) -> None:
        with (
            mock.patch.object(
                needs,
                'missing_packages',
                autospec=True,
                return_value=['qemu-utils', 'zstd'],
            ),
            mock.patch.object(
                needs,
                'free_memory',
                autospec=True,
                return_value=needs.MEMORY - 1,
            ),
            mock.patch.object(os, 'geteuid', autospec=True, return_value=1000),
        ):
            problems = needs.problems()
        self.assertEqual(3, len(problems))
        self.assertIn(' qemu-utils zstd', problems[1])

    def test_nothing_is_said_where_all_is_there(self) -> None:
        with (
            mock.patch.object(
                needs, 'missing_packages', autospec=True, return_value=[]
            ),
            mock.patch.object(
                needs, 'free_memory', autospec=True, return_value=needs.MEMORY
            ),
            mock.patch.object(os, 'geteuid', autospec=True, return_value=0),
        ):
            self.assertEqual([], needs.problems())
            (problem,) = needs.problems(jobs=2)
            self.assertIn(str(2 * needs.MEMORY >> 20), problem)


class ScriptsTestCase(base.TestCase):
    def test_scripts_are_of_their_shells(self) -> None:
        for shell, name in (
            ('bash', 'build_image'),
            ('sh', 'ramdisk_init'),
            ('sh', 'probe_init'),
        ):
            done = subprocess.run(
                [shell, '-n', str(HERE / name)], capture_output=True, text=True
            )
            self.assertEqual((0, ''), (done.returncode, done.stderr))

    def test_the_weekly_run_is_of_its_shell(self) -> None:
        script = guide.ROOT / '.ci' / 'weekly'
        if not script.exists():
            self.skipTest('not a checkout: no .ci')
        done = subprocess.run(
            ['bash', '-n', str(script)], capture_output=True, text=True
        )
        self.assertEqual((0, ''), (done.returncode, done.stderr))

    def test_the_page_names_all_cases(self) -> None:
        page = guide.ROOT / 'doc' / 'source' / 'contributor' / 'testing.rst'
        if not page.exists():
            self.skipTest('not a checkout: no documents')
        text = page.read_text().split('Machines that boot\n===')[1]
        named = re.findall(r'(?m)^   \* - ``(\w+)``$', text)
        self.assertEqual(list(cases.CASES), named)

    def test_the_command_names_its_cases(self) -> None:
        tool = guide.ROOT / 'tools' / 'iron'
        if not tool.exists():
            self.skipTest('not a checkout: no tools')
        done = subprocess.run(
            [sys.executable, str(tool), '--help'],
            capture_output=True,
            text=True,
        )
        self.assertEqual(0, done.returncode, done.stderr)
        for name, what in cases.CASES.items():
            self.assertRegex(done.stdout, rf'(?m)^{name} +{what}$')


class RunTestCase(base.TestCase):
    def setUp(self) -> None:
        super().setUp()
        path = guide.ROOT / 'tools' / 'iron'
        if not path.exists():
            self.skipTest('not a checkout: no tools')
        self.tool: dict[str, Any] = {'__name__': 'iron'}
        exec(compile(path.read_text(), str(path), 'exec'), self.tool)
        # The tool ignores the interrupts that its runs heed.
        self.addCleanup(
            signal.signal, signal.SIGINT, signal.getsignal(signal.SIGINT)
        )

    def test_a_run_that_is_killed_has_failed(self) -> None:
        self.tool['_ISOLATED'] = ('sh', '-c', 'kill -KILL $$')
        self.assertEqual(1, self.tool['run'](['worker', 'twins'], 2))

    def test_all_have_passed_when_all_runs_have(self) -> None:
        self.tool['_ISOLATED'] = ('true',)
        self.assertEqual(0, self.tool['run'](['worker', 'twins'], 2))

    def test_a_case_is_of_one_run(self) -> None:
        directory = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        self.tool['_ISOLATED'] = (
            'sh',
            '-c',
            f'cat /dev/fd/$4 > {directory}/$$',
            'sh',
        )
        self.assertEqual(0, self.tool['run'](['worker', 'twins'], 2))
        taken = b''.join(path.read_bytes() for path in directory.iterdir())
        names = list(cases.CASES)
        self.assertCountEqual(
            [names.index('worker'), names.index('twins')], taken
        )


class BootImageTestCase(base.TestCase):
    def test_each_release_of_the_agent_has_an_image(self) -> None:
        directories = {
            boot_image.BootImage(release).directory
            for release in ('12.0.0', '13.0.0')
        }
        self.assertEqual(2, len(directories))

    def test_a_build_that_fails_leaves_nothing(self) -> None:
        cache = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        self.useFixture(
            fixtures.MockPatchObject(boot_image, '_ISOLATED', ('false',))
        )
        image = boot_image.BootImage('12.0.0', cache)
        self.assertRaises(subprocess.CalledProcessError, image.prepare)
        self.assertEqual([], list(cache.iterdir()))

    def test_the_release_is_that_of_the_constraints(self) -> None:
        path = pathlib.Path(self.useFixture(fixtures.TempDir()).path, 'file')
        path.write_text('ironic==1\nironic-python-agent==9.8.7\nzstd==1\n')
        self.assertEqual('9.8.7', boot_image.agent_release(path))
        path.write_text('ironic==1\n')
        self.assertRaises(ValueError, boot_image.agent_release, path)


class DiskImageTestCase(base.TestCase):
    def test_the_first_sector_is_what_a_bios_boots(self) -> None:
        image = disk_image.build()
        self.assertEqual(b'\x55\xaa', image[510:512])
        address = int.from_bytes(image[6:8], 'little') - 0x7C00
        text = image[address : image.index(0, address)].decode()
        self.assertEqual(disk_image.BOOTED, text.strip())
        self.assertLess(address + len(text), 440)


class MachineTestCase(base.TestCase):
    def test_a_disk_keeps_its_world_wide_name(self) -> None:
        directory = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        self.useFixture(
            fixtures.MockPatchObject(
                machine, '_virsh', autospec=True, return_value='shut off'
            )
        )
        one = self.useFixture(
            machine.Machine(directory, 'one', disks=('A', 'B'))
        )
        before = directory.joinpath('one.xml').read_text()
        one.swap_disks('B', 'C')
        after = directory.joinpath('one.xml').read_text()
        name = before.split('<serial>B</serial>')[1].split('</wwn>')[0]
        self.assertIn(name, after)

    def test_the_log_of_libvirt_says_when_it_was_powered_on(self) -> None:
        directory = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        self.useFixture(fixtures.MockPatchObject(machine, '_LOGS', directory))
        directory.joinpath('one.log').write_text(
            '2026-01-02 03:04:05.250+0000: starting up libvirt version: 9\n'
            'char device redirected to /dev/pts/0 (label charserial0)\n'
            '2026-01-02 03:05:00.000+0000: shutting down, reason=destroyed\n'
            '2026-01-02 03:06:05.250+0000: starting up libvirt version: 9\n'
        )
        first, second = machine.Machine(directory, 'one').power_ons()
        self.assertEqual(120, second - first)
        began = datetime.datetime.fromtimestamp(first, datetime.UTC)
        self.assertEqual('2026-01-02T03:04:05.250000+00:00', began.isoformat())


def _flattened(suite):
    for test in suite:
        if hasattr(test, '__iter__'):
            yield from _flattened(test)
        else:
            yield test
