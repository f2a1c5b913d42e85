# SPDX-License-Identifier: Apache-2.0

"""Where text has replacement fields."""

import hypothesis
from hypothesis import strategies as st

from ironic_inspection_rules.engine.language import interpolation
from ironic_inspection_rules.tests.unit import base
from ironic_inspection_rules.tests.unit.engine import fuzz

Field = interpolation.Field


class ParseTestCase(base.TestCase):
    def test_text_and_fields_come_in_their_order(self):
        self.assertEqual(
            [
                'a ',
                Field('node.name', 'node', ('name',)),
                ' b ',
                Field('item[0]', 'item', ('0',)),
            ],
            interpolation.parse('a {node.name} b {item[0]}'),
        )

    def test_a_field_has_its_conversion_and_specification(self):
        self.assertEqual(
            [Field('item!r:>8', 'item', (), 'r', '>8')],
            interpolation.parse('{item!r:>8}'),
        )

    def test_what_is_no_path_has_no_root(self):
        for text in (
            '',
            '0',
            'a b',
            'node[',
            'node[a',
            'node.',
            'node..a',
            'node!x',
            'node:{',
            'a"b',
        ):
            for piece in interpolation.parse(f'{{{text}}}'):
                if isinstance(piece, Field):
                    self.assertIsNone(piece.root, text)

    def test_doubled_and_lone_braces_are_text(self):
        self.assertEqual(['{a} } {'], interpolation.parse('{{a}} } {'))

    def test_no_field_can_ask_for_endless_output(self):
        (field,) = interpolation.parse('{node.name:>10000000000}')
        self.assertIsNone(field.root)

    def test_hostile_text_takes_no_time(self):
        for text in (
            '{' * 50_000,
            '{a[' * 20_000,
            '{a.b' * 20_000,
            '}{' * 20_000,
        ):
            interpolation.parse(text)

    @fuzz.settings
    @hypothesis.given(st.one_of(st.text(), fuzz.texts))
    def test_no_text_raises(self, text):
        for piece in interpolation.parse(text):
            self.assertIn(piece.text if isinstance(piece, Field) else '', text)

    @fuzz.settings
    @hypothesis.given(st.one_of(st.text(min_size=1), fuzz.texts))
    def test_any_text_can_be_written_with_doubled_braces(self, text):
        doubled = text.replace('{', '{{').replace('}', '}}')
        self.assertEqual([text] if text else [], interpolation.parse(doubled))


class FieldsTestCase(base.TestCase):
    def test_all_fields_of_a_nested_value_are_found(self):
        found = interpolation.fields(
            {'{node}': ['{item}', 1, None, {'a': 'b {ports}'}]}
        )

        self.assertEqual(
            {'node', 'item', 'ports'}, {field.root for field in found}
        )

    def test_sole_field_is_one_that_is_all_of_a_text(self):
        self.assertEqual(
            ('a', 'b'), interpolation.sole_field('{node.a[b] | lower}').steps
        )
        for value in ('{node} ', '{node}{node}', '{{node}}', '', 1, None, []):
            self.assertIsNone(interpolation.sole_field(value), repr(value))

    @fuzz.settings
    @hypothesis.given(fuzz.values)
    def test_no_value_raises(self, value):
        interpolation.fields(value)
