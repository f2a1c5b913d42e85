# SPDX-License-Identifier: Apache-2.0

"""What the schema for editors says of filters of other packages."""

import re

from ironic_inspection_rules.engine.language import arguments
from ironic_inspection_rules.engine.language import plugin
from ironic_inspection_rules.engine.language import registry
from ironic_inspection_rules.kit.authoring import filter_schema
from ironic_inspection_rules.tests.unit import base


class Foreign(plugin.Filter):
    def __call__(self, value, argument=None):
        return value


class FilterSchemaTestCase(base.TestCase):
    def refuses(self, schema, literal):
        foreign = Foreign()
        foreign.SCHEMAS = {'argument': [schema]}
        signature = arguments.Signature(foreign, 1)
        ops = dict(registry.filters())
        ops['odd'] = registry.Op('odd', foreign, signature)
        unknown, unfit = filter_schema.text_with_fields(ops)['allOf']
        text = f'{{node.name | odd({literal})}}'
        self.assertIsNone(re.search(unknown['not']['pattern'], text))
        return re.search(unfit['not']['pattern'], text) is not None

    def test_a_text_that_has_the_pattern_nowhere_is_refused(self):
        for pattern in ('[0-9]', 'a|[0-9]'):
            schema = {'type': 'string', 'pattern': pattern}
            self.assertTrue(self.refuses(schema, "'x'"))
            self.assertFalse(self.refuses(schema, "'x1'"))

    def test_a_pattern_of_a_whole_text_refuses_none(self):
        for pattern in ('^[a-z]+$', '^a|b$', r'\ba', '(?<!x)a'):
            schema = {'type': 'string', 'pattern': pattern}
            self.assertFalse(self.refuses(schema, "'a'"), pattern)
            self.assertFalse(self.refuses(schema, '"a"'), pattern)

    def test_an_integer_is_a_number(self):
        self.assertFalse(self.refuses({'type': 'integer'}, '8'))
        self.assertTrue(self.refuses({'type': 'integer'}, "'8'"))

    def test_a_schema_without_a_type_takes_all_types(self):
        for literal in ("'a'", '8', 'true', 'null'):
            self.assertFalse(self.refuses({'enum': ['a', 8]}, literal))

    def test_filters_that_take_all_literals_have_no_pattern_of_unfit_ones(
        self,
    ):
        foreign = Foreign()
        op = registry.Op('odd', foreign, arguments.Signature(foreign, 1))

        refused = filter_schema.text_with_fields({'odd': op})['allOf']

        text = '{node.name | odd(1)}'
        for schema in refused:
            self.assertIsNone(re.search(schema['not']['pattern'], text))
