# SPDX-License-Identifier: Apache-2.0

"""What the collection of ``deploy/ansible`` takes of this package."""

import ast
import importlib

from ironic_inspection_rules.tests import guide
from ironic_inspection_rules.tests.unit import base

PLUGINS = guide.ROOT / 'deploy' / 'ansible' / 'plugins'


class ImportsTestCase(base.TestCase):

    def test_what_modules_use_is_there(self):
        used = 0
        for path in PLUGINS.rglob('*.py'):
            tree = ast.parse(path.read_text())
            imported = {
                name.name: importlib.import_module(
                    f'{node.module}.{name.name}')
                for node in ast.walk(tree)
                if isinstance(node, ast.ImportFrom)
                and node.module.startswith('ironic_inspection_rules')
                for name in node.names}
            for node in ast.walk(tree):
                if isinstance(node, ast.Attribute) and isinstance(
                        node.value, ast.Name) and node.value.id in imported:
                    self.assertTrue(
                        hasattr(imported[node.value.id], node.attr),
                        f'{path}:{node.lineno}')
                    used += 1
        self.assertTrue(used > 10 or not PLUGINS.is_dir())

    def test_modules_need_no_client_of_the_command_line(self):
        # They run where openstacksdk is, and mostly nothing else.
        for path in PLUGINS.rglob('*.py'):
            self.assertNotIn('ironic_inspection_rules.osc', path.read_text())
