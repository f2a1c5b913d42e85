# SPDX-License-Identifier: Apache-2.0

"""Filters are read as they are written, or refused."""

from ironic_inspection_rules.engine.language import filter_syntax
from ironic_inspection_rules.tests.unit import base


def read(text):
    reader = filter_syntax.Reader(text, lambda text, position: None)
    return reader.read(0), reader.position


class ReaderTestCase(base.TestCase):
    def test_blanks_say_nothing(self):
        arguments = ((None, 1), ('b', [True, None]))
        expected = (
            filter_syntax.FilterCall('a', arguments),
            filter_syntax.FilterCall('c'),
        )
        for text in (
            '|a(1,b=[true,null])|c',
            ' | a ( 1 , b = [ True , none ] ) | c( )',
        ):
            self.assertEqual((expected, len(text)), read(text))

    def test_values_keep_their_types(self):
        for text, value in (
            ('1', 1),
            ('1.0', 1.0),
            ('-2e1', -20.0),
            (r"'a\'b\d'", r"a'b\d"),
            ('"a\\n"', 'a\n'),
            ("{'a': {'b': []}}", {'a': {'b': []}}),
        ):
            [call], _end = read(f'|f({text})')
            self.assertEqual(repr(value), repr(call.arguments[0][1]))

    def test_what_is_none_is_refused(self):
        for text in (
            '|',
            '|1',
            '|a(',
            '|a(b)',
            '|a(1 2)',
            '|a(1e999)',
            '|a({1: 2})',
            "|a('b)",
            '|a(' + '[' * 10 + ']' * 10,
        ):
            self.assertRaises(filter_syntax.SyntaxProblem, read, text)
