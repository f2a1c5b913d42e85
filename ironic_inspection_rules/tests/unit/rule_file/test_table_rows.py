# SPDX-License-Identifier: Apache-2.0

"""Rows of tables in CSV, YAML and JSON, and the places of their problems."""

import codecs
import os
from unittest import mock

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.language import table_members
from ironic_inspection_rules.rule_file import table_rows
from ironic_inspection_rules.tests.unit.rule_file import files


class RowsTestCase(files.FilesTestCase):
    def save(self, name, data):
        path = self.directory / name
        path.write_bytes(data)
        return str(path)

    def read(self, data, name='rows.csv', **types):
        if isinstance(data, str):
            data = data.encode()
        return table_rows.read(self.save(name, data), types)

    def refused(self, data, name='rows.csv', **types):
        error = self.assertRaises(
            exceptions.InvalidDocument, self.read, data, name, **types
        )
        self.assertEqual(str(self.directory / name), error.path)
        return error.place and error.place[0]


class CsvTestCase(RowsTestCase):
    def test_rows_are_read_with_the_lines_they_begin_at(self):
        found = self.read('serial,rack\nA1,"R\n1"\n\nA2,R2\n')
        self.assertEqual(
            [{'serial': 'A1', 'rack': 'R\n1'}, {'serial': 'A2', 'rack': 'R2'}],
            found.rows,
        )
        self.assertEqual([2, 5], list(found.row_lines))
        self.assertEqual(5, found.line(1, 'rack'))

    def test_what_excel_writes_is_read(self):
        for encoding in ('utf-8-sig', 'utf-16', 'utf-32'):
            for delimiter in ',;\t':
                text = '\r\n'.join(
                    (
                        delimiter.join(('serial', '"ra;ck"', 'note')),
                        delimiter.join(('A1', 'Zürich', '"a ""b"", c"')),
                        '',
                    )
                )
                self.assertEqual(
                    [{'serial': 'A1', 'ra;ck': 'Zürich', 'note': 'a "b", c'}],
                    self.read(text.encode(encoding)).rows,
                    (encoding, delimiter),
                )

    def test_line_of_excel_that_names_the_separator_is_no_header(self):
        found = self.read('sep=;\r\nserial;rack\r\nA1;R,1\r\n')
        self.assertEqual([{'serial': 'A1', 'rack': 'R,1'}], found.rows)
        self.assertEqual([3], list(found.row_lines))

    def test_single_column_needs_no_delimiter(self):
        self.assertEqual([{'serial': 'A1'}], self.read('serial\nA1').rows)

    def test_old_ends_of_lines_are_read(self):
        found = self.read('serial,rack\rA1,R1\rA2,R2')
        self.assertEqual([2, 3], list(found.row_lines))

    def test_formula_that_is_text_is_that_text(self):
        found = self.read('serial,rack\n="00123",R1\n"=""0""""7""",R1\n')
        self.assertEqual(
            ['00123', '0"7'], [row['serial'] for row in found.rows]
        )

    def test_other_formula_is_refused_with_its_line(self):
        self.assertEqual(3, self.refused('serial\nA1\n=B2&C2\n'))
        self.assertEqual(2, self.refused('serial\n=\n'))

    def test_missing_cells_are_empty(self):
        found = self.read('serial,rack,cpus\nA1\n', cpus='integer')
        self.assertEqual(
            [{'serial': 'A1', 'rack': '', 'cpus': None}], found.rows
        )

    def test_too_many_cells_are_refused_with_the_line(self):
        self.assertEqual(3, self.refused('serial,rack\nA1,R1\nA2,R2,\n'))

    def test_header_is_checked(self):
        for header in (
            'serial,rack,serial',
            'serial,,rack',
            ',',
            'serial, serial',
            'serial;rack,cpus',
            ','.join(f'c{number}' for number in range(101)),
        ):
            self.assertEqual(1, self.refused(f'{header}\nA1\n'), header)

    def test_what_is_no_text_is_refused_at_the_header(self):
        for data in (
            'serial\nA1\n'.encode('utf-16-le'),
            b'PK\3\4\0\0',
            b'se\0rial\nA1\n',
        ):
            self.assertEqual(1, self.refused(data))

    def test_byte_that_is_no_text_is_refused_in_its_line(self):
        for mark in (b'', codecs.BOM_UTF8):
            # The line end before the byte is within the length of the mark.
            for data in (b'serial\n\xe4\n', b'serial\nA1\nA\xe4\n'):
                error = self.assertRaises(
                    exceptions.InvalidDocument, self.read, mark + data
                )
                line = data.count(b'\n')
                self.assertEqual((line, 1), error.place)
                self.assertIn(
                    'byte 0xe4 is no text in UTF-8; save the file as '
                    '"CSV UTF-8"',
                    str(error),
                )

    def test_no_spreadsheet_is_to_save_other_files(self):
        for name in ('rows.json', 'rows.yaml'):
            error = self.assertRaises(
                exceptions.InvalidDocument, self.read, b'["\xe4"]', name
            )
            self.assertIn('byte 0xe4 is no text in UTF-8', str(error))
            self.assertNotIn('CSV', str(error))

    def test_workbook_is_refused_as_one(self):
        for data in (b'PK\3\4\x14\0\6\0\x8f', b'\xd0\xcf\x11\xe0\xa1\xb1'):
            error = self.assertRaises(
                exceptions.InvalidDocument, self.read, data
            )
            self.assertIn(
                'this is a workbook; save it as "CSV UTF-8"', str(error)
            )

    def test_line_of_white_space_is_no_row(self):
        found = self.read('serial,rack\nA1,R1\n  \n \t\n A2\n')
        self.assertEqual(['A1', ' A2'], [row['serial'] for row in found.rows])
        self.assertEqual([2, 5], list(found.row_lines))

    def test_names_of_columns_are_trimmed(self):
        self.assertEqual(
            [{'serial': 'A1', 'rack': ' R1'}],
            self.read('serial, rack \nA1, R1\n').rows,
        )

    def test_file_without_header_is_refused(self):
        for data in ('', '\n\n', '\ufeff'):
            self.assertEqual(1, self.refused(data))

    def test_cells_have_the_types_of_their_columns(self):
        found = self.read(
            'serial,cpus,share,spare,note\n1,64, 1.5,yes,64\n2,,,,\n',
            cpus='integer',
            share='number',
            spare='boolean',
            note='string',
        )
        self.assertEqual(
            [
                {
                    'serial': '1',
                    'cpus': 64,
                    'share': 1.5,
                    'spare': True,
                    'note': '64',
                },
                {
                    'serial': '2',
                    'cpus': None,
                    'share': None,
                    'spare': None,
                    'note': '',
                },
            ],
            found.rows,
        )

    def test_cell_of_another_type_stays_text_for_the_check_of_the_table(self):
        self.assertEqual(
            [{'cpus': 'many'}], self.read('cpus\nmany\n', cpus='integer').rows
        )

    def test_quote_that_is_not_closed_is_refused_where_it_begins(self):
        self.assertEqual(3, self.refused('serial,rack\nA1,R1\n"A2,R2\nA3,R3'))
        self.assertEqual(2, self.refused('serial,rack\n"A"1,R1\n'))

    def test_other_encoding_is_refused_with_the_line(self):
        self.assertEqual(
            3,
            self.refused('serial,rack\nA1,R1\nA2,Zürich\n'.encode('latin-1')),
        )
        self.assertEqual(2, self.refused(b'serial\nA\xc3'))
        self.assertEqual(2, self.refused('serial\nA1'.encode('utf-16')[:-1]))

    def test_huge_cell_is_refused_with_the_line(self):
        self.assertEqual(2, self.refused('serial\n' + 'x' * 200_000))

    def test_more_rows_than_a_table_may_have_are_refused(self):
        most = table_members.MOST_ROWS
        rows = '\n'.join(map(str, range(most + 1)))
        self.assertEqual(most + 2, self.refused(f'n\n{rows}\n'))


class YamlTestCase(RowsTestCase):
    def test_each_value_has_its_line(self):
        found = self.read(
            """\
- serial: A1
  cpus: 64
- &base {serial: A2, cpus: 1}
- <<: *base
  serial: A3
""",
            'rows.yaml',
        )
        self.assertEqual(
            [
                {'serial': 'A1', 'cpus': 64},
                {'serial': 'A2', 'cpus': 1},
                {'cpus': 1, 'serial': 'A3'},
            ],
            found.rows,
        )
        self.assertEqual([1, 3, 4], list(found.row_lines))
        self.assertEqual(2, found.line(0, 'cpus'))
        self.assertEqual(5, found.line(2, 'serial'))
        self.assertEqual(3, found.line(1, 'none'))

    def test_row_that_is_an_alias_has_the_line_of_the_alias(self):
        for text, lines in (
            ('- &a {k: 1}\n- {k: [2, [3]]}\n- *a\n- *a\n', [1, 2, 3, 4]),
            ('[&a {k: 1},\n\n *a, {k: 3}]\n', [1, 3, 3]),
            ('- k: &a {m: 1}\n\n- *a\n', [1, 3]),
            ('# comment\n- &a\n  k: 1\n\n-\n  *a\n- [x]\n', [2, 6, 7]),
        ):
            found = self.read(text, 'rows.yaml')
            self.assertEqual(lines, list(found.row_lines), text)

    def test_row_that_is_no_mapping_keeps_its_line(self):
        found = self.read('- 1\n- serial: A1\n  rack: R1\n', 'rows.yml')
        self.assertEqual([1, 2], [found.line(0), found.line(1, 'serial')])
        self.assertEqual(3, found.line(1, 'rack'))

    def test_what_is_no_list_is_refused(self):
        for text in ('', 'a: 1', 'text', '--- []\n--- []\n'):
            self.assertIsNone(self.refused(text, 'rows.yaml'), repr(text))

    def test_yaml_that_is_broken_is_refused_with_the_line(self):
        self.assertEqual(2, self.refused('- a: 1\n  a: 2\n', 'rows.yaml'))
        self.assertEqual(2, self.refused('- a: 1\n- b: .nan\n', 'rows.yaml'))


class JsonTestCase(RowsTestCase):
    def test_each_row_has_its_line(self):
        found = self.read(
            '\ufeff[\n {"serial": "A1"},\n\n {"serial":\n "A2"'
            '}, {"serial": "A3"}\n]\n',
            'rows.json',
        )
        self.assertEqual(
            ['A1', 'A2', 'A3'], [row['serial'] for row in found.rows]
        )
        self.assertEqual([2, 4, 5], list(found.row_lines))

    def test_empty_list_is_no_row(self):
        self.assertEqual([], self.read(' [ ] ', 'rows.json').rows)

    def test_what_is_wrong_is_refused_with_the_line(self):
        for line, text in (
            (1, '{"rows": []}'),
            (1, ''),
            (2, '[1\n2]'),
            (2, '[1,\n]'),
            (2, '[1,\n'),
            (2, '[1\n'),
            (2, '[{"a": 1},\n{"a": 1, "a": 2}]'),
            (2, '[1,\nNaN]'),
            (1, '[1e999]'),
            (2, '[1]\n[2]'),
            (2, f'[1,\n{"9" * 5000}]'),
        ):
            self.assertEqual(line, self.refused(text, 'rows.json'), text)

    def test_depth_is_limited(self):
        text = '[' * 100_000 + ']' * 100_000
        self.assertEqual(1, self.refused(text, 'rows.json'))


class FileTestCase(RowsTestCase):
    def test_other_files_are_refused(self):
        for name in ('rows.xlsx', 'rows', 'rows.txt'):
            self.refused('serial\nA1\n', name)

    def test_what_is_no_regular_file_is_refused(self):
        pipe = self.directory / 'pipe.csv'
        os.mkfifo(pipe)
        folder = self.directory / 'folder.csv'
        folder.mkdir()
        device = self.directory / 'device.csv'
        device.symlink_to('/dev/zero')
        for path in (pipe, folder, device, self.directory / 'none.csv'):
            self.assertRaises(
                exceptions.InvalidDocument, table_rows.read, str(path), {}
            )

    def test_refused_folder_is_closed(self):
        folder = self.directory / 'folder.csv'
        folder.mkdir()
        open_before = os.listdir('/proc/self/fd')
        self.assertRaises(
            exceptions.InvalidDocument, table_rows.read, str(folder), {}
        )
        self.assertEqual(open_before, os.listdir('/proc/self/fd'))

    def test_file_above_the_bound_is_refused(self):
        path = self.directory / 'rows.csv'
        with path.open('wb') as stream:
            stream.truncate(table_members.MOST_BYTES + 1)
        self.assertRaises(
            exceptions.InvalidDocument, table_rows.read, str(path), {}
        )

    def test_file_that_changes_meanwhile_is_refused(self):
        path = self.save('rows.csv', b'serial\nA1\n')
        known = os.fstat

        def changing(descriptor):
            found = known(descriptor)
            with open(path, 'ab') as stream:
                stream.write(b'A2\n')
            return found

        with mock.patch.object(os, 'fstat', changing):
            self.assertRaises(
                exceptions.InvalidDocument, table_rows.read, path, {}
            )
