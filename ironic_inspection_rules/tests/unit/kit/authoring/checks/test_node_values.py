# SPDX-License-Identifier: Apache-2.0

"""Values of a node that mean something else than the author of a rule."""

from ironic_inspection_rules.kit.authoring.checks import node_values
from ironic_inspection_rules.tests.unit.kit.authoring.checks import base


class AllTraitsTestCase(base.CheckTestCase):
    def find(self, prefix):
        """Return the places of warnings about an action with a prefix."""
        return [
            pointer
            for pointer, _message in self.messages(
                node_values.check_all_traits,
                '- {actions: [{op: set-traits, args: {names: [], '
                f'prefix: "{prefix}"}}}}]}}',
            )
        ]

    def test_a_prefix_of_all_custom_traits_is_found(self):
        for prefix in ('', 'C', 'CU', 'CUS', 'CUST', 'CUSTO', 'CUSTOM'):
            self.assertEqual(
                ['/actions/0/args/prefix'], self.find(prefix), prefix
            )
        self.assertEqual(['/actions/0/args/prefix'], self.find('CUSTOM_'))

    def test_a_longer_prefix_or_one_of_other_traits_is_good(self):
        for prefix in ('CUSTOM_A', 'CO', 'HW_', '{node.name}'):
            self.assertEqual([], self.find(prefix), prefix)
