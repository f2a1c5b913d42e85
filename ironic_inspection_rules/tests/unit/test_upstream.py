# SPDX-License-Identifier: Apache-2.0

"""How Ironic's own tests are judged."""

import unittest

from ironic_inspection_rules.tests.unit import base
from ironic_inspection_rules.tests.upstream import differences


class Stock(unittest.TestCase):
    """In the place of tests of Ironic."""

    def passes(self):
        pass

    def fails(self):
        self.fail()

    def id(self):
        return f'ironic.tests.unit.{self._testMethodName}'


class ExpectTestCase(base.TestCase):
    def failures(self, *differ):
        """Run the tests, with some that are said to differ.

        :returns: the names of those that fail.
        """
        suite = unittest.TestSuite(
            [Stock('passes'), unittest.TestSuite([Stock('fails')])]
        )
        differences.expect(suite, dict.fromkeys(differ, 'by design'))
        result = unittest.TestResult()
        suite.run(result)
        return {test._testMethodName for test, _text in result.failures}

    def test_one_that_is_not_listed_must_pass(self):
        self.assertEqual({'fails'}, self.failures())

    def test_a_listed_one_must_fail(self):
        self.assertEqual(set(), self.failures('fails'))
        self.assertEqual({'passes'}, self.failures('fails', 'passes'))

    def test_a_listed_one_must_be_there(self):
        self.assertRaises(LookupError, self.failures, 'gone')

    def test_each_difference_has_a_reason(self):
        for name, reason in differences.load().items():
            self.assertTrue(reason, name)
