# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""Bringing many rules into Ironic at once."""

import fixtures

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.client import importing
from ironic_inspection_rules.client import inspection_rule
from ironic_inspection_rules.tests.unit import base

ACTIONS = [{'op': 'log', 'args': ['hello']}]


def present(uuid, **fields):
    """Write a rule as Ironic shows it."""
    return {**importing.DEFAULTS, 'uuid': uuid, 'actions': ACTIONS,
            'built_in': False, **fields}


class Refused(Exception):
    """What Ironic does not take."""


class FakeIronic(fixtures.Fixture):
    """Rules in memory behind the functions of the client.

    :param refuses: description of the rule that cannot be stored.
    :param invalid: description of the rule that does not pass a trial.
    """

    def __init__(self, *rules, refuses=None, invalid=None):
        super().__init__()
        self.rules = {rule['uuid']: rule for rule in rules}
        self.before = dict(self.rules)
        self.refuses = refuses
        self.invalid = invalid

    def _setUp(self):
        for name in ('create', 'replace', 'delete', 'evaluate'):
            function = next(each for each in vars(inspection_rule)
                            if each.startswith(f'{name}_inspection_rule'))
            self.useFixture(fixtures.MonkeyPatch(
                f'{inspection_rule.__name__}.{function}',
                getattr(self, name)))

    def evaluate(self, baremetal, rules, inventory):
        if any(rule.get('description') == self.invalid for rule in rules
               if self.invalid):
            raise Refused

    def create(self, baremetal, rule):
        return self.replace(baremetal, f'new-{len(self.rules)}', rule)

    def replace(self, baremetal, uuid, rule):
        if self.refuses and rule.get('description') == self.refuses:
            raise Refused
        self.rules[uuid] = present(uuid, **rule)
        return self.rules[uuid]

    def delete(self, baremetal, uuid):
        del self.rules[uuid]


class DecideTestCase(base.TestCase):

    def outcomes(self, rules, *there, replace=True):
        return [step.outcome
                for step in importing.decide(rules, there, replace)]

    def test_without_replace_every_rule_is_new(self):
        self.assertEqual(['created'], self.outcomes(
            [{'uuid': 'a', 'actions': ACTIONS}], present('a'),
            replace=False))

    def test_a_rule_replaces_the_one_with_its_uuid(self):
        self.assertEqual(['updated'], self.outcomes(
            [{'uuid': 'a', 'priority': 5, 'actions': ACTIONS}],
            present('a')))

    def test_a_rule_without_uuid_replaces_the_one_described_so(self):
        self.assertEqual(['updated', 'created'], self.outcomes(
            [{'description': 'd', 'priority': 5, 'actions': ACTIONS},
             {'description': 'e', 'actions': ACTIONS}],
            present('a', description='d')))

    def test_what_says_the_same_is_unchanged(self):
        self.assertEqual(['unchanged'], self.outcomes(
            [{'description': 'd', 'actions': ACTIONS}],
            present('a', description='d')))

    def test_built_in_rules_are_not_replaced(self):
        self.assertEqual(['created'], self.outcomes(
            [{'description': 'd', 'actions': ACTIONS}],
            present('a', description='d', built_in=True)))

    def test_an_ambiguous_description_is_refused(self):
        self.assertRaises(
            exceptions.Conflict, self.outcomes,
            [{'description': 'd', 'actions': ACTIONS}],
            present('a', description='d'), present('b', description='d'))

    def test_two_rules_cannot_replace_the_same_one(self):
        self.assertRaises(
            exceptions.Conflict, self.outcomes,
            [{'uuid': 'a', 'actions': ACTIONS},
             {'description': 'd', 'actions': ACTIONS}],
            present('a', description='d'))

    def test_what_is_no_rule_is_refused(self):
        self.assertRaises(exceptions.Invalid, self.outcomes, ['text'])


class CarryOutTestCase(base.TestCase):

    def carry_out(self, ironic, *rules):
        self.done = 0

        def done():
            self.done += 1

        self.useFixture(ironic)
        importing.carry_out(None, importing.decide(
            rules, list(ironic.rules.values()), True), done)

    def test_rules_are_made_and_replaced(self):
        ironic = FakeIronic(present('a', description='d'))

        self.carry_out(ironic, {'description': 'new', 'actions': ACTIONS},
                       {'description': 'd', 'priority': 5,
                        'actions': ACTIONS})

        self.assertEqual(5, ironic.rules['a']['priority'])
        self.assertEqual(2, len(ironic.rules))
        self.assertEqual(2, self.done)

    def test_nothing_changes_if_one_rule_is_invalid(self):
        ironic = FakeIronic(present('a', description='d'), invalid='bad')

        self.assertRaises(Refused, self.carry_out, ironic,
                          {'description': 'd', 'priority': 5,
                           'actions': ACTIONS},
                          {'description': 'bad', 'actions': ACTIONS})

        self.assertEqual(ironic.before, ironic.rules)

    def test_what_was_done_before_an_error_is_put_back(self):
        ironic = FakeIronic(present('a', description='d'),
                            present('b', description='bad'), refuses='bad')

        self.assertRaises(Refused, self.carry_out, ironic,
                          {'description': 'd', 'priority': 5,
                           'actions': ACTIONS},
                          {'description': 'new', 'actions': ACTIONS},
                          {'description': 'bad', 'priority': 5,
                           'actions': ACTIONS})

        self.assertEqual(ironic.before, ironic.rules)

    def test_a_rule_that_cannot_be_read_is_replaced_last(self):
        hidden = present('a', description='d', sensitive=True,
                         conditions=None, actions=None)
        ironic = FakeIronic(hidden, refuses='bad')

        self.assertRaises(Refused, self.carry_out, ironic,
                          {'description': 'd', 'sensitive': True,
                           'actions': ACTIONS},
                          {'description': 'bad', 'actions': ACTIONS})

        self.assertEqual(ironic.before, ironic.rules)
