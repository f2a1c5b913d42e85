# SPDX-License-Identifier: Apache-2.0

"""Names of fields, by which lint knows that two conditions ask the same."""

from ironic_inspection_rules.kit.authoring.checks import facts
from ironic_inspection_rules.tests.unit import base


class FieldNameTestCase(base.TestCase):
    def test_a_field_has_one_name_however_it_is_written(self):
        for text in ('{node.name}', '{node[name]}'):
            self.assertEqual('/node/name', facts.field_name(text))

    def test_another_text_than_a_path_is_its_own_name(self):
        for text in (
            '{node.name | lower}',
            '{node.name!r}',
            '{no path}',
            'rack-{node.name}',
            '{node.name}{node.uuid}',
            'rack',
        ):
            self.assertEqual(text, facts.field_name(text))
