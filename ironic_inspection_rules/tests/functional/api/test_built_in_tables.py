# SPDX-License-Identifier: Apache-2.0

"""Tables of the file of built-in rules, through the API."""

import json

import fixtures
from ironic.common import context

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.inspection import start
from ironic_inspection_rules.tests.functional.api import application
from ironic_inspection_rules.tests.functional.api import test_tables
from ironic_inspection_rules.tests.unit import base

RULE = {
    **test_tables.RULE,
    'uuid': '00000001-0000-4000-8000-00000000000a',
    'description': 'Rack of the built-in table',
    'vars': {'row': '{tables.built | row}'},
}
BUILT = {
    'key': 'serial',
    'of': '{inventory.serial}',
    'secret': ['pin'],
    'rows': [{'serial': 'SN-1', 'rack': 'b1', 'pin': test_tables.PIN}],
}
OTHER = {'key': 'n', 'rows': [{'n': 1}]}


class BuiltInTablesTestCase(test_tables.Base):
    def setUp(self):
        base.TestCase.setUp(self)
        self.path = self.useFixture(fixtures.TempDir()).join('rules.json')
        self.write({'rules': [RULE], 'tables': {'built': BUILT}})
        self.app = self.useFixture(
            application.Application(
                {'inspection_rules': {'built_in': self.path}}
            )
        ).app
        self.context = context.get_admin_context()

    def write(self, content):
        with open(self.path, 'w', encoding='utf-8') as stream:
            json.dump(content, stream)

    def racks(self, serial='SN-1'):
        answer = self.call(
            'POST', '/evaluate', {'inventory': {'serial': serial}}
        )
        return [change['value'] for change in answer['changes']]

    def test_in_force_from_the_start(self):
        self.assertEqual(['b1'], self.racks())
        (shown,) = self.call('GET', '/v1/inspection_tables')['tables']
        self.assertEqual(
            ('built', True, None, 1),
            tuple(
                shown[name]
                for name in ('name', 'built_in', 'revision', 'size')
            ),
        )
        self.assertEqual(
            [{'key': 'SN-1', 'row': {'serial': 'SN-1', 'rack': 'b1'}}],
            self.call('GET', '/v1/inspection_tables/built')['rows'],
        )

    def test_stored_table_of_the_same_name_is_refused(self):
        for query in ('', '?prune=false', '?dry_run=true'):
            answer = self.put(
                rules=[], path=query, tables={'built': BUILT}, status=400
            )
            self.assertIn('/tables/built', str(answer))
        self.call(
            'POST',
            '/evaluate',
            {'inventory': {}, 'tables': {'built': BUILT}},
            status=400,
        )

    def test_they_stay_with_prune(self):
        self.put(rules=[], tables={'other': OTHER})
        answer = self.put(rules=[], tables={})
        self.assertEqual(
            [('other', 'deleted')],
            [(step['name'], step['outcome']) for step in answer['tables']],
        )
        self.assertEqual(['built'], self.names())
        self.assertEqual(['b1'], self.racks())
        self.call('POST', '/revisions/0/restore')
        self.call('POST', '/revisions/1/restore')
        self.assertEqual(['built', 'other'], self.names())
        answer = self.call(
            'POST',
            '/evaluate',
            {
                'inventory': {'serial': 'SN-1'},
                'rules': [],
                'tables': {},
                'prune': True,
            },
        )
        self.assertEqual(1, len(answer['changes']))

    def test_stored_rules_read_them(self):
        rule = {
            **RULE,
            'uuid': None,
            'description': 'stored',
            'actions': [
                {
                    'op': 'set-attribute',
                    'args': ['/extra/r', '{vars.row.rack}'],
                }
            ],
        }
        self.call('POST', body=rule, status=201)
        self.put(rules=[rule], tables={})
        self.put(rules=[rule])
        self.assertEqual(['b1', 'b1'], self.racks())

    def test_revisions_have_stored_tables_only(self):
        self.put(rules=[], tables={'other': OTHER})
        self.assertEqual(
            ['other'],
            [
                found['name']
                for found in self.call('GET', '/revisions/1')['tables']
            ],
        )

    def test_stored_twin_is_told_at_the_start(self):
        self.put(rules=[], tables={'other': OTHER})
        self.write({'rules': [], 'tables': {'other': OTHER}})
        start.rules.cache_clear()
        self.assertRaises(exceptions.InspectionRulesError, start.rules)

    def test_built_in_rule_reads_no_stored_table(self):
        self.put(
            rules=[], tables={'other': {**OTHER, 'of': '{inventory.serial}'}}
        )
        self.write(
            {'rules': [{**RULE, 'vars': {'row': '{tables.other | row}'}}]}
        )
        start.rules.cache_clear()
        self.assertRaises(exceptions.InspectionRulesError, start.rules)
