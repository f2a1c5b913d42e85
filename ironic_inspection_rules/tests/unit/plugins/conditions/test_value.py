# SPDX-License-Identifier: Apache-2.0

"""Conditions on one value; the corpus has what they mean."""

import hypothesis

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.plugins.conditions import value as conditions
from ironic_inspection_rules.tests.unit import base
from ironic_inspection_rules.tests.unit.engine import fuzz


class ValueTestCase(base.TestCase):
    @fuzz.settings
    @hypothesis.given(fuzz.json_values)
    def test_no_value_is_both_true_and_false(self, value):
        self.assertFalse(
            conditions.IsTrue()(value) and conditions.IsFalse()(value)
        )

    @fuzz.settings
    @hypothesis.given(fuzz.json_values)
    def test_what_is_none_is_empty_too(self, value):
        self.assertTrue(
            conditions.IsEmpty()(value) or not conditions.IsNone()(value)
        )


class InNetTestCase(base.TestCase):
    def test_addresses_of_every_form(self):
        for address, subnet, inside in (
            ('192.0.2.1', '192.0.2.0/24', True),
            ('192.0.2.1/24', '192.0.2.0/24', True),
            (' 192.0.2.1 ', '192.0.2.0/24', True),
            ('fe80::1%eth0', 'fe80::/10', True),
            ('::ffff:192.0.2.1', '192.0.2.0/24', False),
            ('192.0.2.01', '192.0.2.0/24', False),
            ('192.0.2', '192.0.2.0/24', False),
            (3221225985, '192.0.2.0/24', False),
            ([], '::/0', False),
            ('', '::/0', False),
            (None, '0.0.0.0/0', False),
        ):
            self.assertEqual(
                inside, conditions.InNet()(address, subnet), address
            )

    def test_what_is_no_subnet_is_named_as_rules_have_it(self):
        for subnet, words in ((None, 'null'), (True, 'true'), ('x', '"x"')):
            error = self.assertRaises(
                exceptions.OperationError,
                conditions.InNet(),
                '192.0.2.1',
                subnet,
            )
            self.assertEqual(f'{words} is not an IP subnet', str(error))

    @fuzz.settings
    @hypothesis.given(fuzz.json_values)
    def test_any_value_can_be_asked_for(self, value):
        self.assertIsInstance(conditions.InNet()(value, '0.0.0.0/0'), bool)
