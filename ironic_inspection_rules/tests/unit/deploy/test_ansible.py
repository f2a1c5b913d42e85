# SPDX-License-Identifier: Apache-2.0

"""What the collection of ``deploy/ansible`` takes of this package."""

import ast
import contextlib
import importlib
from importlib import util
import io
import json
import unittest
from unittest import mock

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
                    f'{node.module}.{name.name}'
                )
                for node in ast.walk(tree)
                if isinstance(node, ast.ImportFrom)
                and node.module.startswith('ironic_inspection_rules')
                for name in node.names
            }
            for node in ast.walk(tree):
                if (
                    isinstance(node, ast.Attribute)
                    and isinstance(node.value, ast.Name)
                    and node.value.id in imported
                ):
                    self.assertTrue(
                        hasattr(imported[node.value.id], node.attr),
                        f'{path}:{node.lineno}',
                    )
                    used += 1
        self.assertTrue(used > 10 or not PLUGINS.is_dir())

    def test_modules_need_no_client_of_the_command_line(self):
        # They run where openstacksdk is, and mostly nothing else.
        for path in PLUGINS.rglob('*.py'):
            self.assertNotIn(
                'ironic_inspection_rules.kit.osc', path.read_text()
            )


SECRET = {
    'description': 'Credentials',
    'sensitive': True,
    'vars': {'user': 'r00t'},
    'conditions': [{'op': 'eq', 'args': ['{node.name}', 'm4chine']}],
    'actions': [
        {
            'op': 'set-attribute',
            'args': {'path': '/driver_info/p4ssword', 'value': 'xyz'},
        }
    ],
}
SECRETS = ('r00t', 'm4chine', 'p4ssword', 'xyz')


class HidingTestCase(base.TestCase):
    """What Ansible prints and logs of the options of a module."""

    def setUp(self):
        super().setUp()
        path = PLUGINS / 'module_utils' / 'hiding.py'
        if not path.exists():
            self.skipTest('not a checkout: no collection')
        try:
            from ansible.module_utils import basic
        except ImportError:
            self.skipTest('no Ansible')
        self.basic = basic
        spec = util.spec_from_file_location('hiding', path)
        self.hiding = util.module_from_spec(spec)
        spec.loader.exec_module(self.hiding)

    def run_module(self, body, **params):
        """Run a module, and return what it prints and what it logs."""
        logged = []
        printed = io.StringIO()
        arguments = json.dumps({'ANSIBLE_MODULE_ARGS': params}).encode()
        with (
            mock.patch.object(self.basic, '_ANSIBLE_ARGS', arguments),
            mock.patch.object(
                self.basic, '_ANSIBLE_PROFILE', 'legacy', create=True
            ),
            mock.patch.object(
                self.basic.AnsibleModule,
                'log',
                lambda module, text, **kwargs: logged.append(
                    f'{text} {kwargs}'
                ),
            ),
            contextlib.redirect_stdout(printed),
            unittest.TestCase.assertRaises(self, SystemExit),
        ):
            module = self.hiding.HidingModule(
                {'rules': {'type': 'list', 'elements': 'dict'}, 'message': {}}
            )
            body(module)
        return printed.getvalue(), '\n'.join(logged)

    def check(self, body, **params):
        """Check that nothing is shown, and return what is printed."""
        printed, logged = self.run_module(body, **params)
        for secret in SECRETS:
            self.assertNotIn(secret, printed)
            self.assertNotIn(secret, logged)
        return printed, logged

    def test_the_options_show_nothing(self):
        taken = []

        def body(module):
            taken.extend(module.params['rules'])
            module.exit_json(changed=True)

        open_rule = {
            'description': 'Open',
            'actions': [{'op': 'log', 'args': ['seen']}],
        }
        printed, logged = self.check(body, rules=[SECRET, open_rule])

        self.assertEqual([SECRET, open_rule], taken)
        given = json.loads(printed)['invocation']['module_args']['rules']
        self.assertEqual(open_rule, given[1])
        self.assertEqual('Credentials', given[0]['description'])
        self.assertIn('Credentials', logged)

    def test_options_that_are_refused_show_nothing(self):
        printed, _logged = self.check(
            lambda module: None, rules=[SECRET], nonsense=1
        )
        self.assertIn('nonsense', printed)

    def test_texts_of_other_results_show_nothing(self):
        def body(module):
            module.warn('/driver_info/p4ssword is no field')
            module.fail_json('the value of m4chine is wrong')

        printed, _logged = self.check(body, rules=[SECRET])
        self.assertIn('is wrong', printed)

    def test_files_show_nothing(self):
        def body(module):
            module.hide([SECRET])
            module.fail_json('what is m4chine?')

        self.check(body, message='x')

    def test_in_doubt_a_rule_is_not_shown(self):
        def body(module):
            module.exit_json(changed=False)

        for value in ('yes', 'True', 1, 'nonsense', ['x']):
            self.check(body, rules=[{**SECRET, 'sensitive': value}])
        self.check(body, rules=json.dumps([SECRET]))
        for value in (False, None, 'no', 'False', 0):
            printed, _logged = self.run_module(
                body, rules=[{**SECRET, 'sensitive': value}]
            )
            self.assertIn('m4chine', printed)
