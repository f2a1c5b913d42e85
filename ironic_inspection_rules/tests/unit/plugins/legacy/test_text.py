# SPDX-License-Identifier: Apache-2.0

"""``{data[…]}`` in old rules becomes text, and reaches nothing but data."""

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.plugins.legacy import text
from ironic_inspection_rules.tests.unit import base

DATA = {
    'size': 7,
    'name': 'x',
    'none': None,
    'list': ['a', 'b'],
    'width': 4,
    'a': {'b c': {'d': 1}},
}


class RenderTestCase(base.TestCase):
    def test_every_field_becomes_text(self):
        for template, expected in (
            ('{data[size]}', '7'),
            ('{data[none]}', 'None'),
            ('{data[a]}', "{'b c': {'d': 1}}"),
            ('{data[list][1]}-{data[a][b c][d]}', 'b-1'),
            ('{{data}}', '{data}'),
            ('plain', 'plain'),
        ):
            self.assertEqual(expected, text.render(template, DATA))

    def test_conversions_and_specs_are_those_of_python(self):
        for template, expected in (
            ('{data[size]:03d}', '007'),
            ('{data[name]!r}', "'x'"),
            ('{data[name]:>{data[width]}}', '   x'),
        ):
            self.assertEqual(expected, text.render(template, DATA))

    def test_keys_and_values_inside_are_rendered(self):
        self.assertEqual(
            {'kx': ['7', 5, None]},
            text.render({'k{data[name]}': ['{data[size]}', 5, None]}, DATA),
        )

    def test_a_field_that_does_not_exist_is_named(self):
        for template in (
            '{data[nope]}',
            '{data[list][5]}',
            '{data[none][x]}',
            '{data[a][0]}',
            '{node[name]}',
            '{}',
            '{0}',
            '{data[size]:{data[nope]}}',
        ):
            self.assertRaisesRegex(
                exceptions.MissingField,
                'does not exist',
                text.render,
                template,
                DATA,
            )

    def test_no_attribute_is_reached(self):
        for template in (
            '{data.keys}',
            '{data.__class__}',
            '{data[name].upper}',
        ):
            self.assertRaises(
                exceptions.OperationError, text.render, template, DATA
            )

    def test_what_is_no_format_is_an_error(self):
        for template in (
            '{data[size]',
            'x}',
            '{data[size]:zz}',
            '{data[name]:05d}',
            '{data[name]:>99999}',
        ):
            self.assertRaises(
                exceptions.OperationError, text.render, template, DATA
            )
