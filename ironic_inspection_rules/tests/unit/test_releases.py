# SPDX-License-Identifier: Apache-2.0

"""One list of Ironics, and a package that leaves the installed one alone."""

import configparser
import importlib.metadata
import importlib.resources
import pathlib
import re
import subprocess

from packaging import requirements
from packaging import version
import yaml

import ironic_inspection_rules
from ironic_inspection_rules import releases
from ironic_inspection_rules.tests.unit import base

ROOT = pathlib.Path(ironic_inspection_rules.__file__).parents[1]
OLDER = releases.TRIED[:-1]


def read(name):
    path = ROOT / name
    if not path.exists():
        raise base.TestCase.skipException(f'There is no {name} here')
    return path.read_text()


def required(text):
    """Requirements by name, of lines as those of requirements.txt."""
    lines = [line.partition('#')[0].strip() for line in text.splitlines()]
    found = map(requirements.Requirement, filter(None, lines))
    return {each.name: each.specifier for each in found}


class ReleasesTestCase(base.TestCase):
    def setUp(self):
        super().setUp()
        self.tox = configparser.ConfigParser(interpolation=None)
        self.tox.read_string(read('tox.ini'))

    def test_tox_installs_each_and_no_other(self):
        pinned = set()
        for section in self.tox.sections():
            pinned.update(
                re.findall(
                    r'constraints/ironic-(\d+\.\d+\.\d+)\.txt',
                    self.tox[section].get('constraints', ''),
                )
            )
        self.assertEqual({*releases.TRIED}, pinned)
        self.assertIn(
            f'/ironic-{releases.TRIED[-1]}.txt',
            self.tox['testenv']['constraints'],
        )

    def test_tox_runs_something_on_each(self):
        labels = dict(
            re.split(r'\s*=\s*', line, maxsplit=1)
            for line in self.tox['tox']['labels'].strip().splitlines()
        )
        for name in ('all', 'matrix'):
            found = set(re.findall(r'\d+\.\d+\.\d+', labels[name]))
            self.assertEqual({*OLDER}, found, name)
        self.assertIn(OLDER[0], labels['gate'])

    def test_documents_name_them(self):
        between = f'Ironic {releases.OLDEST} to {releases.NEWEST}'
        for name in ('README.rst', 'doc/source/install/index.rst'):
            self.assertIn(between, ' '.join(read(name).split()), name)
        rows = re.findall(
            r'^   \* - (\d+\.\S+)$',
            read('doc/source/contributor/testing.rst'),
            re.MULTILINE,
        )
        self.assertEqual([*releases.TRIED], rows)

    def test_what_tools_have_made_is_of_them(self):
        folder = importlib.resources.files(
            'ironic_inspection_rules.kit.machine'
        )
        for name in ('inventory_fields.yaml', 'node_fields.yaml'):
            text = folder.joinpath(name).read_text()
            made_from = yaml.safe_load(text)['made_from']
            self.assertEqual(
                [f'ironic-{release}' for release in releases.TRIED],
                [
                    each
                    for each in made_from
                    if re.fullmatch(r'ironic-[\d.]+', each)
                ],
                name,
            )


class VersionTestCase(base.TestCase):
    """Program, documents, pictures, collection and tags have one version."""

    def setUp(self):
        super().setUp()
        package = configparser.ConfigParser()
        package.read_string(read('setup.cfg'))
        self.version = package['metadata']['version']

    def assert_only(self, name, pattern):
        """Check that all versions in a file are that of the package."""
        found = {
            re.sub(r'\.?dev\d+$', '', found)
            for found in re.findall(pattern, read(name))
        }
        self.assertLessEqual(found, {self.version}, name)

    def test_the_program_has_it(self):
        installed = importlib.metadata.version('ironic-inspection-rules')
        self.assertEqual(self.version, version.Version(installed).base_version)

    def test_documents_and_pictures_have_it(self):
        pages = [
            path.relative_to(ROOT)
            for pattern in (
                'README.rst',
                'doc/source/**/*.rst',
                'doc/source/_static/*.svg',
                'deploy/**/*.rst',
            )
            for path in ROOT.glob(pattern)
        ]
        for page in pages:
            self.assert_only(page, r'Inspection rules (\d[\w.]*\w)')
            self.assert_only(
                page,
                r'ironic-inspection-rules(?: |&#160;)'
                r'(\d+\.\d+[\w.]*\w)',
            )
        self.assertIn(f'Version {self.version}', read('README.rst'))

    def test_the_collection_has_it(self):
        self.assertEqual(
            self.version,
            yaml.safe_load(read('deploy/ansible/galaxy.yml'))['version'],
        )

    def test_notes_are_of_it(self):
        notes = ROOT / 'releasenotes' / 'notes'
        self.assertTrue(
            any(notes.glob(f'{self.version.replace(".", "-")}-*.yaml'))
        )

    def test_a_version_that_is_a_tag_of_this_commit_is_it(self):
        if not (ROOT / '.git').exists():
            self.skipTest('not a checkout: no tags')
        tags = subprocess.run(
            ['git', '-C', ROOT, 'tag', '--points-at', 'HEAD'],
            text=True,
            capture_output=True,
            check=True,
        ).stdout.split()
        # Whoever has a clone may give its commits tags of their own.
        versions = {tag for tag in tags if tag[0].isdigit()}
        self.assertLessEqual(versions, {self.version})


class BetweenTestCase(base.TestCase):
    def test_numbers_are_compared_and_no_text(self):
        self.assertFalse(releases.is_between('9.0.0', '35.0.1', None))
        self.assertFalse(releases.is_between('100.0.0', None, '39.0.0'))

    def test_first_and_last_are_among_them(self):
        for release, among in (
            ('36.0.0', False),
            ('36.0.1', True),
            ('37.5.0', True),
            ('38.1.0', True),
            ('38.1.1', False),
        ):
            self.assertIs(
                among,
                releases.is_between(release, '36.0.1', '38.1.0'),
                release,
            )

    def test_a_series_has_all_its_releases(self):
        for series, among in (
            ('35', False),
            ('36', True),
            ('36.0', True),
            ('38', True),
            ('38.1', True),
            ('38.2', False),
            ('39', False),
        ):
            self.assertIs(
                among, releases.is_between(series, '36.0.1', '38.1.0'), series
            )

    def test_where_there_is_no_bound_all_are_among_them(self):
        self.assertTrue(releases.is_between('1', None, None))


class RequirementsTestCase(base.TestCase):
    def test_ironic_is_none(self):
        self.assertNotIn('ironic', required(read('requirements.txt')))

    def test_with_the_extra_the_installed_ironic_stays(self):
        setup = configparser.ConfigParser(interpolation=None)
        setup.read_string(read('setup.cfg'))
        specifier = required(setup['extras']['ironic'])['ironic']

        for release in (*releases.TRIED, '40.0.0', '45.1.2'):
            self.assertIn(release, specifier)
        self.assertNotIn(f'{releases.OLDEST - 1}.9.0', specifier)
