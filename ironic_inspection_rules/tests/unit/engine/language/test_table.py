# SPDX-License-Identifier: Apache-2.0

import datetime
import typing

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.language import budget
from ironic_inspection_rules.engine.language import column_type
from ironic_inspection_rules.engine.language import path as data_path
from ironic_inspection_rules.engine.language import table
from ironic_inspection_rules.engine.language import table_form
from ironic_inspection_rules.tests.unit import base

ROWS = [
    {'serial': ' a1 ', 'cpus': 4, 'pin': '1234'},
    {'serial': 'B2', 'cpus': None, 'pin': ''},
]


def entry(**members) -> dict[str, typing.Any]:
    """Return the JSON form of a table."""
    return {
        'key': '{serial | trim | upper}',
        'of': '{inventory.serial | trim | upper}',
        'types': {'cpus': 'integer'},
        'secret': ['pin'],
        'expect': {'cpus': '{inventory.cpu.count}'},
        'rows': ROWS,
        **members,
    }


def of_rows(rows: list[typing.Any], **members) -> dict[str, typing.Any]:
    """Return the JSON form of a table that has only a key and rows."""
    return {'key': 'serial', 'rows': rows, **members}


class TableTestCase(base.TestCase):
    def test_row_is_found_by_its_computed_key(self):
        found = table_form.read('machines', entry())
        self.assertEqual(['A1', 'B2'], list(found.keys))
        self.assertIs(ROWS[0], found.row('A1'))
        self.assertIs(data_path.ABSENT, found.row(' a1 '))
        self.assertEqual(2, len(found))

    def test_number_is_its_text_as_key(self):
        found = table_form.read('m', of_rows([{'serial': 7}]))
        self.assertEqual({'serial': 7}, found.row('7'))

    def test_key_of_several_columns(self):
        found = table_form.read(
            'cables',
            of_rows([{'switch': 'sw1', 'port': 3}], key='{switch} {port}'),
        )
        self.assertEqual(['sw1 3'], list(found.keys))

    def test_key_of_several_columns_needs_all_of_them(self):
        for row in (
            {'switch': 'sw1', 'port': None},
            {'switch': 'sw1'},
            {'switch': 'sw1', 'port': [1]},
        ):
            rows = [{'switch': 'sw0', 'port': 1}, row]
            error = self.assertRaises(
                exceptions.InvalidTables,
                table_form.read,
                'm',
                of_rows(rows, key='{switch} {port}'),
            )
            self.assertEqual(
                ['/tables/m/rows/1'], [each.pointer for each in error.problems]
            )

    def test_machine_needs_all_of_such_a_key(self):
        found = table_form.read(
            'm',
            of_rows(
                [
                    {'serial': 'sw1 7'},
                    {'serial': 'sw1 None'},
                    {'serial': 'sw1 '},
                    {'serial': 'sw1 []'},
                ],
                of='{inventory.switch} {inventory.port}',
            ),
        )
        for port, key in (
            (7, 'sw1 7'),
            (None, None),
            ('', 'sw1 '),
            ([], None),
            ({}, None),
        ):
            self.assertEqual(
                key,
                found.key_of_machine(
                    budget.View({'inventory': {'switch': 'sw1', 'port': port}})
                ),
                port,
            )
        self.assertIsNone(
            found.key_of_machine(budget.View({'inventory': {'switch': 'sw1'}}))
        )

    def test_name_of_a_column_is_a_key_whatever_its_characters(self):
        found = table_form.read(
            'm', of_rows([{'Serial Number': 'x'}], key='Serial Number')
        )
        self.assertEqual(['x'], list(found.keys))

    def test_masked_table_hides_secret_columns_only(self):
        hidden = table_form.read('machines', entry()).masked
        self.assertEqual({**ROWS[0], 'pin': '******'}, hidden.row('A1'))
        self.assertEqual('', hidden.row('B2')['pin'])
        self.assertEqual('1234', hidden.open.row('A1')['pin'])

    def test_machine_without_usable_key_has_none(self):
        found = table_form.read('machines', entry())
        for inventory in (
            {},
            {'serial': None},
            {'serial': ' '},
            {'serial': ['x']},
        ):
            self.assertIsNone(
                found.key_of_machine(budget.View({'inventory': inventory})),
                repr(inventory),
            )
        self.assertEqual(
            'A1',
            found.key_of_machine(budget.View({'inventory': {'serial': 'a1'}})),
        )

    def test_exported_table_lacks_its_secret_columns(self):
        rows = [table.without_secret_columns(row, ['pin']) for row in ROWS]
        found = table_form.read(
            'machines',
            entry(rows=rows, types={'cpus': 'integer', 'pin': 'string'}),
        )
        self.assertEqual({'serial', 'cpus', 'pin'}, found.known_columns)


class ProblemsTestCase(base.TestCase):
    def refused(
        self, made: typing.Any, name: str = 'm'
    ) -> dict[str, exceptions.Problem]:
        error = self.assertRaises(
            exceptions.InvalidTables, table_form.read, name, made
        )
        return {problem.pointer: problem for problem in error.problems}

    def test_two_rows_of_one_key_are_both_named(self):
        rows = [{'serial': 'a'}, {'serial': 'b'}, {'serial': 'a'}]
        self.assertEqual(
            {'/tables/m/rows/0', '/tables/m/rows/2'},
            set(self.refused(of_rows(rows))),
        )

    def test_rows_of_one_key_are_named_behind_rows_without_one(self):
        row = {'serial': 'b'}
        rows = [
            {'serial': None},
            {'serial': 'a'},
            row,
            {'serial': 'a'},
            row,
            {'serial': ''},
            row,
        ]
        wrong = self.refused(of_rows(rows))
        # Also where an alias of YAML makes them the same row.
        self.assertEqual(
            {f'/tables/m/rows/{number}' for number in range(7)}, set(wrong)
        )
        for number, key in ((1, 'a'), (2, 'b'), (3, 'a'), (4, 'b'), (6, 'b')):
            self.assertIn(f'"{key}"', wrong[f'/tables/m/rows/{number}'].detail)

    def test_row_without_key(self):
        rows = [
            {'serial': None},
            {'serial': ''},
            {'other': 'x'},
            {'serial': 'a'},
        ]
        self.assertEqual(
            {f'/tables/m/rows/{number}' for number in range(3)},
            set(self.refused(of_rows(rows))),
        )

    def test_boolean_is_no_key_unless_its_column_has_that_type(self):
        rows = [
            {'serial': True, 'rack': 'r'},
            {'serial': 'a', 'rack': False},
            {'serial': 'a', 'rack': 'r'},
        ]
        found = self.refused(of_rows(rows, key='{serial}-{rack}'))
        self.assertEqual(
            ['/tables/m/rows/0/serial', '/tables/m/rows/1/rack'], list(found)
        )
        self.assertIn(
            'text or a number, not true; put it in quotes',
            found['/tables/m/rows/0/serial'].detail,
        )
        built = table_form.read(
            'm', of_rows([{'serial': True}], types={'serial': 'boolean'})
        )
        self.assertEqual(['true'], list(built.keys))

    def test_unknown_columns_are_told_with_near_names(self):
        found = self.refused(
            of_rows(
                [{'serial': 'a', 'rack': 'r'}],
                key='{seril}',
                types={'rak': 'string'},
                secret=['rakc'],
                expect={'racks': '{inventory.rack}'},
            )
        )
        self.assertEqual(
            {
                '/tables/m/key',
                '/tables/m/types/rak',
                '/tables/m/secret/0',
                '/tables/m/expect/racks',
            },
            set(found),
        )
        for pointer, problem in found.items():
            self.assertIsNotNone(problem.hint, pointer)

    def test_value_of_another_type(self):
        values = {
            'integer': ['8', True, 1.5],
            'number': ['8', False],
            'boolean': [1, 'true'],
            'string': [1, True],
        }
        for kind, wrong in values.items():
            rows = [
                {'serial': str(number), 'x': value}
                for number, value in enumerate([*wrong, None])
            ]
            self.assertEqual(
                {f'/tables/m/rows/{number}/x' for number in range(len(wrong))},
                set(self.refused(of_rows(rows, types={'x': kind}))),
            )

    def test_unknown_member(self):
        found = self.refused(of_rows([], types={}, secert=['x']))
        self.assertEqual(['/tables/m/secert'], list(found))
        self.assertIn('secret', found['/tables/m/secert'].hint or '')

    def test_required_members(self):
        self.assertEqual(
            {'/tables/m/key', '/tables/m/rows'}, set(self.refused({}))
        )

    def test_key_must_not_read_a_secret_column(self):
        self.assertEqual(
            ['/tables/m/key'],
            list(self.refused(of_rows([{'serial': 'a'}], secret=['serial']))),
        )

    def test_key_and_of_must_read_something(self):
        self.assertEqual(
            ['/tables/m/of'],
            list(self.refused(of_rows([{'serial': 'a'}], of='A1'))),
        )
        self.assertEqual(
            ['/tables/m/key'],
            list(self.refused(of_rows([{'serial': 'a'}], key='{{x}}'))),
        )

    def test_templates_over_machines_have_no_other_roots(self):
        for text in ('{inventry.x}', '{vars.x}', '{item}', '{tables.m}'):
            self.assertIn(
                '/tables/m/of',
                self.refused(of_rows([{'serial': 'a'}], of=text)),
            )
            self.assertIn(
                '/tables/m/expect/serial',
                self.refused(
                    of_rows([{'serial': 'a'}], expect={'serial': text})
                ),
            )

    def test_secrets_of_a_machine_are_not_compared(self):
        for text in (
            '{node.driver_info.ipmi_password}',
            '{node.driver_info[redfish_password] | trim}',
            '{inventory.x | default(plugin_data.api_key)}',
        ):
            self.assertEqual(
                ['/tables/m/expect/serial'],
                list(
                    self.refused(
                        of_rows([{'serial': 'a'}], expect={'serial': text})
                    )
                ),
            )
        table_form.read(
            'm',
            of_rows(
                [{'serial': 'a'}],
                of='{node.driver_info.ipmi_password}',
                expect={'serial': '{node.driver_info.ipmi_address}'},
            ),
        )

    def test_filters_are_checked(self):
        found = self.refused(
            of_rows(
                [{'serial': 'a'}],
                key='{serial | uper}',
                of='{inventory.x | lwer}',
            )
        )
        self.assertEqual({'/tables/m/key', '/tables/m/of'}, set(found))

    def test_keys_and_texts_that_no_database_stores(self):
        rows = [
            {'serial': 'a\0'},
            {'serial': '\ud800'},
            {'serial': 'x' * 10_000},
            {'serial': 'b', 'more': {'deep': ['\udfff']}},
        ]
        self.assertEqual(
            {
                '/tables/m/rows/0/serial',
                '/tables/m/rows/1/serial',
                '/tables/m/rows/2',
                '/tables/m/rows/3/more',
            },
            set(self.refused(of_rows(rows))),
        )

    def test_numbers_are_finite(self):
        self.assertEqual(
            ['/tables/m/rows/0/x'],
            list(self.refused(of_rows([{'serial': 'a', 'x': float('inf')}]))),
        )

    def test_bounds(self):
        rows = [{'serial': str(number)} for number in range(100_001)]
        self.assertEqual(['/tables/m/rows'], list(self.refused(of_rows(rows))))
        wide = {f'c{number}': 1 for number in range(101)}
        self.assertEqual(
            ['/tables/m/rows/0'], list(self.refused(of_rows([wide], key='c0')))
        )
        large = {'serial': 'a', 'x': 'x' * (32 * 2**20)}
        self.assertEqual(
            ['/tables/m/rows/0'], list(self.refused(of_rows([large])))
        )

    def test_size_is_that_in_bytes(self):
        # A third of them as characters.
        text = '\N{EURO SIGN}' * (11 * 2**20)
        for value in (text, [{'deep': text}], {text: 1}):
            self.assertEqual(
                ['/tables/m/rows/0'],
                list(self.refused(of_rows([{'serial': 'a', 'x': value}]))),
            )
        table_form.read('m', of_rows([{'serial': 'a', 'x': text[: 2**20]}]))

    def test_names_of_columns_must_be_text(self):
        for name in (1, True, None, 1.5, datetime.date(2020, 1, 1), ('a',)):
            self.assertEqual(
                ['/tables/m/rows/0'],
                list(self.refused(of_rows([{'serial': 'a', name: 'x'}]))),
                name,
            )

    def test_columns_of_a_header_are_known_without_rows(self):
        for members, place in (
            ({'key': 'serials'}, 'key'),
            ({'types': {'cpu': 'integer'}}, 'types/cpu'),
            ({'secret': ['pim']}, 'secret/0'),
            ({'expect': {'cpu': '{inventory.x}'}}, 'expect/cpu'),
        ):
            made = of_rows([], **members)
            table_form.read('m', made)
            error = self.assertRaises(
                exceptions.InvalidTables,
                table_form.read,
                'm',
                made,
                ['serial', 'cpus', 'pin'],
            )
            self.assertEqual(
                [f'/tables/m/{place}'],
                [each.pointer for each in error.problems],
            )
        for name in ('', ' ', 'x' * 300, 'a\0', '\ud800'):
            self.assertRaises(
                exceptions.InvalidTables,
                table_form.read,
                'm',
                of_rows([]),
                ['serial', name],
            )
        found = table_form.read('m', of_rows([]), ['serial', 'cpus'])
        self.assertEqual(('serial', 'cpus'), found.columns)

    def test_names_of_tables(self):
        table_form.read('_m', of_rows([]))
        for name in ('', 'a.b', 'a b', '1a', 'x' * 64, 'a/b', 'ä'):
            self.assertRaises(
                exceptions.InvalidTables, table_form.read, name, of_rows([])
            )

    def test_anything_but_a_table(self):
        for made in (None, [], 'x', 5):
            self.assertEqual(['/tables/m'], list(self.refused(made)))
            self.assertRaises(
                exceptions.InvalidTables, table_form.read_all, made
            )

    def test_problems_of_all_tables_are_told(self):
        error = self.assertRaises(
            exceptions.InvalidTables, table_form.read_all, {'a': {}, 'b': 1}
        )
        self.assertEqual(
            {'/tables/a/key', '/tables/a/rows', '/tables/b'},
            {problem.pointer for problem in error.problems},
        )


class ConvertTestCase(base.TestCase):
    def test_empty_cell_is_text_or_null(self):
        self.assertEqual('', column_type.convert('', None))
        self.assertEqual('', column_type.convert('', 'string'))
        for kind in ('integer', 'number', 'boolean'):
            self.assertIsNone(column_type.convert('', kind), repr(kind))

    def test_values(self):
        for text, kind, value in (
            ('08', 'integer', 8),
            (' -3 ', 'integer', -3),
            ('1.5', 'number', 1.5),
            ('2', 'number', 2),
            ('1e3', 'number', 1000.0),
            ('TRUE', 'boolean', True),
            ('no', 'boolean', False),
            ('08', 'string', '08'),
            ('08', None, '08'),
        ):
            made = column_type.convert(text, kind)
            self.assertEqual((value, type(value)), (made, type(made)))

    def test_what_is_of_another_type(self):
        for text, kind in (
            ('1.5', 'integer'),
            ('eight', 'integer'),
            ('1_000', 'integer'),
            ('nan', 'number'),
            ('1e999', 'number'),
            ('1,5', 'number'),
            ('maybe', 'boolean'),
            ('٣', 'integer'),
        ):
            self.assertRaises(
                exceptions.OperationError, column_type.convert, text, kind
            )
