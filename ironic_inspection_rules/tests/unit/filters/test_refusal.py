# SPDX-License-Identifier: Apache-2.0

"""Who reads why a filter failed knows what it takes."""

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine import budget
from ironic_inspection_rules.engine import template
from ironic_inspection_rules.tests.unit import base

REFUSED = (
    *((name, 5, 'takes a list, not a value of type int') for name in (
        'join', 'sum', 'min', 'max', 'first', 'last', 'unique', 'sort',
        "map('lower')", "select('eq', 1)", "rejectattr('a', 'eq', 1)")),
    ('sort', None, 'takes a list, not a value of type NoneType'),
    *((name, value, f'takes text, not a value of type {kind}')
      for name in ('lower', 'upper', 'trim', "replace('a', 'b')",
                   "regex_search('a')", "regex_replace('a', 'b')")
      for value, kind in (([1], 'list'), (True, 'bool'), (None, 'NoneType'))),
    ('split', 5, 'takes text, not a value of type int'),
    *((name, value, f'takes a number, not a value of type {kind}')
      for name in ('round', 'abs', 'add(1)', 'subtract(1)', 'multiply(2)',
                   'divide(2)', "tier([[1, 'a']])")
      for value, kind in (('5', 'str'), (True, 'bool'), ([], 'list'))),
    *((f'{name}(attribute=node)', [1], 'an attribute cannot be of type dict')
      for name in ('map', 'sum', 'sort', 'unique', 'join', 'min')),
    ('add(node.b)', 1, 'takes a number, not a value of type str'),
    *((name, float('inf'), 'takes no number without end')
      for name in ('abs', 'round', 'int')),
    *((name, '1' * 101, 'the text is longer than 100 characters')
      for name in ('int', 'float', "date('%Y')")),
    ("date('%Y')", '1' * 100, 'unconverted data remains'),
    *((name, value, f'"{value}" is no number') for name in ('int', 'float')
      for value in ('12 GB', '', 'one')),
    ('length', 5, 'takes text, a list or a mapping, not a value of type int'),
    ('tier(node.b)', 5, 'must be a list of pairs: a bound and a label'),
    *((name, [1], 'takes a mapping, not a value of type list')
      for name in ('keys', 'values', 'dict2items')),
)
"""Filters, what they cannot take, and what is told."""


class RefusalTestCase(base.TestCase):

    def render(self, name, value):
        return template.compile_value(f'{{node.a | {name}}}').render(
            budget.View({'node': {'a': value, 'b': 'text'}}))

    def test_what_it_takes_is_told(self):
        for name, value, told in REFUSED:
            error = self.assertRaises(exceptions.OperationError, self.render,
                                      name, value)
            self.assertIn(told, str(error), f'{value} | {name}')

    def test_numbers_of_a_hundred_characters_are_read(self):
        for text in ('1' * 100, ' ' * 99 + '1'):
            self.assertEqual(int(text), self.render('int', text))
            self.assertEqual(float(text), self.render('float', text))
