# SPDX-License-Identifier: Apache-2.0

"""What the collection of ``deploy/ansible`` takes of this package."""

import ast
import contextlib
import importlib
from importlib import util
import io
import json
import sys
import types
import unittest
from unittest import mock

import fixtures

from ironic_inspection_rules.tests import guide
from ironic_inspection_rules.tests.unit import base
from ironic_inspection_rules.tests.unit.kit.osc import fakes

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


RULE = {
    'uuid': '41a5a1c8-6f6c-4d0f-8c1f-16b9d9e0ee21',
    'description': 'Note the vendor',
    'actions': [{'op': 'log', 'args': {'msg': 'x'}}],
}
STEP = {
    'uuid': RULE['uuid'],
    'description': RULE['description'],
    'outcome': 'created',
    'matched_by': None,
    'fields': [],
}
COLLECTION = 'ansible_collections.ironic.inspection_rules.plugins'


class RuleSetTestCase(base.TestCase):
    """The module ``rule_set``, with a fake of Ironic."""

    def setUp(self):
        super().setUp()
        if not PLUGINS.is_dir():
            self.skipTest('not a checkout: no collection')
        try:
            from ansible.module_utils import basic
        except ImportError:
            self.skipTest('no Ansible')
        self.basic = basic
        self.ironic = fakes.Ironic()
        utilities = types.ModuleType(f'{COLLECTION}.module_utils')
        for name in ('cloud', 'hiding'):
            path = PLUGINS / 'module_utils' / f'{name}.py'
            setattr(utilities, name, self.load(name, path))
        utilities.cloud.connect = lambda module: self.ironic
        self.useFixture(
            fixtures.MonkeyPatch(
                'sys.modules', {**sys.modules, utilities.__name__: utilities}
            )
        )
        path = PLUGINS / 'modules' / 'rule_set.py'
        self.main = self.load('ansible_rule_set', path).main

    def load(self, name, path):
        """Return a Python file of the collection as a module."""
        spec = util.spec_from_file_location(name, path)
        module = util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    def run_module(self, warnings, applied, check_mode=False):
        """Run the module with a rule that Ironic has not.

        :param warnings: the answer to the request for warnings, which is the
            second request for the list of rules.
        :param applied: the answer to the change.
        :returns: what the module returns to Ansible.
        """
        self.ironic.routes['PUT', '/inspection_rules'] = [
            (200, {'revision': 2, 'rules': [STEP]}),
            (200, applied),
        ]
        self.ironic.routes['GET', '/inspection_rules'] = [
            (200, {'inspection_rules': []}),
            warnings,
        ]
        arguments = json.dumps(
            {
                'ANSIBLE_MODULE_ARGS': {
                    'rules': [RULE],
                    '_ansible_check_mode': check_mode,
                }
            }
        )
        self.warnings = []
        printed = io.StringIO()
        with (
            mock.patch.object(self.basic, '_ANSIBLE_ARGS', arguments.encode()),
            mock.patch.object(
                self.basic, '_ANSIBLE_PROFILE', 'legacy', create=True
            ),
            mock.patch.object(self.basic.AnsibleModule, 'log', autospec=True),
            # Ansible keeps warnings for the whole process.
            mock.patch.object(
                self.basic.AnsibleModule,
                'warn',
                lambda module, text: self.warnings.append(text),
            ),
            contextlib.redirect_stdout(printed),
            unittest.TestCase.assertRaises(self, SystemExit),
        ):
            self.main()
        return json.loads(printed.getvalue())

    def check_change(self, result):
        """Check that the module says that the rule is stored."""
        self.assertNotIn('failed', result)
        self.assertIs(True, result['changed'])
        [rule] = result['rules']
        self.assertEqual('created', rule['outcome'])

    def test_warnings_that_cannot_be_read_are_no_failure(self):
        applied = {'revision': 3, 'rules': [STEP]}
        for warnings, reason in (
            ((500, {'error_message': 'database is away'}), 'is away'),
            ((200, None), 'is empty'),
            ((200, {'inspection_rules': [], 'warnings': 5}), 'but 5'),
        ):
            result = self.run_module(warnings, applied)
            self.check_change(result)
            self.assertEqual(3, result['revision'])
            self.assertIn('The rules are in force', str(self.warnings))
            self.assertIn(reason, str(self.warnings))

    def test_a_plan_without_its_warnings_fails(self):
        warnings = (500, {'error_message': 'database is away'})
        result = self.run_module(warnings, {}, check_mode=True)
        self.assertIs(True, result['failed'])
        self.assertIn('database is away', result['msg'])

    def test_a_change_without_a_revision_is_no_failure(self):
        for applied in (
            {'rules': [STEP]},
            {'revision': None, 'rules': [{'outcome': 'created'}]},
            {'revision': 'x', 'rules': [STEP], 'tables': None},
        ):
            result = self.run_module(
                (200, {'inspection_rules': [], 'warnings': ['set it']}),
                applied,
            )
            self.check_change(result)
            self.assertIsNone(result['revision'])
            self.assertIn('The rules are in force', str(self.warnings))
            self.assertIn('set it', str(self.warnings))

    def test_a_change_whose_steps_cannot_be_read_is_no_failure(self):
        for applied in (
            {'revision': 3},
            {'revision': 3, 'rules': None},
            {'revision': 3, 'rules': ['created']},
            {'revision': 3, 'rules': [{}]},
            {'revision': 3, 'rules': [STEP], 'tables': 'all'},
        ):
            result = self.run_module(
                (200, {'inspection_rules': [], 'warnings': []}), applied
            )
            self.check_change(result)
            self.assertEqual(3, result['revision'])
            self.assertIn('does not say what was changed', str(self.warnings))
