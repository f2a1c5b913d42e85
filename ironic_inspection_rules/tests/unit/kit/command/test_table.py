# SPDX-License-Identifier: Apache-2.0

"""The command that shows machines beside those expected."""

import csv
import io
import json

from ironic_inspection_rules.tests.unit.kit.command import test_shell
from ironic_inspection_rules.tests.unit.kit.report.pages import page_data
from ironic_inspection_rules.tests.unit.rule_file import files

RULES = """\
tables:
  machines:
    file: machines.csv
    key: serial
    of: "{inventory.system_vendor.serial_number}"
    types: {cpus: integer}
    secret: [password]
    expect: {cpus: "{inventory.cpu.count}"}
  racks: {key: name, rows: []}
"""

ROWS = """\
serial,rack,cpus,password
A1,R1,64,hush-1
A2,R1,64,hush-2
A3,R2,64,hush-3
"""


def inventory(serial, cpus):
    return {
        **files.INVENTORY,
        'cpu': {'count': cpus},
        'system_vendor': {'serial_number': serial},
    }


class TableTestCase(test_shell.CallTestCase):
    def setUp(self):
        super().setUp()
        self.rules = self.write('rules/rules.yaml', RULES)
        self.write('rules/machines.csv', ROWS)

    def table(self, *words, **machines):
        for name, (serial, cpus) in machines.items():
            self.write(f'fleet/{name}.json', inventory(serial, cpus))
        return self.call(
            'table',
            self.rules,
            '--inventory',
            str(self.directory / 'fleet'),
            *words,
        )

    def states(self, *words, **machines):
        code, output = self.table('-f', 'json', *words, **machines)
        return code, [
            (
                each['key'],
                each['node'] and each['node'].rpartition('/')[2],
                each['state'],
            )
            for each in json.loads(output)['machines']
        ]

    def test_everything_is_right(self):
        code, found = self.states(a=('A1', 64), b=('A2', 64), c=('A3', 64))
        self.assertEqual(
            (0, {'right'}), (code, {state for _key, _node, state in found})
        )

    def test_what_is_not_right_ends_with_two(self):
        self.assertEqual(
            (
                2,
                [
                    ('A1', 'a.json', 'right'),
                    ('A2', 'b.json', 'wrong'),
                    ('A3', None, 'missing'),
                    ('B1', 'c.json', 'unexpected'),
                ],
            ),
            self.states(a=('A1', 64), b=('A2', 32), c=('B1', 64)),
        )

    def test_only_what_is_asked_for_is_listed_and_counts(self):
        machines = {'a': ('A1', 64), 'b': ('A2', 32), 'c': ('A2', 64)}
        self.assertEqual(
            (2, [('A3', None, 'missing')]),
            self.states('--missing', **machines),
        )
        self.assertEqual((0, []), self.states('--unexpected'))
        self.assertEqual((0, []), self.states('--wrong'))
        self.assertEqual(
            (2, [('A2', 'b.json', 'twice'), ('A2', 'c.json', 'twice')]),
            self.states('--twice'),
        )
        self.assertEqual(3, len(self.states('--twice', '--missing')[1]))

    def test_table_tells_what_differs_and_the_numbers(self):
        code, output = self.table(a=('A1', 64), b=('A2', 32))
        self.assertEqual(2, code)
        self.assertIn('cpus: expected 64, found 32', output)
        self.assertIn(
            '1 missing, 0 unexpected, 1 wrong, 0 twice, 1 right', output
        )

    def test_csv_is_for_those_who_order_parts(self):
        code, output = self.table(
            '-f', 'csv', a=('A1', 64), b=('A2', 32), c=('=1+1', 64)
        )
        self.assertEqual(2, code)
        rows = list(csv.DictReader(io.StringIO(output)))
        self.assertEqual(
            ['right', 'wrong', 'missing', 'unexpected'],
            [row['state'] for row in rows],
        )
        self.assertEqual(
            ('cpus', '64', '32', 'R1'),
            tuple(
                rows[1][name]
                for name in ('column', 'expected', 'found', 'rack')
            ),
        )
        self.assertEqual(
            ('A3', '', 'R2'),
            tuple(rows[2][name] for name in ('key', 'node', 'rack')),
        )
        # No spreadsheet calculates what a machine sent.
        self.assertEqual("'=1+1", rows[3]['key'])

    def test_secret_columns_are_in_no_output(self):
        for words in ((), ('-f', 'json'), ('-f', 'csv'), ('--html', '-')):
            _code, output = self.table(*words, a=('A1', 64))
            self.assertNotIn('hush-', output)

    def test_page_groups_by_rack(self):
        page = str(self.directory / 'page.html')
        self.table('--html', page, a=('A1', 64), b=('A2', 32))
        self.assertEqual(
            ['1 of 2 as expected', '0 of 1 as expected'], self.meters()
        )
        self.table('--by', 'cpus', '--html', page)
        self.assertEqual(['1 of 3 as expected'], self.meters())

    def meters(self):
        data = page_data.read((self.directory / 'page.html').read_text())
        return [meter['text'] for meter in page_data.parts(data, 'meter')]

    def test_several_tables_need_a_name(self):
        self.rules = self.write(
            'rules/rules.yaml',
            RULES.replace(
                '{key: name, rows: []}',
                '{key: name, of: "{inventory.rack}", rows: [{name: R1}]}',
            ),
        )
        self.assertEqual(1, self.table(a=('A1', 64))[0])
        self.assertEqual(
            (2, [('R1', None, 'missing'), (None, 'a.json', 'unexpected')]),
            self.states('--table', 'racks'),
        )

    def test_wrong_names_are_refused(self):
        for words in (
            ('--table', 'machine'),
            ('--table', 'racks'),
            ('--by', 'rak'),
        ):
            self.assertEqual(1, self.table(*words, a=('A1', 64))[0], words)

    def test_broken_files_end_with_one_and_are_named(self):
        self.write('fleet/broken.json', '{')
        code, output = self.table(a=('A1', 64))
        self.assertEqual(1, code)
        self.write('rules/machines.csv', 'serial,rack\nA1,R1\nA1,R2\n')
        self.assertEqual(1, self.table()[0])

    def test_many_machines_are_read_on_all_processors(self):
        machines = {
            f'm{number}': (f'A{number}', 64) for number in range(1, 61)
        }
        code, found = self.states(**machines)
        self.assertEqual(60, len(found))
        self.assertEqual(
            3, sum(state == 'right' for _key, _node, state in found)
        )
