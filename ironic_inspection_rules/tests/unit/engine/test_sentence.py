# SPDX-License-Identifier: Apache-2.0

from ironic_inspection_rules.engine import registry
from ironic_inspection_rules.engine import sentence
from ironic_inspection_rules.tests.unit import base


class SentenceTestCase(base.TestCase):

    def tell(self, op, args, **plugin_data):
        told = sentence.Sentence(registry.installed().conditions[op], args,
                                 None)
        return told.tell({'plugin_data': plugin_data})

    def test_it_says_all_arguments(self):
        self.assertEqual(
            "value='x', regex='a.*'",
            self.tell('matches', ['{plugin_data.a}', 'a.*'], a='x'))
        self.assertEqual(
            "values=[1, 'x', [2, 'y']]",
            self.tell('eq', [1, '{plugin_data.a}', [2, '{plugin_data.b}']],
                      a='x', b='y'))
        self.assertEqual(
            "values=['1', 2], force_strings=True",
            self.tell('eq', {'values': ['{plugin_data.a}', 2],
                             'force_strings': True}, a='1'))

    def test_what_is_not_there_comes_first(self):
        self.assertEqual(
            'field {plugin_data.b} does not exist',
            self.tell('eq', ['{plugin_data.a}', '{plugin_data.b}'], a=1))

    def test_values_are_written_as_they_are_kept(self):
        for value in (None, True, 1.5, 'a', "it's", [], {}, [1, ['a', {}]],
                      {'a': {'b': [None]}, '1': 'x'}):
            self.assertEqual(repr(value), sentence.show(value))

    def test_large_values_are_cut(self):
        deep = 'x'
        for _level in range(25):
            deep = {'k': [deep] * 100}
        for value in ('x' * 10 ** 7, ['x' * 300], [1] * 10 ** 6, deep,
                      {str(number): number for number in range(10 ** 5)},
                      10 ** 300):
            shown = sentence.show(value)
            self.assertEqual(201, len(shown))
            self.assertEqual('…', shown[-1])
