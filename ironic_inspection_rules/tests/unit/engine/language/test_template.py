# SPDX-License-Identifier: Apache-2.0

"""Values with replacement fields, and what becomes of them."""

import copy

import hypothesis

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.language import budget
from ironic_inspection_rules.engine.language import interpolation
from ironic_inspection_rules.engine.language import path as data_path
from ironic_inspection_rules.engine.language import rendering
from ironic_inspection_rules.engine.language import template
from ironic_inspection_rules.tests.unit import base
from ironic_inspection_rules.tests.unit.engine import fuzz
from ironic_inspection_rules.tests.unit.engine import paid

Missing = rendering.Missing


class Trap:
    """Data that takes note of who looks for its attributes."""

    def __init__(self):
        object.__setattr__(self, 'touched', set())

    def __getattribute__(self, name):
        object.__getattribute__(self, 'touched').add(name)
        return object.__getattribute__(self, name)

    def __str__(self):
        return 'trap'


def render(value, roots, lenient=False):
    compiled = template.compile_value(value, lenient)
    if isinstance(compiled, rendering.Template):
        return compiled.render(budget.View(roots))
    return compiled


class CompileValueTestCase(base.TestCase):
    def test_what_has_no_fields_is_no_template(self):
        for value in (1, None, 'a', '{', ['a', {'b': 'c'}], {'a': []}):
            self.assertEqual(value, template.compile_value(value))

    def test_the_value_is_the_very_object_of_the_data(self):
        disks = [{'name': 'sda'}]
        self.assertIs(
            disks, render('{inventory.disks}', {'inventory': {'disks': disks}})
        )

    def test_the_same_text_is_compiled_once(self):
        self.assertIs(
            template.compile_value('{node.name}'),
            template.compile_value('{node.name}'),
        )

    def test_the_first_missing_field_is_told(self):
        self.assertEqual(
            Missing('node.b'),
            render(
                ['{node.a}', {'c': '{node.b}{node.c}'}], {'node': {'a': 1}}
            ),
        )

    def test_a_lenient_value_keeps_what_is_missing_in_its_place(self):
        self.assertEqual(
            [1, Missing('node.b')],
            render(['{node.a}', '{node.b}'], {'node': {'a': 1}}, lenient=True),
        )

    def test_a_key_that_is_missing_is_missing_in_any_case(self):
        self.assertEqual(
            Missing('node.b'),
            render({'{node.b}': 1}, {'node': {}}, lenient=True),
        )

    def test_a_key_becomes_text(self):
        self.assertEqual({'8': 1}, render({'{node.a}': 1}, {'node': {'a': 8}}))

    def test_an_item_is_missing_where_something_in_it_is(self):
        item = {'value': [Missing('node.b')], 'path': '/a'}
        self.assertEqual(Missing('node.b'), render('{item}', {'item': item}))
        self.assertEqual(
            Missing('node.b'), render('{item.value[0].x}', {'item': item})
        )
        self.assertEqual('/a', render('{item.path}', {'item': item}))

    def test_a_format_that_fails_is_an_error_of_the_operation(self):
        for text, value in (
            ('{node:d}', 'a'),
            ('{node:>3}', []),
            ('{node:c}', 10**9),
            ('{node:f}', 10**400),
            ('{node:d}', None),
        ):
            self.assertRaises(
                exceptions.OperationError, render, text, {'node': value}
            )

    @fuzz.settings
    @hypothesis.given(fuzz.values, fuzz.mappings, fuzz.json_values)
    def test_nothing_else_than_an_error_of_the_operation(
        self, value, data, item
    ):
        before = copy.deepcopy((value, data))
        for lenient in (False, True):
            try:
                render(
                    value,
                    {'node': data, 'item': item, 'ports': [data]},
                    lenient,
                )
            except exceptions.OperationError:
                pass
        self.assertEqual(repr(before), repr((value, data)))

    @fuzz.settings
    @hypothesis.given(fuzz.texts)
    def test_no_text_reaches_an_attribute(self, text):
        trap = Trap()
        data = dict.fromkeys(('a', 'name', '0', ''), trap)
        try:
            render(
                text,
                {
                    'node': data,
                    'inventory': trap,
                    'item': [trap],
                    'plugin_data': [trap, data],
                    'ports': [{'a': trap}],
                },
            )
        except exceptions.OperationError:
            pass
        touched = object.__getattribute__(trap, 'touched')
        self.assertLessEqual(touched, {'__class__'})

    @fuzz.settings
    @hypothesis.given(fuzz.fields, fuzz.mappings)
    def test_a_field_is_what_is_at_its_path(self, text, data):
        field = interpolation.parse(text)[0]
        # What is behind a bar is a filter.
        hypothesis.assume(
            isinstance(field, interpolation.Field)
            and field.conversion is None
            and field.spec is None
            and '|' not in field.text
            # A table is no value.
            and field.root != interpolation.TABLES
        )
        roots = {'node': data, 'item': [data]}
        found = data_path.get(roots, (field.root, *field.steps))
        expected = Missing(field.text) if found is data_path.ABSENT else found

        self.assertEqual(
            repr(expected), repr(render(f'{{{field.text}}}', roots))
        )


class FilteredTestCase(base.TestCase):
    ROOTS = {
        'plugin_data': {
            'n': 7,
            's': 'ab',
            'l': [{'a.b': 1}, {}],
            'key': 'a.b',
            're': r'\\1',
            'big': 10**300,
            'long': 'x' * 6400,
        }
    }

    def render(self, field, **options):
        return template.compile_value(f'{{plugin_data.{field}}}').render(
            budget.View(self.ROOTS, **options)
        )

    def refused(self, field):
        return str(
            self.assertRaises(exceptions.OperationError, self.render, field)
        )

    def test_filters_are_applied_from_left_to_right(self):
        self.assertEqual(
            'AXB',
            self.render(
                "s | upper | replace('', 'x', 2) | replace('xA', 'A') | upper"
            ),
        )
        self.assertEqual(-7.0, self.render('n | subtract(14) | float'))

    def test_what_is_missing_passes_all_but_default(self):
        self.assertEqual(
            Missing('plugin_data.gone | upper | int'),
            self.render('gone | upper | int'),
        )
        self.assertEqual(
            'X', self.render("gone | lower | default('x') | upper")
        )
        self.assertEqual(
            Missing('plugin_data.gone'),
            self.render("s | replace('a', plugin_data.gone)"),
        )

    def test_what_is_wrong_with_a_filter_is_known_when_it_is_compiled(self):
        for field, problem in (
            ('n | uper', 'did you mean "upper"'),
            ("s | replace('a')", 'argument "new" is missing'),
            (
                "s | replace('a', 'b', old='c')",
                'argument "old" is given twice',
            ),
            (
                "s | replace(old='a', old='b', new='c')",
                'argument "old" is given twice',
            ),
            ('s | upper(1)', 'too many arguments; expected: no'),
            ('s | regex_search(plugin_data.s)', 'regex must be written out'),
            ("l | map('uper')", 'an attribute is given as attribute='),
            ('n | divide(0)', 'must not be zero'),
        ):
            with self.subTest(field):
                error = self.assertRaises(
                    exceptions.OperationError,
                    template.compile_value,
                    f'{{plugin_data.{field}}}',
                )
                self.assertIn(problem, str(error))

    def test_what_a_machine_sends_is_one_step_and_no_pattern(self):
        self.assertEqual(1, self.render('l | first | get(plugin_data.key)'))
        self.assertEqual(
            Missing("plugin_data.l | first | get('a.b')"),
            self.render("l | first | get('a.b')"),
        )
        self.assertEqual(
            r'\\1b', self.render("s | regex_replace('(a)', plugin_data.re)")
        )

    def test_numbers_have_an_end(self):
        self.assertIn(
            'not finite', self.refused('big | float | multiply(1.0e10)')
        )
        self.assertIn(
            'too many digits',
            self.refused('big' + ' | multiply(plugin_data.big)' * 14),
        )
        self.assertEqual(
            10**4200, self.render('big' + ' | multiply(plugin_data.big)' * 13)
        )

    def test_each_filter_is_paid_for_and_long_values_more(self):
        for field, operations in (
            ('n | abs | abs', 2),
            ('long | trim', 1 + (6400 >> 6) + (6400 >> 8)),
        ):
            for given in (operations - 1, operations):
                allowance = budget.Budget(budget.Limits(operations=given))
                if given == operations:
                    self.render(field, budget=allowance)
                else:
                    self.assertRaises(
                        exceptions.BudgetExceeded,
                        self.render,
                        field,
                        budget=allowance,
                    )

    def test_a_filter_is_applied_to_each_item(self):
        roots = budget.View({'plugin_data': {'l': ['a', 'b'], 'x': '!'}})
        self.assertEqual(
            ['!', 'b'],
            template.compile_value(
                "{plugin_data.l | map('replace', 'a', plugin_data.x)}"
            ).render(roots),
        )


class FindPortTestCase(base.TestCase):
    def setUp(self):
        super().setUp()
        self.ports = [
            {'address': '52:54:00:AA:bb:01', 'uuid': 'ABC'},
            {'address': None},
            {},
        ]

    def test_a_port_is_found_by_index_address_and_uuid(self):
        for name, index in (
            ('0', 0),
            ('2', 2),
            ('52:54:00:aa:BB:01', 0),
            ('abc', 0),
        ):
            self.assertEqual(
                index, rendering.find_port(self.ports, name, budget.UNLIMITED)
            )

    def test_what_no_port_has_finds_none(self):
        for name in ('3', '-1', '', 'abcd', '00', 'none', 'None', 'null'):
            self.assertIsNone(
                rendering.find_port(self.ports, name, budget.UNLIMITED),
                repr(name),
            )

    def test_looking_at_many_ports_is_paid_for(self):
        for count in (15, 160, 1610):
            till = paid.Till()
            ports = [*self.ports, *[{}] * (count - 3)]
            self.assertEqual(2, rendering.find_port(ports, '2', till))
            self.assertEqual(0, till.paid)
            self.assertIsNone(
                rendering.find_port(ports, 'x', till), repr(count)
            )
            self.assertEqual(count // 16, till.paid)
