# SPDX-License-Identifier: Apache-2.0

import json

from ironic_inspection_rules.api import json_pieces
from ironic_inspection_rules.tests.unit import base

DOCUMENTS = (
    '{}',
    '[]',
    '""',
    '5',
    'null',
    '-12.5e+3',
    ' [ ] ',
    '{ }\n',
    '[1234567890, 12345, [], {}, [[]], "x"]',
    '{"a": {"b": {"c": {"d": {"e": [1, 2, {"f": "g"}]}}}}}',
    '[[[[[[[1, 22, 333], "\\u00e9\\"]}"], true], false], null], {}]]',
    '{"tables": {"machines": {"key": "serial", "rows": [\n'
    '  {"serial": "A1", "rack": "r \\\\", "cpus": 12},\n'
    '  {"serial": "é😀", "rack": "[{", "cpus": 1.25e2}]}}, "rules": []}',
)

NOT_JSON = (
    '',
    ' ',
    '{',
    '[',
    '[1',
    '[1,',
    '[1,]',
    '[,1]',
    '[1 2]',
    '{"a"}',
    '{"a":}',
    '{"a": 1,}',
    '{"a": 1 "b": 2}',
    '{1: 2}',
    '{a: 1}',
    '[1}',
    '{"a": 1]',
    '[1] 2',
    '{} {}',
    '"a',
    '"a\n"',
    '[nul]',
    '[01]',
    '[1.]',
    '{"a": {"b": {"c": {"d": {"e": ]}}}}}',
    '\v[]',
)


def parse(document, size=1, depth=100):
    """Parse a document in pieces of a number of bytes."""
    sent = document.encode()
    pieces = [
        sent[start : start + size] for start in range(0, len(sent), size)
    ]
    decoder = json.JSONDecoder(object_pairs_hook=dict)
    return json_pieces.Parser(pieces, depth, decoder).parse()


class ParserTestCase(base.TestCase):
    def test_a_document_is_the_same_wherever_it_is_cut(self):
        for document in DOCUMENTS:
            for size in (1, 2, 3, 7, 1000):
                self.assertEqual(
                    json.loads(document), parse(document, size), document
                )

    def test_what_is_no_json_is_refused_wherever_it_is_cut(self):
        for document in NOT_JSON:
            for size in (1, 2, 1000):
                self.assertRaises(ValueError, parse, document, size)

    def test_a_byte_order_mark_is_ignored(self):
        self.assertEqual([1], parse('\N{ZERO WIDTH NO-BREAK SPACE}[1]'))

    def test_depth_is_limited_wherever_it_is(self):
        for before in ('', '{"a": 1, "b": [', '[[], [[[]]], "[[[", ['):
            opened = before.count('[') + before.count('{')
            opened -= before.count(']') + before.count('"[[["') * 3
            for size in (1, 5, 1000):
                # What is behind it is no JSON, but is not looked at.
                document = before + '[' * (10 - opened)
                self.assertRaises(ValueError, parse, document, size, 10)
                self.assertRaises(
                    json_pieces.TooDeep, parse, document + '[', size, 10
                )

    def test_objects_of_all_levels_are_read_by_the_hook(self):
        decoder = json.JSONDecoder(object_pairs_hook=tuple)
        pairs = json_pieces.Parser(
            [b'{"a": [{"b": {"c": [{"d"', b': 1}]}}]}'], 100, decoder
        ).parse()

        self.assertEqual((('a', [(('b', (('c', [(('d', 1),)]),)),)]),), pairs)

    def test_a_large_value_is_not_parsed_for_every_piece(self):
        calls = []

        def hook(members):
            calls.append(1)
            return dict(members)

        inner = ', '.join(['{"a": 1}'] * 4096)
        document = f'[[[[[{inner}]]]]]'.encode()
        pieces = [
            document[start : start + 16]
            for start in range(0, len(document), 16)
        ]

        decoder = json.JSONDecoder(object_pairs_hook=hook)
        parsed = json_pieces.Parser(pieces, 100, decoder).parse()

        self.assertEqual(json.loads(document), parsed)
        self.assertLess(len(calls), 4 * 4096)

    def test_many_short_values_are_not_parsed_one_by_one(self):
        for item in ('0', '[]', '""', '{}'):
            document = '[[' + ','.join([item] * 40_000) + ']]'
            self.assertRaises(json_pieces.TooManyValues, parse, document, 1000)

    def test_many_rows_are_parsed_one_by_one(self):
        for row in ('{"a": 1}', '{"a": "b", "c": ["d"]}'):
            document = (
                '{"a": {"b": {"c": [' + ','.join([row] * 40_000) + ']}}}'
            )
            self.assertEqual(json.loads(document), parse(document, 1000))
