# SPDX-License-Identifier: Apache-2.0

"""The example plugin of the documentation works as it says."""

import configparser
import importlib
import json
import pathlib

import fixtures

import ironic_inspection_rules
from ironic_inspection_rules.engine.language import compiler
from ironic_inspection_rules.engine.language import registry
from ironic_inspection_rules.engine.language import validation
from ironic_inspection_rules.engine.run import runner
from ironic_inspection_rules.engine.run import working_copy
from ironic_inspection_rules.kit.authoring import lint
from ironic_inspection_rules.tests.unit import base

EXAMPLE = (
    pathlib.Path(ironic_inspection_rules.__file__)
    .parents[1]
    .joinpath('doc', 'source', 'contributor', 'example-plugin')
)
UUID = '11111111-1111-4111-8111-111111111111'


class ExamplePluginTestCase(base.TestCase):
    def setUp(self):
        super().setUp()
        if not EXAMPLE.is_dir():
            self.skipTest('not a checkout: no documentation')
        self.useFixture(fixtures.PythonPathEntry(str(EXAMPLE)))
        self.setup = configparser.ConfigParser()
        self.setup.read(EXAMPLE / 'setup.cfg')
        self.ops = registry.Registry(
            self.plugins(registry.CONDITIONS), self.plugins(registry.ACTIONS)
        )

    def plugins(self, group):
        """Load what the example's entry points name."""
        lines = self.setup['options.entry_points'][group].split('\n')
        pairs = (line.split(' = ') for line in lines if line)
        loaded = {}
        for name, value in pairs:
            module, attribute = value.split(':')
            loaded[name] = getattr(importlib.import_module(module), attribute)
        return loaded

    def run_rule(self, rule, **node):
        plan = compiler.compile_rule(
            validation.parse({'uuid': UUID, **rule}, self.ops), self.ops
        )
        target = working_copy.WorkingCopy(
            working_copy.Facts({}, {}, {'extra': {}, **node})
        )
        return runner.run([plan], target), target.roots['node']['extra']

    def rule(self, rack, **fields):
        return {
            'conditions': [{'op': 'in-rack', 'args': ['{node.name}', rack]}],
            'actions': [{'op': 'set-rack', 'args': ['{node.name}'], **fields}],
        }

    def test_a_machine_in_the_rack(self):
        outcome, extra = self.run_rule(self.rule('r12'), name='r12-u07')
        self.assertIsNone(outcome.error)
        self.assertEqual({'rack': 'r12', 'unit': 7}, extra)

    def test_a_machine_elsewhere_is_undone(self):
        outcome, extra = self.run_rule(
            self.rule('r12', revert=True),
            name='r1-u07',
            extra={'rack': 'r12', 'unit': 7, 'other': 1},
        )
        self.assertIsNone(outcome.error)
        self.assertEqual({'other': 1}, extra)

    def test_a_name_that_is_none_is_told_when_the_rule_is_made(self):
        (problem,) = validation.validate(
            {'actions': [{'op': 'set-rack', 'args': ['kitchen']}]}, self.ops
        )
        self.assertEqual('/actions/0/args/0', problem.pointer)

    def lint(self, *rules):
        """Return what the checks that know of no op find in rules."""
        path = pathlib.Path(
            self.useFixture(fixtures.TempDir()).path, 'rules.yaml'
        )
        path.write_text(json.dumps(rules), 'utf-8')
        return [
            (each.check, each.message)
            for each in lint.lint([str(path)], self.ops)
        ]

    def test_what_an_op_declares_is_linted(self):
        named = {'name': '{node.name}'}
        rule = {
            'conditions': [
                {'op': 'in-rack', 'args': {**named, 'rack': 'r12'}}
            ],
            'actions': [{'op': 'set-rack', 'args': named}],
        }
        other = {'actions': [{'op': 'set-rack', 'args': {'name': 'r13-u1'}}]}
        ((check, message),) = self.lint(rule, other)
        self.assertEqual('conflict', check)
        self.assertIn('node attribute /extra/rack', message)
        elsewhere = {'op': 'in-rack', 'args': {**named, 'rack': 'r13'}}
        self.assertEqual(
            [], self.lint(rule, {**other, 'conditions': [elsewhere]})
        )
        dead = {**rule, 'conditions': [*rule['conditions'], elsewhere]}
        self.assertEqual(
            ['never-holds'], [check for check, _message in self.lint(dead)]
        )

    def test_a_field_that_is_none_is_an_error(self):
        outcome, _extra = self.run_rule(
            {'actions': [{'op': 'set-rack', 'args': ['{node.name}']}]},
            name='kitchen',
        )
        self.assertIn('kitchen', str(outcome.error))
