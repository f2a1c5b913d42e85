# SPDX-License-Identifier: Apache-2.0

"""Rules by name."""

import fixtures

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.kit.client import inspection_rule
from ironic_inspection_rules.tests.unit import base
from ironic_inspection_rules.tests.unit.kit.osc import fakes

UUID = '12ab7a3e-7a4b-4b0e-8b0e-6d3c5f0f9a11'


class PluginTestCase(base.TestCase):
    def test_only_a_call_that_is_not_there_tells_that_it_is_missing(self):
        for status, has_plugin in (
            (200, True),
            # The API reads the database through its conductors.
            (400, True),
            (403, True),
            (404, False),
            (500, True),
        ):
            ironic = fakes.Baremetal()
            ironic.answers = [(status, {'traits': [], 'error_message': 'x'})]
            self.assertIs(has_plugin, inspection_rule.has_plugin(ironic))


class FindTestCase(base.TestCase):
    def setUp(self):
        super().setUp()
        self.useFixture(
            fixtures.MonkeyPatch(
                'ironic_inspection_rules.kit.client.inspection_rule.inspection_rules',
                lambda baremetal: [
                    {'uuid': 'a', 'description': 'Tag'},
                    {'uuid': 'b', 'description': 'BMC'},
                    {'uuid': 'c', 'description': 'BMC'},
                    {'uuid': 'd', 'description': None},
                ],
            )
        )

    def find(self, name):
        return inspection_rule.find_inspection_rule(None, name)

    def test_a_uuid_is_not_looked_for(self):
        self.assertEqual(UUID, self.find(UUID))

    def test_a_description_that_one_rule_has_will_do(self):
        self.assertEqual('a', self.find('Tag'))

    def test_one_that_two_have_is_refused_with_both(self):
        exc = self.assertRaises(exceptions.Conflict, self.find, 'BMC')
        self.assertIn('b, c', str(exc))

    def test_one_that_is_almost_there_is_told(self):
        exc = self.assertRaises(exceptions.NotFound, self.find, 'Tagg')
        self.assertIn('did you mean "Tag"?', str(exc))
