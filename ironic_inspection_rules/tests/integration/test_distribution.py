# SPDX-License-Identifier: Apache-2.0

"""What is published: source distribution and wheel, built without tags."""

import importlib.util
import pathlib
import re
import subprocess
import sys
import zipfile

import fixtures

from ironic_inspection_rules.tests import guide
from ironic_inspection_rules.tests.integration import base
from ironic_inspection_rules.tests.integration import distribution

_NOT_INSTALLED = ('tests/', '__pycache__')


class DistributionTestCase(base.IntegrationTestCase):
    def test_both_are_complete_and_have_a_version(self) -> None:
        if not guide.ROOT.joinpath('deploy').is_dir():
            self.skipTest('not a checkout')
        directory = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        source = distribution.checkout(directory)
        unpacked = distribution.sdist(source)
        self.assertRegex(
            unpacked.name, r'^ironic_inspection_rules-1\.\d+\.\d+(\.dev\d+)?$'
        )
        tracked = subprocess.run(
            ['git', 'ls-files'],
            cwd=source,
            check=True,
            text=True,
            capture_output=True,
        ).stdout.splitlines()
        self.assertEqual(
            [],
            [
                path
                for path in tracked
                if not unpacked.joinpath(path).exists()
                and path != '.gitignore'
            ],
        )

        wheel = distribution.wheel(unpacked)
        with zipfile.ZipFile(wheel) as archive:
            packed = set(archive.namelist())
        package = 'ironic_inspection_rules/'
        self.assertEqual(
            [],
            [
                path
                for path in tracked
                if path.startswith(package)
                and path not in packed
                and not any(each in path for each in _NOT_INSTALLED)
            ],
        )
        self.assertTrue(
            any(
                re.search(
                    r'/share/ironic-inspection-rules/systemd/.*\.service$',
                    name,
                )
                for name in packed
            )
        )
        self._check(*directory.glob('*.tar.gz'), wheel)

    def _check(self, *paths: pathlib.Path) -> None:
        """Have twine look at the metadata, where it is installed."""
        if not importlib.util.find_spec('twine'):
            return
        done = subprocess.run(
            [
                sys.executable,
                '-m',
                'twine',
                'check',
                '--strict',
                *map(str, paths),
            ],
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        self.assertEqual(0, done.returncode, done.stdout)
