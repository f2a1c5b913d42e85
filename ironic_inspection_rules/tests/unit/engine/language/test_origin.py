# SPDX-License-Identifier: Apache-2.0

from ironic_inspection_rules.engine.language import origin
from ironic_inspection_rules.tests.unit import base


class OriginsTestCase(base.TestCase):
    def found(self, steps, loop=None, root='vars', **own_vars):
        return {
            (each.root, *each.steps, each.rest, each.is_kept)
            for each in origin.Origins(own_vars, loop).of(root, steps)
        }

    def test_a_path_leads_on_into_what_a_value_reads(self):
        self.assertEqual(
            {('node', 'driver_info', 'a', (), True)},
            self.found(('b', 'a'), b='{node.driver_info}'),
        )
        self.assertEqual(
            {('node', 'driver_info', 'a', 'c', (), True)},
            self.found(('d', 'c'), b='{node.driver_info}', d='{vars.b.a}'),
        )

    def test_a_path_leads_on_into_a_value_of_any_length(self):
        # Long texts are not cached, so every parsing gives other objects.
        long_name = 'a' * 300
        self.assertEqual(
            {('inventory', long_name, 'b', (), True)},
            self.found(('v', 'b'), v=f'{{inventory.{long_name}}}'),
        )

    def test_only_the_part_that_is_read_counts(self):
        parts = {'a': ['x', '{node.name}'], '{node.uuid}': '{ports}'}
        self.assertEqual(
            {('node', 'name', (), True)}, self.found(('m', 'a', '1'), m=parts)
        )
        self.assertEqual(set(), self.found(('m', 'a', '0'), m=parts))
        self.assertEqual(set(), self.found(('m',), m=[1, None, 'a']))

    def test_any_name_may_be_that_of_a_field(self):
        self.assertEqual(
            {('node', 'name', (), True), ('ports', (), True)},
            self.found(('m', 'b'), m={'{node.name}': '{ports | first}'}),
        )

    def test_filters_that_select_keep_what_they_select(self):
        for filters, is_kept in (
            ("get('a')", True),
            ("selectattr('a', 'eq', 1) | first", True),
            ("map(attribute='a') | unique", True),
            ('dict2items', True),
            ('values | first', True),
            ('values | first | first', False),
            ("get('a') | last", False),
            # Of a text, this would give its characters.
            ("get('a') | rejectattr('b', 'eq', 1)", False),
            ("map('length')", False),
            ('length', False),
            ('join', False),
            ("default('a')", True),
            ('site_filter', False),
        ):
            self.assertEqual(
                {('node', 'extra', (), is_kept)},
                self.found(('v',), v=f'{{node.extra | {filters}}}'),
                filters,
            )

    def test_text_and_formats_keep_nothing(self):
        for text in ('a{node.name}', '{node.name!r}', '{node.name:.1}'):
            self.assertEqual(
                {('node', 'name', (), False)}, self.found(('v',), v=text), text
            )

    def test_arguments_of_filters_count(self):
        self.assertEqual(
            {('node', 'name', (), True), ('node', 'uuid', (), True)},
            self.found(('v',), v='{node.name | default(node.uuid)}'),
        )

    def test_a_filter_may_have_a_mapping(self):
        self.assertEqual(
            {('node', 'name', (), False)},
            self.found(
                ('b',),
                a="{node.name | lookup({'x': {'password': 'y'}})}",
                b='{vars.a}',
            ),
        )

    def test_an_item_is_one_of_a_list_or_a_mapping(self):
        self.assertEqual(
            {('node', 'name', (), True)},
            self.found(('a',), [{'a': '{node.name}'}, {'a': 1}], 'item'),
        )
        self.assertEqual(
            {('node', 'name', (), True)},
            self.found(('a',), {'a': '{node.name}', 'b': '{ports}'}, 'item'),
        )
        self.assertEqual(
            {('ports', ('address',), True)},
            self.found(('address',), '{ports}', 'item'),
        )
        self.assertEqual(set(), self.found((), None, 'item'))

    def test_a_value_uses_those_before_it_only(self):
        self.assertEqual(
            set(), self.found(('a',), a='{vars.b}{vars.a}', b='{vars.a}')
        )
        self.assertEqual(set(), self.found(('gone',), a='{node.name}'))
        self.assertEqual(
            {('node', 'name', (), True)},
            self.found((), a='{vars.b}', b='{node.name}', c='{vars.b}'),
        )

    def test_many_values_are_followed_in_linear_time(self):
        own_vars = {'v0': '{node.name}'}
        for number in range(5000):
            own_vars[f'v{number + 1}'] = (
                f'{{vars.v{number}}}{{vars.v{number}}}'
            )

        self.assertEqual(
            {('node', 'name', (), False)}, self.found(('v5000',), **own_vars)
        )
