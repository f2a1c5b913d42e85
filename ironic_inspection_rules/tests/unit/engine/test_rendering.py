# SPDX-License-Identifier: Apache-2.0

"""A value that is another one where a field is missing."""

from ironic_inspection_rules.engine import rendering
from ironic_inspection_rules.engine import template
from ironic_inspection_rules.tests.unit import base


class RenderingTestCase(base.TestCase):

    def test_missing_fields_are_equal_by_their_text(self):
        self.assertEqual(rendering.Missing('a'), rendering.Missing('a'))
        self.assertNotEqual(rendering.Missing('a'), rendering.Missing('b'))
        self.assertNotEqual(rendering.Missing('a'), 'a')

    def test_only_what_is_missing_is_another_value(self):
        value = rendering.OrElse(template.compile_value('{node.a}'), 'x')
        for node, rendered in (({}, 'x'), ({'a': None}, None),
                               ({'a': 0}, 0)):
            self.assertEqual(rendered, value.render({'node': node}))
