# SPDX-License-Identifier: Apache-2.0

"""The page of differences from the specifications is true.

A comment in each row of its tables names the tests of what the row says, or
why there is none::

    .. probe: <file in tests> <name of the test in it>
    .. no probe: <why>
"""

from importlib import metadata
import json
import pathlib
import re

from ironic.conf import CONF
from openstack.baremetal.v1 import _proxy
from osc_lib import exceptions as osc_exceptions
import yaml

import ironic_inspection_rules
from ironic_inspection_rules import conf
from ironic_inspection_rules.db import models
from ironic_inspection_rules.engine.language import model
from ironic_inspection_rules.engine.language.secrecy import masking
from ironic_inspection_rules.engine.run import evaluation
from ironic_inspection_rules.engine.run import working_copy
from ironic_inspection_rules.kit.client import inspection_rule as client
from ironic_inspection_rules.kit.osc import inspection_rule
from ironic_inspection_rules.kit.trial import machine_test
from ironic_inspection_rules.queue import state
from ironic_inspection_rules.tests.unit import base
from ironic_inspection_rules.tests.unit.kit.osc import fakes

TESTS = pathlib.Path(ironic_inspection_rules.__file__).with_name('tests')
PAGE = TESTS.parents[1].joinpath(
    'doc', 'source', 'reference', 'differences-from-the-specifications.rst'
)
UUID = '11111111-1111-4111-8111-111111111111'


class PageTestCase(base.TestCase):
    def setUp(self):
        super().setUp()
        if not PAGE.is_file():
            self.skipTest('not a checkout: no documentation')

    def rows(self):
        """Return the rows of all tables, without their heads."""
        for table in PAGE.read_text().split('.. list-table::')[1:]:
            rows = re.split(r'^   \* - ', table, flags=re.MULTILINE)
            yield from rows[2:]

    def test_every_row_names_its_tests_or_why_there_is_none(self):
        for row in self.rows():
            self.assertRegex(row, r'\n +\.\. (?:no )?probe: \S')

    def test_every_named_test_exists(self):
        named = [
            found
            for row in self.rows()
            for found in re.findall(
                r'^ +\.\. probe: (\S+) (.+)$', row, re.MULTILINE
            )
        ]
        self.assertGreater(len(named), len(list(self.rows())))
        for path, test in named:
            text = TESTS.joinpath(path).read_text()
            if path.endswith('.yaml'):
                there = [
                    each['name'] for each in yaml.safe_load(text)['tests']
                ]
            else:
                there = re.findall(r'^    def (\w+)', text, re.MULTILINE)
            self.assertIn(test, there, path)


class RulesTestCase(base.IronicTestCase):
    def evaluate(self, rule, **node):
        return evaluation.evaluate(
            machine_test.compile_rules(
                [model.Rule.from_mapping({'uuid': UUID, **rule})]
            ),
            working_copy.Facts({}, {}, node),
        )

    def test_actions_are_not_undone_by_default(self):
        rule = {
            'conditions': [{'op': 'eq', 'args': {'values': [1, 2]}}],
            'actions': [
                {
                    'op': 'set-attribute',
                    'args': {'path': '/extra/a', 'value': 1},
                }
            ],
        }
        node = {'extra': {'a': 1}, 'traits': []}
        self.assertEqual((), self.evaluate(rule, **node).changes)
        rule['actions'][0]['revert'] = True
        self.assertEqual(
            ['remove'],
            [change.op for change in self.evaluate(rule, **node).changes],
        )

    def test_secrets_are_masked_not_removed(self):
        conditions = [
            {
                'op': 'exists',
                'args': {'value': '{node.driver_info.ipmi_password}'},
            },
            {
                'op': 'eq',
                'args': {
                    'values': [
                        '{node.driver_info.ipmi_password}',
                        masking.MASK,
                    ]
                },
            },
        ]
        matched = self.evaluate(
            {
                'conditions': conditions,
                'actions': [{'op': 'log', 'args': {'msg': 'x'}}],
            },
            driver_info={'ipmi_password': 's3cret'},
        )
        self.assertEqual([True], [each.matched for each in matched.traces])

    def test_the_table_of_rules(self):
        columns = models.RuleRow.__table__.columns
        self.assertEqual(
            ['id'], [each.name for each in columns if each.primary_key]
        )
        self.assertEqual(
            (True, False, True),
            (
                columns['created_at'].nullable,
                columns['phase'].nullable,
                columns['uuid'].unique,
            ),
        )

    def test_the_default_of_supported_interfaces(self):
        conf.register_opts(CONF)
        self.assertEqual(
            '^(agent|inspector|redfish|idrac-redfish)$',
            CONF.inspection_rules.supported_interfaces,
        )

    def test_a_request_has_no_state_of_reapplying(self):
        self.assertEqual(
            ('starting', 'waiting', 'processing', 'finished', 'error'),
            state.STATES,
        )


class ClientTestCase(base.TestCase):
    def run_edit(self, *words):
        ironic = fakes.Ironic()
        command = inspection_rule.EditInspectionRule(fakes.App(ironic), None)
        parsed = command.get_parser('openstack').parse_args(words)
        return ironic, lambda: command.run(parsed)

    def test_the_client_has_these_commands(self):
        ours = {
            each.name
            for each in metadata.entry_points(group='openstack.baremetal.v1')
            if each.module.startswith('ironic_inspection_rules.')
        }
        for name in ('purge', 'edit'):
            self.assertIn(f'baremetal_inspection_rule_{name}', ours)
        self.assertNotIn('baremetal_inspection_rule_delete', ours)

    def test_edit_has_every_field(self):
        ironic, run = self.run_edit(
            '--conditions', '[]', '--scope', '', '--sensitive', UUID
        )
        ironic.routes['PATCH', f'/inspection_rules/{UUID}'] = (
            200,
            {'uuid': UUID},
        )
        run()
        (asked,) = ironic.asked('PATCH', f'/inspection_rules/{UUID}')
        self.assertEqual(
            {'/conditions': [], '/scope': None, '/sensitive': True},
            {each['path']: each['value'] for each in asked['json']},
        )
        for name in model.WRITABLE:
            self.run_edit(
                f'--{name}',
                *(
                    []
                    if name == 'sensitive'
                    else [{'phase': 'main', 'mode': 'audit'}.get(name, '5')]
                ),
            )

    def test_the_uuid_of_a_rule_cannot_be_changed(self):
        ironic, run = self.run_edit('--uuid', UUID, UUID)
        error = self.assertRaises(osc_exceptions.CommandError, run)
        self.assertIn('cannot be changed', str(error))
        self.assertEqual([], ironic.calls)
        ironic, run = self.run_edit(
            '--uuid',
            UUID,
            '--actions',
            json.dumps([{'op': 'log', 'args': {'msg': 'x'}}]),
        )
        ironic.routes['POST', '/inspection_rules'] = 201, {'uuid': UUID}
        run()
        (asked,) = ironic.asked('POST', '/inspection_rules')
        self.assertEqual(UUID, asked['json']['uuid'])

    def test_functions_that_the_sdk_lacks(self):
        for name in ('inspection_rules', 'delete_all_inspection_rules'):
            self.assertTrue(callable(getattr(client, name)), repr(name))
        self.assertFalse(hasattr(_proxy.Proxy, 'delete_all_inspection_rules'))
