# SPDX-License-Identifier: Apache-2.0

"""Every block of the documentation as a reader sees it: linted, and run.

Commands are run by integration's test_documents, from the sources; here it
is checked that the pages show these commands, and nothing that no test
knows.
"""

import importlib.util
import pathlib
import textwrap
import unittest

import fixtures
import yaml

from ironic_inspection_rules.engine.language import interpolation
from ironic_inspection_rules.engine.language import registry
from ironic_inspection_rules.kit.authoring import lint
from ironic_inspection_rules.kit.machine import machine_file
from ironic_inspection_rules.kit.trial import expectation
from ironic_inspection_rules.tests import guide
from ironic_inspection_rules.tests import rendered
from ironic_inspection_rules.tests.corpus import case as corpus
from ironic_inspection_rules.tests.corpus import checks
from ironic_inspection_rules.tests.unit import base

OF_OTHERS = {
    ('admin/pxe-filter', 'ini'): 'tests/unit/test_systemd.py reads the unit',
    (
        'cli/ironic-inspection-rules',
        'shell',
    ): 'cliff writes it from the parsers',
    ('cli/openstack-baremetal', 'shell'): 'cliff writes it from the parsers',
    (
        'contributor/architecture',
        'python',
    ): 'tests/unit/test_imports.py, tests/functional/test_pages.py',
    ('contributor/contributing', 'console'): 'they make environments',
    ('contributor/plugins', 'ini'): 'tests/unit/test_example_plugin.py',
    ('contributor/plugins', 'python'): 'tests/unit/test_example_plugin.py',
}
"""Blocks that are part of no source, by page and language, and who has them.

They are included from other files, or written by a directive. All other
blocks say in their source why they are not run.
"""

GIVEN = (
    'node',
    'inventory',
    'plugin_data',
    'ports',
    'port_groups',
    'previous',
    'scope',
)
RESULTS = (
    'holds',
    'matched',
    'changes',
    'after',
    'gone',
    'notes',
    'error',
    'fails',
)
"""What the comments of an example say, as in a case of the corpus."""

_RULE = {'vars', 'conditions', 'actions'}
_NOTHING = 'actions:\n- op: log\n  args: {msg: x}\n'
_MACHINE = {'inventory', 'plugin_data'}


@unittest.skipUnless(
    importlib.util.find_spec('sphinx') and guide.pages(),
    'no Sphinx, or no documentation',
)
class RenderedTestCase(checks.Checks, base.TestCase):
    """Blocks by their language."""

    def setUp(self):
        super().setUp()
        self.directory = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        self.written = {}
        for path in guide.pages():
            page = guide.Page(path)
            for block in page.blocks:
                self.written.setdefault(_key(block), []).append((page, block))

    def blocks(self, *languages):
        """Return the rendered blocks of these languages, all if none."""
        found = [
            block
            for block in rendered.blocks()
            if not languages or block.language in languages
        ]
        self.assertTrue(found)
        return found

    def sources(self, block):
        """Return the pages and blocks that a rendered block is made of."""
        return self.written.get(_key(block), [])

    def is_not_run(self, block):
        """Return whether a page, or the table here, says why it is not."""
        sources = self.sources(block)
        if not sources:
            return (block.page, block.language) in OF_OTHERS
        return any(source.reason for _page, source in sources)

    def test_every_language_is_known(self):
        self.assertEqual(
            set(),
            {
                (block.page, block.language)
                for block in self.blocks()
                if block.language
                not in (
                    'console',
                    'ini',
                    'json',
                    'python',
                    'shell',
                    'text',
                    'yaml',
                )
            },
        )

    def test_what_is_not_run_is_there(self):
        shown = {(block.page, block.language) for block in self.blocks()}
        self.assertEqual(set(), OF_OTHERS.keys() - shown)

    def test_commands_and_files_are_those_that_are_run(self):
        for block in self.blocks('console', 'ini', 'python', 'shell'):
            if not self.is_not_run(block):
                self.assertTrue(self.sources(block), block)

    def test_text_that_is_not_run_is_fields(self):
        for block in self.blocks('text'):
            if not self.is_not_run(block):
                for line in block.text.splitlines():
                    field = interpolation.sole_field(line)
                    self.assertIsNotNone(field, block)
                    self.assertIsNone(field.problem, block)

    def test_data_are_something_that_is_known(self):
        for block in self.blocks('yaml', 'json'):
            if self.is_not_run(block):
                continue
            value = yaml.safe_load(block.text)
            path = self.directory / 'file.yaml'
            path.write_text(block.text)
            if _is_rules(value):
                self.check_lint(block, value)
                self.check_run(block, value)
            elif _is_expectation(value):
                self.assertEqual(value, expectation.load(str(path)), block)
            elif isinstance(value, dict) and _MACHINE & value.keys():
                self.assertTrue(machine_file.load(str(path)).inventory, block)
            else:
                self.check_is_used(block)

    def check_lint(self, block, value):
        path = self.directory / 'rules.yaml'
        text = block.text
        if isinstance(value, dict) and 'actions' not in value:
            text += _NOTHING
        path.write_text(text)
        found = [
            each.message
            for each in lint.lint([str(path)], registry.installed())
            if each.is_problem
            and each.check not in ('built-in-only', 'secret')
        ]
        self.assertEqual([], found, block)

    def check_run(self, block, value):
        """Run rules on the machine in their comments."""
        given, results = guide.comments(block.text)
        self.assertEqual(set(), given.keys() - set(GIVEN), block)
        self.assertEqual(set(), results.keys() - set(RESULTS), block)
        rules = (
            {'rules': value} if isinstance(value, list) else {'rule': value}
        )
        case = corpus.Case(
            block.page,
            block.text,
            {'name': block.text, **rules, **given, **results},
        )
        if any(
            'action' in action
            for rule in case.rules
            for action in rule['actions']
        ):
            # Rules of ironic-inspector, which the page converts.
            self.check_is_used(block)
            return
        self.assertEqual([], corpus.problems(case), block)
        result = corpus.run(case)
        if results:
            self.check_result(case, result)
        if 'holds' in results:
            self.check_opposite(case)

    def check_is_used(self, block):
        """Check that a command of the page reads this file."""
        used = [
            block
            for page, block in self.sources(block)
            if block.caption
            and any(block.caption in step.command for step in page.steps)
        ]
        self.assertTrue(used, f'nobody knows what to do with {block}')


def _key(block):
    """Return what a block has in common with the source of it."""
    return block.language, textwrap.dedent(block.text).strip()


def _is_rules(value):
    """Return whether these are rules, or the larger part of one."""
    found = value if isinstance(value, list) else [value]
    return all(isinstance(rule, dict) and _RULE & set(rule) for rule in found)


def _is_expectation(value):
    """Return whether this is what is expected of machines."""
    return isinstance(value, dict) and all(
        isinstance(of_machine, dict) and 'result' in of_machine
        for of_machine in value.values()
    )
