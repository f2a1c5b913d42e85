# SPDX-License-Identifier: Apache-2.0

"""The systemd units in ``etc`` and their sandboxes, as systemd sees them."""

import configparser
import pathlib
import shutil
import subprocess

import fixtures

from ironic_inspection_rules.tests.unit import base

UNITS = pathlib.Path(__file__).parents[3] / 'etc' / 'systemd'
EXPOSURE = 3.0
"""What systemd-analyze(1) calls "ok" goes up to here, out of ten."""

CAPABILITIES = {
    'ironic-inspection-worker.service': '',
    'ironic-inspection-pxe-filter.service': 'CAP_NET_ADMIN',
}


class Unit(configparser.RawConfigParser):
    """A unit file, of which options may be repeated."""

    def __init__(self, path: pathlib.Path) -> None:
        super().__init__(strict=False)
        self.optionxform = str
        self.read(path)


class SystemdTestCase(base.TestCase):
    def test_all_units_are_known(self) -> None:
        self.assertEqual(
            {path.name for path in UNITS.iterdir()}, CAPABILITIES.keys()
        )

    def test_services_have_no_right_that_they_do_not_need(self) -> None:
        for name, capabilities in CAPABILITIES.items():
            options = Unit(UNITS / name)['Service']
            self.assertEqual(capabilities, options['CapabilityBoundingSet'])
            self.assertEqual(
                capabilities, options.get('AmbientCapabilities', '')
            )
            for option, value in (
                ('User', 'ironic'),
                ('NoNewPrivileges', 'yes'),
                ('ProtectSystem', 'strict'),
                ('ProtectHome', 'yes'),
                ('PrivateTmp', 'yes'),
                ('PrivateDevices', 'yes'),
                ('UMask', '0027'),
            ):
                self.assertEqual(value, options[option], option)

    def test_systemd_thinks_so_too(self) -> None:
        for name in CAPABILITIES:
            done = self.analyze(
                'security',
                '--offline=true',
                f'--threshold={int(EXPOSURE * 10)}',
                str(UNITS / name),
            )
            self.assertEqual(0, done.returncode, done.stdout[-300:])

    def test_systemd_understands_them(self) -> None:
        for name in CAPABILITIES:
            text = (UNITS / name).read_text()
            program = f'ExecStart=/usr/bin/{name.removesuffix(".service")} '
            self.assertIn(program, text)
            # Verified is also that the program is there, which it is where
            # the package is installed.
            copy = pathlib.Path(self.path(), name)
            copy.write_text(text.replace(program, 'ExecStart=/bin/sh '))
            done = self.analyze(
                'verify', '--man=no', '--recursive-errors=no', str(copy)
            )
            # What it does not know it ignores, and only warns.
            self.assertEqual(
                (0, []),
                (
                    done.returncode,
                    [
                        line
                        for line in done.stderr.splitlines()
                        if name in line
                    ],
                ),
            )

    def path(self) -> str:
        return self.useFixture(fixtures.TempDir()).path

    def analyze(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        if not shutil.which('systemd-analyze'):
            self.skipTest('no systemd-analyze')
        known = self._run('--help').stdout
        if not all(
            argument.partition('=')[0] in known
            for argument in arguments
            if argument.startswith('--')
        ):
            self.skipTest('a systemd-analyze that cannot judge files')
        return self._run(*arguments)

    def _run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ['systemd-analyze', *arguments], capture_output=True, text=True
        )
