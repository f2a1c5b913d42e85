# SPDX-License-Identifier: Apache-2.0

import logging

import fixtures

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.coordination import watchdog
from ironic_inspection_rules.tests.unit import base


class OutageTestCase(base.TestCase):

    def setUp(self):
        super().setUp()
        self.log = self.useFixture(fixtures.FakeLogger(
            level=logging.INFO, format='%(levelname)s: %(message)s'))
        self.outage = watchdog.Outage('The database', retries=2)

    def lines(self):
        return self.log.output.splitlines()

    def test_success_alone_is_nothing_to_tell(self):
        self.outage.over()
        self.assertEqual([], self.lines())

    def test_an_outage_is_a_line_for_each_change(self):
        for _failure in range(100):
            self.outage.failed(OSError('refused'))
        for _success in range(2):
            self.outage.over()
        self.assertEqual([
            'WARNING: The database failed and is tried again: refused',
            'ERROR: The database still fails after 2 retries: refused',
            'INFO: The database works again'], self.lines())

    def test_another_kind_of_failure_is_told_once(self):
        for _failure in range(2):
            self.outage.failed(OSError('refused'))
            self.outage.failed(LookupError('gone'))
        self.assertEqual(1, self.log.output.count('WARNING: The database '
                                                  'failed and is tried '
                                                  'again: gone'))

    def test_the_next_outage_is_told_again(self):
        for _outage in range(2):
            self.outage.failed(OSError('refused'))
            self.outage.over()
        self.assertEqual(2, self.log.output.count('refused'))

    def test_it_lasts_until_it_is_over(self):
        self.assertFalse(self.outage.lasts)
        self.outage.failed(OSError())
        self.assertTrue(self.outage.lasts)
        self.outage.over()
        self.assertFalse(self.outage.lasts)


class ReasonTestCase(base.TestCase):

    def test_it_is_the_first_line_of_the_cause(self):
        failure = ValueError('wrapped')
        failure.__cause__ = OSError('refused\nand more')
        self.assertEqual('refused', watchdog.reason(failure))

    def test_our_own_errors_say_it_themselves(self):
        failure = exceptions.Invalid('one line')
        failure.__cause__ = OSError('more')
        self.assertEqual('one line', watchdog.reason(failure))

    def test_an_error_without_words_is_named(self):
        self.assertEqual('OSError()', watchdog.reason(OSError()))
