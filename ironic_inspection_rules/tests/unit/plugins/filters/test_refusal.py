# SPDX-License-Identifier: Apache-2.0

"""Who reads why a filter failed knows what it takes."""

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.language import budget
from ironic_inspection_rules.engine.language import registry
from ironic_inspection_rules.engine.language import template
from ironic_inspection_rules.tests.unit import base

REFUSED = (
    *(
        (name, 5, 'takes a list, not a number')
        for name in (
            'join',
            'sum',
            'min',
            'max',
            'first',
            'last',
            'unique',
            'sort',
            "map('lower')",
            "select('eq', 1)",
            "rejectattr('a', 'eq', 1)",
        )
    ),
    ('sort', None, 'takes a list, not null'),
    *(
        (name, value, f'takes text, not {kind}')
        for name in (
            'lower',
            'upper',
            'trim',
            "replace('a', 'b')",
            "regex_search('a')",
            "regex_replace('a', 'b')",
        )
        for value, kind in (
            ([1], 'a list'),
            (True, 'a boolean'),
            (None, 'null'),
        )
    ),
    ('split', 5, 'takes text, not a number'),
    *(
        (name, value, f'takes a number, not {kind}')
        for name in (
            'round',
            'abs',
            'add(1)',
            'subtract(1)',
            'multiply(2)',
            'divide(2)',
            "tier([[1, 'a']])",
        )
        for value, kind in (('5', 'text'), (True, 'a boolean'), ([], 'a list'))
    ),
    *(
        (f'{name}(attribute=node)', [1], 'an attribute cannot be a mapping')
        for name in ('map', 'sum', 'sort', 'unique', 'join', 'min')
    ),
    ('add(node.b)', 1, 'takes a number, not text'),
    *(
        (name, float('inf'), 'takes no number without end')
        for name in ('abs', 'round', 'int')
    ),
    *(
        (name, '1' * 101, 'the text is longer than 100 characters')
        for name in ('int', 'float', "date('%Y')")
    ),
    ("date('%Y')", '1' * 100, 'is no date of the format "%Y"'),
    *(
        (name, value, f'"{value}" is no number')
        for name in ('int', 'float')
        for value in ('12 GB', '', 'one')
    ),
    ('length', 5, 'takes text, a list or a mapping, not a number'),
    *(
        (name, [1, 'a', None], 'cannot compare a number with null with text')
        for name in ('sort', 'min', 'max')
    ),
    (
        "sort(attribute='a')",
        [{'a': 1}, {'a': 'x'}],
        'cannot compare a number with text',
    ),
    *(
        (name, [value, value], 'give an attribute')
        for name in ('min', 'max')
        for value in (None, {'a': 1})
    ),
    ('sort', [{'a': 1}, {'a': 2}], 'give an attribute'),
    ('sum', [1, 'a'], 'takes numbers, not text'),
    ('divide(node.a)', 0.0, 'division by zero'),
    ('tier(node.b)', 5, 'must be a list of pairs: a bound and a label'),
    *(
        (name, [1], 'takes a mapping, not a list')
        for name in ('keys', 'values', 'dict2items')
    ),
)
"""Filters, what they cannot take, and what is told."""


class RefusalTestCase(base.TestCase):
    def render(self, name, value):
        return template.compile_value(f'{{node.a | {name}}}').render(
            budget.View({'node': {'a': value, 'b': 'text'}})
        )

    def test_the_error_says_what_the_filter_takes(self):
        for name, value, told in REFUSED:
            error = self.assertRaises(
                exceptions.OperationError, self.render, name, value
            )
            self.assertIn(told, str(error), f'{value} | {name}')

    def test_no_error_is_in_python_s_words(self):
        values = (
            None,
            True,
            0,
            -1.5,
            10**400,
            'x',
            '',
            '5',
            'inf',
            'nan',
            '1e999',
            [],
            [None],
            [1, 'a'],
            [[1], ['a']],
            [{'a': 1}, {'a': None}],
            [10**400, 0.5],
            {},
            {'a': 'x'},
            {'a': {'b': [1]}},
        )
        calls = {
            'replace': "replace('a', 'b')",
            'regex_search': "regex_search('a')",
            'regex_replace': "regex_replace('a', 'b')",
            'date': "date('%Y')",
            'lookup': 'lookup(node.a)',
            'get': "get('a.0')",
            'tier': 'tier(node.a)',
            'map': "map(attribute='a')",
            'selectattr': "selectattr('a', 'lt', 1)",
            'rejectattr': "rejectattr('a', 'in-net', '192.0.2.0/24')",
            'select': "select('version-lt', node.a)",
            'reject': "reject('gt', node.a)",
            'row': None,
            **{
                name: f'{name}(node.a)'
                for name in ('add', 'subtract', 'multiply', 'divide')
            },
        }
        more = [
            f"{name}(attribute='a')"
            for name in ('sort', 'min', 'max', 'sum', 'unique', 'join')
        ]
        more += [f"map('{name}')" for name in ('int', 'abs', 'sort', 'date')]
        more += [
            f'{name}(0.5)'
            for name in ('add', 'subtract', 'multiply', 'divide')
        ]
        unforeseen = []
        for name in [
            *(calls.get(name, name) for name in registry.filters()),
            *more,
        ]:
            for value in values:
                try:
                    self.render(name, value)
                except exceptions.OperationError as exc:
                    if 'unexpected' in str(exc):
                        unforeseen.append(f'{value!r} | {name}: {exc}')
        self.assertEqual([], unforeseen)

    def test_an_error_in_a_plugin_is_said_to_be_one(self):
        self.assertIn("KeyError: 'x'", exceptions.reason_of(KeyError('x')))

    def test_numbers_of_a_hundred_characters_are_read(self):
        for text in ('1' * 100, ' ' * 99 + '1'):
            self.assertEqual(int(text), self.render('int', text))
            self.assertEqual(float(text), self.render('float', text))
