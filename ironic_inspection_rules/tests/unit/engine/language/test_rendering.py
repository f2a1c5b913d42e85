# SPDX-License-Identifier: Apache-2.0

"""A value that is another one where a field is missing."""

from ironic_inspection_rules.engine.language import budget
from ironic_inspection_rules.engine.language import rendering
from ironic_inspection_rules.engine.language import template
from ironic_inspection_rules.plugins.legacy import document
from ironic_inspection_rules.plugins.legacy import field as json_field
from ironic_inspection_rules.plugins.legacy import text as old_text
from ironic_inspection_rules.tests.unit import base


class RenderingTestCase(base.TestCase):
    def test_missing_fields_are_equal_by_their_text(self):
        self.assertEqual(rendering.Missing('a'), rendering.Missing('a'))
        self.assertNotEqual(rendering.Missing('a'), rendering.Missing('b'))
        self.assertNotEqual(rendering.Missing('a'), 'a')

    def test_only_what_is_missing_is_another_value(self):
        value = rendering.TemplateWithDefault(
            template.compile_value('{node.a}'), 'x'
        )
        for node, rendered in (({}, 'x'), ({'a': None}, None), ({'a': 0}, 0)):
            self.assertEqual(
                rendered, value.render(budget.View({'node': node}))
            )


FIELD = '{plugin_data.bmc_address}'


def roots(plugin_data=None, **inventory):
    return budget.View(
        {'inventory': inventory, 'plugin_data': plugin_data or {}}
    )


class BMCAddressTestCase(base.TestCase):
    def found(self, data):
        """Return the address as rules of both languages find it."""
        found = template.compile_value(FIELD).render(budget.View(data))
        found = None if isinstance(found, rendering.Missing) else found
        old = json_field.compile_field('data://bmc_address')(data)
        self.assertEqual([found] if found else [], old)
        return found

    def test_it_is_found_in_the_inventory(self):
        both = {'bmc_address': '192.0.2.1', 'bmc_v6address': '2001:db8::1'}
        self.assertEqual('192.0.2.1', self.found(roots(**both)))
        self.assertEqual(
            '2001:db8::1', self.found(roots(**{**both, 'bmc_address': ''}))
        )
        self.assertEqual(
            '192.0.2.1',
            old_text.render(
                '{data[bmc_address]}', document.InspectorData(roots(**both))
            ),
        )

    def test_what_others_have_put_there_is_first(self):
        self.assertEqual(
            'theirs',
            self.found(
                roots({'bmc_address': 'theirs'}, bmc_address='192.0.2.1')
            ),
        )

    def test_there_is_none_where_none_was_found(self):
        self.assertIsNone(self.found(roots(bmc_address=None)))
        self.assertIsNone(self.found(roots()))

    def test_the_data_as_a_whole_do_not_have_it(self):
        data = roots({'a': 1}, bmc_address='192.0.2.1')
        self.assertEqual(
            {'a': 1},
            template.compile_value('{plugin_data}').render(budget.View(data)),
        )
        self.assertEqual(
            "{'inventory': {'bmc_address': '192.0.2.1'}, 'a': 1}",
            old_text.render('{data}', document.InspectorData(data)),
        )
