# SPDX-License-Identifier: Apache-2.0

"""Some machine makes each condition of the recipes true, and false."""

import contextlib
import io
import json
import pathlib

import fixtures

from ironic_inspection_rules.kit.command import shell
from ironic_inspection_rules.tests import guide
from ironic_inspection_rules.tests.unit import base

MACHINES = pathlib.Path(__file__).with_name('recipes')

PAGES = ('doc/source/user/cookbook.rst', 'doc/source/user/traits.rst')

SAMPLES = (
    'tools/samples/rules.yaml',
    'api-ref/source/samples/inspection-rule-create-request.json',
)


class CoverageTestCase(base.TestCase):
    def setUp(self):
        super().setUp()
        if not guide.pages():
            self.skipTest('not a checkout: no documentation')

    def cover(self, path):
        """Return the exit status of the command, and what it says."""
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            status = shell.main(
                [
                    'test',
                    str(path),
                    '--inventory',
                    str(MACHINES / 'machines'),
                    '--node',
                    str(MACHINES / 'nodes'),
                    '--coverage',
                    '--threshold',
                    '100',
                ]
            )
        return status, output.getvalue()

    def assert_covered(self, path, place):
        status, output = self.cover(path)
        self.assertEqual(0, status, f'{place}\n{output}')

    def test_each_recipe_is_covered(self):
        directory = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        count = 0
        for name in PAGES:
            for block in guide.Page(name).blocks:
                if block.language in ('yaml', 'json') and (
                    block.reason is None
                    and not block.is_example
                    and 'actions' in block.text
                ):
                    path = directory / f'{count}.yaml'
                    path.write_text(block.text)
                    self.assert_covered(path, f'{name}:{block.line}')
                    count += 1
        self.assertLess(6, count)

    def test_the_samples_are_covered(self):
        for name in SAMPLES:
            self.assert_covered(guide.ROOT / name, name)

    def test_what_no_machine_reaches_is_told(self):
        directory = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        path = directory / 'rules.json'
        path.write_text(
            json.dumps(
                [
                    {
                        'conditions': [
                            {
                                'op': 'is-none',
                                'args': {
                                    'value': '{inventory.memory.physical_mb}'
                                },
                            }
                        ],
                        'actions': [{'op': 'log', 'args': {'msg': 'x'}}],
                    }
                ]
            )
        )
        status, output = self.cover(path)
        self.assertEqual(3, status)
        self.assertIn('never true', output)
