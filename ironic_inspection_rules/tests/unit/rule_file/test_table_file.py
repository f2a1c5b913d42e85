# SPDX-License-Identifier: Apache-2.0

"""Tables of rule files."""

import os
import textwrap
from unittest import mock

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.language import registry
from ironic_inspection_rules.kit.authoring import lint
from ironic_inspection_rules.rule_file import document
from ironic_inspection_rules.rule_file import file_set
from ironic_inspection_rules.rule_file import table_file
from ironic_inspection_rules.tests.unit.rule_file import files

RULE = '{actions: [{op: log, args: [a]}]}'


class TableFileTestCase(files.FilesTestCase):
    def load(self, text, name='rules.yaml'):
        return file_set.load_all([self.write(name, text)])

    def refused(self, text, name='rules.yaml'):
        error = self.assertRaises(
            exceptions.InvalidDocument, self.load, text, name
        )
        where = error.path.removeprefix(f'{self.directory}/')
        return where if error.place is None else f'{where}:{error.place[0]}'

    def table(self, text, rules='[]'):
        """Refuse a rule file with one table, whose lines begin at 4."""
        return self.refused(
            f'rules: {rules}\ntables:\n  m:\n'
            + textwrap.indent(textwrap.dedent(text), '    ')
        )


class LoadTestCase(TableFileTestCase):
    def test_a_table_is_read_and_built_once(self):
        rows = self.write('machines.csv', 'serial\nA1\n')
        read = self.load(
            '{rules: [], tables: {m: {file: machines.csv, key: serial}}}'
        )
        # It would not be found again.
        os.remove(rows)
        built = table_file.build(read.tables)
        findings = lint.lint_documents(
            read.documents, registry.installed(), given_tables=read.tables
        )
        self.assertEqual([lint.UNUSED], [each.check for each in findings])
        self.assertIs(built['m'], table_file.build(read.tables)['m'])
        again = read.tables.without_built()
        self.assertEqual(read.tables, again)
        self.assertIsNot(built['m'], table_file.build(again)['m'])

    def test_tables_are_as_they_are_posted(self):
        self.write('machines.csv', 'serial,cpus,pw\nA1,64,x\n')
        read = self.load(f"""\
            rules: [{RULE}]
            message: new machines
            tables:
              machines:
                file: machines.csv
                key: serial
                of: "{{inventory.system_vendor.serial_number}}"
                types: {{cpus: integer}}
                secret: [pw]
                expect: {{cpus: "{{inventory.cpu.count}}"}}
              racks:
                key: name
                rows: [{{name: R1}}]
        """)
        self.assertEqual(1, len(read.rules))
        self.assertEqual(
            {
                'machines': {
                    'key': 'serial',
                    'of': '{inventory.system_vendor.serial_number}',
                    'types': {'cpus': 'integer'},
                    'secret': ['pw'],
                    'expect': {'cpus': '{inventory.cpu.count}'},
                    'rows': [{'serial': 'A1', 'cpus': 64, 'pw': 'x'}],
                },
                'racks': {'key': 'name', 'rows': [{'name': 'R1'}]},
            },
            read.tables.entries,
        )

    def test_file_without_the_member_says_nothing_of_tables(self):
        self.assertIsNone(self.load(f'rules: [{RULE}]').tables.entries)
        self.assertIsNone(self.load(f'[{RULE}]').tables.entries)
        self.assertEqual({}, self.load('rules: []\ntables: {}').tables.entries)

    def test_file_may_have_tables_alone(self):
        read = self.load('tables: {m: {key: a, rows: [{a: x}]}}')
        self.assertEqual([], read.rules)
        self.assertEqual(['m'], list(read.tables.entries))

    def test_tables_of_several_files_join(self):
        one = self.write('one.yaml', 'tables: {a: {key: k, rows: []}}')
        two = self.write('two.yaml', 'tables: {b: {key: k, rows: []}}')
        read = file_set.load_all([one, two])
        self.assertEqual(['a', 'b'], list(read.tables.entries))

    def test_same_name_in_two_files_is_refused_with_both_places(self):
        one = self.write('one.yaml', 'tables: {a: {key: k, rows: []}}')
        two = self.write('two.yaml', 'tables:\n  a: {key: k, rows: []}\n')
        error = self.assertRaises(
            exceptions.InvalidDocument, file_set.load_all, [one, two]
        )
        self.assertEqual((two, 2), (error.path, error.place[0]))
        self.assertIn(f'{one}:1', str(error))

    def test_same_name_in_one_file_is_refused(self):
        self.assertEqual(
            'rules.yaml:3',
            self.refused(
                'tables:\n  a: {key: k, rows: []}\n  a: {key: k, rows: []}\n'
            ),
        )

    def test_row_is_no_rule_whatever_its_columns_are_called(self):
        read = self.load(f"""\
            rules: [{RULE}]
            tables:
              m:
                key: actions
                rows:
                - {{actions: a, conditions: b, inventory: {{}}}}
        """)
        self.assertEqual(1, len(read.rules))

    def test_file_with_rows_is_no_rule_file_in_a_folder(self):
        self.write(
            'rules/rules.yaml', 'tables: {m: {key: actions, file: rows.yaml}}'
        )
        self.write('rules/rows.yaml', '- {actions: [a]}')
        self.write(
            'rules/more.json', [{'actions': [{'op': 'log', 'args': ['a']}]}]
        )
        self.assertEqual(
            [
                str(self.directory / 'rules' / name)
                for name in ('more.json', 'rules.yaml')
            ],
            [
                read.path
                for read in table_file.read_files(
                    [str(self.directory / 'rules')]
                )
            ],
        )

    def test_file_that_names_itself_is_still_read(self):
        path = self.write(
            'rules.yaml', 'tables: {m: {key: a, file: rules.yaml}}'
        )
        (read,) = table_file.read_files([path])
        self.assertEqual(path, read.path)

    def test_rule_file_is_read_once(self):
        folder = str(self.directory / 'rules')
        path = self.write(
            'rules/rules.yaml',
            f"""
            tables: {{m: {{key: a, file: rows.yaml}}}}
            rules: [{RULE}]
        """,
        )
        self.write('rules/rows.yaml', '- {a: x}')
        known = document.read

        def changing(asked):
            text = known(asked)
            if asked == path:
                self.write('rules/rules.yaml', '[]')
            return text

        with mock.patch.object(document, 'read', changing):
            read = file_set.load_all([folder])
        self.assertEqual(1, len(read.rules))
        self.assertEqual([{'a': 'x'}], read.tables.entries['m']['rows'])

    def test_rule_file_is_parsed_once(self):
        path = self.write(
            'rules.yaml',
            f"""
            tables: {{m: {{key: a, file: rows.yaml}}}}
            rules: [{RULE}]
        """,
        )
        self.write('rows.yaml', '- {a: x}')

        with mock.patch.object(
            document, 'parse', wraps=document.parse
        ) as parse:
            table_file.read_documents([path])

        self.assertEqual(1, parse.call_count)

    def test_variables_may_be_called_tables(self):
        read = self.load(f'tables: [{RULE}]\nother: {RULE}\n')
        self.assertEqual(2, len(read.rules))
        self.assertIsNone(read.tables.entries)

    def test_a_variable_called_tables_may_be_a_rule(self):
        read = self.load(f'tables: {RULE}\nother: {RULE}\n')
        self.assertEqual(2, len(read.rules))
        self.assertIsNone(read.tables.entries)

    def test_aliases_stand_for_whole_tables(self):
        read = self.load(
            'tables:\n  a: &a {key: k, rows: [{k: x}]}\n  b: *a\n'
        )
        self.assertEqual(read.tables.entries['a'], read.tables.entries['b'])


class MemberTestCase(TableFileTestCase):
    def test_unknown_member_beside_tables_is_refused_with_the_near_name(self):
        for text in (
            'rules: []\ntabels: {}\n',
            'tables: {}\nrule: []\n',
            'rules: []\ntables: {}\nother: 1\n',
        ):
            self.assertIn(self.refused(text)[-2:], (':2', ':3'))
        error = self.assertRaises(
            exceptions.InvalidDocument, self.load, 'rules: []\ntabels: {}\n'
        )
        self.assertIn('"tables"', error.reason)

    def test_tables_must_be_a_mapping(self):
        for written in ('[]', 'text', '[{key: a, rows: []}]'):
            self.assertEqual(
                'rules.yaml:2', self.refused(f'rules: []\ntables: {written}\n')
            )

    def test_member_of_a_table_is_checked(self):
        self.assertEqual('rules.yaml:5', self.table('key: a\nrowz: []\n'))
        self.assertEqual('rules.yaml:4', self.table('rows: []\n'))
        self.assertEqual('rules.yaml:4', self.table('key: a\n'))
        self.assertEqual(
            'rules.yaml:3', self.refused('rules: []\ntables:\n  m: text\n')
        )

    def test_file_and_rows_exclude_one_another(self):
        self.write('rows.csv', 'a\nx\n')
        self.assertEqual(
            'rules.yaml:5', self.table('key: a\nfile: rows.csv\nrows: []\n')
        )


class PlaceTestCase(TableFileTestCase):
    def test_two_rows_of_one_key_are_told_with_both_lines(self):
        self.write('rows.csv', 'a,b\nx,1\ny,2\n"x",3\n')
        text = 'tables: {m: {key: a, file: rows.csv}}'
        self.assertEqual('rows.csv:2', self.refused(text))
        error = self.assertRaises(exceptions.InvalidDocument, self.load, text)
        self.assertIn('rows.csv:4', error.reason)

    def test_value_of_another_type_is_told_with_its_line(self):
        self.write('rows.csv', 'a,b\nx,1\ny,two\n')
        self.assertEqual(
            'rows.csv:3',
            self.refused(
                'tables: {m: {key: a, types: {b: integer}, file: rows.csv}}'
            ),
        )
        self.assertEqual(
            'rules.yaml:8',
            self.table("""\
            key: a
            types: {b: integer}
            rows:
            - a: x
              b: two
        """),
        )

    def test_the_error_has_no_value_of_a_secret_column(self):
        self.write('rows.csv', 'a,b\nx,hunter2\n')
        error = self.assertRaises(
            exceptions.InvalidDocument,
            self.load,
            'tables: {m: {key: a, types: {b: integer}, secret: [b], '
            'file: rows.csv}}',
        )
        self.assertNotIn('hunter2', str(error))

    def test_unknown_column_is_told_where_it_is_written(self):
        self.write('rows.csv', 'serial,cpus\nx,1\n')
        for member in (
            'types: {cpu: integer}',
            'expect: {cpu: "{inventory.cpu.count}"}',
        ):
            self.assertEqual(
                'rules.yaml:6',
                self.table(f'key: serial\nfile: rows.csv\n{member}\n'),
            )

    def test_header_without_rows_is_checked(self):
        self.write('rows.csv', 'serial,cpus,pin\n')
        for number, member in enumerate(
            (
                'key: seriel',
                'types: {cpu: integer}',
                'secret: [pim]',
                'expect: {cpu: "{inventory.cpu.count}"}',
            )
        ):
            key = 'key: serial\n' if number else ''
            line = 5 + bool(number)
            self.assertEqual(
                f'rules.yaml:{line}',
                self.table(f'file: rows.csv\n{key}{member}\n'),
                member,
            )

    def test_column_whose_name_is_no_text_is_told_with_its_line(self):
        for name in ('1', 'true', 'null', '2020-01-01', '1.5'):
            for text in (
                f'- {{a: x}}\n- {{{name}: y, a: y}}\n',
                f'- {{a: x}}\n- a: y\n  {name}: y\n',
            ):
                self.write('rows.yaml', text)
                self.assertIn(
                    self.refused('tables: {m: {key: a, file: rows.yaml}}'),
                    ('rows.yaml:2', 'rows.yaml:3'),
                    name,
                )

    def test_key_is_checked(self):
        for key in ('', '""', 'x\0y', 'x' * 10_000):
            self.write('rows.csv', f'a,b\n{key},1\n')
            self.assertEqual(
                'rows.csv:2',
                self.refused('tables: {m: {key: a, file: rows.csv}}'),
            )

    def test_row_that_is_no_mapping_is_told_with_its_line(self):
        self.write('rows.json', '[{"a": 1},\n 2]')
        self.assertEqual(
            'rows.json:2',
            self.refused('tables: {m: {key: a, file: rows.json}}'),
        )

    def test_refusal_of_ironic_is_told_with_its_line(self):
        self.write('rows.csv', 'a,b\nx,1\ny,2\n')
        read = self.load(
            f'rules: [{RULE}]\ntables: {{m: {{key: a, file: rows.csv}}}}'
        )
        lines = read.format_problems(
            [
                exceptions.Problem('/tables/m/rows/1/b', 'too long'),
                exceptions.Problem('/tables/m/key', 'bad'),
                exceptions.Problem('/tables/n', 'of another file'),
            ]
        ).splitlines()
        self.assertEqual(
            [
                f'{self.directory}/rows.csv:3:1: m.b: too long',
                f'{self.directory}/rules.yaml:2:19: m.key: bad',
                '/tables/n: of another file',
            ],
            lines,
        )


class BesideTestCase(TableFileTestCase):
    def refused_file(self, name):
        return self.refused(f'tables:\n  m:\n    key: a\n    file: {name}\n')

    def test_file_outside_of_the_folder_is_refused(self):
        outside = self.write('outside.csv', 'a\nx\n')
        self.write('in/rows.csv', 'a\nx\n')
        (self.directory / 'in' / 'link.csv').symlink_to(outside)
        (self.directory / 'in' / 'up').symlink_to(self.directory)
        for name in (
            '../outside.csv',
            outside,
            'link.csv',
            'up/outside.csv',
            'in/../../outside.csv',
            '"..\\\\outside.csv"',
            '""',
            '12',
            '[]',
            '"a\\0.csv"',
            'none.csv',
            '-',
        ):
            text = f'tables:\n  m:\n    key: a\n    file: {name}\n'
            self.assertEqual(
                'in/rules.yaml:4', self.refused(text, 'in/rules.yaml'), name
            )

    def test_link_inside_of_the_folder_is_followed(self):
        # So Kubernetes mounts what a ConfigMap has.
        self.write('..2026/rows.csv', 'a\nx\n')
        (self.directory / '..data').symlink_to('..2026')
        (self.directory / 'rows.csv').symlink_to('..data/rows.csv')
        read = self.load('tables: {m: {key: a, file: rows.csv}}')
        self.assertEqual([{'a': 'x'}], read.tables.entries['m']['rows'])

    def test_folder_inside_of_the_folder_may_be_named(self):
        self.write('data/rows.csv', 'a\nx\n')
        read = self.load('tables: {m: {key: a, file: data/rows.csv}}')
        self.assertEqual([{'a': 'x'}], read.tables.entries['m']['rows'])

    def test_what_is_piped_in_has_no_file_beside_it(self):
        read = document.parse('-', 'tables: {m: {key: a, file: rows.csv}}')
        self.assertRaises(
            exceptions.InvalidDocument, file_set.of_documents, [read]
        )
