# SPDX-License-Identifier: Apache-2.0

"""Rules of stock Ironic."""

from ironic_inspection_rules.rule_file import stock_form
from ironic_inspection_rules.tests.unit import base


class LoadTestCase(base.TestCase):
    def load(self, text):
        return stock_form.load(self.create_tempfiles([('rules', text)])[0])

    def test_a_rule_without_uuid_has_one_by_its_content(self):
        one, two, named = self.load(
            '[{"priority": 1}, {"priority": 2}, {"uuid": "a"}]'
        )

        self.assertNotEqual(one['uuid'], two['uuid'])
        self.assertEqual('a', named['uuid'])
        (again,) = self.load('[{"priority": 1}]')
        self.assertEqual(one['uuid'], again['uuid'])

    def test_what_is_no_list_of_rules_is_refused(self):
        for text in (
            'a: 1',
            '[1]',
            '{',
            '',
            '[{"priority": "a"}]',
            '[{1: 2, "a": 3}]',
        ):
            self.assertRaises(ValueError, self.load, text)
        self.assertRaises(ValueError, stock_form.load, '/nowhere/rules.yaml')
