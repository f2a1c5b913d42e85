# SPDX-License-Identifier: Apache-2.0

"""What an action reads is missing only where it is read."""

from ironic_inspection_rules.kit.authoring.checks import inventory
from ironic_inspection_rules.tests.unit.kit.authoring.checks import base

RULE = """
- conditions: [{op: is-none, args: {value: "{plugin_data.site}"}}]
  actions: [%s]
"""
READS = (
    '{op: set-attribute, args: {path: /extra/a, value: "{plugin_data.site}"}}'
)


class CheckMissingTestCase(base.CheckTestCase):
    def check(self, *actions):
        """Return where actions read what is missing."""
        found = self.messages(
            inventory.check_missing, RULE % ', '.join(actions)
        )
        return [pointer for pointer, _message in found]

    def test_what_the_conditions_say_is_missing(self):
        self.assertEqual(['/actions/0/args/value'], self.check(READS))

    def test_an_action_before_may_write_it(self):
        writes = '{op: set-plugin-data, args: {path: /%s, value: 1}}'
        self.assertEqual([], self.check(writes % 'site', READS))
        self.assertEqual(
            ['/actions/1/args/value'], self.check(writes % 'rack', READS)
        )
        self.assertEqual(
            ['/actions/0/args/value'], self.check(READS, writes % 'site')
        )
