# SPDX-License-Identifier: Apache-2.0

"""That the documentation knows what the code has."""

import fnmatch
from importlib import metadata
import pathlib
import re

import fixtures
from ironic.conf import CONF
from oslo_db import options as db_options
from oslo_messaging import opts as messaging_opts
import yaml

import ironic_inspection_rules
from ironic_inspection_rules import conf
from ironic_inspection_rules.engine.language import interpolation
from ironic_inspection_rules.engine.language import registry
from ironic_inspection_rules.kit.authoring import lint
from ironic_inspection_rules.tests import guide
from ironic_inspection_rules.tests.unit import base

REFERENCE = (
    pathlib.Path(ironic_inspection_rules.__file__)
    .parents[1]
    .joinpath('doc', 'source', 'reference')
)


class ReferenceTestCase(base.TestCase):
    def setUp(self):
        super().setUp()
        if not REFERENCE.is_dir():
            self.skipTest('not a checkout: no documentation')

    def test_every_op_is_described(self):
        installed, described = set(), set()
        for group in ('conditions', 'actions'):
            installed |= metadata.entry_points(
                group=f'ironic.inspection_rules.{group}'
            ).names
        for page in ('conditions', 'actions', 'inspector'):
            text = REFERENCE.joinpath(f'{page}.rst').read_text()
            described |= set(re.findall(r'``([a-z-]+)\(', text))
        self.assertEqual(installed, described)

    def test_every_command_is_described(self):
        installed = {
            each.name.replace('_', ' ')
            for each in metadata.entry_points(group='openstack.baremetal.v1')
            if each.module.startswith('ironic_inspection_rules.')
        }
        text = REFERENCE.parent.joinpath(
            'cli', 'openstack-baremetal.rst'
        ).read_text()
        patterns = re.findall(r'^   :command: (.+)$', text, re.MULTILINE)
        described = [
            name
            for pattern in patterns
            for name in fnmatch.filter(installed, pattern)
        ]
        self.assertEqual(sorted(installed), sorted(described))
        for pattern in patterns:
            self.assertTrue(fnmatch.filter(installed, pattern), pattern)

    def test_every_filter_is_described_and_has_an_example(self):
        text = REFERENCE.joinpath('filters.rst').read_text()
        filters = set(registry.filters())
        described = re.findall(
            r'^``([a-z_0-9]+)(?:\(.*)?``$', text, re.MULTILINE
        )
        self.assertEqual(filters, set(described))
        # Each filter has a heading, and an example below it.
        parts = re.split(
            r'^``([a-z_0-9]+)(?:\(.*)?``$', text, flags=re.MULTILINE
        )
        for name, part in zip(parts[1::2], parts[2::2], strict=True):
            self.assertRegex(part, rf'(?s)code-block:: yaml.*\| {name}\b')

    def test_the_grammar_of_filters_has_every_root(self):
        text = REFERENCE.joinpath('filters.rst').read_text()
        grammar = re.search(r'root +=((?:[ |]+"\w+"\n?)+)', text)
        self.assertEqual(
            {*interpolation.ROOTS, interpolation.ITEM},
            set(re.findall(r'\w+', grammar[1])),
        )


class BlocksTestCase(base.IronicTestCase):
    """What integration's test_documents carries out, as far as files go."""

    def setUp(self):
        super().setUp()
        self.pages = [guide.Page(path) for path in guide.pages()]
        if not self.pages:
            self.skipTest('not a checkout: no documentation')
        self.directory = pathlib.Path(self.useFixture(fixtures.TempDir()).path)

    def blocks(self, *languages):
        """All blocks of these languages that are run, and their places."""
        return [
            (f'{page.path}:{block.line}', block)
            for page in self.pages
            for block in page.blocks
            if block.language in languages and block.reason is None
        ]

    def test_what_is_not_run_says_why(self):
        known = {'console', 'ini', 'yaml', 'json', 'python', 'text'}
        for page in self.pages:
            for block in page.blocks:
                self.assertIn(block.language, known, page.path)
                self.assertNotEqual('', block.reason, page.path)

    def test_every_option_is_one(self):
        conf.register_opts(CONF)
        for group, opts in (
            *messaging_opts.list_opts(),
            *db_options.list_opts(),
        ):
            CONF.register_opts(opts, group=group)
        for place, block in self.blocks('ini'):
            path = self.directory / 'ironic.conf'
            path.write_text(block.text)
            CONF(
                [],
                project='ironic',
                default_config_files=[str(path)],
                default_config_dirs=[],
            )
            conf.check(CONF)
            group = 'DEFAULT'
            for line in block.text.splitlines():
                head = re.fullmatch(r'\[(\w+)\]', line)
                option = re.match(r'(\w+) *=', line)
                if head:
                    group = head[1]
                elif option:
                    values = CONF if group == 'DEFAULT' else CONF[group]
                    self.assertIn(option[1], values, place)
                    values[option[1]]

    def test_lint_has_nothing_to_say_about_a_rule(self):
        for place, block in self.blocks('yaml', 'json'):
            read = yaml.safe_load(block.text)
            rules = read if isinstance(read, list) else [read]
            if not all('actions' in rule for rule in rules):
                continue
            path = self.directory / 'rules.yaml'
            path.write_text(block.text)
            found = [
                each.message
                for each in lint.lint([str(path)], registry.installed())
                if each.is_problem
                and each.check not in ('built-in-only', 'secret')
            ]
            self.assertEqual([], found, place)

    def test_arguments_are_mappings(self):
        for place, block in self.blocks('yaml', 'json', 'console'):
            # What a command prints is that command's affair.
            written = (
                [step.command for step in block.steps]
                if block.language == 'console'
                else [block.text]
            )
            for text in written:
                self.assertNotRegex(text, r'"?args"?: *\[', place)


class PagesTestCase(base.TestCase):
    def setUp(self):
        super().setUp()
        if not REFERENCE.is_dir():
            self.skipTest('not a checkout: no documentation')

    def test_every_page_has_a_line_on_the_page_of_its_folder(self):
        for folder in (
            'admin',
            'cli',
            'configuration',
            'contributor',
            'install',
            'reference',
            'user',
        ):
            directory = REFERENCE.with_name(folder)
            told = set(
                re.findall(
                    r'^:doc:`([^`]+)`\n   \S',
                    directory.joinpath('index.rst').read_text(),
                    re.MULTILINE,
                )
            )
            pages = {path.stem for path in directory.glob('*.rst')}
            # The first rule comes before the language, the tasks after it.
            self.assertEqual(
                pages - {'index', 'first-rule'}, told - {'first-rule'}
            )

    def test_the_architecture_page_names_rooms_and_files_that_exist(self):
        text = (
            REFERENCE.with_name('contributor')
            .joinpath('architecture.rst')
            .read_text()
        )
        package = pathlib.Path(ironic_inspection_rules.__file__).parent
        rooms = {
            str(path.parent.relative_to(package))
            for pattern in (
                '*/__init__.py',
                'engine/*/__init__.py',
                'kit/*/__init__.py',
            )
            for path in package.glob(pattern)
        }
        listed = text.partition('   * - Room')[2].partition('One noun')[0]
        rows = re.findall(r'^   \* - (.+)$', listed, re.MULTILINE)
        self.assertEqual(
            rooms,
            {'engine', 'kit'}
            | {
                room
                for row in rows
                for room in re.findall('``([a-z_/]+)``', row)
            },
        )
        behaviours = text.partition('Where a behaviour lives')[2].partition(
            'Non-goals'
        )[0]
        # A row has its file, or the folder of some, behind the bar.
        rows = re.findall(r'^   (\S.*) \| (.+)$', behaviours, re.MULTILINE)
        self.assertTrue(rows)
        for behaviour, place in rows:
            for name in re.findall('``([^`]+)``', place):
                self.assertTrue(
                    package.joinpath(name).exists()
                    or package.with_name(name).exists(),
                    (behaviour, name),
                )
        for name in re.findall('``([a-z_]+/[a-z_/.-]+)``', text):
            self.assertTrue(
                any(
                    root.joinpath(name).exists()
                    for root in (
                        package,
                        package.parent,
                        package / 'tests' / 'functional',
                    )
                ),
                name,
            )
