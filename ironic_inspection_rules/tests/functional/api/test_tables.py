# SPDX-License-Identifier: Apache-2.0

"""Tables of the rule set, through the API."""

import copy
import json
from unittest import mock

from ironic.common import context
import webob

from ironic_inspection_rules.api import table_set
from ironic_inspection_rules.inspection import start
from ironic_inspection_rules.objects import rule as rule_object
from ironic_inspection_rules.tests.functional.api import application
from ironic_inspection_rules.tests.unit import base

PIN = 'canary-of-a-pin'
MACHINES = {
    'key': '{serial | upper}',
    'of': '{inventory.serial | upper}',
    'types': {'cpus': 'integer'},
    'secret': ['pin'],
    'expect': {'cpus': '{inventory.cpu.count}'},
    'rows': [
        {'serial': 'a1', 'cpus': 4, 'rack': 'r1', 'pin': PIN},
        {'serial': 'b2', 'cpus': None, 'rack': 'r2', 'pin': ''},
    ],
}
RULE = {
    'description': 'Rack',
    'vars': {'row': '{tables.machines | row}'},
    'conditions': [{'op': 'exists', 'args': ['{vars.row}']}],
    'actions': [
        {'op': 'set-attribute', 'args': ['/extra/rack', '{vars.row.rack}']}
    ],
}
CREDENTIALS = {
    'description': 'Credentials',
    'sensitive': True,
    'vars': {'row': '{tables.machines | row}'},
    'conditions': [{'op': 'exists', 'args': ['{vars.row}']}],
    'actions': [
        {
            'op': 'set-attribute',
            'args': ['/driver_info/ipmi_password', '{vars.row.pin}'],
        }
    ],
}


def exported(**changes):
    """Return the table as an export has it: without secret columns."""
    rows = [
        {column: value for column, value in row.items() if column != 'pin'}
        for row in MACHINES['rows']
    ]
    return {**MACHINES, 'rows': rows, **changes}


class Base(base.TestCase):
    def setUp(self):
        super().setUp()
        self.app = self.useFixture(application.Application()).app
        self.context = context.get_admin_context()

    def call(self, method, path='', body=None, status=200, version='1.96'):
        request = webob.Request.blank(
            path if path.startswith('/v1') else f'/v1/inspection_rules{path}',
            method=method,
            headers={'X-OpenStack-Ironic-API-Version': version},
        )
        if body is not None:
            request.content_type = 'application/json'
            request.json = body
        answer = request.get_response(self.app)
        self.assertEqual(status, answer.status_int, answer.text[:2000])
        self.assertNotIn(PIN, answer.text)
        return answer.json if answer.body else None

    def put(self, rules=(RULE,), path='', status=200, **members):
        return self.call(
            'PUT', path, {'rules': list(rules), **members}, status
        )

    def names(self):
        return [
            found['name']
            for found in self.call('GET', '/v1/inspection_tables')['tables']
        ]

    def table(self, name='machines'):
        """Return a table as processes have it, with its secrets."""
        return start.rules().refresh(self.context).tables[name]

    def pins(self):
        return [row.get('pin') for row in self.table().rows]


class PutTestCase(Base):
    def setUp(self):
        super().setUp()
        self.put(tables={'machines': MACHINES})

    def test_rules_and_tables_are_one_revision(self):
        self.assertEqual(['machines'], self.names())
        revision = self.call('GET', '/revisions')['revisions'][0]
        self.assertEqual(1, revision['revision'])
        self.assertIn(
            {
                'table': 'machines',
                'outcome': 'created',
                'rows': {'new': 2, 'changed': 0, 'gone': 0},
            },
            revision['changes'],
        )

    def test_without_the_member_all_tables_stay(self):
        self.assertEqual([], self.put()['tables'])
        self.put(tables=None)
        self.assertEqual(['machines'], self.names())

    def test_unchanged_tables_make_no_revision(self):
        answer = self.put(tables={'machines': MACHINES})
        self.assertEqual(1, answer['revision'])
        self.assertEqual(
            ['unchanged'], [step['outcome'] for step in answer['tables']]
        )

    def test_a_column_that_is_there_twice_changes_nothing(self):
        text = json.dumps({'rules': [RULE], 'tables': {'machines': MACHINES}})
        for twice, place in (
            (
                text.replace('"rack": "r1"', '"rack": "r1", "rack": "r9"'),
                '/tables/machines/rows/0/rack',
            ),
            (
                text.replace('"actions":', '"actions": [], "actions":'),
                '/rules/0/actions',
            ),
            (
                text.replace('"key":', '"rows": [], "key":'),
                '/tables/machines/rows',
            ),
        ):
            request = webob.Request.blank(
                '/v1/inspection_rules',
                method='PUT',
                body=twice.encode(),
                headers={'X-OpenStack-Ironic-API-Version': '1.96'},
                content_type='application/json',
            )
            answer = request.get_response(self.app)
            self.assertEqual(400, answer.status_int, answer.text)
            self.assertIn(f'is there twice ({place})', answer.text)
        self.assertEqual('r1', self.table().row('A1')['rack'])

    def test_tables_that_are_not_named_go(self):
        self.put(rules=[], tables={})
        self.assertEqual([], self.names())

    def test_without_prune_they_stay(self):
        other = {'key': 'n', 'rows': [{'n': 1}]}
        self.put(path='?prune=false', tables={'other': other})
        self.assertEqual(['machines', 'other'], self.names())
        self.put(path='?prune=false', tables={})
        self.assertEqual(['machines', 'other'], self.names())

    def test_table_that_a_rule_reads_does_not_go(self):
        self.put(tables={}, status=400)
        self.put(rules=[], path='?prune=false', tables={}, status=200)
        self.assertEqual(['machines'], self.names())

    def test_column_that_a_rule_reads_does_not_go(self):
        rows = [{'serial': 'a1', 'cpus': 1}]
        answer = self.put(
            tables={'machines': {**MACHINES, 'rows': rows}}, status=400
        )
        self.assertIn('rack', str(answer))
        self.assertEqual(2, len(self.table()))

    def test_column_that_a_rule_reads_which_stays(self):
        rows = [{'serial': 'a1', 'cpus': 1}]
        answer = self.put(
            rules=[],
            path='?prune=false',
            tables={'machines': {**MACHINES, 'rows': rows}},
            status=400,
        )
        self.assertIn('rack', str(answer))
        self.put(
            rules=[],
            path='?prune=false',
            tables={'machines': {**MACHINES, 'of': None}},
            status=400,
        )
        self.assertEqual(2, len(self.table()))

    def test_rules_that_stay_are_named_beside_bad_ones(self):
        rows = [{'serial': 'a1', 'cpus': 1}]
        answer = self.put(
            rules=[{'description': 'New', 'actions': [{'op': 'lgo'}]}],
            path='?prune=false',
            tables={'machines': {**MACHINES, 'rows': rows}},
            status=400,
        )
        self.assertIn('lgo', str(answer))
        self.assertIn('stays: ', str(answer))
        self.assertIn('rack', str(answer))

    def test_problem_of_a_sensitive_rule_does_not_tell_what_it_reads(self):
        self.put(rules=[CREDENTIALS])
        answer = self.put(
            rules=[],
            path='?prune=false',
            tables={'machines': {**exported(secret=[]), 'expect': {}}},
            status=400,
        )
        self.assertNotIn('pin', str(answer))

    def test_rules_and_tables_that_are_equal_make_no_revision(self):
        shown = self.call('GET', '?detail=true')['inspection_rules']
        self.assertEqual(
            1,
            self.put(rules=shown, tables={'machines': exported()})['revision'],
        )
        self.assertEqual(1, len(self.call('GET', '/revisions')['revisions']))

    def test_secret_column_between_others_comes_back_to_its_place(self):
        rows = [
            {'serial': 'a1', 'pin': PIN, 'cpus': 4, 'rack': 'r1'},
            {'serial': 'd4', 'cpus': 4, 'rack': 'r2'},
            {'serial': 'c3', 'rack': 'r3', 'pin': PIN},
        ]
        self.put(tables={'machines': {**MACHINES, 'rows': rows}})
        shown = self.call('GET', '/v1/inspection_tables/machines')['rows']
        (step,) = self.put(
            tables={
                'machines': {
                    **MACHINES,
                    'rows': [found['row'] for found in shown],
                }
            }
        )['tables']
        self.assertEqual('unchanged', step['outcome'])
        self.assertEqual([PIN, None, PIN], self.pins())

    def test_table_alone_makes_one_revision(self):
        rows = [{**MACHINES['rows'][0], 'rack': 'r9'}]
        answer = self.put(tables={'machines': {**MACHINES, 'rows': rows}})
        self.assertEqual(2, answer['revision'])
        revision = self.call('GET', '/revisions')['revisions'][0]
        self.assertEqual(
            [
                {
                    'table': 'machines',
                    'outcome': 'updated',
                    'rows': {'new': 0, 'changed': 1, 'gone': 1},
                }
            ],
            revision['changes'],
        )
        self.call('DELETE', status=204)
        self.call('POST', '/revisions/1/restore')
        self.assertEqual([PIN, ''], self.pins())
        self.call('POST', '/revisions/0/restore')
        self.assertEqual([], self.names())

    def test_new_secret_alone_is_a_change_that_is_not_shown(self):
        rows = [
            {**MACHINES['rows'][0], 'pin': PIN + '-new'},
            MACHINES['rows'][1],
        ]
        (step,) = self.put(tables={'machines': {**MACHINES, 'rows': rows}})[
            'tables'
        ]
        self.assertEqual(
            [
                {
                    'key': 'A1',
                    'before': {'pin': '******'},
                    'after': {'pin': '******'},
                }
            ],
            step['changed'],
        )
        self.assertEqual([PIN + '-new', ''], self.pins())

    def test_errors_do_not_show_secrets(self):
        for bad in (
            {'types': {'pin': 'integer'}},
            {'rows': [{'serial': 'a', 'pin': PIN + '\0'}]},
            {'key': '{pin}'},
        ):
            self.put(tables={'machines': {**MACHINES, **bad}}, status=400)

    def test_slip_in_secret_is_refused_with_the_near_name(self):
        answer = self.put(
            tables={'machines': {**MACHINES, 'secret': ['pinn']}}, status=400
        )
        self.assertIn('did you mean', str(answer))

    def test_near_names(self):
        for bad, near in (
            ({'types': {'cpu': 'integer'}}, 'cpus'),
            ({'types': {'cpus': 'integr'}}, 'integer'),
            ({'expect': {'rak': '{inventory.x}'}}, 'rack'),
            ({'key': '{seriall}'}, 'serial'),
            ({'of': '{inventroy.serial}'}, 'inventory'),
            ({'expcet': {}}, 'expect'),
        ):
            answer = self.put(
                tables={'machines': {**MACHINES, **bad}}, status=400
            )
            self.assertIn(near, str(answer))
            self.assertIn('did you mean', str(answer))

    def test_unknown_member_beside_rules(self):
        self.assertIn('tables', str(self.put(tabels={}, status=400)))

    def test_delete_of_all_rules_leaves_tables(self):
        self.call('DELETE', status=204)
        self.assertEqual(['machines'], self.names())

    def test_plan_shows_rows_and_does_nothing(self):
        changed = copy.deepcopy(MACHINES)
        changed['rows'][0].update(cpus=8, pin=PIN + '2')
        changed['rows'][1] = {
            'serial': 'c3',
            'cpus': 1,
            'rack': 'r3',
            'pin': PIN,
        }
        answer = self.put(path='?dry_run=true', tables={'machines': changed})
        (step,) = answer['tables']
        self.assertEqual('updated', step['outcome'])
        self.assertEqual({'new': 1, 'changed': 1, 'gone': 1}, step['rows'])
        self.assertEqual(
            [
                {
                    'key': 'A1',
                    'before': {'cpus': 4, 'pin': '******'},
                    'after': {'cpus': 8, 'pin': '******'},
                }
            ],
            step['changed'],
        )
        self.assertEqual('******', step['new'][0]['row']['pin'])
        self.assertEqual('B2', step['gone'][0]['key'])
        self.assertEqual([PIN, ''], self.pins())
        self.assertEqual(1, answer['revision'])

    def test_plan_shows_the_first_ten_of_a_kind(self):
        rows = [
            *MACHINES['rows'],
            *({'serial': str(number), 'rack': 'r'} for number in range(30)),
        ]
        (step,) = self.put(
            path='?dry_run=true',
            tables={'machines': {**MACHINES, 'rows': rows}},
        )['tables']
        self.assertEqual((30, 10), (step['rows']['new'], len(step['new'])))

    def test_changed_definition_is_told(self):
        (step,) = self.put(tables={'machines': {**MACHINES, 'expect': {}}})[
            'tables'
        ]
        self.assertEqual(
            ('updated', ['expect']), (step['outcome'], step['fields'])
        )

    def test_another_revision_is_a_conflict(self):
        self.put(tables={'machines': MACHINES}, revision=0, status=409)

    def test_bad_tables_change_nothing(self):
        for bad in (
            [],
            5,
            {'machines': None},
            {'machines': {}},
            {'machines': {**MACHINES, 'tpyes': {}}},
            {
                'machines': {
                    **MACHINES,
                    'rows': [{'serial': 'a'}, {'serial': 'A'}],
                }
            },
            {'machines': {**MACHINES, 'rows': [{'serial': 'a', 'cpus': 'x'}]}},
        ):
            self.put(tables=bad, status=400)
        self.assertEqual([PIN, ''], self.pins())

    def test_problems_have_their_places(self):
        rows = [{'serial': 'a', 'rack': 'r', 'cpus': 'x'}]
        answer = self.put(
            tables={'machines': {**MACHINES, 'rows': rows}}, status=400
        )
        self.assertIn('/tables/machines/rows/0/cpus', str(answer))

    def test_export_keeps_secrets_by_key(self):
        answer = self.put(tables={'machines': exported()})
        self.assertEqual(
            ['unchanged'], [step['outcome'] for step in answer['tables']]
        )
        rows = exported()['rows']
        self.put(
            tables={
                'machines': exported(
                    rows=[
                        rows[1],
                        {**rows[0], 'rack': 'new'},
                        {'serial': 'c3', 'cpus': 1, 'rack': 'r3'},
                    ]
                )
            }
        )
        self.assertEqual(['', PIN, None], self.pins())

    def test_null_removes_a_secret(self):
        rows = [{**row, 'pin': None} for row in exported()['rows']]
        self.put(tables={'machines': exported(rows=rows)})
        self.assertEqual([None, None], self.pins())

    def test_secret_is_not_kept_where_it_would_be_open(self):
        self.put(tables={'machines': exported(secret=[])})
        self.assertEqual([None, None], self.pins())


class RuleTestCase(Base):
    def setUp(self):
        super().setUp()
        self.put(rules=[], tables={'machines': MACHINES})

    def test_rule_over_a_table_that_is_not_there(self):
        rule = {**RULE, 'vars': {'row': '{tables.machine | row}'}}
        answer = self.call('POST', body=rule, status=400)
        self.assertIn('machines', str(answer))

    def test_rule_over_a_column_that_is_not_there(self):
        rule = copy.deepcopy(RULE)
        rule['actions'][0]['args'][1] = '{vars.row.rak}'
        answer = self.call('POST', body=rule, status=400)
        self.assertIn('rack', str(answer))

    def test_rule_is_checked_when_it_is_changed(self):
        uuid = self.call('POST', body=RULE, status=201)['uuid']
        self.call(
            'PATCH',
            f'/{uuid}',
            [
                {
                    'op': 'replace',
                    'path': '/vars/row',
                    'value': '{tables.nothing | row}',
                }
            ],
            status=400,
        )
        self.call(
            'PUT',
            f'/{uuid}',
            {**RULE, 'vars': {'row': '{tables.nothing | row}'}},
            status=400,
        )

    def test_rule_is_not_stored_where_its_table_goes_meanwhile(self):
        self.put(rules=[], tables={'machines': MACHINES})
        plain = {
            **RULE,
            'vars': {},
            'conditions': [],
            'actions': [{'op': 'log', 'args': ['a']}],
        }
        uuid = self.call('POST', body=plain, status=201)['uuid']
        known = table_set.check
        for method, path, body in (
            ('POST', '', {**RULE, 'description': 'new'}),
            ('PUT', f'/{uuid}', RULE),
            (
                'PATCH',
                f'/{uuid}',
                [
                    {
                        'op': 'add',
                        'path': '/conditions/-',
                        'value': RULE['conditions'][0],
                    },
                    {
                        'op': 'add',
                        'path': '/vars/row',
                        'value': RULE['vars']['row'],
                    },
                ],
            ),
        ):
            self.put(
                rules=[], path='?prune=false', tables={'machines': MACHINES}
            )

            def check(rule, in_force):
                base = known(rule, in_force)
                rule_object.StoredRule.change(
                    self.context,
                    in_force.revision,
                    [],
                    {},
                    [],
                    None,
                    [{'name': 'machines', 'definition': None, 'rows': {}}],
                )
                return base

            with mock.patch.object(table_set, 'check', check):
                self.call(method, path, body, status=400)
            self.assertEqual([], self.names())

    def test_rules_of_a_set_are_checked_with_its_tables(self):
        other = {'key': 'n', 'rows': [{'n': '1'}]}
        rule = {**RULE, 'vars': {'row': '{tables.other | row}'}}
        answer = self.put(
            rules=[rule],
            path='?prune=false',
            tables={'other': other},
            status=400,
        )
        self.assertIn('/rules/0', str(answer))
        self.assertIn('of', str(answer))


class RevisionTestCase(Base):
    def setUp(self):
        super().setUp()
        self.put(tables={'machines': MACHINES})
        self.put(rules=[], tables={})

    def test_restored_with_secrets(self):
        self.assertEqual([], self.names())
        self.call('POST', '/revisions/1/restore')
        self.assertEqual([PIN, ''], self.pins())
        self.call('POST', '/revisions/0/restore')
        self.assertEqual([], self.names())

    def test_revision_tells_its_tables_without_secrets(self):
        shown = self.call('GET', '/revisions/1')
        self.assertEqual(
            [('machines', 2)],
            [(found['name'], found['size']) for found in shown['tables']],
        )
        self.assertEqual(exported()['rows'], shown['tables'][0]['rows'])
        self.assertEqual([], self.call('GET', '/revisions/2')['tables'])

    def test_revision_hides_what_is_a_secret_today(self):
        racks = {'key': 'serial', 'rows': [{'serial': 'a1', 'rack': 'r1'}]}
        self.put(rules=[], tables={'machines': racks})
        self.put(rules=[], tables={'machines': {**racks, 'secret': ['rack']}})
        shown = self.call('GET', '/revisions/3')['tables']
        self.assertEqual([{'serial': 'a1'}], shown[0]['rows'])


class ShowTestCase(Base):
    def setUp(self):
        super().setUp()
        self.put(tables={'machines': MACHINES})

    def get(self, path, **options):
        return self.call('GET', f'/v1/inspection_tables{path}', **options)

    def test_list(self):
        (found,) = self.get('')['tables']
        self.assertEqual(
            ('machines', 2, 1, False, ['serial', 'cpus', 'rack'], ['pin']),
            tuple(
                found[name]
                for name in (
                    'name',
                    'size',
                    'revision',
                    'built_in',
                    'columns',
                    'secret',
                )
            ),
        )
        self.assertNotIn('rows', found)

    def test_rows_without_secret_columns(self):
        shown = self.get('/machines')
        self.assertEqual(
            [
                {
                    'key': 'A1',
                    'row': {'serial': 'a1', 'cpus': 4, 'rack': 'r1'},
                },
                {
                    'key': 'B2',
                    'row': {'serial': 'b2', 'cpus': None, 'rack': 'r2'},
                },
            ],
            shown['rows'],
        )

    def test_pages(self):
        first = self.get('/machines?limit=1')
        self.assertEqual(['A1'], [entry['key'] for entry in first['rows']])
        self.assertIn('marker=A1', first['next'])
        second = self.get('/machines?limit=1&marker=A1')
        self.assertEqual(['B2'], [entry['key'] for entry in second['rows']])
        self.assertNotIn('next', second)
        self.get('/machines?marker=nothing', status=400)

    def test_row_of_a_key(self):
        self.assertEqual(
            ['B2'],
            [entry['key'] for entry in self.get('/machines?key=B2')['rows']],
        )
        self.assertEqual([], self.get('/machines?key=nothing')['rows'])
        self.get('/machines?key=B2&limit=1', status=400)

    def test_what_is_not_there(self):
        self.assertIn('machines', str(self.get('/machine', status=404)))
        self.get('/machines?nothing=1', status=400)

    def test_older_versions_do_not_have_it(self):
        self.get('', status=404, version='1.95')
        self.get('/machines', status=404, version='1.95')


class EvaluateTestCase(Base):
    def evaluate(self, serial='a1', **members):
        answer = self.call(
            'POST', '/evaluate', {'inventory': {'serial': serial}, **members}
        )
        return {
            change['path']: change['value'] for change in answer['changes']
        }

    def test_given_tables_are_tried(self):
        self.assertEqual(
            {'/extra/rack': 'r1'},
            self.evaluate(rules=[RULE], tables={'machines': MACHINES}),
        )
        self.assertEqual([], self.names())

    def test_given_tables_replace_those_in_force(self):
        self.put(tables={'machines': MACHINES})
        self.assertEqual({'/extra/rack': 'r2'}, self.evaluate('b2'))
        rows = [{'serial': 'b2', 'rack': 'other', 'cpus': 1}]
        changed = {'machines': exported(rows=rows)}
        self.assertEqual(
            {'/extra/rack': 'other'}, self.evaluate('b2', tables=changed)
        )
        self.assertEqual({'/extra/rack': 'r2'}, self.evaluate('b2'))

    def test_rule_needs_its_table(self):
        self.call(
            'POST', '/evaluate', {'inventory': {}, 'rules': [RULE]}, status=400
        )

    def test_sensitive_rule_writes_a_secret_that_nobody_is_shown(self):
        self.put(rules=[CREDENTIALS], tables={'machines': MACHINES})
        answer = self.call(
            'POST', '/evaluate', {'inventory': {'serial': 'a1'}}
        )
        self.assertEqual('ok', answer['result'])
        self.assertTrue(answer['rules'][0]['matched'])

    def test_other_rules_cannot_write_it(self):
        rule = {**CREDENTIALS, 'sensitive': False}
        answer = self.call(
            'POST',
            '/evaluate',
            {
                'inventory': {'serial': 'a1'},
                'rules': [rule],
                'tables': {'machines': MACHINES},
            },
        )
        self.assertEqual('failed', answer['result'])
