# SPDX-License-Identifier: Apache-2.0

"""The commands for tables, over Ironic's API without a network."""

import pathlib

from ironic import objects
from ironic.common import context
from osc_lib import exceptions as osc_exceptions

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.inspection import start
from ironic_inspection_rules.kit.osc import inspection_rule
from ironic_inspection_rules.kit.osc import inspection_table
from ironic_inspection_rules.kit.osc import rule_set
from ironic_inspection_rules.tests.functional.api import application
from ironic_inspection_rules.tests.functional.osc import test_rule_set

PIN = 'canary-of-a-pin'
FILE = """
tables:
  machines:
    key: "{serial | upper}"
    of: "{inventory.serial | upper}"
    types: {cpus: integer}
    secret: [pin]
    expect: {cpus: "{inventory.cpu.count}"}
    rows:
    - {serial: sn-a1, pin: canary-of-a-pin, cpus: 4, rack: r1}
    - {serial: sn-b2, cpus: 8, rack: r2}
    - {serial: sn-c3, pin: canary-of-a-pin, cpus: 4, rack: r3}
rules:
- description: Rack
  vars: {row: "{tables.machines | row}"}
  conditions: [{op: exists, args: ["{vars.row}"]}]
  actions: [{op: set-attribute, args: [/extra/rack, "{vars.row.rack}"]}]
"""


class TableCommandsTestCase(test_rule_set.CommandsTestCase):
    def setUp(self):
        super().setUp()
        self.start_api()

    def start_api(self, **options):
        api = self.useFixture(application.Application(options))
        self.baremetal = test_rule_set.Baremetal(api.app)
        self.context = context.get_admin_context()

    def run_command(self, kind, *arguments):
        result, printed = super().run_command(kind, *arguments)
        self.assertNotIn(PIN, printed + self.stderr.getvalue() + str(result))
        return result, printed

    def pins(self):
        table = start.rules().refresh(self.context).tables['machines']
        return [row.get('pin') for row in table.rows]

    def export(self, name='exported.yaml', *options):
        path = str(pathlib.Path(self.write('rules.yaml', '')).with_name(name))
        self.run_command(inspection_rule.ExportInspectionRules, path, *options)
        with open(path, encoding='utf-8') as stream:
            text = stream.read()
        self.assertNotIn(PIN, text)
        return path, text


class PlanTestCase(TableCommandsTestCase):
    def test_applied_once_is_nothing_to_do(self):
        code, printed = self.plan(FILE)
        self.assertEqual(2, code)
        self.assertIn('+ table machines: 3 rows new', printed)
        self.assertIn('******', printed)
        self.assertEqual(0, self.apply(FILE)[0])
        self.assertEqual([PIN, None, PIN], self.pins())
        self.assertEqual(0, self.plan(FILE)[0])
        self.assertEqual(0, self.apply(FILE)[0])

    def test_change_of_a_table_alone_is_a_change(self):
        self.apply(FILE)
        code, printed = self.plan(FILE.replace('rack: r1', 'rack: r9'))
        self.assertEqual(2, code)
        self.assertIn('~ table machines: 0 rows new, 1 changed', printed)
        self.assertIn('r9', printed)
        self.assertNotIn('Nothing to do', printed)
        self.apply(FILE.replace('rack: r1', 'rack: r9'))
        (_columns, rows), _printed = self.run_command(rule_set.ListRevisions)
        self.assertEqual([2, 1], [row[0] for row in rows])

    def test_export_of_a_revision_has_its_tables(self):
        self.apply(FILE)
        _path, before = self.export()
        self.apply('{rules: [], tables: {}}', '--prune')
        _path, text = self.export('old.yaml', '--revision', '1')
        self.assertEqual(before, text)

    def test_tables_stay_unless_pruned(self):
        self.apply(FILE)
        other = '{tables: {other: {key: n, rows: [{n: 1}]}}, rules: []}'
        self.assertIn('+ table other', self.plan(other)[1])
        self.assertNotIn('table machines', self.plan(other)[1])
        code, printed = self.plan(other, '--prune')
        self.assertEqual(2, code)
        self.assertIn(
            '- table machines: 0 rows new, 0 changed, 3 gone', printed
        )
        # A file without the member says nothing of tables.
        self.assertNotIn('table machines', self.plan('[]', '--prune')[1])

    def test_problem_has_file_and_line_and_near_name(self):
        bad = FILE.replace('{vars.row.rack}', '{vars.row.rak}')
        exc = self.assertRaises(osc_exceptions.CommandError, self.plan, bad)
        line = bad[: bad.index('{vars.row.rak}')].count('\n') + 1
        self.assertIn(f'rules.yaml:{line}:', str(exc))
        self.assertIn('"rack"', str(exc))

    def test_body_that_is_too_large_names_the_option(self):
        rows = '\n'.join(
            f'    - {{serial: sn-{number}, rack: {"r" * 2000}}}'
            for number in range(2000)
        )
        text = FILE.replace('    rows:\n', f'    rows:\n{rows}\n')
        if not application.has_option('api', 'max_json_body_size_inspection'):
            self.skipTest('this Ironic has no such limit')
        # In KiB.
        self.start_api(
            api={'max_json_body_size': 4, 'max_json_body_size_inspection': 64}
        )
        path = self.write('large.yaml', text)
        for command, arguments in (
            (rule_set.PlanInspectionRules, [path]),
            (rule_set.ApplyInspectionRules, [path, '--yes']),
            (
                inspection_rule.EvaluateInspectionRules,
                [
                    '--inventory',
                    self.write('inventory.json', '{"inventory": {"cpu": {}}}'),
                    '--rules',
                    path,
                ],
            ),
        ):
            exc = self.assertRaises(
                exceptions.Invalid, self.run_command, command, *arguments
            )
            self.assertIn('[api]max_json_body_size_inspection', str(exc))


class ExportTestCase(TableCommandsTestCase):
    def test_exported_file_is_what_is_there(self):
        self.apply(FILE)
        for name in ('exported.yaml', 'exported.json'):
            path, _text = self.export(name)
            code, printed = self.run_command(
                rule_set.PlanInspectionRules, path, '--prune'
            )
            self.assertEqual(0, code, printed)

    def test_stored_secrets_stay_by_key(self):
        self.apply(FILE)
        path, text = self.export()
        with open(path, 'w', encoding='utf-8') as stream:
            stream.write(
                text.replace('rack: r1', 'rack: r9').replace('sn-c3', 'sn-d4')
            )
        self.run_command(rule_set.ApplyInspectionRules, path, '--yes')
        self.assertEqual([PIN, None, None], self.pins())


class TableCommandTestCase(TableCommandsTestCase):
    def enroll(self, number, serial, cpus):
        node = objects.Node(
            self.context,
            uuid=f'{number:08}-0000-4000-8000-00000000000a',
            driver='fake-hardware',
        )
        node.create()
        objects.NodeInventory(
            self.context,
            node_id=node.id,
            plugin_data={},
            inventory_data={'serial': serial, 'cpu': {'count': cpus}},
        ).create()

    def machines(self, *arguments):
        return self.run_command(
            inspection_table.ListInspectionTableMachines,
            'machines',
            *arguments,
        )

    def test_status_tells_whether_all_is_right(self):
        self.apply(FILE)
        self.enroll(1, 'SN-A1', 4)
        self.enroll(2, 'SN-B2', 8)
        code, printed = self.machines()
        self.assertEqual(2, code)
        self.assertIn('SN-C3', printed)
        self.assertEqual(0, self.machines('--wrong')[0])
        self.enroll(3, 'SN-C3', 4)
        self.assertEqual(0, self.machines()[0])
        self.assertEqual(0, self.machines('-f', 'csv', '--missing')[0])
        self.assertIn('SN-A1', self.machines('-f', 'csv')[1])
        self.assertIn('SN-A1', self.machines('-f', 'json')[1])

    def test_list_and_show(self):
        self.apply(FILE)
        (_columns, [row]), _printed = self.run_command(
            inspection_table.ListInspectionTables
        )
        self.assertEqual(('machines', 3, 1, False), tuple(row[:4]))
        (columns, rows), _printed = self.run_command(
            inspection_table.ShowInspectionTable, 'machines'
        )
        self.assertEqual(('Key', 'serial', 'cpus', 'rack'), tuple(columns))
        self.assertEqual(3, len(rows))
