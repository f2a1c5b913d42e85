# SPDX-License-Identifier: Apache-2.0

"""The names of other projects on the pages about deployments."""

import importlib.util
import pathlib
import re
import sys

import fixtures

from ironic_inspection_rules.tests import guide
from ironic_inspection_rules.tests.unit import base

TOOL = guide.ROOT / 'tools' / 'check_deployments.py'
PAGES = tuple(
    f'doc/source/install/{name}.rst'
    for name in (
        'kolla-ansible',
        'kayobe',
        'bifrost',
        'metal3',
        'openstack-ansible',
    )
)
"""Pages on which all names are of somebody; the others have few."""

GENERAL = set(
    """
    docker exec rm --force journalctl --unit inventory -i -e podman drop --yes
    check --config-file Inspection rules 1.0.0 true Dockerfile VENV_TAG
    inspector
""".split()
)
"""Words of programs that are of no deployment, or of ours."""


def words(text):
    """Return the words of a name, such as those of a command."""
    return re.split(r'[\s=]+', text)


def names_on(page):
    """Return the names of a page: what is literal, and names in blocks."""
    path = guide.ROOT / page
    text = path.read_text()
    found = set()
    prose = re.sub(r'(?m)^ *\.\. code-block::(?:.*\n)+?(?=\S|\Z)', '', text)
    for literal in re.findall(r'``(.+?)``', prose, re.DOTALL):
        found.add(re.sub(r'\s+', ' ', literal))
    for block in guide.Page(page).blocks:
        found.update(
            re.findall(r'(?<![\w.$/-])[a-z]+(?:_[a-z0-9]+)+', block.text)
        )
        found.update(re.findall(r'(?<![\w:/.}])/[a-z][\w./-]+', block.text))
    return found


class DeploymentsTestCase(base.TestCase):
    def setUp(self):
        super().setUp()
        if not TOOL.exists():
            self.skipTest('not a checkout: no tools')
        specification = importlib.util.spec_from_file_location(
            'check_deployments', TOOL
        )
        self.tool = importlib.util.module_from_spec(specification)
        sys.modules['check_deployments'] = self.tool
        self.addCleanup(sys.modules.pop, 'check_deployments')
        specification.loader.exec_module(self.tool)
        self.projects, self.names, self.ours = self.tool.load()
        self.checkout = pathlib.Path(self.useFixture(fixtures.TempDir()).path)

    def write(self, name, text):
        path = self.checkout / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def name(self, file='defaults.yml', pattern='^tag:'):
        return self.tool.Name('page.rst', 'kolla', 'tag', file, pattern)

    def test_every_place_is_of_a_project_and_a_pattern(self):
        for name in self.names:
            self.assertIn(name.project, self.projects)
            if name.pattern is not None:
                re.compile(name.pattern)

    def test_every_name_is_on_its_page(self):
        for name in self.names:
            text = ' '.join(guide.ROOT.joinpath(name.page).read_text().split())
            self.assertIn(name.text, text, name.page)

    def test_every_name_on_a_page_is_looked_for(self):
        for page in PAGES:
            known = set()
            for name in self.names:
                if name.page == page:
                    known.update(words(name.text))
            unknown = {
                word
                for text in names_on(page)
                for word in words(text)
                if word not in known | GENERAL
                and not word.startswith(tuple(self.ours))
            }
            self.assertEqual(set(), unknown, page)

    def test_a_name_is_found_where_it_was(self):
        self.write('defaults.yml', 'other: 1\ntag: 2\n')
        self.assertIsNone(self.name().problem(self.checkout))
        self.assertIsNone(self.name(pattern=None).problem(self.checkout))

    def test_a_name_that_has_moved_is_found_elsewhere(self):
        self.write('defaults.yml', 'other: 1\n')
        self.assertIn('nowhere else', self.name().problem(self.checkout))
        self.write('vars/new.yml', 'tag: 2\n')
        self.assertIn('vars/new.yml', self.name().problem(self.checkout))
        problem = self.name('deep/defaults.yml', None).problem(self.checkout)
        self.assertIn('deep/defaults.yml is gone', problem)
        self.write('now/deep/defaults.yml', '')
        problem = self.name('deep/defaults.yml', None).problem(self.checkout)
        self.assertIn('see now/deep/defaults.yml', problem)

    def test_the_layers_change_the_files_of_the_images(self):
        script = 'docker/ironic/ironic-api/extend_start.sh'
        self.write(script, 'if true; then\n    ironic-dbsync upgrade\nfi\n')
        self.assertIsNone(self.change('kolla'))
        self.write(script, 'exit 0\n')
        self.assertIn('fail', self.change('kolla'))
        self.assertIn('scripts/runironic is gone', self.change('ironic-image'))
        self.write(
            'scripts/runironic',
            'exec /usr/bin/ironic --config-dir "${IRONIC_CONF_DIR}"\n',
        )
        self.write('ironic-config/ironic.conf.j2', 'hooks = $default_hooks\n')
        self.assertIsNone(self.change('ironic-image'))

    def change(self, project):
        root = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        return self.tool.change(project, self.checkout, root)
