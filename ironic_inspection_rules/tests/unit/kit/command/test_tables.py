# SPDX-License-Identifier: Apache-2.0

"""The commands on rule files, where these have tables."""

import json
from unittest import mock

from ironic_inspection_rules.rule_file import document
from ironic_inspection_rules.tests.unit.kit.command import test_shell
from ironic_inspection_rules.tests.unit.kit.command import test_table

RULES = """\
tables:
  machines:
    file: machines.csv
    key: serial
    of: "{inventory.system_vendor.serial_number}"
    secret: [SECRET]
rules:
- description: class
  vars: {row: "{tables.machines | row}"}
  conditions: [{op: exists, args: {value: "{vars.row}"}}]
  actions:
  - {op: set-attribute, args: {path: /resource_class, value: "{vars.row.sku}"}}
- description: never
  conditions:
  - {op: eq, args: {values: ["{tables.machines | row | get('sku')}", z]}}
  actions: [{op: log, args: {msg: a}}]
- description: secret
  sensitive: true
  vars: {row: "{tables.machines | row}"}
  conditions: [{op: eq, args: {values: ["{vars.row.pin}", "7"]}}]
  actions: [{op: log, args: {msg: a}}]
"""


class TablesTestCase(test_shell.CallTestCase):
    def setUp(self):
        super().setUp()
        self.rules = self.save()
        self.write(
            'rules/machines.csv', 'serial,sku,pin\nA1,a,7\nA2,b,8\nA3,c,9\n'
        )
        for name, serial in (('a', 'A1'), ('b', 'B1')):
            self.write(f'fleet/{name}.json', test_table.inventory(serial, 64))
        self.fleet = str(self.directory / 'fleet')

    def save(self, secret='pin', rules=RULES):
        return self.write('rules/rules.yaml', rules.replace('SECRET', secret))

    def test_rules_are_tried_with_their_tables(self):
        _code, output = self.call(
            'test', self.rules, '-f', 'json', '--inventory', self.fleet
        )
        one, other = json.loads(output)
        self.assertIn(
            {
                'object': 'node',
                'op': 'replace',
                'path': '/resource_class',
                'value': 'a',
            },
            [
                {
                    name: each[name]
                    for name in ('object', 'op', 'path', 'value')
                }
                for each in one['changes']
            ],
        )
        self.assertEqual([], other['changes'])

    def test_a_file_of_rules_is_read_once(self):
        for words in (
            ('lint',),
            ('convert',),
            ('prove', '--ask', 'dead'),
            ('test', '--inventory', self.fleet),
        ):
            name, *options = words
            with mock.patch.object(
                document, 'read', wraps=document.read
            ) as read:
                self.call(name, self.rules, *options)
            read_paths = [call.args[0] for call in read.call_args_list]
            self.assertEqual(1, read_paths.count(self.rules), name)

    def test_coverage_tells_rows_that_no_machine_needed(self):
        _code, output = self.call(
            'test',
            self.rules,
            '--coverage',
            '-f',
            'json',
            '--inventory',
            self.fleet,
        )
        covered = json.loads(output)
        self.assertEqual(
            [
                {
                    'name': 'machines',
                    'rows': 3,
                    'matched': 1,
                    'unmatched': ['A2', 'A3'],
                }
            ],
            covered['tables'],
        )
        # Sensitive rules read secret columns here, too.
        self.assertEqual(1, covered['rules'][2]['covered'] > 50)
        _code, output = self.call(
            'test', self.rules, '--coverage', '--inventory', self.fleet
        )
        self.assertIn('A2, A3', output)

    def test_table_or_column_that_is_not_there_is_refused(self):
        for wrong in (
            RULES.replace('{tables.machines | row}', '{tables.machine | row}'),
            RULES.replace('vars.row.sku', 'vars.row.skus'),
        ):
            self.save(rules=wrong)
            self.assertEqual(
                1, self.call('test', self.rules, '--inventory', self.fleet)[0]
            )

    def prove(self):
        code, output = self.call(
            'prove', self.rules, '--ask', 'dead', '-f', 'json'
        )
        return {
            each['rules'][0]: each['verdict']
            for each in json.loads(output)['answers']
        }

    def test_small_tables_are_proved_exactly(self):
        self.save('', RULES.replace('    secret: [SECRET]\n', ''))
        self.assertEqual(
            {'class': 'no', 'never': 'yes', 'secret': 'no'}, self.prove()
        )

    def test_only_secret_columns_are_unknown(self):
        self.assertEqual(
            {'class': 'no', 'never': 'yes'},
            {
                name: verdict
                for name, verdict in self.prove().items()
                if name != 'secret'
            },
        )
        self.assertNotEqual('yes', self.prove()['secret'])

    def test_the_answers_about_ordered_machines_are_exact(self):
        rules = """\
tables:
  machines:
    file: machines.csv
    key: "{serial | trim | upper}"
    of: "{inventory.system_vendor.serial_number | trim | upper}"
    secret: [pin]
rules:
- description: Name and credentials
  phase: preprocess
  sensitive: true
  vars: {row: "{tables.machines | row}"}
  conditions: [{op: exists, args: ["{vars.row}"]}]
  actions:
  - {op: set-attribute, args: [/driver_info/a, "{vars.row.pin}"]}
- description: Nobody ordered it
  phase: early
  conditions: [{op: "!exists", args: ["{tables.machines | row}"]}]
  actions: [{op: fail, args: ["it is on no list"]}]
"""
        self.save(rules=rules)
        self.assertEqual(
            {'Name and credentials': 'no', 'Nobody ordered it': 'no'},
            self.prove(),
        )

    def test_other_tables_are_never_proved_wrong(self):
        rows = '\n'.join(f'A{number},a,7' for number in range(60))
        self.write('rules/machines.csv', f'serial,sku,pin\n{rows}\n')
        self.save('', RULES.replace('    secret: [SECRET]\n', ''))
        self.assertEqual({'yes'} & set(self.prove().values()), set())

    def test_other_rows_are_no_proof_that_rules_do_the_same(self):
        self.write('other/rules.yaml', RULES.replace('SECRET', 'pin'))
        self.write('other/machines.csv', 'serial,sku,pin\nA1,z,7\n')
        _code, output = self.call(
            'prove',
            self.rules,
            '-f',
            'json',
            '--equivalent',
            str(self.directory / 'other' / 'rules.yaml'),
        )
        (answer,) = json.loads(output)['answers']
        self.assertEqual('unknown', answer['verdict'])

    def changed(self, *words):
        self.write('new/rules.yaml', RULES.replace('SECRET', 'pin'))
        self.write(
            'new/machines.csv',
            'serial,sku,pin\nA1,z,hush-word\nA2,b,8\nA4,d,hush-word\n',
        )
        return self.call(
            'diff',
            self.rules,
            str(self.directory / 'new' / 'rules.yaml'),
            *words,
        )

    def test_diff_tells_rows_and_machines_that_they_concern(self):
        code, output = self.changed('-f', 'json', '--inventory', self.fleet)
        self.assertEqual(2, code)
        differences = json.loads(output)
        [step] = differences['tables']
        self.assertEqual({'new': 1, 'changed': 1, 'gone': 1}, step['rows'])
        [new] = step['new']
        self.assertEqual('A4', new['key'])
        [gone] = step['gone']
        self.assertEqual('A3', gone['key'])
        self.assertEqual(
            [f'{self.fleet}/a.json'], differences['machines'][0]['inventories']
        )
        self.assertEqual([], differences['rules'])

    def test_diff_of_rows_alone_is_a_difference_in_every_form(self):
        for words in ((), ('-f', 'json'), ('-f', 'markdown'), ('--html', '-')):
            code, output = self.changed(*words)
            self.assertEqual(2, code, words)
            self.assertIn('A4', output)
            self.assertIn('******', output)
            self.assertNotIn('hush-word', output)

    def test_same_tables_are_no_difference(self):
        self.assertEqual(0, self.call('diff', self.rules, self.rules)[0])

    def lint(self, rules=RULES, secret='pin'):
        self.save(secret, rules)
        _code, output = self.call('lint', self.rules, '-f', 'json')
        return {
            (each['check'], each['level']): each['message']
            for each in json.loads(output)
        }

    def test_lint_finds_what_no_table_has(self):
        for wrong in (
            RULES.replace('{tables.machines | row}', '{tables.machine | row}'),
            RULES.replace('vars.row.sku', 'vars.row.skus'),
        ):
            self.assertIn(('unknown-table', 'error'), self.lint(wrong))
        # Rules may read what is stored.
        alone = 'rules:\n' + RULES.partition('rules:\n')[2]
        self.assertIn(
            'has to be in Ironic', self.lint(alone)['unknown-table', 'note']
        )

    def test_lint_finds_values_that_no_row_has(self):
        found = self.lint()
        self.assertIn('"z"', found['table-value', 'warning'])
        self.assertNotIn(
            ('table-value', 'warning'),
            self.lint(RULES.replace(', z]', ', a]')),
        )

    def test_lint_tries_conditions_on_the_rows(self):
        column = '"{tables.machines | row | get(\'sku\')}"'
        for condition, holds in (
            ('op: one-of, args: {value: COLUMN, values: [a, b]}', True),
            ('op: one-of, args: {value: COLUMN, values: [a, y]}', False),
            ('op: "!one-of", args: {value: COLUMN, values: [a, b, c]}', False),
            ('op: "!one-of", args: {value: COLUMN, values: [a, y]}', True),
            ('op: ne, args: {values: [COLUMN, a]}', True),
            ('op: lt, args: {values: [COLUMN, a]}', False),
            ('op: lt, args: {values: [COLUMN, b]}', True),
            ('op: matches, args: {value: COLUMN, regex: "[xyz]"}', False),
            ('op: matches, args: {value: COLUMN, regex: "[abz]"}', True),
            ('op: lt, args: {values: [COLUMN, "{inventory.x}"]}', True),
            ('op: is-empty, args: {value: COLUMN}', True),
        ):
            found = self.lint(
                RULES.replace(
                    'op: eq, args: {values: ["{tables.machines | row | '
                    "get('sku')}\", z]}",
                    condition.replace('COLUMN', column),
                )
            )
            self.assertIs(
                holds, ('table-value', 'warning') not in found, condition
            )

    def test_lint_knows_no_values_inside_of_a_column(self):
        self.assertNotIn(
            ('table-value', 'warning'),
            self.lint("""\
tables:
  m: {key: a, rows: [{a: x, b: {c: 1}}]}
rules:
- conditions:
  - op: eq
    args: {values: ["{tables.m | row('x') | get('b.c')}", 1]}
  actions: [{op: log, args: {msg: a}}]
"""),
        )

    def test_lint_finds_rows_that_yaml_reads_otherwise(self):
        rules = """\
tables:
  assets:
    key: serial
    types: {weight: number, size: integer}
    rows:
    - {serial: 'A1', weight: 2.10, size: 1_000, fitted: yes}
    - {serial: 0123, weight: 2.10, size: 1_000, fitted: yes}
    - {serial: 0124, weight: 2.10, size: 0100, fitted: yes}
rules:
- actions:
  - {op: set-attribute, args: [/extra/a, "{tables.assets | row('A1')}"]}
"""
        path = self.write('assets.yaml', rules)

        _code, output = self.call('lint', path, '-f', 'json')

        found = {
            (finding['line'], finding['message'])
            for finding in json.loads(output)
            if finding['check'] == 'plain-scalar'
        }
        self.assertEqual(
            {
                (
                    7,
                    'assets.serial: YAML reads 0123 as 83; put text in '
                    'quotes: "0123" (in 2 rows of this column)',
                ),
                (
                    8,
                    'assets.size: YAML reads 0100 as 64; put text in quotes: '
                    '"0100"',
                ),
            },
            found,
        )

    def test_lint_finds_what_nothing_reads(self):
        self.assertNotIn(('unused-table', 'warning'), self.lint())
        self.write('rules/machines.csv', 'serial,sku,pin,rack\nA1,a,7,R1\n')
        self.assertIn('"rack"', self.lint()['unused-table', 'warning'])
        whole = RULES + (
            '- actions: [{op: set-attribute, args: {path: '
            '/extra/r, value: "{tables.machines | row}"}}]\n'
        )
        self.assertNotIn(('unused-table', 'warning'), self.lint(whole))
        more = RULES.replace(
            'rules:\n', '  racks: {key: a, rows: []}\nrules:\n', 1
        )
        self.write('rules/machines.csv', 'serial,sku,pin\nA1,a,7\n')
        self.assertIn('racks', self.lint(more)['unused-table', 'warning'])

    WRITES = """\
- description: credentials
  sensitive: true
  vars: {row: "{tables.machines | row}"}
  conditions: [{op: exists, args: {value: "{vars.row}"}}]
  actions:
  - {op: set-attribute, args: {path: /driver_info/x_password, value: VALUE}}
"""

    def test_lint_knows_that_sensitive_rules_see_secret_columns(self):
        self.write('rules/machines.csv', 'serial,sku,pin,password\nA1,a,7,p\n')
        for value in (
            '"{vars.row.password}"',
            '"{vars.row | get(\'password\') | trim}"',
            '"{tables.machines | row | get(\'password\')}"',
        ):
            rule = self.WRITES.replace('VALUE', value)
            for secret in ('pin, password', 'pin'):
                self.assertNotIn(
                    ('masked-value', 'warning'),
                    self.lint(RULES + rule, secret),
                    value,
                )

    def test_lint_finds_secret_columns_that_an_open_rule_writes(self):
        for value, is_secret in (
            ('"{vars.row.pin}"', True),
            ('"{vars.row}"', True),
            ('{a: "{vars.row | get(\'pin\')}"}', True),
            ('"{tables.machines | row}"', True),
            ('"{vars.row.sku}"', False),
            ('"{vars.row | length}"', False),
        ):
            rule = self.WRITES.replace('VALUE', value).replace(
                '  sensitive: true\n', ''
            )
            self.assertEqual(
                is_secret,
                ('masked-value', 'warning') in self.lint(RULES + rule),
                value,
            )

    def test_lint_finds_secret_columns_behind_every_filter(self):
        self.write(
            'rules/machines.csv', 'serial,sku,pin,cpus\nA1,a,7,4\nA2,b,8,4\n'
        )
        row = 'vars.row'
        for field, is_secret in (
            (f'{row} | values', True),
            (f'{row} | values | last', False),
            (f'{row} | values | unique', True),
            (f'{row} | values | sort', True),
            (f'{row} | values | reject("eq", "7")', True),
            (f'{row} | values | map("upper")', True),
            (f'{row} | values | join(" ")', True),
            (f'{row} | values | sort | first', True),
            (f'{row} | dict2items', True),
            (f'{row} | dict2items | map(attribute="value")', True),
            (f'{row} | dict2items | map(attribute="key")', False),
            (f'{row} | dict2items | selectattr("key", "eq", "pin")', True),
            (f'{row} | dict2items | selectattr("key", "eq", "sku")', False),
            (f'{row} | default("none")', True),
            (f'plugin_data.none | default({row})', True),
            (f'plugin_data.none | default({row}.pin)', True),
            (f'plugin_data.none | default({row}.sku)', False),
            (f'vars.text | replace("a", {row}.pin)', True),
            (f'vars.text | replace("a", {row}.sku)', False),
            (f'{row} | get("pin") | length', True),
            (f'{row} | get("sku") | upper', False),
            (f'{row} | keys', False),
            (f'{row} | length', False),
            ('tables.machines | row | values', True),
            ('tables.machines | row(vars.text) | dict2items', True),
            (
                'plugin_data.key | upper | lookup(tables.machines) | values',
                True,
            ),
        ):
            rule = self.WRITES.replace('  sensitive: true\n', '')
            rule = rule.replace('| row}"}', '| row}", text: abc}')
            rule = rule.replace('VALUE', f"'{{{field}}}'")
            findings = self.lint(RULES + rule)
            self.assertEqual(
                is_secret, ('masked-value', 'warning') in findings, field
            )

    def test_lint_finds_secret_columns_in_a_loop(self):
        self.write('rules/machines.csv', 'serial,sku,pin\nA1,a,7\n')
        for loop, value, is_secret in (
            ('{vars.row | dict2items}', '{item.value}', True),
            ('{vars.row | dict2items}', '{item.key}', False),
            ('{vars.row | values}', 'x {item}', True),
            ('{vars.row | keys}', '{item}', False),
        ):
            rule = self.WRITES.replace('  sensitive: true\n', '').replace(
                'VALUE}}', f"'{value}'}}, loop: '{loop}'}}"
            )
            self.assertEqual(
                is_secret,
                ('masked-value', 'warning') in self.lint(RULES + rule),
                (loop, value),
            )

    def test_lint_finds_what_is_wrong_in_rows(self):
        self.write('rules/machines.csv', 'serial,sku\nA1,a\nA1,b\nA2\n')
        self.save()
        code, output = self.call('lint', self.rules, '-f', 'json')
        self.assertEqual(1, code)
        self.assertEqual(
            [('machines.csv', 2), ('machines.csv', 3)],
            [
                (each['path'].rpartition('/')[2], each['line'])
                for each in json.loads(output)
                if each['check'] == 'table'
            ],
        )
