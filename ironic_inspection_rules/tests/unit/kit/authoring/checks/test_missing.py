# SPDX-License-Identifier: Apache-2.0

"""What an action reads is missing only where it is read."""

from ironic_inspection_rules.kit.authoring.checks import inventory
from ironic_inspection_rules.tests.unit.kit.authoring.checks import base

RULE = """
- conditions: [%s]
  actions: [%s]
"""
IS_NONE = '{op: is-none, args: {value: "{plugin_data.site}"}}'
EXISTS = '{op: exists, args: {value: "{plugin_data.site}"}}'
NOT_EXISTS = '{op: "!exists", args: {value: "{plugin_data.site}"}}'
OTHER = '{op: is-none, args: {value: "{plugin_data.rack}"}}'
READS = (
    '{op: set-attribute, args: {path: /extra/a, value: "{plugin_data.site}"}}'
)


class CheckMissingTestCase(base.CheckTestCase):
    def check(self, *actions, condition=IS_NONE):
        """Return where actions read what is missing."""
        found = self.messages(
            inventory.check_missing, RULE % (condition, ', '.join(actions))
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

    def test_every_condition_that_says_so(self):
        group = '{op: %s, conditions: [%s]}'
        for condition in (
            IS_NONE,
            NOT_EXISTS,
            '{op: "!exists", args: ["{plugin_data.site}"]}',
            '{op: eq, args: {values: ["{plugin_data.site}", null]}}',
            group % ('all-of', f'{OTHER}, {NOT_EXISTS}'),
            group % ('any-of', f'{IS_NONE}, {NOT_EXISTS}'),
            group % ('none-of', EXISTS),
            group % ('"!any-of"', f'{EXISTS}, {OTHER}'),
            group % ('"!none-of"', NOT_EXISTS),
        ):
            self.assertEqual(
                ['/actions/0/args/value'],
                self.check(READS, condition=condition),
                condition,
            )

    def test_what_may_be_there(self):
        group = '{op: %s, conditions: [%s]}'
        for condition in (
            EXISTS,
            OTHER,
            '{op: "!is-none", args: ["{plugin_data.site}"]}',
            group % ('any-of', f'{IS_NONE}, {OTHER}'),
            group % ('none-of', NOT_EXISTS),
            group % ('"!all-of"', f'{EXISTS}, {OTHER}'),
            '{op: "!exists", loop: [1], args: ["{plugin_data.site}"]}',
        ):
            self.assertEqual(
                [], self.check(READS, condition=condition), condition
            )

    def test_what_is_inside_of_it_is_missing_too(self):
        inside = READS.replace('site}', 'site.row}')
        self.assertEqual(['/actions/0/args/value'], self.check(inside))
        self.assertEqual([], self.check(READS.replace('site}', 'sites}')))

    def test_the_conditions_of_the_action_itself(self):
        action = READS.removesuffix('}') + ', when: [%s]}'
        for when, found in (
            (NOT_EXISTS, ['/actions/0/args/value']),
            (EXISTS, []),
        ):
            self.assertEqual(
                found, self.check(action % when, condition=OTHER), when
            )
